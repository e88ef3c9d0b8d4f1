import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.metrics.errors import MetricInputError
from proctor.metrics.temporal import require_times, temporal_ious

times = st.floats(-1e4, 1e4, allow_nan=False).map(lambda x: round(x, 3))


@pytest.mark.parametrize(
    ("a", "b", "iou"),
    [
        ((0, 10), (0, 10), 1),
        ((0, 10), (5, 15), 1 / 3),
        ((0, 1), (1, 2), 0),
        ((3, 3), (3, 3), 0),
        ((5, 1), (0, 9), 0),
    ],
)
def test_known_overlaps(a, b, iou):
    assert temporal_ious(*a, *b) == pytest.approx(iou)


@given(times, times, times, times, times)
def test_symmetric_bounded_and_free_of_shifts(a, b, c, d, shift):
    value = float(temporal_ious(a, b, c, d))
    assert 0 <= value <= 1
    assert value == pytest.approx(float(temporal_ious(c, d, a, b)))
    if min(abs(b - a), abs(d - c)) > 1e-2:
        assert value == pytest.approx(
            float(temporal_ious(a + shift, b + shift, c + shift, d + shift)), abs=1e-6
        )


def test_broadcasts():
    assert temporal_ious([[0.0], [5.0]], [[10.0], [15.0]], [0.0, 5.0], [10.0, 15.0]) == pytest.approx(
        np.array([[1, 1 / 3], [1 / 3, 1]])
    )


def test_times_must_be_finite_parallel_and_in_order():
    require_times(np.array([0.0]), np.array([0.0]), "gt")
    with pytest.raises(
        MetricInputError, match="gt: the segment of row 1 ends at 1 s, before its start at 2 s"
    ):
        require_times(np.array([0.0, 2.0]), np.array([1.0, 1.0]), "gt")
    with pytest.raises(MetricInputError, match="gt: the times of row 1 are not finite"):
        require_times(np.array([0.0, np.nan]), np.array([1.0, 2.0]), "gt")
    with pytest.raises(MetricInputError, match="parallel"):
        require_times(np.array([0.0]), np.array([]), "gt")


def test_times_near_the_end_of_the_range_of_floats_do_not_overflow():
    huge = 1.7e308
    assert temporal_ious([-huge], [huge], [-huge], [huge]).tolist() == [1.0]
    assert temporal_ious([0.0], [huge], [-huge], [huge]) == pytest.approx([0.5])
    assert temporal_ious([0.0], [1.0], [0.0], [huge]) == pytest.approx([0.0])
