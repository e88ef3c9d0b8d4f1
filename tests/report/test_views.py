"""What frames and pixels bring: the table by model, gains that are paired, and the picture of score against cost."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import msgspec
import pytest
from tests.moments import with_example

from proctor.exam.question import Item
from proctor.report.data import ReportData, ReportOptions, Run, SharedCost
from proctor.report.experiment import describe_experiment
from proctor.report.figures.tradeoff import Tradeoff, TradeoffPoint, draw_tradeoff, money, money_ticks
from proctor.report.naming import name_runs
from proctor.report.page import render_report
from proctor.report.standings import compute_standings
from proctor.report.views import Views, describe_views

EVIL = "<script>alert(1)</script>\"'&\u202e"


def shown(run: Run, model: str, cost: str = "", **details: str) -> Run:
    given = {"model": model, **details, **({"cost": cost} if cost else {})}
    return replace(run, predictions=tuple(msgspec.structs.replace(p, details=given) for p in run.predictions))


@pytest.fixture(scope="module")
def items(item_factory: Callable[..., Item]) -> tuple[Item, ...]:
    found = (item_factory(n) for n in range(40))
    return tuple(with_example(i, recording_id=f"r{n % 20}") for n, i in enumerate(found))


@pytest.fixture(scope="module")
def data(small: ReportData, items: tuple[Item, ...], run_factory: Callable[..., Run]) -> ReportData:
    """One model without the recording, with few and with many frames; another one with frames and no price."""
    frames = {"view": "frames", "resolution": "288p", "sampling": "published"}
    runs = (
        shown(
            run_factory("o-m-question", items, "0", "floor"), "o/m", "0.0001", view="question", tokens_in="9"
        ),
        shown(
            run_factory("o-m-recipe", items, "01", "floor"), "o/m", "0.0002", view="recipe", tokens_in="99"
        ),
        shown(run_factory("o-m-few", items, "12"), "o/m", "0.001", frames="5", tokens_in="1000", **frames),
        shown(run_factory("o-m-many", items, "2"), "o/m", "0.01", frames="50", tokens_in="9000", **frames),
        shown(run_factory("g-n-few", items, "1"), "g/n", frames="5", **frames),
    )
    return replace(small, items=items, runs=runs, candidates=(), verdicts=(), funnel=())


@pytest.fixture(scope="module")
def options() -> ReportOptions:
    return ReportOptions(drawing="none", resamples=400)


def describe(data: ReportData, options: ReportOptions) -> Views | None:
    standings = compute_standings(data, options)
    return describe_views(
        standings, describe_experiment(standings), name_runs([r.run for r in standings.rows])
    )


def test_every_model_with_its_views_from_blind_to_dear(data: ReportData, options: ReportOptions) -> None:
    views = describe(data, options)
    assert views is not None
    found = {m.model: [(v.name.view, v.blind, v.cost, v.tokens) for v in m.lines] for m in views.models}
    assert found == {
        "o/m": [
            ("question alone", True, pytest.approx(0.1), 9),
            ("question and recipe", True, pytest.approx(0.2), 99),
            ("5 frames · 288p", False, pytest.approx(1), 1000),
            ("50 frames · 288p", False, pytest.approx(10), 9000),
        ],
        "g/n": [("5 frames · 288p", False, None, None)],
    }


def test_the_gain_is_the_paired_difference_to_the_model_that_knows_most_without_looking(
    data: ReportData, options: ReportOptions
) -> None:
    views = describe(data, options)
    assert views is not None
    model = next(m for m in views.models if m.model == "o/m")
    assert model.against == "o-m-recipe"
    few, many = model.lines[2:]
    assert model.lines[0].gain is None
    assert few.gain is not None
    assert many.gain is not None
    # marks 1, 2, 1, 2 … against 0, 1, 0, 1 …: 50 points more on each question; all 2: 100 or 50 more
    assert few.gain.value == pytest.approx(50)
    assert many.gain.value == pytest.approx(75)
    assert few.gain.low is not None
    assert few.gain.low <= 50 + 1e-9
    assert many.gain.p is not None
    assert many.gain.p < 0.05
    other = next(m for m in views.models if m.model == "g/n")
    assert (other.against, other.lines[0].gain) == ("", None)


def test_the_page_tells_scores_gains_and_costs(data: ReportData, options: ReportOptions) -> None:
    page = render_report(data, options=options)
    section = page[page.index('id="h-views"') : page.index('id="h-cost"')]
    for text in ("o/m", "50 frames · 288p", "+75.0*", "$10.00", "9,000", 'class="tradeoff"', "best floor"):
        assert text in section
    assert "$0.10" in section
    assert "Captions: without" not in section
    shared = (SharedCost("descriptions of frames by o/c", 7, 70, 7, 0.5, unpriced=True),)
    page = render_report(replace(data, shared=shared), options=options)
    assert "Captions: without what the captioner cost" in page
    assert "≥ $0.50" in page


def test_without_anything_seen_there_is_no_section(small: ReportData, options: ReportOptions) -> None:
    assert describe(small, options) is None
    assert 'id="h-views"' not in render_report(small, options=options)


def test_columns_that_nothing_stands_in_are_left_out(data: ReportData, options: ReportOptions) -> None:
    page = render_report(data, options=options)
    assert "By seeing" in page
    assert "Above the best floor" in page
    alone = render_report(replace(data, runs=data.runs[2:4]), options=options)
    assert 'id="h-views"' in alone
    assert "By seeing" not in alone
    assert "Above the best floor" not in alone


def test_without_prices_there_is_a_table_and_no_picture(data: ReportData, options: ReportOptions) -> None:
    page = render_report(replace(data, runs=data.runs[4:]), options=options)
    assert 'id="h-views"' in page
    assert 'class="tradeoff"' not in page


def test_requests_that_were_shrunk_are_counted_and_explained(
    data: ReportData, options: ReportOptions
) -> None:
    many = data.runs[3]
    why = "250 → 100 frames (o: 250 images, at most 100 are taken)"
    some = tuple(
        msgspec.structs.replace(p, details={**p.details, "shrunk": why}) if n % 4 == 0 else p
        for n, p in enumerate(many.predictions)
    )
    runs = (*data.runs[:3], replace(many, predictions=some))
    page = render_report(replace(data, runs=runs), options=options)
    assert "shrunk 10" in page
    assert "Requests that were made smaller" in page
    assert why in page
    assert "10 of 40" in page
    assert "Requests that were made smaller" not in render_report(data, options=options)


# -- the picture -------------------------------------------------------------------------------------------------


def svg(figure: Tradeoff) -> ET.Element:
    text = str(draw_tradeoff(figure))
    return ET.fromstring(text[: text.index("</svg>") + 6])


def test_the_axis_of_costs_is_logarithmic() -> None:
    points = tuple(TradeoffPoint(f"p{n}", "m", 10.0**n, 50.0) for n in range(4))
    marks = [e for e in svg(Tradeoff("t", points)).iter("g") if "mark" in e.get("class", "")]
    xs = [float(re.findall(r"[\d.]+", e.get("transform", ""))[0]) for e in marks]
    steps = [b - a for a, b in pairwise(xs)]
    assert len(steps) == 3
    assert steps == pytest.approx([steps[0]] * 3, abs=0.2)


def test_what_cannot_be_drawn_is_left_out() -> None:
    points = (
        TradeoffPoint("free", "m", 0.0, 50.0),
        TradeoffPoint("lost", "m", math.nan, 50.0),
        TradeoffPoint("unscored", "m", 1.0, math.nan),
    )
    assert "No cost is known" in draw_tradeoff(Tradeoff("t", points))
    drawn = str(draw_tradeoff(Tradeoff("t", (*points, TradeoffPoint("fine", "m", 1.0, 50.0)))))
    assert drawn.count("<title>") == 1
    assert "nan" not in drawn


def test_labels_lie_on_no_other_label() -> None:
    points = tuple(
        TradeoffPoint(f"{n}f · 288p", f"m{n % 3}", 1.0 + n / 50, 60 + n % 4, 55 + n % 4, 65 + n % 4)
        for n in range(12)
    )
    boxes = []
    for e in svg(Tradeoff("t", points, (("best floor", 35.0),))).iter("text"):
        if "288p" not in (e.text or ""):
            continue
        width, x, y = 6.1 * len(e.text or ""), float(e.get("x", 0)), float(e.get("y", 0))
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[e.get("text-anchor", "start")]
        boxes.append((left, y - 10, left + width, y + 2))
    assert len(boxes) == 12
    lie = [
        (a, b)
        for n, a in enumerate(boxes)
        for b in boxes[n + 1 :]
        if min(a[2], b[2]) - max(a[0], b[0]) > 3 and min(a[3], b[3]) - max(a[1], b[1]) > 3
    ]
    assert len(lie) <= 2, "twelve marks in one place leave little room"


def test_many_points_have_no_words_but_tooltips() -> None:
    points = tuple(TradeoffPoint(f"v{n}", "m", 1.0 + n, 50.0) for n in range(40))
    drawn = str(draw_tradeoff(Tradeoff("t", points)))
    assert ">v7<" not in drawn
    assert "m, v7: 50.0, $8.00" in drawn


def test_hostile_names_are_text() -> None:
    drawn = str(draw_tradeoff(Tradeoff(EVIL, (TradeoffPoint(EVIL, EVIL, 1.0, 50.0),), ((EVIL, 3.0),))))
    assert "<script" not in drawn
    assert "\u202e" not in drawn
    ET.fromstring(f"<div>{drawn}</div>")


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (-1, 1, [0.1, 0.2, 0.5, 1, 2, 5, 10]),
        (0.5, 0.75, [4, 5]),
        (-3, 2, [0.001, 0.01, 0.1, 1, 10, 100]),
    ],
)
def test_ticks_are_round_and_few(low: float, high: float, ticks: list[float]) -> None:
    assert money_ticks(low, high) == pytest.approx(ticks)


@pytest.mark.parametrize("power", [-12, -3, 0, 5])
def test_a_wide_range_still_has_few_ticks(power: int) -> None:
    assert len(money_ticks(power, power + 30)) <= 10


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        (0.0042, "$0.0042"),
        (1.2, "$1.20"),
        (1299.6, "$1,300"),
        (0, "$0"),
        (-1, "–"),
        (math.nan, "–"),
        (1e-15, "$1.0e-15"),
    ],
)
def test_money(dollars: float, text: str) -> None:
    assert money(dollars) == text
