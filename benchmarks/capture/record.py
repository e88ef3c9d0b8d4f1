"""Simulated streams at their nominal rates, recorded in real time: what is dropped, how memory grows, what the processors do.

Run: ``python benchmarks/capture/record.py [--seconds 600]``. Six sensors in processes of their own: pictures of
640 × 360 at 30 a second, depth images at 30 a second, accelerometer, gyroscope and magnetometer at 200 a second, sound. Reported
are samples against the nominal number, ``drop`` events, resident memory of the recorder and its sensors after a tenth of the time and at the end,
and the share of one processor that each took. The limit beside it is what the disk takes: the same bytes written and flushed by one process.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from pathlib import Path

from proctor.capture.recorder import Recorder

from proctor.capture.records import EVENTS, Event, Manifest
from proctor.capture.segments import load_index
from proctor.capture.sensor import SensorConfig
from proctor.records import read_jsonl

SENSORS = (
    SensorConfig(plugin="sim.video", name="pv"),
    SensorConfig(plugin="sim.depth", name="depth", options={"rate_hz": 30}),
    SensorConfig(plugin="sim.imu", name="accelerometer", options={"kind": "accelerometer"}),
    SensorConfig(plugin="sim.imu", name="gyroscope", options={"kind": "gyroscope"}),
    SensorConfig(plugin="sim.imu", name="magnetometer", options={"kind": "magnetometer"}),
    SensorConfig(plugin="sim.audio", name="microphone"),
)


def family() -> dict[int, tuple[str, float, float]]:
    """Return name, resident MB and processor seconds of this process and its children, by process id."""
    found = {}
    tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    for pid in (
        os.getpid(),
        *(int(p) for p in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()),
    ):
        words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page / 1e6
        found[pid] = (
            "recorder" if pid == os.getpid() else "sensor",
            resident,
            (int(words[11]) + int(words[12])) / tick,
        )
    return found


async def run(folder: Path, seconds: float) -> None:
    recorder = Recorder(folder, Manifest(id="benchmark", simulated=True), None, SENSORS)
    await recorder.arm()
    await recorder.start()
    begun = time.monotonic()
    await asyncio.sleep(seconds / 10)
    early = family()
    await asyncio.sleep(seconds - (time.monotonic() - begun))
    late, took = family(), time.monotonic() - begun
    manifest = await recorder.stop()
    print(f"{took:.1f} s, state {manifest.state}")
    events = read_jsonl(folder / EVENTS, Event)
    print(
        f"drop events: {sum(e.kind == 'drop' for e in events)}, samples dropped: {sum(e.count for e in events if e.kind == 'drop')}"
    )
    size = 0
    for spec in manifest.streams:
        index = load_index(folder / "raw" / spec.name)
        size += int(index["size"].sum())
        missing = int(index["seq"][-1]) + 1 - len(index) if len(index) else 0
        rate = (len(index) - 1) / (int(index["host_ns"][-1] - index["host_ns"][0]) / 1e9)
        print(
            f"  {spec.name:14} {len(index):7,} samples, {rate:8.3f}/s of {spec.rate_hz:g}, numbers missing: {missing}"
        )
    print(f"{size / 1e6:,.0f} MB, {size / 1e6 / took:.1f} MB/s")
    for pid, (name, resident, cpu) in late.items():
        before = early[pid][1] if pid in early else 0.0
        print(
            f"  {name:9} {before:6.1f} MB at a tenth, {resident:6.1f} MB at the end; {100 * cpu / took:5.1f} % of a processor"
        )
    print(
        f"together {sum(c for _, _, c in late.values()) / took * 100:.0f} % of a processor, {sum(r for _, r, _ in late.values()):.0f} MB"
    )
    block, begun = bytes(1 << 20), time.monotonic()
    with (folder / "limit").open("wb") as file:
        for _ in range(max(1, size >> 20)):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    print(f"the disk alone: {size / 1e6 / (time.monotonic() - begun):,.0f} MB/s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(run(Path(place) / "benchmark", options.seconds))


if __name__ == "__main__":
    main()
