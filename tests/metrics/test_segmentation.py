import itertools
import math
import random

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix

from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Signature, require_comparable
from proctor.metrics.segmentation import (
    METRICS,
    OVERLAPS,
    edit_distance,
    edit_score,
    frame_accuracy,
    frame_confusion,
    frames_from_segments,
    majority_prediction,
    over_segmentation_ratio,
    random_prediction,
    segment_boundary_errors,
    segmental_f1,
    segmentation_scores,
    segmentation_statistics,
)

LABELS = "ABC_"


def video(text):
    return list(text)


def videos(*texts):
    return [video(text) for text in texts]


# The definitions, word for word, without any of the tricks of the module.


def plain_segments(labels, background=()):
    out = []
    for label, frames in itertools.groupby(range(len(labels)), key=lambda i: labels[i]):
        where = list(frames)
        if label not in background:
            out.append((where[0], where[-1] + 1, label))
    return out


def plain_iou(a, b):
    shared = min(a[1], b[1]) - max(a[0], b[0])
    return 0.0 if shared <= 0 else shared / (a[1] - a[0] + b[1] - b[0] - shared)


def plain_counts(gt, pred, overlap, background=()):
    """The published rule: each prediction in the order of time asks its best reference segment."""
    tp = fp = 0
    wanted_all = 0
    for reference, predicted in zip(gt, pred, strict=True):
        wanted = plain_segments(reference, background)
        used = [False] * len(wanted)
        for segment in plain_segments(predicted, background):
            scores = [plain_iou(segment, w) if w[2] == segment[2] else 0.0 for w in wanted]
            best = max(range(len(wanted)), key=lambda i: (scores[i], -i), default=None)
            if best is not None and scores[best] >= overlap and not used[best]:
                used[best] = True
                tp += 1
            else:
                fp += 1
        wanted_all += len(wanted)
    return tp, fp, wanted_all - tp


def largest_matching(gt, pred, overlap, background=()):
    total = 0
    for reference, predicted in zip(gt, pred, strict=True):
        graph = networkx.Graph()
        for i, w in enumerate(plain_segments(reference, background)):
            for j, p in enumerate(plain_segments(predicted, background)):
                if w[2] == p[2] and plain_iou(w, p) >= overlap:
                    graph.add_edge(("w", i), ("p", j))
        total += len(networkx.max_weight_matching(graph, maxcardinality=True))
    return total


def plain_edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def blocks(draw_from=LABELS, most=8):
    """Videos made of runs, so that segments of more than one frame are common."""
    run = st.tuples(st.sampled_from(draw_from), st.integers(1, 5))
    return st.lists(run, min_size=1, max_size=most).map(lambda runs: "".join(c * n for c, n in runs))


@st.composite
def pairs_of_videos(draw):
    count = draw(st.integers(1, 3))
    gt, pred = [], []
    for _ in range(count):
        a, b = draw(blocks()), draw(blocks())
        n = min(len(a), len(b))
        gt.append(video(a[:n]))
        pred.append(video(b[:n]))
    return gt, pred


BACKGROUNDS = st.sampled_from([(), ("_",)])


# Perfect


def test_perfect_predictions_score_1_everywhere():
    gt = videos("AAABBC", "A", "___")
    assert float(frame_accuracy(gt, gt)) == 1.0
    assert float(frame_accuracy(gt, gt, background=["_"], average="videos")) == 1.0
    assert float(edit_score(gt, gt, background=["_"])) == 1.0
    for overlap in (*OVERLAPS, 1.0):
        for matching in ("published", "corrected"):
            assert float(segmental_f1(gt, gt, overlap=overlap, background=["_"], matching=matching)) == 1.0
    assert float(over_segmentation_ratio(gt, gt)) == 1.0
    errors = segment_boundary_errors(gt, gt, rate=10)
    assert errors.start.tolist() == errors.end.tolist() == [0.0] * 5
    assert errors.video.tolist() == [0, 0, 0, 1, 2]


