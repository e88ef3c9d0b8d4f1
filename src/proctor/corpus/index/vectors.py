"""What a search needs of vectors: numbers, of length one, one row for each source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import Vectors
from proctor.errors import UserError

__all__ = ["check_vectors", "checked_queries"]

_TOLERANCE: Final = 1e-2
"""Of a vector's length: what half precision somewhere on the way leaves."""
_ROWS: Final = 65_536


def check_vectors(
    vectors: NDArray[Any], what: str = "The vector", names: Sequence[str] | None = None
) -> None:
    """See that every row is a float32 vector of length one; reads a memory-mapped array in blocks.

    Args:
        vectors: to be checked.
        what: they are, for the message.
        names: of the rows, for the message; their numbers if there are none.

    Raises:
        UserError: naming the first row that is not finite, is zero or of another length.
    """
    if vectors.ndim != 2 or vectors.dtype != np.float32:
        raise UserError(
            f"Vectors are float32 with one row for each source; these are {vectors.dtype} of shape {vectors.shape}."
        )
    for start in range(0, len(vectors), _ROWS):
        block = np.asarray(vectors[start : start + _ROWS])
        squares = np.einsum("nd,nd->n", block, block)
        wrong = np.flatnonzero(~(np.abs(np.sqrt(squares) - 1) <= _TOLERANCE))
        if len(wrong):
            row = start + int(wrong[0])
            raise _unusable(
                what if names is None else f"{what} of {names[row]}", row, float(squares[wrong[0]]), names
            )


def _unusable(what: str, row: int, square: float, names: Sequence[str] | None) -> UserError:
    name = what if names is not None else f"{what} {row}"
    if not np.isfinite(square):
        seen = "holds numbers that are none (NaN or infinite)"
    elif square == 0:
        seen = "is zero"
    else:
        seen = f"has length {square**0.5:.4g} instead of 1"
    return UserError(
        f"{name} {seen}.", hint="Embed it again; an empty text has no vector and belongs out of the corpus."
    )


def checked_queries(queries: NDArray[Any], dimension: int) -> Vectors:
    """Return vectors of queries, checked like those of sources.

    Raises:
        UserError: if they are no vectors of length one in this dimension.
    """
    array = np.ascontiguousarray(queries, dtype=np.float32)
    if array.ndim != 2 or array.shape[1] != dimension:
        raise UserError(
            f"Queries have {dimension} numbers each like the vectors of the sources; these have the shape "
            f"{tuple(np.shape(queries))}.",
            hint="Queries and sources are embedded by the same model.",
        )
    check_vectors(array, "The vector of query")
    return array
