import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from proctor.metrics.errors import MetricInputError
from proctor.metrics.localization import (
    localization_scores,
    macro_mean,
    match_segments,
    scores,
    segment_average_precisions,
    segment_mean_average_precisions,
    segment_micro_recalls_at_kx,
    segment_recalls_at_kx,
    weighted_scores,
)
from proctor.metrics.localization.segments import Segments

TIOU = (0.1, 0.3, 0.5, 0.75)


def truth_of(rows):
    return Segments.of(*(zip(*rows, strict=True) if rows else [()] * 4))


def predictions_of(rows):
    return Segments.of(*(zip(*rows, strict=True) if rows else [()] * 5))


# A worked example of detection.
TRUTH = [("A", 0, 10, 0), ("A", 20, 30, 0), ("B", 0, 4, 1)]
PREDICTIONS = [
    ("A", 1, 9, 0, 0.9),
    ("A", 0, 10, 0, 0.8),
    ("A", 21, 35, 0, 0.7),
    ("B", 0, 5, 0, 0.6),
    ("B", 1, 5, 1, 0.5),
]


def test_golden_example():
    result = localization_scores(truth_of(TRUTH), predictions_of(PREDICTIONS), tiou=(0.3, 0.5, 0.7))
    np.testing.assert_allclose(result.mean_ap, [2.75 / 3, 2.75 / 3, 0.25], atol=1e-11)
    assert np.round(100 * result.mean_ap, 4).tolist() == [91.6667, 91.6667, 25.0]
    assert result.mean_recall[1].tolist() == [0.75, 0.75, 0.25]
    assert result.mean_recall[5].tolist() == [1.0, 1.0, 0.25]
    assert result.average_map == pytest.approx((2.75 / 3 * 2 + 0.25) / 3)
    np.testing.assert_allclose(result.ap, [[2.5 / 3, 2.5 / 3, 0.5], [1, 1, 0]])
    np.testing.assert_allclose(result.micro_recall[1], np.array([2, 2, 1]) / 3)
    alone = segment_mean_average_precisions(truth_of(TRUTH), predictions_of(PREDICTIONS), (0.3, 0.5, 0.7))
    assert alone.tolist() == result.mean_ap.tolist()


def test_perfect():
    truth = truth_of(TRUTH)
    result = localization_scores(truth, predictions_of([(*row, 0.5) for row in TRUTH]), tiou=(0.5, 1.0))
    for values in (result.mean_ap, *result.mean_recall.values(), *result.micro_recall.values()):
        assert values.tolist() == [1.0, 1.0]


def test_no_predictions_is_0_and_not_undefined():
    result = localization_scores(truth_of(TRUTH), predictions_of([]))
    assert not result.mean_ap.any()
    assert not result.mean_recall[5].any()
    assert result.average_map == 0


def test_class_only_in_the_predictions_counts_nothing():
    more = [*PREDICTIONS, ("A", 0, 10, 99, 1.0), ("Z", 0, 10, 99, 1.0)]
    ours = localization_scores(truth_of(TRUTH), predictions_of(more))
    assert (
        ours.mean_ap.tolist()
        == segment_mean_average_precisions(truth_of(TRUTH), predictions_of(PREDICTIONS)).tolist()
    )
    assert ours.matches.classes == (0, 1)


def test_class_never_predicted_counts_0():
    only = [row for row in PREDICTIONS if row[3] == 0]
    result = localization_scores(truth_of(TRUTH), predictions_of(only), tiou=(0.3,))
    np.testing.assert_allclose(result.ap[:, 0], [2.5 / 3, 0])


def test_false_positives_in_a_video_without_ground_truth_count():
    truth = [("a", 0, 10, "x")]
    hit, miss = ("a", 0, 10, "x", 0.5), ("elsewhere", 0, 10, "x", 0.9)
    assert segment_mean_average_precisions(truth_of(truth), predictions_of([hit]), (0.5,)).tolist() == [1]
    assert segment_mean_average_precisions(truth_of(truth), predictions_of([hit, miss]), (0.5,)).tolist() == [
        0.5
    ]


def test_ties_everywhere_in_any_order():
    truth = [(v, 10 * k, 10 * k + 8, k % 2) for v in "abc" for k in range(4)]
    tied = [(v, 10 * k + d, 10 * k + 8, k % 2, 0.5) for v in "abc" for k in range(4) for d in range(4)]
    first = localization_scores(truth_of(truth), predictions_of(tied))
    rng = np.random.default_rng(0)
    for _ in range(5):
        again = localization_scores(
            truth_of([truth[k] for k in rng.permutation(len(truth))]),
            predictions_of([tied[k] for k in rng.permutation(len(tied))]),
        )
        assert again.ap.tolist() == first.ap.tolist()
        assert again.recall[1].tolist() == first.recall[1].tolist()