def test_all_wrong_scores_0_and_nothing_is_matched():
    gt, pred = videos("AABB"), videos("CCCC")
    assert float(frame_accuracy(gt, pred)) == 0.0
    assert float(edit_score(gt, pred)) == 0.0
    assert float(segmental_f1(gt, pred, overlap=0.1)) == 0.0
    assert len(segment_boundary_errors(gt, pred).start) == 0


# Worked by hand


def test_frame_accuracy_by_hand():
    gt, pred = videos("AAAA____", "BB"), videos("AAB_____", "AA")
    assert float(frame_accuracy(gt, pred)) == pytest.approx(6 / 10)
    assert float(frame_accuracy(gt, pred, average="videos")) == pytest.approx((0.75 + 0) / 2)
    assert float(frame_accuracy(gt, pred, background=["_"])) == pytest.approx(2 / 6)
    # A video that is all background has no frame left, so it is not in the mean without background.
    assert float(
        frame_accuracy([*gt, video("__")], [*pred, video("__")], background=["_"], average="videos")
    ) == (pytest.approx((0.5 + 0) / 2))


def test_edit_score_by_hand():
    # A B C against A C: one deletion of three.
    assert float(edit_score(videos("AABBCC"), videos("AAACCC"))) == pytest.approx(1 - 1 / 3)
    # Mean over videos, not pooled.
    assert float(edit_score(videos("AABBCC", "A"), videos("AAACCC", "A"))) == pytest.approx((2 / 3 + 1) / 2)
    # Background is removed without joining what it parts: A _ A stays two segments.
    assert float(edit_score(videos("A_A"), videos("AAA"), background=["_"])) == pytest.approx(0.5)
    assert float(edit_score(videos("A_A"), videos("AAA"))) == pytest.approx(1 - 2 / 3)


def test_edit_of_times_only_is_perfect():
    assert float(edit_score(videos("AAAAAAB"), videos("ABBBBBB"))) == 1.0


def test_the_published_f1_by_hand():
    # Predicted A [0,2) has IoU .5 with A [0,4); B [2,8) has 4/6 with B [4,8).
    gt, pred = videos("AAAABBBB"), videos("AABBBBBB")
    assert float(segmental_f1(gt, pred, overlap=0.5)) == 1.0
    assert float(segmental_f1(gt, pred, overlap=0.6)) == pytest.approx(0.5)
    assert float(segmental_f1(gt, pred, overlap=0.7)) == 0.0
    # Flicker: the second of two predictions inside one reference segment is false.
    assert float(segmental_f1(videos("AAAAAAAA"), videos("AAABAAAA"), overlap=0.1)) == pytest.approx(2 / 4)
    # Counts are summed over videos before F1 is computed.
    assert float(segmental_f1([*gt, video("CCC")], [*pred, video("AAA")], overlap=0.5)) == pytest.approx(
        4 / 6
    )


def test_a_tie_goes_to_the_earlier_reference_segment():
    # A [4,9) shares two frames each with A [0,6) and A [7,13). It takes the first, so the second is left for A [10,13).
    gt, pred = videos("AAAAAABAAAAAA"), videos("CCCCAAAAACAAA")
    stats = segmentation_statistics(gt, pred, overlaps=[0.1])
    assert stats.found.tolist() == [[2]]
    assert plain_counts(gt, pred, 0.1) == (2, 2, 1)


def test_the_defect_of_the_published_f1_and_its_correction():
    # p1 = A[0,3) takes g1 = A[0,10). p2 = A[4,16) prefers g1 (6/16) to g2 = A[11,21) (5/17), and g1 is taken.
    gt = videos("A" * 10 + "B" + "A" * 10)
    pred = videos("AAA" + "B" + "A" * 12 + "C" * 5)
    assert plain_counts(gt, pred, 0.25) == (1, 3, 2)
    assert float(segmental_f1(gt, pred, overlap=0.25)) == pytest.approx(2 * 1 / 7)
    assert float(segmental_f1(gt, pred, overlap=0.25, matching="corrected")) == pytest.approx(2 * 2 / 7)


