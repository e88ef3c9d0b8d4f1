"""The page in a real browser: from a file, without network, in light, dark, print and on a narrow screen."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.moments import with_example
from tests.patience import PATIENCE_MS
from tests.studio.chromium import CHROMIUM

from proctor.drawing.engines import find_engine
from proctor.drawing.layout import Layouts
from proctor.drawing.svg import draw_layout
from proctor.exam.kinds.moment_question import moment_example
from proctor.examples.example import Performed
from proctor.procedure.recording import Mistake
from proctor.report import page as page_module
from proctor.report.data import Frame, ReportData, ReportOptions
from proctor.report.page import write_report
from proctor.report.states import derive_step_states, mark_states

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]

playwright_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright")


@dataclass
class Watched:
    """A page with everything that it logged and asked for."""

    page: Any
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def one_jpeg() -> bytes:
    """A real picture, so that the browser decodes it."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    import io

    stream = io.BytesIO()
    image.new("RGB", (32, 18), (200, 120, 40)).save(stream, "JPEG")
    return stream.getvalue()


@pytest.fixture(scope="module")
def report(small: ReportData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = replace(small, frames={"i0": (Frame(0.0, one_jpeg()), Frame(61.0, one_jpeg()))})
    return write_report(tmp_path_factory.mktemp("report") / "report.html", data, ReportOptions(resamples=200))


def watch(browser: Any, path: Path, fragment: str = "", **options: Any) -> Watched:
    page = browser.new_page(**options)
    watched = Watched(page)
    page.on("console", lambda m: watched.problems.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: watched.problems.append(str(error)))
    page.on("request", lambda request: watched.requests.append(request.url))
    page.goto(path.as_uri() + fragment)
    page.wait_for_selector("#item h3")
    return watched


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Watched]:
    watched = watch(browser, report, viewport={"width": 1280, "height": 900})
    yield watched
    watched.page.close()


def wait_for_question(page: Any, text: str) -> None:
    """Wait on the locator: the page's policy forbids what ``wait_for_function`` evaluates."""
    playwright_api.expect(page.locator("#item h3")).to_contain_text(text, timeout=PATIENCE_MS)


def question(page: Any) -> str:
    text: str = page.inner_text("#item h3")
    return text


def position(page: Any) -> str:
    text: str = page.inner_text("#position")
    return text


def test_it_opens_from_a_file_without_a_request_or_a_complaint(opened: Watched) -> None:
    assert opened.problems == []
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []
    assert sum(url.startswith("file:") for url in opened.requests) == 1
    assert question(opened.page) == "What should I do now, in case 0?"


def test_paging_by_button_by_key_and_by_list(opened: Watched) -> None:
    page = opened.page
    page.click("#next")
    assert (question(page), position(page)) == ("What should I do now, in case 1?", "2 of 12")
    page.keyboard.press("ArrowRight")
    assert position(page) == "3 of 12"
    page.keyboard.press("ArrowLeft")
    page.click("#previous")
    assert position(page) == "1 of 12"
    assert page.is_disabled("#previous")
    page.click("#list a >> nth=4")
    wait_for_question(page, "in case 4?")
    assert page.get_attribute("#list a[aria-current]", "href") == "#item=i4"


def test_arrow_keys_stay_with_the_field_that_has_the_focus(opened: Watched) -> None:
    opened.page.focus("#f-text")
    opened.page.keyboard.press("ArrowRight")
    assert position(opened.page) == "1 of 12"


def test_deep_links(browser: Any, report: Path) -> None:
    watched = watch(browser, report, "#item=i7")
    assert question(watched.page) == "What should I do now, in case 7?"
    watched.page.evaluate("location.hash = '#item=i9'")
    wait_for_question(watched.page, "in case 9?")
    watched.page.evaluate("location.hash = '#item=%E0%A4%A'")
    watched.page.evaluate("location.hash = '#item=nothing'")
    assert question(watched.page) == "What should I do now, in case 9?"
    assert watched.problems == []
    watched.page.close()


