"""Variations of questions and answers in domains other than the kitchen: what is asked, meant and named.

The wordings are our own, in the manner of language models and of people at work; none is from published data.
"""

from __future__ import annotations

import pytest

from proctor.datasets.plain import DATASET
from proctor.procedure.graph import TaskGraph
from proctor.samples import path
from proctor.verify.oracle.annotator import Oracle
from proctor.verify.oracle.answer import Role, parse_answer
from proctor.verify.oracle.match import StepIndex
from proctor.verify.oracle.question import parse_question
from proctor.verify.oracle.text import content, find_quantities, normalise

INTENTS = [
    # what comes now
    ("What is the next step now that the pole is attached?", "next"),
    ("What needs to happen next?", "next"),
    ("Which component do I pick up next?", "next"),
    ("What should I be working on at the moment?", "next"),
    ("What else goes into the tube with the buffer?", "next"),
    ("What is another part I can mount?", "next"),
    ("With the base in place, what do I do now?", "next"),
    ("Having thawed the samples, what should I do next?", "next"),
    ("What do I do when the samples are thawed?", "next"),
    ("Can you walk me through the next step?", "next"),
    ("What am I supposed to do with the bulb?", "next"),
    ("What is left to do?", "next"),
    ("What remains to be done?", "next"),
    ("Where do I go from here?", "next"),
    ("I just screwed in the pole. What's next?", "next"),
    ("What's the first thing I need to do?", "next"),
    ("Any idea what to do next?", "next"),
    ("What have I not done yet?", "next"),
    ("What other parts are needed?", "next"),
    ("What should be done prior to mounting the board?", "next"),
    ("What step comes right after sanding?", "next"),
    ("I have labelled the tubes, what now?", "next"),
    # something more
    ("Is there some step that must come before drilling?", "left"),
    ("Isn't there something else to do first?", "left"),
    ("Is there anything left to tighten?", "left"),
    ("Do I need to do anything else to the lamp?", "left"),
    ("Is there another part to attach?", "left"),
    ("Are there any more steps?", "left"),
    ("Is there any other reagent I need to add?", "left"),
    ("Are there other things to prepare before pipetting?", "left"),
    ("Does anything else go on the board?", "left"),
    ("Do I have to do something before mounting the bracket?", "left"),
    # left out
    ("Is there anything I forgot while assembling the arm?", "forgot"),
    ("Was there anything I needed to do before drilling?", "forgot"),
    ("Was there some step between sanding and laying the board?", "forgot"),
    ("Is there something I haven't attached yet?", "forgot"),
    ("Is there a step I did not do?", "forgot"),
    ("Am I missing a component?", "forgot"),
    ("Am I forgetting something?", "forgot"),
    ("Are there any steps I skipped?", "forgot"),
    ("What did I leave out?", "forgot"),
    ("Which step have I missed so far?", "forgot"),
    ("Did I overlook anything about the tubes?", "forgot"),
    ("Should I have done anything to the tubes before adding the buffer?", "forgot"),
    ("What should I have done before drilling?", "forgot"),
    ("Were there any preparations I should have made?", "forgot"),
    ("Is anything missing from the tubes?", "forgot"),
    ("Should anything have been attached before the shade?", "forgot"),
    ("I think I skipped a step, did I?", "forgot"),
    ("Could you confirm I have not missed a step?", "forgot"),
    ("Do you think I forgot something?", "forgot"),
    # a certain step left out
    ("Did I forget to tighten the joint?", "forgot_step"),
    ("Did I skip labelling the tubes?", "forgot_step"),
    ("Should I have labelled the tubes already?", "forgot_step"),
    ("Should the joint have been tightened by now?", "forgot_step"),
    # all well
    ("Is the lamp ready?", "all_good"),
    ("Are the tubes ready yet?", "all_good"),
    ("Is the shelf finished?", "all_good"),
    ("Have I completed all the steps for the arm?", "all_good"),
    ("Have I done everything I need to with the board?", "all_good"),
    ("Is everything set up correctly?", "all_good"),
    ("Am I on track with the assay?", "all_good"),
    ("Am I finished with the board?", "all_good"),
    ("Is the assembly complete?", "all_good"),
    ("Did I do all the steps so far?", "all_good"),
    ("Am I all set to move on?", "all_good"),
    ("Have all the tubes been labelled?", "all_good"),
    ("Did I label the tubes?", "all_good"),
    ("Have I tightened the joint yet?", "all_good"),
    ("Is the joint tightened?", "all_good"),
    ("I can't remember whether I thawed the samples. Did I?", "all_good"),
    ("Is this the last step?", "all_good"),
    ("Am I almost done?", "all_good"),
    ("Do I have everything I need to start drilling?", "all_good"),
    # shall I
    ("Is the bulb next?", "propose"),
    ("Should the bulb be next?", "propose"),
    ("Do the plugs go in now?", "propose"),
    ("Can I switch on the lamp now?", "propose"),
    ("Should I go ahead and screw in the bulb?", "propose"),
    ("Is it okay to incubate the tubes now?", "propose"),
    ("Am I ready to drill the holes?", "propose"),
    ("Do I need to sand the board now?", "propose"),
    ("Should I now clip the socket onto the arm?", "propose"),
    ("Do I push the plugs in at this point?", "propose"),
    ("Is now the time to vortex the tubes?", "propose"),
    ("Is it necessary to thaw the samples first?", "propose"),
    ("Is sanding necessary?", "propose"),
    # moment
    ("Did I jump the gun with the bulb?", "order"),
    ("Did I attach the arm at the wrong time?", "order"),
    ("Was it too soon to mount the socket?", "order"),
    ("Should I have sanded the board first?", "order"),
    ("Should the joint have been tightened before the bulb?", "order"),
    ("Did I get ahead of myself by adding the sample?", "order"),
    ("Should I have waited before vortexing?", "order"),
    ("Have I done these steps out of sequence?", "order"),
    ("Did I add the sample before I should have?", "order"),
    ("Did I do something in the wrong order?", "order"),
    ("Was the sanding supposed to happen before the oiling?", "order"),
    ("Was I late with the plugs?", "order"),
    # may it be left out
    ("Can I skip the sanding?", "skip"),
    ("Is it okay to leave out the oil?", "skip"),
    ("Could I simply omit labelling the tubes?", "skip"),
    # right or wrong
    ("Did I do anything wrong so far?", "check"),
    ("Is the incubator too warm?", "check"),
    ("Did I turn the key too far?", "check"),
    ("What did I do differently from the instructions?", "check"),
    ("Do I need to correct anything?", "check"),
    ("Does the temperature need to be lower?", "check"),
    ("Was it correct to turn the torque up?", "check"),
    ("Is the temperature setting okay?", "check"),
    ("Did I sand the edges for too long?", "check"),
    ("Should the tubes have stayed on ice longer?", "check"),
    ("Have I pipetted enough buffer?", "check"),
    ("Was that the right screwdriver?", "check"),
    ("Did something go wrong when I drilled the holes?", "check"),
    ("What did I do wrong with the brackets?", "check"),
    ("Did I make a mistake with the volume?", "check"),
    ("Is this how the joint should look, or did I mess up?", "check"),
    ("Did I use too few turns?", "check"),
    ("Was five minutes on ice enough?", "check"),
    ("Is anything wrong with the way I labelled the tubes?", "check"),
    # how much
    ("How many turns does the joint need?", "detail"),
    ("For how long should the samples thaw?", "detail"),
    ("At what temperature do I incubate?", "detail"),
    ("What volume of buffer do I need?", "detail"),
    ("Which tool do I use for the joint?", "detail"),
]


