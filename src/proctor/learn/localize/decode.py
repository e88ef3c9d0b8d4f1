"""Order-aware decoding of whole files of predictions: any localizer's segments in, sequences of steps and new scores out.

A recording is of one activity. Where that is known, candidates of others are dropped. Else it is inferred (of the activities
whose steps have the best scores, the one whose readings fit best), and candidates of others stay with low scores, since the
inference may be wrong. ``docs/localize-order.md`` has the definitions and what it gains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.localize.order_prior import ActivityPrior, OrderPrior
from proctor.learn.localize.readings import BEAM, Candidates, DecodeWeights, Reading, read_recording
from proctor.metrics.localization import Segments

__all__ = ["Decoded", "decode", "frame_segments", "infer_activities", "of_activity"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

CAP: Final = 8
"""Best-scored candidates of a step that a reading may choose; the others only get new scores."""
_UNREAD: Final = 1e-4
"""Least probability in a new score, so that what no reading holds keeps the localizer's order."""
_SHORTLIST: Final = 3


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """Predictions with their order taken into account.

    Attributes:
        rescored: the predictions with new scores; without those of other activities where the activity was given.
        chosen: the segments of the best readings; their scores are probabilities.
        readings: by recording; steps are places in the activity's ``steps``.
        activities: by recording, given or inferred.
    """

    rescored: Segments
    chosen: Segments
    readings: Mapping[str, Reading]
    activities: Mapping[str, str]


def decode(
    predictions: Segments,
    activities: Mapping[str, str],
    seconds: Mapping[str, float],
    prior: OrderPrior,
    weights: DecodeWeights | Mapping[str, DecodeWeights] | None = None,
    *,
    beam: int = BEAM,
    cap: int = CAP,
) -> Decoded:
    """Decode every recording of the predictions (``predictions.videos``), those without a segment, too.

    Args:
        predictions: with scores from 0; labels are step ids.
        activities: of each recording; what it lacks is inferred.
        seconds: length of each recording; where it is not known, the last end of a prediction.
        prior: fitted on recordings that are not among these.
        weights: of the parts of a reading, for all recordings or by recording.
        beam: states kept, see ``read_recording``.
        cap: candidates of each step that readings choose from, the best-scored ones.

    Raises:
        UserError: if predictions have no scores or negative ones, or an activity is unknown.
    """
    usual = weights if isinstance(weights, DecodeWeights) else DecodeWeights()
    own = weights if isinstance(weights, Mapping) else {}
    score = _scores(predictions)
    known = {str(v): activities[str(v)] for v in predictions.videos if str(v) in activities}
    if unknown := sorted(set(known.values()) - set(prior.activities)):
        raise UserError(
            f"nothing is known of the activity {unknown[0]!r}: it has neither a task graph nor a recording to learn from.",
            hint="leave its recordings out, or give annotations that have it",
        )
    inferred = [str(v) for v in predictions.videos if str(v) not in known]
    known |= infer_activities(predictions, inferred, seconds, prior, usual)
    renewed = np.zeros(len(predictions))
    readings: dict[str, Reading] = {}
    chosen: list[Integers] = []
    probable: list[Floats] = []
    for code, video in enumerate(map(str, predictions.videos)):
        of, w = prior.activities[known[video]], own.get(video, usual)
        every = predictions.video == code
        renewed[every] = _mixed(score[every], np.zeros(int(every.sum())), w.mix)
        rows, steps = _rows_of(predictions, code, of)
        best = rows[_among_best(steps, score[rows], cap)]
        found = _candidates(predictions, best, of, seconds.get(video))
        reading = readings[video] = read_recording(found, of, prior, w, beam)
        renewed[best] = _mixed(score[best], reading.probability, w.mix)
        chosen.append(best[reading.chosen])
        probable.append(reading.probability[reading.chosen])
    kept = of_activity(predictions, known, prior) | predictions.in_videos(set(inferred))
    picked = np.concatenate([*chosen, np.zeros(0, np.int64)])
    return Decoded(
        replace(predictions, score=renewed).take(kept),
        replace(predictions.take(picked), score=np.concatenate([*probable, np.zeros(0)])),
        readings,
        known,
    )


def of_activity(predictions: Segments, activities: Mapping[str, str], prior: OrderPrior) -> Flags:
    """Return which predictions are of a step of their recording's activity, shape (n,)."""
    labels = np.array([str(label) for label in predictions.labels], dtype=np.object_)
    kept = np.zeros(len(predictions), np.bool_)
    for code, video in enumerate(map(str, predictions.videos)):
        own = np.isin(labels, np.array(prior.activities[activities[video]].steps, dtype=np.object_))
        rows = np.flatnonzero(predictions.video == code)
        kept[rows] = own[predictions.label[rows]]
    return kept


