import numpy as np
import pytest

from proctor.metrics.errors import MetricInputError
from proctor.metrics.localization import PROTOCOLS, apply_protocol, segment_mean_average_precisions
from proctor.metrics.localization.segments import Segments


def truth_of(rows, **more):
    return Segments.of(*(zip(*rows, strict=True) if rows else [()] * 4), **more)


def predictions_of(rows):
    return Segments.of(*(zip(*rows, strict=True) if rows else [()] * 5))


def labels(segments):
    return [segments.labels[code] for code in segments.label]


# Raw labels 5, 7, 9 become 0, 1, 2. Label 1 is only predicted: uncompressed it collides with 7, which became 1.
TRUTH = [("a", 0, 10, "5"), ("a", 20, 30, "7"), ("b", 0, 10, "9"), ("b", 20, 30, "7")]
PREDICTIONS = [
    ("a", 0, 10, "5", 0.9),
    ("a", 20, 30, "7", 0.5),
    ("a", 0, 10, "1", 0.8),
    ("a", 0, 10, "44", 0.8),
]
MAP = {"5": "0", "7": "1", "9": "2"}
RENUMBERED = [(v, a, b, MAP[c]) for v, a, b, c in TRUTH]


def both(map_given):
    return [(TRUTH, MAP if map_given else None), *([(RENUMBERED, MAP)] if map_given else [])]


@pytest.mark.parametrize("map_given", [False, True])
def test_published_keeps_all_ground_truth_and_collides(map_given):
    for truth, label_map in both(map_given):
        prepared = apply_protocol(
            truth_of(truth), predictions_of(PREDICTIONS), "published", label_map=label_map
        )
        assert labels(prepared.truth) == ["0", "1", "2", "1"]
        assert labels(prepared.predictions) == ["0", "1", "1", "44"]
        assert prepared.counts["predicted classes outside the label table"] == 2
        assert prepared.counts["predictions colliding with another class"] == 1
        assert any(
            "1 predictions of 1 classes" in note and "another class" in note for note in prepared.notes
        )
        # Class 1: a false positive, then one of two segments; class 0 perfect; class 2 never predicted.
        value = segment_mean_average_precisions(prepared.truth, prepared.predictions, (0.5,))[0]
        assert value == pytest.approx((1 + 0.25 + 0) / 3)


@pytest.mark.parametrize("map_given", [False, True])
def test_activitynet_keeps_all_ground_truth_and_drops_strangers(map_given):
    for truth, label_map in both(map_given):
        prepared = apply_protocol(
            truth_of(truth), predictions_of(PREDICTIONS), "activitynet", label_map=label_map
        )
        assert labels(prepared.truth) == ["5", "7", "9", "7"]
        assert labels(prepared.predictions) == ["5", "7"]
        assert prepared.counts["predictions of classes without ground truth"] == 2
        assert prepared.counts["ground truth videos without predictions"] == 1
        assert any("1 of 2 ground truth videos have no prediction" in note for note in prepared.notes)
        value = segment_mean_average_precisions(prepared.truth, prepared.predictions, (0.5,))[0]
        assert value == pytest.approx((1 + 0.5 + 0) / 3)


@pytest.mark.parametrize("map_given", [False, True])
def test_corrected_scores_all_videos(map_given):
    for truth, label_map in both(map_given):
        prepared = apply_protocol(truth_of(truth), predictions_of(PREDICTIONS), label_map=label_map)
        assert labels(prepared.truth) == ["5", "7", "9", "7"]
        assert prepared.unpredicted.tolist() == [False, False, True, True]
        assert len(prepared.left_out) == 0
        assert any(
            "1 of 2 ground truth videos have no prediction; their segments count as not found: b." in n
            for n in prepared.notes
        )
        value = segment_mean_average_precisions(prepared.truth, prepared.predictions, (0.5,))
        assert value.tolist() == pytest.approx([(1 + 0.5 + 0) / 3])


