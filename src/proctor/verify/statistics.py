"""How verification went: who accepted what, what adjudication changed, and how far annotators agree.

The numbers are those of the published benchmark's verification (ProMQA), for any number of
annotators. Agreement is counted on pairs of annotators: two judgements of the same thing by two people are one pair.
Answers can be compared only where both accepted the question. "Unsure" is a label like the others.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from proctor.exam.question import Question, type_of
from proctor.metrics.agreement import PairAgreement, agreement_by_pair, cohen_kappa, raw_agreement
from proctor.metrics.score import Score
from proctor.verify.adjudicate import Acceptance, Case, Merge, find_adjudication, merge, open_case
from proctor.verify.verdict import Verdict

__all__ = ["Agreement", "AnswerCounts", "VerificationStatistics", "verification_statistics"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of annotators on one thing (questions or answers).

    Attributes:
        agreed: pairs of judgements that are the same.
        n: pairs of judgements.
        raw: ``agreed / n`` with its interval.
        kappa: Cohen's, over all pairs pooled; the first of a pair is the one whose name sorts first.
        by_pair: of every two annotators.
        mean_of_pairs: mean of the raw agreement of pairs, None when there are none.
    """

    agreed: int
    n: int
    raw: Score
    kappa: Score
    by_pair: tuple[PairAgreement, ...] = ()
    mean_of_pairs: float | None = None


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """Answers of one origin (generated, or written by annotators) through verification.

    Attributes:
        proposed: how many there were.
        kept: how many passed.
        agreed_right: settled as right by the annotators.
        agreed_wrong: settled as wrong by the annotators.
        open: left to the adjudicator, or under a question that was.
        kept_by_adjudicator: how many of the open ones passed.
        by_type: question type to (proposed, kept).
    """

    proposed: int = 0
    kept: int = 0
    agreed_right: int = 0
    agreed_wrong: int = 0
    open: int = 0
    kept_by_adjudicator: int = 0
    by_type: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VerificationStatistics:
    """The whole of it.

    Attributes:
        candidates: how many have at least one verdict of an annotator.
        states: how many were ``accepted``, ``rejected`` and are ``open``.
        question_approved_by: accepted candidates by who let the question pass.
        cases: how many candidates fell under each case of the published table: ``1`` nothing to decide,
            ``2`` rejected by all, ``3`` a machine answer in conflict, ``4`` an annotator wrote answers,
            ``5`` the question in conflict.
        machine: generated answers.
        human: answers that annotators wrote.
        added: answers that adjudicators wrote.
        questions: agreement on questions.
        answers: agreement on generated answers.
        annotators: name to how many candidates they judged.
        ids: state to its candidates.
    """

    candidates: int
    states: Mapping[str, int]
    question_approved_by: Mapping[str, int]
    cases: Mapping[str, int]
    machine: AnswerCounts
    human: AnswerCounts
    added: int
    questions: Agreement
    answers: Agreement
    annotators: Mapping[str, int]
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def verification_statistics(
    candidates: Iterable[Question],
    verdicts: Iterable[Verdict],
    *,
    acceptance: Acceptance | None = None,
    seed: int = 0,
) -> VerificationStatistics:
    """Count.

    Args:
        candidates: those without verdicts do not count.
        verdicts: the latest of each annotator and role, on these candidates (``verify.store.split_stale``).
        acceptance: whose judgements count, and when they settle something; all people by default.
        seed: of the bootstrap of kappa.

    Raises:
        UserError: if a verdict does not fit its candidate.
    """
    rule = acceptance or Acceptance()
    said: dict[str, list[Verdict]] = defaultdict(list)
    judged: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.role == "adjudicator":
            judged[verdict.candidate_id].append(verdict)
        elif verdict.annotator_kind in rule.by:
            said[verdict.candidate_id].append(verdict)
    outcomes = []
    for candidate in candidates:
        if said[candidate.id]:
            case = open_case(candidate, said[candidate.id], question=rule, answers=rule)
            adjudication, _ = find_adjudication(case, judged[candidate.id])
            outcomes.append((candidate, case, merge(case, adjudication)))
    named = [v for candidate, _, _ in outcomes for v in sorted(said[candidate.id], key=lambda v: v.annotator)]
    return VerificationStatistics(
        candidates=len(outcomes),
        states=_counted(result.state for _, _, result in outcomes),
        question_approved_by=_counted(
            result.question_approved_by for _, _, result in outcomes if result.state == "accepted"
        ),
        cases=_counted(_case_number(case) for _, case, _ in outcomes),
        machine=_count_answers(outcomes, "machine"),
        human=_count_answers(outcomes, "human"),
        added=sum(a.source == "adjudicator" for _, _, result in outcomes for a in result.answers),
        questions=_agreement(((v.candidate_id, v.annotator, v.question.value) for v in named), seed),
        answers=_agreement(_answer_labels(named), seed),
        annotators=_counted(v.annotator for v in named),
        ids={
            state: tuple(candidate.id for candidate, _, result in outcomes if result.state == state)
            for state in ("accepted", "rejected", "open")
        },
    )


