"""Rules for "was this the right moment", "was this done right", "how much, how long"."""

from __future__ import annotations

import re
from typing import Final

from proctor.verify.oracle.answer import Role
from proctor.verify.oracle.case import CERTAIN, Case, Ground, overlap, pick, quoted
from proctor.verify.oracle.text import content, excess_of, find_quantities, is_talk, normalise, share_quantity

__all__ = ["judge_check", "judge_detail", "judge_order", "judge_place", "judge_relation"]


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
    for special in (_wholesale, _placed, _agrees_first):
        ground = special(case)
        if ground is not None:
            return ground
    return _named_order(case)


def _wholesale(case: Case) -> Ground | None:
    """Judge "you should have prepared all the parts before that", which names no step; None when it is not said."""
    if case.named.matches or not _ALL_THINGS.search(case.answer.plain) or len(case.moment.missing) < _SEVERAL:
        return None
    return case.ground(
        "trouble_missing", 0.6, "says that much had to come first, and several steps are missing"
    )


def _agrees_first(case: Case) -> Ground | None:
    """Judge "should I have done Z before this?" "yes, you should have done Z first"; None when it is not that.

    The answer may say again what the question asks: that is no circle, as Z is not the step that was done.
    """
    moment = case.moment
    if not _ASKS_FIRST.search(case.question.plain) or case.answer.polarity != "yes" or not case.names_steps:
        return None
    steps = pick(case, ("missing", "stuck", "later", "next", "done"))
    overdue = moment.missing | (moment.unmet(moment.current_id) if moment.current_id else frozenset())
    about = frozenset(case.question.stems) - {case.index.action_of(i) for i in steps}
    if steps[0] not in overdue or not about & case.index.stems_of[steps[0]]:
        return None
    return case.ground("names_missing", 0.8, f"{case.text(steps[0])} had to come first", steps)


def judge_place(case: Case) -> Ground:
    """Judge an answer to "was X meant to come first", "does X go in before Y"."""
    moment, graph = case.moment, case.moment.graph
    anchor, asked = _anchor(case)
    if anchor is None or not asked:
        return judge_order(case)
    before = frozenset(graph.ancestors(anchor))
    ahead = {i for i in before if i in moment.pending or moment.came_after(i, anchor)}
    told = [i for i in pick(case, ("missing", "stuck", "done", "later", "next")) if i not in asked]
    if case.answer.polarity == "no" and case.stance == "trouble" and told and not case.made_up:
        return _told_first(case, anchor, told, before)
    behind = case.index.read(case.question.before).matches
    required = (
        any(graph.comes_before(anchor, i) for m in behind for i in m.alternatives)
        if behind
        else not ahead or anchor in moment.late
    )
    bare = not case.answer.claims and not case.answer.wrongness
    agrees = bool(behind) and not told and case.answer.polarity == "yes" and not case.made_up
    if case.answer.polarity is not None and (bare or agrees) and (behind or ahead):
        right = required == (case.answer.polarity == "yes")
        word = "has" if required else "does not have"
        return case.ground(
            "relates", 0.6 if right else -0.6, f"{case.text(anchor)} {word} to come first", [anchor]
        )
    return judge_order(case)


def _told_first(case: Case, anchor: str, told: list[str], before: frozenset[str]) -> Ground:
    """Judge "no, do Z first": Z has to come before what was asked about."""
    moment = case.moment
    first = next((i for i in told if i in before), None)
    if first is None and (moment.disordered or moment.missing):
        return judge_order(case)
    if first is None:
        return case.ground("names_not_unmet", -0.5, f"{case.text(told[0])} does not have to come first", told)
    if first in moment.pending or moment.came_after(first, anchor):
        return case.ground("names_missing", 0.9, f"{case.text(first)} had to come first", told)
    return case.ground("relates", 0.6, f"{case.text(first)} has to come before {case.text(anchor)}", told)


