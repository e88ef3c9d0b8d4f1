"""Recall and precision in the first k places, and mean reciprocal rank."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.errors import MetricInputError, require_texts
from proctor.metrics.retrieval.ranking import Floats, Gold, RankedGold, rank_gold
from proctor.metrics.score import Score, Signature

__all__ = [
    "RECALL_READINGS",
    "RecallReading",
    "precision_at_k",
    "ranking_part_recalls_at_k",
    "ranking_precisions_at_k",
    "ranking_recall_at_k",
    "ranking_recalls_at_k",
    "reciprocal_rank",
    "reciprocal_ranks",
    "require_cut",
    "rows_found",
]

RecallReading = Literal["fractional", "all", "any"]
RECALL_READINGS: Final[tuple[RecallReading, ...]] = get_args(RecallReading)


def require_cut(k: object) -> None:
    """Make sure that a cut is a whole number of at least 1."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise MetricInputError(f"k must be a whole number of at least 1, got {k!r}")


def rows_found(ranked: RankedGold, k: int | None) -> NDArray[np.bool_]:
    """Rows whose source is among the first k (anywhere, if k is None)."""
    if k is None:
        return ranked.rank > 0
    require_cut(k)
    return (ranked.rank > 0) & (ranked.rank <= k)


def ranking_recalls_at_k(ranked: RankedGold, k: int, reading: RecallReading = "fractional") -> Floats:
    """Recall@k of each question, 0 to 1; shape (questions,).

    Args:
        ranked: from ``rank_gold``.
        k: how many of the first sources count; a shorter ranking is fine.
        reading: ``fractional``, ``all`` or ``any``, see the package.

    Raises:
        MetricInputError: if k or the reading is not valid.
    """
    hits = ranked.per_question(rows_found(ranked, k))
    if reading == "fractional":
        return np.asarray(hits / ranked.needed, dtype=np.float64)
    if reading == "all":
        return np.asarray(hits == ranked.needed, dtype=np.float64)
    if reading == "any":
        return np.asarray(hits > 0, dtype=np.float64)
    raise MetricInputError(f"a reading of recall is one of {', '.join(RECALL_READINGS)}, got {reading!r}")


def ranking_recall_at_k(
    gold: Gold, ranking: Sequence[Hashable], k: int, reading: RecallReading = "fractional"
) -> Score:
    """Recall@k of one question: |gold ∩ first k| / |gold| by default; see ``ranking_recalls_at_k``.

    Example:
        >>> float(ranking_recall_at_k(["a", "b"], ["a", "x", "a", "b"], k=2))
        0.5
    """
    signature = Signature(
        "recall_at_k", {"gold": reading, "interval": "none", "k": str(k), "repeated": "first"}
    )
    return Score(float(ranking_recalls_at_k(rank_gold([gold], [ranking]), k, reading)[0]), signature, 1)


def ranking_part_recalls_at_k(ranked: RankedGold, parts: Sequence[str], k: int) -> dict[str, Floats]:
    """Recall@k of the gold sources of one kind (modality), for each kind.

    Args:
        ranked: from ``rank_gold``.
        parts: the kind of each row of ``ranked``.
        k: as in ``ranking_recalls_at_k``.

    Returns:
        For each kind, sorted by name, the share found in each question; ``nan`` (to be left out, not to be
        averaged) for a question that needs no source of this kind.

    Raises:
        MetricInputError: if ``parts`` is not parallel to the rows.
    """
    parts = require_texts(parts, "kinds of sources")
    if len(parts) != len(ranked.rank):
        raise MetricInputError(f"{len(parts)} kinds for {len(ranked.rank)} gold sources")
    hits, names = rows_found(ranked, k), np.asarray(parts, dtype=np.str_)
    result = {}
    for part in sorted(set(parts)):
        rows = names == part
        needed = ranked.per_question(rows)
        result[part] = np.divide(
            ranked.per_question(hits & rows), needed, out=np.full(len(ranked), np.nan), where=needed > 0
        )
    return result


def ranking_precisions_at_k(ranked: RankedGold, k: int) -> Floats:
    """Precision@k of each question: gold sources among the first k, divided by k even if the ranking is shorter.

    Args:
        ranked: from ``rank_gold``, which removes repeated sources.
        k: cut.

    Returns:
        Between 0 and 1, one number a question; no more than (gold sources) / k can be reached. Empty without
        questions.

    Raises:
        MetricInputError: if k is not a whole number from 1 on.
    """
    return ranked.per_question(rows_found(ranked, k)) / k


def precision_at_k(gold: Gold, ranking: Sequence[Hashable], k: int) -> float:
    """Precision@k of one question; see ``ranking_precisions_at_k``."""
    return float(ranking_precisions_at_k(rank_gold([gold], [ranking]), k)[0])


def reciprocal_ranks(ranked: RankedGold, k: int | None = None) -> Floats:
    """1 / rank of the first gold source found, of each question; 0 where none is (among the first k).

    Args:
        ranked: from ``rank_gold``, which removes repeated sources.
        k: cut; None looks at the whole ranking.

    Returns:
        Between 0 and 1, one number a question, whose mean is the MRR. Empty without questions.

    Raises:
        MetricInputError: if k is neither None nor a whole number from 1 on.
    """
    best = np.full(len(ranked), np.inf)
    found = rows_found(ranked, k)
    np.minimum.at(best, ranked.question[found], ranked.rank[found].astype(np.float64))
    return 1.0 / best


def reciprocal_rank(gold: Gold, ranking: Sequence[Hashable], k: int | None = None) -> float:
    """Reciprocal rank of one question; the mean over questions is the MRR."""
    return float(reciprocal_ranks(rank_gold([gold], [ranking]), k)[0])
