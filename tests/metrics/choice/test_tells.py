import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.metrics.choice.letters import LETTERS
from proctor.metrics.choice.marks import longest_option_credit, option_tells
from proctor.metrics.errors import MetricInputError


def test_longest_option():
    assert longest_option_credit(["a", "bbb", "cc"], "B") == 1.0
    assert longest_option_credit(["a", "bbb", "cc"], "A") == 0.0
    assert longest_option_credit(["aaa", "bbb ", "c"], "A") == 0.5
    with pytest.raises(MetricInputError, match="gold letter 'D'"):
        longest_option_credit(["a", "b"], "D")


def test_tells_golden_and_empty():
    tells = option_tells([["one two three", "one"], ["a b", "c d"]], ["A", "B"])
    assert tells.longest_right == 0.75
    assert tells.chance == 0.5
    assert (tells.words_right, tells.words_wrong) == (2.5, 1.5)
    assert (tells.characters_right, tells.characters_wrong) == (8.0, 3.0)
    assert tells.credits == (1.0, 0.5)
    assert math.isnan(option_tells([], []).longest_right)
    with pytest.raises(MetricInputError, match="1 questions for 2"):
        option_tells([["a", "b"]], ["A", "B"])


@given(st.lists(st.text("ab", max_size=4), min_size=2, max_size=6))
def test_credits_of_all_letters_sum_to_one(options):
    assert math.fsum(
        longest_option_credit(options, LETTERS[i]) for i in range(len(options))
    ) == pytest.approx(1)
