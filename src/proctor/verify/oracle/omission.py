"""Rules for "did I forget anything", "did I do everything right"."""

from __future__ import annotations

import re
from typing import Final

from proctor.exam.kinds.example import STEP_TYPES
from proctor.verify.oracle.case import CERTAIN, Case, Ground, overlap, pick, quoted
from proctor.verify.oracle.correctness import judge_check
from proctor.verify.oracle.moment import Standing
from proctor.verify.oracle.text import is_talk

__all__ = [
    "expected_missing",
    "judge_denial",
    "judge_named_omission",
    "judge_needed",
    "judge_omission",
    "judge_reported",
    "judge_skip",
    "judge_unnamed",
    "retells",
]


def expected_missing(case: Case) -> tuple[frozenset[str], bool]:
    """Return the missing steps that the question is about, and whether its scope left any out."""
    missing = case.moment.missing
    inside = missing & case.scope if case.scope else missing
    if case.question.before and inside:
        targets = case.index.read(case.question.before).matches
        ahead = {a for m in targets for i in m.alternatives for a in case.moment.graph.ancestors(i)}
        inside = inside & ahead or inside
    return inside, bool(missing) and not inside


def _ahead(case: Case) -> frozenset[str]:
    """Steps still to do before a step that the question names and that has not been reached."""
    targets = case.index.read(case.question.before).matches if case.question.before else ()
    unreached = [i for m in targets for i in m.alternatives if i in case.moment.pending]
    return frozenset(u for i in unreached for u in case.moment.unmet(i))


def judge_omission(case: Case) -> Ground:
    """Judge an answer to "did I forget anything" or "is everything done"."""
    if case.question.intent == "forgot_step":
        ground = _certain_step(case)
        if ground is not None:
            return ground
    inside, outside = expected_missing(case)
    if case.stance == "clear" and not _corrects(case):
        return _moves_on(case) or _denial_with_steps(case, judge_denial(case, inside, outside))
    left = case.moment.pending & case.scope
    if case.completion and case.scope and not case.names_steps and not case.made_up:
        if left:
            return case.ground("affirms_pending", 0.6, f"{case.text(min(left))} is still to be done")
        if not case.moment.mistakes_of(case.scope):
            return case.ground("trouble_none", -0.6, "says that it was not done, but it was")
    names_missing = case.names_steps and case.moment.missing.intersection(case.named.matches[0].alternatives)
    if case.moment.example.type in STEP_TYPES and not names_missing:
        return judge_check(case)
    if case.names_steps:
        return judge_named_omission(case, inside)
    return judge_unnamed(case)


def _certain_step(case: Case) -> Ground | None:
    """Judge by the step that the question names ("did I forget to ..."); None when it names none."""
    moment = case.moment
    asked = case.index.read(case.question.stems).matches
    if not asked or asked[0].score < CERTAIN:
        return None
    order: tuple[Standing, ...] = ("missing", "stuck", "done", "next", "later")
    target = min(asked[0].alternatives, key=lambda i: order.index(moment.standing(i)))
    forgotten = target in moment.missing
    if case.stance == "clear":
        steps = [i for i in pick(case, order) if i != target] if case.names_steps else []
        if forgotten:
            return case.ground(
                "denies_missing", -0.9, f"says no, but {case.text(target)} is missing", [target]
            )
        if steps and steps[0] not in moment.unmet(target) | moment.missing | moment.following:
            return case.ground("names_not_unmet", -0.5, f"{case.text(steps[0])} is not due", steps)
        if _went_wrong(case, target):
            # "no, you already did" reports that it was done and does not vouch for how
            reports = case.answer.already or bool(case.answer.stems("done"))
            lean = 0.3 if reports and not case.answer.praise else 0.0
            return case.ground(
                "praises_mistake" if not lean else "done_if_badly",
                lean,
                f"{case.text(target)} was done, but not as it should be",
            )
        return case.ground("not_forgotten", 0.7, f"{case.text(target)} was not left out", [target])
    named = frozenset(i for m in case.named.matches for i in m.alternatives)
    if case.made_up or (named and target not in named):
        return None
    if forgotten:
        return case.ground("names_missing", 0.9, f"{case.text(target)} is missing", [target])
    if _went_wrong(case, target):
        return case.ground(
            "names_mistake", 0.5, f"{case.text(target)} was not done as it should be", [target]
        )
    return case.ground(
        "trouble_none", -0.7, f"says that {case.text(target)} was left out, but it was not", [target]
    )


