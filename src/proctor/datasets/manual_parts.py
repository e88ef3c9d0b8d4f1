"""What readers of manuals share: texts, ids, orders and picture paths as releases have them, taken with care.

Each function returns the value or says what is wrong with it; the reader decides what is lost and tells it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from proctor.datasets.dataset import Log
from proctor.datasets.json_files import decode_json, iter_lines
from proctor.errors import UserError
from proctor.procedure.manual import MODALITIES, Modality, Order

__all__ = [
    "HOPELESS",
    "MAX_ID",
    "ORDER_REASONS",
    "SEMANTICS",
    "BadPartError",
    "Oddities",
    "is_file",
    "iter_objects",
    "parse_id",
    "parse_orders",
    "parse_text",
    "safe_path",
    "seen_as",
]

MAX_ID: Final = 1_000

HOPELESS: Final = 1_000
"""Lines at the beginning of a file after which nothing more is hoped for when none of them can be read."""

SEMANTICS: Final = ("unsaid", "ranks", "order")
"""What a list of ``multiref_gt`` says, for the option of that name: which step is done at each time (``order``), or at
which time each step is done (``ranks``, as the released loader takes it). The two are mixed up unseen, so that nothing is
read while it is unsaid."""

ORDER_REASONS: Final = {
    "semantics-unsaid": "further right orders are left out: the option semantics has to say if they are ranks or orders.",
    "bad-order": "a further right order is no list of the whole numbers 0 to N-1, each once, and is left out.",
    "orders-of-which-section": "further right orders of an article with several sections do not say of which, and are "
    "left out.",
}
"""Meaning of the reasons under which ``parse_orders`` drops."""


class BadPartError(ValueError):
    """A value that cannot be what it should be; the message says what was seen."""


class Oddities:
    """Counts what is odd in one manual, so that it is reported once each and not for every step."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._times: Counter[str] = Counter()

    def add(self, rule: str, seen: str) -> None:
        """Note one oddity and what was seen."""
        self._first.setdefault(rule, seen)
        self._times[rule] += 1

    def tell(self, log: Log, where: str) -> None:
        """Tell each rule once with the first thing seen."""
        for rule, times in self._times.items():
            more = f" (and {times - 1} more)" if times > 1 else ""
            log.find(rule, where, self._first[rule] + more)


def seen_as(value: Any, limit: int = 60) -> str:
    """Return a value as a message can quote it: in ASCII, cut to length."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    try:
        text = ascii(value[: limit + 1] if isinstance(value, str) else value)
    except ValueError:  # thousands of digits
        text = "a huge number"
    return text if len(text) <= limit else f"{text[:limit]}…"


# -- lines -------------------------------------------------------------------------------------------------------


def iter_objects(path: Path, log: Log) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file, one a line, with their numbers; what is none is dropped as ``bad-line``.

    Raises:
        UserError: if the file cannot be read, or the first ``HOPELESS`` lines hold no object: it is another format.
    """
    good = bad = 0
    for number, line in iter_lines(path, log):
        value = _parse_line(line, f"{path.name}:{number}", log)
        if value is not None:
            good += 1
            yield number, value
            continue
        bad += 1
        if not good and bad >= HOPELESS:
            raise UserError(
                f"the first {HOPELESS:,} lines hold no JSON object.",
                where=str(path),
                hint="one JSON object a line was expected",
            )


def _parse_line(line: bytes, place: str, log: Log) -> dict[str, Any] | None:
    try:
        document = decode_json(line, place)
    except UserError as error:
        log.drop(place, "bad-line", error.message)
        return None
    if not isinstance(document.value, dict):
        log.drop(place, "bad-line", f"an object was expected, not {seen_as(document.value)}")
        return None
    document.tell_repeated(log, place)
    return document.value


# -- values ------------------------------------------------------------------------------------------------------


