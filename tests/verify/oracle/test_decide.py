"""One test or more for every intent, fact and domain; each right answer has a wrong twin."""

from __future__ import annotations

import pytest

from proctor.errors import UserError
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


def _for(question: str, answer: str, example: Example, graph: TaskGraph) -> bool:
    """True when the ground speaks for the answer."""
    ground = _ground(question, answer, example, graph)
    assert -1.0 <= ground.lean <= 1.0
    assert ground.reason
    return ground.lean > 0


# -- what now --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question", ["What should I do next?", "Which step comes now?", "And what is left to do?"]
)
@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("Push the plugs into the holes.", True),
        ("You could sand the board's edges.", True),
        ("Next, the plugs go into the holes.", True),
        ("Lay the board on the brackets.", False),
        ("Mark the drill holes on the wall.", False),
        ("Paint the ceiling.", False),
        ("You have finished, nothing is left.", False),
    ],
)
def test_next(shelf: TaskGraph, make_moment, question: str, answer: str, right: bool) -> None:
    assert _for(question, answer, make_moment(shelf, "mark drill"), shelf) is right


def test_next_when_finished(assay: TaskGraph, make_moment) -> None:
    moment = make_moment(assay, "label thaw buffer sample vortex incubate read")
    assert _for("What now?", "You are all done.", moment, assay)
    assert _for("Is there anything else to do?", "No, that was the last step.", moment, assay)
    assert not _for("What now?", "Vortex the tubes.", moment, assay)


def test_next_when_blocked(pancakes: TaskGraph, make_moment) -> None:
    """Nothing can follow, but steps are missing: saying that all is done is wrong."""
    moment = make_moment(pancakes, "oats yoghurt pan fry berries top")
    assert Moment(moment, pancakes).progress.blocked
    assert not _for("What should I do now?", "You're finished, enjoy!", moment, pancakes)
    assert _for("What should I do now?", "Stir the batter.", moment, pancakes)


def test_one_missing_step_is_let_pass_and_several_are_not(shelf: TaskGraph, make_moment) -> None:
    one = make_moment(shelf, "drill plugs")
    assert _for("What next?", "Screw the brackets to the wall.", one, shelf)
    several = make_moment(shelf, "lay")
    assert not _for("What next?", "Check it with a spirit level.", several, shelf)


def test_a_missing_step_may_be_made_up_for(assay: TaskGraph, make_moment) -> None:
    moment = make_moment(assay, "label buffer sample")
    assert _for("What should I do next?", "Thaw the samples on ice.", moment, assay)


def test_anything_else(assay: TaskGraph, make_moment) -> None:
    moment = make_moment(assay, "label")
    assert _for("Is there anything else to do?", "Yes, thaw the samples.", moment, assay)
    assert not _for("Is there anything else to do?", "No, nothing.", moment, assay)
    assert not _for("Is there anything else to do?", "Yes, centrifuge the blood.", moment, assay)


def test_anything_else_within_a_scope(shelf: TaskGraph, make_moment) -> None:
    moment = make_moment(shelf, "mark sand oil")
    assert _for("Is there anything to sand now?", "No, but you can drill two holes now.", moment, shelf)
    assert _for("Is there anything to sand now?", "No, nothing at this point.", moment, shelf)
    assert not _for("Is there anything to drill now?", "No, nothing at this point.", moment, shelf)


def test_a_wrong_quantity_turns_a_right_step_down(assay: TaskGraph, make_moment) -> None:
    moment = make_moment(assay, "label")
    assert _for("What next?", "Pipette 200 ul buffer into each tube.", moment, assay)
    assert not _for("What next?", "Pipette 900 ul buffer into each tube.", moment, assay)


