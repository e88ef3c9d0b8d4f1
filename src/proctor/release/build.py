"""From verified candidates to items, by declared rules; whatever does not become an item is told with its reason.

The rules are a value (``BuildRules``) that goes into the release's manifest, so that a benchmark says how its
questions were let in. ``RULES`` names the usual sets: ``humans`` merges as the published benchmark does, ``oracle``
takes the task-graph oracle where it is sure, ``any``, ``all`` and ``majority`` take everybody's word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, Literal

import msgspec

from proctor.errors import UserError, did_you_mean
from proctor.exam.kinds.moment_question import MOMENT, moment_example
from proctor.exam.question import Choice, Gold, Item, Question, Text, proposed_texts, version_of
from proctor.procedure.language import find_faults
from proctor.records import Dropped, content_hash
from proctor.verify.adjudicate import (
    Acceptance,
    Accepted,
    Case,
    Merge,
    Order,
    Quorum,
    Settled,
    find_adjudication,
    merge,
    open_case,
)
from proctor.verify.store import seen_of, split_stale
from proctor.verify.verdict import AnnotatorKind, Verdict

__all__ = ["RULES", "BuildRules", "build_items", "parse_rules"]

EVERYBODY: Final[tuple[AnnotatorKind, ...]] = ("human", "model", "oracle")


class BuildRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How verdicts decide what becomes an item.

    Attributes:
        name: for people.
        question: who must accept the question (``verify.adjudicate.Acceptance``).
        answers: who must accept an answer.
        conflict: what becomes of what the verdicts leave open and no adjudicator has decided. ``adjudicate``: the
            candidate waits. ``drop``: an open answer is left out, an open question drops the candidate. That
            the majority decides is a matter of ``question.quorum`` and ``answers.quorum``.
        own_answers: what becomes of answers that annotators wrote: ``adjudicate`` (nobody else has seen them),
            ``accept`` them, or ``ignore``.
        every_answer: drop a candidate when any of its answers was not accepted. Where the answers are meant to be
            *all* right ones, a missing gold would mark right predictions as wrong.
        deduplicate: keep the first of answers that differ only in case, white space or final punctuation.
        minimum_golds: fewer accepted answers drop the candidate; at least one is always needed.
        per_example: at most so many items from one example, the first ones in the candidates' order; 0: no limit.
        order: in which adjudication showed the answers (the published one only for imported data).
        otherwise: name of the rules for candidates that no person has judged; empty: these apply to them, too.
        language: what becomes of questions and golds that are not English by the linter (``procedure.language``):
            ``drop`` or ``keep``. What no rule wrote and a person judged is kept in any case: the page showed the
            person what the linter objects to.
    """

    name: str = "custom"
    question: Acceptance = Acceptance()
    answers: Acceptance = Acceptance()
    conflict: Literal["adjudicate", "drop"] = "adjudicate"
    own_answers: Literal["adjudicate", "accept", "ignore"] = "adjudicate"
    every_answer: bool = False
    deduplicate: bool = True
    minimum_golds: int = 1
    per_example: int = 0
    order: Order = "blind"
    otherwise: Literal["", "oracle", "models"] = ""
    language: Literal["drop", "keep"] = "drop"


def _everybody(quorum: Quorum) -> BuildRules:
    voters = Acceptance(by=EVERYBODY, quorum=quorum)
    return BuildRules(name=quorum, question=voters, answers=voters, conflict="drop", own_answers="ignore")


