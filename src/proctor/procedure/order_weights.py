"""How strongly evidence and texts speak for a pair: weights, and the log odds of a pair given the rest of an order.

The log odds that a pair is ordered, while all else of the order stays, are a weighted sum of three things:

* the *likelihood*: a performance is close to a uniform draw from the orders that the graph admits, so each agreeing one counts
  the logarithm by which the pair lowers their number; and a rate of errors, by which a performance that contradicts a needed
  pair is unlikely but possible;
* the *shape* of the graph: how many edges the pair adds or spares, whether a step would wait for nothing without it;
* the *texts*, both of the pair and of the edges that it spares.

Where texts say nothing, weights that were fitted without them are used (``plain``). ``order_fit`` finds the weights.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from operator import mul
from typing import Final

from proctor.procedure.inflect import word_list
from proctor.procedure.order_evidence import STATED, OrderEvidence
from proctor.procedure.order_text import StepTexts
from proctor.procedure.poset import Poset, Surroundings

__all__ = ["DEFAULT", "SHAPE", "OrderScore", "OrderWeights", "shape"]

SHAPE: Final = word_list(
    "gain first_gain log_ways opens closes spared_before spared_after joined forked not_joined not_forked"
)
"""What ``shape`` returns of a pair."""

_FIRST_GAIN: Final = 3.0


def shape(agreeing: float, around: Surroundings) -> tuple[float, ...]:
    """Return what the rest of the order makes of a pair, in the order of ``SHAPE``.

    Args:
        agreeing: weight of the performances that show the pair.
        around: what the pair changes.
    """
    gain = agreeing * around.gain
    return (
        gain,
        min(gain, _FIRST_GAIN),
        around.gain,
        float(around.opens),
        float(around.closes),
        float(len(around.spared_before)),
        float(len(around.spared_after)),
        math.log1p(around.joined),
        math.log1p(around.forked),
        float(not around.joined and not around.opens),
        float(not around.forked and not around.closes),
    )


@dataclass(frozen=True, slots=True)
class OrderWeights:
    """Log odds for each unit of what is known of a pair.

    Attributes:
        order: by name in ``STATED`` and ``SHAPE``.
        pair: of remarks of ``StepTexts.kinship``, and of kinds of work: ``"add>"``, ``">mix"``, ``"add>mix"``.
        edge: of the same remarks, less those on the edges that the pair spares.
        first: kinds of work of a step that would wait for nothing.
        last: kinds of work of a step that nothing would wait for.
        plain: as ``order``, where texts say nothing.
    """

    order: Mapping[str, float]
    pair: Mapping[str, float]
    edge: Mapping[str, float]
    first: Mapping[str, float]
    last: Mapping[str, float]
    plain: Mapping[str, float]

    def to_json(self) -> str:
        """Return the weights as JSON, rounded to four digits; ``from_json`` reads it."""
        rounded = {
            part: {k: round(v, 4) for k, v in sorted(table.items()) if round(v, 4)}
            for part, table in asdict(self).items()
        }
        return json.dumps(rounded, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> OrderWeights:
        """Read what ``to_json`` wrote.

        Raises:
            TypeError: if a table is missing or unknown.
        """
        return cls(**json.loads(text))


DEFAULT: Final = OrderWeights.from_json(
    files("proctor.procedure").joinpath("order_weights.json").read_text(encoding="utf-8")
)
"""Fitted on CaptainCook4D's 24 graphs and random ones by ``benchmarks/learn/order_fit.py``."""


class OrderScore:
    """Log odds of pairs of one activity.

    Args:
        evidence: of its performances.
        texts: of its steps.
        weights: how strongly both speak.
    """

    def __init__(self, evidence: OrderEvidence, texts: StepTexts, weights: OrderWeights) -> None:
        self.evidence = evidence
        table = weights.order if texts.telling else weights.plain
        self._shape = [table.get(name, 0.0) for name in SHAPE]
        stated = [table.get(name, 0.0) for name in STATED]
        steps = range(len(evidence.ids))
        self._stated = [
            [sum(map(mul, stated, evidence.stated(a, b))) if a != b else 0.0 for b in steps] for a in steps
        ]
        self._edge = [[0.0 for _ in steps] for _ in steps]
        self._first = [0.0 for _ in steps]
        self._last = [0.0 for _ in steps]
        if texts.telling:
            self._add_texts(texts, weights)

    def _add_texts(self, texts: StepTexts, weights: OrderWeights) -> None:
        kinds = texts.kinds
        for a, first in enumerate(kinds):
            self._first[a], self._last[a] = weights.first.get(first, 0.0), weights.last.get(first, 0.0)
            for b, second in enumerate(kinds):
                if a == b:
                    continue
                found = texts.kinship(a, b)
                self._edge[a][b] = math.fsum(weights.edge.get(name, 0.0) * v for name, v in found.items())
                self._stated[a][b] += math.fsum(
                    (
                        *(weights.pair.get(name, 0.0) * v for name, v in found.items()),
                        *(weights.pair.get(k, 0.0) for k in (f"{first}>", f">{second}", f"{first}>{second}")),
                    )
                )

    def odds(self, order: Poset, a: int, b: int) -> float:
        """Return the log odds that a comes before b, all else of the order as it is; the pair must be changeable."""
        around = order.around(a, b)
        edge = self._edge
        odds: float = self._stated[a][b] + edge[a][b]
        odds += sum(map(mul, self._shape, shape(self.evidence.agreeing[a][b], around)))
        for x in around.spared_before:
            odds -= edge[x][b]
        for y in around.spared_after:
            odds -= edge[a][y]
        if around.opens:
            odds += self._first[b]
        if around.closes:
            odds += self._last[a]
        return odds
