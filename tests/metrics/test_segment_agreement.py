import math
from itertools import permutations
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proctor.metrics import segment_agreement as module
from proctor.metrics.bootstrap import interval_tails
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Signature
from proctor.metrics.segment_agreement import (
    METRICS,
    boundary_error,
    compare_segments,
    detection_agreement,
    mean_segment_iou,
    segment_counts,
)

EXAMPLE = {
    "r1": {
        "ana": [("crack", 0, 10), ("stir", 10, 20), ("stir", 30, 40)],
        "ben": [("crack", 1, 10), ("stir", 12, 20)],
    },
    "r2": {"ana": [("crack", 0, 10)], "ben": [("crack", 5, 15), ("wash", 20, 30)]},
    "r3": {"ana": [("crack", 0, 10)]},
}
"""By hand: IoU 9/10; 8/10 and one stir missing; 5/15; wash missing; r3 is ana's alone."""


def compared(a, b):
    return compare_segments({"r": {"a": a, "b": b}})


def every_score(comparisons, **options):
    return [
        mean_segment_iou(comparisons, **options),
        mean_segment_iou(comparisons, missing="skip", **options),
        *(
            boundary_error(comparisons, q, boundary=b, **options)
            for q in (0.5, 0.9)
            for b in ("start", "end", "both")
        ),
        *(detection_agreement(comparisons, t, **options) for t in (0.1, 0.25, 0.5)),
    ]


# -- perfect, golden, empty ----------------------------------------------------------------------------------------


def test_perfect():
    marked = [("a", 0.0, 5.0), ("b", 5.0, 9.0), ("a", 9.0, 12.0)]
    comparisons = compare_segments({f"r{k}": {"ana": marked, "ben": marked[::-1]} for k in range(12)})
    for score in every_score(comparisons):
        best = 0.0 if score.signature.name == "boundary_error" else 1.0
        assert (score.value, score.low, score.high) == (best, best, best)
    assert segment_counts(comparisons)["executions missing"] == 0


def test_golden_example_by_hand():
    comparisons = compare_segments(EXAMPLE)
    assert [(c.recording, c.step, c.missing) for c in comparisons] == [
        ("r1", "crack", 0), ("r1", "stir", 1), ("r2", "crack", 0), ("r2", "wash", 1),
    ]  # fmt: skip
    assert segment_counts(comparisons) == {
        "steps": 4, "steps in both": 3, "steps missing": 1, "executions matched": 3, "executions missing": 2,
    }  # fmt: skip
    zero, skip = mean_segment_iou(comparisons), mean_segment_iou(comparisons, missing="skip")
    assert zero.value == pytest.approx((9 / 10 + 8 / 10 / 2 + 1 / 3 + 0) / 4)
    assert (zero.n, zero.skipped) == (4, 0)
    assert skip.value == pytest.approx((9 / 10 + 8 / 10 + 1 / 3) / 3)
    assert (skip.n, skip.skipped) == (3, 1)
    starts, ends, both = (boundary_error(comparisons, boundary=b) for b in ("start", "end", "both"))
    assert (starts.value, ends.value, both.value) == (2.0, 0.0, 1.5)  # 1 2 5, 0 0 5
    assert (starts.n, starts.skipped) == (3, 2)
    assert boundary_error(comparisons, 0.9, boundary="start").value == pytest.approx(
        np.quantile([1, 2, 5], 0.9)
    )
    # three matches of eight executions; at 0.5 the crack of r2 is lost
    found = [detection_agreement(comparisons, t).value for t in (0.1, 0.25, 0.5)]
    assert found == pytest.approx([6 / 8, 6 / 8, 4 / 8])
    assert detection_agreement(comparisons, 0.5).n == 8


def test_a_threshold_that_is_reached_counts():
    comparisons = compared([("s", 0, 10)], [("s", 0, 5)])
    assert detection_agreement(comparisons, 0.5).value == 1.0
    assert detection_agreement(comparisons, 0.500001).value == 0.0


@pytest.mark.parametrize(
    ("recordings", "note"),
    [
        ({}, "no recording was marked by two annotators"),
        ({"r": {"ana": [("s", 0, 1)]}}, "no recording was marked by two annotators"),
        ({"r": {"ana": [], "ben": []}}, "no recording was marked by two annotators"),
    ],
)
def test_nothing_to_compare_is_undefined(recordings, note):
    for score in every_score(compare_segments(recordings)):
        assert math.isnan(score.value)
        assert score.note == note
        assert score.low is None


def test_nothing_in_common_is_zero_or_undefined():
    comparisons = compared([("x", 0, 1)], [("y", 0, 1)])
    assert mean_segment_iou(comparisons).value == 0.0
    assert detection_agreement(comparisons, 0.1).value == 0.0
    for score in (mean_segment_iou(comparisons, missing="skip"), boundary_error(comparisons)):
        assert math.isnan(score.value)
        assert score.note == "no step was marked by both"
    empty = compared([("x", 0, 1)], [])
    assert mean_segment_iou(empty).value == 0.0
    assert segment_counts(empty)["steps missing"] == 1


