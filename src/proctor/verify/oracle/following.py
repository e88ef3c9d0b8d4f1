"""Rules for "what now", "is there anything else", "shall I do this now"."""

from __future__ import annotations

import re
from typing import Final

from proctor.verify.oracle.case import CERTAIN, FOREIGN, Case, Ground, pick, quoted
from proctor.verify.oracle.correctness import judge_check
from proctor.verify.oracle.match import StepIndex
from proctor.verify.oracle.moment import Standing
from proctor.verify.oracle.omission import retells
from proctor.verify.oracle.text import concepts, is_talk, stem

__all__ = [
    "beside_kind",
    "beside_scope",
    "judge_end",
    "judge_following",
    "judge_named_following",
    "judge_nothing_left",
    "judge_proposal",
    "within_scope",
]


_ORDER: Final[tuple[Standing, ...]] = ("missing", "next", "stuck", "later", "done")


def judge_following(case: Case) -> Ground:
    """Judge an answer to "what now" or "is there anything else"."""
    moment = case.moment
    if retells(case):
        return case.ground("retells_mistake", 0.4, "says what went wrong in a step that was done")
    for special in (_before_target, _redirects):
        ground = special(case)
        if ground is not None:
            return ground
    if case.stance == "clear" and not _tells(case):
        return judge_nothing_left(case)
    if case.made_up or not case.named.matches:
        if not case.named.weight and case.stance == "trouble" and moment.pending:
            return case.ground("affirms_pending", 0.4, "says that something is left, and something is")
        if not case.named.weight:
            return case.ground("says_nothing", -0.5, "names no step")
        if not case.made_up:
            return case.ground("vague", -0.2, "names no step clearly")
        return case.ground("unknown_step", -0.8, f"no step speaks of {quoted(case.named.foreign_words)}")
    return judge_named_following(case)


def judge_end(case: Case) -> Ground | None:
    """Judge an answer given when every step is done; None when it tells to do more, or steps are left.

    People let pass that the result is to be used, and what is left to taste.
    """
    answer = case.answer
    if case.moment.pending or answer.restart:
        return None
    if answer.finished or answer.closing or (case.stance == "clear" and not _tells(case)):
        return case.ground("finished", 0.95, "every step has been done")
    if answer.optional or _BUT_MAY.search(answer.plain):
        return case.ground(
            "taste_at_end", 0.4, "every step has been done, and the answer leaves more to taste"
        )
    return None


def _tells(case: Case) -> bool:
    """True when the answer tells to do a step of the graph, whatever else it says."""
    reading = case.index.read(case.answer.stems("do"))
    if not reading.matches or reading.foreign >= FOREIGN or reading.matches[0].score <= 0.6:
        return False
    # "no, only the board needed sanding": says what had to be done, and that was all
    spoken = (case.moment.standing(i) for m in reading.matches for i in m.alternatives)
    return not _ONLY.search(case.answer.plain) or any(s != "done" for s in spoken)


_EVERYTHING = re.compile(
    r"\byou have (?:already )?[a-z]+ (?:everything|all)\b|\beverything (?:is|has been)\b"
)
_BUT_MAY = re.compile(r"\bbut (?:you|one) (?:can|may|could|might)\b")
_READY = re.compile(r"\bready (?:to|for)\b")
_ONLY = re.compile(r"\b(?:only|just|enough|sufficient)\b")


def judge_nothing_left(case: Case) -> Ground:
    """Judge an answer that says that nothing is left to do."""
    moment, scope = case.moment, case.scope
    if case.answer.finished and _ALL_OVER.search(case.answer.plain):
        scope = frozenset()  # says more than was asked
    if not moment.pending:
        return case.ground("finished", 0.95, "every step has been done")
    missing = moment.missing & scope if scope else moment.missing
    if missing:
        step = next(i for i in moment.progress.missing if i in missing)
        lean = -0.4 if len(moment.missing) == 1 and moment.progress.blocked else -0.9
        return case.ground(
            "denies_missing", lean, f"says that nothing is left, but {case.text(step)} is missing", [step]
        )
    lasting = case.answer.finished or (_EVERYTHING.search(case.answer.plain) and moment.following & scope)
    if moment.example.type == "missing" and not lasting:
        lean = -0.1 if moment.current_mistakes else 0.5
        return case.ground("nothing_overdue", lean, "steps are left, but none is overdue")
    left = moment.following & moment.pending if case.question.now and scope else moment.pending
    left = left & scope if scope else left
    if not left:
        return case.ground("nothing_left_in_scope", 0.6, "nothing that was asked about is left to do")
    step = next((i for i in moment.progress.next if i in left), min(left))
    return case.ground("denies_next", -0.8, f"says that nothing is left, but {case.text(step)} is", [step])


