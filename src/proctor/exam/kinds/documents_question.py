"""A question about documents (SMMQG): what searching, answering and judging need to know of it, and how it was made.

It stands apart from the kind (``proctor.exam.kinds.documents``) so that searching and asking need not load how it is answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from proctor.corpus.question import CorpusQuestion
from proctor.corpus.source import MODALITIES
from proctor.exam.measured import Slices
from proctor.exam.question import Open, Proposed, Question, Source, Text

__all__ = [
    "DOCUMENTS",
    "ROLES",
    "DocumentFacts",
    "Hop",
    "as_asked",
    "cited_modalities",
    "combination",
    "corpus_question",
    "document_facts",
    "document_question",
    "document_slices",
    "gold_of",
    "modalities_of",
]

DOCUMENTS: Final = "documents"
"""Name of the kind."""

ROLES: Final = ("entity", "generator", "verifier", "retriever")
"""Who takes part in writing a question: names the entity, writes, verifies, finds candidates."""

_UNTYPED: Final = "untyped"


class Hop(msgspec.Struct, frozen=True, kw_only=True):
    """One half of a multi-hop question: its own question, answer and the ids of its sources."""

    question: str
    answer: str
    sources: tuple[str, ...]


class DocumentFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a question beside its words and its cited sources.

    Attributes:
        hops: of a multi-hop question, the two halves; empty otherwise.
        entity: that joined the candidates.
        seed_id: source that gave the entity.
        distractors: ids of the candidates that were not cited, in the order in which they were numbered.
        typed_distractors: ids of further sources that look as if they answered it, by kind
            (``proctor.ask.documents.distractors``), where they were looked up.
        checks: name of each check that it passed and what it said (``verifier``, ``necessity``, ``near_question`` …).
        difficulty: measured, by name (``closed_book``, ``one_source``, ``gold_rank`` …), as text.
        ranks: rank of each candidate for the entity within its modality, by id, counted from 1.
        attempts: how many attempts it took, the last one included.
        calls: request keys (16 hex digits) of the calls of the last attempt.
    """

    hops: tuple[Hop, ...] = ()
    entity: str = ""
    seed_id: str = ""
    distractors: tuple[str, ...] = ()
    typed_distractors: Mapping[str, tuple[str, ...]] = {}
    checks: Mapping[str, str] = {}
    difficulty: Mapping[str, str] = {}
    ranks: Mapping[str, int] = {}
    attempts: int = 1
    calls: tuple[str, ...] = ()


def document_question(
    name: str,
    text: str,
    answer: str,
    gold: Iterable[str],
    *,
    style: str,
    modalities: Sequence[int],
    content: Mapping[str, str] | None = None,
    facts: DocumentFacts | None = None,
    provenance: Mapping[str, str] | None = None,
) -> Question:
    """Return a question about sources with its answer as the proposal; all parts of the answer have to be given.

    Args:
        name: its id.
        text: as asked.
        answer: the reference; empty where it is withheld.
        gold: ids of the sources that it needs.
        style: of the question.
        modalities: how many texts, tables and images it needs (SMMQG's M).
        content: content hash of each of these sources, by id, where it is kept.
        facts: how it was made.
        provenance: full names of the model that wrote it (``generator``) and of the embedder that chose its sources (``retriever``:
            retrieval with the same one is favoured), empty for people; of a generated one those of all ``ROLES``, the run's
            ``seed``, the hashes of style, corpus and configuration, and of each template (``prompt:NAME``).
    """
    sources = tuple(dict.fromkeys(gold))
    return Question(
        id=name,
        kind=DOCUMENTS,
        text=text,
        form=Open(need="all"),
        evidence=tuple(Source(id=id_, hash=(content or {}).get(id_, "")) for id_ in sources),
        proposals=(Proposed(value=Text(text=answer, cites=sources)),) if answer else (),
        facts=msgspec.json.decode(msgspec.json.encode(facts)) if facts else {},  # as it will be read
        facets={"style": style, "combination": combination(modalities)},
        provenance={"generator": "", "retriever": "", **(provenance or {})},
    )


def corpus_question(question: CorpusQuestion) -> Question:
    """Return a data set's question; several answers, which all have to be given, are joined by semicolons."""
    return document_question(
        question.qid,
        question.question,
        "; ".join(question.answers),
        question.gold,
        style=question.type or _UNTYPED,
        modalities=question.modalities,
    )


def document_facts(question: Question) -> DocumentFacts:
    """Return the facts of a question, typed.

    Raises:
        msgspec.ValidationError: if they are none of documents.
    """
    return msgspec.convert(question.facts, DocumentFacts)


def as_asked(question: Question, which: str) -> Question:
    """Return a question as an exam holds it: without what generation alone knows of it.

    Args:
        question: as it was written.
        which: the set that it is of.
    """
    kept = {name: question.provenance.get(name, "") for name in ("generator", "retriever")}
    return msgspec.structs.replace(
        question,
        facts={"hops": question.facts["hops"]} if "hops" in question.facts else {},
        provenance={**kept, "set": which},
    )


def gold_of(question: Question) -> tuple[str, ...]:
    """Return the ids of the sources that a question needs, each once, in order."""
    return tuple(part.id for part in question.evidence if isinstance(part, Source))


def combination(modalities: Sequence[int]) -> str:
    """Return a name of a combination of modalities: ``text``, ``text+table``, ``image+image``; ``unknown`` for none.

    Example:
        >>> combination((2, 0, 1))
        'text+text+image'
    """
    return "+".join(m for m, n in zip(MODALITIES, modalities, strict=True) for _ in range(n)) or "unknown"


def modalities_of(question: Question) -> tuple[int, int, int]:
    """Return how many texts, tables and images a question needs; all 0 where nobody knows."""
    named = question.facets.get("combination", "").split("+")
    text, table, image = (named.count(modality) for modality in MODALITIES)
    return text, table, image


def cited_modalities(question: Question) -> tuple[str, ...]:
    """Return of which modalities the sources are that a question needs, each once; none where it is not about documents."""
    return tuple(dict.fromkeys(filter(None, question.facets.get("combination", "").split("+"))))


def document_slices(questions: Iterable[Question]) -> Slices:
    """Return styles, combinations of modalities and both together with their questions, sorted by name: order changes nothing.

    A question from elsewhere need not say what it is.
    """
    asked = [(q.id, *(q.facets.get(name, "none") for name in ("style", "combination"))) for q in questions]
    found: dict[str, tuple[str, list[str]]] = {"all": ("all", [id_ for id_, _, _ in asked])}
    for kind in ("style", "modalities", "style-modalities"):
        named: dict[str, list[str]] = {}
        for id_, style, combined in asked:
            names = {"style": f"style={style}", "modalities": f"modalities={combined}"}
            named.setdefault(names.get(kind, "/".join(names.values())), []).append(id_)
        found |= {name: (kind, named[name]) for name in sorted(named)}
    return found
