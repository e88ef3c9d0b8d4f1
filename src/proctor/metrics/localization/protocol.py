"""What is scored against what: three declared protocols, and labels that were renumbered.

``published`` reproduces CaptainCook4D's released figures with both defects of their evaluation: the ground truth
stays that of all videos when only some were predicted, and a predicted label that the ground truth lacks keeps
its raw number although the others are renumbered 0…C−1, so it collides with another class.

``activitynet`` also keeps the whole ground truth (right when every video was predicted), but nothing collides.

``corrected`` scores all videos of the ground truth under raw labels: one without a prediction has found nothing, so
that withholding hard videos raises no score. Where a subset was evaluated, its videos are named; ``"predicted"``
takes those with predictions, which a system can choose, so the signature says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from proctor.metrics.errors import MetricInputError
from proctor.metrics.localization.segments import Flags, Name, Segments, sorted_names, trimmed_name
from proctor.metrics.names import near_miss_note
from proctor.metrics.temporal import temporal_ious

__all__ = ["PREDICTED", "PROTOCOLS", "Prepared", "Protocol", "apply_protocol"]

Protocol = Literal["published", "activitynet", "corrected"]
PROTOCOLS: Final[tuple[Protocol, ...]] = get_args(Protocol)
PREDICTED: Final = "predicted"
"""Instead of a list of videos: those that have predictions."""

_NAMED: Final = 8
"""Names that a note lists before it only counts."""
_MANY_CLASSES: Final = 20
"""From so many classes on, labels that are exactly 0…C−1 are hardly raw step ids by chance."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Ground truth and predictions as a protocol wants them, and what was done to get there.

    Attributes:
        truth: the segments to be found.
        predictions: those that compete.
        protocol: which one.
        kept: which segments of the ground truth that was given are in ``truth``.
        left_out: the segments of the ground truth that are not.
        unpredicted: which segments of ``truth`` lie in a video without any prediction; they count as not found.
        counts: what was read, dropped and left out.
        notes: what to beware of, one sentence each.
    """

    truth: Segments
    predictions: Segments
    protocol: Protocol
    kept: Flags
    left_out: Segments
    unpredicted: Flags
    counts: Mapping[str, int]
    notes: tuple[str, ...]


def apply_protocol(
    truth: Segments,
    predictions: Segments,
    protocol: Protocol = "corrected",
    *,
    videos: Collection[Name] | Literal["predicted"] | None = None,
    label_map: Mapping[Name, Name] | None = None,
) -> Prepared:
    """Restrict and relabel both sides; names of videos and labels are compared without space around them.

    Args:
        truth: ground truth under raw or, with ``label_map``, renumbered labels.
        predictions: under raw labels.
        protocol: see the module.
        videos: for ``corrected``: the evaluated videos, or ``"predicted"`` for those with predictions; all videos of
            the ground truth when None.
        label_map: raw to renumbered label. Whether the ground truth is raw or renumbered is found out and noted.

    Raises:
        MetricInputError: if the protocol is unknown, the ground truth is empty or gets empty, labels and map do
            not fit, or the ground truth was visibly renumbered and there is no map.
    """
    if protocol not in PROTOCOLS:
        raise MetricInputError(f"there is no protocol {protocol!r}", f"choose one of {', '.join(PROTOCOLS)}")
    if videos is not None and protocol != "corrected":
        raise MetricInputError(
            f"the protocol {protocol!r} keeps the ground truth of all videos, but a list of videos was given",
            "leave the list out or take the protocol 'corrected'",
        )
    if isinstance(videos, str) and videos != PREDICTED:
        raise MetricInputError(
            f"videos is the text {videos!r}",
            f"give a list of names, or {PREDICTED!r} for the predicted videos",
        )
    if not len(truth):
        raise MetricInputError(
            "the ground truth has no segments", "check the file, the subset and what was dropped"
        )
    truth, predictions = truth.trimmed(), predictions.trimmed()
    counts: dict[str, int] = {}
    notes: list[str] = []
    renumbered = False
    if label_map is not None:
        renumbered = _is_renumbered(truth, predictions, label_map, notes)
    else:
        _look_for_renumbering(truth, predictions, notes)
    if protocol == "published":
        truth, predictions = _collided(truth, predictions, label_map, renumbered, counts, notes)
    elif label_map is not None and renumbered:
        truth = truth.relabelled({new: raw for raw, new in label_map.items()})
    if near := near_miss_note(truth.videos, predictions.videos, "videos"):
        notes.append(near)
    kept = np.ones(len(truth), dtype=np.bool_)
    predicted = predictions.used_videos()
    if protocol == "corrected":
        kept, predictions = _evaluated(truth, predictions, videos, counts, notes)
    else:
        _whole(truth, predictions, protocol, counts, notes)
    truth, left_out = truth.take(kept), truth.take(~kept)
    if protocol != "published":
        predictions = _without_strangers(truth, predictions, protocol, counts, notes)
    unpredicted = ~truth.in_videos(predicted)
    return Prepared(truth, predictions, protocol, kept, left_out, unpredicted, counts, tuple(notes))


def _is_renumbered(
    truth: Segments, predictions: Segments, label_map: Mapping[Name, Name], notes: list[str]
) -> bool:
    """Find out whether the ground truth holds the keys (raw) or the values (renumbered) of the map."""
    values = list(label_map.values())
    if len(set(values)) < len(values):
        twice = next(v for v in sorted_names(values) if values.count(v) > 1)
        raise MetricInputError(
            f"the label map gives {twice!r} to more than one label", "every raw label needs its own number"
        )
    labels = set(truth.used_labels())
    raw, new = labels <= label_map.keys(), labels <= set(values)
    if raw and new and all(label_map[name] == name for name in labels):
        notes.append("The label map leaves the labels of the ground truth as they are.")
        return False
    if raw and new:
        back = truth.relabelled({new: raw for raw, new in label_map.items()})
        renumbered = _overlapped(back, predictions) > _overlapped(truth, predictions)
        how = "renumbered" if renumbered else "raw"
        notes.append(
            f"The labels of the ground truth fit the label map as raw and as renumbered ones; they were read as "
            f"{how}, because more of its segments then overlap a prediction of their own label (tie: raw)."
        )
        return renumbered
    if raw or new:
        notes.append(
            "The ground truth holds raw labels (all are keys of the label map)."
            if raw
            else "The ground truth holds renumbered labels (all are values of the label map)."
        )
        return new
    no_key, no_value = labels - label_map.keys(), labels - set(values)
    raise MetricInputError(
        f"the label map fits the ground truth neither as raw labels ({_some(no_key)} {_are(no_key)} no key) "
        f"nor as renumbered ones ({_some(no_value)} {_are(no_value)} no value)",
        "give the map {raw: renumbered} that belongs to this ground truth, or none if its labels are raw",
    )


def _overlapped(truth: Segments, predictions: Segments) -> int:
    """Count the segments that a prediction of the same video and label overlaps by half."""
    by_key: dict[tuple[Name, Name], list[int]] = {}
    for row, (video, label) in enumerate(
        zip(predictions.video.tolist(), predictions.label.tolist(), strict=True)
    ):
        by_key.setdefault((predictions.videos[video], predictions.labels[label]), []).append(row)
    found = 0
    for row, (video, label) in enumerate(zip(truth.video.tolist(), truth.label.tolist(), strict=True)):
        rows = np.array(by_key.get((truth.videos[video], truth.labels[label]), []), dtype=np.int64)
        iou = temporal_ious(truth.start[row], truth.end[row], predictions.start[rows], predictions.end[rows])
        found += bool((iou >= 0.5).any())
    return found


def _look_for_renumbering(truth: Segments, predictions: Segments, notes: list[str]) -> None:
    """Say so when the ground truth looks renumbered 0…C−1 and the predictions do not."""
    numbers, predicted = _whole_numbers(truth.used_labels()), _whole_numbers(predictions.used_labels())
    if not numbers or not predicted or set(numbers) != set(range(len(numbers))):
        return
    outside = [n for n in predicted if n >= len(numbers)]
    if not outside:
        return
    seen = (
        f"the labels of the ground truth are exactly 0 to {len(numbers) - 1}, as if they had been renumbered, but "
        f"{len(outside)} of {len(predicted)} predicted labels lie above, up to {max(outside)}"
    )
    if 0 not in predicted:
        seen += ", and 0 is never predicted"
    hint = "pass the label map {raw: renumbered}; if the labels do agree, one that maps each label to itself"
    if len(numbers) >= _MANY_CLASSES and 0 not in predicted:
        raise MetricInputError(seen, hint)
    notes.append(f"Beware: {seen}. If they were, every number here is wrong: {hint}.")


def _collided(
    truth: Segments,
    predictions: Segments,
    label_map: Mapping[Name, Name] | None,
    renumbered: bool,
    counts: dict[str, int],
    notes: list[str],
) -> tuple[Segments, Segments]:
    """Renumber the ground truth 0…C−1 and the predictions with the same table; what the table lacks collides."""
    if label_map is None:
        label_map = _compression(truth)
    known = set(truth.used_labels()) if renumbered else {label_map[name] for name in truth.used_labels()}
    strangers = [name for name in predictions.used_labels() if name not in label_map]
    colliding = [name for name in strangers if name in known]
    counts["predicted classes outside the label table"] = len(strangers)
    counts["predictions outside the label table"] = int(predictions.with_labels(strangers).sum())
    counts["predictions colliding with another class"] = int(predictions.with_labels(colliding).sum())
    if colliding:
        notes.append(
            f"As in the released evaluation, {counts['predictions colliding with another class']:,} predictions of "
            f"{len(colliding)} classes that the ground truth lacks keep their raw number and count for another class."
        )
    return (truth if renumbered else truth.relabelled(label_map)), predictions.relabelled(label_map)


def _compression(truth: Segments) -> dict[Name, Name]:
    labels = truth.used_labels()
    texts = any(isinstance(name, str) for name in labels)
    return {name: str(k) if texts else k for k, name in enumerate(labels)}


def _evaluated(
    truth: Segments,
    predictions: Segments,
    videos: Collection[Name] | None,
    counts: dict[str, int],
    notes: list[str],
) -> tuple[Flags, Segments]:
    """Choose the segments of the evaluated videos, and the predictions that lie in them."""
    annotated, predicted = set(truth.videos), set(predictions.used_videos())
    listed = videos is not None and videos != PREDICTED
    chosen = {trimmed_name(name) for name in videos} if videos is not None and listed else annotated
    if videos == PREDICTED:
        chosen = annotated & predicted
    kept = truth.in_videos(chosen)
    if not kept.any() or (predicted and not listed and not annotated & predicted):
        seen = "none of the listed videos" if listed else "none of the predicted videos"
        given = sorted_names(chosen) if listed else predictions.used_videos()
        near = near_miss_note(truth.videos, given, "videos")
        raise MetricInputError(
            f"{seen} has ground truth (for example {_some(given)}; the ground truth has {_some(truth.used_videos())})",
            near or "check that both files name their videos alike and belong to one split",
        )
    unpredicted = set(truth.used_videos()) - predicted
    counts["ground truth videos without predictions"] = len(unpredicted)
    counts["ground truth segments left out"] = int((~kept).sum())
    if not listed:
        _without_truth(predictions, annotated, "were left out", counts, notes)
    if unpredicted and videos == PREDICTED:
        notes.append(
            f"{len(unpredicted)} of {len(truth.used_videos())} ground truth videos have no prediction and were "
            f"left out as not evaluated: {_some(unpredicted)}."
        )
    elif missed := unpredicted & chosen:
        of = (
            f"{len(missed)} listed videos"
            if listed
            else f"{len(missed)} of {len(chosen)} ground truth videos"
        )
        notes.append(
            f"{of} have no prediction; their segments count as not found: {_some(missed)}."
            + ("" if listed else " If a subset was evaluated, name its videos.")
        )
    if listed:
        unknown = chosen - annotated
        if unknown:
            notes.append(
                f"{len(unknown)} listed videos have no ground truth; every prediction there is false: {_some(unknown)}."
            )
        outside = int((~predictions.in_videos(chosen)).sum())
        counts["predictions outside the list"] = outside
        if outside:
            notes.append(f"{outside:,} predictions are outside the listed videos and were left out.")
    return kept, predictions.take(predictions.in_videos(chosen))


def _whole(
    truth: Segments, predictions: Segments, protocol: Protocol, counts: dict[str, int], notes: list[str]
) -> None:
    """Count and name what the whole ground truth means for videos that were not predicted."""
    unpredicted = set(truth.used_videos()) - set(predictions.used_videos())
    counts["ground truth videos without predictions"] = len(unpredicted)
    if unpredicted:
        notes.append(
            f"{len(unpredicted)} of {len(truth.used_videos())} ground truth videos have no prediction; under "
            f"'{protocol}' all their segments count as not found: {_some(unpredicted)}. If they were not evaluated, "
            "take the protocol 'corrected' and name the evaluated videos."
        )
    _without_truth(predictions, set(truth.videos), "count as false positives", counts, notes)


def _without_truth(
    predictions: Segments, annotated: Collection[Name], fate: str, counts: dict[str, int], notes: list[str]
) -> None:
    inside = predictions.in_videos(annotated)
    counts["predictions in videos without ground truth"] = int((~inside).sum())
    if not inside.all():
        videos = set(predictions.used_videos()) - set(annotated)
        notes.append(
            f"{int((~inside).sum()):,} predictions are in {len(videos)} videos without ground truth and {fate}: "
            f"{_some(videos)}."
        )


def _without_strangers(
    truth: Segments, predictions: Segments, protocol: Protocol, counts: dict[str, int], notes: list[str]
) -> Segments:
    """Drop predictions of classes that the ground truth lacks: the macro mean has no place for them."""
    inside = predictions.with_labels(truth.used_labels())
    strangers = len(set(predictions.used_labels()) - set(truth.used_labels()))
    counts["predicted classes without ground truth"] = strangers
    counts["predictions of classes without ground truth"] = int((~inside).sum())
    if strangers:
        where = "in the evaluated videos" if protocol == "corrected" else "in the ground truth"
        notes.append(
            f"{int((~inside).sum()):,} predictions of {strangers} classes that do not occur {where} were dropped: "
            "the mean is over the classes of the ground truth."
        )
    if len(predictions) and not inside.any():
        notes.append(
            "Beware: no predicted label occurs in the ground truth "
            f"({_some(predictions.used_labels())} against {_some(truth.used_labels())}): do both have the same names?"
        )
    return predictions.take(inside)


def _whole_numbers(names: Collection[Name]) -> list[int] | None:
    """Return names as numbers, None when one is something else."""
    try:
        return [int(name) for name in names]
    except ValueError:
        return None


def _some(names: Collection[Name]) -> str:
    """List a few names, count the rest."""
    listed = sorted_names(names)
    rest = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(map(str, listed[:_NAMED])) + rest


def _are(names: Collection[Name]) -> str:
    return "is" if len(names) == 1 else "are"
