"""What every played role reads out of a request: fenced texts, our own words around them, and a name for its draws.

Only fences with the token that the prompt's own rule names are taken for fences. What stands in them was escaped, so the
texts of a workspace are escaped as well before they are compared with it: nothing is ever unescaped.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from proctor_rehearsal.standin.call import Call

__all__ = ["Prompt", "named_by", "open_fences", "tokens_of", "without"]

_RULE = re.compile(r"both carrying the code\s+([0-9a-f]{16})\b")
_MARKER = re.compile(r"<<<(BEGIN|END) ([a-z][a-z0-9 -]{0,40}) ([0-9a-f]{16})>>>")
_SAME: Final = "0" * 16


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request, read.

    Attributes:
        call: the request under a name that does not depend on the fences' token: what is drawn from it is the same in every
            workspace.
        blocks: fenced texts by label, escaped as they stand there.
        words: our own words around them.
        again: True for a reply that had to be asked for once more.
    """

    call: Call
    blocks: Mapping[str, str]
    words: str
    again: bool

    def each(self, label: str) -> tuple[str, ...]:
        """Return the texts of numbered fences (``proposal 1``, ``proposal 2``, ...)."""
        found: list[str] = []
        while (text := self.blocks.get(f"{label} {len(found) + 1}")) is not None:
            found.append(text)
        return tuple(found)


def tokens_of(text: str) -> Iterable[str]:
    """Return the tokens that the rules of a prompt name."""
    return dict.fromkeys(_RULE.findall(text))


def without(token: str, text: str) -> str:
    """Return a text with the same zeros in place of the token."""
    return text.replace(token, _SAME)


def open_fences(
    text: str, token: str, unwrap: Callable[[str], str] = lambda block: block.strip("\n")
) -> tuple[dict[str, str], str]:
    """Return what is in the fences with this token, and what is around them.

    Args:
        text: of the prompt.
        token: of its fences.
        unwrap: takes away the line breaks that a fence adds.
    """
    blocks: dict[str, str] = {}
    around, at = [], 0
    opened: re.Match[str] | None = None
    for marker in _MARKER.finditer(text):
        if marker[3] != token:
            continue
        if opened is None and marker[1] == "BEGIN":
            opened = marker
            around.append(text[at : marker.start()])
        elif opened is not None and marker[1] == "END" and marker[2] == opened[2]:
            blocks.setdefault(marker[2], unwrap(text[opened.end() : marker.start()]))
            opened, at = None, marker.end()
    around.append(text[at:] if opened is None else "")
    return blocks, "\n".join(around)


def named_by(call: Call, *parts: str) -> Call:
    """Return the request under a name made of these parts and of its media: the same in every workspace.

    Draws of one request are the same to a server, and so they are to what is played.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in (*parts, *(medium.sha256 for medium in call.media)):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    named = copy.copy(call)
    named.key = digest.hexdigest()
    return named