def _before_target(case: Case) -> Ground | None:
    """Judge "is there anything else to do before X" by what X still waits for; None when X is not to come."""
    moment = case.moment
    matches = case.index.read(case.question.before).matches if case.question.intent == "left" else ()
    if not matches or matches[0].score < CERTAIN:
        return None
    ahead = [i for i in matches[0].alternatives if i in moment.pending]
    if not ahead:
        return None
    target, unmet = ahead[0], frozenset.intersection(*(moment.unmet(i) for i in ahead))
    if case.stance == "clear":
        if unmet:
            first = min(unmet)
            return case.ground("denies_unmet", -0.7, f"{case.text(first)} has to come before that", [first])
        lean = 0.2 if moment.current_mistakes else 0.7
        return case.ground("nothing_unmet", lean, f"nothing has to come before {case.text(target)}", [target])
    if not case.names_steps:
        return None
    steps = pick(case, _ORDER)
    if steps[0] in unmet:
        return case.ground("names_unmet", 0.8, f"{case.text(steps[0])} has to come before that", steps)
    if steps[0] in ahead:
        return case.ground("names_next", 0.2, f"{case.text(target)} itself may be done", steps)
    return None


def _redirects(case: Case) -> Ground | None:
    """Judge "no, but you can do X": nothing of what was asked about, but another step. None when it is not that."""
    if case.stance != "clear" or case.question.wh or not case.scope or not case.names_steps:
        return None
    if case.answer.finished or not case.moment.pending:
        return None
    steps = pick(case, _ORDER)
    if case.scope & set(steps):
        return None
    moment = case.moment
    at_hand = (moment.following | moment.missing) & case.scope
    if at_hand:
        return case.ground(
            "denies_next", -0.7, f"says no, but {case.text(min(at_hand))} could be done", steps
        )
    if steps[0] in moment.following | moment.missing:
        return case.ground(
            "redirects", 0.6, f"nothing of that kind, but {case.text(steps[0])} can be done", steps
        )
    return case.ground("redirects_wrongly", -0.6, f"{case.text(steps[0])} cannot be done now", steps)


def judge_named_following(case: Case) -> Ground:
    """Judge an answer by where the step stands that it tells to do."""
    moment = case.moment
    steps = _as_planned(case, pick(case, _ORDER))
    standings = [moment.standing(i) for i in steps]
    first, standing = steps[0], standings[0]
    sure = [i for i, m in zip(steps, case.named.matches, strict=True) if m.score >= CERTAIN]
    # what hangs on the step has to be done again after it
    redone = next(
        (i for i in sure if moment.standing(i) == "done" and i not in moment.graph.descendants(first)), None
    )
    if standing in ("missing", "next") and redone is not None:
        return case.ground(
            "names_some_done", -0.3, f"{case.text(redone)} has been done, other steps have not", steps
        )
    if standing == "missing":
        return case.ground("names_missing", 0.8, f"{case.text(first)} is missing and can be done now", steps)
    if standing == "next":
        return judge_named_next(case, steps)
    if standing == "stuck":
        ahead = bool(case.question.before) and case.question.intent == "left"
        if case.question.intent == "left" and first in case.scope and len(moment.unmet(first)) == 1:
            ahead = True  # of the very thing that was asked about
        # all that it still waits for is done to the same thing: "mince the garlic" implies to peel it
        things = case.index.objects_of(first)
        ahead = ahead or all(things & case.index.objects_of(i) for i in moment.unmet(first))
        lean = 0.4 if ahead else -0.2 if len(moment.unmet(first)) == 1 else -0.5
        return case.ground(
            "names_stuck",
            lean,
            f"{case.text(first)} is missing, but must wait for other missing steps",
            steps,
        )
    of_thing = bool(frozenset(case.question.stems) & case.index.things_of(first)) and first in case.scope
    if (
        standing == "later"
        and case.question.intent == "left"
        and of_thing
        and moment.unmet(first).isdisjoint(case.scope)
    ):
        return case.ground(
            "names_later_of_thing", 0.3, f"{case.text(first)} comes next of what was asked about", steps
        )
    if standing == "later":
        return case.ground("names_later", -0.6, f"{case.text(first)} is not due yet", steps)
    return case.ground("names_done", -0.8, f"{case.text(first)} has been done", steps)


