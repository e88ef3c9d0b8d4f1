import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering import (
    best_of_references,
    distinct_references,
    measure_order,
    reference_counts,
    reference_table,
)

# Worked examples of Wu et al. 2022: prediction, references, chosen, Acc PMR Lq Lr tau Dist.
WORKED = [
    ("10234", ["01234", "10234"], 1, (1, 1, 5, 5, 1, 0)),
    ("01243", ["01234", "10234"], 0, (0.6, 0, 4, 3, 0.8, 2)),
    ("20134", ["01234", "20143"], 1, (0.6, 0, 4, 3, 0.8, 2)),
    ("12340", ["01234", "42310"], 1, (0.6, 0, 3, 2, 0, 6)),
    ("02143", ["01234", "03421"], 1, (0.2, 0, 3, 2, 0, 8)),
    ("1032", ["0123", "2301"], 0, (0, 0, 2, 1, 1 / 3, 4)),
    ("0213", ["0123", "1023", "0213"], 2, (1, 1, 4, 4, 1, 0)),
    ("01234", ["24031", "04321"], 1, (0.2, 0, 2, 1, -0.2, 8)),
]


def chosen_by_definition(references, prediction):
    values = [measure_order(r, prediction).values[0].tolist() for r in references]
    keys = [(acc, pmr, lr, lq, tau, -dist) for acc, pmr, lq, lr, tau, dist in values]
    return keys.index(max(keys)), values


@pytest.mark.parametrize(("prediction", "references", "chosen", "wanted"), WORKED)
def test_worked_examples(prediction, references, chosen, wanted):
    result = best_of_references([[list(r) for r in references]], [list(prediction)])
    assert result.chosen.tolist() == [chosen]
    assert result.best.values[0].tolist() == pytest.approx(list(wanted), abs=1e-12)


@given(
    st.lists(
        st.integers(1, 6).flatmap(
            lambda n: st.tuples(
                st.lists(st.permutations(range(n)), min_size=1, max_size=4), st.permutations(range(n))
            )
        ),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=60)
def test_modes_against_their_definitions(items):
    references, predictions = [r for r, _ in items], [p for _, p in items]
    joint = best_of_references(references, predictions)
    alone = best_of_references(references, predictions, mode="independent")
    first = best_of_references(references, predictions, mode="first")
    for i, (orders, prediction) in enumerate(items):
        at, values = chosen_by_definition(orders, prediction)
        assert joint.chosen[i] == at
        assert joint.best.values[i].tolist() == values[at]
        assert first.best.values[i].tolist() == values[0] == joint.first.values[i].tolist()
        best = [max(v[k] for v in values) for k in range(5)] + [min(v[5] for v in values)]
        assert alone.best.values[i].tolist() == best
        better = (
            any(a > b for a, b in zip(values[at][:5], values[0][:5], strict=True))
            or values[at][5] < values[0][5]
        )
        assert bool(joint.benefits[i]) is better
    # What is best of each measure is at least as good as what is read from one reference, and accuracy never falls.
    assert (alone.best.values[:, :5] >= joint.best.values[:, :5]).all()
    assert (alone.best.displacement <= joint.best.displacement).all()
    assert (joint.best.position_accuracy >= first.best.position_accuracy).all()


@given(st.data())
@settings(max_examples=40)
def test_more_references_never_lower_accuracy_and_a_matched_one_is_perfect(data):
    n = data.draw(st.integers(2, 6))
    orders = data.draw(st.lists(st.permutations(range(n)), min_size=1, max_size=4))
    extra, prediction = data.draw(st.permutations(range(n))), data.draw(st.permutations(range(n)))
    few = best_of_references([orders], [prediction]).best.position_accuracy
    assert best_of_references([[*orders, extra]], [prediction]).best.position_accuracy >= few
    assert best_of_references([[*orders, prediction]], [prediction]).best.perfect_match[0] == 1


def test_order_of_the_items_does_not_matter():
    rng = np.random.default_rng(0)
    references = [[rng.permutation(5).tolist() for _ in range(k)] for k in rng.integers(1, 5, 60)]
    predictions = [rng.permutation(5).tolist() for _ in range(60)]
    result = best_of_references(references, predictions)
    mixed = rng.permutation(60)
    again = best_of_references([references[i] for i in mixed], [predictions[i] for i in mixed])
    assert np.array_equal(again.best.values, result.best.values[mixed])
    assert np.array_equal(again.chosen, result.chosen[mixed])


def test_release_prefers_the_larger_distance_on_ties_and_we_do_not():
    result = best_of_references([[list("24031"), list("04321")]], [list("01234")])
    assert result.best.displacement.tolist() == [8]


def test_table_and_counts_of_nothing_and_of_one_kind():
    empty = best_of_references([], [])
    assert [s.n for s in reference_table(empty)] == [0, 0, 0]
    assert reference_table(empty)[2].benefiting is None
    assert reference_counts([]).mean_all is None
    single = best_of_references([[[0, 1]]], [[1, 0]])
    one, several, every = reference_table(single)
    assert (one.n, several.n, every.n) == (1, 0, 1)
    assert several.multi == {}
    assert one.single == one.multi == every.multi
    assert one.benefiting == 0.0
    counts = reference_counts([1, 1])
    assert (counts.count, counts.mean, counts.mean_all) == (0, None, 1.0)


def test_counts_are_described_with_the_population_deviation():
    counts = reference_counts([2, 4, 6, 1])
    assert (counts.count, counts.low, counts.high, counts.mean) == (3, 2, 6, 4.0)
    assert counts.deviation == pytest.approx(1.632993162)
    assert counts.mean_all == 13 / 4


def test_repeated_references_are_no_alternatives():
    assert distinct_references([[0, 1], (0, 1), [1, 0], [0, 1]]) == [[0, 1], [1, 0]]


@pytest.mark.parametrize("mode", ["joint", "independent", "first"])
@pytest.mark.parametrize(
    ("references", "predictions", "message"),
    [
        ([[[0, 1]]], [], "1 lists of references and 0 predictions"),
        ([[[0, 1]], []], [[0, 1], [0, 1]], "item 1 has no reference"),
        ([[[0, 1], [0, 2]]], [[0, 1]], "item 0|sequence 1"),
        ([[[0, 1]]], [[0, 0]], "lacks 1 and repeats 0"),
    ],
)
def test_invalid(mode, references, predictions, message):
    with pytest.raises(MetricInputError, match=message):
        best_of_references(references, predictions, mode=mode)


def test_unknown_mode_and_impossible_count():
    with pytest.raises(MetricInputError, match="'best' is unknown; use joint, independent, first"):
        best_of_references([[[0]]], [[0]], mode="best")
    with pytest.raises(MetricInputError, match="no reference"):
        reference_counts([2, 0])


def test_names_reach_the_message():
    with pytest.raises(MetricInputError, match="item 'b': the prediction lacks 1"):
        best_of_references([[[0, 1]], [[0, 1]]], [[0, 1], [0, 0]], names=["item 'a'", "item 'b'"])


def test_perfect_under_all_modes():
    orders = [list(o) for o in itertools.permutations(range(3))]
    for mode in ("joint", "independent", "first"):
        assert best_of_references([orders], [orders[0]], mode=mode).best.values[0].tolist() == [
            1,
            1,
            3,
            3,
            1,
            0,
        ]
