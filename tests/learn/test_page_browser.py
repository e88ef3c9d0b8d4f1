"""The page of runs in a real browser: tables sort, steps are filtered, nothing acts and nothing is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.learn.planted_runs import HOSTILE, planted_run
from tests.studio.chromium import CHROMIUM

from proctor.stages.learn.page import draw_runs
from proctor.stages.learn.settings import PageSettings

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.timeout(240),
]


def test_tables_sort_and_steps_are_filtered(browser: Any, tmp_path: Path) -> None:
    runs = [
        planted_run(tmp_path / name, name, recordings=4, text=HOSTILE) for name in ("step", "context-offline")
    ]
    out = tmp_path / "page.html"
    draw_runs(PageSettings(runs=tuple(runs), out=out, resamples=0))
    page = browser.new_page(viewport={"width": 1180, "height": 900})
    problems: list[str] = []
    for event in ("console", "pageerror", "dialog"):
        page.on(event, lambda e: problems.append(str(e)))
    page.goto(out.as_uri())
    for width in (320, 1180):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    table = page.locator("#where table").first
    column = (
        "[...document.querySelectorAll('#where table')[0].tBodies[0].rows].map(r => +r.cells[2].textContent)"
    )
    for order, reverse in (("descending", True), ("ascending", False)):
        table.locator("th button").nth(2).click()
        found = page.evaluate(column)
        assert found == sorted(found, reverse=reverse)
        assert len(set(found)) > 1
        assert table.locator("thead th").nth(2).get_attribute("aria-sort") == order
    page.locator("select[data-facet]").first.select_option(label="4_3")
    shown = page.locator(".example:visible")
    assert shown.count() == 12
    marks = ("right", "missed", "false alarm")
    held = [page.locator(f".example:visible:has(tr[data-mark='{mark}'])").count() for mark in marks]
    assert sum(0 < n < 12 for n in held) >= 1
    for mark, n in zip(marks, held, strict=True):
        page.locator("select[data-of=mark]").first.select_option(mark)
        assert shown.count() == n
    assert problems == []
    page.close()