@pytest.mark.parametrize("map_given", [False, True])
def test_corrected_scores_the_predicted_videos_when_asked(map_given):
    for truth, label_map in both(map_given):
        prepared = apply_protocol(
            truth_of(truth), predictions_of(PREDICTIONS), videos="predicted", label_map=label_map
        )
        assert prepared.protocol == "corrected"
        assert labels(prepared.truth) == ["5", "7"]
        assert prepared.kept.tolist() == [True, True, False, False]
        assert prepared.counts["ground truth segments left out"] == len(prepared.left_out) == 2
        assert not prepared.unpredicted.any()
        assert any("left out as not evaluated: b." in note for note in prepared.notes)
        assert segment_mean_average_precisions(prepared.truth, prepared.predictions, (0.5,)).tolist() == [1.0]


def test_corrected_with_a_list_of_videos():
    prepared = apply_protocol(truth_of(TRUTH), predictions_of(PREDICTIONS), videos=["a", "b"])
    assert len(prepared.truth) == 4
    assert any(
        "1 listed videos have no prediction; their segments count as not found: b" in n
        for n in prepared.notes
    )
    prepared = apply_protocol(truth_of(TRUTH), predictions_of(PREDICTIONS), videos=["b"])
    assert labels(prepared.truth) == ["9", "7"]
    assert len(prepared.predictions) == 0
    assert prepared.counts["predictions outside the list"] == 4


def test_a_listed_video_without_ground_truth_holds_false_positives_only():
    more = [*PREDICTIONS, ("c", 0, 10, "5", 1.0)]
    listed = apply_protocol(truth_of(TRUTH), predictions_of(more), videos=["a", "c"])
    assert segment_mean_average_precisions(listed.truth, listed.predictions, (0.5,)).tolist() == [0.75]
    assert any("no ground truth; every prediction there is false: c" in n for n in listed.notes)
    unlisted = apply_protocol(truth_of(TRUTH), predictions_of(more), videos="predicted")
    assert segment_mean_average_precisions(unlisted.truth, unlisted.predictions, (0.5,)).tolist() == [1.0]
    assert unlisted.counts["predictions in videos without ground truth"] == 1
    assert any(
        "1 predictions are in 1 videos without ground truth and were left out: c" in n for n in unlisted.notes
    )
    looked_at = truth_of(TRUTH, videos=["c"])  # nothing was found there
    known = apply_protocol(looked_at, predictions_of(more), videos="predicted")
    assert segment_mean_average_precisions(known.truth, known.predictions, (0.5,)).tolist() == [0.75]
    whole = apply_protocol(truth_of(TRUTH), predictions_of(more), "activitynet")
    assert any("without ground truth and count as false positives: c" in n for n in whole.notes)
    assert len(whole.predictions) == 3


def test_when_all_agrees_the_protocols_do_too():
    predictions = [(*row, 0.5) for row in TRUTH]
    for protocol in PROTOCOLS:
        prepared = apply_protocol(truth_of(TRUTH), predictions_of(predictions), protocol)
        assert segment_mean_average_precisions(prepared.truth, prepared.predictions).tolist() == [1.0] * 5
        assert prepared.notes == ()


def test_published_sorts_numbers_by_value_and_leaves_words_alone():
    truth = [("a", 0, 1, "10"), ("a", 2, 3, "9")]
    prepared = apply_protocol(truth_of(truth), predictions_of([("a", 0, 1, "0", 0.5)]), "published")
    assert labels(prepared.truth) == ["1", "0"]
    words = apply_protocol(
        truth_of([("a", 0, 1, "pour"), ("a", 2, 3, "cut")]),
        predictions_of([("a", 0, 1, "pour", 0.5), ("a", 0, 1, "stir", 0.5)]),
        "published",
    )
    assert labels(words.truth) == ["1", "0"]
    assert labels(words.predictions) == ["1", "stir"]
    numbers = apply_protocol(
        Segments.of(["a"], [0], [1], [9]),
        Segments.of(["a", "a"], [0, 0], [1, 1], [9, 0], [0.5, 0.6]),
        "published",
    )
    assert labels(numbers.predictions) == [0, 0]
    assert numbers.counts["predictions colliding with another class"] == 1


