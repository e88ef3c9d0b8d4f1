import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from proctor.metrics.separation import area_under_roc


def test_perfect_reversed_and_golden():
    assert area_under_roc([2, 3], [0, 1]) == 1.0
    assert area_under_roc([0, 1], [2, 3]) == 0.0
    assert area_under_roc([1, 2], [1, 1]) == 0.75


@pytest.mark.parametrize(("a", "b"), [([], [1]), ([1], []), ([float("nan")], [1])])
def test_invalid(a, b):
    with pytest.raises(ValueError, match=r"members|nan"):
        area_under_roc(a, b)


numbers = st.lists(st.integers(0, 5), min_size=1, max_size=30)


@given(numbers, numbers)
def test_equals_mann_whitney(a, b):
    u = stats.mannwhitneyu(a, b).statistic if len(set(a + b)) > 1 else len(a) * len(b) / 2
    assert area_under_roc(a, b) == pytest.approx(u / (len(a) * len(b)))
    assert area_under_roc(a, b) == pytest.approx(1 - area_under_roc(b, a))
    assert np.isfinite(area_under_roc(a, b))
