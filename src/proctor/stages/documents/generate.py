"""The stage ``generate documents``: a corpus to questions in styles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.ask.documents.candidates import K_MODALITY, find_by_title
from proctor.ask.documents.contamination import NearMatch, find_near_matches
from proctor.ask.documents.distractors import DistractorSearch
from proctor.ask.documents.duplicates import EmbedQuestions
from proctor.ask.documents.pipeline import DocumentsGenerator
from proctor.ask.documents.plan import ImpossibleCell, plan_targets, possible_targets
from proctor.ask.documents.prompting import PromptKit
from proctor.ask.documents.record import Target
from proctor.ask.documents.run import DocumentsRun, generate_documents
from proctor.ask.documents.seed_levels import SeedLevels
from proctor.ask.documents.style import PUBLISHED_COUNTS, Style, load_styles, render_combination
from proctor.ask.documents.summary import UNTRIED, Cell
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.corpus.collection import Corpus
from proctor.corpus.index.hits import CODES
from proctor.corpus.seeds import SeedSampler, seed_coverage
from proctor.corpus.seeds.weights import BETA, NEIGHBOURS
from proctor.corpus.source import MODALITIES, Modality
from proctor.errors import UserError
from proctor.exam.retrievers import BM25
from proctor.exam.source_showing import CorpusPictures
from proctor.records import Dropped, read_bytes, read_jsonl, write_json, write_jsonl
from proctor.stages.documents.library import Library, parse_chooser
from proctor.stages.documents.reading import CORPUS, WRITTEN, questions_of
from proctor.stages.documents.settings import DocumentsOptions
from proctor.stages.models import Asked, Closing, Limits, Models, open_models
from proctor.tables import Shown
from proctor.workspace import Workspace

__all__ = [
    "ATTEMPTS_FILE",
    "SUMMARY",
    "DocumentsMade",
    "Plan",
    "generate",
    "plan_of",
    "plan_warnings",
    "weak_search",
    "with_embedder",
]

ATTEMPTS_FILE: Final = "documents.attempts.jsonl"
SUMMARY: Final = "documents.json"
IMPOSSIBLE: Final = "impossible_cell"
"""Why a question of a cell that the corpus cannot fill is dropped."""

DEFAULT_CHOOSER: Final = "bm25+lsa:fill"
"""Finds candidates where nothing else is asked for."""
WEAK: Final = 0.8
"""Share of sources that a search finds by their own title, below which it is weak."""
_CLEAR: Final = 0.05
"""So much less than BM25 is weak, too."""
_ALONE: Final = 1_024
"""Sources of which weights are computed to tell how uneven they are."""


class DocumentsMade(Shown, Asked, frozen=True, kw_only=True, omit_defaults=True):
    """The numbers of the closing line.

    Attributes:
        asked: questions.
        achieved: of them.
        open: those that models still owe.
        attempts: at all of them.
        outcomes: of attempts.
        dropped: questions without a result, by reason.
        near_known: questions near to such as models may have learnt from.
        cells: of styles and combinations.
        short: modalities of which there are fewer candidates than are shown elsewhere.
        impossible: cells that the corpus cannot fill; nothing was asked for them.
        embedder: what found candidates, as it is typed.
        weak: why that is weak on this corpus; empty where it is not.
    """

    asked: int
    achieved: int
    open: int
    attempts: int
    outcomes: dict[str, int]
    dropped: dict[str, int]
    near_known: int
    cells: tuple[Cell, ...]
    short: tuple[str, ...]
    impossible: tuple[ImpossibleCell, ...] = ()
    embedder: str = ""
    weak: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to beware of, one line each."""
        return (*plan_warnings(self.impossible, self.asked, self.short), *filter(None, [self.weak]))


