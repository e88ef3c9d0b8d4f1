"""Forms that configuration describes: scales, yes or no, choices, numbers, texts. Ratings, marks, answers and quizzes are such forms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar

import msgspec

from proctor.verify.desk.records import MAX_TEXT, InvalidError
from proctor.verify.desk.sheets import is_bad_text
from proctor.verify.rounds.kind import Fields, TaskKind

T = TypeVar("T", bound=msgspec.Struct)
O = TypeVar("O", bound=msgspec.Struct)  # noqa: E741 - of the round

__all__ = ["Field", "FormKind", "FormSheet", "check_fields", "check_form", "form_sheet"]

FieldName = Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9_]{0,39}$")]
MAX_TEXTS = 20


class Field(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One field of a form.

    Attributes:
        name: in sheets and tables.
        label: what is asked.
        type: ``scale`` (whole numbers from ``low`` to ``high``), ``yesno``, ``choice``, ``number``, ``text`` (one), ``texts`` (any
            number, one a row).
        rule: how to decide, shown on demand.
        ends: words at the two ends of a scale.
        choices: of ``choice``: value to words, in order.
        required: nothing is submitted without it.
        only_if: ``name=value`` of a field above: asked only where it has this value.
    """

    name: FieldName
    label: str
    type: Literal["scale", "yesno", "choice", "number", "text", "texts"] = "yesno"
    rule: str = ""
    low: int = 1
    high: int = 5
    ends: tuple[str, str] = ("", "")
    choices: dict[str, str] = {}
    required: bool = True
    only_if: str = ""


class FormSheet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a form holds: texts by field; several of them for ``texts`` alone."""

    values: dict[str, str | list[str]] = {}
    note: str = ""


def check_fields(fields: Sequence[Field], where: str) -> tuple[Field, ...]:
    """Return the fields of a configuration.

    Raises:
        UserError: if a name stands twice, a choice has none, a scale has no two values, or a condition names no field above.
    """
    from proctor.errors import UserError

    seen: dict[str, Field] = {}
    for field in fields:
        problem = ""
        on, _, value = field.only_if.partition("=")
        if field.name in seen:
            problem = "stands twice"
        elif field.type == "choice" and len(field.choices) < 2:
            problem = "is a choice of fewer than two"
        elif field.type == "scale" and not 1 <= field.high - field.low <= 20:
            problem = f"is a scale from {field.low} to {field.high}; 2 to 21 values can be shown"
        elif field.only_if and (on not in seen or not value):
            problem = f"depends on '{field.only_if[:60]}'; write name=value of a field above it"
        if problem:
            raise UserError(f"the field '{field.name}' {problem}.", where=where)
        seen[field.name] = field
    if not seen:
        raise UserError("the form has no fields.", where=where)
    return tuple(fields)


def check_form(sheet: FormSheet, fields: Sequence[Field]) -> FormSheet:
    """Return a sheet ready to be kept: what is not asked is left out.

    Raises:
        InvalidError: with every field that is missing or wrong, in the order of the page.
    """
    errors: list[tuple[str, str]] = []
    kept: dict[str, str | list[str]] = {}
    for field in fields:
        on, _, value = field.only_if.partition("=")
        if field.only_if and kept.get(on) != value:
            continue
        given = sheet.values.get(field.name, "")
        texts = [t for raw in ([given] if isinstance(given, str) else given) if (t := raw.strip())]
        if not texts and field.required:
            errors.append((field.name, f"Not filled in yet: {field.label}"))
        elif texts and (wrong := _fault(field, texts)):
            errors.append((field.name, wrong))
        elif texts:
            kept[field.name] = texts if field.type == "texts" else texts[0]
    known = {field.name for field in fields}
    errors += [("form", f"There is no field '{name[:40]}'.") for name in sheet.values if name not in known]
    if is_bad_text(sheet.note):
        errors.append(("note", f"A note holds at most {MAX_TEXT:,} characters of text."))
    if errors:
        raise InvalidError(errors)
    return FormSheet(values=kept, note=sheet.note.strip())


def _fault(field: Field, texts: list[str]) -> str:
    value = texts[0]
    if field.type != "texts" and len(texts) > 1:
        return f"One value was expected: {field.label}"
    if field.type == "yesno" and value not in ("yes", "no"):
        return f"Choose Yes or No: {field.label}"
    if field.type == "choice" and value not in field.choices:
        return f"Choose one: {field.label}"
    if field.type == "scale" and value not in map(str, range(field.low, field.high + 1)):
        return f"Choose a number from {field.low} to {field.high}: {field.label}"
    if field.type == "number" and not _is_number(value):
        return f"A number was expected: {field.label}"
    if len(texts) > MAX_TEXTS:
        return f"At most {MAX_TEXTS} rows: {field.label}"
    if any(map(is_bad_text, texts)):
        return f"It is longer than {MAX_TEXT:,} characters, or is no text: {field.label}"
    return ""


def _is_number(text: str) -> bool:
    try:
        return len(text) < 40 and math.isfinite(float(text))
    except ValueError:
        return False


def form_sheet(fields: Sequence[Field], form: Fields) -> FormSheet:
    """Return the sheet of a plain form, whose fields are called ``field-<name>``."""
    values: dict[str, str | list[str]] = {}
    for field in fields:
        given = [
            text for text in form.getlist(f"field-{field.name}") if isinstance(text, str) and text.strip()
        ]
        if given:
            values[field.name] = given if field.type == "texts" else given[0]
    note = form.get("note")
    return FormSheet(values=values, note=note if isinstance(note, str) else "")


class FormKind(TaskKind[T, FormSheet, O]):
    """A kind whose sheet is a form: it says its fields and what stands above them, and has no page of its own."""

    sheet = FormSheet

    def shown(self, task: T, options: O) -> Sequence[tuple[str, ...]]:  # noqa: ARG002 - for kinds that show some
        """Return the texts above the form, each a heading and what stands under it. What is hidden is not in them."""
        return ()

    def check(self, sheet: FormSheet, task: T, options: O) -> FormSheet:
        """Return a complete form; see ``check_form``."""
        return check_form(sheet, self.fields(task, options))

    def of_form(self, fields: Fields, task: T, options: O) -> FormSheet:
        """Return the sheet of a plain form; see ``form_sheet``."""
        return form_sheet(self.fields(task, options), fields)