def test_boundary_errors_by_hand():
    gt, pred = videos("AAAABBBB__", "CCCC"), videos("AABBBBBBBB", "CCC_")
    errors = segment_boundary_errors(gt, pred, rate=2.0, background=["_"])
    assert errors.video.tolist() == [0, 0, 1]
    assert errors.start.tolist() == [0.0, -1.0, 0.0]
    assert errors.end.tolist() == [-1.0, 1.0, -0.5]
    assert (errors.unit, errors.wanted, errors.given) == ("s", 3, 3)
    assert segment_boundary_errors(gt, pred, background=["_"]).end.tolist() == [-2.0, 2.0, -1.0]
    assert segment_boundary_errors(gt, pred, overlap=0.7, background=["_"]).video.tolist() == [1]


def test_boundaries_are_matched_by_the_largest_sum_of_overlaps():
    # One long prediction over two reference segments of its label goes to the longer one.
    errors = segment_boundary_errors(videos("AABAAAA"), videos("AAAAAAA"))
    assert (errors.start.tolist(), errors.end.tolist()) == ([-3.0], [0.0])


def test_over_segmentation_by_hand():
    assert float(over_segmentation_ratio(videos("AAAA__"), videos("ABAB__"))) == pytest.approx(5 / 2)
    assert float(over_segmentation_ratio(videos("AAAA__"), videos("ABAB__"), background=["_"])) == 4.0


# Empty, one frame, all background


def test_empty_videos_hold_nothing_to_score():
    gt, pred = videos("AB", ""), videos("AB", "")
    assert float(edit_score(gt, pred)) == 1.0
    assert float(frame_accuracy(gt, pred, average="videos")) == 1.0
    scores = dict(segmentation_scores(segmentation_statistics(gt, pred), resamples=0))
    assert (scores["Edit"].n, scores["Edit"].skipped, scores["Edit"].total) == (1, 1, 2)


def test_no_video_at_all():
    scores = dict(segmentation_scores(segmentation_statistics([], [])))
    assert {score.note for score in scores.values()} == {"no video was scored"}
    assert all(math.isnan(score.value) for score in scores.values())
    with pytest.raises(MetricInputError, match="no frame is left"):
        float(frame_accuracy([], []))
    with pytest.raises(MetricInputError, match="no video has a frame"):
        float(edit_score([], []))
    assert majority_prediction([[]])[0].tolist() == []
    assert random_prediction([[]], np.random.default_rng(0))[0].tolist() == []


def test_one_frame():
    assert float(frame_accuracy([["A"]], [["B"]])) == 0.0
    assert float(segmental_f1([["A"]], [["A"]])) == 1.0
    assert float(edit_score([["A"]], [["B"]])) == 0.0


def test_all_background_is_defined_or_says_why_not():
    gt = pred = videos("____")
    assert float(frame_accuracy(gt, pred)) == 1.0
    assert float(edit_score(gt, pred, background=["_"])) == 1.0
    with pytest.raises(MetricInputError, match="no frame is left to score"):
        float(frame_accuracy(gt, pred, background=["_"]))
    with pytest.raises(MetricInputError, match="neither side has a segment"):
        float(segmental_f1(gt, pred, background=["_"]))
    with pytest.raises(MetricInputError, match="the reference has no segment"):
        float(over_segmentation_ratio(gt, videos("AAAA"), background=["_"]))
    scores = dict(segmentation_scores(segmentation_statistics(gt, pred, background=["_"])))
    assert scores["MoF-bg"].note == "all frames of the reference are background"
    assert scores["F1@50"].note == "neither side has a segment"
    assert scores["segments ratio"].note == "the reference has no segment"
    assert scores["start off, mean (frames)"].note == "no segment overlaps one of its label by 0.1"
    assert scores["MoF"].value == scores["Edit"].value == 1.0


def test_predicting_only_background_scores_0_not_nothing():
    gt, pred = videos("AABB"), videos("____")
    assert float(segmental_f1(gt, pred, background=["_"])) == 0.0
    assert float(edit_score(gt, pred, background=["_"])) == 0.0
    assert float(over_segmentation_ratio(gt, pred, background=["_"])) == 0.0


# Invalid


