from __future__ import annotations

import asyncio
import errno
import io
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.capture.clock import JUMP_NS, Clock, JumpWatch
from proctor.capture.control import socket_path
from proctor.capture.host import _mismatch, silent_after_s
from proctor.capture.queue import MemoryQueue, QueueSettings
from proctor.capture.recorder import byte_rate
from proctor.capture.records import EVENTS, Event, Sample, StreamSpec
from proctor.capture.session import RESERVE, EventLog, read_battery, reserve, stream_lock
from proctor.errors import UserError
from proctor.records import read_jsonl

PIL = pytest.importorskip("PIL.Image")


def spec(form: Any, **more: Any) -> StreamSpec:
    return StreamSpec(name="s", kind="video", format=form, **more)


def picture(form: str, size: tuple[int, int], mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    PIL.new(mode, size).save(out, form)
    return out.getvalue()


def test_a_sample_that_is_not_what_its_stream_says_is_told() -> None:
    deep = io.BytesIO()
    PIL.fromarray(np.zeros((3, 4), dtype=np.uint16)).save(deep, "PNG")
    same = [
        (spec("jpeg", width=4, height=3), picture("JPEG", (4, 3))), (spec("jpeg"), picture("JPEG", (9, 9))),
        (spec("png16", width=4, height=3), deep.getvalue()), (spec("f4", columns=("x", "y")), bytes(8)),
        (spec("s16", channels=2), bytes(8)), (spec("packet"), b"x"),
    ]  # fmt: skip
    other = [
        (spec("jpeg"), picture("PNG", (4, 3))), (spec("png16"), picture("PNG", (4, 3), "L")),
        (spec("png16", width=3, height=3), deep.getvalue()), (spec("png16", width=4, height=3), deep.getvalue()[:10]),
        (spec("f4", columns=("x",)), bytes(8)), (spec("s16", channels=2), bytes(6)), (spec("s16"), b""),
    ]  # fmt: skip
    assert [_mismatch(*case) for case in same] == [""] * len(same)
    assert all(_mismatch(*case) for case in other)


def test_a_stream_is_silent_after_3_periods_and_a_second_at_least() -> None:
    assert silent_after_s(spec("f4", rate_hz=200)) == 1
    assert silent_after_s(spec("jpeg", rate_hz=0.5)) == 6
    assert silent_after_s(spec("f4")) is silent_after_s(spec("file", rate_hz=30)) is None


@pytest.mark.parametrize("last", [b"{", b'{"n":"one"}', b"\xff\xfe", b"\x00" * 9])
def test_events_whose_last_line_is_broken_are_a_message(tmp_path: Path, last: bytes) -> None:
    EventLog(tmp_path, Clock()).add(Event(n=0, kind="mark"))
    before = (tmp_path / EVENTS).read_bytes() + last + b"\n"
    (tmp_path / EVENTS).write_bytes(before)
    with pytest.raises(UserError, match=r"line 2.*cannot be read"):
        EventLog(tmp_path, Clock())
    assert (tmp_path / EVENTS).read_bytes() == before


def test_events_go_into_the_reserved_space_when_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve(tmp_path, 4096)
    log = EventLog(tmp_path, Clock())
    log.add(Event(n=7, kind="mark", text="first"))
    sync, full = os.fsync, True

    def fsync(file: int) -> None:
        if full and (tmp_path / RESERVE).exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(file)

    monkeypatch.setattr(os, "fsync", fsync)
    log.add(Event(n=0, kind="mark", text="second"))
    reserve(tmp_path, 4096)
    monkeypatch.setattr("proctor.capture.session.free_reserve", lambda folder: False)
    with pytest.raises(UserError, match="No space"):
        log.add(Event(n=0, kind="mark", text="lost"))
    full = False
    log.add(Event(n=0, kind="mark", text="third"))
    assert [(e.n, e.text) for e in read_jsonl(tmp_path / EVENTS, Event)] == [
        (0, "first"),
        (1, "second"),
        (2, "third"),
    ]


def test_a_jump_is_told_once_and_a_slew_is_none() -> None:
    class Two(Clock):
        mono, wall = 0, 10**18

        def wall_ns(self) -> int:
            return self.wall

    clock = Two()
    clock.mono_ns = lambda: clock.mono  # type: ignore[method-assign]
    watch = JumpWatch(clock)
    clock.mono, clock.wall = 10**9, 10**18 + 10**9 + JUMP_NS // 2
    assert watch.look() == 0
    clock.wall -= 3 * 10**9
    assert (watch.look(), watch.look()) == (-3 * 10**9, 0)
    assert clock.label() == "2001-09-09T01:46:38.025Z"


def test_battery_is_read_only_while_it_is_used_up(tmp_path: Path) -> None:
    for name, kind, status, capacity in [
        ("AC", "Mains", "", ""), ("BAT0", "Battery", "Discharging", "41"), ("BAT1", "Battery", "Charging", "90"), ("BAT2", "Battery", "Discharging", "?"),
    ]:  # fmt: skip
        (tmp_path / name).mkdir()
        for file, text in (("type", kind), ("status", status), ("capacity", capacity)):
            (tmp_path / name / file).write_text(text + "\n")
    assert read_battery(tmp_path) == 41
    (tmp_path / "BAT0" / "status").write_text("Full\n")
    assert read_battery(tmp_path) is None
    assert read_battery(tmp_path / "none") is None


def test_bytes_a_second_of_a_stream() -> None:
    assert byte_rate(spec("f4", rate_hz=200, columns=("x", "y", "z"))) == 200 * 52
    assert byte_rate(spec("s16", sample_rate=48_000, channels=2)) == 192_000
    assert byte_rate(spec("file")) == 0


def test_a_stream_has_one_writer(tmp_path: Path) -> None:
    with (
        stream_lock(tmp_path, "imu"),
        pytest.raises(UserError, match="still writes"),
        stream_lock(tmp_path, "imu", 0.1),
    ):
        pass
    with stream_lock(tmp_path, "imu", 0):
        pass


def test_the_socket_is_short_and_of_this_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    deep = tmp_path / ("d" * 200)
    found = socket_path(deep)
    assert len(found.name) < 30
    assert found != socket_path(tmp_path)
    assert found.parent.stat().st_mode & 0o777 == 0o700
    found.parent.chmod(0o755)
    with pytest.raises(UserError, match="others"):
        socket_path(deep)


def test_a_queue_that_blocks_loses_nothing_and_one_that_drops_counts(tmp_path: Path) -> None:
    async def run(policy: Any) -> tuple[list[int], int]:
        queue = MemoryQueue(QueueSettings(most_bytes=2000), policy)
        got: list[int] = []
        lost = 0

        def read() -> None:
            nonlocal lost
            while (batch := queue.take(0, 0.001)) is not None:
                got.extend(s.device_ns for s in batch)
                if (more := queue.lost()) is not None:
                    lost += more.number

        thread = threading.Thread(target=read)
        if policy == "block":
            thread.start()
        for n in range(500):
            await queue.put(Sample(n, n, bytes(100)))
            assert queue.backlog() <= 1
        queue.close()
        await queue.put(Sample(500, 500, b""))
        if policy != "block":
            thread.start()
        await asyncio.to_thread(thread.join)
        if (more := queue.lost()) is not None:
            lost += more.number
        return got, lost

    got, lost = asyncio.run(run("block"))
    assert got == list(range(500))
    assert lost == 1
    got, lost = asyncio.run(run("drop-oldest"))
    assert got == list(range(491, 500))
    assert lost == 492
