"""A model of chosen quality: it gives a right answer with that probability, and otherwise makes one of the mistakes that models make.

Every draw depends on the seed and the request alone, so a run can be repeated, resumed and sent in any order with the same
replies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from proctor.errors import UserError
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.behaviours import pick
from proctor_rehearsal.standin.call import Call

__all__ = ["HABITS", "MISTAKES", "Player", "flip_yes_no"]

MISTAKES: Final[dict[str, float]] = {"other": 5.0, "flip": 3.0, "vague": 1.0, "list": 0.5, "refusal": 0.5}
"""Kinds of mistakes and how often they are made, in proportion: another answer (a neighbouring step), yes for no, something
vague, a list where one answer was asked for, a refusal. A kind that a question does not allow is not drawn."""

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
    """A model that knows the right answer with a chosen probability.

    Two players that differ in quality alone are right on nested sets of requests.

    Args:
        quality: probability of the right answer, 0 to 1; or by regular expressions found in the model's name, in order.
        seed: of every draw.
        habits: probabilities of dressings; see ``HABITS``.

    Raises:
        UserError: if a probability does not lie between 0 and 1.
    """

    def __init__(
        self,
        quality: float | Mapping[str, float] = 0.7,
        *,
        seed: int = 0,
        habits: Mapping[str, float] = HABITS,
    ) -> None:
        self._quality = dict(quality) if isinstance(quality, Mapping) else {"": quality}
        self._seed, self._habits = seed, habits
        for name, value in self._quality.items():
            if not 0 <= value <= 1:
                raise UserError(
                    f"the quality {value} of {name or 'the player'!r} does not lie between 0 and 1."
                )

    def play(self, call: Call, right: Sequence[str], wrong: Sequence[str]) -> Answer:
        """Reply to a request.

        Args:
            call: the request.
            right: answers that are all right.
            wrong: answers that models typically give instead.
        """
        answer = str(pick(call, right, "right answer", self._seed))
        if call.draw("right", self._seed) >= self.quality_of(call.model):
            kind = _kind_of_mistake(call, answer, wrong, self._seed)
            if kind == "refusal":
                return Answer(text=pick(call, _REFUSALS, "refusal", self._seed), outcome="refusal")
            answer = _mistake(call, kind, answer, wrong, self._seed)
        return Answer(text=self._dress(call, answer), data={"answer": answer})

    def quality_of(self, model: str) -> float:
        """Return how often a model is right, 0 for one that no expression fits."""
        for pattern, quality in self._quality.items():
            if re.search(pattern, model):
                return quality
        return 0.0

    def _dress(self, call: Call, text: str) -> str:
        habits = {
            name for name, chance in self._habits.items() if call.draw("habit", self._seed, name) < chance
        }
        if "quotes" in habits:
            text = f'"{text}"'
        if "markdown" in habits:
            text = f"**{text}**"
        if "preamble" in habits:
            text = pick(call, _PREAMBLES, "preamble", self._seed) + text
        return text + _CLOSING if "closing" in habits else text


def _kind_of_mistake(call: Call, right: str, wrong: Sequence[str], seed: int) -> str:
    possible = {"other": bool(wrong), "flip": flip_yes_no(right) is not None, "list": bool(wrong)}
    weights = {kind: weight for kind, weight in MISTAKES.items() if possible.get(kind, True)}
    place = call.draw("mistake", seed) * sum(weights.values())
    for kind, weight in weights.items():
        place -= weight
        if place < 0:
            return kind
    return "other" if wrong else "vague"


def _mistake(call: Call, kind: str, right: str, wrong: Sequence[str], seed: int) -> str:
    if kind == "flip":
        return flip_yes_no(right) or right
    if kind == "vague":
        return str(pick(call, _VAGUE, "vague", seed))
    if kind == "list":
        several = list(dict.fromkeys([*wrong, right]))
        turn = int(call.draw("turn", seed) * len(several))
        return "\n".join(f"* {answer}" for answer in several[turn:] + several[:turn])
    return str(pick(call, tuple(wrong), "wrong", seed))
