"""What turns texts and pictures into vectors, behind one interface.

Vectors are float32 rows of length one, so that a scalar product is a cosine. A text is embedded as a ``query`` (a question, an
entity) or as a ``passage`` (a source): models of the E5 kind put different words before the two (the card of E5).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Embedder", "PixelEmbedder", "TextRole", "Vectors"]

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
