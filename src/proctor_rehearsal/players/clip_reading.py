"""What a request about a question about a clip is: its role, fences, lines of what is known, options, and our own words.

Roles are told by the labels of the fences (pairs, categories and reviews by our words as well), so templates of the user's own are
understood as long as they keep them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from proctor.ask.clip.record import CATEGORIES
from proctor_rehearsal.players.clip_scene import Line
from proctor_rehearsal.players.prompt import Prompt, named_by, open_fences, tokens_of, without
from proctor_rehearsal.standin.call import Call

__all__ = ["ClipAsked", "ClipRole", "read_clip_call", "read_line"]

ClipRole = Literal[
    "pairs", "category", "unspecific", "tricky", "hallucination", "blind", "consistency",
    "write", "pick", "vote", "choose", "match", "open", "review",
]  # fmt: skip

_BY_LABEL: Final[Mapping[str, ClipRole]] = {
    "question for specificity": "unspecific",
    "question for fairness": "tricky",
    "question for support": "hallucination",
    "question without context": "blind",
    "compared question": "consistency",
    "choice question": "choose",
    "matched question": "match",
    "open question": "open",
}
_ASKED: Final = (*_BY_LABEL, "question")
_NUMBERED = re.compile(r"(.+) (\d+)")
_REVIEWS = re.compile(r'"one_meaning"')
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
class ClipAsked(Prompt):
    """A request, read.

    Attributes:
        role: what is asked for.
        lines: what is known, in the order shown; empty where nothing is.
    """

    role: ClipRole
    lines: tuple[Line, ...]

    @property
    def question(self) -> str:
        """The question that it is about; empty where there is none."""
        return next((self.blocks[label] for label in _ASKED if label in self.blocks), "")

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


def read_clip_call(call: Call) -> ClipAsked | None:
    """Read a request; None where it is none of these."""
    turns = [turn.text for turn in call.content.turns]
    first = next((n for n, turn in enumerate(call.content.turns) if turn.role == "user"), None)
    if first is None:
        return None
    prompt = f"{call.system}\n{turns[first]}"
    for token in tokens_of(prompt):
        blocks, words = open_fences(prompt, token)
        role = _role(blocks, words)
        if role is not None:
            named = named_by(call, call.model, without(token, "\n".join((call.system, *turns))))
            return ClipAsked(named, blocks, words, len(turns) > first + 1, role, _lines(blocks))
    return None


def _role(blocks: Mapping[str, str], words: str) -> ClipRole | None:
    labels = set(blocks)
    for label, role in _BY_LABEL.items():
        if label in labels:
            return role
    if "question" in labels and _REVIEWS.search(
        words
    ):  # of any kind: what is known of it stands in lines as well
        return "review"
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


def _entries(block: str) -> list[str]:
    return [line.lstrip()[2:] for line in block.split("\n") if line.lstrip().startswith("- ")]


def _lines(blocks: Mapping[str, str]) -> tuple[Line, ...]:
    """Return what is known, whichever role shows it."""
    for label in ("steps", "context lines", "what is known", "choice steps", "entries"):
        if label in blocks:
            return tuple(map(read_line, _entries(blocks[label])))
    found = [(int(m[2]), text) for label, text in blocks.items() if (m := _NUMBERED.fullmatch(label)) and m[1] in ("context line", "entry")]  # fmt: skip
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
