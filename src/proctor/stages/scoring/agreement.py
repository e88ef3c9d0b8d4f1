"""Agreement of annotators from one file: labels, orders, alternative orders, or segments in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, get_args

from proctor.errors import UserError
from proctor.metrics.agreement import require_resampling
from proctor.metrics.krippendorff import Level
from proctor.metrics.order_agreement import Matching, Penalty, Pooling
from proctor.metrics.segment_agreement import DETECTION_THRESHOLDS
from proctor.metrics.table import ScoreTable
from proctor.stages.scoring.agreement_files import (
    Semantics,
    read_alternatives,
    read_labels,
    read_orders,
    read_segments,
)
from proctor.stages.scoring.agreement_labels import score_labels
from proctor.stages.scoring.agreement_orders import score_alternatives, score_orders
from proctor.stages.scoring.agreement_rows import Resampling
from proctor.stages.scoring.agreement_segments import score_segments
from proctor.stages.scoring.files import explained, read_table

__all__ = ["KINDS", "Kind", "Resampling", "Semantics", "score_agreement"]

Kind = Literal["labels", "orders", "alternatives", "segments"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_OPTIONS: Final[Mapping[str, tuple[object, tuple[Kind, ...]]]] = {
    "level": ("nominal", ("labels",)),
    "order": ((), ("labels",)),
    "missing": ((), ("labels",)),
    "cluster": (None, ("labels", "orders", "alternatives")),
    "semantics": ("order", ("orders", "alternatives")),
    "matching": ("greedy", ("alternatives",)),
    "penalty": ("union", ("alternatives",)),
    "pooling": ("pooled", ("alternatives",)),
    "quorum": (1, ("alternatives",)),
    "thresholds": (DETECTION_THRESHOLDS, ("segments",)),
}
"""Of options that not all kinds have: the default, and the kinds."""


def score_agreement(
    path: Path,
    kind: Kind = "labels",
    *,
    level: Level = "nominal",
    order: Sequence[str] = (),
    missing: Sequence[str] = (),
    cluster: str | None = None,
    slices: Sequence[str] = (),
    semantics: Semantics = "order",
    matching: Matching = "greedy",
    penalty: Penalty = "union",
    pooling: Pooling = "pooled",
    quorum: int = 1,
    thresholds: Sequence[float] = DETECTION_THRESHOLDS,
    resampling: Resampling | None = None,
) -> ScoreTable:
    """Score how far the annotators of a file agree.

    Args:
        path: a table with one row for each annotator and unit (or segment).
        kind: what the annotators gave.
        level: of measurement of labels.
        order: the labels from low to high, for ordinal texts.
        missing: labels that stand for none, beside the empty one.
        cluster: column of what is drawn together; ``cluster`` or ``recording`` when the file has it.
        slices: columns whose values are scored separately too.
        semantics: whether lists of steps are orders, or ranks of the steps 0 to N-1.
        matching: of alternative orders.
        penalty: of alternative orders that are left over.
        pooling: of alternative orders.
        quorum: annotators that it takes to vote for alternative orders.
        thresholds: IoU at which segments are the same.
        resampling: options of the intervals.

    Raises:
        UserError: if the file or an option is wrong; a unit that one annotator judged twice is named.
    """
    drawn = resampling or Resampling()
    with explained("the options of the intervals"):
        require_resampling(drawn.confidence, drawn.resamples, drawn.seed)
    if kind not in KINDS:
        raise UserError(f"the kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    _require_of_kind(
        kind, level=level, order=tuple(order), missing=tuple(missing), cluster=cluster, semantics=semantics, matching=matching,
        penalty=penalty, pooling=pooling, quorum=quorum, thresholds=tuple(thresholds),
    )  # fmt: skip
    table = read_table(path)
    with explained(path):
        if kind == "labels":
            return score_labels(read_labels(table, level, order, cluster, slices, missing), level, drawn)
        if kind == "orders":
            return score_orders(read_orders(table, semantics, cluster, slices), drawn)
        if kind == "alternatives":
            read = read_alternatives(table, semantics, cluster, slices)
            return score_alternatives(read, (matching, penalty, pooling), quorum, drawn)
        return score_segments(read_segments(table, slices), thresholds, drawn)


def _require_of_kind(kind: Kind, **given: object) -> None:
    """Make sure that no option was given that this kind does not look at.

    Raises:
        UserError: naming the option and the kinds that know it.
    """
    for name, value in given.items():
        default, kinds = _OPTIONS[name]
        if value != default and kind not in kinds:
            raise UserError(
                f"the option {name!r} does not go with {kind}; it belongs to {' and '.join(kinds)}.",
                hint="segments are always drawn by recording" if name == "cluster" else "leave it out",
            )
