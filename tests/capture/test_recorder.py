from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest
from tests.capture.recording import HERE, QUICK, events, killable, samples, sensor, until, verified

from proctor.capture.clock import Clock
from proctor.capture.control import NoRecorderError, ask_recorder
from proctor.capture.queue import QueueSettings
from proctor.capture.recorder import Recorder
from proctor.capture.records import EVENTS, MANIFEST, Event, Manifest, recording_folder
from proctor.capture.segments import load_index
from proctor.capture.sensor import SensorConfig
from proctor.capture.session import RESERVE, close_session, holder_of, read_manifest
from proctor.errors import UserError
from proctor.records import file_sha256, read_json, write_json
from proctor.release.recordings import forget_recording


@pytest.fixture(autouse=True)
def _plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")


def recorder(folder: Path, *sensors: SensorConfig, **more: object) -> Recorder:
    more.setdefault("limits", QUICK)
    return Recorder(folder, Manifest(id=folder.name), None, sensors or (sensor(),), **more)  # type: ignore[arg-type]


def test_a_session_is_armed_recorded_marked_and_stopped_twice_but_is_one(tmp_path: Path) -> None:
    async def run() -> tuple[Manifest, Manifest]:
        r = recorder(tmp_path / "r1", sensor("imu"), sensor("gyro", rate=200))
        assert all(c.ok for c in await r.preflight())
        await asyncio.gather(r.arm(), r.arm())
        assert read_json(r.folder / MANIFEST, Manifest).state == "armed"
        assert (r.folder / RESERVE).stat().st_size == 1 << 16
        await asyncio.gather(r.start(), r.start())
        await until(lambda: samples(r, 0) > 20 and samples(r, 1) > 80)
        assert [s.state for s in r.status().sensors] == ["green", "green"]
        assert (await r.mark(Event(n=0, kind="clap"))).host_ns
        found = await asyncio.gather(r.stop("done"), r.stop("again"))
        with pytest.raises(UserError, match="over"):
            await r.start()
        with pytest.raises(UserError, match="nothing can be noted"):
            await r.mark(Event(n=0, kind="clap"))
        return found[0], found[1]

    first, second = asyncio.run(run())
    folder = tmp_path / "r1"
    assert first == second == read_json(folder / MANIFEST, Manifest)
    assert first.state == "stopped"
    assert first.reasons == ("done",)
    assert [e.text for e in events(folder, "state")] == ["armed", "recording", "stopped"]
    for name in ("imu", "gyro"):
        assert verified(folder / "raw" / name) == list(range(len(load_index(folder / "raw" / name))))
        assert len([e for e in events(folder, "clock") if e.stream == name]) == 2
    assert {f.path for f in first.files} == {EVENTS, "raw/imu/seg-000001.bin", "raw/gyro/seg-000001.bin"}
    assert all(file_sha256(folder / f.path) == f.sha256 for f in first.files)
    assert not (folder / RESERVE).exists()
    with pytest.raises(UserError, match="over"):
        asyncio.run(recorder(folder).preflight())


def test_what_fails_its_preflight_is_not_armed_unless_it_is_not_required(tmp_path: Path) -> None:
    async def run(*sensors: SensorConfig) -> Manifest:
        r = recorder(tmp_path / "r1", *sensors)
        try:
            await r.arm()
        finally:
            done = await r.stop()
        return done

    for bad in (
        sensor("imu", bad=True),
        SensorConfig(plugin="nowhere:make", name="imu"),
        SensorConfig(plugin="no", name="imu"),
    ):
        with pytest.raises(UserError, match="imu"):
            asyncio.run(run(bad, sensor("gyro")))
    assert asyncio.run(run(sensor("imu", bad=True, required=False), sensor("gyro"))).state == "planned"
    with pytest.raises(UserError, match="name of its own"):
        recorder(tmp_path / "r1", sensor("a"), sensor("a"))