def test_whether_the_ground_truth_is_raw_is_found_out_and_said():
    raw = apply_protocol(truth_of(TRUTH), predictions_of(PREDICTIONS), label_map=MAP)
    assert "The ground truth holds raw labels (all are keys of the label map)." in raw.notes
    new = apply_protocol(truth_of(RENUMBERED), predictions_of(PREDICTIONS), label_map=MAP)
    assert "The ground truth holds renumbered labels (all are values of the label map)." in new.notes


def test_labels_that_fit_both_ways_are_decided_by_the_overlap_of_predictions():
    crossed = {"1": "2", "2": "1"}
    predictions = predictions_of([("a", 0, 10, "1", 0.5), ("a", 20, 30, "2", 0.5)])
    raw, new = [("a", 0, 10, "1"), ("a", 20, 30, "2")], [("a", 0, 10, "2"), ("a", 20, 30, "1")]
    for truth, word in ((raw, "read as raw"), (new, "read as renumbered")):
        prepared = apply_protocol(truth_of(truth), predictions, label_map=crossed)
        assert labels(prepared.truth) == ["1", "2"]
        assert any(word in note for note in prepared.notes)
    undecided = apply_protocol(truth_of(raw), predictions_of([("a", 90, 91, "1", 0.5)]), label_map=crossed)
    assert any("read as raw" in note for note in undecided.notes)
    same = apply_protocol(truth_of(raw), predictions, label_map={"1": "1", "2": "2", "3": "0"})
    assert any("leaves the labels of the ground truth as they are" in note for note in same.notes)


def test_a_map_of_something_else():
    with pytest.raises(
        MetricInputError, match=r"neither as raw labels \(9 is no key\) nor .* \(5, 7, 9 are no value\)"
    ):
        apply_protocol(truth_of(TRUTH), predictions_of(PREDICTIONS), label_map={"5": "0", "7": "1"})
    with pytest.raises(MetricInputError, match="gives '0' to more than one label"):
        apply_protocol(truth_of(TRUTH), predictions_of(PREDICTIONS), label_map={"5": "0", "7": "0", "9": "1"})


def renumbered_case(classes, predicted):
    truth = [("a", k, k + 1, str(k)) for k in range(classes)]
    return truth_of(truth), predictions_of([("a", k, k + 1, str(p), 0.5) for k, p in enumerate(predicted)])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_ground_truth_that_was_visibly_renumbered_is_refused_without_a_map(protocol):
    truth, predictions = renumbered_case(20, range(1, 25))
    with pytest.raises(
        MetricInputError, match=r"exactly 0 to 19, .* 5 of 24 predicted labels lie above, up to 24"
    ):
        apply_protocol(truth, predictions, protocol)
    itself = {str(k): str(k) for k in range(25)}
    assert len(apply_protocol(truth, predictions, protocol, label_map=itself).truth) == 20


def test_doubtful_numbering_is_noted_only():
    truth, predictions = renumbered_case(20, range(22))  # 0 is predicted
    assert any(note.startswith("Beware: the labels") for note in apply_protocol(truth, predictions).notes)
    truth, predictions = renumbered_case(3, [1, 2, 3])  # few classes
    assert any(note.startswith("Beware: the labels") for note in apply_protocol(truth, predictions).notes)
    truth, predictions = renumbered_case(3, [0, 1, 2])
    assert apply_protocol(truth, predictions).notes == ()


def test_nothing_in_common():
    prepared = apply_protocol(truth_of(TRUTH), predictions_of([("a", 0, 10, "pour", 0.5)]))
    assert any(
        "no predicted label occurs in the ground truth (pour against 5, 7, 9)" in n for n in prepared.notes
    )
    assert not segment_mean_average_precisions(prepared.truth, prepared.predictions).any()
    with pytest.raises(
        MetricInputError, match=r"none of the predicted videos has ground truth .*example z; .* a, b"
    ):
        apply_protocol(truth_of(TRUTH), predictions_of([("z", 0, 10, "5", 0.5)]))
    with pytest.raises(MetricInputError, match="none of the listed videos"):
        apply_protocol(truth_of(TRUTH), predictions_of(PREDICTIONS), videos=["z"])


