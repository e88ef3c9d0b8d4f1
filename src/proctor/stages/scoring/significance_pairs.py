"""Two systems at a time: paired tests for the same items, others for different ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, Literal, get_args

import numpy as np

from proctor.errors import UserError
from proctor.metrics.bootstrap import bootstrap_interval, cluster_sums
from proctor.metrics.hypothesis_tests import PValue, fisher_exact, holm, mann_whitney, permutation_test
from proctor.metrics.interval import Interval
from proctor.metrics.score import Signature
from proctor.metrics.significance import Comparison, PairedTest, compare_all_pairs
from proctor.stages.scoring.significance_files import Drawing, Marks

__all__ = ["TESTS", "UNPAIRED", "Pair", "Test", "compared_pairs"]


Test = Literal["sign-flip", "mcnemar", "mcnemar-mid-p", "permutation", "mann-whitney", "fisher"]
TESTS: Final[tuple[Test, ...]] = get_args(Test)
UNPAIRED: Final = ("permutation", "mann-whitney", "fisher")


@dataclass(frozen=True, slots=True)
class Pair:
    """A comparison with the signature of its test and how many items either system was not asked."""

    comparison: Comparison
    test: Signature
    skipped: int = 0

    @property
    def name(self) -> str:
        """Name of the slice of the pair."""
        return f"{self.comparison.a} → {self.comparison.b}"


def compared_pairs(marks: Marks, test: Test, reference: str | None, drawing: Drawing) -> list[Pair]:
    """Compare all pairs of systems, or all with the reference; p-values are corrected over all of them."""
    names = list(marks.systems)
    if reference is not None:
        wanted = [(reference, name) for name in names if name != reference]
    else:
        wanted = list(combinations(names, 2))
    if not wanted:
        return []
    if test in UNPAIRED:
        found = [_unpaired(marks, a, b, test, drawing) for a, b in wanted]
    else:
        found = _paired(marks, test, reference, drawing)
    corrected = holm([pair.comparison.p for pair in found])
    found = [
        replace(pair, comparison=replace(pair.comparison, p_holm=p))
        for pair, p in zip(found, corrected, strict=True)
    ]
    if drawing.resamples:
        return found
    return [replace(pair, comparison=replace(pair.comparison, low=None, high=None)) for pair in found]


def _paired(marks: Marks, test: Any, reference: str | None, drawing: Drawing) -> list[Pair]:
    comparisons = compare_all_pairs(
        {name: {i: row.get(i) for i in marks.items} for name, row in marks.systems.items()},
        {item: marks.cluster_of(item) for item in marks.items},
        reference=reference,
        test=test,
        **drawing.arguments,
    )
    return [_described(marks, pair, test, drawing) for pair in comparisons]


def _described(marks: Marks, pair: Comparison, test: PairedTest, drawing: Drawing) -> Pair:
    first, second = marks.systems[pair.a], marks.systems[pair.b]
    skipped = sum(item not in first or item not in second for item in marks.items)
    if test == "sign-flip":
        # Which pairs are exact depends on the data; what decides it does not.
        draws = {
            "p": "exact-to-30",
            "resamples": str(drawing.arguments["resamples"]),
            "seed": str(drawing.seed),
        }
        signature = Signature("sign_flip", {"cluster": marks.cluster_name, "sided": "two", **draws})
    else:
        signature = Signature("mcnemar", {"p": "mid" if test == "mcnemar-mid-p" else "exact", "sided": "two"})
    return Pair(replace(pair, failed=pair.failed - skipped), signature, skipped)


def _unpaired(marks: Marks, a: str, b: str, test: Test, drawing: Drawing) -> Pair:
    """Compare two groups of different items."""
    rows = [{i: v for i, v in marks.systems[name].items() if v is not None} for name in (a, b)]
    first, second = ([row[i] for i in sorted(row)] for row in rows)
    failed = sum(v is None for name in (a, b) for v in marks.systems[name].values())
    found = _unpaired_test(first, second, test, drawing)
    shared = len(rows[0].keys() & rows[1].keys())
    notes = [found.note]
    if shared:
        notes.append(f"{shared} items occur in both groups: a paired test would be stronger")
    if marks.clusters is not None:
        notes.append("the test takes items as independent, the interval draws clusters")
    interval = _unpaired_interval(marks, rows, drawing)
    if found.p is not None and interval.low is not None and interval.high is not None:
        apart = not interval.low <= 0.0 <= interval.high
        if apart != (found.p <= 1 - drawing.confidence):
            notes.append(
                "interval and test disagree, so the difference is not settled: more items are needed"
            )
    means = [math.fsum(values) / len(values) if values else None for values in (first, second)]
    difference = None if means[0] is None or means[1] is None else means[1] - means[0]
    comparison = Comparison(
        a=a,
        b=b,
        n=len(first) + len(second),
        clusters=len({marks.cluster_of(i) for row in rows for i in row}),
        mean_a=means[0],
        mean_b=means[1],
        difference=difference,
        low=interval.low,
        high=interval.high,
        p=found.p,
        wins=0,
        losses=0,
        ties=0,
        failed=failed,
        method=str(found.signature),
        note="; ".join(dict.fromkeys(text for text in (*notes, interval.note) if text)),
        effect=_pooled_effect(first, second),
    )
    return Pair(comparison, found.signature)


def _unpaired_test(first: list[float], second: list[float], test: Test, drawing: Drawing) -> PValue:
    if test == "permutation":
        draws = drawing.arguments
        return permutation_test(first, second, resamples=draws["resamples"], seed=draws["seed"])
    if test == "mann-whitney":
        return mann_whitney(first, second)
    wrong = next((v for v in (*first, *second) if v not in (0.0, 1.0)), None)
    if wrong is not None:
        raise UserError(
            f"Fisher's test needs marks yes/no or 1/0, got {wrong:g}.",
            hint="use --test permutation or --test mann-whitney",
        )
    return fisher_exact(int(sum(first)), len(first), int(sum(second)), len(second))


def _unpaired_interval(marks: Marks, rows: Sequence[Mapping[str, float]], drawing: Drawing) -> Interval:
    """Clusters are drawn within the groups, so that each keeps its size; those in both groups are a third stratum."""
    items = sorted(rows[0].keys() | rows[1].keys())
    groups = [marks.cluster_of(i) for i in items]
    columns = [
        column
        for row in rows
        for column in ([row.get(i, 0.0) for i in items], [float(i in row) for i in items])
    ]
    sums = cluster_sums(columns, groups)
    if len(sums) < 2 or not (sums[:, 1].any() and sums[:, 3].any()):
        return Interval(None, None, "none", "a group is empty or there is one cluster: no interval")
    strata = [("a" if n else "") + ("b" if m else "") for n, m in zip(sums[:, 1], sums[:, 3], strict=True)]

    def gap(resampled: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return resampled[:, 2] / resampled[:, 3] - resampled[:, 0] / resampled[:, 1]

    return bootstrap_interval(sums, gap, strata=strata, **drawing.arguments)


def _pooled_effect(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Cohen's d with the pooled standard deviation; None when nothing varies or a group has one item."""
    if min(len(first), len(second)) < 2:
        return None
    freedom = len(first) + len(second) - 2
    spread = math.sqrt((np.var(first) * len(first) + np.var(second) * len(second)) / freedom)
    return (math.fsum(second) / len(second) - math.fsum(first) / len(first)) / spread if spread > 0 else None
