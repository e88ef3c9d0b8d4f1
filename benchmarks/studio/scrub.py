"""How many seeks a second a browser makes in a proxy of half an hour: dragging along the timeline, and jumping about.

    python -m benchmarks.studio.scrub [--height 1080] [--gop 15] [--seconds 8] [--keep FOLDER]

Ten seconds of a rendered scene with grain are encoded as the studio does it; the packets are repeated to thirty minutes, so
that size and index are those of a long recording. A seek counts when its picture has been decoded and the browser says so. Beside the clock there is the processor time of all of the
browser's processes for a seek, which says what a machine that does nothing else would do. With ``--keep`` what was rendered is
taken from there by the next run.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import tempfile
import threading
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import uvicorn
from playwright.sync_api import sync_playwright
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from proctor.media.proxy import write_proxy
from proctor.records import file_sha256
from proctor.studio.serving import send_file

PART_SECONDS = 10
MARK = f"--proctor-scrub={os.getpid()}"
MINUTES = 30
SCRUB = """async ([seconds, pattern]) => {
  const video = document.querySelector('video');
  video.muted = true;
  const waits = [], length = video.duration;
  let seed = 7, place = 100;
  const begun = performance.now();
  while (performance.now() - begun < seconds * 1000) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    place = pattern === 'drag' ? (place + 2.13) % length : (seed / 2147483648) * length;
    const frame = Math.floor(place * 30), at = performance.now();
    await new Promise((done) => { video.addEventListener('seeked', done, {once: true}); video.currentTime = (frame + .5) / 30; });
    waits.push(performance.now() - at);
  }
  waits.sort((a, b) => a - b);
  return [waits.length / ((performance.now() - begun) / 1000), waits[Math.floor(waits.length / 2)], waits[Math.floor(waits.length * .95)]];
}"""


def make_scene(path: Path) -> None:
    """Write a scene at 1080p: a moving pattern, edges and grain, so that pictures cost what those of a camera cost."""
    random = np.random.default_rng(7)
    y, x = np.mgrid[0:1080, 0:1920]
    grain = [random.integers(-9, 10, (1080, 1920, 1), np.int16) for _ in range(8)]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30, options={"preset": "ultrafast", "crf": "16"})
        stream.width, stream.height, stream.pix_fmt = 1920, 1080, "yuv420p"
        for n in range(PART_SECONDS * 30):
            wave = 110 + 60 * np.sin((x + 9 * n) / 37) * np.cos((y - 5 * n) / 23)
            picture = np.repeat(wave[:, :, None].astype(np.int16), 3, axis=2) + grain[n % 8]
            picture[200:500, (n * 11) % 1500 : (n * 11) % 1500 + 300] = (200, 90, 60)
            frame = av.VideoFrame.from_ndarray(np.clip(picture, 0, 255).astype(np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def repeat(part: Path, whole: Path, times: int) -> None:
    """Write the packets of a proxy again and again."""
    with av.open(str(whole), "w", options={"movflags": "faststart"}) as out:
        with av.open(str(part)) as source:
            targets = {s.index: out.add_stream_from_template(s) for s in source.streams}
        last: dict[int, int] = {}
        for turn in range(times):
            with av.open(str(part)) as source:
                for packet in source.demux():
                    if packet.dts is None:
                        continue
                    shift = int(Fraction(turn * PART_SECONDS) / packet.time_base)
                    packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
                    if packet.dts <= last.get(packet.stream_index, -(2**60)):
                        continue  # sound of a part ends a block after its pictures
                    last[packet.stream_index] = packet.dts
                    packet.stream = targets[packet.stream_index]
                    out.mux(packet)


def serve(folder: Path, name: str) -> tuple[uvicorn.Server, str]:
    digest = file_sha256(folder / name)

    def page(_request: Request) -> Response:
        return HTMLResponse("<!doctype html><video src=/clip.mp4 preload=auto width=960></video>")

    def video(request: Request) -> Response:
        return send_file(request, folder, name, sha256=digest, media_type="video/mp4")

    app = Starlette(routes=[Route("/", page), Route("/clip.mp4", video)])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
    return server, f"http://127.0.0.1:{listener.getsockname()[1]}/"


def processor_seconds(mark: str) -> float:
    """Return what all processes whose command line has a mark, and their children, have used so far."""
    listed = subprocess.run(
        ["ps", "-axwwo", "pid=,ppid=,cputimes=,command="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 3) for line in listed.stdout.splitlines()]
    family = {row[0] for row in rows if mark in row[3]}
    for _ in range(4):
        family |= {row[0] for row in rows if row[1] in family}
    ticks = 0
    for pid in family:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(given: argparse.Namespace, folder: Path) -> None:
    name = f"{given.height:x}{given.gop:x}".ljust(16, "0") + ".mp4"
    if not (folder / "scene.mp4").exists():
        make_scene(folder / "scene.mp4")
    if not (folder / name).exists():
        write_proxy(folder / "scene.mp4", folder / "part.mp4", given.height, gop=given.gop)
        repeat(folder / "part.mp4", folder / name, MINUTES * 60 // PART_SECONDS)
    size = (folder / name).stat().st_size
    print(f"{MINUTES} min, {given.height} lines, keyframe every {given.gop}, {size / 1e6:,.0f} MB")
    server, address = serve(folder, name)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu", MARK]
        )
        page: Any = browser.new_page()
        page.goto(address)
        page.wait_for_function("document.querySelector('video').readyState >= 2")
        for pattern in ("drag", "jump"):
            before = processor_seconds(MARK)
            rate, half, most = page.evaluate(SCRUB, [given.seconds, pattern])
            each = 1000 * (processor_seconds(MARK) - before) / (rate * given.seconds)
            print(
                f"{pattern}: {rate:.1f} seeks/s; {half:.0f} ms at the median, {most:.0f} ms at the 95th percentile; "
                f"{each:.0f} ms of processor each"
            )
        browser.close()
    server.should_exit = True


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--height", type=int, default=1080)
    parser.add_argument("--gop", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--keep", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        kept = chosen.keep or Path(place)
        kept.mkdir(exist_ok=True)
        measure(chosen, kept)
