"""Sentences of answers: wording variants, capitals and stops."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from proctor.ask.moment.candidate import Answer, AnswerKind
from proctor.procedure.wording import plain_english

__all__ = ["Ask", "Option", "Question", "answer", "distinct", "one_of", "sentence", "tidy"]


@dataclass(frozen=True, slots=True)
class Ask:
    """What a question is about: the intent (key of a form table), the slots, and every correct answer."""

    intent: str
    slots: dict[str, str]
    answers: tuple[Answer, ...]


class Question(Protocol):
    """Makes the ask of an intent; None when nothing certain can be asked after all."""

    def __call__(self, rng: random.Random) -> Ask | None:
        """Draw the details."""
        ...


@dataclass(frozen=True, slots=True)
class Option:
    """An intent that is possible at a moment, with its weight in the draw."""

    weight: int
    make: Question


def one_of(rng: random.Random, *variants: str) -> str:
    """Draw one wording."""
    return variants[rng.randrange(len(variants))]


@lru_cache(maxsize=65_536)
def sentence(text: str) -> str:
    """Make a sentence: tidy, capital first letter, one full stop."""
    clean = tidy(text).rstrip(" .,;:")
    return clean[:1].upper() + clean[1:] + ("" if clean.endswith(("!", "?")) else ".")


def tidy(text: str) -> str:
    """Repair spacing and doubled punctuation that source texts bring in, and make telegraphic English whole."""
    clean = plain_english(text)
    clean = re.sub(r"\s+([,;:.?!])", r"\1", clean)
    clean = re.sub(r"([,;:])(?:\s*[,;:])+", r"\1", clean)
    clean = re.sub(r"[.,;:]+([.?!])", r"\1", clean)
    return re.sub(r"\b([Aa]) (?=(?!one\b|once\b|uni|use|euro|\w\b)[aeio][a-z])", r"\1n ", clean)


def answer(text: str, kind: AnswerKind = "direct", step_ids: tuple[str, ...] = ()) -> Answer:
    """Make an answer from a sentence part."""
    return Answer(sentence(text), kind, step_ids)


def distinct(answers: list[Answer], limit: int | None = None) -> tuple[Answer, ...]:
    """Drop answers with the same words; keep order."""
    kept = {a.text.lower(): a for a in reversed(answers)}
    unique = [a for a in dict.fromkeys(answers) if kept[a.text.lower()] == a]
    return tuple(unique[:limit])
