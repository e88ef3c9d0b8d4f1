"""Key steps discovered: clusters of frames matched to ground-truth steps, precision, recall, IoU and F1.

Conventions (Bansal et al. 2022): every frame has one true label and one cluster. The frames of all videos that
were clustered together (a recipe) are pooled, and clusters are matched one to one to the true classes so that as
many frames as possible agree (Hungarian method, ``scipy.optimize.linear_sum_assignment``). ``per-key-step``
averages over the classes that occur; ``pooled`` divides sums. Background is a class like any other
(``background="class"``, as published), or takes part in the matching only (``"matched"``), or its frames are
left out (``"dropped"``). All values are between 0 and 1.

Two points that the published description leaves open, settled here so that a result is unique: of all matchings
with the largest overlap the one with the largest sum of IoU is taken, and a pair without a common frame is no
match. (Left to chance, ties make precision up to half a point lower on short videos: 15.9 against 16.4 % for
random labels at 1 frame a second, measured.) A class without a match counts 0: with fewer clusters than classes the mean would otherwise leave out
exactly what was missed.

Chance depends on the frame rate, the number of clusters and the pooling: at 1 frame a second and per video, random
labels score as high as the published trained models (Peddi et al. 2024, Table 15). ``random_clustering`` therefore
computes it for the same frames, in the same way.

Erratum of the published code: frames labelled background are lost while it builds its labels.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.bootstrap import Floats, bootstrap_interval, cluster_sums
from proctor.metrics.catalogue import Entries
from proctor.metrics.errors import MetricInputError, require_choice, require_options
from proctor.metrics.interval import Interval
from proctor.metrics.score import Score, Signature

__all__ = [
    "AVERAGES",
    "BACKGROUNDS",
    "MEASURES",
    "METRICS",
    "NOTHING",
    "Average",
    "Background",
    "KeyStep",
    "Overlap",
    "count_overlap",
    "key_step_f1",
    "key_step_iou",
    "key_step_precision",
    "key_step_recall",
    "match_key_steps",
    "matched_pairs",
    "mean_over_groups",
    "measure_key_steps",
    "merge_overlaps",
    "random_clustering",
    "stacked_counts",
]


# Frames that clusters and key steps share: counted, and matched one to one.

Background = Literal["class", "matched", "dropped"]
BACKGROUNDS: Final[tuple[Background, ...]] = get_args(Background)

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many frames each true class and each cluster share.

    Attributes:
        classes: true labels, sorted; rows.
        clusters: labels of the clusters, sorted; columns.
        counts: frames, shape (classes, clusters).
        background: row of the background class, None when there is none.
    """

    classes: tuple[str, ...]
    clusters: tuple[str, ...]
    counts: Counts
    background: int | None = None


def count_overlap(
    reference: Sequence[object],
    predicted: Sequence[object],
    *,
    background_label: str | None = "0",
    background: Background = "class",
) -> Overlap:
    """Count the frames that each true class and each cluster share.

    Args:
        reference: true label of each frame; numbers and texts are the same if they print the same.
        predicted: cluster of each frame, parallel.
        background_label: the label of frames that belong to no step; None if there is none.
        background: ``dropped`` leaves its frames out; the other two keep them.

    Raises:
        MetricInputError: if lengths differ or an option is unknown.
    """
    if len(reference) != len(predicted):
        raise MetricInputError(
            f"reference and predicted must have the same frames, got {len(reference)} and {len(predicted)}",
            "sample both at the same rate",
        )
    require_choice(background, BACKGROUNDS, "background")
    truth, found = _label_texts(reference, "reference"), _label_texts(predicted, "predicted")
    if background == "dropped" and len(truth):
        kept = truth != background_label
        truth, found = truth[kept], found[kept]
    if not len(truth):
        return Overlap((), (), np.zeros((0, 0), dtype=np.int64))
    classes, rows = np.unique(truth, return_inverse=True)
    clusters, columns = np.unique(found, return_inverse=True)
    cells = np.bincount(rows * len(clusters) + columns, minlength=len(classes) * len(clusters))
    names = tuple(map(str, classes))
    return Overlap(
        names,
        tuple(map(str, clusters)),
        cells.reshape(len(classes), len(clusters)).astype(np.int64),
        names.index(background_label) if background_label in names else None,
    )


