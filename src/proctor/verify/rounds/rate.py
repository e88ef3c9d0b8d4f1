"""Rating questions of any kind by a form: SMMQG's study with people, or fields, examples, quiz and checks of one's own.

A sample's source and role are never on the page. Source: SMMQG, human study. docs/rounds.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from proctor.exam.human_study import Scales
from proctor.exam.question import Question
from proctor.said import ours, say, say_in
from proctor.verify.rounds.checked import (
    CheckedForm,
    CheckedKind,
    CheckedOptions,
    check_configuration,
    decode_form,
)
from proctor.verify.rounds.form import Field

__all__ = ["KIND", "RateForm", "RateOptions", "RateTask", "StyleText", "read_form", "scales_of"]

_SHIPPED: Final = Path(__file__).with_name("smmqg.toml")
_COLUMNS: Final = ("worker", "sample", "seconds", "note")


class StyleText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What raters are told of a style of questions."""

    title: str
    description: str = ""


class RateForm(CheckedForm, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rating form as a file describes it: ``fields`` and ``instructions`` that are left out are SMMQG's.

    ``styles``: what is said of the questions' styles.
    """

    styles: dict[str, StyleText] = msgspec.field(default_factory=dict)


class RateOptions(CheckedOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A round's: see ``RateForm``."""

    fields: tuple[Field, ...] = msgspec.field(default_factory=lambda: read_form().fields)
    styles: dict[str, StyleText] = msgspec.field(default_factory=dict)


class RateTask(msgspec.Struct, frozen=True, kw_only=True):
    """A sample: a question with its sources, the answer that is rated with it, and the key of its style (both may be empty)."""

    question: Question
    answer: str = ""
    style: str = ""


class _Rate(CheckedKind[RateTask, RateOptions]):
    name = "rate"
    title = say("Rate questions")
    detail = say("Read the sources, the question and its answer, and rate them.")
    task = RateTask
    options = RateOptions

    def shown(self, task: RateTask, options: RateOptions) -> list[tuple[str, ...]]:
        style = options.styles.get(task.style, StyleText(title=task.style))
        parts = (
            (say("Question"), ours(task.question.text)),  # an attention check is ours
            (say_in("of a question", "Answer"), task.answer),
            (say("Style: {style}", style=style.title), style.description),
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
        UserError: see ``decode_form`` and ``check_configuration``.
    """
    if path is None:
        return read_form(_SHIPPED)
    form = decode_form(path, RateForm, "docs/rounds.md, 'A study', shows a whole file")
    if path != _SHIPPED:
        given = {
            name: getattr(form, name) or getattr(read_form(), name) for name in ("fields", "instructions")
        }
        form = msgspec.structs.replace(form, **given)
    check_configuration(form, path, _COLUMNS, "ratings.csv")
    return form


def scales_of(fields: Iterable[Field]) -> Scales:
    """Return what of a form is analysed: scales, and yes and no."""
    known = (f for f in fields if f.type in ("scale", "yesno"))
    return {f.name: (f.low, f.high) if f.type == "scale" else None for f in known}