@pytest.mark.parametrize(
    ("gt", "pred", "message"),
    [
        ([["A"]], [["A"], ["B"]], "1 videos in the reference, 2 in the prediction"),
        ([["A", "B"]], [["A"]], "video 0 has 2 frames in the reference and 1 in the prediction"),
        (["A", "B"], ["A", "B"], "video 0 of the reference is no 1-D array"),
        ("AB", "AB", "the reference is a text"),
        ([[["A"]]], [[["A"]]], "is no 1-D array"),
        ([[["A"], ["A", "B"]]], [["A"]], "is no 1-D array"),
        ([["A", None]], [["A", "B"]], "video 0 of the reference holds labels of type NoneType"),
        ([["A", math.nan]], [["A", "B"]], "labels of type float"),
        ([["A"]], [[math.nan]], "video 0 of the prediction holds numbers that are no labels"),
        ([[1.5]], [[1]], "numbers that are no labels"),
        ([[1 + 2j]], [[1]], "labels of type complex"),
        ([np.array([b"A"])], [["A"]], "labels of type"),
        ([{"A": 1}], [["A"]], "no 1-D array"),
    ],
)
def test_wrong_labels_are_named(gt, pred, message):
    with pytest.raises(MetricInputError, match=message):
        segmentation_statistics(gt, pred)


@pytest.mark.parametrize("overlap", [0, -0.1, 1.1, math.nan, 10, 25])
def test_an_overlap_lies_between_0_and_1(overlap):
    with pytest.raises(MetricInputError, match="an overlap is an IoU"):
        float(segmental_f1([["A"]], [["A"]], overlap=overlap))
    with pytest.raises(MetricInputError, match="an overlap is an IoU"):
        segment_boundary_errors([["A"]], [["A"]], overlap=overlap)


def test_wrong_options_are_named():
    with pytest.raises(MetricInputError, match="a matching is one of published, corrected"):
        float(segmental_f1([["A"]], [["A"]], matching="best"))
    with pytest.raises(MetricInputError, match="background is the text"):
        float(edit_score([["A"]], [["A"]], background="A"))
    for rate in (0, -1, math.nan, math.inf):
        with pytest.raises(MetricInputError, match="frames per second above 0"):
            segment_boundary_errors([["A"]], [["A"]], rate=rate)


# Segments to frames


def test_segments_become_frames_by_the_half_open_rule():
    frames = frames_from_segments([0.5, 1.0], [1.0, 1.75], ["A", "B"], rate=4, frames=9)
    assert "".join(name[0] for name in frames) == "bbAABBBbb"
    assert set(frames) == {"A", "B", "background"}


def test_times_that_floats_cannot_hold_are_meant():
    # 0.1 s * 30 is 3.0000000000000004, yet frame 3 belongs to the segment.
    frames = frames_from_segments([0.1], [0.3], ["A"], rate=30, frames=12)
    assert np.flatnonzero(frames == "A").tolist() == [3, 4, 5, 6, 7, 8]


def test_segments_outside_and_between_frames():
    frames = frames_from_segments([0.1, 5.0], [0.2, 9.0], ["A", "B"], rate=1, frames=6, background="_")
    assert "".join(frames) == "_____B"
    assert frames_from_segments([], [], [], rate=1, frames=2, background="_").tolist() == ["_", "_"]


def test_overlapping_segments_need_a_decision():
    times = ([0, 2], [4, 6])
    with pytest.raises(MetricInputError, match=r"segment 1 \(B, 2 to 6 s\) overlaps"):
        frames_from_segments(*times, ["A", "B"], rate=1, frames=6)
    assert "".join(frames_from_segments(*times, ["A", "B"], rate=1, frames=6, conflict="later")) == "AABBBB"
    assert "".join(frames_from_segments(*times, ["A", "A"], rate=1, frames=6)) == "AAAAAA"


