"""Direct prerequisites that are not done when a step begins."""

from __future__ import annotations

from dataclasses import replace

from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.order_check import unmet_prerequisites


def test_a_step_is_judged_by_what_was_begun_before_it(diamond: TaskGraph) -> None:
    assert unmet_prerequisites(diamond, "abcd") == [(), (), (), ()]
    assert unmet_prerequisites(diamond, "acbd") == [(), (), (), ()]
    assert unmet_prerequisites(diamond, "bacd") == [("a",), (), (), ()]
    assert unmet_prerequisites(diamond, "dabc") == [("b", "c"), (), (), ()]


def test_a_step_left_out_is_one_mistake_at_what_follows_it_directly(branches: TaskGraph) -> None:
    assert unmet_prerequisites(branches, ["a2", "b1", "b2", "z"]) == [("a1",), (), (), ()]


def test_repetitions_and_unknown_steps(diamond: TaskGraph) -> None:
    assert unmet_prerequisites(diamond, "bab?") == [("a",), (), (), None]
    assert unmet_prerequisites(diamond, "") == []


def test_optional_steps_are_no_prerequisites(diamond: TaskGraph) -> None:
    steps = tuple(replace(s, optional=s.id == "b") for s in diamond.steps)
    assert unmet_prerequisites(replace(diamond, steps=steps), "acd") == [(), (), ()]
    assert unmet_prerequisites(TaskGraph("g", "g", (Step("x", "x"),)), "xx") == [(), ()]