def _label_texts(labels: Sequence[object], what: str) -> NDArray[np.str_]:
    """Labels as they print; None and nan would print as labels of their own."""
    if isinstance(labels, str | bytes):
        raise MetricInputError(
            f"{what} is a list of labels, got the text {labels[:60]!r}", "put them into a list"
        )
    for row, label in enumerate(labels):
        if label is None or isinstance(label, bytes) or label != label:
            raise MetricInputError(
                f"the {what} label of frame {row} is {label!r}", "give every frame a label"
            )
    return np.asarray([str(label) for label in labels])


def matched_pairs(counts: NDArray[np.number]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and columns of the matching: most common frames, then the largest sum of IoU; no empty pairs."""
    from scipy.optimize import linear_sum_assignment

    common = counts.astype(np.float64)
    union = common.sum(axis=1, keepdims=True) + common.sum(axis=0, keepdims=True) - common
    iou = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    # all the IoU together weigh less than one frame
    rows, columns = linear_sum_assignment(
        common + iou / (2 * min(common.shape, default=1) or 1), maximize=True
    )
    kept = common[rows, columns] > 0
    return rows[kept], columns[kept]


def merge_overlaps(videos: Mapping[str, Overlap]) -> Overlap:
    """Return the overlap of all videos together; a cluster is the same one in all of them."""
    classes, clusters, stack, background = _stack(videos)
    return Overlap(classes, clusters, stack.sum(axis=0).astype(np.int64), background)


def stacked_counts(videos: Mapping[str, Overlap], background: Background) -> tuple[Floats, int | None]:
    """Return the overlaps of all videos over their common classes and clusters, and the row to ignore."""
    _, _, stack, row = _stack(videos)
    return stack, row if background == "matched" else None


def _stack(videos: Mapping[str, Overlap]) -> tuple[tuple[str, ...], tuple[str, ...], Floats, int | None]:
    classes = tuple(sorted({name for overlap in videos.values() for name in overlap.classes}))
    clusters = tuple(sorted({name for overlap in videos.values() for name in overlap.clusters}))
    row = {name: k for k, name in enumerate(classes)}
    column = {name: k for k, name in enumerate(clusters)}
    stack = np.zeros((len(videos), len(classes), len(clusters)))
    background = None
    for k, name in enumerate(sorted(videos)):
        overlap = videos[name]
        if overlap.classes:
            places = np.ix_([row[c] for c in overlap.classes], [column[c] for c in overlap.clusters])
            stack[k][places] = overlap.counts
        if overlap.background is not None:
            background = row[overlap.classes[overlap.background]]
    return classes, clusters, stack, background


# Precision, recall, F1 and IoU of the key steps of one task, from its counts.

Average = Literal["per-key-step", "pooled"]
AVERAGES: Final[tuple[Average, ...]] = get_args(Average)
MEASURES: Final = ("key_step_precision", "key_step_recall", "key_step_iou", "key_step_f1")
"""The four numbers of a clustering, in the order of ``measure_key_steps``."""


@dataclass(frozen=True, slots=True)
class KeyStep:
    """A true class and the cluster it was matched with.

    Attributes:
        name: the true label.
        cluster: the cluster, None if it has none.
        common: frames in both.
        frames: frames of the class.
        cluster_frames: frames of the cluster, 0 without one.
    """

    name: str
    cluster: str | None
    common: int
    frames: int
    cluster_frames: int

    @property
    def precision(self) -> float:
        """Share of the cluster that belongs to the class; 0 without a cluster."""
        return self.common / self.cluster_frames if self.cluster_frames else 0.0

    @property
    def recall(self) -> float:
        """Share of the class that the cluster covers."""
        return self.common / self.frames

    @property
    def iou(self) -> float:
        """Common frames over the frames of either."""
        return self.common / (self.frames + self.cluster_frames - self.common)


def match_key_steps(overlap: Overlap, *, background: Background = "class") -> tuple[KeyStep, ...]:
    """Match clusters one to one to classes so that as many frames as possible agree.

    Args:
        overlap: from ``count_overlap``.
        background: ``matched`` leaves the background out of what is returned, after it took part.

    Returns:
        One entry a class, in the order of ``overlap.classes``.
    """
    require_choice(background, BACKGROUNDS, "background")
    if not overlap.classes:
        return ()
    partner = dict(zip(*(part.tolist() for part in matched_pairs(overlap.counts)), strict=True))
    sizes, cluster_sizes = overlap.counts.sum(axis=1), overlap.counts.sum(axis=0)
    out = []
    for row, name in enumerate(overlap.classes):
        if background == "matched" and row == overlap.background:
            continue
        column = partner.get(row)
        common = 0 if column is None else int(overlap.counts[row, column])
        cluster = None if column is None else overlap.clusters[column]
        frames = 0 if column is None else int(cluster_sizes[column])
        out.append(KeyStep(name, cluster, common, int(sizes[row]), frames))
    return tuple(out)


def measure_key_steps(
    counts: NDArray[np.number], *, average: Average = "per-key-step", ignored: int | None = None
) -> tuple[float, float, float, float]:
    """Return precision, recall, IoU and F1 of a matrix of common frames after matching.

    Args:
        counts: frames that each class (row) and cluster (column) share; classes without a frame do not count.
        average: ``per-key-step`` (mean over classes) or ``pooled`` (sums divided).
        ignored: row that takes part in the matching and not in the result (background).

    Returns:
        Precision, recall, IoU and F1, the harmonic mean of the two averages; all ``nan`` without a class.

    Raises:
        MetricInputError: if an option is unknown.
    """
    require_choice(average, AVERAGES, "average")
    sizes = counts.sum(axis=1).astype(np.float64)
    counted = sizes > 0
    if ignored is not None:
        counted[ignored] = False
    if not counted.any():
        return math.nan, math.nan, math.nan, math.nan
    common, cluster_sizes = np.zeros(len(sizes)), np.zeros(len(sizes))
    rows, columns = matched_pairs(counts)
    common[rows], cluster_sizes[rows] = counts[rows, columns], counts.sum(axis=0)[columns]
    common, sizes, cluster_sizes = common[counted], sizes[counted], cluster_sizes[counted]
    parts = (cluster_sizes, sizes, sizes + cluster_sizes - common)
    if average == "pooled":
        found = [float(common.sum() / whole.sum()) if whole.sum() else 0.0 for whole in parts]
    else:
        found = [
            float(np.divide(common, whole, out=np.zeros_like(common), where=whole > 0).mean())
            for whole in parts
        ]
    both = found[0] + found[1]
    return found[0], found[1], found[2], 2 * found[0] * found[1] / both if both else 0.0


# Scores of frames, and means over groups of videos with their intervals.

NOTHING: Final = "no frame has a key step"


def key_step_precision(reference: Sequence[object], predicted: Sequence[object], **options: str) -> Score:
    """Share of each matched cluster that belongs to its key step, averaged over key steps.

    Args:
        reference: true label of each frame of everything that was clustered together.
        predicted: cluster of each frame, parallel.
        **options: ``average``, ``background``, ``background_label``: see ``count_overlap``, ``measure_key_steps``.

    Returns:
        Between 0 and 1, ``n`` in frames; undefined with a note when no frame has a class. For intervals and the
        mean over recipes see ``mean_over_groups``.

    Raises:
        MetricInputError: if lengths differ or an option is unknown.
    """
    return _of_frames(0, reference, predicted, options)


def key_step_recall(reference: Sequence[object], predicted: Sequence[object], **options: str) -> Score:
    """Share of each key step that its matched cluster covers, averaged over key steps; see ``key_step_precision``."""
    return _of_frames(1, reference, predicted, options)


def key_step_iou(reference: Sequence[object], predicted: Sequence[object], **options: str) -> Score:
    """Common frames over the frames of either, averaged over key steps; see ``key_step_precision``."""
    return _of_frames(2, reference, predicted, options)


def key_step_f1(reference: Sequence[object], predicted: Sequence[object], **options: str) -> Score:
    """Harmonic mean of the averaged precision and recall (not a mean of F1); see ``key_step_precision``."""
    return _of_frames(3, reference, predicted, options)


def _of_frames(
    measure: int, reference: Sequence[object], predicted: Sequence[object], options: Mapping[str, str]
) -> Score:
    require_options(options, ("average", "background", "background_label"))
    average, background = options.get("average", "per-key-step"), options.get("background", "class")
    require_choice(average, AVERAGES, "average")
    require_choice(background, BACKGROUNDS, "background")
    overlap = count_overlap(
        reference,
        predicted,
        background_label=options.get("background_label", "0"),
        background=background,  # type: ignore[arg-type]  # checked above
    )
    ignored = overlap.background if background == "matched" else None
    value = measure_key_steps(overlap.counts, average=average, ignored=ignored)[measure]  # type: ignore[arg-type]
    signature = Signature(
        MEASURES[measure], {"average": average, "background": background, "interval": "none"}
    )
    frames = int(overlap.counts.sum())
    return Score(value, signature, frames, note=NOTHING if math.isnan(value) else "")


def mean_over_groups(
    groups: Mapping[str, Mapping[str, Overlap]],
    *,
    average: Average = "per-key-step",
    background: Background = "class",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    settings: Mapping[str, str] | None = None,
) -> tuple[Score, ...]:
    """Score several clusterings (recipes) and average them.

    Args:
        groups: overlaps by video, by group; the videos of a group share their clusters and are pooled.
        average: see ``measure_key_steps``.
        background: see ``count_overlap``.
        confidence: of the intervals.
        resamples: of the bootstrap; 0 leaves the intervals out. Groups are drawn; with one group its videos are,
            and every resample is matched anew.
        seed: of the bootstrap.
        settings: further parts of the signature (rate, clusters).

    Returns:
        The scores in the order of ``MEASURES``; ``n`` counts groups with a class, ``skipped`` the others. With
        one group ``n`` counts its videos.

    Raises:
        MetricInputError: if an option is unknown.
    """
    require_choice(average, AVERAGES, "average")
    require_choice(background, BACKGROUNDS, "background")
    stacks = {name: stacked_counts(videos, background) for name, videos in sorted(groups.items())}
    measures = {
        name: measure_key_steps(stack.sum(axis=0), average=average, ignored=ignored)
        for name, (stack, ignored) in stacks.items()
    }
    kept = [name for name, values in measures.items() if not math.isnan(values[0])]
    skipped = len(measures) - len(kept)
    parts = {"average": average, "background": background, **(settings or {})}
    if not kept:
        return tuple(
            Score(math.nan, Signature(m, {**parts, "interval": "none"}), 0, skipped=skipped, note=NOTHING)
            for m in MEASURES
        )
    sampling = {"confidence": confidence, "resamples": resamples, "seed": seed}
    out = []
    memo: dict[bytes, tuple[float, ...]] = {}
    for k, measure in enumerate(MEASURES):
        value = math.fsum(measures[name][k] for name in kept) / len(kept)
        n, interval = len(kept), None
        if len(kept) == 1:
            n = len(groups[kept[0]])
        if resamples and len(kept) > 1:
            sums = cluster_sums([[measures[name][k] for name in kept], [1.0] * len(kept)], kept)
            interval = bootstrap_interval(sums, **sampling)  # type: ignore[arg-type]
        elif resamples:
            stack, ignored = stacks[kept[0]]
            statistic = _rematched(stack.shape[1:], average, ignored, k, memo)
            interval = bootstrap_interval(stack.reshape(len(stack), -1), statistic, **sampling)  # type: ignore[arg-type]
        unit = "group" if len(kept) > 1 else "video"
        out.append(_with_interval(value, Signature(measure, parts), n, interval, unit, sampling, skipped))
    return tuple(out)


def _rematched(
    shape: tuple[int, ...],
    average: Average,
    ignored: int | None,
    measure: int,
    memo: dict[bytes, tuple[float, ...]],
) -> Callable[[Floats], Floats]:
    """Return the statistic of resampled overlaps; all four measures see the same draws, matched once."""

    def one(row: Floats) -> float:
        key = hashlib.blake2b(row.tobytes(), digest_size=16).digest()
        if key not in memo:
            memo[key] = measure_key_steps(row.reshape(shape), average=average, ignored=ignored)
        return memo[key][measure]

    return lambda sums: np.array([one(row) for row in sums])


def _with_interval(
    value: float,
    signature: Signature,
    n: int,
    interval: Interval | None,
    unit: str,
    sampling: Mapping[str, float],
    skipped: int,
) -> Score:
    if interval is None:
        return Score(value, signature.having(interval="none"), n, skipped=skipped)
    parts = {
        "cluster": unit,
        "interval": interval.method,
        "resamples": str(sampling["resamples"]),
        "seed": str(sampling["seed"]),
    }
    return Score(
        value, signature.having(**parts), n, interval.low, interval.high, skipped=skipped, note=interval.note
    )


# What clusters of no knowledge score.


def random_clustering(
    groups: Mapping[str, Mapping[str, Overlap]],
    clusters: int,
    *,
    average: Average = "per-key-step",
    background: Background = "class",
    draws: int = 20,
    seed: int = 0,
    settings: Mapping[str, str] | None = None,
) -> tuple[Score, ...]:
    """Score random clusters of the same frames in the same way: the chance row.

    Every frame gets one of ``clusters`` labels, each with the same probability, independently of everything. The
    overlaps of such labels are multinomial, so they are drawn directly, whatever the number of frames.

    Args:
        groups: as for ``mean_over_groups``; only the frames of each class matter.
        clusters: how many labels there are (30 as published).
        average: see ``measure_key_steps``.
        background: see ``count_overlap``.
        draws: how many times everything is labelled.
        seed: of the draws.
        settings: further parts of the signature.

    Returns:
        Mean over the draws in the order of ``MEASURES``; the note has the standard deviation of one draw.

    Raises:
        MetricInputError: if ``clusters`` or ``draws`` is not positive.
    """
    if clusters < 1 or draws < 1:
        raise MetricInputError(f"clusters and draws must be positive, got {clusters} and {draws}")
    require_choice(average, AVERAGES, "average")
    require_choice(background, BACKGROUNDS, "background")
    rng = np.random.default_rng(seed)
    parts = {
        "average": average,
        "background": background,
        **(settings or {}),
        "clusters": str(clusters),
        "draws": str(draws),
        "interval": "none",
        "predictor": "uniform",
        "seed": str(seed),
    }
    drawn, videos_drawn = [], 0
    for _, videos in sorted(groups.items()):
        stack, ignored = stacked_counts(videos, background)
        sizes = stack.sum(axis=(0, 2)).astype(np.int64)
        counts = rng.multinomial(sizes, np.full(clusters, 1 / clusters), size=(draws, len(sizes)))
        measured = np.array([measure_key_steps(one, average=average, ignored=ignored) for one in counts])
        if not np.isnan(measured[0, 0]):
            drawn.append(measured)
            videos_drawn += len(videos)
    if not drawn:
        return tuple(Score(math.nan, Signature(m, parts), 0, note=NOTHING) for m in MEASURES)
    means = np.mean(drawn, axis=0)
    spread = means.std(axis=0, ddof=1) if draws > 1 else np.full(len(MEASURES), np.nan)
    return tuple(
        Score(
            float(means[:, k].mean()),
            Signature(measure, parts),
            len(drawn) if len(drawn) > 1 else videos_drawn,
            note=f"mean of {draws} draws, s.d. {spread[k]:.2g}" if draws > 1 else "one draw",
        )
        for k, measure in enumerate(MEASURES)
    )


# The metrics of this family, for the catalogue.

_CITATION: Final = "Bansal et al. 2022 (EgoProceL)"
_EXAMPLE: Final = (
    "average:per-key-step|background:class|cluster:group|clusters:30|interval:bca-95|rate:15 fps"
)
_CHANCE: Final = (
    "Chance depends on frame rate, number of clusters and pooling; random labels at 1 fps per video score "
    "15.9/10.9/5.7 %, as high as the published trained models (15.6/10.9/5.8 %). "
)

_entry: Final = Entries("clustering", "clustering")

METRICS: Final = (
    _entry(
        "key_step_precision",
        "precision",
        "Frames common to a key step and its matched cluster over the frames of the cluster, averaged over key steps.",
        signature=_EXAMPLE,
        citation=_CITATION,
        traps=_CHANCE + "Background counts as a key step as published.",
    ),
    _entry(
        "key_step_recall",
        "recall",
        "Frames common to a key step and its matched cluster over the frames of the key step, averaged over key steps.",
        signature=_EXAMPLE,
        citation=_CITATION,
        traps=_CHANCE + "One cluster for everything has recall 1 for one step and 0 for all others.",
    ),
    _entry(
        "key_step_iou",
        "IoU",
        "Frames common to a key step and its matched cluster over the frames of either, averaged over key steps.",
        signature=_EXAMPLE,
        citation=_CITATION,
        traps=_CHANCE + "The matching maximises common frames, not IoU.",
    ),
    _entry(
        "key_step_f1",
        "F1",
        "Harmonic mean of the averaged precision and the averaged recall.",
        signature=_EXAMPLE,
        citation=_CITATION,
        traps="Not the mean of the F1 of the key steps; papers rarely say which.",
    ),
)
