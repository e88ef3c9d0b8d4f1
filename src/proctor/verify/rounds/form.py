"""Forms that configuration describes: scales, yes or no, choices, numbers, texts, marked words. Ratings, answers and quizzes are such forms."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Final, Literal, TypeVar

import msgspec

from proctor.said import ours, say
from proctor.verify.desk.records import MAX_TEXT, InvalidError
from proctor.verify.desk.sheets import is_bad_text
from proctor.verify.rounds.kind import Fields, TaskKind
from proctor.verify.rounds.spans import as_value, place_spans

T = TypeVar("T", bound=msgspec.Struct)
O = TypeVar("O", bound=msgspec.Struct)  # noqa: E741 - of the round

__all__ = [
    "SEVERAL", "Field", "FormKind", "FormSheet", "as_text", "check_fields", "check_form", "form_sheet", "from_text", "said_field",
]  # fmt: skip

FieldName = Annotated[str, msgspec.Meta(pattern="^[a-z][a-z0-9_]{0,39}$")]
SEVERAL: Final = ("texts", "choices", "span")
"""Types of fields that hold any number of values."""
MAX_TEXTS: Final = 20
MAX_SPANS: Final = 500


class Field(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One field of a form.

    Attributes:
        name: in sheets and tables.
        label: what is asked.
        type: ``scale`` (whole numbers from ``low`` to ``high``), ``yesno``, ``choice``, ``choices`` (several), ``number``, ``text`` (one),
            ``texts`` (any number, one a row), ``span`` (stretches of a text that is shown, each with a label; see ``spans``).
        rule: how to decide, shown on demand.
        ends: words at the two ends of a scale.
        choices: of ``choice`` and ``choices``, and the labels of ``span``: value to words, in order.
        column: of ``span``: whose text is marked.
        required: nothing is submitted without it.
        only_if: ``name=value`` of a field above: asked only where it has this value (among others).
    """

    name: FieldName
    label: str
    type: Literal["scale", "yesno", "choice", "choices", "number", "text", "texts", "span"] = "yesno"
    rule: str = ""
    low: int = 1
    high: int = 5
    ends: tuple[str, str] = ("", "")
    choices: dict[str, str] = {}
    column: str = ""
    required: bool = True
    only_if: str = ""


def said_field(field: Field) -> Field:
    """Return a field with sentences for texts; see ``said.ours``."""
    choices = {value: ours(words) for value, words in field.choices.items()}
    low, high = map(ours, field.ends)
    change = msgspec.structs.replace
    return change(field, label=ours(field.label), rule=ours(field.rule), ends=(low, high), choices=choices)


class FormSheet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a form holds: texts by field; lists of them for the types in ``SEVERAL``."""

    values: dict[str, str | list[str]] = {}
    note: str = ""


def check_fields(fields: Sequence[Field], where: str, columns: Collection[str] = ()) -> tuple[Field, ...]:
    """Return the fields of a configuration; ``columns`` have texts in which words can be marked.

    Raises:
        UserError: if a name stands twice, a choice has none, a scale has no two values, a condition names no field above, or words are to
            be marked in what is not shown.
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
        elif field.type in ("choices", "span") and not field.choices:
            problem = 'has no choices; give each a value and words: choices = { a = "A" }'
        elif field.type in SEVERAL and (
            bad := [v for v in field.choices if set(v) & set(":;") or v != v.strip() or not v]
        ):
            problem = (
                f"has the value '{bad[0][:40]}'; a colon, a semicolon and blanks around it cannot be kept"
            )
        elif field.type == "span" and field.column not in columns:
            problem = f"marks words of '{field.column[:60]}', a column that the form does not show as text"
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


