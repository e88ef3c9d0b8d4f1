"""Latent semantic analysis: an embedder that needs no model and no download, fitted on the corpus itself.

Words are hashed into buckets, weighted by (1 + ln tf) · idf with idf = ln((1 + n) / (1 + df)) + 1, each text is scaled to length
one, and the largest singular directions of that matrix are kept (Deerwester et al. 1990). A text is embedded by projecting
its weighted words; query and passage are the same.

A text that has no word in common with the corpus, or only words that the kept directions leave out, gets a direction of its
own, drawn from a hash of its words: it is like itself and unlike everything else (cosines around 0, spread 1 / √dimension).
``LsaEmbedder.unknown`` says which texts these are.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import TextRole, Vectors, check_texts, unit_rows
from proctor.errors import UserError
from proctor.records import atomic_write

__all__ = ["DIMENSION", "LsaEmbedder", "fit_lsa", "load_lsa", "lsa_name"]

DIMENSION: Final = 256
FORMAT: Final = 1
"""Of the saved file and of the way in which vectors are made; part of every name."""

_BUCKETS: Final = 2**18
_BLOCK: Final = 8_192
"""Texts that are counted at a time."""
_DENSE: Final = 1_000
"""Texts or words up to which all singular vectors are computed at once."""
_SAMPLE: Final = 50_000
"""Texts, spread evenly over the corpus, from which the directions are computed; idf is counted over all."""
_OVERSAMPLES: Final = 32
_POWERS: Final = 4
_NOTHING: Final = 1e-5
"""A text of which less than this share (as length) lies in the kept directions has no direction of its own there."""
_WORD: Final = re.compile(r"\w+")


class LsaEmbedder:
    """Embeds texts by the words that they share with the corpus; made by ``fit_lsa`` or ``load_lsa``.

    Args:
        name: of the vectors.
        words: buckets that occur in the corpus, ascending; shape (words,).
        idf: weights of the buckets, shape (words,).
        directions: shape (words, dimension), float32.
        file: where it is saved, so that other processes can load it instead of getting a copy; None where it is not.
    """

    def __init__(
        self,
        name: str,
        words: NDArray[np.int32],
        idf: NDArray[np.float64],
        directions: NDArray[np.float32],
        file: Path | None = None,
    ) -> None:
        self._name = name
        self._words = words
        self._idf = idf
        self._directions = directions
        self._file = file

    def __repr__(self) -> str:
        return f"LsaEmbedder({self._name!r})"

    def __reduce__(self) -> Any:
        """Travel to another process as the name of the file, where there is one."""
        if self._file is not None:
            return _load_once, (str(self._file), self._name)
        return LsaEmbedder, (self._name, self._words, self._idf, self._directions)

    @property
    def name(self) -> str:
        """Method and its version, dimension, and fingerprint of the corpus."""
        return self._name

    @property
    def dimension(self) -> int:
        """Numbers in a vector: as many as were wished for, or as few as the corpus has directions."""
        return int(self._directions.shape[1])

    def embed(self, texts: Sequence[str], role: TextRole) -> Vectors:  # noqa: ARG002 - both are the same here
        """Return one row for each text.

        Raises:
            UserError: if a text is empty.
        """
        check_texts(texts)
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for start, block in _blocks(texts):
            projected = self._project(block)
            for index in np.flatnonzero(_lost(projected)).tolist():
                projected[index] = _own_direction(block[index], self.dimension)
            rows[start : start + len(block)] = unit_rows(projected)
        return rows

    def unknown(self, texts: Sequence[str]) -> list[int]:
        """Return which of the texts have nothing in common with the corpus that the kept directions show."""
        found: list[int] = []
        for start, block in _blocks(texts):
            found += (start + np.flatnonzero(_lost(self._project(block)))).tolist()
        return found

    def save(self, file: Path) -> LsaEmbedder:
        """Write it to a file and return the embedder of that file; equal embedders give equal bytes.

        Raises:
            UserError: if it cannot be written.
        """
        with atomic_write(file) as stream:
            np.savez(
                stream,
                format=np.int64(FORMAT),
                name=np.frombuffer(self._name.encode("utf-8"), np.uint8),
                words=self._words,
                idf=self._idf,
                directions=self._directions,
            )
        return LsaEmbedder(self._name, self._words, self._idf, self._directions, file)

    def _project(self, texts: Sequence[str]) -> NDArray[np.float64]:
        counts = _count(texts)[:, self._words]
        projected: NDArray[np.float64] = _weigh(counts, self._idf) @ self._directions
        return projected


# -- fitting -----------------------------------------------------------------------------------------------------


def lsa_name(fingerprint: str, dimension: int) -> str:
    """Return the name of the embedder that is fitted on a corpus.

    Args:
        fingerprint: of the corpus.
        dimension: that is wished for.
    """
    return f"lsa-{FORMAT}:{dimension}:{fingerprint[:32]}"


def fit_lsa(texts: Sequence[str], *, fingerprint: str, dimension: int = DIMENSION) -> LsaEmbedder:
    """Fit an embedder on the texts of a corpus.

    The same texts give the same bytes in every run with the same libraries, whatever the number of processors.

    Args:
        texts: of all sources.
        fingerprint: of the corpus.
        dimension: at most so many numbers; fewer where the texts have fewer directions.

    Raises:
        UserError: if there is no text with a word in it, or the dimension is below 1.
    """
    if dimension < 1:
        raise UserError(f"vectors of {dimension} numbers hold nothing.", hint="lsa:256 is usual")
    matrix, words, idf = _weighted(texts)
    if matrix.shape[1] == 0:
        raise UserError(
            f"there is no word in {len(texts)} texts, so nothing can be compared.",
            hint="give a corpus with texts, captions or descriptions",
        )
    if matrix.shape[0] > _SAMPLE:
        matrix = matrix[np.linspace(0, matrix.shape[0] - 1, _SAMPLE).astype(np.int64)]
    with _one_thread():
        directions = _signed(_right_singular(matrix, dimension))
    return LsaEmbedder(lsa_name(fingerprint, dimension), words, idf, directions.astype(np.float32))


def _weighted(texts: Sequence[str]) -> tuple[Any, NDArray[np.int32], NDArray[np.float64]]:
    """Return the weighted matrix (texts, words), the buckets of its columns and their idf."""
    import scipy.sparse

    blocks = [_count(block) for _, block in _blocks(texts)] or [_count([])]
    counts = scipy.sparse.vstack(blocks, format="csr")
    in_texts = np.bincount(counts.indices, minlength=_BUCKETS)
    words = np.flatnonzero(in_texts).astype(np.int32)
    idf = np.log((1.0 + len(texts)) / (1.0 + in_texts[words])) + 1.0
    return _weigh(counts[:, words], idf), words, idf


def _right_singular(matrix: Any, wished: int) -> NDArray[np.float64]:
    """Return the right singular vectors of the largest singular values, largest first, shape (words, dimension)."""
    import scipy.linalg

    small = min(matrix.shape)
    if small <= _DENSE or wished >= small:
        gram = (matrix.T @ matrix if matrix.shape[1] == small else matrix @ matrix.T).toarray()
        values, vectors = scipy.linalg.eigh(gram)
        values, vectors = values[::-1], vectors[:, ::-1]
        rank = max(1, int((values > values[0] * 1e-10).sum()))
        kept = vectors[:, : min(wished, rank)]
        if matrix.shape[1] != small:
            kept = matrix.T @ kept / np.sqrt(values[: kept.shape[1]])
        return np.asarray(kept)
    return _randomised(matrix, wished)


def _randomised(matrix: Any, wished: int) -> NDArray[np.float64]:
    """Return the right singular vectors by random projections and power iterations (Halko et al. 2011, algorithm 4.4).

    The spectrum of texts is flat, where Lanczos iterations need many steps.
    """
    import scipy.linalg

    narrow = matrix.astype(np.float32)
    turned = narrow.T.tocsr()
    size = min(wished + _OVERSAMPLES, *matrix.shape)
    random = np.random.Generator(np.random.PCG64(0)).standard_normal((matrix.shape[1], size), np.float32)
    basis = _orthonormal(narrow @ random)
    for _ in range(_POWERS):
        basis = _orthonormal(narrow @ _orthonormal(turned @ basis))
    within = (turned @ basis).astype(np.float64)  # (words, size): the transposed matrix within the basis
    values, vectors = scipy.linalg.eigh(within.T @ within)
    kept = np.flatnonzero(values > values[-1] * 1e-10)[::-1][:wished]
    return np.asarray(within @ (vectors[:, kept] / np.sqrt(values[kept])))


def _one_thread() -> AbstractContextManager[Any]:
    """Keep the linear algebra to one thread: so many threads, so many orders of adding, so many last digits.

    Where other processes hold the processors, its threads also wait for each other a hundred times as long as they compute.
    """
    try:
        limits = importlib.import_module("threadpoolctl").threadpool_limits
    except ImportError:  # slower on a busy machine, and the last digits depend on the number of processors
        return nullcontext()
    found: AbstractContextManager[Any] = limits(limits=1, user_api="blas")
    return found


def _orthonormal(columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return an orthonormal basis by way of the columns' scalar products.

    One product of matrices and a small eigenproblem: several times as fast as QR of so tall a matrix, and exact enough here.
    """
    import scipy.linalg

    wide = columns.astype(np.float64)
    values, vectors = scipy.linalg.eigh(wide.T @ wide)
    kept = values > values[-1] * 1e-12
    return np.asarray(wide @ (vectors[:, kept] / np.sqrt(values[kept])), np.float32)


