"""Order and permission: what had to come first, and whether something was fine; each right answer has a wrong twin."""

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


# -- what had to come first ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("Yes, you should have vortexed the samples before incubating them.", True),
        ("Yes, you should have vortexed the tubes before incubating.", True),
        ("Yes, you should have thawed the samples before incubating.", True),
        ("Yes, you should have labeled the tubes before incubating.", False),
        ("Yes, you should have read the absorbance before incubating.", False),
        ("No, the order was right.", False),
    ],
)
def test_what_stands_in_front_of_before_had_to_come_first(
    assay: TaskGraph, make_moment, answer: str, right: bool
) -> None:
    """Thawing is an indirect prerequisite; the step to vortex speaks of tubes, not of what is in them."""
    moment = make_moment(assay, "label buffer sample incubate", "order", {"incubate": ("order", "too early")})
    assert (_ground("Did I incubate the tubes too early?", answer, moment, assay).lean > 0) is right


@pytest.mark.parametrize(
    ("question", "answer", "right"),
    [
        ("Should I have sanded the board before drilling?", "Yes, you should have sanded the board first.", True),
        ("Should I have prepared the board before laying it?", "Yes, you should have sanded its edges first.", True),
        ("Should I have prepared the board before this?", "Yes, you should have rubbed oil into the board.", True),
        ("Should I have prepared the wall first?", "Yes, you should have marked the wall first.", False),
        ("Should I have used the spirit level before laying it?", "Yes, you should have used the spirit level first.", False),
        ("Should I have prepared the board before laying it?", "No, the order was fine.", False),
    ],
)  # fmt: skip
def test_an_overdue_step_that_was_asked_about_is_no_circle(
    shelf: TaskGraph, make_moment, question: str, answer: str, right: bool
) -> None:
    done = "mark drill plugs bracket lay"
    moment = make_moment(shelf, done, "order", {"lay": ("order", "laid before the board was ready")})
    assert (_ground(question, answer, moment, shelf).lean > 0) is right


@pytest.mark.parametrize(
    ("done", "right"), [("mark drill plugs bracket lay", True), ("sand oil mark drill bracket", False)]
)
def test_all_the_parts_may_be_said_of_several_missing_steps(
    shelf: TaskGraph, make_moment, done: str, right: bool
) -> None:
    moment = make_moment(shelf, done, "order", {done.split()[-1]: ("order", "too early")})
    ground = _ground(
        "Should I have done something else before?",
        "Yes, you should have prepared all the parts before mounting.",
        moment,
        shelf,
    )
    assert (ground.name == "trouble_missing" and ground.lean > 0) is right


# -- is it fine, is it enough ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    [
        "Is it fine to screw them in by hand?",
        "Would it be okay to screw the brackets by hand?",
        "Can I screw the brackets in by hand?",
    ],
)
@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("No, you should use a screwdriver.", True),
        ("No.", True),
        ("Yes.", False),
        ("Yes, you can do that by hand.", False),
    ],
)
def test_what_went_wrong_is_not_fine(
    shelf: TaskGraph, make_moment, question: str, answer: str, right: bool
) -> None:
    done = "mark drill plugs bracket"
    moment = make_moment(shelf, done, "preparation", {"bracket": ("preparation", "screwed in by hand")})
    assert (_ground(question, answer, moment, shelf).lean > 0) is right


def test_permission_for_a_step_to_come_is_judged_by_the_graph(shelf: TaskGraph, make_moment) -> None:
    moment = make_moment(shelf, "mark drill")
    assert _ground("Is it okay to push the plugs in?", "Yes, go ahead.", moment, shelf).lean > 0
    assert _ground("Is it okay to push the plugs in?", "No.", moment, shelf).lean < 0


@pytest.mark.parametrize(
    "noted", ["Added 10 ul rather than 5 ul", "10 ul in place of 5 ul", "10 ul instead of 5 ul"]
)
@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("No, you added only half of what is needed.", False),
        ("No, that is twice as much as it should be.", True),
        ("No, it should be 5 ul.", True),
    ],
)
def test_which_way_an_amount_was_wrong(
    assay: TaskGraph, make_moment, noted: str, answer: str, right: bool
) -> None:
    moment = make_moment(assay, "label thaw buffer sample", "measurement", {"sample": ("measurement", noted)})
    assert (_ground("Is 10 ul of sample okay?", answer, moment, assay).lean > 0) is right
