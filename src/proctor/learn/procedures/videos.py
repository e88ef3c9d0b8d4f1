"""Recordings of a procedure as frames: which key step each shows, and which row of features it is seen by.

Frames are counted at a rate of their own, half of the video's as published (Bansal et al. 2022, evaluation code): every
frame has one label, a step's id or background. Of steps that overlap the one that began last counts, as everywhere here.
Labels are for evaluation alone; nothing is learned from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.anomaly.frames import BACKGROUND, RecordingFrames, normal_recordings
from proctor.learn.features.store import FeatureStore
from proctor.learn.samples import StepData, StepSample
from proctor.records import Dropped

__all__ = ["NO_STEP", "RATE", "Procedure", "ProcedureVideo", "Which", "procedures_of"]

Labels = NDArray[np.int64]

RATE: Final = 15.0
"""Frames a second: half of what the videos have."""

NO_STEP: Final = "0"
"""Label of the background."""

MOST_RATE: Final = 240.0

Which = Literal["normal", "all"]


@dataclass(frozen=True)
class ProcedureVideo:
    """A recording.

    Attributes:
        id: of the recording.
        steps: id of the step of each frame, ``NO_STEP`` outside of all; shape (frames,).
        rows: row of the features that each frame is seen by; without features each frame has its own; shape (frames,).
        row_count: how many rows there are.
    """

    id: str
    steps: NDArray[np.str_]
    rows: Labels
    row_count: int


@dataclass(frozen=True)
class Procedure:
    """All recordings of an activity that are looked at together.

    Attributes:
        id: of the activity.
        name: for people.
        videos: in the order of their ids.
    """

    id: str
    name: str
    videos: tuple[ProcedureVideo, ...]

    @property
    def steps(self) -> tuple[str, ...]:
        """Ids of the key steps that occur, sorted; without background."""
        found = np.unique(np.concatenate([v.steps for v in self.videos]))
        return tuple(str(step) for step in found if step != NO_STEP)

    @property
    def row_count(self) -> int:
        """Rows of all recordings."""
        return sum(v.row_count for v in self.videos)


def procedures_of(
    data: StepData, store: FeatureStore | None, *, rate: float = RATE, which: Which = "normal"
) -> tuple[tuple[Procedure, ...], tuple[Dropped, ...]]:
    """Return the procedures of a data set, and the recordings and activities that are left out.

    Args:
        data: all steps.
        store: of features; without one frames are labelled only, for rows of chance.
        rate: frames a second.
        which: recordings without any mistake (as published), or all.

    Raises:
        UserError: if the rate is impossible, or nothing is left.
    """
    if not 0 < rate <= MOST_RATE:
        raise UserError(f"{rate:g} frames a second are not possible.", where="--rate", hint="give 15, or 1")
    by_recording: dict[str, list[tuple[int, StepSample]]] = {}
    for place, sample in enumerate(data.samples):
        by_recording.setdefault(sample.recording_id, []).append((place, sample))
    normal = normal_recordings(data)
    ids = np.array([sample.step for sample in data.samples] + [NO_STEP])
    videos: dict[str, list[ProcedureVideo]] = {}
    dropped: list[Dropped] = []
    for id_, performance in sorted(data.performances.items()):
        activity = performance.recording.activity_id
        videos.setdefault(activity, [])
        if which == "normal" and id_ not in normal:
            dropped.append(Dropped(id_, "mistaken", "only recordings without mistakes are looked at"))
        elif id_ not in by_recording:
            dropped.append(Dropped(id_, "no_times", "no step of the recording has times"))
        elif store is not None and not (id_ in store and len(store.rows(id_))):
            dropped.append(Dropped(id_, "no_features", f"the store {store.path} has no row of it"))
        else:
            duration = performance.recording.duration
            found = _video(id_, by_recording[id_], duration, ids, store, rate)
            if found is None:
                dropped.append(Dropped(id_, "no_frames", f"it is shorter than a frame at {rate:g} a second"))
            else:
                videos[activity].append(found)
    procedures = []
    for activity, found_videos in sorted(
        videos.items(), key=lambda found: (int(found[0]), "") if found[0].isdecimal() else (0, found[0])
    ):
        if found_videos:
            graph = data.graphs.get(activity)
            procedures.append(Procedure(activity, graph.name if graph else activity, tuple(found_videos)))
        else:
            dropped.append(Dropped(activity, "empty", "no recording of the activity is left"))
    if not procedures:
        raise UserError(
            "no recording is left to find procedures in.",
            where="the features" if store is None else str(store.path),
            hint="add features, or look at recordings with mistakes, too (--recordings all)"
            if which == "normal"
            else "add features of the recordings",
        )
    return tuple(procedures), tuple(dropped)


def _video(
    id_: str,
    steps: Sequence[tuple[int, StepSample]],
    duration: float | None,
    ids: NDArray[np.str_],
    store: FeatureStore | None,
    rate: float,
) -> ProcedureVideo | None:
    last = max(e.end for _, sample in steps for e in sample.executions)
    seconds = last if duration is None or not 0 < duration < math.inf else duration
    frames = int(seconds * rate)
    if not frames:
        return None
    labels = RecordingFrames.of(id_, steps, frames, 1 / rate).step
    labels[labels == BACKGROUND] = len(ids) - 1
    if store is None:
        return ProcedureVideo(id_, ids[labels], np.arange(frames), frames)
    held = store.rows(id_)
    if not np.isfinite(held).all():
        raise UserError(
            f"the features of recording '{id_}' hold what is no number.",
            where=str(store.path),
            hint="convert or extract the features once more; proctor features check shows what is wrong",
        )
    rows = np.floor((np.arange(frames) + 0.5) / rate / store.seconds).astype(np.int64)
    # What lies past the last row (a video a little longer than its features) is seen by the last row.
    return ProcedureVideo(id_, ids[labels], np.minimum(rows, len(held) - 1), len(held))
