"""Measuring the oracle against people: pure functions over rows, one row a judged answer.

Conventions: *agreement* is the share of answers where oracle and label say the same. *Over all* answers the oracle
has to say right or wrong, so where it is unsure its likelier side counts; *over decided* only answers whose
confidence reaches the threshold count. *Accept-precision* at a probability is the share of right answers among
those that the oracle takes for right with at least this probability; its coverage is their share of all answers.
Intervals: ``low`` and ``high`` come from a bootstrap over clusters (recordings), BCa, 95 %; ``wilson`` treats
answers as independent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import msgspec

from proctor.metrics.bootstrap import bootstrap_interval, cluster_sums
from proctor.metrics.interval import wilson_interval
from proctor.verify.oracle.confidence import fit_calibration

__all__ = ["Accepted", "AnswerRow", "Confusion", "Figures", "Group", "Share", "cross_validate", "evaluate"]

THRESHOLDS: Final = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95)
PRIOR: Final = 2.0
"""Weight of the overall share of right answers against a rule's own, in answers."""
Refit = Literal["calibration", "rules"]
COVERAGES: Final = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One machine answer, what people said of it and what the oracle says.

    Attributes:
        id: question id and number of the answer, unique.
        question_id: of the example.
        type: question type of the example.
        intent: what the oracle took the question to ask.
        cluster: recording.
        group: recipe; what cross-validation leaves out.
        label: the adjudicated judgement, True for right.
        humans: the annotators' judgements; None where one rejected the question.
        lean: of the deciding ground; None when the answer could not be read.
        probability: that the answer is right.
        rule: name of the deciding ground.
        reason: the oracle's sentence.
        question: text.
        answer: text.
    """

    id: str
    question_id: str
    type: str
    intent: str
    cluster: str
    group: str
    label: bool
    probability: float
    humans: tuple[bool | None, ...] = ()
    lean: float | None = None
    rule: str = ""
    reason: str = ""
    question: str = ""
    answer: str = ""

    @property
    def guess(self) -> bool:
        """What the oracle says when it must."""
        return self.probability >= 0.5

    @property
    def confidence(self) -> float:
        """Probability of the likelier side."""
        return max(self.probability, 1 - self.probability)

    @property
    def agrees(self) -> bool:
        """True when the guess is the label."""
        return self.guess == self.label


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A proportion of answers with both intervals.

    Attributes:
        value: the proportion; None of no answers.
        n: answers.
        low: lower end by the bootstrap, None when undefined.
        high: upper end.
        wilson: both ends when answers are independent; None when undefined.
        note: why an interval is undefined, or what to beware of; unset for nothing.
    """

    value: float | None
    n: int
    low: float | None
    high: float | None
    wilson: tuple[float | None, float | None]
    note: str | msgspec.UnsetType = msgspec.UNSET


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """What is accepted as right from a probability on.

    Attributes:
        threshold: the probability, where it was given.
        wanted_coverage: the share of all answers that was to be accepted, where this was given.
        accepted: how many answers are.
        coverage: their share of all.
        border: the lowest probability among them, None where there is none.
        precision: how many of them are right.
    """

    threshold: float | msgspec.UnsetType = msgspec.UNSET
    wanted_coverage: float | msgspec.UnsetType = msgspec.UNSET
    accepted: int
    coverage: float | None
    border: float | None
    precision: Share


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """How many answers the oracle decides at a confidence, and how often it then agrees with people."""

    threshold: float
    decided: int
    coverage: float | None
    agreement: Share


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of the answers that have something in common."""

    n: int
    right: int
    decided: int
    coverage: float | None
    agreement_all: Share
    agreement_decided: Share


class Confusion(msgspec.Struct, frozen=True, kw_only=True):
    """How many answers are what by people (first), and what the oracle said."""

    right_said_right: int
    right_said_wrong: int
    wrong_said_right: int
    wrong_said_wrong: int


class People(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement of the two annotators with each other, and of each with the oracle, on the same answers."""

    between_annotators: Share
    oracle_with_one_annotator: Share
    oracle_where_annotators_agree: Share
    oracle_where_annotators_differ: Share


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of which the oracle says something else than people; as in its ``AnswerRow``, both judgements as words."""

    id: str
    type: str
    intent: str
    label: str
    oracle: str
    decided: bool
    probability: float
    rule: str
    reason: str
    humans: tuple[bool | None, ...]
    question: str
    answer: str


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Every figure about one set of rows; see the conventions of this module.

    Attributes:
        n: answers.
        questions: different ones.
        clusters: recordings.
        groups: recipes.
        right: answers that are, by people.
        threshold: confidence from which an answer counts as decided.
        decided: answers that are.
        coverage: their share.
        agreement_decided: over decided answers.
        agreement_all: over all answers.
        kappa_all: Cohen's kappa over all answers.
        brier: mean squared difference of probability and judgement.
        always_right_agreement: what saying "right" every time would reach.
        accept_by_threshold: accept-precision by probability.
        accept_by_coverage: accept-precision by share of the answers.
        agreement_by_threshold: agreement over decided answers by confidence.
        by_type: by question type.
        by_intent: by what the question asks.
        by_rule: by deciding ground.
        by_group: by recipe.
        confusion_by_type: by question type.
        confusion: of all.
        human: people on the same answers.
        disagreements: answers that oracle and people judge differently.
    """

    n: int
    questions: int
    clusters: int
    groups: int
    right: int
    threshold: float
    decided: int
    coverage: float | None
    agreement_decided: Share
    agreement_all: Share
    kappa_all: float | None
    brier: float | None
    always_right_agreement: float | None
    accept_by_threshold: tuple[Accepted, ...]
    accept_by_coverage: tuple[Accepted, ...]
    agreement_by_threshold: tuple[Decided, ...]
    by_type: dict[str, Group]
    by_intent: dict[str, Group]
    by_rule: dict[str, Group]
    by_group: dict[str, Group]
    confusion_by_type: dict[str, Confusion]
    confusion: Confusion
    human: People
    disagreements: tuple[Disagreement, ...]


