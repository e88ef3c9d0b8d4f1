"""Mistakes that somebody could make in a step: read off its text, or proposed by a model. Nobody has to follow them.

CaptainCook4D (appendix C) gave the same hints for every step, and they were used for one mistake in five; ours speak of what the
step's own text names: its amounts, times, heat and objects.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from proctor.capture.records import Hint
from proctor.llm.fence import FenceSecret
from proctor.llm.prompt import PromptSet, Rendered
from proctor.llm.structured import Unreadable, read_object
from proctor.procedure.graph import TaskGraph
from proctor.procedure.phrase import parse_phrase
from proctor.procedure.quantity import Dimension, find_difference, find_levels, find_quantities
from proctor.procedure.recording import MISTAKE_KINDS
from proctor.procedure.showing import shown_text
from proctor.procedure.wording import agree

__all__ = ["INDUCED_KINDS", "Hints", "hint_prompt", "mistakes_in", "read_hints", "text_hints"]

Hints = dict[str, tuple[Hint, ...]]
"""By step."""
INDUCED_KINDS: Final = tuple(kind for kind in MISTAKE_KINDS if kind not in ("missing", "order"))
"""Kinds of mistakes that are made inside a step."""
_MOST: Final = 3  # hints of one step
_LONGEST: Final = 240
_WORDS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER: Final = re.compile(rf"\d+ \d+/\d+|\d+/\d+|\d+(?:\.\d+)?|\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)


class FromText(NamedTuple):
    """A mistake that a step's text itself names: its kind, what goes wrong, and the text with it in place."""

    kind: str
    text: str
    modified: str


@lru_cache(maxsize=4_096)
def mistakes_in(text: str) -> tuple[FromText, ...]:
    """Return amounts, lengths and times doubled and halved, temperatures halved, and the other end of a heat level.

    Only what can be read back: the changed text differs from the step's in this one quantity and in that direction. Degrees are
    not doubled, for nobody should heat an oven to that.
    """
    plain, double, half = shown_text(text), Fraction(2), Fraction(1, 2)
    found: list[FromText] = []
    for quantity in find_quantities(plain):
        words = f"{quantity.text} {quantity.counted}".strip()
        kind = {"time": "timing", "temperature": "temperature"}.get(quantity.dimension, "measurement")
        place = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)")
        for factor in (half,) if kind == "temperature" else (double, half):
            changed = _scaled(words, quantity.text, factor, whole=quantity.dimension == "count")
            if changed and len(place.findall(plain)) == 1:
                modified = place.sub(changed, plain)
                found += _checked(plain, modified, kind, quantity.dimension, factor > 1)
    for words, rank, scale in find_levels(plain):
        low, high = ("cold water", "hot water") if scale == "water" else ("low", "high")
        modified, n = re.subn(rf"\b{words}\b", high if rank <= 2 else low, plain, flags=re.IGNORECASE)
        if n == 1:
            found += _checked(plain, modified, "temperature", "temperature", rank <= 2)
    return tuple(found)


def _checked(plain: str, modified: str, kind: str, dimension: Dimension, more: bool) -> list[FromText]:
    seen = find_difference(plain, modified, (dimension,))
    if seen is None or not seen.is_sayable or seen.direction != ("more" if more else "less"):
        return []
    return [FromText(kind, f"{seen.wrong_words} instead of {seen.right_words}", modified)]


def _scaled(words: str, quantity: str, factor: Fraction, *, whole: bool) -> str:
    """Return the words with the numbers of the quantity multiplied; empty where nobody would write the outcome."""

    def number(match: re.Match[str]) -> str:
        said = match[0].lower()
        value = Fraction(_WORDS.index(said)) if said in _WORDS else sum(map(Fraction, said.split()))
        ones, part = divmod(value * factor, 1)
        if part.denominator not in ((1,) if whole else (1, 2, 3, 4, 8, 16)) or (part and "-" in quantity):
            return "?"
        return f"{ones} {part}" if ones and part else str(ones or part)

    rest = words[len(quantity) :]
    changed = _NUMBER.sub(number, quantity) if not re.search("/0", quantity) else "?"
    agreed = agree(changed + rest)
    one_end = whole and changed == "2" and agreed.endswith(rest)  # of "from one end to another"
    return "" if "?" in changed or changed == quantity or one_end else agreed


def text_hints(graph: TaskGraph) -> Hints:
    """Return for each step of a graph what its text alone lets one propose."""
    hints: Hints = {}
    for step in graph.actions:
        phrase = parse_phrase(step.text)
        doing = phrase.brief_gerund or phrase.gerund
        more = [("technique", f"stop {doing} half-way, or do it with another tool")]
        if phrase.object:
            more.append(("preparation", f"use something else in place of the {phrase.object}"))
        said = sorted({(one.kind, one.text) for one in mistakes_in(step.text)})
        found = [*said[: _MOST - len(more)], *more]
        hints[step.id] = tuple(Hint(step=step.id, kind=kind, text=text, by="text") for kind, text in found)
    return hints


# -- by a model --------------------------------------------------------------------------------------------------


class _Proposed(msgspec.Struct, frozen=True):
    """Hints as (number of the step from 1, kind, text)."""

    hints: list[tuple[int, str, str]]


def hint_prompt(graph: TaskGraph, secret: FenceSecret) -> Rendered:
    """Return what a model is asked about an activity, all steps at once."""
    template = PromptSet("capture", Path(__file__).parent / "prompts")["hints"]
    steps = [f"{n}. {shown_text(step.text)}" for n, step in enumerate(graph.actions, 1)]
    return template.render(secret, title=graph.name, steps=steps, kinds=", ".join(INDUCED_KINDS), most=_MOST)


def read_hints(graph: TaskGraph, reply: str, by: str) -> tuple[Hints, int] | Unreadable:
    """Return the hints of a reply, at most three for a step, and how many were refused.

    Refused are those of no step or kind, without words, too long, or generic: without a word of the step's text (of four letters
    or more, told by its first four).
    """
    read = read_object(reply, _Proposed, required=("hints",))
    if isinstance(read, Unreadable):
        return read
    hints: Hints = {}
    for number, kind, said in read.hints:
        text = " ".join("".join(c if c.isprintable() else " " for c in said).split())
        step = graph.actions[number - 1] if 0 < number <= len(graph.actions) else None
        if (
            step is not None
            and kind in INDUCED_KINDS
            and len(text) <= _LONGEST
            and _stems(text) & _stems(step.text)
        ):
            hint = Hint(step=step.id, kind=kind, text=text, by=by)
            hints[step.id] = (*hints.get(step.id, ()), hint)[:_MOST]
    return hints, len(read.hints) - sum(map(len, hints.values()))


def _stems(text: str) -> set[str]:
    return {word[:4] for word in re.findall(r"[^\W\d_]{4,}", text.casefold())}
