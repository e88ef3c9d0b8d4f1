"""Options of ``proctor score agreement``; what it computes is in ``score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import argument, option
from proctor.stages.scoring.settings import ScoreSettings

__all__ = ["AgreementSettings"]


class AgreementSettings(ScoreSettings, frozen=True, kw_only=True):
    """Compare annotators, pair by pair and all together.

    FILE has one row for each unit and annotator (columns 'unit' and 'annotator'), and by kind:

    labels: 'label'; an empty one is missing, and so is what --missing names. Gives raw and specific agreement, prevalence, Cohen's kappa (weighted too
    from --level ordinal on), Krippendorff's alpha, by slice and by pair, and the mean of the pairs.

    orders: 'order', a list of step ids, first step first: a JSON array, or in CSV ids with spaces or | between. Gives
    kappa on pairs of steps, which is Kendall's tau.

    alternatives: 'gold', the authored order, and 'orders', the list of other orders that the annotator accepts, may be
    empty; in CSV '1 2 3' and '2 1 3|1 3 2'. Gives Algorithm 1 of Wu et al. 2022, Jaccard indices, alpha on pairs of steps, and the
    reference orders of the majority.

    segments: columns 'recording', 'annotator', 'step', 'start' and 'end' (seconds), one row a segment. Gives IoU per
    step, boundary errors and detection F1.

    A column 'recording' (or 'cluster') is what the intervals draw, since judgements of one recording are not
    independent. Put everything that was judged into the file: agreement on accepted units only says nothing.

    Example: proctor score agreement verdicts.csv --slice type --report agreement.html
    """

    file: Annotated[Path, argument("CSV, TSV, JSONL or JSON array, also .gz.", metavar="FILE")]
    kind: Annotated[
        Literal["labels", "orders", "alternatives", "segments"], option("What the annotators gave.")
    ] = "labels"
    level: Annotated[
        Literal["nominal", "ordinal", "interval", "ratio"],
        option("Of labels: how far two of them are apart."),
    ] = "nominal"
    order: Annotated[
        str, option("Labels from low to high, for --level ordinal on words.", metavar="LOW,…,HIGH")
    ] = ""
    missing: Annotated[
        tuple[str, ...], option("A label that stands for none, such as NA (repeatable).", metavar="LABEL")
    ] = ()
    cluster: Annotated[
        str | None,
        option(
            "What the intervals draw together; 'cluster' or 'recording' if the file has it, else the unit.",
            metavar="COLUMN",
        ),
    ] = None
    slices: Annotated[
        tuple[str, ...], option("Score each of its values too (repeatable).", "--slice", metavar="COLUMN")
    ] = ()
    semantics: Annotated[
        Literal["order", "ranks"], option("Lists of steps are orders, or ranks of the steps 0 to N-1.")
    ] = "order"
    matching: Annotated[Literal["greedy", "hungarian"], option("Of alternative orders.")] = "greedy"
    penalty: Annotated[
        Literal["union", "tau"],
        option("Of an alternative order without a partner, against the authored order."),
    ] = "union"
    pooling: Annotated[
        Literal["pooled", "pair_mean"], option("All scores of a unit alike, or all its pairs of annotators.")
    ] = "pooled"
    quorum: Annotated[int, option("Annotators that it takes to vote for alternative orders.", ge=1)] = 1
    thresholds: Annotated[
        tuple[float, ...],
        option("IoU at which two segments are the same (repeatable).", "--threshold"),
    ] = (0.1, 0.25, 0.5)
    resamples: Annotated[int, option("Draws of the bootstrap; 0 leaves the intervals out.", ge=0)] = 2_000
