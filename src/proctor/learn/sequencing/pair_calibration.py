"""From log-odds that one step is done before another to probabilities that come true as often as they say.

A map keeps that exchanging two steps gives the probability of the opposite: ``p(z) + p(-z) = 1``. Which of three maps is taken is
chosen by what it says of manuals that it was not fitted on. Source: Guo et al. 2017 (temperature); Zadrozny and Elkan 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as List
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.learn.sequencing.data import Ordered, Presented
from proctor.procedure.manual import Modality

__all__ = ["Calibration", "calibrate", "pair_outcomes"]

Floats = NDArray[np.float64]

_LEAST: Final = 1e-3
"""Nobody is surer than this of a pair."""
_FEWEST_FOR_STEPS: Final = 1_000
"""Pairs from which on a step function is tried."""
_TEMPERATURES: Final = np.geomspace(0.1, 10, 101)


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """A map from log-odds to probabilities.

    Attributes:
        kind: ``none``, ``temperature`` (log-odds are multiplied by ``factor``) or ``isotonic`` (a rising line through ``points``).
        factor: below 1 where the model is too sure.
        points: log-odds and the share of pairs that came true.
    """

    kind: Literal["none", "temperature", "isotonic"] = "none"
    factor: float = 1.0
    points: tuple[tuple[float, float], ...] = ()

    def __call__(self, log_odds: Floats) -> Floats:
        """Return probabilities of the same shape, from 0.001 to 0.999."""
        if self.kind == "isotonic":
            at, share = np.array(self.points).T
            found = (np.interp(log_odds, at, share) + 1 - np.interp(-log_odds, at, share)) / 2
        else:
            found = (1 + np.tanh(self.factor * log_odds / 2)) / 2
        result: Floats = np.clip(found, _LEAST, 1 - _LEAST)
        return result


def calibrate(manuals: List[Floats]) -> tuple[Calibration, Mapping[str, float]]:
    """Choose a map.

    Args:
        manuals: of each the log-odds of its pairs in the order in which they are done, shape [P].

    Returns:
        The map, and the mean log loss of each kind that was tried, on manuals that it was not fitted on; of fewer than two manuals
        nothing is fitted.
    """
    known = [z for z in manuals if len(z)]
    fits = _FITS if sum(map(len, known)) >= _FEWEST_FOR_STEPS else _FITS[:2]
    if len(known) < 2:
        return Calibration(), {}
    halves = (known[::2], known[1::2])
    losses = {}
    for name, fit in fits:
        maps = [fit(np.concatenate(half)) for half in halves]
        parts = [-np.log(m(np.concatenate(h))) for m, h in zip(maps, reversed(halves), strict=True)]
        losses[name] = float(np.concatenate(parts).mean())
    best = min(losses, key=lambda name: losses[name])
    return dict(fits)[best](np.concatenate(known)), losses


def _temperature(log_odds: Floats) -> Calibration:
    losses = [np.logaddexp(0, -factor * log_odds).mean() for factor in _TEMPERATURES]
    return Calibration(kind="temperature", factor=float(_TEMPERATURES[int(np.argmin(losses))]))


def _isotonic(log_odds: Floats) -> Calibration:
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(out_of_bounds="clip")
    model.fit(np.concatenate([log_odds, -log_odds]), np.repeat([1.0, 0.0], len(log_odds)))
    points = zip(model.X_thresholds_.tolist(), model.y_thresholds_.tolist(), strict=True)
    return Calibration(kind="isotonic", points=tuple(points))


_FITS: Final[tuple[tuple[str, Callable[[Floats], Calibration]], ...]] = (
    ("none", lambda _: Calibration()),
    ("temperature", _temperature),
    ("isotonic", _isotonic),
)


def pair_outcomes(
    shown: List[Presented], ordered: List[Ordered], modality: Modality
) -> tuple[NDArray[np.bool_], Floats]:
    """Return what came true of all pairs, and what was said: was the slot that is shown first done first?

    Steps that look alike are left out, and so are pairs whose order differs between references, which have no right answer.

    Args:
        shown: the sequences.
        ordered: with ``precedence``, in the same order.
        modality: whose references count.

    Returns:
        Yes or no, shape [P], and probabilities, shape [P].
    """
    came: list[bool] = []
    said: list[float] = []
    for item, found in zip(shown, ordered, strict=True):
        if found.precedence is None:
            continue
        alike = item.sequence.alike(modality)
        places = [np.argsort(order) for order in item.sequence.orders(modality)]
        for a in range(len(item.slots)):
            for b in range(a + 1, len(item.slots)):
                i, j = item.slots[a], item.slots[b]
                votes = {bool(place[i] < place[j]) for place in places}
                if alike[i] != alike[j] and len(votes) == 1:
                    came.append(votes.pop())
                    said.append(float(found.precedence[a, b]))
    return np.array(came, np.bool_), np.array(said, np.float64)
