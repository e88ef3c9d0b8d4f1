"""A study in which people rate questions: who rates what, what it costs, whose ratings are looked at again, what came out.

SMMQG. Every form has questions of the pool, each rated by one worker, and the same few *test samples*,
whose right ratings are known, and attention checks. Who rates all test samples rightly gets a bonus; who fails most of them
has the form reviewed by hand, without knowing where its questions come from, and corrected.

Fluency is compared by the Mann-Whitney test, yes/no ratings by Fisher's exact test. The paper corrects for nothing; Holm's
correction stands beside each p-value here.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.csv_rows import iter_csv_rows
from proctor.metrics.hypothesis_tests import PValue, fisher_exact, holm, mann_whitney

__all__ = [
    "METRICS",
    "YES_NO",
    "Form",
    "FormPlan",
    "GroupComparison",
    "HumanStudy",
    "Payment",
    "Rating",
    "StudyRow",
    "WorkerResult",
    "analyse_study",
    "compare_groups",
    "corrected_ratings",
    "payments",
    "plan_forms",
    "read_ratings",
    "worker_results",
]

FLUENCY: Final = "fluency"
YES_NO: Final = ("style", "relevance", "answerability", "correctness")
METRICS: Final = (FLUENCY, *YES_NO)
"""What is rated: fluency from 1 to 5; faithfulness to the style, relevance of all sources, answerability from the sources
alone and correctness of the answer by yes or no."""

_YES: Final = frozenset({"yes", "y", "true", "1"})
_NO: Final = frozenset({"no", "n", "false", "0"})
_FLUENCIES: Final = {str(n): n for n in range(1, 6)}
_KEYS: Final = ("worker", "sample")


# -- forms -----------------------------------------------------------------------------------------------------


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker is given.

    Attributes:
        number: from 1.
        samples: ids in the order in which they are shown: of the pool, test samples and attention checks.
    """

    number: int
    samples: tuple[str, ...]


class FormPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All forms of a study.

    Attributes:
        forms: one a worker.
        pool: samples that are rated once each.
        tests: samples that every worker rates.
        attention: checks on every form; not rated samples.
    """

    forms: tuple[Form, ...]
    pool: tuple[str, ...]
    tests: tuple[str, ...]
    attention: tuple[str, ...] = ()


def plan_forms(
    pool: Sequence[str],
    tests: Sequence[str],
    rng: random.Random,
    *,
    attention: Sequence[str] = (),
    per_form: int = 20,
    workers: int | None = None,
) -> FormPlan:
    """Deal the pool to forms: each sample once, the test samples and attention checks on every form, in random order.

    All forms but the last are full. The paper: 420 samples, 3 tests, 20 rated samples a form: 24 forms of 17 and one of 12.

    Args:
        pool: samples to be rated once.
        tests: samples with known ratings, on every form.
        rng: all randomness.
        attention: ids of attention checks, on every form beside the rated samples.
        per_form: rated samples on a full form, the tests among them.
        workers: how many there are; None for as many as are needed.

    Raises:
        UserError: if ids repeat, a form has no room for the pool, or the workers are too few or too many.
    """
    named = [*pool, *tests, *attention]
    if twice := [id_ for id_, n in Counter(named).items() if n > 1]:
        raise UserError(f"'{twice[0]}' is named twice among pool, tests and attention checks.")
    room = per_form - len(tests)
    if room < 1 or not pool:
        raise UserError(
            f"{len(pool)} samples cannot be dealt to forms of {per_form} with {len(tests)} tests on each.",
            hint="make forms longer, use fewer tests, or give samples",
        )
    needed = -(-len(pool) // room)
    if workers is not None and workers != needed:
        raise UserError(
            f"{len(pool)} samples, {room} on a form, need {needed} workers, not {workers}.",
            hint=f"ask {needed} workers, or change the samples of a form",
        )
    order = list(pool)
    rng.shuffle(order)
    forms = []
    for number in range(needed):
        samples = [*order[number * room : (number + 1) * room], *tests, *attention]
        rng.shuffle(samples)
        forms.append(Form(number=number + 1, samples=tuple(samples)))
    return FormPlan(forms=tuple(forms), pool=tuple(pool), tests=tuple(tests), attention=tuple(attention))


# -- ratings ---------------------------------------------------------------------------------------------------


class Rating(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker said of one sample.

    Attributes:
        worker: who.
        sample: what.
        fluency: 1 to 5.
        style: the question follows its style.
        relevance: all sources are useful (two that are useful and say the same count as yes).
        answerability: the sources alone suffice.
        correctness: the answer is right by the sources alone.
    """

    worker: str
    sample: str
    fluency: int
    style: bool
    relevance: bool
    answerability: bool
    correctness: bool


