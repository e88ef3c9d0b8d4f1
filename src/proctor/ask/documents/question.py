"""The question itself: a style, what it must need, and numbered candidates go in; question, answer and citations come out.

One template serves the model that reads and the one that sees, so that both follow the same rules (SMMQG): the
published prompt for images lacks some of those that the one for texts has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from proctor.ask.documents.prompting import (
    KINDS,
    DocumentsPrompt,
    Miss,
    PromptKit,
    read_text,
    requirement_in_words,
)
from proctor.ask.documents.style import Combination, Style
from proctor.ask.documents.triple import Triple, parse_triple
from proctor.corpus.source import Source
from proctor.llm.message import Parameters
from proctor.llm.outcome import Outcome

__all__ = ["GENERATION", "question_prompt", "read_question"]

GENERATION: Final = Parameters(temperature=0.7, max_tokens=1024)
"""Parameters of the call [R]."""


def question_prompt(
    kit: PromptKit,
    style: Style,
    sources: Sequence[Source],
    modalities: Combination | None,
    *,
    entity: str | None = None,
) -> DocumentsPrompt:
    """Ask for a question; the request goes to the model that can see when ``needs_lmm(sources)``.

    Args:
        kit: templates, fences and pictures.
        style: that it must follow.
        sources: the candidates in the order of their numbers, from 1.
        modalities: how many texts, tables and images it must need; None when any choice will do.
        entity: that a half of a multi-hop question is about.

    Raises:
        UserError: if a template of the user's own cannot be used.
    """
    replies = {f"reply {n}": example.reply for n, example in enumerate(style.examples, 1)}
    return kit.make(
        "styled-question",
        own={"title": style.title, "description": style.description} | replies,
        **kit.sources(sources),
        wanted=None if modalities is None else requirement_in_words(modalities),
        entity=entity,
        examples=[[text for _, text in example.sources] for example in style.examples],
        example_kinds=[[KINDS[kind] for kind, _ in example.sources] for example in style.examples],
        example_wanted=[requirement_in_words(example.modalities) for example in style.examples],
        style_hash=style.hash,
    )


def read_question(outcome: Outcome, sources: int) -> Triple | Miss:
    """Return question, answer and citations, or what the attempt's outcome is.

    Args:
        outcome: of the call.
        sources: how many candidates were shown.
    """
    text = read_text(outcome)
    return text if isinstance(text, Miss) else parse_triple(text, sources)
