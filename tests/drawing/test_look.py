"""The drawing in a real browser: statuses without colours, contrast, room for texts, print, accessibility."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.axe import look_with_axe
from tests.studio.chromium import CHROMIUM

import proctor.studio
from proctor.drawing.engines import find_engine
from proctor.drawing.layout import Layouts
from proctor.drawing.view import view_graph
from proctor.exam.kinds.example import Example, Performed
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake
from proctor.studio.rendering import environment

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.skipif(find_engine() is None, reason="no layout program is installed"),
]
STUDIO = Path(proctor.studio.__path__[0])
LONG = "Whisk the eggs slowly with a fork until no streaks remain, WIDER THAN USUAL MMMM, then add one tablespoon of milk and season."
TEXTS = ("Rinse 1 zucchini", LONG, "水を沸かしてください、そして待つ", "Stir", "x" * 90, "Serve")
GRAPH = TaskGraph(
    "raita", "Cucumber raita", tuple(Step(str(n), t) for n, t in enumerate(TEXTS)),
    (("0", "1"), ("0", "2"), ("1", "3"), ("2", "3"), ("3", "4"), ("4", "5")),
)  # fmt: skip
EXAMPLE = Example(
    id="e", clip_id="c", recording_id="r", activity_id="raita", activity_name="Cucumber raita", type="next", end=90.0,
    state="ongoing", noisy=True,
    previous=(Performed("0", "Rinse 1 cucumber", TEXTS[0], (Mistake("preparation", "cucumber, not zucchini"),), 1.0, 20.0),),
    current=Performed("1", LONG, "", (Mistake("measurement", "two tablespoons"), Mistake("timing", "fast")), 21.0, 90.0),
)  # fmt: skip
POLICY = "default-src 'self'; script-src 'self'; style-src 'self'; object-src 'none'; base-uri 'none'"


def studio_page() -> str:
    body = (
        environment()
        .from_string(
            '{% from "graph.html.j2" import graph_panel, steps_list %}<main><h1>Item</h1>{{ graph_panel(view) }}{{ steps_list(view) }}</main>'
        )
        .render(view=view_graph(EXAMPLE, GRAPH, Layouts()))
    )
    links = "".join(
        f'<link rel="stylesheet" href="/{name}">' for name in ("css/tokens.css", "graph.css", "page.css")
    )
    return f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Item</title>{links}</head><body>{body}</body></html>'


def serve(route: Any) -> None:
    """Answer from the studio's files, under its content security policy."""
    path = re.sub(r"^https?://[^/]+/", "", route.request.url)
    if path == "page.css":
        route.fulfill(
            body="body{background:var(--panel);color:var(--ink);font:17px/1.5 sans-serif}",
            content_type="text/css",
        )
    elif path.endswith(".css"):
        route.fulfill(path=STUDIO / "static" / path)
    else:
        route.fulfill(
            body=studio_page(), content_type="text/html", headers={"content-security-policy": POLICY}
        )


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(java_script_enabled=True, viewport={"width": 1000, "height": 900})
    opened = context.new_page()
    problems: list[str] = []
    opened.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
    opened.route("**/*", serve)
    opened.goto("http://studio.test/")
    opened.wait_for_selector("svg.graph")
    assert problems == []
    yield opened
    context.close()


def style(page: Any, selector: str, key: str) -> str:
    value: str = page.eval_on_selector(selector, f"e => getComputedStyle(e).{key}")
    return value


