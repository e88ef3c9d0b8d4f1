from __future__ import annotations

import numpy as np
import pytest
from tests.capture.sync.made import START

from proctor.capture.records import Event
from proctor.capture.sensor import ClockSample
from proctor.capture.simulated import Faults, SensorTimes, sensor_times
from proctor.capture.sync.clean import FLAGS, Cleaned, clean
from proctor.capture.sync.clock import ClockMap, event_times, fit_clock, unsure_clocks


def fitted(
    faults: Faults, hz: float = 30, seconds: float = 900
) -> tuple[SensorTimes, ClockMap, Cleaned, np.ndarray]:
    """Map a simulated sensor; the last is the error in ms beyond the least delay."""
    times = sensor_times(hz, seconds, faults, "clock", start_ns=START)
    clock = fit_clock(times.device_ns, times.host_ns)
    cleaned = clean(times.device_ns, clock)
    return times, clock, cleaned, (cleaned.host_ns - times.true_ns[cleaned.rows]) / 1e6 - faults.latency_ms


@pytest.mark.parametrize("hz", [15, 30, 200])
@pytest.mark.parametrize(
    "faults",
    [
        Faults(drift_ppm=40, latency_ms=20),
        Faults(drift_ppm=40, jitter_ms=20),
        Faults(drift_ppm=-40, jitter_ms=20),
    ],
)
def test_s1_drift_and_one_sided_delay(faults: Faults, hz: float) -> None:
    _, clock, _, error = fitted(faults, hz)
    assert len(clock.segments) == 1
    assert not clock.segments[0].coarse
    assert clock.segments[0].drift_ppm == pytest.approx(faults.drift_ppm, abs=1)
    assert np.abs(error).max() < 1


def test_least_squares_would_be_wrong_by_the_mean_delay() -> None:
    times, *_ = fitted(Faults(drift_ppm=40, jitter_ms=20))
    x = times.device_ns / 1e9
    late = (times.host_ns - times.device_ns - START) / 1e6
    slope, height = np.polyfit(x, late, 1)
    assert np.median(times.device_ns / 1e6 + height + slope * x - (times.true_ns - START) / 1e6) > 20


def test_nanoseconds_since_boot_are_kept_whole() -> None:
    device = np.arange(2_000, dtype=np.int64) * 33_333_333 + 2**62
    clock = fit_clock(device, device - 2**61 + 7)
    assert (clock.to_host(device, clock.segment) == device - 2**61 + 7).all()


@pytest.mark.parametrize("by", [-400.0, -3.0, -0.2, -0.08, 0.08, 0.2, 3.0, 400.0])
def test_a_jump_of_the_clock_makes_two_segments(by: float) -> None:
    faults = Faults(jumps=((300, by),), jitter_ms=10, drift_ppm=40)
    times, clock, _, error = fitted(faults)
    assert len(clock.segments) == 2
    (at, found), truth = clock.jumps[0], int(np.flatnonzero(times.true_ns >= START + 300 * 10**9)[0])
    assert found == pytest.approx(by, abs=0.002)
    assert abs(clock.segments[1].first - truth) <= 2
    assert at == pytest.approx(START + 300e9, abs=0.2e9)
    assert np.quantile(np.abs(error), 0.999) < 1


def test_s5_a_reset_makes_two_segments_before_anything_is_sorted() -> None:
    times, clock, cleaned, error = fitted(Faults(resets=(450.0,), swaps=0.01, jitter_ms=5, drift_ppm=40))
    assert len(clock.segments) == 2
    assert ((clock.segment == 1) == (times.true_ns >= START + 450 * 10**9)).all()
    assert np.abs(error).max() < 1
    assert (np.diff(times.true_ns[cleaned.rows]) > 0).all()


def test_s5_a_reset_shortly_before_the_end_is_coarse_and_found() -> None:
    _, clock, _, error = fitted(Faults(resets=(893.0,), jitter_ms=5))
    assert [s.coarse for s in clock.segments] == [False, True]
    assert np.abs(error).max() < 2


def test_delays_are_no_jumps() -> None:
    times = sensor_times(30, 600, Faults(jitter_ms=2), "stall", start_ns=START)
    host = times.host_ns.copy()
    for begin, length in ((100, 4), (200, 15), (300, 25)):  # a connection that stalls, and then catches up
        stalled = (host >= START + begin * 10**9) & (host < START + (begin + length) * 10**9)
        host[stalled] = START + (begin + length) * 10**9
    clock = fit_clock(times.device_ns, host)
    assert len(clock.segments) == 1
    assert (clock.segment == 0).all()
    assert np.abs((clock.to_host(times.device_ns, 0) - times.true_ns) / 1e6 - 4).max() < 1


def test_swapped_samples_are_no_reset_and_duplicates_serve_nothing() -> None:
    times, clock, cleaned, _ = fitted(Faults(swaps=0.05, duplicates=0.05))
    assert len(clock.segments) == 1
    assert len(np.unique(times.taken)) == len(cleaned.rows)
    twice = cleaned.flags & FLAGS["duplicate"] > 0
    assert twice.sum() == len(times.taken) - len(np.unique(times.taken))
    assert (cleaned.flags & FLAGS["backward"]).any()
    assert (np.diff(cleaned.host_ns) > 0).all()


