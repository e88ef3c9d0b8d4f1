"""People write questions beside a recording and its procedure, without seeing a candidate; their time is taken. docs/rounds.md.

Source: ProMQA, Table 5, appendices A.2 and A.3.
"""

from __future__ import annotations

import msgspec

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment_question import question_about
from proctor.exam.question import Question
from proctor.said import say, say_in
from proctor.verify.rounds.answer import written_id
from proctor.verify.rounds.form import Field, FormKind, FormSheet
from proctor.verify.rounds.records import Reading

__all__ = ["GENERATOR", "KIND", "WriteOptions", "WriteTask", "written"]

GENERATOR = "people"
"""Of what people wrote, in its provenance."""

_ASKS = {
    "next": say_in("what a question asks", "what is to be done next"),
    "missing": say_in("what a question asks", "whether something was left out so far"),
    "order": say_in("what a question asks", "whether things were done in the right order"),
    "preparation": say_in("what a question asks", "whether something was prepared correctly"),
    "measurement": say_in("what a question asks", "whether an amount is right"),
    "timing": say_in("what a question asks", "whether something took the right time"),
    "technique": say_in("what a question asks", "whether something was done in the right way"),
    "temperature": say_in("what a question asks", "whether a heat is right"),
}
"""By the question's type."""


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a round of writing: ``wage`` is what an hour costs, ``draw`` the size of the draws that variety is compared by."""

    wage: float = 20.0
    draw: int = 50


class WriteTask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A moment that is to be asked about, in the way of its type."""

    example: Example


class _Write(FormKind[WriteTask, WriteOptions]):
    name = "write"
    title = say("Write questions")
    detail = say(
        "Write a question that the person in the recording could ask at this moment, and its right answers."
    )
    task = WriteTask
    options = WriteOptions

    def fields(self, task: WriteTask, options: WriteOptions) -> tuple[Field, ...]:  # noqa: ARG002
        asks = _ASKS.get(task.example.type, task.example.type)
        rule = say(
            "It needs both the recording and the instructions, nothing from outside, and is clear and grammatical."
        )
        many = say(
            "Full sentences, true at this moment. Where several things would be right, write each of them."
        )
        return (
            Field(
                name="question",
                label=say("Your question, which asks {what}", what=asks),
                type="text",
                rule=rule,
            ),
            Field(name="answers", label=say("Its right answers, one a row"), type="texts", rule=many),
        )

    def question(self, task: WriteTask) -> Question:
        return question_about(task.example, "", "")


KIND = _Write()


def written(example: Example, sheet: FormSheet, reading: Reading) -> Candidate:
    """Return what somebody wrote as a candidate, to be verified like any other one; ``variant`` is the hash of the example."""
    answers = sheet.values["answers"]
    told = {"round": reading.round, "writer": reading.person, "seconds": f"{reading.seconds:.1f}"}
    return Candidate(
        id=written_id(reading.assignment),
        example_id=example.id,
        recording_id=example.recording_id,
        type=example.type,
        question=str(sheet.values["question"]),
        answers=tuple(Answer(text) for text in dict.fromkeys(answers)),
        provenance=Provenance(generator=GENERATOR, version="1", example_hash=reading.variant, details=told),
    )
