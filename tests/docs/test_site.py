"""``make docs``: the site is built strictly and without a network; every page has one place in the navigation; no axe violation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.axe import DEPENDS_ON_LOOK, run_axe
from tests.studio.chromium import CHROMIUM

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SITE = "https://site.test/"


def _named(nav: Any) -> Iterator[str]:
    """Yield the pages of a navigation."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from _named(part)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(package, reason="needs the extra docs")
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", folder]
    offline = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "HTTPS_PROXY": "http://127.0.0.1:9"}
    done = subprocess.run(command, cwd=ROOT, env=offline, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_navigation_names_every_page_once() -> None:
    yaml = pytest.importorskip("yaml", reason="needs the extra docs")
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    pages = [str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")]
    assert sorted(_named(config["nav"])) == sorted(pages)
    assert len(config["nav"]) == 7


def test_a_page_needs_nothing_from_elsewhere(site: Path) -> None:
    foreign = re.compile(
        r"<(?:script|img|iframe)[^>]*\ssrc=[\"']?https?:|<link[^>]*rel=[\"']?(?:stylesheet|preconnect)[^>]*https?:"
    )
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 70
    assert not [page.name for page in pages if foreign.search(page.read_text(encoding="utf-8"))]
    assert "Upper bound" in (site / "search" / "search_index.json").read_text(encoding="utf-8")


def test_titles_have_the_names_that_people_search_for(site: Path) -> None:
    found = {page: re.search("<title>(.*?)</title>", (site / page).read_text(encoding="utf-8")) for page in
             ("index.html", "corpus.html", "sequencing.html")}  # fmt: skip
    titles = {page: title[1] if title else "" for page, title in found.items()}
    assert re.match("Proctor: .*ProMQA, SMMQG, CaptainCook4D, InstructionBench", titles["index.html"])
    assert titles["corpus.html"] == "Corpora: questions over texts, tables and images (SMMQG) - Proctor"
    assert "multimodal sequencing" in titles["sequencing.html"]


def test_the_api_page_holds_what_the_docstrings_say(site: Path) -> None:
    text = re.sub(r"<[^>]+>", "", (site / "api.html").read_text(encoding="utf-8"))
    assert "Have systems answer the questions." in text
    assert (
        "Share of the questions that must be answered and marked for a run to be ranked." in text
    )  # an option


@pytest.fixture
def opened(site: Path, browser: Any) -> Iterator[Callable[..., Any]]:
    """A function that opens a context of the browser with the site in it."""
    contexts = []

    def serve(route: Any) -> None:
        path = site / route.request.url.removeprefix(SITE).partition("?")[0]
        route.fulfill(path=path) if path.is_file() else route.fulfill(status=404)

    def open_(**options: Any) -> Any:
        contexts.append(browser.new_context(viewport={"width": 1280, "height": 900}, **options))
        contexts[-1].route("**/*", serve)
        return contexts[-1]

    yield open_
    for context in contexts:
        context.close()


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened: Callable[..., Any], scheme: str) -> None:
    context = opened(color_scheme=scheme)
    for name in ("index", "concepts", "cookbook"):
        page = context.new_page()
        page.goto(f"{SITE}{name}.html")
        page.wait_for_selector(".md-search[aria-label]", state="attached")
        assert run_axe(page, () if scheme == "light" else DEPENDS_ON_LOOK) == []
        page.close()


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_what_is_copied_can_be_typed(opened: Callable[..., Any]) -> None:
    page = opened(permissions=["clipboard-read", "clipboard-write"]).new_page()
    page.goto(f"{SITE}quickstart-model.html")
    block = page.locator("div.highlight", has_text="proctor run mine.toml --dry-run").first
    block.hover()
    block.locator("[data-md-type=copy]").click()
    page.wait_for_selector(".md-dialog--active")
    copied = page.evaluate("navigator.clipboard.readText()").split("\n")
    assert [line.partition(" --have")[0] for line in copied] == [
        "proctor init mine.toml", "proctor run mine.toml --dry-run", "proctor run mine.toml"]  # fmt: skip


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_the_search_finds_first_what_newcomers_need(opened: Callable[..., Any]) -> None:
    context = opened()
    for typed, wanted in (
        ("my own judge", "cookbook"),
        ("evaluate my model", "quickstart-model"),
        ("our recordings", "quickstart-recordings"),
        ("our documents", "quickstart-documents"),
        ("upper bound", "concepts"),
    ):
        page = context.new_page()
        page.goto(f"{SITE}index.html")
        page.locator(".md-search__input").press_sequentially(typed)
        page.wait_for_selector(".md-search-result__item")
        found = page.locator(".md-search-result__item > .md-search-result__link").evaluate_all(
            "links => links.map(link => new URL(link.href).pathname.slice(1))"
        )
        assert f"{wanted}.html" in [*dict.fromkeys(found)][:3], (typed, found)
        page.close()


def test_a_drawing_of_ours_works_in_light_and_dark() -> None:
    text = (DOCS / "images" / "concepts.svg").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in text
    assert text.count("\n") <= 150
    words = "moment candidate gold oracle floor bound clean noisy verification release run mark score"
    assert [word for word in words.split() if word not in text] == []