def test_steps_of_equal_text(make_moment) -> None:
    from proctor.procedure.graph import Step

    graph = TaskGraph(
        "soup",
        "soup",
        (Step("a", "Stir the pot"), Step("b", "Add the leeks"), Step("c", "Stir the pot")),
        (("a", "b"), ("b", "c")),
    )
    assert _for("What next?", "Stir the pot.", make_moment(graph, "a b"), graph)
    assert not _for("What next?", "Stir the pot.", make_moment(graph, "a b c"), graph)


# -- did I forget anything -------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", ["missing", "next"])
@pytest.mark.parametrize(
    ("question", "answer", "right"),
    [
        ("Did I forget anything?", "Yes, you forgot to push in the plugs.", True),
        ("Did I forget anything?", "You should have pushed the plugs into the holes.", True),
        ("Did I forget anything?", "Yes, you missed marking the drill holes on the wall.", False),
        ("Did I forget anything?", "Yes, you forgot to varnish the ceiling.", False),
        ("Did I forget anything?", "No, you are on track.", False),
        ("Have I done everything so far?", "No, the plugs are not in the holes yet.", True),
        ("Have I done everything so far?", "Yes, everything is done.", False),
        ("Did I forget to push the plugs in?", "Yes, you did.", True),
        ("Did I forget to push the plugs in?", "No, you did not.", False),
        ("Did I forget to drill the holes into the wall?", "No, you have done that.", True),
        ("Did I forget to drill the holes into the wall?", "Yes, you did.", False),
    ],
)
def test_forgot_with_a_missing_step(
    shelf: TaskGraph, make_moment, question: str, answer: str, right: bool, type_: str
) -> None:
    moment = make_moment(shelf, "mark drill bracket", type_)
    assert Moment(moment, shelf).missing == {"plugs"}
    assert _for(question, answer, moment, shelf) is right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("No, nothing is missing.", True),
        ("No, you are doing fine.", True),
        ("Nope!", True),
        ("Yes, you forgot to label the tubes.", False),
        ("Yes.", False),
        ("Yes, you should have vortexed the tubes.", False),
    ],
)
def test_forgot_with_nothing_missing(assay: TaskGraph, make_moment, answer: str, right: bool) -> None:
    assert _for("Have I skipped a step?", answer, make_moment(assay, "label thaw", "missing"), assay) is right


def test_no_that_goes_on_with_a_missing_step_is_heard_to_the_end(shelf: TaskGraph, make_moment) -> None:
    moment = make_moment(shelf, "mark drill bracket", "missing")
    assert _for("Did I forget anything?", "No, but you need to push the plugs into the holes.", moment, shelf)


def test_no_with_a_false_claim_is_wrong(assay: TaskGraph, make_moment) -> None:
    moment = make_moment(assay, "label thaw", "missing")
    assert not _for("Did I miss a step?", "No, you can go on and label the tubes.", moment, assay)
    assert _for("Did I miss a step?", "No, you can go on and pipette the buffer.", moment, assay)


def test_mistakes_make_praise_less_likely(assay: TaskGraph, make_moment) -> None:
    clean = make_moment(assay, "label buffer", "missing")
    noisy = make_moment(assay, "label buffer", "missing", {"buffer": ("measurement", "used 100 ul")})
    praise = "No, you did everything correctly."
    assert (
        _ground("Did I miss anything?", praise, noisy, assay).lean
        < _ground("Did I miss anything?", praise, clean, assay).lean
    )


def test_several_missing_steps_in_one_answer(shelf: TaskGraph, make_moment) -> None:
    moment = make_moment(shelf, "mark drill bracket lay", "missing")
    both = "You should have pushed the plugs into the holes, and you forgot to rub oil into the board."
    ground = _ground("What did I forget?", both, moment, shelf)
    assert ground.lean > 0
    assert {"plugs", "oil"} <= set(ground.steps)


def test_still_missing_before_a_step_to_come(assay: TaskGraph, make_moment) -> None:
    moment = make_moment(assay, "label", "missing")
    assert _for(
        "Am I missing anything before adding the sample?",
        "You still have to thaw the samples.",
        moment,
        assay,
    )


