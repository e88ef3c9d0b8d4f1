"""One answer held against one moment: what all rules look at, and what they return."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from proctor.exam.kinds.example import STEP_TYPES
from proctor.verify.oracle.answer import AnswerText
from proctor.verify.oracle.match import Match, Reading, StepIndex
from proctor.verify.oracle.moment import Moment, Standing
from proctor.verify.oracle.question import Question
from proctor.verify.oracle.text import content, is_talk, normalise

__all__ = ["CERTAIN", "FOREIGN", "Case", "Ground", "Stance", "overlap", "pick", "quoted", "read_case"]

Stance = Literal["trouble", "clear", "steps", "none"]
"""``trouble``: something is to be done or went wrong. ``clear``: nothing is. ``steps``: names steps without saying
yes or no. ``none``: says none of this."""

CERTAIN: Final = 0.55
"""Match score from which a question is taken to name a certain step."""

_FIRST = re.compile(r"\b(?:first|beforehand|earlier)\b|\bbefore (?:this|that|it|them)\b")
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


@dataclass(frozen=True, slots=True)
class Case:
    """Everything the rules look at.

    Attributes:
        question: parsed.
        answer: parsed.
        moment: the facts.
        index: of the graph's steps.
        named: the steps that the answer tells to do or says were missed.
        stance: what the answer says.
        scope: steps that the question confines itself to; empty means all.
    """

    question: Question
    answer: AnswerText
    moment: Moment
    index: StepIndex
    named: Reading
    stance: Stance
    scope: frozenset[str]

    @property
    def completion(self) -> bool:
        """True when it is asked whether something is over, or whether what the whole activity makes is ready."""
        return self.question.completion or _asks_result(self.question, self.moment)

    def ground(self, name: str, lean: float, reason: str, steps: Iterable[str] = ()) -> Ground:
        """Return a ground with the recognised steps and their scores."""
        score = self.named.matches[0].score if self.named.matches else 0.0
        return Ground(name, lean, reason, tuple(steps), self.stance, score, self.named.foreign)

    def text(self, step_id: str) -> str:
        """Return a step's instruction in quotes."""
        return f"'{self.moment.graph[step_id].text}'"

    @property
    def made_up(self) -> bool:
        """True when too much of what the answer names is unknown to the procedure."""
        return self.named.foreign >= FOREIGN

    @property
    def names_steps(self) -> bool:
        """True when the answer names steps of the procedure and little else."""
        return bool(self.named.matches) and not self.made_up


def read_case(question: Question, answer: AnswerText, moment: Moment, index: StepIndex) -> Case:
    """Recognise steps and stance."""
    named = _read_named(question, answer, moment, index)
    stance = _read_stance(question, answer, named, moment.example.type in STEP_TYPES)
    whole = question.use or _asks_result(question, moment)
    scope = frozenset[str]() if whole else _read_scope(question, index)
    return Case(question, answer, moment, index, named, stance, scope)


def _asks_result(question: Question, moment: Moment) -> bool:
    """True for "is the lamp ready" where the activity is to assemble a lamp."""
    if question.intent != "all_good" or not question.stems:
        return False
    name = content(normalise(moment.graph.name))
    return name[-1:] == question.stems[-1:] and set(question.stems) <= set(name)


def _read_named(question: Question, answer: AnswerText, moment: Moment, index: StepIndex) -> Reading:
    stems = answer.stems("do", "missed")
    stems = (*stems, *(w for w in answer.stems("detail") if w in index.weights))
    if not any(not is_talk(w) for w in stems):
        stems = answer.stems("done")
    listed = _read_list(answer, moment, index)
    if listed is not None:
        return listed
    solid = [w for w in stems if not is_talk(w)]
    actions, stated = answer.actions("do", "missed", "done"), frozenset(answer.quantities)
    own = index.read(stems, moment.mistake_stems, stated, actions=actions)
    if not (answer.pronoun and solid and len(solid) <= 2):
        return own
    meant = tuple(w for w in question.stems if w not in stems and w in index.weights)
    full = index.read((*stems, *meant), moment.mistake_stems, stated, actions=actions)
    if not any(_done_so(m, actions, index) for m in own.matches[:1]):
        return full
    # "what do I do with the tubes?" "spin them": not a step about the tubes that is done with another verb
    fitting = tuple(m for m in full.matches if _done_so(m, actions, index))
    return replace(full, matches=fitting) if fitting else own


