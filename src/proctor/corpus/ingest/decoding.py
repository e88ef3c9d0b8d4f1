"""Bytes of a text file to text: byte order mark, what the file declares, UTF-8, or a guess that is told."""

from __future__ import annotations

import codecs
import re
from typing import Final, NamedTuple

from proctor.corpus.ingest.reading import CannotReadError, package

__all__ = ["Decoded", "decode_text"]

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_META: Final = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)
_SAMPLE: Final = 1 << 20


class Decoded(NamedTuple):
    """A text, the encoding it was in, and whether that was a guess."""

    text: str
    encoding: str
    guessed: bool


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
        return data.decode(codec.name) if codec._is_text_encoding else None  # zip and base64 are codecs too
    except (LookupError, UnicodeDecodeError):
        return None


def _guessed(data: bytes) -> Decoded:
    """Guess by letter statistics over the first megabyte; Windows-1252 where they do not say."""
    best = package("charset_normalizer").from_bytes(data[:_SAMPLE]).best()
    names = ([best.encoding] if best else []) + ["cp1252"]
    for name in names:
        if (text := _as_declared(data, name)) is not None:
            return Decoded(text, name, guessed=True)
    return Decoded(data.decode("latin-1"), "latin-1", guessed=True)
