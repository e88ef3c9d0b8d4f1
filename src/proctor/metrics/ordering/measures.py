"""What is measured about each predicted order: six numbers a sequence, kept so that everything else is a mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.errors import MetricInputError

__all__ = ["MEASURES", "OrderMeasures", "join_measures"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MEASURES: Final = (
    "position_accuracy",
    "perfect_match_ratio",
    "longest_common_subsequence",
    "longest_common_substring",
    "kendall_tau",
    "displacement",
)
"""Columns of ``OrderMeasures.values``, as the field lists them: Acc, PMR, Lq, Lr, tau, Dist."""


@dataclass(frozen=True, slots=True)
class OrderMeasures:
    """The six published numbers of each of M sequences.

    Attributes:
        values: shape [M, 6], columns as in ``MEASURES``. Accuracy and perfect match are fractions (0 to 1), the two
            common lengths are raw (1 to N), tau is -1 to 1, displacement is the *sum* over the steps.
        lengths: shape [M], the number N of steps of each sequence.
    """

    values: Floats
    lengths: Integers

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def position_accuracy(self) -> Floats:
        """Share of positions that hold the right step, of each sequence."""
        return self.column("position_accuracy")

    @property
    def perfect_match(self) -> Floats:
        """1 where the whole order is right, else 0."""
        return self.column("perfect_match_ratio")

    @property
    def longest_common_subsequence(self) -> Floats:
        """Lq, a raw length."""
        return self.column("longest_common_subsequence")

    @property
    def longest_common_substring(self) -> Floats:
        """Lr, a raw length."""
        return self.column("longest_common_substring")

    @property
    def kendall_tau(self) -> Floats:
        """One minus twice the share of inverted pairs; 1.0 for a single step."""
        return self.column("kendall_tau")

    @property
    def displacement(self) -> Floats:
        """Dist: the sum over the steps of how far each is from its place."""
        return self.column("displacement")

    @property
    def normalised_subsequence(self) -> Floats:
        """Lq / N."""
        return self.longest_common_subsequence / self.lengths

    @property
    def normalised_substring(self) -> Floats:
        """Lr / N."""
        return self.longest_common_substring / self.lengths

    @property
    def normalised_displacement(self) -> Floats:
        """Dist / floor(N² / 2), its largest value; 0.0 for a single step, which cannot be displaced."""
        return self.displacement / np.maximum(self.lengths**2 // 2, 1)

    @property
    def correct_positions(self) -> Floats:
        """How many steps are at their place: what the pooled (micro) accuracy counts."""
        return np.rint(self.position_accuracy * self.lengths)

    def column(self, name: str) -> Floats:
        """Return one of the six by its name in ``MEASURES``."""
        result: Floats = self.values[:, MEASURES.index(name)]
        return result

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> OrderMeasures:
        """Return the measures of some sequences."""
        return OrderMeasures(self.values[rows], self.lengths[rows])

    def means(self) -> dict[str, float]:
        """Return the macro mean of each measure: every sequence counts alike, however long it is.

        Raises:
            MetricInputError: if there are no sequences.
        """
        self._require_some()
        return dict(zip(MEASURES, self.values.mean(axis=0).tolist(), strict=True))

    def micro_position_accuracy(self) -> float:
        """Return right positions over all positions of all sequences: long sequences count more.

        Raises:
            MetricInputError: if there are no sequences.
        """
        self._require_some()
        return float(self.correct_positions.sum() / self.lengths.sum())

    def _require_some(self) -> None:
        if not len(self):
            raise MetricInputError("there are no sequences, so there is no mean", "pass at least one")


def join_measures(parts: list[OrderMeasures]) -> OrderMeasures:
    """Return the measures of several batches one after another."""
    if not parts:
        return OrderMeasures(np.zeros((0, len(MEASURES))), np.zeros(0, dtype=np.int64))
    return OrderMeasures(
        np.concatenate([part.values for part in parts]), np.concatenate([part.lengths for part in parts])
    )
