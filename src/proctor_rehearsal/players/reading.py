"""What a request about a moment is: the role that is asked for, the fenced texts, our own words around them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from proctor_rehearsal.players.prompt import Prompt, named_by, open_fences, tokens_of, without
from proctor_rehearsal.standin.call import Call

__all__ = ["Asked", "Role", "read_call"]

Role = Literal["generator", "predictor", "captioner", "judge", "verifier"]

_NUMBERED = re.compile(r" \d+$")
_GENERATES = re.compile(
    r"^(?:#+ *)?What could the person ask\b|\bYou invent questions for an exam\b", re.MULTILINE
)
_DESCRIBES = re.compile(r"\bYou describe pictures\b|\bwhat the person is doing at this moment\b")
_END = re.compile(r"\b(?:asked at|ends at) (\d+(?:\.\d+)?) s\b")
_TIMES = re.compile(r"\bTheir times: (.*)")
_TIME = re.compile(r"\bat (\d+(?:\.\d+)?) s\b")


@dataclass(frozen=True, slots=True)
class Asked(Prompt):
    """A request, read; its words are those of system prompt and first turn.

    Attributes:
        role: who is asked.
    """

    role: Role

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
    for token in tokens_of(text):
        blocks, words = open_fences(text, token, _unwrapped)
        role = _role(blocks, words, images=sum(a.kind == "image" for a in call.content.attached))
        if role is not None:
            content = call.content
            parts = [content.model, content.system, *(f"{turn.role}: {turn.text}" for turn in turns)]
            named = named_by(call, *(without(token, part) for part in parts))
            return Asked(named, blocks, without(token, words), len(turns) > first + 1, role)
    return None


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
