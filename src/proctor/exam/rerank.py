"""Reranking: the first hits of a retriever, put into a better order by a slower reader.

Further entries of SMMQG's retrieval table (not in the paper): a cross-encoder that reads question and source together, another
embedder, or a language model that orders a list (Sun et al. 2023, RankGPT). Behind the reranked ones the others stay as they
were found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
import numpy as np

from proctor.corpus.collection import Corpus
from proctor.corpus.embed.embedder import Embedder
from proctor.corpus.source import Source, render_source
from proctor.errors import MissingExtraError, UserError
from proctor.exam.prediction import why_no_reply
from proctor.exam.question import Question
from proctor.exam.retrieval import Ranking, RetrievalRun
from proctor.exam.source_showing import FindPicture, show_sources
from proctor.llm.converse import Conversation, converse
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Message, Parameters, Request
from proctor.llm.outcome import Ask, Reply
from proctor.llm.prompt import PromptSet
from proctor.llm.replying import Replying
from proctor.llm.structured import Unreadable, ask_until_read, spoken_text
from proctor.metrics.score import Signature

__all__ = [
    "RERANK_DEPTH",
    "CrossEncoderReranker",
    "EmbedderReranker",
    "ModelReranker",
    "RerankTask",
    "Reranker",
    "read_order",
    "rerank_run",
    "rerank_tasks",
]

RERANK_DEPTH: Final = 20
"""Hits that are reranked, unless told otherwise."""

_PASSAGE_LIMIT: Final = 4_000
"""Characters of a source that a language model is shown: twenty of them have to fit."""
_TOKENS: Final = 256
_NUMBERS: Final = re.compile(r"\d+")
_LETTER: Final = re.compile(r"[^\W\d_]")
_BESIDE: Final = re.compile(
    r"\b(?:the|my|final|sources?|passages?|texts?|tables?|images?|pictures?|order|ranking|answer|is|and|then)\b",
    re.IGNORECASE,
)
"""Words that may stand beside the numbers of an order."""
_FORM: Final = (
    "One line with the numbers of all sources, the most helpful first, separated by commas: 2, 1, 3"
)


@dataclass(frozen=True, slots=True)
class RerankTask:
    """A question with the sources that were found for it, best first."""

    question: Question
    sources: tuple[Source, ...]


class Reranker(Protocol):
    """Anything that scores a few sources for a question."""

    @property
    def name(self) -> str:
        """Name in that of the run."""
        ...

    @property
    def settings(self) -> Mapping[str, str]:
        """Every choice that changes the order; part of the signature."""
        ...

    @property
    def embedders(self) -> frozenset[str]:
        """Names of the embedders that take part."""
        ...

    def rerank(self, tasks: Sequence[RerankTask]) -> Sequence[tuple[float, ...] | str]:
        """Return for each task one score a source (higher is better), or why there are none."""
        ...


def rerank_run(
    run: RetrievalRun,
    questions: Sequence[Question],
    corpus: Corpus,
    reranker: Reranker,
    *,
    depth: int = RERANK_DEPTH,
) -> RetrievalRun:
    """Put the first hits of every ranking into a new order; sources with equal scores stay in the old one.

    A ranking that could not be reranked has failed: its old order would be another system's.

    Args:
        run: over these questions.
        questions: in any order.
        corpus: that was searched.
        reranker: gives the order.
        depth: hits that are reranked.

    Raises:
        UserError: if questions and rankings do not fit, or the corpus lacks a ranked source.
    """
    if depth < 1:
        raise UserError(f"at least one hit is reranked, got {depth}.")
    run.require_one_each(questions)
    name = f"{run.retriever} > {reranker.name}"
    tasks = rerank_tasks(run, questions, corpus, depth=depth)
    found = dict(zip(tasks, reranker.rerank(list(tasks.values())), strict=True))
    rankings = [_reranked(ranking, name, found.get(ranking.qid)) for ranking in run.rankings]
    settings = {f"rerank.{k}": v.replace("|", "_") or "none" for k, v in reranker.settings.items()}
    signature = Signature.parse(run.signature).having(
        retriever=name.replace("|", "_"), **{"rerank.depth": str(depth)}, **settings
    )
    return RetrievalRun(
        retriever=name,
        signature=str(signature),
        rankings=tuple(rankings),
        embedders=tuple(sorted({*run.embedders, *reranker.embedders})),
    )


def rerank_tasks(
    run: RetrievalRun, questions: Sequence[Question], corpus: Corpus, *, depth: int = RERANK_DEPTH
) -> dict[str, RerankTask]:
    """Return by question what there is to rerank; nothing for questions of which nothing was found."""
    asked = {question.id: question for question in questions}
    return {
        ranking.qid: RerankTask(
            asked[ranking.qid],
            tuple(corpus.sources[corpus.position(id_)] for id_ in ranking.ids[:depth]),
        )
        for ranking in run.rankings
        if ranking.failure is None and ranking.ids
    }


def _reranked(ranking: Ranking, name: str, scores: tuple[float, ...] | str | None) -> Ranking:
    renamed = msgspec.structs.replace(ranking, retriever=name, scores=())
    if scores is None:
        return renamed
    if isinstance(scores, str):
        return Ranking(qid=ranking.qid, retriever=name, failure=scores)
    if len(scores) > len(ranking.ids) or not all(map(math.isfinite, scores)):
        return Ranking(qid=ranking.qid, retriever=name, failure="rerank: a score is no finite number")
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    ids = (*(ranking.ids[place] for place in order), *ranking.ids[len(scores) :])
    return msgspec.structs.replace(renamed, ids=ids)


# -- without calls ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EmbedderReranker:
    """Another embedder: cosine of question and source. Every source is embedded once."""

    embedder: Embedder

    @property
    def name(self) -> str:
        """Name of the embedder."""
        return self.embedder.name

    @property
    def settings(self) -> Mapping[str, str]:
        """The embedder."""
        return {"by": "embedder", "embedder": self.embedder.name}

    @property
    def embedders(self) -> frozenset[str]:
        """The embedder."""
        return frozenset({self.embedder.name})

    def rerank(self, tasks: Sequence[RerankTask]) -> Sequence[tuple[float, ...]]:
        """Return the cosine of each task's question with each of its sources."""
        if not tasks:
            return []
        sources = {source.id: source for task in tasks for source in task.sources}
        rows = {id_: row for row, id_ in enumerate(sources)}
        passages = self.embedder.embed([render_source(s) for s in sources.values()], "passage")
        queries = self.embedder.embed([task.question.text for task in tasks], "query")
        found = []
        for query, task in zip(queries, tasks, strict=True):
            cosines = passages[[rows[source.id] for source in task.sources]] @ query
            found.append(tuple(float(value) for value in cosines))
        return found