def parse_text(value: Any, name: str, odd: Oddities) -> str:
    """Return a text with white space at its ends removed; null or nothing is noted and becomes an empty text.

    Raises:
        BadPartError: if it is of another type, or holds half characters that cannot be written anywhere.
    """
    if value is None:
        odd.add("missing-text", f"no {name}")
        return ""
    if not isinstance(value, str):
        raise BadPartError(f"{name} is {seen_as(value)}, no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadPartError(f"{name} holds half a character") from None
    return value.strip()


def parse_id(value: Any, name: str) -> str:
    """Return an id.

    Raises:
        BadPartError: if it is no text, empty, too long or does not print.
    """
    if not isinstance(value, str) or not value.strip():
        raise BadPartError(f"{name} is {seen_as(value)}" if value is not None else f"no {name}")
    if len(value) > MAX_ID or not value.isprintable():  # half characters do not print
        raise BadPartError(f"{name} is {seen_as(value)}, {len(value)} characters")
    return value.strip()


def parse_orders(value: Any, semantics: str, where: str, log: Log) -> dict[Modality, tuple[Order, ...]]:
    """Return further right orders by modality; what is none is dropped and reported.

    Args:
        value: a list of lists of numbers, which counts for every modality, or an object of such lists by modality.
        semantics: of the numbers; see ``SEMANTICS``.
        where: the manual.
        log: is told.
    """
    from proctor.metrics.ordering import ranks_to_order

    if value is None:
        return {}
    if semantics == "unsaid":
        log.drop(where, "semantics-unsaid", f"multiref_gt is {seen_as(value)}")
        return {}
    found: dict[Modality, tuple[Order, ...]] = {}
    for modality, orders in _by_modality(value, where, log):
        kept: list[Order] = []
        for order in orders:
            if not (
                isinstance(order, list)
                and len(order) > 0
                and all(type(i) is int for i in order)
                and sorted(order) == list(range(len(order)))
            ):
                log.drop(where, "bad-order", f"{modality}: {_shown_order(order)}")
            else:
                kept.append(tuple(ranks_to_order(order) if semantics == "ranks" else order))
        if kept:
            found[modality] = tuple(kept)
    return found


def _by_modality(value: Any, where: str, log: Log) -> Iterator[tuple[Modality, list[Any]]]:
    named = value if isinstance(value, dict) else dict.fromkeys(MODALITIES, value)
    for modality in named.keys() - set(MODALITIES):
        log.drop(where, "bad-order", f"there is no modality {seen_as(modality)}")
    for modality in MODALITIES:
        if modality not in named:
            continue
        if isinstance(named[modality], list):
            yield modality, named[modality]
        else:
            log.drop(where, "bad-order", f"{modality}: {seen_as(named[modality])}")


def _shown_order(order: Any) -> str:
    if isinstance(order, list):
        return f"[{', '.join(seen_as(i, 20) for i in order[:10])}{', …' if len(order) > 10 else ''}]"
    return seen_as(order)


# -- files -------------------------------------------------------------------------------------------------------


def safe_path(value: str) -> str:
    """Return the path of a picture as a relative one, a web address without its scheme.

    Raises:
        BadPartError: if it is empty, does not print, or leads out of the folder.
    """
    text = value.split("://", 1)[-1].split("?", 1)[0].lstrip("/")
    if not text or not text.isprintable() or len(text) > MAX_ID or "\\" in text:
        raise BadPartError(f"the path of an image is {seen_as(value)}")
    parts = [
        part for part in text.split("/") if part not in ("", ".")
    ]  # a Path would take half of all reading
    if not parts or ".." in parts or ":" in parts[0]:
        raise BadPartError(f"the path of an image is {seen_as(value)}")
    return "/".join(parts)


def is_file(path: str) -> bool:
    """True for a file that is there; False for whatever cannot be one (a name that is too long, a loop of links)."""
    return os.path.isfile(path)  # noqa: PTH113 - a Path for each of a million and a half pictures takes longer than looking
