import random

import pytest

from proctor.exam.bound import AnnotationBound, Facts
from proctor.exam.floors import moment_floor
from proctor.exam.judge import RuleJudge
from proctor.exam.kinds.example import Performed
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.predict import predict_items
from proctor.exam.prediction import Prediction


@pytest.fixture
def say(make_item, shelf):
    """The bound's answer: ``say("What now?", next_=["4"])``; ``did`` are the steps before the current one (3)."""

    def build(question, type_="next", did=(), **facts):
        previous = tuple(Performed(i, shelf[i].text, shelf[i].text) for i in did)
        item = make_item("r", type_, question, ["x"], previous=previous, **facts)
        return AnnotationBound().predict_item(item, shelf, random.Random(0)).answer

    return build


WELL = {"did": ["1", "2"], "next_": ["4"]}
GAP = {"did": ["1"], "next_": ["4"], "missing": ["2"]}
DONE = {"did": ["1", "2", "4", "5"]}


@pytest.mark.parametrize(
    ("question", "facts", "answer"),
    [
        ("What now?", WELL, "You should tighten the clamp for 30 seconds."),
        ("What now?", DONE, "Nothing, all the steps are done."),
        ("What now?", GAP, "You have to attach the right bracket with 4 screws before you tighten the clamp for 30 seconds."),
        ("What now?", {"did": ["1"], "missing": ["2"]}, "You should attach the right bracket with 4 screws."),
        ("Is there anything else to do?", DONE, "No, all the steps are done."),
        ("Am I done?", DONE, "Yes, all the steps are done."),
        ("Am I done?", WELL, "No, you still have to tighten the clamp for 30 seconds."),
        ("Can I tighten the clamp for 30 seconds now?", WELL, "Yes, you can tighten the clamp for 30 seconds now."),
        ("Can I wipe the shelf with a dry cloth now?", WELL, "No, you need to tighten the clamp for 30 seconds first."),
        ("May I attach the left bracket with 2 screws at this point?", WELL, "No, you have already attached the left bracket with 2 screws."),
        ("Should I wipe the shelf with a dry cloth or tighten the clamp for 30 seconds now?", WELL, "You should tighten the clamp for 30 seconds."),
        ("Can I go on without tightening the clamp?", WELL, "No, you have to tighten the clamp for 30 seconds."),
        ("Is there anything I should attach now?", WELL, "No, not at this point."),
        ("Is there anything I should tighten now?", WELL, "Yes, you should tighten the clamp for 30 seconds."),
        ("Did I forget anything?", WELL, "No, you haven't left out any step."),
    ],
)  # fmt: skip
def test_next(say, question, facts, answer):
    assert say(question, **facts) == answer


def test_next_of_two_steps(say):
    begin = {"did": [], "next_": ["1", "2"]}
    assert say("What now?", **begin) == (
        "You should attach the left bracket with 2 screws or attach the right bracket with 4 screws."
    )
    either = (
        "Do I have to attach the left bracket with 2 screws before I attach the right bracket with 4 screws?"
    )
    assert say(either, **begin) == "No, you can do these two in any order."
    fixed = "Do I have to attach the left bracket with 2 screws before I tighten the clamp for 30 seconds?"
    assert say(fixed, **begin) == "Yes, you have to attach the left bracket with 2 screws first."


