"""What a request is about, read out of its prompt: the role that is asked for, the fenced texts, our own words around them.

Only fences with the token that the prompt's own rule names are taken for fences. What stands in them was escaped, so the
texts of a workspace are escaped as well before they are compared with it: nothing is ever unescaped.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from proctor_rehearsal.standin.call import Call

__all__ = ["Asked", "Role", "read_call"]

Role = Literal["generator", "predictor", "captioner", "judge", "verifier"]

_RULE = re.compile(r"both carrying the code\s+([0-9a-f]{16})\b")
_MARKER = re.compile(r"<<<(BEGIN|END) ([a-z][a-z0-9 -]{0,40}) ([0-9a-f]{16})>>>")
_NUMBERED = re.compile(r" \d+$")
_GENERATES = re.compile(
    r"^(?:#+ *)?What could the person ask\b|\bYou invent questions for an exam\b", re.MULTILINE
)
_DESCRIBES = re.compile(r"\bYou describe pictures\b|\bwhat the person is doing at this moment\b")
_END = re.compile(r"\b(?:asked at|ends at) (\d+(?:\.\d+)?) s\b")
_TIMES = re.compile(r"\bTheir times: (.*)")
_TIME = re.compile(r"\bat (\d+(?:\.\d+)?) s\b")
_SAME: Final = "0" * 16


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, read.

    Attributes:
        role: who is asked.
        call: the request under a name that does not depend on the fences' token: what is drawn from it is the same in every
            workspace.
        blocks: fenced texts by label, escaped as they stand there.
        words: our own words around them, of system prompt and first turn.
        round: 1, or 2 for a reply that had to be asked for again.
    """

    role: Role
    call: Call
    blocks: Mapping[str, str]
    words: str
    round: int = 1

    def each(self, label: str) -> tuple[str, ...]:
        """Return the texts of numbered fences (``reference answer 1``, ``reference answer 2``, ...)."""
        found: list[str] = []
        while (text := self.blocks.get(f"{label} {len(found) + 1}")) is not None:
            found.append(text)
        return tuple(found)

    def entries(self, label: str) -> tuple[str, ...] | None:
        """Return the entries of a fenced list without what is indented below them; None where there is no such fence."""
        block = self.blocks.get(label)
        if block is None:
            return None
        return tuple(line[2:] for line in block.split("\n") if line.startswith("- "))

    @property
    def end(self) -> str:
        """The moment of the question as the prompt prints it, seconds; empty where it does not say."""
        found = _END.search(self.words)
        return found[1] if found else ""

    @property
    def frame_times(self) -> tuple[float, ...]:
        """Times of the frames that are shown, seconds."""
        found = _TIMES.search(self.words)
        return tuple(float(time) for time in _TIME.findall(found[1])) if found else ()


def read_call(call: Call) -> Asked | None:
    """Read a request; None where it is none of our prompts."""
    turns = call.content.turns
    first = next((n for n, turn in enumerate(turns) if turn.role == "user"), None)
    if first is None:
        return None
    text = f"{call.system}\n{turns[first].text}"
    for token in dict.fromkeys(_RULE.findall(text)):
        blocks, words = _open(text, token)
        role = _role(blocks, words, images=sum(a.kind == "image" for a in call.content.attached))
        if role is not None:
            said = words.replace(token, _SAME)
            return Asked(role, _steady(call, token), blocks, said, 1 if len(turns) == first + 1 else 2)
    return None


def _open(text: str, token: str) -> tuple[dict[str, str], str]:
    """Return what is in the fences with this token, and what is around them."""
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
            blocks.setdefault(marker[2], _unwrapped(text[opened.end() : marker.start()]))
            opened, at = None, marker.end()
    around.append(text[at:] if opened is None else "")
    return blocks, "\n".join(around)


def _unwrapped(block: str) -> str:
    """Take away the line breaks that a fence adds; a text on one line has none."""
    return block[1:-1] if len(block) >= 2 and block[0] == block[-1] == "\n" else block.strip("\n")


def _role(blocks: Mapping[str, str], words: str, *, images: int) -> Role | None:
    labels = {_NUMBERED.sub("", label) for label in blocks}
    if "reference answer" in labels and "answer" in blocks:
        return "judge"
    if "question" in blocks:
        return "verifier" if "answer 1" in blocks else "predictor"
    if _GENERATES.search(words):
        return "generator"
    return "captioner" if images and _DESCRIBES.search(words) else None


def _steady(call: Call, token: str) -> Call:
    """Return the request under a name made of everything that it says but the token."""
    content = call.content
    parts = [content.model, content.system, *(f"{turn.role}: {turn.text}" for turn in content.turns)]
    digest = hashlib.blake2b(digest_size=16)
    for part in (*(p.replace(token, _SAME) for p in parts), *(m.sha256 for m in call.media)):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    steady = copy.copy(call)
    steady.key = digest.hexdigest()
    return steady
