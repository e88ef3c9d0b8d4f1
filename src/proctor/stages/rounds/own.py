"""Rounds of own tasks: rows of a table become tasks, and what people said becomes a table again. docs/rounds.md, *Own tasks*."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from proctor.corpus.collection import find_image
from proctor.corpus.picture import read_picture
from proctor.errors import MissingExtraError, UserError
from proctor.exam.csv_rows import iter_csv_rows
from proctor.llm.media import MediaStore
from proctor.media.probe import probe, probe_sound
from proctor.records import (
    Dropped,
    atomic_write,
    decode_document,
    encode_jsonl,
    file_sha256,
    iter_jsonl,
    read_bytes,
)
from proctor.spreadsheet import csv_text, wide_cells
from proctor.stages.models import MEDIA
from proctor.stages.rounds.opening import Collected, Made, folder_of, task_of
from proctor.stages.rounds.rate import cells, checks_text, write_texts
from proctor.stages.rounds.settings import OwnSettings
from proctor.verify.rounds.agreement import Figures, form_agreement
from proctor.verify.rounds.checked import CheckedOptions, canonical_right, checked_options
from proctor.verify.rounds.form import Field, FormSheet
from proctor.verify.rounds.own import COLUMNS, OwnForm, OwnTask, Part, Show, read_form
from proctor.verify.rounds.records import Reading, Round, Task
from proctor.verify.rounds.spans import kept_spans
from proctor.workspace import Workspace

__all__ = ["collect", "make", "read_rows"]

Row = dict[str, str]
MAX_CELL: Final = 100_000  # characters
_MAX_ID: Final = 200
_BINARY: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


class _LeftOutError(Exception):
    """A row that cannot become a task: a reason that can be counted, and what was seen."""


def make(workspace: Workspace, settings: OwnSettings) -> Made:
    """Return a task for every row; the workspace is made where there is none.

    Raises:
        UserError: if a file cannot be read, an id stands twice, or the form does not fit the table.
    """
    rows = read_rows(settings.tasks)
    form = read_form(settings.form, tuple(dict.fromkeys(name for row in rows for name in row if name)))
    fields = {field.name: field for field in form.fields}
    workspace.create()
    media = _Media(workspace, settings.media or settings.tasks.parent)
    tasks, dropped, seen = list[Task](), list[Dropped](), dict[str, int]()
    rights = {check.name: canonical_right(check.right, fields, check.name) for check in form.attention}
    for number, row in enumerate(rows, 1):
        name = row.get(form.id, "") if form.id else str(number)
        if (before := seen.setdefault(name, number)) != number and name:
            said, hint = f"rows {before} and {number}", 'name another column: id = "…" in the form'
            raise UserError(
                f"the id '{name[:60]}' is there twice: {said}.", where=str(settings.tasks), hint=hint
            )
        try:
            if not name or len(name) > _MAX_ID or not name.isprintable():
                raise _LeftOutError("bad_id", f"an id has 1 to {_MAX_ID} printable characters")
            body = OwnTask(parts=tuple(_parts(row, form, media)))
            right = {field: row[column] for field, column in form.rights.items() if row.get(column)}
            if right:
                rights[name] = canonical_right(right, fields, name)
        except _LeftOutError as why:
            dropped.append(Dropped(name[:_MAX_ID] or f"row {number}", *why.args))
            continue
        group, role = row.get(form.group, ""), "test" if right else "real"
        more = {"group": group, "variant": name if group else "", "stratum": row.get(form.stratum, "")}
        tasks.append(task_of(name, body, role=role, **more))
    tests = sum(task.role == "test" for task in tasks)
    return Made(
        tasks=[*tasks, *_attention(form, tasks, settings.seed)],
        options=CheckedOptions(fields=form.fields, rights=rights),
        title=form.title,
        dropped=dropped,
        instructions=form.guide
        or "Look at what is shown, and answer the questions beside it from that alone.",
        quiz=form.quiz,
        tests=min(tests, 100 if settings.tests is None else settings.tests),
        attention=len(form.attention),
    )


def _attention(form: OwnForm, tasks: Sequence[Task], seed: int) -> Iterator[Task]:
    """Yield attention checks: a row that is drawn, with the check's text in the place of its first one."""
    rng, real = random.Random(seed), [task for task in tasks if task.role == "real"]  # noqa: S311
    for check in form.attention if real else ():
        first = next(show for show in form.show if show.as_ == "text")
        parts = {p.column: p for p in msgspec.json.decode(rng.choice(real).body, type=OwnTask).parts}
        parts[first.column] = Part(column=first.column, heading=first.heading, text=check.text)
        shown = tuple(parts[show.column] for show in form.show if show.column in parts)
        yield task_of(check.name, OwnTask(parts=shown), role="attention")