@dataclass(frozen=True, slots=True)
class Plan:
    """What is going to be made.

    Attributes:
        styles: of the targets.
        targets: questions that are wanted and possible.
        short: modalities of which there are fewer candidates than asked for.
        impossible: cells that the corpus cannot fill.
        beyond: questions of these cells.
    """

    styles: tuple[Style, ...]
    targets: tuple[Target, ...]
    short: tuple[str, ...] = ()
    impossible: tuple[ImpossibleCell, ...] = ()
    beyond: tuple[Dropped, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to beware of, one line each."""
        return plan_warnings(self.impossible, len(self.targets), self.short)


def plan_warnings(
    impossible: Sequence[ImpossibleCell], asked: int, short: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return what cannot be asked of a corpus, or only with fewer candidates, one line each.

    Args:
        impossible: cells that were left out.
        asked: questions of the other cells.
        short: as in ``Plan``.
    """
    lost = sum(cell.questions for cell in impossible)
    head = f"{lost:,} of {lost + asked:,} questions cannot be asked of this corpus and are left out: "
    return (*([head + "; ".join(cell.told for cell in impossible)] if impossible else []), *short)


def plan_of(corpus: Corpus, options: DocumentsOptions) -> Plan:
    """Plan the targets; cells that the corpus cannot fill are left out.

    Raises:
        UserError: if a style is unknown, numbers make no sense, or the corpus can fill no cell.
    """
    styles = load_styles(options.styles)
    quotas = None
    if options.published:
        if options.per_cell is not None or options.total is not None:
            raise UserError(
                "the published numbers of questions leave no room for others.",
                hint="leave out --per-cell and --total",
            )
        quotas = {
            style.name: PUBLISHED_COUNTS[style.name] for style in styles if style.name in PUBLISHED_COUNTS
        }
    per_cell = options.per_cell
    if quotas is None and options.total is None and per_cell is None:
        per_cell = 1
    targets = plan_targets(
        styles,
        total=options.total,
        per_cell=per_cell,
        quotas=quotas,
        combinations=options.combination or None,
    )
    found = possible_targets(targets, styles, corpus.counts(), k_modality=options.pipeline.k_modality)
    reasons = {(cell.style, cell.combination): cell.reason for cell in found.impossible}
    beyond = tuple(
        Dropped(target.id, IMPOSSIBLE, reason)
        for target in targets
        if (reason := reasons.get((target.style, render_combination(target.modalities)), ""))
    )
    return Plan(styles, found.targets, found.short, found.impossible, beyond)


def generate(
    root: Path,
    options: DocumentsOptions,
    *,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
) -> DocumentsMade:
    """Generate questions about a workspace's corpus.

    Args:
        root: the workspace.
        options: what is wanted; known questions are JSON Lines with ``question``, or one a line, and the data set's own are
            always compared.
        limits: what calls may cost, and where they are kept.
        seen: called after each target that is done.

    Raises:
        UserError: if something about the plan, the corpus or a model is wrong; nothing is asked then.
    """
    workspace = Workspace(root)
    options = with_embedder(workspace, options)
    library = Library(workspace)
    plan = plan_of(library.corpus, options)
    lists = _known_questions(workspace, options.known)
    sampler = sampler_of(library, options)
    weak = weak_search(library, options.embedder)
    embed = _embed_questions(library, options.embedder)
    with open_models(workspace, limits, options) as models:
        models.require_prices(*options.names)
        generator = documents_generator(models, library, plan, options, sampler, limits)
        run = generate_documents(
            plan.targets,
            generator,
            models.ask("generate"),
            embed=embed,
            progress=lambda _result, _wave: seen() if seen is not None else None,
        )
        calls = models.closing()
    _require_replies(run, workspace, mute=calls.mute)
    near = find_near_matches([(q.id, q.text) for q in run.questions], lists, embed=embed)
    made = _written(workspace, library, plan, options, run, near, sampler, calls, weak)
    return msgspec.structs.replace(made, calls=calls)


def with_embedder(workspace: Workspace, options: DocumentsOptions) -> DocumentsOptions:
    """Return the options with a named embedder: what found the workspace's questions before, else by default.

    By default words choose, and vectors of the corpus' own words fill up: the best that needs no download
    (``benchmarks/corpus/choosing.py``). The published numbers keep to vectors.

    Raises:
        UserError: for a floor under scores that are made of ranks.
    """
    if not options.embedder:
        before = workspace.stages().get("documents")
        known = before.settings.get("embedder", "") if before is not None else ""
        options = msgspec.structs.replace(
            options, embedder=known or ("lsa" if options.published else DEFAULT_CHOOSER)
        )
    if options.floor is not None and parse_chooser(options.embedder).fusion:
        raise UserError(
            f"the scores of {options.embedder} are made of several searches, and no floor can be put under them.",
            hint="leave out --floor, or name one search: --embedder bm25",
        )
    return options


def weak_search(library: Library, spec: str) -> str:
    """Say that a search for candidates is weak on this corpus; empty where it is not.

    It is tried on the spot: does it find sources by their own title among as many as are candidates?
    """
    own = find_by_title(library.corpus.sources, library.search(spec))
    words = own if spec == BM25 else find_by_title(library.corpus.sources, library.search(BM25))
    if own.share >= WEAK and own.share >= words.share - _CLEAR:
        return ""
    better = words.share > own.share
    told = f" and bm25 {words}" if better else ""
    other = f"--embedder {DEFAULT_CHOOSER} or " if better else ""
    return (
        f"{spec} is weak on this corpus: of sources that are searched for by their own title, it has {own} among the first "
        f"{K_MODALITY} of their modality{told}. Candidates may miss what they are to be about; choose {other}a model of vectors "
        "(--embedder onnx/PATH, st/PATH, compat/NAME@URL)"
    )


def documents_generator(
    models: Models,
    library: Library,
    plan: Plan,
    options: DocumentsOptions,
    sampler: SeedSampler | None,
    limits: Limits | None,
) -> DocumentsGenerator:
    """Return the generator of a plan."""
    within: tuple[Modality, ...] | None = None
    if options.seed_modalities == "required":
        within = tuple(m for n, m in enumerate(MODALITIES) if any(t.modalities[n] for t in plan.targets))
    evenly = np.flatnonzero(np.isin(library.corpus.modalities, [CODES[m] for m in within or MODALITIES]))

    def draw(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        if sampler is None:
            return rng.choice(evenly, n)
        return np.asarray(sampler.draw(n, rng, within=within), np.int64)

    eligible = sum(n for m, n in library.corpus.counts().items() if within is None or m in within)
    pipeline = options.pipeline
    return DocumentsGenerator(
        corpus=library.corpus,
        find=library.find(options.embedder),
        seeds=SeedLevels(
            plan.targets,
            draw,
            eligible,
            options.seed,
            documents=[source.doc_id or source.id for source in library.corpus],
            quota=options.document_quota,
        ),
        styles=plan.styles,
        models=options.models,
        kit=PromptKit(
            prompts=generation_prompts(limits.prompts if limits else None, published=options.published),
            secret=models.secret,
            picture=CorpusPictures(library.corpus, models.media),
            published=options.published,
            replying=models.replying,
        ),
        seed=options.seed,
        settings=pipeline,
        retriever=library.chooser(options.embedder),
        rank=_ranker(library) if pipeline.difficulty.ranks else None,
        distractor_search=_distractor_search(library, options.embedder),
        price=models.price,
    )


def sampler_of(library: Library, options: DocumentsOptions) -> SeedSampler | None:
    """Return what draws seeds by their weights; None where no vectors weigh them, and all are equally likely.

    Raises:
        UserError: if weights are asked for that nothing could be weighed by.
    """
    dense = parse_chooser(options.embedder).dense
    if not dense:
        usual = {"beta": BETA, "k_seed": NEIGHBOURS, "scale": "multiply"}
        if asked := [name for name, value in usual.items() if getattr(options, name) != value]:
            raise UserError(
                f"seeds are weighed by vectors, and there are none with --embedder {options.embedder}.",
                hint=f"leave out --{asked[0].replace('_', '-')}, or add vectors: --embedder {DEFAULT_CHOOSER}",
            )
        return None
    corpus = library.corpus
    return SeedSampler(
        library.vectors(dense[0]),
        [source.doc_id for source in corpus],
        corpus.modalities,
        k=options.k_seed,
        beta=options.beta,
        scale=options.scale,
        names=[source.id for source in corpus],
    )


def _embed_questions(library: Library, spec: str) -> EmbedQuestions | None:
    """Return what gives questions vectors; None where words alone choose candidates, and tell questions apart."""
    dense = parse_chooser(spec).dense
    if not dense:
        return None
    embedder = library.embedder(dense[0])

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        return embedder.embed(texts, "query")

    return embed


def _ranker(library: Library) -> Callable[[str, Sequence[str]], Sequence[int | None]]:
    """Return a function that tells the ranks of sources for a question by words (counted from 1)."""

    def rank(question: str, ids: Sequence[str]) -> Sequence[int | None]:
        hits = library.lexical.search([question], len(library.corpus)).positions[0]
        places = {int(position): n for n, position in enumerate(hits, 1) if position >= 0}
        return [places.get(library.corpus.position(id_)) for id_ in ids]

    return rank


def _distractor_search(library: Library, spec: str) -> DistractorSearch:
    corpus, find = library.corpus, library.find(spec)
    members: dict[str, list[str]] = {}
    for source in corpus:
        if source.doc_id:
            members.setdefault(source.doc_id, []).append(source.id)

    def ids(row: NDArray[np.int64]) -> list[str]:
        return [corpus.sources[p].id for p in row.tolist() if p >= 0]

    def by_document(id_: str) -> Sequence[str]:
        source = corpus.get(id_)
        return members.get(source.doc_id, []) if source is not None else []

    dense = parse_chooser(spec).dense

    def by_vector(question: str, k: int) -> Sequence[str]:
        vectors = library.embedder(dense[0]).embed([question], "query")
        return ids(library.dense(dense[0]).search(vectors, k).positions[0])

    return DistractorSearch(
        document=by_document,
        entity=lambda entity, modality, k: ids(find(entity, MODALITIES[modality], k).positions[0]),
        vector=by_vector if dense else None,
        words=lambda question, k: ids(library.lexical.search([question], k).positions[0]),
    )


# -- what is known already -----------------------------------------------------------------------------------------


class _Known(msgspec.Struct):
    question: str


def _known_questions(workspace: Workspace, files: Sequence[Path]) -> dict[str, list[str]]:
    """Return lists of questions by name: the data set's own and those of files."""
    lists: dict[str, list[str]] = {}
    if own := [q.question for q in questions_of(workspace)]:
        lists["the data set's questions"] = own
    for path in files:
        if path.suffix in (".jsonl", ".ndjson"):
            rows: list[_Known] = read_jsonl(path, _Known)
            lists[path.name] = [row.question for row in rows]
        else:
            try:
                text = read_bytes(path).decode("utf-8")
            except UnicodeDecodeError as error:
                raise UserError(f"is not UTF-8 text: {error}.", where=str(path)) from None
            lists[path.name] = [line.strip() for line in text.splitlines() if line.strip()]
    return lists


# -- writing -------------------------------------------------------------------------------------------------------


def _require_replies(run: DocumentsRun, workspace: Workspace, *, mute: bool) -> None:
    """Keep what is there when not one attempt found anything out.

    Raises:
        UserError: with the commonest reason.
    """
    attempts = run.attempts
    heard = not mute and any(a.outcome not in UNTRIED for a in attempts)
    if run.questions or run.interrupted or not attempts or heard:
        return
    raise UserError(
        f"no model replied in {len(attempts):,} attempts, the first of which says: {attempts[0].detail[:200]}",
        where=str(workspace.root),
        hint=f"{WRITTEN} is as it was; the same command asks again",
    )


def _written(
    workspace: Workspace,
    library: Library,
    plan: Plan,
    options: DocumentsOptions,
    run: DocumentsRun,
    near: Sequence[NearMatch],
    sampler: SeedSampler | None,
    calls: Closing,
    weak: str,
) -> DocumentsMade:
    write_jsonl(workspace.file(WRITTEN), run.questions)
    write_jsonl(workspace.file(ATTEMPTS_FILE), run.attempts)
    reasons = workspace.write_dropped("documents", [*plan.beyond, *run.dropped])
    corpus = library.corpus
    seeds = [corpus.position(a.seed_id) for a in run.attempts if a.seed_id]
    coverage = seed_coverage(seeds, [source.doc_id for source in corpus], corpus.modalities)
    summary = {
        "summary": run.summary,
        "coverage": coverage,
        "seed_statistics": {} if sampler is None else sampler.statistics(min(_ALONE, len(library.corpus))),
        "near_known": near,
        "short": plan.short,
        "impossible": plan.impossible,
        "embedder": options.embedder,
        "weak": weak,
        "waves": run.waves,
        "interrupted": run.interrupted,
    }
    write_json(workspace.file(SUMMARY), summary)
    made = DocumentsMade(
        asked=run.summary.asked,
        achieved=run.summary.achieved,
        open=run.summary.open,
        attempts=run.summary.attempts,
        outcomes=dict(run.summary.outcomes),
        dropped=reasons,
        near_known=len(near),
        complete=run.is_complete,
        interrupted=run.interrupted,
        cells=tuple(run.summary.cells),
        short=plan.short,
        impossible=plan.impossible,
        embedder=options.embedder,
        weak=weak,
        unsent=calls.unsent,
    )
    workspace.record(
        "documents",
        settings=options.recorded(),
        counts=made.recorded("cells", "short", "impossible", "embedder", "weak"),
        inputs=(f"{CORPUS}/manifest.json",),
        outputs=(WRITTEN, ATTEMPTS_FILE, SUMMARY),
    )
    return made
