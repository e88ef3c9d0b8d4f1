"""Vectors of a whole corpus, and of any texts: only those that the cache lacks are computed, and kept as they come.

A vector's key is what was embedded (the rendering of a source, or the bytes of its picture), the embedder and the role. So a
source that is changed is embedded again and the others are not, and equal texts are embedded once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np

from proctor.compute import HERE, Place, map_items, threads
from proctor.corpus.collection import Corpus
from proctor.corpus.embed.cache import VectorCache, vector_key
from proctor.corpus.embed.embedder import Embedder, PixelEmbedder, TextRole, Vectors, faults
from proctor.corpus.source import render_source
from proctor.errors import UserError
from proctor.records import file_sha256

__all__ = ["Missing", "embed_corpus", "embed_texts", "missing_vectors"]

_CHUNK: Final = 256
"""Texts that are computed, and then kept, at a time."""
_AT_ONCE: Final = 8
"""Requests at once to an embedder that waits for a server."""
_SHOWN: Final = 5

Seen = Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Job:
    """Something to be embedded: a text or a picture, and what it is called in messages."""

    key: bytes
    name: str
    text: str = ""
    pixels: Path | None = None


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Jobs of one kind that are computed together."""

    jobs: tuple[_Job, ...]
    role: TextRole | Literal["pixels"]

    @property
    def name(self) -> str:
        """First and last of them, for messages."""
        first, last = self.jobs[0].name, self.jobs[-1].name
        return first if first == last else f"{first} … {last}"


def embed_corpus(
    corpus: Corpus,
    embedder: Embedder,
    cache: VectorCache,
    *,
    place: Place = HERE,
    seen: Seen | None = None,
) -> Vectors:
    """Return the vectors of all sources in their order, shape (sources, dimension); those that are missing are computed.

    Sources are passages. An image is embedded by its pixels where the embedder sees pictures and the file is there, otherwise by
    its text.

    Args:
        corpus: sources.
        embedder: what makes vectors.
        cache: where they are kept; each chunk before the next one is looked at.
        place: where they are computed; an embedder that asks a server is always served by threads.
        seen: called once for each source (for progress bars).

    Raises:
        UserError: if a source has an empty rendering, a vector is zero, has NaN or the wrong size (naming the source), or the
            embedder cannot be used.
    """
    return _embed(_jobs(corpus, embedder), embedder, cache, "passage", place, seen)


def _jobs(corpus: Corpus, embedder: Embedder) -> list[_Job]:
    jobs = []
    for source in corpus.sources:
        pixels = corpus.pixels(source) if isinstance(embedder, PixelEmbedder) else None
        if pixels is not None:
            key = vector_key(bytes.fromhex(file_sha256(pixels)), embedder.name, "pixels")
            jobs.append(_Job(key, source.id, pixels=pixels))
        else:
            jobs.append(_text_job(render_source(source), source.id, embedder, "passage"))
    return jobs


class Missing(NamedTuple):
    """What of a corpus has no vector yet: how many different texts, with so many characters together, and pictures."""

    texts: int
    characters: int
    pictures: int


def missing_vectors(corpus: Corpus, embedder: Embedder, cache: VectorCache) -> Missing:
    """Return what ``embed_corpus`` would compute; nothing is computed, and no server is asked.

    Raises:
        UserError: if a source has an empty rendering.
    """
    jobs = {job.key: job for job in _jobs(corpus, embedder)}
    _, there = cache.get(embedder.name, list(jobs))
    left = [job for job, known in zip(jobs.values(), there.tolist(), strict=True) if not known]
    texts = [job.text for job in left if job.pixels is None]
    return Missing(len(texts), sum(map(len, texts)), len(left) - len(texts))


def embed_texts(
    texts: Sequence[str],
    embedder: Embedder,
    cache: VectorCache,
    *,
    role: TextRole = "query",
    names: Sequence[str] | None = None,
    place: Place = HERE,
    seen: Seen | None = None,
) -> Vectors:
    """Return the vectors of texts (questions, entities), shape (texts, dimension); as ``embed_corpus``.

    Args:
        texts: none of them empty.
        embedder: what makes vectors.
        cache: where they are kept.
        role: of all the texts.
        names: of the texts, for messages; ``text 1`` and so on without them.
        place: where they are computed.
        seen: called once for each text.

    Raises:
        UserError: as ``embed_corpus``.
    """
    called = names if names is not None else [f"text {number}" for number in range(1, len(texts) + 1)]
    jobs = [_text_job(text, name, embedder, role) for text, name in zip(texts, called, strict=True)]
    return _embed(jobs, embedder, cache, role, place, seen)


