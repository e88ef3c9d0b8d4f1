"""A GoPro over HTTP, played by a server of our own that speaks the documented routes."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from aiohttp import web
from tests.capture.sensors.sensing import Kept

from proctor.capture.sensor import StopReport
from proctor.capture.sensors.gopro import GoPro, chapters, make
from proctor.media.probe import probe
from proctor.records import file_sha256


def _video(path: Path, first: int, frames: int = 30) -> Path:
    with av.open(str(path), "w", format="mp4") as out:
        stream = out.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        sound = out.add_stream("aac", rate=48_000, layout="mono")
        for n in range(frames):
            picture = np.full((48, 64, 3), first + n, np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            block = av.AudioFrame.from_ndarray(np.zeros((1, 1600), np.int16), format="s16", layout="mono")
            block.sample_rate, block.pts = 48_000, n * 1600
            out.mux(sound.encode(block))
        out.mux([*stream.encode(None), *sound.encode(None)])
    return path


class Camera:
    """What is on the card, and what it does wrong."""

    def __init__(self, folder: Path) -> None:
        self.old, self.new = dict[str, Path](), dict[str, Path]()
        self.folder, self.recording, self.asked = folder, False, list[str]()
        self.cut_after, self.cuts, self.clock, self.lie = 0, 0, "", 0

    async def state(self, _: web.Request) -> web.Response:
        status = {"8": 0, "10": int(self.recording), "70": 80, "35": 5_000}
        return web.json_response({"status": status, "settings": {}})

    async def other(self, request: web.Request) -> web.Response:
        self.asked.append(request.path_qs)
        if request.path.endswith("shutter/start"):
            self.recording = True
        if request.path.endswith("shutter/stop"):
            self.recording = False
        if request.path.endswith("get_date_time"):
            return web.json_response({"date": "2016_01_01", "time": "0_0_7"})
        return web.json_response({})

    async def listed(self, _: web.Request) -> web.Response:
        there = {**self.old, **(self.new if any("shutter/stop" in path for path in self.asked) else {})}
        files = [
            {"n": name, "s": str(path.stat().st_size + self.lie), "cre": "1451606407"}
            for name, path in sorted(there.items())
        ]
        odd = [
            {"n": "../../etc/passwd", "s": "5"},
            {"n": "GX010001.LRV", "s": "5"},
            {"n": "GX019999.MP4", "s": "-1"},
        ]
        return web.json_response(
            {"id": "1", "media": [{"d": "100GOPRO", "fs": files + odd}, {"d": "..", "fs": files}]}
        )

    async def video(self, request: web.Request) -> web.StreamResponse:
        path = {**self.old, **self.new}.get(request.match_info["name"])
        if path is None:
            raise web.HTTPNotFound
        self.asked.append(f"{request.path} {request.headers.get('Range', '')}")
        if self.cuts:
            self.cuts -= 1
            answer = web.StreamResponse(headers={"Content-Length": str(path.stat().st_size)})
            await answer.prepare(request)
            await answer.write(path.read_bytes()[: self.cut_after])
            assert request.transport is not None
            request.transport.abort()
            return answer
        return web.FileResponse(path)


def _with(camera: Camera, body: Callable[[GoPro], Awaitable[Any]], **options: Any) -> Any:
    async def play() -> Any:
        app = web.Application()
        app.router.add_get("/gopro/camera/state", camera.state)
        app.router.add_get("/gopro/media/list", camera.listed)
        app.router.add_get("/videos/DCIM/100GOPRO/{name}", camera.video)
        app.router.add_get("/{rest:.*}", camera.other)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        try:
            return await body(make("ego", {"url": f"http://127.0.0.1:{port}", "timeout_s": 5, **options}))
        finally:
            await runner.cleanup()

    return asyncio.run(play())


async def _recorded(gopro: GoPro, kept: Kept, camera: Camera) -> StopReport:
    running = asyncio.create_task(gopro.run(kept))
    while not camera.recording:
        assert not running.done(), running.exception()
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait([running])
    return await gopro.stop()


@pytest.fixture
def camera(tmp_path: Path) -> Camera:
    made = Camera(tmp_path / "card")
    made.folder.mkdir()
    made.old = {"GX010122.MP4": _video(made.folder / "old", 200)}
    made.new = {f"GX{c:02}0123.MP4": _video(made.folder / f"c{c}", 40 * c) for c in (1, 2, 3)}
    made.new["GX010124.MP4"] = _video(made.folder / "next", 7)
    return made


def test_new_chapters_are_fetched_in_order_and_joined_and_old_files_left_alone(
    tmp_path: Path, camera: Camera
) -> None:
    kept = Kept(tmp_path / "raw")
    report: StopReport = _with(camera, lambda gopro: _recorded(gopro, kept, camera))
    names = ["GX010123.MP4", "GX020123.MP4", "GX030123.MP4", "joined-0123.mp4", "GX010124.MP4"]
    assert list(report.files) == names
    assert report.missing == ()
    for name, path in camera.new.items():
        assert file_sha256(kept.folder / name) == file_sha256(path)
    joined = probe(kept.folder / "joined-0123.mp4")
    assert joined.frames == 90
    assert joined.duration == pytest.approx(3.0, abs=0.05)
    assert joined.has_audio
    with av.open(str(kept.folder / "joined-0123.mp4")) as video:
        pictures = [(frame.time, frame.to_ndarray(format="rgb24").mean()) for frame in video.decode(video=0)]
    assert np.diff([float(time or 0) for time, _ in pictures]) == pytest.approx(1 / 30, abs=1e-3)
    assert [round(pictures[n][1] / 40) for n in (0, 30, 60)] == [1, 2, 3]
    assert not any("delete" in path or "GX010122" in path for path in camera.asked)
    assert sum("set_date_time" in path for path in camera.asked) == 1
    assert (
        "says 2016_01_01 0_0_7" in kept.texts[0]
    )  # the clock was set and read back; a wrong one is told, not believed


def test_a_camera_that_goes_away_in_the_middle_is_asked_for_the_rest(tmp_path: Path, camera: Camera) -> None:
    camera.cut_after, camera.cuts = 3_000, 2
    kept = Kept(tmp_path / "raw")
    report: StopReport = _with(camera, lambda gopro: _recorded(gopro, kept, camera))
    assert report.missing == ()
    for name, path in camera.new.items():
        assert file_sha256(kept.folder / name) == file_sha256(path)
    assert any("bytes=3000-" in path for path in camera.asked)


@pytest.mark.parametrize("damage", ["chapter", "away", "size", "nothing", "file", "end"])
def test_what_is_missing_is_listed_and_the_rest_is_kept(tmp_path: Path, camera: Camera, damage: str) -> None:
    kept = Kept(tmp_path / "raw")
    told, files = "", ["GX010123.MP4", "GX030123.MP4", "GX010124.MP4"]
    if damage == "chapter":
        del camera.new["GX020123.MP4"]
        told = "chapter 2 of 0123"
    elif damage == "file":
        camera.new["GX020123.MP4"].write_bytes(b"\0" * 5_000)
        told = "GX020123.MP4"
    elif damage == "away":
        camera.cut_after, camera.cuts = 10, 1_000
        told, files = "still on the card", []
    elif damage == "size":
        camera.lie = 1
        told, files = "answers 416", []
    elif damage == "end":  # chapters cannot tell that the last one is not there
        kept.folder.mkdir()
        (kept.folder / "before.json").write_text("[]")
        long_ago = time.time() - 3_600
        os.utime(kept.folder / "before.json", (long_ago, long_ago))
        del camera.new["GX030123.MP4"]
        camera.old, told, files = {}, "s are in no file", ["GX010123.MP4", "GX020123.MP4", "GX010124.MP4"]
    else:
        camera.new = {}
        told, files = "nothing new", []
    report: StopReport = _with(camera, lambda gopro: _recorded(gopro, kept, camera), tries=2)
    assert any(told in text for text in report.missing), report
    assert [name for name in report.files if not name.startswith("joined")] == files
    assert (kept.folder / "joined-0123.mp4").exists() == (damage == "end")
    assert not any("delete" in path for path in camera.asked)


def test_a_camera_that_does_not_answer_is_told_before_and_after(tmp_path: Path) -> None:
    gopro = make("ego", {"url": "http://127.0.0.1:9", "timeout_s": 2})
    (check,) = asyncio.run(gopro.preflight())
    assert not check.ok
    assert check.hint
    with pytest.raises(ConnectionError, match="no answer"):
        asyncio.run(gopro.run(Kept(tmp_path)))
    assert asyncio.run(gopro.stop()) == StopReport()
    assert gopro.spec.note == "unverified on hardware"


def test_preflight_tells_battery_and_room(camera: Camera) -> None:
    (check,) = _with(camera, lambda gopro: gopro.preflight())
    assert check.ok
    assert check.seen == "battery 80 %, room for 83 minutes"


def test_chapters_sort_by_number_first() -> None:
    names = ["GX010124.MP4", "GX020123.MP4", "GX010123.MP4", "GX110123.MP4"]
    listed = {"media": [{"d": "100GOPRO", "fs": [{"n": name, "s": "1"} for name in names]}]}
    assert [c.name for c in sorted(chapters(listed))] == [
        "GX010123.MP4",
        "GX020123.MP4",
        "GX110123.MP4",
        "GX010124.MP4",
    ]
