"""A localizer that is not there: what one with known faults would say of real recordings.

Every execution gives segments whose ends are off by some share of its length; some are missed; each is also taken for other steps
of the activity; and segments lie where nothing is. So what decoding gains can be measured over hundreds of recordings.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec
import numpy as np

from proctor.learn.localize.data import LocalizeData, TimedRecording
from proctor.metrics.localization import Segments
from proctor.records import content_hash

__all__ = ["Faults", "simulated_predictions"]


class Faults(msgspec.Struct, frozen=True):
    """How wrong the localizer is.

    Attributes:
        jitter: deviation of each end, as a share of the step's length.
        missed: probability that an execution gives no segment of its own step.
        confused: other steps of the activity that each execution is taken for, on average.
        false: segments of each step where nothing is, on average.
        right: mean of the logit of the score where it is right, and ``wrong`` where it is not; both have deviation 1.
    """

    jitter: float = 0.15
    missed: float = 0.1
    confused: float = 2.0
    false: float = 2.0
    right: float = -1.5
    wrong: float = -2.5


def simulated_predictions(
    data: LocalizeData, ids: Collection[str], faults: Faults, seed: int = 0
) -> Segments:
    """Return scored segments of these recordings; each depends on the seed and the recording's id alone."""
    steps: dict[str, list[str]] = {}
    for activity, step in sorted(data.nodes):
        steps.setdefault(activity, []).append(step)
    rows = [row for id_ in sorted(ids) for row in _rows(data.recordings[id_], steps, faults, seed)]
    videos, starts, ends, labels, scores = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    return Segments.of(videos, starts, ends, labels, scores, videos=ids)


def _rows(
    recording: TimedRecording, steps: dict[str, list[str]], faults: Faults, seed: int
) -> list[tuple[str, float, float, str, float]]:
    rng = np.random.default_rng(int(content_hash([seed, recording.id])[:15], 16))
    own = steps.get(recording.activity_id) or sorted({s.step for s in recording.spans})
    rows: list[tuple[str, float, float, str, float]] = []

    def say(step: str, start: float, end: float, mean: float) -> None:
        length = end - start
        ends = np.clip(rng.normal((start, end), faults.jitter * length), 0, recording.seconds)
        low, high = float(ends.min()), float(ends.max())
        score = float(1 / (1 + np.exp(-rng.normal(mean, 1))))
        if high - low > 0.05:
            rows.append((recording.id, low, high, step, score))

    for span in recording.spans:
        if rng.random() >= faults.missed:
            say(span.step, span.start, span.end, faults.right)
        for other in rng.choice(own, size=rng.poisson(faults.confused)).tolist():
            if other != span.step:
                say(other, span.start, span.end, faults.wrong)
    lengths = [s.end - s.start for s in recording.spans] or [30.0]
    for step in own:
        for _ in range(rng.poisson(faults.false)):
            length = min(float(rng.choice(lengths)), recording.seconds)
            start = float(rng.uniform(0, max(recording.seconds - length, 0.0)))
            say(step, start, start + length, faults.wrong)
    return rows
