"""The decision: what an answer claims, held against what the graph and the annotations say.

Each rule returns a ``Ground``: a named reason with a *lean* in [-1, 1] (how far it speaks for the answer) and a
sentence for people. Rules are stated in terms of intent, stance, recognised steps and facts, never of wording.
``confidence`` turns grounds into probabilities.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from proctor.verify.oracle.answer import AnswerText
from proctor.verify.oracle.match import Reading, StepIndex
from proctor.verify.oracle.moment import Moment
from proctor.verify.oracle.question import Question
from proctor.verify.oracle.text import concepts, content, is_talk, normalise

__all__ = ["Ground", "Stance", "decide"]

Stance = Literal["trouble", "clear", "steps", "none"]
"""``trouble``: something is to be done or went wrong. ``clear``: nothing is. ``steps``: names steps without saying
yes or no. ``none``: says none of this."""

FOREIGN: Final = 0.34
"""Share of unknown content from which a named step counts as made up."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Why an answer is right or wrong.

    Attributes:
        name: code of the rule.
        lean: from -1 (speaks against) to 1 (speaks for).
        reason: sentence for people.
        steps: recognised steps.
        stance: what the answer says.
        match: score of the best recognised step, 0 when there is none.
        foreign: share of content that the procedure does not know.
    """

    name: str
    lean: float
    reason: str
    steps: tuple[str, ...] = ()
    stance: Stance = "none"
    match: float = 0.0
    foreign: float = 0.0


@dataclass(frozen=True)
class _Case:
    """Everything the rules look at."""

    question: Question
    answer: AnswerText
    moment: Moment
    index: StepIndex
    named: Reading
    stance: Stance
    scope: frozenset[str]
    extra: frozenset[str] = field(default=frozenset())

    def ground(self, name: str, lean: float, reason: str, steps: Iterable[str] = ()) -> Ground:
        score = self.named.matches[0].score if self.named.matches else 0.0
        return Ground(name, lean, reason, tuple(steps), self.stance, score, self.named.foreign)

    def text(self, step_id: str) -> str:
        return f"'{self.moment.graph[step_id].text}'"


def decide(question: Question, answer: AnswerText, moment: Moment, index: StepIndex) -> Ground:
    """Return the ground on which an answer is right or wrong at this moment."""
    case = _read(question, answer, moment, index)
    return _measured(case, _decide(case))


def _measured(case: _Case, ground: Ground) -> Ground:
    """Turn down an answer that names the right step with quantities that neither it nor its mistakes hold."""
    stated = frozenset(case.answer.quantities)
    if ground.lean <= 0 or not stated or not ground.name.startswith(("names_", "next_", "agrees_")):
        return ground
    held = frozenset(q for i in ground.steps for q in case.index.quantities[i])
    if not held or stated & (held | case.moment.target_quantities):
        return ground
    step = ground.steps[0]
    return case.ground("other_quantity", -0.3, f"names {case.text(step)} with another quantity", ground.steps)


def _read(question: Question, answer: AnswerText, moment: Moment, index: StepIndex) -> _Case:
    named = _named(question, answer, moment, index)
    return _Case(
        question, answer, moment, index, named, _stance(question, answer, named), _scope(question, index)
    )


def _decide(case: _Case) -> Ground:
    question, answer, named = case.question, case.answer, case.named
    if answer.restart and not named.foreign >= FOREIGN:
        return _restart(case)
    if question.intent in ("forgot", "forgot_step", "all_good"):
        return _omission(case)
    if question.intent == "propose":
        return _proposal(case)
    if question.intent == "order":
        return _order(case)
    if question.intent == "check":
        return _check(case)
    if question.intent == "left":
        return _within_scope(case, _following(case))
    if question.intent == "next":
        return _following(case)
    return _other(case)


# -- reading the case ------------------------------------------------------------------------------------------


def _named(question: Question, answer: AnswerText, moment: Moment, index: StepIndex) -> Reading:
    stems = answer.stems("do", "missed")
    if not any(not is_talk(w) for w in stems):
        stems = answer.stems("done")
    solid = [w for w in stems if not is_talk(w)]
    if answer.pronoun and solid and len(solid) <= 2:
        stems = (*stems, *(w for w in question.stems if w not in stems))
    return index.read(stems, moment.mistake_stems, frozenset(answer.quantities))


def _stance(question: Question, answer: AnswerText, named: Reading) -> Stance:
    if question.wh or answer.polarity is None:
        if answer.clear:
            return "clear"
        return "steps" if named.weight or answer.quantities or answer.wrongness else "none"
    return "trouble" if answer.polarity == question.trouble else "clear"


def _scope(question: Question, index: StepIndex) -> frozenset[str]:
    """Steps that the question confines itself to, by the things and actions it names; empty means all."""
    held = [w for w in question.stems if index.knows(w)]
    if not held:
        return frozenset()
    found = []
    for word in held:
        families = concepts(word)
        found.append(
            {
                i
                for i, stems in index.stems_of.items()
                if word in stems or any(families & concepts(s) for s in stems)
            }
        )
    both = frozenset(set.intersection(*found))
    return both or frozenset(set.union(*found))


def _pick(case: _Case, preferred: Iterable[str]) -> tuple[str, ...]:
    """Return for each match the alternative that stands best, so that equal texts never count against it."""
    order = list(preferred)
    chosen = []
    for match in case.named.matches:
        standings = {case.moment.standing(i): i for i in reversed(match.alternatives)}
        best = next((standings[s] for s in order if s in standings), match.step_id)  # type: ignore[index]
        chosen.append(best)
    return tuple(chosen)


def _restart(case: _Case) -> Ground:
    moment = case.moment
    if moment.missing or moment.disordered or moment.own_mistakes:
        return case.ground("restart", 0.3, "tells to start over, and something went wrong")
    return case.ground("restart_needless", -0.8, "tells to start over, but nothing went wrong")


# -- "did I forget anything" -----------------------------------------------------------------------------------


def _expected(case: _Case) -> tuple[frozenset[str], bool]:
    """Return the missing steps that the question is about, and whether its scope left any out."""
    missing = case.moment.missing
    inside = missing & case.scope if case.scope else missing
    if case.question.before and inside:
        targets = case.index.read(case.question.before).matches
        ahead = {a for m in targets for i in m.alternatives for a in case.moment.graph.ancestors(i)}
        inside = inside & ahead or inside
    return inside, bool(missing) and not inside


def _ahead(case: _Case) -> frozenset[str]:
    """Steps still to do before a step that the question names and that has not been reached."""
    targets = case.index.read(case.question.before).matches if case.question.before else ()
    unreached = [i for m in targets for i in m.alternatives if i in case.moment.pending]
    return frozenset(u for i in unreached for u in case.moment.unmet(i))


def _omission(case: _Case) -> Ground:
    inside, outside = _expected(case)
    if case.stance == "clear":
        return _denial(case, inside, outside)
    if case.named.matches and case.named.foreign < FOREIGN:
        return _named_omission(case, inside)
    return _unnamed_trouble(case)


def _denial(case: _Case, inside: frozenset[str], outside: bool) -> Ground:
    moment = case.moment
    if inside:
        step = next(i for i in moment.progress.missing if i in inside)
        lean = -0.4 if len(moment.missing) == 1 else -0.9
        return case.ground("denies_missing", lean, f"says that nothing is missing, but {case.text(step)} is", [step])
    if outside:
        return case.ground("denies_outside", -0.2, "nothing is missing within what was asked, but elsewhere")
    ahead = _ahead(case) or (moment.example.type == "next" and moment.following and (case.scope or case.question.before))
    if ahead and not case.question.past:
        return case.ground("denies_ahead", -0.1, "nothing was left out, but steps are still to come before that")
    if case.moment.targets_mistake:
        return case.ground("denies_mistake", -0.6, "says that all is well, but the last step went wrong")
    if case.answer.praise and (moment.current_mistakes or case.question.intent == "all_good" and moment.own_mistakes):
        return case.ground("praises_mistake", 0.1, "praises what went wrong, though no step is missing")
    if moment.own_mistakes:
        lean = 0.4 if case.answer.praise or moment.current_mistakes else 0.6
        return case.ground("nothing_missing_noisy", lean, "no step is missing, though something went wrong")
    return case.ground("nothing_missing", 0.9, "no step is missing and nothing went wrong")


def _named_omission(case: _Case, inside: frozenset[str]) -> Ground:
    moment = case.moment
    steps = _pick(case, ("missing", "stuck", "later", "next", "done"))
    hits = [i for i in steps if i in moment.missing]
    if len(hits) == len(steps):
        lean = 0.9 if not inside or set(hits) & inside else 0.6
        return case.ground("names_missing", lean, f"{case.text(steps[0])} is missing", steps)
    if hits:
        return case.ground("names_some_missing", 0.4, f"{case.text(hits[0])} is missing, other steps are not", steps)
    first = steps[0]
    if _retells(case):
        return case.ground("retells_mistake", 0.5, "says what went wrong in a step that was done", steps)
    if first in moment.late:
        return case.ground("names_late", 0.5, f"{case.text(first)} came too late", steps)
    standing = moment.standing(first)
    if standing == "done":
        if _went_wrong(case, first):
            return case.ground("names_mistake", 0.5, f"{case.text(first)} was done, but not as it should be", steps)
        return case.ground("names_done", -0.8, f"{case.text(first)} has been done", steps)
    if first in _ahead(case) or not case.question.past:
        lean = 0.3 if case.stance != "clear" else -0.5
        return case.ground("names_pending", lean, f"{case.text(first)} is still to be done", steps)
    return case.ground("names_not_due", -0.3, f"{case.text(first)} was not due yet", steps)


def _unnamed_trouble(case: _Case) -> Ground:
    moment = case.moment
    if moment.missing and _EVERYTHING.search(case.answer.plain):
        return case.ground("trouble_missing", 0.5, "says that something is missing, and something is")
    if case.named.foreign >= FOREIGN:
        if _overlap(case) >= 0.5 and moment.targets_mistake:
            return case.ground("retells_mistake", 0.5, "says what the annotator wrote about the mistake")
        return case.ground("unknown_step", -0.8, f"no step speaks of {_quoted(case.named.foreign_words)}")
    if case.named.weight and _overlap(case) < 0.5:
        return case.ground("vague", -0.3, "names no step of the procedure clearly")
    if moment.missing:
        return case.ground("trouble_missing", 0.5, "says that something is missing, and something is")
    if moment.targets_mistake or moment.current_mistakes:
        return case.ground("trouble_mistake", 0.5, "says that something is wrong, and something is")
    return case.ground("trouble_none", -0.6, "says that something is missing or wrong, but nothing is")


def _went_wrong(case: _Case, step_id: str) -> bool:
    """True when the step was done, but with a mistake that doing it again would mend."""
    return any(m.kind not in ("order", "missing") for m in case.moment.mistakes_of([step_id]))


_EVERYTHING: Final = re.compile(r"\b(?:ingredients|components|parts|materials|everything|steps|things|preparations?)\b")


def _retells(case: _Case) -> bool:
    """True when the answer speaks of something done wrongly, in the words of a mistake that was noted."""
    if case.moment.targets_mistake and case.moment.own_mistakes:
        return _overlap(case) >= 0.5
    if not (case.answer.wrongness and case.moment.own_mistakes):
        return False
    stems = [w for w in case.answer.stems("do", "missed", "done", "context") if not is_talk(w)]
    held = [w in case.moment.mistake_stems for w in stems]
    return bool(held) and sum(held) / len(held) >= 0.6 and bool(_CONTRAST & set(case.answer.plain.split()))


_CONTRAST: Final = frozenset({"instead", "not", "rather", "only", "too", "wrong", "wrongly", "used"})


def _overlap(case: _Case) -> float:
    """Share of the answer's content that the mistake of the current step and its instruction hold."""
    stems = [w for w in case.answer.stems("do", "missed", "done", "context") if not is_talk(w)]
    if not stems:
        return 0.0
    return sum(w in case.moment.target_stems for w in stems) / len(stems)


