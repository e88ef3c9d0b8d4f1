"""Were the sources found that a question needs: recall@k with several gold sources, nDCG, MRR, MAP.

Conventions: a question has a set of *gold* sources, a system gives it a *ranking* (best first). Both are
de-duplicated before anything is counted (the first mention keeps its place), and how often that happened is kept.
A ranking may be shorter than k, or empty (recall 0); gold may not be empty: a question that needs nothing has no
recall. Everything is computed per question, between 0 and 1, from one table, ``RankedGold``: the rank of every gold
source. A cell of a results table (``cell_score``) is the mean over its questions times 100, each question weighing
the same however many sources it needs.

Recall with several gold sources has three readings, and a paper that does not say which cannot be compared with:

* ``fractional`` (default): the share of the gold sources among the first k. SMMQG's tables are only attainable
  with this one (see ``attainable_denominators``), though the paper never says so.
* ``all``: 1 only when every gold source is among the first k ("all gold@k", strict).
* ``any``: 1 when at least one is ("hit@k").

References: Wu et al. 2024, *SMMQG*, section 5 (recall@5 and @10 by question style and modality); Järvelin and
Kekäläinen 2002 (nDCG); Voorhees 1999 (MRR); Buckley and Voorhees 2000 (MAP). nDCG, MRR and MAP agree with trec_eval.
"""

from __future__ import annotations

from proctor.metrics.retrieval.cells import cell_score, cell_scores
from proctor.metrics.retrieval.chance import (
    expected_average_precisions,
    expected_ndcgs_at_k,
    expected_precisions_at_k,
    expected_recalls_at_k,
    expected_reciprocal_ranks,
)
from proctor.metrics.retrieval.entries import METRICS
from proctor.metrics.retrieval.gains import (
    average_precision,
    ndcg_at_k,
    ndcgs_at_k,
    ranking_average_precisions,
)
from proctor.metrics.retrieval.printed import attainable_cells, attainable_denominators
from proctor.metrics.retrieval.ranking import Floats, Gain, Gold, RankedGold, rank_gold
from proctor.metrics.retrieval.recalls import (
    RECALL_READINGS,
    RecallReading,
    precision_at_k,
    ranking_part_recalls_at_k,
    ranking_precisions_at_k,
    ranking_recall_at_k,
    ranking_recalls_at_k,
    reciprocal_rank,
    reciprocal_ranks,
)

__all__ = [
    "METRICS",
    "RECALL_READINGS",
    "Floats",
    "Gain",
    "Gold",
    "RankedGold",
    "RecallReading",
    "attainable_cells",
    "attainable_denominators",
    "average_precision",
    "cell_score",
    "cell_scores",
    "expected_average_precisions",
    "expected_ndcgs_at_k",
    "expected_precisions_at_k",
    "expected_recalls_at_k",
    "expected_reciprocal_ranks",
    "ndcg_at_k",
    "ndcgs_at_k",
    "precision_at_k",
    "rank_gold",
    "ranking_average_precisions",
    "ranking_part_recalls_at_k",
    "ranking_precisions_at_k",
    "ranking_recall_at_k",
    "ranking_recalls_at_k",
    "reciprocal_rank",
    "reciprocal_ranks",
]