FILTERS: tuple[tuple[dict[str, str], str], ...] = (
    ({"#f-type": "order"}, "4 that match, of 12"),
    ({"#f-activity": "Shelf"}, "4 that match, of 12"),
    ({"#f-noisy": "1"}, "6 that match, of 12"),
    ({"#f-mark": "failed"}, "2 that match, of 12"),
    ({"#f-run": "1", "#f-mark": "1"}, "3 that match, of 12"),
    ({"#f-mark": "differ"}, "1 of 12"),
    ({"#f-verdict": "disagree"}, "1 that match, of 12"),
    ({"#f-verdict": "none"}, "No example matches, of 12"),
)


def test_filters(opened: Watched) -> None:
    for choice, said in FILTERS:
        for selector, value in choice.items():
            opened.page.select_option(selector, value)
        assert position(opened.page).endswith(said), choice
        opened.page.click("#f-clear")
        assert position(opened.page) == "1 of 12"


def test_search_looks_at_questions_and_answers(opened: Watched) -> None:
    page = opened.page
    page.fill("#f-text", "CASE 11")
    wait_for_question(page, "in case 11?")
    assert position(page) == "1 of 1 that match, of 12"
    page.fill("#f-text", "constant i3")
    wait_for_question(page, "in case 3?")
    page.fill("#f-text", "zebra")
    page.wait_for_selector("#item .empty")
    assert opened.problems == []


def test_an_example_shows_everything(opened: Watched) -> None:
    text = opened.page.inner_text("#item")
    for part in (
        "2 accepted answers", "Answer of strong to i0", "2 match", "because of 2", "Boil two cups of water",
        "measurement: two cups", "just done, mistake: measurement", "0:01–1:01", "oracle", "the bag is next", "ana",
    ):  # fmt: skip
        assert part in text
    assert opened.page.eval_on_selector_all("#item img", "all => all.map(i => [i.alt, i.naturalWidth])") == [
        ["Frame of the recording at 0:00", 32],
        ["Frame of the recording at 1:01", 32],
    ]


def test_states_are_on_the_drawing_as_class_and_sign(opened: Watched) -> None:
    page = opened.page
    if page.locator("#item svg.graph").count() == 0:
        pytest.skip("Graphviz is not installed; the next test draws in the page")
    assert page.locator("#item .node.is-current").count() == 1
    assert page.text_content("#item .node.is-next .glyph") == "→"
    assert page.locator("#graphs .node.is-current").count() == 0


def test_the_page_draws_graphs_itself_where_graphviz_is_missing(
    browser: Any, small: ReportData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "find_engine", lambda: None)
    path = write_report(tmp_path / "r.html", small, ReportOptions(resamples=20))
    watched = watch(browser, path)
    watched.page.wait_for_selector("#item svg.graph .node.is-current .badge")
    assert watched.page.locator("#item svg.graph .node").count() == 6
    assert watched.problems == []
    watched.page.close()


def outline(svg: str) -> list[tuple[str, dict[str, str], str]]:
    """Every element of a drawing with its attributes and its text, classes in any order."""
    tree = ET.fromstring(svg.replace(' xmlns="http://www.w3.org/2000/svg"', ""))
    return [
        (
            e.tag,
            {k: " ".join(sorted(v.split())) if k == "class" else v for k, v in e.attrib.items()},
            e.text or "",
        )
        for e in tree.iter()
    ]


def test_what_the_page_marks_is_what_the_server_draws(
    browser: Any, small: ReportData, tmp_path: Path
) -> None:
    engine = find_engine()
    if engine is None:
        pytest.skip("no layout program is installed")
    graph = small.graphs["tea"]
    wrong = Performed("1", "x", "", (Mistake("timing"), Mistake("measurement"), Mistake("timing")))
    now = Performed("3", "y", "", (Mistake("other"),))
    item = with_example(small.items[0], previous=(wrong,), current=now)
    path = write_report(
        tmp_path / "r.html", ReportData(items=(item,), graphs={"tea": graph}), ReportOptions(resamples=10)
    )
    watched = watch(browser, path)
    watched.page.wait_for_selector("#item svg.graph")
    marked = watched.page.eval_on_selector("#item svg.graph", "e => new XMLSerializer().serializeToString(e)")
    marks = mark_states(derive_step_states(moment_example(item.question), graph))
    assert {m.status for m in marks.values()} >= {"done", "current", "missing"}
    assert any(m.late for m in marks.values())
    drawn = draw_layout(
        Layouts(engine=engine).find(graph), graph, marks, label="Task graph: Tea", noun="mistake"
    )
    assert outline(marked) == outline(drawn)
    watched.page.close()


