"""Options of the stages of a corpus: what it is built from, and how its sources are searched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec

from proctor.errors import UserError
from proctor.records import Json
from proctor.settings import Settings, option
from proctor.stages.settings import Limit, ReplyOptions, Seed

if TYPE_CHECKING:
    from proctor.ask.documents.pipeline import DocumentsModels, DocumentsSettings

__all__ = [
    "DEFAULT_RETRIEVERS",
    "CorpusOptions",
    "DedupeOptions",
    "DocumentsOptions",
    "EmbedOptions",
    "RetrievalOptions",
]

Wanted = Literal["off", "measure", "refuse"]

DEFAULT_RETRIEVERS = ("bm25", "lsa", "bm25+lsa")


class CorpusOptions(ReplyOptions, frozen=True, kw_only=True):
    """Where sources come from and how they are made."""

    files: Annotated[
        tuple[Path, ...],
        option(
            "File or folder of PDF, HTML, Markdown, CSV, pictures; may be repeated: ids then begin with the folder's name.",
            "--from",
            metavar="PATH",
        ),
    ] = ()
    data: Annotated[
        tuple[Path, ...],
        option("Folder of a data set that holds a corpus (MultiModalQA, OTT-QA, sources.jsonl)."),
    ] = ()
    dataset: Annotated[
        str | None, option("Its reader; recognised by its files by default.", metavar="DATASET")
    ] = None
    recordings: Annotated[
        tuple[Path, ...],
        option(
            "Workspace of recordings: task graphs, steps and what was done become sources, its questions come along.",
            metavar="WORKSPACE",
        ),
    ] = ()
    minimum: Annotated[
        int, option("Shorter texts are left out: characters of the body.", "--min-text", ge=0)
    ] = 200
    near: Annotated[
        float | None,
        option(
            "Merge texts and tables that are at least this similar, such as 0.9 (default: only exact duplicates).",
            ge=0.01,
            le=1,
        ),
    ] = None
    licence: Annotated[str | None, option("Licence of the files (SPDX).")] = None
    verbaliser: Annotated[
        str | None, option("Model that describes images that have no description.", metavar="MODEL")
    ] = None
    draw_missing: Annotated[
        bool, option("Draw a placeholder for every missing image: for rehearsals, never for results.")
    ] = False

    def recorded(self) -> dict[str, Json]:
        """Return what was set, for the workspace's record; what was not is left out."""
        found: dict[str, Json] = msgspec.to_builtins(self, enc_hook=str)
        return {
            name: list(v) if isinstance(v, tuple) else v
            for name, v in found.items()
            if v not in (None, (), [])
        }


class EmbedOptions(Settings, frozen=True, kw_only=True):
    """Whose vectors are made."""

    embedder: Annotated[
        str,
        option("lsa, onnx/PATH, st/PATH, clip/PATH, compat/NAME@URL, openai/NAME.", "-e", metavar="EMBEDDER"),
    ] = "lsa"


class DedupeOptions(Settings, frozen=True, kw_only=True):
    """What counts as the same, and whether it is collapsed."""

    near: Annotated[
        float,
        option(
            "Similarity from which two texts or tables count as duplicates (Jaccard of words).", ge=0.01, le=1
        ),
    ] = 0.9
    exact: Annotated[bool, option("Only look for exact duplicates.")] = False
    apply: Annotated[bool, option("Merge them: the first one stays, the others become its aliases.")] = False


