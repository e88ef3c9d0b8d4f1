"""The best order under a BERSON head: beam search over all sequences of a batch at once, and exact search up to 8 steps.

What a step is worth depends on all that was chosen before, by way of the recurrent state, so programming over *sets* of chosen
steps would not be exact. ``exact`` therefore goes through *orders*, those with the same beginning together, and leaves out a
beginning only when it is already less probable than a whole order that is known. ``beam`` keeps the most probable beginnings of
each length, and is exact where it may keep them all.

With constraints only steps whose predecessors are all chosen are candidates; probabilities stay those over all that remains. Of
equally probable orders the one whose first differing step was presented earlier. Source: Wu et al. 2022, Section 4; ours: the
exact search and the constraints.
"""

from __future__ import annotations

from collections.abc import Sequence as List
from typing import Final, Literal, NamedTuple

import torch
from torch import Tensor

from proctor.errors import UserError
from proctor.learn.sequencing.berson import BersonHead, Read
from proctor.learn.sequencing.encoder import Encoded
from proctor.learn.sequencing.pairs import Pairs
from proctor.metrics.ordering import PartialOrder
from proctor.metrics.ordering.decoding import Before
from proctor.procedure.manual import Order

__all__ = ["Search", "decode"]

Search = Literal["beam", "exact"]

_MOST_EXACT: Final = 8
_AT_ONCE: Final = 1 << 21
"""Numbers that exact search works on at once: beginnings of orders, times N, times d."""
_EQUAL: Final = 1e-5
"""Logarithms that differ by less are of equal orders: they are sums of up to N numbers of 32 bits."""


@torch.no_grad()
def decode(
    head: BersonHead,
    encoded: Encoded,
    pairs: Pairs,
    *,
    beam: int = 16,
    search: Search = "beam",
    before: List[Before | None] | None = None,
) -> list[Order]:
    """Return for each sequence its slots in the order in which they are done; see the module for the kinds of search.

    Args:
        head: in evaluation mode; dropout would make orders random.
        encoded: the pairs, in the order of the table of ``pairs``.
        pairs: of all sequences.
        beam: beginnings that are kept for each sequence, 1 or more.
        search: ``exact`` for up to 8 steps.
        before: for each sequence what is known already of its slots, or None.

    Raises:
        UserError: if ``exact`` is asked for more than 8 steps, or weights are no numbers.
        MetricInputError: if constraints hold a cycle or unknown slots.
    """
    if search == "exact" and (most := pairs.valid.shape[1]) > _MOST_EXACT:
        wrong = f"exact search is for {_MOST_EXACT} steps or fewer, but a sequence has {most}."
        raise UserError(wrong, hint="take search='beam'")
    read = head.read(encoded, pairs)
    if not (read.keys.isfinite().all() and read.ahead.isfinite().all()):
        wrong = "what the network says of these steps is no number."
        raise UserError(wrong, hint="train it with a smaller learning rate")
    tree = _Tree(head, read, _needed(pairs, before))
    found = tree.beam(beam)
    return tree.best(tree.exact(found) if search == "exact" else found)


class _Begun(NamedTuple):
    """Beginnings of orders, H of them, all with the same number of chosen steps."""

    sample: Tensor  # [H]
    chosen: Tensor  # [H, t]
    worth: Tensor  # [H], logarithms of probabilities
    remain: Tensor  # [H, N]
    ahead: Tensor  # [H, N, d], relations of each slot to those that remain, summed
    hidden: Tensor  # [H, d]
    cell: Tensor  # [H, d]