@pytest.mark.parametrize(("text", "intent"), INTENTS)
def test_what_is_asked(text: str, intent: str) -> None:
    assert parse_question(text).intent == intent


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("What do I do now that the pole is attached?", "", "pole attached"),
        ("What comes after the vortexing?", "", "vortexing"),
        ("Once the plugs are in, what is next?", "", "plugs"),
        ("As soon as the samples are thawed, what do I do?", "", "samples thawed"),
        ("Is there anything to do before the bulb goes in?", "bulb", ""),
        ("Prior to drilling, did I forget anything?", "drill", ""),
        ("Did I miss anything before going on?", "", ""),
        ("Did something go wrong when I labelled the tubes?", "", ""),
    ],
)
def test_what_a_question_is_confined_to(text: str, before: str, after: str) -> None:
    parsed = parse_question(text)
    assert parsed.before == content(before)
    assert parsed.after == content(after)


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("Is the lamp ready?", "no"),
        ("Have all the tubes been labelled?", "no"),
        ("Did I label the tubes?", "no"),
        ("Was it correct to turn the torque up?", "no"),
        ("Have I pipetted enough buffer?", "no"),
        ("Was five minutes on ice enough?", "no"),
        ("Did I jump the gun with the bulb?", "yes"),
        ("Should the tubes have stayed on ice longer?", "yes"),
        ("Is there something I haven't attached yet?", "yes"),
        ("Did I sand the edges for too long?", "yes"),
        ("Should I have sanded the board first?", "yes"),
        ("Did I do anything wrong so far?", "yes"),
        ("Could you confirm I have not missed a step?", "no"),
        ("Was that the final step?", "no"),
    ],
)
def test_which_answer_would_mean_trouble(text: str, trouble: str) -> None:
    assert parse_question(text).trouble == trouble