def _signed(directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn each direction so that its largest number is positive: a singular vector's sign means nothing."""
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[largest, np.arange(directions.shape[1])])
    return np.asarray(directions * np.where(signs == 0, 1.0, signs))


# -- words -------------------------------------------------------------------------------------------------------


class _Buckets(dict[str, int]):
    """Buckets of words, hashed once each."""

    def __missing__(self, word: str) -> int:
        bucket = xxhash.xxh3_64_intdigest(word.encode("utf-8", "surrogatepass")) % _BUCKETS
        if len(self) < 2_000_000:
            self[word] = bucket
        return bucket


_buckets: Final = _Buckets()


def _blocks(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    for start in range(0, len(texts), _BLOCK):
        yield start, texts[start : start + _BLOCK]


def _count(texts: Sequence[str]) -> Any:
    """Return how often each bucket occurs: a sparse matrix (texts, buckets), float64."""
    import scipy.sparse

    found: list[int] = []
    ends = [0]
    for text in texts:
        found.extend(map(_buckets.__getitem__, _WORD.findall(text.lower())))
        ends.append(len(found))
    counts = scipy.sparse.csr_array(
        (np.ones(len(found)), np.array(found, np.int32), np.array(ends, np.int32)), (len(texts), _BUCKETS)
    )
    counts.sum_duplicates()
    return counts


def _weigh(counts: Any, idf: NDArray[np.float64]) -> Any:
    """Return (1 + ln tf) · idf with rows of length one (rows without a word stay zero)."""
    import scipy.sparse

    weighted = counts.tocsr(copy=True)
    weighted.data = (1.0 + np.log(weighted.data)) * idf[weighted.indices]
    lengths = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return (scipy.sparse.diags_array(scale) @ weighted).tocsr()


def _lost(projected: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say which rows are nothing but rounding; rows were of length one before they were projected."""
    return np.asarray(np.linalg.norm(projected, axis=1) < _NOTHING)


def _own_direction(text: str, dimension: int) -> NDArray[np.float64]:
    """Return a direction that depends on the text's words (or on the text, where it has none) alone."""
    words = " ".join(_WORD.findall(text.lower())) or " ".join(text.split())
    seed = hashlib.sha256(words.encode("utf-8", "surrogatepass")).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(seed, "big"))).standard_normal(dimension)


