"""What comes out of a detector: frames told apart in all videos, in each video, and by step.

Figures are between 0 and 1. Micro pools the frames of all videos; macro is the mean over videos of the area in each,
and leaves out videos with one class (a normal recording has no anomalous frame), counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.learn.anomaly.frames import BACKGROUND, Floats, FrameTask
from proctor.learn.evaluate import Figure
from proctor.metrics.classification import Options, equal_error_rate, macro_roc_auc, roc_auc

__all__ = [
    "POST",
    "FrameFigures",
    "FrameRow",
    "PostName",
    "frame_figures",
    "frame_rows",
    "post_process",
    "step_scores",
]

PostName = Literal["none", "published"]
POST: Final[tuple[PostName, ...]] = ("none", "published")

_REACH: Final = 4
"""Standard deviations at which the Gaussian is cut off."""


class FrameFigures(msgspec.Struct, frozen=True):
    """How well anomalous frames are told from the others.

    Attributes:
        frames: of the test part.
        anomalous: of them.
        recordings: of the test part.
        one_class: recordings that the macro AUC leaves out.
        auc: over all frames (micro).
        auc_macro: mean over recordings.
        eer: equal error rate over all frames.
        auc_in_steps: over the frames inside of steps: background cannot be mistaken, and to tell it apart is no skill.
    """

    frames: int
    anomalous: int
    recordings: int
    one_class: int
    auc: Figure
    auc_macro: Figure
    eer: Figure
    auc_in_steps: Figure


class FrameRow(msgspec.Struct, frozen=True):
    """One frame as ``proctor metrics classification --pred`` reads it; ``inside`` is the step there, empty in the background."""

    video: str
    frame: int
    label: bool
    score: float
    inside: str


def post_process(scores: Floats, seconds: float, sigma: float, post: PostName) -> Floats:
    """Post-process the scores of one video.

    Args:
        scores: shape (frames,).
        seconds: from one frame to the next.
        sigma: standard deviation of the Gaussian, seconds.
        post: ``published``: from 0 to 1 within the video, then smoothed over time (mirrored at the ends), as is usual in
            anomaly detection; it looks at the whole video and makes the highest score of every video the same. ``none``:
            as they are.
    """
    if post == "none":
        return scores
    low, high = float(scores.min()), float(scores.max())
    scaled = (scores - low) / (high - low) if high > low else np.zeros_like(scores)
    reach = int(np.ceil(_REACH * sigma / seconds))
    if not reach:
        return scaled
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * seconds / sigma) ** 2)
    return np.convolve(np.pad(scaled, reach, mode="symmetric"), kernel / kernel.sum(), mode="valid")


def frame_figures(
    task: FrameTask, ids: Sequence[str], scores: Mapping[str, Floats], resamples: int
) -> FrameFigures:
    """Compute the figures of a part; intervals are drawn over recordings.

    Args:
        task: labels.
        ids: recordings of the part.
        scores: by recording, shape (frames,).
        resamples: of the bootstrap; 0 leaves intervals out.
    """
    labels = np.concatenate([task.frames[id_].mistaken for id_ in ids])
    values = np.concatenate([scores[id_] for id_ in ids])
    videos = [id_ for id_ in ids for _ in task.frames[id_].step]
    options: Options = {"clusters": videos, "resamples": resamples}
    macro = macro_roc_auc(labels, values, videos, resamples=resamples)
    inside = np.concatenate([task.frames[id_].step != BACKGROUND for id_ in ids])
    of_steps: Options = {"clusters": list(compress(videos, inside)), "resamples": resamples}
    return FrameFigures(
        len(labels),
        int(labels.sum()),
        len(ids),
        macro.skipped,
        Figure.of(roc_auc(labels, values, **options)),
        Figure.of(macro),
        Figure.of(equal_error_rate(labels, values, **options)),
        Figure.of(roc_auc(labels[inside], values[inside], **of_steps)),
    )


def step_scores(
    task: FrameTask, ids: Sequence[str], scores: Mapping[str, Floats]
) -> tuple[NDArray[np.int64], Floats]:
    """Return the places of the steps that have a frame, and the mean score of the frames of all their executions."""
    found = {
        place: float(scores[id_][inside].mean())
        for id_ in ids
        for place, inside in task.frames[id_].inside.items()
        if inside.any()
    }
    places = np.array(sorted(found), np.int64)
    return places, np.array([found[place] for place in places.tolist()])


def frame_rows(task: FrameTask, ids: Sequence[str], scores: Mapping[str, Floats]) -> list[FrameRow]:
    """Return every frame of a part, for files."""
    return [
        FrameRow(id_, frame, bool(label), float(score), str(step))
        for id_ in ids
        for frame, (label, score, step) in enumerate(
            zip(task.frames[id_].mistaken, scores[id_], task.steps(id_), strict=True)
        )
    ]