def _quoted(stems: Iterable[str]) -> str:
    return ", ".join(f"'{w}…'" for w in list(stems)[:3])


# -- "what now", "anything else" -------------------------------------------------------------------------------


def _following(case: _Case) -> Ground:
    moment = case.moment
    closing = case.answer.finished and not moment.pending
    if case.stance == "clear" and (closing or not _tells(case)):
        return _nothing_left(case)
    if case.named.foreign >= FOREIGN or not case.named.matches:
        if not case.named.weight:
            return case.ground("says_nothing", -0.5, "names no step")
        if not case.named.matches and case.named.foreign < FOREIGN:
            return case.ground("vague", -0.2, "names no step clearly")
        return case.ground("unknown_step", -0.8, f"no step speaks of {_quoted(case.named.foreign_words)}")
    return _named_following(case)


def _tells(case: _Case) -> bool:
    """True when the answer tells to do a step of the graph, whatever else it says."""
    reading = case.index.read(case.answer.stems("do"))
    return bool(reading.matches) and reading.foreign < FOREIGN and reading.matches[0].score > 0.6


def _nothing_left(case: _Case) -> Ground:
    moment = case.moment
    if not moment.pending:
        return case.ground("finished", 0.95, "every step has been done")
    if case.answer.finished and moment.progress.blocked or moment.missing:
        step = next(iter(moment.progress.missing))
        lean = -0.4 if len(moment.missing) == 1 and moment.progress.blocked else -0.9
        return case.ground("denies_missing", lean, f"says that nothing is left, but {case.text(step)} is missing", [step])
    if moment.example.type == "missing" and not case.answer.finished:
        return case.ground("nothing_overdue", 0.3, "steps are left, but none is overdue")
    open_ = moment.pending & case.scope if case.scope else moment.pending
    if not open_:
        return case.ground("nothing_left_in_scope", 0.6, "nothing that was asked about is left to do")
    step = next((i for i in moment.progress.next if i in open_), min(open_))
    return case.ground("denies_next", -0.8, f"says that nothing is left, but {case.text(step)} is", [step])