_Counted: TypeAlias = Callable[[Sequence[AnswerRow], Callable[[AnswerRow], bool]], Share]
"""From rows, and which of them are hits, to their share."""


def evaluate(
    rows: Sequence[AnswerRow], *, threshold: float, resamples: int = 2_000, seed: int = 0
) -> Figures:
    """Return every figure about one set of rows.

    Args:
        rows: one a judged answer; ids must be unique.
        threshold: confidence from which an answer counts as decided.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        ValueError: if ids repeat or the threshold is no confidence.
    """
    if not 0.5 <= threshold <= 1.0:
        raise ValueError(f"threshold must lie in [0.5, 1], got {threshold}")
    if len({r.id for r in rows}) != len(rows):
        raise ValueError("row ids repeat")

    def share(chosen: Sequence[AnswerRow], hit: Callable[[AnswerRow], bool]) -> Share:
        return _share(chosen, hit, resamples, seed)

    decided = [r for r in rows if r.confidence >= threshold]
    return Figures(
        n=len(rows),
        questions=len({r.question_id for r in rows}),
        clusters=len({r.cluster for r in rows}),
        groups=len({r.group for r in rows}),
        right=sum(r.label for r in rows),
        threshold=threshold,
        decided=len(decided),
        coverage=_ratio(len(decided), len(rows)),
        agreement_decided=share(decided, _agrees),
        agreement_all=share(rows, _agrees),
        kappa_all=_kappa(rows),
        brier=math.fsum((r.probability - r.label) ** 2 for r in rows) / len(rows) if rows else None,
        always_right_agreement=_ratio(sum(r.label for r in rows), len(rows)),
        accept_by_threshold=tuple(
            _accepted([r for r in rows if r.probability >= t], len(rows), share, threshold=t)
            for t in THRESHOLDS
        ),
        accept_by_coverage=tuple(
            _accepted(_surest(rows, c), len(rows), share, wanted_coverage=c) for c in COVERAGES
        ),
        agreement_by_threshold=tuple(
            Decided(
                threshold=t,
                decided=len(kept),
                coverage=_ratio(len(kept), len(rows)),
                agreement=share(kept, _agrees),
            )
            for t in THRESHOLDS
            for kept in [[r for r in rows if r.confidence >= t]]
        ),
        by_type=_breakdown(rows, lambda r: r.type, threshold, share),
        by_intent=_breakdown(rows, lambda r: r.intent, threshold, share),
        by_rule=_breakdown(rows, lambda r: r.rule, threshold, share),
        by_group=_breakdown(rows, lambda r: r.group, threshold, share),
        confusion_by_type={
            t: _confusion([r for r in rows if r.type == t]) for t in _keys(rows, lambda r: r.type)
        },
        confusion=_confusion(rows),
        human=_humans(rows, share),
        disagreements=tuple(_disagreement(r, threshold) for r in rows if not r.agrees),
    )