def test_duplicate_predictions_are_false_positives():
    twice = [PREDICTIONS[1], *PREDICTIONS[1:]]
    result = segment_mean_average_precisions(
        truth_of(TRUTH[:2]), predictions_of([r for r in twice if r[3] == 0]), (0.3,)
    )
    assert result[0] == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)


HITS = st.lists(st.booleans(), min_size=1, max_size=30)


@settings(max_examples=60)
@given(HITS, st.integers(0, 5))
def test_average_precision_from_the_curve_of_all_predictions(hits, missed):
    """One segment a video makes any sequence of hits and misses; the envelope is taken over every prediction."""
    total = sum(hits) + missed
    if not sum(hits):  # no video in common
        return
    truth = [(k, 0, 10, "x") for k, hit in enumerate(hits) if hit] + [
        (100 + k, 0, 10, "x") for k in range(missed)
    ]
    predictions = [(k, 0, 10, "x", 1 - k / 100) for k in range(len(hits))]
    found = np.cumsum(hits)
    precision, rise = found / np.arange(1, len(hits) + 1), np.diff(found / total, prepend=0)
    expected = float((rise * np.maximum.accumulate(precision[::-1])[::-1]).sum())
    ours = segment_mean_average_precisions(truth_of(truth), predictions_of(predictions), (0.5,))
    assert ours[0] == pytest.approx(expected, abs=1e-11)
    if not missed and sum(hits) < len(hits):
        # Without the envelope it is scikit-learn's average precision, which is never larger.
        assert ours[0] >= average_precision_score(hits, [p[4] for p in predictions]) - 1e-11


def test_scikit_learn_agrees_where_the_envelope_is_flat():
    hits = [True, True, False, True, False]
    truth = [(k, 0, 10, "x") for k, hit in enumerate(hits) if hit]
    predictions = [(k, 0, 10, "x", 1 - k / 100) for k in range(5)]
    ours = segment_mean_average_precisions(truth_of(truth), predictions_of(predictions), (0.5,))[0]
    assert ours == pytest.approx(average_precision_score(hits, [p[4] for p in predictions]))


START = st.integers(0, 20)
LENGTH = st.integers(1, 8)
G = st.tuples(st.sampled_from("abc"), START, LENGTH, st.integers(0, 2)).map(
    lambda r: (r[0], r[1], r[1] + r[2], r[3])
)
P = st.tuples(st.sampled_from("abcd"), START, LENGTH, st.integers(0, 3)).map(
    lambda r: (r[0], r[1], r[1] + r[2], r[3])
)


@st.composite
def cases(draw):
    """Ground truth and predictions with scores that all differ."""
    truth = draw(st.lists(G, min_size=1, max_size=9))
    rows = draw(st.lists(P, max_size=15))
    assume(not rows or {row[0] for row in rows} & {row[0] for row in truth})
    ranks = draw(st.permutations(range(len(rows))))
    return truth, [(*row, rank / 20) for row, rank in zip(rows, ranks, strict=True)]


def every(truth, predictions):
    result = localization_scores(truth_of(truth), predictions_of(predictions), tiou=TIOU)
    return np.stack([result.mean_ap, *result.mean_recall.values(), *result.micro_recall.values()])


@settings(max_examples=80)
@given(cases())
def test_bounds_and_falling_with_the_threshold(case):
    values = every(*case)
    assert (values >= 0).all()
    assert (values <= 1 + 1e-11).all()
    assert (np.diff(values, axis=1) <= 1e-9).all()
    assert (values[2] >= values[1] - 1e-9).all()  # R@5x at least R@1x
    assert (values[4] >= values[3] - 1e-9).all()


@settings(max_examples=60)
@given(cases(), st.integers(-50, 50), st.randoms(use_true_random=False))
def test_what_must_not_matter(case, shift, random):
    truth, predictions = case
    values = every(truth, predictions)
    permuted = every(random.sample(truth, len(truth)), random.sample(predictions, len(predictions)))
    np.testing.assert_array_equal(permuted, values)
    shifted = every(
        [(v, a + shift, b + shift, c) for v, a, b, c in truth],
        [(v, a + shift, b + shift, c, s) for v, a, b, c, s in predictions],
    )
    np.testing.assert_allclose(shifted, values, atol=1e-12)
    labels, videos = ["z", "y", "x", "w"], {"a": "r", "b": "q", "c": "p", "d": "o"}
    renamed = every(
        [(videos[v], a, b, labels[c]) for v, a, b, c in truth],
        [(videos[v], a, b, labels[c], s) for v, a, b, c, s in predictions],
    )
    np.testing.assert_allclose(renamed, values, atol=1e-12)
    rescored = every(truth, [(*row[:4], np.exp(3 * row[4]) - 7) for row in predictions])
    np.testing.assert_array_equal(rescored, values)