# -- reading -----------------------------------------------------------------------------------------------------


class _Saved(msgspec.Struct):
    """Shapes that a saved embedder must have."""

    words: Any
    idf: Any
    directions: Any

    def fits(self) -> bool:
        """True when the parts belong together."""
        size = self.words.size
        return bool(
            self.words.dtype == np.int32
            and self.idf.dtype == np.float64
            and self.directions.dtype == np.float32
            and self.words.shape == self.idf.shape == (size,)
            and self.directions.ndim == 2
            and self.directions.shape[0] == size > 0
            and self.directions.shape[1] > 0
            and (np.diff(self.words) > 0).all()
            and 0 <= self.words[0] <= self.words[-1] < _BUCKETS
            and np.isfinite(self.idf).all()
            and np.isfinite(self.directions).all()
        )


def load_lsa(file: Path) -> LsaEmbedder:
    """Read an embedder that was saved.

    Raises:
        UserError: if the file is missing, damaged or of another format.
    """
    hint = "delete it; it is fitted again from the corpus"
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as held:
            version = int(held["format"])
            if version != FORMAT:
                raise UserError(
                    f"it is of format {version}, and this version of Proctor reads format {FORMAT}.",
                    where=str(file),
                    hint=hint,
                )
            name = held["name"].tobytes().decode("utf-8")
            saved = _Saved(held["words"], held["idf"], held["directions"])
            whole = saved.fits()
    except FileNotFoundError:
        raise UserError(
            "there is no such file.", where=str(file), hint="open the embedder with its corpus"
        ) from None
    except UserError:
        raise
    except Exception as error:  # of zipfile, zlib, struct and NumPy: the file may hold anything
        raise UserError(
            f"this is no saved embedder: {type(error).__name__}.", where=str(file), hint=hint
        ) from None
    if not whole:
        raise UserError("its parts do not belong together.", where=str(file), hint=hint)
    return LsaEmbedder(name, saved.words, saved.idf, saved.directions, file)


@functools.lru_cache(maxsize=2)
def _load_once(file: str, name: str) -> LsaEmbedder:
    """Return a saved embedder; a worker loads it for its first chunk of texts and keeps it."""
    embedder = load_lsa(Path(file))
    if embedder.name != name:
        raise UserError(
            f"it holds {embedder.name!r}, and {name!r} is needed.", where=file, hint="open the embedder again"
        )
    return embedder
