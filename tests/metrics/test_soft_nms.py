import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.metrics import soft_nms as module
from proctor.metrics.errors import MetricInputError
from proctor.metrics.localization.segments import Segments
from proctor.metrics.soft_nms import hard_nms, soft_nms, suppress_segments

START, END, SCORE = [0, 1, 2, 30], [10, 11, 12, 40], [0.9, 0.8, 0.7, 0.6]


def iou(a, b):
    shared = max(0.0, min(a[1], b[1]) - max(a[0], b[0]))
    return shared / (max(a[1] - a[0], 0.0) + max(b[1] - b[0], 0.0) + 2e-6 - shared)


def brute_force(rows, min_score, decay):
    """Rows of (start, end, score, group), one group and one detection after the other."""
    out = []
    for group in sorted({r[3] for r in rows}):
        left = [[r[2], r[0], r[1], r] for r in rows if r[3] == group and r[2] >= min_score]
        left.sort(key=lambda x: (-x[3][2], x[1], x[2]))
        while left:
            best = max(left, key=lambda x: x[0])  # the first one of equals
            left.remove(best)
            out.append((group, best[1], best[2], best[0]))
            for other in left:
                other[0] = decay(other[0], iou(best[1:3], other[1:3]))
            left = [x for x in left if x[0] >= min_score]
    return sorted(out)


def test_golden_example():
    rows, scores = soft_nms(START, END, SCORE)
    assert rows.tolist() == [0, 3, 2, 1]
    assert np.round(scores[:2], 9).tolist() == [0.9, 0.6]
    assert round(scores[2], 4) == 0.4272
    assert round(scores[3], 6) == 0.180731


def test_apart_nothing_changes():
    rows, scores = soft_nms([0, 20, 40], [10, 30, 50], [0.3, 0.9, 0.5])
    assert rows.tolist() == [1, 2, 0]
    assert scores.tolist() == [0.9, 0.5, 0.3]


def test_hard_nms_takes_and_suppresses():
    rows, scores = hard_nms(START, END, SCORE, threshold=0.7)
    assert rows.tolist() == [0, 2, 3]  # 1 overlaps 0 by 9/11; 2 overlaps 0 by 8/12
    assert scores.tolist() == [0.9, 0.7, 0.6]
    assert hard_nms(START, END, SCORE, threshold=0.6)[0].tolist() == [0, 3]
    assert hard_nms(START, END, [0.0] * 4, threshold=0.6)[0].tolist() == [0, 3]


def test_empty_and_all_below():
    for function in (soft_nms, hard_nms):
        rows, scores = function([], [], [])
        assert rows.size == scores.size == 0
    assert soft_nms(START, END, [1e-4] * 4)[0].size == 0


def test_groups_do_not_compete():
    rows, scores = soft_nms([0, 0], [10, 10], [0.9, 0.8], [1, 2])
    assert scores.tolist() == [0.9, 0.8]
    assert rows.tolist() == [0, 1]


def test_cap_keeps_the_best_of_each_group():
    rows, _ = soft_nms([0, 20, 40, 0], [10, 30, 50, 10], [0.3, 0.9, 0.5, 0.1], [0, 0, 0, 7], cap=2)
    assert sorted(rows.tolist()) == [1, 2, 3]


def test_extreme_sigma():
    rows, scores = soft_nms(START, END, SCORE, sigma=1e-9)
    assert rows.tolist() == [0, 3]  # as hard as can be
    assert scores.tolist() == [0.9, 0.6]
    assert soft_nms(START, END, SCORE, sigma=1e9)[1] == pytest.approx(SCORE)


def test_instants():
    rows, scores = soft_nms([5, 5], [5, 5], [0.9, 0.8])
    assert rows.tolist() == [0, 1]
    assert scores == pytest.approx([0.9, 0.8])


quarters = st.integers(0, 4).map(lambda k: k / 4)
DETECTIONS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 6), quarters, st.integers(0, 2)).map(
        lambda r: (float(r[0]), float(r[0] + r[1]), r[2], r[3])
    ),
    max_size=14,
)