def _as_planned(case: Case, steps: tuple[str, ...]) -> tuple[str, ...]:
    """Put first what can be done first of "do this, then that (again)", when that waits for nothing else."""
    moment = case.moment
    unmet = moment.unmet(steps[0])
    again = moment.standing(steps[0]) == "done" and not unmet.isdisjoint(steps)
    ahead = again or (moment.standing(steps[0]) == "later" and unmet <= set(steps))
    if not ahead or not _PLAN.search(case.answer.plain):
        return steps
    return tuple(sorted(steps, key=lambda i: len(moment.unmet(i))))


def judge_named_next(case: Case, steps: tuple[str, ...]) -> Ground:
    """A step whose direct prerequisites are done may still hang on missing ones further back.

    People let one forgotten step pass and go on; when more is missing, going on is wrong.
    """
    moment, first = case.moment, steps[0]
    if not moment.missing and case.question.intent == "left" and moment.example.type == "missing":
        return case.ground(
            "names_not_overdue", 0.2, f"{case.text(first)} may be done next, but nothing is overdue", steps
        )
    if not moment.missing:
        return case.ground("names_next", 0.9, f"{case.text(first)} may be done next", steps)
    # "what do I do with the board now?": what is missing elsewhere was not asked about
    asked = frozenset(case.question.stems) & case.index.things_of(first)
    apart = asked and all(asked.isdisjoint(case.index.things_of(i)) for i in moment.missing)
    scoped = (case.question.intent == "propose" and apart) or (
        case.question.intent == "next" and first in case.scope and moment.missing.isdisjoint(case.scope)
    )
    unmet = [i for i in moment.progress.missing if i in moment.unmet(first)]
    some, few = case.text((unmet or moment.progress.missing)[0]), len(moment.missing) == 1
    if unmet:
        lean = 0.4 if few or scoped else -0.6
        return case.ground(
            "next_before_missing", lean, f"before {case.text(first)}, {some} is missing", steps
        )
    lean = 0.4 if few or scoped else -0.3
    return case.ground(
        "next_beside_missing", lean, f"{case.text(first)} may be done next, but {some} is missing", steps
    )