def _named_following(case: _Case) -> Ground:
    moment = case.moment
    steps = _pick(case, ("missing", "next", "stuck", "later", "done"))
    standings = [moment.standing(i) for i in steps]
    first, standing = steps[0], standings[0]
    if standing == "missing":
        return case.ground("names_missing", 0.8, f"{case.text(first)} is missing and can be done now", steps)
    if standing == "next":
        return _named_next(case, steps)
    if standing == "stuck":
        lean = 0.4 if case.question.intent == "left" or len(moment.unmet(first)) == 1 else -0.5
        return case.ground("names_stuck", lean, f"{case.text(first)} is missing, but must wait for other missing steps", steps)
    if standing == "later":
        return case.ground("names_later", -0.6, f"{case.text(first)} is not due yet", steps)
    return case.ground("names_done", -0.8, f"{case.text(first)} has been done", steps)


def _named_next(case: _Case, steps: tuple[str, ...]) -> Ground:
    """A step whose direct prerequisites are done may still hang on missing ones further back.

    People let one forgotten step pass and go on; when more is missing, going on is wrong.
    """
    moment, first = case.moment, steps[0]
    if not moment.missing and case.question.intent == "left" and moment.example.type == "missing":
        return case.ground("names_not_overdue", 0.2, f"{case.text(first)} may be done next, but nothing is overdue", steps)
    if not moment.missing:
        return case.ground("names_next", 0.9, f"{case.text(first)} may be done next", steps)
    unmet = [i for i in moment.progress.missing if i in moment.unmet(first)]
    some, few = case.text((unmet or moment.progress.missing)[0]), len(moment.missing) == 1
    if unmet:
        lean = 0.4 if few else -0.6
        return case.ground("next_before_missing", lean, f"before {case.text(first)}, {some} is missing", steps)
    lean = 0.4 if few else -0.3
    return case.ground("next_beside_missing", lean, f"{case.text(first)} may be done next, but {some} is missing", steps)


