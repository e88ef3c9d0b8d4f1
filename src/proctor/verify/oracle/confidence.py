"""From the lean of a ground to a probability, by a logistic curve fitted on people's judgements.

Two numbers are learnt, intercept and slope; everything else is in the rules. More features (number of missing
steps, mistakes in the current step, share of unknown words, match score, one weight a rule) were tried and did
not lower the log loss on recipes left out (docs/oracle.md). The shipped numbers are in ``weights.json`` and are
made by ``benchmarks/oracle_fit.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import msgspec

__all__ = ["Calibration", "fit_calibration", "load_calibration"]


class Calibration(msgspec.Struct, frozen=True, omit_defaults=True):
    """``P(right) = 1 / (1 + exp(-(intercept + slope · lean)))``.

    Attributes:
        intercept: log odds at lean 0.
        slope: log odds a unit of lean.
        answers: how many judged answers it was fitted on.
        groups: the procedures (recipes) they came from.
        data_sha256: of the file they came from.
    """

    intercept: float
    slope: float
    answers: int = 0
    groups: tuple[str, ...] = ()
    data_sha256: str = ""

    def probability(self, lean: float) -> float:
        """Return the probability that an answer with this lean is right."""
        return 1.0 / (1.0 + math.exp(-(self.intercept + self.slope * lean)))


@lru_cache(maxsize=1)
def load_calibration() -> Calibration:
    """Return the shipped calibration."""
    data = files("proctor.verify.oracle").joinpath("weights.json").read_bytes()
    return msgspec.json.decode(data, type=Calibration)


def fit_calibration(leans: Sequence[float], right: Sequence[bool], *, ridge: float = 1.0) -> Calibration:
    """Fit intercept and slope by penalised maximum likelihood (Newton steps).

    Args:
        leans: one an answer.
        right: whether people took the answer for right, parallel to ``leans``.
        ridge: penalty on half the squared slope; the intercept is penalised a twentieth as much.

    Raises:
        ValueError: if the sequences differ in length or are empty.
    """
    if len(leans) != len(right) or not leans:
        raise ValueError(f"{len(leans)} leans for {len(right)} labels")
    a = b = 0.0
    for _ in range(100):
        grad_a, grad_b = -0.05 * ridge * a, -ridge * b
        h_aa, h_ab, h_bb = 0.05 * ridge, 0.0, ridge
        for lean, label in zip(leans, right, strict=True):
            p = 1.0 / (1.0 + math.exp(-(a + b * lean)))
            grad_a += label - p
            grad_b += (label - p) * lean
            weight = p * (1 - p)
            h_aa, h_ab, h_bb = h_aa + weight, h_ab + weight * lean, h_bb + weight * lean * lean
        det = h_aa * h_bb - h_ab * h_ab
        step_a = (h_bb * grad_a - h_ab * grad_b) / det
        step_b = (h_aa * grad_b - h_ab * grad_a) / det
        a, b = a + step_a, b + step_b
        if max(abs(step_a), abs(step_b)) < 1e-10:
            break
    return Calibration(round(a, 6), round(b, 6), answers=len(leans))