def judge_proposal(case: Case) -> Ground:
    """Judge an answer to "shall I do this now"."""
    moment, graph = case.moment, case.moment.graph
    if moment.targets_mistake and (not case.scope or moment.current_id in case.scope):
        return judge_check(case)
    told = frozenset(i for m in case.named.matches for i in m.alternatives)
    if moment.targets_mistake and moment.current_id in told and case.answer.polarity == "no":
        # "shall I take it out?" "no, leave it in until it is dry"
        return case.ground("confirms_mistake", 0.6, "asks for what the last step lacked", [moment.current_id])
    asked = case.index.read(case.question.stems).matches
    if not asked:
        return within_scope(case, judge_following(case))
    named = frozenset(i for m in case.named.matches for i in m.alternatives)
    elliptic = _same_thing(case) if case.answer.polarity == "yes" else frozenset[str]()
    if case.answer.polarity == "no":
        # "shall I do X?" "no, do Z first": where both fit the question, it is about the one that is not told
        told = named - frozenset(asked[0].alternatives) or named
        meant = frozenset(asked[0].alternatives) - told
    else:
        meant = named & case.scope or elliptic
    standing = {moment.standing(i): i for i in meant or asked[0].alternatives}
    target = next((standing[s] for s in _ORDER if s in standing), asked[0].step_id)
    where = moment.standing(target)
    wanted = (frozenset(graph.ancestors(target)) & moment.pending) | moment.missing
    if case.answer.polarity is None:
        steps = pick(case, _ORDER)
        if steps and steps[0] in wanted - {target}:
            return case.ground("names_unmet", 0.7, f"{case.text(steps[0])} has to come first", steps)
        return within_scope(case, judge_following(case))
    apart = not elliptic and named.isdisjoint(case.scope | frozenset(asked[0].alternatives))
    if case.answer.polarity == "yes" and case.names_steps and apart and _ALSO.search(case.answer.plain):
        steps = pick(case, _ORDER)
        if steps[0] in moment.missing and where in ("next", "missing"):
            return case.ground(
                "agrees_and_adds", 0.4, f"agrees and adds {case.text(steps[0])}, which is missing", steps
            )
    if case.answer.polarity == "yes" and case.names_steps and apart and _READY.search(case.question.plain):
        return judge_following(case)  # "is the lid ready to go on?" "yes, screw it on"
    if case.answer.polarity == "yes" and case.names_steps and apart:
        return case.ground(
            "beside_question", -0.4, "says yes, but speaks of another step than was asked about"
        )
    if case.answer.polarity == "yes":
        leans = {
            "missing": 0.8,
            "next": judge_named_next(case, (target,)).lean,
            "stuck": -0.6,
            "later": -0.7,
            "done": -0.6,
        }
        return case.ground(
            f"agrees_{where}", leans[where], f"{case.text(target)} is {_described(where)}", [target]
        )
    if case.made_up:
        return case.ground(
            "unknown_step", -0.8, f"no step speaks of {quoted(case.named.foreign_words)}", [target]
        )
    steps = tuple(i for i in pick(case, _ORDER, target) if i != target)
    if steps and where == "done" and steps[0] in moment.following | moment.missing:
        return case.ground(
            "redirects", 0.8, f"{case.text(target)} is done, and {case.text(steps[0])} can be", steps
        )
    unready = _unready(case) & wanted
    if unready:
        first = min(unready)
        return case.ground("names_unmet", 0.6, f"{case.text(first)} has to come first", sorted(unready))
    if steps and set(steps) & wanted:
        return case.ground("names_unmet", 0.9, f"{case.text(steps[0])} has to come first", steps)
    if steps:
        return case.ground(
            "names_not_unmet", -0.6, f"{case.text(steps[0])} does not have to come first", steps
        )
    refusal = {
        "missing": -0.7,
        "next": 0.0 if moment.missing else -0.7,
        "stuck": 0.6,
        "later": 0.6,
        "done": 0.6,
    }
    return case.ground(
        f"refuses_{where}", refusal[where], f"{case.text(target)} is {_described(where)}", [target]
    )


_ALL_OVER = re.compile(
    r"\b(?:all|every) (?:of )?(?:the )?(?:[a-z]+ )?steps?\b|\bthe (?:recipe|procedure|task) is\b"
)
_PLAN = re.compile(r"\b(?:then|and|after that|afterwards|followed by)\b")
_ALSO = re.compile(r"\b(?:also|but|as well|too|although|though)\b")


def within_scope(case: Case, ground: Ground) -> Ground:
    """Turn down a step that would be right by itself, but is not what was asked about."""
    if case.stance == "clear":
        return ground
    if ground.lean <= 0 or not ground.steps or not case.scope:
        return ground
    asked = frozenset(case.question.stems)
    if _of_that_kind(case, ground.steps[0]) or _of_that_thing(case, ground.steps[0]):
        return ground
    if not case.scope & set(ground.steps) and not any(asked & case.index.stems_of[i] for i in ground.steps):
        lean = -0.2 if case.question.intent == "left" else -0.4
        return case.ground(
            "beside_question", lean, f"{case.text(ground.steps[0])} is not what was asked about", ground.steps
        )
    return ground


def beside_scope(case: Case, ground: Ground) -> Ground:
    """Turn down a step that shares no word with what was asked about, where another that is due does."""
    moment = case.moment
    if ground.lean <= 0 or not ground.steps or case.stance == "clear" or case.scope & set(ground.steps):
        return ground
    asked = frozenset(case.question.stems)
    due = sorted((moment.following | moment.missing) & case.scope)
    # "my next move" names no thing; and what a thing waits for is about that thing as well
    named = [i for i in due if asked & case.index.things_of(i)]
    if not named or any(asked & case.index.stems_of[i] for i in ground.steps):
        return ground
    if any(ground.steps[0] in moment.unmet(i) for i in case.scope):
        return ground
    reason = f"{case.text(ground.steps[0])} is not what was asked about, but {case.text(named[0])} is"
    return case.ground("beside_question", -0.4, reason, ground.steps)


