import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.metrics.errors import MetricInputError
from proctor.metrics.localization import matching
from proctor.metrics.localization.matching import match_segments
from proctor.metrics.localization.segments import Segments


def truth_of(rows):
    return Segments.of(*(zip(*rows, strict=True) if rows else [()] * 4))


def predictions_of(rows):
    return Segments.of(*(zip(*rows, strict=True) if rows else [()] * 5))


def overlap(a, b):
    shared = max(0.0, min(a[2], b[2]) - max(a[1], b[1]))
    whole = max(0.0, a[2] - a[1]) + max(0.0, b[2] - b[1]) - shared
    return shared / whole if shared > 0 else 0.0


def brute_force(truth, predictions, tiou, multiples):
    """Return who found each segment at each threshold, and the best IoU for each k, by the words of the definition."""
    found = np.full((len(truth), len(tiou)), -1)
    best = np.zeros((len(truth), len(multiples)))
    falling = sorted(
        range(len(predictions)), key=lambda p: (-predictions[p][4], *predictions[p][:3], predictions[p][3])
    )
    for t, threshold in enumerate(tiou):
        for p in falling:
            mine = [
                g
                for g in range(len(truth))
                if truth[g][0] == predictions[p][0] and truth[g][3] == predictions[p][3]
            ]
            for g in sorted(
                mine, key=lambda g: (-overlap(truth[g], predictions[p]), truth[g][1], truth[g][2], g)
            ):
                if found[g, t] < 0 and overlap(truth[g], predictions[p]) >= threshold:
                    found[g, t] = p
                    break
    for j, k in enumerate(multiples):
        for g, segment in enumerate(truth):
            n = sum(s[0] == segment[0] and s[3] == segment[3] for s in truth)
            rivals = [
                p for p in falling if (predictions[p][0], predictions[p][3]) == (segment[0], segment[3])
            ]
            best[g, j] = max((overlap(segment, predictions[p]) for p in rivals[: k * n]), default=0.0)
    return found, best


START = st.integers(0, 6)
LENGTH = st.integers(0, 5)
TRUTH = st.tuples(st.sampled_from("ab"), START, LENGTH, st.sampled_from("xy")).map(
    lambda r: (r[0], r[1], r[1] + r[2], r[3])
)
PREDICTION = st.tuples(st.sampled_from("abc"), START, LENGTH, st.sampled_from("xyz"), st.integers(0, 4)).map(
    lambda r: (r[0], r[1], r[1] + r[2], r[3], r[4] / 4)
)
"""Few different values, so that ties are everywhere."""
CASE = st.tuples(st.lists(TRUTH, min_size=1, max_size=8), st.lists(PREDICTION, max_size=12)).filter(
    lambda case: not case[1] or {row[0] for row in case[0]} & {row[0] for row in case[1]}
)


@settings(max_examples=150)
@given(CASE)
def test_against_the_words_of_the_definition(case):
    truth, predictions = case
    tiou, multiples = (0.1, 0.25, 0.5, 1.0), (1, 2)
    matches = match_segments(truth_of(truth), predictions_of(predictions), tiou, multiples)
    found, best = brute_force(truth, predictions, tiou, multiples)
    # Equal predictions are interchangeable: what they are matters, not which of them it was.
    ours = [[predictions[p] if p >= 0 else None for p in row] for row in matches.found_by]
    assert ours == [[predictions[p] if p >= 0 else None for p in row] for row in found]
    np.testing.assert_allclose(matches.best_iou, best, atol=1e-15)


@settings(max_examples=40)
@given(CASE, st.integers(1, 5))
def test_the_memory_limit_changes_nothing(case, pairs):
    truth, predictions = case
    whole = match_segments(truth_of(truth), predictions_of(predictions))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_PAIRS", pairs)
        parts = match_segments(truth_of(truth), predictions_of(predictions))
    assert (parts.found_by == whole.found_by).all()
    assert (parts.best_iou == whole.best_iou).all()