def test_what_the_page_places_is_what_the_server_would_place(
    browser: Any, small: ReportData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same boxes at about the same places: two versions of Graphviz, one DOT."""
    if shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    placed = Layouts().find(small.graphs["tea"]).placement
    assert placed is not None
    monkeypatch.setattr(page_module, "find_engine", lambda: None)
    watched = watch(browser, write_report(tmp_path / "r.html", small, ReportOptions(resamples=20)))
    watched.page.wait_for_selector("#item svg.graph .node.is-current")
    moves = watched.page.eval_on_selector_all(
        "#item svg.graph .slot", "all => all.map(e => e.getAttribute('transform'))"
    )
    for move, (x, y) in zip(moves, placed.corners, strict=True):
        found = [float(v) for v in re.findall(r"-?[0-9.]+", move)]
        assert found == pytest.approx([x, y], abs=12)
    assert watched.page.locator("#item svg.graph .edges path").count() == len(placed.routes)
    assert watched.page.locator("#item svg.graph .edges polygon").count() == len(placed.routes)
    watched.page.close()


def test_without_scripts_there_is_a_drawing_with_states(browser: Any, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    if find_engine() is None:
        pytest.skip("no layout program is installed")
    drawing = page.locator("noscript svg.graph, .specimen svg.graph").first
    assert drawing.is_visible()
    assert drawing.get_by_role("listitem").count() >= 2
    assert "just done" in (
        page.locator(".specimen [aria-label*='just done']").first.get_attribute("aria-label") or ""
    )
    page.emulate_media(media="print")
    assert drawing.is_visible()
    context.close()


def test_boxes_without_places_are_not_shown(
    browser: Any, small: ReportData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "find_engine", lambda: None)
    path = write_report(tmp_path / "r.html", small, ReportOptions(resamples=20))
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator("svg.graph").count() >= 2
    assert not any(
        page.locator("svg.graph").nth(n).is_visible() for n in range(page.locator("svg.graph").count())
    )
    context.close()


def luminance(page: Any, selector: str, key: str) -> float:
    colour = page.evaluate(f"getComputedStyle(document.querySelector({selector!r})).{key}")
    channels = [int(v) / 255 for v in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_contrast_in_both_themes(opened: Watched) -> None:
    for scheme in ("light", "dark"):
        opened.page.emulate_media(color_scheme=scheme)
        paper = luminance(opened.page, "body", "backgroundColor")
        assert (paper < 0.1) is (scheme == "dark")
        for selector in ("body", ".note", ".warn", ".top nav a", ".soft", ".legend"):
            low, high = sorted((luminance(opened.page, selector, "color"), paper))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (scheme, selector)


def test_the_toggle_changes_the_theme_and_says_so(opened: Watched) -> None:
    page = opened.page
    light = luminance(page, "body", "backgroundColor")
    page.click("#theme")
    assert luminance(page, "body", "backgroundColor") < light
    assert page.get_attribute("#theme", "aria-label") == "Change to light colours"
    page.emulate_media(media="print")
    assert luminance(page, "body", "backgroundColor") == pytest.approx(1)


def test_print_hides_the_controls_and_keeps_the_example(opened: Watched) -> None:
    page = opened.page
    page.emulate_media(media="print")
    assert not page.is_visible("#filters")
    assert not page.is_visible(".top")
    assert page.is_visible("#item h3")
    assert page.is_visible("#item .state-list")
    assert len(page.pdf(format="A4")) > 10_000


def test_narrow_screens_do_not_scroll_sideways(opened: Watched) -> None:
    for width in (320, 390, 768):
        opened.page.set_viewport_size({"width": width, "height": 800})
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_control_is_reached_by_keyboard_and_has_a_name(opened: Watched) -> None:
    unnamed = opened.page.eval_on_selector_all(
        "button, input, select, a[href]",
        """all => all.filter(e => !(e.getAttribute('aria-label') || e.textContent.trim()
             || (e.labels && e.labels.length))).map(e => e.outerHTML)""",
    )
    assert unnamed == []
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.className") == "skip"