def _counted(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _case_number(case: Case) -> str:
    if case.rejected:
        return "2"
    if case.question_init is None:
        return "5"
    if any(row.source == "human" for row in case.rows):
        return "4"
    return "3" if case.needs_adjudication else "1"


def _count_answers(outcomes: Sequence[tuple[Question, Case, Merge]], source: str) -> AnswerCounts:
    tag = "machine" if source == "machine" else "annotator"
    counts: Counter[str] = Counter()
    proposed_by: Counter[str] = Counter()
    kept_by: Counter[str] = Counter()
    for candidate, case, result in outcomes:
        rows = [row for row in case.rows if row.source == source]
        kind = type_of(candidate)
        kept = [a for a in result.answers if a.source == tag] if result.state == "accepted" else []
        proposed_by[kind] += len(rows)
        kept_by[kind] += len(kept)
        counts["right"] += sum(row.init == "right" for row in rows)
        counts["wrong"] += sum(row.init == "wrong" for row in rows)
        counts["adjudicator"] += sum(a.approved_by == "adjudicator" for a in kept)
    proposed = proposed_by.total()
    return AnswerCounts(
        proposed=proposed,
        kept=kept_by.total(),
        agreed_right=counts["right"],
        agreed_wrong=counts["wrong"],
        open=proposed - counts["right"] - counts["wrong"],
        kept_by_adjudicator=counts["adjudicator"],
        by_type={t: (n, kept_by[t]) for t, n in sorted(proposed_by.items()) if n},
    )


# -- agreement -----------------------------------------------------------------------------------------------

_Label = tuple[str, str, str]
"""What was judged, by whom, how."""


def _answer_labels(verdicts: Sequence[Verdict]) -> Iterator[_Label]:
    for v in verdicts:
        if v.question.value == "right":
            for n, answer in enumerate(v.answers):
                yield f"{v.candidate_id}\x00{n}", v.annotator, answer.value


def _agreement(labels: Iterable[_Label], seed: int) -> Agreement:
    by_thing: dict[str, dict[str, str]] = defaultdict(dict)
    by_name: dict[str, dict[str, str]] = defaultdict(dict)
    for thing, name, label in labels:
        by_thing[thing][name] = label
        by_name[name][thing] = label
    pairs = [
        (by_thing[thing][a], by_thing[thing][b], thing)
        for thing in by_thing
        for a, b in combinations(sorted(by_thing[thing]), 2)
    ]
    first, second = [p[0] for p in pairs], [p[1] for p in pairs]
    raw = raw_agreement(first, second)
    # Answers of one question are not independent: the bootstrap draws whole candidates.
    kappa = cohen_kappa(first, second, clusters=[p[2].partition("\x00")[0] for p in pairs], seed=seed)
    by_pair = agreement_by_pair(by_name, seed=seed)
    values = [pair.raw.value for pair in by_pair if not math.isnan(pair.raw.value)]
    return Agreement(
        agreed=sum(a == b for a, b in zip(first, second, strict=True)),
        n=len(pairs),
        raw=raw,
        kappa=kappa,
        by_pair=by_pair,
        mean_of_pairs=sum(values) / len(values) if values else None,
    )