@pytest.mark.parametrize(
    ("start", "end", "label", "rate", "frames", "message"),
    [
        ([0], [math.nan], ["A"], 1, 1, "not finite"),
        ([0], [1], ["A", "B"], 1, 1, "2 labels for 1 segments"),
        ([-1], [1], ["A"], 1, 1, "segment 0 goes from -1 to 1"),
        ([2], [1], ["A"], 1, 1, "segment of row 0 ends at 1 s, before its start at 2 s"),
        ([0], [1], ["A"], 0, 1, "frames per second above 0"),
        ([0], [1], ["A"], 1, -1, "no -1 frames"),
        ([0, 1], [1], ["A"], 1, 1, "parallel"),
    ],
)
def test_wrong_segments_are_named(start, end, label, rate, frames, message):
    with pytest.raises(MetricInputError, match=message):
        frames_from_segments(start, end, label, rate=rate, frames=frames)


@given(blocks())
def test_frames_to_segments_and_back(text):
    runs = [(label, len(list(run))) for label, run in itertools.groupby(text)]
    end, rate = np.cumsum([length for _, length in runs]), 29.97
    start = end - [length for _, length in runs]
    labels = [label for label, _ in runs]
    again = frames_from_segments(start / rate, end / rate, labels, rate=rate, frames=len(text))
    assert "".join(again) == text


# Against the definitions


@settings(max_examples=120)
@given(pairs_of_videos(), st.sampled_from([0.1, 0.25, 0.5, 0.75]), BACKGROUNDS)
def test_the_published_f1_is_the_definition(data, overlap, background):
    gt, pred = data
    tp, fp, fn = plain_counts(gt, pred, overlap, background)
    stats = segmentation_statistics(gt, pred, overlaps=[overlap], background=background)
    assert stats.found.sum() == tp
    assert (stats.given.sum() - tp, stats.wanted.sum() - tp) == (fp, fn)
    if tp + fp + fn:
        value = float(segmental_f1(gt, pred, overlap=overlap, background=background))
        assert value == pytest.approx(2 * tp / (2 * tp + fp + fn), abs=1e-14)


@settings(max_examples=100)
@given(pairs_of_videos(), st.sampled_from([0.05, 0.1, 0.25, 0.5]), BACKGROUNDS)
def test_the_corrected_f1_is_a_largest_matching(data, overlap, background):
    gt, pred = data
    stats = segmentation_statistics(gt, pred, overlaps=[overlap], background=background, matching="corrected")
    assert stats.found.sum() == largest_matching(gt, pred, overlap, background)
    published = segmentation_statistics(gt, pred, overlaps=[overlap], background=background)
    assert (stats.found >= published.found).all()
    if overlap == 0.5:
        assert (stats.found == published.found).all()


@settings(max_examples=70)
@given(pairs_of_videos(), st.sampled_from([0.01, 0.1, 0.3]))
def test_boundaries_have_the_largest_sum_of_overlaps(data, overlap):
    gt, pred = data
    total = 0.0
    for reference, predicted in zip(gt, pred, strict=True):
        graph = networkx.Graph()
        for i, w in enumerate(plain_segments(reference)):
            for j, p in enumerate(plain_segments(predicted)):
                if w[2] == p[2] and (iou := plain_iou(w, p)) >= overlap:
                    graph.add_edge(("w", i), ("p", j), weight=iou)
        total += sum(graph.edges[e]["weight"] for e in networkx.max_weight_matching(graph))
    errors = segment_boundary_errors(gt, pred, overlap=overlap)
    assert errors.iou.sum() == pytest.approx(total)
    assert (errors.iou >= overlap).all()


@settings(max_examples=120)
@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=12))
def test_the_edit_distance_is_the_definition(a, b):
    assert edit_distance(a, b) == plain_edit_distance(a, b) == edit_distance(b, a)


def test_the_edit_distance_of_long_sequences():
    draw = random.Random(3)
    a = [draw.randrange(8) for _ in range(400)]
    b = [draw.randrange(8) for _ in range(333)]
    assert edit_distance(a, b) == plain_edit_distance(a, b)