def luminance(colour: str) -> float:
    channels = [int(v) / 255 for v in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def has_helvetica_widths() -> bool:
    """True where one of the drawings' own fonts is installed: boxes are laid out by their widths."""
    listing = shutil.which("fc-list")
    if listing is None:
        return True
    families = subprocess.run(
        [listing, ":", "family"], capture_output=True, text=True, check=False
    ).stdout.lower()
    return any(name in families for name in ("helvetica", "arial", "liberation sans"))


NODE = {"done": "svg .node.is-done", "current": "svg .node.is-current", "todo": "svg .node.is-todo"}


def test_statuses_are_told_by_shape_and_by_words_when_there_are_no_colours(page: Any) -> None:
    page.emulate_media(forced_colors="active")
    lines = {s: [style(page, f"{NODE[s]} .box", k) for k in ("strokeWidth", "strokeDasharray")] for s in NODE}
    assert lines == {"done": ["2px", "none"], "current": ["4px", "none"], "todo": ["1.8px", "0.01px, 3.8px"]}
    assert {style(page, f"{NODE[s]} .box", "stroke") for s in NODE} == {style(page, "svg .words", "fill")}
    assert style(page, "svg .inner", "stroke") == style(page, f"{NODE['current']} .box", "fill")
    assert page.text_content(f"{NODE['done']} .glyph") == "✓"
    assert page.text_content(f"{NODE['current']} .glyph") == "▶\ufe0e"
    assert page.locator(f"{NODE['todo']} .glyph").count() == 0
    assert page.locator("svg .badge.error text").all_text_contents() == ["▲ 1 error", "▲ 2 errors"]
    assert contrast(style(page, "svg .error text", "fill"), style(page, "svg .error rect", "fill")) > 7
    labels = [
        n.get_attribute("aria-label")
        for n in page.get_by_role("listitem").all()
        if n.get_attribute("aria-label")
    ]
    assert [re.sub(r".*\((.*)\)$", r"\1", label, flags=re.DOTALL) for label in labels] == [
        "done, 1 error: Preparation", "current, 2 errors: Measurement, Timing", *["not done"] * 4,
    ]  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    panel = style(page, ".graph-scroll", "backgroundColor")
    assert (luminance(panel) < 0.1) is (scheme == "dark")
    for selector in NODE.values():
        assert contrast(style(page, f"{selector} .box", "stroke"), panel) >= 3, selector
    for selector in (NODE["done"], NODE["current"]):
        tint = style(page, f"{selector} .box", "fill")
        assert contrast(style(page, f"{selector} .words", "fill"), tint) >= 7
        assert contrast(style(page, f"{selector} .glyph", "fill"), tint) >= 4.5
    assert contrast(style(page, f"{NODE['todo']} .words", "fill"), panel) >= 7
    assert contrast(style(page, "svg .error text", "fill"), style(page, "svg .error rect", "fill")) >= 4.5
    assert (
        contrast(style(page, ".mistakes b", "color"), style(page, ".mistakes li", "backgroundColor")) >= 4.5
    )
    assert (
        contrast(
            style(page, ".is-current .status", "color"),
            style(page, ".graph-step.is-current", "backgroundColor"),
        )
        >= 4.5
    )
    assert contrast(style(page, "svg .edges path", "stroke"), panel) >= 3


@pytest.mark.skipif(not has_helvetica_widths(), reason="needs a font as wide as Helvetica (fonts-liberation)")
def test_texts_fit_into_their_boxes_in_bold_too(page: Any) -> None:
    outside = page.evaluate(
        """() => [...document.querySelectorAll('svg .node:not(.terminal)')].flatMap(node => {
             const box = node.querySelector('.box').getBBox();
             return [node.querySelector('.words'), ...node.querySelectorAll('.glyph')]
               .map(t => [t.textContent, t.getBBox()])
               .filter(([, t]) => t.x < 0 || t.y < 0 || t.x + t.width > box.width || t.y + t.height > box.height)
               .map(([words, t]) => `${words}: ${t.x + t.width} of ${box.width}`);
           })"""
    )
    assert outside == []
    pills = page.evaluate(
        """() => [...document.querySelectorAll('svg .badge')].filter(b => {
             const [r, t] = ['rect', 'text'].map(n => b.querySelector(n).getBBox());
             return t.x < r.x || t.x + t.width > r.x + r.width;
           }).length"""
    )
    assert pills == 0


def test_steps_are_reached_by_the_keyboard_and_show_it(page: Any) -> None:
    page.focus(".graph-scroll")
    for n in ("0", "1"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.dataset.step") == n
        assert style(page, "svg .node:focus-visible", "outlineStyle") == "solid"
        assert style(page, "svg .node:focus-visible", "outlineWidth") == "3px"


def test_print_is_ink_on_white_and_whole(page: Any) -> None:
    page.emulate_media(color_scheme="dark", media="print")
    assert luminance(style(page, "svg .words", "fill")) < 0.05
    assert style(page, f"{NODE['done']} .box", "fill") == "none"
    assert contrast(style(page, "svg .error text", "fill"), style(page, "svg .error rect", "fill")) >= 4.5
    assert style(page, ".graph-scroll", "overflowX") == "visible"
    assert page.locator("svg.graph").bounding_box()["width"] <= 1000


def test_axe_finds_nothing(page: Any) -> None:
    page.unroute("**/*")
    assert look_with_axe(page, serious=True) == []
