"""Places and gains of the gold sources in a ranking: all that the measures need."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.errors import MetricInputError

__all__ = ["Floats", "Gain", "Gold", "Integers", "RankedGold", "rank_gold"]


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Gold = Sequence[Hashable] | Mapping[Hashable, float]
"""The gold sources of one question; a mapping gives each its gain (graded relevance, only gains above 0 are gold)."""
Gain = Literal["linear", "exponential"]
_FEW_GOLD: Final = 16
"""Up to so many gold sources it is faster to search a list for each than to number the whole ranking."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedGold:
    """The rank of every gold source of every question: all that the metrics need, one row a gold source.

    Attributes:
        question: index of the question of each row, ascending; shape (gold sources,).
        source: the gold source of each row, in the order of the reference, without repetitions.
        rank: its place in the ranking without repetitions, from 1; 0 where it was not retrieved.
        gain: its relevance, above 0; 1 without grades.
        needed: how many gold sources each question has; shape (questions,).
        retrieved: length of each ranking without repetitions.
        repeated_gold: gold sources left out of each question because they were named before.
        repeated_ranked: entries left out of each ranking for the same reason.
    """

    question: Integers
    source: tuple[Hashable, ...]
    rank: Integers
    gain: Floats
    needed: Integers
    retrieved: Integers
    repeated_gold: Integers
    repeated_ranked: Integers

    def __len__(self) -> int:
        return len(self.needed)

    def per_question(self, values: NDArray[np.generic]) -> Floats:
        """Sum a quantity of the rows for each question."""
        sums = np.bincount(self.question, weights=values.astype(np.float64), minlength=len(self))
        return sums.astype(np.float64, copy=False)


def rank_gold(gold: Sequence[Gold], rankings: Sequence[Sequence[Hashable]]) -> RankedGold:
    """Find the rank of every gold source.

    Args:
        gold: of each question; a mapping from source to gain for graded relevance.
        rankings: of each question, best first, parallel to ``gold``.

    Raises:
        MetricInputError: if the lists are not parallel, a question has no gold source, a ranking is a text instead
            of a list, an id cannot be one, gold and rankings write ids as texts and as numbers, or a gain is not
            finite.
    """
    if len(gold) != len(rankings):
        raise MetricInputError(
            f"{len(gold)} questions have gold sources, {len(rankings)} have a ranking",
            "give one ranking a question, an empty list where nothing was retrieved",
        )
    question: list[int] = []
    source: list[Hashable] = []
    rank: list[int] = []
    gain: list[float] = []
    counts: list[tuple[int, int, int, int]] = []
    for index, (wanted, ranking) in enumerate(zip(gold, rankings, strict=True)):
        gains, given = _gains(wanted, index)
        distinct, offered = _distinct(ranking, f"the ranking of question {index}")
        question += [index] * len(gains)
        source += gains
        rank += _ranks(gains, distinct)
        gain += gains.values()
        counts.append((len(gains), len(distinct), given - len(gains), offered - len(distinct)))
    offered_types = {isinstance(one, str) for ranking in rankings for one in ranking}
    if source and offered_types and not offered_types & {isinstance(one, str) for one in source}:
        raise MetricInputError(
            f"ids of gold sources are {type(source[0]).__name__}, ids in rankings are another type",
            "write both as texts, or both as numbers: otherwise nothing is found",
        )
    needed, retrieved, repeated_gold, repeated_ranked = (
        np.array(counts, dtype=np.int64).reshape(len(counts), 4).T
    )
    return RankedGold(
        question=np.array(question, dtype=np.int64),
        source=tuple(source),
        rank=np.array(rank, dtype=np.int64),
        gain=np.array(gain, dtype=np.float64),
        needed=needed,
        retrieved=retrieved,
        repeated_gold=repeated_gold,
        repeated_ranked=repeated_ranked,
    )


def _gains(wanted: Gold, index: int) -> tuple[dict[Hashable, float], int]:
    """Return gain by gold source and how many were given, repetitions included."""
    if isinstance(wanted, Mapping):
        found = {one: _finite(g, index) for one, g in wanted.items()}
        found = {one: g for one, g in found.items() if g > 0}
        given = len(found)
    else:
        named, given = _distinct(wanted, f"the gold of question {index}")
        found = dict.fromkeys(named, 1.0)
    if not found:
        raise MetricInputError(
            f"question {index} has no gold source, so it has no recall",
            "leave the question out, or name the sources that it needs",
        )
    return found, given


def _ranks(gains: Mapping[Hashable, float], distinct: Mapping[Hashable, None]) -> list[int]:
    """Rank of every gold source, from 1; 0 where it is not in the ranking."""
    if len(gains) <= _FEW_GOLD:
        places = list(distinct)
        return [places.index(one) + 1 if one in distinct else 0 for one in gains]
    rank = dict(zip(distinct, range(1, len(distinct) + 1), strict=True))
    return [rank.get(one, 0) for one in gains]


def _finite(gain: object, index: int) -> float:
    if isinstance(gain, bool) or not isinstance(gain, Real) or not math.isfinite(gain):
        raise MetricInputError(f"a gain of question {index} is no finite number: {gain!r}", "repair it")
    return float(gain)


def _distinct(values: object, what: str) -> tuple[dict[Hashable, None], int]:
    """Return the ids in order, first mention kept, and how many were given."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        values = values.tolist()
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise MetricInputError(
            f"{what} is no list of ids but {type(values).__name__}", "put the ids in a list"
        )
    types = set(map(type, values))
    strange = type(None) in types or (float in types and any(one != one for one in values))
    try:
        found = dict.fromkeys(values)
    except TypeError:
        strange = True
    if strange:
        raise MetricInputError(f"{what} holds something that is no id", "ids are texts or numbers")
    return found, len(values)
