"""Which seed source each attempt gets: level *a* holds one seed for attempt *a* of every target.

The seeds of a level are drawn whether or not somebody will need them, from generators that the run's seed, the level and the
place of the target decide: so neither concurrency nor what becomes of other targets changes a seed, and targets that are added
at the end leave the first seeds of the others as they are. A source that was the seed of the same style and combination
before is not taken again while there are others (ours).
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from proctor.ask.documents.record import Target
from proctor.errors import UserError

__all__ = ["DrawSeeds", "Seed", "SeedLevels"]

DrawSeeds: TypeAlias = Callable[[int, np.random.Generator], NDArray[np.int64]]
"""Draws so many positions of the corpus, with replacement."""

_BLOCK: Final = 64
"""Targets whose seeds are drawn at once."""
_AGAIN: Final = 16
"""Draws at once for one target whose first seed was taken."""
_TRIES: Final = 64
"""Times that this is done; then weights that are all but 0 are not waited for, and a seed is used again."""


class Seed(NamedTuple):
    """A seed: the position of its source, and how often the run drew this source before."""

    position: int
    draw: int


class SeedLevels:
    """Seeds of all attempts, made when the first attempt of a level asks.

    Args:
        targets: all of the run, in order.
        draw: draws seeds by their weights.
        size: number of sources in the corpus, or of those that may be seeds.
        seed: of the run.
        documents: document of each position of the corpus; needed for a quota.
        quota: seeds of one document in a level, at most, while other documents have seeds to give; None for no quota.

    Raises:
        UserError: if there is no source, or the quota makes no sense.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        draw: DrawSeeds,
        size: int,
        seed: int,
        *,
        documents: Sequence[str] = (),
        quota: int | None = None,
    ) -> None:
        if size < 1:
            raise UserError("the corpus has no source that could be a seed.")
        if quota is not None and (quota < 1 or not documents):
            raise UserError(f"a quota of {quota} seeds for each document cannot be kept.")
        self._documents, self._quota = documents, quota
        self._given: Counter[str] = Counter()
        self._cells = [(target.style, target.modalities) for target in targets]
        self._places = {target.id: place for place, target in enumerate(targets)}
        self._draw, self._size, self._seed = draw, size, seed
        self._taken: dict[tuple[str, tuple[int, int, int]], set[int]] = {cell: set() for cell in self._cells}
        self._drawn: Counter[int] = Counter()
        self._levels: list[list[Seed]] = []
        self._lock = threading.Lock()

    def of(self, target: str, attempt: int) -> Seed:
        """Return the seed of an attempt, counted from 0, at a target, named by its id."""
        with self._lock:
            while len(self._levels) <= attempt:
                self._levels.append(self._level(len(self._levels)))
            return self._levels[attempt][self._places[target]]

    def _level(self, number: int) -> list[Seed]:
        seeds: list[Seed] = []
        self._given.clear()
        for start in range(0, len(self._cells), _BLOCK):
            drawn = self._draw(_BLOCK, self._rng(number, "block", start)).tolist()
            for place, first in zip(range(start, len(self._cells)), drawn, strict=False):
                seeds.append(self._counted(self._free(number, place, first)))
        return seeds

    def _free(self, level: int, place: int, first: int) -> int:
        """Return the first seed of a target, or another one where it is taken."""
        taken = self._taken[self._cells[place]]
        if len(taken) >= self._size:
            taken.clear()  # every source was a seed of this style and combination: begin anew
        position = first
        if position in taken or self._is_full(position):
            rng = self._rng(level, "again", place)
            more = [p for p in self._again(rng, taken) if p not in taken]
            position = next((p for p in more if not self._is_full(p)), more[0] if more else first)
        taken.add(position)
        if self._quota is not None:
            self._given[self._documents[position]] += 1
        return position

    def _again(self, rng: np.random.Generator, taken: set[int]) -> Iterator[int]:
        """Draw until there is a seed that is free and of a document that is not full, or no such seed is to be expected."""
        for _ in range(_TRIES):
            drawn = self._draw(_AGAIN, rng).tolist()
            yield from drawn
            if any(p not in taken and not self._is_full(p) for p in drawn):
                return

    def _is_full(self, position: int) -> bool:
        return self._quota is not None and self._given[self._documents[position]] >= self._quota

    def _rng(self, level: int, purpose: str, place: int) -> np.random.Generator:
        content = f"seeds\n{self._seed}\n{level}\n{purpose}\n{place}".encode()
        return np.random.default_rng(int.from_bytes(hashlib.sha256(content).digest()))

    def _counted(self, position: int) -> Seed:
        draw = self._drawn[position]
        self._drawn[position] += 1
        return Seed(position, draw)
