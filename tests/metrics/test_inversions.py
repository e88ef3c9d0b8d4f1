from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from proctor.metrics.ordering.orders import count_inversions


def test_by_hand():
    assert count_inversions([]) == 0
    assert count_inversions([0, 1, 2]) == 0
    assert count_inversions([2, 1, 0]) == 3
    assert count_inversions([1, 1, 0]) == 2


@given(st.lists(st.integers(0, 9), max_size=20))
def test_each_pair_is_looked_at(places):
    assert count_inversions(iter(places)) == sum(a > b for a, b in combinations(places, 2))