@pytest.mark.parametrize(
    "text",
    [
        "No, your lamp is ready.",
        "No, all of them are labelled.",
        "Yes, they are all labelled.",
        "No, everything has been attached.",
        "You have completed every step.",
        "No, you've followed the instructions so far.",
        "No, you have attached all the parts.",
        "Yes, you're all set.",
        "Nothing more, the shelf is finished.",
        "No, you've got everything you need so far.",
        "No, that covers everything.",
        "No, you did it exactly as instructed.",
        "You have not skipped any steps.",
        "No, you haven't left anything behind.",
        "Yes, both of them are in the tube.",
        "There's nothing left to do.",
        "You did not miss any step up to this point.",
        "No, that was the last step.",
        "No, nothing was overlooked.",
        "You are missing nothing.",
        "Everything that was needed has been added.",
        "No, you're right on schedule.",
        "It looks like you've done all of it.",
    ],
)
def test_says_that_all_is_well(text: str) -> None:
    assert parse_answer(text).clear


@pytest.mark.parametrize(
    "text",
    [
        "No, the joint is not ready.",
        "Not all of them are labelled.",
        "No, you still have to tighten the joint.",
        "Yes, you left out the buffer.",
        "Yes, the tubes should have been labelled.",
        "Yes, the joint still needs to be tightened.",
        "You have yet to label the tubes.",
        "No, the bulb is still missing.",
        "All of them still need labels.",
        "You skipped the thawing.",
        "Yes, you need to get the samples ready.",
        "You have not yet attached the arm.",
        "The shade goes over the socket.",
        "Don't forget to label the tubes.",
        "Almost, just tighten the joint.",
        "You are almost done, just read the absorbance.",
        "It seems the ring was left out.",
    ],
)
def test_does_not_say_that_all_is_well(text: str) -> None:
    assert not parse_answer(text).clear


@pytest.mark.parametrize(
    ("text", "role", "named"),
    [
        ("You mounted the socket without pressing the ring on.", "missed", "pressing ring"),
        ("You mounted the socket without pressing the ring on.", "done", "mounted socket"),
        ("You went straight to the sample without thawing it.", "missed", "thawing"),
        ("Yes, because you did not thaw the samples.", "missed", "thaw samples"),
        ("Yes, since the samples have not been thawed.", "missed", "samples thawed"),
        ("You were meant to tighten the joint.", "missed", "meant tighten joint"),
        ("The ring should already be on the socket.", "missed", "ring socket"),
        ("Yes, you did it too soon, the arm comes first.", "do", "arm comes first"),
        ("Before mounting the socket, press the ring on.", "do", "press ring"),
        ("Before mounting the socket, press the ring on.", "before", "mounting socket"),
        ("Once the arm is attached, tighten the joint.", "do", "tighten joint"),
        ("Once the arm is attached, tighten the joint.", "after", "arm attached"),
        ("Don't forget to label the tubes.", "do", "remember label tubes"),
        ("Insert the plugs into the holes you drilled.", "do", "insert plugs holes"),
        ("You already labelled the tubes, so add the buffer.", "do", "add buffer"),
        ("You already labelled the tubes, so add the buffer.", "done", "labelled tubes"),
    ],
)
def test_what_an_answer_does_with_what_it_names(text: str, role: Role, named: str) -> None:
    assert parse_answer(text).stems(role) == content(named)