# -- rows ------------------------------------------------------------------------------------------------------


def read_rows(path: Path) -> list[Row]:
    """Read a table of tasks: CSV, TSV, JSON (a list of objects, or Label Studio's tasks), JSON Lines.

    Raises:
        UserError: if it is missing, empty, or of another form.
    """
    kind, listed = path.suffix.lower(), list[object]()
    if kind in (".csv", ".tsv", ".tab"):
        with wide_cells(2**31 - 1):
            listed += [row for _, row in iter_csv_rows(path, None, "" if kind == ".csv" else "\t")]
    elif kind == ".jsonl":
        listed += iter_jsonl(path)
    elif kind == ".json":
        found: object = decode_document(read_bytes(path), Any, path)
        if not isinstance(found, list):
            raise UserError("a list of objects was expected, one for each task.", where=str(path))
        listed += found
    else:
        raise UserError("tasks are in a .csv, .tsv, .json or .jsonl file.", where=str(path))
    if not listed:
        raise UserError("there are no tasks in it.", where=str(path), hint="one row is one task")
    return [_row(one, str(path)) for one in listed]


def _row(one: object, where: str) -> Row:
    """Return an object as a row; Label Studio keeps what is shown under ``data``."""
    if not isinstance(one, dict):
        raise UserError(f"a task is an object, not {str(one)[:40]!r}.", where=where)
    data = one.get("data")
    shown = {**data, **({"id": one["id"]} if "id" in one else {})} if isinstance(data, dict) else one
    return {name.strip(): _cell(value) for name, value in shown.items()}


def _cell(value: object) -> str:
    """Return a value as text whose lines end in one way: browsers know no other, and places in it are counted."""
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        value = "\n".join(value)
    text = "" if value is None else value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


