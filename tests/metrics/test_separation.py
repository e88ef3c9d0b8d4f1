import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn

from proctor.metrics.errors import MetricInputError
from proctor.metrics.separation import Ranking, binary_labels, finite_scores

numbers = st.lists(st.integers(0, 5), min_size=1, max_size=30)


def one(values):
    assert values.shape == (1,)
    return float(values[0])


@pytest.mark.parametrize(
    ("labels", "scores", "auc", "ap", "eer"),
    [
        ([1, 1, 0, 0], [4, 3, 2, 1], 1.0, 1.0, 0.0),  # perfect
        ([0, 0, 1, 1], [4, 3, 2, 1], 0.0, 5 / 12, 1.0),  # exactly wrong: AP 1/2 · (1/3 + 2/4)
        ([1, 0, 1, 0], [7, 7, 7, 7], 0.5, 0.5, 0.5),  # one group of ties
        ([1, 0, 1, 0], [4, 3, 2, 1], 0.75, (1 + 2 / 3) / 2, 0.5),
        ([1, 0, 0], [2, 2, 1], 0.75, 0.5, 1 / 3),  # the curve goes straight to (1/2, 1): x = 1 - 2x
        (
            [1, 1, 0, 0, 0],
            [3, 1, 2, 1, 0],
            0.75,
            0.5 + 0.5 * 2 / 4,
            0.4,
        ),  # (1/3, 1/2) to (2/3, 1): 1/3 + t/3 = 1/2 - t/2
    ],
)
def test_golden_by_hand(labels, scores, auc, ap, eer):
    ranking = Ranking.of(labels, scores)
    assert one(ranking.roc_auc()) == pytest.approx(auc, abs=1e-15)
    assert one(ranking.average_precision()) == pytest.approx(ap, abs=1e-15)
    assert one(ranking.equal_error_rate()) == pytest.approx(eer, abs=1e-15)


@pytest.mark.parametrize("labels", [[], [0, 0], [1, 1]])
def test_without_both_classes_it_is_undefined(labels):
    ranking = Ranking.of(labels, [0.5] * len(labels))
    assert np.isnan(one(ranking.roc_auc()))
    assert np.isnan(one(ranking.equal_error_rate()))
    ap = one(ranking.average_precision())
    assert ap == 1.0 if 1 in labels else np.isnan(ap)


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([1, 0], [0.5], "parallel, got 2 and 1"),
        ([1, 2], [0.5, 0.1], "got 2 at position 1"),
        ([1, float("nan")], [0.5, 0.1], "got nan at position 1"),
        (["yes", "no"], [0.5, 0.1], "'yes'"),
        ([1, 0], [0.5, float("inf")], "inf at position 1"),
        ([1, 0], [float("nan"), 0.1], "nan at position 0"),
        ([1, 0], ["a", "b"], "must be numbers"),
        ([[1, 0]], [0.5, 0.1], "one dimension"),
        ([1, 0], [[0.5], [0.1, 2]], "ragged"),
    ],
)
def test_wrong_input_says_what_was_seen(labels, scores, message):
    with pytest.raises(MetricInputError, match=message):
        Ranking.of(labels, scores)


def test_wrong_clusters_and_counts():
    with pytest.raises(MetricInputError, match="one cluster an item"):
        Ranking.of([1, 0], [1, 2], ["a"])
    with pytest.raises(MetricInputError, match=r"shape \(resamples, 1\)"):
        Ranking.of([1, 0], [1, 2]).roc_auc(np.ones((3, 2)))


def test_labels_and_scores_of_any_number_type():
    assert binary_labels(np.array([1.0, 0.0])).tolist() == [True, False]
    assert binary_labels([True, False]).dtype == np.bool_
    assert finite_scores(np.array([1, 2], dtype=np.int8)).dtype == np.float64
    assert binary_labels([]).size == finite_scores([]).size == 0


samples = st.lists(
    st.tuples(st.booleans(), st.integers(0, 6), st.sampled_from("abcd")), min_size=2, max_size=40
)


def columns(items):
    labels, scores, clusters = zip(*items, strict=True)
    return np.array(labels), np.array(scores) / 7, list(clusters)