class _Tree:
    """All beginnings of orders of a batch, and how to go from one to the next."""

    def __init__(self, head: BersonHead, read: Read, needed: Tensor) -> None:
        self.head, self.read, self.needed = head, read, needed
        self.size, self.width = read.pairs.valid.shape

    def root(self) -> _Begun:
        """Return for each sequence the beginning of no steps."""
        first, valid = self.read.paragraph, self.read.pairs.valid
        sample = torch.arange(self.size, device=valid.device)
        parts = (sample[:, None][:, :0], sample * 0.0, torch.ones_like(valid), self.read.ahead.sum(2))
        return _Begun(sample, *parts, first, torch.zeros_like(first))

    def beam(self, most: int) -> _Begun:
        """Return whole orders, the best of each length kept."""
        begun, kept = self.root(), 1
        for time in range(self.width):
            begun, worth = self.weighed(begun)
            top, ranked = worth.view(self.size, -1).sort(dim=1, descending=True, stable=True)
            # Rounding must not decide which of equal beginnings is kept.
            group = torch.cat([ranked[:, :1] * 0, (top[:, :-1] - top[:, 1:] > _EQUAL).cumsum(1)], 1)
            ranked = ranked.gather(1, (group * ranked.shape[1] + ranked).argsort(1))
            kept = min(most, kept * (self.width - time))
            best = ranked[:, :kept]
            first = torch.arange(0, len(worth), len(worth) // self.size, device=best.device)
            row = best // self.width + first[:, None]
            begun = self.grown(begun, row.flatten(), (best % self.width).flatten(), worth)
        return begun

    def exact(self, known: _Begun) -> _Begun:
        """Return whole orders, among them the best; ``known`` are some orders that say how good it must be."""
        bound = self.top(known)
        most = max(1, _AT_ONCE // (self.width * self.head.width))
        todo, whole = [self.root()], [known]
        while todo:
            begun = todo.pop()
            if begun.chosen.shape[1] == self.width:
                whole.append(begun)
                bound = torch.maximum(bound, self.top(begun))
                continue
            begun, worth = self.weighed(begun)
            row, slot = (worth >= bound[begun.sample, None] - _EQUAL).nonzero().unbind(1)
            parts = zip(torch.split(row, most), torch.split(slot, most), strict=True)
            todo += [self.grown(begun, *part, worth) for part in parts]
        return _Begun(*map(torch.cat, zip(*whole, strict=True)))

    def top(self, whole: _Begun) -> Tensor:
        """Return what the best order of each sequence is worth."""
        none = torch.full((self.size,), -torch.inf, device=whole.worth.device)
        return none.scatter_reduce(0, whole.sample, whole.worth, "amax")

    def best(self, whole: _Begun) -> list[Order]:
        """Return the best order of each sequence, of equal ones the first by slots."""
        good = whole.worth >= self.top(whole)[whole.sample] - _EQUAL
        best = dict(sorted(zip(whole.sample[good].tolist(), whole.chosen[good].tolist(), strict=True))[::-1])
        return [tuple(best[b][:count]) for b, count in enumerate(self.read.pairs.counts.tolist())]

    def weighed(self, begun: _Begun) -> tuple[_Begun, Tensor]:
        """Return beginnings with their next recurrent state, and what each is worth with each slot behind it, shape [H, N].

        A sequence that is complete goes on with the slots that pad it, in their order and at no cost.
        """
        read, time = self.read, begun.chosen.shape[1]
        slots = torch.arange(self.width, device=begun.sample.device)
        complete = ~read.pairs.valid[begun.sample, time]
        there = begun.remain & read.pairs.valid[begun.sample]
        waits = (self.needed[begun.sample] & begun.remain[:, None]).any(2)
        possible = torch.where(complete[:, None], slots == time, there & ~waits)
        if time == self.width - 1:  # the last is forced
            return begun, begun.worth[:, None].expand_as(possible).masked_fill(~possible, -torch.inf)
        relations, given = begun.ahead, torch.zeros_like(begun.hidden)
        if time:
            given = read.steps[begun.sample, begun.chosen[:, -1]]
            relations = relations + read.last[begun.sample, begun.chosen[:, -1]]
        if time > 1:
            relations = relations + read.earlier[begun.sample, begun.chosen[:, -2]]
        state = (begun.hidden[None].contiguous(), begun.cell[None].contiguous())
        _, (hidden, cell) = self.head.lstm(given[:, None], state)
        logs = self.head.pointed(hidden[0], relations, read.keys[begun.sample], there)
        logs = logs.float().masked_fill(complete[:, None], 0)
        worth = (begun.worth[:, None] + logs).masked_fill(~possible, -torch.inf)
        return begun._replace(hidden=hidden[0], cell=cell[0]), worth

    def grown(self, begun: _Begun, row: Tensor, slot: Tensor, worth: Tensor) -> _Begun:
        """Return some of the beginnings, each with one slot more."""
        old = _Begun(*(part[row] for part in begun))
        return old._replace(
            chosen=torch.cat([old.chosen, slot[:, None]], 1),
            worth=worth[row, slot],
            remain=old.remain.scatter(1, slot[:, None], value=False),
            ahead=old.ahead - self.read.ahead[old.sample, :, slot],
        )


def _needed(pairs: Pairs, before: List[Before | None] | None) -> Tensor:
    """Return which slots (third axis) must come before which (second), shape [B, N, N]."""
    size, width = pairs.valid.shape
    needed = torch.zeros(size, width, width, dtype=torch.bool)
    for b, (known, count) in enumerate(zip(before or [None] * size, pairs.counts.tolist(), strict=True)):
        for first, second in PartialOrder(range(count), known or ()).constraints:
            needed[b, second, first] = True  # type: ignore[index]
    return needed.to(pairs.valid.device)
