"""Systems compared from files of marks; confidences held against what came true; judges corrected by people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Final, Literal

import numpy as np

from proctor.errors import UserError
from proctor.metrics.bootstrap import bootstrap_interval, cluster_sums
from proctor.metrics.figure import Figure, Matrix
from proctor.metrics.hypothesis_tests import PValue, fisher_exact, holm, mann_whitney, permutation_test
from proctor.metrics.interval import Interval
from proctor.metrics.judge_error import JudgeError
from proctor.metrics.power import detectable_difference, planned_items
from proctor.metrics.score import Score, Signature
from proctor.metrics.significance import Comparison, PairedTest, compare_all_pairs
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.files import explained
from proctor.stages.scoring.options import SignificanceSettings
from proctor.stages.scoring.significance_files import (
    Marks,
    concurrence_rows,
    corrected_rows,
    drawn_signature,
    draws_of_tests,
    grouping_words,
    judge_headline,
    judge_note,
    mean_scores,
    read_marks,
    score_calibration,
)
from proctor.stages.scoring.tables import interval_plot

__all__ = ["score_significance"]


Test = Literal["sign-flip", "mcnemar", "mcnemar-mid-p", "permutation", "mann-whitney", "fisher"]


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


def compared_pairs(
    marks: Marks, test: Test, reference: str | None, drawing: SignificanceSettings
) -> list[Pair]:
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


def _paired(marks: Marks, test: Any, reference: str | None, drawing: SignificanceSettings) -> list[Pair]:
    comparisons = compare_all_pairs(
        {name: {i: row.get(i) for i in marks.items} for name, row in marks.systems.items()},
        {item: marks.cluster_of(item) for item in marks.items},
        reference=reference,
        test=test,
        **draws_of_tests(drawing),
    )
    return [_described(marks, pair, test, drawing) for pair in comparisons]


def _described(marks: Marks, pair: Comparison, test: PairedTest, drawing: SignificanceSettings) -> Pair:
    first, second = marks.systems[pair.a], marks.systems[pair.b]
    skipped = sum(item not in first or item not in second for item in marks.items)
    if test == "sign-flip":
        # Which pairs are exact depends on the data; what decides it does not.
        draws = {
            "p": "exact-to-30",
            "resamples": str(draws_of_tests(drawing)["resamples"]),
            "seed": str(drawing.seed),
        }
        signature = Signature("sign_flip", {"cluster": marks.cluster_name, "sided": "two", **draws})
    else:
        signature = Signature("mcnemar", {"p": "mid" if test == "mcnemar-mid-p" else "exact", "sided": "two"})
    return Pair(replace(pair, failed=pair.failed - skipped), signature, skipped)


def _unpaired(marks: Marks, a: str, b: str, test: Test, drawing: SignificanceSettings) -> Pair:
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


def _unpaired_test(
    first: list[float], second: list[float], test: Test, drawing: SignificanceSettings
) -> PValue:
    if test == "permutation":
        draws = draws_of_tests(drawing)
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


def _unpaired_interval(
    marks: Marks, rows: Sequence[Mapping[str, float]], drawing: SignificanceSettings
) -> Interval:
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

    return bootstrap_interval(sums, gap, strata=strata, **draws_of_tests(drawing))


def _pooled_effect(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Cohen's d with the pooled standard deviation; None when nothing varies or a group has one item."""
    if min(len(first), len(second)) < 2:
        return None
    freedom = len(first) + len(second) - 2
    spread = math.sqrt((np.var(first) * len(first) + np.var(second) * len(second)) / freedom)
    return (math.fsum(second) / len(second) - math.fsum(first) / len(first)) / spread if spread > 0 else None


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


def pair_rows(
    marks: Marks, pair: Pair, wanted: float | None, drawing: SignificanceSettings, tests: int
) -> list[ScoreRow]:
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
        signature = drawn_signature(drawing, "paired_difference", interval="sign-flip", cluster=cluster)
    else:
        signature = drawn_signature(drawing, "difference", **grouping_words(marks))
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


_CLEAR: Final = 0.9

"""Below this value of 1 - p the heat-map stays white: only what comes near to significance is shaded."""


def figures_of_systems(
    means: Mapping[str, Score], pairs: Sequence[Pair], corrected: Sequence[ScoreRow]
) -> tuple[Figure, ...]:
    """Means with intervals, and heat-maps of the pairs."""
    lines = [(name, score) for name, score in means.items()]
    lines += [
        (f"{row.slice} ({row.metric})", row.score) for row in corrected if not row.metric.startswith("judge ")
    ]
    ends = [v for _, s in lines for v in (s.value, s.low, s.high) if v is not None and not math.isnan(v)]
    if not ends:
        return ()
    figures: list[Figure] = [interval_plot("Mean of each system", lines, scale=_scale(ends))]
    names = tuple(means)
    if len(names) > 1 and pairs:
        cells: dict[tuple[str, str], Comparison] = {}
        for pair in pairs:
            cells[pair.comparison.a, pair.comparison.b] = pair.comparison
        figures += _heat_maps(names, cells)
    return tuple(figures)