class RetrievalOptions(ReplyOptions, frozen=True, kw_only=True):
    """What is searched and how.

    Attributes:
        confidence: of the intervals.
        resamples: of the bootstrap; 0 for no intervals.
    """

    retrievers: Annotated[
        tuple[str, ...],
        option(
            "bm25, an embedder (lsa, onnx/PATH, st/PATH, compat/NAME@URL, clip/PATH), several joined by + (fused by ranks; "
            "bm25+lsa:zscore by scores; bm25+lsa:fill: words first, vectors where they find too few), each with ~RERANKER (cross/PATH, embed/EMBEDDER or a model). May be repeated.",
            "--retriever",
            "-r",
            metavar="RETRIEVER",
        ),
    ] = DEFAULT_RETRIEVERS
    questions: Annotated[
        str, option("styled: what was generated; data: what came with the data.", metavar="styled|data")
    ] = "styled"
    pool: Annotated[
        Literal["all", "required_modalities", "per_modality"], option("Which sources compete.")
    ] = "all"
    score: Annotated[
        Literal["raw", "zscore"], option("Scores of the searches: raw, or zscore within each modality.")
    ] = "raw"
    method: Annotated[
        str,
        option(
            "exact, an approximate search such as hnsw (its recall is measured and printed), or a server that holds the "
            "vectors: qdrant:URL (extra qdrant), postgresql://… (extra pgvector)",
            "--search",
        ),
    ] = "exact"
    depth: Annotated[int, option("Length of a ranking.", ge=1)] = 100
    cuts: Annotated[tuple[int, ...], option("Cut-off of recall; may be repeated.", "-k")] = (5, 10)
    confidence: float = 0.95
    resamples: int = 10_000
    seed: Seed = 0
    limit: Limit = None