def judge_reported(case: Case) -> Ground | None:
    """Judge "should I have done X before this?" "yes, and you already did"; None when it is not that.

    A yes is to the place of X, a no to its being left out; the rest reports it done either way.
    """
    plain = case.answer.plain
    if not _REPORTS.search(plain) or _LACKS.search(plain):
        return None
    if not _NEEDED.match(case.question.plain):
        return None
    asked = case.index.read(case.question.stems).matches
    if not asked or asked[0].score < CERTAIN:
        return None
    done = [i for i in asked[0].alternatives if i in case.moment.history]
    if case.moment.late.intersection(done):
        return None
    if not done:
        first = asked[0].step_id
        return case.ground(
            "reports_undone", -0.7, f"says that {case.text(first)} was done, but it was not", [first]
        )
    return case.ground("reports_done", 0.6, f"{case.text(done[0])} was done, as the answer says", done)


_REPORTS: Final = re.compile(
    r"\byou (?:have )?already\b|\balready (?:did|done|have)\b|\byou (?:did|have done) (?:that|it|so|this)\b"
)
_LACKS: Final = re.compile(r"\b(?:should|but|not|forgot|missed|skipped|need|needed|must)\b")
_NEEDED: Final = re.compile(
    r"(?:should (?:i|we) have|(?:was|were) (?:i|we) (?:supposed|meant) to|did (?:i|we) (?:need|have) to|ought (?:i|we))\b"
)


def judge_needed(case: Case) -> Ground | None:
    """Judge "should I have done X by now?" of a step that is still to be done; None when it is not that."""
    if case.question.wh or not _NEEDED.match(case.question.plain):
        return None
    asked = case.index.read(case.question.stems).matches
    if not asked or asked[0].score < CERTAIN or not case.moment.pending.issuperset(asked[0].alternatives):
        return None
    return _certain_step(case)


def judge_skip(case: Case) -> Ground:
    """Judge an answer to "may I leave this out"; every step of a graph has to be done once unless it is optional."""
    moment = case.moment
    asked = case.index.read(case.question.stems).matches
    if not asked:
        return judge_unnamed(case)
    free = [i for i in asked[0].alternatives if moment.graph[i].optional and moment.standing(i) != "done"]
    left = free or [i for i in asked[0].alternatives if i in moment.pending]
    if case.answer.polarity is None:
        lean = 0.4 if left and set(left) & {i for m in case.named.matches for i in m.alternatives} else -0.2
        return case.ground("tells_to_do", lean, "neither allows nor forbids to leave it out", left)
    if not left:
        return case.ground(
            "skips_done", -0.2, f"{case.text(asked[0].step_id)} has been done", asked[0].alternatives
        )
    allows = case.answer.polarity == "yes"
    word = "allows" if allows else "forbids"
    if free:
        return case.ground(
            f"{word}_optional", 0.9 if allows else -0.9, f"{case.text(free[0])} is optional", free
        )
    return case.ground(
        f"{word}_skip",
        -0.8 if allows else 0.8,
        f"{word} to leave out {case.text(left[0])}, which is to be done",
        left,
    )


def judge_denial(case: Case, inside: frozenset[str], outside: bool) -> Ground:
    """Judge an answer that says that all is well.

    Args:
        case: the case.
        inside: missing steps that the question is about.
        outside: steps are missing, but only such as the question is not about.
    """
    moment = case.moment
    if inside:
        step = next(i for i in moment.progress.missing if i in inside)
        lean = -0.4 if len(moment.missing) == 1 else -0.9
        return case.ground(
            "denies_missing", lean, f"says that nothing is missing, but {case.text(step)} is", [step]
        )
    if outside and case.question.stems:
        return case.ground("denies_outside", 0.2, "nothing is missing of what was asked about, but elsewhere")
    left = moment.pending & case.scope if case.scope else moment.pending
    if case.completion and case.scope and not left:
        lean = 0.2 if moment.mistakes_of(case.scope) else 0.7
        return case.ground("done_in_scope", lean, "what was asked about has been done")
    if case.completion and case.scope and left == case.scope:
        return case.ground(
            "denies_pending", -0.7, f"{case.text(min(left))} is still to be done", sorted(left)
        )
    if case.completion and moment.pending:
        return case.ground("denies_pending", -0.3, "says that all is done, but steps are left")
    if case.completion and not moment.pending:
        return case.ground("finished", 0.9, "every step has been done")
    if outside:
        return case.ground("denies_outside", -0.2, "nothing is missing within what was asked, but elsewhere")
    ahead = _ahead(case) or (
        moment.example.type == "next" and not case.question.before and moment.following & case.scope
    )
    if ahead and not case.question.past:
        return case.ground(
            "denies_ahead", -0.1, "nothing was left out, but steps are still to come before that"
        )
    whole = case.question.intent == "all_good"
    if moment.targets_mistake:
        # nothing was left out, which is what was asked, but silence about the mistake is not what people want
        lean = -0.6 if whole else 0.1
        return case.ground("denies_mistake", lean, "says that all is well, but the last step went wrong")
    if case.answer.praise and (moment.current_mistakes or (whole and moment.own_mistakes)):
        return case.ground("praises_mistake", 0.1, "praises what went wrong, though no step is missing")
    if moment.own_mistakes:
        return case.ground("nothing_missing_noisy", 0.55, "no step is missing, though something went wrong")
    return case.ground("nothing_missing", 0.9, "no step is missing and nothing went wrong")


