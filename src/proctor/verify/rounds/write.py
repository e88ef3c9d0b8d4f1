"""People write questions from scratch, beside a recording and its procedure, and see no candidate; their time is taken. docs/rounds.md.

Source: ProMQA, Table 5, appendices A.2 and A.3.
"""

from __future__ import annotations

from typing import Final

import msgspec

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment_question import question_about
from proctor.exam.question import Question
from proctor.records import content_hash
from proctor.verify.rounds.answer import written_id
from proctor.verify.rounds.form import Field, FormKind, FormSheet
from proctor.verify.rounds.kind import NoOptions
from proctor.verify.rounds.records import Reading

__all__ = ["GENERATOR", "KIND", "TYPES", "WriteTask", "written"]

GENERATOR: Final = "people"
"""Of what people wrote, in its provenance."""
VERSION: Final = "1"

TYPES: Final = {
    "next": "what is to be done next",
    "missing": "whether something was left out so far",
    "order": "whether things were done in the right order",
    "preparation": "whether something was prepared rightly",
    "measurement": "whether an amount is right",
    "timing": "whether something took the right time",
    "technique": "whether something was done in the right way",
    "temperature": "whether a heat is right",
}
"""What a question of each type asks."""


class WriteTask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A moment to be asked about; ``examples`` are those of it of which the writer chooses one, by type."""

    examples: tuple[Example, ...]


class _Write(FormKind[WriteTask, NoOptions]):
    name = "write"
    title = "Write questions"
    detail = (
        "Write a question that the person in the recording could ask at this moment, and its right answers."
    )
    task = WriteTask
    options = NoOptions

    def fields(self, task: WriteTask, options: NoOptions) -> tuple[Field, ...]:  # noqa: ARG002
        types = {example.type: TYPES.get(example.type, example.type) for example in task.examples}
        about = next(iter(types.values()))
        what = Field(name="type", label="What does your question ask?", type="choice", choices=types)
        rule = "It needs both the recording and the instructions, nothing from outside, and is natural, clear and grammatical."
        asked = "Your question" if len(types) > 1 else f"Your question, which asks {about}"
        return (
            *((what,) if len(types) > 1 else ()),
            Field(name="question", label=asked, type="text", rule=rule),
            Field(
                name="answers",
                label="Its right answers, one a row",
                type="texts",
                rule="Full sentences, true at this moment. Where several things would be right, write each of them.",
            ),
        )

    def question(self, task: WriteTask) -> Question:
        return question_about(task.examples[0], "", "")


KIND = _Write()


def written(task: WriteTask, sheet: FormSheet, reading: Reading) -> Candidate:
    """Return what somebody wrote as a candidate, to be verified like any other one."""
    chosen = sheet.values.get("type")
    example = next((one for one in task.examples if one.type == chosen), task.examples[0])
    answers = sheet.values["answers"]
    return Candidate(
        id=written_id(reading.assignment),
        example_id=example.id,
        recording_id=example.recording_id,
        type=example.type,
        question=str(sheet.values["question"]),
        answers=tuple(
            Answer(text) for text in dict.fromkeys([answers] if isinstance(answers, str) else answers)
        ),
        provenance=Provenance(
            generator=GENERATOR,
            version=VERSION,
            example_hash=content_hash(example),
            details={
                "round": reading.round,
                "writer": reading.person,
                "seconds": f"{reading.seconds:.1f}",
            },
        ),
    )
