"""Options of ``proctor score ordering``; what it computes is in ``score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import option
from proctor.stages.scoring.settings import ScoreSettings

__all__ = ["OrderingSettings"]


class OrderingSettings(ScoreSettings, frozen=True, kw_only=True):
    """Score predicted orders of steps: Acc, PMR, Lq, Lr, tau, Dist, with intervals and chance.

    --gt has one line an item: "id" and "order", the list of step ids as they are done, or "references", a list of
    such lists of which the first is the authored order. Optional: "presented" (the steps as the model saw them;
    repair and tied scores need it), "semantics" ("ranks" if the lists say when each step is done instead),
    "constraints" (a list of [before, after]; with them "order" may be left out), and any columns for --slice and
    --cluster. --pred has "id" and "order", or "scores": an object from step id to number, or a list of numbers in
    presented order; smaller is earlier. --constraints has "id" and "constraints", or "id", "before" and "after".
    JSON Lines, JSON, CSV or TSV; lists in CSV are written a|b|c or as JSON.

    An item without a prediction is counted as failed, never left out silently. Ties of scores are broken by
    presented slot. With --compare both systems are measured on the items that both predicted: McNemar's exact test
    for PMR, sign-flip test and paired bootstrap for the others.

    Example: proctor score ordering --gt gold.jsonl --pred model.jsonl --mode repair --compare baseline.jsonl
    """

    gt: Annotated[Path, option("Right orders.", metavar="FILE")]
    pred: Annotated[Path, option("Predicted orders.", metavar="FILE")]
    mode: Annotated[
        Literal["strict", "repair"],
        option(
            "strict refuses predictions that lack, repeat or invent steps; repair drops and appends, and counts.",
        ),
    ] = "strict"
    references: Annotated[
        Literal["joint", "independent", "first"],
        option(
            "Which of several acceptable orders counts: the best one, the best of each measure, the first.",
        ),
    ] = "joint"
    constraints: Annotated[
        Path | None, option("What must come before what, item by item.", metavar="FILE")
    ] = None
    constraints_from_references: Annotated[
        bool, option("Constraints: what all references of an item agree on.")
    ] = False
    compare: Annotated[
        Path | None, option("Predictions of another system; differences are FILE − pred.", metavar="FILE")
    ] = None
    slices: Annotated[
        tuple[str, ...],
        option("A line for each value of this column of --gt (repeatable).", "--slice", metavar="COLUMN"),
    ] = ()
    cluster: Annotated[
        str | None, option("Bootstrap by this column of --gt (one manual, many items).", metavar="COLUMN")
    ] = None
