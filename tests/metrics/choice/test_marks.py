import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.metrics.choice.marks import (
    chance_accuracy,
    choice_counts,
    letter_confusion,
    recall_by_letter,
    recall_spread,
)
from proctor.metrics.errors import MetricInputError


def test_accuracy_perfect_wrong_and_unparsed():
    assert choice_counts(["A", "B"], ["A", "B"]).accuracy == 1.0
    counts = choice_counts(["A", "B", "C", "D"], ["A", "C", None, "D"])
    assert (counts.right, counts.wrong, counts.unparsed, counts.n) == (2, 1, 1, 4)
    assert counts.accuracy == 0.5
    assert counts.accuracy_of_parsed == 2 / 3
    assert counts.marks == (1.0, 0.0, 0.0, 1.0)


def test_accuracy_empty_and_all_unparsed():
    assert math.isnan(choice_counts([], []).accuracy)
    counts = choice_counts(["A"], [None])
    assert counts.accuracy == 0.0
    assert math.isnan(counts.accuracy_of_parsed)


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [(["A"], []), (["AB"], ["A"]), ([None], ["A"]), (["A"], ["a"]), ([""], [None]), (["1"], ["A"])],
)
def test_accuracy_invalid(gold, predicted):
    with pytest.raises(MetricInputError):
        choice_counts(gold, predicted)


def test_chance():
    assert chance_accuracy([5, 5]) == pytest.approx(0.2)
    assert chance_accuracy([2, 4]) == 0.375
    assert math.isnan(chance_accuracy([]))
    with pytest.raises(MetricInputError, match="2 to 26"):
        chance_accuracy([1])


def test_selection_bias_golden():
    """Who always says A has recalls 1, 0, 0, 0: the largest spread of four letters."""
    gold = ["A", "B", "C", "D"] * 3
    recalls = recall_by_letter(gold, ["A"] * 12, 4)
    assert recalls == {"A": 1.0, "B": 0.0, "C": 0.0, "D": 0.0}
    assert float(recall_spread(list(recalls.values()))) == pytest.approx(math.sqrt(3) / 4)
    assert float(recall_spread(list(recall_by_letter(gold, gold, 4).values()))) == 0.0
    assert recall_by_letter(["A"], [None], 2) == {"A": 0.0, "B": None}
    undefined = recall_spread([0.5, None])
    assert math.isnan(undefined.value)
    assert undefined.note == "fewer than two letters have a recall"
    with pytest.raises(MetricInputError, match="between 0 and 1, got nan"):
        recall_spread([math.nan, 0.5])


@given(st.lists(st.floats(0, 1), min_size=2, max_size=9))
def test_recall_spread_is_numpy_s_population_deviation(recalls):
    spread = float(recall_spread(recalls))
    assert 0 <= spread <= 0.5 + 1e-12
    assert spread == pytest.approx(np.std(recalls), abs=1e-9)


def test_confusion():
    matrix = letter_confusion(["A", "A", "B"], ["A", None, "A"], 2)
    assert matrix.rows == ("A", "B")
    assert matrix.columns == ("A", "B", "unparsed")
    assert matrix.cells == ((1.0, 0.0, 1.0), (1.0, 0.0, 0.0))
    with pytest.raises(MetricInputError):
        letter_confusion(["A"], ["C"], 2)


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from(["A", "B", "C", None])), max_size=30))
def test_confusion_sums_to_the_questions(pairs):
    gold, predicted = [g for g, _ in pairs], [p for _, p in pairs]
    cells = letter_confusion(gold, predicted, 3).cells
    assert sum(map(sum, cells)) == len(pairs)
    assert sum(cells[i][i] for i in range(3)) == choice_counts(gold, predicted).right
