"""What turns texts and pictures into vectors, behind one interface.

Vectors are float32 rows of length one, so that a scalar product is a cosine. A text is embedded as a ``query`` (a question, an
entity) or as a ``passage`` (a source): models of the E5 kind put different words before the two (the card of E5).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError

__all__ = [
    "E5",
    "PLAIN",
    "Embedder",
    "PixelEmbedder",
    "Prefixes",
    "TextRole",
    "Vectors",
    "check_texts",
    "faults",
    "guess_prefixes",
    "prefixes_in",
    "unit_rows",
]

TextRole = Literal["query", "passage"]
Vectors = NDArray[np.float32]
"""Shape (texts, dimension); rows of length one."""


class Embedder(Protocol):
    """Turns texts into vectors; the result depends on nothing but the arguments and ``name``."""

    @property
    def name(self) -> str:
        """Names the vectors: model, version and whatever else changes them. Part of every cache key and signature."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        ...

    def embed(self, texts: Sequence[str], role: TextRole) -> Vectors:
        """Return one row for each text, shape (texts, dimension), rows of length one.

        Raises:
            UserError: if a text is empty, or the model cannot be asked.
        """
        ...


@runtime_checkable
class PixelEmbedder(Protocol):
    """An embedder that can also look at pictures (CLIP, SigLIP); vectors of both kinds can be compared."""

    def embed_images(self, paths: Sequence[Path]) -> Vectors:
        """Return one row for each picture.

        Raises:
            UserError: if a file is no picture that can be read.
        """
        ...


# -- texts that can be embedded, and the words that some models want in front of them ------------------------------

_E5: Final = re.compile(r"(?:^|[^a-z0-9])e5(?:[^a-z0-9]|$)", re.IGNORECASE)
_QUERY: Final = ("query", "search_query")
_PASSAGE: Final = ("passage", "document", "corpus", "search_document")
_SHOWN: Final = 5


class Prefixes(msgspec.Struct, frozen=True):
    """Words that go in front of a text, by its role."""

    query: str = ""
    passage: str = ""

    def put(self, texts: Sequence[str], role: TextRole) -> list[str]:
        """Return the texts with their words in front."""
        before = self.query if role == "query" else self.passage
        return [before + text for text in texts]

    @property
    def tag(self) -> str:
        """Part of an embedder's name: other words, other vectors; empty where there are none."""
        return f"#{self.query!r},{self.passage!r}" if self.query or self.passage else ""


PLAIN: Final = Prefixes()
E5: Final = Prefixes("query: ", "passage: ")
"""Of the E5 models (Wang et al. 2022), as their cards ask for."""


def check_texts(texts: Sequence[str]) -> None:
    """Refuse texts without anything in them.

    Raises:
        UserError: saying which.
    """
    empty = [index for index, text in enumerate(texts) if not text.strip()]
    if empty:
        shown = ", ".join(str(index + 1) for index in empty[:_SHOWN]) + (" …" if len(empty) > _SHOWN else "")
        raise UserError(
            f"{len(empty)} of {len(texts)} texts are empty (number {shown}); an empty text has no vector.",
            hint="leave them out",
        )


def guess_prefixes(*names: str) -> Prefixes:
    """Return the words that a model is known to want by its name: those of E5 where one of the names says so."""
    return E5 if any(_E5.search(name) for name in names) else PLAIN


def prefixes_in(prompts: Any) -> Prefixes | None:
    """Return the words that a model's own configuration names (``prompts`` of sentence-transformers); None where it does not."""
    if not isinstance(prompts, Mapping):
        return None
    found = [
        next((prompts[name] for name in names if isinstance(prompts.get(name), str)), None)
        for names in (_QUERY, _PASSAGE)
    ]
    if not any(found):
        return None
    return Prefixes(found[0] or "", found[1] or "")


# -- rows of length one: what every embedder returns, and what is refused ------------------------------------------


def unit_rows(rows: NDArray[Any]) -> Vectors:
    """Return the rows scaled to length one, float32; rows of zeros stay zeros and NaN stays NaN, for ``faults`` to find."""
    wide = np.asarray(rows, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        lengths = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
        scaled = wide / np.where(lengths > 0, lengths, 1.0)
    return np.ascontiguousarray(scaled, np.float32)


def faults(rows: Any, count: int, dimension: int | None) -> dict[int, str]:
    """Return which rows cannot be used and why, by index; -1 for what is wrong with all of them.

    Args:
        rows: what an embedder returned.
        count: rows that were asked for.
        dimension: numbers in a row; None where any will do.
    """
    shape = getattr(rows, "shape", None)
    if shape is None or len(shape) != 2 or shape[0] != count or shape[1] == 0:
        return {-1: f"the result has the shape {shape}, and {count} rows were asked for"}
    if dimension is not None and shape[1] != dimension:
        return {-1: f"the vectors have {shape[1]} numbers, and {dimension} were expected"}
    if rows.dtype != np.float32:
        return {-1: f"the vectors are {rows.dtype}, and float32 was expected"}
    finite = np.isfinite(rows).all(axis=1)
    lengths = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1), where=finite, out=np.ones(count))
    found = {int(index): "its vector holds NaN or infinity" for index in np.flatnonzero(~finite)}
    found |= {int(index): "its vector is zero" for index in np.flatnonzero(lengths == 0.0)}
    wrong = np.flatnonzero((np.abs(lengths - 1.0) > 1e-3) & (lengths != 0.0))
    found |= {int(index): f"its vector has length {lengths[index]:.3g}, not 1" for index in wrong}
    return found