def cross_validate(
    rows: Sequence[AnswerRow], *, refit: Refit = "calibration", ridge: float = 1.0
) -> list[AnswerRow]:
    """Return the rows with probabilities from what was learnt on the other groups alone.

    Args:
        rows: at least two groups.
        refit: ``calibration`` fits the two numbers of the logistic curve anew and keeps the leans of the rules.
            ``rules`` forgets the leans as well: the probability of a rule (and lean) is the share of right
            answers that it had in the other groups, drawn towards their overall share by ``PRIOR`` answers.
        ridge: penalty of the logistic curve.

    The wording of the rules themselves stays as it is in both.

    Raises:
        ValueError: if there is only one group.
    """
    groups = _keys(rows, lambda r: r.group)
    if len(groups) < 2:
        raise ValueError("cross-validation needs at least two groups")
    result: list[AnswerRow] = []
    for group in groups:
        others = [r for r in rows if r.group != group and r.lean is not None]
        own = [r for r in rows if r.group == group]
        estimate = _estimate(others, refit, ridge) if others else None
        result += [
            r if r.lean is None or estimate is None else replace(r, probability=estimate(r)) for r in own
        ]
    place = {r.id: n for n, r in enumerate(rows)}
    return sorted(result, key=lambda r: place[r.id])


def _estimate(others: Sequence[AnswerRow], refit: Refit, ridge: float) -> Callable[[AnswerRow], float]:
    if refit == "calibration":
        leans = [r.lean if r.lean is not None else 0.0 for r in others]
        fitted = fit_calibration(leans, [r.label for r in others], ridge=ridge)
        return lambda row: fitted.probability(row.lean or 0.0)
    overall = sum(r.label for r in others) / len(others)
    seen: dict[tuple[str, float | None], list[bool]] = {}
    for row in others:
        seen.setdefault((row.rule, row.lean), []).append(row.label)

    def share(row: AnswerRow) -> float:
        labels = seen.get((row.rule, row.lean), [])
        return (sum(labels) + PRIOR * overall) / (len(labels) + PRIOR)

    return share


# -- parts -----------------------------------------------------------------------------------------------------


def _agrees(row: AnswerRow) -> bool:
    return row.agrees


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _keys(rows: Iterable[AnswerRow], key: Callable[[AnswerRow], str]) -> list[str]:
    return sorted({key(r) for r in rows})


