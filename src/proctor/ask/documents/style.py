"""A style of questions is a file: what it is called, what it asks for, which sources it is for, and examples.

A style ``NAME.md`` starts with a header, then comes its description, then examples::

    ---
    name: compare-contrast
    version: 1
    title: Compare and contrast
    combinations: 2-0-0, 1-1-0
    max_sources: 3
    ---
    What a question of this style is like, in words to the model that writes it.

    === example 1-1-0 ===
    === text ===
    Lake Vell: The lake lies ...
    === table ===
    Lakes of the Ost valley
    Lake | Depth
    Hurn | 41 m
    === reply ===
    How do ... ? | Both ... | 1, 2

``combinations`` are SMMQG's M (texts-tables-images) that the style is for, or ``any``; ``max_sources`` (the largest of the
combinations unless it is said) opens combinations of three and more whose every pair is listed. ``checks`` are names of
``proctor.ask.documents.checks.STYLE_CHECKS``; ``hops: yes`` makes the questions by the multi-hop procedure (SMMQG).

An example is held to the rules that a model's reply is held to: its reply must be readable, cite exactly the modalities that
its head names, and pass the style's checks. ``None`` shows when to refuse.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from proctor.ask.documents.checks import STYLE_CHECKS, StyleCheck, check_style
from proctor.ask.documents.triple import Triple, parse_triple
from proctor.corpus.source import MODALITIES, Modality
from proctor.errors import UserError, did_you_mean
from proctor.records import decode_text, read_bytes

__all__ = [
    "BUILTIN_STYLES",
    "PUBLISHED_COUNTS",
    "Combination",
    "Style",
    "StyleExample",
    "load_style",
    "load_styles",
    "parse_combination",
    "part_style",
    "render_combination",
    "style_of",
]

Combination = tuple[int, int, int]
"""How many texts, tables and images."""

PUBLISHED_COUNTS: Final = {
    "information-extraction": 158,
    "compare-contrast": 227,
    "numerical": 208,
    "compound": 206,
    "multi-hop": 225,
}
"""Questions of each style in the published set (SMMQG), 1,024 in all."""
BUILTIN_STYLES: Final = tuple(PUBLISHED_COUNTS)

MOST_SOURCES: Final = 8
"""More than so many sources no style may need."""

_FOLDER: Final = Path(__file__).parent / "styles"
_SUFFIX: Final = ".md"
_FILE_LIMIT: Final = 200_000
_DESCRIPTION_LIMIT: Final = 8_000
_SOURCE_LIMIT: Final = 4_000
_EXAMPLES_LIMIT: Final = 12
_HEADER = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
_MARK = re.compile(r"^=== *([a-z]+)(?: +([0-9]+-[0-9]+-[0-9]+))? *===[ \t]*$\n?", re.MULTILINE)
_FIELDS: Final = ("name", "version", "title", "combinations", "checks", "max_sources", "hops", "about")
_NEEDED: Final = ("name", "version", "title", "combinations")
_COMBINATION = re.compile(r"\s*([0-9]{1,2})\s*[-,x ]\s*([0-9]{1,2})\s*[-,x ]\s*([0-9]{1,2})\s*")


@dataclass(frozen=True, slots=True)
class StyleExample:
    """One example of a style.

    Attributes:
        modalities: what its question was to need.
        sources: kind and text of each source, numbered from 1.
        reply: the reply that is shown: ``question | answer | numbers``, or ``None``.
        question: of the reply; empty where it refuses.
    """

    modalities: Combination
    sources: tuple[tuple[Modality, str], ...]
    reply: str
    question: str


@dataclass(frozen=True, slots=True)
class Style:
    """A style of questions.

    Attributes:
        name: small letters, digits and dashes.
        version: of the file.
        title: for people, and for the model.
        description: what a question of this style is like.
        combinations: M that it is for, in the order of the file.
        max_sources: combinations of three and more may have up to so many.
        checks: names of code checks.
        hops: True when its questions are made of two (multi-hop).
        examples: shown before every request.
        hash: 16 hex digits over the whole file.
        source: where the file is.
    """

    name: str
    version: str
    title: str
    description: str
    combinations: tuple[Combination, ...]
    max_sources: int
    checks: tuple[StyleCheck, ...]
    hops: bool
    examples: tuple[StyleExample, ...]
    hash: str
    source: str

    @property
    def questions(self) -> tuple[str, ...]:
        """Questions of the examples, those that refuse left out."""
        return tuple(example.question for example in self.examples if example.question)

    def allows(self, combination: Combination) -> bool:
        """True for a combination of the file, and for a larger one of which every pair (every part, if it has one) is."""
        if combination in self.combinations:
            return True
        total = sum(combination)
        if not 3 <= total <= self.max_sources:
            return False
        kinds = [n for n, count in enumerate(combination) for _ in range(min(count, 2))]
        pairs = itertools.combinations(kinds, 2)
        return all((p.count(0), p.count(1), p.count(2)) in self.combinations for p in pairs)


def parse_combination(text: str | Sequence[int]) -> Combination:
    """Return SMMQG's M from ``1-1-0``, ``1,1,0`` or three numbers.

    Raises:
        UserError: for anything but three whole numbers from 0, of which at least one is more than 0.
    """
    if isinstance(text, str):
        found = _COMBINATION.fullmatch(text)
        numbers: Sequence[object] = [int(n) for n in found.groups()] if found else ()
    else:
        numbers = text
    whole = [n for n in numbers if isinstance(n, int) and not isinstance(n, bool) and n >= 0]
    if len(whole) != 3 or len(numbers) != 3:
        raise UserError(
            f"{str(text)[:60]!r} does not say how many texts, tables and images.",
            hint="write three whole numbers from 0, such as 1-1-0 for one text and one table",
        )
    if not any(whole):
        raise UserError("a question needs at least one source, and 0-0-0 asks for none.")
    if sum(whole) > MOST_SOURCES:
        raise UserError(
            f"a question of {sum(whole)} sources is too much; at most {MOST_SOURCES} can be asked for."
        )
    return whole[0], whole[1], whole[2]


def render_combination(combination: Combination) -> str:
    """Return ``1-1-0``."""
    return "-".join(map(str, combination))


# -- files -----------------------------------------------------------------------------------------------------


def load_style(path_or_name: str | Path) -> Style:
    """Return one of our styles by its name, or a user's by the path of its file.

    Raises:
        UserError: if there is none, or the file cannot be used.
    """
    if isinstance(path_or_name, str) and path_or_name in BUILTIN_STYLES:
        return _builtin(path_or_name)
    path = Path(path_or_name)
    if path.suffix != _SUFFIX and not path.exists():
        raise UserError(
            f"there is no style '{str(path_or_name)[:80]}'.",
            hint=did_you_mean(
                str(path_or_name),
                BUILTIN_STYLES,
                f"there are {', '.join(BUILTIN_STYLES)}; name a file of your own by its path (it ends in {_SUFFIX})",
            ),
        )
    style = _read_style(path)
    if style.name in BUILTIN_STYLES:
        raise UserError(
            f"'{style.name}' is the name of one of our styles.",
            where=str(path),
            hint="give yours another name",
        )
    return style


def load_styles(paths_or_names: Sequence[str | Path] = BUILTIN_STYLES) -> tuple[Style, ...]:
    """Return several styles in the given order.

    Raises:
        UserError: as ``load_style``; also when two have the same name, or there are none.
    """
    styles = tuple(map(load_style, paths_or_names))
    if not styles:
        raise UserError("no style is asked for.", hint=f"there are {', '.join(BUILTIN_STYLES)}")
    seen: dict[str, Style] = {}
    for style in styles:
        if style.name in seen:
            raise UserError(
                f"the style '{style.name}' is asked for twice.",
                where=style.source,
                hint="name each style once",
            )
        seen[style.name] = style
    return styles


def style_of(styles: Sequence[Style], name: str) -> Style:
    """Return the style of a name.

    Raises:
        UserError: if there is none.
    """
    for style in styles:
        if style.name == name:
            return style
    raise UserError(f"there is no style '{name}'.", hint=did_you_mean(name, (s.name for s in styles)))


def part_style(name: Literal["hop-first", "hop-second"]) -> Style:
    """Return the style of one half of a multi-hop question (ours, no style of its own)."""
    return _builtin(f"_{name}")


@cache
def _builtin(name: str) -> Style:
    return _read_style(_FOLDER / f"{name}{_SUFFIX}")


def _read_style(path: Path) -> Style:
    where = str(path)
    data = read_bytes(path)
    if len(data) > _FILE_LIMIT:
        raise UserError(
            f"a style has at most {_FILE_LIMIT:,} bytes, and this has {len(data):,}.", where=where
        )
    text = decode_text(data, where).replace("\r\n", "\n")
    header, body = _header(text, where)
    description, *marked = _split(body)
    combinations, top = _combinations(header, where)
    style = Style(
        name=_name(header["name"], where),
        version=_matching(header, "version", r"[A-Za-z0-9._-]{1,40}", where),
        title=_matching(header, "title", r"\S.{0,79}", where),
        description=_description(description[1], where),
        combinations=combinations,
        max_sources=top,
        checks=_checks(header.get("checks", ""), where),
        hops=_flag(header.get("hops", "no"), where),
        examples=_examples([(mark, text) for mark, text in marked], where),
        hash=hashlib.sha256(text.encode("utf-8")).hexdigest()[:16],
        source=where,
    )
    _check_examples(style)
    return style


def _header(text: str, where: str) -> tuple[dict[str, str], str]:
    match = _HEADER.match(text)
    if match is None:
        raise UserError("a style begins with a header between two lines '---'.", where=where)
    header: dict[str, str] = {}
    for line in match[1].splitlines():
        key, colon, value = line.partition(":")
        key = key.strip()
        if not colon or key not in _FIELDS or key in header:
            raise UserError(
                f"the header has the line {line[:80]!r}.",
                where=where,
                hint=f"its lines are {', '.join(f'{f}:' for f in _FIELDS)} each at most once",
            )
        header[key] = value.strip()
    if lacking := [field for field in _NEEDED if not header.get(field)]:
        raise UserError(f"the header lacks {', '.join(f'{f}:' for f in lacking)}", where=where)
    return header, text[match.end() :]


def _name(name: str, where: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", name):
        raise UserError(
            f"{name[:60]!r} cannot be the name of a style.",
            where=where,
            hint="use small letters, digits and dashes",
        )
    return name


def _matching(header: dict[str, str], field: str, pattern: str, where: str) -> str:
    if not re.fullmatch(pattern, header[field]):
        raise UserError(f"{header[field][:80]!r} cannot be the {field} of a style.", where=where)
    return header[field]


def _flag(text: str, where: str) -> bool:
    if text not in ("yes", "no"):
        raise UserError(f"hops: is 'yes' or 'no', not {text[:40]!r}.", where=where)
    return text == "yes"


def _checks(line: str, where: str) -> tuple[StyleCheck, ...]:
    names = [name.strip() for name in line.split(",") if name.strip()]
    known: dict[str, StyleCheck] = {check: check for check in STYLE_CHECKS}
    if unknown := [name for name in names if name not in known]:
        raise UserError(
            f"there is no check '{unknown[0][:40]}'.",
            where=where,
            hint=f"there are {', '.join(STYLE_CHECKS)}",
        )
    return tuple(known[name] for name in dict.fromkeys(names))


def _combinations(header: dict[str, str], where: str) -> tuple[tuple[Combination, ...], int]:
    """Return the combinations of a header and the most sources that are allowed."""
    top = header.get("max_sources", "")
    if top and not (top.isascii() and top.isdigit() and 1 <= int(top[:4]) <= MOST_SOURCES):
        raise UserError(f"max_sources: is a number from 1 to {MOST_SOURCES}, not {top[:40]!r}.", where=where)
    line = header["combinations"]
    if line == "any":
        most = int(top or 2)
        counts = itertools.product(range(most + 1), range(most + 1), range(most + 1))
        every = sorted((c for c in counts if 1 <= sum(c) <= most), key=lambda c: (sum(c), [-n for n in c]))
        return tuple(every), most
    try:
        found = tuple(parse_combination(entry) for entry in line.split(",") if entry.strip())
    except UserError as error:
        raise UserError(error.message, where=where, hint=error.hint) from None
    if len(set(found)) < len(found) or not found:
        raise UserError("combinations: names each combination once, and at least one.", where=where)
    largest = max(map(sum, found))
    if top and int(top) < largest:
        raise UserError(f"max_sources: {top} is less than combinations: asks for ({largest}).", where=where)
    return found, int(top or largest)


def _split(body: str) -> list[tuple[str, str]]:
    """Return (mark, text) of every section; the first has the mark ``''``."""
    pieces = _MARK.split(body)
    marks = [
        "",
        *(f"{kind} {m}".strip() if m else kind for kind, m in zip(pieces[1::3], pieces[2::3], strict=True)),
    ]
    return list(zip(marks, (pieces[0], *pieces[3::3]), strict=True))


def _description(text: str, where: str) -> str:
    text = text.strip()
    if not text:
        raise UserError(
            "the style has no description.",
            where=where,
            hint="say after the header what its questions are like",
        )
    if len(text) > _DESCRIPTION_LIMIT:
        raise UserError(f"a description has at most {_DESCRIPTION_LIMIT:,} characters.", where=where)
    return text


def _examples(sections: Sequence[tuple[str, str]], where: str) -> tuple[StyleExample, ...]:
    examples: list[StyleExample] = []
    wanted: Combination | None = None
    sources: list[tuple[Modality, str]] = []
    for mark, text in sections:
        text = text.strip()
        kind, _, combination = mark.partition(" ")
        modality = next((m for m in MODALITIES if m == kind), None)
        if kind == "example" and combination and wanted is None:
            wanted = parse_combination(combination)
            sources = []
        elif modality is not None and wanted is not None and not combination and text:
            if len(text) > _SOURCE_LIMIT:
                raise UserError(
                    f"a source of an example has at most {_SOURCE_LIMIT:,} characters.", where=where
                )
            sources.append((modality, text))
        elif kind == "reply" and wanted is not None and sources and not combination and text:
            examples.append(_example(wanted, tuple(sources), text, f"{where}, example {len(examples) + 1}"))
            wanted = None
        else:
            raise UserError(
                f"the section '=== {mark[:60]} ===' is empty or out of place.",
                where=where,
                hint="an example is '=== example 1-1-0 ===', its sources '=== text ===', '=== table ===' or "
                "'=== image ===', then '=== reply ==='",
            )
    if wanted is not None:
        raise UserError("the last example has no reply.", where=where)
    if not 1 <= len(examples) <= _EXAMPLES_LIMIT:
        raise UserError(
            f"a style has 1 to {_EXAMPLES_LIMIT} examples, and this has {len(examples)}.",
            where=where,
            hint="three are usual, about different combinations",
        )
    return tuple(examples)


def _example(
    wanted: Combination, sources: tuple[tuple[Modality, str], ...], reply: str, where: str
) -> StyleExample:
    found = parse_triple(reply, len(sources))
    if isinstance(found, Triple):
        kinds = [sources[number - 1][0] for number in found.cites]
        cited = (kinds.count("text"), kinds.count("table"), kinds.count("image"))
        if cited != wanted:
            raise UserError(
                f"it is an example of {render_combination(wanted)}, and its reply cites {render_combination(cited)}.",
                where=where,
            )
        return StyleExample(wanted, sources, " ".join(reply.split()), found.question)
    if found.outcome != "refused":
        raise UserError(f"its reply cannot be read: {found.outcome}, {found.detail}.", where=where)
    return StyleExample(wanted, sources, "None", "")


def _check_examples(style: Style) -> None:
    for number, example in enumerate(style.examples, 1):
        where = f"{style.source}, example {number}"
        if not style.allows(example.modalities):
            raise UserError(
                f"the style is not for {render_combination(example.modalities)}.",
                where=where,
                hint="add it to combinations: or change the example",
            )
        triple = parse_triple(example.reply, len(example.sources))
        if isinstance(triple, Triple) and (miss := check_style(style.checks, triple.answer)):
            raise UserError(f"it breaks a check of its own style: {miss.detail}.", where=where)
