"""Rules for "was this the right moment", "was this done right", "how much, how long"."""

from __future__ import annotations

import re

from proctor.verify.oracle.case import Case, Ground, overlap, pick, quoted
from proctor.verify.oracle.text import content, is_talk, normalise

__all__ = ["judge_check", "judge_detail", "judge_order"]


def judge_order(case: Case) -> Ground:
    """Judge an answer to "was this too early", "should that have come first"."""
    moment = case.moment
    wrong = moment.disordered or bool(moment.missing) or moment.targets_mistake
    if case.stance == "clear":
        if wrong:
            return case.ground("denies_disorder", -0.8, "says that the order was right, but it was not")
        return case.ground("confirms_order", 0.8, "nothing was done out of order")
    if not wrong:
        return case.ground("trouble_none", -0.7, "says that the order was wrong, but it was not")
    placed = _placed(case)
    if placed is not None:
        return placed
    asked = {i for m in case.index.read(case.question.stems).matches[:1] for i in m.alternatives}
    steps = tuple(i for i in pick(case, ("missing", "stuck", "done", "later", "next")) if i not in asked)
    if not steps:
        if case.made_up and overlap(case) < 0.5:
            return case.ground("unknown_step", -0.6, f"no step speaks of {quoted(case.named.foreign_words)}")
        return case.ground("confirms_disorder", 0.7, "the order was wrong")
    if case.made_up:
        return case.ground(
            "unknown_step", -0.6, f"no step speaks of {quoted(case.named.foreign_words)}", steps
        )
    if set(steps) & (moment.missing | moment.late):
        return case.ground("names_missing", 0.9, f"{case.text(steps[0])} had to come first", steps)
    if moment.example.type != "order" and overlap(case) >= 0.5:
        return case.ground("retells_mistake", 0.7, "says what went wrong in the last step", steps)
    return case.ground("names_not_unmet", -0.5, f"{case.text(steps[0])} did not have to come first", steps)


def _placed(case: Case) -> Ground | None:
    """Judge "it should have come before X" by the place of the current step; None when no such thing is said."""
    moment = case.moment
    current = moment.current_id
    if case.named.matches or current is None:
        return None
    for role, related in (("before", moment.graph.descendants), ("after", moment.graph.ancestors)):
        matches = case.index.read(case.answer.stems(role)).matches  # type: ignore[arg-type]
        steps = tuple(i for m in matches for i in m.alternatives)
        if not steps:
            continue
        due = frozenset(related(current)) & frozenset(steps)
        broken = due & frozenset(moment.history) if role == "before" else due & moment.pending
        if broken:
            return case.ground(
                "places_step", 0.9, f"it had to come {role} {case.text(min(broken))}", sorted(broken)
            )
        return case.ground(
            "misplaces_step", -0.4, f"it did not have to come {role} {case.text(steps[0])}", steps[:1]
        )
    return None


def judge_check(case: Case) -> Ground:
    """Judge an answer to "was this right", "was it enough"."""
    moment = case.moment
    if moment.example.type == "order" and moment.targets_mistake:
        return judge_order(case)
    asked = frozenset(moment.history) & (case.scope or frozenset(moment.history))
    concerned = moment.mistakes_of(asked)
    wrong = moment.targets_mistake or bool(concerned) or bool(moment.current_mistakes)
    if case.stance == "clear":
        if wrong:
            return case.ground("denies_mistake", -0.7, "says that it was right, but it was not")
        return case.ground("confirms_right", 0.6, "nothing went wrong there")
    if not wrong:
        if case.named.matches and moment.missing & set(case.named.matches[0].alternatives):
            return case.ground("names_missing", 0.6, f"{case.text(case.named.matches[0].step_id)} is missing")
        return case.ground("trouble_none", -0.6, "says that something was wrong, but nothing was")
    stated = set(case.answer.quantities)
    if stated and _TOPS_UP.search(case.answer.plain):
        return case.ground("tops_up", 0.5, "makes up for a wrong amount")
    if stated and moment.target_quantities:
        if stated & moment.target_quantities:
            return case.ground(
                "right_quantity", 0.9, "corrects the mistake with a quantity of the instruction"
            )
        return case.ground(
            "other_quantity", -0.1, "corrects the mistake with a quantity that the step does not hold"
        )
    if moment.targets_mistake and _other_mistake(case):
        return case.ground("other_mistake", 0.1, "speaks of another mistake than the one asked about")
    if moment.targets_mistake:
        return case.ground("confirms_mistake", 0.8, "the last step went wrong, and the answer says so")
    if case.made_up:
        return case.ground("unknown_step", -0.5, f"no step speaks of {quoted(case.named.foreign_words)}")
    return case.ground("confirms_mistake_noisy", 0.2, "something went wrong there, and the answer says so")


def _other_mistake(case: Case) -> bool:
    """True when the answer uses words of the step's other mistakes and none of the one asked about."""
    own = {w for t in case.moment.example.mistake_texts for w in content(normalise(t))}
    others = {
        w
        for m in case.moment.current_mistakes
        if m.text not in case.moment.example.mistake_texts
        for w in content(normalise(m.text))
    }
    stems = {w for w in case.answer.stems() if not is_talk(w)}
    return bool(stems & others - own) and not stems & own


_TOPS_UP = re.compile(r"\b(?:another|extra|additional|further|surplus|excess)\b|\bmore\b(?! than)")


def judge_detail(case: Case) -> Ground | None:
    """Judge an answer to "how much", "how long" by the quantities of the step asked about; None when there are none.

    The step asked about is the one that the question names, else any step at hand: the current one, what may be
    done next, what is missing.
    """
    moment = case.moment
    stated = frozenset(case.answer.quantities)
    asked = case.index.read(case.question.stems).matches
    at_hand = moment.following | moment.missing | ({moment.current_id} - {None})
    steps = {i for m in asked[:1] for i in m.alternatives} or at_hand
    near = steps & at_hand or steps
    held = frozenset(q for i in near for q in case.index.quantities.get(str(i), frozenset()))
    if not stated or not held:
        return None
    if stated & held:
        step = next(i for i in sorted(map(str, near)) if stated & case.index.quantities[i])
        return case.ground("right_quantity", 0.8, f"{case.text(step)} holds the quantity", [step])
    return case.ground("other_quantity", -0.4, "no step that was asked about holds the quantity")