@pytest.mark.parametrize(
    ("text", "wanted", "excess"),
    [
        ("No, you used 100 ul instead of 200 ul.", "", 0),
        ("You should have used 200 ul, not 100 ul.", "200 ul", 0),
        ("Use 200 ul rather than 100 ul.", "200 ul", 0),
        ("You ground it for 40 seconds instead of 20 seconds.", "", 0),
        ("You left a gap of 3 mm.", "", 0),
        ("You only need 3 turns.", "3", 0),
        ("It was 5 minutes, but it should have been 10 minutes.", "10 minutes", 0),
        ("No, you waited 2.5 minutes, which is too short.", "", -1),
        ("Yes, you turned it too many times.", "", 1),
        ("No, that was one turn too few.", "", -1),
        ("You should have used less buffer.", "", 1),
        ("You should have waited longer.", "", -1),
        ("No, it was not long enough.", "", -1),
        ("Yes, you added more than required.", "", 1),
    ],
)
def test_what_an_answer_asks_for_and_which_way_it_was_wrong(text: str, wanted: str, excess: int) -> None:
    parsed = parse_answer(text)
    assert parsed.wanted == find_quantities(wanted)
    assert parsed.excess == excess


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("90 seconds", (90.0, "s")),
        ("1.5 minutes", (90.0, "s")),
        ("one and a half minutes", (90.0, "s")),
        ("a minute and a half", (90.0, "s")),
        ("half an hour", (1_800.0, "s")),
        ("an hour", (3_600.0, "s")),
        ("0.2 ml", (0.2, "ml")),
        ("200 µl", (0.2, "ml")),
        ("37°C", (37.0, "deg")),
        ("37 degrees", (37.0, "deg")),
        ("6mm", (6.0, "mm")),
        ("0.6 cm", (6.0, "mm")),
        ("set it to medium", (2.0, "level")),
        ("on high power", (3.0, "level")),
    ],
)
def test_quantities_of_one_kind_compare(text: str, base: tuple[float, str]) -> None:
    assert [q.base for q in find_quantities(normalise(text))] == [base]


@pytest.mark.parametrize(
    "text", ["it was too low", "one too many", "two fewer", "a high shelf", "medium-sized"]
)
def test_differences_and_directions_are_no_quantities(text: str) -> None:
    assert find_quantities(normalise(text)) == ()


# -- steps and verdicts ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graphs(shelf: TaskGraph, assay: TaskGraph) -> dict[str, TaskGraph]:
    """The shelf, the assay, and the lamp and the strips of the shipped sample."""
    sample = DATASET.read(path(), None).graphs
    return {"shelf": shelf, "assay": assay, "lamp": sample["lamp"], "strips": sample["strips"]}


@pytest.mark.parametrize(
    ("name", "text", "step"),
    [
        ("lamp", "set the base down with its felt side facing the table", "base"),
        ("lamp", "feed the cable through the base", "cable"),
        ("lamp", "thread the power cable through the hole", "cable"),
        ("lamp", "the pole has to be screwed in", "pole"),
        ("lamp", "fasten the pole to the base", "pole"),
        ("lamp", "connect the arm with the pole", "arm"),
        ("lamp", "mount the arm", "arm"),
        ("lamp", "give the joint three turns with the hex key", "joint"),
        ("lamp", "tightening the joint", "joint"),
        ("lamp", "put the lampshade over the socket", "shade"),
        ("lamp", "put the shade on", "shade"),
        ("lamp", "push the ring down until you hear a click", "ring"),
        ("lamp", "attach the socket to the arm", "mount"),
        ("lamp", "screw in the light bulb", "bulb"),
        ("lamp", "turn the lamp on", "test"),
        ("strips", "chop the cabbage leaves", "cut"),
        ("strips", "put the cabbage in the beaker", "fill"),
        ("strips", "add the hot water", "water"),
        ("strips", "let it sit for 10 seconds", "wait"),
        ("strips", "strain the liquid into the dish", "filter"),
        ("strips", "make four strips from the filter paper", "paper"),
        ("strips", "soak the strips for five seconds", "dip"),
        ("strips", "let the strips dry on the rack", "dry"),
        ("strips", "mark the tube with the word acid", "label"),
        ("strips", "fill the tube with 5 ml vinegar", "vinegar"),
        ("assay", "tag the tubes", "label"),
        ("assay", "the samples should be thawed", "thaw"),
        ("assay", "dispense 200 ul of buffer", "buffer"),
        ("assay", "the sample goes into each tube", "sample"),
        ("assay", "incubating for half an hour", "incubate"),
        ("assay", "measure the absorbance", "read"),
        ("shelf", "marking where the holes go", "mark"),
        ("shelf", "make the holes with the drill", "drill"),
        ("shelf", "insert the plugs", "plugs"),
        ("shelf", "apply the oil to the board", "oil"),
        ("shelf", "smooth the edges by sanding", "sand"),
        ("shelf", "fix the brackets onto the wall", "bracket"),
        ("shelf", "rest the board on top of the brackets", "lay"),
        ("shelf", "use the spirit level", "level"),
    ],
)
def test_which_step_is_named(graphs: dict[str, TaskGraph], name: str, text: str, step: str) -> None:
    plain = normalise(text)
    reading = StepIndex(graphs[name]).read(content(plain), stated=frozenset(find_quantities(plain)))
    assert reading.matches
    assert step in reading.matches[0].alternatives


