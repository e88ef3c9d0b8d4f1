from __future__ import annotations

import os
import struct
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.capture.sync.made import IMU, SOUND, START, VIDEO, recording

from proctor.capture.records import EVENTS, MANIFEST, Event, Manifest, Sample, StreamSpec
from proctor.capture.segments import SegmentWriter, load_index
from proctor.capture.simulated import Faults
from proctor.capture.sync.report import StreamReport, SyncConfig, SyncReport
from proctor.capture.sync.run import synchronise
from proctor.errors import UserError
from proctor.records import read_json, write_json


def rows(folder: Path, report: SyncReport, stream: str) -> dict[str, np.ndarray]:
    table = pq.read_table(folder / "sync" / report.hash / f"{stream}.parquet")
    return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}


def of(report: SyncReport, stream: str) -> StreamReport:
    return next(s for s in report.streams if s.name == stream)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted((folder / "sync").rglob("*"))
        if p.is_file()
    }


def test_a_recording_becomes_a_table_for_each_stream(tmp_path: Path) -> None:
    faults = {
        VIDEO: Faults(drift_ppm=40, offset_s=7, jitter_ms=3),
        IMU: Faults(drift_ppm=-30, offset_s=99),
        SOUND: Faults(latency_ms=24),
    }
    times = recording(tmp_path, faults, 90)
    report = synchronise(tmp_path)
    assert (report.base, report.frames, report.verdict, report.reasons) == ("video", 2700, "good", ())
    assert report.seconds == pytest.approx(90 - 1 / 30, abs=0.001)
    assert read_json(tmp_path / "sync" / report.hash / "report.json", SyncReport) == report
    video, imu = rows(tmp_path, report, "video"), rows(tmp_path, report, "imu")
    assert video["src_idx"].tolist() == list(range(2700))
    assert np.abs(video["t_base_ns"] - times["video"].true_ns - 4e6).max() < 1e6
    truth = times["imu"].true_ns[imu["src_idx"]] - times["video"].true_ns
    assert np.abs(truth / 1e6 - imu["dt_ms"]).max() < 1
    assert np.abs(truth).max() <= 3.5e6
    assert set(imu["quality"]) == {2}
    wave = np.sin(2 * np.pi * 2 * (times["video"].true_ns - START) / 1e9)
    assert np.sqrt(np.nanmean((imu["ax"] - wave) ** 2)) < 0.01
    schema = pq.read_schema(tmp_path / "sync" / report.hash / "imu.parquet")
    assert schema.field("ax").metadata == {b"unit": b"m/s^2"}
    assert of(report, "imu").clock[0].drift_ppm == pytest.approx(-30, abs=1)
    assert of(report, "sound").regular
    assert sum(of(report, "imu").histogram) == of(report, "imu").matched == 2700


def test_the_same_input_gives_the_same_bytes_and_another_config_another_folder(tmp_path: Path) -> None:
    recording(
        tmp_path, {VIDEO: Faults(jitter_ms=5), IMU: Faults(swaps=0.01, duplicates=0.01, jitter_ms=2)}, 30
    )
    first = synchronise(tmp_path)
    before = files(tmp_path)
    for path in (tmp_path / "raw").rglob("index.npy"):
        path.unlink()
    synchronise(tmp_path)
    assert files(tmp_path) == before
    second = synchronise(tmp_path, SyncConfig(tolerance_ms=2))
    assert second.hash != first.hash
    assert {k: v for k, v in files(tmp_path).items() if first.hash in k} == before


def test_s3_a_swapped_pair_changes_at_most_four_rows(tmp_path: Path) -> None:
    # Base at half the rate: every sample matters.
    base = msgspec.structs.replace(VIDEO, rate_hz=60.0)
    recording(tmp_path / "a", {base: Faults(), IMU: Faults(jitter_ms=0.5)}, 60)
    recording(tmp_path / "b", {base: Faults(), IMU: Faults(jitter_ms=0.5)}, 60)
    folder = tmp_path / "b" / "raw" / "imu"
    index = load_index(folder)
    for path in folder.iterdir():
        path.unlink()
    writer = SegmentWriter(folder)
    order = np.arange(len(index))
    order[[6002, 6003]] = [6003, 6002]
    host = np.maximum.accumulate(index["host_ns"][order])
    for n, k in enumerate(order):
        writer.add(Sample(int(index["device_ns"][k]), int(host[n]), struct.pack("<3f", k, k, k)))
    writer.close()
    whole, swapped = (synchronise(tmp_path / name) for name in "ab")
    a, b = rows(tmp_path / "a", whole, "imu"), rows(tmp_path / "b", swapped, "imu")
    changed = (a["src_idx"] != b["src_idx"]) | (a["dt_ms"] != b["dt_ms"])
    assert 1 <= changed.sum() <= 4
    assert (order[b["src_idx"]] == a["src_idx"]).all()
    assert of(swapped, "imu").flagged["backward"] == 1


