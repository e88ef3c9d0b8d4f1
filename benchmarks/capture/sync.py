"""One hour of six streams, synchronised: seconds and peak memory, ours and the published rule in the same run.

Run: ``python benchmarks/capture/sync.py [--minutes 60] [--runs 3]``. Camera and depth camera at 30 a second, three inertial sensors at
200, sound in 50 blocks; drift, delays, swapped and repeated samples, a gap and a reset. Each run is a process of its own, so its peak is
its own; the disk is warm. Pictures are 64 bytes, for no picture is read; vectors and sound are whole. Both rules read the same indexes and
write the same tables; ``matching alone`` is what the two rules take of that for the five streams. The published rule matches raw device
times, here of one clock.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np

from proctor.capture.records import MANIFEST, Manifest, Sample, StreamSpec
from proctor.capture.segments import SegmentWriter, load_index, write_index
from proctor.capture.sync.clean import clean
from proctor.capture.sync.clock import fit_clock
from proctor.capture.sync.match import TICK_NS, match, published_match, tolerance_ns
from proctor.capture.sync.report import SyncConfig
from proctor.capture.sync.run import synchronise
from proctor.records import write_json
from proctor_rehearsal.kitchen.times import Faults, sensor_times

_AXES = {"columns": ("x", "y", "z"), "units": ("m/s^2",) * 3}
STREAMS = {
    StreamSpec(name="pv", kind="video", format="jpeg", rate_hz=30): Faults(drift_ppm=40, jitter_ms=5),
    StreamSpec(name="depth", kind="depth", format="png16", rate_hz=30): Faults(jitter_ms=8, gaps=((1200, 8),)),
    StreamSpec(name="accelerometer", kind="imu", format="f4", rate_hz=200, **_AXES): Faults(jitter_ms=2, swaps=1e-5),
    StreamSpec(name="gyroscope", kind="imu", format="f4", rate_hz=200, **_AXES): Faults(jitter_ms=2, duplicates=1e-3),
    StreamSpec(name="magnetometer", kind="imu", format="f4", rate_hz=200, **_AXES): Faults(jitter_ms=2, resets=(1800,)),
    StreamSpec(name="sound", kind="audio", format="s16", rate_hz=50, sample_rate=48_000, channels=1, can_drop=False):
        Faults(drift_ppm=-20, latency_ms=24, jitter_ms=3),
}  # fmt: skip


def make(folder: Path, seconds: float) -> int:
    """Write the recording; returns its samples."""
    count = 0
    for spec, faults in STREAMS.items():
        times = sensor_times(spec.rate_hz, seconds, faults, spec.name, start_ns=10**14)
        writer = SegmentWriter(folder / "raw" / spec.name)
        payload = {"f4": struct.pack("<3f", 1, 2, 3), "s16": bytes(1_920)}.get(spec.format, bytes(64))
        for device, host in zip(times.device_ns.tolist(), times.host_ns.tolist(), strict=True):
            writer.add(Sample(device, host, payload))
        writer.close()
        count += len(write_index(folder / "raw" / spec.name))
    write_json(
        folder / MANIFEST, Manifest(id="hour", state="stopped", streams=tuple(STREAMS), host_start_ns=10**14)
    )
    return count


def once(folder: Path, rule: str) -> dict[str, float]:
    """Measure in this process."""
    import pyarrow.parquet  # noqa: F401 - not of the work

    begin = time.perf_counter()
    report = synchronise(folder, msgspec.convert({"rule": rule}, SyncConfig))
    whole = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    indexes = {s.name: load_index(folder / "raw" / s.name) for s in STREAMS}
    ordered = {n: clean(i["device_ns"], fit_clock(i["device_ns"], i["host_ns"])) for n, i in indexes.items()}
    begin = time.perf_counter()
    for name, index in indexes.items():
        if name != "pv" and rule == "nearest":
            match(ordered["pv"].host_ns, ordered[name].host_ns, tolerance_ns(ordered[name].period_ns, 10**8))
        elif name != "pv":
            published_match(indexes["pv"]["device_ns"] // TICK_NS, index["device_ns"] // TICK_NS)
    alone = time.perf_counter() - begin
    paired = {s.name: s.matched for s in report.streams if s.name != report.base}
    return {
        "seconds": whole,
        "peak_mb": peak,
        "matching": alone,
        **{f"paired {n}": m for n, m in paired.items()},
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--once", nargs=2, metavar=("FOLDER", "RULE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(once(Path(options.once[0]), options.once[1])))
        return
    with tempfile.TemporaryDirectory() as there:
        folder = Path(there) / "hour"
        samples = make(folder, options.minutes * 60)
        print(
            f"{options.minutes:g} min, {samples:,} samples, numpy {np.__version__}, medians of {options.runs} runs"
        )
        print(f"{'rule':10} {'seconds':>8} {'peak MB':>8} {'matching alone':>15}  paired")
        for rule in ("nearest", "published"):
            command = [sys.executable, __file__, "--once", str(folder), rule]
            runs = [json.loads(subprocess.check_output(command)) for _ in range(options.runs)]
            seconds, peak, alone = (
                statistics.median(r[key] for r in runs) for key in ("seconds", "peak_mb", "matching")
            )
            paired = ", ".join(f"{k[7:]} {v:,}" for k, v in runs[0].items() if k.startswith("paired"))
            print(f"{rule:10} {seconds:8.2f} {peak:8.0f} {alone:15.3f}  {paired}")


if __name__ == "__main__":
    main()
