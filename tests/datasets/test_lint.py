"""Each linter rule on the smallest recording that it has to find, and on one that it must leave alone."""

from __future__ import annotations

import pytest

from proctor.datasets.lint import RULES, empty_order_mistakes, lint_recording
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
