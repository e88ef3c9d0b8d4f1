"""The picture of a procedure: every step and every arrow is there, and nothing lies over anything else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.ask.moment.recipe_picture import Box, Layout, draw_procedure, layout_procedure, writable
from proctor.errors import UserError
from proctor.procedure.graph import Step, TaskGraph

TEA = TaskGraph(
    "tea",
    "Make tea",
    (
        Step("0", "START"),
        Step("1", "Boil the water in the kettle until it is boiling"),
        Step("2", "Put the tea bag into the cup"),
        Step("3", "Pour the water"),
        Step("4", "END"),
    ),
    (("0", "1"), ("0", "2"), ("1", "3"), ("2", "3"), ("3", "4")),
)


def apart(a: Box, b: Box) -> bool:
    return (
        a.left + a.width < b.left
        or b.left + b.width < a.left
        or a.top + a.height < b.top
        or b.top + b.height < a.top
    )


def crosses(box: Box, begin: tuple[int, int], end: tuple[int, int]) -> bool:
    """True when a stretch of an arrow runs through the inside of a box."""
    for k in range(201):
        x = begin[0] + (end[0] - begin[0]) * k / 200
        y = begin[1] + (end[1] - begin[1]) * k / 200
        if box.left < x < box.left + box.width and box.top < y < box.top + box.height:
            return True
    return False


def check(graph: TaskGraph, layout: Layout) -> None:
    assert set(layout.boxes) == {s.id for s in graph.steps}
    assert set(layout.arrows) == set(graph.edges)
    for a, b in itertools.combinations(layout.boxes.values(), 2):
        assert apart(a, b)
    for box in layout.boxes.values():
        assert box.left > 0 < box.top
        assert box.left + box.width < layout.width
        assert box.top + box.height < layout.height
    for (before, after), points in layout.arrows.items():
        first, last = layout.boxes[before], layout.boxes[after]
        assert points[0] == (first.left + first.width // 2, first.top + first.height)
        assert points[-1] == (last.left + last.width // 2, last.top)
        assert all(a[1] <= b[1] for a, b in itertools.pairwise(points))
        for begin, end in itertools.pairwise(points):
            assert not any(crosses(box, begin, end) for box in layout.boxes.values())


@st.composite
def graphs(draw: st.DrawFn) -> TaskGraph:
    count = draw(st.integers(1, 9))
    texts = st.text("abc de fgh ij", min_size=1, max_size=90)
    steps = tuple(Step(f"s{n}", draw(texts).strip() or "x") for n in range(count))
    possible = list(itertools.combinations([s.id for s in steps], 2))
    edges = [pair for pair in possible if draw(st.booleans())]
    return TaskGraph("g", "g", steps, tuple(edges))


def test_the_shape_of_a_small_procedure() -> None:
    layout = layout_procedure(TEA)
    check(TEA, layout)
    tops = {name: box.top for name, box in layout.boxes.items()}
    assert tops["0"] < tops["1"] == tops["2"] < tops["3"] < tops["4"]
    assert " ".join(layout.boxes["1"].lines) == "1: Boil the water in the kettle until it is boiling"


@given(graph=graphs())
@settings(max_examples=60, deadline=None)
def test_nothing_lies_over_anything_else(graph: TaskGraph) -> None:
    check(graph, layout_procedure(graph))


def test_the_picture_is_the_same_again_and_differs_for_another_procedure() -> None:
    picture = draw_procedure(TEA)
    layout = layout_procedure(TEA)
    assert picture.shape == (layout.height, layout.width, 3)
    assert np.array_equal(picture, draw_procedure(TEA))
    other = TaskGraph("tea", "Make tea", TEA.steps, (*TEA.edges[:3], ("1", "2"), *TEA.edges[3:]))
    assert not np.array_equal(picture.mean(), draw_procedure(other).mean())
    for box in layout.boxes.values():  # each box has ink inside
        inside = picture[box.top + 4 : box.top + box.height - 4, box.left + 4 : box.left + box.width - 4]
        assert (inside < 60).all(axis=2).sum() > 20


def test_letters_without_a_glyph_are_an_error_and_never_a_hole() -> None:
    assert writable("Crème brûlée – ½ cup\nof  sugar at 180°") == "Creme brulee - 1/2 cup of sugar at 180°"
    with pytest.raises(UserError, match="lacks '泡'"):
        layout_procedure(TaskGraph("g", "g", (Step("1", "泡茶"), Step("2", "茶")), (("1", "2"),)))


def test_how_large_a_picture_may_become() -> None:
    steps = tuple(Step(f"{n}", "do something " * 3) for n in range(301))
    long = TaskGraph("g", "g", steps[:300], tuple((f"{n}", f"{n + 1}") for n in range(299)))
    check_size = layout_procedure(long)
    assert check_size.width * check_size.height < 40_000_000
    with pytest.raises(UserError, match="300 are the most"):
        layout_procedure(TaskGraph("g", "g", steps, tuple((f"{n}", f"{n + 1}") for n in range(300))))
    many = tuple(Step(f"{n}", "do something " * 300) for n in range(200))
    with pytest.raises(UserError, match="pixels"):
        layout_procedure(TaskGraph("g", "g", many, tuple(("0", f"{n}") for n in range(1, 200))))
