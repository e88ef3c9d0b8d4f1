"""Rating questions of any kind by a form: SMMQG's study with people, or fields, examples, quiz and checks of one's own.

Source: SMMQG, human study and its appendix on the forms. A sample's source and role are in the task and never on the page.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from proctor.errors import UserError
from proctor.exam.human_study import Scales, WorkerResult
from proctor.exam.question import Question
from proctor.records import read_bytes
from proctor.verify.desk.records import InvalidError
from proctor.verify.rounds.form import Field, FormKind, FormSheet, check_fields, check_form
from proctor.verify.rounds.records import QuizItem, Round, RoundSettings

__all__ = [
    "KIND",
    "SMMQG_FIELDS",
    "AttentionCheck",
    "BatchChecks",
    "Marked",
    "RateForm",
    "RateOptions",
    "RateTask",
    "StyleText",
    "WorkedExample",
    "batch_checks",
    "options_of",
    "read_form",
    "scales_of",
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
    quiz: tuple[QuizItem, ...] = ()
    attention: tuple[AttentionCheck, ...] = ()
    styles: dict[str, StyleText] = {}


class RateOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A round's: see ``RateForm``; ``rights`` are known ratings by task, of tests and attention checks, never shown."""

    fields: tuple[Field, ...] = SMMQG_FIELDS
    styles: dict[str, StyleText] = {}
    rights: dict[str, dict[str, str]] = {}


class RateTask(msgspec.Struct, frozen=True, kw_only=True):
    """A sample to rate.

    Attributes:
        question: with its sources.
        answer: that is rated with it; empty where none is shown.
        style: key of ``RateOptions.styles``; empty where none is shown.
    """

    question: Question
    answer: str = ""
    style: str = ""


class _Rate(FormKind[RateTask, RateOptions]):
    """Ratings of questions."""

    name = "rate"
    title = "Rate questions"
    detail = "Read the sources, the question and its answer, and rate them."
    task = RateTask
    options = RateOptions

    def fields(self, task: RateTask, options: RateOptions) -> Sequence[Field]:  # noqa: ARG002 - the same for all
        """Return what is rated."""
        return options.fields

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


def options_of(round_: Round) -> RateOptions:
    """Return the options of a round of ratings."""
    return msgspec.json.decode(round_.options, type=RateOptions)


# -- checks ------------------------------------------------------------------------------------------------------


class Marked(NamedTuple):
    """Something that was done in a batch: its task, the task's role, and the ratings."""

    task: str
    role: str
    sheet: FormSheet

    def faults(self, rights: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
        """Return the fields in which the ratings differ from what is known to be right."""
        right = rights.get(self.task, {})
        return tuple(name for name, value in right.items() if self.sheet.values.get(name) != value)


class BatchChecks(NamedTuple):
    """How somebody did on the checks of a batch: attention checks done and failed, test samples done and rated rightly."""

    attention: int = 0
    failed: int = 0
    tests: int = 0
    right: int = 0

    @property
    def has_bonus(self) -> bool:
        """True when there were test samples, and all of them are right."""
        return 0 < self.tests == self.right

    @property
    def needs_review(self) -> bool:
        """True when two or more test samples are wrong: looked at by hand, by the paper's rule."""
        return WorkerResult(worker="", rated=0, right=self.right, tests=self.tests).needs_review

    def why_kept(self, settings: RoundSettings) -> str:
        """Return why the work cannot be set aside for its attention checks; empty when it can."""
        needed = 1 if 0 < settings.lease_minutes <= _LONG_MINUTES else 2
        if self.failed >= needed:
            return ""
        return f"{self.failed} of {self.attention} attention checks failed, and work is set aside for {needed} or more"


def batch_checks(done: Iterable[Marked], rights: Mapping[str, Mapping[str, str]]) -> BatchChecks:
    """Mark the checks of a batch."""
    count = Counter(kind for one in done for kind in (one.role, f"{one.role} {bool(one.faults(rights))}"))
    return BatchChecks(count["attention"], count["attention True"], count["test"], count["test False"])