def read_ratings(path: Path) -> list[Rating]:
    """Read ratings from a CSV file with the columns ``worker``, ``sample`` and the five metrics.

    Fluency is 1 to 5; the others are ``yes`` or ``no`` (``true``/``false``, ``y``/``n``, ``1``/``0``). Further columns are
    left alone.

    Raises:
        UserError: for a missing column, an unknown value or a sample that a worker rates twice; with line and column.
    """
    ratings: list[Rating] = []
    seen: dict[tuple[str, str], int] = {}
    for line, row in iter_csv_rows(path, (*_KEYS, *METRICS)):
        where = f"{path}:{line}"
        key = (row["worker"], row["sample"])
        if not all(key):
            raise UserError("the worker or the sample has no name.", where=where)
        if key in seen:
            raise UserError(
                f"'{key[0]}' rates '{key[1]}' a second time (first in line {seen[key]}).",
                where=where,
                hint="keep one; corrections belong into a file of their own",
            )
        seen[key] = line
        ratings.append(
            Rating(
                worker=key[0],
                sample=key[1],
                fluency=_fluency(row[FLUENCY], where),
                style=_yes_no(row, "style", where),
                relevance=_yes_no(row, "relevance", where),
                answerability=_yes_no(row, "answerability", where),
                correctness=_yes_no(row, "correctness", where),
            )
        )
    if not ratings:
        raise UserError("the file has no ratings.", where=str(path))
    return ratings


def _fluency(text: str, where: str) -> int:
    if text not in _FLUENCIES:
        raise UserError(f"fluency is a whole number from 1 to 5, not {text[:40]!r}.", where=where)
    return _FLUENCIES[text]


def _yes_no(row: Mapping[str, str], metric: str, where: str) -> bool:
    word = row[metric].casefold()
    if word not in _YES | _NO:
        raise UserError(f"{metric} is yes or no, not {row[metric][:40]!r}.", where=where)
    return word in _YES


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


# -- workers ---------------------------------------------------------------------------------------------------


class WorkerResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker did on the test samples.

    Attributes:
        worker: who.
        rated: samples.
        right: test samples that were rated as they should be.
        tests: test samples.
        missing: test samples that were not rated; they are not right.
    """

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
    ratings: Sequence[Rating], key: Mapping[str, Mapping[str, bool]]
) -> tuple[WorkerResult, ...]:
    """Mark the test samples of every worker.

    Args:
        ratings: as they were made, before any correction.
        key: right yes/no ratings of each test sample, by sample and metric; metrics that are open to taste are left out. A
            sample is right when all of them agree.

    Returns:
        One a worker, in order of names.

    Raises:
        UserError: if the key is empty or names an unknown metric.
    """
    unknown = sorted({metric for right in key.values() for metric in right} - set(YES_NO))
    if not key or unknown or not all(key.values()):
        raise UserError(
            "the key of the test samples is empty or names unknown metrics: "
            + (", ".join(unknown) or "none")
            + ".",
            hint=f"it gives for each test sample some of {', '.join(YES_NO)}",
        )
    by_worker: dict[str, dict[str, Rating]] = {}
    for rating in ratings:
        by_worker.setdefault(rating.worker, {})[rating.sample] = rating
    found = []
    for worker, rated in sorted(by_worker.items()):
        right = sum(
            sample in rated and all(getattr(rated[sample], m) == value for m, value in wanted.items())
            for sample, wanted in key.items()
        )
        missing = sum(sample not in rated for sample in key)
        found.append(
            WorkerResult(worker=worker, rated=len(rated), right=right, tests=len(key), missing=missing)
        )
    return tuple(found)


class Payment(msgspec.Struct, frozen=True, kw_only=True):
    """What the workers of a study are paid, in one currency.

    Attributes:
        workers: how many.
        bonuses: how many of them get the bonus.
        reviews: forms that are looked at by hand.
        total: pay and bonuses.
    """

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
    return Payment(
        workers=len(results),
        bonuses=bonuses,
        reviews=sum(result.needs_review for result in results),
        total=float(total),
    )


# -- what came out ---------------------------------------------------------------------------------------------


class StudyRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One metric of two groups.

    Attributes:
        metric: one of ``METRICS``.
        a: mean fluency, or percentage of yes, of the first group; None without ratings.
        b: of the second group.
        n_a: ratings of the first group.
        n_b: ratings of the second group.
        p: two-sided p-value; None where it is undefined.
        p_holm: the same after Holm's correction over all rows of the study.
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
    test: str = ""
    note: str = ""


class GroupComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two groups of samples in all metrics."""

    a: str
    b: str
    rows: tuple[StudyRow, ...]