def eer_by_scikit_learn(labels, scores, weights=None):
    fpr, tpr, _ = sklearn.roc_curve(labels, scores, drop_intermediate=False, sample_weight=weights)
    above = fpr + tpr - 1
    k = int(np.argmax(above >= 0))
    share = -above[k - 1] / (above[k] - above[k - 1])
    return fpr[k - 1] + share * (fpr[k] - fpr[k - 1])


@settings(max_examples=60)
@given(samples)
def test_equals_scikit_learn(items):
    labels, scores, _ = columns(items)
    ranking = Ranking.of(labels, scores)
    if 0 < labels.sum() < labels.size:
        assert one(ranking.roc_auc()) == pytest.approx(sklearn.roc_auc_score(labels, scores), abs=1e-12)
        assert one(ranking.equal_error_rate()) == pytest.approx(
            eer_by_scikit_learn(labels, scores), abs=1e-12
        )
    if labels.any():
        ap = sklearn.average_precision_score(labels, scores)
        assert one(ranking.average_precision()) == pytest.approx(ap, abs=1e-12)


def test_equals_scikit_learn_on_many_items_with_and_without_ties():
    rng = np.random.default_rng(3)
    labels = rng.random(3000) < 0.3
    for scores in (rng.normal(size=3000) + labels, np.round(rng.normal(size=3000) + labels, 1)):
        ranking = Ranking.of(labels, scores)
        assert one(ranking.roc_auc()) == pytest.approx(sklearn.roc_auc_score(labels, scores), abs=1e-12)
        assert one(ranking.average_precision()) == pytest.approx(
            sklearn.average_precision_score(labels, scores), abs=1e-12
        )
        assert one(ranking.equal_error_rate()) == pytest.approx(
            eer_by_scikit_learn(labels, scores), abs=1e-12
        )


@settings(max_examples=40)
@given(samples, st.integers(0, 1000))
def test_weights_equal_repeating_the_items_and_scikit_learns_weights(items, seed):
    labels, scores, clusters = columns(items)
    names = sorted(set(clusters))
    counts = np.random.default_rng(seed).integers(0, 4, size=(3, len(names)))
    ranking = Ranking.of(labels, scores, clusters)
    place = np.array([names.index(c) for c in clusters])
    for row, auc, ap, eer in zip(
        counts,
        ranking.roc_auc(counts),
        ranking.average_precision(counts),
        ranking.equal_error_rate(counts),
        strict=True,
    ):
        weights = row[place]
        repeated = Ranking.of(np.repeat(labels, weights), np.repeat(scores, weights))
        assert auc == pytest.approx(one(repeated.roc_auc()), abs=1e-12, nan_ok=True)
        assert ap == pytest.approx(one(repeated.average_precision()), abs=1e-12, nan_ok=True)
        assert eer == pytest.approx(one(repeated.equal_error_rate()), abs=1e-12, nan_ok=True)
        if weights[labels].sum() and weights[~labels].sum():
            kept = weights > 0
            known = sklearn.roc_auc_score(labels[kept], scores[kept], sample_weight=weights[kept])
            assert auc == pytest.approx(known, abs=1e-12)
            known = sklearn.average_precision_score(labels[kept], scores[kept], sample_weight=weights[kept])
            assert ap == pytest.approx(known, abs=1e-12)


@settings(max_examples=40)
@given(samples, st.randoms(use_true_random=False))
def test_order_of_items_and_monotone_changes_do_not_matter(items, random):
    labels, scores, clusters = columns(items)
    names = len(set(clusters))
    counts = np.random.default_rng(1).integers(0, 3, size=(4, names))
    shuffled = list(items)
    random.shuffle(shuffled)
    one_way, other = Ranking.of(labels, scores, clusters), Ranking.of(*columns(shuffled))
    curved = Ranking.of(labels, np.exp(3 * scores), clusters)
    for curve in ("roc_auc", "average_precision", "equal_error_rate"):
        first = getattr(one_way, curve)(counts)
        assert first.tobytes() == getattr(other, curve)(counts).tobytes()
        assert first.tobytes() == getattr(curved, curve)(counts).tobytes()
        assert ((first >= 0) & (first <= 1) | np.isnan(first)).all()


@settings(max_examples=40)
@given(samples)
def test_swapping_the_classes_and_the_direction_is_the_same(items):
    labels, scores, _ = columns(items)
    if 0 < labels.sum() < labels.size:
        here, there = Ranking.of(labels, scores), Ranking.of(~labels, -scores)
        assert one(here.roc_auc()) == pytest.approx(one(there.roc_auc()), abs=1e-12)
        assert one(here.equal_error_rate()) == pytest.approx(one(there.equal_error_rate()), abs=1e-12)


