"""Rating questions of any kind by a form: SMMQG's study with people, or fields, examples, quiz and checks of one's own.

A sample's source and role are never on the page. Source: SMMQG, human study. docs/rounds.md.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from proctor.errors import UserError
from proctor.exam.human_study import Scales
from proctor.exam.question import Question
from proctor.records import read_bytes
from proctor.verify.desk.records import InvalidError
from proctor.verify.rounds.form import Field, FormKind, FormSheet, check_fields, check_form
from proctor.verify.rounds.records import QuizItem, Round, RoundSettings

__all__ = [
    "KIND", "AttentionCheck", "BatchChecks", "Done", "RateForm", "RateOptions", "RateTask", "StyleText",
    "batch_checks", "faults", "options_of", "read_form", "scales_of",
]  # fmt: skip

_SHIPPED: Final = Path(__file__).with_name("smmqg.toml")


class StyleText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What raters are told of a style of questions."""

    title: str
    description: str = ""


class AttentionCheck(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sample that says itself what to choose: ``text`` stands in the place of its question."""

    name: str
    text: str
    right: dict[str, str]


class RateForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rating form as a file describes it (TOML or JSON).

    ``fields`` and ``instructions`` (Markdown) that are left out are SMMQG's. ``examples`` are worked ones (Markdown). The ``quiz``
    stands before the first batch and rejects nobody. ``attention`` checks are tasks among the others. ``styles``: what is said of
    the questions' styles.
    """

    fields: tuple[Field, ...] = ()
    instructions: str = ""
    examples: tuple[str, ...] = ()
    quiz: tuple[QuizItem, ...] = ()
    attention: tuple[AttentionCheck, ...] = ()
    styles: dict[str, StyleText] = {}


class RateOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A round's: see ``RateForm``; ``rights`` are known ratings by task, of tests and attention checks, never shown."""

    fields: tuple[Field, ...] = msgspec.field(default_factory=lambda: read_form().fields)
    styles: dict[str, StyleText] = {}
    rights: dict[str, dict[str, str]] = {}


class RateTask(msgspec.Struct, frozen=True, kw_only=True):
    """A sample: a question with its sources, the answer that is rated with it, and the key of its style (both may be empty)."""

    question: Question
    answer: str = ""
    style: str = ""


class _Rate(FormKind[RateTask, RateOptions]):
    name = "rate"
    title = "Rate questions"
    detail = "Read the sources, the question and its answer, and rate them."
    task = RateTask
    options = RateOptions

    def fields(self, task: RateTask, options: RateOptions) -> Sequence[Field]:  # noqa: ARG002 - the same for all
        return options.fields

    def shown(self, task: RateTask, options: RateOptions) -> list[tuple[str, ...]]:
        style = options.styles.get(task.style, StyleText(title=task.style))
        parts = (
            ("Question", task.question.text),
            ("Answer", task.answer),
            (f"Style: {style.title}", style.description),
        )
        return [
            part for part, is_known in zip(parts, (True, task.answer, style.title), strict=True) if is_known
        ]

    def question(self, task: RateTask) -> Question:
        return task.question


KIND: Final = _Rate()


def read_form(path: Path | None = None) -> RateForm:
    """Read a rating form, SMMQG's by default.

    Raises:
        UserError: if it is neither TOML nor JSON of that form, a field or a quiz question is wrong, or an attention check does not
            say in its own text every value that is to be chosen.
    """
    if path is None:
        return read_form(_SHIPPED)
    data = read_bytes(path)
    try:
        decoded = msgspec.json.decode(data) if path.suffix == ".json" else tomllib.loads(data.decode())
        form = msgspec.convert(decoded, RateForm)
    except (msgspec.MsgspecError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        hint = "docs/rounds.md, 'A study', shows a whole file"
        raise UserError(f"this is no rating form: {error}.", where=str(path), hint=hint) from None
    if path != _SHIPPED:
        given = {
            name: getattr(form, name) or getattr(read_form(), name) for name in ("fields", "instructions")
        }
        form = msgspec.structs.replace(form, **given)
    fields = {field.name: field for field in check_fields(form.fields, str(path))}
    if taken := sorted({"worker", "sample", "seconds", "note"} & fields.keys()):
        raise UserError(f"the field '{taken[0]}' has the name of a column of ratings.csv.", where=str(path))
    if form.quiz:
        check_fields([item.field for item in form.quiz], f"{path}: quiz")
    for item in form.quiz:
        _check_right({item.field.name: item.right}, {item.field.name: item.field}, f"{path}: quiz")
    names = Counter(check.name for check in form.attention)
    for check in form.attention:
        where = f"{path}: attention check '{check.name[:40]}'"
        if names[check.name] > 1 or not check.right:
            raise UserError("it is named twice, or nothing is right in it.", where=where)
        _check_right(check.right, fields, where)
        said = ((name, fields[name].choices.get(value, value)) for name, value in check.right.items())
        if silent := [name for name, word in said if word.casefold() not in check.text.casefold()]:
            hint = "an attention check states the whole action in the question itself: name every value"
            raise UserError(f"its text does not say what to choose for {silent[0]}.", where=where, hint=hint)
    return form


def _check_right(right: Mapping[str, str], fields: Mapping[str, Field], where: str) -> None:
    for name, value in right.items():
        if name not in fields:
            hint = f"fields: {', '.join(fields)}"
            raise UserError(f"there is no field '{name[:40]}'.", where=where, hint=hint)
        try:
            check_form(FormSheet(values={name: value}), (msgspec.structs.replace(fields[name], only_if=""),))
        except InvalidError as error:
            raise UserError(f"its right answer for {name} is {value[:40]!r}: {error}", where=where) from None


def scales_of(fields: Iterable[Field]) -> Scales:
    """Return what of a form is analysed: scales, and yes and no."""
    known = (f for f in fields if f.type in ("scale", "yesno"))
    return {f.name: (f.low, f.high) if f.type == "scale" else None for f in known}


def options_of(round_: Round) -> RateOptions:
    """Return the options of a round of ratings."""
    return msgspec.json.decode(round_.options, type=RateOptions)


Done = tuple[str, str, FormSheet]
"""Something that was done in a batch: its task, the task's role, and the ratings."""
Rights = Mapping[str, Mapping[str, str]]
"""What is known to be right, by task and field."""


def faults(task: str, sheet: FormSheet, rights: Rights) -> tuple[str, ...]:
    """Return the fields in which ratings differ from what is known to be right."""
    return tuple(name for name, value in rights.get(task, {}).items() if sheet.values.get(name) != value)


class BatchChecks(NamedTuple):
    """How somebody did on the checks of a batch: attention checks done and failed, test samples done and rated rightly.

    By the paper's rules all test samples right earn a bonus; with two wrong ones a batch is looked at by hand.
    """

    attention: int = 0
    failed: int = 0
    tests: int = 0
    right: int = 0

    @property
    def has_bonus(self) -> bool:
        """True when there were test samples, and all of them are right."""
        return 0 < self.tests == self.right

    def why_kept(self, settings: RoundSettings) -> str:
        """Return why the work cannot be set aside for its attention checks; empty when it can."""
        needed = 1 if 0 < settings.lease_minutes <= 5 else 2  # a platform's rule
        failed = f"{self.failed} of {self.attention} attention checks failed"
        return "" if self.failed >= needed else f"{failed}, and work is set aside for {needed} or more"


def batch_checks(done: Iterable[Done], rights: Rights) -> BatchChecks:
    """Mark the checks of a batch."""
    count = Counter(
        k for task, role, sheet in done for k in (role, f"{role} {bool(faults(task, sheet, rights))}")
    )
    return BatchChecks(count["attention"], count["attention True"], count["test"], count["test False"])
