"""Classes of answers that people judge otherwise than earlier rules did, in words and activities of our own.

The rows were written, with what a person would say of them, before the oracle was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from proctor.exam.kinds.example import Example
from proctor.procedure.graph import Step, TaskGraph
from proctor.verify.oracle.annotator import Decision, Oracle
from proctor.verify.oracle.question import parse_question

Moments = Callable[..., Example]
Row = tuple[str, str, str, bool]
"""Ids of the steps done, question, answer, whether people take the answer for right."""

SHELF = "mark drill plugs sand oil bracket lay level"
ASSAY = "label thaw buffer sample vortex incubate read"


def _decide(graph: TaskGraph, example: Example, question: str, answer: str) -> Decision:
    return Oracle(threshold=0.5).decide(question, answer, example, graph)


def _check(graph: TaskGraph, make: Moments, row: Row, type_: str = "next") -> None:
    done, question, answer, right = row
    decision = _decide(graph, make(graph, done, type_), question, answer)
    assert decision.guess == right, (decision.ground, decision.reason)


END: Sequence[Row] = [
    # the result is finished, in words that no step has
    (SHELF, "What do I do with the shelf now?", "It's all set, so go ahead and use it.", True),
    (SHELF, "Is there anything left to screw?", "No, the shelf is mounted and ready.", True),
    (SHELF, "What happens next?", "That's the end of the procedure.", True),
    (SHELF, "What now?", "Enjoy your new shelf!", True),
    (SHELF, "Is the job over?", "Yes, you have finished all the steps.", True),
    (SHELF, "Anything else to do with the board?", "No, everything is levelled.", True),
    # more, left to taste, when everything is done
    (SHELF, "Should I add something to it?", "You can put a plant on it if you like.", True),
    (SHELF, "Should I paint it?", "That's optional; all the steps are done.", True),
    (SHELF, "Can I add hooks?", "Yes, if you want.", True),
    (SHELF, "Is there something else I could do?", "You could oil the board once more, but it's not needed.", True),
    (SHELF, "Do I need to sand it more?", "Only if you prefer it smoother.", True),
    (SHELF, "Should I paint it?", "Yes, paint the board white.", False),
    (SHELF, "What now?", "Glue the brackets.", False),
    # the same words before the end
    ("mark drill plugs sand oil bracket", "Is the shelf ready?", "Yes, enjoy your new shelf!", False),
    ("mark drill plugs sand oil bracket", "Was that the end?", "Yes, that was the end.", False),
    ("mark drill plugs sand oil bracket", "Was that it?", "No, lay the board on the brackets.", True),
]  # fmt: skip


@pytest.mark.parametrize("row", END)
def test_what_is_told_when_everything_is_done(row: Row, shelf: TaskGraph, make_moment: Moments) -> None:
    _check(shelf, make_moment, row)


ABOUT_A_THING: Sequence[Row] = [
    # the step that comes next of the very thing, though something else must be done before it
    ("sand mark drill", "Is there something else to do with the plugs?", "Yes, push them into the holes.", True),
    ("mark sand oil", "Is there anything else to do with the board?", "Yes, lay it on the brackets.", True),
    ("mark", "What's next for the board?", "Lay it on the brackets.", False),
    # "that was all" is about the thing
    ("mark drill plugs bracket sand oil lay level", "Anything else with the board?", "No, that was all.", True),
    ("mark drill sand", "Is there more to do with the board?", "No, that was all for the board.", False),
    ("mark drill plugs bracket", "Anything else to do with the holes?", "No, that's it for the holes.", True),
    # several are missing, one is told
    ("mark drill plugs bracket lay", "Am I missing any steps?", "Yes, oil the board.", True),
    ("mark drill plugs bracket lay", "Am I missing any steps?", "Yes, polish the board.", False),
    # a statement about the thing is no order to do it again
    ("mark drill plugs", "Do I have to do more with the holes?", "No, the holes are drilled and plugged.", True),
]  # fmt: skip


@pytest.mark.parametrize("row", ABOUT_A_THING)
def test_what_is_asked_of_one_thing(row: Row, shelf: TaskGraph, make_moment: Moments) -> None:
    _check(shelf, make_moment, row, "missing" if "missing" in row[1] else "next")


PROPOSALS: Sequence[Row] = [
    ("label thaw", "Should I vortex the tubes now?", "No, pipette the buffer into the tubes first.", True),
    ("label thaw", "Should I vortex the tubes now?", "Yes, vortex them.", False),
    ("label thaw buffer sample", "Are the tubes ready for vortexing?", "Yes, vortex them.", True),
    ("label thaw buffer", "Are the tubes ready for vortexing?", "Not yet, add 5 ul of sample.", True),
    ("label", "Should the sample be added at this point?", "No, thaw it first.", True),
    ("label", "Should the sample be added at this point?", "Yes, this is the right moment.", False),
    ("label thaw buffer sample", "Is it time to incubate?", "No, the tubes aren't vortexed yet.", True),
    ("label thaw buffer sample", "Should I vortex them for another minute?", "No, go on to vortex them once.", True),
    ("label thaw buffer sample vortex", "Should I keep vortexing longer?", "No, incubate them at 37 degrees.", True),
    ("label thaw buffer sample vortex incubate", "Can I read it now?", "Yes, read the absorbance at 595 nm.", True),
    ("label buffer", "Can I add the sample?", "No, it isn't ready yet, thaw the samples.", True),
    ("label thaw buffer", "Is it time to incubate?", "No, prepare the sample first.", True),
]  # fmt: skip


@pytest.mark.parametrize("row", PROPOSALS)
def test_proposals(row: Row, assay: TaskGraph, make_moment: Moments) -> None:
    _check(assay, make_moment, row)


ORDERS: Sequence[Row] = [
    ("label buffer sample", "Was it time to add the sample?", "No, it should have been thawed first.", True),
    ("label buffer sample", "Was it time to add the sample?", "Yes, it was the right time.", False),
    ("label buffer sample", "Was I ready to add the sample?", "No, the samples hadn't been thawed.", True),
    ("label buffer sample", "Was I ready to add the sample?", "Yes, you were.", False),
]  # fmt: skip


@pytest.mark.parametrize("row", ORDERS)
def test_the_right_time_is_asked_in_the_past(row: Row, assay: TaskGraph, make_moment: Moments) -> None:
    done, question, answer, right = row
    moment = make_moment(assay, done, "order", {"sample": ("order", "added before the samples were thawed")})
    assert _decide(assay, moment, question, answer).guess == right


HEAT: Sequence[tuple[str, str, bool]] = [
    ("Should I keep the heat this low?", "No, set it to medium.", True),
    ("Should I keep the heat this low?", "Yes, keep it low.", False),
    ("Was low heat correct for the oil?", "Yes, low heat works.", False),
    ("Was low heat correct for the oil?", "No, medium heat.", True),
    ("Was I supposed to use low heat?", "Yes, that was right.", False),
    ("Should I turn up the heat?", "Yes, to medium.", True),
    ("Should I lower the heat?", "Yes, lower heat is needed.", False),
    ("Did I get the heat wrong?", "Yes, low heat was used instead of medium heat.", True),
    ("Is the pan hot enough?", "No, it should be on medium heat.", True),
    ("Did I heat the oil properly?", "No, you used too much oil.", False),
    ("Did I heat the oil properly?", "No, you used low instead of medium heat.", True),
]


@pytest.mark.parametrize(("question", "answer", "right"), HEAT)
def test_temperature(
    question: str, answer: str, right: bool, pancakes: TaskGraph, make_moment: Moments
) -> None:
    moment = make_moment(
        pancakes,
        "oats yoghurt stir1 pan",
        "temperature",
        {"pan": ("temperature", "low heat instead of medium heat")},
    )
    assert _decide(pancakes, moment, question, answer).guess == right


BLOCKED: Sequence[Row] = [
    # what has to wait for another missing step is no answer to "what now"
    ("label thaw buffer incubate", "What now?", "Vortex the tubes.", False),
    ("label thaw buffer incubate", "What now?", "Add 5 ul of sample to each tube.", True),
]


@pytest.mark.parametrize("row", BLOCKED)
def test_a_missing_step_that_waits_for_another(
    row: Row, shelf: TaskGraph, assay: TaskGraph, make_moment: Moments
) -> None:
    _check(assay if row[0].startswith("label") else shelf, make_moment, row)


def test_a_step_that_hangs_on_a_missing_one_is_done_again_after_it(
    pancakes: TaskGraph, make_moment: Moments
) -> None:
    row = ("oats stir1", "What's the next step?", "Add the yoghurt, then stir the batter again.", True)
    _check(pancakes, make_moment, row)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("You're doing well, but you forgot to thaw the samples.", True),
        ("You're doing well, but you forgot to weigh the tubes.", False),
        ("Yes, the samples should have been thawed.", True),
        ("Yes, go back and thaw the samples.", True),
        ("Yes, go back and weigh the tubes.", False),
    ],
)
def test_praise_with_a_reminder(answer: str, right: bool, assay: TaskGraph, make_moment: Moments) -> None:
    moment = make_moment(assay, "label buffer sample", "missing")
    assert _decide(assay, moment, "Did I forget anything?", answer).guess == right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("Yes, buffer and samples.", False),
        ("Yes, the oats and the yoghurt.", True),
        ("Yes, the oats and honey.", False),
    ],
)
def test_a_bare_list_is_read_thing_by_thing(
    answer: str, right: bool, pancakes: TaskGraph, make_moment: Moments
) -> None:
    moment = make_moment(pancakes, "stir1", "missing")
    assert _decide(pancakes, moment, "Am I missing any ingredients?", answer).guess == right


@pytest.mark.parametrize(
    ("answer", "right"), [("Yes, now push the plugs in.", True), ("Yes, now screw on the brackets.", False)]
)
def test_yes_and_what_comes_next(answer: str, right: bool, shelf: TaskGraph, make_moment: Moments) -> None:
    assert _decide(shelf, make_moment(shelf, "mark drill"), "Are the holes finished?", answer).guess == right


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Is the board done drying?", "all_good"),
        ("Is that it?", "all_good"),
        ("Was that the end?", "all_good"),
        ("Is the whole job over?", "all_good"),
        ("Is the board ready for sanding?", "propose"),
        ("Should the board be sanded now?", "propose"),
        ("Should the board be thinner?", "check"),
        ("Should I turn the lamp off?", "propose"),
        ("Was the temperature off?", "check"),
        ("Was the temperature off in the last step?", "check"),
        ("Is there something off with how I sanded it?", "check"),
        ("Was it the right moment to sand it?", "order"),
        ("Is the board in the right place?", "check"),
        ("Are there screws left?", "left"),
    ],
)
def test_intents(question: str, intent: str) -> None:
    assert parse_question(question).intent == intent


def test_what_a_thing_is_like_is_not_what_is_done(make_moment: Moments) -> None:
    steps = (
        Step("fill", "Fill a microwave-safe bowl with soup"),
        Step("heat", "Microwave for 3 minutes"),
        Step("serve", "Serve the soup"),
    )
    soup = TaskGraph("soup", "Soup", steps, (("fill", "heat"), ("heat", "serve")))
    for question, answer in (
        ("Should I serve the soup now?", "No, microwave the soup first."),
        ("Is there more to do with the soup?", "Yes, you should microwave it."),
    ):
        _check(soup, make_moment, ("fill", question, answer, True))


def test_a_missing_step_implies_what_is_done_to_the_same_thing_before(make_moment: Moments) -> None:
    steps = (Step("peel", "Peel the onion"), Step("cut", "Slice the onion"), Step("fry", "Fry the rice"))
    rice = TaskGraph("rice", "Rice", steps, (("peel", "cut"), ("cut", "fry")))
    _check(rice, make_moment, ("fry", "What now?", "Slice the onion.", True))
