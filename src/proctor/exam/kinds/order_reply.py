"""The order that a reply gives, in whatever notation; what can be read in two ways is not read.

Steps are named by the number under which they were presented (``3, 1, 2``; ``Step 3 → Step 1 → Step 2``), by letter, or by their
text. The notation that is asked for, a JSON list, goes before all others, and of several orders the ones that name most steps. Where
these differ, one behind "final" or "answer" decides; else the reply is not read. An order that is not whole is repaired
(``metrics.ordering.repair_order``): what was not presented and what is named again are dropped, and what is missing is appended as
presented. A reply that names no step is never repaired. Source: ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from proctor.llm.structured import Unreadable, spoken_text
from proctor.metrics.ordering.orders import RepairedOrder, repair_order

__all__ = ["OrderRead", "read_order", "spell_slots"]


@dataclass(frozen=True, slots=True)
class OrderRead:
    """What was read.

    Attributes:
        rule: notation that was read (``json``, ``json-from-zero``, ``line``, ``list``), or why nothing was: ``nothing``, ``several``
            different orders, ``two-ways`` (a list can be read as steps or as places), or the code of an unreadable reply.
        repaired: the whole order of the slots, from 0, with what had to be done for it; None where nothing was read.
    """

    rule: str
    repaired: RepairedOrder | None = None

    @property
    def order(self) -> tuple[int, ...] | None:
        """Slots, from 0, as they are done."""
        return None if self.repaired is None else tuple(s for s in self.repaired.order if isinstance(s, int))


class _Found(NamedTuple):
    """An order somewhere in a reply: slots, or in their words what names none; None for what can be read in two ways."""

    rule: str
    named: tuple[int | str, ...] | None
    decides: bool

    @property
    def known(self) -> int:
        return len(_known(self.named or ()))


_LABEL: Final = r"(?:(?i:steps?|pictures?|number|no\.|\#)\s*)?[\"'(]?(?:\d{1,3}|[A-HJ-Z])[\"')]?(?!\w|[.:]\w)"
"""Among other words, where "I" is no letter, and "a" neither."""
_BETWEEN: Final = (
    r"\s*(?:->|=>|→|⟶|➜|>|<|;|\||,(?:\s*and\b)?(?:\s*then\b)?|\band\b(?:\s*then\b)?|\bthen\b)\s*"
)
"""Every text is taken in one way only, so that a long reply that fits nearly takes no time."""
_RUN: Final = re.compile(rf"(?<![\w:.]){_LABEL}(?:(?i:{_BETWEEN}){_LABEL})+")
_WHOLE: Final = re.compile(_RUN.pattern.replace("[A-HJ-Z]", "[A-Z]"), re.IGNORECASE)
_BARE: Final = re.compile(r"\(?(?:\d{1,3}|[A-Z])\)?(?:(?:\s+|-)\(?(?:\d{1,3}|[A-Z])\)?)*")
_SPLIT: Final = re.compile(_BETWEEN, re.IGNORECASE)
_ONLY_AND: Final = re.compile(r"[^,;|<>→⟶➜]+\band\b[^,;|<>→⟶➜]+", re.IGNORECASE)
_ARROW: Final = re.compile(r"\s*(?:->|=>|→|⟶|➜)\s*")
_NAMES: Final = re.compile(
    r"(?:(?:steps?|pictures?|number|no\.|#)\s*)?[\"'(]?(\d{1,3}|[A-Z])[\"')]?(?:\s*[.:)\-–—]+\s*(.*))?", re.IGNORECASE | re.DOTALL
)  # fmt: skip
_ENTRY: Final = re.compile(r"\s*(?:(step)\s*)?(?:(\d{1,3})\s*([.):])|[-*•+](?=\s))\s*(.+)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[\"'(]?\d{1,3}[\"')]?\.?")
_MAPPED: Final = re.compile(r"\d[\"']?\s*:\s*[\"']?\d")
_ARRAY: Final = re.compile(r"\[[^\[\]]*\]", re.DOTALL)
_DECIDES: Final = re.compile(r"\b(?:final|answer|order|sequence)\b[^\n.;]*$", re.IGNORECASE)
_MARKUP: Final = re.compile(r"\*\*|__|`")
_SPACES: Final = re.compile(r"[^\S\n]+")
_WORDS: Final = re.compile(r"\w+")
_NEAR: Final = 200
"""Characters before a list in which it is called the answer."""
_SHORTEST: Final = 3
"""Words of a part of a step's text that is taken for the step."""


