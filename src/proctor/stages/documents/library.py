"""A workspace's corpus with everything that searches it: embedders with their cached vectors, indexes on disk.

Indexes are derived: one that belongs to another corpus, or is of another version, is made again without being asked for. One
whose files are damaged is an error, since the disk may be.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.ask.documents.candidates import Find, Search
from proctor.compute import HERE, Place
from proctor.corpus.collection import Corpus
from proctor.corpus.embed.cache import VectorCache
from proctor.corpus.embed.embed_corpus import Missing, embed_corpus, embed_texts, missing_vectors
from proctor.corpus.embed.embedder import Embedder, Vectors
from proctor.corpus.embed.open import open_embedder
from proctor.corpus.index.approximate import ApproximateIndex, parse_method
from proctor.corpus.index.dense import DenseIndex
from proctor.corpus.index.folder import open_lexical, open_vectors, write_index
from proctor.corpus.index.hits import NOTHING, Hits
from proctor.corpus.index.lexical import LexicalIndex
from proctor.corpus.index.stores import VectorStore, build_store
from proctor.corpus.source import Modality
from proctor.errors import UserError
from proctor.exam.fusion import FUSE, FUSIONS, Fusion
from proctor.exam.retrieval import CHOOSERS, DEPTH
from proctor.exam.retrievers import BM25
from proctor.llm.model import ModelName
from proctor.records import content_hash, is_there, read_json
from proctor.stages.documents.reading import corpus_of
from proctor.stages.rehearsing import in_trial, is_served, require_local_embedder
from proctor.workspace import Workspace

__all__ = ["Library", "ParsedRetriever", "parse_chooser", "parse_retriever"]

_VECTORS: Final = "vectors"
_INDEX: Final = "index"


class _Head(msgspec.Struct):
    """What is read of an index's manifest to know whether it is of this corpus and version."""

    format: int = 0
    corpus: str = ""


_SERVERS: Final = ("qdrant:", "postgresql://", "postgres://")
"""How the places of servers that hold vectors begin (``proctor.corpus.index.stores``)."""


