"""Rating questions of any kind by a form: SMMQG's study with people, or fields, examples, quiz and checks of one's own.

Source: SMMQG, human study and its appendix on the forms. A sample's source and role are in the task and never on the page.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.human_study import Scales, WorkerResult
from proctor.exam.question import Question
from proctor.records import read_bytes
from proctor.verify.desk.records import InvalidError
from proctor.verify.rounds.form import Field, FormSheet, check_fields, check_form, form_sheet
from proctor.verify.rounds.kind import Fields, TaskKind
from proctor.verify.rounds.records import RoundSettings

__all__ = [
    "KIND",
    "SMMQG_FIELDS",
    "AttentionCheck",
    "BatchChecks",
    "QuizQuestion",
    "RateForm",
    "RateOptions",
    "RateTask",
    "StyleText",
    "WorkedExample",
    "batch_checks",
    "faults",
    "read_form",
    "scales_of",
    "wrong_answers",
]

_LONG_MINUTES: Final = 5
"""In studies above this two failed attention checks are needed to reject somebody (the rule of a platform for such studies)."""

SMMQG_FIELDS: Final = (
    Field(
        name="fluency",
        label="How fluent is the question?",
        type="scale",
        ends=("incomprehensible", "fluent"),
        rule="Judge the language alone: is it grammatical, and would a person say it like this? 1: one cannot make out what is "
        "asked. 5: nothing disturbs.",
    ),
    Field(
        name="style",
        label="Does the question keep to its style?",
        rule="Yes when the question is of the style that is described above it.",
    ),
    Field(
        name="relevance",
        label="Are all sources relevant?",
        rule="Yes when every source is of use for the answer. Two sources that are of use and say the same both count.",
    ),
    Field(
        name="answerability",
        label="Can it be answered from the sources alone?",
        rule="Yes when the sources are enough. What you know yourself does not count.",
    ),
    Field(
        name="correctness",
        label="Is the answer right?",
        rule="Yes when the answer is reasonable by the sources alone, whatever else you know.",
    ),
)
"""The paper's five, in its order; their names are those of ``exam.human_study.SMMQG``."""


class StyleText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What raters are told of a style of questions."""

    title: str
    description: str = ""


class WorkedExample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sample with its right ratings and why, Markdown, shown with the instructions."""

    title: str
    text: str


class QuizQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question on the instructions; ``why`` explains the right answer to who gave another."""

    field: Field
    right: str
    why: str


class AttentionCheck(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sample that says itself what to choose: ``text`` stands in the place of its question."""

    name: str
    text: str
    right: dict[str, str]


class RateForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rating form as a file describes it (TOML or JSON); what is left out is SMMQG's, or empty.

    Attributes:
        fields: what is rated.
        instructions: Markdown.
        examples: shown below the instructions; the paper has three.
        quiz: before the first batch; it never rejects anybody, a wrong answer is explained and asked again.
        attention: checks; they are tasks among the others.
        styles: by the questions' style.
    """

    fields: tuple[Field, ...] = SMMQG_FIELDS
    instructions: str = ""
    examples: tuple[WorkedExample, ...] = ()
    quiz: tuple[QuizQuestion, ...] = ()
    attention: tuple[AttentionCheck, ...] = ()
    styles: dict[str, StyleText] = {}


class RateOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A round's: see ``RateForm``."""

    fields: tuple[Field, ...] = SMMQG_FIELDS
    quiz: tuple[QuizQuestion, ...] = ()
    styles: dict[str, StyleText] = {}


class RateTask(msgspec.Struct, frozen=True, kw_only=True):
    """A sample to rate.

    Attributes:
        question: with its sources.
        answer: that is rated with it; empty where none is shown.
        style: key of ``RateOptions.styles``; empty where none is shown.
        right: known ratings by field, of tests and attention checks; never shown.
    """

    question: Question
    answer: str = ""
    style: str = ""
    right: dict[str, str] = {}


class _Rate(TaskKind[RateTask, FormSheet, RateOptions]):
    """Ratings of questions."""

    name = "rate"
    title = "Rate questions"
    detail = "Read the sources, the question and its answer, and rate them."
    task = RateTask
    sheet = FormSheet
    options = RateOptions

    def check(self, sheet: FormSheet, task: RateTask, options: RateOptions) -> FormSheet:  # noqa: ARG002
        """Return the ratings, each of which is given."""
        return check_form(sheet, options.fields)

    def of_form(self, fields: Fields, task: RateTask, options: RateOptions) -> FormSheet:  # noqa: ARG002
        """Return the ratings of a plain form."""
        return form_sheet(options.fields, fields)

    def question(self, task: RateTask) -> Question:
        """Return the question; its sources are shown."""
        return task.question


KIND: Final = _Rate()


# -- the file ----------------------------------------------------------------------------------------------------