def test_three_annotators_make_three_pairs():
    marked = {who: [("s", float(k), 10.0)] for k, who in enumerate(("ana", "ben", "cem"))}
    comparisons = compare_segments({"r": marked})
    assert [(c.a, c.b) for c in comparisons] == [("ana", "ben"), ("ana", "cem"), ("ben", "cem")]
    assert mean_segment_iou(comparisons).value == pytest.approx((9 / 10 + 8 / 10 + 8 / 9) / 3)


# -- matching ------------------------------------------------------------------------------------------------------


def test_executions_are_matched_for_the_largest_overlap_not_in_order():
    (one,) = compared([("s", 0, 10), ("s", 20, 30)], [("s", 21, 30), ("s", 50, 60)])
    assert set(one.matched) == {(0, 1), (1, 0)}
    assert one.matched_overlap == pytest.approx(0.9)


def test_without_overlap_the_nearest_are_matched():
    (one,) = compared([("s", 0, 10), ("s", 100, 110)], [("s", 12, 20), ("s", 112, 120), ("s", 300, 310)])
    assert set(one.matched) == {(0, 0), (1, 1)}
    (single,) = compared([("s", 100, 110)], [("s", 0, 10), ("s", 120, 130)])
    assert single.matched == ((0, 1),)
    assert (single.start_difference.tolist(), single.end_difference.tolist()) == ([20.0], [20.0])


def test_detection_finds_the_most_matches_even_where_overlap_would_give_fewer():
    """The best total overlap takes one good match; two that reach the threshold exist."""
    a = [("s", 0.0, 10.0), ("s", 9.0, 30.0)]
    b = [("s", 0.0, 20.0), ("s", 1.0, 10.5)]
    (one,) = compared(a, b)
    possible = one.overlap >= 0.25
    brute = max(sum(possible[i, j] for i, j in enumerate(chosen)) for chosen in permutations(range(2)))
    assert detection_agreement([one], 0.25).value == brute / 2


TIMES = st.lists(
    st.tuples(st.sampled_from(["x", "y"]), st.integers(0, 30), st.integers(1, 12)), max_size=5, unique=True
).map(lambda found: [(step, float(start), float(start + length)) for step, start, length in found])


@settings(max_examples=60, deadline=None)
@given(TIMES, TIMES)
def test_matching_is_the_best_of_all(a, b):
    for one in compared(a, b):
        overlap = one.overlap if one.overlap.shape[0] <= one.overlap.shape[1] else one.overlap.T
        n, m = overlap.shape
        totals = [sum(overlap[i, j] for i, j in enumerate(c)) for c in permutations(range(m), n)]
        assert one.matched_overlap == pytest.approx(max(totals), abs=1e-4)
        assert len(one.matched) == n
        for threshold in (0.1, 0.5):
            most = max(
                sum(overlap[i, j] >= threshold for i, j in enumerate(c)) for c in permutations(range(m), n)
            )
            assert detection_agreement([one], threshold).value == pytest.approx(2 * most / (n + m))


@settings(max_examples=40, deadline=None)
@given(TIMES, TIMES, st.integers(-50, 50), st.randoms(use_true_random=False))
@example([("x", 0.0, 1.0), ("x", 0.0, 2.0)], [("x", 2.0, 3.0), ("x", 2.0, 4.0)], 0, Random(0))
def test_symmetry_and_invariances(a, b, shift, random):
    """Who is called first, the order of rows, names of steps and the origin of time change nothing."""
    scores = [s.value for s in every_score(compared(a, b), resamples=0)]
    changed = {"x": "stir", "y": "crack"}
    moved = [
        [(changed[s], t + shift, u + shift) for s, t, u in random.sample(one, len(one))] for one in (b, a)
    ]
    again = [s.value for s in every_score(compared(*moved), resamples=0)]
    assert again == pytest.approx(scores, abs=1e-9, nan_ok=True)


@settings(max_examples=40, deadline=None)
@given(TIMES, TIMES)
def test_bounds_and_monotonicity(a, b):
    comparisons = compared(a, b)
    if not comparisons:
        return
    found = [detection_agreement(comparisons, t, resamples=0).value for t in (0.1, 0.25, 0.5, 0.75, 1.0)]
    assert found == sorted(found, reverse=True)
    assert all(0.0 <= value <= 1.0 for value in found)
    assert 0.0 <= mean_segment_iou(comparisons, resamples=0).value <= 1.0
    median, p90 = (boundary_error(comparisons, q, resamples=0).value for q in (0.5, 0.9))
    assert math.isnan(median) or 0.0 <= median <= p90
    skip = mean_segment_iou(comparisons, missing="skip", resamples=0).value
    assert math.isnan(skip) or skip >= mean_segment_iou(comparisons, resamples=0).value - 1e-12


# -- intervals -----------------------------------------------------------------------------------------------------


