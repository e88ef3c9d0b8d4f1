from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import effort

from proctor.drawing.sketch import FOLD_ABOVE, MAX_STEPS, NotDrawnError, list_steps, make_sketch
from proctor.procedure.graph import Step, TaskGraph


def chain(n: int, text: str = "do it") -> TaskGraph:
    steps = tuple(Step(str(i), text) for i in range(n))
    return TaskGraph("g", "g", steps, tuple((str(i), str(i + 1)) for i in range(n - 1)))


@st.composite
def graphs(draw: st.DrawFn, most: int = 9) -> TaskGraph:
    n = draw(st.integers(1, most))
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    steps = tuple(Step(str(i), draw(st.text(max_size=60))) for i in range(n))
    return TaskGraph("g", "g", steps, tuple((str(a), str(b)) for a, b in edges))


@given(graphs())
def test_every_step_has_one_box_with_its_whole_text_and_every_edge_is_there(graph: TaskGraph) -> None:
    sketch = make_sketch(graph)
    boxes = [box for slot in sketch.slots for box in slot.boxes]
    assert sorted(box.n for box in boxes) == list(range(len(graph.steps)))
    place = {slot.boxes[0].n: k for k, slot in enumerate(sketch.slots)}
    assert set(sketch.edges) == {(place[graph.index[a]], place[graph.index[b]]) for a, b in graph.edges}
    assert all(box.width >= 90 and box.height >= 22 for box in boxes)


def test_long_texts_are_whole() -> None:
    words = [f"Word{n}" for n in range(51)]
    graph = TaskGraph("g", "g", (Step("a", " ".join(words)),))
    assert " ".join(make_sketch(graph).slots[0].boxes[0].lines) == "1. " + " ".join(words)


def test_numbers_are_those_of_the_list(diamond: TaskGraph) -> None:
    drawn = {box.n: box.lines[0] for slot in make_sketch(diamond).slots for box in slot.boxes}
    for k, step in enumerate(list_steps(diamond), start=1):
        assert drawn[diamond.index[step.id]].startswith(f"{k}. ")
    assert drawn[0] == "Start"
    assert drawn[5] == "End"


def test_equal_texts_stay_two_boxes(twins: TaskGraph) -> None:
    lines = [slot.boxes[0].lines for slot in make_sketch(twins).slots]
    assert ("1. Stir the jar",) in lines
    assert ("3. Stir the jar",) in lines


def test_lists_follow_the_graph(diamond: TaskGraph, branches: TaskGraph, twins: TaskGraph) -> None:
    for graph in (diamond, branches, twins):
        assert graph.is_valid_order([step.id for step in list_steps(graph)])


# -- large graphs ------------------------------------------------------------------------------------------------


def test_a_chain_folds_beyond_the_limit_and_not_before() -> None:
    assert len(make_sketch(chain(FOLD_ABOVE)).slots) == FOLD_ABOVE
    folded = make_sketch(chain(FOLD_ABOVE + 1))
    assert len(folded.slots) == 1
    assert folded.slots[0].framed
    assert [box.n for box in folded.slots[0].boxes] == list(range(FOLD_ABOVE + 1))
    assert folded.edges == ()


def test_boxes_of_a_frame_lie_inside_it_and_apart() -> None:
    slot = make_sketch(chain(FOLD_ABOVE + 5, "word " * 20)).slots[0]
    edge = 0.0
    for box in slot.boxes:
        assert box.y > edge
        assert box.x > 0
        assert box.x + box.width < slot.width
        edge = box.y + box.height
    assert edge < slot.height


def test_folding_keeps_forks_joins_start_and_end_apart() -> None:
    """Start, a fork into two chains of 40, a join, end: four slots and two frames."""
    left, right = [f"l{n}" for n in range(40)], [f"r{n}" for n in range(40)]
    ids = ["S", "a", *left, *right, "z", "E"]
    edges = [("S", "a"), ("a", "l0"), ("a", "r0"), ("l39", "z"), ("r39", "z"), ("z", "E")]
    edges += [(f"{s}{n}", f"{s}{n + 1}") for s in "lr" for n in range(39)]
    graph = TaskGraph("g", "g", tuple(Step(i, i) for i in ids), tuple(edges), "S", "E")
    sketch = make_sketch(graph)
    named = [[graph.steps[box.n].id for box in slot.boxes] for slot in sketch.slots]
    assert sorted(named) == sorted([["S"], ["a"], left, right, ["z"], ["E"]])
    assert len(sketch.edges) == 6


def test_more_steps_than_can_be_read_are_not_drawn() -> None:
    assert make_sketch(chain(MAX_STEPS)).slots
    with pytest.raises(NotDrawnError, match="it has 301 steps; drawings stop at 300"):
        make_sketch(chain(MAX_STEPS + 1))


def test_texts_longer_than_any_box_are_not_drawn_and_never_cut() -> None:
    with pytest.raises(NotDrawnError, match="5,000 characters"):
        make_sketch(chain(1, "x" * 5_000))


def test_five_thousand_steps_are_refused_at_once() -> None:
    graph = chain(5_000)
    with effort(1), pytest.raises(NotDrawnError):
        make_sketch(graph)
