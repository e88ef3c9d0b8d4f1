"""Bytes to the types of ``format``, with every problem named by file, line and key.

The standard library's JSON reader is used because it tells line and column and lets duplicate keys be seen; files of
this format are small and made by hand.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, Final, Generic, Never, TypeVar

import msgspec

from proctor.datasets.plain.format import (
    MAX_TEXT,
    Place,
    PlainAction,
    PlainActivity,
    PlainMistake,
    PlainRecording,
    PlainSegment,
    PlainStep,
    Problems,
)

__all__ = ["Parsed", "nearest", "parse_file"]

S = TypeVar("S", bound=msgspec.Struct)

_PARTS: Final[dict[type[msgspec.Struct], dict[str, type[msgspec.Struct]]]] = {
    PlainActivity: {"steps": PlainStep},
    PlainRecording: {"segments": PlainSegment, "actions": PlainAction},
    PlainSegment: {"mistakes": PlainMistake},
}
"""Lists whose members are read one by one, so that one broken member does not hide the others."""

_Members = dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Parsed(Generic[S]):
    """A document without the broken members of its lists, and where in the file the others are."""

    value: S
    positions: _Members
    complete: bool


_OTHER_WORDS: Final = {
    "start": ("begin", "from", "start_time", "starttime", "onset", "in", "t0"),
    "end": ("stop", "to", "until", "finish", "end_time", "endtime", "offset", "out", "t1"),
    "step": ("step_id", "action", "label", "name", "task"),
    "text": ("description", "instruction", "label", "title", "comment", "note"),
    "kind": ("type", "category", "tag"),
    "name": ("title", "label", "text"),
    "segments": ("steps", "annotations", "actions", "events"),
    "activity": ("activity_id", "task", "recipe", "procedure"),
    "video": ("file", "path", "video_path", "media", "url"),
    "duration": ("length", "seconds", "video_length"),
    "attributes": ("metadata", "meta", "extra", "person", "place"),
    "after": ("before", "requires", "prerequisites", "depends_on", "needs", "previous"),
    "skipped": ("skip", "missing", "omitted", "missed"),
    "mistakes": ("errors", "mistake", "error"),
    "licence": ("license",),
}
"""What people write for our keys, where spelling does not tell."""

_FORBIDDEN: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_NAMES: Final = {"str": "text", "int": "a whole number", "float": "a number", "bool": "true or false"}
_NAMES_MORE: Final = {"object": "an object {…}", "array": "a list […]", "null": "null"}


def parse_file(
    data: bytes, type_: type[S], place: Place, problems: Problems, first_line: int = 1
) -> Parsed[S] | None:
    """Read one document; what is wrong goes to ``problems``.

    Args:
        data: the file, or one line of it.
        type_: what it should be.
        place: where the data come from.
        problems: takes what was found.
        first_line: number of the first line of ``data`` in its file.

    Returns:
        What could be read, or None where nothing can be made of it.
    """
    before = problems.count
    try:
        value = _parse_json(data, first_line)
        fine = _check_values(value, place, problems)
    except _NotJsonError as error:
        problems.add(place, str(error), error.hint)
        return None
    except RecursionError:
        problems.add(place, "it is nested too deeply to be read.")
        return None
    positions: _Members = {}
    parsed = _parse_struct(value, type_, place, problems, positions) if fine else None
    return None if parsed is None else Parsed(parsed, positions, problems.count == before)


# -- JSON ------------------------------------------------------------------------------------------------------


class _NotJsonError(ValueError):
    def __init__(self, seen: str, hint: str = "") -> None:
        super().__init__(seen)
        self.hint = hint


def _parse_json(data: bytes, first_line: int) -> object:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + first_line
        raise _NotJsonError(
            f"not UTF-8: byte 0x{data[error.start]:02x} in line {line}.", "save the file as UTF-8"
        ) from None
    if not text.strip():
        raise _NotJsonError("the file is empty.", "write a JSON document or remove the file")
    try:
        value: object = json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant)
    except json.JSONDecodeError as error:
        seen = text[error.pos : error.pos + 30].split("\n")[0]
        raise _NotJsonError(
            f"not valid JSON: {error.msg} in line {error.lineno + first_line - 1}, column {error.colno}"
            + (f", at {seen!r}." if seen.strip() else ", where the text ends."),
            _suggest_repair(error),
        ) from None
    except _NotJsonError:
        raise
    except ValueError as error:  # numbers of thousands of digits
        raise _NotJsonError(f"not readable as JSON: {error}.") from None
    return value


def _suggest_repair(error: json.JSONDecodeError) -> str:
    """Say what most often is the reason: an editor's curly quotes, or a comma that lacks or is too many."""
    here = error.doc[error.pos : error.pos + 1]
    before = error.doc[: error.pos].rstrip()[-1:]
    if here and here in "“”„‟‘’«»":
        return 'use straight quotes (") in place of the curly ones'
    if here == "'":
        return 'use double quotes (") in place of single ones'
    if here and error.msg == "Expecting ',' delimiter":
        return "a comma, quote or bracket is missing before this place"
    if before == "," or error.msg.startswith("Illegal trailing comma"):
        return "remove the comma before the closing bracket"
    return "is the file complete? a comma, quote or bracket may be missing or too many"


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _NotJsonError(f"the key '{twice[:60]}' occurs twice in one object.", "keep one of them")
    return values