@pytest.mark.parametrize(
    ("question", "facts", "answer"),
    [
        ("Did I skip a step?", GAP, "Yes, you forgot to attach the right bracket with 4 screws."),
        ("Have I done everything so far?", GAP, "No, you forgot to attach the right bracket with 4 screws."),
        ("Have I done everything so far?", WELL, "Yes, you haven't left out any step."),
        ("What did I forget?", WELL, "Nothing, you haven't left out any step."),
        ("How many steps did I skip?", GAP, "One: attach the right bracket with 4 screws."),
        ("How many steps did I skip?", WELL, "None, nothing is missing."),
        ("Did I forget to attach the right bracket with 4 screws?", GAP, "Yes, you forgot to attach the right bracket with 4 screws."),
        ("Did I forget to attach the left bracket with 2 screws?", GAP, "No, you have already attached the left bracket with 2 screws."),
        ("Did I forget to tighten the clamp for 30 seconds?", WELL, "No, that is something you can do now."),
        ("Did I forget to wipe the shelf with a dry cloth?", WELL, "No, that step comes later: you first have to tighten the clamp for 30 seconds."),
        ("Which one did I forget: to attach the left bracket with 2 screws or to attach the right bracket with 4 screws?", GAP,
         "You forgot to attach the right bracket with 4 screws."),
        ("Did I leave something out before sliding the glass shelf onto both brackets?", GAP, "Yes, you forgot to attach the right bracket with 4 screws."),
        ("Did I leave something out before sliding the glass shelf onto both brackets?", WELL, "No, nothing that had to come before it is missing."),
        ("Did I forget to wipe something?", GAP, "No, nothing of that sort is missing, but you forgot to attach the right bracket with 4 screws."),
    ],
)  # fmt: skip
def test_missing(say, question, facts, answer):
    assert say(question, "missing", **facts) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Did I do this too early?", "Yes, you should have attached the right bracket with 4 screws first."),
        ("Did I do this too late?", "No, you should have attached the right bracket with 4 screws first."),
        ("Is the order right?", "No, you should have attached the right bracket with 4 screws first."),
        ("Did I mix up the order?", "Yes, you should have attached the right bracket with 4 screws first."),
        ("What had to come before this step?", "You should have attached the right bracket with 4 screws first."),
        ("How do I get back to the right order?", "You should go back and attach the right bracket with 4 screws first."),
        ("Was I supposed to attach the right bracket with 4 screws first?", "Yes, you should have attached the right bracket with 4 screws first."),
    ],
)  # fmt: skip
def test_order(say, question, answer):
    assert say(question, "order", mistake="Done before that", blocking=(("2", "3"),), **GAP) == answer


def test_order_of_a_step_that_came_too_late(make_item, shelf):
    item = make_item("r", "order", "Did I do this too late?", ["x"], mistake="Too late",
                     previous=(Performed("5", shelf["5"].text), Performed("1", shelf["1"].text), Performed("2", shelf["2"].text)))  # fmt: skip
    answer = AnnotationBound().predict_item(item, shelf, random.Random(0)).answer
    assert answer == "Yes, you should have done this step before wiping the shelf with a dry cloth."
    assert Facts(moment_example(item.question), shelf).overtaken == ("5",)


def test_a_step_done_wrongly(say):
    wrong = {"mistake": "Dropped the shelf", **WELL}
    assert say("Did I slide it correctly?", "technique", **wrong) == "No, you dropped the shelf."
    assert say("Did I do anything wrong?", "technique", **wrong) == "Yes, you dropped the shelf."
    assert say("What went wrong?", "technique", **wrong) == "You dropped the shelf."
    how = "How should I have done this?"
    assert say(how, "technique", **wrong) == "You should have slid the glass shelf onto both brackets."


def test_it_never_looks_at_the_golds(make_item, graphs):
    one = make_item("r", "next", "What now?", ["Tighten the clamp."], next_=["5"])
    two = make_item("r", "next", "What now?", ["Something else."], next_=["5"])
    told = [
        p.answer
        for item in (one, two)
        for p in predict_items([item], moment_floor(AnnotationBound(), graphs))
    ]
    assert told[0] == told[1]


def test_the_bound_satisfies_the_judge(release, graphs, shelf):
    judge = RuleJudge()
    for prediction, item in zip(
        predict_items(release, moment_floor(AnnotationBound(), graphs)), release, strict=True
    ):
        judgement = judge.judge(item, shelf, prediction)
        assert judgement.score >= 1, (item.question.text, prediction.answer, judgement.rationale)
        empty = Prediction(item_id=item.id, predictor="p", answer="")
        assert judge.judge(item, shelf, empty).score == 0