def test_disk_low_warns_below_10_minutes_and_stops_below_2(tmp_path: Path) -> None:
    free = 10**9

    async def run() -> Manifest:
        nonlocal free
        r = recorder(tmp_path / "r1", disk_free=lambda _: free)
        await r.preflight()
        rate = 60 * free / r.status().minutes_left / 3600  # type: ignore[operator]
        free = int(rate * 60 * 60)
        await r.start()
        await until(lambda: samples(r) > 5)
        assert r.status().warnings == ()
        assert 55 < (r.status().minutes_left or 0) < 65
        free = int(rate * 60 * 5)
        await until(lambda: r.status().warnings)
        assert "5.0 minutes" in r.status().warnings[0]
        free = int(rate * 60 * 1.5)
        await until(r.over.is_set)
        return await r.stop()

    done = asyncio.run(run())
    assert done.state == "stopped_disk"
    assert len(events(tmp_path / "r1", "warning")) == 1
    assert verified(tmp_path / "r1" / "raw" / "imu")
    free = 1000

    async def full() -> None:
        r = recorder(tmp_path / "r2", disk_free=lambda _: free)
        try:
            await r.arm()
        finally:
            await r.stop()

    with pytest.raises(UserError, match="minutes"):
        asyncio.run(full())


def test_disk_full_closes_the_segments_and_keeps_the_events(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if (
        os.getuid()
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80m", "none", disk], check=False).returncode
    ):
        pytest.skip("a disk of 80 MB cannot be mounted here")
    try:

        async def run() -> Manifest:
            limits = msgspec.structs.replace(QUICK, reserve_bytes=64 << 20)
            sensors = (sensor("imu"), sensor("big", rate=100, size=400_000))
            r = recorder(disk / "r1", *sensors, limits=limits, disk_free=lambda _: 10**12)
            await r.start()
            await until(r.over.is_set, 60)
            return await r.stop()

        done = asyncio.run(run())
        assert done.state == "stopped_disk"
        assert "full" in done.reasons[0]
        assert read_json(disk / "r1" / MANIFEST, Manifest) == done
        seqs = verified(disk / "r1" / "raw" / "big")
        assert seqs == list(range(len(seqs)))
        assert len(seqs) > 10
        assert len(verified(disk / "r1" / "raw" / "imu")) > 2
        assert events(disk / "r1", "state")[-1].text == "stopped_disk"
        assert sum(e.count for e in events(disk / "r1", "drop")) > 0
        assert not list(disk.rglob("*.part"))
        assert all(file_sha256(disk / "r1" / f.path) == f.sha256 for f in done.files)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_sensor_silent_is_amber_makes_a_gap_and_is_connected_again(tmp_path: Path) -> None:
    async def run() -> None:
        limits = msgspec.structs.replace(QUICK, ask_s=0.3)
        r = recorder(
            tmp_path / "r1", sensor("imu", silent=str(tmp_path / "s")), sensor("gyro"), limits=limits
        )
        await r.start()
        await until(lambda: r.status().sensors[0].state == "red")
        assert "imu" in r.status().asks[0]
        assert r.status().sensors[1].state == "green"
        had = samples(r, 1)
        (tmp_path / "s").unlink()
        await until(lambda: samples(r, 0) > 40, 60)
        assert samples(r, 1) > had
        assert not r.status().asks
        await r.stop()

    asyncio.run(run())
    gaps = events(tmp_path / "r1", "gap")
    rows = load_index(tmp_path / "r1" / "raw" / "imu")
    assert (int(rows["host_ns"][19]), int(rows["host_ns"][20])) in [(e.start_ns, e.end_ns) for e in gaps]
    texts = [e.text for e in events(tmp_path / "r1", "sensor") if e.stream == "imu"]
    assert texts.index("silent") < texts.index("sends again")
    assert any("connected again" in text for text in texts)


def test_sensor_that_raises_is_run_again_with_its_reason_noted(tmp_path: Path) -> None:
    async def run() -> None:
        r = recorder(tmp_path / "r1", sensor("imu", fail=10))
        await r.start()
        await until(lambda: samples(r) > 30)
        await r.stop()

    asyncio.run(run())
    assert "the cable is loose" in events(tmp_path / "r1", "sensor")[0].text
    seqs = verified(tmp_path / "r1" / "raw" / "imu")
    assert seqs == list(range(len(seqs)))


def test_sensor_process_dies_and_is_started_again_with_a_new_segment(tmp_path: Path) -> None:
    async def run() -> None:
        r = recorder(tmp_path / "r1", sensor("imu"), sensor("gyro"))
        await r.start()
        await until(lambda: samples(r) > 60)
        process = r._streams[0].process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        had = samples(r)
        await until(lambda: samples(r) > had + 30)
        await r.stop()

    asyncio.run(run())
    raw = tmp_path / "r1" / "raw" / "imu"
    seqs = verified(raw)
    assert seqs == list(range(len(seqs)))
    assert len(list(raw.glob("seg-*.bin"))) == 2
    (died,) = events(tmp_path / "r1", "sensor")
    assert "-9" in died.text
    assert died.stream == "imu"


def test_sensor_process_hangs_and_is_killed_and_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.capture.recorder._HUNG_S", 4.0)

    async def run() -> None:
        r = recorder(tmp_path / "r1", sensor("imu", hang=20, once=str(tmp_path / "once")))
        await r.start()
        await until(lambda: samples(r) > 40, 60)
        await r.stop()

    asyncio.run(run())
    seqs = verified(tmp_path / "r1" / "raw" / "imu")
    assert seqs == list(range(len(seqs)))
    assert "-9" in events(tmp_path / "r1", "sensor")[0].text


POINTS = {
    "armed": ("", "armed"), "just started": ("recorder:run0", ""), "mid-segment": ("recorder:run40", ""),
    "closing a segment": ("both:close", ""), "stop": ("recorder:stop", ""),
}  # fmt: skip


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("after", ["resume", "close"])
def test_recorder_dies_at_five_points(tmp_path: Path, point: str, after: str) -> None:
    kill, how = POINTS[point]
    folder, sensors = tmp_path / "r1", [sensor("imu", kill=kill, once=str(tmp_path / "once")), sensor("gyro")]
    process = killable(folder, sensors, how)
    with process:
        if point == "armed":
            asyncio.run(until(lambda: (m := read_manifest(folder)) and m.state == "armed"))
            process.kill()
        elif point == "stop":
            asyncio.run(until(lambda: len(list((folder / "raw" / "gyro").glob("seg-*.bin"))) > 1))
            assert process.stdin is not None
            process.stdin.close()
        assert process.wait(30) == -signal.SIGKILL
    found = read_manifest(folder)
    assert found is not None
    assert found.state == "interrupted"
    before = [e.n for e in events(folder)]
    with (folder / EVENTS).open("ab") as file:
        file.write(
            b'{"n":99,"kind":"mark","text":"' + bytes(5000)
        )  # what a crash in the middle of a line leaves
    if after == "close":
        done = close_session(folder)
        assert close_session(folder) == done
    else:
        with pytest.raises(UserError, match="interrupted"):
            asyncio.run(recorder(folder, *sensors).preflight())

        async def run() -> Manifest:
            r = recorder(folder, *sensors, resume=True)
            await r.start()
            had = [samples(r, i) for i in (0, 1)]
            await until(lambda: all(samples(r, i) > had[i] + 30 for i in (0, 1)))
            return await r.stop()

        done = asyncio.run(run())
        assert done.state == "stopped"
        assert "recording" in [e.text for e in events(folder, "state") if e.n >= len(before)]
        gaps = [e for e in events(folder, "gap") if not e.stream]
        assert len(gaps) == (point != "armed")
        for gap in gaps:  # between what came last and what comes next there is nothing
            assert gap.start_ns is not None
            assert gap.start_ns < (gap.end_ns or 0)
            times = [e.host_ns or 0 for e in events(folder) if e.n < len(before)]
            for name in ("imu", "gyro"):
                rows = load_index(folder / "raw" / name)["host_ns"]
                assert not ((rows > gap.start_ns) & (rows < gap.end_ns)).any()
                times += [int(n) for n in rows[rows <= gap.start_ns][-1:]]
            assert gap.start_ns == max(times)
    if point == "just started" and done.state == "incomplete":  # killed before one of them had sent anything
        assert after == "close"
        assert {"imu has nothing", "gyro has nothing"} & {*done.reasons}, done.reasons
    else:
        assert done.state == ("planned" if point == "armed" and after == "close" else "stopped"), done.reasons
    assert not list(folder.rglob("*.part"))
    assert not list(folder.glob(".l*"))
    for name in ("imu", "gyro"):
        seqs = verified(folder / "raw" / name) if (folder / "raw" / name / "seg-000001.bin").exists() else []
        assert seqs == list(range(len(seqs)))
        assert len(seqs) > (0 if done.state == "stopped" else -1)
    assert len(events(folder)) > len(before)
    assert all(file_sha256(folder / f.path) == f.sha256 for f in done.files)


def test_a_machine_that_was_started_anew_has_another_clock(tmp_path: Path) -> None:
    process = killable(tmp_path / "r1", [sensor()])
    with process:
        asyncio.run(until(lambda: (m := read_manifest(tmp_path / "r1")) and m.state == "recording"))
        process.kill()
    lease = tmp_path / "r1" / ".lease"
    write_json(lease, msgspec.structs.replace(holder_of(tmp_path / "r1", live=False), boot="another"))
    with pytest.raises(UserError, match="restarted"):
        asyncio.run(recorder(tmp_path / "r1", resume=True).preflight())
    assert close_session(tmp_path / "r1").host_end_ns


class Jumping(Clock):
    by = 0

    def wall_ns(self) -> int:
        return super().wall_ns() + self.by


def test_wall_clock_jumps_back_and_only_the_labels_follow(tmp_path: Path) -> None:
    clock = Jumping()

    async def run() -> None:
        r = recorder(tmp_path / "r1", clock=clock)
        await r.start()
        await until(lambda: samples(r) > 10)
        clock.by = -3_000_000_000
        had = samples(r)
        await until(lambda: samples(r) > had + 30)
        await r.stop()

    asyncio.run(run())
    (jump,) = events(tmp_path / "r1", "jump")
    assert abs(jump.count + 3_000_000_000) < 10_000_000
    times = [e.host_ns for e in events(tmp_path / "r1", "state")]
    assert times == sorted(times)
    verified(tmp_path / "r1" / "raw" / "imu")


def test_battery_low_warns_below_15_and_stops_below_5(tmp_path: Path) -> None:
    percent: float | None = 14.0

    async def run() -> Manifest:
        nonlocal percent
        r = recorder(tmp_path / "r1", battery=lambda: percent)
        await r.start()
        await until(lambda: r.status().warnings)
        assert "14 %" in r.status().warnings[0]
        percent = None
        await until(lambda: not r.status().warnings)
        percent = 4.0
        await until(r.over.is_set)
        return await r.stop()

    done = asyncio.run(run())
    assert done.state in ("stopped", "incomplete")
    assert "4 %" in done.reasons[0]


def test_two_operators_have_one_session_and_the_second_is_viewer(tmp_path: Path) -> None:
    folder = recording_folder(tmp_path, "r1")

    async def run() -> None:
        r = recorder(folder, serve=True)
        await r.preflight()

        async def ask(verb: str, holder: str, **more: object):  # type: ignore[no-untyped-def]
            return await asyncio.to_thread(ask_recorder, tmp_path, "r1", verb, holder=holder, **more)

        assert (await ask("preflight", "b")).state == "planned"
        one, two = await asyncio.gather(ask("start", "a"), ask("start", "a"))
        assert (one.state, two.state, one.viewer) == ("recording", "recording", False)
        seen = await ask("stop", "b")
        assert (seen.state, seen.viewer, seen.holder) == ("recording", True, "a")
        await until(lambda: samples(r) > 5)
        assert (await ask("mark", "b", event=Event(n=0, kind="clap"))).viewer
        assert not (await ask("preflight", "b", take_over=True)).viewer
        assert (await ask("stop", "a")).viewer
        assert (await ask("stop", "b")).state == "stopped"
        await until(r.over.is_set)

    asyncio.run(run())
    assert [e.kind for e in events(folder)].count("clap") == 1
    assert [e.text for e in events(folder, "state")] == ["armed", "recording", "stopped"]
    with pytest.raises(NoRecorderError):
        ask_recorder(tmp_path, "r1", "start")


def test_a_second_recorder_of_the_same_recording_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        r, other = recorder(tmp_path / "r1"), recorder(tmp_path / "r1")
        await r.preflight()
        with pytest.raises(UserError, match="another recorder"):
            await other.start()
        await r.stop()

    asyncio.run(run())


def test_participant_withdrawn_while_recording_keeps_nothing(tmp_path: Path) -> None:
    async def run(gone: bool) -> Manifest:
        r = recorder(tmp_path / f"r{gone}")
        await r.start()
        await until(lambda: samples(r) > 5)
        if gone:
            (r.folder / MANIFEST).unlink()
        else:
            write_json(
                r.folder / MANIFEST,
                msgspec.structs.replace(r.manifest, state="withdrawn", reasons=("asked",)),
            )
        await until(r.over.is_set)
        return await r.stop()

    assert asyncio.run(run(False)).state == "withdrawn"
    kept = read_json(tmp_path / "rFalse" / MANIFEST, Manifest)
    assert (kept.state, kept.files, kept.reasons) == ("withdrawn", (), ("asked",))
    assert [p.name for p in (tmp_path / "rFalse").iterdir()] == [MANIFEST]
    assert asyncio.run(run(True)).state == "withdrawn"
    assert not (tmp_path / "rTrue").exists()


def test_a_recording_is_forgotten_while_it_is_recorded(tmp_path: Path) -> None:
    folder = recording_folder(tmp_path, "r1")

    async def run() -> Manifest:
        r = recorder(folder, sensor("imu", rate=500), sensor("gyro"))
        await r.start()
        await until(lambda: samples(r, 0) > 50 and samples(r, 1) > 5)
        await asyncio.to_thread(forget_recording, tmp_path, "r1")
        assert r.over.is_set()
        return await r.stop()

    assert asyncio.run(run()).state == "withdrawn"
    assert read_json(folder / MANIFEST, Manifest).state == "withdrawn"
    assert [p.name for p in folder.iterdir()] == [MANIFEST]


def test_a_recording_is_forgotten_while_processes_of_a_dead_recorder_close_it(tmp_path: Path) -> None:
    folder = recording_folder(tmp_path, "r1")
    with killable(folder, [sensor("imu", rate=500), sensor("gyro")]) as process:
        asyncio.run(until(lambda: len(list(folder.glob("raw/*/seg-*"))) > 2))
        process.kill()
        process.wait()
        forget_recording(tmp_path, "r1")
    assert [p.name for p in folder.iterdir()] == [MANIFEST]


def test_samples_of_another_size_or_unit_are_refused_and_counted(tmp_path: Path) -> None:
    async def run() -> None:
        r = recorder(tmp_path / "r1", sensor("size", wrong=True), sensor("unit", changes=15))
        await r.start()
        await until(lambda: all(s.refused > 3 for s in r.status().sensors))
        assert all("refused" in s.message for s in r.status().sensors)
        await r.stop()

    asyncio.run(run())
    assert set(load_index(tmp_path / "r1" / "raw" / "size")["size"]) == {8}
    assert len(load_index(tmp_path / "r1" / "raw" / "unit")) == 15
    texts = {e.stream: e.text for e in events(tmp_path / "r1", "warning") if e.count == 1}
    assert "10 bytes instead of 2 columns" in texts["size"]
    assert "units" in texts["unit"]

    async def other() -> None:
        r = recorder(tmp_path / "r2", sensor("imu"))
        await r.start()
        await until(lambda: samples(r) > 5)
        r._streams[0].config.options["unit"] = "g"
        r._streams[0].kill()
        await until(lambda: r.status().sensors[0].refused > 3)
        await r.stop()

    asyncio.run(other())


def test_a_slow_disk_makes_a_full_queue_drop_the_oldest_and_count_them(tmp_path: Path) -> None:
    async def run() -> None:
        r = recorder(
            tmp_path / "r1",
            sensor("imu", rate=2000, size=4000, drop=True, slow=0.5),
            queue=QueueSettings(most_bytes=40_000),
        )
        await r.start()
        await until(lambda: r.status().sensors[0].dropped > 100)
        await r.stop()

    asyncio.run(run())
    drops = events(tmp_path / "r1", "drop")
    assert all(e.start_ns and e.end_ns and e.start_ns <= e.end_ns for e in drops)
    sent = sum(e.count for e in drops) + len(load_index(tmp_path / "r1" / "raw" / "imu"))
    assert sent == int((tmp_path / "r1" / "raw" / "imu" / "sent.txt").read_text())