@given(pairs_of_videos(), BACKGROUNDS)
def test_the_edit_score_is_the_definition(data, background):
    gt, pred = data
    values = []
    for reference, predicted in zip(gt, pred, strict=True):
        a, b = ([s[2] for s in plain_segments(x, background)] for x in (reference, predicted))
        longer = max(len(a), len(b))
        values.append(1 - plain_edit_distance(a, b) / longer if longer else 1.0)
    assert float(edit_score(gt, pred, background=background)) == pytest.approx(sum(values) / len(values))


@given(pairs_of_videos())
def test_frame_scores_agree_with_scikit_learn(data):
    gt, pred = data
    flat, other = list(itertools.chain(*gt)), list(itertools.chain(*pred))
    assert float(frame_accuracy(gt, pred)) == pytest.approx(accuracy_score(flat, other))
    labels, cells = frame_confusion(gt, pred)
    assert labels == tuple(sorted({*flat, *other}))
    if len(labels) > 1:  # scikit-learn warns of a single label
        assert cells.tolist() == confusion_matrix(flat, other, labels=list(labels)).tolist()
    assert cells.sum() == len(flat)


# Invariances and bounds


def all_values(gt, pred, background=()):
    scores = segmentation_scores(
        segmentation_statistics(gt, pred, background=background, rate=10), resamples=0
    )
    return {label: None if math.isnan(score.value) else round(score.value, 9) for label, score in scores}


@settings(max_examples=60)
@given(pairs_of_videos(), st.permutations(LABELS))
def test_the_names_of_labels_do_not_matter(data, names):
    new = dict(zip(LABELS, names, strict=True))
    renamed = [[[new[c] for c in v] for v in side] for side in data]
    assert all_values(*data, ["_"]) == all_values(*renamed, [new["_"]])


@settings(max_examples=60)
@given(pairs_of_videos())
def test_texts_numbers_and_arrays_are_the_same(data):
    gt, pred = data
    code = {c: i for i, c in enumerate(LABELS)}
    numbers = [[[code[c] for c in v] for v in side] for side in data]
    expected = all_values(gt, pred, ["_"])
    assert all_values(*numbers, [3]) == expected
    assert all_values(*[[np.array(v, dtype=np.int16) for v in side] for side in numbers], ["3"]) == expected
    assert all_values(*[[np.array(v, dtype=float) for v in side] for side in numbers], [3]) == expected
    assert all_values([np.array(v, dtype=object) for v in gt], [tuple(v) for v in pred], ["_"]) == expected
    assert all_values(numbers[0], [[str(x) for x in v] for v in numbers[1]], ["3"]) == expected


@settings(max_examples=60)
@given(pairs_of_videos(), st.randoms())
def test_the_order_of_videos_does_not_matter(data, draw):
    rows = list(zip(*data, strict=True))
    draw.shuffle(rows)
    shuffled = [list(side) for side in zip(*rows, strict=True)]
    assert all_values(*data, ["_"]) == all_values(*shuffled, ["_"])


@settings(max_examples=60)
@given(pairs_of_videos())
def test_backwards_in_time_changes_nothing_but_ties(data):
    backwards = [[v[::-1] for v in side] for side in data]
    for matching in ("corrected",):
        for overlap in OVERLAPS:
            a = segmentation_statistics(*data, overlaps=[overlap], matching=matching)
            b = segmentation_statistics(*backwards, overlaps=[overlap], matching=matching)
            assert a.found.tolist() == b.found.tolist()
    assert float(edit_score(*data)) == pytest.approx(float(edit_score(*backwards)))


@settings(max_examples=60)
@given(pairs_of_videos(), st.integers(2, 4))
def test_a_higher_rate_changes_no_score(data, times):
    finer = [[[c for c in v for _ in range(times)] for v in side] for side in data]
    first, second = (segmentation_statistics(*d, background=["_"]) for d in (data, finer))
    assert first.found.tolist() == second.found.tolist()
    assert first.edit.tolist() == second.edit.tolist()
    assert (first.correct * times).tolist() == second.correct.tolist()
    errors = first.boundaries, second.boundaries
    assert (errors[0].start * times).tolist() == errors[1].start.tolist()


