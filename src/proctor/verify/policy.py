"""What reaches people: everything, only what machines doubt, or that and a blind audit share.

The task-graph oracle and models are annotators like others. A *policy* says which items they may settle by themselves:

* ``everything``: two people judge every item, as the published benchmark did.
* ``doubted``: people judge what the machines do not settle: nobody judged it, one of them is unsure (or less sure than
  the policy asks for), they disagree, or they accept a question and none of its answers.
* ``audit``: the same, and of what they settle a share that is drawn for each item from (seed, id). The people must not
  learn that these are audited: nothing of ``Planned`` but the number of people may reach their page. What people say of
  audited items counts as their result, and how often it contradicts the machines estimates the machines' error on all
  that they settle.

``compare_policies`` computes from items that people have finished what each policy would have cost and changed. The
yardstick is people's merged result. It is not free of error itself, and people write answers of their own, which
machines do not: those that a policy loses are told apart from the machines' errors.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

import msgspec

from proctor.errors import UserError
from proctor.exam.question import Question, proposed_texts
from proctor.metrics.interval import wilson_interval
from proctor.verify.adjudicate import Acceptance, Merge, find_adjudication, merge, open_case
from proctor.verify.agreement import SUSPICIOUS, Population
from proctor.verify.verdict import Verdict

__all__ = [
    "POLICIES",
    "Change",
    "MachineError",
    "Minutes",
    "Planned",
    "Policy",
    "PolicyComparison",
    "PolicyName",
    "PolicyOutcome",
    "Rate",
    "Reason",
    "audit_lot",
    "compare_policies",
    "median_minutes",
    "plan",
]

PolicyName = Literal["everything", "doubted", "audit"]
Reason = Literal["everything", "not-judged", "doubted", "no-answer", "settled", "audit"]
"""Why people judge an item, or not: the policy sends ``everything``; no machine judged it (``not-judged``); machines
are unsure or disagree (``doubted``); they accept the question and no answer (``no-answer``); they ``settled`` it; they
settled it and it is drawn for the ``audit``."""


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What reaches people.

    Attributes:
        name: see the module.
        people: how many judge an item that reaches people.
        question: when machines settle a question. Kinds other than ``oracle`` and ``model`` have no vote here.
        answers: when they settle an answer; the confidence is that of the build rules ``oracle``.
        audit_share: probability with which ``audit`` sends a settled item to people.
    """

    name: PolicyName = "everything"
    people: int = 2
    question: Acceptance = Acceptance(by=("oracle", "model"))
    answers: Acceptance = Acceptance(by=("oracle", "model"), min_confidence=0.8)
    audit_share: float = 0.1


POLICIES: Final = (Policy(name="everything"), Policy(name="doubted"), Policy(name="audit"))
"""The three with their usual settings."""


class Planned(msgspec.Struct, frozen=True):
    """How many people judge an item, and why; the reason is for coordinators only."""

    candidate_id: str
    people: int
    reason: Reason