@settings(max_examples=100)
@given(DETECTIONS, st.integers(1, 30), st.randoms(use_true_random=False), st.booleans())
def test_against_the_definition(rows, cells, random, one_by_one):
    columns = [list(c) for c in zip(*rows, strict=True)] or [[], [], [], []]
    soft = brute_force(rows, 1e-3, lambda s, x: s * np.exp(-x * x / 0.5))
    hard = brute_force(rows, 0.0, lambda s, x: -1.0 if x >= 0.4 else s)
    shuffled = random.sample(rows, len(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CELLS", cells)
        if one_by_one:  # the loop that is compiled for many, as it stands
            patch.setattr(module, "_COMPILED_FROM", 0)
            patch.setattr(module, "_compiled", lambda: module._one_by_one)
            patch.setattr(module, "find_spec", lambda name: name)
        for given_rows in (rows, shuffled):
            columns = [list(c) for c in zip(*given_rows, strict=True)] or [[], [], [], []]
            for expected, (kept, scores) in (
                (soft, soft_nms(*columns, sigma=0.5)),
                (hard, hard_nms(*columns, threshold=0.4)),
            ):
                ours = sorted(
                    (given_rows[k][3], given_rows[k][0], given_rows[k][1], s)
                    for k, s in zip(kept, scores, strict=True)
                )
                assert [o[:3] for o in ours] == [e[:3] for e in expected]
                assert [o[3] for o in ours] == pytest.approx([e[3] for e in expected])
                assert (np.diff(scores) <= 0).all()


@pytest.mark.parametrize("cap", [None, 20])
def test_compiled_as_in_tables(monkeypatch, cap):
    pytest.importorskip("numba")
    generator = np.random.default_rng(0)
    start = generator.uniform(0, 300, 3000)
    columns = (
        start,
        start + generator.lognormal(3, 1, 3000),
        generator.random(3000),
        generator.integers(0, 40, 3000),
    )
    tables = soft_nms(*columns, cap=cap)
    monkeypatch.setattr(module, "_COMPILED_FROM", 700)
    monkeypatch.setattr(module, "_run", None)
    rows, scores = soft_nms(*columns, cap=cap)
    assert rows.tolist() == tables[0].tolist()
    assert scores == pytest.approx(tables[1], rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0], [1], [np.nan]), {}, "score of row 0 is nan"),
        (([0, 0], [1, 1], [0.5, -0.1]), {}, "score of row 1 is -0.1"),
        (([0], [np.inf], [0.5]), {}, "times of row 0 are not finite"),
        (([0, 1], [1], [0.5]), {}, "parallel"),
        (([0], [1], [0.5, 0.6]), {}, "1 starts, scores of shape"),
        (([0], [1], [0.5], [0, 0]), {}, "groups of shape"),
        (([0], [1], [0.5]), {"sigma": 0}, "sigma must be positive"),
        (([0], [1], [0.5]), {"min_score": -1}, "min_score must not be negative"),
        (([0], [1], [0.5]), {"cap": 0}, "cap must be positive"),
    ],
)
def test_what_cannot_be_suppressed(arguments, options, message):
    with pytest.raises(MetricInputError, match=message):
        soft_nms(*arguments, **options)


def test_threshold_of_hard_nms():
    with pytest.raises(MetricInputError, match="above 0 and at most 1, got 0"):
        hard_nms([0], [1], [0.5], threshold=0)


def test_segments_by_video_and_class():
    segments = Segments.of(
        ["b", "b", "a", "b", "b"],
        [0, 1, 0, 0, 50],
        [10, 11, 10, 10, 60],
        ["x", "x", "x", "y", "x"],
        [0.9, 0.8, 0.7, 0.6, 0.5],
        columns={"n": list("01234")},
    )
    left = suppress_segments(segments)
    assert left.columns["n"].tolist() == ["2", "0", "3", "4", "1"]  # by video, then falling score
    assert left.score[:4].tolist() == [0.7, 0.9, 0.6, 0.5]
    assert left.score[4] == pytest.approx(0.8 * np.exp(-((9 / 11) ** 2) / 0.9))
    assert suppress_segments(segments, limit=1).columns["n"].tolist() == ["2", "0"]
    assert suppress_segments(segments, sigma=None, threshold=0.5).columns["n"].tolist() == [
        "2",
        "0",
        "3",
        "4",
    ]
    assert len(suppress_segments(segments, limit=None)) == 5
    assert len(suppress_segments(segments.take(np.zeros(5, dtype=bool)))) == 0
    with pytest.raises(MetricInputError, match="no scores"):
        suppress_segments(Segments.of(["a"], [0], [1], ["x"]))
    with pytest.raises(MetricInputError, match="limit must be positive"):
        suppress_segments(segments, limit=0)
