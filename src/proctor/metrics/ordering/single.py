"""The published measures of predicted orders: one sequence as a ``Score``, or many of different lengths as arrays.

Conventions: the reference comes first. Step ids may be anything hashable. A prediction must hold the reference's
steps, each once (``repair_order`` makes it so for the output of language models). Macro means weigh every sequence
alike; that is what the field prints, accuracy and perfect match in per cent.

Source: Wu et al. 2022.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering.measures import Floats, Integers, OrderMeasures, join_measures
from proctor.metrics.ordering.order import require_reordering
from proctor.metrics.ordering.permutation import measure_arrays, measure_ranks
from proctor.metrics.score import Score, Signature

__all__ = [
    "displacement",
    "kendall_tau",
    "longest_common_subsequence",
    "longest_common_substring",
    "measure_order",
    "measure_orders",
    "micro_position_accuracy",
    "normalised_displacement",
    "normalised_subsequence",
    "normalised_substring",
    "perfect_match_ratio",
    "position_accuracy",
]

Order = Sequence[Hashable]
_TEXTS: Final = (str, bytes)


def measure_order(reference: Order, prediction: Order) -> OrderMeasures:
    """Measure one predicted order: an ``OrderMeasures`` of length 1.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    require_reordering(reference, prediction)
    places = {step: place for place, step in enumerate(reference)}
    return measure_ranks([[places[step] for step in prediction]])


def measure_orders(
    references: Sequence[Order] | NDArray[Any],
    predictions: Sequence[Order] | NDArray[Any],
    *,
    names: Sequence[str] | None = None,
) -> OrderMeasures:
    """Measure many predicted orders, each against its reference; lengths may differ.

    Two integer arrays of one shape go straight to ``measure_arrays``; sequences of one length are measured together.

    Args:
        references: the steps of each sequence in their right order.
        predictions: the same steps in predicted order.
        names: what messages call each sequence (``item 'a'``); its position when not given.

    Returns:
        The six measures of each sequence, in the order given; empty for no sequences.

    Raises:
        MetricInputError: if the numbers of sequences differ or a prediction is not a reordering of its reference;
            the message names the sequence and what is missing, unknown or repeated.
    """
    if isinstance(references, np.ndarray) and isinstance(predictions, np.ndarray):
        return measure_arrays(references, predictions)
    if len(references) != len(predictions):
        raise MetricInputError(
            f"{len(references)} references and {len(predictions)} predictions",
            "pass one prediction a reference",
        )
    by_length: dict[int, tuple[list[int], list[list[int]]]] = {}
    for row, (reference, prediction) in enumerate(zip(references, predictions, strict=True)):
        ranks = _ranks(reference, prediction, row, names)
        rows, matrix = by_length.setdefault(len(ranks), ([], []))
        rows.append(row)
        matrix.append(ranks)
    if not by_length:
        return join_measures([])
    order = np.concatenate([np.array(rows) for rows, _ in by_length.values()])
    joined = join_measures([measure_ranks(matrix) for _, matrix in by_length.values()])
    return joined.take(np.argsort(order))


def _ranks(reference: Order, prediction: Order, row: int, names: Sequence[str] | None) -> list[int]:
    """Places in the reference; a fast look-up first, the full explanation only when it fails."""
    try:
        places = {step: place for place, step in enumerate(reference)}
        ranks = [places[step] for step in prediction]
        whole = 0 < len(ranks) == len(reference) == len(set(ranks))
        # One and the same NaN object is found in a dictionary, and is no id all the same.
        if (
            whole
            and float not in map(type, reference)
            and not isinstance(reference, _TEXTS)
            and not isinstance(prediction, _TEXTS)
        ):
            return ranks
    except (KeyError, TypeError):
        pass
    where = names[row] if names is not None else f"sequence {row}"
    require_reordering(reference, prediction, where=where)
    places = {step: place for place, step in enumerate(reference)}
    return [places[step] for step in prediction]


def position_accuracy(reference: Order, prediction: Order) -> Score:
    """Acc: share of positions that hold the right step, 0 to 1.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("position_accuracy", measure_order(reference, prediction).position_accuracy)


def perfect_match_ratio(reference: Order, prediction: Order) -> Score:
    """PMR: 1 if the two orders are identical, else 0; its mean over sequences is the published ratio.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("perfect_match_ratio", measure_order(reference, prediction).perfect_match)


def longest_common_subsequence(reference: Order, prediction: Order) -> Score:
    """Lq: length of the longest list of steps that both orders hold in this order, gaps allowed; 1 to N.

    A raw length: it grows with N (``normalised_subsequence`` does not). The released evaluator computes it by a
    recursion that visits exponentially many states; the value is the same.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score(
        "longest_common_subsequence", measure_order(reference, prediction).longest_common_subsequence
    )


def longest_common_substring(reference: Order, prediction: Order) -> Score:
    """Lr: length of the longest list of steps that both orders hold without a gap; 1 to N.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("longest_common_substring", measure_order(reference, prediction).longest_common_substring)


def kendall_tau(reference: Order, prediction: Order) -> Score:
    """Tau: ``1 - 2 · inversions / C(N, 2)``, -1 (reversed) to 1 (identical); 1.0 by convention for one step.

    Orders have no ties; ``kendall_tau_a`` takes scores that may tie.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("kendall_tau", measure_order(reference, prediction).kendall_tau)


def displacement(reference: Order, prediction: Order) -> Score:
    """Dist: the *sum* over the steps of ``|place predicted - right place|``, 0 to floor(N² / 2); lower is better.

    Erratum: the paper's prose describes an average per step, but its numbers are sums per sequence. A random order
    of five steps has 8.0 = (N² - 1) / 3, and the paper's near-chance model is printed with 7.87; the released
    evaluator sums as well. When a predicted step is missing, that evaluator overwrites the running sum with the
    largest distance; here such a prediction is refused, or repaired first.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("displacement", measure_order(reference, prediction).displacement)


def normalised_subsequence(reference: Order, prediction: Order) -> Score:
    """Lq / N, so that sequences of different lengths can be compared; 1/N to 1.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("normalised_subsequence", measure_order(reference, prediction).normalised_subsequence)


def normalised_substring(reference: Order, prediction: Order) -> Score:
    """Lr / N; 1/N to 1.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("normalised_substring", measure_order(reference, prediction).normalised_substring)


def normalised_displacement(reference: Order, prediction: Order) -> Score:
    """Dist / floor(N² / 2), 0 (right) to 1 (reversed, or any exchange of the two halves); 0.0 for one step.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("normalised_displacement", measure_order(reference, prediction).normalised_displacement)


def micro_position_accuracy(references: Sequence[Order], predictions: Sequence[Order]) -> Score:
    """Right positions over all positions of all sequences, 0 to 1: long sequences count more than in the macro mean.

    Raises:
        MetricInputError: if there are no sequences or a prediction is not a reordering of its reference.
    """
    measures = measure_orders(references, predictions)
    signature = Signature("micro_position_accuracy", {"average": "micro", "interval": "none"})
    return Score(measures.micro_position_accuracy(), signature, len(measures))


def _score(name: str, values: Floats | Integers) -> Score:
    """The measure of one order, under the signature of a mean over orders without an interval."""
    return Score(float(values[0]), Signature(name, {"average": "macro", "interval": "none"}), len(values))