def spell_slots(order: Sequence[int]) -> str:
    """Return slots, counted from 0, as an answer: the numbers of the steps as presented.

    Example:
        >>> spell_slots((2, 0, 1))
        '3, 1, 2'
    """
    return ", ".join(str(slot + 1) for slot in order)


def read_order(reply: str, texts: Sequence[str]) -> OrderRead:
    r"""Read an order.

    Args:
        reply: the words of a model or person.
        texts: of the steps as they are presented, in N slots; empty where a step has none.

    Example:
        >>> texts = ("Boil water.", "Pour it.", "Drink.")
        >>> [read_order(t, texts).order for t in ("[2, 1, 3]", "Step 3 -> Step 1", "1. Drink.\n2. Boil water.", "Not sure.")]
        [(1, 0, 2), (2, 0, 1), (2, 0, 1), None]
    """
    spoken = spoken_text(reply)
    if isinstance(spoken, Unreadable):
        return OrderRead(spoken.reason)
    text = _SPACES.sub(" ", _MARKUP.sub("", spoken))
    names = _Names(texts)
    arrays, outside = list(_arrays(text, names)), _ARRAY.sub(_without, text)
    others = [*_lists(outside, names), *_lines(outside, names)]
    if not arrays and any(one.named is None for one in others):
        return OrderRead("two-ways")
    found = [one for one in (*arrays, *others) if one.known]
    most = max((one.known for one in found), default=0)
    whole = [one for one in found if one.known == most]
    whole = [one for one in whole if one.rule.startswith("json")] or whole
    if len({one.named for one in whole}) > 1:
        whole = [one for one in whole if one.decides]
    orders = {one.named for one in whole if one.named is not None}
    if len(orders) != 1:
        return OrderRead("several" if found else "nothing")
    slots = range(len(texts))
    return OrderRead(whole[0].rule, repair_order(orders.pop(), slots, presented=slots))


class _Names:
    """Which slot a name means."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.count = len(texts)
        self.texts = [_plain(text) for text in texts]

    def slots(self, names: Sequence[str]) -> tuple[int | str, ...]:
        """Return the slots of names, steps with the same text one after the other; what names none in its own words."""
        found: list[int | str] = []
        taken: set[int | str] = set()
        for name in names:
            slots = self._meant(name)
            found.append(next((s for s in slots if s not in taken), slots[0]) if slots else name.strip())
            taken.add(found[-1])
        return tuple(found)

    def label(self, name: str) -> int | None:
        """Return the slot of a number or letter, with or without the step's own text behind it."""
        match = _NAMES.fullmatch(name.strip().rstrip(".,;"))
        if match is None:
            return None
        slot = int(match[1]) - 1 if match[1].isdecimal() else ord(match[1].upper()) - ord("A")
        said = _plain(match[2] or "")
        if not 0 <= slot < self.count or (said in self.texts and said and self.texts[slot] != said):
            return None  # the number of one step and the text of another one
        return slot

    def _meant(self, name: str) -> list[int]:
        label = self.label(name)
        if label is not None:
            return [label]
        said = _plain(name)
        same = [n for n, text in enumerate(self.texts) if text and text == said]
        if same or len(said.split()) < _SHORTEST:
            return same
        part = [
            n
            for n, text in enumerate(self.texts)
            if text and (text.startswith(said) or said.startswith(text))
        ]
        return part if len({self.texts[n] for n in part}) == 1 else []


def _plain(text: str) -> str:
    return " ".join(_WORDS.findall(text.casefold()))


