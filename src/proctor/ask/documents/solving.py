"""Can a question be answered from these sources, or from none? For ablation and for measures of difficulty.

A model answers, and a model marks the answer against the accepted one, from 0 to 2. With a source left out a mark of 2 shows
that the source is not needed; with none shown it shows that the question can be answered without the corpus.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeVar

from proctor.ask.documents.prompting import SHOWN, DocumentsPrompt, Miss, PromptKit, read_text, squeeze
from proctor.corpus.source import Source
from proctor.llm.message import Parameters
from proctor.llm.outcome import Outcome

__all__ = [
    "ANSWERING",
    "MARKING",
    "answer_prompt",
    "leave_one_out",
    "mark_prompt",
    "parse_mark",
    "read_answer",
    "read_mark",
]

ANSWERING: Final = Parameters(temperature=0.0, max_tokens=512)
MARKING: Final = Parameters(temperature=0.0, max_tokens=512)
S = TypeVar("S")

_MARK = re.compile(r"\bscore\W{0,12}([0-9]+)(?![0-9]|\.[0-9])", re.IGNORECASE)
_ALONE = re.compile(r"\W*([0-9])\W*")


def leave_one_out(gold: Sequence[S]) -> tuple[tuple[S, ...], ...]:
    """Return the sources without each of them in turn; nothing for fewer than two, which need no ablation."""
    if len(gold) < 2:
        return ()
    return tuple((*gold[:n], *gold[n + 1 :]) for n in range(len(gold)))


def answer_prompt(kit: PromptKit, question: str, sources: Sequence[Source] = ()) -> DocumentsPrompt:
    """Ask for an answer from some sources and nothing else, or from what the model knows where none is given.

    Args:
        kit: templates, fences and pictures.
        question: to be answered.
        sources: that are shown; ``needs_lmm`` says which model has to be asked.
    """
    return kit.make("styled-answer", **kit.sources(sources), question=question)


def read_answer(outcome: Outcome) -> str | Miss:
    """Return an answer on one line, or why there is none."""
    text = read_text(outcome, unreadable="verify_unparsed")
    return text if isinstance(text, Miss) else squeeze(text)


def mark_prompt(kit: PromptKit, question: str, answer: str, attempt: str) -> DocumentsPrompt:
    """Ask how well an attempt agrees with the accepted answer, from 0 to 2.

    Args:
        kit: templates and fences.
        question: that was answered.
        answer: the accepted one.
        attempt: the one to be marked.
    """
    return kit.make("styled-mark", question=question, answer=answer, attempt=attempt)


def read_mark(outcome: Outcome) -> int | Miss:
    """Return the mark of a call, 0 to 2, or a miss (``verify_unparsed`` or a failed call)."""
    text = read_text(outcome, unreadable="verify_unparsed")
    if isinstance(text, Miss):
        return Miss("verify_unparsed", text.detail) if text.outcome == "refused" else text
    return parse_mark(text)


def parse_mark(text: str) -> int | Miss:
    """Read the last ``Score: 0|1|2`` of a text, or a number that is all there is; never raises, whatever the text."""
    marks: list[str] = _MARK.findall(text)
    alone = _ALONE.fullmatch(text)
    found = marks[-1] if marks else alone[1] if alone else ""
    if found not in ("0", "1", "2"):
        return Miss("verify_unparsed", squeeze(text)[:SHOWN] or "nothing")
    return int(found)
