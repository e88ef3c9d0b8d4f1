from __future__ import annotations

import numpy as np
import pytest

from proctor.capture.sync.match import TICK_NS, TOLERANCE, interpolate, match, published_match, tolerance_ns
from proctor_rehearsal.kitchen.times import Faults, sensor_times


def brute(base: np.ndarray, source: np.ndarray, tolerance: int) -> list[int]:
    found = []
    for moment in base.tolist():
        far = [abs(s - moment) for s in source.tolist()]
        found.append(far.index(min(far)) if far and min(far) <= tolerance else -1)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_matches_are_those_of_trying_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = np.sort(rng.integers(0, 500, rng.integers(0, 60)))
    source = np.unique(rng.integers(0, 500, rng.integers(0, 60)))
    tolerance = int(rng.integers(0, 30))
    found, apart = match(base, source, tolerance)
    assert found.tolist() == brute(base, source, tolerance)
    good = found >= 0
    assert (apart[good] == source[found[good]] - base[good]).all()
    assert not apart[~good].any()
    once, _ = match(base, source, tolerance, allow_repeat=False)
    for place in set(once[once >= 0].tolist()):
        rivals = np.flatnonzero(found == place)
        winner = min(rivals, key=lambda r: (abs(int(source[place] - base[r])), r))
        assert np.flatnonzero(once == place).tolist() == [winner]
    assert set(once.tolist()) - {-1} == set(found.tolist()) - {-1}


def test_tolerance_is_of_the_streams_period() -> None:
    assert tolerance_ns(33_333_333, 10**8) == 19_999_999
    assert tolerance_ns(5_000_000, 10**8) == 5_000_000
    assert tolerance_ns(10**9, 10**8) == 10**8


def test_s2_exactly_the_frames_in_the_gap_have_no_match() -> None:
    base = sensor_times(30, 900, Faults(latency_ms=0), "base").true_ns
    source = sensor_times(30, 900, Faults(gaps=((400, 8),), wobble_ms=3), "gap").true_ns
    source = np.sort(source)
    found, _ = match(base, source, tolerance_ns(33_333_333, 10**8))
    nearest = np.array([np.abs(source - moment).min() for moment in base])
    assert (found >= 0).tolist() == (nearest <= 19_999_999).tolist()
    assert 235 <= (found[(base > 399 * 10**9) & (base < 409 * 10**9)] < 0).sum() <= 241


def test_s6_a_sine_of_2_hz_at_30_hz() -> None:
    times = sensor_times(200, 60, Faults(wobble_ms=0.3), "sine", start_ns=10**15)
    at = np.sort(times.true_ns)
    wave = np.stack([np.sin(2 * np.pi * 2 * (at - 10**15) / 1e9 + p) for p in (0, 1, 2)], axis=1)
    base = sensor_times(30, 60, Faults(), "base", start_ns=10**15).true_ns[1:-1]
    found = interpolate(base, at, wave, ("x", "y", "z"), 15_000_000)
    truth = np.stack([np.sin(2 * np.pi * 2 * (base - 10**15) / 1e9 + p) for p in (0, 1, 2)], axis=1)
    assert np.sqrt(np.mean((found - truth) ** 2)) < 0.01


def test_nothing_is_interpolated_across_a_gap_or_outside() -> None:
    source = np.array([0, 10, 20, 60, 70], dtype=np.int64)
    base = np.array([-1, 0, 5, 20, 21, 59, 60, 70, 71], dtype=np.int64)
    found = interpolate(base, source, source[:, None] * 2.0, ("v",), 30)[:, 0]
    assert np.array_equal(found, [np.nan, 0, 10, 40, np.nan, np.nan, 120, 140, np.nan], equal_nan=True)
    assert np.isnan(interpolate(base, source[:0], np.zeros((0, 1)), ("v",), 30)).all()


def test_orientations_turn_evenly_and_the_short_way() -> None:
    def about_z(angle: float) -> list[float]:
        return [0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2)]

    columns = ("px", "head_qx", "head_qy", "head_qz", "head_qw")
    values = np.array(
        [[0, *about_z(0.2)], [1, *(-np.array(about_z(1.4)))], [2, *about_z(1.4 + 1e-9)], [3, 0, 0, 0, 0]]
    )
    base = np.array([25, 50, 150, 250], dtype=np.int64)
    found = interpolate(base, np.arange(4) * 100, values, columns, 100)
    assert found[:, 0] == pytest.approx([0.25, 0.5, 1.5, 2.5])
    assert found[:, 1:][:2] == pytest.approx(np.array([about_z(0.5), about_z(0.8)]))
    assert np.abs(found[2, 1:]) == pytest.approx(np.abs(about_z(1.4)), abs=1e-6)
    assert np.isnan(found[3, 1:]).all()


# -- the published rule ----------------------------------------------------------------------------------------------


def test_s8_1e8_ticks_are_ten_seconds() -> None:
    assert TOLERANCE * TICK_NS == 10 * 10**9
    stream = np.array([0, 300_000_000], dtype=np.int64)
    base = np.array(
        [0, 99_999_999, 100_000_000, 100_000_001, 199_999_999, 200_000_000, 400_000_000, 400_000_001]
    )
    assert published_match(base, stream).tolist() == [0, 0, 0, -1, -1, 1, 1, -1]


def test_published_ties_go_to_the_later_and_the_base_alone_is_sorted() -> None:
    assert published_match(np.array([30, 10]), np.array([0, 20, 25])).tolist() == [1, 2]
    assert published_match(np.array([10]), np.array([], dtype=np.int64)).tolist() == [-1]


def test_f10_what_the_published_rule_does_in_a_gap_and_after_a_sample_out_of_order() -> None:
    base = sensor_times(30, 900, Faults(), "base")
    gap = sensor_times(200, 900, Faults(gaps=((400, 8),)), "stream")
    found = published_match(base.device_ns // TICK_NS, gap.device_ns // TICK_NS)
    far = np.abs(gap.true_ns[found] - base.true_ns) > 100_000_000
    assert (int((found < 0).sum()), int(far.sum())) == (0, 234)
    whole = sensor_times(30, 900, Faults(), "stream").device_ns.copy()
    whole[3360] -= 10**9  # one sample, a second too early
    assert int((published_match(base.device_ns // TICK_NS, whole // TICK_NS) < 0).sum()) == 23_340
