"""Retrieval: every retriever behind one interface, its rankings as records, run over questions that know their sources.

SMMQG. ``proctor.exam.retrieval_scores`` makes the table; nothing here looks at gold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec

from proctor.corpus.collection import Corpus
from proctor.corpus.index.hits import NOTHING, Hits
from proctor.errors import UserError
from proctor.exam.kinds.documents_question import modalities_of
from proctor.exam.question import Question, check_questions
from proctor.metrics.score import Signature

__all__ = [
    "CHOOSERS",
    "DEPTH",
    "Query",
    "Ranking",
    "RetrievalRun",
    "Retriever",
    "rankings_of",
    "retrieve",
    "run_signature",
]

DEPTH: Final = 100
"""Sources that a ranking holds, unless told otherwise: deeper than any cut, for reranking and fusion."""

CHOOSERS: Final = " + "
"""Stands between the names of several searches that chose a question's sources together (``provenance["retriever"]``)."""

_BATCH: Final = 1_024
"""Questions that are searched for at a time."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for.

    Attributes:
        text: of the question.
        modalities: how many texts, tables and images it needs, for pools that may know it; all 0 where nobody knows.
    """

    text: str
    modalities: tuple[int, int, int] = (0, 0, 0)


class Retriever(Protocol):
    """Anything that ranks the sources of one corpus for a question."""

    @property
    def name(self) -> str:
        """Name on the rankings."""
        ...

    @property
    def settings(self) -> Mapping[str, str]:
        """Every choice that changes the rankings; part of their signature."""
        ...

    @property
    def embedders(self) -> frozenset[str]:
        """Names of the embedders that take part, and ``bm25``: retrieval is favoured where one of them chose the sources."""
        ...

    def search(self, queries: Sequence[Query], k: int) -> Hits:
        """Return the k best sources of each query."""
        ...


class Ranking(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a retriever found for a question.

    Attributes:
        qid: the question.
        retriever: who searched.
        ids: of sources, best first; fewer than asked for where there are no more.
        scores: of the same sources, higher is better; what they mean is the retriever's own affair.
        failure: why there is no ranking; it is counted and never an empty ranking.
    """

    qid: str
    retriever: str
    ids: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    failure: str | None = None


class RetrievalRun(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All rankings of one retriever.

    Attributes:
        retriever: its name.
        signature: retriever, corpus and all settings.
        rankings: one a question, in the order of the questions.
        embedders: that took part.
        details: what else is to be known (``calls``, ``cost``), as text.
    """

    retriever: str
    signature: str
    rankings: tuple[Ranking, ...]
    embedders: tuple[str, ...] = ()
    details: Mapping[str, str] = {}

    def require_one_each(self, questions: Sequence[Question]) -> Mapping[str, Ranking]:
        """Return the rankings by question.

        Raises:
            UserError: if a question has none or two, or a ranking belongs to no question.
        """
        by_id: dict[str, Ranking] = {}
        for ranking in self.rankings:
            if ranking.qid in by_id:
                raise UserError(
                    "there are two rankings of this question.", where=f"{self.retriever}: {ranking.qid}"
                )
            by_id[ranking.qid] = ranking
        wanted = {question.id for question in questions}
        strange = [qid for qid in by_id if qid not in wanted] + [
            qid for qid in sorted(wanted) if qid not in by_id
        ]
        if strange:
            raise UserError(
                f"questions and rankings do not fit; the first that has no counterpart is '{strange[0]}'.",
                where=self.retriever,
                hint="run the retriever over the same questions",
            )
        return by_id


def run_signature(retriever: Retriever, corpus: Corpus, depth: int) -> str:
    """Return the signature of a run: who searched which sources, how, and how deep."""
    settings = {
        key.replace("|", "_").replace(":", "="): value.replace("|", "_") or "none"
        for key, value in retriever.settings.items()
    }
    name = retriever.name.replace("|", "_")
    parameters = {
        "corpus": corpus.fingerprint[:16],
        "depth": str(depth),
        "sources": str(len(corpus)),
        **settings,
    }
    return str(Signature("ranking", {"retriever": name, **parameters}))


def retrieve(
    questions: Sequence[Question], corpus: Corpus, retriever: Retriever, *, depth: int = DEPTH
) -> RetrievalRun:
    """Let a retriever rank the sources of a corpus for every question.

    Args:
        questions: each with an id of its own.
        corpus: the one that the retriever searches.
        retriever: ranks.
        depth: sources to keep of each ranking.

    Raises:
        UserError: if two questions have one id, a question is empty, or the retriever found what the corpus has not.
    """
    if depth < 1:
        raise UserError(f"a ranking holds at least one source, got {depth}.")
    check_questions(questions)
    rankings: list[Ranking] = []
    for begin in range(0, len(questions), _BATCH):
        batch = questions[begin : begin + _BATCH]
        hits = retriever.search([Query(q.text, modalities_of(q)) for q in batch], depth)
        rankings += rankings_of([q.id for q in batch], retriever.name, hits, corpus)
    return RetrievalRun(
        retriever=retriever.name,
        signature=run_signature(retriever, corpus, depth),
        rankings=tuple(rankings),
        embedders=tuple(sorted(retriever.embedders)),
    )


def rankings_of(qids: Sequence[str], retriever: str, hits: Hits, corpus: Corpus) -> Iterable[Ranking]:
    """Yield hits as rankings.

    Raises:
        UserError: if there are not as many hits as questions, or a position is not in the corpus.
    """
    if len(hits) != len(qids):
        raise UserError(
            f"{len(qids)} questions were searched for, {len(hits)} were answered.", where=retriever
        )
    if hits.positions.size and int(hits.positions.max()) >= len(corpus):
        raise UserError(
            f"the index knows source {int(hits.positions.max())}, the corpus has only {len(corpus)}.",
            where=retriever,
            hint="build the index again from this corpus",
        )
    for qid, positions, scores in zip(qids, hits.positions.tolist(), hits.scores.tolist(), strict=True):
        found = [(place, score) for place, score in zip(positions, scores, strict=True) if place != NOTHING]
        yield Ranking(
            qid=qid,
            retriever=retriever,
            ids=tuple(corpus.sources[place].id for place, _ in found),
            scores=tuple(score for _, score in found),
        )