def _arrays(text: str, names: _Names) -> Iterator[_Found]:
    """Yield the JSON lists; one of all numbers from 0 to N-1 counts from 0, since there is no step 0."""
    for match in _ARRAY.finditer(text):
        try:
            values = json.loads(match[0])
        except ValueError:
            values = [part.strip(" \"'\n") for part in match[0][1:-1].split(",")]
        if not values or not all(isinstance(value, int | str) for value in values):
            continue
        decides = _leads(text[max(0, match.start() - _NEAR) : match.start()])
        if sorted(map(str, values)) == sorted(map(str, range(names.count))):
            yield _Found("json-from-zero", tuple(int(value) for value in values), decides)
        else:
            yield _Found("json", names.slots([str(value) for value in values]), decides)


def _without(array: re.Match[str]) -> str:
    """Return what else may be read where a list stands: nothing, or what brackets hold that no list does (``[3 > 1 > 2]``)."""
    held = array[0][1:-1].strip()
    return " " if "," in held or _NUMBER.fullmatch(held) else held


def _lines(text: str, names: _Names) -> Iterator[_Found]:
    """Yield what stands on one line: numbers or letters with something between them, or texts with arrows."""
    before = ""
    for line in text.splitlines():
        said = line.strip().lstrip("> ").rstrip(". ")
        if len(_MAPPED.findall(said)) > 1:
            yield _Found("line", None, decides=False)
        elif said and (_ENTRY.fullmatch(said) is None or _ARROW.search(said)):
            yield from _line(said, before, names)
        before = said or before


def _line(said: str, before: str, names: _Names) -> Iterator[_Found]:
    head, colon, tail = said.partition(":")
    led = bool(colon) and not any(map(str.isdecimal, head))
    part, lead = (tail.strip(), head) if led else (said, before)
    if _BARE.fullmatch(part):
        yield _Found("line", names.slots(re.split(r"[\s-]+", part)), _leads(lead))
    elif _WHOLE.fullmatch(part):
        yield _Found("line", names.slots(_SPLIT.split(part)), _leads(lead))
    elif len(texts := _ARROW.split(part)) > 1 and len(_known(slots := names.slots(texts))) > 1:
        yield _Found("line", slots, _leads(lead))
    else:  # among other words only whole orders count, and "steps 1 and 2" is none
        for run in _RUN.finditer(said):
            slots = names.slots(_SPLIT.split(run[0]))
            if len(_known(slots)) == names.count and not _ONLY_AND.fullmatch(run[0]):
                yield _Found("line", slots, _leads(said[: run.start()].strip() or before))


def _known(named: Sequence[int | str]) -> set[int]:
    return {name for name in named if isinstance(name, int)}


def _leads(before: str) -> bool:
    return _DECIDES.search(before.rstrip(" :\n")) is not None


def _lists(text: str, names: _Names) -> Iterator[_Found]:
    """Yield what stands on lines of their own: behind numbers or bullets, or as the texts of steps."""
    block: list[_Entry] = []
    before = lead = ""
    for line in (*text.splitlines(), "end"):
        match = _ENTRY.fullmatch(line)
        if not line.strip():
            continue
        if match is not None and not _ARROW.search(line):
            entry = _Entry(match[2] or "", match[4], named=bool(match[1]) or match[3] == ":")
        elif _plain(line) in names.texts and _plain(line):
            entry = _Entry("", line, named=False)
        else:
            if len(block) > 1:
                yield _listed(block, names, decides=_leads(lead))
            block, before = [], line
            continue
        lead = lead if block else before
        block.append(entry)


class _Entry(NamedTuple):
    """A line of a list: its number, what stands behind it, and whether it may name the step ("Step 1:") and not its place."""

    number: str
    content: str
    named: bool


def _listed(block: Sequence[_Entry], names: _Names, *, decides: bool) -> _Found:
    numbers = [entry.number for entry in block]
    if all(numbers) and numbers != [str(n) for n in range(1, len(block) + 1)]:
        return _Found("list", names.slots([f"{e.number}: {e.content}" for e in block]), decides)
    if all(entry.named and _NUMBER.fullmatch(entry.content.strip()) for entry in block):
        return _Found(
            "list", None, decides
        )  # "Step 1: 3": the third step comes first, or the first comes third
    return _Found("list", names.slots([entry.content for entry in block]), decides)
