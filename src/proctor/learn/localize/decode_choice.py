"""Weights of decoding, chosen without the recording that they are used on.

One weight after another is set to what gives the best average mAP on all *other* recordings, twice round. All recordings are
decoded once for each set of weights that any of them tries.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.localize.decode import decode
from proctor.learn.localize.order_prior import OrderPrior
from proctor.learn.localize.readings import DecodeWeights
from proctor.metrics.localization import TIOU, Segments, match_segments, weighted_scores

__all__ = ["GRID", "ChosenWeights", "choose_weights"]

Floats = NDArray[np.float64]
_Average = Callable[[DecodeWeights], Floats]

GRID: Final[Mapping[str, tuple[float, ...]]] = {
    "score": (1.0, 2.0, 3.0),
    "gap": (0.0, 0.25, 0.5, 0.75),
    "order": (0.0, 0.25, 0.5, 1.0),
    "place": (0.0, 0.25, 0.5, 1.0),
    "length": (0.0, 0.25, 0.5, 1.0),
    "mix": (0.3, 0.5, 0.7, 0.9),
}
"""What is tried, in this order."""
_ROUNDS: Final = 2
_LEAST: Final = 4
"""Recordings with truth that a choice needs."""
_BEAM: Final = 150
"""States while choosing; the decoding itself keeps more."""


@dataclass(frozen=True)
class ChosenWeights:
    """What was chosen for each recording on all others, and on all of them (for recordings to come)."""

    by_recording: Mapping[str, DecodeWeights]
    all: DecodeWeights
    tried: int


def choose_weights(
    predictions: Segments,
    truth: Segments,
    activities: Mapping[str, str],
    seconds: Mapping[str, float],
    prior: OrderPrior,
    *,
    over: Collection[str] = tuple(GRID),
    start: ChosenWeights | DecodeWeights | None = None,
) -> ChosenWeights:
    """Choose weights for every recording on the others.

    Args:
        predictions: of the recordings with truth.
        truth: their executions.
        activities: of the recordings, see ``decode``.
        seconds: their lengths.
        prior: fitted on none of them.
        over: names of the weights to choose; the others stay as they are at the start.
        start: of the search, for all recordings or by recording.

    Raises:
        UserError: if fewer than four recordings have truth.
    """
    given = start if isinstance(start, DecodeWeights) else DecodeWeights()
    names = [str(v) for v in truth.used_videos()]
    if len(names) < _LEAST:
        raise UserError(
            f"only {len(names)} recordings have truth: too few to choose weights on some and use them on others.",
            hint=f"give at least {_LEAST}, or take the weights as they are (--weights default)",
        )
    # Row r leaves recording r out; the last row has all.
    use = np.concatenate([1.0 - np.eye(len(names)), np.ones((1, len(names)))])
    memo: dict[DecodeWeights, Floats] = {}

    def average(weights: DecodeWeights) -> Floats:
        if weights not in memo:
            found = decode(predictions, activities, seconds, prior, weights, beam=_BEAM).rescored
            matches = match_segments(truth, found, TIOU, ())
            columns = [list(map(str, matches.videos)).index(name) for name in names]
            rows = np.zeros((len(use), len(matches.videos)))
            rows[:, columns] = use
            memo[weights] = weighted_scores(matches, rows)[:, len(TIOU)]
        return memo[weights]

    begin = [given] * len(use)
    if isinstance(start, ChosenWeights):
        begin = [*(start.by_recording[name] for name in names), start.all]
    chosen = [_climbed(row, average, first, over) for row, first in enumerate(begin)]
    return ChosenWeights(dict(zip(names, chosen, strict=False)), chosen[-1], len(memo))


def _climbed(row: int, average: _Average, first: DecodeWeights, over: Collection[str]) -> DecodeWeights:
    best = first
    for _ in range(_ROUNDS):
        before = best
        for name, values in GRID.items():
            if name in over:
                options = [best, *(msgspec.structs.replace(best, **{name: v}) for v in values)]
                # the first of the best, so that equals change nothing
                best = max(dict.fromkeys(options), key=lambda weights: float(average(weights)[row]))
        if best == before:
            break
    return best