def _named_order(case: Case) -> Ground:
    """Judge an answer that says that the order was wrong, by the steps that it says had to come first."""
    moment = case.moment
    anchor, asked = _anchor(case)
    named = pick(case, ("missing", "stuck", "done", "later", "next"))
    # "sample" may mean two steps in the question; an answer that tells them apart is held to the other one
    own = moment.graph[anchor].text if anchor else ""
    steps = tuple(i for i in named if i not in asked) or tuple(
        i for i in named if i != anchor and moment.graph[i].text != own
    )
    if case.made_up and (steps or overlap(case, moment.noted_stems) < 0.5):
        return case.ground(
            "unknown_step", -0.6, f"no step speaks of {quoted(case.named.foreign_words)}", steps
        )
    circular = case.named.matches and anchor not in moment.late and _FIRST.search(case.answer.plain)
    if case.named.weight and not case.named.matches and overlap(case, moment.noted_stems) < 0.5:
        return case.ground("vague", -0.2, "names no step of the procedure clearly")
    if not steps and circular:
        return case.ground("circular", -0.4, "says that the step itself had to come first")
    if not steps:
        return case.ground("confirms_disorder", 0.7, "the order was wrong")
    before = frozenset(moment.graph.ancestors(anchor)) if anchor else frozenset()
    ahead = frozenset(i for i in before if i in moment.pending or moment.came_after(i, anchor))
    unmet = [i for i in steps if i in ahead] or _by_verb(case, steps, ahead)
    if unmet:
        return case.ground("names_missing", 0.9, f"{case.text(unmet[0])} had to come first", steps)
    if overlap(case, moment.noted_stems) >= 0.5:
        return case.ground("retells_mistake", 0.6, "says what went wrong in the last step", steps)
    if set(steps) & (moment.missing | moment.late):
        return case.ground(
            "names_other_disorder", 0.0, f"{case.text(steps[0])} is late, but not for this", steps
        )
    return case.ground("names_not_unmet", -0.5, f"{case.text(steps[0])} did not have to come first", steps)


def _by_verb(case: Case, steps: tuple[str, ...], ahead: frozenset[str]) -> list[str]:
    """Return the unmet steps that do what the answer says to a thing that they, or steps before them, speak of.

    "You should have sealed the board" means the step "Seal for an hour", not another step about the board. Empty when
    a recognised step does just what was said.
    """
    index, graph = case.index, case.moment.graph
    claims = [c for c in case.answer.claims if c.role in ("do", "missed") and c.action]
    if any(index.does_to(i, c.stems) for c in claims for i in steps):
        return []
    found: list[str] = []
    for claim in claims:
        things = frozenset(claim.stems) - {claim.action}
        for i in sorted(ahead):
            spoken = frozenset().union(
                *(index.stems_of.get(j, frozenset()) for j in (i, *graph.ancestors(i)))
            )
            if index.action_of(i) == claim.action and things and things <= spoken:
                found.append(i)
    return found


def _anchor(case: Case) -> tuple[str | None, frozenset[str]]:
    """Return the step whose place is asked about: the one that the question names, else the current one."""
    asked = case.index.read(case.question.stems).matches
    if asked and asked[0].score >= CERTAIN:
        done = [i for i in asked[0].alternatives if i in case.moment.history]
        done.sort(key=lambda i: i != case.moment.current_id)
        return (done or [asked[0].step_id])[0], frozenset(asked[0].alternatives)
    return case.moment.current_id, frozenset()


def _placed(case: Case) -> Ground | None:
    """Judge "it should have come before X" or "it was done after X"; None when no such thing is said.

    The step that is placed is the one that the question names, else the current one.
    """
    moment, graph = case.moment, case.moment.graph
    if case.named.matches or moment.current_id is None:
        return None
    anchor, _ = _anchor(case)
    if anchor is None:
        return None
    later, earlier = frozenset(graph.descendants(anchor)), frozenset(graph.ancestors(anchor))
    done = frozenset(moment.history)
    should = bool(_SHOULD.search(case.answer.plain))
    for role in _SIDES:
        matches = case.index.read(case.answer.stems(role)).matches
        steps = frozenset(i for m in matches for i in m.alternatives)
        if steps == {anchor} and not case.named.weight:
            return case.ground("circular", -0.4, "places the step by itself", steps)
        if not steps or steps == {anchor}:
            continue
        # "should have come before X" and "was done after X" both say that X came too soon
        hurried = (role == "before") == should
        broken = steps & later & done if hurried else steps & earlier & (moment.pending | moment.late)
        if broken:
            first = min(broken)
            return case.ground("places_step", 0.9, f"its order with {case.text(first)} was wrong", [first])
        if overlap(case, moment.noted_stems | moment.disorder_stems) >= 0.5:
            return case.ground("retells_mistake", 0.6, "says what went wrong in the last step")
        first = min(steps)
        return case.ground("misplaces_step", -0.4, f"its order with {case.text(first)} was right", [first])
    return None