def infer_activities(
    predictions: Segments,
    videos: list[str],
    seconds: Mapping[str, float],
    prior: OrderPrior,
    weights: DecodeWeights | None = None,
) -> dict[str, str]:
    """Return the activity of each of these recordings, by what was predicted there.

    Activities are ranked by the mean over their steps of the best score; of the first few, the one with the most evidence for
    each of its steps is taken. A recording without predictions gets the activity with the most recordings.
    """
    score = _scores(predictions)
    codes = {str(video): code for code, video in enumerate(predictions.videos)}
    inferred = {}
    for video in videos:
        ranks = []
        for activity, of in prior.activities.items():
            rows, steps = _rows_of(predictions, codes[video], of)
            best = np.zeros(len(of.steps))
            np.maximum.at(best, steps, score[rows])
            ranks.append((-float(best.mean()), -of.recordings, activity))
        fits = []
        for mean, _, activity in sorted(ranks)[:_SHORTLIST]:
            of = prior.activities[activity]
            rows, steps = _rows_of(predictions, codes[video], of)
            best_rows = rows[_among_best(steps, score[rows], CAP)]
            found = _candidates(predictions, best_rows, of, seconds.get(video))
            evidence = read_recording(found, of, prior, weights, beam=100).evidence / len(of.steps)
            fits.append((-evidence if mean < 0 else 0.0, activity))
        inferred[video] = min(fits)[1]
    return inferred


def frame_segments(
    scores: Floats, classes: tuple[str, ...], video: str, rate: float, levels: int = 8
) -> Segments:
    """Return candidate segments of dense scores, such as those of a segmenter: one for each run above a level.

    Args:
        scores: of each class at each moment, from 0, shape (frames, classes).
        classes: step ids of the columns.
        video: id of the recording.
        rate: frames a second.
        levels: thresholds for each class, evenly between its lowest and highest score; a run's score is its mean.

    Raises:
        UserError: if the scores are not a table of finite numbers from 0 with a column for each class, or the rate is not above 0.
    """
    if scores.ndim != 2 or scores.shape[1] != len(classes) or not rate > 0:
        raise UserError(
            f"dense scores of shape {scores.shape} at {rate:g} frames a second do not fit {len(classes)} classes.",
            where=video,
            hint="give frames in rows, classes in columns",
        )
    if not np.isfinite(scores).all() or (scores < 0).any():
        raise UserError(
            "dense scores must be finite and not negative.", where=video, hint="give probabilities"
        )
    found: dict[tuple[int, int, int], float] = {}
    for column in range(scores.shape[1]):
        values = scores[:, column]
        if not len(values) or values.max() <= 0:
            continue
        for level in np.linspace(values.min(), values.max(), levels + 1)[:-1]:
            edges = np.diff(np.concatenate([[0], (values > level).astype(np.int8), [0]]))
            for begin, end in zip(np.flatnonzero(edges > 0), np.flatnonzero(edges < 0), strict=True):
                found[column, int(begin), int(end)] = float(values[begin:end].mean())
    keys = sorted(found)
    return Segments.of(
        [video] * len(keys),
        [begin / rate for _, begin, _ in keys],
        [end / rate for _, _, end in keys],
        [classes[column] for column, _, _ in keys],
        [found[key] for key in keys],
        videos=[video],
    )


def _scores(predictions: Segments) -> Floats:
    if predictions.score is None:
        raise UserError(
            "the segments have no scores, so nothing can be weighed.", hint="give predictions, not truth"
        )
    if (predictions.score < 0).any():
        raise UserError(
            f"scores must not be negative; the lowest is {predictions.score.min():g}.",
            hint="give probabilities, or any scores from 0",
        )
    return predictions.score


def _rows_of(predictions: Segments, video: int, of: ActivityPrior) -> tuple[Integers, Integers]:
    """Return the rows of a recording's predictions that are steps of the activity, and which steps."""
    place = {step: k for k, step in enumerate(of.steps)}
    code = np.array([place.get(str(label), -1) for label in predictions.labels], np.int64)
    rows = np.flatnonzero(predictions.video == video)
    steps = code[predictions.label[rows]] if len(rows) else rows
    return rows[steps >= 0], steps[steps >= 0]


def _among_best(steps: Integers, score: Floats, cap: int) -> Flags:
    """Return which candidates are among the best-scored of their step; of equals the order decides nothing: all stay."""
    order = np.lexsort((-score, steps))
    first = np.searchsorted(steps[order], steps[order])
    rank = np.empty(len(steps), np.int64)
    rank[order] = np.arange(len(steps)) - first
    worst = np.full(int(steps.max(initial=-1)) + 1, np.inf)
    np.minimum.at(worst, steps[rank < cap], score[rank < cap])
    result: Flags = score >= worst[steps]
    return result


def _candidates(
    predictions: Segments, rows: Integers, of: ActivityPrior, seconds: float | None
) -> Candidates:
    place = {step: k for k, step in enumerate(of.steps)}
    steps = np.array([place[str(predictions.labels[c])] for c in predictions.label[rows]], np.int64)
    start, end = predictions.start[rows], predictions.end[rows]
    length = max(float(end.max(initial=1.0)), 1.0) if seconds is None else seconds
    return Candidates(steps, start, end, _scores(predictions)[rows], length)


def _mixed(score: Floats, probability: Floats, mix: float) -> Floats:
    result: Floats = np.maximum(score, 0.0) ** (1 - mix) * np.maximum(probability, _UNREAD) ** mix
    return result
