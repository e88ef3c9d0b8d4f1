"""How far judges can be believed: their marks held against people's, judge by judge and template by template.

All judges are compared on the same answers: those that people and every compared judge marked. What one of them lacks is
counted. Intervals draw whole recordings, because answers about one recording share its difficulty, and all judges see
the same draws, so that the choice between them is a paired comparison. Where a judge's scale is binary, people's marks
are taken as yes from the mark ``right`` on, and everything is computed on two levels.

Reference: ProMQA (2025), tables 9 and 10, which print correlation and accuracy without intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Final, Literal, TypedDict, get_args

import msgspec
import numpy as np

from proctor.errors import UserError
from proctor.exam.estimate import Draws, Estimate
from proctor.exam.judge_marks import Answer, HumanMarks, JudgeMarks, JudgeSetup
from proctor.metrics.agreement import cohen_kappa, raw_agreement
from proctor.metrics.bootstrap import (
    Floats,
    Statistic,
    bootstrap_interval,
    bootstrap_intervals,
    cluster_sums,
    iter_resamples,
)
from proctor.metrics.calibration import expected_calibration_error, reliability_bins
from proctor.metrics.figure import Reliability
from proctor.metrics.judge_error import judge_accuracy, judge_correlation
from proctor.metrics.krippendorff import krippendorff_alpha
from proctor.metrics.score import Signature

__all__ = [
    "CRITERIA",
    "Calibration",
    "Choice",
    "ChoiceDifference",
    "Consistency",
    "Criterion",
    "HumanMark",
    "JudgeAgreement",
    "JudgeReport",
    "calibrate_judges",
    "compared_answers",
]

Criterion = Literal["correlation", "accuracy", "kappa", "weighted_kappa"]
CRITERIA: Final = get_args(Criterion)
"""What a judge can be chosen by. ``accuracy`` and ``kappa`` favour a binary scale, which has fewer ways to be wrong."""

_FEW_TO_COMPARE: Final = 20
_MOST_LEVELS: Final = 3
_PAIR_RESAMPLES: Final = 2_000
"""Most resamples behind an interval of agreement: there is one for every two judges."""


class HumanMark(msgspec.Struct, frozen=True):
    """What people say of one answer: the mark of each who gave one, 0, 1 or 2."""

    item_id: str
    predictor: str
    votes: tuple[int, ...]


class Consistency(msgspec.Struct, frozen=True, kw_only=True):
    """How steady a judge is when it is asked again.

    Attributes:
        repeats: how often it was asked.
        same: share of answers that got the same mark each time, 0 to 1.
        alpha: Krippendorff's ordinal alpha of the repeats.
    """

    repeats: int
    same: Estimate
    alpha: Estimate


class JudgeReport(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One judge with one template against people.

    Attributes:
        judge: the setup.
        n: answers that it is compared on, the same for all judges.
        absent: answers with a human mark that it was never shown.
        unscored: answers with a human mark on which it gave none.
        outside: answers that it and people marked, but not all other judges; left out.
        confusion: how often people gave the mark of the row and the judge that of the column.
        correlation: Pearson, -1 to 1.
        accuracy: share of equal marks, 0 to 1.
        kappa: Cohen's, unweighted.
        weighted_kappa: Cohen's with quadratic weights.
        bias: mean of judge minus people, in points of 0 to 100; below 0 is too strict.
        sensitivity: share of right answers that the judge calls right.
        specificity: share of the other answers that it does not call right.
        consistency: when it was asked several times.
        confidence_error: expected calibration error of the confidences that it stated, 0 to 1.
        reliability: its confidences against how often its mark was people's.
    """

    judge: JudgeSetup
    n: int
    absent: int
    unscored: int
    outside: int
    confusion: tuple[tuple[int, ...], ...]
    correlation: Estimate
    accuracy: Estimate
    kappa: Estimate
    weighted_kappa: Estimate
    bias: Estimate
    sensitivity: Estimate
    specificity: Estimate
    consistency: Consistency | None = None
    confidence_error: Estimate | None = None
    reliability: Reliability | None = None

    @property
    def name(self) -> str:
        """Name of the setup."""
        return self.judge.name

    def by(self, criterion: Criterion) -> Estimate:
        """Return the value of a criterion."""
        found: Estimate = getattr(self, criterion)
        return found


class JudgeAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far two agree, on the answers that both marked: two judges, or two people.

    Attributes:
        a: name of one.
        b: name of the other.
        raw: share of equal marks; on two levels where either scale is binary.
        kappa: Cohen's, with quadratic weights.
    """

    a: str
    b: str
    raw: Estimate
    kappa: Estimate


class ChoiceDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The chosen judge against another, on the same draws.

    Attributes:
        other: name of the other judge.
        difference: chosen minus other in the criterion; the interval holds for all such differences together.
        separated: the interval does not reach 0.
    """

    other: str
    difference: Estimate
    separated: bool


class Choice(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Which judge to take, and how sure that is.

    Attributes:
        criterion: what is highest.
        judge: name of the chosen one; empty when none has a value.
        best_in: share of the resamples in which each judge is the best one.
        differences: to all others.
        tied: the others that the data do not separate from it.
        note: what to beware of.
    """

    criterion: Criterion
    judge: str = ""
    best_in: Mapping[str, float] = {}
    differences: tuple[ChoiceDifference, ...] = ()
    tied: tuple[str, ...] = ()
    note: str = ""


class Calibration(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The calibration of all judges, as it is stored.

    Attributes:
        right: mark from which on people call an answer right.
        confidence: level of all intervals.
        resamples: of the bootstrap.
        seed: of the bootstrap.
        cluster: what intervals draw whole.
        human: what people said of every answer that they marked.
        people: names of those who marked, with the number of their marks.
        disputed: answers without a most frequent mark; left out.
        unscored: answers that people did not mark although they saw them.
        judges: sorted by name.
        agreement: of every two judges.
        people_agreement: of every two people: no judge can be expected to do better.
        choice: which judge to take.
        notes: what a reader has to know.
    """

    right: int
    confidence: float
    resamples: int
    seed: int
    human: tuple[HumanMark, ...]
    people: Mapping[str, int]
    cluster: str = "recording"
    disputed: int = 0
    unscored: int = 0
    judges: tuple[JudgeReport, ...] = ()
    agreement: tuple[JudgeAgreement, ...] = ()
    people_agreement: tuple[JudgeAgreement, ...] = ()
    choice: Choice
    notes: tuple[str, ...] = ()

    @property
    def votes(self) -> dict[Answer, tuple[int, ...]]:
        """People's marks by answer."""
        return {Answer(m.item_id, m.predictor): m.votes for m in self.human}


def calibrate_judges(
    human: HumanMarks,
    judges: Sequence[JudgeMarks],
    recordings: Mapping[str, str],
    *,
    right: int = 2,
    criterion: Criterion = "correlation",
    draws: Draws | None = None,
) -> Calibration:
    """Hold judges against people.

    A judge that marked none of the answers with a human mark is listed, but does not shrink what the others are compared
    on.

    Args:
        human: people's marks.
        judges: of the setups to compare.
        recordings: recording of every item.
        right: mark from which on people call an answer right: 2 (a full match) or 1.
        criterion: what to choose by.
        draws: of all intervals.

    Raises:
        UserError: if there are no human marks, a mark is about an unknown item, or an option is out of range.
    """
    draws = draws or Draws()
    if right not in (1, 2):
        raise UserError(f"'right' is {right}; 1 or 2 was expected.")
    if criterion not in CRITERIA:
        raise UserError(f"there is no criterion '{criterion}'.", hint=f"known: {', '.join(CRITERIA)}")
    if not human.marks:
        raise UserError("people marked nothing.", hint="a calibration needs marks by people")
    unknown = sorted(a.item_id for a in human.votes if a.item_id not in recordings)
    if unknown:
        raise UserError(
            f"{len(unknown)} human marks are about items that the benchmark does not have, such as '{unknown[0][:80]}'."
        )
    present, common = compared_answers(human.marks, judges)
    work = _Work(human, common, recordings, right, draws)
    reports = tuple(work.report(j) for j in judges)
    compared = [j for j in judges if j in present]
    return Calibration(
        right=right,
        confidence=draws.confidence,
        resamples=draws.resamples,
        seed=draws.seed,
        cluster=draws.cluster,
        human=tuple(HumanMark(*a, human.votes[a]) for a in sorted(human.votes)),
        people={name: len(marks) for name, marks in human.people.items()},
        disputed=len(human.disputed),
        unscored=len(human.unscored),
        judges=reports,
        agreement=tuple(work.agreement_of_judges(a, b) for a, b in combinations(judges, 2)),
        people_agreement=tuple(
            work.agreement_of_people(a, b) for a, b in combinations(sorted(human.people), 2)
        ),
        choice=work.choose(compared, reports, criterion),
        notes=tuple(_notes(human, judges, present, common)),
    )


def compared_answers(
    people: Iterable[Answer], judges: Sequence[JudgeMarks]
) -> tuple[list[JudgeMarks], list[Answer]]:
    """Return the judges that marked any of the answers that people marked, and the answers that all of these marked."""
    answers = sorted(people)
    present = [j for j in judges if any(_score(j, a) is not None for a in answers)]
    return present, [a for a in answers if present and all(_score(j, a) is not None for j in present)]


def _score(judge: JudgeMarks, answer: Answer) -> int | None:
    return judge.marks.get(answer)


def _notes(
    human: HumanMarks, judges: Sequence[JudgeMarks], present: Sequence[JudgeMarks], common: Sequence[Answer]
) -> list[str]:
    notes = []
    if missing := [j.setup.name for j in judges if j not in present]:
        notes.append(f"without a mark on any answer that people marked: {', '.join(missing)}")
    if not judges:
        notes.append("no machine judged anything")
    if present and len(common) < len(human.marks):
        notes.append(
            f"compared on the {len(common)} answers that all judges marked, of {len(human.marks)} with a human mark"
        )
    if human.disputed:
        notes.append(f"{len(human.disputed)} answers left out, on which people are divided evenly")
    if present and len(common) < _FEW_TO_COMPARE:
        notes.append(f"{len(common)} answers are too few to choose a judge by")
    return notes


class _Options(TypedDict):
    clusters: list[str]
    confidence: float
    resamples: int
    seed: int


class _Work:
    """What every report of one calibration shares."""

    def __init__(
        self,
        human: HumanMarks,
        common: Sequence[Answer],
        recordings: Mapping[str, str],
        right: int,
        draws: Draws,
    ) -> None:
        self.human, self.common, self.recordings = human, common, recordings
        self.right, self.draws = right, draws
        self.clusters = [recordings[a.item_id] for a in common]

    def _options(self, answers: Sequence[Answer]) -> _Options:
        return {
            "clusters": [self.recordings[a.item_id] for a in answers],
            "confidence": self.draws.confidence,
            "resamples": self.draws.resamples,
            "seed": self.draws.seed,
        }

    # -- one judge -------------------------------------------------------------------------------------------------

    def report(self, judge: JudgeMarks) -> JudgeReport:
        """Hold one judge against people."""
        shown = [a for a in self.human.marks if a in judge.marks]
        marked = [a for a in shown if judge.marks[a] is not None]
        here = self.common if marked else []
        truth, said = self._levels(judge, here)
        options = self._options(here)
        levels = judge.setup.levels
        error, reliability = self._confidences(judge)
        return JudgeReport(
            judge=judge.setup,
            n=len(here),
            absent=len(self.human.marks) - len(shown),
            unscored=len(shown) - len(marked),
            outside=len(marked) - len(here),
            confusion=tuple(
                tuple(
                    sum(t == row and s == column for t, s in zip(truth, said, strict=True))
                    for column in levels
                )
                for row in levels
            ),
            correlation=Estimate.of(judge_correlation(truth, said, **options)),
            accuracy=Estimate.of(judge_accuracy(truth, said, **options)),
            kappa=Estimate.of(cohen_kappa(truth, said, values=levels, **options)),
            weighted_kappa=Estimate.of(
                cohen_kappa(truth, said, values=levels, weights="quadratic", **options)
            ),
            bias=self._mean(
                [judge.setup.points * (s - t) for t, s in zip(truth, said, strict=True)],
                self.common,
                "judge_bias",
            ),
            sensitivity=self._share_right(judge, here, right=True),
            specificity=self._share_right(judge, here, right=False),
            consistency=self._consistency(judge),
            confidence_error=error,
            reliability=reliability,
        )

    def _levels(self, judge: JudgeMarks, answers: Sequence[Answer]) -> tuple[list[int], list[int]]:
        setup = judge.setup
        truth = [setup.human_level(self.human.marks[a], self.right) for a in answers]
        return truth, [setup.level(judge.marks[a] or 0) for a in answers]

    def _mean(self, values: Sequence[float], answers: Sequence[Answer], name: str) -> Estimate:
        """Mean over answers, clustered."""
        signature = self.draws.sign(Signature(name, {"cluster": self.draws.cluster}))
        if not values:
            return Estimate(signature=str(signature), note="there are no such answers")
        clusters = [self.recordings[a.item_id] for a in answers]
        interval = bootstrap_interval(
            cluster_sums([values, [1.0] * len(values)], clusters),
            confidence=self.draws.confidence,
            resamples=self.draws.resamples,
            seed=self.draws.seed,
        )
        return Estimate.with_interval(math.fsum(values) / len(values), interval, len(values), signature)

    def _share_right(self, judge: JudgeMarks, answers: Sequence[Answer], *, right: bool) -> Estimate:
        """Sensitivity or specificity of the judge's "right": the mark ``right`` or better (binary: yes)."""
        kind = [a for a in answers if (self.human.marks[a] >= self.right) is right]
        hits = [float(says_right(judge.setup, judge.marks[a] or 0, self.right) is right) for a in kind]
        return self._mean(hits, kind, "judge_sensitivity" if right else "judge_specificity")

    def _confidences(self, judge: JudgeMarks) -> tuple[Estimate | None, Reliability | None]:
        """Over all answers that both marked and for which the judge said how sure it was."""
        sure = [
            a for a in sorted(judge.confidences) if a in self.human.marks and _score(judge, a) is not None
        ]
        if not sure:
            return None, None
        truth, said = self._levels(judge, sure)
        same = [t == s for t, s in zip(truth, said, strict=True)]
        stated = [judge.confidences[a] for a in sure]
        picture = reliability_bins(same, stated).as_figure(f"How sure {judge.setup.name} was")
        return Estimate.of(expected_calibration_error(same, stated)), picture

    def _consistency(self, judge: JudgeMarks) -> Consistency | None:
        if len(judge.repeats) < 2:
            return None
        rows: dict[Answer, list[int | None]] = {}
        for answer in sorted(
            {a for marks in judge.repeats.values() for a in marks if a.item_id in self.recordings}
        ):
            rows[answer] = [marks.get(answer) for marks in judge.repeats.values()]
        several = [a for a, row in rows.items() if sum(m is not None for m in row) > 1]
        same = [float(len({m for m in rows[a] if m is not None}) == 1) for a in several]
        alpha = krippendorff_alpha([rows[a] for a in several], level="ordinal", **self._options(several))
        return Consistency(
            repeats=len(judge.repeats),
            same=self._mean(same, several, "judge_consistency"),
            alpha=Estimate.of(alpha),
        )

    # -- two of them -----------------------------------------------------------------------------------------------

    def agreement_of_judges(self, a: JudgeMarks, b: JudgeMarks) -> JudgeAgreement:
        """Compare two judges on all answers that both marked, with people's marks or without."""
        one, two = ({x: m for x, m in j.marks.items() if m is not None} for j in (a, b))
        both = [x for x in sorted(one.keys() & two.keys()) if x.item_id in self.recordings]
        if "binary" in (a.setup.scale, b.setup.scale):
            right = self.right
            one, two = (
                {x: int(says_right(judge.setup, marks[x], right)) for x in both}
                for judge, marks in ((a, one), (b, two))
            )
        return self._agreement(
            a.setup.name, b.setup.name, both, [[own[x] for x in both] for own in (one, two)]
        )

    def agreement_of_people(self, a: str, b: str) -> JudgeAgreement:
        """Compare two people."""
        one, two = self.human.people[a], self.human.people[b]
        both = [x for x in sorted(one) if x in two and x.item_id in self.recordings]
        return self._agreement(a, b, both, [[own[x] for x in both] for own in (one, two)])

    def _agreement(
        self, a: str, b: str, answers: Sequence[Answer], marks: Sequence[Sequence[int]]
    ) -> JudgeAgreement:
        (one, two), clusters = marks, [self.recordings[x.item_id] for x in answers]
        cells = range(_MOST_LEVELS**2)
        table = [_MOST_LEVELS * x + y for x, y in zip(one, two, strict=True)]
        # Both numbers from one pass over the draws: there are many pairs.
        sums = cluster_sums([[float(t == cell) for t in table] for cell in cells], clusters)
        draws = min(self.draws.resamples, _PAIR_RESAMPLES)
        intervals = bootstrap_intervals(
            sums,
            [_statistic("accuracy"), _statistic("weighted_kappa")],
            method="percentile",
            confidence=self.draws.confidence,
            resamples=draws,
            seed=self.draws.seed,
        )
        scores = (
            raw_agreement(one, two, resamples=0),
            cohen_kappa(one, two, weights="quadratic", resamples=0),
        )
        raw, kappa = (
            msgspec.structs.replace(
                Estimate.of(score),
                low=interval.low,
                high=interval.high,
                note=score.note or interval.note,
                signature=str(
                    score.signature.having(
                        cluster=self.draws.cluster, interval=interval.method, resamples=str(draws)
                    )
                ),
            )
            for score, interval in zip(scores, intervals, strict=True)
        )
        return JudgeAgreement(a=a, b=b, raw=raw, kappa=kappa)

    # -- the choice ------------------------------------------------------------------------------------------------

    def choose(
        self, judges: Sequence[JudgeMarks], reports: Sequence[JudgeReport], criterion: Criterion
    ) -> Choice:
        """Take the judge that is highest in the criterion and say how sure that is."""
        values = {r.name: r.by(criterion).value for r in reports}
        names = [j.setup.name for j in judges]
        found = [value for name in names if (value := values[name]) is not None]
        if not found:
            return Choice(criterion=criterion, note="no judge has a value")
        best = next(n for n in names if values[n] == max(found))
        if len(names) == 1:
            return Choice(criterion=criterion, judge=best, note="there is one judge only")
        drawn = self._drawn(judges, criterion)
        if drawn is None:
            return Choice(
                criterion=criterion, judge=best, note="one recording: nothing says how sure this is"
            )
        known = drawn[np.isfinite(drawn).any(axis=1)]
        winners = np.bincount(np.nanargmax(known, axis=1), minlength=len(names))
        first = names.index(best)
        # Each interval is that much wider that all of them hold together (Bonferroni).
        level = 1 - (1 - self.draws.confidence) / (len(names) - 1)
        differences = tuple(
            _difference(
                name, values[best], values[name], drawn[:, first] - drawn[:, k], level, len(self.common)
            )
            for k, name in enumerate(names)
            if k != first
        )
        return Choice(
            criterion=criterion,
            judge=best,
            best_in={n: float(w) / max(1, len(known)) for n, w in zip(names, winners.tolist(), strict=True)},
            differences=differences,
            tied=tuple(d.other for d in differences if not d.separated),
            note="the best of several looks better on these marks than it will on others",
        )

    def _drawn(self, judges: Sequence[JudgeMarks], criterion: Criterion) -> Floats | None:
        """Criterion of every judge (column) on the same resamples (rows): a function of its confusion table."""
        columns: list[list[float]] = []
        sizes = []
        for judge in judges:
            truth, said = self._levels(judge, self.common)
            levels = judge.setup.levels
            sizes.append(len(levels))
            columns += [
                [float(t == row and s == column) for t, s in zip(truth, said, strict=True)]
                for row in levels
                for column in levels
            ]
        sums = cluster_sums(columns, self.clusters)
        if len(sums) < 2:
            return None
        rng = np.random.default_rng(self.draws.seed)
        parts = []
        for rows in iter_resamples(sums, resamples=self.draws.resamples, rng=rng):
            begin, values = 0, []
            for size in sizes:
                values.append(table_criterion(rows[:, begin : begin + size**2], size, criterion))
                begin += size**2
            parts.append(np.stack(values, axis=1))
        return np.concatenate(parts)


def says_right(setup: JudgeSetup, mark: int, right: int) -> bool:
    """True when the judge's mark calls an answer right."""
    return mark > 0 if setup.scale == "binary" else mark >= right


def _statistic(criterion: Criterion) -> Statistic:
    return lambda tables: table_criterion(tables, _MOST_LEVELS, criterion)


def _difference(
    other: str, best: float | None, value: float | None, drawn: Floats, level: float, n: int
) -> ChoiceDifference:
    signature = str(
        Signature("judge_difference", {"interval": f"percentile-{100 * level:g}", "paired": "yes"})
    )
    defined = drawn[np.isfinite(drawn)]
    if best is None or value is None or not defined.size:
        estimate = Estimate(n=n, signature=signature, note=f"'{other}' has no value")
        return ChoiceDifference(
            other=other, difference=estimate, separated=best is not None and value is None
        )
    low, high = (float(x) for x in np.quantile(defined, [(1 - level) / 2, (1 + level) / 2]))
    estimate = Estimate(value=best - value, low=low, high=high, n=n, signature=signature)
    return ChoiceDifference(other=other, difference=estimate, separated=low > 0)


def table_criterion(tables: Floats, size: int, criterion: Criterion) -> Floats:
    """Criterion of confusion tables, one a row, each of ``size`` rows (people) and columns (judge); nan where undefined."""
    counts = tables.reshape(-1, size, size)
    n = counts.sum(axis=(1, 2))
    steps = np.arange(size, dtype=np.float64)
    rows, columns = counts.sum(axis=2), counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if criterion == "accuracy":
            result: Floats = np.trace(counts, axis1=1, axis2=2) / n
        elif criterion == "correlation":
            x, y = rows @ steps / n, columns @ steps / n
            together = (counts @ steps) @ steps / n - x * y
            spread = (rows @ steps**2 / n - x**2) * (columns @ steps**2 / n - y**2)
            result = np.where(
                spread > 1e-12, together / np.sqrt(np.where(spread > 1e-12, spread, 1.0)), np.nan
            )
        else:
            apart = np.abs(steps[:, None] - steps)
            apart = (apart > 0).astype(np.float64) if criterion == "kappa" else apart**2
            expected = ((rows @ apart) * columns).sum(axis=1) / n
            result = np.where(expected > 1e-12, 1 - (counts * apart).sum(axis=(1, 2)) / expected, np.nan)
    return result