def _text_job(text: str, name: str, embedder: Embedder, role: TextRole) -> _Job:
    if not text.strip():
        raise UserError(
            "there is no text to embed.", where=name, hint="leave the source out, or describe the image"
        )
    return _Job(vector_key(text, embedder.name, role), name, text=text)


def _embed(
    jobs: list[_Job],
    embedder: Embedder,
    cache: VectorCache,
    role: TextRole,
    place: Place,
    seen: Seen | None,
) -> Vectors:
    keys = [job.key for job in jobs]
    vectors, there = cache.get(embedder.name, keys)
    _tell(seen, int(there.sum()))
    missing: dict[bytes, list[int]] = {}
    for index in np.flatnonzero(~there).tolist():
        missing.setdefault(keys[index], []).append(index)
    known = vectors.shape[1] or None
    for chunk, rows in _computed(
        [jobs[at[0]] for at in missing.values()], embedder, cache, role, place, known
    ):
        if vectors.shape[1] != rows.shape[1]:
            vectors = np.zeros((len(jobs), rows.shape[1]), np.float32)  # the first that there are
        for job, row in zip(chunk.jobs, rows, strict=True):
            vectors[missing[job.key]] = row
            _tell(seen, len(missing[job.key]))
    return vectors if vectors.shape[1] else np.zeros((len(jobs), embedder.dimension), np.float32)


def _tell(seen: Seen | None, times: int) -> None:
    if seen is not None:
        for _ in range(times):
            seen()


def _computed(
    jobs: list[_Job],
    embedder: Embedder,
    cache: VectorCache,
    role: TextRole,
    place: Place,
    known: int | None,
) -> Iterator[tuple[_Chunk, Vectors]]:
    """Yield chunks with their rows, which are in the cache by then.

    Here and in threads a chunk is kept by whoever computed it: of what a server was paid for, nothing waits for its turn. What
    comes from another process is kept when it arrives.
    """
    if getattr(embedder, "waits", False) and place.kind != "threads":
        place = threads(place.workers if place.kind == "processes" else _AT_ONCE)
    ours = place.kind in ("here", "threads")
    work = _Work(embedder, known, cache if ours else None)
    chunks = _chunks(jobs, role, getattr(embedder, "batch", _CHUNK))
    for outcome in map_items(work, chunks, place, name=lambda chunk: chunk.name):
        if outcome.failure is not None:
            raise UserError(outcome.failure.message, where=f"vectors of {outcome.name}")
        rows = outcome.value
        if not ours:
            cache.put(embedder.name, [job.key for job in outcome.item.jobs], rows)
        yield outcome.item, rows


def _chunks(jobs: list[_Job], role: TextRole, size: int) -> Iterator[_Chunk]:
    for pixels, group in itertools.groupby(jobs, key=lambda job: job.pixels is not None):
        held = list(group)
        for start in range(0, len(held), size):
            yield _Chunk(tuple(held[start : start + size]), "pixels" if pixels else role)


@dataclass(frozen=True, slots=True)
class _Work:
    """Computes a chunk, wherever it is sent."""

    embedder: Embedder
    dimension: int | None
    cache: VectorCache | None

    def __call__(self, chunk: _Chunk) -> Vectors:
        """Return checked rows.

        Raises:
            UserError: naming the source at fault.
        """
        rows = self._rows(chunk)
        wrong = faults(rows, len(chunk.jobs), self.dimension)
        if wrong:
            told = [
                why if index < 0 else f"{chunk.jobs[index].name}: {why}"
                for index, why in list(wrong.items())[:_SHOWN]
            ]
            more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
            raise UserError(
                f"{'; '.join(told)}{more}.",
                where=self.embedder.name,
                hint="look at the text of the source; if it is as it should be, take another embedder",
            )
        if self.cache is not None:
            self.cache.put(self.embedder.name, [job.key for job in chunk.jobs], rows)
        return rows

    def _rows(self, chunk: _Chunk) -> Vectors:
        if chunk.role != "pixels":
            return self.embedder.embed([job.text for job in chunk.jobs], chunk.role)
        assert isinstance(self.embedder, PixelEmbedder)
        return self.embedder.embed_images([job.pixels for job in chunk.jobs if job.pixels is not None])