def _read_list(answer: AnswerText, moment: Moment, index: StepIndex) -> Reading | None:
    """Read "sand, glue and two screws" thing by thing; None when it is no bare list of things that steps know."""
    plain = _OPENING.sub("", answer.plain)
    items = [content(t) for t in _ITEMS.split(plain)]
    if len(items) < _LISTED or not all(items):
        return None
    if any(not index.knows(w) or index.does(w) for t in items for w in t if not is_talk(w)):
        return None
    readings = [index.read(t, moment.mistake_stems) for t in items]
    matches = {m.step_id: m for r in readings for m in r.matches[:1]}
    if len(matches) < _LISTED:
        return None
    return Reading(tuple(matches.values()), 0.0, (), sum(r.weight for r in readings))


_OPENING = re.compile(r"^(?:yes|no)\b[ ,.]*")
_ITEMS = re.compile(r",? and |, ")
_LISTED: Final = 2


def _done_so(match: Match, actions: frozenset[str], index: StepIndex) -> bool:
    """True when the step, or one that fits as well, is done with one of these verbs."""
    return any(index.acts(i, actions) for i in match.alternatives)


def _read_stance(question: Question, answer: AnswerText, named: Reading, mistaken: bool) -> Stance:
    if question.wh or answer.polarity is None:
        if answer.clear:
            return "clear"
        return "steps" if named.weight or answer.quantities or answer.wrongness else "none"
    praises = answer.praise and answer.polarity == "yes" and not _rectifies(answer)
    if mistaken and praises and question.intent in ("check", "propose"):
        # "was it meant to go in here?" "yes, that was right": says that nothing is wrong, whatever the yes is to
        return "clear"
    if mistaken and question.permission:
        # "is it fine to cut it by hand?" of what went wrong: the no reports trouble, whatever the yes would mean else
        refuses = answer.polarity == "no" and not (answer.clear and answer.claims)
        return "trouble" if refuses else "clear"
    if answer.polarity == question.trouble:
        # "yes, you have done everything": the opening and the rest contradict each other, the rest says more
        contradicts = answer.clear and question.intent in ("forgot", "forgot_step") and not named.matches
        return "clear" if contradicts and not answer.wrongness else "trouble"
    goes_first = question.place and (
        _FIRST.search(answer.plain) or any(c.role in ("missed", "before") for c in answer.claims)
    )
    if goes_first and not answer.clear and named.matches:
        # "was X meant to come first?" "no, do Z first": the no is to X, the rest tells what had to come first
        return "trouble"
    checks = question.intent in ("check", "order") or (
        mistaken and question.intent in ("other", "detail", "propose")
    )
    # "was it hot enough?" "yes, 90 degrees are fine": quantities correct a no, not a yes
    rectifies = answer.polarity == "no" or answer.wrongness or any(c.role == "missed" for c in answer.claims)
    if checks and not answer.clear and rectifies and _rectifies(answer):
        # "was it too little?" "no, it was too much": the no is to the guess, the rest tells what went wrong
        return "trouble"
    return "clear"


def _rectifies(answer: AnswerText) -> bool:
    if any(c.role in ("before", "after") for c in answer.claims):
        return True
    return answer.wrongness or bool(answer.quantities) or any(c.role == "missed" for c in answer.claims)


def _read_scope(question: Question, index: StepIndex) -> frozenset[str]:
    """Steps that the question confines itself to, by the things and actions it names; empty means all."""
    found = [index.speaking_of(w) for w in question.stems if index.knows(w)]
    if not found:
        return frozenset()
    return frozenset.intersection(*found) or frozenset.union(*found)


def pick(case: Case, preferred: Iterable[Standing], other_than: str | None = None) -> tuple[str, ...]:
    """Return for each match the alternative that stands best, so that equal texts never count against it.

    Args:
        case: the case.
        preferred: standings, the best first.
        other_than: a step that is not meant where another fits as well ("shall I do X?" "no, do Z first").
    """
    order = list(preferred)
    chosen: list[str] = []
    for match in case.named.matches:
        fitting = [i for i in match.alternatives if i != other_than] or match.alternatives
        # "what goes into the tubes?" "the sample": of steps that fit alike, those that were asked about
        meant = [i for i in fitting if i in case.scope] or fitting
        standings = {case.moment.standing(i): i for i in reversed(meant)}
        best = next((standings[s] for s in order if s in standings), match.step_id)
        chosen.append(best)
    return tuple(chosen)


def overlap(case: Case, stems: frozenset[str]) -> float:
    """Share of the answer's content, by weight, that is among these stems."""
    weighted = case.index.weigh(w for w in case.answer.stems() if not is_talk(w))
    total = sum(weighted.values())
    return sum(v for w, v in weighted.items() if w in stems) / total if total else 0.0


def quoted(stems: Iterable[str]) -> str:
    """Return the first few stems in quotes."""
    return ", ".join(f"'{w}…'" for w in list(stems)[:3])
