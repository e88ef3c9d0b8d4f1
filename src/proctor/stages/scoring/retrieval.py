"""Scores of retrieval from files: gold sources and rankings, as tables or in TREC's formats."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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
from proctor.stages.scoring.files import Table, explained, missing_note, read_lines, read_table, some_names
from proctor.stages.scoring.options import RetrievalSettings
from proctor.stages.scoring.settings import Draws
from proctor.stages.scoring.tables import as_percent, defined, interval_plot

__all__ = [
    "MODALITY_ORDER",
    "Pool",
    "Question",
    "complete",
    "read_pool",
    "read_questions",
    "read_rankings",
    "score_retrieval",
]


# Files of questions with their gold sources, of rankings, and of the pool that is ranked.

_ID: Final = ("id", "question_id", "qid")

_GOLD: Final = ("gold", "gold_sources", "sources")

_MODALITIES: Final = ("gold_modalities", "modalities")

_COUNTS: Final = ("modality_counts", "M")

_RANKING: Final = ("ranking", "retrieved", "results")

_GAIN: Final = ("gain", "relevance")

MODALITY_ORDER: Final = ("text", "table", "image")

_QRELS: Final = (".qrels", ".trec")

_RUN: Final = (".run", ".trec")

_COUNT: Final = re.compile(r"\d{1,3}", re.ASCII)

"""Gold sources of one modality."""

_POOL_DIGITS: Final = 18

"""Larger pools do not fit into the whole numbers of NumPy."""


@dataclass(slots=True)
class Question:
    """A question of the reference."""

    gold: dict[str, float]
    repeated: int = 0
    modalities: dict[str, str] = field(default_factory=dict)
    style: str = ""
    cell: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Pool:
    """The sources that are ranked: how many, and where a table names them their modality and ids."""

    size: int
    modality: Mapping[str, str] = field(default_factory=dict)
    ids: frozenset[str] = frozenset()


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def read_questions(path: Path, cluster: str | None) -> tuple[dict[str, Question], int]:
    """Return the questions by id, and how many have no gold (possible in TREC's format only)."""
    if _suffix(path) in _QRELS:
        if cluster is not None:
            raise UserError(
                "qrels have no columns to cluster by.", where=str(path), hint="leave --cluster out"
            )
        return _read_qrels(path)
    table = read_table(path)
    ids = _unique_ids(table)
    golds = table.id_lists(*_GOLD)
    column = table.require(*_GOLD)
    modalities = table.id_lists(*_MODALITIES, spaces=True) if table.find(*_MODALITIES) else None
    questions = {}
    for row, (name, gold) in enumerate(zip(ids, golds, strict=True)):
        question = _question(table, row, column, gold)
        if modalities is not None:
            _add_modalities(table, row, question, gold, modalities[row])
        questions[name] = question
    _add_columns(table, ids, questions, cluster)
    return questions, 0


def _unique_ids(table: Table) -> list[str]:
    return table.unique(
        *_ID, twice=lambda name, _: (f"the question {name!r} is there twice.", "give every question one row")
    )


def _question(table: Table, row: int, column: str, gold: list[Any]) -> Question:
    found = Question({})
    seen: set[str] = set()
    for one in gold:
        name = _source_id(table, row, column, one)
        gain = _source_gain(table, row, column, one)
        if found.gold.setdefault(name, gain) != gain:
            raise table.wrong(
                row,
                column,
                f"the source {name!r} has two gains, {found.gold[name]:g} and {gain:g}.",
                "keep one of them",
            )
        if name in seen:
            found.repeated += 1
            continue
        seen.add(name)
        if isinstance(one, dict) and isinstance(one.get("modality"), str):
            found.modalities[name] = one["modality"]
    if not found.gold:
        raise table.wrong(
            row,
            column,
            "the question has no gold source.",
            "it has no recall: remove it, or name its sources",
        )
    return found


def _source_id(table: Table, row: int, column: str, one: Any) -> str:
    name = one.get("id") if isinstance(one, dict) else one
    if isinstance(name, str) and name:
        return name
    if isinstance(name, int) and not isinstance(name, bool):
        return str(name)
    raise table.wrong(row, column, f"the id of a source was expected, got {one!r:.60}.", "ids are texts")


def _source_gain(table: Table, row: int, column: str, one: Any) -> float:
    given = next((one[n] for n in _GAIN if n in one), 1.0) if isinstance(one, dict) else 1.0
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= sys.float_info.max:
        raise table.wrong(
            row, column, f"a gain above 0 was expected, got {given!r:.60}.", "leave sources of no use out"
        )
    return float(given)


def _add_modalities(table: Table, row: int, question: Question, gold: list[Any], kinds: list[Any]) -> None:
    column = table.require(*_MODALITIES)
    if len(kinds) != len(gold):
        raise table.wrong(
            row,
            column,
            f"{len(kinds)} modalities for {len(gold)} gold sources.",
            "give one each, in the same order",
        )
    for one, kind in zip(gold, kinds, strict=True):
        question.modalities.setdefault(_source_id(table, row, table.require(*_GOLD), one), str(kind))


def _add_columns(table: Table, ids: list[str], questions: dict[str, Question], cluster: str | None) -> None:
    for column, attribute in (("style", "style"), ("modality", "cell"), (cluster, "cluster")):
        if column is not None and (column in table or column == cluster):
            for name, value in zip(ids, table.texts(column), strict=True):
                setattr(questions[name], attribute, value)
    if table.find(*_COUNTS) and "modality" not in table:
        column = table.require(*_COUNTS)
        for row, (name, counts) in enumerate(zip(ids, table.id_lists(column), strict=True)):
            questions[name].cell = _combination(table, row, column, counts)


def _combination(table: Table, row: int, column: str, counts: list[Any]) -> str:
    """Name a triple of counts: (2, 1, 0) is ``text+text+table``."""
    if len(counts) != len(MODALITY_ORDER) or not all(_COUNT.fullmatch(str(n)) for n in counts):
        raise table.wrong(
            row, column, f"three counts (text, table, image) were expected, got {counts!r:.60}."
        )
    return _joined([kind for kind, n in zip(MODALITY_ORDER, counts, strict=True) for _ in range(int(n))])


def _joined(kinds: Sequence[str]) -> str:
    """Name a combination of modalities; many of one kind are counted: ``text×5+table``."""
    rank = {kind: number for number, kind in enumerate(MODALITY_ORDER)}
    parts = []
    for kind in sorted(set(kinds), key=lambda one: (rank.get(one, len(MODALITY_ORDER)), one)):
        n = list(kinds).count(kind)
        parts.append("+".join([kind] * n) if n <= 2 else f"{kind}×{n}")
    return "+".join(parts)


def complete(questions: Iterable[Question], pool: Pool | None) -> None:
    """Take modalities from the pool, and name the combination where the reference does not."""
    for question in questions:
        if pool:
            for source in question.gold:
                if source in pool.modality:
                    question.modalities.setdefault(source, pool.modality[source])
        if not question.cell and all(source in question.modalities for source in question.gold):
            question.cell = _joined([question.modalities[source] for source in question.gold])


def _read_qrels(path: Path) -> tuple[dict[str, Question], int]:
    """``question iteration source relevance``; a relevance of 0 or less is no gold."""
    questions: dict[str, Question] = {}
    judged: dict[str, dict[str, float]] = {}
    for number, parts in _trec_lines(path, 4, "question, iteration, source, relevance"):
        relevance = _trec_number(path, number, parts[3])
        known = judged.setdefault(parts[0], {})
        first = parts[2] not in known
        if known.setdefault(parts[2], relevance) != relevance:
            raise UserError(
                f"the relevance of {parts[2]!r} to question {parts[0]!r} is {relevance:g} here and "
                f"{known[parts[2]]:g} further up.",
                where=f"{path}, line {number}",
                hint="keep one of the lines",
            )
        if relevance <= 0:
            continue
        question = questions.setdefault(parts[0], Question({}))
        question.repeated += not first
        question.gold[parts[2]] = relevance
    if not questions:
        raise UserError(
            "no source is relevant to any question.", where=str(path), hint="relevance is above 0"
        )
    return questions, len(judged) - len(questions)


def read_rankings(path: Path) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return the rankings by question, and how many entries of each were left out as repeated.

    A question whose ranking is null or an empty cell has none; an empty list found nothing.
    """
    if _suffix(path) in _RUN:
        return _read_run(path)
    table = read_table(path)
    ids = _unique_ids(table)
    column = table.require(*_RANKING)
    return {
        name: [_source_id(table, row, column, one) for one in ranking]
        for row, (name, ranking) in enumerate(zip(ids, table.id_lists(column), strict=True))
        if table.columns[column][row] not in (None, "")
    }, {}


def _read_run(path: Path) -> tuple[dict[str, list[str]], dict[str, int]]:
    """``question Q0 source rank score tag``; ordered by falling score, equal ones by falling id, as trec_eval."""
    entries: dict[str, dict[str, float]] = {}
    repeated: dict[str, int] = {}
    for number, parts in _trec_lines(path, 6, "question, Q0, source, rank, score, tag"):
        scores = entries.setdefault(parts[0], {})
        score = _trec_number(path, number, parts[4])
        if parts[2] in scores:
            repeated[parts[0]] = repeated.get(parts[0], 0) + 1
            score = max(score, scores[parts[2]])
        scores[parts[2]] = score
    rankings = {
        name: [source for _, source in sorted(((s, d) for d, s in scores.items()), reverse=True)]
        for name, scores in entries.items()
    }
    return rankings, repeated


def _trec_lines(path: Path, columns: int, meaning: str) -> Iterator[tuple[int, list[str]]]:
    empty = True
    for number, line in enumerate(read_lines(path), start=1):
        parts = line.split()
        if not parts:
            continue
        if len(parts) != columns:
            raise UserError(
                f"{len(parts)} columns instead of {columns} ({meaning}).",
                where=f"{path}, line {number}",
                hint="the columns are separated by white space",
            )
        empty = False
        yield number, parts
    if empty:
        raise UserError("the file has no rows.", where=str(path), hint="nothing can be scored without them")


def _trec_number(path: Path, line: int, text: str) -> float:
    try:
        value = float(text)
        if not math.isfinite(value):
            raise ValueError
    except ValueError:
        raise UserError(
            f"a finite number was expected, got {text!r:.60}.", where=f"{path}, line {line}"
        ) from None
    return value


def read_pool(pool: str | None) -> Pool | None:
    """Read a number of sources, or a table of them."""
    if pool is None:
        return None
    if (digits := pool.strip()).isdecimal():
        if len(digits) > _POOL_DIGITS:
            raise UserError(f"a pool of a number with {len(digits)} digits is too large.", where="--pool")
        if int(digits) < 1:
            raise UserError("a pool has at least one source.", where="--pool")
        return Pool(int(digits))
    table = read_table(Path(pool))
    ids = table.names(*_ID)
    kinds = table.texts("modality") if "modality" in table else []
    return Pool(len(set(ids)), dict(zip(ids, kinds, strict=False)), frozenset(ids))


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
    heat = _heat("Recall by part of the benchmark and cut", titles, columns, by_cut, "part", "cut")
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
        yield _heat(f"{label} by style and modality", styles, kinds, means, "style", "modality")


def _heat(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Mapping[tuple[str, str], float | None],
    row_title: str,
    column_title: str,
) -> Matrix:
    cells = tuple(tuple(values.get((row, column)) for column in columns) for row in rows)
    return Matrix(title, tuple(rows), tuple(columns), cells, "values", row_title, column_title, high=100.0)


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