def _scale(ends: Sequence[float]) -> tuple[float, float]:
    low, high = min(ends), max(ends)
    for top in (1.0, 100.0):
        if low >= 0 and high <= top:
            return 0.0, top
    return min(0.0, low), max(0.0, high)


def _heat_maps(names: tuple[str, ...], cells: Mapping[tuple[str, str], Comparison]) -> list[Figure]:
    def cell(row: str, column: str, of: str) -> float | None:
        there, back = cells.get((column, row)), cells.get((row, column))
        if of == "difference":
            if there is not None:
                return there.difference
            return None if back is None or back.difference is None else -back.difference
        found = there or back
        return None if found is None or found.p_holm is None else 1 - found.p_holm

    def table(of: str) -> tuple[tuple[float | None, ...], ...]:
        return tuple(tuple(None if r == c else cell(r, c, of) for c in names) for r in names)

    differences = table("difference")
    largest = max((abs(v) for line in differences for v in line if v is not None), default=0.0) or 1.0
    title, clear = "Difference of means: row minus column", "How clearly two systems differ: 1 - p (Holm)"
    return [
        Matrix(title, names, names, differences, "values", "system", "system", -largest, largest),
        Matrix(clear, names, names, table("p"), "values", "system", "system", _CLEAR),
    ]


def score_significance(settings: SignificanceSettings) -> ScoreTable:
    """Compare systems by their marks, or hold confidences against what came true.

    Raises:
        UserError: if a file or an option is wrong.
    """
    if settings.calibration:
        return score_calibration(settings)
    drawing, test, reference, difference = settings, settings.test, settings.reference, settings.difference
    if difference is not None and not (math.isfinite(difference) and difference > 0):
        raise UserError(f"the difference to be found must be positive, got {difference:g}.")
    marks = read_marks(
        settings.files, systems=settings.systems, cluster=settings.cluster, stratum=settings.stratum
    )
    if reference is not None and reference not in marks.systems:
        known = ", ".join(map(repr, marks.systems))
        raise UserError(f"there is no system {reference!r}; the systems are {known}.", where=marks.where)
    with explained(marks.where):
        means = mean_scores(marks, drawing)
        pairs = compared_pairs(marks, test, reference, drawing)
        rows = [ScoreRow("mean", score, name, digits=marks.digits) for name, score in means.items()]
        corrected, error = corrected_rows(marks, settings.judge_calibration, settings.human, drawing)
        rows += corrected
        for pair in shown_pairs(pairs, means, reference):
            rows += pair_rows(marks, pair, difference, drawing, len(pairs))
        more: list[str] = []
        if settings.concurrence is not None:
            rows += concurrence_rows(marks, means, settings.concurrence, drawing, more)
    headline: dict[str, object] = {"pairs": [asdict(pair.comparison) for pair in pairs]}
    if error is not None:
        headline["judge"] = judge_headline(error)
    return ScoreTable(
        "significance",
        tuple(rows),
        headline=headline,
        counts=_counts(marks),
        notes=(*_notes(marks, test, pairs, means, reference, error), *more),
        figures=figures_of_systems(means, pairs, corrected),
    )


def _counts(marks: Marks) -> dict[str, int]:
    given = sum(len(row) for row in marks.systems.values())
    failed = sum(v is None for row in marks.systems.values() for v in row.values())
    counts = {"systems": len(marks.systems), "items": len(marks.items)}
    if marks.clusters is not None:
        counts["clusters"] = len({marks.clusters[i] for i in marks.items})
    if marks.strata is not None:
        counts["strata"] = len({marks.strata[i] for i in marks.items})
    return {**counts, "marks": given - failed, "failed": failed}


def _notes(
    marks: Marks,
    test: Test,
    pairs: Sequence[Pair],
    means: Mapping[str, Score],
    reference: str | None,
    error: JudgeError | None,
) -> list[str]:
    notes = []
    if marks.clusters is None:
        notes.append(
            "there is no column of clusters, so items count as independent; several questions about one recording are not"
        )
    notes.append(
        "no chance level of the means: marks do not say what guessing gets; give a system that guesses as one of them. "
        "A difference is compared with chance by its p"
    )
    if len(marks.systems) < 2:
        notes.append("there is one system: nothing to compare")
    elif pairs and test not in UNPAIRED:
        dropped = [p for p in pairs if p.comparison.failed or p.skipped]
        if dropped:
            most = max(p.comparison.failed + p.skipped for p in dropped)
            notes.append(
                f"in {len(dropped)} of {len(pairs)} pairs items without a mark in either system are left out (at most {most})"
            )
    if len(pairs) > MANY_PAIRS and reference is None:
        notes.append(
            f"of {len(pairs)} pairs the table shows those with {best_system(means)!r}; --json holds all, the p-values are "
            "corrected over all"
        )
    if error is not None:
        notes.append(judge_note(error))
    return notes
