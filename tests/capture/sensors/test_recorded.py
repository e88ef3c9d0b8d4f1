"""A camera in the network, a GoPro, a HoloLens and files put by hand, recorded in one session by the real recorder."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path

import pytest
from aiohttp import web
from tests.capture.recording import QUICK, events, until, verified
from tests.capture.sensors.test_ffmpeg import LISTEN, _address, _push
from tests.capture.sensors.test_file_drop import _video as dropped_video
from tests.capture.sensors.test_gopro import Camera
from tests.capture.sensors.test_gopro import _video as chapter

from proctor.capture.recorder import Recorder
from proctor.capture.records import Manifest
from proctor.capture.segments import load_index
from proctor.capture.sensor import SensorConfig
from proctor.media.probe import probe
from proctor.records import file_sha256
from proctor.stages.capture.playable import write_media


def test_all_kinds_of_devices_are_recorded_in_one_session(tmp_path: Path) -> None:
    folder, card = tmp_path / "r1", tmp_path / "card"
    card.mkdir()
    camera = Camera(card)
    camera.old = {"GX010001.MP4": chapter(card / "old", 200)}
    camera.new = {f"GX{c:02}0002.MP4": chapter(card / f"c{c}", 40 * c) for c in (1, 2)}

    async def holo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            for n in range(100_000):
                writer.write(struct.pack("<QI", 10**9 + n * 100_000, 8) + b"\xff\xd8picture"[:8] + bytes(64))
                await writer.drain()
                await asyncio.sleep(0.01)
        except ConnectionError:
            pass
        writer.close()

    async def session() -> Manifest:
        app = web.Application()
        app.router.add_get("/gopro/camera/state", camera.state)
        app.router.add_get("/gopro/media/list", camera.listed)
        app.router.add_get("/videos/DCIM/100GOPRO/{name}", camera.video)
        app.router.add_get("/{rest:.*}", camera.other)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        holos = await asyncio.start_server(holo, "127.0.0.1", 0)
        gopro, device = (f"http://127.0.0.1:{runner.addresses[0][1]}", holos.sockets[0].getsockname()[1])
        url = _address()
        sensors = [
            SensorConfig(plugin="rtsp", name="fixed", options={"url": url, **LISTEN}),
            SensorConfig(plugin="gopro", name="ego", options={"url": gopro}),
            SensorConfig(
                plugin="hololens",
                name="holo",
                options={
                    "host": "127.0.0.1",
                    "port": device,
                    "codec": "jpeg",
                    "pose": True,
                    "rate_hz": 100.0,
                },
            ),
            SensorConfig(plugin="file-drop", name="any", required=False),
        ]
        recorder = Recorder(folder, Manifest(id="r1"), None, sensors, limits=QUICK)
        checks = {check.name: check for check in await recorder.preflight()}
        assert all(check.ok for check in checks.values()), checks
        await recorder.start()
        pusher = _push(url, 100_000, 0.02)
        try:
            await until(lambda: camera.recording)
            await until(lambda: all(recorder.status().sensors[n].samples > 40 for n in (0, 2)), 60)
            dropped_video(folder / "drop" / "phone.mp4", 1, "1970-01-01T00:00:07Z")
            ended = await recorder.stop()
        finally:
            pusher.kill()
            pusher.wait()
            holos.close()
            await runner.cleanup()
        return ended

    manifest = asyncio.run(session())
    assert manifest.state == "stopped", manifest.reasons
    assert not camera.recording
    kept = {file.path: file.sha256 for file in manifest.files}
    assert kept["raw/ego/GX010002.MP4"] == file_sha256(camera.new["GX010002.MP4"])
    assert kept["raw/any/file-001.mp4"] == file_sha256(folder / "drop" / "phone.mp4")
    assert probe(folder / "raw" / "ego" / "joined-0002.mp4").frames == 60
    specs = {spec.name: spec for spec in manifest.streams}
    assert (specs["fixed"].codec, specs["fixed"].width) == ("h264", 640)
    assert [specs[name].note for name in ("ego", "holo")] == ["unverified on hardware"] * 2
    index = load_index(folder / "raw" / "holo")
    assert (index["device_ns"] % 10_000_000 == 0).all()
    assert set(index["size"]) == {8 + 64}
    assert verified(folder / "raw" / "holo") == list(range(len(index)))
    begun = load_index(folder / "raw" / "fixed")["host_ns"][0]
    out = write_media(folder / "raw" / "fixed", specs["fixed"], tmp_path / "fixed.mp4", start_ns=int(begun))
    assert (probe(out).frames or 0) >= 10  # packets that came in one burst share a place
    said = [event.text for event in events(folder, "sensor") if event.stream == "any"]
    assert any("never set" in text for text in said)


@pytest.mark.parametrize("gone", ["before", "meanwhile"])
def test_a_gopro_that_goes_away_leaves_an_incomplete_session_that_says_where_the_files_are(
    tmp_path: Path, gone: str
) -> None:
    camera = Camera(tmp_path)
    camera.new = {"GX010002.MP4": chapter(tmp_path / "c1", 40)}

    async def session() -> Manifest:
        app = web.Application()
        app.router.add_get("/gopro/camera/state", camera.state)
        app.router.add_get("/gopro/media/list", camera.listed)
        app.router.add_get("/{rest:.*}", camera.other)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        options = {"url": f"http://127.0.0.1:{runner.addresses[0][1]}", "tries": 2, "timeout_s": 2}
        sensors = [SensorConfig(plugin="gopro", name="ego", options=options)]  # type: ignore[arg-type]
        recorder = Recorder(tmp_path / "r1", Manifest(id="r1"), None, sensors, limits=QUICK)
        await recorder.start()
        await until(lambda: camera.recording)
        if gone == "before":
            await runner.cleanup()
        ended = await recorder.stop()  # it answers, but not with its files
        await runner.cleanup()
        return ended

    manifest = asyncio.run(session())
    assert manifest.state == "incomplete"
    assert any("still on the card" in reason for reason in manifest.reasons)