@settings(max_examples=40)
@given(samples, st.integers(0, 1000))
def test_counting_pairs_of_clusters_equals_walking(items, seed):
    labels, scores, clusters = columns(items)
    ranking = Ranking.of(labels, scores, clusters)
    counts = np.random.default_rng(seed).integers(0, 4, size=(8, ranking.clusters))
    together = ranking.roc_auc(counts)  # more resamples than clusters: pairs are counted
    single = [float(ranking.roc_auc(row[None, :])[0]) for row in counts] if ranking.clusters > 1 else together
    assert together.tolist() == pytest.approx(single, nan_ok=True, abs=0)


def test_large_matrices_are_worked_on_in_parts():
    rng = np.random.default_rng(0)
    labels, scores = rng.random(5000) < 0.4, rng.random(5000)
    clusters = [f"c{k % 20}" for k in range(5000)]
    counts = rng.integers(0, 3, size=(130, 20))  # more than fits into one part
    whole = Ranking.of(labels, scores, clusters).roc_auc(counts)
    single = [float(Ranking.of(labels, scores, clusters).roc_auc(row[None, :])[0]) for row in counts[::40]]
    assert whole[::40].tolist() == single


def pairs_by_hand(labels, scores, copies):
    """Pairs of a mistake and a normal item counted one by one: (share right within copies, between clusters)."""
    sums = {True: [0.0, 0.0], False: [0.0, 0.0]}
    for label, score, (name, copy) in zip(labels, scores, copies, strict=True):
        for other_label, other_score, (other_name, other_copy) in zip(labels, scores, copies, strict=True):
            within = (name, copy) == (other_name, other_copy)
            if label and not other_label and (within or name != other_name):
                sums[within][0] += (score > other_score) + 0.5 * (score == other_score)
                sums[within][1] += 1
    return [won / pairs if pairs else np.nan for won, pairs in (sums[True], sums[False])]


@settings(max_examples=80)
@given(samples, st.integers(0, 1000))
def test_pairs_within_and_between_equal_a_naive_count(items, seed):
    labels, scores, clusters = columns(items)
    names = sorted(set(clusters))
    counts = np.random.default_rng(seed).integers(0, 4, size=(3, len(names)))
    counts[0] = 1
    ranking = Ranking.of(labels, scores, clusters)
    place = np.array([names.index(c) for c in clusters])
    for row, within, between in zip(
        counts, ranking.within_roc_auc(counts), ranking.between_roc_auc(counts), strict=True
    ):
        drawn = np.repeat(np.arange(labels.size), row[place])
        copies = [(clusters[i], copy) for i in range(labels.size) for copy in range(row[place[i]])]
        expected = pairs_by_hand(labels[drawn], scores[drawn], copies)
        assert [within, between] == pytest.approx(expected, abs=1e-12, nan_ok=True)
    # walking down the ranking, as with many clusters, gives the same as the pairs of clusters
    assert one(ranking.between_roc_auc()) == pytest.approx(
        float(ranking.between_roc_auc(np.ones((40, len(names))))[0]), abs=1e-12, nan_ok=True
    )


def test_pairs_golden_by_hand():
    labels, scores, clusters = [1, 0, 0, 1, 0], [3, 2, 3, 1, 4], ["a", "a", "b", "b", "c"]
    ranking = Ranking.of(labels, scores, clusters)
    assert one(ranking.within_roc_auc()) == (1 + 0) / 2
    assert (
        one(ranking.between_roc_auc()) == (0.5 + 0 + 0 + 0) / 4
    )  # 3 with 3 of b, with 4 of c; 1 with a and c
    assert one(ranking.within_roc_auc([[2, 1, 0]])) == 2 / 3
    assert one(ranking.between_roc_auc([[2, 1, 0]])) == 2 * 0.5 / 4  # no pair between the copies of a


def test_nothing_has_no_pairs():
    for name in ("within_roc_auc", "between_roc_auc"):
        assert np.isnan(one(getattr(Ranking.of([], [], []), name)(np.ones((1, 0)))))
        assert np.isnan(one(getattr(Ranking.of([1, 1], [2, 3], ["a", "b"]), name)()))