def audit_lot(seed: int, candidate_id: str) -> float:
    """Return the item's lot, uniform in [0, 1): audited when below the share, so a larger share keeps a smaller's."""
    digest = hashlib.sha256(f"audit\x00{seed}\x00{candidate_id}".encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def plan(
    policy: Policy, candidates: Iterable[Question], verdicts: Iterable[Verdict], *, seed: int = 0
) -> dict[str, Planned]:
    """Say how many people each item needs.

    Args:
        policy: what reaches people.
        candidates: the items; the result has their order.
        verdicts: the latest of each annotator; only machines' count, in any order.
        seed: of the audit's lots.

    Raises:
        UserError: if a setting of the policy makes no sense, a candidate's id occurs twice, or a machine's verdict
            does not fit its candidate.
    """
    _check(policy)
    by_item = _by_item(verdicts)
    result = {}
    for candidate in _distinct(candidates):
        said = by_item.get(candidate.id, ())
        settled, reason = _settle(candidate, said, policy)
        result[candidate.id] = _planned(policy, candidate.id, settled is not None, reason, seed)
    return result


def _planned(policy: Policy, candidate_id: str, settled: bool, reason: Reason, seed: int) -> Planned:
    if policy.name == "everything":
        return Planned(candidate_id, policy.people, "everything")
    if settled and policy.name == "audit" and audit_lot(seed, candidate_id) < policy.audit_share:
        return Planned(candidate_id, policy.people, "audit")
    return Planned(candidate_id, 0 if settled else policy.people, reason)


def _settle(candidate: Question, verdicts: Sequence[Verdict], policy: Policy) -> tuple[Merge | None, Reason]:
    """Return what the machines settle, None when they do not, and the reason."""
    voters = {*policy.question.by, *policy.answers.by} - {"human"}
    given = [
        msgspec.structs.replace(v, own_answers=()) if v.own_answers else v
        for v in verdicts
        if v.role == "annotator" and v.annotator_kind in voters
    ]
    if not given:
        return None, "not-judged"
    case = open_case(candidate, given, question=policy.question, answers=policy.answers)
    if case.needs_adjudication:
        return None, "doubted"
    outcome = merge(case)
    if outcome.state == "accepted" and not outcome.answers:
        return None, "no-answer"
    return outcome, "settled"


def _check(policy: Policy) -> None:
    if policy.people < 1:
        raise UserError(f"{policy.people} people for each item were asked for.", where="policy")
    if not 0 <= policy.audit_share <= 1:
        raise UserError(f"audit_share is {policy.audit_share}, it must be 0 to 1.", where="policy")
    for rule in (policy.question, policy.answers):
        if not 0 <= rule.min_confidence <= 1:
            raise UserError(f"min_confidence is {rule.min_confidence}, it must be 0 to 1.", where="policy")
        if "human" in rule.by:
            raise UserError(
                "a policy says what machines settle, and people are named among them.",
                where="policy",
                hint="leave 'human' out of 'by'",
            )


def _by_item(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    found: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        found[verdict.candidate_id].append(verdict)
    return found


def _distinct(candidates: Iterable[Question]) -> list[Question]:
    given = list(candidates)
    twice = [name for name, n in Counter(c.id for c in given).items() if n > 1]
    if twice:
        raise UserError(f"the id '{twice[0][:120]}' occurs more than once.", where="candidates")
    return given


# -- what each policy costs and changes ----------------------------------------------------------------------


class Minutes(msgspec.Struct, frozen=True):
    """What a person's work takes: medians of active time, and how many pieces of work they rest on.

    Attributes:
        judgement: minutes for one judgement, None when not known.
        adjudication: minutes for one adjudication, None when not known.
        judgements: how many were timed.
        adjudications: how many were timed.
    """

    judgement: float | None = None
    adjudication: float | None = None
    judgements: int = 0
    adjudications: int = 0


def median_minutes(judgement_ms: Iterable[float], adjudication_ms: Iterable[float]) -> Minutes:
    """Return the medians of active times in milliseconds; what is not above 0 and finite was not measured."""
    judged = [t for t in judgement_ms if 0 < t < math.inf]
    decided = [t for t in adjudication_ms if 0 < t < math.inf]
    return Minutes(
        median(judged) / 60_000 if judged else None,
        median(decided) / 60_000 if decided else None,
        len(judged),
        len(decided),
    )


class Rate(msgspec.Struct, frozen=True):
    """A share with Wilson's interval; None with a note when nothing was counted."""

    errors: int
    n: int
    rate: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""


class MachineError(msgspec.Struct, frozen=True, kw_only=True):
    """How often people's result contradicts what machines settled.

    Attributes:
        items: any contradiction, of the items.
        questions: the question is accepted by one and rejected by the other, of the items.
        answers: a generated answer passes with one only, of those whose question both accept.
    """

    items: Rate
    questions: Rate
    answers: Rate


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """An item that ends otherwise than if people had judged everything.

    Attributes:
        candidate_id: which.
        question: what the policy makes of a question that people decided the other way; ``same`` when they agree.
        added: generated answers that people would not have let pass.
        lost: generated answers that they would have.
        lost_own: answers that annotators or adjudicators wrote and nobody writes under the policy.
    """

    candidate_id: str
    question: Literal["same", "accepted", "rejected"]
    added: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    lost_own: tuple[str, ...] = ()


class PolicyOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One policy on the items that people finished.

    Attributes:
        policy: with all settings.
        items: how many.
        reasons: reason to number of items, sorted by name.
        to_people: items that people judge.
        judgements: judgements of people needed.
        adjudications: adjudications needed.
        minutes: of people's work, None when a time that it needs is not known.
        saved_minutes: against everything judged by people.
        saved_share: the same as a share, None where that would be 0 of 0.
        accepted: items whose question passes.
        answers: answers that pass, people's own among them.
        questions_accepted: questions that pass against people's result.
        questions_rejected: questions that fall against people's result.
        answers_added: generated answers that pass against it.
        answers_lost: generated answers that fall against it.
        own_answers_lost: people's own answers that are not written.
        changed: share of all items that end otherwise.
        changes: each of them, in the candidates' order.
        machine: error of the machines on all items that they settle, audited ones among them.
        audit: the same on the audited ones alone: what a coordinator would know; None for other policies.
        note: why something is not known.
    """

    policy: Policy
    items: int
    reasons: dict[str, int]
    to_people: int
    judgements: int
    adjudications: int
    minutes: float | None
    saved_minutes: float | None
    saved_share: float | None
    accepted: int
    answers: int
    questions_accepted: int
    questions_rejected: int
    answers_added: int
    answers_lost: int
    own_answers_lost: int
    changed: Rate
    changes: tuple[Change, ...]
    machine: MachineError
    audit: MachineError | None
    note: str = ""


class PolicyComparison(msgspec.Struct, frozen=True, kw_only=True):
    """All policies on the same items.

    Attributes:
        population: a sentence.
        items: how many people finished: enough judgements, and adjudicated where needed.
        unfinished: the others, which are left out.
        warnings: what to say beside the numbers.
        minutes: the times that the costs rest on.
        outcomes: in the order of the policies.
        seed: of the audit's lots.
        confidence: of the intervals.
    """

    population: str
    items: int
    unfinished: int
    warnings: tuple[str, ...]
    minutes: Minutes
    outcomes: tuple[PolicyOutcome, ...]
    seed: int
    confidence: float


@dataclass(frozen=True, slots=True)
class _Finished:
    """An item with people's result."""

    candidate: Question
    verdicts: Sequence[Verdict]
    result: Merge
    adjudicated: bool


@dataclass(frozen=True, slots=True)
class _Compared:
    """What machines settled beside people's result.

    Attributes:
        change: the difference, None when there is none.
        answers: generated answers whose question both accept.
        wrong: of them, on how many they differ.
    """

    change: Change | None
    answers: int
    wrong: int

    @property
    def flipped(self) -> bool:
        """True when the question ends otherwise."""
        return self.change is not None and self.change.question != "same"

    @property
    def mistaken(self) -> bool:
        """True when a machine's decision is contradicted, not only people's own answers missing."""
        return self.flipped or self.wrong > 0


def compare_policies(
    candidates: Iterable[Question],
    verdicts: Iterable[Verdict],
    minutes: Minutes | None = None,
    policies: Sequence[Policy] = POLICIES,
    *,
    population: Population = "all",
    seed: int = 0,
    confidence: float = 0.95,
) -> PolicyComparison:
    """Compute what each policy would have cost and changed, on the items that people finished.

    An item is finished when as many people judged it as the policies ask for and their result is not open. Where more
    people judged it, all of them make the result, and the policy's number the cost.

    Args:
        candidates: the items.
        verdicts: the latest of each annotator and role (``verify.store.split_stale``); their order changes nothing.
        minutes: what work takes; without it no minutes are told.
        policies: which; all ask for the same number of people.
        population: ``accepted`` when rejected items are missing from ``candidates``.
        seed: of the audit's lots.
        confidence: of the intervals.

    Raises:
        UserError: as ``plan``; if policies ask for different numbers of people, or a person's verdict does not fit its
            candidate.
        MetricInputError: if the confidence is out of range.
    """
    for policy in policies:
        _check(policy)
    numbers = {policy.people for policy in policies}
    if len(numbers) > 1:
        raise UserError("the policies ask for different numbers of people.", where="policies")
    known = minutes or Minutes()
    given, by_item = _distinct(candidates), _by_item(verdicts)
    found = [_finish(c, by_item.get(c.id, ()), max(numbers, default=2)) for c in given]
    finished = [item for item in found if item is not None]
    settled: dict[tuple[Acceptance, Acceptance], list[tuple[Merge | None, Reason]]] = {}
    for policy in policies:
        rules = (policy.question, policy.answers)
        if rules not in settled:
            settled[rules] = [_settle(item.candidate, item.verdicts, policy) for item in finished]
    many = len(finished)
    return PolicyComparison(
        population=f"{many} item{'' if many == 1 else 's'} that people finished, "
        f"{'accepted or not' if population == 'all' else 'accepted ones only'}",
        items=many,
        unfinished=len(given) - many,
        warnings=_warnings(population, finished),
        minutes=known,
        outcomes=tuple(
            _outcome(policy, finished, settled[policy.question, policy.answers], known, seed, confidence)
            for policy in policies
        ),
        seed=seed,
        confidence=confidence,
    )


def _warnings(population: Population, finished: Sequence[_Finished]) -> tuple[str, ...]:
    found = []
    rejected = sum(item.result.state == "rejected" for item in finished)
    if population == "accepted" or (len(finished) >= SUSPICIOUS and not rejected):
        found.append(
            "People rejected none of these items"
            + (", because rejected ones are missing" if population == "accepted" else "")
            + ": that machines accept a question which people reject cannot be seen here, so their error is too low."
        )
    return tuple(found)


def _finish(candidate: Question, verdicts: Sequence[Verdict], people: int) -> _Finished | None:
    said = [v for v in verdicts if v.role == "annotator" and v.annotator_kind == "human"]
    if len(said) < people:
        return None
    case = open_case(candidate, said)
    adjudication, _ = find_adjudication(case, verdicts)
    result = merge(case, adjudication)
    if result.state == "open":
        return None
    return _Finished(candidate, verdicts, result, case.needs_adjudication)


def _outcome(
    policy: Policy,
    finished: Sequence[_Finished],
    settled: Sequence[tuple[Merge | None, Reason]],
    minutes: Minutes,
    seed: int,
    confidence: float,
) -> PolicyOutcome:
    plans = [
        _planned(policy, item.candidate.id, machines is not None, reason, seed)
        for item, (machines, reason) in zip(finished, settled, strict=True)
    ]
    judged, audited, changes, ends = [], [], [], []
    for item, (machines, _), planned in zip(finished, settled, plans, strict=True):
        ends.append(machines if machines is not None and not planned.people else item.result)
        if machines is None or planned.reason == "everything":
            continue
        compared = _compare(item.candidate, item.result, machines)
        judged.append(compared)
        if planned.reason == "audit":
            audited.append(compared)
        elif compared.change is not None:
            changes.append(compared.change)
    reach = [item for item, planned in zip(finished, plans, strict=True) if planned.people]
    adjudications = sum(item.adjudicated for item in reach)
    spent = _minutes(minutes, len(reach) * policy.people, adjudications)
    whole = _minutes(minutes, len(finished) * policy.people, sum(item.adjudicated for item in finished))
    saved = whole - spent if whole is not None and spent is not None else None
    return PolicyOutcome(
        policy=policy,
        items=len(finished),
        reasons=dict(sorted(Counter(planned.reason for planned in plans).items())),
        to_people=len(reach),
        judgements=len(reach) * policy.people,
        adjudications=adjudications,
        minutes=spent,
        saved_minutes=saved,
        saved_share=saved / whole if saved is not None and whole else None,
        accepted=sum(end.state == "accepted" for end in ends),
        answers=sum(len(end.answers) for end in ends if end.state == "accepted"),
        questions_accepted=sum(change.question == "accepted" for change in changes),
        questions_rejected=sum(change.question == "rejected" for change in changes),
        answers_added=sum(len(change.added) for change in changes),
        answers_lost=sum(len(change.lost) for change in changes),
        own_answers_lost=sum(len(change.lost_own) for change in changes),
        changed=_changed(policy, len(changes), len(finished), confidence),
        changes=tuple(changes),
        machine=_machine_error(judged, confidence),
        audit=_machine_error(audited, confidence) if policy.name == "audit" else None,
        note="" if spent is not None else "the times that the minutes rest on are not known",
    )


def _compare(candidate: Question, people: Merge, machines: Merge) -> _Compared:
    theirs = {a.index for a in people.answers if a.index is not None} if people.state == "accepted" else set()
    own = [a.text for a in people.answers if a.index is None] if people.state == "accepted" else []
    ours = (
        {a.index for a in machines.answers if a.index is not None} if machines.state == "accepted" else set()
    )
    both = people.state == machines.state == "accepted"
    question: Literal["same", "accepted", "rejected"] = "same"
    if people.state != machines.state:
        question = "accepted" if machines.state == "accepted" else "rejected"
    change = None
    if question != "same" or theirs != ours or own:
        change = Change(
            candidate_id=candidate.id,
            question=question,
            added=_texts(candidate, ours - theirs),
            lost=_texts(candidate, theirs - ours),
            lost_own=tuple(own),
        )
    return _Compared(change, len(candidate.proposals) if both else 0, len(theirs ^ ours) if both else 0)


def _texts(candidate: Question, places: Iterable[int]) -> tuple[str, ...]:
    texts = proposed_texts(candidate)
    return tuple(texts[n] for n in sorted(places))


def _machine_error(compared: Sequence[_Compared], confidence: float) -> MachineError:
    many = len(compared)
    return MachineError(
        items=_rate(sum(c.mistaken for c in compared), many, confidence),
        questions=_rate(sum(c.flipped for c in compared), many, confidence),
        answers=_rate(sum(c.wrong for c in compared), sum(c.answers for c in compared), confidence),
    )


def _rate(errors: int, n: int, confidence: float) -> Rate:
    interval = wilson_interval(errors, n, confidence)
    return Rate(errors, n, errors / n if n else None, interval.low, interval.high, interval.note)


def _changed(policy: Policy, changes: int, items: int, confidence: float) -> Rate:
    if policy.name == "everything" and items:
        return Rate(0, items, 0.0, note="by definition: this is what the others are compared with")
    return _rate(changes, items, confidence)


def _minutes(minutes: Minutes, judgements: int, adjudications: int) -> float | None:
    """What the work takes; None when a time that it needs is not known."""
    if (judgements and minutes.judgement is None) or (adjudications and minutes.adjudication is None):
        return None
    return judgements * (minutes.judgement or 0.0) + adjudications * (minutes.adjudication or 0.0)
