"""Rows of features on their way to a network: gathered from mapped matrices, in batches of items of like length.

Items are windows of rows (steps); a table says which row of which matrix belongs to which item, and copies nothing. This
module imports torch: import it late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["Batch", "Places", "RowTable", "bucketed", "flat"]

Places = NDArray[np.int64]

_CHUNK = 16
"""Batches whose items are sorted by length among themselves: little padding, and an order that is still random."""


@dataclass(frozen=True)
class Batch:
    """Items side by side, shorter ones padded with zeros.

    Attributes:
        x: rows, float32, shape (items, rows, width).
        mask: True where a row is real, shape (items, rows).
        items: which; shape (items,).
    """

    x: Tensor
    mask: Tensor
    items: Places

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True)
class RowTable:
    """Which rows each item has.

    Attributes:
        matrices: float16 by modality, mapped or in memory, shape (any, width of the modality).
        rows: by modality, the place in its matrix of each row of each item, shape (all rows,); -1 is a row of zeros.
        offsets: where the rows of each item begin, and where the last ones end; shape (items + 1,).
    """

    matrices: tuple[NDArray[np.float16], ...]
    rows: tuple[Places, ...]
    offsets: Places

    @classmethod
    def of(
        cls,
        matrices: Sequence[NDArray[np.float16]],
        items: Sequence[Sequence[Places]],
        lengths: Sequence[int],
    ) -> RowTable:
        """Make a table.

        Args:
            matrices: by modality.
            items: by modality and item, the places of its rows.
            lengths: rows of each item, the same in every modality.
        """
        rows = tuple(
            np.concatenate([*one, np.zeros(0, np.int64)]).astype(np.int64, copy=False) for one in items
        )
        return cls(tuple(matrices), rows, np.cumsum([0, *lengths], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> Places:
        """Rows of each item; shape (items,)."""
        return np.diff(self.offsets)

    @property
    def widths(self) -> tuple[int, ...]:
        """Of each modality."""
        return tuple(matrix.shape[1] for matrix in self.matrices)

    def places_of(self, items: Places) -> Places:
        """Return the places in the table of all rows of items, in order; shape (their rows,)."""
        lengths = self.lengths[items]
        first = np.repeat(self.offsets[items] - np.cumsum(lengths) + lengths, lengths)
        return first + np.arange(lengths.sum())

    def gather(self, places: Places) -> Tensor:
        """Return rows by their places in the table, float32, shape (places, sum of the widths).

        Values that are no number become 0, infinite ones 1 or -1, as in the released code of CaptainCook4D.
        """
        parts: list[Tensor] = []
        for matrix, rows in zip(self.matrices, self.rows, strict=True):
            wanted = rows[places]
            half = np.take(matrix, wanted, axis=0, mode="clip")
            if (wanted < 0).any():
                half[wanted < 0] = 0
            parts.append(torch.from_numpy(half).float())
        x = parts[0] if len(parts) == 1 else torch.cat(parts, 1)
        return x.nan_to_num_(0.0, 1.0, -1.0)

    def batch(self, items: Places) -> Batch:
        """Return items as one padded batch."""
        lengths = torch.from_numpy(self.lengths[items])
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        rows = self.gather(self.places_of(items))
        if bool(mask.all()):
            return Batch(rows.view(*mask.shape, -1), mask, items)
        x = torch.zeros(*mask.shape, rows.shape[1])
        x[mask] = rows
        return Batch(x, mask, items)


def bucketed(
    lengths: Places,
    items: Places,
    size: int,
    generator: np.random.Generator | None = None,
    most_rows: int | None = None,
) -> list[Places]:
    """Divide items into batches of like length.

    Args:
        lengths: rows of every item of the table.
        items: to be divided.
        size: items a batch.
        generator: draws which items meet and in which order batches come; None sorts all by length.
        most_rows: padded rows a batch; one of long items is divided further.
    """
    if generator is None:
        chunks: list[Places] = [items]
    else:
        drawn = generator.permutation(items)
        chunks = [drawn[i : i + size * _CHUNK] for i in range(0, len(drawn), size * _CHUNK)]
    batches: list[Places] = []
    for chunk in chunks:
        ordered = chunk[np.argsort(lengths[chunk], kind="stable")]
        batches += _cut(ordered, lengths, size, most_rows)
    if generator is not None:
        return [batches[i] for i in generator.permutation(len(batches))]
    return batches


def _cut(ordered: Places, lengths: Places, size: int, most_rows: int | None) -> Iterator[Places]:
    """Cut items, the shortest first, into batches."""
    begin = 0
    while begin < len(ordered):
        end = min(begin + size, len(ordered))
        while (
            most_rows is not None
            and end > begin + 1
            and lengths[ordered[end - 1]] * (end - begin) > most_rows
        ):
            end -= 1
        yield ordered[begin:end]
        begin = end


def flat(table: RowTable, items: Places, size: int, generator: np.random.Generator) -> list[Places]:
    """Divide all rows of items into batches in random order; each holds places of the table, shape (at most size,)."""
    drawn = generator.permutation(table.places_of(items))
    return [drawn[i : i + size] for i in range(0, len(drawn), size)]