def _share(rows: Sequence[AnswerRow], hit: Callable[[AnswerRow], bool], resamples: int, seed: int) -> Share:
    """A proportion with both intervals."""
    hits = [hit(r) for r in rows]
    count = sum(hits)
    sums = cluster_sums([[float(h) for h in hits], [1.0] * len(hits)], [r.cluster for r in rows])
    interval = bootstrap_interval(sums, resamples=resamples, seed=seed)
    wilson = wilson_interval(count, len(hits))
    return Share(
        value=_ratio(count, len(hits)),
        n=len(hits),
        low=interval.low,
        high=interval.high,
        wilson=(wilson.low, wilson.high),
        note=interval.note or msgspec.UNSET,
    )


def _surest(rows: Sequence[AnswerRow], coverage: float) -> list[AnswerRow]:
    """Return the answers with the highest probability of being right; ties at the border come along."""
    wanted = math.ceil(coverage * len(rows))
    ranked = sorted((r.probability for r in rows if r.guess), reverse=True)
    if not ranked or not wanted:
        return []
    border = ranked[min(wanted, len(ranked)) - 1]
    return [r for r in rows if r.guess and r.probability >= border]


def _accepted(accepted: Sequence[AnswerRow], n: int, share: _Counted, **wanted: float) -> Accepted:
    return Accepted(
        **wanted,
        accepted=len(accepted),
        coverage=_ratio(len(accepted), n),
        border=min((r.probability for r in accepted), default=None),
        precision=share(accepted, lambda r: r.label),
    )


def _breakdown(
    rows: Sequence[AnswerRow], key: Callable[[AnswerRow], str], threshold: float, share: _Counted
) -> dict[str, Group]:
    result = {}
    for name in _keys(rows, key):
        own = [r for r in rows if key(r) == name]
        decided = [r for r in own if r.confidence >= threshold]
        result[name] = Group(
            n=len(own),
            right=sum(r.label for r in own),
            decided=len(decided),
            coverage=_ratio(len(decided), len(own)),
            agreement_all=share(own, _agrees),
            agreement_decided=share(decided, _agrees),
        )
    return result


def _confusion(rows: Sequence[AnswerRow]) -> Confusion:
    counts = Counter((row.label, row.guess) for row in rows)
    return Confusion(
        right_said_right=counts[True, True],
        right_said_wrong=counts[True, False],
        wrong_said_right=counts[False, True],
        wrong_said_wrong=counts[False, False],
    )


def _word(right: bool) -> str:
    return "right" if right else "wrong"


def _kappa(rows: Sequence[AnswerRow]) -> float | None:
    """Cohen's kappa of guess and label."""
    if not rows:
        return None
    n = len(rows)
    observed = sum(r.agrees for r in rows) / n
    said, true = sum(r.guess for r in rows) / n, sum(r.label for r in rows) / n
    chance = said * true + (1 - said) * (1 - true)
    return (observed - chance) / (1 - chance) if chance < 1 else None


def _humans(rows: Sequence[AnswerRow], share: _Counted) -> People:
    both = [r for r in rows if len(r.humans) == 2 and None not in r.humans]
    split = [r for r in both if r.humans[0] != r.humans[1]]
    unanimous = [r for r in both if r.humans[0] == r.humans[1]]
    single: list[AnswerRow] = []
    for row in both:
        for number, value in enumerate(row.humans):
            single.append(replace(row, id=f"{row.id}#{number}", label=bool(value)))
    return People(
        between_annotators=share(both, lambda r: r.humans[0] == r.humans[1]),
        oracle_with_one_annotator=share(single, _agrees),
        oracle_where_annotators_agree=share(unanimous, _agrees),
        oracle_where_annotators_differ=share(split, _agrees),
    )


def _disagreement(row: AnswerRow, threshold: float) -> Disagreement:
    return Disagreement(
        id=row.id,
        type=row.type,
        intent=row.intent,
        label=_word(row.label),
        oracle=_word(row.guess),
        decided=row.confidence >= threshold,
        probability=round(row.probability, 4),
        rule=row.rule,
        reason=row.reason,
        humans=row.humans,
        question=row.question,
        answer=row.answer,
    )