def test_s4_the_wall_clock_set_back_changes_nothing(tmp_path: Path) -> None:
    labels = ["2026-01-01T10:00:00Z", "2026-01-01T10:00:20Z", "2026-01-01T10:00:37Z", "2026-01-01T10:00:57Z"]
    back = [*labels[:2], *(text.replace(":37Z", ":34Z").replace(":57Z", ":54Z") for text in labels[2:])]
    for name, walls, start in (("a", labels, labels[0]), ("b", back, "2026-01-01T09:59:57Z")):
        events = tuple(
            Event(n=n, kind="clap" if n else "state", host_ns=START + n * 20 * 10**9, wall=wall)
            for n, wall in enumerate(walls)
        )
        recording(tmp_path / name / "r", {VIDEO: Faults(), IMU: Faults()}, 60, events=events, wall=start)
    assert synchronise(tmp_path / "a" / "r") == synchronise(tmp_path / "b" / "r")
    assert files(tmp_path / "a" / "r") == files(tmp_path / "b" / "r")


def test_s5_a_reset_gives_no_pair_across(tmp_path: Path) -> None:
    times = recording(
        tmp_path, {VIDEO: Faults(), IMU: Faults(resets=(50.0,), drift_ppm=40, jitter_ms=1, swaps=0.01)}, 100
    )
    report = synchronise(tmp_path)
    imu = of(report, "imu")
    assert len(imu.clock) == 2
    assert imu.verdict == "usable"
    found = rows(tmp_path, report, "imu")["src_idx"]
    apart = np.abs(times["imu"].true_ns[found] - times["video"].true_ns)
    assert (found >= 0).all()
    assert apart.max() < 4_000_000
    published = rows(tmp_path, synchronise(tmp_path, SyncConfig(rule="published")), "imu")["src_idx"]
    assert (np.abs(times["imu"].true_ns[published] - times["video"].true_ns) > 10**9).sum() > 1000


@pytest.mark.parametrize("samples", [0, 1])
@pytest.mark.parametrize("stream", ["video", "imu", "sound"])
def test_s7_an_empty_stream_gives_a_report(tmp_path: Path, stream: str, samples: int) -> None:
    specs = {VIDEO: Faults(), IMU: Faults(), SOUND: Faults(latency_ms=24)}
    recording(
        tmp_path,
        {
            s: Faults(gaps=((samples / s.rate_hz - 0.001, 99),)) if s.name == stream else f
            for s, f in specs.items()
        },
        20,
    )
    report = synchronise(tmp_path)
    assert of(report, stream).samples == samples
    assert (
        report.verdict == of(report, stream).verdict == "poor"
        if (stream, samples) != ("video", 1)
        else report.verdict != "good"
    )
    assert (report.base == "video") == (stream != "video" or samples == 1)
    assert len(list((tmp_path / "sync" / report.hash).iterdir())) == 4


@pytest.mark.parametrize("damage", ["index", "cut", "cut-unseen", "gone", "rubbish", "folder", "segment"])
def test_s7_damage_is_reported_and_the_rest_serves(tmp_path: Path, damage: str) -> None:
    recording(tmp_path, {VIDEO: Faults(), IMU: Faults()}, 130)
    folder = tmp_path / "raw" / "imu"
    whole = len(load_index(folder))
    segments = sorted(folder.glob("seg-*.bin"))
    stamp = (folder / "index.npy").stat()
    if damage == "index":
        (folder / "index.npy").write_bytes(b"no index")
    elif damage.startswith("cut"):
        with segments[-1].open("r+b") as file:
            file.truncate(segments[-1].stat().st_size // 2)
        os.utime(segments[-1], ns=(stamp.st_mtime_ns + (-1 if damage == "cut-unseen" else 1) * 10**9,) * 2)
    elif damage == "gone":
        segments[1].unlink()
    elif damage == "rubbish":
        data = bytearray(segments[1].read_bytes())
        data[1000:1400] = bytes(400)
        segments[1].write_bytes(data)
    elif damage == "folder":
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
    elif damage == "segment":
        for path in segments:
            path.write_bytes(b"")
    report = synchronise(tmp_path)
    imu = of(report, "imu")
    assert of(report, "video").verdict == "good"
    if damage == "index":
        assert (imu.samples, imu.verdict) == (whole, "good")
    else:
        assert imu.samples < whole
        assert imu.verdict == ("usable" if damage.startswith("cut") else "poor")
        assert any("covered" in r or "no sample" in r for r in imu.reasons)
    assert any("cut off or gone" in r for r in imu.reasons) == (damage in ("cut-unseen", "gone"))


def test_s7_nothing_at_all_and_lines_that_cannot_be_read(tmp_path: Path) -> None:
    write_json(tmp_path / MANIFEST, Manifest(id="none"))
    (tmp_path / EVENTS).write_bytes(b'{"n":0,"kind":"clap","host_ns":5}\n{"n":1,"ki')
    report = synchronise(tmp_path)
    assert (report.verdict, report.frames) == ("poor", 0)
    assert report.reasons == ("it has no stream", "1 lines of events cannot be read")


def test_the_user_is_told_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"manifest\.json"):
        synchronise(tmp_path)
    recording(tmp_path, {VIDEO: Faults()}, 2)
    with pytest.raises(UserError, match="no stream 'imu'"):
        synchronise(tmp_path, SyncConfig(base="imu"))


