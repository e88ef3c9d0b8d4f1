from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.exam.table import ScoreRow
from proctor.report import charts
from proctor.report.data import ROLES, Role


def row(value: float | None, low: float | None = None, high: float | None = None) -> ScoreRow:
    return ScoreRow(slice="all", kind="all", measure="judge", value=value, low=low, high=high)


def positions(svg: str) -> list[float]:
    return [float(v) for v in re.findall(r'="(-?[\d.]+)%"', svg)]


@given(
    st.floats(-50, 150) | st.none(),
    st.none() | st.tuples(st.floats(-50, 150), st.floats(-50, 150)),
    st.sampled_from(["system", "floor", "upper", "human"]),
)
def test_interval_charts_are_well_formed_and_stay_inside(
    value: float | None, ends: tuple[float, float] | None, role: Role
) -> None:
    low, high = (min(ends), max(ends)) if ends is not None else (None, None)
    svg = charts.interval_chart(row(value, low, high), role, low=low, high=high, bound=high)
    ET.fromstring(svg)
    assert "nan" not in svg
    assert all(0 <= x <= 100 for x in positions(svg))


def test_an_undefined_score_draws_the_grid_only() -> None:
    svg = charts.interval_chart(row(None), "system")
    assert "point" not in svg
    assert svg.count("<line") == len(charts.TICKS)


def test_roles_differ_by_shape_and_not_only_by_colour() -> None:
    shapes = {re.sub(r'<g class="\w+">', "", charts.interval_chart(row(5.0), r)) for r in ROLES}
    assert len(shapes) == 4


@given(st.lists(st.tuples(st.sampled_from(["2", "1", "0", "none"]), st.integers(0, 500)), max_size=4))
def test_distribution_fills_the_bar(counts: list[tuple[str, int]]) -> None:
    svg = charts.distribution_bar(counts)
    ET.fromstring(svg)
    widths = [float(w) for w in re.findall(r'width="([\d.]+)%" height="16"/>', svg)]
    if any(n for _, n in counts):
        assert sum(widths) == pytest.approx(100, abs=0.05)


def test_differences_lie_around_the_middle() -> None:
    svg = charts.difference_chart(0, -5, 5, span=10)
    assert {25.0, 75.0, 50.0} <= set(positions(svg))
    assert 50.0 in positions(charts.difference_chart(3, None, None, span=0))


def test_bars_of_nothing_are_empty() -> None:
    assert 'width="0%" height' in charts.bar(0, 0)
    assert 'width="50%" height' in charts.bar(1, 2)
