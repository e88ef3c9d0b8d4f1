"""Questions that a language model writes for each step, after our wording of the category, as published; stored, checked, priced.

A text that is no single question, does not name the step, says its answer or turns yes and no round is refused: the step is then
asked in our own wording. What was used where options are given is always asked in ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from proctor.exam.prediction import total_cost, why_no_reply
from proctor.exam.question import Choice, Item
from proctor.llm.converse import Conversation, converse
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Parameters, Request
from proctor.llm.outcome import Ask, Outcome, Reply
from proctor.llm.prompt import PromptSet
from proctor.llm.replying import Replying
from proctor.llm.structured import Unreadable, spoken_text

__all__ = ["Writer", "Written", "problem_with", "reworded"]

_PARAMETERS: Final = Parameters(temperature=0.0, max_tokens=200)
_LONGEST: Final = 400
_NAMED: Final = 0.5
"""Of the step's words of four letters or more, the share that a question has to have."""
_GIVEN: Final = re.compile(r"\b(?:answer|correct|option)\b|\((?:yes|no)\)|\b(?:yes|no)\s*[.:]", re.IGNORECASE)
_TURNED: Final = re.compile(
    r"\b(?:not|fail(?:ed|s)?|forg[eo]t\w*|wrong(?:ly)?|mistakes?|errors?|without|skip(?:ped)?|incorrect(?:ly)?)\b|n't\b",
    re.IGNORECASE,
)


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What a model wrote for one step and category.

    Attributes:
        category: of mistakes.
        recipe: name of the activity.
        step: the instruction.
        text: the question; empty where there was no reply.
        problem: why it is not asked; empty where it is.
        model: who wrote it.
        cost: nano-dollars, None where it is not known.
    """

    category: str
    recipe: str
    step: str
    text: str
    problem: str = ""
    model: str = ""
    cost: int | None = None


def problem_with(text: str, step: str) -> str:
    """Return why a question is not asked about a step, empty where it is.

    Example:
        >>> problem_with("Did the person not whisk the egg?", "Whisk 1 egg")
        'turned round'
    """
    if not text.endswith("?") or text.count("?") > 1 or "\n" in text or len(text) > _LONGEST:
        return "no single question"
    # Word by its first letters, whatever its ending.
    wanted, there = ({w[:4] for w in re.findall(r"[a-z]{4,}", t.lower())} for t in (step, text))
    if len(wanted & there) < _NAMED * len(wanted):
        return "does not name the step"
    if _GIVEN.search(text):
        return "says its answer"
    # A step may forbid something itself.
    return "turned round" if _TURNED.search(text) and not _TURNED.search(step) else ""


@dataclass(frozen=True)
class Writer:
    """A model that writes questions.

    Attributes:
        model: full name.
        prompts: templates of the room ``evaluate``.
        secret: of the run's folder, for fences.
        price: nano-dollars of a reply, None when not known.
        replying: what the user says of replies.
    """

    model: str
    prompts: PromptSet
    secret: FenceSecret
    price: Callable[[str, Outcome], int | None] = field(default=lambda _model, _outcome: None)
    replying: Replying = field(default_factory=Replying)

    def write(self, items: Iterable[Item], ask: Ask) -> dict[str, Written]:
        """Write each different question once; by the wording that it is to replace.

        Args:
            items: in our wording.
            ask: makes the calls.
        """
        wanted = _different(items)
        talks = ((text, self._talk(item)) for text, item in wanted.items())
        return dict(converse(talks, ask))

    def requests(self, items: Iterable[Item]) -> Iterator[Request]:
        """Yield the requests without sending any, for estimates."""
        return map(self._request, _different(items).values())

    def _request(self, item: Item) -> Request:
        facts = item.question.facts
        rendered = self.prompts["step-write"].render(
            self.secret,
            recipe=facts["recipe"],
            step=facts["step"],
            model=item.question.text,
            category=item.question.facets["category"],
        )
        parameters = self.replying.over(_PARAMETERS, self.model, "writer")
        return Request(model=self.model, messages=rendered.messages, parameters=parameters)

    def _talk(self, item: Item) -> Conversation[Written]:
        outcome: Outcome = yield self._request(item)
        failure, text, facts = why_no_reply(outcome), "", item.question.facts
        if failure is None and isinstance(outcome, Reply):
            spoken = spoken_text(outcome.text)
            text = "" if isinstance(spoken, Unreadable) else spoken.strip().strip('"“”').strip()
        return Written(
            category=item.question.facets["category"],
            recipe=facts["recipe"],
            step=facts["step"],
            text=text,
            problem=failure or problem_with(text, facts["step"]),
            model=self.model,
            cost=total_cost([(self.model, outcome)], self.price),
        )


def _different(items: Iterable[Item]) -> Mapping[str, Item]:
    return {i.question.text: i for i in items if not isinstance(i.question.form, Choice)}


def reworded(item: Item, written: Mapping[str, Written]) -> Item:
    """Return an item with what was written for it, or as it is where nothing was, or what was refused."""
    found = written.get(item.question.text)
    if isinstance(item.question.form, Choice) or found is None or found.problem:
        return item
    provenance = {**item.question.provenance, "template": "written", "model": found.model}
    question = msgspec.structs.replace(item.question, text=found.text, provenance=provenance)
    return msgspec.structs.replace(item, question=question)