def _constant(name: str) -> Never:
    raise _NotJsonError(f"{name} is not a JSON number.", "leave the key out where the value is not known")


def _check_values(value: object, place: Place, problems: Problems) -> bool:
    """Make sure that texts can be stored and shown and that numbers are finite."""
    if isinstance(value, dict):
        keys = [_check_values(key, place, problems) for key in value]
        values = [_check_values(v, place / key, problems) for key, v in value.items()]
        return all(keys) and all(values)
    if isinstance(value, list):
        members = [_check_values(v, place / i, problems) for i, v in enumerate(value)]
        return all(members)
    if isinstance(value, str) and len(value) > MAX_TEXT:
        problems.add(place, f"a text of {len(value):,} characters; at most {MAX_TEXT:,} are read.")
        return False
    if isinstance(value, str) and (found := _FORBIDDEN.search(value)):
        problems.add(place, f"the text holds the character U+{ord(found[0]):04X}, which no file should hold.")
        return False
    if isinstance(value, float) and not math.isfinite(value):
        problems.add(place, "the number is too large to be read.")
        return False
    return True


# -- shape -----------------------------------------------------------------------------------------------------


def _parse_struct(
    value: object, type_: type[S], place: Place, problems: Problems, positions: _Members | None = None
) -> S | None:
    """Read an object; broken members of its lists are left out where ``positions`` takes note of the others."""
    if not isinstance(value, dict):
        problems.add(place, f"expected an object {{…}}, found {_describe(value)}.")
        return None
    known = set(type_.__struct_encode_fields__)
    given = {key: item for key, item in value.items() if key in known}
    for key in value.keys() - known:
        problems.add(place, f"unknown key '{key[:60]}'.", partial(_suggest_key, key, known))
    members = {
        key: [_parse_struct(v, part, place / key / i, problems) for i, v in enumerate(given[key])]
        for key, part in _PARTS.get(type_, {}).items()
        if isinstance(given.get(key), list)
    }
    try:
        parsed = msgspec.convert(given | dict.fromkeys(members, ()), type_)
    except (msgspec.ValidationError, OverflowError) as error:
        _add_mismatch(str(error), given, place, problems)
        return None
    kept = {key: [i for i, m in enumerate(built) if m is not None] for key, built in members.items()}
    if positions is not None:
        positions.update({key: tuple(where) for key, where in kept.items()})
    elif any(len(kept[key]) < len(built) for key, built in members.items()):
        return None
    return msgspec.structs.replace(parsed, **{k: tuple(members[k][i] for i in kept[k]) for k in members})


def _suggest_key(key: str, known: set[str]) -> str:
    folded = key.casefold()
    close = next((ours for ours, theirs in _OTHER_WORDS.items() if ours in known and folded in theirs), None)
    close = close or nearest(key, sorted(known))
    if folded == "before" and "after" in known:
        return "say it from the other end: \"after\": […] at the later step, or a pair in 'edges'"
    return f"did you mean '{close}'?" if close else f"known here: {', '.join(sorted(known - {'$schema'}))}"


def _add_mismatch(message: str, given: dict[str, Any], place: Place, problems: Problems) -> None:
    """Translate what msgspec says into the words of the documentation."""
    what, _, where = message.partition(" - at `$")
    value: Any = given
    for name, index in re.findall(r"\.([^.\[]+)|\[(\d*|\.\.\.)\]", where.rstrip("`")):
        if index == "...":
            break
        place = place / (name or int(index))
        value = value[name or int(index)] if value is not None else None
    if missing := re.fullmatch(r"Object missing required field `(.+)`", what):
        problems.add(place, f"the key '{missing[1]}' is missing.")
    elif expected := re.match(r"Expected `(.+?)`, got", what):
        kinds = [_NAMES.get(k) or _NAMES_MORE.get(k, k) for k in expected[1].split(" | ")]
        problems.add(place, f"expected {' or '.join(kinds)}, found {_describe(value)}.")
    else:
        problems.add(place, f"{what}, found {_describe(value)}.")


def _describe(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"the text '{value[:60]}{'…' if len(value) > 60 else ''}'"
        case int() | float():
            return f"the number {str(value)[:40]}"
        case list():
            return f"a list of {len(value)}"
        case _:
            return "an object"


def nearest(word: str, choices: list[str]) -> str | None:
    """Return the choice that looks most like a word, None when nothing does."""
    if len(word) > 300:
        return None
    lowered = {choice.casefold(): choice for choice in reversed(choices)}
    close = get_close_matches(word.casefold(), list(lowered), n=1, cutoff=0.6)
    return lowered[close[0]] if close else None
