"""What knowing nothing about the items gives."""

from __future__ import annotations

import math
from typing import Final, Literal, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike

from proctor.metrics.classification.scoring import (
    NOT_CALLED,
    Options,
    given_settings,
    signature_of,
    why_undefined,
)
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Score
from proctor.metrics.separation import binary_labels

__all__ = ["CHANCE", "Chance", "chance_scores"]


Chance = Literal["always-error", "always-normal", "prior"]
CHANCE: Final[tuple[Chance, ...]] = get_args(Chance)


def chance_scores(reference: ArrayLike, predictor: Chance, **options: Unpack[Options]) -> dict[str, Score]:
    """What knowing nothing about the items gives: the rows to print beside every result.

    Args:
        reference: 1 or True for a mistake; shape (n,).
        predictor: ``always-error``; ``always-normal``; or ``prior``: every item is called a mistake with the
            probability ``p`` of a mistake in the reference, whatever it looks like. The values of ``prior`` are
            exact expectations over its random calls: ``p² + (1-p)²`` for accuracy, ``p (1 - (1-p)^n)`` for
            precision (0 when nothing is called), ``p`` for recall, and for F1 the sum over the number of calls.
        **options: only ``settings`` is used; a chance row has no interval.

    Returns:
        Scores by metric name. The ranking metrics are those of a constant score: ROC-AUC 0.5, average precision
        ``p``, equal error rate 0.5.

    Raises:
        MetricInputError: if a label is not 0/1 or the predictor is unknown.
    """
    labels = binary_labels(reference)
    if predictor not in CHANCE:
        raise MetricInputError(f"predictor must be one of {', '.join(CHANCE)}, got {predictor!r}")
    n, positives = labels.size, int(labels.sum())
    p = positives / n if n else math.nan
    fixed = {
        "always-error": (p, p, 1.0, 2 * p / (1 + p)),
        "always-normal": (1 - p, 0.0, 0.0, 0.0),
        "prior": (p * p + (1 - p) ** 2, p * (1 - (1 - p) ** n), p, _expected_f1(n, positives)),
    }[predictor]
    values = dict(zip(("accuracy", "precision", "recall", "f1_score"), fixed, strict=True))
    values |= {"roc_auc": 0.5, "average_precision": p, "equal_error_rate": 0.5}
    out = {}
    for name, value in values.items():
        note = why_undefined(name, n, positives)
        if not note and name == "precision" and predictor == "always-normal":
            note = NOT_CALLED
        parts = {**given_settings(options), "interval": "none", "predictor": predictor}
        out[name] = Score(
            math.nan if note and note != NOT_CALLED else value, signature_of(name, parts), n, note=note
        )
    return out


def _expected_f1(n: int, positives: int) -> float:
    """Expected F1 of calling each of ``n`` items a mistake with probability ``positives / n``, independently.

    With ``k`` calls, ``k · p`` of them are right on average and the denominator is ``k + positives``; the number
    of calls is binomial.
    """
    if not positives:
        return math.nan
    p = positives / n
    calls = np.arange(n + 1, dtype=np.float64)
    if positives == n:
        return 1.0
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1, dtype=np.float64)))])
    chances = logs[n] - logs - logs[::-1] + calls * math.log(p) + (n - calls) * math.log1p(-p)
    return float((np.exp(chances) * 2 * calls * p / (calls + positives)).sum())
