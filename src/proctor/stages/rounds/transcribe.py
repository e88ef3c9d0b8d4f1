"""What people said on timelines, written down by a transcriber; the sound stays, and people may correct the text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
from sqlalchemy import select

from proctor.errors import UserError
from proctor.media.transcribe import load_transcriber
from proctor.settings import Settings, argument, option
from proctor.stages.studio import open_desk
from proctor.studio.narrations import Heard, heard_in, keep_heard, list_sounds
from proctor.verify.desk import rounds
from proctor.verify.schema import tables
from proctor.workspace import Workspace

__all__ = ["Transcribe", "Transcribed", "transcribe_round"]


class Transcribe(Settings, frozen=True, kw_only=True):
    """Which round, and what writes down what was said in it."""

    round: Annotated[str, argument("Name of the round, whose tasks are timelines.", "ROUND")]
    model: Annotated[Path, option("Folder of the transcriber's model; nothing is fetched.")]
    backend: Annotated[str, option("Transcriber: faster-whisper, or that of another package.")] = (
        "faster-whisper"
    )
    language: Annotated[
        str, option("Code of the language that is spoken, such as en; found out by default.")
    ] = ""
    again: Annotated[bool, option("Write down again what was written down before.")] = False
    database: Annotated[
        str | None, option("Where work is kept: a file in the workspace, or a postgresql:// URL.")
    ] = None


class Transcribed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the sounds of a round: written down, without speech, written down before; and what failed, by file."""

    written: int
    silent: int
    before: int
    failed: dict[str, str] = {}


def transcribe_round(root: Path, settings: Transcribe, seen: Callable[[], None] | None = None) -> Transcribed:
    """Write down what was said in the narrations of a round; the page and ``collect`` show it where nobody typed anything.

    Raises:
        UserError: if there is no such round, its tasks are no timelines, or the transcriber cannot be loaded.
    """
    with open_desk(root, settings.database, create=False) as desk, desk.reading() as connection:
        round_ = rounds.round_named(connection, settings.round)
        a, t = tables().assignments, tables().tasks
        mine = (
            select(a.c.pid).join(t, t.c.id == a.c.task_id).where(t.c.round_id == round_.id).order_by(a.c.id)
        )
        pids = list(connection.execute(mine).scalars())
    if round_.kind != "timeline":
        raise UserError(
            f"the round '{round_.name}' is of the kind {round_.kind}; people speak on timelines alone."
        )
    folder = Workspace(root).file("studio")
    transcriber = load_transcriber(settings.backend, settings.model, settings.language)
    written = silent = before = 0
    failed: dict[str, str] = {}
    for pid in pids:
        known = {} if settings.again else heard_in(folder, pid)
        for sound in list_sounds(folder, pid):
            if sound.id in known:
                before += 1
                continue
            try:
                text = transcriber.hear(sound.path)
            except UserError as error:
                failed[str(sound.path)] = error.message
                continue
            keep_heard(sound, Heard(text, transcriber.name))
            written, silent = written + bool(text), silent + (not text)
            if seen is not None:
                seen()
    return Transcribed(written=written, silent=silent, before=before, failed=failed)
