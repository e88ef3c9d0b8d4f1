"""Own tasks: rows of a table, of which a form says what is shown and what is asked. docs/rounds.md, *Own tasks*."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from proctor.errors import UserError
from proctor.exam.question import Footage
from proctor.said import say
from proctor.verify.rounds.checked import (
    CheckedForm,
    CheckedKind,
    CheckedOptions,
    check_configuration,
    decode_form,
)

__all__ = ["COLUMNS", "KIND", "OwnForm", "OwnTask", "Part", "Show", "read_form"]

COLUMNS: Final = ("person", "task", "role", "corrected", "seconds", "note")
"""Columns of ``answers.csv`` beside those of the form."""


class Show(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column that is shown: its text, the picture, sound or video that it names, or a link. A row in which it is empty is left out unless optional."""

    column: str
    heading: str = ""
    as_: Literal["text", "image", "audio", "video", "link"] = msgspec.field(default="text", name="as")
    optional: bool = False


class OwnForm(CheckedForm, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A form for own tasks as a file describes it: title of the work, and columns.

    ``show``: what is shown, in order; without any, all columns that nothing else is made of, as text. ``id``: of a row; ``id`` where there
    is one, else rows are numbered. Batches are even over ``stratum``, and have one row of a ``group``. ``rights``: field to the column that
    holds its right answer where that is known; such a row is a test task.
    """

    title: str = ""
    show: tuple[Show, ...] = ()
    id: str = ""
    stratum: str = ""
    group: str = ""
    rights: dict[str, str] = msgspec.field(default_factory=dict)


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is shown of one column: its text, the path of a picture or sound in the workspace or of a video, which has a length in seconds.

    The text of a link is its address.
    """

    column: str
    heading: str = ""
    text: str = ""
    picture: str = ""
    sound: str = ""
    link: bool = False
    video: str = ""
    seconds: float = 0.0


class OwnTask(msgspec.Struct, frozen=True, kw_only=True):
    """A row as it is shown."""

    parts: tuple[Part, ...]


class _Own(CheckedKind[OwnTask, CheckedOptions]):
    name = "own"
    title = say("Answer questions about what you see")
    detail = say("Read or look at what is shown, and answer the questions beside it.")
    task = OwnTask
    options = CheckedOptions
    page = "own"

    def texts(self, task: OwnTask) -> dict[str, str]:
        return {part.column: part.text for part in task.parts}

    def footage(self, task: OwnTask) -> Footage | None:
        found = next((part for part in task.parts if part.video), None)
        return Footage(recording=found.video, video=found.video, end=found.seconds) if found else None


KIND: Final = _Own()


def read_form(path: Path, columns: tuple[str, ...]) -> OwnForm:
    """Read a form for rows with these columns; what is shown is complete in it, with headings.

    Raises:
        UserError: see ``decode_form`` and ``check_configuration``; or if it names a column that no row has, or shows one twice.
    """
    form = decode_form(path, OwnForm, "docs/rounds.md, 'Own tasks', shows a whole file")
    ids = form.id or ("id" if "id" in columns else "")
    beside = {ids, form.stratum, form.group, *form.rights.values()}
    show = form.show or tuple(Show(column=name, optional=True) for name in columns if name not in beside)
    shown = [one.column for one in show]
    texts = [one.column for one in show if one.as_ == "text"]
    fields = check_configuration(form, path, COLUMNS, "answers.csv", texts)
    used = [ids, form.stratum, form.group, *form.rights.values(), *shown]
    problem, hint = "", f"columns: {', '.join(columns)[:300]}"
    if gone := [name for name in used if name and name not in columns]:
        problem = f"there is no column '{gone[0][:60]}'"
    elif len(set(shown)) < len(shown) or sum(one.as_ == "video" for one in show) > 1:
        problem = "a column is shown twice, or there are several videos; a page has one player"
    elif form.attention and not texts:
        problem = "an attention check stands in the place of a text, and none is shown"
    elif stray := sorted(form.rights.keys() - fields.keys()):
        problem = f"there is no field '{stray[0][:40]}', which 'rights' names"
    if problem:
        raise UserError(f"{problem}.", where=str(path), hint=hint)
    headed = tuple(msgspec.structs.replace(one, heading=one.heading or one.column) for one in show)
    return msgspec.structs.replace(form, show=headed, id=ids)
