import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from proctor.metrics.errors import MetricInputError
from proctor.metrics.hypothesis_tests import benjamini_hochberg, holm

P_VALUES = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=8)


def test_holm_and_benjamini_hochberg_golden():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.02, 0.04, 0.04, 0.02))


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
def test_corrections_of_nothing_one_and_what_is_no_probability(correct):
    assert correct([]) == ()
    assert correct([0.3]) == (0.3,)
    assert correct([0.01, None]) == (0.01, None)
    for wrong in (1.5, -0.1, math.nan):
        with pytest.raises(MetricInputError, match="p-value"):
            correct([wrong])


@settings(max_examples=20)  # statsmodels collects garbage in every call
@given(P_VALUES)
def test_corrections_equal_statsmodels_and_keep_the_order(p_values):
    present = [p for p in p_values if p is not None]
    for correct, method in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        ours = correct(p_values)
        if present:
            theirs = multipletests(present, method=method)[1]
            assert [p for p in ours if p is not None] == pytest.approx(theirs.tolist(), abs=1e-12)
        assert [p is None for p in ours] == [p is None for p in p_values]
        for p, c in zip(p_values, ours, strict=True):
            assert p is None or p <= c + 1e-15 <= min(1.0, p * len(present)) + 2e-12
    assert all(
        b is None or b <= h + 1e-12 for b, h in zip(benjamini_hochberg(p_values), holm(p_values), strict=True)
    )
