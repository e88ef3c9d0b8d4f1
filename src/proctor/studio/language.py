"""The language of a page: English in the source, others from catalogs under ``languages/`` (gettext's ``.po``, read by Babel).

The language is that of the person (*My account*), else of the project (``proctor studio --language``), where ``auto`` is what the
browser asks for. What people write, recordings and documents are never translated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from proctor.said import Said, capital

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog
    from starlette.requests import Request

    from proctor.verify.desk.records import Person

__all__ = [
    "CATALOGS", "LANGUAGES", "PROGRAMS", "catalog", "choose", "encoded",
    "figures", "language", "look_up", "script_words", "speak", "translated", "when_text"
]  # fmt: skip

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "de": "Deutsch"}
"""Languages of the pages, each by its own name."""
CATALOGS: Final = Path(str(files("proctor.studio"))) / "languages"
PROGRAMS: Final = "/api/"
"""How addresses for programs begin: they take tokens and no cookies, and are never answered with a page."""
_NOW: Final[ContextVar[str]] = ContextVar("language", default="en")


def language() -> str:
    """Return the language of the request that is being answered."""
    return _NOW.get()


def speak(code: str) -> None:
    """Answer this request in a language."""
    _NOW.set(code if code in LANGUAGES else "en")


def choose(request: Request, person: Person | None, project: str) -> str:
    """Return the language for a request.

    Args:
        request: whose browser says what it prefers; programs are answered in English.
        person: who is signed in, None for nobody.
        project: the project's language, "auto" for none.
    """
    if request.scope.get("path", "").startswith(PROGRAMS):
        return "en"
    own = person.settings.get("language") if person is not None else None
    if own in LANGUAGES:
        return str(own)
    if project in LANGUAGES:
        return project
    return _accepted(request.headers.get("accept-language", ""))


def _accepted(header: str) -> str:
    """Return the first of our languages by a browser's preference (RFC 9110, section 12.5.4)."""
    wishes: list[tuple[float, int, str]] = []
    for place, wish in enumerate(header[:400].split(",")):
        name, _, quality = wish.strip().lower().partition(";")
        match = re.fullmatch(r"\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*", quality) if quality else None
        weight = float(match[1]) if match else 0.0 if quality else 1.0
        code = name.strip().partition("-")[0]
        if code in LANGUAGES and weight:
            wishes.append((-weight, place, code))
    return min(wishes)[2] if wishes else "en"


# -- sentences -------------------------------------------------------------------------------------------------


def translated(text: object) -> object:
    """Return a sentence in the language of the request, values filled in; anything else as it is."""
    if not isinstance(text, Said):
        return text
    pattern = look_up(text.pattern, text.many, _count(text.values), text.about)
    if not text.values:
        return pattern
    return _FILLED.vformat(pattern, (), {name: translated(value) for name, value in text.values.items()})


class _Filled(Formatter):
    """Fills values in; numbers are written as the language has them, and what translations begin with as sentences do."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        if format_spec == "capital":
            return capital(value)
        shown = format(value, format_spec)
        return figures(shown) if format_spec else shown


def figures(number: str) -> str:
    """Return a number that is written in English, ``1,234.5`` or ``.5``, as the language of the request has it."""
    if language() == "en":
        return number
    return re.sub(r"(?<!\d)\.(?=\d)", "0.", number).translate(_signs(language()))


@cache
def _signs(code: str) -> dict[int, str]:
    """Return what a language writes where English has the comma of thousands and the decimal point."""
    from babel.numbers import get_decimal_symbol, get_group_symbol

    return str.maketrans({",": get_group_symbol(code), ".": get_decimal_symbol(code)})


_FILLED: Final = _Filled()


def _count(values: Mapping[str, object]) -> int:
    n = values.get("n")
    return n if isinstance(n, int) else 2


def look_up(pattern: str, many: str = "", n: int = 1, about: str = "") -> str:
    """Return the pattern in the language of the request; the English one where there is no translation."""
    english = many if many and n != 1 else pattern
    if language() == "en":
        return english
    found = _words(language()).get((about, pattern))
    if found is None:
        return english
    return found if isinstance(found, str) else found[bool(many) and n != 1]


@cache
def catalog(code: str) -> Catalog:
    """Return the catalog of a language."""
    from babel.messages.pofile import read_po

    with (CATALOGS / f"{code}.po").open("rb") as file:
        return read_po(file, locale=code)


@cache
def _words(code: str) -> Mapping[tuple[str, str], str | tuple[str, str]]:
    """Return the translations of a language by context and English pattern; of two forms, that for one is first."""
    found: dict[tuple[str, str], str | tuple[str, str]] = {}
    for message in catalog(code):
        if not message.id or not message.string or message.fuzzy:
            continue
        about = str(message.context or "")
        if isinstance(message.id, str):
            found[about, message.id] = str(message.string)
        elif all(message.string):
            found[about, message.id[0]] = (str(message.string[0]), str(message.string[1]))
    return found


@cache
def script_words(code: str) -> bytes:
    """Return the translations of what scripts say, as a script that pages load before the others."""
    words = {}
    for message in catalog(code):
        name = message.id if isinstance(message.id, str) else message.id[0] if message.id else ""
        found = _words(code).get((str(message.context or ""), name))
        if found is not None and any(where.endswith(".js") for where, _ in message.locations):
            words[f"{message.context}|{name}" if message.context else name] = found
    return b"globalThis.WORDS = " + msgspec.json.encode(words) + b";\n"


# -- what leaves the server --------------------------------------------------------------------------------------


def encoded(value: object) -> bytes:
    """Return a value as JSON, its sentences in the language of the request."""
    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: object) -> Any:
    if isinstance(value, Said):
        return translated(value)
    raise NotImplementedError(f"no JSON of {type(value).__name__}")


def when_text(at: float) -> str:
    """Return a day and a time in the server's zone, ``20 Nov 2026, 12:04``."""
    return _dated(at, "MMM")


def date_text(at: float) -> str:
    """Return the same with the month in full, ``20 November 2026, 12:04``."""
    return _dated(at, "MMMM")


def _dated(at: float, month: str) -> str:
    when = datetime.fromtimestamp(at).astimezone()
    if language() == "en":
        return when.strftime(f"%-d {'%b' if month == 'MMM' else '%B'} %Y, %H:%M")
    from babel.dates import format_datetime

    return format_datetime(when, f"d. {month} y, HH:mm", locale=language())
