"""Draws seeds exactly by their probabilities without computing all of them (rejection sampling; ours).

A source is proposed uniformly, its weight is computed, and it is accepted with probability exp(−rate · w); as w ≥ 0, what is
accepted has exactly the probability p. What is drawn depends on the generator and the arguments alone: neither on what was drawn
before nor on how many weights are known already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import Vectors
from proctor.corpus.index.hits import CODES, checked_modalities
from proctor.corpus.seeds.statistics import SeedStatistics, seed_statistics
from proctor.corpus.seeds.weights import (
    BETA,
    NEIGHBOURS,
    NeighbourWeights,
    Scale,
    rate_of,
    seed_probabilities,
)
from proctor.corpus.source import MODALITIES, Modality
from proctor.errors import UserError

__all__ = ["SeedSampler"]

_AT_ONCE: Final = 256
"""Proposals of a draw whose weights are asked for together."""
_TOGETHER: Final = 1024
"""Weights that are computed together for several draws: as many queries as a search takes at a time."""
_AHEAD: Final = 4
"""After so many rejections one proposal more is made at a time: few rounds, and few weights that nobody needs."""
_PATIENCE: Final = 1024
"""Rejections in a row, at least, after which the whole table is worth computing."""

_Asking = Generator[NDArray[np.int64], NDArray[np.float64], list[int]]
"""Yields positions, is sent their weights, returns seeds."""


class SeedSampler:
    """Draws positions of sources as seeds, with replacement.

    Args:
        vectors: one row of length one for each source, in the order of positions; may be memory-mapped.
        docs: document of each source, for quotas; a source without one ("") is a document of its own. None: all are.
        modalities: one number for each source; None if all are texts.
        k: neighbours (of all modalities).
        beta: 0.1 in the paper.
        scale: ``multiply`` weights with beta (as printed) or ``divide`` by it.
        names: ids of the sources, for messages.
        checkpoint: file for the whole table of weights, see ``NeighbourWeights``.

    Raises:
        UserError: without vectors, for unusable vectors, or parameters that make no sense.
    """

    def __init__(
        self,
        vectors: Vectors,
        docs: Sequence[str] | None = None,
        modalities: NDArray[Any] | None = None,
        *,
        k: int = NEIGHBOURS,
        beta: float = BETA,
        scale: Scale = "multiply",
        names: list[str] | None = None,
        checkpoint: Path | None = None,
    ) -> None:
        self.beta, self.scale, self.k = beta, scale, k
        self.rate = rate_of(beta, scale)
        self.weights = NeighbourWeights(vectors, k, names=names, checkpoint=checkpoint)
        self.modalities = checked_modalities(modalities, len(vectors))
        self.documents = _document_numbers(docs, len(vectors))
        self.proposals = 0
        self.accepted = 0

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self.weights)

    @property
    def signature(self) -> str:
        """Names the distribution."""
        return f"seeds|k={self.k}|beta={self.beta:g}|scale={self.scale}"

    def draw(
        self,
        n: int,
        rng: np.random.Generator,
        *,
        exclude: Collection[int] = (),
        within: Collection[Modality] | None = None,
        quota: int | None = None,
        drawn: Sequence[int] = (),
    ) -> list[int]:
        """Draw seeds; a source may come more than once.

        Args:
            n: how many.
            rng: of this draw alone, so that the result depends on nothing else.
            exclude: positions that may not be drawn; the others keep their proportions.
            within: only sources of these modalities (weights stay those of all sources together); None for all.
            quota: at most so many seeds of one document.
            drawn: seeds drawn before that count in the quota.

        Raises:
            UserError: if so many seeds cannot be drawn under these conditions, or a condition makes no sense.
        """
        asking = self._draw(n, rng, self._eligible(exclude, within), self._room(quota, drawn))
        return self._answer([asking])[0]

    def statistics(self, sample: int = 1024) -> SeedStatistics:
        """Return how uneven the probabilities are, from all sources or a sample of them, always the same one.

        Args:
            sample: at most so many sources are looked at, however many weights are known.

        Raises:
            UserError: if that is less than one.
        """
        if sample < 1:
            raise UserError(f"A sample has at least one source, not {sample}.")
        positions = np.arange(len(self), dtype=np.int64)
        if len(self) > sample:
            positions = np.sort(np.random.default_rng(0).choice(positions, sample, replace=False))
        weights = self.weights.of(positions)
        return seed_statistics(weights, self.modalities[positions], self.rate, len(self))

    # -- who may be drawn --------------------------------------------------------------------------------------

    def _eligible(self, exclude: Collection[int], within: Collection[Modality] | None) -> NDArray[np.int64]:
        free = np.ones(len(self), np.bool_)
        if within is not None:
            if unknown := sorted(set(within) - set(CODES)):
                raise UserError(
                    f"There is no modality {unknown[0]!r}.", hint=f"One of {', '.join(MODALITIES)}."
                )
            free &= np.isin(self.modalities, [CODES[m] for m in within])
        if exclude:
            free[np.fromiter(exclude, np.int64, len(exclude))] = False
        eligible = np.flatnonzero(free).astype(np.int64, copy=False)
        if not len(eligible):
            whose = "" if within is None else f" of the modalities {', '.join(sorted(within)) or '(none)'}"
            raise UserError(f"No source{whose} is left that could be a seed ({len(exclude)} are excluded).")
        return eligible

    def _room(self, quota: int | None, drawn: Sequence[int]) -> NDArray[np.int64] | None:
        """How many seeds each document may still give; None for any number."""
        if quota is None:
            return None
        if quota < 1:
            raise UserError(f"The quota of a document is at least one seed, not {quota}.")
        room = np.full(int(self.documents.max()) + 1, quota, np.int64)
        for document, n in Counter(self.documents[list(drawn)].tolist()).items():
            room[document] = max(0, quota - n)
        return room

    # -- drawing -----------------------------------------------------------------------------------------------

    def _answer(self, askings: list[_Asking]) -> list[list[int]]:
        """Compute the weights that all draws ask for together, until each is done."""
        seeds: list[list[int]] = [[] for _ in askings]
        asked = {
            n: next_
            for n, asking in enumerate(askings)
            if (next_ := _step(asking, None, seeds[n])) is not None
        }
        while asked:
            for group in _groups(asked):
                weights = self.weights.of(np.concatenate([asked[n] for n in group]))
                for n in group:
                    size = len(asked[n])
                    mine, weights = weights[:size], weights[size:]
                    following = _step(askings[n], mine, seeds[n])
                    if following is None:
                        del asked[n]
                    else:
                        asked[n] = following
        return seeds

    def _draw(
        self, n: int, rng: np.random.Generator, eligible: NDArray[np.int64], room: NDArray[np.int64] | None
    ) -> _Asking:
        _check_number(n, eligible, self.documents, room)
        patience = max(_PATIENCE, len(self) // 2)
        eligible = self._with_room(eligible, room)
        seeds: list[int] = []
        rejected = 0
        while len(seeds) < n:
            if rejected >= patience:
                weights = yield eligible
                seeds.append(self._choose(rng, eligible, weights, room))
                rejected = 0
                continue
            pairs = rng.random((min(_AT_ONCE, max(n - len(seeds), rejected // _AHEAD, 1)), 2))
            proposed = eligible[(pairs[:, 0] * len(eligible)).astype(np.int64)]
            weights = yield proposed
            for position, accepted in zip(
                proposed.tolist(), (pairs[:, 1] < np.exp(-self.rate * weights)).tolist(), strict=True
            ):
                if len(seeds) == n:
                    break
                if room is not None and not room[self.documents[position]]:
                    continue
                self.proposals += 1
                rejected += 1
                if accepted:
                    self._take(position, seeds, room)
                    rejected = 0
            eligible = self._with_room(eligible, room)
        return seeds

    def _choose(
        self,
        rng: np.random.Generator,
        eligible: NDArray[np.int64],
        weights: NDArray[np.float64],
        room: NDArray[np.int64] | None,
    ) -> int:
        """Draw by the table, where proposals are accepted too rarely; as exact as they are."""
        sums = np.cumsum(seed_probabilities(weights, self.beta, self.scale))
        at = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
        taken: list[int] = []
        self._take(int(eligible[min(at, len(eligible) - 1)]), taken, room)
        return taken[0]

    def _take(self, position: int, seeds: list[int], room: NDArray[np.int64] | None) -> None:
        seeds.append(position)
        self.accepted += 1
        if room is not None:
            room[self.documents[position]] -= 1

    def _with_room(self, eligible: NDArray[np.int64], room: NDArray[np.int64] | None) -> NDArray[np.int64]:
        return eligible if room is None else eligible[room[self.documents[eligible]] > 0]


def _step(asking: _Asking, weights: NDArray[np.float64] | None, seeds: list[int]) -> NDArray[np.int64] | None:
    """Go on with a draw; None when it is done and its seeds are known."""
    try:
        return next(asking) if weights is None else asking.send(weights)
    except StopIteration as done:
        seeds += done.value
        return None


def _groups(asked: dict[int, NDArray[np.int64]]) -> list[list[int]]:
    """Draws that ask for about as many weights as are computed together."""
    groups: list[list[int]] = [[]]
    size = 0
    for n, positions in asked.items():
        if size and size + len(positions) > _TOGETHER:
            groups.append([])
            size = 0
        groups[-1].append(n)
        size += len(positions)
    return groups


def _check_number(
    n: int, eligible: NDArray[np.int64], documents: NDArray[np.int64], room: NDArray[np.int64] | None
) -> None:
    if n < 0:
        raise UserError(f"The number of seeds is 0 or more, not {n}.")
    if room is None:
        return
    possible = int(room[np.unique(documents[eligible])].sum())
    if n > possible:
        raise UserError(
            f"{n} seeds were asked for, but the quota of each document leaves room for {possible}.",
            hint="Ask for fewer, or raise the quota.",
        )


def _document_numbers(docs: Sequence[str] | None, sources: int) -> NDArray[np.int64]:
    if docs is None:
        return np.arange(sources, dtype=np.int64)
    if len(docs) != sources:
        raise UserError(f"There are {sources} vectors, but documents of {len(docs)} sources.")
    numbers: dict[str | int, int] = {}
    return np.array([numbers.setdefault(doc or n, len(numbers)) for n, doc in enumerate(docs)], np.int64)