def judge_named_omission(case: Case, inside: frozenset[str]) -> Ground:
    """Judge an answer that names what was left out; ``inside`` as in ``judge_denial``."""
    moment = case.moment
    steps = pick(case, ("missing", "stuck", "later", "next", "done"))
    hits = [i for i in steps if i in moment.missing]
    if len(hits) == len(steps):
        # "did I forget to sand the board?" lets another missing step pass, "is the board sanded?" does not
        told_no = case.completion and case.question.intent == "all_good"
        if told_no and inside and inside.isdisjoint(hits) and _apart(case, steps):
            other = next(i for i in moment.progress.missing if i in inside)
            reason = f"{case.text(steps[0])} is missing, but of what was asked about {case.text(other)} is"
            return case.ground("names_missing_beside", -0.3, reason, steps)
        lean = 0.9 if not inside or set(hits) & inside else 0.6
        if moment.standing(steps[0]) == "stuck":
            lean = min(lean, 0.5)  # people would rather hear of what it waits for
        return case.ground("names_missing", lean, f"{case.text(steps[0])} is missing", steps)
    if hits:
        return case.ground(
            "names_some_missing", 0.4, f"{case.text(hits[0])} is missing, other steps are not", steps
        )
    first = steps[0]
    if retells(case) and not _on_time(case, first):
        return case.ground("retells_mistake", 0.5, "says what went wrong in a step that was done", steps)
    # "no, that can be done later" to "did I need to do it before this?"
    asked = _NEEDED.match(case.question.plain)
    postpones = asked and case.answer.polarity == "no" and _LATER.search(case.answer.plain)
    if postpones and moment.standing(first) != "done" and not inside:
        return case.ground("postpones", 0.5, f"{case.text(first)} may wait, as the answer says", steps)
    if first in moment.late:
        return case.ground("names_late", 0.2, f"{case.text(first)} came too late", steps)
    standing = moment.standing(first)
    if standing == "done":
        if _went_wrong(case, first):
            # of what has just gone wrong people want to hear, of what went wrong long ago they do not
            lean = 0.3 if first == moment.current_id else -0.2
            return case.ground(
                "names_mistake", lean, f"{case.text(first)} was done, if not as it should be", steps
            )
        return case.ground("names_done", -0.8, f"{case.text(first)} has been done", steps)
    if case.completion and first in moment.following:
        return case.ground("names_next", 0.7, f"{case.text(first)} is still to be done", steps)
    if first in _ahead(case) or not case.question.past:
        accuses = first not in _ahead(case) and bool(_FORGOTTEN.search(case.answer.plain))
        lean = -0.5 if case.stance == "clear" else -0.3 if accuses else 0.3
        return case.ground("names_pending", lean, f"{case.text(first)} is still to be done", steps)
    return case.ground("names_not_due", -0.3, f"{case.text(first)} was not due yet", steps)


def _apart(case: Case, steps: tuple[str, ...]) -> bool:
    """True when the question is about a thing ("the board", "in the tray") that none of these steps shares."""
    things = frozenset(
        w for w in case.question.stems if any(w in case.index.things_of(i) for i in case.scope)
    )
    return bool(things) and all(things.isdisjoint(case.index.stems_of[i]) for i in steps)


