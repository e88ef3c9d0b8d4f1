"""Record with the sensors of ``misbehaving``, in this process or in one that can be killed; look at what is on disk."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from proctor.capture.recorder import Limits, Recorder
from proctor.capture.records import EVENTS, Event, Manifest
from proctor.capture.segments import load_index, segment_files, write_index
from proctor.capture.sensor import Option, SensorConfig
from proctor.records import read_jsonl

HERE = Path(__file__).parent
QUICK = Limits(backoff_s=0.1, watch_s=0.05, reserve_bytes=1 << 16, stop_s=5)


def sensor(name: str = "imu", *, required: bool = True, **options: Option) -> SensorConfig:
    return SensorConfig(plugin="misbehaving:make", name=name, required=required, options=options)


async def until(true: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never became true"
        await asyncio.sleep(0.02)


def samples(recorder: Recorder, n: int = 0) -> int:
    return recorder.status().sensors[n].samples


def events(folder: Path, kind: str = "") -> list[Event]:
    """Return the events, whose numbers have no gap."""
    found = read_jsonl(folder / EVENTS, Event)
    assert [e.n for e in found] == list(range(len(found)))
    return [e for e in found if not kind or e.kind == kind]


def verified(raw: Path) -> list[int]:
    """Return the sequence numbers of a stream; every closed segment is whole to its last byte."""
    rows = write_index(raw)
    for number, path in segment_files(raw):
        last = rows[rows["segment"] == number][-1]
        assert path.stat().st_size == int(last["offset"]) + int(last["size"]), path
    assert list(rows["host_ns"]) == sorted(rows["host_ns"])
    assert len(load_index(raw)) == len(rows)
    return [int(n) for n in rows["seq"]]


def killable(folder: Path, sensors: list[SensorConfig], *arguments: str) -> subprocess.Popen[bytes]:
    """Record in another process until it is killed or its input ends."""
    data = msgspec.json.encode(sensors).decode()
    return subprocess.Popen(
        [sys.executable, __file__, str(folder), data, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=os.environ,
    )  # fmt: skip


async def _main(folder: Path, sensors: list[SensorConfig], armed: bool) -> None:
    limits = msgspec.structs.replace(QUICK, segment_s=0.3)
    recorder = Recorder(folder, Manifest(id=folder.name), None, sensors, limits=limits)
    await recorder.arm()
    if not armed:
        await recorder.start()
    await asyncio.to_thread(sys.stdin.read)
    await recorder.stop()


if __name__ == "__main__":
    asyncio.run(
        _main(
            Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=list[SensorConfig]), "armed" in sys.argv
        )
    )
