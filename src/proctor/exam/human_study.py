"""A study in which people rate questions: who rates what, what it costs, whose ratings are looked at again, what came out.

SMMQG. Every form has questions of the pool, each rated by one worker, and the same few *test samples*,
whose right ratings are known, and attention checks. Who rates all test samples rightly gets a bonus; who fails most of them
has the form reviewed by hand, without knowing where its questions come from, and corrected.

Scales (fluency) are compared by the Mann-Whitney test, yes/no ratings by Fisher's exact test. The paper corrects for nothing;
Holm's correction stands beside each p-value here, with the size of the effect and the difference that so many ratings can show.
A study with fields of its own (``Scales``) is analysed in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.csv_rows import iter_csv_rows
from proctor.metrics.hypothesis_tests import fisher_exact, holm, mann_whitney
from proctor.metrics.interval import normal_quantile, wilson_interval
from proctor.metrics.power import planned_difference

__all__ = [
    "METRICS", "PUBLISHED", "PUBLISHED_TAU", "SMMQG", "YES_NO", "GroupComparison", "HumanStudy", "Payment",
    "Rating", "Scales", "StudyRow", "WorkerResult", "analyse_study", "compare_groups", "corrected_ratings",
    "group_values", "payments", "read_ratings", "settled_ratings", "worker_results",
]  # fmt: skip

FLUENCY: Final = "fluency"
YES_NO: Final = ("style", "relevance", "answerability", "correctness")
METRICS: Final = (FLUENCY, *YES_NO)
"""What is rated: fluency from 1 to 5; faithfulness to the style, relevance of all sources, answerability from the sources
alone and correctness of the answer by yes or no."""
Scales = Mapping[str, tuple[int, int] | None]
"""What is rated, in order: the ends of a scale, or None for yes and no."""
SMMQG: Final[Scales] = {FLUENCY: (1, 5), **dict.fromkeys(YES_NO)}
"""The paper's."""

PUBLISHED: Final = {
    ("generated", "data"): ("Table 4", "4.53 3.68 <0.001; 98.3 96.7 0.77; 93.0 85.8 0.07; 94.7 85.8 0.02; 92.7 80.0 0.001"),
    ("generated/information-extraction", "data/single"): ("Table 15, information extraction", "; 100 100 1.0; 100 86.7 0.006; 96.7 86.7 0.09; 95 80 0.025"),
    ("generated/multi-hop", "data/compose"): ("Table 15, multi-hop", "; 98.3 93.3 0.44; 91.7 85 0.39; 100 85 0.003; 95 80 0.025"),
}  # fmt: skip
"""By pair of groups its table, and what the paper prints for each metric: both groups and p. None of Table 4's p of yes and no
follows from its counts (0.283, 0.025, 0.004, 0.0004), nor 0.44 of Table 15 (0.364); fluency of Table 15 is not at hand."""
PUBLISHED_TAU: Final = {"retrieval": "paper: 0.87, p 0.02", "answers": "paper: 0.86, p 0.002"}

_YES: Final = frozenset({"yes", "y", "true", "1"})
_NO: Final = frozenset({"no", "n", "false", "0"})
_KEYS: Final = ("worker", "sample")


# -- ratings ---------------------------------------------------------------------------------------------------


