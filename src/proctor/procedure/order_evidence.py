"""What performances say of every pair of steps: counts in which a performance can weigh less than one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from proctor.procedure.induce import Performance
from proctor.procedure.inflect import word_list
from proctor.procedure.poset import Poset

__all__ = ["STATED", "OrderEvidence", "carefulness"]

STATED: Final = word_list(
    "constant against against_overlapping contradicted overlapping never_together adjacent "
    "always_adjacent log_gap nearest apart spread later_fixed earlier_fixed odds share_against"
)
"""What ``OrderEvidence.stated`` returns of a pair."""

_FAR: Final = 50.0
_STILL: Final = 1e-9
_CARELESS_SHARE: Final = 0.3
_LEAST_TRUST: Final = 0.02


class OrderEvidence:
    """Counts over the performances of one activity; steps by their place in ``ids``.

    A performance that has both steps shows the order in which they begin, and none where they begin at once. It *overlaps*
    when the later one begins before the earlier one ends: then the order may be one of haste, not of need.

    Attributes:
        ids: of the steps.
        agreeing: weight of the performances that show a before b, at ``[a][b]``.
        places: mean place of each step in the performances that have it, 0 first and 1 last.
    """

    def __init__(
        self, ids: Sequence[str], performances: Sequence[Performance], weights: Sequence[float]
    ) -> None:
        size = len(ids)
        number = {step_id: i for i, step_id in enumerate(ids)}
        self.ids = tuple(ids)
        self.agreeing, self._overlapping, self._adjacent, self._gap = (
            [[0.0] * size for _ in ids] for _ in range(4)
        )
        self._nearest = [[_FAR] * size for _ in ids]
        seen: list[list[float]] = [[] for _ in ids]
        for performance, weight in zip(performances, weights, strict=True):
            spans = sorted((*span, number[i]) for i, span in performance.spans.items())
            for k, (_, _, i) in enumerate(spans):
                seen[i].append(k / max(1, len(spans) - 1))
            for k, (start, end, i) in enumerate(spans):
                for gap, (begin, _, j) in enumerate(spans[k + 1 :], 1):
                    if begin > start:
                        self.agreeing[i][j] += weight
                        self._gap[i][j] += weight * gap
                        self._nearest[i][j] = min(self._nearest[i][j], gap)
                        if gap == 1:
                            self._adjacent[i][j] += weight
                        if begin < end:
                            self._overlapping[i][j] += weight
        self.places = [math.fsum(p) / len(p) if p else 0.5 for p in seen]
        self._spread = [
            math.sqrt(math.fsum((x - mean) ** 2 for x in p) / len(p)) if p else 0.5
            for p, mean in zip(seen, self.places, strict=True)
        ]

    def stated(self, a: int, b: int) -> tuple[float, ...]:
        """Return what is known of a before b whatever the rest of the order is, in the order of ``STATED``."""
        agreeing, against = self.agreeing[a][b], self.agreeing[b][a]
        together = agreeing + against
        overlapping = self._overlapping[b][a]
        adjacent = self._adjacent[a][b]
        return (
            1.0,
            against - overlapping,
            overlapping,
            float(against > 0),
            self._overlapping[a][b] / max(together, 1.0),
            float(together == 0),
            adjacent / max(agreeing, 1.0),
            float(agreeing > 0 and adjacent == agreeing),
            math.log(self._gap[a][b] / agreeing) if agreeing else 0.0,
            1 / self._nearest[a][b] if agreeing else 0.0,
            self.places[b] - self.places[a],
            self._spread[a] + self._spread[b],
            float(self._spread[b] < _STILL),
            float(self._spread[a] < _STILL),
            math.log((agreeing + 0.5) / (against + 0.5)),
            against / max(together, 1.0),
        )


def carefulness(
    order: Poset, ids: Sequence[str], performances: Sequence[Performance], slip: float, careless: float
) -> list[float]:
    """Return the probability that each performance is careful, by the edges of an order that it breaks; at least 0.02.

    Args:
        order: of the steps, by their place in ``ids``.
        ids: of the steps.
        performances: to judge.
        slip: share of the edges that a careful performance breaks.
        careless: share that a careless one breaks.
    """
    edges = [(ids[a], ids[b]) for a, b in order.edges()]
    found = []
    for p in performances:
        kept = [p.spans[a] <= p.spans[b] for a, b in edges if a in p.spans and b in p.spans]
        broken = len(kept) - sum(kept)
        odds = (
            math.log(_CARELESS_SHARE / (1 - _CARELESS_SHARE))
            + broken * math.log(careless / slip)
            + sum(kept) * math.log((1 - careless) / (1 - slip))
        )
        found.append(max(_LEAST_TRUST, 1 / (1 + math.exp(min(odds, 50.0)))))
    return found
