"""The order that a reply gives, in whatever notation; what can be read in two ways is not read.

Steps are named by the number under which they were presented (``3, 1, 2``; ``Step 3 → Step 1 → Step 2``), by letter, or by their
text, whole or in part. The notation that is asked for, a JSON list, goes before all others where it is whole. Of different orders one
behind "final" or "answer" counts, and of these the one that names most steps. An order that is not whole is repaired
(``metrics.ordering.repair_order``); a reply that does not name two steps is no order and never repaired. Source: ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from proctor.llm.structured import Unreadable, spoken_text
from proctor.metrics.ordering.orders import RepairedOrder, repair_order

__all__ = ["OrderRead", "read_order", "spell_slots"]

Named: TypeAlias = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class OrderRead:
    """What was read: the notation (``json``, ``line``, ``list``), and the whole order of the slots, from 0, as it was repaired.

    Where nothing was read ``rule`` says why: ``nothing``, ``several`` different orders, ``two-ways`` (as steps or as places; from 0
    or from 1), or the code of an unreadable reply.
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
    named: Named | None
    lead: str = ""

    @property
    def known(self) -> int:
        return len({name for name in self.named or () if isinstance(name, int)})


_LABEL: Final = r"(?:(?i:steps?|pictures?|number|no\.|\#)\s*)?[\"'(]?(\d{1,3}|[A-Z])[\"')]?"
_BETWEEN: Final = (
    r"\s*(?:->|=>|→|⟶|➜|>|<|;|\||[,，、](?:\s*and\b)?(?:\s*then\b)?|\band\b(?:\s*then\b)?|\bthen\b)\s*"
)
"""Every text is taken in one way only, so that a long reply that fits nearly takes no time."""
_NAME: Final = re.compile(rf"{_LABEL}(?:\s*[.:)\-–—]+\s*(.*))?", re.IGNORECASE | re.DOTALL)
_PLAIN_NAME: Final = re.compile(_LABEL, re.IGNORECASE)
_AMONG: Final = _LABEL.replace("(\\d{1,3}|[A-Z])", "(?:\\d{1,3}|[A-HJ-Z])") + r"(?!\w|[.:]\w)"
"""Among other words, where "I" is no letter, and "a" neither."""
_RUN: Final = re.compile(rf"(?<![\w:.]){_AMONG}(?:(?i:{_BETWEEN}){_AMONG})+")
_SPLITS: Final = (re.compile(_BETWEEN, re.IGNORECASE), re.compile(r"[\s-]+"))
_ARROW: Final = re.compile(r"\s*(?:->|=>|→|⟶|➜)\s*")
_MORE_THAN_AND: Final = re.compile(r"[,，、;|<>→⟶➜]|then", re.IGNORECASE)
_LED: Final = re.compile(r"([^:\d]*):\s*(.*)")
_ENTRY: Final = re.compile(r"\s*(?:(step)\s*)?(?:(\d{1,3})\s*([.):])|[-*•+](?=\s))\s*(.+)", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[\"'(]?\d{1,3}[\"')]?\.?")
_MAPPED: Final = re.compile(r"\d[\"']?\s*:\s*[\"']?\d")
_ARRAY: Final = re.compile(r"\[([^\[\]]*)\]")
_DECIDES: Final = re.compile(r"\b(?:final|answer|order|sequence)\b[^\n.;]*$", re.IGNORECASE)
_WORDS: Final = re.compile(r"\w+")
_FEWEST: Final = 2
"""Steps that an order names, and words of a part of a step's text that is taken for the step."""


def spell_slots(order: Sequence[object]) -> str:
    """Return slots, counted from 0, as an answer: the numbers of the steps as presented; 2, 0, 1 as ``3, 1, 2``."""
    return ", ".join(str(slot + 1) for slot in order if isinstance(slot, int))


def read_order(reply: str, texts: Sequence[str]) -> OrderRead:
    r"""Read an order of the steps with these texts, as they are presented in N slots; empty where a step has none.

    Example:
        >>> texts = ("Boil water.", "Pour it.", "Drink.")
        >>> [read_order(t, texts).order for t in ("[2, 1, 3]", "Step 3 -> Step 1", "1. Drink.\n2. Boil water.", "Not sure.")]
        [(1, 0, 2), (2, 0, 1), (2, 0, 1), None]
    """
    spoken = spoken_text(reply)
    if isinstance(spoken, Unreadable):
        return OrderRead(spoken.reason)
    text = re.sub(r"[^\S\n]+", " ", re.sub(r"\*\*|__|`", "", spoken))
    text = _ARRAY.sub(lambda held: held[0] if "," in held[1] else held[1], text)  # "[3 > 1 > 2]" is no JSON
    names = _Names(texts)
    found = list(_arrays(text, names))
    if not any(one.known == len(texts) for one in found):
        rest = _ARRAY.sub(" ", text)
        found += [*_lists(rest, names), *_lines(rest, names)]
    found = [one for one in found if one.named is None or one.known >= _FEWEST]
    found = [one for one in found if _DECIDES.search(one.lead.rstrip(" :\n"))] or found
    if any(one.named is None for one in found):
        return OrderRead("two-ways")
    most = max((one.known for one in found), default=0)
    orders = {one.named: one.rule for one in reversed(found) if one.known == most and one.named is not None}
    if len(orders) != 1:
        return OrderRead("several" if orders else "nothing")
    (named, rule), slots = orders.popitem(), range(len(texts))
    return OrderRead(rule, repair_order(named, slots, presented=slots))


class _Names:
    """Which slot a name means."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.count = len(texts)
        self._texts = [_plain(text) for text in texts]

    def slots(self, names: Sequence[str]) -> Named | None:
        """Return the slots of names, steps with the same text one after the other; what names none in its own words.

        There is no step 0: all numbers from 0 to N-1 count from there, and what else has a 0 can be read in two ways (None).
        """
        matches = [_NAME.fullmatch(name.strip()) for name in names]
        numbers = [int(match[1]) for match in matches if match and match[1].isdecimal() and not match[2]]
        if 0 in numbers:
            return tuple(numbers) if sorted(numbers) == list(range(self.count)) else None
        found: list[int | str] = []
        taken: set[int | str] = set()
        for name in names:
            slots = self.meant(name)
            found.append(next((s for s in slots if s not in taken), slots[0]) if slots else name.strip())
            taken.add(found[-1])
        return tuple(found)

    def meant(self, name: str, *, whole: bool = False) -> list[int]:
        """Return the slots of a number or letter, with or without its own step's text behind it, or of a text or part of one."""
        match = _NAME.fullmatch(name.strip().rstrip(".,;"))
        if match is None:
            return self._texted(name, whole=whole)
        slot = int(match[1]) - 1 if match[1].isdecimal() else ord(match[1].upper()) - ord("A")
        said = self._texted(match[2] or "", whole=whole)
        other = slot not in said if said else _PLAIN_NAME.fullmatch((match[2] or "").strip())
        return [slot] if 0 <= slot < self.count and not other else []  # one step and another one are none

    def _texted(self, name: str, *, whole: bool) -> list[int]:
        said = _plain(name)
        same = [n for n, text in enumerate(self._texts) if text and text == said]
        words = frozenset(said.split())
        if same or whole or len(words) < _FEWEST:
            return same
        own = enumerate(frozenset(text.split()) for text in self._texts)
        part = [n for n, w in own if len(w) >= _FEWEST and (w <= words or words <= w)]
        return part if len({self._texts[n] for n in part}) == 1 else []


def _plain(text: str) -> str:
    return " ".join(_WORDS.findall(text.casefold()))


def _arrays(text: str, names: _Names) -> Iterator[_Found]:
    """Yield the JSON lists, and what only looks like one (``[C, A, B]``)."""
    for match in _ARRAY.finditer(text):
        try:
            values = json.loads(match[0])
        except ValueError:
            values = [said for part in match[1].split(",") if (said := part.strip(" \"'\n"))]
        if all(isinstance(value, int | str) for value in values):
            lead = text[max(0, match.start() - 200) : match.start()]
            yield _Found("json", names.slots([str(value) for value in values]), lead)


def _lines(text: str, names: _Names) -> Iterator[_Found]:
    """Yield what stands on one line: numbers or letters with something between them, or texts with arrows."""
    before = ""
    for line in text.splitlines():
        said = line.strip("> ").rstrip(". ")
        entry = _ENTRY.fullmatch(said)
        if len(_MAPPED.findall(said)) > 1:
            yield _Found("line", None)
        elif said and (entry is None or not entry[2] or _ARROW.search(said)):
            yield from _line(said if entry is None or entry[2] else entry[4], before, names)
        before = said or before


def _line(said: str, before: str, names: _Names) -> Iterator[_Found]:
    led = _LED.fullmatch(said)
    lead, part = (led[1], led[2]) if led else (before, said)
    for split in _SPLITS:
        pieces = split.split(part)
        if len(pieces) > 1 and all(map(_PLAIN_NAME.fullmatch, pieces)):
            yield _Found("line", names.slots(pieces), lead)
            return
    runs = [run for run in _RUN.finditer(said) if _MORE_THAN_AND.search(run[0])]  # "steps 1 and 2" is none
    found = [
        _Found("line", names.slots(_SPLITS[0].split(r[0])), said[: r.start()].strip() or before) for r in runs
    ]
    whole = [one for one in found if one.known == names.count]  # among other words only whole orders count
    yield from whole
    if not whole and _ARROW.search(part):
        yield _Found("line", names.slots(_ARROW.split(part)), lead)


def _lists(text: str, names: _Names) -> Iterator[_Found]:
    """Yield what stands on lines of their own: behind numbers or bullets, or as the names of steps."""
    numbers: list[str] = []
    contents: list[str] = []
    before = lead = ""
    named = False  # a number may name the step ("Step 1:"), not its place
    for line in filter(str.strip, (*text.splitlines(), "->")):  # what has an arrow ends a list
        match = _ENTRY.fullmatch(line)
        if _ARROW.search(line) or not (match or names.meant(line, whole=True)):
            if len(contents) > 1:
                yield _Found("list", _listed(numbers, contents, names, named=named), lead)
            numbers, contents, before, named = [], [], line, False
            continue
        lead = lead if contents else before
        numbers.append((match[2] or "") if match else "")
        contents.append(match[4] if match else line)
        named = named or (match is not None and (bool(match[1]) or match[3] == ":"))


def _listed(numbers: Sequence[str], contents: Sequence[str], names: _Names, *, named: bool) -> Named | None:
    places = any(numbers == [str(n + k) for n in range(len(numbers))] for k in (0, 1))
    if all(numbers) and all(_NUMBER.fullmatch(content.strip()) for content in contents):
        if named or not places:
            return None  # "Step 1: 3": the third step comes first, or the first comes third
    elif all(numbers) and not places:
        return names.slots([f"{n}: {content}" for n, content in zip(numbers, contents, strict=True)])
    return names.slots(contents)
