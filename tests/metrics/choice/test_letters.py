import pytest

from proctor.metrics.choice.letters import balanced_letter_counts, letter_counts
from proctor.metrics.errors import MetricInputError


def test_letter_counts():
    assert letter_counts(["A", None, "C", "A"], 3) == {"A": 2, "B": 0, "C": 1}
    with pytest.raises(MetricInputError, match="'D' of question 0"):
        letter_counts(["D"], 3)
    with pytest.raises(MetricInputError, match="must not be negative"):
        balanced_letter_counts(-1, 3)