def judge_relation(case: Case) -> Ground | None:
    """Judge an answer to "do I have to do A before B" by the graph; None when the question is not of that kind."""
    question, moment = case.question, case.moment
    if question.wh or not question.before or case.answer.polarity is None or case.stance == "steps":
        return None
    first, second = case.index.read(question.stems).matches, case.index.read(question.before).matches
    if not first or not second or min(first[0].score, second[0].score) < CERTAIN:
        return None
    a, b = first[0].step_id, second[0].step_id
    if a == b or a in moment.history or b in moment.history:
        return None
    required = moment.graph.comes_before(a, b)
    right = required == (case.answer.polarity == "yes")
    word = "has" if required else "does not have"
    return case.ground(
        "relates", 0.7 if right else -0.7, f"{case.text(a)} {word} to come before {case.text(b)}", [a, b]
    )


_FIRST = re.compile(r"\bfirst\b|\bbefore (?:this|that|it)\b")
_ASKS_FIRST = re.compile(
    r"\b(?:should (?:i|we) have|(?:was|were) (?:i|we) (?:supposed|meant) to|did (?:i|we) (?:need|have) to)\b.*"
    r"\b(?:before|first|beforehand|earlier|prior to)\b"
)
"""Asks whether something that was not done had to come first."""
_ALL_THINGS = re.compile(
    r"\b(?:all|every|everything|each)\b(?: (?:of|the|your|other|needed|required|necessary))*"
    r"(?: (?:ingredients?|components?|parts?|materials?|pieces|tools?|things|items?|reagents?|preparations?))?\b"
)
_SEVERAL: Final = 2
"""Missing steps from which "all the parts" may be said of them."""
_SIDES: Final[tuple[Role, ...]] = ("before", "after")
_SHOULD = re.compile(r"\b(?:should|would|better|supposed|had to|has to|needs? to|must|ought)\b")