@settings(max_examples=60)
@given(cases(), P)
def test_one_more_guess_at_the_end_never_hurts(case, guess):
    truth, predictions = case
    assume(predictions or guess[0] in {row[0] for row in truth})
    assert (every(truth, [*predictions, (*guess, -1.0)]) >= every(truth, predictions) - 1e-9).all()


@settings(max_examples=60)
@given(cases())
def test_one_copy_of_everything_in_other_videos_changes_nothing_but_ranks(case):
    truth, predictions = case
    doubled = every(
        truth + [(f"{v}2", a, b, c) for v, a, b, c in truth],
        predictions + [(f"{v}2", a, b, c, s) for v, a, b, c, s in predictions],
    )
    # Recall is the same; precision behind each pair of copies too, so the area is.
    np.testing.assert_allclose(doubled, every(truth, predictions), atol=1e-9)


@settings(max_examples=80)
@given(cases(), st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_weights_on_videos_are_copies_of_videos(case, times):
    truth, predictions = case
    weight = dict(zip("abcd", times, strict=True))
    copied_truth = [(f"{v}{k}", a, b, c) for v, a, b, c in truth for k in range(weight[v])]
    copied = [(f"{v}{k}", a, b, c, s) for v, a, b, c, s in predictions for k in range(weight[v])]
    # Copies within a video must not be interleaved: the copies of one prediction are tied and stand together.
    matches = match_segments(truth_of(truth), predictions_of(predictions), TIOU)
    weights = np.array([[weight[v] for v in matches.videos]], dtype=float)
    ours = weighted_scores(matches, weights)[0]
    assert len(ours) == 5 * len(TIOU) + 1
    if not copied_truth:
        assert np.isnan(ours).all()
        return
    assume(not copied or {row[0] for row in copied} & {row[0] for row in copied_truth})
    expected = every(copied_truth, copied)
    np.testing.assert_allclose(ours, [*expected[0], expected[0].mean(), *expected[1:].ravel()], atol=1e-9)


@settings(max_examples=30)
@given(cases(), st.integers(1, 40))
def test_small_portions_of_memory_change_nothing(case, cells):
    matches = match_segments(truth_of(case[0]), predictions_of(case[1]), TIOU)
    weights = np.random.default_rng(0).integers(0, 3, (7, len(matches.videos))).astype(float)
    whole = weighted_scores(matches, weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scores, "_CELLS", cells)
        np.testing.assert_array_equal(weighted_scores(matches, weights), whole)


@settings(max_examples=40)
@given(cases(), st.sampled_from([1, 5, 10**6]))
def test_both_ways_to_sum_the_weights(case, cells):
    matches = match_segments(truth_of(case[0]), predictions_of(case[1]), TIOU)
    weights = np.random.default_rng(0).integers(0, 3, (5, len(matches.videos))).astype(float)
    results = []
    for dense in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scores, "_DENSE", dense)
            patch.setattr(scores, "_CELLS", cells)
            results.append(weighted_scores(matches, weights))
    np.testing.assert_array_equal(*results)


def test_weights_of_one_are_the_scores_themselves():
    matches = match_segments(truth_of(TRUTH), predictions_of(PREDICTIONS), TIOU)
    ours = weighted_scores(matches, np.ones((2, 2)))
    assert ours[0].tolist() == ours[1].tolist()
    expected = every(TRUTH, PREDICTIONS)
    np.testing.assert_allclose(ours[0], [*expected[0], expected[0].mean(), *expected[1:].ravel()])
    assert weighted_scores(matches, np.ones((0, 2))).shape == (0, 5 * len(TIOU) + 1)


def test_recall_of_a_slice():
    matches = match_segments(truth_of(TRUTH), predictions_of(PREDICTIONS), (0.3, 0.7))
    assert segment_micro_recalls_at_kx(matches, 1, np.array([True, False, True])).tolist() == [1.0, 0.5]
    assert segment_micro_recalls_at_kx(matches, 5, np.array([False, True, False])).tolist() == [1.0, 0.0]
    with pytest.raises(MetricInputError, match="the slice has no segments"):
        segment_micro_recalls_at_kx(matches, 1, np.zeros(3, dtype=bool))
    with pytest.raises(ValueError):
        segment_recalls_at_kx(matches, 7)  # not asked for when matching


def test_macro_mean_is_over_classes():
    matches = match_segments(truth_of(TRUTH), predictions_of(PREDICTIONS), (0.7,))
    by_class = segment_average_precisions(matches)
    assert by_class.shape == (2, 1)
    assert macro_mean(by_class)[0] == by_class[:, 0].mean() == 0.25
