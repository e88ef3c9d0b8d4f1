"""Forms with a quiz, attention checks and tasks whose right answer is known: what rounds of ratings and of own tasks share. docs/rounds.md."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from proctor.errors import UserError
from proctor.records import read_bytes
from proctor.said import say
from proctor.verify.desk.records import InvalidError
from proctor.verify.rounds import form as forms
from proctor.verify.rounds.form import Field, FormKind, FormSheet, as_text
from proctor.verify.rounds.kind import task_kind
from proctor.verify.rounds.records import QuizItem, Round, RoundSettings

__all__ = [
    "AttentionCheck", "BatchChecks", "CheckedForm", "CheckedKind", "CheckedOptions", "Done", "batch_checks", "canonical_right",
    "check_configuration", "checked_kind", "checked_options", "decode_form", "faults",
]  # fmt: skip


class AttentionCheck(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sample that says itself what to choose: ``text`` stands in the place of its question."""

    name: str
    text: str
    right: dict[str, str]


class CheckedForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A form as a file describes it (TOML or JSON).

    ``instructions`` and worked ``examples`` are Markdown. The ``quiz`` stands before the first batch and rejects nobody.
    ``attention`` checks are tasks among the others.
    """

    fields: tuple[Field, ...] = ()
    instructions: str = ""
    examples: tuple[str, ...] = ()
    quiz: tuple[QuizItem, ...] = ()
    attention: tuple[AttentionCheck, ...] = ()

    @property
    def guide(self) -> str:
        """Instructions with the examples."""
        examples = (f"## Example {n}\n\n{text}" for n, text in enumerate(self.examples, 1))
        return "\n\n".join((self.instructions, *examples))


class CheckedOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A round's fields; ``rights`` are known answers by task, of tests and attention checks, never shown."""

    fields: tuple[Field, ...] = ()
    rights: dict[str, dict[str, str]] = {}


T = TypeVar("T", bound=msgspec.Struct)
C = TypeVar("C", bound=CheckedOptions)
F = TypeVar("F", bound=CheckedForm)


class CheckedKind(FormKind[T, C]):
    """A kind whose rounds have one form, and checks that a reviewer looks at batch by batch."""

    def fields(self, task: T, options: C) -> Sequence[Field]:  # noqa: ARG002 - the same for all
        """Return the fields of the round's form."""
        return tuple(map(forms.said_field, options.fields))


def checked_kind(round_: Round) -> CheckedKind[Any, Any] | None:
    """Return the kind of a round with checks; None for other rounds."""
    kind = task_kind(round_.kind)
    return kind if isinstance(kind, CheckedKind) else None


def checked_options(round_: Round) -> CheckedOptions:
    """Return the options of a round with checks."""
    found: CheckedOptions = msgspec.json.decode(round_.options, type=task_kind(round_.kind).options)
    return found


def decode_form(path: Path, type_: type[F], hint: str) -> F:
    """Read the file of a form; raises UserError if it is neither TOML nor JSON of that form, with the hint."""
    data = read_bytes(path)
    try:
        decoded: Any = msgspec.json.decode(data) if path.suffix == ".json" else tomllib.loads(data.decode())
        return msgspec.convert(decoded, type_)
    except (msgspec.MsgspecError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"this is no form: {error}.", where=str(path), hint=hint) from None


def check_configuration(
    form: CheckedForm, path: Path, taken: Collection[str], file: str, columns: Collection[str] = ()
) -> dict[str, Field]:
    """Return the fields of a form by name; ``taken`` are columns of a file of what people say, ``columns`` those that are shown as text.

    Raises:
        UserError: if a field or a quiz question is wrong, or an attention check does not say in its own text every value that is
            to be chosen.
    """
    fields = {field.name: field for field in forms.check_fields(form.fields, str(path), columns)}
    if reserved := sorted({*taken} & fields.keys()):
        raise UserError(f"the field '{reserved[0]}' has the name of a column of {file}.", where=str(path))
    if form.quiz:
        forms.check_fields([item.field for item in form.quiz], f"{path}: quiz")
    for item in form.quiz:
        canonical_right({item.field.name: item.right}, {item.field.name: item.field}, f"{path}: quiz")
    names = Counter(check.name for check in form.attention)
    for check in form.attention:
        where = f"{path}: attention check '{check.name[:40]}'"
        if names[check.name] > 1 or not check.right:
            raise UserError("it is named twice, or nothing is right in it.", where=where)
        for name, value in canonical_right(check.right, fields, where).items():
            words = (fields[name].choices.get(v, v) for v in forms.from_text(fields[name], value))
            if any(word.casefold() not in check.text.casefold() for word in words):
                hint = "an attention check states the whole action in the question itself: name every value"
                raise UserError(f"its text does not say what to choose for {name}.", where=where, hint=hint)
    return fields


def canonical_right(right: Mapping[str, str], fields: Mapping[str, Field], where: str) -> dict[str, str]:
    """Return known answers as a sheet would hold them; raises UserError if there is no such field, or it cannot hold the answer."""
    found = {}
    for name, value in right.items():
        if name not in fields or fields[name].type == "span":
            hint = f"fields: {', '.join(n for n, field in fields.items() if field.type != 'span')}"
            raise UserError(f"there is no field '{name[:40]}' with right answers.", where=where, hint=hint)
        field = msgspec.structs.replace(fields[name], only_if="", required=True)
        try:
            kept = forms.check_form(FormSheet(values={name: forms.from_text(field, value)}), (field,))
        except InvalidError as error:
            raise UserError(f"its right answer for {name} is {value[:40]!r}: {error}", where=where) from None
        found[name] = as_text(kept.values[name])
    return found


Done = tuple[str, str, FormSheet]
"""Something that was done in a batch: its task, the task's role, and the ratings."""
Rights = Mapping[str, Mapping[str, str]]
"""What is known to be right, by task and field."""


def faults(task: str, sheet: FormSheet, rights: Rights) -> tuple[str, ...]:
    """Return the fields in which ratings differ from what is known to be right."""
    return tuple(n for n, value in rights.get(task, {}).items() if as_text(sheet.values.get(n, "")) != value)


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
        if self.failed >= needed:
            return ""
        return say(
            "{failed} of {attention} attention checks failed, and work is set aside for {needed} or more",
            failed=self.failed,
            attention=self.attention,
            needed=needed,
        )


def batch_checks(done: Iterable[Done], rights: Rights) -> BatchChecks:
    """Mark the checks of a batch."""
    count = Counter(
        k for task, role, sheet in done for k in (role, f"{role} {bool(faults(task, sheet, rights))}")
    )
    return BatchChecks(count["attention"], count["attention True"], count["test"], count["test False"])
