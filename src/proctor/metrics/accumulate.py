"""Any metric over a stream of batches: what arrives is kept and computed once, so that the number is that of all at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np

from proctor.metrics.errors import MetricInputError

__all__ = ["Accumulator"]

T = TypeVar("T")


class Accumulator(Generic[T]):
    """Collects batches for a metric: ``update`` for each, then ``compute``.

    Means of batches are no metric of the whole (an AUC, a correlation, an interval over recordings), so the items are kept; a
    number and its label take 16 bytes.

    Args:
        metric: any function of this package that takes columns of equal length, reference first.
        **options: of the metric that are no columns.

    Raises:
        MetricInputError: if the metric is no function.

    Example:
        >>> from proctor import metrics
        >>> auc = metrics.Accumulator(metrics.roc_auc, resamples=0)
        >>> for labels, scores in [([0, 1], [0.2, 0.9]), ([1, 0], [0.6, 0.7])]:
        ...     auc.update(labels, scores)
        >>> float(auc.compute())
        0.75
    """

    def __init__(self, metric: Callable[..., T], **options: Any) -> None:
        if not callable(metric):
            raise MetricInputError(f"{metric!r:.60} is no metric", "give a function: metrics.roc_auc")
        self._metric = metric
        self._options = options
        self._batches: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self._items = 0

    def update(self, *columns: Sequence[Any], **named: Sequence[Any]) -> None:
        """Take a batch.

        Args:
            *columns: reference, prediction, ...: of equal length, one entry an item (or video).
            **named: further columns, such as ``clusters``.

        Raises:
            MetricInputError: if they are not equally long, or are not those of the batches before; as the metric, if it refuses a
                number of the batch that is not finite. The batch is then not taken.
        """
        lengths = {len(column) for column in (*columns, *named.values())}
        if len(lengths) != 1:
            seen = ", ".join(str(len(column)) for column in (*columns, *named.values())) or "none"
            raise MetricInputError(
                f"the columns of a batch have {seen} items", "give columns of equal length"
            )
        if self._batches and (len(self._batches[0][0]), self._batches[0][1].keys()) != (
            len(columns),
            named.keys(),
        ):
            raise MetricInputError(
                "a batch has other columns than those before", "give all batches the same columns"
            )
        if any(map(_holds_no_number, (*columns, *named.values()))):
            self._metric(
                *columns, **named, **self._options
            )  # it knows whether NaN means missing, or says which row is wrong
        self._batches.append((columns, named))
        self._items += lengths.pop()

    def merge(self, other: Self) -> None:
        """Take the batches of another accumulator, such as another process's."""
        for columns, named in other._batches:
            self.update(*columns, **named)

    def compute(self) -> T:
        """Return the metric over all batches.

        Raises:
            MetricInputError: if there is none, or as the metric.
        """
        if not self._batches:
            raise MetricInputError("no batch has come", "call update() first")
        first, names = self._batches[0]
        columns = [_joined([batch[n] for batch, _ in self._batches]) for n in range(len(first))]
        named = {name: _joined([batch[name] for _, batch in self._batches]) for name in names}
        return self._metric(*columns, **named, **self._options)

    def __len__(self) -> int:
        return self._items

    def __repr__(self) -> str:
        return f"Accumulator({getattr(self._metric, '__name__', 'metric')}: {self._items:,} items)"


def _holds_no_number(value: Any) -> bool:
    """True when a number in a column is NaN or infinite, however deep in lists."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return not bool(np.isfinite(value).all())
    if hasattr(value, "tolist"):  # other arrays, tensors, columns of data frames
        return _holds_no_number(value.tolist())
    if isinstance(value, list | tuple):
        return any(map(_holds_no_number, value))
    return isinstance(value, float) and not math.isfinite(value)


def _joined(parts: Sequence[Sequence[Any]]) -> Sequence[Any]:
    if all(isinstance(part, np.ndarray) for part in parts):
        return cast("Sequence[Any]", np.concatenate(parts))
    return [one for part in parts for one in part]
