"""Recall of retrieval runs by style and modality, as SMMQG prints it and read strictly, with an interval for each cell.

Published reading (SMMQG): the share of a question's gold sources among the first k, averaged over the questions
of a cell, times 100. Beside it ``all-gold@k`` (every gold source among the first k) and, for each modality, the share of the
gold sources of that modality.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec
import numpy as np

from proctor.corpus.collection import Corpus
from proctor.errors import UserError
from proctor.exam.kinds.documents_question import document_slices, gold_of
from proctor.exam.question import Question, check_questions
from proctor.exam.retrieval import CHOOSERS, Ranking, RetrievalRun
from proctor.exam.table import ScoreRow, row_of
from proctor.metrics.errors import MetricInputError
from proctor.metrics.retrieval import (
    Floats,
    RankedGold,
    cell_scores,
    rank_gold,
    ranking_part_recalls_at_k,
    ranking_recalls_at_k,
)
from proctor.metrics.score import Score, Signature

__all__ = ["CUTS", "RetrievalTable", "score_retrieval"]

CUTS: Final = (5, 10)
"""Cut-offs of SMMQG's tables."""

_NAMED: Final = 3
"""Questions that are named in a line; the others are counted."""


class RetrievalTable(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Recall of several retrievers on the same questions.

    Attributes:
        cells: for each retriever and slice the columns ``recall@k``, ``all-gold@k`` and ``recall@k MODALITY``.
        recalls: for each retriever ``recall@k`` of each question (0 to 1), by cut and question; for concurrence and tests.
        runs: signature of each retriever's run.
        questions: how many are scored.
        counts: what was found odd: gold sources named by an alias or not in the corpus, repeated entries of rankings.
        lacking: questions of which the corpus lacks a gold source, in order; no retriever can find them, so they are in no score.
        notes: what to beware of.
    """

    cells: tuple[ScoreRow, ...]
    recalls: Mapping[str, Mapping[str, Mapping[str, float]]]
    runs: Mapping[str, str]
    questions: int
    counts: Mapping[str, int] = {}
    lacking: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """What is scored and what is not, in one line."""
        if not self.lacking:
            return f"{self.questions:,} questions are scored."
        n = len(self.lacking)
        named = ", ".join(self.lacking[:_NAMED]) + (f" and {n - _NAMED:,} more" if n > _NAMED else "")
        return (
            f"{self.questions:,} of {self.questions + n:,} questions are scored; {n:,} not, since the corpus lacks a source that they "
            f"cite: {named}."
        )

    def cell(self, system: str, measure: str, slice_: str = "all") -> ScoreRow:
        """Return one cell.

        Raises:
            KeyError: if there is none.
        """
        for cell in self.cells:
            if (cell.system, cell.measure, cell.slice) == (system, measure, slice_):
                return cell
        raise KeyError((system, measure, slice_))


def score_retrieval(
    questions: Sequence[Question],
    runs: Sequence[RetrievalRun],
    corpus: Corpus,
    *,
    cuts: Sequence[int] = CUTS,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> RetrievalTable:
    """Score retrieval runs.

    Ids of duplicates count as the source that stands for them, in gold and in rankings. A question of which the corpus lacks
    a gold source can be found by nobody: it is in no score, and counted beside them. A failed ranking is left out of the
    mean and counted.

    Args:
        questions: each with gold.
        runs: one a retriever, over these questions.
        corpus: of the sources.
        cuts: k of recall@k.
        confidence: of the intervals (BCa bootstrap over questions).
        resamples: 0 leaves the intervals out.
        seed: of the draws.

    Raises:
        UserError: if there are no questions or runs, a question has no gold, no question has all its gold in the corpus, two
            runs have one name, or a run does not fit the questions.
    """
    asked = list(questions)
    check_questions(asked)
    if without := [question.id for question in asked if not gold_of(question)]:
        raise UserError(
            "the question has no gold source, so it has no recall.",
            where=without[0],
            hint="leave it out, or name the sources that it needs",
        )
    if not asked or not runs:
        raise UserError(
            "there is nothing to score.", hint="give questions with gold sources, and runs over them"
        )
    if len({run.retriever for run in runs}) < len(runs):
        raise UserError("two runs have the same retriever.", hint="give each run its own name")
    if not cuts or min(cuts) < 1:
        raise UserError(f"cut-offs are whole numbers from 1 on, got {list(cuts)}.")
    everything, counts = asked, _gold_counts(asked, [_resolved(gold_of(q), corpus) for q in asked], corpus)
    asked = [q for q in everything if all(id_ in corpus for id_ in _resolved(gold_of(q), corpus))]
    there = {q.id for q in asked}
    lacking = tuple(q.id for q in everything if q.id not in there)
    if not asked:
        raise UserError(
            f"the corpus lacks sources of all {len(everything):,} questions, so nothing can be found.",
            where=everything[0].id,
            hint="build the corpus with the sources that the questions cite (such as --min-text 0)",
        )
    gold = [_resolved(gold_of(question), corpus) for question in asked]
    cells: list[ScoreRow] = []
    recalls: dict[str, dict[str, dict[str, float]]] = {}
    notes: list[str] = []
    for run in runs:
        by_id = run.require_one_each(everything)
        kept = [place for place, question in enumerate(asked) if by_id[question.id].failure is None]
        ranked = _ranked(asked, gold, by_id, kept, corpus)
        counts["repeated in rankings"] += int(ranked.repeated_ranked.sum())
        measures = dict(_measures(ranked, corpus, cuts))
        table = _spread(measures, kept, len(asked))
        score = partial(cell_scores, confidence=confidence, resamples=resamples, seed=seed)
        cells += _cells(run, asked, table, kept, score, lacking=bool(lacking))
        recalls[run.retriever] = {
            f"recall@{k}": {asked[place].id: float(table[f"recall@{k}"][place]) for place in kept}
            for k in cuts
        }
        notes += _run_notes(run, asked, len(asked) - len(kept), max(cuts))
    return RetrievalTable(
        cells=tuple(cells),
        recalls=recalls,
        runs={run.retriever: run.signature for run in runs},
        questions=len(asked),
        counts={name: n for name, n in sorted(counts.items()) if n},
        lacking=lacking,
        notes=tuple(notes),
    )


def _resolved(ids: Sequence[str], corpus: Corpus) -> tuple[str, ...]:
    """Replace duplicates by what stands for them, each once, in order."""
    return tuple(dict.fromkeys(corpus.aliases.get(id_, id_) for id_ in ids))


def _gold_counts(
    questions: Sequence[Question], gold: Sequence[Sequence[str]], corpus: Corpus
) -> Counter[str]:
    named = [id_ for question in questions for id_ in gold_of(question)]
    return Counter(
        {
            "gold sources": sum(map(len, gold)),
            "gold sources named by an alias": sum(id_ in corpus.aliases for id_ in named),
            "gold sources named twice": len(named) - sum(map(len, gold)),
            "gold sources not in the corpus": sum(id_ not in corpus for ids in gold for id_ in ids),
            "questions with gold not in the corpus": sum(any(i not in corpus for i in ids) for ids in gold),
        }
    )


def _ranked(
    questions: Sequence[Question],
    gold: Sequence[Sequence[str]],
    by_id: Mapping[str, Ranking],
    kept: Sequence[int],
    corpus: Corpus,
) -> RankedGold:
    rankings = [[corpus.aliases.get(i, i) for i in by_id[questions[place].id].ids] for place in kept]
    try:
        return rank_gold([gold[place] for place in kept], rankings)
    except MetricInputError as error:
        raise UserError(f"{error.message}.", hint=error.hint) from None


def _measures(ranked: RankedGold, corpus: Corpus, cuts: Sequence[int]) -> Iterator[tuple[str, Floats]]:
    """Yield every column with the value of each question that was ranked, ``nan`` where it does not belong to it."""
    parts = [found.modality for id_ in ranked.source if (found := corpus.get(str(id_))) is not None]
    for k in cuts:
        yield f"recall@{k}", ranking_recalls_at_k(ranked, k)
        yield f"all-gold@{k}", ranking_recalls_at_k(ranked, k, "all")
        for part, values in ranking_part_recalls_at_k(ranked, parts, k).items():
            yield f"recall@{k} {part}", values


def _spread(measures: Mapping[str, Floats], kept: Sequence[int], total: int) -> dict[str, Floats]:
    """Put the values of the ranked questions into their places among all; ``nan`` elsewhere."""
    found = {}
    for name, values in measures.items():
        row = np.full(total, np.nan)
        row[list(kept)] = values
        found[name] = row
    return found


def _cells(
    run: RetrievalRun,
    questions: Sequence[Question],
    table: Mapping[str, Floats],
    kept: Sequence[int],
    score: Callable[..., tuple[Score, ...]],
    *,
    lacking: bool,
) -> Iterator[ScoreRow]:
    ranked = set(kept)
    place_of = {question.id: place for place, question in enumerate(questions)}
    for name, (kind, ids) in document_slices(questions).items():
        places = [place_of[id_] for id_ in ids]
        there = [place for place in places if place in ranked]
        failed = len(places) - len(there)
        columns = [m for m, row in table.items() if not there or not np.isnan(row[there]).all()]
        values = np.array([table[m][there] for m in columns], dtype=np.float64).reshape(
            len(columns), len(there)
        )
        signatures = [_signature(m, name, run, lacking=lacking) for m in columns]
        scores = score(values, signatures, failed=failed)
        for measure, made in zip(columns, scores, strict=True):
            yield row_of(made, measure, name, kind, scale=100.0, system=run.retriever)


def _signature(measure: str, slice_: str, run: RetrievalRun, *, lacking: bool) -> Signature:
    column, _, part = measure.partition(" ")
    kind, _, k = column.partition("@")
    name = "part_recall_at_k" if part else {"recall": "recall_at_k", "all-gold": "all_gold_at_k"}[kind]
    of_run = Signature.parse(run.signature).parameters
    parameters = {
        "cluster": "question",
        "corpus": of_run.get("corpus", "unknown"),
        "gold": "all" if kind == "all-gold" else "fractional",
        "k": k,
        "missing": "failed",
        "repeated": "first",
        "retriever": of_run.get("retriever", run.retriever.replace("|", "_")),
        "scale": "100",
        "slice": slice_.replace("|", "_"),
    }
    if lacking:
        parameters["lacking"] = "left_out"  # questions of which the corpus lacks a gold source
    for key in ("pool", "score"):
        if key in of_run:
            parameters[key] = of_run[key]
    return Signature(name, parameters | ({"part": part} if part else {}))


def _run_notes(run: RetrievalRun, questions: Sequence[Question], failed: int, largest: int) -> Iterator[str]:
    chosen = sum(
        not set(run.embedders).isdisjoint(q.provenance.get("retriever", "").split(CHOOSERS))
        for q in questions
    )
    if chosen:
        yield (
            f"{run.retriever}: favoured, because the same search chose the sources of {chosen:,} of "
            f"{len(questions):,} questions"
        )
    if failed:
        yield f"{run.retriever}: {failed:,} of {len(questions):,} rankings failed and are in no mean"
    depth = Signature.parse(run.signature).parameters.get("depth", "")
    if depth.isdigit() and int(depth) < largest:
        yield f"{run.retriever}: rankings hold {depth} sources, fewer than the largest cut-off {largest}"
