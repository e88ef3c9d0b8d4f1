"""Options of the stages of a corpus: what it is built from, and how its sources are searched."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from proctor.settings import Settings, option

__all__ = ["DEFAULT_RETRIEVERS", "CorpusOptions", "RetrievalOptions"]

DEFAULT_RETRIEVERS = ("bm25", "lsa", "bm25+lsa")


class CorpusOptions(Settings, frozen=True, kw_only=True):
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
    dataset: Annotated[str | None, option("Its reader; found out by its files where it is not named.")] = None
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
            "Collapse texts and tables that are this alike, such as 0.9 (default: equal ones alone).",
            ge=0.01,
            le=1,
        ),
    ] = None
    licence: Annotated[str | None, option("Of the files, as SPDX names it.")] = None
    verbaliser: Annotated[
        str | None, option("Model that describes images which nobody has described.", metavar="MODEL")
    ] = None
    draw_missing: Annotated[
        bool, option("Draw a card for every image without pixels: for rehearsals, never for results.")
    ] = False

    def recorded(self) -> dict[str, Any]:
        """Return what was set, for the workspace's record; what was not is left out."""
        found: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return {
            name: list(v) if isinstance(v, tuple) else v
            for name, v in found.items()
            if v not in (None, (), [])
        }


class RetrievalOptions(Settings, frozen=True, kw_only=True):
    """What is searched and how.

    Attributes:
        confidence: of the intervals.
        resamples: of the bootstrap; 0 for no intervals.
    """

    retrievers: Annotated[
        tuple[str, ...],
        option(
            "bm25, an embedder (lsa, onnx/PATH, st/PATH, compat/NAME@URL, clip/PATH), several joined by + (fused by ranks; "
            "bm25+lsa:zscore by scores), each with ~RERANKER (cross/PATH, embed/EMBEDDER or a model). May be repeated.",
            "--retriever",
            "-r",
        ),
    ] = DEFAULT_RETRIEVERS
    questions: Annotated[str, option("styled: what was generated; data: what came with the data.")] = "styled"
    pool: Annotated[
        Literal["all", "required_modalities", "per_modality"], option("Which sources compete.")
    ] = "all"
    score: Annotated[
        Literal["raw", "zscore"], option("Of the searches: raw, or zscore within each modality.")
    ] = "raw"
    method: Annotated[
        str,
        option(
            "exact, an approximate search such as hnsw (its recall is measured and printed), or a server that holds the "
            "vectors: qdrant:URL, postgresql://…",
            "--search",
        ),
    ] = "exact"
    depth: Annotated[int, option("Sources of a ranking.", ge=1)] = 100
    cuts: Annotated[tuple[int, ...], option("Cut-off of recall; may be repeated.", "-k")] = (5, 10)
    limit: Annotated[int | None, option("Stop after so many.", ge=1)] = None
    confidence: float = 0.95
    resamples: int = 10_000
    seed: Annotated[int, option("Run seed; same inputs and seed give the same bytes.")] = 0
