"""The page in a real browser: from a file, without a request, in light, dark, on a phone, on paper, without scripts, by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from tests.report.exams import GRAPHS, small_data, small_exam
from tests.report.pages import HOSTILE, full_page
from tests.studio.chromium import CHROMIUM

from proctor.report.compose import compose
from proctor.report.data import ReportOptions
from proctor.report.examples import example_cards
from proctor.report.moment import moment_evidence
from proctor.report.page import write_page
from proctor.report.parts import Page
from proctor.report.standing import stand

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.timeout(240),
]


def report() -> Page:
    options = ReportOptions(resamples=200)
    standing = stand(small_exam(), options)
    cards = tuple(example_cards(standing, moment_evidence(GRAPHS, lambda _: ()), {}, {}))
    return compose(small_data(examples=cards), options)


PAGES = {"plain": lambda: full_page("Lemon"), "hostile": lambda: full_page(HOSTILE), "report": report}


@dataclass(frozen=True)
class Opened:
    """A page in the browser, and the file that it is."""

    page: Any
    path: Path


@pytest.fixture(params=PAGES)
def opened(request: pytest.FixtureRequest, browser: Any, tmp_path: Path) -> Iterator[Opened]:
    written = write_page(tmp_path / "page.html", PAGES[request.param]())
    found = browser.new_page(viewport={"width": 1180, "height": 900})
    problems: list[str] = []
    asked: list[str] = []
    found.on("console", lambda m: problems.append(m.text))
    found.on("pageerror", lambda e: problems.append(str(e)))
    found.on("dialog", lambda d: problems.append(d.message))
    found.on("request", lambda r: asked.append(r.url))
    found.goto(written.as_uri())
    found.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    yield Opened(found, written)
    assert problems == []
    assert {url for url in asked if not url.startswith("data:")} == {written.as_uri()}
    found.close()


def test_the_page_never_scrolls_sideways_on_screen_or_paper(opened: Opened) -> None:
    for width in (320, 390, 768, 1180):
        opened.page.set_viewport_size({"width": width, "height": 800})
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    # whatever is wider than the screen scrolls in a region that the keyboard reaches
    assert opened.page.evaluate("[...document.querySelectorAll('.scroll')].every(s => s.tabIndex === 0)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility_has_no_serious_fault(opened: Opened, scheme: str) -> None:
    pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
    opened.page.emulate_media(color_scheme=scheme)
    opened.page.evaluate(
        (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    )
    found = opened.page.evaluate("async () => (await axe.run()).violations")
    serious = [
        (v["id"], [n["html"][:200] for n in v["nodes"]][:3])
        for v in found
        if v["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_every_section_can_be_read_without_scripts(browser: Any, tmp_path: Path) -> None:
    written = write_page(tmp_path / "page.html", report())
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(written.as_uri())
    assert page.locator("#filters").is_hidden()
    summary = page.locator(".example > summary").last
    summary.focus()
    page.keyboard.press("Enter")  # by keyboard alone
    answer = page.locator(".example").last.locator(".answers")
    assert answer.is_visible()
    assert "Answer of strong" in answer.inner_text()
    context.close()


@pytest.mark.parametrize("scripts", [True, False])
def test_an_answer_without_a_mark_leads_to_its_question(browser: Any, tmp_path: Path, scripts: bool) -> None:
    written = write_page(tmp_path / "page.html", report())
    context = browser.new_context(java_script_enabled=scripts)
    page = context.new_page()
    page.goto(written.as_uri())
    if scripts:
        page.fill("#f-text", "nothing that is there")
    link = page.locator("td a[href^='#item-']").last
    card = page.locator(".example", has=page.locator(str(link.get_attribute("href"))))
    assert not card.locator(".question").is_visible()
    link.click()
    card.locator(".question").wait_for()
    assert card.locator(".question").inner_text() == link.inner_text()
    context.close()


def test_examples_are_filtered_by_words_facets_runs_and_marks(browser: Any, tmp_path: Path) -> None:
    written = write_page(tmp_path / "page.html", report())
    page = browser.new_page()
    page.goto(written.as_uri())
    shown = page.locator(".example:visible")
    assert shown.count() == 12
    kind = page.locator("select[data-facet]", has_text="order")
    runs, marks = page.locator("select[data-of=run]"), page.locator("select[data-of=mark]")
    page.fill("#f-text", "in case 3?")
    assert shown.count() == 1
    page.fill("#f-text", "")
    kind.select_option(label="order")
    assert shown.count() == 4
    assert page.inner_text("#found") == "4 of 12 examples"
    kind.select_option(label="any")
    runs.first.select_option(label="weak")
    marks.first.select_option("failed")
    assert shown.count() == 2
    runs.last.select_option(label="strong")
    marks.last.select_option("partial")
    assert shown.count() == 0
    page.close()