class Rating(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker said of one sample: by metric the number on a scale, 1 for yes, 0 for no; what was not asked is not there."""

    worker: str
    sample: str
    values: Mapping[str, float]


def read_ratings(path: Path, scales: Scales = SMMQG, *, or_none: bool = False) -> list[Rating]:
    """Read ratings from a CSV file with the columns ``worker``, ``sample`` and the metrics, SMMQG's five by default.

    Scales are whole numbers (fluency: 1 to 5); the others are ``yes`` or ``no`` (``true``/``false``, ``y``/``n``, ``1``/``0``).
    In a study of other metrics an empty cell was not asked. Further columns are left alone. With ``or_none`` there may be no rating.

    Raises:
        UserError: for a missing column, an unknown value or a sample that a worker rates twice; with line and column.
    """
    ratings: list[Rating] = []
    seen: dict[tuple[str, str], int] = {}
    for line, row in iter_csv_rows(path, (*_KEYS, *scales)):
        where = f"{path}:{line}"
        key = (row["worker"], row["sample"])
        if not all(key):
            raise UserError("the worker or the sample has no name.", where=where)
        if key in seen:
            twice = f"'{key[0]}' rates '{key[1]}' a second time (first in line {seen[key]})."
            raise UserError(twice, where=where, hint="keep one; corrections belong into a file of their own")
        seen[key] = line
        values = {
            metric: _value(row[metric], metric, ends, where)
            for metric, ends in scales.items()
            if row[metric] or scales is SMMQG
        }
        ratings.append(Rating(worker=key[0], sample=key[1], values=values))
    if not ratings and not or_none:
        raise UserError("the file has no ratings.", where=str(path))
    return ratings


def _value(text: str, metric: str, ends: tuple[int, int] | None, where: str) -> int:
    if ends is None:
        if (word := text.casefold()) not in _YES | _NO:
            raise UserError(f"{metric} is yes or no, not {text[:40]!r}.", where=where)
        return int(word in _YES)
    known = {str(n): n for n in range(ends[0], ends[1] + 1)}
    if text not in known:
        seen = f"{metric} is a whole number from {ends[0]} to {ends[1]}, not {text[:40]!r}."
        raise UserError(seen, where=where)
    return known[text]


def corrected_ratings(ratings: Sequence[Rating], corrections: Iterable[Rating]) -> list[Rating]:
    """Put corrections from the review into the place of what workers said.

    Raises:
        UserError: if a correction belongs to no rating, or there are two of one.
    """
    places = {(rating.worker, rating.sample): place for place, rating in enumerate(ratings)}
    done, changed = list(ratings), set()
    for correction in corrections:
        key = (correction.worker, correction.sample)
        if key not in places or key in changed:
            what = "a second time" if key in changed else "that was never made"
            raise UserError(f"a correction of a rating {what}.", where=f"{key[0]}: {key[1]}")
        changed.add(key)
        done[places[key]] = correction
    return done


def settled_ratings(ratings: Iterable[Rating], scales: Scales = SMMQG) -> tuple[list[Rating], int]:
    """Make one rating of a sample that several people rated: the mean on a scale, the majority of yes and no (a tie is a no).

    Returns:
        One rating a sample, in order of first mention, and how many ties there were.
    """
    found: dict[str, list[Rating]] = {}
    for rating in ratings:
        found.setdefault(rating.sample, []).append(rating)
    ties, settled = 0, []
    for sample, own in found.items():
        values: dict[str, float] = {}
        for metric, ends in scales.items():
            if said := [r.values[metric] for r in own if metric in r.values]:
                mean = sum(said) / len(said)
                ties += ends is None and mean == 0.5
                values[metric] = mean if ends else float(mean > 0.5)
        settled.append(Rating(worker=own[0].worker, sample=sample, values=values))
    return settled, ties


# -- workers ---------------------------------------------------------------------------------------------------


class WorkerResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker, who rated so many samples, did on the test samples; those ``missing`` were not rated, and are not right."""

    worker: str
    rated: int
    right: int
    tests: int
    missing: int = 0

    @property
    def has_bonus(self) -> bool:
        """True when all test samples are right."""
        return self.right == self.tests

    @property
    def needs_review(self) -> bool:
        """True when two or more test samples are wrong: the form is looked at by hand."""
        return self.tests - self.right >= 2


def worker_results(
    ratings: Sequence[Rating], key: Mapping[str, Mapping[str, bool]], known: Iterable[str] = YES_NO
) -> tuple[WorkerResult, ...]:
    """Mark the test samples of every worker.

    Args:
        ratings: as they were made, before any correction.
        key: right yes/no ratings of each test sample, by sample and metric; metrics that are open to taste are left out. A
            sample is right when all of them agree.
        known: metrics of yes and no.

    Returns:
        One a worker, in order of names.

    Raises:
        UserError: if the key is empty or names an unknown metric.
    """
    names = tuple(known)
    unknown = sorted({metric for right in key.values() for metric in right} - set(names))
    if not key or unknown or not all(key.values()):
        seen = (
            f"the key of the test samples is empty or names unknown metrics: {', '.join(unknown) or 'none'}."
        )
        raise UserError(seen, hint=f"it gives for each test sample some of {', '.join(names)}")
    by_worker: dict[str, dict[str, Rating]] = {}
    for rating in ratings:
        by_worker.setdefault(rating.worker, {})[rating.sample] = rating
    found = []
    for worker, rated in sorted(by_worker.items()):
        right = sum(
            sample in rated and all(rated[sample].values.get(m) == value for m, value in wanted.items())
            for sample, wanted in key.items()
        )
        gone = sum(sample not in rated for sample in key)
        found.append(WorkerResult(worker=worker, rated=len(rated), right=right, tests=len(key), missing=gone))
    return tuple(found)


class Payment(msgspec.Struct, frozen=True, kw_only=True):
    """What the workers of a study are paid, in one currency; ``reviews`` are the forms that are looked at by hand."""

    workers: int
    bonuses: int
    reviews: int
    total: float


def payments(results: Sequence[WorkerResult], *, pay: float = 17.0, bonus: float = 8.0) -> Payment:
    """Return what a study costs (paper: 17 GBP for a form, 8 for all test samples right).

    Raises:
        UserError: if an amount is negative or not finite.
    """
    if not all(math.isfinite(amount) and amount >= 0 for amount in (pay, bonus)):
        raise UserError(f"pay and bonus are amounts of 0 or more, got {pay} and {bonus}.")
    bonuses = sum(result.has_bonus for result in results)
    total = Fraction(str(pay)) * len(results) + Fraction(str(bonus)) * bonuses
    reviews = sum(result.needs_review for result in results)
    return Payment(workers=len(results), bonuses=bonuses, reviews=reviews, total=float(total))


# -- what came out ---------------------------------------------------------------------------------------------


class StudyRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One metric of two groups.

    Attributes:
        a: mean on a scale, or percentage of yes, of the first group, ``b`` of the second; None without ratings.
        n_a: ratings of the first group, ``n_b`` of the second.
        p: two-sided p-value; None where it is undefined.
        p_holm: the same after Holm's correction over all rows of the study.
        low: of a - b, lower end of the 95 % interval, of the two groups' own ones (Newcombe's hybrid score interval); ``high``: upper.
        effect: on a scale Cliff's delta (how much likelier a rating of a is higher than lower, -1 to 1), else the odds ratio
            (None where it is not finite).
        detectable: the smallest true difference, in the unit of a and b, that so many ratings find with a power of 80 % at 0.05.
        test: signature of the test.
        note: why p is undefined, or what to beware of.
    """

    metric: str
    a: float | None
    b: float | None
    n_a: int
    n_b: int
    p: float | None
    p_holm: float | None = None
    low: float | None = None
    high: float | None = None
    effect: float | None = None
    detectable: float | None = None
    test: str = ""
    note: str = ""


class GroupComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two groups of samples in all metrics."""

    a: str
    b: str
    rows: tuple[StudyRow, ...]