VERDICTS = [
    # the lamp: base, cable and pole are on
    ("lamp", "base cable pole", "What do I do now that the pole is attached?", "Attach the arm to it.", True),
    ("lamp", "base cable pole", "What's next?", "Next, connect the arm to the pole.", True),
    ("lamp", "base cable pole", "What's next?", "You can put the shade over the socket.", True),
    ("lamp", "base cable pole", "What's next?", "Screw the bulb into the socket.", False),
    ("lamp", "base cable pole", "What's next?", "Paint the pole black.", False),
    ("lamp", "base cable pole", "What's next?", "Screw the pole into the base.", False),
    ("lamp", "base cable pole", "Is the lamp ready?", "Yes, it's finished.", False),
    ("lamp", "base cable pole", "Is the lamp ready?", "No, you need to attach the arm.", True),
    ("lamp", "base cable pole", "Did I screw in the pole?", "Yes, you screwed it into the base.", True),
    ("lamp", "base cable pole", "Did I tighten the joint?", "Yes, you tightened it.", False),
    ("lamp", "base cable pole", "Have I attached the arm yet?", "No, not yet.", True),
    ("lamp", "base cable pole", "Is there a step I did not do so far?", "No, you haven't skipped any.", True),
    ("lamp", "base cable pole", "Am I forgetting something?", "Yes, you forgot the cable.", False),
    (
        "lamp",
        "base cable pole",
        "Can I switch the lamp on now?",
        "No, you need to attach the arm first.",
        True,
    ),
    ("lamp", "base cable pole", "Can I switch the lamp on now?", "Yes, go ahead.", False),
    ("lamp", "base cable pole", "Should I attach the arm now?", "Yes, attach it to the pole.", True),
    ("lamp", "base cable pole", "Should I attach the arm now?", "No, that comes later.", False),
    # the pole before the cable, and no base
    ("lamp", "pole", "Did I jump the gun with the pole?", "Yes, place the base on the table first.", True),
    ("lamp", "pole", "Did I jump the gun with the pole?", "No, you're doing fine.", False),
    ("lamp", "pole", "Did I skip anything?", "Yes, feed the cable through the base.", True),
    ("lamp", "pole", "Did I skip anything?", "Yes, the base should be on the table already.", True),
    ("lamp", "pole", "Did I skip anything?", "No, nothing so far.", False),
    ("lamp", "pole", "Did I skip anything?", "Yes, you skipped the bulb.", False),
    ("lamp", "pole", "Was there anything to do before this?", "Yes, the base had to be placed.", True),
    ("lamp", "pole", "Is there something I haven't done yet?", "No, all of them are done.", False),
    ("lamp", "pole", "Is the base in place?", "No, you still have to put it on the table.", True),
    # the assay, all done
    (
        "assay",
        "label thaw buffer sample vortex incubate read",
        "What is left to do?",
        "Nothing, it's all done.",
        True,
    ),
    (
        "assay",
        "label thaw buffer sample vortex incubate read",
        "Is the assay finished?",
        "Yes, it is complete.",
        True,
    ),
    (
        "assay",
        "label thaw buffer sample vortex incubate read",
        "Is the assay finished?",
        "No, vortex it.",
        False,
    ),
    (
        "assay",
        "label thaw buffer sample vortex incubate read",
        "Do I vortex once more?",
        "No, you're done.",
        True,
    ),
    (
        "assay",
        "label thaw buffer sample vortex incubate read",
        "Are there any more steps?",
        "Yes, read it.",
        False,
    ),
    # the assay without thawing
    ("assay", "label buffer sample", "Did I forget to thaw the samples?", "Yes, thaw them on ice.", True),
    ("assay", "label buffer sample", "Did I forget to thaw the samples?", "No, you thawed them.", False),
    ("assay", "label buffer sample", "Did I forget to label the tubes?", "No, you labelled them.", True),
    ("assay", "label buffer sample", "Did I forget to label the tubes?", "Yes, you forgot to.", False),
    (
        "assay",
        "label buffer sample",
        "Have all the tubes been labelled?",
        "Yes, all of them are labelled.",
        True,
    ),
    (
        "assay",
        "label buffer sample",
        "Have all the tubes been labelled?",
        "No, you didn't label them.",
        False,
    ),
    (
        "assay",
        "label buffer sample",
        "Was I too early with the sample?",
        "Yes, it had to be thawed first.",
        True,
    ),
    (
        "assay",
        "label buffer sample",
        "What should I have done before?",
        "You needed to thaw the samples.",
        True,
    ),
    (
        "assay",
        "label buffer sample",
        "What should I have done before?",
        "You needed to read the absorbance.",
        False,
    ),
    # relations, steps that are not due
    (
        "assay",
        "label",
        "Is there anything to do before adding the sample?",
        "Yes, pipette in the buffer.",
        True,
    ),
    ("assay", "label", "Is there anything to do before adding the sample?", "No, add it now.", False),
    ("assay", "label", "What goes into the tubes now?", "200 ul of buffer.", True),
    ("assay", "label", "What goes into the tubes now?", "500 ul of buffer.", False),
    ("assay", "label", "What goes into the tubes now?", "The sample.", False),
    ("assay", "label", "Do I incubate now?", "No, the buffer goes in first.", True),
    (
        "shelf",
        "mark drill sand",
        "What should I do next?",
        "Insert the plugs into the holes you drilled.",
        True,
    ),
    ("shelf", "mark drill sand", "What should I do next?", "Rub the oil into the board.", True),
    ("shelf", "mark drill sand", "What should I do next?", "Check with the spirit level.", False),
    ("shelf", "mark drill sand", "What can I do with the board now?", "Oil it.", True),
    ("shelf", "mark drill sand", "Is there anything left to sand?", "No, that's done.", True),
    ("shelf", "mark drill sand", "Am I done with the wall?", "No, screw the brackets on.", True),
    ("shelf", "mark drill", "Can I skip the sanding?", "No, the board has to be sanded.", True),
    ("shelf", "mark drill", "Can I skip the sanding?", "Yes, that's fine.", False),
    ("shelf", "drill", "Can I skip marking the wall?", "No, you have to mark the holes.", True),
    # several steps in one answer
    ("shelf", "mark drill", "What's next?", "Push in the plugs and sand the board.", True),
    ("shelf", "mark drill", "What's next?", "Push in the plugs, then screw the brackets to the wall.", True),
    ("shelf", "mark drill", "What's next?", "Either insert the plugs or start sanding the edges.", True),
    ("shelf", "mark drill", "What's next?", "Mark the wall and drill the holes.", False),
    (
        "shelf",
        "mark drill",
        "What's next?",
        "You marked the wall and drilled the holes, so push in the plugs.",
        True,
    ),
    ("shelf", "mark drill", "What's next?", "Since the holes are drilled, push in the plugs.", True),
    ("shelf", "mark drill", "What's next?", "Before you lay the board down, sand its edges.", True),
    ("shelf", "mark drill", "What's next?", "After sanding the edges, rub in the oil.", False),
    # missing steps: the plugs and the sanding
    ("shelf", "mark drill bracket oil", "Did I miss anything?", "Yes, the plugs and the sanding.", True),
    ("shelf", "mark drill bracket oil", "Did I miss anything?", "Yes, you didn't push in the plugs.", True),
    (
        "shelf",
        "mark drill bracket oil",
        "Did I miss anything?",
        "Yes, you oiled the board without sanding it.",
        True,
    ),
    (
        "shelf",
        "mark drill bracket oil",
        "Did I miss anything?",
        "Yes, the edges should have been sanded.",
        True,
    ),
    ("shelf", "mark drill bracket oil", "Did I miss anything?", "Yes, you forgot to check the level.", False),
    ("shelf", "mark drill bracket oil", "Did I miss anything?", "Yes, you forgot to mark the holes.", False),
    ("shelf", "mark drill bracket oil", "Did I miss anything?", "Yes, varnishing the board.", False),
    ("shelf", "mark drill bracket oil", "Did I miss anything?", "Nothing was overlooked.", False),
    ("shelf", "mark drill bracket oil", "Did I miss anything?", "No, that covers everything.", False),
    ("shelf", "mark drill bracket oil", "Did I miss anything on the wall?", "You missed the plugs.", True),
    (
        "shelf",
        "mark drill bracket oil",
        "What did I forget with the board?",
        "You forgot to sand its edges.",
        True,
    ),
    ("shelf", "mark drill bracket oil", "Is the wall ready?", "No, the plugs are not in yet.", True),
    ("shelf", "mark drill bracket oil", "Am I ready to move on?", "No, go back and insert the plugs.", True),
    ("shelf", "mark drill bracket oil", "Am I ready to move on?", "Yes, you can lay the board down.", False),
    (
        "shelf",
        "mark drill bracket oil",
        "Did I oil the board too early?",
        "Yes, it should be sanded first.",
        True,
    ),
    (
        "shelf",
        "mark drill bracket oil",
        "Did I oil the board too early?",
        "Yes, after the sanding would be right.",
        True,
    ),
    (
        "shelf",
        "mark drill bracket oil",
        "Did I oil the board too early?",
        "No, it was the right time.",
        False,
    ),
    # nothing is missing
    ("shelf", "mark drill", "Did I skip a step?", "No, you've followed the steps so far.", True),
    ("shelf", "mark drill", "Did I skip a step?", "Yes, you skipped marking the holes.", False),
    ("shelf", "mark drill", "Did I skip a step?", "Yes, you should have checked the level.", False),
    ("shelf", "mark drill", "Did I skip a step?", "Not at all.", True),
    ("shelf", "mark drill", "Am I on track with the wall?", "Yes, keep it up.", True),
    ("shelf", "mark drill", "Have I left anything out so far?", "You are missing nothing.", True),
    ("shelf", "mark drill", "Did I forget to mark the wall?", "No, it has been marked.", True),
    (
        "shelf",
        "mark drill",
        "Shouldn't I have sanded the board first?",
        "No, the order does not matter.",
        True,
    ),
    # strips
    ("strips", "cut fill water wait", "What should I do with the liquid?", "Strain it into the dish.", True),
    ("strips", "cut fill water wait", "What do I do next?", "Pour it through the filter.", True),
    ("strips", "cut fill water wait", "What can I prepare meanwhile?", "You could label the tube.", True),
    ("strips", "cut fill water wait", "How much vinegar do I need?", "5 ml.", True),
    ("strips", "cut fill water wait", "How much vinegar do I need?", "50 ml.", False),
    (
        "strips",
        "cut fill water wait",
        "Is it time to dip the strips?",
        "Not yet, cut the filter paper first.",
        True,
    ),
    ("strips", "cut fill water wait", "Is it time to dip the strips?", "Yes, dip them for 5 seconds.", False),
    ("strips", "cut fill water wait", "Do I need to cut more cabbage?", "No, you have already cut it.", True),
]


