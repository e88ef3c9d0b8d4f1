"""Rows of the table of localized steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from proctor.metrics.interval import Interval
from proctor.metrics.localization import LocalizationScores, Prepared, localization_scores
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.localization_slices import Part

__all__ = ["Choices", "chance_rows", "slice_rows", "threshold_rows"]


@dataclass(frozen=True, slots=True)
class Choices:
    """What every signature of one run shares."""

    parameters: Mapping[str, str]

    def signature(self, name: str, **further: str) -> Signature:
        """Return the signature of one score."""
        return Signature(name, {**self.parameters, **further})


def _score(
    value: float, signature: Signature, counts: tuple[int, int, int], interval: Interval | None
) -> Score:
    """``counts`` are segments: all that were scored, those without any prediction in their video, those left out."""
    scored, unpredicted, left_out = counts
    if interval is not None:
        signature = signature.having(cluster="video", interval=interval.method)
    return Score(
        value,
        signature,
        scored - unpredicted,
        None if interval is None else interval.low,
        None if interval is None else interval.high,
        unpredicted,
        left_out,
        "" if interval is None else interval.note,
    )


def threshold_rows(
    scores: LocalizationScores,
    prepared: Prepared,
    choices: Choices,
    intervals: Sequence[Interval] = (),
    *,
    chance: bool = False,
) -> list[ScoreRow]:
    """One line a threshold; the intervals come in the order of ``weighted_scores``."""
    tiou, ks = scores.matches.tiou, scores.matches.multiples
    counts = (len(prepared.truth), int(prepared.unpredicted.sum()), len(prepared.left_out))
    rows: list[ScoreRow] = []

    def add(line: str, column: str, value: float, signature: Signature, place: int) -> None:
        interval = intervals[place] if intervals else None
        rows.append(
            ScoreRow(column, _score(value, signature, counts, interval), line, chance, 2, percent=True)
        )

    first = len(tiou) + 1
    for t, threshold in enumerate(tiou):
        line, at = f"tIoU {threshold:g}", {"tiou": f"{threshold:g}"}
        signature = choices.signature("mean_average_precision", average="macro", matching="greedy", **at)
        add(line, "mAP", float(scores.mean_ap[t]), signature, t)
        for table, name, average, offset in (
            (scores.mean_recall, "recall_at_kx", "macro", first),
            (scores.micro_recall, "micro_recall_at_kx", "micro", first + len(ks) * len(tiou)),
        ):
            for j, k in enumerate(ks):
                signature = choices.signature(name, average=average, k=str(k), **at)
                column = f"R@{k}x" if average == "macro" else f"micro R@{k}x"
                add(line, column, float(table[k][t]), signature, offset + j * len(tiou) + t)
    signature = choices.signature(
        "average_map", average="macro", matching="greedy", tiou=",".join(f"{t:g}" for t in tiou)
    )
    add("average", "mAP", scores.average_map, signature, len(tiou))
    return rows


def chance_rows(
    scores: LocalizationScores, prepared: Prepared, choices: Choices, seed: int
) -> list[ScoreRow]:
    """What the same segments get when their labels are shuffled: times, scores and frequencies of labels are kept."""
    given, matches = prepared.predictions, scores.matches
    if given.score is None or not len(given):
        return []
    order = np.lexsort((given.score, given.label, given.end, given.start, given.video))
    label = np.empty_like(given.label)
    label[order] = np.random.default_rng(seed).permutation(given.label[order])
    shuffled = localization_scores(
        prepared.truth, replace(given, label=label), tiou=matches.tiou, multiples=matches.multiples
    )
    knowing = Choices({**choices.parameters, "predictor": "shuffled-labels", "seed": str(seed)})
    return threshold_rows(shuffled, prepared, knowing, chance=True)


def slice_rows(parts: Sequence[Part], choices: Choices) -> list[ScoreRow]:
    """One line a slice and threshold; the difference comes last."""
    rows = []
    labels = list(dict.fromkeys(part.label for part in parts))
    for part in sorted(parts, key=lambda p: (labels.index(p.label), p.tiou, p.k)):
        name = "micro_recall_at_kx_difference" if part.difference else "micro_recall_at_kx"
        signature = choices.signature(
            name, average="micro", k=str(part.k), slice=part.label.replace("|", "/"), tiou=f"{part.tiou:g}"
        )
        score = _score(part.value, signature, (part.n, part.unpredicted, part.left_out), part.interval)
        rows.append(
            ScoreRow(f"micro R@{part.k}x", score, f"{part.label}, tIoU {part.tiou:g}", digits=2, percent=True)
        )
    return rows
