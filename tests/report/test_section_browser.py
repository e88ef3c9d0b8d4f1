"""Composed pages in a real browser: nothing asked for, nothing wider than the screen, no serious fault of accessibility."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from tests.report.section_pages import HOSTILE, full_page
from tests.studio.chromium import CHROMIUM

from proctor.report.section_page import write_page

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.timeout(240),
]


@pytest.fixture(params=["plain", "hostile"])
def page(request: pytest.FixtureRequest, browser: Any, tmp_path: Path) -> Iterator[Any]:
    written = write_page(tmp_path / "page.html", full_page("Lemon" if request.param == "plain" else HOSTILE))
    found = browser.new_page(viewport={"width": 1180, "height": 900})
    problems: list[str] = []
    asked: list[str] = []
    found.on("console", lambda m: problems.append(m.text))
    found.on("pageerror", lambda e: problems.append(str(e)))
    found.on("dialog", lambda d: problems.append(d.message))
    found.on("request", lambda r: asked.append(r.url))
    found.goto(written.as_uri())
    found.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    yield found
    assert problems == []
    assert {url for url in asked if not url.startswith("data:")} == {written.as_uri()}
    found.close()


def test_the_page_never_scrolls_sideways(page: Any) -> None:
    for width in (320, 768, 1180):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility_has_no_serious_fault(page: Any, scheme: str) -> None:
    pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
    page.emulate_media(color_scheme=scheme)
    page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run()).violations")
    serious = [
        (v["id"], [n["html"][:200] for n in v["nodes"]][:3])
        for v in found
        if v["impact"] in ("serious", "critical")
    ]
    assert serious == []
