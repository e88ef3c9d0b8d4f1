"""Drawn videos of a workspace's recordings, so that systems that see can be rehearsed without any camera's files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from proctor.errors import UserError
from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment_question import moment_example
from proctor.media.probe import probe
from proctor.procedure.recording import Recording
from proctor.stages.inputs import load_examples, load_items, load_recordings
from proctor.workspace import Workspace
from proctor_rehearsal.drawing.render import Job, render_many
from proctor_rehearsal.drawing.scene import scenes_from_segments

__all__ = ["render_videos"]

_FPS: Final = 1
_AFTER: Final = 1.0
"""Seconds that are shown after the last moment that is asked about."""


def render_videos(
    root: Path, folder: Path, *, most: int | None = None, seen: Callable[[Path], None] | None = None
) -> list[Path]:
    """Draw the recordings that the items are about (the examples, where there are no items): ``<recording id>.mp4``.

    A video shows what was really performed, one frame a second, up to a second after the last moment that is asked about. The
    same annotations give the same bytes. Videos that are there already and reach as far stay as they are.

    Args:
        root: the workspace.
        folder: where the videos go; made if it is not there.
        most: at most so many, the first by recording id.
        seen: called with each path as it is done.

    Returns:
        The paths of all of them, by recording id.

    Raises:
        UserError: if there are no examples, or a video cannot be written.
        MissingExtraError: without the extra ``video``.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    if workspace.file("items.jsonl").exists():
        asked: Iterable[Example] = (moment_example(item.question) for item in load_items(workspace, graphs))
    else:
        asked = load_examples(workspace, graphs)
    until: dict[str, float] = {}
    for example in asked:
        until[example.recording_id] = max(until.get(example.recording_id, 0.0), example.end + _AFTER)
    recordings = {r.id: r for r in load_recordings(workspace, graphs)}
    unknown = sorted(until.keys() - recordings.keys())
    if unknown:
        raise UserError(
            f"there is no recording '{unknown[0][:80]}' in recordings.jsonl.",
            where=str(root),
            hint="read and derive again",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"the folder cannot be made: {error.strerror or error}.", where=str(folder)) from None
    names = sorted(until)[:most]
    paths = {name: _path(folder, name) for name in names}
    jobs = [
        _job(paths[n], recordings[n], until[n]) for n in names if not _reaches(paths[n], until[n] - _AFTER)
    ]
    render_many(jobs, seen=seen)
    return list(paths.values())


def _path(folder: Path, recording_id: str) -> Path:
    if not recording_id or recording_id.startswith(".") or any(c in recording_id for c in "/\\\0"):
        raise UserError(f"the recording '{recording_id[:80]}' cannot name a file.")
    return folder / f"{recording_id}.mp4"


def _reaches(path: Path, moment: float) -> bool:
    """Tell whether a video is there and goes on until a moment (seconds); later questions need more of a recording."""
    if not path.exists():
        return False
    try:
        duration = probe(path).duration
    except UserError:  # damaged
        return False
    return duration is not None and duration > moment


def _job(path: Path, recording: Recording, until: float) -> Job:
    done = [
        (s.start, s.end, s.description)
        for s in recording.segments
        if not s.skipped and s.start is not None and s.end is not None
    ]
    seed = int.from_bytes(hashlib.sha256(recording.id.encode()).digest()[:4])
    return Job(path, scenes_from_segments(recording.activity_name, done, until), seed=seed, fps=_FPS)
