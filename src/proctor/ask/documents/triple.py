"""What a model writes as question, answer and citations, read by our table.

Nothing is guessed and nothing is put right: a citation that is out of range rejects the reply. Labels, code fences, a first
and a last bar, and remarks after the citations are what models put around the form; they are taken off, and noted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from proctor.ask.documents.prompting import SHOWN, Miss, squeeze
from proctor.procedure.inflect import word_set

__all__ = ["TRIPLE_FORM", "Triple", "is_none", "parse_pair", "parse_triple"]

TRIPLE_FORM: Final = (
    "question | answer | numbers of all chosen sources, separated by commas\n"
    "All on one line, with vertical bars between the three. Or, where the task cannot be done, the one word None."
)
"""The wanted form in words, for a repair round."""

_QUESTION_LIMIT: Final = 1_500
_ANSWER_LIMIT: Final = 8_000
_FENCE_LINE = re.compile(r"^[ \t]*```[A-Za-z]*[ \t]*$", re.MULTILINE)
_LABEL = re.compile(
    r"^\W{0,6}(?:(?:final|combined|new) )?(?:question|answer|citations?|sources?|cited sources|passages?|q|a)"
    r" ?\d{0,2} ?[*_]{0,3} ?:[*_]{0,3}\s*(?=\S)",
    re.IGNORECASE,
)
_CITING: Final = word_set(
    "passage passages source sources image images table tables text texts citation citations cited number "
    "numbers and none"
)
_NUMBER = re.compile(r"[0-9]+")
_WORDS = re.compile(r"\w+")
_NUMBERED = re.compile(r"^\s*\d{1,2}[.)]\s+")


@dataclass(frozen=True, slots=True)
class Triple:
    """A question, its answer and what it cites.

    Attributes:
        question: on one line.
        answer: long form, trimmed; may have several lines, and bars.
        cites: numbers of the sources, each once, in the order of their first mention.
        notes: what was passed over: ``more_triples``, ``text_after_citations``, ``text_before_question``.
    """

    question: str
    answer: str
    cites: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def is_none(text: str) -> bool:
    """True for ``None`` in any case, whatever punctuation is around it."""
    return [word.casefold() for word in _WORDS.findall(text.replace("_", " "))] == ["none"]


def parse_triple(reply: str, sources: int) -> Triple | Miss:
    """Read ``question | answer | numbers``; never raises, whatever the text.

    Args:
        reply: what the model said.
        sources: how many were shown; numbers go from 1 to that.

    Returns:
        The triple, or a miss whose outcome is ``refused``, ``format_error``, ``no_citation`` or ``citation_out_of_range``.
    """
    text = _bare(reply)
    if is_none(text):
        return Miss("refused", "None")
    text, notes = _first(text)
    first, last = text.find("|"), text.rfind("|")
    if first == last:
        return Miss("format_error", f"{'one bar' if first >= 0 else 'no bar'}: {squeeze(text)[:SHOWN]}")
    fields = text[:first], text[first + 1 : last], text[last + 1 :]
    if all(map(is_none, fields)):
        return Miss("refused", squeeze(text)[:SHOWN])
    question, before = _question(fields[0])
    if is_none(question):
        return Miss("refused", squeeze(text)[:SHOWN])
    answer = _LABEL.sub("", fields[1].strip()).strip()
    if problem := _unusable(question, answer):
        return Miss("format_error", f"{problem}: {squeeze(text)[:SHOWN]}")
    citation, after = _citation(fields[2])
    notes += [*(["text_before_question"] if before else []), *(["text_after_citations"] if after else [])]
    numbers = _NUMBER.findall(citation)
    if not numbers:
        return Miss("no_citation", squeeze(text)[:SHOWN])
    odd = [n for n in numbers if len(n.lstrip("0")) > 6 or not 1 <= int(n[-7:]) <= sources]
    if odd:
        return Miss("citation_out_of_range", f"{odd[0][:20]} of {sources} sources: {squeeze(text)[:SHOWN]}")
    return Triple(question, answer, tuple(dict.fromkeys(int(n[-7:]) for n in numbers)), tuple(notes))


def parse_pair(reply: str) -> Triple | Miss:
    """Read ``question | answer``, split at the first bar; never raises, whatever the text.

    Returns:
        A triple without citations, or a miss whose outcome is ``refused`` or ``format_error``.
    """
    text = _bare(reply)
    question, bar, answer = text.partition("|")
    if is_none(text) or (bar and is_none(question)):
        return Miss("refused", squeeze(text)[:SHOWN])
    if not bar:
        return Miss("format_error", f"no bar: {squeeze(text)[:SHOWN]}")
    asked, before = _question(question)
    said = _LABEL.sub("", answer.strip()).strip()
    if problem := _unusable(asked, said):
        return Miss("format_error", f"{problem}: {squeeze(text)[:SHOWN]}")
    return Triple(asked, said, (), ("text_before_question",) if before else ())


def _bare(reply: str) -> str:
    """Take off code fences, and the bars that open and close the rows of a table."""
    text = _FENCE_LINE.sub("", reply.replace("\r\n", "\n").replace("\r", "\n")).strip()
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if lines and all(len(line) > 1 and line[0] == line[-1] == "|" for line in lines):
        text = "\n".join(line[1:-1] for line in lines).strip()
    return text


def _cites(text: str) -> bool:
    """True for numbers and words such as ``Passage 1 and Image 2``, and nothing else."""
    words = _WORDS.findall(text)
    return bool(words) and all(word.isdecimal() or word.casefold() in _CITING for word in words)


def _first(text: str) -> tuple[str, list[str]]:
    """Return the first of several triples, each of which ends in a line of citations."""
    lines = text.split("\n")
    bars = 0
    for number, line in enumerate(lines[:-1], 1):
        bars += line.count("|")
        if bars >= 2 and _cites(line.rpartition("|")[2]) and _begins_triple(lines, number):
            return "\n".join(lines[:number]), ["more_triples"]
    return text, []


def _begins_triple(lines: Sequence[str], at: int) -> bool:
    """True when the line after a triple, or the paragraph after a blank line, is a triple as well: not rows of an answer."""
    if lines[at].strip():
        block = lines[at]
    else:
        begin = next((n for n in range(at, len(lines)) if lines[n].strip()), len(lines))
        end = next((n for n in range(begin, len(lines)) if not lines[n].strip()), len(lines))
        block = "\n".join(lines[begin:end])
    return block.count("|") >= 2 and _cites(block.rpartition("|")[2])


def _question(text: str) -> tuple[str, bool]:
    """Return the question on one line, and True when a line of introduction was taken off."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    before = len(lines) > 1 and lines[0].endswith(":")
    question = squeeze(" ".join(lines[1:] if before else lines))
    question = _LABEL.sub("", _NUMBERED.sub("", question))
    return question.strip(" *_"), before


def _citation(text: str) -> tuple[str, bool]:
    """Return the lines of citations, and True when other lines follow them; everything where the first line is none."""
    lines = [line for line in text.split("\n") if line.strip()]
    pure = 0
    while pure < len(lines) and _cites(lines[pure]):
        pure += 1
    return ("\n".join(lines[:pure]), pure < len(lines)) if pure else (text, False)


def _unusable(question: str, answer: str) -> str:
    if not question or not _WORDS.search(question):
        return "empty question"
    if not answer or not _WORDS.search(answer):
        return "empty answer"
    if len(question) > _QUESTION_LIMIT:
        return f"a question of {len(question):,} characters"
    return f"an answer of {len(answer):,} characters" if len(answer) > _ANSWER_LIMIT else ""
