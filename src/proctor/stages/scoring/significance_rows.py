"""Rows of the pairs: difference, p-values, effect, and the items that it takes to see one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from proctor.metrics.power import detectable_difference, planned_items
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow
from proctor.stages.scoring.significance_files import Drawing, Marks
from proctor.stages.scoring.significance_means import grouping_words
from proctor.stages.scoring.significance_pairs import Pair

__all__ = ["MANY_PAIRS", "best_system", "pair_rows", "shown_pairs"]

MANY_PAIRS: Final = 40
"""With more pairs than this the heat-map and the JSON hold them, the table those with the reference or the best."""


def shown_pairs(pairs: Sequence[Pair], means: Mapping[str, Score], reference: str | None) -> list[Pair]:
    """All pairs, or with very many those of the system with the highest mean."""
    if len(pairs) <= MANY_PAIRS or reference is not None:
        return list(pairs)
    best = best_system(means)
    return [p for p in pairs if best in (p.comparison.a, p.comparison.b)]


def best_system(means: Mapping[str, Score]) -> str:
    """Name of the system with the highest mean."""
    return max(means, key=lambda name: -math.inf if math.isnan(means[name].value) else means[name].value)


def pair_rows(marks: Marks, pair: Pair, wanted: float | None, drawing: Drawing, tests: int) -> list[ScoreRow]:
    """All that the table says about one pair."""
    found = pair.comparison
    digits = marks.digits
    why = found.note or "undefined"

    def score(
        value: float | None, signature: Signature, *, low: float | None = None, high: float | None = None
    ) -> Score:
        defined = value is not None
        return Score(
            math.nan if value is None else value,
            signature,
            found.n,
            low if defined else None,
            high if defined else None,
            failed=found.failed,
            skipped=pair.skipped,
            note="" if defined else why,
        )

    paired = pair.test.name in ("sign_flip", "mcnemar")
    if paired:
        cluster = marks.cluster_name if pair.test.name == "sign_flip" else "item"
        signature = drawing.signature("paired_difference", interval="sign-flip", cluster=cluster)
    else:
        signature = drawing.signature("difference", **grouping_words(marks))
    difference = score(found.difference, signature, low=found.low, high=found.high)
    rows = [
        ScoreRow("difference", replace(difference, note=found.note), pair.name, digits=digits),
        ScoreRow("p", score(found.p, pair.test), pair.name, digits=4),
        ScoreRow(
            "p (Holm)", score(found.p_holm, Signature("holm", {"tests": str(tests)})), pair.name, digits=4
        ),
    ]
    if found.effect is not None:
        kind = "paired" if paired else "pooled"
        rows.append(ScoreRow("effect", score(found.effect, Signature("cohen_d", {"kind": kind})), pair.name))
    if found.detectable is not None:
        signature = Signature(
            "detectable_difference",
            {"alpha": "0.05", "cluster": marks.cluster_name, "power": "0.8"},
        )
        rows.append(ScoreRow("detectable", score(found.detectable, signature), pair.name, digits=digits))
        if wanted is not None:
            rows.append(ScoreRow("items needed", _needed(marks, pair, wanted), pair.name, digits=0))
    return rows


def _needed(marks: Marks, pair: Pair, wanted: float) -> Score:
    """Items that a benchmark like this one needs to find the wanted difference."""
    first, second = marks.systems[pair.comparison.a], marks.systems[pair.comparison.b]
    items = [i for i in marks.items if first.get(i) is not None and second.get(i) is not None]
    differences = [(second[i] or 0.0) - (first[i] or 0.0) for i in items]
    seen = detectable_difference(differences, [marks.cluster_of(i) for i in items])
    signature = Signature("planned_items", {"alpha": "0.05", "difference": f"{wanted:g}", "power": "0.8"})
    if not seen.design_effect:
        return Score(
            math.nan, signature, pair.comparison.n, note=seen.note or "nothing varies between clusters"
        )
    deviation = float(np.std(differences, ddof=1))
    count = planned_items(wanted, deviation, design_effect=seen.design_effect)
    return Score(float(count), signature, pair.comparison.n)