def judge_check(case: Case) -> Ground:
    """Judge an answer to "was this right", "was it enough"."""
    moment = case.moment
    if moment.example.type == "order" and moment.targets_mistake:
        return judge_order(case)
    asked = frozenset(moment.history) & (case.scope or frozenset(moment.history))
    concerned = moment.mistakes_of(asked)
    wrong = moment.targets_mistake or bool(concerned) or (not case.scope and bool(moment.current_mistakes))
    if case.stance == "clear" and case.answer.finished and not (moment.pending or moment.targets_mistake):
        return case.ground("finished", 0.8, "every step has been done")
    if case.stance == "clear":
        steps = pick(case, ("next", "later", "done")) if case.names_steps and not moment.missing else ()
        if wrong and not moment.targets_mistake and steps and steps[0] in moment.following:
            return case.ground(
                "moves_on", 0.3, f"goes on to {case.text(steps[0])}, which may be done next", steps
            )
        if wrong:
            return case.ground("denies_mistake", -0.7, "says that it was right, but it was not")
        return case.ground("confirms_right", 0.6, "nothing went wrong there")
    if not wrong or (case.question.adjusts and not moment.targets_mistake):
        steps = pick(case, ("missing", "next", "stuck", "later", "done")) if case.names_steps else ()
        if steps and steps[0] in moment.missing:
            return case.ground("names_missing", 0.6, f"{case.text(steps[0])} is missing", steps)
        # "should I stir it longer?" "no, pour it out"
        if steps and steps[0] in moment.following and case.question.adjusts:
            return case.ground("redirects", 0.6, f"{case.text(steps[0])} may be done next", steps)
    if not wrong:
        return case.ground("trouble_none", -0.6, "says that something was wrong, but nothing was")
    stated = set(case.answer.quantities)
    if moment.targets_mistake and _said_excess(case) * moment.excess < 0:
        return case.ground("other_direction", -0.5, "says too much where it was too little, or the reverse")
    noted = frozenset(q for t in moment.example.mistake_texts for q in find_quantities(normalise(t)))
    if moment.targets_mistake and not share_quantity(stated, noted) and _other_mistake(case):
        return case.ground("other_mistake", -0.1, "speaks of another mistake than the one asked about")
    if case.answer.wanted and moment.required_quantities and not _TOPS_UP.search(case.answer.plain):
        if share_quantity(case.answer.wanted, moment.required_quantities):
            return case.ground(
                "right_quantity", 0.9, "corrects the mistake with a quantity of the instruction"
            )
        # a clause without "should" may as well tell what was done
        if not share_quantity(case.answer.wanted, moment.target_quantities) or _DEMANDS.search(
            case.answer.plain
        ):
            return case.ground(
                "other_quantity", -0.4, "asks for a quantity that the instruction does not hold"
            )
    if stated and _TOPS_UP.search(case.answer.plain):
        return case.ground("tops_up", 0.5, "makes up for a wrong amount")
    if stated and moment.target_quantities:
        if share_quantity(stated, moment.target_quantities):
            return case.ground(
                "right_quantity", 0.9, "corrects the mistake with a quantity of the instruction"
            )
        return case.ground(
            "other_quantity", -0.1, "corrects the mistake with a quantity that the step does not hold"
        )
    if moment.targets_mistake and _other_kind(case):
        return case.ground("other_kind", -0.3, "says that something went wrong that did not")
    if moment.targets_mistake:
        return case.ground("confirms_mistake", 0.8, "the last step went wrong, and the answer says so")
    if case.made_up:
        return case.ground("unknown_step", -0.5, f"no step speaks of {quoted(case.named.foreign_words)}")
    return case.ground("confirms_mistake_noisy", 0.2, "something went wrong there, and the answer says so")


def _said_excess(case: Case) -> int:
    """Which way the answer says that it was wrong; a bare yes to "was it too much?" says so too."""
    if case.answer.excess or case.answer.polarity is None:
        return case.answer.excess
    asked = excess_of(case.question.plain)
    return asked if case.answer.polarity == "yes" and not case.answer.quantities else 0


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
    asked = others.intersection(case.question.stems) - own
    return bool(stems & others - own) and not stems & own and not asked


def _other_kind(case: Case) -> bool:
    """True when the answer lays something to an amount or to the heat, and no mistake of the step is about that."""
    moment = case.moment
    kinds = {m.kind for m in moment.current_mistakes}
    noted = " ".join([*(m.text for m in moment.current_mistakes), *moment.example.mistake_texts]).casefold()
    return any(
        said.search(case.answer.plain) and kind not in kinds and not about.search(noted)
        for kind, said, about in _KINDS
    )


_KINDS: Final = (
    (
        "measurement",
        re.compile(r"\btoo (?:much|many|little|few)\b|\bwrong (?:amount|quantity|number)\b"),
        re.compile(
            r"\d|\b(?:more|less|much|many|few|fewer|amount|half|full|spill\w*|extra|only|all|one|two|three)\b"
        ),
    ),
    (
        "temperature",
        re.compile(r"\btoo (?:hot|cold)\b|\bwrong (?:power|heat|temperature|setting)\b"),
        re.compile(r"\b(?:heat\w*|power|temperature|high|low|medium|hot|cold|boil\w*|warm)\b"),
    ),
)


_DEMANDS = re.compile(
    r"\b(?:should|needs?|needed|must|requires?|required|calls?|called|supposed|enough|rather than|instead of|not)\b"
)
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
    if share_quantity(stated, held):
        step = next(i for i in sorted(map(str, near)) if share_quantity(stated, case.index.quantities[i]))
        return case.ground("right_quantity", 0.8, f"{case.text(step)} holds the quantity", [step])
    return case.ground("other_quantity", -0.4, "no step that was asked about holds the quantity")
