"""Pairs out of a reply: JSON, read tolerantly about what is around it and strictly about what it says.

Wanted is a list of objects; an object with a list ``pairs`` does as well, as providers with structured output give it. Of several
lists the last counts: models think first and answer last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from proctor.llm.structured import FoundObject, Unreadable, find_objects, spoken_text

__all__ = ["BadEntry", "RawPair", "read_pair_list"]

_BETWEEN: Final = re.compile(r"[\s,]*")
_NOTHING: Final = re.compile(r"[`\s]*(?:json)?\s*\[\s*\][`\s.]*", re.IGNORECASE)
_SPLIT: Final = re.compile(r"[,;]|\band\b|\s")
_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class RawPair:
    """A pair as a reply has it: texts on one line, and cited ids as they were written, brackets and case aside."""

    question: str
    answer: str
    step_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BadEntry:
    """An entry of a list that is no pair: the reason, and what was seen."""

    reason: str
    detail: str = ""


def read_pair_list(reply: str) -> list[RawPair | BadEntry] | Unreadable:
    """Read the pairs of a reply, in order; an empty list is a reply that found nothing to ask."""
    text = spoken_text(reply)
    if isinstance(text, Unreadable):
        return text
    objects = find_objects(text)
    entries = _entries(text, objects)
    if entries is None:
        if _NOTHING.fullmatch(text):
            return []
        return Unreadable("no_json", "no well-formed JSON list of pairs was found")
    return [_entry(entry) for entry in entries]


def _entries(text: str, objects: list[FoundObject]) -> list[Any] | None:
    """Return the entries of the last list, None where there is none."""
    last: list[Any] | None = None
    open_until = -1
    for found in objects:
        listed = found.value.get("pairs")
        if isinstance(listed, list):
            last, open_until = listed, -1
        elif "question" in found.value:
            if last is not None and open_until >= 0 and _BETWEEN.fullmatch(text, open_until, found.begin):
                last.append(found.value)
            else:
                last = [found.value]
            open_until = found.end
    return last


def _entry(entry: Any) -> RawPair | BadEntry:
    if not isinstance(entry, dict):
        return BadEntry("bad_entry", f"{str(entry)[:_SHOWN]} is no object")
    question, answer = entry.get("question"), entry.get("answer")
    if isinstance(answer, list):
        if len(answer) != 1:
            return BadEntry("several_answers", f"{str(question)[:_SHOWN]}: {len(answer)} answers")
        answer = answer[0]
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        answer = str(answer)
    if not isinstance(question, str) or not isinstance(answer, str):
        return BadEntry("bad_entry", f"question or answer is no text: {str(entry)[:_SHOWN]}")
    return RawPair(_line(question), _line(answer), _ids(entry.get("step_ids")))


def _line(text: str) -> str:
    return " ".join(text.split())


def _ids(value: Any) -> tuple[str, ...]:
    """Return cited ids; what is no id stays what it is, so that it is seen that there is no such step."""
    values = value if isinstance(value, list) else [value]
    found: dict[str, None] = {}
    for one in values:
        if isinstance(one, int) and not isinstance(one, bool):
            found[f"s{one}"] = None
        elif isinstance(one, str):
            for part in _SPLIT.split(one):
                id_ = part.strip("[]()\"'`. ").casefold()
                if id_:
                    found[f"s{id_}" if re.fullmatch(r"\d+(?:\.\d+)?", id_) else id_] = None
        elif one is not None:
            found[str(one)[:40]] = None
    return tuple(found)
