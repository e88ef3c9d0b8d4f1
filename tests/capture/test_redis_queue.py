from __future__ import annotations

import asyncio
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.capture.recording import HERE, QUICK, events, samples, sensor, until, verified
from tests.patience import PATIENCE

from proctor.capture.queue import QueueSettings
from proctor.capture.recorder import Recorder
from proctor.capture.records import Manifest, Sample, StreamSpec
from proctor.capture.redis_queue import RedisQueue, connect, stream_key
from proctor.capture.segments import load_index, read_payload
from proctor.errors import MissingExtraError, UserError

redis = pytest.importorskip("redis")
KEY = stream_key("r1", "imu")


class Server:
    """A Redis server of our own, on a socket, that writes down each command."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="redis-"))
        self.url = f"unix://{self.folder}/s"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", f"{self.folder}/s", "--dir", str(self.folder),
             "--appendonly", "yes", "--appendfsync", "always", "--save", ""],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        self.client: Any = redis.Redis.from_url(self.url)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.client.ping()
                return
            except redis.ConnectionError:
                assert time.monotonic() < end
                time.sleep(0.02)

    def stop(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    monkeypatch.setenv("PYTHONPATH", f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    found = Server()
    yield found
    found.stop()
    shutil.rmtree(found.folder)


def spec(**more: Any) -> StreamSpec:
    return StreamSpec(name="imu", kind="imu", format="f4", **more)


def queue(server: Server, **more: Any) -> RedisQueue:
    policy = more.pop("policy", "block")
    return RedisQueue(QueueSettings(redis=server.url, **more), "r1", spec(policy=policy))


async def put(q: RedisQueue, numbers: range) -> None:
    for n in numbers:
        await q.put(Sample(n, 1000 + n, str(n).encode()))


def drain(q: RedisQueue, seq: int = 0) -> list[bytes]:
    """Take and acknowledge everything from ``seq`` on."""
    found: list[bytes] = []
    q.close()
    while (batch := q.take(seq, 0.01)) is not None:
        seq = q.next_seq + len(batch)
        found += [s.payload for s in batch]
        q.written()
    return found


def numbers(*spans: range) -> list[bytes]:
    return [str(n).encode() for span in spans for n in span]


@pytest.mark.parametrize("point", ["ack", "written"])
def test_consumer_is_killed_between_write_and_ack_and_nothing_is_lost_or_twice(
    server: Server, tmp_path: Path, point: str
) -> None:
    """A host dies after its batch is on disk and before XACK, or before the batch is on disk."""
    server.client.set("somebody-elses", "1")

    async def run() -> Manifest:
        sensors = [sensor("imu", rate=200, kill=f"host:{point}", once=str(tmp_path / "once")), sensor("gyro")]
        settings = QueueSettings(redis=server.url)
        r = Recorder(tmp_path / "r1", Manifest(id="r1"), None, sensors, queue=settings, limits=QUICK)
        await r.start()
        await until(lambda: (tmp_path / "once").exists())
        had = samples(r)
        await until(lambda: samples(r) > had + 100)
        assert server.client.exists(KEY)
        return await r.stop()

    done = asyncio.run(run())
    assert done.state == "stopped"
    raw = tmp_path / "r1" / "raw" / "imu"
    seqs = verified(raw)
    assert seqs == list(range(len(seqs)))
    sent = [int(struct.unpack_from("<f", read_payload(raw, row))[0]) for row in load_index(raw)]
    again = sent.index(0, 1)
    assert sent == [*range(again), *range(len(sent) - again)]  # of the first process and of the second one
    assert again > 20
    assert server.client.keys("*") == [b"somebody-elses"]
    assert not events(tmp_path / "r1", "drop")


@pytest.mark.parametrize("claim_s", [0.05, 30])
def test_what_another_consumer_took_and_left_is_written_first_and_acknowledged(
    server: Server, claim_s: float
) -> None:
    """Also where its entries cannot be claimed yet: they are read in their place, and acknowledged later."""

    async def run() -> None:
        q = queue(server, claim_s=claim_s)
        await put(q, range(20))
        server.client.xreadgroup("writer", "ghost", {KEY: ">"}, 5)
        await put(q, range(20, 30))
        await asyncio.sleep(0.1)
        assert drain(q) == numbers(range(30))
        later = queue(server, claim_s=0.05)
        assert drain(later, 30) == []
        assert server.client.xpending(KEY, "writer")["pending"] == 0

    asyncio.run(run())


def test_what_is_read_again_after_a_crash_is_not_written_again(server: Server) -> None:
    async def run() -> None:
        q = queue(server)
        await put(q, range(10))
        while not (batch := q.take(0, 0.01)):
            pass
        assert len(batch) == 10
        # It dies here: 6 of 10 were on disk, none was acknowledged.
        again = queue(server)
        again.next_seq = 6
        await put(again, range(10, 12))
        assert drain(again, 6) == numbers(range(6, 12))
        assert server.client.xpending(KEY, "writer")["pending"] == 0

    asyncio.run(run())


def test_samples_that_were_trimmed_unread_are_counted(server: Server) -> None:
    async def run() -> None:
        q = queue(server, maxlen=10, policy="drop-oldest")
        await put(q, range(1000))
        assert q.backlog() > 0.5
        found = drain(q)
        lost = q.lost()
        assert lost is not None
        assert lost.number == 1000 - len(found) > 500
        assert found == numbers(range(lost.number, 1000))

    asyncio.run(run())


def test_a_full_stream_of_policy_block_waits_instead_of_losing_unread_samples(server: Server) -> None:
    async def run() -> None:
        q = queue(server, maxlen=100)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(put(q, range(200)), 1)
        assert 90 <= server.client.xlen(KEY) <= 100
        assert drain(q) == numbers(range(server.client.xlen(KEY)))

    asyncio.run(run())


def test_redis_dies_while_recording_and_comes_back(server: Server, tmp_path: Path) -> None:
    async def run() -> None:
        settings = QueueSettings(redis=server.url)
        sensors = [sensor("imu", rate=200)]
        r = Recorder(tmp_path / "r1", Manifest(id="r1"), None, sensors, queue=settings, limits=QUICK)
        await r.start()
        await until(lambda: samples(r) > 50)
        await asyncio.to_thread(server.stop)
        await asyncio.sleep(0.3)
        await asyncio.to_thread(server.start)
        had = samples(r)
        await until(lambda: samples(r) > had + 100)
        await r.stop()

    asyncio.run(run())
    raw = tmp_path / "r1" / "raw" / "imu"
    sent = [int(struct.unpack_from("<f", read_payload(raw, row))[0]) for row in load_index(raw)]
    assert sent == list(range(len(sent)))
    assert verified(raw) == sent


def test_preflight_looks_at_redis(server: Server) -> None:
    connect(server.url).close()
    server.client.config_set("appendonly", "no")
    with pytest.raises(UserError, match="appendonly is off"):
        connect(server.url)


def test_redis_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    for url in (f"unix://{tmp_path}/none", "nothing"):
        with pytest.raises(UserError, match="Redis"):
            RedisQueue(QueueSettings(redis=url), "r1", spec())
        with pytest.raises(UserError, match="Redis cannot be used"):
            connect(url)

        async def arm(url: str) -> None:
            r = Recorder(
                tmp_path / "r1",
                Manifest(id="r1"),
                None,
                [sensor()],
                queue=QueueSettings(redis=url),
                limits=QUICK,
            )
            try:
                await r.arm()
            finally:
                await r.stop()

        with pytest.raises(UserError, match="Redis cannot be used"):
            asyncio.run(arm(url))
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(MissingExtraError, match="redis") as missing:
        RedisQueue(QueueSettings(redis="unix:///x"), "r1", spec())
    assert "proctor-bench[redis]" in (missing.value.hint or "")
