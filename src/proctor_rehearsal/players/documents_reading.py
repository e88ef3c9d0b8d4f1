"""What a request for a question about documents, or of evaluation over sources, is about: its role, fences, sources and words.

Roles are told by the labels of the fences, so templates of the user's own are understood as long as they keep them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from proctor_rehearsal.players.documents_facts import ShownSource, shown_source
from proctor_rehearsal.players.prompt import Prompt, named_by, open_fences, tokens_of, without
from proctor_rehearsal.standin.call import Call

__all__ = ["DocumentsAsked", "DocumentsRole", "read_documents_call"]

DocumentsRole = Literal[
    "entity", "question", "combination", "verification", "answer", "mark", "verbalise", "rerank"
]

_KIND = re.compile(r"^Source (\d+)(?: \(([a-z, ]+)\)|, ([^\n:]{1,80}):)", re.MULTILINE)
_OWNER = re.compile(r"^Source (\d+) \([a-z, ]+\), used by question (\d)", re.MULTILINE)
_WANTED = re.compile(r"Choose exactly: ([0-9a-z, ]+)\.")
_STYLE = re.compile(r"^## The style[^\n]*\n+(.+)$", re.MULTILINE)
_TRIPLE = re.compile(r"question \| answer \| numbers")
_VERBALISES = re.compile(r"\bYou put pictures into words\b")
_ANSWERS = re.compile(r"\bYou answer questions from sources\b")
_RERANKS = re.compile(r"\bPut the sources into order\b")


@dataclass(frozen=True, slots=True)
class DocumentsAsked(Prompt):
    """A request, read.

    Attributes:
        role: what is asked for.
        sources: that are shown, by number; examples left out.
        owners: question that each source belongs to, where that is said.
    """

    role: DocumentsRole
    sources: tuple[ShownSource, ...]
    owners: Mapping[int, int]

    @property
    def style(self) -> str:
        """Title of the style, small letters; empty where there is none."""
        found = _STYLE.search(self.words)
        return found[1].strip().lower() if found else ""

    @property
    def wanted(self) -> tuple[int, int, int] | None:
        """How many texts, tables and images are wanted; None when any choice will do."""
        found = _WANTED.findall(self.words)
        if not found:
            return None
        counts = {word.rstrip("s"): int(n) for n, word in re.findall(r"(\d+) ([a-z]+)", found[-1])}
        return counts.get("text", 0), counts.get("table", 0), counts.get("image", 0)


def read_documents_call(call: Call) -> DocumentsAsked | None:
    """Read a request; None where it is none of ours."""
    turns = [turn.text for turn in call.content.turns]
    text = "\n".join((call.system, *turns))
    for token in tokens_of(text):
        blocks, words = open_fences(text, token)
        role = _role(blocks, words)
        if role is not None:
            again = len(turns) > 1 and turns[-1].startswith("Your reply could not be read:")
            owners = {int(n): int(owner) for n, owner in _OWNER.findall(words)}
            named = named_by(call, call.model, without(token, text))
            return DocumentsAsked(named, blocks, words, again, role, _sources(blocks, words), owners)
    return None


def _role(blocks: Mapping[str, str], words: str) -> DocumentsRole | None:
    labels = set(blocks)
    if "part question 1" in labels:
        return "combination"
    if "question to check" in labels:
        return "verification"
    if "question to answer" in labels:
        return "answer"
    if {"marked question", "accepted answer"} <= labels or (
        "answer" in labels and labels & {"model answer", "reference answer"}
    ):
        return "mark"
    if _RERANKS.search(words):
        return "rerank"
    if "question" in labels:
        return "answer" if "source 1" in labels or _ANSWERS.search(words) else None
    if "source 1" in labels:
        return "question" if _TRIPLE.search(words) else "entity"
    return "verbalise" if _VERBALISES.search(words) else None


def _sources(blocks: Mapping[str, str], words: str) -> tuple[ShownSource, ...]:
    kinds = {int(n): (a or b) for n, a, b in _KIND.findall(words)}  # the last ones: examples come first
    found = []
    for label, text in blocks.items():
        number = label.removeprefix("source ")
        if number != label and number.isdigit():
            found.append(shown_source(int(number), _modality(kinds.get(int(number), "text")), text))
    return tuple(sorted(found, key=lambda source: source.number))


def _modality(kind: str) -> str:
    if "image" in kind or "picture" in kind:
        return "image in words" if "words" in kind or "description" in kind else "image"
    return "table" if "table" in kind else "text"
