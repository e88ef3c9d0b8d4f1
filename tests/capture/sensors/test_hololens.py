"""Packets of a HoloLens, from a server of our own."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path

import pytest
from tests.capture.sensors.sensing import Kept

from proctor.capture.sensors.hololens import HoloLens, make
from proctor.errors import UserError

POSE = struct.pack("<16f", *range(16))


def _packet(ticks: int, payload: bytes, pose: bytes = b"") -> bytes:
    return struct.pack("<QI", ticks, len(payload)) + payload + pose


def _play(
    sent: bytes, cut: int, options: dict[str, object], folder: Path
) -> tuple[Kept, str, HoloLens, bytes]:
    """Let a server send bytes in pieces of ``cut`` and hang up; return what came, how it ended, and what the client said first."""

    async def run() -> tuple[Kept, str, HoloLens, bytes]:
        hello = b""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal hello
            if options.get("hello"):
                hello = await reader.readexactly(3)
            for at in range(0, len(sent), cut):
                writer.write(sent[at : at + cut])
                await writer.drain()
                await asyncio.sleep(0)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        sensor, kept = make("holo", {"host": "127.0.0.1", "port": port, **options}), Kept(folder)  # type: ignore[dict-item]
        async with server:
            with pytest.raises(ConnectionError) as ended:
                await asyncio.wait_for(sensor.run(kept), 20)
        return kept, str(ended.value), sensor, hello

    return asyncio.run(run())


@pytest.mark.parametrize("cut", [1, 7, 12, 13, 4096])
def test_s8_ticks_of_packets_cut_anywhere_are_exact_nanoseconds(tmp_path: Path, cut: int) -> None:
    packets = [(100_000_000, b"first"), (100_000_001, bytes(range(256)) * 3), (2**62 // 100, b"x")]
    sent = b"".join(_packet(ticks, payload, POSE) for ticks, payload in packets)
    options = {
        "pose": True,
        "codec": "jpeg",
        "hello": "01 02 ff",
        "utc_offset_ticks": 116_444_736_000_000_000,
    }
    kept, ended, sensor, hello = _play(sent, cut, options, tmp_path)
    assert [(device, payload) for device, payload, _ in kept.samples] == [
        (ticks * 100, payload + POSE) for ticks, payload in packets
    ]
    assert kept.samples[0][0] == 10_000_000_000  # 1e8 ticks are 10 s
    assert hello == b"\x01\x02\xff"
    assert "went away, 0 bytes" in ended
    assert len(sensor.spec.columns) == 16  # so many floats follow each picture
    assert sensor.spec.note == "unverified on hardware"
    assert "116444736000000000" in kept.texts[0]


def test_a_batch_of_an_inertial_sensor_becomes_samples(tmp_path: Path) -> None:
    batch = b"".join(struct.pack("<QQ4f", 5, 1_000 + n, n, 2 * n, 3 * n, 36.5) for n in range(5))
    kept, _, sensor, _ = _play(_packet(1_000, batch, POSE), 50, {"kind": "imu", "pose": True}, tmp_path)
    assert [device for device, _, _ in kept.samples] == [100_000, 100_100, 100_200, 100_300, 100_400]
    assert sensor.spec.format == "f4"
    assert {len(payload) for _, payload, _ in kept.samples} == {4 * len(sensor.spec.columns)}
    assert struct.unpack("<4f", kept.samples[2][1][:16]) == (2, 4, 6, 36.5)
    assert kept.samples[2][1][16:] == POSE


@pytest.mark.parametrize(
    ("sent", "options", "told"),
    [
        (_packet(1, b"whole") + _packet(2, b"half")[:-2], {}, "2 bytes into a packet"),
        (_packet(1, b"whole") + _packet(2, b"")[:5], {}, "5 bytes into a packet"),
        (_packet(1, b"whole") + struct.pack("<QI", 2, 2**31), {}, "sensor's port"),
        (_packet(1, b"whole") + _packet(2, b""), {}, "sensor's port"),
        (_packet(1, b"whole") + _packet(2**64 - 1, b"x"), {}, "sensor's port"),
        (_packet(1, bytes(32)) + _packet(2, bytes(33)), {"kind": "imu"}, "33 bytes"),
    ],
)
def test_what_is_no_packet_ends_the_connection_and_what_came_before_is_kept(
    tmp_path: Path, sent: bytes, options: dict[str, object], told: str
) -> None:
    kept, ended, _, _ = _play(sent, 4096, options, tmp_path)
    assert len(kept.samples) == 1
    assert told in ended


def test_nobody_there_and_wrong_options_are_told() -> None:
    (check,) = asyncio.run(make("holo", {"host": "127.0.0.1", "port": 9}).preflight())
    assert not check.ok
    assert check.hint
    for options, told in (
        ({"host": "x"}, "port"),
        ({"host": "x", "port": 1, "hello": "zz"}, "hexadecimal"),
        ({"host": "x", "port": 1, "colour": 1}, "colour"),
    ):
        with pytest.raises(UserError, match=told):
            make("holo", options)  # type: ignore[arg-type]