def test_a_prediction_takes_what_is_left():
    truth = [("a", 0, 10, "x"), ("a", 4, 14, "x")]
    predictions = [("a", 0, 10, "x", 0.9), ("a", 1, 11, "x", 0.8)]
    matches = match_segments(truth_of(truth), predictions_of(predictions), (0.3, 0.7))
    # The second one overlaps the first segment more, which is taken; the other one is enough at 0.3 only.
    assert matches.found_by.tolist() == [[0, 0], [1, -1]]
    assert matches.matched().tolist() == [[0, 0], [1, -1]]
    assert matches.recalled(1).tolist() == [[True, True], [True, False]]


def test_the_record_names_classes_and_videos_of_both_sides():
    truth = [("b", 0, 1, "2"), ("a", 0, 1, "10")]
    predictions = [("c", 0, 1, "10", 0.5), ("b", 0, 1, "77", 0.5), ("b", 0, 1, "2", 0.1)]
    matches = match_segments(truth_of(truth), predictions_of(predictions))
    assert matches.classes == ("2", "10")
    assert matches.videos == ("a", "b", "c")
    assert matches.prediction_class.tolist() == [1, -1, 0]
    assert matches.order.tolist() == [2, 0]
    assert matches.found_by[:, 0].tolist() == [2, -1]
    assert matches.matched()[:, 0].tolist() == [-1, -1, 0]


def test_classes_without_a_segment_are_no_classes():
    truth = truth_of([("a", 0, 1, "x"), ("b", 0, 1, "y")]).take(np.array([0]))
    assert match_segments(truth, predictions_of([])).classes == ("x",)


def test_segments_without_length_are_never_found():
    truth = [("a", -1, -1, "x"), ("a", 4, 4, "x")]
    predictions = [("a", -1, -1, "x", 0.9), ("a", 3, 5, "x", 0.8), ("a", 4, 4, "x", 0.7)]
    matches = match_segments(truth_of(truth), predictions_of(predictions), (1e-9,))
    assert (matches.found_by == -1).all()
    assert (matches.best_iou == 0).all()


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        (("w", 0, 1, "x", 0.5), "no video of the predictions is in the ground truth .* 'w' against 'a'"),
        (
            ("a", 0, 1, 7, 0.5),
            "no label of the predictions is in the ground truth: there they are str, here int",
        ),
    ],
)
def test_what_would_be_0_whatever_was_predicted_is_refused(predicted, message):
    truth = truth_of([("a", 0, 1, "7")])
    with pytest.raises(MetricInputError, match=message):
        match_segments(truth, predictions_of([predicted]))


def test_no_predictions():
    matches = match_segments(truth_of([("a", 0, 1, "x")]), predictions_of([]))
    assert (matches.found_by == -1).all()
    assert matches.matched().shape == (0, 5)
    assert matches.order.size == 0


def test_whole_numbers_and_texts_as_names():
    truth = Segments.of(np.array([1, 2]), [0, 0], [1, 1], np.array([7, 7]))
    predictions = Segments.of([2, 1], [0, 0], [1, 1], [7, 7], [0.5, 0.4])
    assert match_segments(truth, predictions, (0.5,)).found_by.tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tiou": ()}, "no tIoU threshold"),
        ({"tiou": (0.0,)}, "above 0 and at most 1, got 0"),
        ({"tiou": (50,)}, "got 50; give shares"),
        ({"tiou": (float("nan"),)}, "got nan"),
        ({"tiou": (0.5, 0.3)}, "must rise, got 0.5, 0.3"),
        ({"tiou": (0.5, 0.5)}, "must rise"),
        ({"multiples": (0,)}, "positive whole numbers, got \\[0\\]"),
        ({"multiples": (1, 1)}, "different"),
        ({"multiples": (1.5,)}, "whole"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(MetricInputError, match=message):
        match_segments(truth_of([("a", 0, 1, "x")]), predictions_of([]), **options)


def test_nothing_to_find_and_nothing_to_sort_by():
    with pytest.raises(MetricInputError, match="the ground truth has no segments; check the file"):
        match_segments(truth_of([]), predictions_of([("a", 0, 1, "x", 0.5)]))
    with pytest.raises(MetricInputError, match="the predictions have no scores"):
        match_segments(truth_of([("a", 0, 1, "x")]), truth_of([("a", 0, 1, "x")]))
