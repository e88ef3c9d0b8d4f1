"""Scores of retrieval from files: gold sources and rankings, as tables or in TREC's formats."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from proctor.errors import UserError
from proctor.metrics.names import near_miss_note
from proctor.metrics.retrieval import Gain, RankedGold, RecallReading, rank_gold
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.files import explained, missing_note, some_names
from proctor.stages.scoring.retrieval_figures import retrieval_plots
from proctor.stages.scoring.retrieval_files import (
    Pool,
    Question,
    complete,
    read_pool,
    read_questions,
    read_rankings,
)
from proctor.stages.scoring.retrieval_rows import Measures, absent_parts, question_slices

__all__ = ["Missing", "score_retrieval"]


Missing = Literal["failed", "zero"]


def score_retrieval(
    gt: Path,
    pred: Path,
    *,
    k: Sequence[int] = (5, 10),
    recall: RecallReading = "fractional",
    gain: Gain = "linear",
    missing: Missing = "failed",
    pool: str | None = None,
    cluster: str | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> ScoreTable:
    """Score rankings against gold sources: all questions, by style, by combination of modalities.

    Args:
        gt: table of questions (id, gold; optionally modalities, style, modality), or TREC qrels.
        pred: table (id, ranking), or a TREC run.
        k: cuts.
        recall: reading of recall with several gold sources.
        gain: of nDCG, for graded gold.
        missing: questions without a ranking are ``failed`` (left out and counted) or ``zero``.
        pool: how many sources are ranked, as a number, or a table of them (id, modality); gives the chance row.
        cluster: column of the reference that the bootstrap draws by, questions if None.
        confidence: of the intervals.
        resamples: 0 leaves the intervals out.
        seed: of the bootstrap.

    Raises:
        UserError: if a file cannot be read or scored.
    """
    cuts = sorted(set(k))
    if not cuts or cuts[0] < 1:
        raise UserError("k must be at least 1.", hint="as in -k 5 -k 10")
    questions, without_gold = read_questions(gt, cluster)
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
        "cluster": (cluster or "question").replace("|", "/"),
        "missing": missing,
        "repeated": "first",
    }
    with explained(gt):
        measures = Measures(ranked, cuts, recall, gain, base)
    absent = [name for name in questions if name not in rankings] if missing == "failed" else []
    slices = question_slices(questions, names, absent)
    options: dict[str, Any] = {"confidence": confidence, "resamples": resamples, "seed": seed}
    clusters = [questions[name].cluster or name for name in names]

    rows: list[ScoreRow] = []
    for title, (inside, failed) in slices.items():
        rows += measures.rows(title, inside, clusters, failed, options)
    rows += measures.part_rows(
        [
            questions[names[q]].modalities.get(str(s), "")
            for q, s in zip(ranked.question, ranked.source, strict=True)
        ],
        clusters,
        absent_parts(questions, absent),
        options,
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
