"""A partial order that is changed one pair at a time: what a search over orders walks on.

Kept is the transitive closure, one integer a step with one bit for each other step. Two changes keep a closure closed and
touch one pair only: an *edge* of the reduction can be taken out, and a pair can be put in when everything before the first
step is before the second, and everything after the second after the first. From any order these changes lead to every
other one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from proctor.procedure.cycles import each_bit

__all__ = ["Poset", "Surroundings"]


class Surroundings(NamedTuple):
    """What a pair changes around it when all else stays as it is; steps by number.

    Attributes:
        spared_before: steps with an edge to the later step that the pair makes needless.
        spared_after: steps to which the earlier one has an edge that the pair makes needless.
        joined: edges into the later step that stay beside that of the pair.
        forked: edges out of the earlier step that stay.
        opens: without the pair the later step waits for nothing.
        closes: without the pair nothing waits for the earlier step.
        gain: by how much the pair lowers the logarithm of the number of orders; see ``Poset.around``.
    """

    spared_before: tuple[int, ...]
    spared_after: tuple[int, ...]
    joined: int
    forked: int
    opens: bool
    closes: bool
    gain: float


class Poset:
    """A strict partial order of the steps 0 to ``size - 1``.

    Attributes:
        size: number of steps.
        after: bits of all steps that come after each step, implied ones included.
        before: bits of all steps that come before each.
    """

    __slots__ = ("after", "before", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.after = [0] * size
        self.before = [0] * size

    @classmethod
    def of(cls, size: int, pairs: Iterable[tuple[int, int]]) -> Poset:
        """Return the smallest order with these pairs; a pair that contradicts earlier ones is left out."""
        order = cls(size)
        for a, b in pairs:
            if a != b and not order.after[b] >> a & 1:
                order.insert(a, b)
        return order

    def copy(self) -> Poset:
        """Return an order that can be changed without changing this one."""
        other = Poset(self.size)
        other.after, other.before = self.after.copy(), self.before.copy()
        return other

    def has(self, a: int, b: int) -> bool:
        """True when ``a`` comes before ``b``."""
        return bool(self.after[a] >> b & 1)

    def insert(self, a: int, b: int) -> None:
        """Put ``a`` before ``b`` with all that follows from it; ``b`` must not come before ``a``."""
        if self.has(a, b):
            return
        above, below = self.before[a] | 1 << a, self.after[b] | 1 << b
        for x in each_bit(above):
            self.after[x] |= below
        for y in each_bit(below):
            self.before[y] |= above

    def is_edge(self, a: int, b: int) -> bool:
        """True when ``a`` comes before ``b`` with nothing between them."""
        return self.has(a, b) and not self.after[a] & self.before[b]

    def can_change(self, a: int, b: int) -> bool:
        """True when the pair alone can be put in, or taken out where it is in."""
        after, before = self.after, self.before
        if after[a] >> b & 1:
            return not after[a] & before[b]
        return not (after[b] >> a & 1 or before[a] & ~before[b] or after[b] & ~after[a])

    def change(self, a: int, b: int) -> None:
        """Put the pair in, or take it out; only where ``can_change`` says so."""
        self.after[a] ^= 1 << b
        self.before[b] ^= 1 << a

    def edges(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of the transitive reduction, by number."""
        for a, row in enumerate(self.after):
            for b in each_bit(row):
                if not row & self.before[b]:
                    yield a, b

    def around(self, a: int, b: int) -> Surroundings:
        """Return what a pair that can be changed means for its neighbours, whether it is in or not.

        The gain is ``-log(1 - 1/C(u + d, d))`` with u the steps from ``a`` on that are not after ``b``, and d the steps up to
        ``b`` that are not before ``a``: of the orders without the pair those with b before a have all d steps in front of all
        u. That is exact where these steps have no further ties with one another or with others. That is so
        for four of five pairs of CaptainCook4D's graphs; over all, the mean error is 0.02 at a mean gain of 0.48.
        """
        upto = self.before[b] & ~(1 << a)
        onward = self.after[a] & ~(1 << b)
        above, below = self.before[a], self.after[b]
        spared_before, joined = _ends(upto, self.after, above)
        spared_after, forked = _ends(onward, self.before, below)
        first, last = (upto & ~above).bit_count() + 1, (onward & ~below).bit_count() + 1
        return Surroundings(
            spared_before,
            spared_after,
            joined,
            forked,
            not upto,
            not onward,
            -math.log1p(-1 / math.comb(first + last, first)),
        )


def _ends(steps: int, beyond: Sequence[int], spared: int) -> tuple[tuple[int, ...], int]:
    """Return the steps of a set with none of the set beyond them that are spared, and how many are not; the inmost loop of all."""
    found = []
    others = 0
    left = steps
    while left:
        low = left & -left
        left ^= low
        step = low.bit_length() - 1
        if not beyond[step] & steps:
            if spared & low:
                found.append(step)
            else:
                others += 1
    return tuple(found), others