class HumanStudy(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Everything that a study says: comparisons in the order asked for, how each worker did on the test samples (with a key),
    whose forms have to be looked at by hand, counts of ratings and samples, and what to beware of.
    """  # noqa: D205

    comparisons: tuple[GroupComparison, ...]
    workers: tuple[WorkerResult, ...] = ()
    reviewed: tuple[str, ...] = ()
    counts: Mapping[str, int] = {}
    notes: tuple[str, ...] = ()


def compare_groups(
    a: Sequence[Rating], b: Sequence[Rating], *, scales: Scales = SMMQG
) -> tuple[StudyRow, ...]:
    """Compare two groups of ratings in every metric, without correction."""
    return tuple(_row(metric, ends, a, b) for metric, ends in scales.items())


def group_values(group: Sequence[Rating], scales: Scales = SMMQG) -> dict[str, tuple[float, float, float]]:
    """Return the mean of each metric (percentage of yes), with the ends of its 95 % interval: Wilson's, or normal on a scale."""
    return {metric: _mean(said, ends) for metric, ends in scales.items() if (said := _said(group, metric))}


def _said(group: Iterable[Rating], metric: str) -> list[float]:
    return [rating.values[metric] for rating in group if metric in rating.values]


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((v - mean) ** 2 for v in values) / max(1, len(values) - 1)


def _mean(values: Sequence[float], ends: tuple[int, int] | None) -> tuple[float, float, float]:
    n, mean = len(values), math.fsum(values) / len(values)
    if ends is None:
        found = wilson_interval(round(n * mean), n)
        return 100 * mean, 100 * (found.low or 0.0), 100 * (1.0 if found.high is None else found.high)
    half = normal_quantile(0.975) * math.sqrt(_variance(values) / n) if n > 1 else math.inf
    return mean, max(ends[0], mean - half), min(ends[1], mean + half)


def _row(metric: str, ends: tuple[int, int] | None, a: Sequence[Rating], b: Sequence[Rating]) -> StudyRow:
    first, second = _said(a, metric), _said(b, metric)
    n, m = len(first), len(second)
    if ends:
        found = mann_whitney(first, second, method="asymptotic")
    else:
        found = fisher_exact(round(sum(first)), n, round(sum(second)), m)
    one, two = (_mean(own, ends) if own else None for own in (first, second))
    row = StudyRow(
        metric=metric, a=one and one[0], b=two and two[0], n_a=n, n_b=m, p=found.p,
        test=str(found.signature), note=found.note,
    )  # fmt: skip
    if one is None or two is None:
        return row
    effect, between = found.statistic, one[0] - two[0]
    deviation = math.sqrt(_variance([*first, *second]) * (1 / n + 1 / m)) * (1 if ends else 100)
    return msgspec.structs.replace(
        row,
        low=between - math.hypot(one[0] - one[1], two[2] - two[0]),
        high=between + math.hypot(one[2] - one[0], two[0] - two[1]),
        effect=2 * effect / (n * m) - 1 if ends and effect is not None else effect,
        detectable=planned_difference(1, deviation) if deviation else None,
    )


def analyse_study(
    ratings: Sequence[Rating],
    groups: Mapping[str, Iterable[str]],
    comparisons: Sequence[tuple[str, str]],
    *,
    key: Mapping[str, Mapping[str, bool]] | None = None,
    corrections: Iterable[Rating] = (),
    scales: Scales = SMMQG,
    several: bool = False,
) -> HumanStudy:
    """Compare groups of samples by their ratings; test samples belong to no group.

    Args:
        ratings: of all workers, as they were made.
        groups: samples of each group, such as ``smmqg`` and ``mmqa``; groups may overlap (all, and each style).
        comparisons: pairs of groups, the reference first; none for workers alone.
        key: right ratings of the test samples; None when there were none.
        corrections: from the review by hand.
        scales: what is rated.
        several: samples may have been rated by several workers; one rating is made of theirs (``settled_ratings``).

    Raises:
        UserError: if a group is unknown, the two groups of a comparison share a sample, or a sample that is no test was rated
            by several workers (which would count it twice) and ``several`` is not said.
    """
    tests = set(key or {})
    workers = worker_results(ratings, key, (m for m, ends in scales.items() if ends is None)) if key else ()
    used = [r for r in corrected_ratings(ratings, corrections) if r.sample not in tests]
    ties = 0
    if several:
        used, ties = settled_ratings(used, scales)
    by_sample: dict[str, Rating] = {}
    for rating in used:
        if rating.sample in by_sample:
            twice = f"'{rating.sample}' was rated by '{by_sample[rating.sample].worker}' and by '{rating.worker}'."
            raise UserError(twice, hint="name it as a test sample, keep one of the ratings, or say --several")
        by_sample[rating.sample] = rating
    members = {name: frozenset(samples) for name, samples in groups.items()}
    _check_comparisons(comparisons, members)
    rows = [
        compare_groups(
            *([by_sample[s] for s in sorted(members[name]) if s in by_sample] for name in pair), scales=scales
        )
        for pair in comparisons
    ]
    flat = [row for of_pair in rows for row in of_pair]
    adjusted = iter(holm([row.p for row in flat]))
    made = tuple(
        GroupComparison(
            a=a, b=b, rows=tuple(msgspec.structs.replace(row, p_holm=next(adjusted)) for row in of_pair)
        )
        for (a, b), of_pair in zip(comparisons, rows, strict=True)
    )
    known = frozenset[str]().union(*members.values())
    counts = {
        "ratings": sum(r.sample not in tests for r in ratings),
        "ratings of test samples": sum(r.sample in tests for r in ratings),
        "rated samples of no group": len(set(by_sample) - known),
        "samples of a group without a rating": len(known - set(by_sample) - tests),
    }
    reviewed = tuple(result.worker for result in workers if result.needs_review)
    notes = {
        "test samples belong to no group and were left out of the comparisons": tests & known,
        f"{len(reviewed)} of {len(workers)} forms have two or more test samples wrong: review them by hand, "
        "without their origin": reviewed,
        f"{ties} ties of yes and no count as no": ties,
        f"{len(flat)} tests: p_holm is corrected for their number, p is not": len(flat) > 1,
    }
    return HumanStudy(
        comparisons=made,
        workers=workers,
        reviewed=reviewed,
        counts={name: n for name, n in counts.items() if n},
        notes=tuple(note for note, holds in notes.items() if holds),
    )


def _check_comparisons(comparisons: Sequence[tuple[str, str]], members: Mapping[str, frozenset[str]]) -> None:
    for a, b in comparisons:
        if unknown := [name for name in (a, b) if name not in members]:
            hint = f"there are {', '.join(sorted(members)) or 'none'}"
            raise UserError(f"there is no group '{unknown[0]}'.", hint=hint)
        if both := sorted(members[a] & members[b]):
            seen = f"'{both[0]}' is in both groups; the tests need different samples."
            raise UserError(seen, where=f"{a} and {b}")
