"""What a played model makes of sources: facts, questions about them, and answers that can be checked against the sources.

Every fact is a part of a question with the value that answers it. Values stand in double quotation marks in answers: so a
played verifier can see whether the sources have them, and a played judge whether two answers agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from proctor.corpus.detokenise import detokenise

__all__ = [
    "Fact",
    "ShownSource",
    "facts_of",
    "number_of",
    "plain",
    "quoted",
    "says",
    "shown_source",
    "solve",
    "sum_of",
    "title_of",
]

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_VALUE = re.compile(r"(?<![\w$.,])(?:\d[\d,]*(?:\.\d+)?|[A-Z][\w-]{3,})(?![\w-])")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_QUALIFIER = re.compile(r"\s*\([^()]*\)\s*$")
_QUOTED = re.compile(r'"([^"]+)"')
_BEFORE, _AFTER = 7, 5
"""Words around a gap."""
_MOST_FACTS: Final = 40

_END: Final = r"(?=, and what |, as far as |\?|$)"
_GAP = re.compile(r'what completes "([^"]*)…([^"]*)"')
_CELL = re.compile(rf"what is the (.+?) of (.+?) in (?:.+?){_END}")
_SEEN = re.compile(rf"what can be seen at (.+?){_END}")


@dataclass(frozen=True, slots=True)
class ShownSource:
    """A source as a prompt shows it.

    Attributes:
        number: under which it is shown.
        kind: ``text``, ``table`` or ``image``.
        title: or caption.
        text: all of it.
    """

    number: int
    kind: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a source says.

    Attributes:
        part: of a question that asks for it, in small letters.
        value: that answers it.
        said: the answer in a sentence.
    """

    part: str
    value: str
    said: str


def shown_source(number: int, kind: str, text: str) -> ShownSource:
    """Return a source by what a prompt says of it: ``text``, ``table``, ``image`` or ``image, in words``."""
    text = text.strip()
    if kind.startswith("table"):
        return ShownSource(number, "table", text.split("\n", 1)[0], text)
    if kind.startswith("image"):
        title = text.split(". ", 1)[0] if kind != "image" else text
        return ShownSource(number, "image", title, text)
    title = text.split(": ", 1)[0]
    return ShownSource(number, "text", title if len(title) < 120 else title[:40], text)


def title_of(source: ShownSource) -> str:
    """Return a title without what stands in brackets at its end."""
    return _QUALIFIER.sub("", source.title).rstrip(".") or source.title


def facts_of(source: ShownSource) -> list[Fact]:
    """Return what can be asked about a source, in its order; at most some dozens."""
    made = {"text": _gaps, "table": _cells, "image": _seen}[source.kind](source)
    return [fact for fact, _ in zip(made, range(_MOST_FACTS), strict=False)]


def _gaps(source: ShownSource) -> Iterator[Fact]:
    title = title_of(source)
    for sentence in _SENTENCE.split(source.text.removeprefix(f"{source.title}: ")):
        if '"' in sentence or "…" in sentence:
            continue
        for found in _VALUE.finditer(sentence):
            value = found[0].rstrip(",.")
            if found.start() == 0 or value in title:
                continue
            before = " ".join(sentence[: found.start()].split()[-_BEFORE:])
            after = " ".join(sentence[found.end() :].split()[:_AFTER])
            if value in before or value in after:
                continue
            yield Fact(
                f'what completes "{before} … {after}" about {title}',
                value,
                f'As for {title}, it is "{value}".',
            )


def _cells(source: ShownSource) -> Iterator[Fact]:
    lines = [line.split(" | ") for line in source.text.split("\n")[1:] if " | " in line]
    if len(lines) < 2:
        return
    header, rows = lines[0], lines[1:]
    title = title_of(source)
    for row in rows:
        for name, cell in zip(header[1:], row[1:], strict=False):
            if cell.strip() and name.strip() and row[0].strip() and '"' not in cell + name + row[0]:
                yield Fact(
                    f"what is the {name.strip()} of {row[0].strip()} in {title}",
                    cell.strip(),
                    f'The {name.strip()} of {row[0].strip()} is "{cell.strip()}".',
                )


def _seen(source: ShownSource) -> Iterator[Fact]:
    """What is played sees no pixels: it knows its caption, however the image is shown."""
    if source.title:
        yield Fact(f"what can be seen at {source.title}", source.title, f'One sees "{source.title}" there.')


# -- answering -------------------------------------------------------------------------------------------------


def solve(question: str, sources: Sequence[str]) -> tuple[list[str], int]:
    """Return the values that texts of sources give for the parts of a question, and how many parts it has."""
    text = question[:1].lower() + question[1:]
    sources = ["\n".join(map(detokenise, source.split("\n"))) for source in sources]
    readers: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], str], str | None]], ...] = (
        (_GAP, _read_gap),
        (_CELL, _read_cell),
        (_SEEN, _read_seen),
    )
    parts = sorted(
        ((found.start(), found, read) for pattern, read in readers for found in pattern.finditer(text)),
        key=lambda part: part[0],
    )
    values = []
    for _, found, read in parts:
        value = next((v for source in sources if (v := read(found, source))), None)
        if value is not None:
            values.append(value)
    return values, len(parts)


def _read_gap(part: re.Match[str], source: str) -> str | None:
    before, after = (re.escape(" ".join(side.split())).replace(r"\ ", r"\s+") for side in part.groups())
    found = re.search(rf"{before}\s*({_VALUE.pattern})\s*{after}", source)
    return found[1].rstrip(",.") if found else None


def _read_cell(part: re.Match[str], source: str) -> str | None:
    lines = [line.split(" | ") for line in source.split("\n") if " | " in line]
    names = [name.strip().lower() for name in lines[0]] if lines else []
    if part[1].lower() not in names:
        return None
    place = names.index(part[1].lower())
    rows = (row for row in lines[1:] if row[0].strip().lower() == part[2].lower() and len(row) > place)
    return next((row[place].strip() for row in rows), None)


def _read_seen(part: re.Match[str], source: str) -> str | None:
    return part[1] if source.lower().startswith(part[1].lower()) else None


# -- values ----------------------------------------------------------------------------------------------------


def quoted(answer: str) -> list[str]:
    """Return the values of an answer."""
    return _QUOTED.findall(answer)


def number_of(value: str) -> float | None:
    """Return the number that a value is; None where it is none."""
    return float(value.replace(",", "")) if _NUMBER.fullmatch(value.strip(".")) else None


def sum_of(values: Sequence[str]) -> str | None:
    """Return the sum of values as a player writes it; None where one is no number."""
    numbers = [number_of(value) for value in values]
    if not numbers or None in numbers:
        return None
    total = sum(n for n in numbers if n is not None)
    return f"{total:.10g}"


def plain(text: str) -> str:
    """Return a text in small letters, with single spaces."""
    return " ".join(text.lower().split())


def says(text: str, value: str) -> bool:
    """True when a text, made plain, has a value as whole words."""
    return re.search(rf"(?<!\w){re.escape(plain(value))}(?!\w)", text) is not None