# -- shall I ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "answer", "right"),
    [
        ("Should I thaw the samples now?", "Yes, do that.", True),
        ("Should I thaw the samples now?", "No.", False),
        ("Should I vortex the tubes now?", "Yes.", False),
        ("Should I vortex the tubes now?", "No, not yet, add the sample first.", True),
        ("Should I vortex the tubes now?", "No, you have to read the absorbance first.", False),
        ("Should I vortex the tubes now?", "No, you need to wash the rotor first.", False),
        ("Can I label the tubes now?", "No, you have done that already.", True),
        ("Can I label the tubes now?", "Yes, go ahead.", False),
        ("Is it okay to pipette the buffer?", "Yes, you should vortex the tubes.", False),
    ],
)
def test_propose(assay: TaskGraph, make_moment, question: str, answer: str, right: bool) -> None:
    assert _for(question, answer, make_moment(assay, "label"), assay) is right


@pytest.mark.parametrize(
    ("question", "answer", "right"),
    [
        ("Do I have to thaw the samples before I vortex the tubes?", "Yes.", True),
        ("Do I have to thaw the samples before I vortex the tubes?", "No.", False),
        ("Do I have to thaw the samples before I pipette the buffer?", "No, either can come first.", True),
        ("Do I have to thaw the samples before I pipette the buffer?", "Yes, you do.", False),
    ],
)
def test_order_of_two_steps_to_come(
    assay: TaskGraph, make_moment, question: str, answer: str, right: bool
) -> None:
    assert _for(question, answer, make_moment(assay, "label"), assay) is right


# -- order -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "answer", "right"),
    [
        ("Did I fry too early?", "Yes, you should have stirred the batter first.", True),
        ("Did I fry too early?", "Yes, you should have washed the berries first.", False),
        ("Did I fry too early?", "No, that was fine.", False),
        ("Was that the right moment?", "No, you had to stir the batter before this.", True),
        ("Was that the right moment?", "Yes, it was.", False),
        ("What had to come before this step?", "You should have stirred the batter.", True),
        ("What had to come before this step?", "You should have washed the berries.", False),
    ],
)
def test_order(pancakes: TaskGraph, make_moment, question: str, answer: str, right: bool) -> None:
    moment = make_moment(
        pancakes, "oats yoghurt pan fry", "order", {"fry": ("order", "performed before stirring")}
    )
    assert _for(question, answer, moment, pancakes) is right


def test_order_said_by_the_place(pancakes: TaskGraph, make_moment) -> None:
    late = make_moment(
        pancakes, "oats yoghurt pan fry stir1", "order", {"stir1": ("order", "done at a wrong place")}
    )
    question = "What is wrong with the order?"
    assert _for(question, "You should have done this before frying the batter.", late, pancakes)
    assert _for(question, "It was done after frying the batter.", late, pancakes)
    assert not _for(question, "You should have done this before washing the berries.", late, pancakes)


def test_order_with_nothing_wrong(assay: TaskGraph, make_moment) -> None:
    moment = make_moment(assay, "label thaw")
    assert _for("Did I do this too early?", "No, this is a good moment.", moment, assay)
    assert not _for("Did I do this too early?", "Yes, you should have waited.", moment, assay)


def test_a_step_does_not_have_to_come_before_itself(pancakes: TaskGraph, make_moment) -> None:
    moment = make_moment(
        pancakes, "oats yoghurt pan fry", "order", {"fry": ("order", "performed before stirring")}
    )
    assert not _for(
        "Was it too early to fry the batter?", "Yes, you had to fry the batter first.", moment, pancakes
    )


def test_no_that_accuses_of_a_step_not_due(assay: TaskGraph, make_moment) -> None:
    moment = make_moment(assay, "label thaw", "missing")
    assert not _for("Have I done all steps so far?", "Yes, you did not pipette the buffer.", moment, assay)