def read_form(path: Path) -> RateForm:
    """Read a rating form.

    Raises:
        UserError: if it is neither TOML nor JSON of that form, a field or a quiz question is wrong, or an attention check does not
            say in its own text every value that is to be chosen.
    """
    data = read_bytes(path)
    try:
        if path.suffix == ".json":
            form = msgspec.json.decode(data, type=RateForm)
        else:
            form = msgspec.convert(tomllib.loads(data.decode()), RateForm)
    except (msgspec.MsgspecError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        hint = "docs/rounds.md, 'A study', shows a whole file"
        raise UserError(f"this is no rating form: {error}.", where=str(path), hint=hint) from None
    fields = check_fields(form.fields, str(path))
    if form.quiz:
        check_fields([q.field for q in form.quiz], f"{path}: quiz")
    for question in form.quiz:
        _check_right({question.field.name: question.right}, [question.field], f"{path}: quiz")
    names = Counter(check.name for check in form.attention)
    for check in form.attention:
        where = f"{path}: attention check '{check.name[:40]}'"
        if names[check.name] > 1:
            raise UserError("it is named twice.", where=where)
        _check_right(check.right, fields, where)
        words = check.text.casefold()
        if silent := [f.name for f in fields if f.name in check.right and not _says(words, f, check.right)]:
            raise UserError(
                f"its text does not say what to choose for {', '.join(silent)}.",
                where=where,
                hint="an attention check states the whole action in the question itself: name every value",
            )
    return form


def _check_right(right: Mapping[str, str], fields: Iterable[Field], where: str) -> None:
    by_name = {field.name: field for field in fields}
    if not right or (unknown := sorted(right.keys() - by_name.keys())):
        raise UserError(
            f"{'it has no right answer' if not right else f'there is no field {unknown[0][:40]!r}'}.",
            where=where,
            hint=f"fields: {', '.join(by_name)}",
        )
    for name, value in right.items():
        try:
            asked = msgspec.structs.replace(by_name[name], only_if="")
            check_form(FormSheet(values={name: value}), (asked,))
        except InvalidError as error:
            raise UserError(f"its right answer for {name} is {value[:40]!r}: {error}", where=where) from None


def _says(words: str, field: Field, right: Mapping[str, str]) -> bool:
    value = right[field.name]
    return field.choices.get(value, value).casefold() in words


def scales_of(fields: Iterable[Field]) -> Scales:
    """Return what of a form is analysed: scales, and yes and no."""
    return {
        f.name: (f.low, f.high) if f.type == "scale" else None for f in fields if f.type in ("scale", "yesno")
    }


# -- checks ------------------------------------------------------------------------------------------------------


def wrong_answers(quiz: Iterable[QuizQuestion], values: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the field and the explanation of every quiz question that was answered in another way, or not at all."""
    return [(q.field.name, q.why) for q in quiz if values.get(q.field.name) != q.right]


def faults(sheet: FormSheet, right: Mapping[str, str]) -> tuple[str, ...]:
    """Return the fields in which a rating differs from what is known to be right."""
    return tuple(name for name, value in right.items() if sheet.values.get(name) != value)


class BatchChecks(msgspec.Struct, frozen=True, kw_only=True):
    """How somebody did on the checks of a batch.

    Attributes:
        attention: attention checks that were done.
        failed: of them, those where something else was chosen.
        tests: test samples of the batch that were done.
        right: of them, those with all known ratings right.
    """

    attention: int = 0
    failed: int = 0
    tests: int = 0
    right: int = 0

    @property
    def result(self) -> WorkerResult:
        """By the paper's rules: a bonus for all test samples, review by hand for two wrong ones."""
        return WorkerResult(worker="", rated=0, right=self.right, tests=self.tests)

    @property
    def has_bonus(self) -> bool:
        """True when there were test samples and all are right."""
        return self.tests > 0 and self.result.has_bonus

    def why_kept(self, settings: RoundSettings) -> str:
        """Return why the work cannot be set aside for its attention checks; empty when it can."""
        needed = 1 if 0 < settings.lease_minutes <= _LONG_MINUTES else 2
        if self.failed >= needed:
            return ""
        return f"{self.failed} of {self.attention} attention checks failed; {needed} failed ones are needed to set work aside"


def batch_checks(done: Iterable[tuple[str, FormSheet, RateTask]]) -> BatchChecks:
    """Mark the checks of a batch: the role, the sheet and the task of each thing that was done."""
    count: Counter[str] = Counter()
    for role, sheet, task in done:
        count[role] += 1
        count[f"{role} wrong"] += bool(task.right and faults(sheet, task.right))
    return BatchChecks(
        attention=count["attention"],
        failed=count["attention wrong"],
        tests=count["test"],
        right=count["test"] - count["test wrong"],
    )