# -- "shall I do this now" -------------------------------------------------------------------------------------


def _proposal(case: _Case) -> Ground:
    moment, graph = case.moment, case.moment.graph
    if not moment.pending and case.answer.finished:
        return case.ground("finished", 0.8, "every step has been done")
    if moment.targets_mistake and moment.current_id in case.scope:
        return _check(case)
    asked = case.index.read(case.question.stems).matches
    if not asked:
        return _following(case)
    meant = frozenset(i for m in case.named.matches for i in m.alternatives) & case.scope
    standing = {moment.standing(i): i for i in meant or asked[0].alternatives}
    target = next((standing[s] for s in ("missing", "next", "stuck", "later", "done") if s in standing), asked[0].step_id)
    where = moment.standing(target)
    wanted = (frozenset(graph.ancestors(target)) & moment.pending) | moment.missing
    if case.answer.polarity is None:
        steps = _pick(case, ("missing", "next", "stuck", "later", "done"))
        if steps and steps[0] in wanted - {target}:
            return case.ground("names_unmet", 0.7, f"{case.text(steps[0])} has to come first", steps)
        return _within_scope(case, _following(case))
    if case.answer.polarity == "yes":
        leans = {"missing": 0.8, "next": _named_next(case, (target,)).lean, "stuck": -0.6, "later": -0.7, "done": -0.6}
        return case.ground(f"agrees_{where}", leans[where], f"{case.text(target)} is {_described(where)}", [target])
    if case.named.foreign >= FOREIGN:
        return case.ground("unknown_step", -0.8, f"no step speaks of {_quoted(case.named.foreign_words)}", [target])
    steps = tuple(i for i in _pick(case, ("missing", "next", "stuck", "later", "done")) if i != target)
    if steps and set(steps) & wanted:
        return case.ground("names_unmet", 0.9, f"{case.text(steps[0])} has to come first", steps)
    if steps:
        return case.ground("names_not_unmet", -0.6, f"{case.text(steps[0])} does not have to come first", steps)
    refusal = {"missing": -0.7, "next": 0.0 if moment.missing else -0.7, "stuck": 0.6, "later": 0.6, "done": 0.6}
    return case.ground(f"refuses_{where}", refusal[where], f"{case.text(target)} is {_described(where)}", [target])


