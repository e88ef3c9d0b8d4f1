"""50 uniform frames of a 10-minute 720p H.264 file at 360p, against the usual ways.

Run: ``python benchmarks/media/frames.py [--runs 5] [--cache DIR]``. The videos are rendered once into the cache
folder (default: a folder below the system's temporary folder, never the repository), which takes some minutes.

Reported is CPU time (user + system, all threads), the median of several runs, each in a process of its own, and
wall-clock time beside it. The ways:

* ``proctor``: ``extract_frames(path, uniform(50, duration), height=360)``;
* ``whole file at 1 fps``: as the published ProMQA scripts prepare frames: decode everything, keep and scale one
  frame a second (without even encoding them to files);
* ``seek per frame``: PyAV, a seek to each moment, then decoding up to it (threads on).

All ways must return the same pictures where they look at the same moment, or the benchmark stops.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

SECONDS, FPS, SIZE, COUNT, HEIGHT = 600, 30, (1280, 720), 50, 360
GOPS = {"1–2 s": ("gop45", 45), "8.3 s (GOP 250)": ("gop250", 250)}


def render(path: Path, gop: int) -> None:
    """A hand-held camera over a textured scene with moving things and sensor noise, 3 B-frames, preset veryfast."""
    import av

    rng = np.random.default_rng(7)
    width, height = SIZE
    scene = _texture(rng, height + 240, width + 400)
    noise = rng.integers(-5, 6, (16, height, width), dtype=np.int16)
    with av.open(str(path), "w", container_options={"movflags": "faststart"}) as container:
        options = {"preset": "veryfast", "crf": "23", "x264-params": f"keyint={gop}:min-keyint={gop // 2}"}
        stream = container.add_stream("libx264", rate=FPS, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.max_b_frames = 3
        stream.codec_context.thread_count = 0
        luma = np.empty((height * 3 // 2, width), np.uint8)
        for number in range(SECONDS * FPS):
            t = number / FPS
            x, y = int(200 + 150 * np.sin(t / 3) + 20 * np.sin(2 * t)), int(120 + 90 * np.sin(t / 4.1))
            view = scene[y : y + height, x : x + width].copy()
            for k in range(4):
                cx, cy = (
                    int(640 + 500 * np.sin(t * (0.5 + 0.2 * k) + k)),
                    int(360 + 250 * np.cos(t * 0.7 + 2 * k)),
                )
                view[max(0, cy - 60) : cy + 60, max(0, cx - 60) : cx + 60] = 60 + 45 * k
            luma[:height] = np.clip(view + noise[number % 16], 16, 235)
            luma[height:] = 128
            frame = av.VideoFrame.from_ndarray(luma, format="yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def _texture(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    total = np.zeros((height, width))
    for size in (4, 16, 64, 160):
        coarse = rng.normal(size=(height // size + 2, width // size + 2))
        total += np.kron(coarse, np.ones((size, size)))[:height, :width] * size**0.5
    return (128 + 18 * total / total.std()).astype(np.int16)


def moments() -> list[float]:
    from proctor.media.sampling import uniform

    return uniform(COUNT, float(SECONDS))


def by_proctor(path: Path) -> list[tuple[float, np.ndarray]]:
    from proctor.media.frames import extract_frames

    return [(f.time, f.image) for f in extract_frames(path, moments(), height=HEIGHT)]


def by_whole_file(path: Path) -> list[tuple[float, np.ndarray]]:
    import av

    found = []
    due = 0.0
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        for frame in container.decode(stream):
            if frame.time >= due - 1e-6:
                found.append((frame.time, frame.reformat(640, HEIGHT, "rgb24").to_ndarray()))
                due += 1.0
    return found


def by_seeking(path: Path) -> list[tuple[float, np.ndarray]]:
    import av

    found = []
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        for moment in moments():
            container.seek(int(moment / stream.time_base), stream=stream)
            last = None
            for frame in container.decode(stream):
                if frame.time > moment + 1e-6:
                    break
                last = frame
            found.append((last.time, last.reformat(640, HEIGHT, "rgb24").to_ndarray()))
    return found


WAYS: dict[str, Callable[[Path], list[tuple[float, np.ndarray]]]] = {
    "proctor": by_proctor,
    "whole file at 1 fps": by_whole_file,
    "seek per frame": by_seeking,
}


def one_run(way: str, path: Path) -> dict[str, object]:
    """Run one way in a fresh process; CPU time there includes importing PyAV."""
    code = [sys.executable, __file__, "--one", way, "--video", str(path)]
    result: dict[str, object] = json.loads(subprocess.run(code, check=True, capture_output=True).stdout)
    return result


def measure_here(way: str, path: Path) -> dict[str, object]:
    import zlib

    import av  # noqa: F401 - imported before the clock starts, as every way needs it

    def cpu() -> float:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime + used.ru_stime

    clock, before = time.perf_counter(), cpu()
    frames = WAYS[way](path)
    pictures = {f"{t:.6f}": zlib.crc32(image.tobytes()) for t, image in frames}
    return {
        "cpu": cpu() - before,
        "wall": time.perf_counter() - clock,
        "n": len(frames),
        "pictures": pictures,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "proctor-benchmark-media")
    parser.add_argument("--one", choices=WAYS)
    parser.add_argument("--video", type=Path)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure_here(arguments.one, arguments.video)))
        return
    arguments.cache.mkdir(parents=True, exist_ok=True)
    print(f"{platform.machine()}, Python {platform.python_version()}, medians of {arguments.runs} runs\n")
    print(
        "| keyframes every | proctor, CPU s (wall) | whole file at 1 fps | seek per frame | less CPU than whole | than seeking |"
    )
    print("|---|---|---|---|---|---|")
    for label, (name, gop) in GOPS.items():
        path = arguments.cache / f"{name}.mp4"
        if not path.exists():
            print(f"rendering {path} ...", file=sys.stderr)
            render(path.with_suffix(".part.mp4"), gop)
            path.with_suffix(".part.mp4").rename(path)
        print(row(label, path, arguments.runs), flush=True)


def row(label: str, path: Path, runs: int) -> str:
    results = {way: [one_run(way, path) for _ in range(runs)] for way in WAYS}
    if results["proctor"][0]["pictures"] != results["seek per frame"][0]["pictures"]:
        raise SystemExit("the ways did not return the same pictures")
    cpu = {way: statistics.median(float(str(r["cpu"])) for r in rs) for way, rs in results.items()}
    wall = {way: statistics.median(float(str(r["wall"])) for r in rs) for way, rs in results.items()}
    cells = " | ".join(f"{cpu[way]:.2f} ({wall[way]:.2f})" for way in WAYS)
    whole, seek = cpu["whole file at 1 fps"] / cpu["proctor"], cpu["seek per frame"] / cpu["proctor"]
    return f"| {label} | {cells} | {whole:.1f}× | {seek:.1f}× |"


if __name__ == "__main__":
    main()