@settings(max_examples=60)
@given(pairs_of_videos(), BACKGROUNDS)
def test_bounds_and_monotonicity(data, background):
    values = all_values(*data, background)
    for label, value in values.items():
        if value is not None and "off" not in label and label != "segments ratio":
            assert 0 <= value <= 1
    if values["F1@10"] is not None:
        assert values["F1@10"] >= values["F1@25"] >= values["F1@50"]


@settings(max_examples=40)
@given(pairs_of_videos(), BACKGROUNDS)
def test_statistics_are_the_single_functions(data, background):
    gt, pred = data
    values = all_values(gt, pred, background)
    assert values["MoF"] == pytest.approx(float(frame_accuracy(gt, pred)), abs=1e-8)
    assert values["MoF/video"] == pytest.approx(float(frame_accuracy(gt, pred, average="videos")), abs=1e-8)
    assert values["Edit"] == pytest.approx(float(edit_score(gt, pred, background=background)), abs=1e-8)
    for overlap in OVERLAPS:
        if (value := values[f"F1@{100 * overlap:g}"]) is not None:
            assert value == pytest.approx(
                float(segmental_f1(gt, pred, overlap=overlap, background=background)), abs=1e-8
            )
    if values["segments ratio"] is not None:
        ratio = float(over_segmentation_ratio(gt, pred, background=background))
        assert values["segments ratio"] == pytest.approx(ratio, abs=1e-8)
    errors = segment_boundary_errors(gt, pred, rate=10, background=background)
    for side, signed in (("start", errors.start), ("end", errors.end)):
        if len(signed):
            off = np.abs(signed)
            for name, expected in (
                ("median", np.median(off)),
                ("mean", off.mean()),
                ("p90", np.quantile(off, 0.9)),
            ):
                assert values[f"{side} off, {name} (s)"] == pytest.approx(expected, abs=1e-8)


# Chance and intervals


def test_the_majority_is_of_frames_and_ties_go_to_the_first_name():
    gt = videos("AABBB", "A")
    assert [v.tolist() for v in majority_prediction(gt)] == [["A"] * 5, ["A"]]
    assert float(frame_accuracy(gt, majority_prediction(gt))) == pytest.approx(0.5)
    assert [v.tolist() for v in majority_prediction([[4, 4, 2]])] == [[4, 4, 4]]


def test_random_predictions_are_uniform_over_the_labels_and_seeded():
    gt = [["A"] * 6000 + ["B"] * 3000 + ["C"] * 3000, ["A"]]
    pred = random_prediction(gt, np.random.default_rng(5))
    assert [len(v) for v in pred] == [12000, 1]
    shares = [(pred[0] == label).mean() for label in "ABC"]
    assert shares == pytest.approx([1 / 3] * 3, abs=0.02)
    assert float(frame_accuracy(gt, pred)) == pytest.approx(1 / 3, abs=0.02)
    again = random_prediction(gt, np.random.default_rng(5))
    assert all((a == b).all() for a, b in zip(pred, again, strict=True))


def many_videos(n=40):
    draw = np.random.default_rng(1)
    gt, pred = [], []
    for _ in range(n):
        runs = draw.integers(3, 12, size=8)
        a = np.repeat(draw.choice(list(LABELS), size=8), runs)
        b = a.copy()
        b[draw.random(len(b)) < draw.uniform(0, 0.3)] = "A"
        gt.append(a)
        pred.append(b)
    return gt, pred


def test_intervals_hold_the_value_and_depend_on_the_seed_only():
    stats = segmentation_statistics(*many_videos(), background=["_"], rate=10)
    first = segmentation_scores(stats, resamples=400, seed=3, failed=2, skipped=1)
    assert first == segmentation_scores(stats, resamples=400, seed=3, failed=2, skipped=1)
    assert first != segmentation_scores(stats, resamples=400, seed=4, failed=2, skipped=1)
    for label, score in first:
        assert score.low <= score.value <= score.high, label
        assert (score.n, score.failed, score.skipped) == (40, 2, 1)
        assert score.signature.parameters["interval"] == "bca-95"
        assert Signature.parse(str(score.signature)) == score.signature