class DocumentsOptions(ReplyOptions, frozen=True, kw_only=True):
    """How many questions of which styles are wanted, who writes and checks them, and what makes one too easy or too hard.

    Numbers are called as in SMMQG, and its values are the defaults.

    Raises:
        UserError: if no question could have the ranks that are asked for.
    """

    section: ClassVar[str] = "documents"

    generator: Annotated[str, option("Model that writes questions.", "-g", metavar="MODEL")] = ""
    image_generator: Annotated[
        str,
        option("Model that writes when a candidate is an image (default: the generator).", metavar="MODEL"),
    ] = ""
    entity_model: Annotated[
        str, option("Model that names the entity of a seed (default: the generator).", metavar="MODEL")
    ] = ""
    verifier: Annotated[
        str,
        option(
            "Model that checks questions (default: the generator, as published; another is better).",
            metavar="MODEL",
        ),
    ] = ""
    style: Annotated[
        tuple[str, ...],
        option(
            "information-extraction, compare-contrast, numerical, compound, multi-hop, or a file of your own; may be repeated "
            "(default: all five, or those that are for the combinations)."
        ),
    ] = ()
    per_cell: Annotated[
        int | None,
        option("Questions of every style with every combination of modalities (default 1).", ge=1),
    ] = None
    total: Annotated[int | None, option("Questions in all, spread evenly.", ge=1)] = None
    published: Annotated[
        bool,
        option(
            "The numbers of the published set (1,024 questions of five styles), and its verifier, which gives the verdict before the reason."
        ),
    ] = False
    combination: Annotated[
        tuple[str, ...],
        option("Only this many texts, tables and images, such as 1-1-0; may be repeated."),
    ] = ()
    embedder: Annotated[
        str,
        option(
            "Finds candidates and weighs seeds: lsa, onnx/PATH, st/PATH, compat/NAME@URL, bm25 (no vectors: seeds are drawn "
            "evenly), or several fused, such as bm25+lsa (default: what the workspace was made with, else lsa with "
            "--published, else bm25+lsa:fill: words first, vectors where they find too few).",
            metavar="RETRIEVER",
        ),
    ] = ""
    k_modality: Annotated[
        int, option("Candidates of its modality for each source that a question needs.", ge=1)
    ] = 2
    num_entities: Annotated[
        int,
        option("Entities that are asked for of a seed; an attempt draws one of them.", ge=1, le=20),
    ] = 1
    floor: Annotated[
        float | None,
        option(
            "Score for the entity below which a source is no candidate: a cosine of vectors, BM25's own of words; not of fused "
            "searches (default: none)."
        ),
    ] = None
    include_seed: Annotated[
        bool,
        option("The seed is a candidate, too, where its modality is needed (as published it need not be)."),
    ] = False
    beta: Annotated[
        float,
        option("beta of the seeds' weights exp(-beta w), where w is the mean distance to neighbours.", ge=0),
    ] = 0.1
    k_seed: Annotated[int, option("Neighbours from which a seed's weight is computed.", ge=1)] = 5
    scale: Annotated[
        Literal["multiply", "divide"],
        option(
            "How beta scales the seeds' weights: multiply (as printed: nearly uniform) or divide (fewer outliers)."
        ),
    ] = "multiply"
    seed_modalities: Annotated[
        Literal["any", "required"],
        option("Seeds of any source (as published), or only of the required modalities."),
    ] = "any"
    document_quota: Annotated[
        int | None, option("Seeds of one document at most, in each round of attempts.", ge=1)
    ] = None
    necessity: Annotated[
        Literal["prompt", "ablate"],
        option(
            "How it is checked that every source is needed: by the verifier (prompt), or also by leaving out each (ablate)."
        ),
    ] = "prompt"
    attempts: Annotated[int, option("Attempts at one question, at most.", ge=1)] = 8
    closed_book: Annotated[
        Wanted, option("Can it be answered without any source? off, measure, or refuse such questions.")
    ] = "off"
    one_source: Annotated[
        Wanted, option("Can it be answered from one of its sources? off, measure, or refuse.")
    ] = "off"
    gold_rank: Annotated[bool, option("Measure the rank of the cited sources for the question (BM25).")] = (
        False
    )
    max_rank: Annotated[
        int | None, option("Refuse questions whose cited sources rank lower than this.", ge=1)
    ] = None
    min_rank: Annotated[
        int | None, option("Refuse questions whose worst cited source ranks higher than this.", ge=1)
    ] = None
    known: Annotated[
        tuple[Path, ...],
        option("File of questions that models may have learnt from; near ones are listed. May be repeated."),
    ] = ()
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_rank is not None and self.max_rank is not None and self.min_rank > self.max_rank:
            raise UserError(
                f"no question has a worst rank of {self.min_rank} or more and {self.max_rank} or less.",
                hint="--min-rank is at most --max-rank",
            )

    @property
    def models(self) -> DocumentsModels:
        """Who does what.

        Raises:
            UserError: if nobody writes.
        """
        from proctor.ask.documents.pipeline import DocumentsModels

        if not self.generator:
            raise UserError(
                "no model was named that writes questions.", hint="name a model: -g openai/gpt-4o"
            )
        return DocumentsModels(
            entity=self.entity_model or self.generator,
            generator=self.generator,
            verifier=self.verifier or self.generator,
            generator_lmm=self.image_generator,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all models that may be asked."""
        return tuple(dict.fromkeys(name for name in msgspec.structs.astuple(self.models) if name))

    @property
    def pipeline(self) -> DocumentsSettings:
        """How a question is made and what is measured of it."""
        from proctor.ask.documents.difficulty import DifficultyRules
        from proctor.ask.documents.pipeline import DocumentsSettings

        rules = DifficultyRules(
            closed_book=self.closed_book, one_source=self.one_source, gold_rank=self.gold_rank,
            min_rank=self.min_rank, max_rank=self.max_rank,
        )  # fmt: skip
        return DocumentsSettings(
            attempts=self.attempts, k_modality=self.k_modality, num_entities=self.num_entities, floor=self.floor,
            include_seed=self.include_seed, difficulty=rules, necessity=self.necessity,
        )  # fmt: skip

    @property
    def styles(self) -> tuple[str, ...]:
        """Names of styles: those that are asked for, else ours that are for one of the combinations.

        All of them where this leaves none, to be told so.
        """
        from proctor.ask.documents.style import BUILTIN_STYLES, load_style

        wanted = set(self.combination)
        fitting = self.style or tuple(
            name
            for name in (BUILTIN_STYLES if wanted else ())
            if wanted & {"-".join(map(str, combination)) for combination in load_style(name).combinations}
        )
        return fitting or BUILTIN_STYLES

    def recorded(self) -> dict[str, Json]:
        """Return what was set, for the workspace's record."""
        found: dict[str, Json] = msgspec.to_builtins(
            {
                "models": self.models, "styles": list(self.styles), "per_cell": self.per_cell, "total": self.total,
                "published": self.published, "combinations": list(self.combination), "embedder": self.embedder,
                "seed": self.seed, "scale": self.scale, "beta": self.beta, "k_seed": self.k_seed,
                "seed_modalities": self.seed_modalities, "document_quota": self.document_quota, "pipeline": self.pipeline,
                **self.said(),
            }
        )  # fmt: skip
        return found
