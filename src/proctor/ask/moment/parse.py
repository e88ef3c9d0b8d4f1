"""The text that a model answers with to question-and-answers pairs.

The asked form is a nested list, as in ProMQA::

    * question
        * answer
        * another answer

Models vary it: other bullets, numbers, tabs, bold, quotes, ``Q:``/``A:`` tags, code fences, a preamble, CRLF.
All of that is understood; what is not is listed as a problem and never becomes a question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["ParsedPair", "ParsedResponse", "parse_pairs"]

_MAX_CHARS: Final = 200_000
_BULLET = re.compile(r"^(?P<indent>[ \t]*)(?:[*\-•‣◦·–]|\d{1,3}[.)])[ \t]+(?P<text>\S.*)$")
_TAG = re.compile(
    r"^[\[(<]?(?P<tag>q(?:uestion)?|a(?:nswer)?)[ ]?[\d.\-]{0,5}[\])>]?[ ]?:[ ]*|^\[(?P<box>question|answer)\][ ]*",
    re.I,
)
_PLACEHOLDER = re.compile(r"<[a-z]+[a-z0-9 _-]{0,30}>|\[(?:step|question|answer)[ _]?[a-z0-9]{0,3}\]", re.I)


@dataclass(frozen=True, slots=True)
class ParsedPair:
    """One question with its answers, trimmed."""

    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParsedResponse:
    """All pairs in the order of the text, and what could not be used: (reason, text) pairs.

    Reasons: ``stray_line``, ``answer_without_question``, ``question_without_answer``, ``placeholder``,
    ``duplicate``, ``too_long``.
    """

    pairs: tuple[ParsedPair, ...]
    problems: tuple[tuple[str, str], ...] = ()


def parse_pairs(response: str) -> ParsedResponse:
    """Parse a response; never raises, whatever the text."""
    problems: list[tuple[str, str]] = []
    if len(response) > _MAX_CHARS:
        problems.append(("too_long", f"{len(response)} characters, only the first {_MAX_CHARS} are read"))
        response = response[:_MAX_CHARS]
    drafts: list[tuple[str, list[str]]] = []
    base: int | None = None
    for line in response.splitlines():
        if not line.strip() or line.strip().startswith("```"):
            continue
        role, indent, text = _read_line(line)
        if role == "stray":
            problems.append(("stray_line", text[:200]))
            continue
        if role == "bullet":
            base = indent if base is None else min(base, indent)
            role = "question" if indent == base else "answer"
        if role == "question":
            drafts.append((text, []))
        elif drafts:
            drafts[-1][1].append(text)
        else:
            problems.append(("answer_without_question", text[:200]))
    return _checked(drafts, problems)


def _read_line(line: str) -> tuple[str, int, str]:
    """Return (role, indent in columns, text); the role is bullet, question, answer or stray."""
    match = _BULLET.match(line)
    body = match["text"] if match else line.strip()
    indent = len(match["indent"].expandtabs(4)) if match else 0
    body = body.replace("**", "").strip()
    tag = _TAG.match(body)
    if tag:
        named = (tag["tag"] or tag["box"] or "").lower()
        return ("question" if named.startswith("q") else "answer"), indent, _unquoted(body[tag.end() :])
    return ("bullet" if match else "stray"), indent, _unquoted(body)


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] + text[-1] in ('""', "“”", "''", "‘’") and text[0] not in text[1:-1]:
        return text[1:-1].strip()
    return text


def _checked(drafts: Sequence[tuple[str, list[str]]], problems: list[tuple[str, str]]) -> ParsedResponse:
    pairs: list[ParsedPair] = []
    for question, answers in drafts:
        kept = tuple(a for a in answers if a)
        if not question or not kept:
            problems.append(("question_without_answer", question[:200]))
        elif any(_PLACEHOLDER.search(t) for t in (question, *kept)):
            problems.append(("placeholder", question[:200]))
        elif any(question == p.question for p in pairs):
            problems.append(("duplicate", question[:200]))
        else:
            pairs.append(ParsedPair(question, kept))
    return ParsedResponse(tuple(pairs), tuple(problems))
