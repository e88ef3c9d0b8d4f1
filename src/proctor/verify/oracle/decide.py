"""The decision: what an answer claims, held against what the graph and the annotations say.

Each rule returns a ``Ground``: a named reason with a *lean* in [-1, 1] (how far it speaks for the answer) and a
sentence for people. Rules are stated in terms of intent, stance, recognised steps and facts, never of wording.
``confidence`` turns grounds into probabilities.
"""

from __future__ import annotations

from proctor.verify.oracle.answer import AnswerText
from proctor.verify.oracle.case import Case, Ground, read_case
from proctor.verify.oracle.correctness import (
    judge_check,
    judge_detail,
    judge_order,
    judge_place,
    judge_relation,
)
from proctor.verify.oracle.following import (
    beside_kind,
    beside_scope,
    judge_end,
    judge_following,
    judge_named_following,
    judge_nothing_left,
    judge_proposal,
    within_scope,
)
from proctor.verify.oracle.match import StepIndex
from proctor.verify.oracle.moment import Moment
from proctor.verify.oracle.omission import (
    expected_missing,
    judge_denial,
    judge_named_omission,
    judge_needed,
    judge_omission,
    judge_reported,
    judge_skip,
    judge_unnamed,
)
from proctor.verify.oracle.question import Question
from proctor.verify.oracle.text import share_quantity
from proctor.verify.oracle.vouching import hold_against_mistakes

__all__ = ["decide"]


def decide(question: Question, answer: AnswerText, moment: Moment, index: StepIndex) -> Ground:
    """Return the ground on which an answer is right or wrong at this moment."""
    case = read_case(question, answer, moment, index)
    return hold_against_mistakes(case, _measured(case, _by_intent(case)))


def _by_intent(case: Case) -> Ground:
    intent = case.question.intent
    if case.answer.restart and not case.made_up:
        return _restart(case)
    if intent in ("next", "left", "propose") or case.question.adjusts:
        ended = None if case.moment.targets_mistake else judge_end(case)
        if ended is not None:
            return ended
    if case.moment.example.type == "order" and not case.named.matches and case.answer.stems("before"):
        return judge_order(case)
    related = judge_relation(case) if intent in ("propose", "order", "other") else None
    if related is not None:
        return related
    if intent in ("forgot_step", "order", "check", "all_good"):
        reported = judge_reported(case)
        if reported is not None:
            return reported
    if intent == "skip":
        return judge_skip(case)
    # using the result is itself a step that is left ("hand over the keys"), and the answer speaks of it
    if (
        case.question.use
        and not case.answer.finished
        and any(i in case.moment.pending for w in case.question.stems for i in case.index.speaking_of(w))
    ):
        return judge_proposal(case)
    if intent in ("forgot", "forgot_step", "all_good"):
        return judge_omission(case)
    if intent == "propose":
        return judge_proposal(case)
    if intent == "order":
        timed = case.question.wh and case.moment.example.type == "timing"
        if case.question.place:
            return judge_place(case)
        return judge_check(case) if timed else judge_order(case)
    if intent == "check":
        needed = None if case.moment.targets_mistake else judge_needed(case)
        return needed or judge_check(case)
    if intent == "left":
        return beside_kind(case, within_scope(case, judge_following(case)))
    if intent == "next":
        return beside_kind(case, beside_scope(case, judge_following(case)))
    return _other(case)


def _measured(case: Case, ground: Ground) -> Ground:
    """Turn down an answer that names the right step with quantities that neither it nor its mistakes hold."""
    stated = frozenset(case.answer.quantities)
    if ground.lean <= 0 or not stated or not ground.name.startswith(("names_", "next_", "agrees_")):
        return ground
    held = frozenset(q for i in ground.steps for q in case.index.quantities[i])
    if not held or share_quantity(stated, held | case.moment.target_quantities):
        return ground
    step = ground.steps[0]
    return case.ground("other_quantity", -0.3, f"names {case.text(step)} with another quantity", ground.steps)


def _restart(case: Case) -> Ground:
    moment = case.moment
    if moment.targets_mistake and share_quantity(case.answer.wanted, moment.required_quantities):
        return case.ground("right_quantity", 0.6, "tells to start over with a quantity of the instruction")
    if moment.missing or moment.disordered or moment.own_mistakes:
        return case.ground("restart", 0.3, "tells to start over, and something went wrong")
    return case.ground("restart_needless", -0.8, "tells to start over, but nothing went wrong")


def _other(case: Case) -> Ground:
    if case.question.intent == "detail" and not case.moment.targets_mistake:
        ground = judge_detail(case)
        if ground is not None:
            return ground
    if case.moment.targets_mistake:
        return judge_check(case)
    if case.stance == "clear":
        return judge_denial(case, *expected_missing(case)) if case.question.past else judge_nothing_left(case)
    if case.names_steps:
        return (
            judge_named_omission(case, frozenset())
            if case.moment.example.type == "missing"
            else judge_named_following(case)
        )
    if case.question.wh and case.question.intent == "other":
        return case.ground("cannot_tell", 0.1, "the graph does not tell why, when or where")
    return judge_unnamed(case)
