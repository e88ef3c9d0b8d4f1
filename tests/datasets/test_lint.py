"""Each linter rule on the smallest recording that it has to find, and on one that it must leave alone."""

from __future__ import annotations

import pytest

from proctor.datasets.lint import (
    ACTIVITY_RULES,
    RULES,
    empty_order_mistakes,
    find_always_ready,
    lint_recording,
)
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake, Recording, Segment

GRAPH = TaskGraph(
    "g",
    "G",
    (
        Step("a", "Heat it for 10 seconds"),
        Step("b", "Heat it for 60 seconds"),
        Step("c", "Serve"),
        Step("d", "Wash"),
    ),
    (("a", "b"), ("b", "c")),
)


def seg(
    step: str, start: float | None, end: float | None, *kinds: str, performed: str | None = None
) -> Segment:
    text = GRAPH[step].text if step in GRAPH else step
    return Segment(step, text, start, end, performed, tuple(Mistake(k, k) for k in kinds))


CLEAN = (seg("a", 0, 10), seg("b", 10, 20), seg("c", 20, 30), seg("d", 30, 40))

CASES: dict[str, tuple[Segment, ...]] = {
    "R1": (seg("b", 10, 20), seg("a", 0, 9)),
    "R2": (seg("a", None, None),),
    "R3": (seg("a", 0, 10, "missing"),),
    "R4": (seg("nonsense", 0, 10),),
    "R5": (seg("a", 0, 10, "order"),),
    "R6": (seg("a", 10, 10),),
    "R7": (seg("a", 0, 10), seg("b", 0.5, 10.5)),
    "R8": (seg("a", 0, 10), seg("a", 10, 20)),
    "R9": (seg("a", 0, 10, "timing", performed="Heat it for 10 seconds"),),
    "R10": (seg("b", 0, 10), seg("a", 10, 20)),
    "R11": (seg("b", 0, 10), seg("a", 10, 20), seg("c", 20, 30)),
}


def found(*segments: Segment) -> set[str]:
    return {f.rule for f in lint_recording(Recording("r", "g", "G", segments), GRAPH)}


def test_every_rule_is_described_and_tried() -> None:
    assert set(CASES) == set(RULES)


def test_a_clean_recording_has_no_findings() -> None:
    assert found(*CLEAN) == set()


@pytest.mark.parametrize("rule", CASES)
def test_the_rule_fires(rule: str) -> None:
    assert rule in found(*CASES[rule])


def test_r10_leaves_a_marked_order_mistake_alone() -> None:
    assert "R10" not in found(seg("b", 0, 10, "order"), seg("a", 10, 20))


def test_r10_leaves_a_prerequisite_that_never_comes_alone() -> None:
    assert "R10" not in found(seg("b", 0, 10))


def test_r11_sees_an_amount_under_the_wrong_label() -> None:
    wrong = seg("b", 0, 10, "timing", performed="Heat it for 10 seconds")
    assert "R11" in found(wrong, seg("a", 20, 30, "timing", performed="Heat it for 90 seconds"))


def test_r5_keeps_an_order_mistake_that_the_graph_supports() -> None:
    recording = Recording("r", "g", "G", (seg("c", 0, 10, "order"),))
    assert empty_order_mistakes(recording, GRAPH) == ()


def test_a_finding_names_recording_and_step() -> None:
    (finding,) = lint_recording(Recording("r7", "g", "G", CASES["R2"]), GRAPH)
    assert (finding.rule, finding.where) == ("R2", "r7: step a")


def test_r2_wants_no_mark_of_an_optional_step_that_was_skipped() -> None:
    graph = TaskGraph("g", "G", (Step("a", "Do a"), Step("o", "Do o", optional=True)), (("a", "o"),))
    recording = Recording("r", "g", "G", (Segment("o", "Do o"), Segment("a", "Do a", 0, 10)))
    assert "R2" not in {f.rule for f in lint_recording(recording, graph)}


def test_r5_knows_what_is_open_again() -> None:
    """``c`` before ``b`` was done again: an order mistake, although ``b`` was ever done."""
    recording = Recording(
        "r",
        "g",
        "G",
        (
            seg("a", 0, 10),
            seg("b", 10, 20),
            seg("a", 20, 30),
            seg("c", 30, 40, "order"),
            seg("b", 40, 50),
        ),
    )
    assert empty_order_mistakes(recording, GRAPH) == ()


@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        (["a b c d", "a d b c"], set()),
        (["a b c d", "a b d"], {"d"}),
        (["a b c", "a b"], {"d"}),
        (["a"], set()),  # one step says nothing about when it may be done
    ],
)
def test_r12_finds_a_step_that_is_always_ready(orders: list[str], expected: set[str]) -> None:
    recordings = [
        Recording(f"r{n}", "g", "G", tuple(seg(s, 10 * i, 10 * i + 9) for i, s in enumerate(order.split())))
        for n, order in enumerate(orders)
    ]
    found = find_always_ready(recordings, {"g": GRAPH})
    assert {f.seen.split()[1] for f in found} == expected
    assert {f.rule for f in found} <= set(ACTIVITY_RULES)