def noisy(recordings=20, steps=5, seed=0):
    rng = np.random.default_rng(seed)
    out = {}
    for k in range(recordings):
        starts = np.arange(steps) * 20.0
        out[f"r{k:02d}"] = {
            who: [(f"s{j}", float(t), float(t) + 15) for j, t in enumerate(starts + rng.normal(0, 3, steps))]
            for who in ("ana", "ben")
        }
    return out


def test_intervals_hold_the_value_and_ignore_the_order_of_input():
    data = noisy()
    turned = {name: dict(reversed(by.items())) for name, by in reversed(data.items())}
    for one, two in zip(
        every_score(compare_segments(data)), every_score(compare_segments(turned)), strict=True
    ):
        assert one == two
        assert one.low <= one.value <= one.high
        assert one.signature.parameters["cluster"] == "recording"


@pytest.mark.parametrize("quantile", [0.0, 0.5, 0.9, 1.0])
def test_interval_of_quantiles_is_that_of_resampling_recordings(quantile, monkeypatch):
    comparisons = compare_segments(noisy(recordings=12))
    score = boundary_error(comparisons, quantile, boundary="start", resamples=300, seed=2)
    names = sorted({c.recording for c in comparisons})
    errors = [
        np.concatenate([np.abs(c.start_difference) for c in comparisons if c.recording == n]) for n in names
    ]
    drawn = np.random.default_rng(2).integers(0, 12, size=(300, 12), dtype=np.int64)
    values = [np.quantile(np.concatenate([errors[k] for k in row]), quantile) for row in drawn]
    ends = np.quantile(values, interval_tails(0.95, 12))
    assert (score.low, score.high) == pytest.approx(tuple(ends), abs=1e-9)
    monkeypatch.setattr(module, "_BLOCK", 700)  # a few draws at a time
    assert boundary_error(comparisons, quantile, boundary="start", resamples=300, seed=2) == score


def test_one_recording_has_no_interval():
    score = mean_segment_iou(compared([("s", 0, 10)], [("s", 1, 10)]))
    assert (score.value, score.low) == (0.9, None)
    assert "one cluster" in score.note
    none = mean_segment_iou(compare_segments(noisy()), resamples=0)
    assert none.low is None
    assert none.signature.parameters == {"interval": "none", "missing": "zero"}


# -- invalid -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ([("s", 5, 5)], "ends at 5 s, not after its start at 5 s"),
        ([("s", 5, 2)], "ends at 2 s, not after its start at 5 s"),
        ([("s", math.nan, 2)], "not finite"),
        ([("s", 0, math.inf)], "not finite"),
        ([("s", 0, 1), ("s", 0, 1)], "from 0 to 1 s is there twice"),
    ],
)
def test_bad_segments_are_named(segments, message):
    with pytest.raises(MetricInputError, match=f"recording 'r', annotator 'b', step 's': .*{message}"):
        compared([("s", 0, 1)], segments)


@pytest.mark.parametrize("segment", [("s", "x", 1), ("s", 0), ("s", None, 1), 5])
def test_what_is_no_segment_is_named(segment):
    with pytest.raises(MetricInputError, match="recording 'r', annotator 'b': a segment is"):
        compared([("s", 0, 1)], [segment])


def test_bad_options_are_named():
    comparisons = compare_segments(EXAMPLE)
    for threshold in (0, -0.5, 1.5, math.nan):
        with pytest.raises(MetricInputError, match="threshold must lie above 0"):
            detection_agreement(comparisons, threshold)
    for quantile in (-0.1, 1.1, math.nan):
        with pytest.raises(MetricInputError, match="quantile must lie between 0 and 1"):
            boundary_error(comparisons, quantile)
    with pytest.raises(MetricInputError, match="start, end, both, got 'middle'"):
        boundary_error(comparisons, boundary="middle")
    with pytest.raises(MetricInputError, match="zero, skip, got 'one'"):
        mean_segment_iou(comparisons, missing="one")
    for measure in (mean_segment_iou, boundary_error, lambda c, **o: detection_agreement(c, 0.5, **o)):
        with pytest.raises(MetricInputError, match="confidence"):
            measure(comparisons, confidence=0)


def test_the_same_step_at_the_same_start_with_another_end_is_no_duplicate():
    (one,) = compared([("s", 0, 1), ("s", 0, 2)], [("s", 0, 2)])
    assert one.matched == ((1, 0),)
    assert one.missing == 1


def test_catalogue_entries():
    comparisons = compare_segments(EXAMPLE)
    printed = {
        score.signature.name: str(score.signature)
        for score in (
            mean_segment_iou(comparisons),
            boundary_error(comparisons),
            detection_agreement(comparisons, 0.5),
        )
    }
    assert printed == {entry.name: entry.signature for entry in METRICS}
    for entry in METRICS:
        assert str(Signature.parse(entry.signature)) == entry.signature
        assert callable(getattr(module, entry.function.removeprefix("segment_agreement:")))
