"""Answering, marking and writing: what is asked, what a sheet must hold, and how it is read."""

import msgspec
import pytest

from proctor.exam.kind import kind_named
from proctor.exam.kinds.clip_prompt import ClipFacts
from proctor.exam.kinds.example import Example, Performed
from proctor.exam.kinds.moment_question import question_about
from proctor.exam.library import Library
from proctor.exam.question import (
    Choice,
    Footage,
    Form,
    Open,
    Order,
    Pick,
    Picture,
    Proposed,
    Question,
    Text,
    Words,
)
from proctor.llm.media import MediaStore
from proctor.procedure.recording import Mistake
from proctor.verify.desk.records import InvalidError
from proctor.verify.rounds import answer, mark, write
from proctor.verify.rounds.agreement import Figures, people_agreement
from proctor.verify.rounds.answer import AnswerTask, given_answer
from proctor.verify.rounds.form import FormSheet
from proctor.verify.rounds.kind import NoOptions
from proctor.verify.rounds.mark import MarkOptions, MarkTask
from proctor.verify.rounds.records import Reading
from proctor.verify.rounds.write import WriteOptions, WriteTask

SECRETS = ("stir-too-early", "too much salt", "salted", "1_7_stir", "mistake", "is missing")


def a_moment() -> Question:
    done = Performed(
        "salt", "Salted.", mistakes=(Mistake("measurement", "too much salt"),), start=1.0, end=2.0
    )
    example = Example(
        id="1_7_stir_next", clip_id="1_7_stir", recording_id="1_7", activity_id="soup", activity_name="Soup", type="next",
        end=9.0, state="ongoing", noisy=True, current=done, mistake_texts=("stir-too-early",),
    )  # fmt: skip
    said = (Proposed(value=Text(text="Stir, the spoon is missing.")),)
    return question_about(example, "q", "What now?", proposals=said, provenance={"generator": "m"})


def a_question(form: Form, **more: object) -> Question:
    return Question(id="q", kind="clip", text="?", form=form, **more)  # type: ignore[arg-type]


def test_a_moment_to_be_answered_shows_the_procedure_and_nothing_of_what_was_done() -> None:
    blind = kind_named("moment").blind(a_moment())
    text = msgspec.json.encode(blind).decode().lower()
    assert not any(secret in text for secret in SECRETS)
    recording, procedure = kind_named("moment").card(blind, Library(media=MediaStore()))
    assert recording.footage == Footage(recording="1_7", end=9.0)
    assert procedure.progress is not None
    assert procedure.progress.performed == ()
    assert procedure.progress.activity_id == "soup"


def test_other_kinds_lose_their_facts_and_an_order_keeps_its_goal() -> None:
    facts = msgspec.to_builtins(ClipFacts(steps=("00:01 too much salt",), goal="Soup"))
    clip = a_question(
        Choice(options=("a", "b")), evidence=(Footage(recording="r", end=3.0),), facts=facts,
        proposals=(Proposed(value=Pick(option=1)),), facets={"category": "ordering"}, provenance={"generator": "m"},
    )  # fmt: skip
    blind = kind_named("clip").blind(clip)
    assert (blind.facts, blind.proposals, blind.facets, blind.provenance) == ({}, (), {}, {})
    assert [part.heading for part in kind_named("clip").card(blind, Library(media=MediaStore()))] == [
        "Recording"
    ]
    order = Question(
        id="o", kind="order", text="?", form=Order(ids=("a", "b")), facts={"goal": "Tea", "task": "t"},
        evidence=(Words(id="a", text="Boil."), Words(id="b", text="Pour.")),
    )  # fmt: skip
    assert kind_named("order").blind(order).facts == {"goal": "Tea"}


def check(task: AnswerTask, **values: object) -> FormSheet:
    return answer.KIND.check(FormSheet(values=values), task, NoOptions())  # type: ignore[arg-type]


def test_an_option_is_answered_by_its_letter_as_shown() -> None:
    task = AnswerTask(question=a_question(Choice(options=("tea", "milk", "rum"))), order=(2, 0, 1))
    (field,) = answer.KIND.fields(task, NoOptions())
    assert field.choices == {"A": "rum", "B": "tea", "C": "milk"}
    assert given_answer(task, check(task, answer="C")) == ("C", {"order": "CAB"})
    with pytest.raises(InvalidError, match="Choose one"):
        check(task, answer="D")


