"""What annotators would agree on who use their labels as often as these do, but without looking at the items."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from proctor.metrics.agreement.labels import Label, Labels, coded_labels
from proctor.metrics.score import Score, Signature

__all__ = ["INDEPENDENT", "chance_agreement", "chance_specific_agreement"]

INDEPENDENT: Final = {"interval": "none", "raters": "independent"}
"""What the signature of a chance level says."""


def chance_agreement(a: Labels, b: Labels) -> Score:
    """Expected raw agreement of two independent annotators: the sum over labels of ``n_l. n_.l / n²``, 0 to 1.

    Kappa and alpha are 0 there.

    Raises:
        MetricInputError: as ``raw_agreement``.
    """
    _, one, two = coded_labels(a, b)
    n = len(one)
    first, second = (np.bincount(codes, minlength=_size(one, two)) for codes in (one, two))
    signature = Signature("raw_agreement", INDEPENDENT)
    if not n:
        return Score(math.nan, signature, 0, note="nothing was labelled by both")
    return Score(float(first @ second) / n**2, signature, n)


def chance_specific_agreement(a: Labels, b: Labels, label: Label) -> Score:
    """Expected specific agreement of two independent annotators, ``2 p q / (p + q)`` for the shares p and q of the label.

    It is the ratio of the expected counts.

    Raises:
        MetricInputError: as ``specific_agreement``.
    """
    labels, one, two = coded_labels(a, b)
    place = labels.index(label) if label in labels else -1
    shares = [float((codes == place).mean()) if len(codes) else 0.0 for codes in (one, two)]
    signature = Signature("specific_agreement", INDEPENDENT)
    if not sum(shares):
        return Score(math.nan, signature, len(one), note=f"neither used the label {label!r}")
    return Score(2 * shares[0] * shares[1] / sum(shares), signature, len(one))


def _size(*codes: np.ndarray) -> int:
    return max((int(part.max()) + 1 for part in codes if len(part)), default=0)
