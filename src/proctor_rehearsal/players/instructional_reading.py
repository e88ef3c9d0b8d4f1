"""What a request about instructional questions is: its role, fences, lines of what is known, options, and our own words.

Roles are told by the labels of the fences (pairs and categories by our words as well), so templates of the user's own are
understood as long as they keep them.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from proctor.generate.instructional.record import CATEGORIES
from proctor_rehearsal.players.instructional_scene import Line
from proctor_rehearsal.standin.call import Call

__all__ = ["InstructionalAsked", "InstructionalRole", "read_instructional_call", "read_line"]

InstructionalRole = Literal[
    "pairs", "category", "unspecific", "tricky", "hallucination", "blind", "consistency",
    "write", "pick", "vote", "choose", "open",
]  # fmt: skip

_BY_LABEL: Final[Mapping[str, InstructionalRole]] = {
    "question for specificity": "unspecific",
    "question for fairness": "tricky",
    "question for support": "hallucination",
    "question without context": "blind",
    "compared question": "consistency",
    "choice question": "choose",
    "open question": "open",
}
_ASKED: Final = (*_BY_LABEL, "question")
_RULE = re.compile(r"both carrying the code\s+([0-9a-f]{16})\b")
_MARKER = re.compile(r"<<<(BEGIN|END) ([a-z][a-z0-9 -]{0,40}) ([0-9a-f]{16})>>>")
_NUMBERED = re.compile(r"(.+) (\d+)")
_SAME: Final = "0" * 16
_PAIRS = re.compile(r'"step_ids"')
_KIND = re.compile(rf"^- ({'|'.join(CATEGORIES)})\b", re.MULTILINE)
_OPTION = re.compile(r"\(?([A-Z])[.):]\s+(.*)")

_TIMES: Final = r"(\d+(?:\.\d+)?)"
_PIPED = re.compile(rf"(?P<id>\S+) \| {_TIMES}-{_TIMES} s \| (?P<text>.*)")
_FILTERED = re.compile(rf"(?P<id>\S+): {_TIMES} to {_TIMES} s: (?P<text>.*)")
_DONE = re.compile(rf"(?P<id>\S+): done, (?:{_TIMES} to {_TIMES} s: )?(?P<text>.*)")
_CHOICE = re.compile(rf"(?P<id>\S+) \({_TIMES} s to {_TIMES} s\): (?P<text>.*)")
_PLAIN = re.compile(r"(?P<id>\S{1,200}?)(?: \([^()]*\))?: (?P<text>.*)", re.DOTALL)
_TIMED: Final = (_PIPED, _FILTERED, _DONE, _CHOICE)
_ASIDE = re.compile(
    r"\s*(?:\| (?:kind|said meanwhile): .*|\((?:said meanwhile|went wrong|only after)\b.*\)|\[.*\])$"
)


@dataclass(frozen=True, slots=True)
class InstructionalAsked:
    """A request, read.

    Attributes:
        role: what is asked for.
        call: the request under a name that does not depend on the fences' token.
        blocks: fenced texts by label, escaped as they stand there.
        words: our own words around them.
        lines: what is known, in the order shown; empty where nothing is.
        again: True for a reply that had to be asked for once more.
    """

    role: InstructionalRole
    call: Call
    blocks: Mapping[str, str]
    words: str
    lines: tuple[Line, ...]
    again: bool

    @property
    def question(self) -> str:
        """The question that it is about; empty where there is none."""
        return next((self.blocks[label] for label in _ASKED if label in self.blocks), "")

    def each(self, label: str) -> tuple[str, ...]:
        """Return the texts of numbered fences (``proposal 1``, ``proposal 2``, ...)."""
        found: list[str] = []
        while (text := self.blocks.get(f"{label} {len(found) + 1}")) is not None:
            found.append(text)
        return tuple(found)

    def entries(self, label: str) -> tuple[str, ...]:
        """Return the entries of a fenced list; none where there is no such fence."""
        return tuple(_entries(self.blocks.get(label, "")))

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """Letters and texts of the options, in the order shown."""
        found = map(_OPTION.fullmatch, self.entries("options") or self.entries("choice options"))
        return tuple((match[1], match[2]) for match in found if match)

    @property
    def completes(self) -> bool:
        """True when the prompt ends on an opened bracket, which the reply is to complete."""
        return self.call.last.rstrip().endswith("(")


def read_instructional_call(call: Call) -> InstructionalAsked | None:
    """Read a request; None where it is none of these."""
    turns = [turn.text for turn in call.content.turns]
    first = next((n for n, turn in enumerate(call.content.turns) if turn.role == "user"), None)
    if first is None:
        return None
    prompt = f"{call.system}\n{turns[first]}"
    for token in dict.fromkeys(_RULE.findall(prompt)):
        blocks, words = _open(prompt, token)
        role = _role(blocks, words)
        if role is not None:
            steady = _steady(call, "\n".join((call.system, *turns)).replace(token, _SAME))
            lines = _lines(blocks)
            return InstructionalAsked(role, steady, blocks, words, lines, len(turns) > first + 1)
    return None


def _role(blocks: Mapping[str, str], words: str) -> InstructionalRole | None:
    labels = set(blocks)
    for label, role in _BY_LABEL.items():
        if label in labels:
            return role
    if "right answer" in labels and "question" in labels:
        return "pick" if "proposal 1" in labels else "write"
    if {"question", "options"} <= labels:
        return "vote"
    if "steps" in labels and _PAIRS.search(words):
        return "pairs"
    # Two kinds at least: somebody else's list may well have an entry "other".
    if labels == {"question", "answer"} and len(set(_KIND.findall(words))) > 1:
        return "category"
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
            blocks.setdefault(marker[2], text[opened.end() : marker.start()].strip("\n"))
            opened, at = None, marker.end()
    around.append(text[at:] if opened is None else "")
    return blocks, "\n".join(around)


def _entries(block: str) -> list[str]:
    return [line.lstrip()[2:] for line in block.split("\n") if line.lstrip().startswith("- ")]


def _lines(blocks: Mapping[str, str]) -> tuple[Line, ...]:
    """Return what is known, whichever role shows it."""
    for label in ("steps", "context lines", "what is known", "choice steps"):
        if label in blocks:
            return tuple(map(read_line, _entries(blocks[label])))
    found = [(int(m[2]), text) for label, text in blocks.items() if (m := _NUMBERED.fullmatch(label)) and m[1] == "context line"]  # fmt: skip
    return tuple(read_line(text) for _, text in sorted(found))


def read_line(text: str) -> Line:
    """Read one line of what is known in any of the forms in which prompts show them.

    Example:
        >>> read_line("s2 | 3.0-8.5 s | cut the bread | kind: cook")
        Line(id='s2', text='cut the bread', start=3.0, end=8.5, said='kind: cook')
    """
    found = next((match for form in _TIMED if (match := form.fullmatch(text))), None)
    if found is not None:
        start, end = (None if time is None else float(time) for time in (found[2], found[3]))
        return _line(found["id"], found["text"], start, end)
    plain = _PLAIN.fullmatch(text)
    if plain is None:
        return Line("", text)
    instruction = plain["text"].removeprefix("instruction: ")
    return _line(plain["id"], instruction, None, None)


def _line(id_: str, text: str, start: float | None, end: float | None) -> Line:
    bare = text
    while (shorter := _ASIDE.sub("", bare)) != bare:
        bare = shorter
    said = text[len(bare) :].strip(" |")
    return Line(id_, bare.strip(), start, end, said)


def _steady(call: Call, text: str) -> Call:
    """Return the request under a name made of what it says but the token: the same in every workspace."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (call.model, text, *(medium.sha256 for medium in call.media)):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    steady = copy.copy(call)
    steady.key = digest.hexdigest()
    return steady
