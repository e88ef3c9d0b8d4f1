import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering import measure_order, repair_order


@pytest.mark.parametrize(
    ("prediction", "steps", "presented", "repaired", "measures"),
    [
        ([0, 2], [0, 1, 2, 3], [3, 1, 0, 2], (0, 2, 3, 1), (0.25, 0, 3, 2, 1 / 3, 4)),
        ([1, 1, 9, 0], [0, 1, 2], [2, 0, 1], (1, 0, 2), (1 / 3, 0, 2, 1, 1 / 3, 2)),
        ([], [0, 1, 2], [1, 2, 0], (1, 2, 0), (0, 0, 2, 2, -1 / 3, 4)),
        ([0, 1, 2, 3, 4], [0, 1, 2, 3], [2, 3, 0, 1], (0, 1, 2, 3), (1, 1, 4, 4, 1, 0)),
    ],
)
def test_worked_examples(prediction, steps, presented, repaired, measures):
    found = repair_order(prediction, steps, presented=presented)
    assert found.order == repaired
    assert found.repaired
    assert measure_order(steps, found.order).values[0].tolist() == pytest.approx(list(measures))


def test_what_was_done_is_listed():
    found = repair_order([1, 1, 9, 9, "x", [2], 0], [0, 1, 2, 3], presented=[3, 2, 1, 0])
    assert found.order == (1, 0, 3, 2)
    assert found.unknown == (9, 9, "x", [2])
    assert found.repeated == (1,)
    assert found.missing == (3, 2)


def test_a_whole_prediction_is_left_alone():
    found = repair_order([2, 0, 1], [0, 1, 2])
    assert found.order == (2, 0, 1)
    assert not found.repaired


def test_dropping_needs_no_presented_order():
    assert repair_order([2, 0, 2, 1, 7], [0, 1, 2]).order == (2, 0, 1)


def test_missing_steps_are_never_appended_in_the_right_order_by_default():
    with pytest.raises(
        MetricInputError, match="item 'a': the prediction lacks 1, 2 and it is not known"
    ) as caught:
        repair_order([0], [0, 1, 2], where="item 'a'")
    assert "'presented'" in caught.value.hint


@pytest.mark.parametrize(
    ("steps", "presented", "message"),
    [
        ([], None, "no steps"),
        ([0, 0], None, "repeats 0"),
        ([0, 1], [0, 1, 2], "differ in 2"),
        ([0, 1], [0], "differ in 1"),
        ([0, 1], [0, 0], "presented order repeats 0"),
    ],
)
def test_invalid(steps, presented, message):
    with pytest.raises(MetricInputError, match=message):
        repair_order([0], steps, presented=presented)


@given(
    st.integers(1, 7).flatmap(
        lambda n: st.tuples(st.lists(st.integers(-2, n + 2), max_size=12), st.permutations(range(n)))
    )
)
@settings(max_examples=80)
def test_a_repaired_order_is_whole_and_repairing_again_does_nothing(case):
    prediction, presented = case
    steps = range(len(presented))
    found = repair_order(prediction, steps, presented=presented)
    assert sorted(found.order) == list(steps)
    assert repair_order(found.order, steps).order == found.order
    assert len(prediction) + len(found.missing) - len(found.unknown) - len(found.repeated) == len(steps)
    said = [step for step in dict.fromkeys(prediction) if step in steps]
    assert list(found.order[: len(said)]) == said
    assert found.repaired == (list(found.order) != prediction)
