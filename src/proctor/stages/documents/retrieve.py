"""The stage ``retrieve``: retrievers over a set of questions, their rankings and the table of recall."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from proctor.corpus.index.approximate import ApproximateIndex, measure_recall
from proctor.errors import UserError
from proctor.exam.fusion import HybridRetriever
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.exam.question import Question
from proctor.exam.rerank import (
    CrossEncoderReranker,
    EmbedderReranker,
    ModelReranker,
    Reranker,
    rerank_run,
    rerank_tasks,
)
from proctor.exam.retrieval import DEPTH, RetrievalRun, Retriever, retrieve
from proctor.exam.retrieval_scores import RetrievalTable, score_retrieval
from proctor.exam.retrievers import DenseRetriever, LexicalRetriever
from proctor.exam.source_showing import CorpusPictures
from proctor.llm.estimate import Estimate
from proctor.llm.message import Request
from proctor.records import is_there, read_json, write_json, write_jsonl
from proctor.stages.documents.library import Library, ParsedRetriever, parse_retriever
from proctor.stages.documents.reading import (
    QUESTION_FILES,
    RETRIEVAL,
    RunNote,
    asked_hash,
    left_out,
    load_questions,
    run_name,
)
from proctor.stages.documents.settings import DEFAULT_RETRIEVERS, RetrievalOptions
from proctor.stages.models import Closing, Limits, Models, open_models
from proctor.tables import Shown
from proctor.workspace import Workspace

__all__ = [
    "Retrieved",
    "estimate_retrieval",
    "load_table",
    "retrieve_all",
]

_TABLE: Final = "table.json"


class Retrieved(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """What retrievers found.

    Attributes:
        table: recall by slice.
        questions: that were asked.
        left_out: questions of which not all sources are known.
        recall_of_search: of an approximate search, one sentence a retriever.
        calls: of a reranking model.
    """

    table: RetrievalTable
    questions: int
    left_out: int
    recall_of_search: list[str] | msgspec.UnsetType = msgspec.UNSET
    calls: Closing | msgspec.UnsetType = msgspec.UNSET


def retrieve_all(
    root: Path,
    options: RetrievalOptions,
    *,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
) -> Retrieved:
    """Run retrievers over a set of questions, and write rankings and the table.

    Args:
        root: the workspace.
        options: what is searched and how.
        limits: of a reranking model's calls.
        seen: called after each retriever.

    Raises:
        UserError: if a retriever is unknown, the set has no question, or the corpus is broken.
    """
    _check(options)
    workspace = Workspace(root)
    with closing(Library(workspace)) as library:
        return _retrieved(workspace, library, options, limits, seen)


def estimate_retrieval(
    root: Path, options: RetrievalOptions, *, limits: Limits | None = None
) -> Estimate | None:
    """Say what a reranking model would be asked, from the real prompts; nothing is sent. None where none reranks.

    The sources are searched for as they will be; repairs of replies that cannot be read are not in it.

    Raises:
        UserError: as ``retrieve_all``.
    """
    _check(options)
    if not any(parse_retriever(spec).model for spec in options.retrievers):
        return None
    workspace = Workspace(root)
    with closing(Library(workspace)) as library, open_models(workspace, limits, options) as models:
        questions = load_questions(workspace, options.questions, limit=options.limit)

        def requests() -> Iterator[Request]:
            for parsed in map(parse_retriever, options.retrievers):
                if parsed.model:
                    first = _retriever(library, parsed, options)
                    run = retrieve(questions, library.corpus, first, depth=options.depth)
                    reranker = _model_reranker(library, parsed.model, models, limits)
                    yield from reranker.requests(list(rerank_tasks(run, questions, library.corpus).values()))

        return models.estimate([("retrieve", requests())])


def _retrieved(
    workspace: Workspace,
    library: Library,
    options: RetrievalOptions,
    limits: Limits | None,
    seen: Callable[[], None] | None,
) -> Retrieved:
    questions = load_questions(workspace, options.questions, limit=options.limit)
    for spec in options.retrievers:
        _open(library, parse_retriever(spec))
    folder = workspace.file(RETRIEVAL) / options.questions
    runs: list[RetrievalRun] = []
    calls: Closing | None = None
    with open_models(workspace, limits, options) as models:
        for spec in options.retrievers:
            run = _run(library, questions, spec, options, models, limits)
            _write(folder, spec, run, questions)
            runs.append(run)
            if seen is not None:
                seen()
        if any(parse_retriever(spec).model for spec in options.retrievers):
            calls = models.closing()
    table = score_retrieval(
        questions, runs, library.corpus, cuts=options.cuts, confidence=options.confidence,
        resamples=options.resamples, seed=options.seed,
    )  # fmt: skip
    write_json(folder / _TABLE, table)
    workspace.record(
        f"retrieve/{options.questions}",
        settings=msgspec.to_builtins(options),
        counts={"questions": table.questions, "retrievers": len(runs), **table.counts},
        inputs=("corpus/manifest.json", QUESTION_FILES[options.questions]),
        outputs=(f"{RETRIEVAL}/{options.questions}/{_TABLE}",),
    )
    return Retrieved(
        table=table,
        questions=table.questions,
        left_out=left_out(workspace, options.questions),
        recall_of_search=msgspec.UNSET
        if options.method == "exact"
        else _measured(library, questions, options),
        calls=msgspec.UNSET if calls is None else calls,
    )


def _check(options: RetrievalOptions) -> None:
    if not options.retrievers:
        raise UserError("no retriever was named.", hint=f"such as {', '.join(DEFAULT_RETRIEVERS)}")
    if len(set(options.retrievers)) < len(options.retrievers):
        raise UserError("a retriever was named twice.", hint="name each of them once")
    for spec in options.retrievers:
        parse_retriever(spec)


def load_table(workspace: Workspace, questions: str = "styled") -> RetrievalTable | None:
    """Return the table of a set of questions; None where nothing was searched."""
    path = workspace.file(RETRIEVAL) / questions / _TABLE
    if not is_there(path):
        return None
    table: RetrievalTable = read_json(path, RetrievalTable)
    return table


def _write(folder: Path, spec: str, run: RetrievalRun, questions: Sequence[Question]) -> None:
    write_jsonl(folder / f"{run_name(spec)}.jsonl", run.rankings)
    about = RunNote(
        spec=spec, retriever=run.retriever, signature=run.signature, questions=asked_hash(questions),
        embedders=run.embedders, details=dict(run.details),
    )  # fmt: skip
    write_json(folder / f"{run_name(spec)}.run.json", about)


def _measured(library: Library, questions: Sequence[Question], options: RetrievalOptions) -> list[str]:
    """Return in words how much of the exact search each approximate one finds for these questions."""
    told = []
    for spec in options.retrievers:
        base = spec.partition("~")[0]
        if base == "bm25" or "+" in base:
            continue
        index = library.dense(base, options.method)
        if isinstance(index, ApproximateIndex):
            vectors = library.embedder(base).embed([q.text for q in questions], "query")
            found = measure_recall(index, vectors, max(options.cuts))
            told.append(
                f"{base}: {options.method} finds {100 * found.recall:.2f} % of what exact search does (first {found.k}, "
                f"{found.queries:,} questions)"
            )
    return told


# -- retrievers ----------------------------------------------------------------------------------------------------


def _run(
    library: Library,
    questions: Sequence[Question],
    spec: str,
    options: RetrievalOptions,
    models: Models,
    limits: Limits | None,
) -> RetrievalRun:
    parsed = parse_retriever(spec)
    run = retrieve(questions, library.corpus, _retriever(library, parsed, options), depth=options.depth)
    if not parsed.reranker:
        return run
    reranker = _reranker(library, parsed.reranker, models, limits)
    return rerank_run(run, questions, library.corpus, reranker)


def _open(library: Library, parsed: ParsedRetriever) -> None:
    """See that all parts can be used, before the first of several retrievers begins.

    Raises:
        UserError: if one cannot.
    """
    for part in parsed.dense:
        library.embedder(part)
    kind, _, rest = parsed.reranker.partition("/")
    if kind == "embed":
        library.embedder(rest)


def _retriever(library: Library, parsed: ParsedRetriever, options: RetrievalOptions) -> Retriever:
    found = tuple(_single(library, part, options) for part in parsed.parts)
    if not parsed.fusion:
        return found[0]
    return HybridRetriever(found, fusion=parsed.fusion, depth=max(DEPTH, options.depth))


def _single(library: Library, part: str, options: RetrievalOptions) -> Retriever:
    if part == "bm25":
        return LexicalRetriever(library.lexical, pool=options.pool, score=options.score)
    return DenseRetriever(
        library.embedder(part),
        library.dense(part, options.method),
        pool=options.pool,
        score=options.score,
        label=part,
    )


def _reranker(library: Library, spec: str, models: Models, limits: Limits | None) -> Reranker:
    kind, _, rest = spec.partition("/")
    if kind == "cross":
        return CrossEncoderReranker(Path(rest))
    if kind == "embed":
        return EmbedderReranker(library.embedder(rest))
    models.require_prices(spec)
    return _model_reranker(library, spec, models, limits)


def _model_reranker(library: Library, spec: str, models: Models, limits: Limits | None) -> ModelReranker:
    return ModelReranker(
        spec,
        prompts=evaluation_prompts(limits.prompts if limits else None),
        secret=models.secret,
        ask=models.ask("retrieve"),
        picture=CorpusPictures(library.corpus, models.media),
        replying=models.replying,
    )
