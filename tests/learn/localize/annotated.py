"""Annotations of a few recordings, made by hand, for tests of what finds steps in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor.datasets.dataset import Performance
from proctor.learn.samples import StepData
from proctor.procedure.recording import Mistake, Recording, Segment
from proctor.records import Dropped

Entry = tuple[str, str, float | None, float | None] | tuple[str, str, float | None, float | None, str]
"""Key, text, start, end, and the kind of a mistake."""


def annotated(
    recordings: Mapping[str, Sequence[Entry]],
    seconds: float | None = 100.0,
    dropped: Sequence[Dropped] = (),
) -> StepData:
    """Make annotations by recording id; what stands before ``_`` is the activity."""
    performances = {}
    for id_, entries in recordings.items():
        segments = tuple(
            Segment("n" + e[0], e[1], e[2], e[3], mistakes=tuple(map(Mistake, e[4:]))) for e in entries
        )
        recording = Recording(id_, id_.split("_")[0], "", segments, seconds)
        performances[id_] = Performance(recording, tuple(e[0] for e in entries))
    return StepData((), performances, {}, tuple(dropped), "made", "0")
