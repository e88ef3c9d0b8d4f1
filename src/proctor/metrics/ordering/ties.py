"""Orders from scores, and scores that tie.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering.measures import Floats
from proctor.metrics.ordering.order import named, require_order
from proctor.metrics.score import Score, Signature

Step = TypeVar("Step", bound=Hashable)

__all__ = ["kendall_tau_a", "order_by_scores"]


def order_by_scores(
    scores: Mapping[Step, float], presented: Sequence[Step] | None = None, *, where: str = ""
) -> list[Step]:
    """Return the steps by rising score (the score says when a step is done), ties by presented slot.

    Ties must never be broken by original id: ids often count up in the right order, so that a model with equal
    scores everywhere would be marked perfect.

    Args:
        scores: score of each step; smaller is earlier.
        presented: the steps as the model saw them; needed only if two scores tie.
        where: which item this is, for messages.

    Raises:
        MetricInputError: if there are no scores, one is not finite, two tie without ``presented``, or ``presented``
            holds other steps.
    """
    place = f"{where}: " if where else ""
    if not scores:
        raise MetricInputError(f"{place}there are no scores", "give one score a step")
    wrong = [step for step, score in scores.items() if not np.isfinite(score)]
    if wrong:
        raise MetricInputError(f"{place}the scores of {named(wrong)} are not finite")
    if presented is None:
        if len(set(scores.values())) != len(scores):
            raise MetricInputError(
                f"{place}scores tie and it is not known in which order the steps were presented",
                "give 'presented': ties are broken in that order, never by id",
            )
        return sorted(scores, key=lambda step: scores[step])
    require_order(presented, what="presented order", where=where)
    if set(presented) != scores.keys():
        differing = sorted(map(repr, scores.keys() ^ set(presented)))
        raise MetricInputError(
            f"{place}the scores and the presented order differ in {', '.join(differing[:5])}",
            "give one score for each presented step",
        )
    return sorted(presented, key=lambda step: scores[step])


def kendall_tau_a(reference: Sequence[float] | Floats, prediction: Sequence[float] | Floats) -> Score:
    """Tau-a of two weak orders: ``(concordant - discordant) / C(N, 2)``, -1 to 1; a tie on either side counts as half right.

    Unlike tau-b, which corrects for ties, equal scores everywhere give 0, as guessing does. 1.0 by convention for
    one step, like ``kendall_tau``, with which it agrees when nothing ties.

    Args:
        reference: when each step is done; equal for steps that may be exchanged.
        prediction: score of the same steps; smaller is earlier.

    Raises:
        MetricInputError: if the lengths differ, are 0, or a number is not finite.
    """
    right, predicted = np.asarray(reference, dtype=np.float64), np.asarray(prediction, dtype=np.float64)
    if right.ndim != 1 or right.shape != predicted.shape or not right.size:
        raise MetricInputError(
            f"two lists of equal length are needed, got shapes {list(right.shape)} and {list(predicted.shape)}",
            "pass one number a step in both",
        )
    if not (np.isfinite(right).all() and np.isfinite(predicted).all()):
        raise MetricInputError("scores must be finite", "leave the sequence out and count it as failed")
    signature = Signature("kendall_tau_a", {"average": "macro", "interval": "none"})
    if right.size == 1:
        return Score(1.0, signature, 1)
    total = sum(
        float((np.sign(right[i + 1 :] - right[i]) * np.sign(predicted[i + 1 :] - predicted[i])).sum())
        for i in range(right.size - 1)
    )
    return Score(total / (right.size * (right.size - 1) / 2), signature, 1)
