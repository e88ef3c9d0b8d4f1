"""The page of scores in a real browser: light, dark, print, narrow; nothing logged, asked for, clipped or unreadable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.studio.chromium import CHROMIUM

from proctor.metrics.table import ScoreTable
from proctor.report.score_page import write_score_page
from proctor.version import __version__

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]

NAMES = ("localization", "classification", "agreement", "calibration", "extreme", "empty")

CONTRAST = """
selector => {
  const number = c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => 0.2126 * number(r) + 0.7152 * number(g) + 0.0722 * number(b);
  const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
                        if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  let worst = [99, ''];
  for (const e of document.querySelectorAll(selector)) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility()) continue;
    const inside = e.closest('svg') !== null;
    const style = getComputedStyle(e);
    const [a, b] = [light(parse(inside ? style.fill : style.color)), light(ground(e))].sort((x, y) => x - y);
    const ratio = (b + 0.05) / (a + 0.05);
    if (ratio < worst[0]) worst = [ratio, e.className + ': ' + e.textContent.slice(0, 60)];
  }
  return worst;
}
"""


@pytest.fixture(scope="module")
def files(score_tables: dict[str, ScoreTable], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("scores")
    return {name: write_score_page(folder / f"{name}.html", table) for name, table in score_tables.items()}


@pytest.fixture(params=NAMES)
def page(request: pytest.FixtureRequest, browser: Any, files: dict[str, Path]) -> Iterator[Any]:
    found = browser.new_page(viewport={"width": 1180, "height": 900})
    problems: list[str] = []
    asked: list[str] = []
    found.on("console", lambda m: problems.append(m.text))
    found.on("pageerror", lambda e: problems.append(str(e)))
    found.on("request", lambda r: asked.append(r.url))
    found.goto(files[request.param].as_uri())
    yield found
    assert problems == []
    assert asked == [files[request.param].as_uri()]
    found.close()


def open_all(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")


def test_the_page_never_scrolls_sideways(page: Any) -> None:
    open_all(page)
    for width in (320, 360, 768, 1180):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_text_has_contrast(page: Any) -> None:
    open_all(page)
    for scheme, media in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
        page.emulate_media(color_scheme=scheme, media=media)
        ratio, where = page.evaluate(CONTRAST, "body *")
        assert ratio >= 4.5, (scheme, media, where)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") is (scheme == "light" or media == "print")


def test_no_number_is_cut_off(page: Any) -> None:
    for width in (360, 1180):
        page.set_viewport_size({"width": width, "height": 800})
        cut = page.evaluate(
            """() => [...document.querySelectorAll('.heat td, .scores td, .plot .num:not(.value), .listed td')]
                 .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"""
        )
        assert cut == []


def test_texts_of_drawings_stay_inside_and_do_not_overlap(page: Any) -> None:
    for width in (360, 1180):
        page.set_viewport_size({"width": width, "height": 800})
        wrong = page.evaluate(
            """() => [...document.querySelectorAll('svg.reliability:not(.sample), svg.cells, svg.axis')].flatMap(svg => {
                 const frame = svg.getBoundingClientRect();
                 const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
                 const out = boxes.filter(([, b]) => b.left < frame.left - 1 || b.right > frame.right + 1
                   || b.top < frame.top - 2 || b.bottom > frame.bottom + 2).map(([t]) => 'outside: ' + t);
                 for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
                   const [a, b] = [boxes[i][1], boxes[j][1]];
                   if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2)
                     out.push('overlap: ' + boxes[i][0] + ' and ' + boxes[j][0]);
                 }
                 return out;
               })"""
        )
        assert wrong == []


def test_print_has_everything_on_white_and_no_controls(page: Any) -> None:
    page.emulate_media(media="print")
    assert not page.is_visible(".top")
    assert page.is_visible("h1")
    assert len(page.pdf(format="A4")) > 5_000


def test_a_page_can_be_read_by_keyboard(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    unreachable = page.evaluate(
        "() => [...document.querySelectorAll('.scroll')].filter(e => e.tabIndex !== 0 || !e.getAttribute('aria-label')).length"
    )
    assert unreachable == 0


def test_a_click_selects_a_whole_signature(browser: Any, files: dict[str, Path]) -> None:
    page = browser.new_page()
    page.goto(files["localization"].as_uri())
    page.click(".signatures code >> nth=0")
    selected = page.evaluate("getSelection().toString().trim()")
    signature = "mean_average_precision|average:class|protocol:corrected|v:0.4"
    assert selected == f"{signature}|version:{__version__}"
    page.close()


def test_pictures_have_names_for_those_who_do_not_see_them(browser: Any, files: dict[str, Path]) -> None:
    page = browser.new_page()
    page.goto(files["calibration"].as_uri())
    assert page.get_by_role("figure", name="Confidence of the judge against what people decided").count() == 1
    image = page.get_by_role("img", name="1,942 items in 10 bins")
    assert image.count() == 1
    page.goto(files["classification"].as_uri())
    table = page.get_by_role("region", name="Steps with and without a mistake").get_by_role("table")
    assert table.get_by_role("rowheader", name="mistake").count() == 1
    assert table.get_by_role("cell", name="170").count() == 1
    page.close()


def test_undefined_cells_are_hatched_and_right_ones_framed(browser: Any, files: dict[str, Path]) -> None:
    page = browser.new_page()
    page.goto(files["agreement"].as_uri())
    hatch = page.evaluate("getComputedStyle(document.querySelector('td.void')).backgroundImage")
    assert hatch.startswith("repeating-linear-gradient")
    page.goto(files["classification"].as_uri())
    frames = page.evaluate(
        "[...document.querySelectorAll('.heat td')].map(e => getComputedStyle(e).boxShadow)"
    )
    assert sum(frame != "none" for frame in frames) == 2 + 17
    page.close()
