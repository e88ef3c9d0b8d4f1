"""Systems compared from files of marks; confidences held against what came true; judges corrected by people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np

from proctor.errors import UserError
from proctor.metrics.bootstrap import bootstrap_interval, bootstrap_mean_intervals, cluster_sums
from proctor.metrics.concurrence import concurrence_interval, kendall_tau_b
from proctor.metrics.figure import Figure, IntervalPlot, Matrix
from proctor.metrics.hypothesis_tests import PValue, fisher_exact, holm, mann_whitney, permutation_test
from proctor.metrics.interval import Interval
from proctor.metrics.judge_error import JudgeError
from proctor.metrics.power import detectable_difference, planned_items
from proctor.metrics.score import Score, Signature
from proctor.metrics.significance import Comparison, PairedTest, compare_all_pairs
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.stages.scoring.files import explained
from proctor.stages.scoring.significance_files import (
    Drawing,
    Marks,
    read_marks,
)
from proctor.stages.scoring.significance_judges import corrected_rows, judge_headline, judge_note

__all__ = ["TESTS", "UNPAIRED", "Test", "score_significance"]

Test = Literal["sign-flip", "mcnemar", "mcnemar-mid-p", "permutation", "mann-whitney", "fisher"]
TESTS: Final[tuple[Test, ...]] = get_args(Test)
UNPAIRED: Final = ("permutation", "mann-whitney", "fisher")
_CLEAR: Final = 0.9
"""Below this value of 1 - p the heat-map stays white: only what comes near to significance is shaded."""
_MANY_PAIRS: Final = 40
"""With more pairs than this the heat-map and the JSON hold them, the table those with the reference or the best."""


def score_significance(
    paths: Sequence[Path],
    *,
    test: Test = "sign-flip",
    systems: Sequence[str] = (),
    reference: str | None = None,
    cluster: str | None = None,
    stratum: str | None = None,
    difference: float | None = None,
    judge_calibration: Path | None = None,
    human: Path | None = None,
    concurrence: Path | None = None,
    drawing: Drawing | None = None,
) -> ScoreTable:
    """Compare systems by their marks.

    Args:
        paths: tables of marks, see ``read_marks``.
        test: paired tests for the same items, ``permutation``, ``mann-whitney`` and ``fisher`` for different ones.
        systems: to compare, in this order; all when empty.
        reference: compare the others with this system only.
        cluster: column of clusters.
        stratum: column of strata.
        difference: also say how many items it takes to find a difference of this size.
        judge_calibration: people's and the judge's yes/no on a calibration sample: corrects the shares right.
        human: people's marks on some of the items: corrects the means.
        concurrence: marks of the same systems on another benchmark: says whether both rank them alike.
        drawing: options of the intervals.

    Raises:
        UserError: if a file or an option is wrong.
    """
    if test not in TESTS:
        raise UserError(f"the test must be one of {', '.join(TESTS)}, got {test!r}.")
    if difference is not None and not (math.isfinite(difference) and difference > 0):
        raise UserError(f"the wanted difference must be positive, got {difference:g}.")
    drawing = drawing or Drawing()
    marks = read_marks(paths, systems=systems, cluster=cluster, stratum=stratum)
    if reference is not None and reference not in marks.systems:
        known = ", ".join(map(repr, marks.systems))
        raise UserError(f"there is no system {reference!r}; the systems are {known}.", where=marks.where)
    with explained(marks.where):
        means = _means(marks, drawing)
        pairs = _pairs(marks, test, reference, drawing)
        rows = [ScoreRow("mean", score, name, digits=marks.digits) for name, score in means.items()]
        corrected, error = corrected_rows(marks, judge_calibration, human, drawing)
        rows += corrected
        for pair in _shown(pairs, means, reference):
            rows += _pair_rows(marks, pair, difference, drawing, len(pairs))
        more: list[str] = []
        if concurrence is not None:
            rows += _concurrence(marks, means, concurrence, drawing, more)
    headline: dict[str, object] = {"pairs": [asdict(pair.comparison) for pair in pairs]}
    if error is not None:
        headline["judge"] = judge_headline(error)
    return ScoreTable(
        "significance",
        tuple(rows),
        headline=headline,
        counts=_counts(marks),
        notes=(*_notes(marks, test, pairs, means, reference, error), *more),
        figures=_figures(means, pairs, corrected),
    )


# -- systems -------------------------------------------------------------------------------------------------------


def _matrix(marks: Marks) -> Any:
    """Marks, shape (systems, items), nan where there is none."""
    rows = [
        [math.nan if (v := row.get(item)) is None else v for item in marks.items]
        for row in marks.systems.values()
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(marks.items))


def _clusters(marks: Marks) -> list[str]:
    return [marks.cluster_of(item) for item in marks.items]


def _strata(marks: Marks) -> list[str] | None:
    return None if marks.strata is None else [marks.strata[item] for item in marks.items]


def _grouping(marks: Marks) -> dict[str, str]:
    return {
        "clusters": "no" if marks.clusters is None else "yes",
        "strata": "no" if marks.strata is None else "yes",
    }


def _means(marks: Marks, drawing: Drawing) -> dict[str, Score]:
    data = _matrix(marks)
    signature = drawing.signature("mean", **_grouping(marks))
    intervals: Sequence[Interval] = [Interval(None, None, "none")] * len(data)
    if drawing.resamples:
        intervals = bootstrap_mean_intervals(
            data, _clusters(marks), strata=_strata(marks), **drawing.arguments
        )
    found = {}
    for (name, row), values, interval in zip(marks.systems.items(), data, intervals, strict=True):
        here = values[~np.isnan(values)]
        failed = sum(v is None for v in row.values())
        note = interval.note if here.size else "no answer of this system has a mark"
        found[name] = Score(
            math.fsum(here) / here.size if here.size else math.nan,
            signature,
            here.size,
            interval.low,
            interval.high,
            failed=failed,
            skipped=len(marks.items) - len(row),
            note=note,
        )
    return found


# -- pairs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pair:
    """A comparison with the signature of its test and how many items either system was not asked."""

    comparison: Comparison
    test: Signature
    skipped: int = 0

    @property
    def name(self) -> str:
        return f"{self.comparison.a} → {self.comparison.b}"


def _pairs(marks: Marks, test: Test, reference: str | None, drawing: Drawing) -> list[_Pair]:
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


def _paired(marks: Marks, test: Any, reference: str | None, drawing: Drawing) -> list[_Pair]:
    comparisons = compare_all_pairs(
        {name: {i: row.get(i) for i in marks.items} for name, row in marks.systems.items()},
        {item: marks.cluster_of(item) for item in marks.items},
        reference=reference,
        strata=marks.strata,
        test=test,
        **drawing.arguments,
    )
    return [_described(marks, pair, test, drawing) for pair in comparisons]


def _described(marks: Marks, pair: Comparison, test: PairedTest, drawing: Drawing) -> _Pair:
    first, second = marks.systems[pair.a], marks.systems[pair.b]
    skipped = sum(item not in first or item not in second for item in marks.items)
    if test == "sign-flip":
        # Which pairs are exact depends on the data; what decides it does not.
        draws = {
            "p": "exact-to-30",
            "resamples": str(drawing.arguments["resamples"]),
            "seed": str(drawing.seed),
        }
        signature = Signature(
            "sign_flip", {"clusters": _grouping(marks)["clusters"], "sided": "two", **draws}
        )
    else:
        signature = Signature("mcnemar", {"p": "mid" if test == "mcnemar-mid-p" else "exact", "sided": "two"})
    return _Pair(replace(pair, failed=pair.failed - skipped), signature, skipped)


def _unpaired(marks: Marks, a: str, b: str, test: Test, drawing: Drawing) -> _Pair:
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
    return _Pair(comparison, found.signature)


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


def _shown(pairs: Sequence[_Pair], means: Mapping[str, Score], reference: str | None) -> list[_Pair]:
    """All pairs, or with very many those of the system with the highest mean."""
    if len(pairs) <= _MANY_PAIRS or reference is not None:
        return list(pairs)
    best = _best(means)
    return [p for p in pairs if best in (p.comparison.a, p.comparison.b)]


def _best(means: Mapping[str, Score]) -> str:
    return max(means, key=lambda name: -math.inf if math.isnan(means[name].value) else means[name].value)


def _pair_rows(
    marks: Marks, pair: _Pair, wanted: float | None, drawing: Drawing, tests: int
) -> list[ScoreRow]:
    found = pair.comparison
    digits = marks.digits
    why = found.note or "undefined"

    def score(value: float | None, signature: Signature, **ends: float | None) -> Score:
        defined = value is not None
        return Score(
            math.nan if value is None else value,
            signature,
            found.n,
            **(ends if defined else {}),
            failed=found.failed,
            skipped=pair.skipped,
            note="" if defined else why,
        )

    paired = "paired_difference" if pair.test.name in ("sign_flip", "mcnemar") else "difference"
    difference = score(
        found.difference, drawing.signature(paired, **_grouping(marks)), low=found.low, high=found.high
    )
    rows = [
        ScoreRow("difference", replace(difference, note=found.note), pair.name, digits=digits),
        ScoreRow("p", score(found.p, pair.test), pair.name, digits=4),
        ScoreRow(
            "p (Holm)", score(found.p_holm, Signature("holm", {"tests": str(tests)})), pair.name, digits=4
        ),
    ]
    if found.effect is not None:
        kind = "paired" if paired == "paired_difference" else "pooled"
        rows.append(ScoreRow("effect", score(found.effect, Signature("cohen_d", {"kind": kind})), pair.name))
    if found.detectable is not None:
        signature = Signature(
            "detectable_difference",
            {"alpha": "0.05", "clusters": _grouping(marks)["clusters"], "power": "0.8"},
        )
        rows.append(ScoreRow("detectable", score(found.detectable, signature), pair.name, digits=digits))
        if wanted is not None:
            rows.append(ScoreRow("items needed", _needed(marks, pair, wanted), pair.name, digits=0))
    return rows


def _needed(marks: Marks, pair: _Pair, wanted: float) -> Score:
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


# -- another benchmark -----------------------------------------------------------------------------------------------


def _concurrence(
    marks: Marks, means: Mapping[str, Score], path: Path, drawing: Drawing, notes: list[str]
) -> list[ScoreRow]:
    """Compare the ranking with that of another benchmark."""
    other = read_marks([path])
    lacking = [name for name in marks.systems if name not in other.systems]
    if lacking:
        raise UserError(
            f"the other benchmark has no marks of {lacking[0]!r}.",
            where=str(path),
            hint="give the same systems in both, or choose those to compare with --system",
        )
    other = replace(other, systems={name: other.systems[name] for name in marks.systems})
    theirs = _means(other, replace(drawing, resamples=0))
    undefined = [
        name for name in marks.systems if math.isnan(means[name].value) or math.isnan(theirs[name].value)
    ]
    if undefined:
        raise UserError(f"the system {undefined[0]!r} has no mark on one benchmark.", where=str(path))
    found = kendall_tau_b([s.value for s in means.values()], [s.value for s in theirs.values()])
    interval = None
    if drawing.resamples and found.tau is not None:
        complete = [_complete(part) for part in (marks, other)]
        dropped = sum(
            len(part.items) - len(matrix) for part, (matrix, _) in zip((marks, other), complete, strict=True)
        )
        if dropped:
            notes.append(f"the interval of τ-b leaves out {dropped} items that some system has no mark on")
        (first, first_clusters), (second, second_clusters) = complete
        interval = concurrence_interval(
            first, second, clusters_a=first_clusters, clusters_b=second_clusters, **drawing.arguments
        )
    score = found.as_score(interval)
    if interval is not None:
        score = replace(
            score,
            signature=score.signature.having(
                interval=interval.method, resamples=str(drawing.resamples), seed=str(drawing.seed)
            ),
        )
    p = Score(
        math.nan if found.p is None else found.p,
        found.signature.having(of="p"),
        found.n,
        note="" if found.p is not None else found.note or "undefined",
    )
    notes.append(
        f"concurrence with {path}: {found.discordant} of {found.pairs} pairs of systems are ranked the other way round"
        + (f", {found.tied} are tied" if found.tied else "")
    )
    return [ScoreRow("τ-b", score, "concurrence"), ScoreRow("p", p, "concurrence", digits=4)]


def _complete(marks: Marks) -> tuple[Any, list[str]]:
    """Marks of the items that every system has a mark on, shape (items, systems), and their clusters."""
    data = _matrix(marks).T
    here = ~np.isnan(data).any(axis=1)
    names = [name for name, kept in zip(_clusters(marks), here, strict=True) if kept]
    return data[here], names


# -- around the table ------------------------------------------------------------------------------------------------


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
    pairs: Sequence[_Pair],
    means: Mapping[str, Score],
    reference: str | None,
    error: JudgeError | None,
) -> list[str]:
    notes = []
    if marks.clusters is None:
        notes.append(
            "there is no column of clusters, so items count as independent; several questions about one recording are not"
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
    if len(pairs) > _MANY_PAIRS and reference is None:
        notes.append(
            f"of {len(pairs)} pairs the table shows those with {_best(means)!r}; --json holds all, the p-values are "
            "corrected over all"
        )
    if error is not None:
        notes.append(judge_note(error))
    return notes


def _figures(
    means: Mapping[str, Score], pairs: Sequence[_Pair], corrected: Sequence[ScoreRow]
) -> tuple[Figure, ...]:
    lines = [(name, score) for name, score in means.items()]
    lines += [
        (f"{row.slice} ({row.metric})", row.score) for row in corrected if not row.metric.startswith("judge ")
    ]
    ends = [v for _, s in lines for v in (s.value, s.low, s.high) if v is not None and not math.isnan(v)]
    if not ends:
        return ()
    figures: list[Figure] = [
        IntervalPlot(
            "Mean of each system",
            tuple(name for name, _ in lines),
            tuple(None if math.isnan(s.value) else s.value for _, s in lines),
            tuple(s.low for _, s in lines),
            tuple(s.high for _, s in lines),
            scale=_scale(ends),
        )
    ]
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
    return [
        Matrix(
            "Difference of means: row minus column",
            names,
            names,
            differences,
            kind="values",
            row_title="system",
            column_title="system",
            low=-largest,
            high=largest,
        ),
        Matrix(
            "How clearly two systems differ: 1 - p (Holm)",
            names,
            names,
            table("p"),
            kind="values",
            row_title="system",
            column_title="system",
            low=_CLEAR,
        ),
    ]