def judge_unnamed(case: Case) -> Ground:
    """Judge an answer that says that something is wrong or missing, but names no step of the procedure."""
    moment = case.moment
    if moment.missing and _EVERYTHING.search(case.answer.plain):
        return case.ground("trouble_missing", 0.5, "says that something is missing, and something is")
    if retells(case):
        return case.ground("retells_mistake", 0.5, "says what went wrong in a step that was done")
    if case.made_up:
        if overlap(case, case.moment.target_stems) >= 0.5 and moment.targets_mistake:
            return case.ground("retells_mistake", 0.5, "says what the annotator wrote about the mistake")
        return case.ground("unknown_step", -0.8, f"no step speaks of {quoted(case.named.foreign_words)}")
    if case.stance == "none":
        return case.ground("says_nothing", -0.4, "neither says yes or no nor names a step")
    if case.completion and not case.scope and moment.pending and not case.named.weight:
        return case.ground("affirms_pending", 0.6, "says that it is not over, and steps are left")
    if case.named.weight and overlap(case, case.moment.target_stems) < 0.5:
        return case.ground("vague", -0.3, "names no step of the procedure clearly")
    if moment.missing:
        return case.ground("trouble_missing", 0.5, "says that something is missing, and something is")
    if moment.targets_mistake or moment.current_mistakes:
        return case.ground("trouble_mistake", 0.5, "says that something is wrong, and something is")
    return case.ground("trouble_none", -0.6, "says that something is missing or wrong, but nothing is")


def _went_wrong(case: Case, step_id: str) -> bool:
    """True when the step was done, but with a mistake that doing it again would correct."""
    return any(m.kind not in ("order", "missing") for m in case.moment.mistakes_of([step_id]))


def _denial_with_steps(case: Case, ground: Ground) -> Ground:
    """Hold "no, you can go on and ..." against where that step stands, too."""
    told = case.index.read(case.answer.stems("do", "missed"))
    if (
        ground.lean <= 0
        or not told.matches
        or case.made_up
        or case.answer.finished
        or told.matches[0].score < CERTAIN
    ):
        return ground
    moment = case.moment
    first = pick(case, ("next", "missing", "stuck", "later", "done"))[0]
    standing = moment.standing(first)
    echoed = {i for m in case.index.read(case.question.before).matches for i in m.alternatives}
    if first in echoed or (standing == "done" and _ONLY.search(case.answer.plain)):
        return ground
    if standing == "done" and not _went_wrong(case, first) and not case.answer.clear:
        return case.ground("names_done", -0.5, f"{case.text(first)} has been done", [first])
    accused = any(c.role == "missed" for c in case.answer.claims)
    if standing == "later" or (standing == "next" and (case.completion or accused)):
        return case.ground("names_not_due", -0.4, f"{case.text(first)} is not due yet", [first])
    return ground


def _moves_on(case: Case) -> Ground | None:
    """Judge "is the board done?" "yes, now lay it on the brackets" by what comes next; None when it is not that."""
    moment = case.moment
    if (
        not (case.completion and case.scope and case.names_steps and case.answer.stems("do"))
        or moment.missing
    ):
        return None
    first = pick(case, ("next", "later", "done"))[0]
    if moment.standing(first) != "next":
        return None
    return case.ground("moves_on", 0.4, f"goes on to {case.text(first)}, which may be done next", [first])


def _corrects(case: Case) -> bool:
    """True for "no, but you need to ...": an answer that opens well and then names a missing step."""
    if not case.names_steps or case.answer.already:
        return False
    # "you are doing well, but you missed sanding the board": what was missed says more than the praise
    if case.answer.clear and not any(c.role == "missed" for c in case.answer.claims):
        return False
    return bool(frozenset(case.named.matches[0].alternatives) & case.moment.missing)


_EVERYTHING: Final = re.compile(
    r"\b(?:ingredients|components|parts|materials|everything|steps|things|preparations?)\b"
)


def retells(case: Case) -> bool:
    """True when the answer speaks of something done wrongly, in the words of a mistake that was noted."""
    if case.moment.targets_mistake and case.moment.own_mistakes:
        return overlap(case, case.moment.target_stems) >= 0.5
    if not (case.answer.wrongness and case.moment.own_mistakes):
        return False
    stems = [w for w in case.answer.stems() if not is_talk(w)]
    held = [w in case.moment.mistake_stems for w in stems]
    return bool(held) and sum(held) / len(held) >= 0.6 and bool(_CONTRAST & set(case.answer.plain.split()))


_FORGOTTEN: Final = re.compile(r"\b(?:forgot|forgotten|missed|skipped|overlooked|omitted)\b")
_ONLY: Final = re.compile(r"\bonly\b")
_LATER: Final = re.compile(r"\b(?:can|may|could)\b.*\b(?:later|afterwards|after that|at any time|any time)\b")


def _on_time(case: Case, step_id: str) -> bool:
    """True for "you should have done Z first" of a Z that was done well and in time: no mistake is retold."""
    moment = case.moment
    if moment.example.type != "order" or step_id == moment.current_id or not case.answer.stems("missed"):
        return False
    done = moment.standing(step_id) == "done" and step_id not in moment.late
    return done and not _went_wrong(case, step_id)


_CONTRAST: Final = frozenset({"instead", "not", "rather", "only", "too", "wrong", "wrongly", "used"})
