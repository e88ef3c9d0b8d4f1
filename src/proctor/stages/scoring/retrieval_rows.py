"""Rows of the table of rankings: all questions, parts of the benchmark, and chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from proctor.metrics.retrieval import (
    Floats,
    Gain,
    RankedGold,
    RecallReading,
    cell_scores,
    expected_average_precisions,
    expected_ndcgs_at_k,
    expected_precisions_at_k,
    expected_recalls_at_k,
    expected_reciprocal_ranks,
    ndcgs_at_k,
    ranking_average_precisions,
    ranking_part_recalls_at_k,
    ranking_precisions_at_k,
    ranking_recalls_at_k,
    reciprocal_ranks,
)
from proctor.metrics.score import Signature
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.percent import as_percent
from proctor.stages.scoring.retrieval_files import MODALITY_ORDER, Question

__all__ = ["Measures", "absent_parts", "question_slices", "slice_order"]

_RECALLS: Final[dict[RecallReading, str]] = {
    "fractional": "recall_at_k",
    "all": "all_gold_at_k",
    "any": "hit_at_k",
}
_RANDOM: Final = "random ranking"


def question_slices(
    questions: Mapping[str, Question], names: Sequence[str], absent: Sequence[str]
) -> dict[str, tuple[list[int], int]]:
    """Rows and failed questions of all, of each style and of each combination of modalities."""
    result: dict[str, tuple[list[int], int]] = {"all": (list(range(len(names))), len(absent))}
    for attribute, title in (("style", "style"), ("cell", "modality")):
        values = [str(getattr(questions[name], attribute)) for name in names]
        failed = [str(getattr(questions[name], attribute)) for name in absent]
        for value in sorted({*values, *failed} - {""}, key=slice_order):
            rows = [i for i, one in enumerate(values) if one == value]
            result[f"{title} {value}"] = (rows, failed.count(value))
    return result


def slice_order(name: str) -> tuple[int, list[int], str]:
    """Single modalities first, then pairs, …, in the usual order; everything else by name."""
    rank = {kind: number for number, kind in enumerate(MODALITY_ORDER)}
    ranks: list[int] = []
    for part in name.split("+"):
        kind, _, n = part.partition("×")
        ranks += [rank.get(kind, len(MODALITY_ORDER))] * (int(n) if n.isdecimal() else 1)
    return len(ranks), ranks, name


def absent_parts(questions: Mapping[str, Question], absent: Sequence[str]) -> dict[str, int]:
    """Count by modality the questions without a ranking that need it."""
    counts: dict[str, int] = {}
    for name in absent:
        for kind in set(questions[name].modalities.values()):
            counts[kind] = counts.get(kind, 0) + 1
    return counts


@dataclass(frozen=True, slots=True)
class _Column:
    """A measure of all questions, and what a random order of a pool of this size would get."""

    signature: Signature
    values: Floats
    chance: Callable[[int], Floats]


class Measures:
    """All measures of all questions, computed once."""

    def __init__(
        self,
        ranked: RankedGold,
        cuts: Sequence[int],
        reading: RecallReading,
        gain: Gain,
        base: Mapping[str, str],
    ) -> None:
        self.ranked, self.cuts, self.gain, self.base = ranked, cuts, gain, base
        last = cuts[-1]
        readings: tuple[tuple[str, RecallReading], ...] = (
            ("share", "fractional"),
            ("all", "all"),
            ("hit", "any"),
        )
        self.columns: dict[str, _Column] = {
            **{f"R@{k}": self._recall(k, reading) for k in cuts},
            **{f"{label}@{last}": self._recall(last, other) for label, other in readings if other != reading},
            f"nDCG@{last}": _Column(
                self.signature("ndcg_at_k", discount="log2", gain=gain, k=str(last)),
                ndcgs_at_k(ranked, last, gain),
                lambda pool: expected_ndcgs_at_k(ranked, pool, last, gain),
            ),
            f"P@{last}": _Column(
                self.signature("precision_at_k", k=str(last)),
                ranking_precisions_at_k(ranked, last),
                lambda pool: expected_precisions_at_k(ranked, pool, last),
            ),
            "MRR": _Column(
                self.signature("mean_reciprocal_rank"),
                reciprocal_ranks(ranked),
                lambda pool: expected_reciprocal_ranks(ranked, pool, self._depth(pool)),
            ),
            "MAP": _Column(
                self.signature("ranking_mean_average_precision"),
                ranking_average_precisions(ranked),
                lambda pool: expected_average_precisions(ranked, pool, self._depth(pool)),
            ),
        }

    def signature(self, name: str, **parameters: str) -> Signature:
        """Return a signature with what all measures share."""
        return Signature(name, {**self.base, **parameters})

    def _recall(self, k: int, reading: RecallReading) -> _Column:
        return _Column(
            self.signature(_RECALLS[reading], gold=reading, k=str(k)),
            ranking_recalls_at_k(self.ranked, k, reading),
            lambda pool: expected_recalls_at_k(self.ranked, pool, k, reading),
        )

    def _depth(self, pool: int) -> int:
        """Random rankings are as deep as the deepest one here: deeper ones would find more."""
        return min(pool, max(1, int(self.ranked.retrieved.max(initial=1))))

    def rows(
        self, title: str, inside: list[int], clusters: Sequence[str], failed: int, options: dict[str, Any]
    ) -> list[ScoreRow]:
        """Rows of one slice."""
        values = np.stack([column.values[inside] for column in self.columns.values()])
        scores = cell_scores(
            values,
            [
                column.signature.having(slice=title.replace("|", "/") or "unnamed")
                for column in self.columns.values()
            ],
            clusters=[clusters[i] for i in inside],
            failed=failed,
            **options,
        )
        return [
            ScoreRow(label, score, title, digits=1, percent=True)
            for label, score in zip(self.columns, scores, strict=True)
        ]

    def part_rows(
        self, parts: list[str], clusters: Sequence[str], failed: dict[str, int], options: dict[str, Any]
    ) -> list[ScoreRow]:
        """Recall of the gold sources of each modality."""
        kinds = sorted({*parts, *failed} - {""}, key=slice_order)
        found = [ranking_part_recalls_at_k(self.ranked, parts, k) for k in self.cuts]
        empty = np.full(len(self.ranked), np.nan)
        rows = []
        for kind in kinds:
            scores = cell_scores(
                np.stack([one.get(kind, empty) for one in found]),
                [
                    self.signature(
                        "part_recall_at_k", gold="fractional", k=str(k), part=kind.replace("|", "/")
                    )
                    for k in self.cuts
                ],
                clusters=clusters,
                failed=failed.get(kind, 0),
                **options,
            )
            rows += [
                ScoreRow(f"R@{k}", score, f"{kind} sources", digits=1, percent=True)
                for k, score in zip(self.cuts, scores, strict=True)
            ]
        return rows

    def chance_rows(self, pool: int) -> list[ScoreRow]:
        """What a random order of the pool is expected to get, on the same questions."""
        columns = self.columns.values()
        scores = cell_scores(
            np.stack([c.chance(pool) for c in columns]), [c.signature for c in columns], resamples=0
        )
        return [
            ScoreRow(label, score, _RANDOM, chance=True, digits=1, percent=True)
            for label, score in zip(self.columns, scores, strict=True)
        ]

    def headline(self, names: Sequence[str]) -> dict[str, object]:
        """Means at every cut in per cent, as tables print them, and the ranks of every question's gold sources (0: not retrieved)."""
        ranked = self.ranked

        def mean(values: Floats) -> float:
            return as_percent(math.fsum(values.tolist()) / len(values))

        at: dict[str, Any] = {
            "recall": lambda k: ranking_recalls_at_k(ranked, k, "fractional"),
            "all_gold": lambda k: ranking_recalls_at_k(ranked, k, "all"),
            "hit": lambda k: ranking_recalls_at_k(ranked, k, "any"),
            "precision": lambda k: ranking_precisions_at_k(ranked, k),
            "ndcg": lambda k: ndcgs_at_k(ranked, k, self.gain),
        }
        firsts = np.searchsorted(ranked.question, np.arange(1, len(names)))
        return {
            **{name: {str(k): mean(of(k)) for k in self.cuts} for name, of in at.items()},
            "mrr": mean(reciprocal_ranks(ranked)),
            "map": mean(ranking_average_precisions(ranked)),
            "ranks": {
                name: part.tolist() for name, part in zip(names, np.split(ranked.rank, firsts), strict=True)
            },
        }