RULES: Final[Mapping[str, BuildRules]] = MappingProxyType(
    {
        "humans": BuildRules(name="humans", deduplicate=False),
        "published": BuildRules(name="published", deduplicate=False, order="published", language="keep"),
        "oracle": BuildRules(
            name="oracle",
            question=Acceptance(by=("oracle",)),
            answers=Acceptance(by=("oracle",), min_confidence=0.8),
            conflict="drop",
            own_answers="ignore",
            every_answer=True,
        ),
        "models": BuildRules(
            name="models",
            question=Acceptance(by=("model",), quorum="majority"),
            answers=Acceptance(by=("model",), quorum="majority"),
            conflict="drop",
            own_answers="ignore",
        ),
        "policy": BuildRules(name="policy", deduplicate=False, otherwise="oracle"),
        "any": _everybody("any"),
        "all": _everybody("all"),
        "majority": _everybody("majority"),
    }
)
"""Named rules. ``humans``: people agree or an adjudicator decides. ``published``: the same with the answers in the
published order, which reproduces imported releases to the letter. ``oracle``: the task graph is sure enough of every
answer, so that the golds are complete. ``models``: most of the models that verified and are sure (``proctor verify
--verifier``). ``policy``: people where people were asked, the oracle elsewhere, for projects in which the studio's
policy sent only a part to people. ``any``: somebody accepts. ``all``: everybody who was asked accepts. ``majority``: more than half of those
who are sure. The last three make no difference between people and machines."""


def parse_rules(value: str | Mapping[str, Any]) -> BuildRules:
    """Return rules by name, or from a table of settings; a table's ``name`` may be that of rules to start from.

    Raises:
        UserError: if there are no such rules, a key is unknown or a value has another type or range.
    """
    if isinstance(value, str):
        if value not in RULES:
            raise UserError(f"there are no build rules '{value}'.", hint=did_you_mean(value, RULES))
        return RULES[value]
    name = value.get("name")
    named = RULES.get(name) if isinstance(name, str) else None
    try:
        rules = msgspec.convert(_overlay(msgspec.to_builtins(named or BuildRules()), value), BuildRules)
    except msgspec.ValidationError as error:
        known = ", ".join(BuildRules.__struct_fields__)
        raise UserError(f"{error}.", where="build rules", hint=f"known keys: {known}") from None
    for acceptance in (rules.question, rules.answers):
        if not 0 <= acceptance.min_confidence <= 1:
            raise UserError(
                f"min_confidence is {acceptance.min_confidence}, it must be 0 to 1.", where="build rules"
            )
    if rules.per_example < 0 or rules.minimum_golds < 0:
        raise UserError("per_example and minimum_golds cannot be negative.", where="build rules")
    return rules


