"""Readings mended after the held half of the blind set was opened, in domains other than the kitchen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from proctor.exam.kinds.example import Example
from proctor.procedure.graph import Step, TaskGraph
from proctor.verify.oracle.annotator import Decision, Oracle
from proctor.verify.oracle.question import parse_question

Moments = Callable[..., Example]
Row = tuple[str, str, str, bool]
"""Ids of the steps done, question, answer, whether the answer is right."""


def _decide(graph: TaskGraph, example: Example, question: str, answer: str) -> Decision:
    return Oracle(threshold=0.5).decide(question, answer, example, graph)


# -- can it be used? -------------------------------------------------------------------------------------------

SHELF = "mark drill plugs sand oil bracket lay level"
ASSAY = "label thaw buffer sample vortex incubate read"


@pytest.mark.parametrize(
    "text",
    [
        "Is it ready to use?",
        "Is it ready for use now?",
        "Are they ready to ship?",
        "Can I use it now?",
        "Can we hand it over already?",
        "Can I use this yet?",
        "Is it safe to wear?",
        "Can it be used now?",
        "Is everything ready to be delivered?",
        "Am I ready to hand it over?",
        "Are we good to serve now?",
    ],
)
def test_use_asks_whether_it_is_over(text: str) -> None:
    question = parse_question(text)
    assert (question.intent, question.trouble, question.completion) == ("all_good", "no", True)


@pytest.mark.parametrize(
    "text",
    ["Can I use the drill now?", "Can I use it before drilling?", "Should I use it?", "Can I use glue?"],
)
def test_use_of_a_tool_is_another_question(text: str) -> None:
    assert not parse_question(text).use


USES: Sequence[Row] = [
    ("mark drill sand", "Is it ready to use?", "Yes, you're all done.", False),
    ("mark drill sand", "Can I use it now?", "Yes, it is finished.", False),
    ("mark drill sand", "Can we use it yet?", "Yes.", False),
    ("mark drill sand", "Is it ready to use?", "No, not yet.", True),
    ("mark drill sand", "Can I use it now?", "No, push the plugs into the holes first.", True),
    ("mark drill plugs sand bracket lay level", "Can we use it now?", "Yes, you're all done.", False),
    ("mark drill plugs sand bracket lay level", "Can we use it now?", "No, you still have to oil the board.", True),
    (SHELF, "Is it ready to use?", "Yes, you're all done.", True),
    (SHELF, "Can we hand it over now?", "Yes, you can.", True),
    (SHELF, "Can I use it now?", "No, not yet.", False),
    (SHELF, "Is it ready for use?", "No, something is missing.", False),
]  # fmt: skip


@pytest.mark.parametrize(("done", "question", "answer", "right"), USES)
def test_whether_it_can_be_used(
    shelf: TaskGraph, make_moment: Moments, done: str, question: str, answer: str, right: bool
) -> None:
    decision = _decide(shelf, make_moment(shelf, done), question, answer)
    assert decision.guess == right, decision.reason


@pytest.mark.parametrize(
    ("done", "answer", "right"),
    [
        ("fix clean", "Yes, hand it over to the tenant.", True),
        ("fix clean", "Yes.", True),
        ("fix", "Yes.", False),
        ("fix", "No, clean the floor first.", True),
        ("", "Yes, you're all done.", False),
    ],
)
def test_a_use_that_is_a_step(make_moment: Moments, done: str, answer: str, right: bool) -> None:
    steps = (Step("fix", "Fix the tap"), Step("clean", "Clean the floor"), Step("give", "Hand over the flat"))
    graph = TaskGraph("flat", "Flat", steps, (("fix", "clean"), ("clean", "give")))
    decision = _decide(graph, make_moment(graph, done), "Can we hand it over now?", answer)
    assert decision.guess == right, decision.reason


# -- its place -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Was the buffer supposed to come first?",
        "Were the plugs meant to go in first?",
        "Is the buffer meant to be the first thing in the tube?",
        "Does the board go on before the brackets?",
        "Is oiling the board supposed to be the first step?",
        "Do the plugs go in first?",
        "Should the oil have been applied first?",
    ],
)
def test_asks_for_a_place(text: str) -> None:
    question = parse_question(text)
    assert (question.intent, question.place, question.trouble) == ("order", True, "yes")


@pytest.mark.parametrize(
    "text",
    [
        "Is there anything to do before the brackets?",
        "Should I do something first?",
        "Did I miss a step before the board?",
        "Can I lay the board before oiling it?",
        "What goes in first?",
        "Is it time for the first step?",
        "Was I supposed to drill first?",
        "Is the first step done?",
        "Was everything done that has to come before drilling?",
        "Are the steps done that should come before drilling?",
        "Did all that goes in before the buffer go in?",
        "Was this done before it should be?",
        "Are all the holes drilled before I go on?",
        "Was my first step right?",
    ],
)
def test_does_not_ask_for_a_place(text: str) -> None:
    assert not parse_question(text).place


PLACES: Sequence[Row] = [
    ("buffer", "Was the buffer supposed to come first?", "No, label the tubes first.", True),
    ("buffer", "Was the buffer supposed to come first?", "No, you should have labelled the tubes.", True),
    ("buffer", "Was the buffer supposed to come first?", "No, vortex the tubes first.", False),
    ("buffer", "Was the buffer supposed to come first?", "No, the order was right.", False),
    ("buffer", "Is the buffer meant to be the first thing?", "No, label the tubes before that.", True),
    ("buffer", "Is the buffer meant to be the first thing?", "Yes.", False),
    ("buffer", "Is the buffer meant to be the first thing?", "No.", True),
    ("buffer label", "Was the buffer supposed to come first?", "No, label the tubes first.", True),
    ("label buffer", "Was the buffer supposed to come first?", "No, the labels go first, label the tubes.", True),
    ("label buffer", "Was the buffer supposed to come first?", "No, thaw the samples first.", False),
    ("label thaw sample", "Does the sample go in before the buffer?", "No, pipette the buffer first.", True),
    ("label thaw sample", "Does the sample go in before the buffer?", "No.", True),
    ("label thaw sample", "Does the sample go in before the buffer?", "Yes.", False),
    ("label", "Does the sample go in before the buffer?", "No, pipette the buffer first.", True),
    ("label", "Does the buffer go in before the sample?", "Yes.", True),
    ("label", "Should the tubes be labelled before I pipette the buffer?", "Yes, label them first.", True),
    ("label thaw", "Should the sample be added before I pipette the buffer?", "Yes, add the sample first.", False),
]  # fmt: skip


@pytest.mark.parametrize(("done", "question", "answer", "right"), PLACES)
def test_what_had_to_come_first(
    assay: TaskGraph, make_moment: Moments, done: str, question: str, answer: str, right: bool
) -> None:
    decision = _decide(assay, make_moment(assay, done), question, answer)
    assert decision.guess == right, decision.reason


# -- the answer's own verb -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wash() -> TaskGraph:
    """Laboratory: cells are washed; the same things occur with several verbs."""
    steps = (
        Step("fill", "Fill a shaker-safe flask with cell suspension"),
        Step("shake", "Shake the contents of the flask for 4 minutes"),
        Step("spin", "Spin the contents of the flask for 10 minutes"),
        Step("pour", "Pour the liquid off the cells"),
        Step("buffer", "Stir the buffer powder into the water"),
        Step("cells", "Mix the cells with the stirred buffer"),
    )
    edges = (
        ("fill", "shake"), ("shake", "spin"), ("spin", "pour"), ("pour", "cells"), ("buffer", "cells")
    )  # fmt: skip
    return TaskGraph("wash", "Wash cells", steps, edges)


PRONOUNS: Sequence[Row] = [
    ("fill", "What do I do with the suspension?", "Shake it for 4 minutes.", True),
    ("fill", "What now with the cell suspension?", "Shake it.", True),
    ("fill", "What do I do with the suspension?", "Spin it for 10 minutes.", False),
    ("fill", "What do I do with the suspension?", "Fill it into the flask.", False),
    ("fill shake", "What do I do with the suspension now?", "Spin it for 10 minutes.", True),
    ("fill shake", "What do I do with the suspension now?", "Shake it for 4 minutes.", False),
    ("fill shake spin", "What should I do with the liquid?", "Pour it off.", True),
    ("fill", "What happens to the powder?", "Stir it into the water.", True),
    ("buffer fill", "What do I do with the buffer?", "Stir it.", False),
]


@pytest.mark.parametrize(("done", "question", "answer", "right"), PRONOUNS)
def test_the_verb_of_the_answer_decides(
    wash: TaskGraph, make_moment: Moments, done: str, question: str, answer: str, right: bool
) -> None:
    decision = _decide(wash, make_moment(wash, done), question, answer)
    assert decision.guess == right, decision.reason


# -- the same thing with another verb --------------------------------------------------------------------------


OFFERS: Sequence[Row] = [
    ("mark", "Should I use the wall now?", "Yes, drill two holes into the wall.", True),
    ("mark drill", "Should I put the plugs in now?", "Yes, push the plugs into the holes.", True),
    ("sand", "Should I do something to the board now?", "Yes, rub the oil into the board.", True),
    ("sand", "Should I paint the board now?", "Yes, rub linseed oil into the board.", True),
    ("sand", "Should I paint the board now?", "Yes, lay the board on the brackets.", False),
    ("sand", "Should I paint the board now?", "Yes, mark the holes on the wall.", False),
    ("sand", "Should I lay the board now?", "Yes, rub linseed oil into the board.", False),
    ("mark drill plugs sand oil", "Should I oil the brackets now?", "Yes, screw them to the wall.", True),
    ("mark drill sand oil", "Should I oil the brackets now?", "Yes, screw the brackets to the wall.", False),
]


@pytest.mark.parametrize(("done", "question", "answer", "right"), OFFERS)
def test_the_same_thing_with_another_verb(
    shelf: TaskGraph, make_moment: Moments, done: str, question: str, answer: str, right: bool
) -> None:
    decision = _decide(shelf, make_moment(shelf, done), question, answer)
    assert decision.guess == right, decision.reason


# -- more of a kind --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dye() -> TaskGraph:
    """Laboratory: liquids go into a tube in any order, then the tube is closed."""
    steps = (
        Step("salt", "Pipette the salt solution into the tube"),
        Step("dye", "Pipette 2 ml methyl orange into the tube"),
        Step("acid", "Pipette 1 ml vinegar into the tube"),
        Step("rack", "Wipe the rack"),
        Step("close", "Close the tube with a cap"),
    )
    return TaskGraph("dye", "Dye", steps, (("salt", "close"), ("dye", "close"), ("acid", "close")))


KINDS: Sequence[Row] = [
    ("salt", "Are there any other liquids I need?", "Yes, pipette 2 ml methyl orange.", True),
    ("salt", "Are there any other liquids I need?", "Yes, 1 ml vinegar.", True),
    ("salt dye", "Are there any more liquids needed?", "Yes, pipette 1 ml vinegar.", True),
    ("salt dye", "Are there any more liquids needed?", "Yes, pipette 2 ml methyl orange.", False),
    ("salt", "Are there any other liquids I need?", "Yes, wipe the rack.", False),
    ("salt", "Are there any other liquids I need?", "Yes, close the tube with a cap.", False),
    ("salt", "Is there anything else to add?", "Yes, pipette 1 ml vinegar into the tube.", True),
    ("salt", "Is there anything else to add?", "Yes, add a spoon of sugar.", False),
]


@pytest.mark.parametrize(("done", "question", "answer", "right"), KINDS)
def test_what_else_of_a_kind(
    dye: TaskGraph, make_moment: Moments, done: str, question: str, answer: str, right: bool
) -> None:
    decision = _decide(dye, make_moment(dye, done, "missing"), question, answer)
    assert decision.guess == right, decision.reason
