"""The page of timelines: worst first, all text escaped, and readable at every width, by keyboard too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.studio.chromium import CHROMIUM

from proctor.report.page import render_page, write_page
from proctor.report.timelines import RecordingLines, RunFigures, RunLine, StepLine, timelines_page

HOSTILE = '<script>alert(1)</script>"&'


def recording(name: str, overlap: float, *, late: bool = False) -> RecordingLines:
    steps = (
        StepLine("1", f"Peel {HOSTILE}", ((0.0, 20.0), (60.0, 65.0))),
        StepLine("2", "Slice", ((20.0, 50.0),)),
        StepLine("3", "", ()),
    )
    run = RunLine(
        "net",
        {"1": (1.0, 18.0), "2": (10.0, 40.0)},
        {"1": (1.0, 18.0), "2": (22.0, 49.0)},
        ("3",),
        {"1": ("2",)} if late else {},
        overlap,
    )
    bare = RunLine(HOSTILE, {"2": (20.0, 50.0)}, overlap=overlap)
    return RecordingLines(name, "Soup" if late else "Tea", 70.0, steps, (run, bare))


def page_of(*recordings: RecordingLines) -> Any:
    return timelines_page(
        "Time", [RunFigures("net", "as predicted", (40.0, 30.0, None, 33.3, 50.0))], recordings, [HOSTILE]
    )


def test_worst_first_with_what_is_missing_and_late() -> None:
    page = page_of(recording("good", 0.9), recording("bad", 0.2, late=True))
    assert [e.id for e in page.examples] == ["bad", "good"]
    bad, good = page.examples
    assert bad.facets["decoded as wrong"] == "missing and out of order"
    assert good.facets["decoded as wrong"] == "missing"
    assert [a.code for a in bad.answers] == ["out of order", "not decoded"]
    assert bad.answers[0].more[0] == "missing: "
    assert bad.answers[0].more[1].endswith("(after Slice)")
    drawn = str(bad.drawing)
    assert drawn.count('class="bar-truth" x') == 3
    assert drawn.count('class="bar-found" x') == 3
    assert drawn.count('class="bar-late" x') == 1
    assert drawn.count('class="bar-decoded" x') == 1
    assert "net: out of order" in drawn
    assert "net: decoded as missing" in drawn
    assert "happened 0:00 to 0:20, 1:00 to 1:05; net: found 0:01 to 0:18" in drawn
    text = render_page(page)
    assert "<script>alert" not in text
    assert text == render_page(page)


def test_nothing_to_draw() -> None:
    page = page_of(RecordingLines("empty", "Tea", 0.0, (), ()))
    assert "empty" in render_page(page)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.timeout(240)
def test_in_a_browser(browser: Any, tmp_path: Path) -> None:
    out = write_page(
        tmp_path / "page.html", page_of(recording("good", 0.9), recording("bad", 0.2, late=True))
    )
    page = browser.new_page(viewport={"width": 320, "height": 900})
    problems: list[str] = []
    for event in ("console", "pageerror", "dialog", "request"):
        page.on(event, lambda e, kind=event: problems.append(f"{kind} {e}") if kind != "request" else None)
    page.goto(out.as_uri())
    for width in (320, 1180):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        clipped = "[...document.querySelectorAll('.timelines .n')].filter(e => e.scrollWidth > e.closest('.timelines').clientWidth + 1).length"
        assert page.evaluate(clipped) == 0
    page.locator("select[data-facet]").nth(1).select_option(label="Soup")
    assert page.locator(".example:visible").count() == 1
    drawing = page.locator(".example:visible .drawing")
    assert drawing.get_attribute("tabindex") == "0"
    assert "Timelines" in (drawing.get_attribute("aria-label") or "")
    assert problems == []
    page.close()