def _within_scope(case: _Case, ground: Ground) -> Ground:
    """Turn down a step that would be right by itself, but is not what was asked about."""
    if ground.lean > 0 and ground.steps and case.scope and not case.scope & set(ground.steps):
        return case.ground("beside_question", -0.4, f"{case.text(ground.steps[0])} is not what was asked about", ground.steps)
    return ground


def _described(standing: str) -> str:
    return {
        "missing": "missing and can be made up for",
        "next": "what may be done next",
        "stuck": "missing, but must wait for other missing steps",
        "later": "not due yet",
        "done": "done already",
    }[standing]


# -- "was this the right moment", "was this right" ---------------------------------------------------------------


def _order(case: _Case) -> Ground:
    moment = case.moment
    wrong = moment.disordered or bool(moment.missing) or moment.targets_mistake
    if case.stance == "clear":
        if wrong:
            return case.ground("denies_disorder", -0.8, "says that the order was right, but it was not")
        return case.ground("confirms_order", 0.8, "nothing was done out of order")
    if not wrong:
        return case.ground("trouble_none", -0.7, "says that the order was wrong, but it was not")
    asked = {i for m in case.index.read(case.question.stems).matches[:1] for i in m.alternatives}
    steps = tuple(i for i in _pick(case, ("missing", "stuck", "done", "later", "next")) if i not in asked)
    if not steps:
        if case.named.foreign >= FOREIGN and _overlap(case) < 0.5:
            return case.ground("unknown_step", -0.6, f"no step speaks of {_quoted(case.named.foreign_words)}")
        return case.ground("confirms_disorder", 0.7, "the order was wrong")
    if case.named.foreign >= FOREIGN:
        return case.ground("unknown_step", -0.6, f"no step speaks of {_quoted(case.named.foreign_words)}", steps)
    if set(steps) & (moment.missing | moment.late):
        return case.ground("names_missing", 0.9, f"{case.text(steps[0])} had to come first", steps)
    if moment.example.type != "order" and _overlap(case) >= 0.5:
        return case.ground("retells_mistake", 0.7, "says what went wrong in the last step", steps)
    return case.ground("names_not_unmet", -0.5, f"{case.text(steps[0])} did not have to come first", steps)


def _check(case: _Case) -> Ground:
    moment = case.moment
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
    if stated and moment.target_quantities:
        if stated & moment.target_quantities:
            return case.ground("right_quantity", 0.9, "corrects the mistake with a quantity of the instruction")
        return case.ground("other_quantity", -0.1, "corrects the mistake with a quantity that the step does not hold")
    if moment.targets_mistake and _other_mistake(case):
        return case.ground("other_mistake", 0.1, "speaks of another mistake than the one asked about")
    if moment.targets_mistake:
        return case.ground("confirms_mistake", 0.8, "the last step went wrong, and the answer says so")
    if case.named.foreign >= FOREIGN:
        return case.ground("unknown_step", -0.5, f"no step speaks of {_quoted(case.named.foreign_words)}")
    return case.ground("confirms_mistake_noisy", 0.2, "something went wrong there, and the answer says so")


def _other_mistake(case: _Case) -> bool:
    """True when the answer uses words of the step's other mistakes and none of the one asked about."""
    own = {w for t in case.moment.example.mistake_texts for w in content(normalise(t))}
    others = {
        w
        for m in case.moment.current_mistakes
        if m.text not in case.moment.example.mistake_texts
        for w in content(normalise(m.text))
    }
    stems = {w for w in case.answer.stems("do", "missed", "done", "context") if not is_talk(w)}
    return bool(stems & others - own) and not stems & own


# -- everything else -------------------------------------------------------------------------------------------


def _other(case: _Case) -> Ground:
    if case.moment.targets_mistake:
        return _check(case)
    if case.stance == "clear":
        return _denial(case, *_expected(case)) if case.question.past else _nothing_left(case)
    if case.named.matches and case.named.foreign < FOREIGN:
        return _named_omission(case, frozenset()) if case.moment.example.type == "missing" else _named_following(case)
    return _unnamed_trouble(case)