def test_scores_of_other_protocols_are_not_compared():
    gt, pred = many_videos(3)
    a, b = (
        dict(segmentation_scores(segmentation_statistics(gt, pred, matching=m), resamples=0))
        for m in ("published", "corrected")
    )
    with pytest.raises(ValueError, match="matching"):
        require_comparable(a["F1@10"].signature, b["F1@10"].signature)
    hidden = dict(segmentation_scores(segmentation_statistics(gt, pred, background=["_|x"]), resamples=0))
    assert hidden["Edit"].signature.parameters["background"] == "_/x"


def test_the_catalogue_names_what_exists():
    import proctor.metrics.segmentation as module

    for entry in METRICS:
        assert entry.family == "segmentation"
        assert callable(getattr(module, entry.function.partition(":")[2]))
        assert str(Signature.parse(entry.signature)) == entry.signature
        assert Signature.parse(entry.signature).name == entry.name


def test_the_catalogue_prints_real_signatures():
    found = segmentation_scores(segmentation_statistics(*many_videos(5), rate=5), resamples=20)
    assert {entry.signature for entry in METRICS} <= {str(score.signature) for _, score in found}


@pytest.mark.shared
def test_real_steps_of_captaincook4d_through_frames(shared_data):
    """Real steps overlap; the later one wins. A prediction half a second late is off by half a second."""
    import json

    folder = shared_data / "captaincook4d"
    path = next(folder.rglob("complete_step_annotations.json"), None)
    if path is None:
        pytest.skip("no step annotations among the shared data")
    recordings = json.loads(path.read_text(encoding="utf-8"))
    gt, late = [], []
    for recording in list(recordings.values())[:20]:
        steps = [s for s in recording["steps"] if s["start_time"] >= 0]
        start = np.array([s["start_time"] for s in steps])
        end = np.array([s["end_time"] for s in steps])
        names = [str(s["step_id"]) for s in steps]
        frames = int(end.max() * 10) + 20
        gt.append(frames_from_segments(start, end, names, rate=10, frames=frames, conflict="later"))
        late.append(np.concatenate([["background"] * 5, gt[-1][:-5]]))
    stats = segmentation_statistics(gt, late, background=["background"], rate=10)
    assert stats.edit.min() == 1.0
    errors = stats.boundaries
    assert len(errors.start) > 100
    assert np.median(errors.start) == pytest.approx(0.5)
    assert float(frame_accuracy(gt, gt)) == 1.0
    tp, fp, fn = plain_counts([g.tolist() for g in gt], [p.tolist() for p in late], 0.5, ("background",))
    assert float(segmental_f1(gt, late, background=["background"])) == pytest.approx(
        2 * tp / (2 * tp + fp + fn)
    )


def test_intervals_in_one_pass_are_those_of_each_score_alone():
    from proctor.metrics.bootstrap import bootstrap_interval, bootstrap_intervals

    draw = np.random.default_rng(0)
    sums = draw.integers(1, 9, size=(30, 3)).astype(float)
    statistics = [lambda s: s[:, 0] / s[:, 1], lambda s: s[:, 2] / s[:, 1], lambda s: s[:, 0] * np.nan]
    together = bootstrap_intervals(sums, statistics, resamples=300, seed=5)
    assert together == tuple(bootstrap_interval(sums, one, resamples=300, seed=5) for one in statistics)
    assert bootstrap_intervals(sums[:1], statistics)[0].note.startswith("one cluster")


@settings(max_examples=50)
@given(pairs_of_videos(), st.integers(1, 7))
def test_a_later_begin_changes_no_segment_score(data, shift):
    later = [[["_"] * shift + v for v in side] for side in data]
    first, second = (segmentation_statistics(*d, background=["_"], rate=4) for d in (data, later))
    assert first.found.tolist() == second.found.tolist()
    assert first.edit.tolist() == second.edit.tolist()
    assert first.shown_correct.tolist() == second.shown_correct.tolist()
    assert first.boundaries.start.tolist() == second.boundaries.start.tolist()
    assert first.boundaries.iou.tolist() == second.boundaries.iou.tolist()
