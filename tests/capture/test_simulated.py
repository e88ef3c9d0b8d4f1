"""Times of simulated sensors: each fault does what it says, and the same seed says the same."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.capture.simulated import Faults, faults_of, sensor_times
from proctor.errors import UserError


def test_without_faults_the_clock_is_the_hosts_and_samples_come_late() -> None:
    times = sensor_times(30, 10, Faults(latency_ms=4), "a", start_ns=7)
    assert len(times.true_ns) == 300
    assert np.array_equal(times.true_ns - 7, times.device_ns)
    assert set((times.host_ns - times.true_ns).tolist()) == {4_000_000}


def test_drift_offset_jump_and_reset() -> None:
    faults = Faults(drift_ppm=100, offset_s=5, jumps=((2, -3),), resets=(6,))
    times = sensor_times(10, 10, faults, "a")
    at = times.true_ns / 1e9
    expected = 5 + at * 1.0001 - 3 * (at >= 2)
    expected[at >= 6] = (at[at >= 6] - 6) * 1.0001
    assert np.allclose(times.device_ns / 1e9, expected, atol=1e-8)


def test_a_gap_duplicates_and_swaps() -> None:
    gap = sensor_times(100, 10, Faults(gaps=((2, 3),)), "a")
    assert not ((gap.true_ns >= 2e9) & (gap.true_ns < 5e9)).any()
    assert len(gap.true_ns) == 700
    twice = sensor_times(100, 10, Faults(duplicates=0.1), "a")
    assert 50 < len(twice.taken) - len(set(twice.taken.tolist())) < 150
    swapped = sensor_times(100, 10, Faults(swaps=0.05), "a")
    assert sorted(swapped.taken.tolist()) == list(range(1000))
    assert 20 < (np.diff(swapped.device_ns) < 0).sum() < 80
    assert (np.diff(swapped.host_ns) >= 0).all()


def test_the_same_seed_says_the_same() -> None:
    faults = Faults(jitter_ms=10, wobble_ms=1, duplicates=0.01, swaps=0.01)
    one, two, other = (sensor_times(50, 5, faults, seed) for seed in ("a", "a", "b"))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert not np.array_equal(one.host_ns, other.host_ns)


def test_no_time_no_samples() -> None:
    assert len(sensor_times(30, 0, Faults(jitter_ms=3, swaps=0.5), "a").true_ns) == 0


def test_faults_of_a_table() -> None:
    found = faults_of({"gaps": "40+8, 60+1", "jumps": "300:-3", "resets": "5,6", "drift_ppm": 40}, "here")
    assert found == Faults(gaps=((40, 8), (60, 1)), jumps=((300, -3),), resets=(5, 6), drift_ppm=40)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"gap": "1+2"}, "no fault"), ({"gaps": "often"}, "no list of times"), ({"drift_ppm": "much"}, "float")],
)
def test_what_is_no_fault(options: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        faults_of(options, "sensors.toml")
