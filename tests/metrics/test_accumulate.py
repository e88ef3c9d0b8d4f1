"""A metric over batches is the metric over all of them, whatever the batches are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor import metrics
from proctor.metrics import MetricInputError

ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.floats(0, 1), st.sampled_from("abc")), min_size=4, max_size=30
).filter(lambda rows: len({label for label, _, _ in rows}) == 2)


@given(ROWS, st.lists(st.integers(1, 9), min_size=1, max_size=6), st.booleans())
def test_batches_change_nothing(rows, sizes, arrays):
    auc = metrics.Accumulator(metrics.roc_auc, resamples=50)
    rest, n = rows, 0
    while rest:
        batch, rest = rest[: sizes[n % len(sizes)]], rest[sizes[n % len(sizes)] :]
        labels, scores, clusters = (list(column) for column in zip(*batch, strict=True))
        auc.update(
            np.array(labels) if arrays else labels, np.array(scores) if arrays else scores, clusters=clusters
        )
        n += 1
    labels, scores, clusters = (list(column) for column in zip(*rows, strict=True))
    assert len(auc) == len(rows)
    assert auc.compute() == metrics.roc_auc(
        np.array(labels), np.array(scores), clusters=clusters, resamples=50
    )


def test_processes_are_merged():
    both, one, other = (metrics.Accumulator(metrics.roc_auc, resamples=0) for _ in range(3))
    for part in (one, both):
        part.update([0, 1], [0.1, 0.3])
    for part in (other, both):
        part.update([1, 0], [0.2, 0.25])
    one.merge(other)
    assert one.compute() == both.compute()
    assert repr(one) == "Accumulator(roc_auc: 4 items)"


def over(batches):
    auc = metrics.Accumulator(metrics.roc_auc)
    for batch in batches:
        auc.update(*batch)
    return auc.compute()


@pytest.mark.parametrize("batches", [[], [([0, 1], [0.1])], [([], [0.1])], [([0], [0.5]), ([0],)], [()]])
def test_batches_that_do_not_fit_are_refused(batches):
    with pytest.raises(MetricInputError):
        over(batches)


@pytest.mark.parametrize("shape", [list, np.array, tuple, lambda values: list(np.array(values))])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_a_metric_refuses_is_refused_when_it_comes(shape, wrong):
    labels, scores = [0, 1, 1], [0.1, wrong, 0.3]
    with pytest.raises(MetricInputError) as alone:
        metrics.roc_auc(labels, scores)
    auc = metrics.Accumulator(metrics.roc_auc, resamples=0)
    auc.update([0, 1], [0.2, 0.9])
    with pytest.raises(MetricInputError) as refused:
        auc.update(shape(labels), shape(scores))
    assert str(refused.value) == str(alone.value)
    assert len(auc) == 2
    assert float(auc.compute()) == 1.0


def test_missing_ratings_are_taken():
    ratings = [[1.0, float("nan"), 1.0], [2.0, 2.0, float("nan")], [1.0, 1.0, 2.0]]
    alpha = metrics.Accumulator(metrics.krippendorff_alpha)
    for row in ratings:
        alpha.update([row])
    assert alpha.compute() == metrics.krippendorff_alpha(ratings)


def test_what_is_no_metric_is_refused_at_once():
    with pytest.raises(MetricInputError, match=r"5 is no metric; give a function"):
        metrics.Accumulator(5)