def test_an_order_is_answered_by_places_each_of_them_once() -> None:
    parts = (Words(id="a", text="Boil."), Words(id="b", text="Pour."), Picture(path="p", id="c"))
    task = AnswerTask(question=a_question(Order(ids=("a", "b", "c")), evidence=parts))
    labels = [field.label for field in answer.KIND.fields(task, NoOptions())]
    assert labels == [f"Place of {what}, 1 to 3" for what in ("“Boil.”", "“Pour.”", "picture c")]
    assert given_answer(task, check(task, place_0="2", place_1="3", place_2="1")) == (["c", "a", "b"], {})
    with pytest.raises(InvalidError, match="a place of its own, from 1 to 3") as wrong:
        check(task, place_0="2", place_1="1", place_2="2")
    assert wrong.value.errors[0][0] == "place_0"
    with pytest.raises(InvalidError):
        check(task, place_0="1", place_1="2", place_2="4")


def test_a_question_that_needs_every_answer_has_rows() -> None:
    one = AnswerTask(question=a_question(Open()))
    every = AnswerTask(question=a_question(Open(need="all")))
    assert given_answer(one, check(one, answer=" Stir. ")) == ("Stir.", {})
    assert given_answer(every, check(every, answer=["Stir.", "Pour."])) == ("Stir.\nPour.", {})
    with pytest.raises(InvalidError, match="Not filled in"):
        check(one, answer="  ")


def test_a_binary_scale_has_no_middle_and_its_right_is_two() -> None:
    task = MarkTask(question=a_question(Open()), golds=("a",), answer="b")
    for scale, known in (("binary", ["2", "0"]), ("ternary", ["2", "1", "0"])):
        options = MarkOptions(scale=scale)  # type: ignore[arg-type]
        assert [*mark.KIND.fields(task, options)[0].choices] == known
    with pytest.raises(InvalidError):
        mark.KIND.check(FormSheet(values={"mark": "1"}), task, MarkOptions(scale="binary"))
    assert mark.KIND.question(task) is None
    assert mark.KIND.question(msgspec.structs.replace(task, evidence=True)) == task.question


def test_what_is_written_is_a_candidate_of_its_moment() -> None:
    example = msgspec.convert(a_moment().facts, Example)
    task = WriteTask(example=example)
    sheet = write.KIND.check(
        FormSheet(values={"question": "And now?", "answers": ["Stir.", "Stir.", " "]}), task, WriteOptions()
    )
    assert "what is to be done next" in write.KIND.fields(task, WriteOptions())[0].label
    reading = Reading(
        round="w", kind="write", task=example.id, person="p1", batch="b", sheet=msgspec.Raw(b"{}"), seconds=61.26, rev=1, at=0.0,
        variant="hash", assignment="a1",
    )  # fmt: skip
    made = write.written(example, sheet, reading)
    assert (made.id, made.example_id, made.type, made.question) == (
        "people-a1",
        example.id,
        "next",
        "And now?",
    )
    assert [a.text for a in made.answers] == ["Stir."]
    assert made.provenance.example_hash == "hash"
    assert made.provenance.details == {"round": "w", "writer": "p1", "seconds": "61.3"}


def test_agreement_by_hand() -> None:
    labels = {"a": {"x": 2, "y": 0, "z": 2}, "b": {"x": 2, "y": 2}, "c": {"z": 2}}
    found = people_agreement("marks", labels, {"x": "r1", "y": "r2", "z": "r3"})
    raw, alpha = found["marks, raw agreement"], found["marks, alpha"]
    assert raw.value == pytest.approx((0.5 + 1) / 2), "a and b agree on one of two, a and c on one of one"
    # nominal alpha of (2,2), (0,2), (2,2): observed 2/6, expected 2·1·5/30
    assert alpha.value == pytest.approx(1 - (2 / 6) / (10 / 30))
    assert people_agreement("marks", {"a": {"x": 1}, "b": {"y": 1}}, {"x": "x", "y": "y"}) == {}
    lines = [*Figures(counts={"people": 3, "gone": 0}, numbers=found).lines()]
    assert lines[0] == "3 people"
    assert lines[1].startswith("marks, raw agreement: 0.75")