def _kind(question: str) -> str:
    """The type of example that such a question is asked about."""
    return "missing" if any(sign in question for sign in (" have ", "skip", "miss", "orget")) else "next"


@pytest.mark.parametrize(("name", "done", "question", "answer", "right"), VERDICTS)
def test_what_the_oracle_says(
    graphs: dict[str, TaskGraph], make_moment, name: str, done: str, question: str, answer: str, right: bool
) -> None:
    graph = graphs[name]
    decision = Oracle(threshold=0.5).decide(
        question, answer, make_moment(graph, done, _kind(question)), graph
    )
    assert decision.guess == right, decision.reason


FRAMES = [
    "It looks like {}",
    "I believe {}",
    "Based on your progress, {}",
    "According to the instructions, {}",
    "From what I can see, {}",
]
IMPERATIVES = [
    "You should {}",
    "You can now {}",
    "The next step is to {}",
    "Your next step should be to {}",
    "Go ahead and {}",
    "At this point, you need to {}",
    "I recommend that you {}",
    "It's time to {}",
    "Great job so far! Now {}",
    "Make sure to {}",
]
ASKED = ["Excuse me, {}", "Quick question: {}", "I want to be sure. {}"]


def _reworded(question: str, answer: str) -> list[tuple[str, str]]:
    """Say the same in other frames; only frames that fit the form of the answer."""
    word, comma, rest = answer.partition(", ")
    asked = [(a.format(question), answer) for a in ASKED]
    if comma and word in ("Yes", "No"):
        said = [f"{word}. {rest[:1].upper()}{rest[1:]}", f"{word} - {rest}", f"{word}! {rest}"]
        if rest.startswith(("you ", "the ")):
            said += [f"{word}, {frame.format(rest)}" for frame in FRAMES]
        return asked + [(question, s) for s in said]
    if question.startswith("What") and answer.split()[0] in (
        "Attach",
        "Screw",
        "Paint",
        "Insert",
        "Rub",
        "Push",
    ):
        return asked + [(question, i.format(answer[:1].lower() + answer[1:])) for i in IMPERATIVES]
    return asked


