"""Scores of retrieval from files: gold sources and rankings, as tables or in TREC's formats."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from proctor.errors import UserError
from proctor.metrics.figure import Figure, Matrix
from proctor.metrics.names import near_miss_note
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
    rank_gold,
    ranking_average_precisions,
    ranking_part_recalls_at_k,
    ranking_precisions_at_k,
    ranking_recalls_at_k,
    reciprocal_ranks,
)
from proctor.metrics.score import Signature
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.files import explained, missing_note, some_names
from proctor.stages.scoring.retrieval import RetrievalSettings
from proctor.stages.scoring.retrieval.files import (
    MODALITY_ORDER,
    Pool,
    Question,
    complete,
    read_pool,
    read_questions,
    read_rankings,
)
from proctor.stages.scoring.settings import Draws
from proctor.stages.scoring.tables import as_percent, defined, interval_plot

__all__ = ["score_retrieval"]


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
        self, title: str, inside: list[int], clusters: Sequence[str], failed: int, draws: Draws
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
            **draws,
        )
        return [
            ScoreRow(label, score, title, digits=1, percent=True)
            for label, score in zip(self.columns, scores, strict=True)
        ]

    def part_rows(
        self, parts: list[str], clusters: Sequence[str], failed: dict[str, int], draws: Draws
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
                **draws,
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


def retrieval_plots(
    rows: Sequence[ScoreRow],
    measures: Measures,
    questions: Mapping[str, Question],
    names: Sequence[str],
    pool: Pool | None,
) -> tuple[Figure, ...]:
    """Recall by part of the benchmark, by cut, and by style and modality."""
    label = f"R@{measures.cuts[-1]}"
    shown = [row for row in rows if row.metric == label and not row.chance]
    chance = next((row.shown.value for row in rows if row.metric == label and row.chance), None)
    plot = interval_plot(
        f"{label} by part of the benchmark",
        ((row.slice, row.shown) for row in shown),
        chance=[chance] * len(shown) if pool else (),
        scale=(0.0, 100.0),
    )
    titles = list(dict.fromkeys(row.slice for row in shown))
    columns = [f"R@{k}" for k in measures.cuts]
    by_cut = {(row.slice, row.metric): defined(row.shown.value) for row in rows if not row.chance}
    heat = Matrix(
        title="Recall by part of the benchmark and cut",
        rows=tuple(titles),
        columns=tuple(columns),
        cells=tuple(tuple(by_cut.get((title, column)) for column in columns) for title in titles),
        kind="values",
        row_title="part",
        column_title="cut",
        high=100.0,
    )
    return (plot, heat, *_crossed(measures, questions, names, label))


def _crossed(
    measures: Measures, questions: Mapping[str, Question], names: Sequence[str], label: str
) -> Iterator[Matrix]:
    """Recall by style and combination of modalities, if the reference has both."""
    cells: dict[tuple[str, str], list[float]] = {}
    for name, value in zip(names, measures.columns[label].values.tolist(), strict=True):
        question = questions[name]
        if question.style and question.cell:
            cells.setdefault((question.style, question.cell), []).append(100.0 * value)
    if cells:
        styles = sorted({style for style, _ in cells})
        kinds = sorted({kind for _, kind in cells}, key=slice_order)
        means = {key: math.fsum(values) / len(values) for key, values in cells.items()}
        yield Matrix(
            title=f"{label} by style and modality",
            rows=tuple(styles),
            columns=tuple(kinds),
            cells=tuple(tuple(means.get((style, kind)) for kind in kinds) for style in styles),
            kind="values",
            row_title="style",
            column_title="modality",
            high=100.0,
        )


def score_retrieval(settings: RetrievalSettings) -> ScoreTable:
    """Score rankings against gold sources: all questions, by style, by combination of modalities.

    Raises:
        UserError: if a file or an option cannot be used.
    """
    gt, pred, missing, pool = settings.gt, settings.pred, settings.missing, settings.pool
    cuts = sorted(set(settings.k))
    if not cuts or cuts[0] < 1:
        raise UserError("k must be at least 1.", hint="as in -k 5 -k 10")
    questions, without_gold = read_questions(gt, settings.cluster)
    rankings, repeated_ranked = read_rankings(pred)
    known = read_pool(pool)
    shared = sorted(questions.keys() & rankings.keys())
    if not shared:
        raise UserError(
            f"no question of the reference has a ranking; the reference has {some_names(questions)}, "
            f"the prediction {some_names(rankings)}.",
            where=str(pred),
            hint="use the same question ids in both",
        )
    names = sorted(questions) if missing == "zero" else shared
    complete(questions.values(), known)
    with explained(gt):
        gold: list[Mapping[Hashable, float]] = [dict(questions[name].gold.items()) for name in names]
        ranked = rank_gold(gold, [rankings.get(name, []) for name in names])
    base = {
        "cluster": (settings.cluster or "question").replace("|", "/"),
        "missing": missing,
        "repeated": "first",
    }
    with explained(gt):
        measures = Measures(ranked, cuts, settings.recall, settings.gain, base)
    absent = [name for name in questions if name not in rankings] if missing == "failed" else []
    slices = question_slices(questions, names, absent)
    clusters = [questions[name].cluster or name for name in names]

    rows: list[ScoreRow] = []
    for title, (inside, failed) in slices.items():
        rows += measures.rows(title, inside, clusters, failed, settings.resampling)
    rows += measures.part_rows(
        [
            questions[names[q]].modalities.get(str(s), "")
            for q, s in zip(ranked.question, ranked.source, strict=True)
        ],
        clusters,
        absent_parts(questions, absent),
        settings.resampling,
    )
    if known:
        with explained(f"--pool {pool}"):
            rows += measures.chance_rows(known.size)
    return ScoreTable(
        family="retrieval",
        rows=tuple(rows),
        headline=measures.headline(names),
        counts={
            "questions": len(names),
            "questions without a ranking": len(questions.keys() - rankings.keys()),
            "rankings of unknown questions": len(rankings.keys() - questions.keys()),
            "questions without gold": without_gold,
            "gold sources": len(ranked.rank),
            "repeated gold sources": sum(questions[name].repeated for name in names),
            "repeated ranked sources": int(ranked.repeated_ranked.sum())
            + sum(repeated_ranked.get(name, 0) for name in names),
            **_pool_counts(known, questions, names, rankings),
        },
        notes=tuple(
            note
            for note in (
                missing_note("questions", "ranking", questions.keys() - rankings.keys(), missing == "zero"),
                near_miss_note(questions, rankings, "questions"),
                *_notes(ranked, cuts, known, without_gold),
            )
            if note
        ),
        figures=retrieval_plots(rows, measures, questions, names, known),
    )


def _pool_counts(
    pool: Pool | None,
    questions: Mapping[str, Question],
    names: Sequence[str],
    rankings: Mapping[str, Sequence[str]],
) -> dict[str, int]:
    if pool is None:
        return {}
    counts = {"sources in the pool": pool.size}
    if pool.ids:
        counts["gold sources not in the pool"] = len(
            {source for name in names for source in questions[name].gold} - pool.ids
        )
        counts["ranked sources not in the pool"] = len(
            {source for name in names for source in rankings.get(name, ())} - pool.ids
        )
    return counts


def _notes(
    ranked: RankedGold,
    cuts: Sequence[int],
    pool: Pool | None,
    without_gold: int,
) -> Iterator[str]:
    last = cuts[-1]
    shallow = int((ranked.retrieved < last).sum())
    if shallow:
        yield f"{shallow:,} rankings are shorter than {last}; what is not there was not found."
    beyond = int((ranked.needed > last).sum())
    if beyond:
        yield f"{beyond:,} questions need more than {last} sources, so their recall@{last} cannot reach 100."
    if without_gold:
        yield f"{without_gold:,} questions have no relevant source and were left out."
    if pool is None:
        yield "no chance level: give --pool (a number or a table of sources) for what a random ranking would get."