class CrossEncoderReranker:
    """A cross-encoder from a folder on this machine (sentence-transformers); nothing is ever downloaded.

    Args:
        path: folder of the model.
        batch: pairs that are read at a time.
        device: of torch.

    Raises:
        UserError: if there is no such folder, or no model in it.
        MissingExtraError: without sentence-transformers.
    """

    embedders: frozenset[str] = frozenset()

    def __init__(self, path: Path, *, batch: int = 32, device: str = "cpu") -> None:
        if not path.is_dir():
            raise UserError(
                "there is no folder of a model here.",
                where=str(path),
                hint="fetch a cross-encoder once and name its folder; nothing is downloaded here",
            )
        try:
            from sentence_transformers import CrossEncoder
        except ImportError:
            raise MissingExtraError(
                "sentence-transformers", "sentence-transformers", "Reranking by a cross-encoder"
            ) from None
        try:
            self._model: Any = CrossEncoder(str(path), device=device, local_files_only=True)
        except Exception as error:  # whatever a broken folder makes the library raise
            raise UserError(
                f"the model cannot be loaded ({type(error).__name__}: {str(error)[:300]}).",
                where=str(path),
                hint="the folder needs config.json, the weights and the tokenizer of a cross-encoder",
            ) from None
        self._batch = batch
        self._folder = path.name

    @property
    def name(self) -> str:
        """Name of the folder."""
        return f"cross-encoder/{self._folder}"

    @property
    def settings(self) -> Mapping[str, str]:
        """The model."""
        return {"by": "cross-encoder", "model": self._folder}

    def rerank(self, tasks: Sequence[RerankTask]) -> Sequence[tuple[float, ...]]:
        """Return what the model says of each pair of question and source."""
        pairs = [(task.question.text, render_source(s)) for task in tasks for s in task.sources]
        if not pairs:
            return [() for _ in tasks]
        values = np.asarray(
            self._model.predict(pairs, batch_size=self._batch, show_progress_bar=False), dtype=np.float64
        )
        if values.shape != (len(pairs),):
            raise UserError(
                f"the model gives {values.shape[1:]} numbers for a pair, a cross-encoder for ranking gives one.",
                where=self._folder,
            )
        scores = iter(values.tolist())
        return [tuple(next(scores) for _ in task.sources) for task in tasks]


