"""What now, of a certain thing or kind; each right answer has a wrong twin."""

from __future__ import annotations

import pytest

from proctor.exam.kinds.example import Example
from proctor.procedure.graph import Step, TaskGraph
from proctor.verify.oracle.answer import parse_answer
from proctor.verify.oracle.case import Ground
from proctor.verify.oracle.decide import decide
from proctor.verify.oracle.match import StepIndex
from proctor.verify.oracle.moment import Moment
from proctor.verify.oracle.question import parse_question


def _ground(question: str, answer: str, example: Example, graph: TaskGraph) -> Ground:
    return decide(parse_question(question), parse_answer(answer), Moment(example, graph), StepIndex(graph))


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("What should I do with the brackets now?", True),
        ("What should I do next?", False),
        ("What should I do with the wall now?", False),
    ],
)
def test_what_is_missing_elsewhere_was_not_asked_about(
    shelf: TaskGraph, make_moment, question: str, right: bool
) -> None:
    """Marking and drilling the wall are missing; that is not asked of the brackets."""
    moment = make_moment(shelf, "plugs")
    ground = _ground(question, "Screw the brackets to the wall.", moment, shelf)
    assert (ground.lean > 0) is right


@pytest.fixture(scope="module")
def gel() -> TaskGraph:
    """Laboratory: casting a gel, with two vessels."""
    steps = (
        Step("agar", "Add 1 g agarose to the flask"),
        Step("salt", "Add 2 g salt to the flask"),
        Step("swirl", "Swirl the contents of the flask"),
        Step("comb", "Place the comb in the tray"),
        Step("dye", "Take a drop of dye"),
    )
    return TaskGraph("gel", "Agarose gel", steps, (("agar", "swirl"),))


@pytest.mark.parametrize(
    ("question", "answer", "right"),
    [
        ("Which reagent should I add to the flask next?", "Add 2 g salt to the flask.", True),
        ("Which reagent should I add to the flask next?", "Place the comb in the tray.", False),
        ("Which reagent should I take next?", "Take a drop of dye.", True),
        ("Which ingredient comes next?", "Take a drop of dye.", True),
        ("Which ingredient comes next?", "Swirl the contents of the flask.", False),
        ("Are there any other reagents I need now?", "Yes, swirl the contents of the flask.", False),
        ("Are there any other reagents I need now?", "Yes, add the salt.", True),
        ("What should I do next?", "Swirl the contents of the flask.", True),
    ],
)
def test_the_kind_of_thing_and_the_place_that_were_asked_about(
    gel: TaskGraph, make_moment, question: str, answer: str, right: bool
) -> None:
    assert (_ground(question, answer, make_moment(gel, "agar"), gel).lean > 0) is right


def test_a_step_that_must_come_first_and_a_move_are_not_beside_the_question(
    gel: TaskGraph, make_moment
) -> None:
    """A move is no thing (though to add is to move something), and the flask is not swirled before it is filled."""
    moment = make_moment(gel, "salt")
    assert _ground("What is my next move?", "Take a drop of dye.", moment, gel).lean > 0
    assert _ground("What should I do with the contents next?", "Add 1 g agarose first.", moment, gel).lean > 0
    assert (
        _ground("What should I do with the agarose next?", "Place the comb in the tray.", moment, gel).lean
        < 0
    )


def test_where_nothing_is_left_to_add_another_step_will_do(gel: TaskGraph, make_moment) -> None:
    moment = make_moment(gel, "agar salt comb dye")
    assert _ground("Which ingredient comes next?", "Swirl the contents of the flask.", moment, gel).lean > 0


@pytest.mark.parametrize(
    ("done", "question", "answer", "right"),
    [
        ("saw", "What should I do next?", "Sand the board.", True),
        ("saw", "What should I do next?", "Oil the board.", True),
        ("saw oil", "Is there anything left to do?", "No, you are done.", True),
        ("saw", "Can I skip sanding the board?", "Yes, you can leave that out.", True),
        ("saw", "Can I skip sanding the board?", "No, you have to do that.", False),
        ("saw", "Can I skip oiling the board?", "Yes, you can leave that out.", False),
    ],
)
def test_an_optional_step_may_be_done_and_may_be_left_out(
    make_moment, done: str, question: str, answer: str, right: bool
) -> None:
    steps = (Step("saw", "Saw the board"), Step("sand", "Sand the board", True), Step("oil", "Oil the board"))
    graph = TaskGraph("bench", "Bench", steps, (("saw", "sand"), ("sand", "oil")))
    assert (_ground(question, answer, make_moment(graph, done), graph).lean > 0) is right
