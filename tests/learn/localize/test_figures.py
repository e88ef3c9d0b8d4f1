"""Labels of rows, compared as the segmentation metrics do."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.learn.localize.dense import BACKGROUND
from proctor.learn.localize.figures import labelled
from proctor.learn.localize.localizer import DenseLocalizer
from proctor.learn.localize.prior import StepPrior


def test_background_is_no_segment_and_shares_are_shares() -> None:
    truth = [np.array(["a", "a", BACKGROUND, "b", "b", "b"]), np.array(["a", "a"])]
    found = [np.array(["a", "a", "a", "b", "b", BACKGROUND]), np.array(["b", "b"])]
    rows = {name: figure.value for name, figure in labelled(truth, found).items()}
    assert rows["MoF"] == 4 / 8
    assert rows["MoF-bg"] == 4 / 7
    assert rows["MoF/video"] == pytest.approx((4 / 6 + 0) / 2)
    assert rows["Edit"] == 0.5  # a, b in the first recording; b for a in the second
    assert rows["F1@50"] == pytest.approx(2 * 2 / 6)


def test_what_labels_no_rows_is_no_dense_localizer() -> None:
    assert not isinstance(StepPrior(), DenseLocalizer)