class _Media:
    """Pictures, sounds and videos of a folder, or of the workspace: videos stay where they are, the others go into the workspace."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        self.folders = (folder, workspace.root)
        self.store = MediaStore(workspace.file(MEDIA))

    def part(self, show: Show, named: str) -> Part:
        """Return a picture, a sound or a video as a part; nothing is fetched, and nothing outside the folders is taken."""
        reason, part = f"no_{show.as_}", Part(column=show.column, heading=show.heading)
        found = [find_image(folder, named) for folder in self.folders]
        path = next((one for one in found if isinstance(one, Path)), found[0])
        if not isinstance(path, Path):
            raise _LeftOutError(reason, path.detail)
        try:
            if show.as_ == "image":
                kept = self.store.path(self.store.add(read_picture(path).data))
                name = "" if kept is None else kept.relative_to(self.folders[1]).as_posix()
                return msgspec.structs.replace(part, picture=name)
            if show.as_ == "audio":
                return msgspec.structs.replace(part, sound=self._keep(path, probe_sound(path)[0]))
            seconds = probe(path).duration
        except MissingExtraError:
            raise
        except UserError as error:
            raise _LeftOutError(reason, f"{named[:100]}: {error.message}") from None
        if not seconds:
            raise _LeftOutError(reason, f"{named[:100]}: it does not say how long it is")
        return msgspec.structs.replace(part, video=named, seconds=seconds)

    def _keep(self, sound: Path, ending: str) -> str:
        """Copy a sound into the workspace, as what it is and named by its contents; return its path there."""
        name = f"{MEDIA}/sounds/{file_sha256(sound)}{ending}"
        if not (kept := self.folders[1] / name).is_file():
            kept.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(kept) as target, sound.open("rb") as source:
                shutil.copyfileobj(source, target)
        return name


def _link(show: Show, address: str) -> Part:
    """Return an address of the web as a part: what it shows is where it leads, and it leads nowhere else (``javascript:``)."""
    try:
        parts = urlsplit(address)
        known = parts.scheme in ("http", "https") and parts.hostname and parts.username is None
    except ValueError:
        known = False
    if not known or not address.isprintable() or re.search(r"[\s\\<>\"]", address) or len(address) > 2000:
        raise _LeftOutError("no_link", f"no http:// or https:// address: {address[:100]!r}")
    return Part(column=show.column, heading=show.heading, text=address, link=True)


def _parts(row: Row, form: OwnForm, media: _Media) -> list[Part]:
    """Return what is shown of a row."""
    parts: list[Part] = []
    marked = {field.column for field in form.fields if field.type == "span"}
    for show in form.show:
        cell = row.get(show.column, "")
        if len(cell) > MAX_CELL or _BINARY.search(cell):
            seen = f"{show.column}: {len(cell):,} characters; at most {MAX_CELL:,} are shown, without control characters"
            raise _LeftOutError("no_text", seen)
        if not cell and (not show.optional or show.column in marked):
            raise _LeftOutError("empty", f"{show.column}: there is nothing to show")
        if cell:
            if show.as_ == "text":
                parts.append(Part(column=show.column, heading=show.heading, text=cell))
            else:
                parts.append(_link(show, cell) if show.as_ == "link" else media.part(show, cell))
    if not parts:
        raise _LeftOutError("empty", "there is nothing to show")
    return parts


# -- what people said ------------------------------------------------------------------------------------------


def collect(workspace: Workspace, round_: Round, readings: Sequence[Reading], out: Path | None) -> Collected:
    """Write answers.csv and answers.jsonl, a row for each person and task, corrected where a reviewer did, and checks.csv.

    Attention checks, and what was set aside, are no answers; agreement is that of what was submitted.
    """
    folder, options = out or folder_of(workspace, round_), checked_options(round_)
    fields = {field.name: field for field in options.fields}
    rows, records, said = list[Sequence[object]](), list[object](), dict[str, dict[str, FormSheet]]()
    for r in (one for one in readings if one.counts and one.role != "attention"):
        said.setdefault(r.person, {})[r.task] = msgspec.json.decode(r.sheet, type=FormSheet)
        sheet = msgspec.json.decode(r.corrected or r.sheet, type=FormSheet)
        texts = {part.column: part.text for part in msgspec.json.decode(r.body, type=OwnTask).parts}
        values = {name: _typed(field, sheet, texts) for name, field in fields.items() if name in sheet.values}
        shown = dict(zip(fields, cells(sheet, tuple(fields)), strict=True))
        shown |= {n: msgspec.json.encode(v).decode() for n, v in values.items() if fields[n].type == "span"}
        more = (r.role, r.corrected is not None, round(r.seconds, 1), sheet.note)
        records.append(dict(zip(COLUMNS, (r.person, r.task, *more), strict=True)) | {"values": values})
        rows.append((r.person, r.task, *shown.values(), more[0], "yes" if more[1] else "", *more[2:]))
    files = {
        folder / "answers.csv": csv_text((*COLUMNS[:2], *fields, *COLUMNS[2:]), rows),
        folder / "answers.jsonl": encode_jsonl(records).decode(),
        folder / "checks.csv": checks_text(readings, options),
    }
    write_texts(files)
    counts = {
        "people": len(said),
        "answers": len(rows),
        "tasks": len({t for own in said.values() for t in own}),
    }
    counts["set aside, or attention checks"] = len(readings) - len(rows)
    figures = Figures(counts=counts, numbers=form_agreement(options.fields, said))
    return Collected(files=tuple(files), lines=tuple(figures.lines()), figures=figures)


def _typed(field: Field, sheet: FormSheet, texts: Mapping[str, str]) -> object:
    """Return what a field holds as JSON has it: numbers, true and false, lists, spans with their words."""
    value = sheet.values[field.name]
    if field.type == "span":
        text = texts.get(field.column, "")
        return [{**span._asdict(), "text": text[span.start : span.end]} for span in kept_spans(value)]
    if field.type == "yesno":
        return value == "yes"
    return {"scale": int, "number": float}.get(field.type, lambda given: given)(value)
