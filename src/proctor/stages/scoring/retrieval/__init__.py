"""Options of ``proctor score retrieval``; what it computes is in ``score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import option
from proctor.stages.scoring.settings import ScoreSettings

__all__ = ["RetrievalSettings"]


class RetrievalSettings(ScoreSettings, frozen=True, kw_only=True):
    """Score rankings of sources: recall@k, all gold@k, nDCG, MRR, MAP; by style and combination of modalities.

    --gt is a table (JSON Lines, JSON, CSV, TSV) with id and gold (a list of source ids; a|b in CSV; or objects with
    id, modality, gain), optionally modalities (a list beside gold), modality (the name of a combination) and style;
    or TREC qrels (.qrels, .trec). --pred has id and ranking (a list of source ids, best first), or is a TREC run
    (.run, .trec; ordered by score, equal scores by falling id, as trec_eval does). Repeated ids are removed before
    the cut and counted. With --pool stands beside the scores what a random order would get. Tables are in per
    cent, every question weighing the same.

    Example: proctor score retrieval --gt items.jsonl --pred bm25.jsonl -k 5 -k 10 --pool sources.jsonl
    """

    gt: Annotated[Path, option("Questions with their gold sources.", metavar="FILE")]
    pred: Annotated[Path, option("A ranking for each question.", metavar="FILE")]
    k: Annotated[tuple[int, ...], option("Cut-off; several times.", "-k", ge=1)] = (5, 10)
    recall: Annotated[
        Literal["fractional", "all", "any"],
        option("Several gold sources: the share found, all or nothing, any one."),
    ] = "fractional"
    gain: Annotated[
        Literal["linear", "exponential"], option("Of nDCG with graded gold: the grade, or 2^grade - 1.")
    ] = "linear"
    missing: Annotated[
        Literal["failed", "zero"], option("Questions without a ranking: left out and counted, or 0.")
    ] = "failed"
    pool: Annotated[
        str | None,
        option("How many sources are ranked, or a table of them (id, modality).", metavar="N|FILE"),
    ] = None
    cluster: Annotated[str | None, option("Draw the bootstrap by this column of --gt.", metavar="COLUMN")] = (
        None
    )