class HumanStudy(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Everything that a study says.

    Attributes:
        comparisons: in the order asked for.
        workers: how each did on the test samples; empty without a key.
        reviewed: workers whose forms have to be looked at by hand.
        counts: ratings used, test samples left out, samples of no group.
        notes: what to beware of.
    """

    comparisons: tuple[GroupComparison, ...]
    workers: tuple[WorkerResult, ...] = ()
    reviewed: tuple[str, ...] = ()
    counts: Mapping[str, int] = {}
    notes: tuple[str, ...] = ()


def compare_groups(a: Sequence[Rating], b: Sequence[Rating]) -> tuple[StudyRow, ...]:
    """Compare two groups of ratings in every metric, without correction."""
    return tuple(_row(metric, a, b) for metric in METRICS)


def _row(metric: str, a: Sequence[Rating], b: Sequence[Rating]) -> StudyRow:
    first, second = ([getattr(rating, metric) for rating in group] for group in (a, b))
    found: PValue
    if metric == FLUENCY:
        found = mann_whitney(first, second, method="asymptotic")
    else:
        found = fisher_exact(sum(first), len(first), sum(second), len(second))
    scale = 1 if metric == FLUENCY else 100
    return StudyRow(
        metric=metric,
        a=scale * sum(first) / len(first) if first else None,
        b=scale * sum(second) / len(second) if second else None,
        n_a=len(first),
        n_b=len(second),
        p=found.p,
        test=str(found.signature),
        note=found.note,
    )


def analyse_study(
    ratings: Sequence[Rating],
    groups: Mapping[str, Iterable[str]],
    comparisons: Sequence[tuple[str, str]],
    *,
    key: Mapping[str, Mapping[str, bool]] | None = None,
    corrections: Iterable[Rating] = (),
) -> HumanStudy:
    """Compare groups of samples by their ratings; test samples belong to no group.

    Args:
        ratings: of all workers, as they were made.
        groups: samples of each group, such as ``smmqg`` and ``mmqa``; groups may overlap (all, and each style).
        comparisons: pairs of groups, the reference first.
        key: right ratings of the test samples; None when there were none.
        corrections: from the review by hand.

    Raises:
        UserError: if a group is unknown, the two groups of a comparison share a sample, or a sample that is no test was rated
            by several workers (which would count it twice).
    """
    tests = set(key or {})
    workers = worker_results(ratings, key) if key else ()
    used = [r for r in corrected_ratings(ratings, corrections) if r.sample not in tests]
    by_sample: dict[str, Rating] = {}
    for rating in used:
        if rating.sample in by_sample:
            raise UserError(
                f"'{rating.sample}' was rated by '{by_sample[rating.sample].worker}' and by '{rating.worker}'.",
                hint="name it as a test sample, or keep one of the ratings",
            )
        by_sample[rating.sample] = rating
    members = {name: frozenset(samples) for name, samples in groups.items()}
    _check_comparisons(comparisons, members)
    rows = [
        compare_groups(*([by_sample[s] for s in sorted(members[name]) if s in by_sample] for name in pair))
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
        "ratings": len(used),
        "ratings of test samples": len(ratings) - len(used),
        "rated samples of no group": len(set(by_sample) - known),
        "samples of a group without a rating": len(known - set(by_sample) - tests),
    }
    return HumanStudy(
        comparisons=made,
        workers=workers,
        reviewed=tuple(result.worker for result in workers if result.needs_review),
        counts={name: n for name, n in counts.items() if n},
        notes=tuple(_study_notes(members, tests, workers, len(flat))),
    )


def _check_comparisons(comparisons: Sequence[tuple[str, str]], members: Mapping[str, frozenset[str]]) -> None:
    if not comparisons:
        raise UserError("there is nothing to compare.", hint="name two groups")
    for a, b in comparisons:
        if unknown := [name for name in (a, b) if name not in members]:
            raise UserError(
                f"there is no group '{unknown[0]}'.", hint=f"there are {', '.join(sorted(members)) or 'none'}"
            )
        if both := sorted(members[a] & members[b]):
            raise UserError(
                f"'{both[0]}' is in both groups; the tests need different samples.", where=f"{a} and {b}"
            )


def _study_notes(
    members: Mapping[str, frozenset[str]], tests: set[str], workers: Sequence[WorkerResult], rows: int
) -> Iterator[str]:
    inside = sum(bool(tests & samples) for samples in members.values())
    if inside:
        yield "test samples belong to no group and were left out of the comparisons"
    review = sum(result.needs_review for result in workers)
    if review:
        yield f"{review} of {len(workers)} forms have two or more test samples wrong: review them by hand, without their origin"
    if rows > 1:
        yield f"{rows} tests: p_holm is corrected for their number, p is not"