# -- by a language model ---------------------------------------------------------------------------------------


def read_order(reply: str, sources: int) -> tuple[int, ...] | str:
    """Read an order of sources from a reply: the last line that is nothing but numbers, each counted once.

    What separates them does not matter, nor words such as "Source"; a number within a sentence is no order.

    Args:
        reply: what the model wrote.
        sources: how many there are, numbered from 1.

    Returns:
        Numbers from 1, best first, maybe not all; or why there is no order. A number of no source is never clamped.

    Example:
        >>> read_order("[2] > [1]", 3)
        (2, 1)
    """
    text = spoken_text(reply)
    if isinstance(text, Unreadable):
        return f"no_order: {text.reason}"
    lines = [
        line
        for line in text.splitlines()
        if _NUMBERS.search(line) and not _LETTER.search(_BESIDE.sub("", line))
    ]
    if not lines:
        return "no_order: no line is a list of numbers"
    numbers = [int(found[:9]) for found in _NUMBERS.findall(lines[-1])]
    strange = [number for number in numbers if not 1 <= number <= sources]
    if strange:
        return f"no_order: there is no source {strange[0]} among {sources}"
    return tuple(dict.fromkeys(numbers))


@dataclass(frozen=True)
class ModelReranker:
    """A language model that orders the sources of each question in one call; one repair, then the ranking has failed.

    Attributes:
        model: full name.
        prompts: templates of the room ``evaluate``.
        secret: of the workspace, for fences.
        ask: makes the calls.
        picture: finds the pixels of images; without it they are shown by caption and description.
        replying: what the user says of replies, over the protocol.
    """

    model: str
    prompts: PromptSet
    secret: FenceSecret
    ask: Ask
    picture: FindPicture | None = None
    embedders: frozenset[str] = field(default=frozenset())
    replying: Replying = field(default_factory=Replying)

    @property
    def name(self) -> str:
        """Name of the model and the hash of its template."""
        return f"{self.model} ({self.prompts['source-rerank'].hash[:8]})"

    @property
    def settings(self) -> Mapping[str, str]:
        """Model and template; sources are shown in the order in which they were found."""
        template = self.prompts["source-rerank"]
        return {
            "by": "model",
            "model": self.model,
            "pictures": "no" if self.picture is None else "yes",
            "template": f"{template.name}@{template.version}",
            "template_hash": template.hash,
        }

    def rerank(self, tasks: Sequence[RerankTask]) -> Sequence[tuple[float, ...] | str]:
        """Return minus the rank of each source; sources that the model left out come after the others."""
        talks = ((task.question.id, self._talk(task)) for task in tasks)
        done = dict(converse(talks, self.ask))
        cut_off = "cancelled: the run ended before it was asked"
        return [done.get(task.question.id, cut_off) for task in tasks]

    def requests(self, tasks: Sequence[RerankTask]) -> Sequence[Request]:
        """Return the first round's requests without sending any, for estimates."""
        return [self._request(self._messages(task)) for task in tasks]

    def _messages(self, task: RerankTask) -> tuple[Message, ...]:
        shown = show_sources(task.sources, self.picture)
        rendered = self.prompts["source-rerank"].render(
            self.secret,
            limits={"sources": _PASSAGE_LIMIT},
            question=task.question.text,
            **shown.values,
        )
        return rendered.with_media(shown.pictures) if shown.pictures else rendered.messages

    def _request(self, messages: tuple[Message, ...]) -> Request:
        parameters = self.replying.over(
            Parameters(temperature=0.0, max_tokens=_TOKENS), self.model, "reranker"
        )
        return Request(model=self.model, messages=messages, parameters=parameters)

    def _talk(self, task: RerankTask) -> Conversation[tuple[float, ...] | str]:
        def problem(text: str) -> Unreadable | None:
            return Unreadable("no_order") if isinstance(read_order(text, len(task.sources)), str) else None

        calls = yield from ask_until_read(self._request(self._messages(task)), problem, _FORM)
        _, outcome = calls[-1]
        if not isinstance(outcome, Reply):
            return why_no_reply(outcome) or "no_order: there is no reply"
        order = read_order(outcome.text, len(task.sources))
        if isinstance(order, str):
            return order
        rank = {number: place for place, number in enumerate(order)}
        last = len(order)
        return tuple(-float(rank.get(number, last)) for number in range(1, len(task.sources) + 1))
