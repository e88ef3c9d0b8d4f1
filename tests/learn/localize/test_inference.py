"""From points to segments: equal to a plain loop, and within the recording."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
from tests.learn.localize import plain  # noqa: E402

from proctor.learn.localize.grid import grid_of  # noqa: E402
from proctor.learn.localize.inference import Candidates, candidates, segments_of  # noqa: E402
from proctor.learn.localize.targets import Pyramid  # noqa: E402

SECONDS = grid_of("right", 1.0)


def logit(p: float) -> float:
    return float(np.log(p / (1 - p)))


def made(*each: tuple[float, float, int, float]) -> Candidates:
    start, end, label, score = (np.array([e[i] for e in each]) for i in range(4))
    return Candidates(start - 0.5, end - 0.5, label.astype(np.int64), score)


def test_likely_points_are_decoded_by_level() -> None:
    pyramid = Pyramid(2, 4)
    logits = torch.full((8, 2), -20.0)
    offsets = torch.ones(8, 2)
    logits[1, 0], logits[6, 1], logits[3, 1], logits[2, 0] = logit(0.9), logit(0.5), logit(0.3), logit(9e-4)
    offsets[6] = torch.tensor([0.5, 2.0])
    offsets[3] = torch.tensor([0.02, 0.02])  # too short
    real = torch.ones(8, dtype=torch.bool)
    found = candidates(logits, offsets, real, pyramid)
    assert found.start.tolist() == [0.0, 1.0]
    assert found.end.tolist() == [2.0, 6.0]
    assert found.label.tolist() == [0, 1]
    assert found.score == pytest.approx([0.9, 0.5])
    real[1] = False
    assert candidates(logits, offsets, real, pyramid).label.tolist() == [1]


def test_a_level_gives_its_best_5000() -> None:
    generator = torch.Generator().manual_seed(0)
    pyramid = Pyramid(2, 64)
    logits = torch.randn(len(pyramid.time), 100, generator=generator)
    found = candidates(logits, torch.ones(len(logits), 2), torch.ones(len(logits), dtype=torch.bool), pyramid)
    assert len(found.score) == 5000 + 32 * 100
    first = logits[:64].sigmoid().flatten().sort(descending=True).values[:5000]
    assert sorted(found.score[:5000], reverse=True) == pytest.approx(first.tolist(), abs=1e-6)


def test_overlapping_segments_of_a_class_lose_score() -> None:
    one = made((0, 10, 0, 0.9), (1, 11, 0, 0.8), (2, 12, 0, 0.7), (30, 40, 0, 0.6), (1, 11, 1, 0.75))
    found = segments_of([one], ("a",), [60.0], ("1", "2"), SECONDS)
    assert found.score == pytest.approx([0.9, 0.75, 0.6, 0.4272, 0.180731], abs=1e-5)
    assert found.start == pytest.approx([0, 1, 30, 2, 1])
    assert found.label.tolist() == [0, 1, 0, 0, 0]
    capped = segments_of([one], ("a",), [60.0], ("1", "2"), SECONDS, cap=2)
    assert capped.start == pytest.approx([0, 1, 1])


def test_times_are_cut_to_the_recording() -> None:
    one = made((-4, 10, 0, 0.9), (50, 70, 1, 0.8), (61, 70, 0, 0.7), (-9, -1, 0, 0.6))
    none = made()
    found = segments_of([one, none, one], ("a", "b", "c"), [60.0, 10.0, 100.0], ("1", "2"), SECONDS)
    first = found.take(found.video == 0)
    assert list(zip(first.start, first.end, strict=True)) == [(0, 10), (50, 60)]
    assert (found.video == 2).sum() == 3
    assert found.videos == ("a", "b", "c")
    assert len(segments_of([none], ("b",), [1.0], ("1",), SECONDS)) == 0


EACH = st.tuples(
    st.floats(0, 50), st.floats(0.1, 30), st.integers(0, 2), st.floats(1e-3, 1).filter(lambda x: x > 1e-3)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(EACH, max_size=25, unique_by=lambda e: e[3]))
def test_as_a_plain_loop_finds_them(each: list[tuple[float, float, int, float]]) -> None:
    one = made(*((a, a + n, c, p) for a, n, c, p in each))
    found = segments_of([one], ("a",), [1e6], ("1", "2", "3"), SECONDS, cap=None)
    assert found.score is not None
    for label in range(3):
        mine = one.label == label
        start, end = SECONDS.seconds(one.start[mine]), SECONDS.seconds(one.end[mine])
        wanted = plain.soft_nms(start.tolist(), end.tolist(), one.score[mine].tolist())
        theirs = found.take(found.label == label)
        assert theirs.score is not None
        assert theirs.score == pytest.approx(sorted((s for _, s in wanted), reverse=True), abs=1e-6)
        pairs = sorted((round(float(start[i]), 6), s) for i, s in wanted)
        mine_pairs = sorted(zip(theirs.start.round(6).tolist(), theirs.score.tolist(), strict=True))
        assert np.array(mine_pairs) == pytest.approx(np.array(pairs), abs=1e-6)
