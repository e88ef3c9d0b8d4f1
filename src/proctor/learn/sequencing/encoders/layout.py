"""Where everything stands in the one row that a transformer reads: the texts of a group, then its pictures, without gaps."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """Columns are what could stand in a row: T tokens of each of K steps, then w patches of each. What is there is moved together.

    Attributes:
        source: column that stands at each place, shape [G, L].
        present: which places are taken, shape [G, L].
        token_at: place of each token, shape [G, K, T]; -1 where there is none.
        patch_at: likewise of patches, shape [G, K, w].
        owner: to which of the K steps each place belongs, shape [G, L].
        span: places of each step that its vector is made of, shape [G, K, L]; the first place of all belongs to none.
    """

    source: Tensor
    present: Tensor
    token_at: Tensor
    patch_at: Tensor
    owner: Tensor
    span: Tensor

    @classmethod
    def of(cls, tokens: Tensor, patches: Tensor, spanned: tuple[bool, bool]) -> Layout:
        """Lay out groups.

        Args:
            tokens: which there are, shape [G, K, T].
            patches: likewise, shape [G, K, w]; w may be 0.
            spanned: whether tokens and whether patches make the vectors of steps.
        """
        groups, steps, longest = tokens.shape
        wide = patches.shape[2]
        there = torch.cat([tokens.flatten(1), patches.flatten(1)], 1)
        length = int(there.sum(1).max()) if groups else 1
        at = (there.cumsum(1) - 1).masked_fill(~there, -1)
        columns = torch.arange(there.shape[1], device=there.device)
        # What is not there is written behind the last place, and cut off.
        source = torch.zeros(groups, length + 1, dtype=torch.long, device=there.device)
        source = source.scatter(1, at.masked_fill(~there, length), columns.expand(groups, -1))[:, :length]
        places = torch.arange(length, device=there.device)
        present = places < there.sum(1, keepdim=True)
        text = columns < steps * longest
        owner = torch.where(text, columns // max(longest, 1), (columns - steps * longest) // max(wide, 1))
        makes = torch.where(text, *(torch.tensor(s, device=there.device) for s in spanned))
        usable = present & makes[source] & (places > 0)
        numbers = torch.arange(steps, device=there.device)[:, None]
        owner = owner[source]
        span = usable[:, None] & (owner[:, None] == numbers)
        token_at, patch_at = torch.split(at, [steps * longest, steps * wide], 1)
        token_at, patch_at = token_at.view(groups, steps, longest), patch_at.view(groups, steps, wide)
        return cls(source, present, token_at, patch_at, owner, span)

    def arrange(self, tokens: Tensor, patches: Tensor | None = None) -> Tensor:
        """Return what belongs to the columns in the order of places; zeros where nothing stands.

        Args:
            tokens: shape [G, K, T, …].
            patches: shape [G, K, w, …].

        Returns:
            Shape [G, L, …].
        """
        columns = tokens.flatten(1, 2)
        if patches is not None:
            columns = torch.cat([columns, patches.flatten(1, 2)], 1)
        rows = torch.arange(len(columns), device=columns.device)[:, None]
        there = self.present.view(*self.present.shape, *(1,) * (columns.ndim - 2))
        return columns[rows, self.source] * there
