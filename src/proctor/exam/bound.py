"""The upper bound: reads the annotations, and answers what the question asks with them.

``AnnotationBound`` is what a perfect observer who speaks by rule would get. It sees the facts of the example and the
task graph, never the golds. The question is read by ``proctor.exam.inquiry`` in general form; the facts of a
moment are gathered in ``Facts``; one function a sort of question says them plainly.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from proctor.exam.inquiry import Inquiry, read_inquiry
from proctor.exam.kinds.example import Example, Performed
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.mishap import Mishap, as_sentence, join_words
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item
from proctor.exam.reading import FAMILY, asks_for_fault, read_question
from proctor.procedure.graph import TaskGraph
from proctor.procedure.inflect import word_list
from proctor.procedure.phrase import Phrase, parse_phrase
from proctor.procedure.progress import Progress, progress_after

__all__ = ["AnnotationBound", "Facts"]

_COUNTS = word_list("None One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve")


@dataclass(frozen=True)
class Facts:
    """What the annotations and the task graph say of a moment; steps by id, in the order of the example."""

    example: Example
    graph: TaskGraph

    @cached_property
    def done(self) -> frozenset[str]:
        """Steps that stand done, however badly."""
        return frozenset(self._progress(self.example.performed).done)

    def _progress(self, performed: Iterable[Performed]) -> Progress:
        return progress_after(self.graph, [p for p in performed if p.step_id in self.graph])

    @cached_property
    def next(self) -> tuple[str, ...]:
        """What may be done now."""
        return self._known(s.step_id for s in self.example.next_steps or self.example.all_next)

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """What should have been done before something that was done."""
        return self._known(s.step_id for s in self.example.missing_steps or self.example.all_missing)

    @cached_property
    def repairs(self) -> tuple[str, ...]:
        """Missing steps that can be made up for right now; all of them where that cannot be told."""
        return tuple(i for i in self.missing if i in self._ready) or self.missing

    @cached_property
    def _ready(self) -> frozenset[str]:
        return frozenset(self.graph.ready([i for i in (self.graph.start, *self.done) if i is not None]))

    @cached_property
    def due(self) -> tuple[str, ...]:
        """What may be done now without going back first: nothing that has to come before it is missing."""
        missing = set(self.missing)
        return tuple(i for i in self.next if not missing & set(self.graph.ancestors(i)))

    @property
    def finished(self) -> bool:
        """True when nothing that has to be done is due, and nothing is missing."""
        return not self.required and not self.missing

    @cached_property
    def required(self) -> tuple[str, ...]:
        """What may be done now and has to be done some time."""
        return self._needed(self.next)

    @cached_property
    def early(self) -> tuple[str, ...]:
        """What had to come before the current step and did not."""
        current = self.example.current
        if current is None or current.step_id not in self.graph:
            return ()
        before = self._progress(self.example.previous).done
        found = [a for a, b in self.example.blocking if b == current.step_id]
        found += [i for i in self.graph.ancestors(current.step_id) if i not in before]
        return self._needed(dict.fromkeys(found))

    @cached_property
    def overtaken(self) -> tuple[str, ...]:
        """What was done before the current step although the current step had to come first."""
        current = self.example.current
        previous = [p.step_id for p in self.example.previous]
        if current is None or current.step_id not in self.graph or current.step_id in previous:
            return ()
        below = set(self.graph.descendants(current.step_id))
        return self._known(dict.fromkeys(i for i in previous if i in below))

    def unmet(self, step_id: str) -> tuple[str, ...]:
        """What can be done now and has to be done before a step can be."""
        return self._needed(i for i in self.graph.ancestors(step_id) if i in self._ready)

    def _needed(self, ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(i for i in self._known(ids) if not self.graph[i].optional)

    def _known(self, ids: Iterable[str]) -> tuple[str, ...]:
        actions = {s.id for s in self.graph.actions}
        return tuple(i for i in ids if i in actions)

    def phrase(self, step_id: str) -> Phrase:
        """The step as the procedure words it, in all forms."""
        return parse_phrase(self.graph[step_id].text)

    def say(self, ids: Sequence[str], form: str = "imperative", last: str = "and") -> str:
        """Name steps; each wording once."""
        return join_words(list(dict.fromkeys(getattr(self.phrase(i), form) for i in ids)), last)


@dataclass(frozen=True)
class AnnotationBound:
    """Reads the annotations and answers with them: what a perfect observer without any wit would say.

    It sees the facts of the example (what is done, next, missing, done wrongly), never the golds. It stays below 100
    because golds also hold advice that the annotations do not, and because the judge is strict.
    """

    @property
    def name(self) -> str:
        """Name."""
        return "annotations"

    @property
    def privilege(self) -> str:
        """What it sees that a predictor must not."""
        return "reads the annotations of the recording and is shown the question type"

    def predict_item(self, item: Item, graph: TaskGraph, rng: random.Random) -> Prediction:  # noqa: ARG002
        """Say the facts that the question is about."""
        facts, inquiry = Facts(moment_example(item.question), graph), read_inquiry(item.question.text, graph)
        text = _answer(item.question.text, item.question.facets["type"], facts, inquiry)
        return Prediction(item_id=item.id, predictor=self.name, answer=as_sentence(text))


def _answer(question: str, type_: str, facts: Facts, inquiry: Inquiry) -> str:
    if type_ == "order":
        return _tell_order(question, facts, inquiry)
    if type_ not in ("next", "missing"):
        return _tell_mishap(question, facts, inquiry)
    if inquiry.wish == "count":
        return _tell_count(facts)
    looks_back = inquiry.back and inquiry.wish != "without"
    looks_ahead = not inquiry.back and not inquiry.yes_no and read_question(question) <= _AHEAD
    if looks_back or (type_ == "missing" and not looks_ahead):
        return _tell_missing(question, facts, inquiry)
    return _tell_next(facts, inquiry)


_AHEAD = read_question("what should i do next now, what can we do after this step, how do i continue, go on")


def _yes(inquiry: Inquiry, lead: str) -> str:
    return f"{lead}, " if inquiry.yes_no else ""


def _fault_lead(question: str, inquiry: Inquiry, *, well: bool, default: bool = True) -> str:
    """Yes or no, whichever says in reply to this question that all is well, or not.

    A question in which neither a fault nor its absence can be found asks for a fault by ``default``.
    """
    seeks_fault = asks_for_fault(question)
    if seeks_fault is None:
        seeks_fault = default
    return _yes(inquiry, "No" if well == seeks_fault else "Yes")


# -- what is next ----------------------------------------------------------------------------------------------


def _tell_next(facts: Facts, inquiry: Inquiry) -> str:
    if inquiry.wish == "order-free":
        return _tell_free_order(facts, inquiry)
    if inquiry.wish == "without" and inquiry.asked:
        return f"{_yes(inquiry, 'No')}you have to {facts.say(inquiry.asked)}"
    if inquiry.choice and inquiry.asked:
        due = [i for i in inquiry.asked if i in facts.next] or [
            i for i in inquiry.asked if i in facts.repairs
        ]
        return f"you should {facts.say(due, last='or')}" if due else _tell_due_steps(facts, inquiry)
    if inquiry.wish == "whole":
        return _tell_whole(facts, inquiry)
    if inquiry.yes_no and inquiry.asked:
        return _tell_due(facts, inquiry)
    return _tell_due_steps(facts, inquiry)


def _tell_free_order(facts: Facts, inquiry: Inquiry) -> str:
    steps = (*inquiry.asked, *inquiry.before)
    for a in steps:
        for b in steps:
            if facts.graph.comes_before(a, b):
                return f"{_yes(inquiry, 'Yes')}you have to {facts.say([a])} first"
    return f"{_yes(inquiry, 'No')}you can do these two in any order"


def _tell_whole(facts: Facts, inquiry: Inquiry) -> str:
    if facts.finished:
        return f"{_yes(inquiry, 'Yes')}all the steps are done"
    return f"{_yes(inquiry, 'No')}you still have to {facts.say(facts.required or facts.repairs, last='or')}"


def _tell_due(facts: Facts, inquiry: Inquiry) -> str:
    """Reply to "can I do this now?"."""
    asked = inquiry.asked
    if due := [i for i in asked if i in facts.next or i in facts.repairs]:
        return f"Yes, you can {facts.say(due[:1])} now"
    if set(asked) <= facts.done:
        return f"No, you have already {facts.say(asked[:1], 'participle')}"
    first = facts.unmet(asked[0])
    return f"No, you need to {facts.say(first)} first" if first else "No, not at this point"


def _tell_due_steps(facts: Facts, inquiry: Inquiry) -> str:
    if facts.finished:
        lead = "No" if inquiry.yes_no else "Nothing"
        return f"{lead}, all the steps are done"
    for steps, say in ((facts.due, _do), (facts.next, _make_up_and_do), (facts.repairs, _do)):
        if inside := _within(steps, facts, inquiry):
            return f"{_yes(inquiry, 'Yes')}{say(facts, inside)}"
    if inquiry.yes_no:
        return "No, not at this point"
    return _do(facts, facts.due) if facts.due else _make_up_and_do(facts, facts.next or facts.repairs)


def _do(facts: Facts, steps: Sequence[str]) -> str:
    return f"you should {facts.say(steps, last='or')}"


def _make_up_and_do(facts: Facts, steps: Sequence[str]) -> str:
    """Say what was skipped and has to come before these steps."""
    above = {a for i in steps for a in facts.graph.ancestors(i)}
    skipped = [i for i in facts.repairs if i in above] or list(facts.repairs)
    return f"you have to {facts.say(skipped)} before you {facts.say(steps, last='or')}"


def _within(ids: Sequence[str], facts: Facts, inquiry: Inquiry) -> list[str]:
    """Steps that the question narrows the answer to: the same thing, and the same action or one of its family."""
    things = inquiry.things
    inside = [i for i in ids if not things or things & read_question(facts.graph[i].text)]
    if not inquiry.verbs:
        return inside
    exact = [i for i in inside if inquiry.verbs & read_question(facts.phrase(i).imperative)]
    if exact:
        return exact
    families = {FAMILY[v] for v in inquiry.verbs}
    return [
        i for i in inside if any(FAMILY.get(w) in families for w in read_question(facts.phrase(i).imperative))
    ]


# -- what is missing -------------------------------------------------------------------------------------------


def _tell_count(facts: Facts) -> str:
    n = len(facts.missing)
    number = _COUNTS[n] if n < len(_COUNTS) else str(n)
    return f"{number}: {facts.say(facts.missing)}" if n else f"{number}, nothing is missing"


def _tell_missing(question: str, facts: Facts, inquiry: Inquiry) -> str:
    asked = inquiry.asked
    if inquiry.choice and (out := [i for i in asked if i in facts.missing]):
        return f"you forgot to {facts.say(out)}"
    if asked and inquiry.yes_no:
        return _tell_forgotten(facts, asked)
    missing: Sequence[str] = facts.missing
    if inquiry.precedes and (inquiry.before or facts.early or facts.example.current is not None):
        missing = [i for i in missing if i in facts.early]
        if not missing:
            lead = _fault_lead(question, inquiry, well=True)
            return f"{lead}nothing that had to come before it is missing"
    if not facts.missing:
        return f"{_fault_lead(question, inquiry, well=True) or 'Nothing, '}you haven't left out any step"
    inside = _within(missing, facts, inquiry)
    if not inside and inquiry.yes_no:
        return f"No, nothing of that sort is missing, but you forgot to {facts.say(missing)}"
    return f"{_fault_lead(question, inquiry, well=False)}you forgot to {facts.say(inside or missing)}"


def _tell_forgotten(facts: Facts, asked: Sequence[str]) -> str:
    """Reply to "did I forget this one?"."""
    if out := [i for i in asked if i in facts.missing]:
        return f"Yes, you forgot to {facts.say(out)}"
    if any(i in facts.done for i in asked):
        return f"No, you have already {facts.say([i for i in asked if i in facts.done][:1], 'participle')}"
    if any(i in facts.next for i in asked):
        return "No, that is something you can do now"
    first = facts.unmet(asked[0])
    return (
        f"No, that step comes later: you first have to {facts.say(first)}"
        if first
        else "No, that step comes later"
    )


# -- order -----------------------------------------------------------------------------------------------------


def _tell_order(question: str, facts: Facts, inquiry: Inquiry) -> str:
    if inquiry.wish == "remedy":
        return _mend_order(facts)
    if inquiry.asked and inquiry.yes_no:
        had_to = [i for i in inquiry.asked if i in facts.early]
        if had_to:
            return f"Yes, you should have {facts.say(had_to, 'participle')} first"
    reason = _order_reason(facts, inquiry)
    if inquiry.yes_no and inquiry.wish in ("less", "more") and bool(facts.early) != bool(facts.overtaken):
        was_early = bool(facts.early)
        right = was_early == (inquiry.wish == "less")
        return f"{'Yes' if right else 'No'}, {reason}"
    return f"{_fault_lead(question, inquiry, well=False, default=False)}{reason}"


def _order_reason(facts: Facts, inquiry: Inquiry) -> str:
    current = facts.example.current
    early, late = facts.early, facts.overtaken
    if inquiry.follows and late:
        early = ()
    elif inquiry.precedes and early:
        late = ()
    parts = []
    if early:
        parts.append(f"you should have {facts.say(early, 'participle')} first")
    if late:
        parts.append(f"you should have done this step before {facts.say(late, 'gerund')}")
    if parts:
        return ", and ".join(parts)
    return Mishap.of(facts.example, facts.graph).remark or (
        f"this was not the moment for {facts.say([current.step_id], 'gerund')}"
        if current is not None and current.step_id in facts.graph
        else "this step came at the wrong point"
    )


def _mend_order(facts: Facts) -> str:
    open_steps = [i for i in facts.early if i in facts.repairs] or list(facts.early)
    current = facts.example.current
    if not open_steps:
        return "you should go on in the order of the instructions"
    lasting = False
    if current is not None and current.step_id in facts.graph:
        done = read_question(facts.phrase(current.step_id).verb)
        lasting = any(FAMILY.get(w) in ("~heat", "~cut", "~mix") for w in done)
    lead = "start over and" if lasting else "go back and"
    return f"you should {lead} {facts.say(open_steps)} first"


# -- a step done wrongly ---------------------------------------------------------------------------------------


def _tell_mishap(question: str, facts: Facts, inquiry: Inquiry) -> str:
    mishap = Mishap.of(facts.example, facts.graph)
    if inquiry.wish == "remedy":
        return mishap.remedy or mishap.advice
    if inquiry.wish == "figure" and mishap.difference is not None:
        return f"it should have been {mishap.difference.right}"
    if inquiry.wish in ("figure", "instruction"):
        return mishap.advice
    if inquiry.wish in ("more", "less") and mishap.difference is not None and mishap.difference.direction:
        right = mishap.difference.direction == inquiry.wish
        return f"{'Yes' if right else 'No'}, {mishap.contrast}"
    return f"{_fault_lead(question, inquiry, well=False, default=False)}{mishap.report}"
