"""Bytes of a text file to text: byte order mark, what the file declares, UTF-8, or a guess that is told."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from proctor.corpus.ingest.blocks import Problem
from proctor.corpus.ingest.reading import CannotReadError, package

__all__ = ["GUESSED", "Decoded", "decode_text", "told_guess"]

GUESSED: Final = "encoding-guessed"
"""Reason of a problem that keeps nothing out: the file was read."""
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_META: Final = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)
_SAMPLE: Final = 1 << 20
_WESTERN: Final = (
    "àâæçéèêëîïôœùûüÿ áéíñóúü áâãàçéêíóôõúüò äöüß àèéìíîòóùú éèêëïíóöüáúàçôâî åäöéšžüà æøåéóòôêüèöä áðéíóúýþæö "
    "àçèéíïòóúü äõöüšž"
)
"""French, Spanish, Portuguese, German, Italian, Dutch, Swedish and Finnish, Danish and Norwegian, Icelandic, Catalan,
Estonian: letters beyond ASCII, those of common foreign words included."""
_CENTRAL: Final = "ąćęłńóśźż áčďéěíňóřšťúůýž áäčďéíĺľňóôŕšťúýž áéíóöőúüű ăâîşţșț čćđšž ëç"
"""Polish, Czech, Slovak, Hungarian, Romanian, Croatian and Slovene, Albanian."""
_LATIN: Final = (
    ("cp1252", _WESTERN),
    ("iso8859-15", _WESTERN),
    ("cp1250", _CENTRAL),
    ("iso8859-2", _CENTRAL),
    ("cp1254", "çğıöşüâîû"),
    ("cp1257", "ąčęėįšųūž āčēģīķļņšūžōŗ"),
)
"""Encodings and the alphabets that are written in them."""
_MARGIN: Final = 0.05
"""By which another alphabet must fit better than a Western one: names and foreign words."""
_LEAST_FIT: Final = 0.8
_ACCENTED: Final = re.compile(r"[^\W\d_\x00-\x7fªºµˆ¹²³¼½¾]")
_RUN: Final = re.compile(r"[^\W\d_\x00-\x7f]{3,}")
"""Three accented letters in a row: a script of its own in an encoding of its own."""
_WITHIN: Final = re.compile(r"(?<=[^\W\d_])(?:[^\w\s\x00-\x7f’‘–—·…«»“”\xad\xa0]|[¹²³¼½¾])(?=[^\W\d_])")
"""A sign between two letters, where no language has one."""
_RARE: Final = "¤\x80\x82\x83\x84\x85\x86\x87\x91\x92\x93\x94\x95\x96\x97\x99"
"""Where these come out, the bytes mean something else: a euro sign, quotation marks, dashes."""


class Decoded(NamedTuple):
    """A text, the encoding it was in, and whether that was a guess."""

    text: str
    encoding: str
    guessed: bool


def told_guess(decoded: Decoded) -> Iterator[Problem]:
    """Yield a problem where the encoding was a guess."""
    if decoded.guessed:
        yield Problem(GUESSED, f"read as {decoded.encoding}. Save it as UTF-8 to be sure.", "#encoding")


def decode_text(data: bytes, *, html: bool = False) -> Decoded:
    """Decode the bytes of a text file.

    Args:
        data: all of it.
        html: whether a ``<meta charset>`` may say the encoding.

    Raises:
        CannotReadError: if this is no text.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return Decoded(_strictly(data, encoding), encoding.removesuffix("-sig"), guessed=False)
    if b"\0" in data:
        raise CannotReadError(
            "not-text", "it has NUL bytes: is this a binary file? Save it as text in UTF-8."
        )
    try:
        return Decoded(data.decode("utf-8"), "utf-8", guessed=False)
    except UnicodeDecodeError:
        pass
    declared = _META.search(data, 0, 4096) if html else None
    if declared and (text := _as_declared(data, declared[1].decode("ascii"))) is not None:
        return Decoded(text, declared[1].decode("ascii").lower(), guessed=False)
    return _guessed(data)


def _strictly(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise CannotReadError(
            "not-text", f"it begins as {encoding} but is none at byte {error.start}. Save it as UTF-8."
        ) from None


def _as_declared(data: bytes, encoding: str) -> str | None:
    try:
        codec = codecs.lookup(encoding)
        if codec.name == "iso8859-1":  # the web's name for Windows-1252 (encoding.spec.whatwg.org, 4.2)
            codec = codecs.lookup("cp1252")
        return data.decode(codec.name) if codec._is_text_encoding else None  # zip and base64 are codecs too
    except (LookupError, UnicodeDecodeError):
        return None


def _guessed(data: bytes) -> Decoded:
    """Guess over the first megabyte: by alphabets where the letters are Latin ones, else by letter statistics."""
    sample = data[:_SAMPLE]
    names = [name] if (name := _latin_encoding(sample)) else []
    if not names:
        best = package("charset_normalizer").from_bytes(sample).best()
        names = ([best.encoding] if best else []) + ["cp1252"]
    for name in names:
        if (text := _as_declared(data, name)) is not None:
            return Decoded(text, name, guessed=True)
    return Decoded(data.decode("latin-1"), "latin-1", guessed=True)


def _latin_encoding(sample: bytes) -> str | None:
    """Return the encoding in which the accented letters are those of one language, Windows-1252 by preference.

    The same bytes are letters in each of these encodings, so statistics of letters alone take French for Czech. None
    where runs of accented letters speak for another script, or no alphabet has most of the letters.
    """
    western = sample.decode("cp1252", "replace")
    if 10 * sum(map(len, _RUN.findall(western))) > len(_ACCENTED.findall(western)):
        return None
    fits = {encoding: _fit(sample, encoding, languages) for encoding, languages in _LATIN}
    best = max(fits, key=fits.__getitem__)
    if fits["cp1252"] >= fits[best] - _MARGIN:
        best = "cp1252"
    return best if fits[best] >= _LEAST_FIT else None


def _fit(sample: bytes, encoding: str, languages: str) -> float:
    """Return the largest share of accented letters, and of signs within words, that one language's alphabet has."""
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return 0.0
    seen = Counter(_ACCENTED.findall(text.lower()))
    signs = sum(1 for _ in _WITHIN.finditer(text)) + sum(map(text.count, _RARE))
    total = seen.total() + signs
    return (
        max((sum(seen[c] for c in alphabet) / total for alphabet in languages.split()), default=0.0)
        if total
        else 1.0
    )