@dataclass(frozen=True)
class ServedIndex:
    """Vectors on a server, searched like an index.

    Attributes:
        store: on the server.
        embedder: name of what made the vectors.
    """

    store: VectorStore
    embedder: str

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self.store)

    @property
    def signature(self) -> str:
        """Names the function: which vectors are searched and how."""
        return self.store.signature

    def search(self, queries: NDArray[Any], k: int, within: Modality | None = None) -> Hits:
        """Return the ``k`` sources of highest cosine for each query."""
        return self.store.search(queries, k, within)

    def moments(
        self, queries: NDArray[Any], within: Modality
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Refuse: means over all sources are not asked of a server.

        Raises:
            UserError: always.
        """
        del queries, within
        raise UserError(
            "standardised scores need all vectors at hand, and these are on a server.",
            hint="search exactly in the workspace (--search exact), or with --score raw",
        )


class Library:
    """The corpus of a workspace, searchable.

    Args:
        workspace: with a corpus.
        place: where sources are embedded.
        seen: called after each source that is embedded.

    Raises:
        UserError: if there is no corpus, or it is broken.
    """

    def __init__(
        self, workspace: Workspace, *, place: Place = HERE, seen: Callable[[], None] | None = None
    ) -> None:
        self.workspace = workspace
        self.corpus: Corpus = corpus_of(workspace)
        self._place = place
        self._seen = seen
        self._embedders: dict[str, Embedder] = {}
        self._dense: dict[tuple[str, str], DenseIndex | ApproximateIndex | ServedIndex] = {}

    def embedder(self, spec: str) -> Embedder:
        """Return an embedder by what users type: ``lsa``, ``onnx/PATH``, ``compat/NAME@URL``.

        Raises:
            UserError: if there is no such embedder, or the workspace is a rehearsal's and it is asked over the network.
        """
        if spec not in self._embedders:
            require_local_embedder(self.workspace.root, spec)
            folder, used = self.workspace.file(_VECTORS), spec
            if is_served(spec) and in_trial(self.workspace.root):
                logging.getLogger("proctor.corpus").warning(
                    "a dry run asks no server for vectors: lsa is used in place of %s, whose calls are not counted",
                    spec,
                )
                used = "lsa"
            self._embedders[spec] = open_embedder(used, corpus=self.corpus, folder=folder)
        return self._embedders[spec]

    def missing(self, spec: str) -> Missing:
        """Return what of the corpus has no vector by an embedder yet; no server is asked."""
        folder = self.workspace.file(_VECTORS)
        embedder = open_embedder(spec, corpus=self.corpus, folder=folder)
        return missing_vectors(self.corpus, embedder, VectorCache(folder))

    def vectors(self, spec: str) -> Vectors:
        """Return the vectors of all sources in the order of the corpus; what was embedded before is read."""
        cache = VectorCache(self.workspace.file(_VECTORS))
        return embed_corpus(self.corpus, self.embedder(spec), cache, place=self._place, seen=self._seen)

    @cached_property
    def lexical(self) -> LexicalIndex:
        """The index of words."""
        folder = self._folder("bm25")
        if self._fits(folder):
            return open_lexical(folder, self.corpus.fingerprint)
        index = LexicalIndex.build(self.corpus.texts(), self.corpus.modalities)
        write_index(folder, index, self.corpus.fingerprint)
        return index

    def dense(self, spec: str, method: str = "exact") -> DenseIndex | ApproximateIndex | ServedIndex:
        """Return an index of vectors.

        Args:
            spec: of the embedder.
            method: ``exact``, an approximate one (``proctor.corpus.index.approximate.parse_method``), or a server:
                ``qdrant:URL``, ``postgresql://…``.

        Raises:
            UserError: if the embedder or the method cannot be used.
        """
        if (spec, method) not in self._dense:
            self._dense[spec, method] = self._opened(spec, method)
        return self._dense[spec, method]

    def _opened(self, spec: str, method: str) -> DenseIndex | ApproximateIndex | ServedIndex:
        embedder = self.embedder(spec)
        if method.startswith(_SERVERS) and in_trial(self.workspace.root):
            method = "exact"  # vectors are written to no server
        if method.startswith(_SERVERS):
            store = build_store(
                method,
                self.vectors(spec),
                self.corpus.modalities,
                corpus=self.corpus.fingerprint,
                embedder=embedder.name,
            )
            return ServedIndex(store, embedder.name)
        folder = self._folder(f"{_safe(spec)}-{_safe(method)}-{content_hash([embedder.name, method])[:12]}")
        if self._fits(folder):
            return open_vectors(folder, self.corpus.fingerprint, embedder.name)
        names = [source.id for source in self.corpus]
        exact = DenseIndex.build(
            self.vectors(spec), self.corpus.modalities, embedder=embedder.name, names=names
        )
        index = exact if method == "exact" else ApproximateIndex.build(exact, parse_method(method))
        write_index(folder, index, self.corpus.fingerprint)
        return index

    def close(self) -> None:
        """Close connections to servers; what is in the workspace's own files needs none."""
        for index in self._dense.values():
            if isinstance(index, ServedIndex) and hasattr(index.store, "close"):
                index.store.close()
        self._dense.clear()

    def chooser(self, spec: str) -> str:
        """Return the names of what chooses candidates, joined by `` + ``: of embedders, and ``bm25``."""
        names = (p if p == BM25 else self.embedder(p).name for p in parse_chooser(spec).parts)
        return CHOOSERS.join(names)

    def search(self, spec: str) -> Search:
        """Return a function that finds the sources of a modality nearest to texts.

        Args:
            spec: ``bm25``, an embedder, or several of them joined by ``+``.

        Raises:
            UserError: if the embedder cannot be used.
        """
        parsed = parse_chooser(spec)
        parts = [self._search(part) for part in parsed.parts]
        if not parsed.fusion:
            return parts[0]
        fuse, fills = FUSE[parsed.fusion], parsed.fusion == "fill"

        def search(texts: Sequence[str], modality: Modality, k: int) -> Hits:
            runs: list[Hits] = []
            for part in parts:
                runs.append(part(texts, modality, k if fills else max(k, DEPTH)))
                if fills and (runs[0].positions[:, k - 1] != NOTHING).all():
                    break  # there is nothing to fill up
            return fuse(runs, k)

        return search

    def _search(self, part: str) -> Search:
        if part == BM25:
            lexical = self.lexical
            return lambda texts, modality, k: lexical.search(texts, k, modality)
        index, embedder = self.dense(part), self.embedder(part)
        cache = VectorCache(self.workspace.file(_VECTORS))
        return lambda texts, modality, k: index.search(embed_texts(texts, embedder, cache), k, modality)

    def find(self, spec: str) -> Find:
        """Return a function that finds the sources of a modality nearest to an entity; answers are kept."""
        search = self.search(spec)
        known: dict[tuple[str, Modality, int], Hits] = {}

        def find(entity: str, modality: Modality, k: int) -> Hits:
            key = (entity, modality, k)
            if key not in known:
                known[key] = search([entity], modality, k)
            return known[key]

        return find

    def _folder(self, name: str) -> Path:
        return self.workspace.file(_INDEX) / name

    def _fits(self, folder: Path) -> bool:
        """Tell whether an index is there that belongs to this corpus; a damaged one is found when it is opened."""
        from proctor.corpus.index.folder import FORMAT

        manifest = folder / "manifest.json"
        if not is_there(manifest):
            return False
        try:
            head: _Head = read_json(manifest, _Head)
        except UserError:
            return False
        return head.format == FORMAT and head.corpus == self.corpus.fingerprint


@dataclass(frozen=True, slots=True)
class ParsedRetriever:
    """A retriever as it was typed, taken apart.

    Attributes:
        parts: ``bm25`` or embedders; more than one are fused.
        fusion: how; empty where there is one part.
        reranker: as typed; empty for none.
    """

    parts: tuple[str, ...]
    fusion: Fusion | Literal[""] = ""
    reranker: str = ""

    @property
    def model(self) -> str:
        """The language model that reranks; empty for none."""
        kind = self.reranker.partition("/")[0]
        return "" if kind in ("", "cross", "embed") else self.reranker

    @property
    def dense(self) -> tuple[str, ...]:
        """The embedders among the parts."""
        return tuple(part for part in self.parts if part != BM25)


def parse_retriever(spec: str) -> ParsedRetriever:
    """Take a retriever apart.

    Raises:
        UserError: if it is none; whether embedders exist is not looked at.
    """
    base, tilde, second = spec.partition("~")
    body, _, fusion = base.rpartition(":")
    fused: Fusion | Literal[""] = ""
    for known in FUSIONS:
        if body and fusion == known:
            base, fused = body, known
    parts = tuple(base.split("+"))
    if not all(parts) or (tilde and not second):
        raise UserError(
            f"{spec!r} is not a retriever: something is missing in it.",
            hint="such as bm25, lsa, bm25+lsa, or bm25~openai/gpt-4o-mini",
        )
    if len(set(parts)) < len(parts):
        raise UserError(f"{spec!r} names one retriever twice.", hint="fuse different ones, such as bm25+lsa")
    if fused and len(parts) < 2:
        raise UserError(
            f"there is nothing to fuse in {spec!r}.", hint="join two or more by +, such as bm25+lsa:zscore"
        )
    kind, _, rest = second.partition("/")
    if second and not rest:
        raise UserError(
            f"there is no reranker {second!r}.",
            hint="cross/PATH, embed/EMBEDDER, or a model such as openai/gpt-4o-mini",
        )
    if second and kind not in ("cross", "embed"):
        ModelName.parse(second)
    return ParsedRetriever(parts, fused or ("rrf" if len(parts) > 1 else ""), second)


def parse_chooser(spec: str) -> ParsedRetriever:
    """Take apart what chooses candidates.

    Raises:
        UserError: as ``parse_retriever``; also if it reranks.
    """
    parsed = parse_retriever(spec)
    if parsed.reranker:
        raise UserError(
            f"candidates cannot be reranked, and {spec[:80]!r} asks for that.",
            hint=f"leave out ~{parsed.reranker}: --embedder {spec.partition('~')[0]}",
        )
    return parsed


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:40] or "x"