def test_another_unit_and_another_rate_are_told(tmp_path: Path) -> None:
    slow = msgspec.structs.replace(IMU, rate_hz=100.0)
    recording(tmp_path, {VIDEO: Faults(), IMU: Faults()}, 30)
    manifest = read_json(tmp_path / MANIFEST, Manifest)
    write_json(tmp_path / MANIFEST, msgspec.structs.replace(manifest, streams=(VIDEO, slow)))
    assert "it has 200.0 samples a second, not 100" in of(synchronise(tmp_path), "imu").reasons
    write_json(
        tmp_path / MANIFEST,
        msgspec.structs.replace(manifest, streams=(VIDEO, msgspec.structs.replace(IMU, columns=("x",)))),
    )
    assert any("cannot be read" in r for r in of(synchronise(tmp_path), "imu").reasons)


# -- claps ---------------------------------------------------------------------------------------------------------


def clap_payloads(video: float, imu: float, sound: float) -> dict[str, object]:
    import io

    from PIL import Image

    def jpeg(level: int) -> bytes:
        buffer = io.BytesIO()
        Image.new("L", (64, 36), level).save(buffer, "JPEG")
        return buffer.getvalue()

    dark, light = jpeg(60), jpeg(230)
    rng = np.random.default_rng(5)

    def block(_: int, s: float) -> bytes:
        at = s + np.arange(960) / 48_000 - sound
        burst = np.where(at >= 0, 20_000 * np.exp(-np.maximum(at, 0) / 0.01) * np.sin(12_000 * at), 0)
        return (rng.normal(0, 60, 960) + burst).clip(-32_768, 32_767).astype("<i2").tobytes()

    return {
        "video": lambda _, s: light if 0 <= s - video < 0.1 else dark,
        "imu": lambda _, s: struct.pack("<3f", np.sin(12 * s), 0, 9.8 + 40 * (0 <= s - imu < 0.02)),
        "sound": block,
    }


@pytest.mark.parametrize("late", [0.0, 0.3])
def test_a_clap_holds_the_clocks_against_each_other(tmp_path: Path, late: float) -> None:
    clap = Event(n=0, kind="clap", host_ns=START + 20 * 10**9 + 400_000_000)
    nothing = Event(n=1, kind="clap", host_ns=START + 30 * 10**9)
    faults = {
        VIDEO: Faults(offset_s=3),
        IMU: Faults(offset_s=9),
        SOUND: Faults(latency_ms=24, duplicates=0.02),
    }
    recording(tmp_path, faults, 70, clap_payloads(20.0 + late, 20.0, 20.0), events=(clap, nothing))  # type: ignore[arg-type]
    report = synchronise(tmp_path)
    (check,) = report.checks
    assert check.at_s == pytest.approx(20.4, abs=0.01)
    assert check.found_ms["sound"] == pytest.approx(-396, abs=2)
    assert check.found_ms["imu"] == pytest.approx(-396, abs=6)
    assert check.found_ms["video"] == pytest.approx(-396 + 1000 * late, abs=20)
    assert check.agrees == (late == 0)
    assert [s.verdict for s in report.streams] == ["poor" if late else "good", "good", "good"]
    assert late == 0 or any(
        "+300 ms" in r or "+28" in r or "+29" in r or "+30" in r or "+31" in r
        for r in of(report, "video").reasons
    )


def test_poses_are_interpolated_as_orientations(tmp_path: Path) -> None:
    columns = ("px", "py", "pz", "qx", "qy", "qz", "qw")
    pose = StreamSpec(name="head", kind="pose", format="f4", rate_hz=50.0, columns=columns, units=("m",) * 3)

    def turning(_: int, s: float) -> bytes:
        return struct.pack("<7f", s, 0, 1, 0, 0, np.sin(s / 2), np.cos(s / 2))

    times = recording(tmp_path, {VIDEO: Faults(), pose: Faults(gaps=((10, 1),))}, 30, {"head": turning})
    report = synchronise(tmp_path)
    found = rows(tmp_path, report, "head")
    at = (times["video"].true_ns - START) / 1e9
    inside = ~np.isnan(found["qz"])
    assert np.abs(found["qz"][inside] - np.sin(at[inside] / 2)).max() < 1e-4
    assert np.abs(found["px"][inside] - at[inside]).max() < 1e-3
    assert inside.sum() == pytest.approx(29 * 30, abs=3)
