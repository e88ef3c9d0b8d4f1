import math
import tracemalloc

import numpy as np
import pytest

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering import (
    displacement,
    kendall_tau,
    longest_common_subsequence,
    longest_common_substring,
    measure_arrays,
    measure_order,
    measure_orders,
    micro_position_accuracy,
    normalised_displacement,
    normalised_subsequence,
    normalised_substring,
    order_to_ranks,
    perfect_match_ratio,
    position_accuracy,
    ranks_to_order,
    require_order,
    require_reordering,
    score_orders,
    shuffle_targets,
)

ALL = (
    position_accuracy,
    perfect_match_ratio,
    longest_common_subsequence,
    longest_common_substring,
    kendall_tau,
    displacement,
    normalised_subsequence,
    normalised_substring,
    normalised_displacement,
)
THIRD = 1 / 3

# The table of worked examples (Wu et al. 2022): prediction, reference, Acc PMR Lq Lr tau Dist.
WORKED = [
    ("01234", "01234", (1, 1, 5, 5, 1, 0)),
    ("10234", "01234", (0.6, 0, 4, 3, 0.8, 2)),
    ("41230", "01234", (0.6, 0, 3, 3, -0.4, 8)),
    ("12340", "01234", (0, 0, 4, 4, 0.2, 8)),
    ("43210", "01234", (0.2, 0, 1, 1, -1, 12)),
    ("10243", "01234", (0.2, 0, 3, 1, 0.6, 4)),
    ("23401", "01234", (0, 0, 3, 3, -0.2, 12)),
    ("20413", "01234", (0, 0, 3, 1, 0.2, 8)),
    ("31042", "30142", (0.6, 0, 4, 2, 0.8, 2)),
    ("02134576", "01234567", (0.5, 0, 6, 3, 6 / 7, 4)),
    ("7", "7", (1, 1, 1, 1, 1, 0)),
]


@pytest.mark.parametrize(("prediction", "reference", "wanted"), WORKED)
def test_worked_examples(prediction, reference, wanted):
    found = [float(metric(list(reference), list(prediction))) for metric in ALL[:6]]
    assert found == pytest.approx(list(wanted), abs=1e-12)


def test_ids_may_be_anything_that_can_be_looked_up():
    values = [float(metric(["cut", "mix", "bake"], ("mix", "bake", "cut"))) for metric in ALL]
    assert values == pytest.approx([0, 0, 2, 2, -THIRD, 4, 2 / 3, 2 / 3, 1])
    assert float(position_accuracy([("a", 1), None, 2.5], [None, ("a", 1), 2.5])) == pytest.approx(THIRD)


def test_one_order_has_the_signature_of_a_mean_of_one():
    means = score_orders(measure_order([0, 1], [1, 0]), resamples=0)
    assert displacement([0, 1], [1, 0]) == means["displacement"]
    assert kendall_tau([0, 1], [1, 0]) == means["kendall_tau"]
    assert micro_position_accuracy([[0, 1]], [[1, 0]]) == means["micro_position_accuracy"]


@pytest.mark.parametrize("metric", ALL)
def test_perfect(metric):
    best = {
        longest_common_subsequence: 4,
        longest_common_substring: 4,
        displacement: 0,
        normalised_displacement: 0,
    }
    assert float(metric(list("dbca"), list("dbca"))) == best.get(metric, 1)


@pytest.mark.parametrize("metric", ALL)
def test_a_single_step(metric):
    lower = metric in (displacement, normalised_displacement)
    assert float(metric(["x"], ["x"])) == (0 if lower else 1)


@pytest.mark.parametrize("metric", ALL)
def test_empty(metric):
    with pytest.raises(MetricInputError, match="no steps"):
        metric([], [])


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize(
    ("reference", "prediction", "message"),
    [
        ([0, 1, 2], [0, 1], "lacks 2"),
        ([0, 1], [0, 1, 2], "has the unknown 2"),
        ([0, 1, 2], [0, 1, 1], "lacks 2 and repeats 1"),
        ([0, 1, 2], [], "lacks 0, 1, 2"),
        (list(range(20)), [], "lacks 0, 1, 2, 3, 4 and 15 more"),
        ([0, 0, 1], [0, 0, 1], "reference repeats 0"),
        ([0, 1], [0, [1]], "cannot be an id"),
        ([[0], [1]], [0, 1], "cannot be an id"),
        (["a", "b"], "ab", "is a text"),
        ("ab", ["a", "b"], "is a text"),
        ([0, math.nan], [0, math.nan], "NaN"),
    ],
)
def test_invalid(metric, reference, prediction, message):
    with pytest.raises(MetricInputError, match=message):
        metric(reference, prediction)
    with pytest.raises(MetricInputError, match=message):
        measure_orders([reference], [prediction])


