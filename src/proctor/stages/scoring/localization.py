"""Steps found in time, from files: ground truth and predictions as CSV, JSON Lines or ActivityNet JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from proctor.errors import UserError
from proctor.metrics.interval import Interval
from proctor.metrics.localization import (
    MULTIPLES,
    PROTOCOLS,
    TIOU,
    LocalizationScores,
    Prepared,
    Protocol,
    Segments,
    apply_protocol,
    localization_scores,
    score_intervals,
)
from proctor.metrics.table import ScoreTable
from proctor.stages.scoring.files import explained
from proctor.stages.scoring.localization_figures import localization_plots
from proctor.stages.scoring.localization_files import (
    read_ground_truth,
    read_label_map,
    read_predictions,
    read_videos,
    write_matches,
    write_segments,
)
from proctor.stages.scoring.localization_rows import Choices, chance_rows, slice_rows, threshold_rows
from proctor.stages.scoring.localization_slices import Part, slice_parts
from proctor.stages.scoring.percent import as_percent

__all__ = [
    "parse_tiou",
    "read_ground_truth",
    "read_label_map",
    "read_predictions",
    "score_localization",
    "write_segments",
]


def score_localization(
    gt: Path,
    pred: Path,
    *,
    protocol: str = "corrected",
    label_map: Path | None = None,
    tiou: Sequence[float] = TIOU,
    subset: str | None = None,
    videos: Path | Literal["predicted"] | None = None,
    label_key: str | None = None,
    drop_duplicates: bool = False,
    drop_empty: bool = False,
    slice_column: str | None = None,
    matches: Path | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> ScoreTable:
    """Score predicted segments against the ground truth: mAP and R@k× at each tIoU.

    Args:
        gt: ground truth.
        pred: predictions, under raw labels.
        protocol: ``published``, ``activitynet`` or ``corrected``; see ``metrics.localization.protocol``.
        label_map: JSON object raw to renumbered label.
        tiou: thresholds.
        subset: only the videos of this subset of the ground truth.
        videos: the evaluated videos, one a line, or ``"predicted"`` for those with predictions; all videos of the
            ground truth when None; with ``corrected`` only.
        label_key: key or column that holds the class, where it is not the usual one.
        drop_duplicates: leave out repeated segments on both sides.
        drop_empty: leave out segments shorter than a millisecond on both sides.
        slice_column: column of the ground truth by whose values recall is given too.
        matches: CSV to write: one row a segment of the ground truth, and how it was found.
        resamples: of the bootstrap over videos; 0 for no intervals.
        confidence: level of the intervals.
        seed: of the bootstrap and of the row of chance.

    Raises:
        UserError: if a file or an option cannot be used; the message says what was seen where.
    """
    columns = (slice_column,) if slice_column is not None else ()
    notes: list[str] = []
    truth = read_ground_truth(gt, subset=subset, label_key=label_key, columns=columns, notes=notes)
    predictions = read_predictions(pred, label_key=label_key)
    counts = {"ground truth segments read": len(truth), "predictions read": len(predictions)}
    truth = _cleaned(truth, "ground truth segments", drop_duplicates, drop_empty, counts, notes)
    predictions = _cleaned(predictions, "predictions", drop_duplicates, drop_empty, counts, notes)
    with explained(gt):
        prepared = apply_protocol(
            truth,
            predictions,
            _protocol(protocol),
            videos=read_videos(videos) if isinstance(videos, Path) else videos,
            label_map=None if label_map is None else read_label_map(label_map),
        )
    with explained("--tiou"):
        scores = localization_scores(prepared.truth, prepared.predictions, tiou=tiou, multiples=MULTIPLES)
    with explained("--resamples, --confidence"):
        intervals = (
            score_intervals(scores.matches, resamples=resamples, confidence=confidence, seed=seed)
            if resamples
            else ()
        )
        parts = (
            slice_parts(scores, prepared, slice_column, resamples, confidence, seed)
            if slice_column is not None
            else []
        )
    if matches is not None:
        write_matches(matches, scores, prepared)
    dropped = [name for name, drop in (("duplicates", drop_duplicates), ("empty", drop_empty)) if drop]
    choices = Choices(
        {"failed": "not-found", "protocol": prepared.protocol}
        | ({"dropped": ",".join(dropped)} if dropped else {})
        | ({"subset": subset.replace("|", "/")} if subset else {})
        | _evaluated(prepared.protocol, videos)
        | ({"resamples": str(resamples)} if resamples else {})
    )
    return ScoreTable(
        family="localization",
        rows=(
            *threshold_rows(scores, prepared, choices, intervals),
            *slice_rows(parts, choices),
            *chance_rows(scores, prepared, choices, seed),
        ),
        headline=_headline(scores, prepared, len(predictions), intervals, parts),
        counts={**counts, **prepared.counts},
        notes=tuple(dict.fromkeys((*notes, *prepared.notes, *(i.note for i in intervals if i.note)))),
        figures=localization_plots(scores, parts, slice_column),
    )


def _evaluated(protocol: Protocol, videos: Path | str | None) -> dict[str, str]:
    """What the signature says of the videos; the other protocols have no choice."""
    if protocol != "corrected":
        return {}
    return {"videos": "listed" if isinstance(videos, Path) else videos or "reference"}


def parse_tiou(text: str) -> tuple[float, ...]:
    """Read thresholds: ``0.1,0.3,0.5``, or a range with both ends ``0.5:0.95:0.05``, or both mixed; sorted.

    Raises:
        UserError: if a part is no number or no range.
    """
    values: set[float] = set()
    for part in text.replace(",", " ").split():
        numbers = part.split(":")
        try:
            low, *rest = map(float, numbers)
        except ValueError:
            raise _tiou_error(part) from None
        if not rest:
            values.add(low)
            continue
        if len(rest) != 2 or not rest[1] > 0 or not 0 <= rest[0] - low <= 1:
            raise _tiou_error(part)
        steps = int((rest[0] - low) / rest[1] + 1e-9)
        if steps > 1000:
            raise _tiou_error(part)
        # Sums of 0.05 drift: 0.15000000000000002 would be another threshold than 0.15.
        values.update(round(low + k * rest[1], 10) for k in range(steps + 1))
    if not all(0 < value <= 1 for value in values) or not values:
        raise _tiou_error(text)
    return tuple(sorted(values))


def _tiou_error(text: str) -> UserError:
    return UserError(
        f"{text!r} is no list of thresholds above 0 and up to 1.",
        where="--tiou",
        hint="write 0.1,0.3,0.5 or first:last:step such as 0.5:0.95:0.05",
    )


def _protocol(name: str) -> Protocol:
    for known in PROTOCOLS:
        if name == known:
            return known
    raise UserError(f"there is no protocol {name!r}.", hint=f"choose one of {', '.join(PROTOCOLS)}")


def _cleaned(
    segments: Segments, what: str, duplicates: bool, empty: bool, counts: dict[str, int], notes: list[str]
) -> Segments:
    """Count repeated and empty segments, and leave them out where that was asked for."""
    for name, found, drop, option in (
        ("empty", Segments.empty, empty, "--drop-empty"),
        ("duplicate", Segments.duplicates, duplicates, "--drop-duplicates"),
    ):
        rows = found(segments)
        number = int(rows.sum())
        counts[f"{name} {what} {'dropped' if drop else 'kept'}"] = number
        if drop:
            segments = segments.take(~rows)
        elif number:
            notes.append(f"{number:,} {name} {what} were kept; {option} leaves them out.")
    return segments


def _headline(
    scores: LocalizationScores,
    prepared: Prepared,
    predictions: int,
    intervals: Sequence[Interval],
    parts: Sequence[Part],
) -> dict[str, object]:
    """The figures as papers print them: in per cent."""
    matches, tiou = scores.matches, scores.matches.tiou
    headline: dict[str, object] = {
        "protocol": prepared.protocol,
        "tiou": list(tiou),
        "mAP": as_percent(scores.mean_ap),
        **{f"R@{k}x": as_percent(values) for k, values in scores.mean_recall.items()},
        "classes": len(matches.classes),
        "average_mAP": as_percent(scores.average_map),
        **{f"micro_R@{k}x": as_percent(values) for k, values in scores.micro_recall.items()},
        "videos": len(prepared.truth.used_videos()),
        "segments": len(prepared.truth),
        "predictions": predictions,
    }
    if intervals:
        ends = [[as_percent(i.low), as_percent(i.high)] for i in intervals]
        names = ["mAP", *(f"{m}R@{k}x" for m in ("", "micro_") for k in matches.multiples)]
        ends.insert(0, ends.pop(len(tiou)))  # the average: out of the row of thresholds
        headline["intervals"] = {"average_mAP": ends[0]} | {
            name: ends[1 + j * len(tiou) : 1 + (j + 1) * len(tiou)] for j, name in enumerate(names)
        }
    if parts:
        headline["slices"] = [
            {
                "slice": p.label,
                "tiou": p.tiou,
                "k": p.k,
                "recall": as_percent(p.value),
                "low": None if p.interval is None else as_percent(p.interval.low),
                "high": None if p.interval is None else as_percent(p.interval.high),
                "segments": p.n,
            }
            for p in parts
        ]
    segments = np.bincount(matches.truth_class, minlength=len(matches.classes)).tolist()
    known = matches.prediction_class[matches.prediction_class >= 0]
    predicted = np.bincount(known, minlength=len(matches.classes)).tolist()
    headline["per_class"] = [
        {
            "label": name,
            "segments": segments[c],
            "predictions": predicted[c],
            "AP": as_percent(scores.ap[c]),
            **{f"R@{k}x": as_percent(table[c]) for k, table in scores.recall.items()},
        }
        for c, name in enumerate(matches.classes)
    ]
    return headline
