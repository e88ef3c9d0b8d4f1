"""XML of other tools to elements, and back: no document types, no entities, no deep nesting.

A document type is the door to entity bombs and to files outside; no annotation tool writes one, so it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from proctor.errors import UserError

__all__ = ["MAX_XML_BYTES", "clean_text", "parse_xml", "render_element"]

MAX_XML_BYTES: Final = 64 * 2**20
_MAX_DEPTH: Final = 200
_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_TEXT: Final = {"\r": "&#13;"}
_IN_ATTRIBUTE: Final = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}


class _RefusedError(Exception):
    pass


def parse_xml(data: bytes, where: str) -> Element:
    """Return the root element.

    Raises:
        UserError: if it is no XML, has a document type, is nested deeper than 200 or larger than 64 MB.
    """
    if len(data) > MAX_XML_BYTES:
        raise UserError(
            f"the file has {len(data) >> 20:,} MB, at most {MAX_XML_BYTES >> 20} are read.", where=where
        )
    builder = TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.ordered_attributes = False
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MAX_DEPTH:
            raise _RefusedError(f"elements are nested deeper than {_MAX_DEPTH}")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: Any) -> NoReturn:
        raise _RefusedError("it has a document type (<!DOCTYPE …>), which may hide entities; none is read")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
        return builder.close()
    except _RefusedError as error:
        raise UserError(f"{error}.", where=where, hint="remove it, or export the file again") from None
    except (expat.ExpatError, LookupError, ValueError, AssertionError) as error:
        raise UserError(f"not XML: {error}.", where=where, hint="is the file complete?") from None


def clean_text(text: str) -> tuple[str, int]:
    """Return the text with U+FFFD for every character that XML cannot hold, and how many those were."""
    return _FORBIDDEN.subn("\ufffd", text)


def render_element(
    tag: str, attributes: Mapping[str, str], inside: str | Iterable[str] | None = None, *, indent: int = 0
) -> str:
    """Return one element on lines of its own; ``inside`` is a text, or elements already rendered, or nothing."""
    space = "    " * indent
    head = f"{space}<{tag}" + "".join(f" {k}={quoteattr(v, _IN_ATTRIBUTE)}" for k, v in attributes.items())
    if inside is None:
        return f"{head}/>\n"
    if isinstance(inside, str):
        return f"{head}>{escape(inside, _IN_TEXT)}</{tag}>\n"
    return f"{head}>\n{''.join(inside)}{space}</{tag}>\n"
