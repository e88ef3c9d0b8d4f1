"""Labels and ratings as numbers: what is a label, in which order, and which are missing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.bootstrap import Floats
from proctor.metrics.errors import MetricInputError

__all__ = [
    "Ints",
    "Label",
    "Labels",
    "coded_labels",
    "distinct_labels",
    "flat_ratings",
    "is_missing",
    "rating_counts",
    "sorted_labels",
]


Label = str | float
"""A text, or a number (whole numbers and flags too)."""
Labels = Sequence[Label] | NDArray[Any]
Ints = NDArray[np.int64]


def is_missing(label: object) -> bool:
    """True for None and nan: the annotator gave no label."""
    return label is None or (isinstance(label, float) and math.isnan(label))


def distinct_labels(labels: Iterable[Any]) -> set[Any]:
    """The labels that occur, or an error that names what is no label."""
    try:
        return set(labels)
    except TypeError:
        raise MetricInputError("a label must be a text or a number, got a list or an object") from None


def sorted_labels(seen: set[Any], values: Sequence[Label] | None) -> tuple[Label, ...]:
    """Return the labels in their order: as given, else sorted; numbers that are equal are one label.

    Raises:
        MetricInputError: if texts and numbers are mixed, a number is infinite, an order holds a label twice, or a
            label is not in the order given.
    """
    for label in seen:
        if not isinstance(label, str | int | float | np.number | np.bool_):
            raise MetricInputError(f"a label must be a text or a number, got {label!r}")
        if not isinstance(label, str) and not math.isfinite(label):
            raise MetricInputError(f"a label must be finite, got {label!r}")
    if len({isinstance(label, str) for label in seen}) > 1:
        some = sorted(map(repr, seen))[:4]
        raise MetricInputError(
            f"texts and numbers are mixed among the labels ({', '.join(some)})", "use one kind"
        )
    if values is None:
        return tuple(sorted(seen))
    order = tuple(values)
    if twice := [v for v, n in Counter(order).items() if n > 1]:
        raise MetricInputError(f"the order of the labels holds {twice[0]!r} twice")
    if unknown := sorted(seen - set(order), key=repr):
        raise MetricInputError(
            f"the label {unknown[0]!r} is not in the order given ({', '.join(map(repr, order))})",
            "complete the order or repair the label",
        )
    return order


def _listed(labels: Labels) -> list[Label]:
    if isinstance(labels, str | bytes):
        raise MetricInputError(f"labels are a list, got the text {labels[:60]!r}", "put them into a list")
    if isinstance(labels, np.ndarray):
        listed: list[Label] = labels.tolist()
        return listed
    return list(labels)


def coded_labels(
    a: Labels, b: Labels, values: Sequence[Label] | None = None
) -> tuple[tuple[Label, ...], Ints, Ints]:
    """Return all labels in their order and the place of each given label.

    Raises:
        MetricInputError: if the sequences differ in length or hold something that is no label.
    """
    one, two = _listed(a), _listed(b)
    if len(one) != len(two):
        raise MetricInputError(f"labels must be parallel, got {len(one)} and {len(two)}")
    for row, pair in enumerate(zip(one, two, strict=True)):
        if any(map(is_missing, pair)):
            raise MetricInputError(
                f"a label is missing in row {row} (from 0)", "leave out items that either left out"
            )
    labels = sorted_labels(distinct_labels([*one, *two]), values)
    place: dict[Hashable, int] = {label: i for i, label in enumerate(labels)}
    return (
        labels,
        np.array([place[x] for x in one], dtype=np.int64),
        np.array([place[x] for x in two], dtype=np.int64),
    )


def rating_counts(
    ratings: Sequence[Sequence[Label | None]] | NDArray[Any], values: Sequence[Label] | None = None
) -> tuple[tuple[Label, ...], Ints]:
    """Count how often each label was given to each unit, by any number of annotators.

    Args:
        ratings: one row a unit, one label an annotator; None or nan where there is none, rows may be of different
            lengths. (Other packages want this turned over: one row an annotator.)
        values: the labels in their order; sorted when not given.

    Returns:
        The labels that occur (all of ``values`` when given), and counts of shape (units, labels).

    Raises:
        MetricInputError: if there are not two dimensions, or something is no label.
    """
    labels, unit, code, units = flat_ratings(ratings, values)
    counts = np.bincount(unit * len(labels) + code, minlength=units * len(labels))
    return labels, counts.reshape(units, len(labels)).astype(np.int64)


def flat_ratings(
    ratings: Sequence[Sequence[Label | None]] | NDArray[Any], values: Sequence[Label] | None = None
) -> tuple[tuple[Label, ...], Ints, Ints, int]:
    """Return the labels in their order, and of each rating its unit and the place of its label; then all units."""
    if isinstance(ratings, np.ndarray) and ratings.ndim != 2:
        raise MetricInputError(
            f"ratings must have one row a unit and one column a rater, got shape {ratings.shape}"
        )
    if isinstance(ratings, np.ndarray) and ratings.dtype.kind in "iuf" and values is None:
        return _flat_numbers(ratings.astype(np.float64))
    rows: list[Any] = ratings.tolist() if isinstance(ratings, np.ndarray) else list(ratings)
    for n, row in enumerate(rows):
        if isinstance(row, str) or not isinstance(row, Sequence | np.ndarray):
            raise MetricInputError(f"row {n} (from 0) of the ratings must be a list of labels, got {row!r}")
    given = [(unit, label) for unit, row in enumerate(rows) for label in row if not is_missing(label)]
    labels = sorted_labels(distinct_labels(label for _, label in given), values)
    place: dict[Hashable, int] = {label: i for i, label in enumerate(labels)}
    unit = np.array([unit for unit, _ in given], dtype=np.int64)
    return labels, unit, np.array([place[label] for _, label in given], dtype=np.int64), len(rows)


def _flat_numbers(ratings: Floats) -> tuple[tuple[Label, ...], Ints, Ints, int]:
    if np.isinf(ratings).any():
        row = int(np.flatnonzero(np.isinf(ratings).any(axis=1))[0])
        raise MetricInputError(f"a label must be finite, got an infinite one in row {row} (from 0)")
    present = ~np.isnan(ratings)
    values, code = np.unique(ratings[present], return_inverse=True)
    unit = np.broadcast_to(np.arange(len(ratings))[:, None], ratings.shape)[present]
    return tuple(values.tolist()), unit.astype(np.int64), code.astype(np.int64), len(ratings)