def check_form(
    sheet: FormSheet, fields: Sequence[Field], texts: Mapping[str, str] | None = None
) -> FormSheet:
    """Return a sheet ready to be kept: what is not asked is left out. ``texts`` by column are those in which words are marked.

    Raises:
        InvalidError: with every field that is missing or wrong, in the order of the page.
    """
    errors: list[tuple[str, str]] = []
    kept: dict[str, str | list[str]] = {}
    for field in fields:
        on, _, value = field.only_if.partition("=")
        if field.only_if and value not in _listed(kept.get(on, "")):
            continue
        given = [t for raw in _listed(sheet.values.get(field.name, "")) if (t := raw.strip())]
        wrong = _fault(field, given) if given else ""
        if given and not wrong and field.type == "choices":
            given = [value for value in field.choices if value in given]
        elif given and not wrong and field.type == "span":
            spans, why = place_spans(given, (texts or {}).get(field.column, ""), field.choices)
            given, wrong = (
                [as_value(span) for span in spans],
                say("{field}: {why}.", field=field.label, why=why) if why else "",
            )
        if wrong:
            errors.append((field.name, wrong))
        elif not given and field.required:
            errors.append((field.name, say("Not filled in yet: {field}", field=field.label)))
        elif given:
            kept[field.name] = given if field.type in SEVERAL else given[0]
    known = {field.name for field in fields}
    errors += [
        ("form", say("There is no field '{name}'.", name=name[:40]))
        for name in sheet.values
        if name not in known
    ]
    if is_bad_text(sheet.note):
        errors.append(("note", say("A note holds at most {most:,} characters of text.", most=MAX_TEXT)))
    if errors:
        raise InvalidError(errors)
    return FormSheet(values=kept, note=sheet.note.strip())


def as_text(value: str | list[str]) -> str:
    """Return what a field holds as one text: of several values with semicolons between."""
    return "; ".join(_listed(value))


def from_text(field: Field, text: str) -> list[str]:
    """Return the values of a field that are given as one text."""
    return [part.strip() for part in text.split(";")] if field.type in SEVERAL else [text]


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _fault(field: Field, texts: list[str]) -> str:
    value = texts[0]
    if field.type not in SEVERAL and len(texts) > 1:
        return say("One value was expected: {field}", field=field.label)
    if field.type == "yesno" and value not in ("yes", "no"):
        return say("Choose Yes or No: {field}", field=field.label)
    if field.type == "choice" and value not in field.choices:
        return say("Choose one: {field}", field=field.label)
    if field.type == "choices" and not field.choices.keys() >= set(texts):
        return say("Choose among what is listed: {field}", field=field.label)
    if field.type == "scale" and value not in map(str, range(field.low, field.high + 1)):
        return say(
            "Choose a number from {low} to {high}: {field}", low=field.low, high=field.high, field=field.label
        )
    if field.type == "number" and not _is_number(value):
        return say("A number was expected: {field}", field=field.label)
    most = MAX_SPANS if field.type == "span" else MAX_TEXTS
    if field.type != "choices" and len(texts) > most:
        return say("At most {most} rows: {field}", most=most, field=field.label)
    if any(map(is_bad_text, texts)):
        return say(
            "It is longer than {most:,} characters, or is not text: {field}", most=MAX_TEXT, field=field.label
        )
    return ""


def _is_number(text: str) -> bool:
    try:
        return len(text) < 40 and math.isfinite(float(text))
    except ValueError:
        return False


def form_sheet(fields: Sequence[Field], form: Fields) -> FormSheet:
    """Return the sheet of a plain form, whose fields are called ``field-<name>``; words to be marked ``words-<name>`` with ``label-<name>``."""
    values: dict[str, str | list[str]] = {}
    for field in fields:
        given = [
            text for text in form.getlist(f"field-{field.name}") if isinstance(text, str) and text.strip()
        ]
        if field.type == "span":
            rows = zip(form.getlist(f"words-{field.name}"), form.getlist(f"label-{field.name}"), strict=False)
            given += [f"?:{label}:{words}" for raw, label in rows if (words := str(raw).strip())]
        if given:
            values[field.name] = given if field.type in SEVERAL else given[0]
    note = form.get("note")
    return FormSheet(values=values, note=note if isinstance(note, str) else "")


class FormKind(TaskKind[T, FormSheet, O]):
    """A kind whose sheet is a form: it says its fields and what stands above them, and most have no page of their own."""

    sheet = FormSheet
    page = "form"

    def shown(self, task: T, options: O) -> Sequence[tuple[str, ...]]:  # noqa: ARG002 - for kinds that show some
        """Return the texts above the form, each a heading and what stands under it. What is hidden is not in them."""
        return ()

    def check(self, sheet: FormSheet, task: T, options: O) -> FormSheet:
        """Return a complete form; see ``check_form``."""
        return check_form(sheet, self.fields(task, options), self.texts(task))

    def of_form(self, fields: Fields, task: T, options: O) -> FormSheet:
        """Return the sheet of a plain form; see ``form_sheet``."""
        return form_sheet(self.fields(task, options), fields)
