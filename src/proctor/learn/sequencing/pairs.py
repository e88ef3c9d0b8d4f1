"""All ordered pairs of the steps of a batch in one flat table, and which slots of it are there.

The table has no rows for what only pads, so nothing is encoded in vain. Source: Wu et al. 2022, Section 4; ours: the flat table.
"""

from __future__ import annotations

from collections.abc import Sequence as List
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from proctor.errors import UserError
from proctor.procedure.manual import Order

__all__ = ["Pairs"]


@dataclass(frozen=True)
class Pairs:
    """Ordered pairs of the steps of B sequences, the longest of N steps; a sequence of one step has none."""

    table: Tensor
    """Sequence, first slot, second slot of each pair, shape [P, 3], sorted."""
    groups: Tensor
    """Rows of the two steps where the steps of all sequences stand one after another, shape [P, 2]."""
    valid: Tensor
    """Which slots are there, shape [B, N] of truth values."""

    @classmethod
    def of(cls, lengths: List[int]) -> Pairs:
        """Return the pairs of sequences with so many steps, or raise a UserError: if there is none, or one of no steps."""
        if not lengths or min(lengths) < 1:
            raise UserError("there is a sequence without steps.", hint="leave it out: nothing can be ordered")
        counts = np.asarray(lengths)
        valid = np.arange(counts.max()) < counts[:, None]
        both = valid[:, :, None] & valid[:, None, :] & ~np.eye(counts.max(), dtype=bool)
        table = np.argwhere(both)
        first = np.cumsum(counts) - counts
        groups = first[table[:, 0], None] + table[:, 1:]
        return cls(torch.from_numpy(table), torch.from_numpy(groups), torch.from_numpy(valid))

    @property
    def counts(self) -> Tensor:
        """Steps of each sequence, shape [B]."""
        return self.valid.sum(1)

    def to(self, device: torch.device) -> Pairs:
        """Return the same pairs on a device."""
        return Pairs(self.table.to(device), self.groups.to(device), self.valid.to(device))

    def targets(self, orders: List[Order]) -> Tensor:
        """Return the slots in their right order, shape [B, N]; behind its end a sequence has the slots that pad."""
        made = np.tile(np.arange(self.valid.shape[1]), (len(orders), 1))
        for row, order, count in zip(made, orders, self.counts.tolist(), strict=True):
            row[:count] = order
        return torch.from_numpy(made).to(self.valid.device)

    def scatter(self, rows: Tensor) -> Tensor:
        """Return what belongs to pairs, shape [P, …], by sequence and slots, shape [B, N, N, …]; 0 where there is no pair."""
        empty = rows.new_zeros(*self.valid.shape, self.valid.shape[1], *rows.shape[1:])
        return empty.index_put(self.table.unbind(1), rows)