def _overlay(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Lay settings over others, tables key by key."""
    merged = {**base, **changes}
    for key, value in changes.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), Mapping):
            merged[key] = {**base[key], **value}
    return merged


def build_items(
    questions: Iterable[Question],
    verdicts: Iterable[Verdict],
    rules: BuildRules | None = None,
    *,
    seed: int = 0,
    unfinished: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[Item], list[Dropped]]:
    """Let verified questions of any kind in, in their order.

    Args:
        questions: what was generated, with what is proposed. Of other kinds than moments those of which no annotator has said
            anything get in as they were generated; ``Item.approved_by`` says who let them pass before.
        verdicts: the latest of each annotator and role (``VerdictStore.latest``); their order changes nothing.
        rules: ``RULES["humans"]`` by default.
        seed: of the run; decides the order in which adjudicated answers were shown.
        unfinished: questions on which people are still at work, and how far they are; rules under which open things
            wait for an adjudicator do not let them in.

    Returns:
        The items, and what was dropped with one of these reasons: ``example-changed``,
        ``not-verified``, ``not-finished``, ``question-rejected``, ``question-in-conflict``, ``needs-adjudication``,
        ``adjudication-outdated``, ``no-answer-accepted``, ``too-few-answers``, ``answer-not-accepted``, ``language``,
        ``example-has-enough``; and for verdicts that were given on something else ``candidate-unknown`` and
        ``candidate-changed``.

    Raises:
        UserError: if an id occurs twice, or a verdict judges another number of answers.
    """
    rules = rules or RULES["humans"]
    by_id = _unique(questions)
    good, dropped = split_stale(verdicts, by_id)
    said: dict[str, list[Verdict]] = {}
    for verdict in good:
        said.setdefault(verdict.candidate_id, []).append(verdict)
    items: list[Item] = []
    taken: dict[str, int] = {}
    for question in by_id.values():
        given = said.get(question.id, [])
        if question.id in unfinished and rules.conflict == "adjudicate":
            dropped.append(Dropped(question.id, "not-finished", unfinished[question.id]))
            continue
        decided_by = _rules_for(given, rules)
        if question.kind != MOMENT and not _voters_of(given, decided_by):
            result = _as_generated(question)
        else:
            result = _build_one(question, given, decided_by, seed)
        # what it was made from: its example, or the same question in another form
        moment = question.kind == MOMENT
        example = moment_example(question).id if moment else question.parent or question.id
        if isinstance(result, Item) and 0 < rules.per_example <= taken.get(example, 0):
            result = Dropped(question.id, "example-has-enough", f"example {example}")
        if isinstance(result, Dropped):
            dropped.append(result)
        else:
            items.append(result)
            taken[example] = taken.get(example, 0) + 1
    return items, dropped


def _rules_for(verdicts: Sequence[Verdict], rules: BuildRules) -> BuildRules:
    """Return the rules that decide a candidate: others may hold for what no person has judged."""
    if not rules.otherwise or any(v.annotator_kind == "human" for v in verdicts):
        return rules
    return RULES[rules.otherwise]


def _voters_of(verdicts: Sequence[Verdict], rules: BuildRules) -> list[Verdict]:
    """Return the verdicts of annotators whom the rules ask."""
    voters = {*rules.question.by, *rules.answers.by}
    return [v for v in verdicts if v.role == "annotator" and v.voice in voters]


def _as_generated(question: Question) -> Item | Dropped:
    """Accept what is proposed: a question that is no candidate passed its own filters or checks before, or came from elsewhere."""
    approver = _APPROVERS.get(question.provenance.get("set", question.kind), "importer")
    golds = tuple(
        Gold(value=proposed.value, approved_by=approver, proposal=n)
        for n, proposed in enumerate(question.proposals)
        if proposed.claim == "right"
    )
    if not golds:
        return Dropped(question.id, "no-answer-accepted", "nothing is proposed as right")
    return Item(question=_frozen(question), golds=golds, approved_by=approver, seen=seen_of(question))


_APPROVERS: Final = {"clip": "filters", "styled": "generator", "data": "data set"}
"""Who let questions pass that no annotator has judged, by their set or kind."""


def _build_one(
    question: Question, verdicts: Sequence[Verdict], rules: BuildRules, seed: int
) -> Item | Dropped:
    seen = question.provenance.get("example_hash")
    if seen and seen != (now := content_hash(moment_example(question))):
        return Dropped(question.id, "example-changed", f"made from {seen}, the example is {now} now")
    outcome = _decide(question, verdicts, rules, seed)
    if isinstance(outcome, Dropped):
        return outcome
    accepted = list(outcome.answers)
    if rules.deduplicate:
        accepted = _distinct(accepted)
    known = {answer.index for answer in outcome.answers}
    lost = [text for i, text in enumerate(proposed_texts(question)) if i not in known]
    every = rules.every_answer or isinstance(question.form, Choice)
    if every and lost:
        return Dropped(question.id, "answer-not-accepted", f"{len(lost)} of them, the first: {lost[0][:120]}")
    if not accepted:
        return Dropped(question.id, "no-answer-accepted", f"of {len(question.proposals)}")
    if rules.language == "drop" and not _was_warned(question, verdicts):
        fault = _fault(question, accepted, every=every)
        if fault:
            return Dropped(question.id, "language", fault)
        accepted = [answer for answer in accepted if not find_faults(answer.text)]
    golds: list[Gold] = []
    for answer in accepted:
        proposal = None if answer.index is None else question.proposals[answer.index]
        # one that claims to be wrong, and is upheld, is no gold
        if proposal is None or proposal.claim == "right":
            value = Text(text=answer.text) if proposal is None else proposal.value
            golds.append(Gold(value=value, written_by=answer.source, approved_by=answer.approved_by))
    if len(golds) < rules.minimum_golds:
        return Dropped(question.id, "too-few-answers", f"{len(golds)} of {rules.minimum_golds}")
    return Item(
        question=_frozen(question),
        golds=tuple(golds),
        approved_by=outcome.question_approved_by,
        seen=seen_of(question),
    )


def _frozen(question: Question) -> Question:
    """Return a question as an item holds it: what an exam needs of the proposals are its golds and the claims of its options."""
    kept = {} if question.kind == MOMENT else question.provenance
    return msgspec.structs.replace(
        question,
        proposals=question.proposals if isinstance(question.form, Choice) else (),
        provenance={**kept, "candidate": question.id, "version": version_of(question)},
    )


def _was_warned(question: Question, verdicts: Sequence[Verdict]) -> bool:
    """True for what no rule wrote and a person judged, with the linter's objections before their eyes."""
    return question.provenance.get("generator") != "rules" and any(
        v.annotator_kind == "human" for v in verdicts
    )


def _fault(question: Question, accepted: Sequence[Accepted], *, every: bool) -> str:
    """Return why the language keeps a candidate out; empty when the question and enough answers are English.

    With ``every`` the accepted answers are meant to be all right answers, so that none may be left out by itself.
    """
    of_question = find_faults(question.text)
    if of_question:
        return f"{of_question[0]} in the question: {question.text[:120]}"
    faulty = [(answer.text, found[0]) for answer in accepted if (found := find_faults(answer.text))]
    if faulty and (every or len(faulty) == len(accepted)):
        text, fault = faulty[0]
        return f"{fault} in an answer: {text[:120]}"
    return ""


# -- verdicts to an outcome ----------------------------------------------------------------------------------


def _decide(question: Question, verdicts: Sequence[Verdict], rules: BuildRules, seed: int) -> Merge | Dropped:
    voters = {*rules.question.by, *rules.answers.by}
    given = _voters_of(verdicts, rules)
    if not given:
        return Dropped(question.id, "not-verified", f"by {' or '.join(sorted(voters))}")
    opened = open_case(
        question,
        given,
        question=rules.question,
        answers=rules.answers,
        order=rules.order,
        seed=seed,
    )
    case = _with_own_answers(opened, rules)
    adjudication, outdated = find_adjudication(opened, verdicts)
    if (
        adjudication is not None
    ):  # it fits the case as opened; settling own answers changes nothing about that
        adjudication = msgspec.structs.replace(adjudication, case_hash="")
    outcome = merge(case, adjudication)
    if outcome.state == "rejected":
        return Dropped(question.id, "question-rejected", f"by the {outcome.question_approved_by}")
    if outcome.state == "accepted":
        return outcome
    if outdated and rules.conflict == "adjudicate":
        return Dropped(question.id, "adjudication-outdated", outdated)
    if rules.conflict == "adjudicate":
        return Dropped(question.id, "needs-adjudication", f"{outcome.open_rows} answers are open")
    if case.question_init is None:
        return Dropped(question.id, "question-in-conflict", f"among {case.annotators} annotators")
    return outcome


def _with_own_answers(case: Case, rules: BuildRules) -> Case:
    """Settle what annotators wrote, where the rules do not leave it to an adjudicator."""
    if rules.own_answers == "adjudicate" or (rules.own_answers == "accept" and case.question_init != "right"):
        return case
    value: Settled = "right" if rules.own_answers == "accept" else "wrong"
    rows = (replace(row, init=value) if row.source == "human" else row for row in case.rows)
    return replace(case, rows=tuple(rows))


def _distinct(accepted: Iterable[Accepted]) -> list[Accepted]:
    seen: dict[str, Accepted] = {}
    for answer in accepted:
        plain = re.sub(r"\s+", " ", answer.text).strip().rstrip(".!").casefold()
        seen.setdefault(plain, answer)
    return list(seen.values())


def _unique(questions: Iterable[Question]) -> dict[str, Question]:
    found: dict[str, Question] = {}
    for question in questions:
        if question.id in found:
            raise UserError(f"the id '{question.id[:120]}' occurs more than once.", where="candidates")
        found[question.id] = question
    return found
