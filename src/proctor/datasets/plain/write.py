"""Recordings and graphs of any data set to a plain folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from proctor.datasets.plain.format import (
    PlainAction,
    PlainActivity,
    PlainDescription,
    PlainMistake,
    PlainRecording,
    PlainSegment,
    PlainStep,
)
from proctor.datasets.plain.read import load_folder
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Recording, Segment
from proctor.records import atomic_folder, atomic_write, write_jsonl

__all__ = ["write_plain"]


def write_plain(
    folder: Path,
    recordings: Iterable[Recording],
    graphs: Mapping[str, TaskGraph],
    *,
    about: Mapping[str, str] | None = None,
) -> int:
    """Write a new plain folder and return the number of recordings; videos are not copied.

    Reading the folder in mode ``published`` gives equal recordings and graphs. It appears whole or not at all.

    Args:
        folder: must not exist or be empty.
        recordings: what was performed.
        graphs: by activity id.
        about: name, version, licence, citation, homepage for ``dataset.json``.

    Raises:
        UserError: if the folder is not empty, cannot be written, or the values cannot be said in this format
            (an id with a slash, a segment whose step is not in the graph, ...).
    """
    with atomic_folder(folder) as work:
        try:
            count = _write_files(work, recordings, graphs, about)
            load_folder(work)  # whatever cannot be read again must not be written
        except UserError as error:
            raise UserError(
                error.message.replace(str(work), str(folder)),
                where=(error.where or "").replace(str(work), str(folder)),
                hint=error.hint,
            ) from None
    return count


def _write_files(
    work: Path,
    recordings: Iterable[Recording],
    graphs: Mapping[str, TaskGraph],
    about: Mapping[str, str] | None,
) -> int:
    for number, graph in enumerate(graphs.values(), start=1):
        slug = re.sub(r"[^a-z0-9]+", "-", graph.name.lower())[:40].strip("-")
        _write_json(
            work / "activities" / f"{number:03d}-{slug}.json",
            (
                PlainActivity(
                    id=graph.id,
                    name=graph.name,
                    steps=tuple(PlainStep(id=s.id, text=s.text, optional=s.optional) for s in graph.steps),
                    edges=graph.edges,
                    start=graph.start,
                    end=graph.end,
                )
            ),
        )
    if about:
        try:
            _write_json(work / "dataset.json", msgspec.convert(dict(about), PlainDescription))
        except msgspec.ValidationError as error:
            raise UserError(f"the description cannot be written: {error}.", where="about") from None
    return write_jsonl(
        work / "recordings.jsonl",
        (
            (
                PlainRecording(
                    id=r.id,
                    activity=r.activity_id,
                    segments=tuple(_plain_segment(s) for s in r.segments),
                    video=r.video,
                    duration=r.duration,
                    attributes=dict(r.attributes),
                    actions=tuple(
                        PlainAction(
                            start=a.start,
                            end=a.end,
                            verb=a.verb,
                            noun=a.noun,
                            source=a.source,
                            step=a.step_id,
                        )
                        for a in r.actions
                    ),
                )
            )
            for r in recordings
        ),
    )


def _write_json(path: Path, value: msgspec.Struct) -> None:
    with atomic_write(path) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def _plain_segment(segment: Segment) -> PlainSegment:
    skipped = segment.end is None
    return PlainSegment(
        step=segment.step_id,
        start=None if skipped else segment.start,
        end=segment.end,
        performed=segment.performed,
        mistakes=tuple(PlainMistake(kind=m.kind, text=m.text) for m in segment.mistakes),
        skipped=skipped,
    )
