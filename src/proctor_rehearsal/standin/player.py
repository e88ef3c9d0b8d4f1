"""A model of chosen quality, played by rules.

A hook reads the question out of the prompt and knows the right answer. The player gives it with a chosen probability, and
otherwise makes one of the mistakes that models make. Every draw depends on the seed and the request alone, so a run can be
repeated, resumed and sent in any order with the same replies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.behaviours import pick
from proctor_rehearsal.standin.call import Call

__all__ = ["HABITS", "MISTAKES", "Hook", "Known", "Player", "flip_yes_no"]

MISTAKES: Final[dict[str, float]] = {"other": 5.0, "flip": 3.0, "vague": 1.0, "list": 0.5, "refusal": 0.5}
"""Kinds of mistakes and how often they are made, in proportion: another answer (a neighbouring step), yes for no, something
vague, a list where one answer was asked for, a refusal."""

HABITS: Final[dict[str, float]] = {"preamble": 0.1, "markdown": 0.05, "closing": 0.05, "quotes": 0.02}
"""Ways of dressing up any answer, right or wrong, and their probabilities."""

_YES_NO: Final = re.compile(r"\s*(yes|no)\b", re.IGNORECASE)
_OPPOSITE: Final = {"yes": "no", "no": "yes"}
_VAGUE: Final = (
    "It depends on the recipe.",
    "You should follow the instructions carefully.",
    "It looks fine, but it is hard to tell from the images.",
    "Continue with the next step.",
)
_REFUSALS: Final = (
    "I'm sorry, but I can't tell that from what I was given.",
    "I can't help with identifying what the person did.",
)
_PREAMBLES: Final = (
    "Based on the images and the recipe, here is the answer: ",
    "Sure! Looking at the steps so far, ",
    "Great question! ",
)
_CLOSING: Final = "\n\nLet me know if you need anything else!"


@dataclass(frozen=True, slots=True)
class Known:
    """What a hook knows about a question.

    Attributes:
        right: the answer, or several that are all right.
        wrong: answers that models typically give instead.
        data: values by field name for a request with a schema; the chosen answer is added as ``answer``.
    """

    right: str | Sequence[str]
    wrong: Sequence[str] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


Hook = Callable[[str, Call], Known | tuple[str, Sequence[str]] | None]


def flip_yes_no(text: str) -> str | None:
    """Turn a leading yes into no and the other way round; None where the text begins with neither."""
    found = _YES_NO.match(text)
    if found is None:
        return None
    word = found[1]
    other = _OPPOSITE[word.lower()]
    other = other.upper() if word.isupper() else other.capitalize() if word[0].isupper() else other
    return text[: found.start(1)] + other + text[found.end(1) :]


class Player:
    """A model that knows the right answer with a chosen probability; put it into a stand-in as its ``answer``.

    Two players that differ in quality alone are right on nested sets of requests.

    Args:
        hook: ``(prompt text, request) -> (right answer, typical wrong answers)``, or None for requests that are not its own.
        quality: probability of the right answer, 0 to 1; or by regular expressions found in the model's name, in order.
        seed: of every draw.
        mistakes: weights of the kinds of mistakes; see ``MISTAKES``. A kind that a question does not allow is not drawn.
        habits: probabilities of dressings; see ``HABITS``.
        say: turns the chosen answer into a reply, such as a judge's score into a verdict; mistakes are then other answers
            and refusals.
        repeat: True draws anew each time that the same request comes, as a real model does at a temperature above 0; False
            says the same again.

    Raises:
        UserError: if a probability or weight makes no sense.
    """

    def __init__(
        self,
        hook: Hook,
        quality: float | Mapping[str, float] = 0.7,
        *,
        seed: int = 0,
        mistakes: Mapping[str, float] | None = None,
        habits: Mapping[str, float] | None = None,
        say: Callable[[str, Call], str | Answer] | None = None,
        repeat: bool = False,
    ) -> None:
        self._hook = hook
        self._quality = dict(quality) if isinstance(quality, Mapping) else {"": quality}
        self._seed, self._repeat = seed, repeat
        self._mistakes = dict(MISTAKES if mistakes is None else mistakes)
        self._habits = dict(HABITS if habits is None else habits)
        self._say = say
        for what, values, known in (("mistake", self._mistakes, MISTAKES), ("habit", self._habits, HABITS)):
            for name, value in values.items():
                if name not in known:
                    raise UserError(f"there is no {what} {name!r}.", hint=f"there are {', '.join(known)}")
                if not 0 <= value < float("inf"):
                    raise UserError(f"the {what} {name!r} cannot have the weight {value}.")
        for name, value in self._quality.items():
            if not 0 <= value <= 1:
                raise UserError(
                    f"the quality {value} of {name or 'the player'!r} does not lie between 0 and 1."
                )

    def __call__(self, call: Call) -> Answer | None:
        """Reply to a request, or None if the hook does not know it."""
        known = self._hook(call.text, call)
        if known is None:
            return None
        return self.play(call, known if isinstance(known, Known) else Known(*known))

    def play(self, call: Call, known: Known) -> Answer:
        """Reply to a request of which somebody else knows what is right."""
        rights = (known.right,) if isinstance(known.right, str) else tuple(known.right)
        right = str(pick(call, rights, "right answer", self._seed_of(call)))
        if call.draw("right", self._seed_of(call)) < self.quality_of(call.model):
            return self._reply(call, known, right)
        kind = self._kind_of_mistake(call, known, right)
        if kind == "refusal":
            return Answer(text=pick(call, _REFUSALS, "refusal", self._seed_of(call)), outcome="refusal")
        return self._reply(call, known, self._mistake(call, kind, known, right))

    def _seed_of(self, call: Call) -> object:
        return f"{self._seed} {call.nth}" if self._repeat else self._seed

    def quality_of(self, model: str) -> float:
        """Return how often a model is right, 0 for one that no expression fits."""
        for pattern, quality in self._quality.items():
            if re.search(pattern, model):
                return quality
        return 0.0

    def _kind_of_mistake(self, call: Call, known: Known, right: str) -> str:
        possible = {
            "other": bool(known.wrong),
            "flip": flip_yes_no(right) is not None,
            "list": bool(known.wrong),
        }
        if self._say is not None:  # what turns an answer into a reply takes answers only
            possible |= {"flip": False, "vague": False, "list": False}
        weights = {k: w for k, w in self._mistakes.items() if w > 0 and possible.get(k, True)}
        place = call.draw("mistake", self._seed_of(call)) * sum(weights.values())
        for kind, weight in weights.items():
            place -= weight
            if place < 0:
                return kind
        if self._say is not None:
            return "other" if known.wrong else "refusal"
        return "other" if known.wrong else "vague"

    def _mistake(self, call: Call, kind: str, known: Known, right: str) -> str:
        if kind == "flip":
            return flip_yes_no(right) or right
        if kind == "vague":
            return str(pick(call, _VAGUE, "vague", self._seed_of(call)))
        if kind == "list":
            several = list(dict.fromkeys([*known.wrong, right]))
            turn = int(call.draw("turn", self._seed_of(call)) * len(several))
            return "\n".join(f"* {answer}" for answer in several[turn:] + several[:turn])
        return str(pick(call, tuple(known.wrong), "wrong", self._seed_of(call)))

    def _reply(self, call: Call, known: Known, chosen: str) -> Answer:
        data = {"answer": chosen, **known.data}
        if self._say is not None:
            said = self._say(chosen, call)
            if isinstance(said, Answer):
                return said if said.data else msgspec.structs.replace(said, data=data)
            return Answer(text=self._dress(call, said), data=data)
        return Answer(text=self._dress(call, chosen), data=data)

    def _dress(self, call: Call, text: str) -> str:
        habits = {
            name
            for name, chance in self._habits.items()
            if call.draw("habit", self._seed_of(call), name) < chance
        }
        if "quotes" in habits:
            text = f'"{text}"'
        if "markdown" in habits:
            text = f"**{text}**"
        if "preamble" in habits:
            text = pick(call, _PREAMBLES, "preamble", self._seed_of(call)) + text
        return text + _CLOSING if "closing" in habits else text
