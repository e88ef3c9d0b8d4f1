"""From sub-steps to steps: what a model says about every second of a step, as one score for the step.

Conventions (Peddi et al. 2024): a sample is one step of one recording, whatever the number of times it was
executed. Its score is the ``mean`` of the probabilities of all its sub-steps (as the released code does; it
keeps a ranking, so it has an AUC), or the ``vote``: the fraction of sub-steps with a probability above 0.5 (as
the paper says; half and half is "normal"). An execution is a mistake if the mean of its sub-step labels is above
0.95, and the step is one if any of its executions is.

Erratum: the released loader gives a repeated step the label of its *last* execution (13 steps of the data set
have executions of both kinds); ``repeated="last"`` does the same for comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.separation import binary_labels, finite_scores

__all__ = [
    "AGGREGATIONS",
    "TARGET_SHARE",
    "Aggregation",
    "Repeated",
    "Steps",
    "aggregate_scores",
    "group_steps",
]

Aggregation = Literal["mean", "vote"]
Repeated = Literal["or", "last"]
AGGREGATIONS: Final[tuple[Aggregation, ...]] = get_args(Aggregation)
TARGET_SHARE: Final = 0.95
"""A step is a mistake if more than this share of its sub-step labels is (the released code)."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Which rows belong to which step.

    Attributes:
        index: position of the step of each row, shape (rows,); steps are sorted by recording, then step.
        recordings: of each step.
        names: of each step.
        reference: whether the step is a mistake, shape (steps,).
        repeated: steps that were executed more than once.
        mixed: repeated steps of which some executions are mistakes and others are not.
    """

    index: NDArray[np.int64]
    recordings: tuple[str, ...]
    names: tuple[str, ...]
    reference: NDArray[np.bool_]
    repeated: int
    mixed: int


def group_steps(
    reference: ArrayLike,
    recordings: Sequence[str],
    steps: Sequence[str],
    segments: Sequence[str] | None = None,
    *,
    repeated: Repeated = "or",
) -> Steps:
    """Group rows into steps and derive the label of each step.

    Args:
        reference: label of each row, 1 or True for a mistake; shape (rows,).
        recordings: of each row.
        steps: of each row; a step is known by recording and step together.
        segments: which execution of its step a row belongs to; executions are taken in the order in which they
            first occur. When not given, all rows of a step are sub-steps of one execution.
        repeated: ``or`` (a mistake in any execution) or ``last`` (label of the last execution, as released).

    Raises:
        MetricInputError: if lengths differ or an option is unknown.
    """
    labels = binary_labels(reference)
    parts = [recordings, steps] if segments is None else [recordings, steps, segments]
    if any(len(part) != labels.size for part in parts):
        raise MetricInputError(f"{labels.size} labels for {' and '.join(str(len(p)) for p in parts)} names")
    if repeated not in get_args(Repeated):
        raise MetricInputError(f"repeated must be 'or' or 'last', got {repeated!r}")
    executions: dict[tuple[str, ...], int] = {}
    of_row = np.array(
        [executions.setdefault(key, len(executions)) for key in zip(*parts, strict=True)], dtype=int
    )
    count = len(executions)
    sizes = np.bincount(of_row, minlength=count)
    target = np.bincount(of_row, weights=labels, minlength=count) > TARGET_SHARE * sizes

    keys = sorted({(key[0], key[1]) for key in executions})
    position = {key: k for k, key in enumerate(keys)}
    of_execution = np.array([position[key[0], key[1]] for key in executions], dtype=np.int64)
    wrong = np.bincount(of_execution, weights=target, minlength=len(keys))
    times = np.bincount(of_execution, minlength=len(keys))
    step_label = wrong > 0
    if repeated == "last":
        step_label[of_execution] = target  # in order of occurrence: the last one stays
    return Steps(
        of_execution[of_row] if count else np.zeros(0, dtype=np.int64),
        tuple(key[0] for key in keys),
        tuple(key[1] for key in keys),
        step_label,
        int((times > 1).sum()),
        int(((wrong > 0) & (wrong < times)).sum()),
    )


def aggregate_scores(
    probabilities: ArrayLike, index: ArrayLike, steps: int, *, method: Aggregation = "mean"
) -> NDArray[np.float64]:
    """Return one score a step from the scores of its sub-steps.

    Args:
        probabilities: of each sub-step being part of a mistake; for ``vote`` between 0 and 1. Shape (rows,).
        index: position of the step of each sub-step, shape (rows,).
        steps: how many steps there are.
        method: ``mean``, or ``vote`` (fraction of sub-steps above 0.5).

    Returns:
        Shape (steps,); ``nan`` for a step without a sub-step.

    Raises:
        MetricInputError: if an option is unknown or a value out of range.
    """
    values, places = finite_scores(probabilities, "probabilities"), np.asarray(index, dtype=np.int64)
    if values.shape != places.shape:
        raise MetricInputError(f"{values.size} probabilities for {places.size} sub-steps")
    if places.size and not 0 <= int(places.min()) <= int(places.max()) < steps:
        raise MetricInputError(f"positions of steps must lie between 0 and {steps - 1}")
    if method not in AGGREGATIONS:
        raise MetricInputError(f"method must be 'mean' or 'vote', got {method!r}")
    if method == "vote":
        outside = np.flatnonzero((values < 0) | (values > 1))
        if outside.size:
            raise MetricInputError(
                f"a vote needs probabilities between 0 and 1, got {values[outside[0]]:g} at position {outside[0]}",
                "apply the sigmoid to logits first",
            )
        values = (values > 0.5).astype(np.float64)
    # sorted within a step, so that the sum does not depend on the order of the rows
    order = np.lexsort((values, places))
    sizes = np.bincount(places, minlength=steps)
    sums = np.bincount(places[order], weights=values[order], minlength=steps)
    result: NDArray[np.float64] = np.divide(sums, sizes, out=np.full(steps, np.nan), where=sizes > 0)
    return result