@pytest.mark.parametrize(("name", "done", "question", "answer", "right"), VERDICTS)
def test_the_frame_of_a_sentence_does_not_matter(
    graphs: dict[str, TaskGraph], make_moment, name: str, done: str, question: str, answer: str, right: bool
) -> None:
    graph, oracle = graphs[name], Oracle(threshold=0.5)
    moment = make_moment(graph, done, _kind(question))
    for asked, said in _reworded(question, answer):
        decision = oracle.decide(asked, said, moment, graph)
        assert decision.guess == right, (asked, said, decision.reason)


MISTAKES = [
    ("Did I wait long enough?", "No, it should have been 10 minutes.", True),
    ("Did I wait long enough?", "No, it should have been 15 minutes.", False),
    ("Did I wait long enough?", "No, 600 seconds are needed.", True),
    ("Did I wait long enough?", "Yes, that was fine.", False),
    ("Did I thaw them for too long?", "Yes, you did.", False),
    ("Did I thaw them for too long?", "No, it was too short.", True),
    ("Was the thawing long enough?", "No, you thawed them for 5 minutes instead of 10.", True),
    ("Was the thawing long enough?", "No, it should be 5 minutes, not 10 minutes.", False),
    ("Was the thawing long enough?", "No, you should have waited longer.", True),
    ("Was the thawing long enough?", "No, you waited too long.", False),
    ("Should they have stayed on the ice longer?", "Yes, for 10 minutes.", True),
    ("Should they have stayed on the ice longer?", "No, that was right.", False),
]


@pytest.mark.parametrize(("question", "answer", "right"), MISTAKES)
def test_which_way_and_by_how_much_it_was_wrong(
    assay: TaskGraph, make_moment, question, answer, right
) -> None:
    moment = make_moment(
        assay,
        "label thaw",
        "timing",
        {"thaw": ("timing", "thawed for 5 minutes instead of 10 minutes")},
        {"thaw": "Thaw the samples on ice for 5 minutes"},
    )
    decision = Oracle(threshold=0.5).decide(question, answer, moment, assay)
    assert decision.guess == right, decision.reason


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("It can't be undone, so start over and thaw them for 10 minutes.", True),
        ("Start over with 10 minutes on ice.", True),
    ],
)
def test_starting_over_with_the_right_quantity(
    assay: TaskGraph, make_moment, answer: str, right: bool
) -> None:
    moment = make_moment(
        assay, "label thaw", "timing", {"thaw": ("timing", "thawed for 5 minutes instead of 10 minutes")}
    )
    decision = Oracle(threshold=0.8).decide("What do I do about the timing?", answer, moment, assay)
    assert decision.guess == right, decision.reason
    assert decision.value != "unsure"