def test_names_are_trimmed_and_near_misses_named():
    spaced = [(f" {v} ", a, b, f"{c} ", s) for v, a, b, c, s in PREDICTIONS]
    expected = apply_protocol(truth_of(TRUTH), predictions_of(PREDICTIONS))
    prepared = apply_protocol(truth_of(TRUTH), predictions_of(spaced), videos=None)
    assert (prepared.counts, prepared.notes) == (expected.counts, expected.notes)
    assert len(apply_protocol(truth_of(TRUTH), predictions_of(spaced), videos=["a "]).predictions) == 2
    near = [*PREDICTIONS, ("B", 0, 10, "9", 0.9), ("b.mp4", 20, 30, "7", 0.9)]
    notes = apply_protocol(truth_of(TRUTH), predictions_of(near)).notes
    assert any("'B' (reference: 'b'), 'b.mp4' (reference: 'b')" in note for note in notes)
    with pytest.raises(MetricInputError, match=r"'A' \(reference: 'a'\)"):
        apply_protocol(truth_of(TRUTH), predictions_of([("A", 0, 10, "5", 0.5)]))


def test_no_predictions_at_all():
    for protocol in PROTOCOLS:
        prepared = apply_protocol(truth_of(TRUTH), predictions_of([]), protocol)
        assert not segment_mean_average_precisions(prepared.truth, prepared.predictions).any()
        assert any("2 of 2 ground truth videos have no prediction" in n for n in prepared.notes)
    with pytest.raises(MetricInputError, match="none of the predicted videos"):
        apply_protocol(truth_of(TRUTH), predictions_of([]), videos="predicted")
    listed = apply_protocol(truth_of(TRUTH), predictions_of([]), videos=["a"])
    assert not segment_mean_average_precisions(listed.truth, listed.predictions).any()


def test_what_cannot_be_asked():
    with pytest.raises(
        MetricInputError, match="no protocol 'official'; choose one of published, activitynet"
    ):
        apply_protocol(truth_of(TRUTH), predictions_of(PREDICTIONS), "official")
    with pytest.raises(MetricInputError, match="keeps the ground truth of all videos, but a list"):
        apply_protocol(truth_of(TRUTH), predictions_of(PREDICTIONS), "published", videos=["a"])
    with pytest.raises(
        MetricInputError, match="videos is the text 'a'; give a list of names, or 'predicted'"
    ):
        apply_protocol(truth_of(TRUTH), predictions_of(PREDICTIONS), videos="a")
    with pytest.raises(MetricInputError, match="the ground truth has no segments"):
        apply_protocol(truth_of([]), predictions_of(PREDICTIONS))


def test_long_lists_of_names_are_cut():
    truth = [(f"v{k}", 0, 1, "x") for k in range(30)]
    prepared = apply_protocol(truth_of(truth), predictions_of([("v3", 0, 1, "x", 0.5)]))
    assert any("v0, v1, v10, v11, v12, v13, v14, v15 and 21 more" in note for note in prepared.notes)


def test_order_of_the_rows_changes_nothing():
    rng = np.random.default_rng(0)
    for protocol in PROTOCOLS:
        first = apply_protocol(truth_of(TRUTH), predictions_of(PREDICTIONS), protocol)
        for _ in range(3):
            again = apply_protocol(
                truth_of([TRUTH[k] for k in rng.permutation(4)]),
                predictions_of([PREDICTIONS[k] for k in rng.permutation(4)]),
                protocol,
            )
            assert (again.counts, again.notes) == (first.counts, first.notes)
            assert sorted(labels(again.truth)) == sorted(labels(first.truth))
