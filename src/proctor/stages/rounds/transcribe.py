"""What people said on timelines, written down by a transcriber; the sound stays, and people may correct the text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import select

from proctor.errors import UserError
from proctor.media.transcribe import load_transcriber
from proctor.records import write_jsonl
from proctor.stages.rounds.settings import Transcribe
from proctor.stages.studio import open_desk
from proctor.studio.narrations import heard_in, keep_heard, list_sounds
from proctor.verify.desk import rounds
from proctor.verify.rounds.records import Reading
from proctor.verify.rounds.timeline import TimelineSheet
from proctor.verify.schema import tables
from proctor.workspace import Workspace

__all__ = ["Transcribed", "transcribe_round", "write_narrations"]


class Transcribed(msgspec.Struct, frozen=True, kw_only=True):
    """How many sounds were written down, are without speech, were written down before; and why others were not, by file."""

    written: int
    silent: int
    before: int
    failed: dict[str, str] = {}


def write_narrations(workspace: Workspace, folder: Path, readings: Sequence[Reading]) -> list[Path]:
    """Write ``narrations.jsonl``: what people said, and where they typed nothing what was heard; no file where nobody spoke.

    Of each narration: recording, person (a random id), its sound's file ("" where it was never sent), second of the video, length.
    """
    told: list[dict[str, Any]] = []
    for reading in (one for one in readings if one.counts):
        pid, place = reading.assignment, workspace.file("studio")
        files = {s.id: str(s.path.relative_to(workspace.root)) for s in list_sounds(place, pid)}
        heard = heard_in(place, pid)
        for n in msgspec.json.decode(reading.sheet, type=TimelineSheet).narrations:
            asr = n.asr if n.asr is not None else heard.get(n.id)
            who = {"recording": reading.task, "person": reading.person, "sound": files.get(n.id, "")}
            told.append({**who, "video_s": n.video_s, "ms": n.ms, "text": n.text or asr or "", "asr": asr})
    path = folder / "narrations.jsonl"
    path.unlink(missing_ok=True)
    if told:
        told.sort(key=lambda one: (one["recording"], one["video_s"]))
        write_jsonl(path, told)
    return [path] if told else []


def transcribe_round(root: Path, settings: Transcribe) -> Transcribed:
    """Write down what was said in the narrations of a round; the page and ``collect`` show it where nobody typed anything.

    Raises:
        UserError: if there is no such round, its tasks are no timelines, or the transcriber cannot be loaded.
    """
    with open_desk(root, settings.database, create=False) as desk, desk.reading() as connection:
        round_ = rounds.round_named(connection, settings.round)
        a, t = tables().assignments, tables().tasks
        mine = select(a.c.pid).join(t, t.c.id == a.c.task_id).where(t.c.round_id == round_.id)
        pids = list(connection.execute(mine.order_by(a.c.id)).scalars())
    if round_.kind != "timeline":
        raise UserError(f"'{round_.name}' is a round of the kind {round_.kind}; sound is of timelines alone.")
    folder = Workspace(root).file("studio")
    hear = load_transcriber(settings.backend, settings.model, settings.language)
    counts, failed = {"written": 0, "silent": 0, "before": 0}, {}
    for pid in pids:
        known = heard_in(folder, pid)
        for sound in list_sounds(folder, pid):
            try:
                text = known[sound.id] if sound.id in known else hear(sound.path)
            except UserError as error:
                failed[str(sound.path)] = error.message
                continue
            if sound.id not in known:
                keep_heard(sound, text)
            counts["before" if sound.id in known else "written" if text else "silent"] += 1
    return Transcribed(**counts, failed=failed)
