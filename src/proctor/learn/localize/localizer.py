"""What every localizer of steps is given and gives: the same for a prior, a network and a segmenter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from proctor.learn.localize.data import LocalizeData
from proctor.learn.recogniser import ProtocolName
from proctor.metrics.localization import Segments

__all__ = ["DenseLocalizer", "LocalizeTask", "Localizer"]


@dataclass(frozen=True)
class LocalizeTask:
    """What is to be localized, and what may be learned from.

    Attributes:
        data: all recordings.
        train: ids of the recordings that are trained on; none of these is in ``val`` or ``test``.
        val: ids that may choose (empty where a protocol trains on these, too).
        test: ids that are predicted.
        seed: of everything that draws.
        protocol: what the paper says, what its released code does, or what is right.
    """

    data: LocalizeData
    train: tuple[str, ...]
    val: tuple[str, ...]
    test: tuple[str, ...]
    seed: int = 0
    protocol: ProtocolName = "right"


class Localizer(Protocol):
    """Learns from ``train``, chooses on ``val``, and never looks at the steps of ``test``."""

    name: str

    def fit(self, task: LocalizeTask) -> Mapping[str, object]:
        """Learn; returns what was chosen, for the run's record.

        Raises:
            UserError: if no recording that is trained on has a timed step.
        """
        ...

    def predict(self, ids: Sequence[str]) -> Segments:
        """Return scored segments of these recordings of the fitted task; labels are step ids."""
        ...


@runtime_checkable
class DenseLocalizer(Localizer, Protocol):
    """A localizer that labels every row of the features."""

    def dense(self, ids: Sequence[str]) -> tuple[list[NDArray[np.str_]], list[NDArray[np.str_]]]:
        """Return true and found labels of every row of these recordings, as ``metrics.segmentation`` compares them."""
        ...