def test_the_message_names_the_item_and_what_to_do():
    with pytest.raises(MetricInputError) as caught:
        measure_orders([[1, 2], [1, 2]], [[1, 2], [1, 3]], names=["item 'a'", "item 'b'"])
    assert caught.value.message == "item 'b': the prediction lacks 2 and has the unknown 3"
    assert "repair" in caught.value.hint
    with pytest.raises(MetricInputError, match=r"^sequence 1: "):
        measure_orders([[1, 2], [1, 2]], [[1, 2], [1, 3]])


def test_lists_of_different_lengths_keep_their_order():
    rng = np.random.default_rng(0)
    references = [rng.permutation(n).tolist() for n in rng.integers(1, 15, 200)]
    predictions = [rng.permutation(r).tolist() for r in references]
    together = measure_orders(references, predictions)
    for i, (reference, prediction) in enumerate(zip(references, predictions, strict=True)):
        assert np.array_equal(together.values[i], measure_order(reference, prediction).values[0])
    assert together.lengths.tolist() == [len(r) for r in references]
    order = rng.permutation(200)
    again = measure_orders([references[i] for i in order], [predictions[i] for i in order])
    assert np.array_equal(again.values, together.values[order])


def test_arrays_go_to_the_fast_engine():
    references, predictions = np.array([[0, 1, 2]] * 3), np.array([[0, 2, 1]] * 3)
    assert np.array_equal(
        measure_orders(references, predictions).values, measure_arrays(references, predictions).values
    )


def test_macro_and_micro():
    references = [range(5), range(5), range(3), range(4)]
    predictions = [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [1, 0, 2], [3, 1, 2, 0]]
    means = measure_orders(references, predictions).means()
    assert means["position_accuracy"] == pytest.approx((1 + 0.6 + THIRD + 0.5) / 4)
    assert means["perfect_match_ratio"] == 0.25
    assert means["kendall_tau"] == pytest.approx(0.36666666666)
    assert float(micro_position_accuracy(references, predictions)) == pytest.approx(11 / 17)


def test_micro_of_nothing():
    with pytest.raises(MetricInputError, match="no sequences"):
        float(micro_position_accuracy([], []))
    assert len(measure_orders([], [])) == 0


def test_unequal_numbers_of_sequences():
    with pytest.raises(MetricInputError, match="2 references and 1 predictions"):
        measure_orders([[0], [0]], [[0]])


def test_normalised_forms():
    reference, prediction = list(range(6)), [5, 4, 3, 2, 1, 0]
    assert float(normalised_subsequence(reference, prediction)) == pytest.approx(1 / 6)
    assert float(normalised_substring(reference, prediction)) == pytest.approx(1 / 6)
    assert float(normalised_displacement(reference, prediction)) == 1.0
    assert float(normalised_displacement(reference, [3, 4, 5, 0, 1, 2])) == 1.0


def test_a_long_sequence_needs_no_large_table():
    order = np.random.default_rng(0).permutation(20_000).tolist()
    tracemalloc.start()
    measured = measure_order(range(20_000), order)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000
    assert 200 < measured.longest_common_subsequence[0] < 2 * math.sqrt(20_000) + 1
    assert abs(measured.kendall_tau[0]) < 0.05


def test_orders_and_ranks():
    assert order_to_ranks([1, 2, 0]) == [2, 0, 1]
    assert ranks_to_order([2, 0, 1]) == [1, 2, 0]
    for wrong in ([], [1, 2], [0, 0], [0, 2], [-1, 0]):
        with pytest.raises(MetricInputError, match="not a permutation"):
            order_to_ranks(wrong)
        with pytest.raises(MetricInputError, match="not a permutation"):
            ranks_to_order(wrong)


def test_shuffle_targets_need_the_same_steps():
    assert shuffle_targets(["b", "a"], ["a", "b"]) == [1, 0]
    with pytest.raises(MetricInputError, match="lacks 'c'"):
        shuffle_targets(["b", "a"], ["a", "b", "c"])


def test_requirements_pass_what_is_fine():
    require_order(["a"])
    require_reordering(["a", 1], [1, "a"])
    with pytest.raises(MetricInputError, match="x: the order repeats 1"):
        require_order([1, 1], where="x")
