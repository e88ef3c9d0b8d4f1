"""A question about sources, whoever wrote it: what retrieval, question answering and their judges need to know of it.

``StyledQuestion`` (generated) and ``CorpusQuestion`` (of a data set) both become ``SourceQuestion``; so SMMQG's tables and
those of a data set made by people are computed by the same code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from proctor.ask.documents.record import Hop, StyledQuestion
from proctor.corpus.question import CorpusQuestion
from proctor.corpus.source import MODALITIES
from proctor.errors import UserError

__all__ = ["SourceQuestion", "combination", "of_corpus", "of_styled", "require_questions"]

_UNTYPED = "untyped"


class SourceQuestion(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One question.

    Attributes:
        id: unique in its set.
        style: of the question; of a data set's question its type, ``untyped`` where it has none.
        modalities: how many texts, tables and images it needs (SMMQG's M).
        question: as asked.
        answer: the reference; empty where it is withheld.
        gold: ids of the sources that it needs, each once.
        generator: full name of the model that wrote it; empty for people.
        chosen_by: embedder that chose the candidates; retrieval with the same one is favoured. Empty where nobody did.
        content: content hash of each gold source, by id, where it is kept.
        hops: of a multi-hop question, the two halves; empty otherwise.
    """

    id: str
    style: str
    modalities: tuple[int, int, int]
    question: str
    answer: str = ""
    gold: tuple[str, ...] = ()
    generator: str = ""
    chosen_by: str = ""
    content: Mapping[str, str] = {}
    hops: tuple[Hop, ...] = ()

    @property
    def combination(self) -> str:
        """Names the modalities that it needs: ``text+table``."""
        return combination(self.modalities)


def combination(modalities: Sequence[int]) -> str:
    """Return a name of a combination of modalities: ``text``, ``text+table``, ``image+image``; ``unknown`` for none.

    Example:
        >>> combination((2, 0, 1))
        'text+text+image'
    """
    return "+".join(m for m, n in zip(MODALITIES, modalities, strict=True) for _ in range(n)) or "unknown"


def of_styled(question: StyledQuestion) -> SourceQuestion:
    """Return a generated question; its record says who wrote it (role ``generator``) and who chose (role ``retriever``)."""
    return SourceQuestion(
        id=question.id,
        style=question.style,
        modalities=question.modalities,
        question=question.question,
        answer=question.answer,
        gold=tuple(dict.fromkeys(question.gold)),
        generator=question.models.get("generator", ""),
        chosen_by=question.models.get("retriever", ""),
        content=question.content,
        hops=question.hops,
    )


def of_corpus(question: CorpusQuestion) -> SourceQuestion:
    """Return a data set's question; several answers, which all have to be given, are joined by semicolons."""
    return SourceQuestion(
        id=question.qid,
        style=question.type or _UNTYPED,
        modalities=question.modalities,
        question=question.question,
        answer="; ".join(question.answers),
        gold=tuple(dict.fromkeys(question.gold)),
    )


def require_questions(questions: Iterable[SourceQuestion]) -> Iterator[SourceQuestion]:
    """Yield the questions, each of which must have its own id, words and at least one gold source.

    Raises:
        UserError: otherwise, naming the question.
    """
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise UserError("two questions have this id.", where=question.id, hint="ids must be unique")
        seen.add(question.id)
        if not question.question.strip():
            raise UserError("the question is empty.", where=question.id, hint="leave it out")
        if not question.gold:
            raise UserError(
                "the question has no gold source, so it has no recall.",
                where=question.id,
                hint="leave it out, or name the sources that it needs",
            )
        yield question
