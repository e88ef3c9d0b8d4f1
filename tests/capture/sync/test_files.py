"""Streams that are a camera's files: chapters, sound, creation times right and wrong."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import msgspec
import numpy as np
import pytest
from tests.capture.sync.made import IMU, SOUND, START, VIDEO, recording
from tests.capture.sync.test_run import of, rows

from proctor.capture.records import MANIFEST, Manifest, StreamSpec
from proctor.capture.simulated import Faults
from proctor.capture.sync.report import SyncConfig
from proctor.capture.sync.run import synchronise
from proctor.records import read_json, write_json

GOPRO = StreamSpec(name="gopro", kind="video", format="file", clock="gopro", required=False)
SECONDS, BEGUN = 45, 7.3
rng = np.random.default_rng(11)
KNOCKS = np.cumsum(rng.uniform(0.2, 1.5, 60))


def room(first: float, seconds: float, seed: int) -> np.ndarray:
    """48 kHz from a second on: noise of the microphone's own, and knocks in the room."""
    at = first + np.arange(int(seconds * 48_000)) / 48_000
    found = np.random.default_rng(seed).normal(0, 100, len(at))
    for knock in KNOCKS[(first - 1 < KNOCKS) & (first + seconds > KNOCKS)]:
        since = at - knock
        found += np.where(
            since >= 0, 12_000 * np.exp(-np.maximum(since, 0) / 0.02) * np.sin(9_000 * since), 0
        )
    return found.clip(-32_768, 32_767).astype(np.int16)


def camera(path: Path, first: float, seconds: float, *, sound: bool = True, created: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w", options={"use_editlist": "0"}) as out:
        if created:
            out.metadata["creation_time"] = created
        picture = out.add_stream("mpeg4", rate=Fraction(30))
        picture.width, picture.height, picture.pix_fmt = 64, 48, "yuv420p"
        heard = out.add_stream("aac", rate=48_000, layout="mono") if sound else None
        for n in range(int(seconds * 30)):
            out.mux(
                picture.encode(
                    av.VideoFrame.from_ndarray(np.full((48, 64, 3), n % 200, np.uint8), format="rgb24")
                )
            )
        out.mux(picture.encode())
        if heard:
            wave = room(first, seconds, 3).astype(np.float32) / 32_768
            for start in range(0, len(wave) - 1024, 1024):
                frame = av.AudioFrame.from_ndarray(
                    wave[None, start : start + 1024], format="fltp", layout="mono"
                )
                frame.sample_rate, frame.pts, frame.time_base = 48_000, start, Fraction(1, 48_000)
                out.mux(heard.encode(frame))
            out.mux(heard.encode(None))


def kitchen(folder: Path) -> None:
    payloads = {"sound": lambda _, s: room(s, 0.02, int(s * 50)).tobytes()}
    recording(
        folder, {VIDEO: Faults(), IMU: Faults(), SOUND: Faults(latency_ms=24, offset_s=5)}, SECONDS, payloads
    )
    manifest = read_json(folder / MANIFEST, Manifest)
    write_json(folder / MANIFEST, msgspec.structs.replace(manifest, streams=(*manifest.streams, GOPRO)))


@pytest.mark.parametrize("created", ["", "2026-01-01T10:00:07Z", "2015-06-01T00:00:00Z"])
def test_chapters_are_placed_by_their_sound_whatever_they_say(tmp_path: Path, created: str) -> None:
    kitchen(tmp_path)
    folder = tmp_path / "raw" / "gopro"
    camera(folder / "GX010042.MP4", BEGUN, 16, created=created)
    camera(folder / "GX020042.MP4", BEGUN + 16, 14)
    report = synchronise(tmp_path, SyncConfig(base="gopro"))
    gopro = of(report, "gopro")
    assert report.frames == 30 * 30
    assert (report.host_ns - START) / 1e9 == pytest.approx(BEGUN, abs=0.05)
    assert "placed by its sound beside that of sound" in gopro.reasons
    assert any("its file says" in r for r in gopro.reasons) == created.startswith("2015")
    assert (rows(tmp_path, report, "video")["src_idx"] >= 0).all()


def test_without_sound_the_label_counts_and_that_is_told(tmp_path: Path) -> None:
    kitchen(tmp_path)
    camera(tmp_path / "raw" / "gopro" / "a.mp4", BEGUN, 10, sound=False, created="2026-01-01T10:00:07Z")
    report = synchronise(tmp_path, SyncConfig(base="gopro"))
    assert report.host_ns == START + 7 * 10**9
    assert (of(report, "gopro").verdict, report.verdict) == ("usable", "usable")
    (tmp_path / "raw" / "gopro" / "a.mp4").unlink()
    camera(tmp_path / "raw" / "gopro" / "b.mp4", BEGUN, 10, sound=False)
    report = synchronise(tmp_path, SyncConfig(base="gopro"))
    assert report.host_ns == START
    assert (of(report, "gopro").verdict, report.verdict) == ("poor", "poor")


def test_a_damaged_chapter_is_named_and_those_behind_it_are_not_guessed(tmp_path: Path) -> None:
    kitchen(tmp_path)
    folder = tmp_path / "raw" / "gopro"
    camera(folder / "GX010042.MP4", BEGUN, 12)
    camera(folder / "GX030042.MP4", BEGUN + 20, 5)
    (folder / "GX020042.MP4").write_bytes((folder / "GX010042.MP4").read_bytes()[:4_000])
    gopro = of(synchronise(tmp_path), "gopro")
    assert gopro.samples == 12 * 30
    assert any("GX020042.MP4" in r for r in gopro.reasons)
    assert gopro.verdict == "poor"


def test_a_folder_without_files_is_reported(tmp_path: Path) -> None:
    kitchen(tmp_path)
    report = synchronise(tmp_path)
    assert of(report, "gopro").reasons[0] == "it has no sample"
    assert report.verdict != "poor"