def beside_kind(case: Case, ground: Ground) -> Ground:
    """Turn down a step that adds nothing where it is asked what to add, and something that is due does add."""
    moment, index = case.moment, case.index
    if (
        ground.lean <= 0
        or not ground.steps
        or case.stance == "clear"
        or not _ASKS_ADDED.search(case.question.plain)
    ):
        return ground
    due = sorted(i for i in moment.following | moment.missing if _adds(index, i))
    if not due or any(_adds(index, i) for i in ground.steps):
        return ground
    reason = f"{case.text(ground.steps[0])} adds nothing, {case.text(due[0])} does"
    return case.ground("beside_question", -0.3, reason, ground.steps)


_ASKS_ADDED = re.compile(
    r"\b(?:which|what|any|other|more|another|further|an?|some)(?: (?:other|more|further|additional|new))? "
    r"(?:ingredients?|reagents?|substances?|additives?)\b"
)
"""Asks for something that is added, not for a step."""
_ADDING = frozenset(stem(w) for w in ("add", "pipette"))
_GENERIC = concepts(stem("mixture"))


def _adds(index: StepIndex, step_id: str) -> bool:
    """True when a step adds something, or brings in a thing that no step before it speaks of."""
    stems = index.stems_of[step_id]
    if any(w in _ADDING or any(concepts(w) & concepts(v) for v in _ADDING) for w in stems):
        return True
    known = frozenset(w for i in index.graph.ancestors(step_id) for w in index.stems_of.get(i, ()))
    return any(w not in known and not concepts(w) & _GENERIC for w in index.objects_of(step_id))


def _same_thing(case: Case) -> frozenset[str]:
    """Return the steps that "shall I add the egg?" "yes, whisk it" means: no step adds an egg, one whisks it.

    Empty when a step does just what was asked, or when the answer names a step about something else.
    """
    stems, index = frozenset(case.question.stems), case.index
    if not case.names_steps or any(index.does_to(i, stems) for i in index.stems_of):
        return frozenset()
    said = frozenset(case.answer.stems()) | (stems if case.answer.pronoun else frozenset())
    return frozenset(i for i in case.named.matches[0].alternatives if index.things_of(i) & stems & said)


def _of_that_kind(case: Case, step_id: str) -> bool:
    """True when the question asks for more of a kind that no step names ("any other fittings I need?").

    Such a question asks what is left. Which things are of the kind no graph says; a step that may be done now
    passes for one when it is done with a verb of those that the kind is known to cover.
    """
    moment, index = case.moment, case.index
    if case.question.intent != "left" or moment.example.type != "missing":
        return False
    if step_id not in moment.following | moment.missing:
        return False
    verbs = frozenset(index.action_of(i) for i in case.scope)
    if any(w in index.weights and w not in verbs for w in case.question.stems):
        return False
    return index.acts(step_id, verbs)


def _of_that_thing(case: Case, step_id: str) -> bool:
    """True when a step that names no thing is told of what was asked about, or is missing for it.

    "Is there more to do with the egg?" "Yes, microwave it" means the step "Microwave for 3 minutes".
    """
    moment, index = case.moment, case.index
    asked = frozenset(case.question.stems)
    if (case.answer.pronoun or asked & frozenset(case.answer.stems())) and not index.objects_of(step_id):
        return True
    waiting = (i for i in case.scope if asked & index.things_of(i))
    return step_id in moment.missing and any(step_id in moment.graph.ancestors(i) for i in waiting)


def _unready(case: Case) -> frozenset[str]:
    """Return the steps about what "the board is not ready yet" or "prepare the board first" speak of."""
    if not _UNREADY.search(case.answer.plain):
        return frozenset()
    return frozenset(i for w in case.answer.stems() for i in case.index.speaking_of(w) if not is_talk(w))


_UNREADY = re.compile(
    r"\b(?:is|are) not (?:yet |quite |all |fully )*(?:ready|prepared|done|finished|complete)\b|\b(?:prepare|finish|complete) (?:the|your|all)\b"
)


def _described(standing: str) -> str:
    return {
        "missing": "missing and can be made up for",
        "next": "what may be done next",
        "stuck": "missing, but must wait for other missing steps",
        "later": "not due yet",
        "done": "done already",
    }[standing]
