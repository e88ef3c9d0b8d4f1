"""What was left out, and what was not; each right answer has a wrong twin."""

from __future__ import annotations

import pytest

from proctor.exam.kinds.example import Example
from proctor.procedure.graph import TaskGraph
from proctor.verify.oracle.answer import parse_answer
from proctor.verify.oracle.case import Ground
from proctor.verify.oracle.decide import decide
from proctor.verify.oracle.match import StepIndex
from proctor.verify.oracle.moment import Moment
from proctor.verify.oracle.question import parse_question


def _ground(question: str, answer: str, example: Example, graph: TaskGraph) -> Ground:
    return decide(parse_question(question), parse_answer(answer), Moment(example, graph), StepIndex(graph))


@pytest.mark.parametrize(
    ("question", "answer", "right"),
    [
        ("Should I have labeled the tubes before this?", "Yes, and you've already done that.", True),
        ("Was I supposed to label the tubes first?", "Yes, and you already did.", True),
        ("Should I have labeled the tubes before this?", "No, you already did.", True),
        ("Should I have labeled the tubes before this?", "You already did that.", True),
        ("Should I have thawed the samples before this?", "No, you already did.", False),
        ("Should I have thawed the samples before this?", "Yes, and you've already done that.", False),
        ("Should I have labeled the tubes before this?", "Yes, you should have labeled them already.", False),
    ],
)
def test_yes_and_it_is_done(assay: TaskGraph, make_moment, question: str, answer: str, right: bool) -> None:
    moment = make_moment(assay, "label buffer", "missing")
    assert (_ground(question, answer, moment, assay).lean > 0) is right


@pytest.mark.parametrize(
    ("question", "answer", "right"),
    [
        ("Did I forget to sand the board?", "No, you already sanded the edges.", True),
        ("Did I forget to sand the board?", "No, you sanded it perfectly.", False),
        ("Did I forget to drill the wall?", "No, you already drilled the wall.", False),
    ],
)
def test_a_step_done_badly_was_not_forgotten(
    shelf: TaskGraph, make_moment, question: str, answer: str, right: bool
) -> None:
    moment = make_moment(shelf, "plugs sand", "missing", {"sand": ("technique", "sanded across the grain")})
    assert (_ground(question, answer, moment, shelf).lean > 0) is right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("No, you should have sanded the edges of the board.", True),
        ("No, you should have pushed the plugs into the holes.", False),
    ],
)
def test_another_missing_step_does_not_tell_whether_this_thing_is_done(
    shelf: TaskGraph, make_moment, answer: str, right: bool
) -> None:
    moment = make_moment(shelf, "mark drill bracket lay", "missing")
    assert (_ground("Did I prepare the board already?", answer, moment, shelf).lean > 0) is right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("Yes, you should have thawed the samples first.", True),
        ("Yes, you should have labeled the tubes first.", False),
    ],
)
def test_what_was_done_in_time_is_not_what_had_to_come_first(
    assay: TaskGraph, make_moment, answer: str, right: bool
) -> None:
    """The tubes are words of the last step too, which went wrong; that is not what the answer says."""
    wrong = {"sample": ("order", "added before the samples were ready"), "buffer": ("technique", "splashed")}
    moment = make_moment(assay, "label buffer sample", "order", wrong)
    ground = _ground("Should I have done something else before adding it?", answer, moment, assay)
    assert (ground.lean > 0) is right


@pytest.mark.parametrize(
    ("done", "right"),
    [("mark drill", True), ("mark drill plugs bracket lay", False)],
    ids=["free", "overdue"],
)
def test_what_was_not_needed_yet_may_be_done_later(
    shelf: TaskGraph, make_moment, done: str, right: bool
) -> None:
    question, answer = "Did I need to sand the board before this?", "No, you can sand the board later."
    assert (_ground(question, answer, make_moment(shelf, done, "missing"), shelf).lean > 0) is right