def test_nothing_overdue_while_steps_are_left(assay: TaskGraph, make_moment) -> None:
    question, answer = "Is there anything else I should be doing?", "No, you are on track."
    assert _for(question, answer, make_moment(assay, "label thaw", "missing"), assay)
    assert not _for(question, answer, make_moment(assay, "label thaw", "next"), assay)


# -- was this right --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "answer", "right"),
    [
        ("Did I use the right amount of oil?", "No, it should have been 3 tbsp.", True),
        ("Did I use the right amount of oil?", "No, you used too much.", True),
        ("Did I use the right amount of oil?", "Yes, that was right.", False),
        ("Was it too little oil?", "No, it was too much.", True),
        ("Is there a mistake in how much oil I used?", "Yes, you took 5 tbsp instead of 3 tbsp.", True),
        ("Is there a mistake in how much oil I used?", "No, all good.", False),
        ("How much oil does the step call for?", "3 tbsp.", True),
        ("How much oil does the step call for?", "9 tbsp.", False),
    ],
)
def test_check(shelf: TaskGraph, make_moment, question: str, answer: str, right: bool) -> None:
    moment = make_moment(
        shelf,
        "sand oil",
        "measurement",
        {"oil": ("measurement", "5 tbsp instead of 3 tbsp")},
        {"oil": "Rub 5 tbsp linseed oil into the board"},
    )
    assert _for(question, answer, moment, shelf) is right


def test_check_without_a_mistake(shelf: TaskGraph, make_moment) -> None:
    moment = make_moment(shelf, "sand oil")
    assert _for("Did I oil the board properly?", "Yes, that was fine.", moment, shelf)
    assert not _for("Did I oil the board properly?", "No, you used too much.", moment, shelf)


def test_detail_of_a_step_to_come(assay: TaskGraph, make_moment) -> None:
    moment = make_moment(assay, "label")
    assert _for("How long should I thaw the samples?", "For 10 minutes.", moment, assay)
    assert not _for("How long should I thaw the samples?", "For 45 minutes.", moment, assay)


# -- the rest --------------------------------------------------------------------------------------------------


def test_start_over(shelf: TaskGraph, make_moment) -> None:
    wrong = make_moment(shelf, "mark drill", "next", {"drill": ("technique", "holes too wide")})
    assert _for("What should I do now?", "You should start over.", wrong, shelf)
    assert not _for(
        "What should I do now?", "You should start over.", make_moment(shelf, "mark drill"), shelf
    )


def test_what_the_graph_does_not_tell(shelf: TaskGraph, make_moment) -> None:
    ground = _ground("Why is the sky blue?", "Because of the light.", make_moment(shelf, "mark"), shelf)
    assert abs(ground.lean) < 0.3


def test_nothing_done_yet(assay: TaskGraph, make_moment) -> None:
    moment = make_moment(assay, "")
    assert _for("What do I start with?", "Label the tubes.", moment, assay)
    assert not _for("What do I start with?", "Read the absorbance.", moment, assay)


def test_swapping_the_step_flips_the_verdict(
    shelf: TaskGraph, assay: TaskGraph, pancakes: TaskGraph, make_moment
) -> None:
    """Negative control: at every moment of a correct run, what is next is right and all else is wrong."""
    for graph in (shelf, assay, pancakes):
        order = list(graph.topological_order)
        for n in range(1, len(order)):
            example = make_moment(graph, " ".join(order[:n]))
            following = Moment(example, graph).following
            for step in graph.actions:
                said = _for("What should I do next?", f"You should {step.text}.", example, graph)
                assert said is (step.id in following), (graph.name, order[:n], step.text)


def test_step_that_the_graph_lacks(shelf: TaskGraph, assay: TaskGraph, make_moment) -> None:
    with pytest.raises(UserError, match=r"'label'.*not in the task graph"):
        _ground("What now?", "Drill.", make_moment(assay, "label"), shelf)