@pytest.mark.parametrize("wrong", [0, 10**18])
@pytest.mark.parametrize("place", [0, 1, 400, -1])
def test_a_lone_time_that_cannot_be_is_left_out(wrong: int, place: int) -> None:
    times = sensor_times(30, 60, Faults(offset_s=5000), "odd", start_ns=START)
    device = times.device_ns.copy()
    device[place] = wrong
    clock = fit_clock(device, times.host_ns)
    cleaned = clean(device, clock)
    assert len(clock.segments) == 1
    assert np.flatnonzero(cleaned.flags & FLAGS["odd"]).tolist() == [place % len(device)]
    assert len(cleaned.rows) == len(device) - 1


def test_probes_take_the_delay_away() -> None:
    times = sensor_times(30, 300, Faults(drift_ppm=40, latency_ms=20, jitter_ms=5), "probe", start_ns=START)
    at = np.arange(5, 300, 10)
    sure = [
        ClockSample(device_ns=int(t * 1e9 * (1 + 40e-6)), host_ns=START + int(t * 1e9), rtt_ns=2_000_000)
        for t in at
    ]
    slow = [
        ClockSample(device_ns=p.device_ns, host_ns=p.host_ns + 40_000_000, rtt_ns=90_000_000) for p in sure
    ]
    for probes, most in (([*slow, *sure], 0.1), (sure[:2], 0.6), (slow, 41)):
        clock = fit_clock(times.device_ns, times.host_ns, probes)
        error = (clock.to_host(times.device_ns, 0) - times.true_ns) / 1e6
        assert np.abs(error).max() < most, probes[:1]
    assert np.abs(error).min() > 39  # as wrong as its probes are, and not averaged with anything


def test_few_samples_give_a_constant() -> None:
    for n in (0, 1, 2, 30):
        device = np.arange(n, dtype=np.int64) * 10**8
        clock = fit_clock(device, device + START + 10**6 * (np.arange(n) % 3))
        assert len(clock.segments) == min(n, 1)
        assert all(s.coarse and s.slope == 0 and s.offset_ns == START for s in clock.segments)
        assert clean(device, clock).host_ns.tolist() == (device + START).tolist()


def test_a_clock_in_another_unit_is_mapped_and_told() -> None:
    times = sensor_times(200, 120, Faults(), "unit", start_ns=START)
    clock = fit_clock(times.device_ns // 1000, times.host_ns)  # microseconds
    assert len(clock.segments) == 1
    assert clock.segments[0].drift_ppm < -900_000
    assert np.abs(clock.to_host(times.device_ns // 1000, 0) - times.true_ns).max() < 5_000_000


def test_times_are_made_regular_only_where_no_sample_can_be_missing() -> None:
    times = sensor_times(50, 60, Faults(wobble_ms=1, gaps=((20, 5),)), "even", start_ns=START)
    clock = fit_clock(times.device_ns, times.host_ns)
    kept, even = clean(times.device_ns, clock), clean(times.device_ns, clock, can_drop=False)
    assert not kept.regular
    assert even.regular
    assert np.diff(kept.host_ns).std() > 1e6
    assert np.sort(np.abs(np.diff(even.host_ns) - 20_000_000))[:-1].max() < 10_000
    missing = np.delete(
        times.device_ns, np.arange(300, 600, 30)
    )  # said to be impossible: nothing is bent then
    clock = fit_clock(missing, missing)
    assert not clean(missing, clock, can_drop=False).regular


def event(n: int, kind: str, **more: object) -> Event:
    return Event(n=n, kind=kind, **more)  # type: ignore[arg-type]


def test_events_of_a_tablet_are_placed_by_its_probes_never_by_wall_times() -> None:
    own = [event(0, "state", host_ns=START, wall="2026-01-01T10:00:00Z")]
    pair = {"clock": "t1", "wall": "1999-01-01T00:00:00Z"}
    tablet = [
        event(0, "clock", device_ns=1_000, host_ns=START + 1_000, rtt_ns=4_000_000, **pair),
        event(
            1, "clock", device_ns=10**9, host_ns=START + 5 * 10**9, rtt_ns=900_000_000, **pair
        ),  # slow: not trusted
        event(2, "step_done", device_ns=2 * 10**9, **pair),
        event(
            3, "clock", device_ns=4 * 10**9, host_ns=START + 4 * 10**9 + 2_000_000, rtt_ns=4_000_000, **pair
        ),
        event(4, "oops", device_ns=9 * 10**9, **pair),
    ]
    placed = {e.kind: t - START for e, t in event_times(own, tablet)}
    assert placed["step_done"] == pytest.approx(2 * 10**9 + 1_000_000, abs=1_000)
    assert placed["oops"] == 9 * 10**9 + 2_000_000
    assert unsure_clocks(tablet) == set()


def test_a_tablet_without_probes_is_placed_by_its_label_and_nothing_is_lost() -> None:
    own = [event(0, "state", host_ns=START, wall="2026-01-01T10:00:00Z")]
    tablet = [
        event(0, "step_done", clock="t1", device_ns=50 * 10**9, wall="2026-01-01T10:00:50Z"),
        event(
            1, "step_done", clock="t1", device_ns=60 * 10**9, wall="2026-01-01T10:00:57Z"
        ),  # it was set back
        event(2, "step_done", clock="t1", device_ns=70 * 10**9, wall="no time"),
        event(3, "oops", clock="t2", wall="2026-01-01T10:00:05+00:00"),
        event(4, "mark", clock="t2"),
    ]
    found = event_times(own, tablet)
    assert len(found) == 6
    placed = [(e.n, (t - START) / 1e9) for e, t in found if e.clock]
    assert placed == [(3, 5.0), (4, 5.0), (0, 47.0), (1, 57.0), (2, 67.0)]
    assert unsure_clocks(tablet) == {"t1", "t2"}
