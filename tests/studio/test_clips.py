"""The clips that people see: made once, whole or not at all, and made again after whatever happened."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import av
import pytest
from tests.patience import LOW_PRIORITY_PATIENCE, wait_until

from proctor.errors import UserError
from proctor.records import file_sha256
from proctor.studio import clip_making
from proctor.studio.clip_making import Cut, Done, Failed, Maker, Progress, Task, make_clips
from proctor.studio.clips import ClipShop, ClipState, Preparation

MODEST = 1_000_000
"""Bytes kept free in these tests."""


def _load_maker() -> ModuleType:
    name = "proctor_test_make_video"
    if name not in sys.modules:
        path = Path(__file__).parents[1] / "media" / "make_video.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


MAKER = _load_maker()


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a.mp4 and b.mp4, five seconds of numbered pictures, and long.mp4, 34 seconds."""
    folder = tmp_path_factory.mktemp("recordings")
    for name, frames in (("a", 150), ("b", 150), ("long", 1020)):
        MAKER.make_video(folder / f"{name}.mp4", MAKER.Recipe(times=range(frames), b_frames=3))
    return folder


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ClipShop]:
    with ClipShop(tmp_path / "clips", reserve_bytes=MODEST) as shop:
        yield shop


def numbers_in(path: Path) -> list[int]:
    with av.open(str(path)) as container:
        return [MAKER.number_in(f.to_ndarray(format="rgb24")) for f in container.decode(video=0)]


def ready(state: ClipState) -> clip_making.Clip:
    assert state.state == "ready", state
    assert state.clip is not None
    return state.clip


def leftovers(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob(".*") if p.name != ".lock")


# -- asking ----------------------------------------------------------------------------------------------------


def test_a_clip_is_made_and_ends_at_its_moment(shop: ClipShop, recordings: Path) -> None:
    video = recordings / "a.mp4"
    assert shop.ask(video, 3.0).state == "making"
    clip = ready(shop.wait(video, 3.0, LOW_PRIORITY_PATIENCE))
    path = shop.folder / f"{clip.key}.mp4"
    assert numbers_in(path) == list(range(90))
    assert (clip.key, clip.frames, clip.fps, clip.seconds) == (shop.key(video, 3.0), 90, 30, 3.0)
    assert (clip.width, clip.height) == (160, 96)
    assert (clip.sha256, clip.bytes) == (file_sha256(path), path.stat().st_size)
    assert clip.poster_sha256 == file_sha256(path.with_suffix(".jpg"))
    assert leftovers(shop.folder) == []


def test_a_clip_that_begins_later_shows_nothing_before_and_nothing_after(
    shop: ClipShop, recordings: Path
) -> None:
    video = recordings / "a.mp4"
    done = shop.prepare_all([(video, 2.0), (video, 3.0, 1.0), (video, 3.0, 3.0)])
    assert (done.ready, done.failed, done.failures[0][:2]) == (2, 1, (str(video), 3.0))
    clip = ready(shop.ask(video, 3.0, 1.0))
    assert numbers_in(shop.folder / f"{clip.key}.mp4") == list(range(30, 90))
    assert ready(shop.ask(video, 2.0)).key == shop.key(video, 2.0, 0.0) != clip.key
    assert [len(numbers_in(p)) for p in (shop.folder / "proxies").glob("*.mp4")] == [
        60
    ]  # not for the later one


def test_names_tell_nothing_and_moments_of_one_picture_share_a_clip(shop: ClipShop, recordings: Path) -> None:
    video = recordings / "a.mp4"
    assert len(shop.key(video, 3.0)) == 64
    assert set(shop.key(video, 3.0)) <= set("0123456789abcdef")
    assert shop.key(video, 3.0) == shop.key(str(video), 2.99)
    assert shop.key(video, 3.0) != shop.key(video, 3.01)
    assert shop.key(video, 3.0) != shop.key(recordings / "b.mp4", 3.0)


def test_a_recording_may_have_any_name(shop: ClipShop, recordings: Path, tmp_path: Path) -> None:
    for name in (b"caf\xe9 \xff.mp4", "Küche 1 (größer).mp4".encode(), b"-i.mp4", b"a\nb.mp4"):
        video = os.fsdecode(os.fsencode(tmp_path) + b"/" + name)
        shutil.copy(recordings / "a.mp4", video)
        assert ready(shop.wait(video, 0.5, LOW_PRIORITY_PATIENCE)).frames == 15


def test_a_recording_that_was_replaced_gets_new_clips(
    shop: ClipShop, recordings: Path, tmp_path: Path
) -> None:
    video = tmp_path / "v.mp4"
    shutil.copy(recordings / "a.mp4", video)
    old = shop.key(video, 2.0)
    os.utime(video, ns=(1, 1))
    assert shop.key(video, 2.0) != old


def test_the_second_time_it_is_there(recordings: Path, tmp_path: Path) -> None:
    with ClipShop(tmp_path / "clips", reserve_bytes=MODEST) as shop:
        clip = ready(shop.wait(recordings / "a.mp4", 2.0, LOW_PRIORITY_PATIENCE))
        changed = (shop.folder / f"{clip.key}.mp4").stat().st_mtime_ns
        assert ready(shop.ask(recordings / "a.mp4", 2.0)) == clip
    with ClipShop(tmp_path / "clips", reserve_bytes=MODEST) as shop:
        assert ready(shop.ask(recordings / "a.mp4", 2.0)) == clip
        assert (shop.folder / f"{clip.key}.mp4").stat().st_mtime_ns == changed


def test_a_clip_that_was_deleted_or_damaged_is_made_again(shop: ClipShop, recordings: Path) -> None:
    video = recordings / "a.mp4"
    clip = ready(shop.wait(video, 2.0, LOW_PRIORITY_PATIENCE))
    path = shop.folder / f"{clip.key}.mp4"
    path.unlink()
    assert shop.ask(video, 2.0).state == "making"
    assert ready(shop.wait(video, 2.0, LOW_PRIORITY_PATIENCE)) == clip
    path.write_bytes(b"short")
    assert ready(shop.wait(video, 2.0, LOW_PRIORITY_PATIENCE)) == clip
    path.with_suffix(".jpg").unlink()
    assert ready(shop.wait(video, 2.0, LOW_PRIORITY_PATIENCE)) == clip
    assert file_sha256(path) == clip.sha256


def test_many_who_ask_at_once_wait_for_one_job(
    recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks: list[Task] = []
    run = Maker.run

    def noted(self: Maker, task: Task, stopped: Callable[[], bool]) -> Iterator[clip_making.Reply]:
        tasks.append(task)
        return run(self, task, stopped)

    monkeypatch.setattr(Maker, "run", noted)
    with ClipShop(tmp_path / "clips", workers=2, reserve_bytes=MODEST) as shop:
        found: list[ClipState] = []
        threads = [
            threading.Thread(
                target=lambda: found.append(shop.wait(recordings / "a.mp4", 2.5, LOW_PRIORITY_PATIENCE))
            )
            for _ in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({ready(state).key for state in found}) == 1
    assert [len(task.cuts) for task in tasks] == [1]


def test_a_recording_is_encoded_once_for_all_its_moments(shop: ClipShop, recordings: Path) -> None:
    wanted = [(recordings / "a.mp4", k / 2) for k in range(1, 9)]
    result = shop.prepare_all(wanted)
    assert (result.ready, result.failed, result.total, result.share) == (8, 0, 8, 1.0)
    proxies = [*(shop.folder / "proxies").glob("*.mp4")]
    assert [len(numbers_in(p)) for p in proxies] == [120]
    for video, end in wanted:
        clip = ready(shop.ask(video, end))
        assert numbers_in(shop.folder / f"{clip.key}.mp4") == list(range(round(end * 30)))


def test_a_later_moment_is_cut_from_the_whole_recording(shop: ClipShop, recordings: Path) -> None:
    video = recordings / "a.mp4"
    ready(shop.wait(video, 1.0, LOW_PRIORITY_PATIENCE))
    (proxy,) = (shop.folder / "proxies").glob("*.mp4")
    assert len(numbers_in(proxy)) == 30  # somebody waits: no more than needed
    ready(shop.wait(video, 2.0, LOW_PRIORITY_PATIENCE))
    assert len(numbers_in(proxy)) == 150  # the second time all of it, so that there is no third
    changed = proxy.stat().st_mtime_ns
    clip = ready(shop.wait(video, 60.0, LOW_PRIORITY_PATIENCE))
    assert proxy.stat().st_mtime_ns == changed
    assert numbers_in(shop.folder / f"{clip.key}.mp4") == list(range(150))


def test_who_waits_comes_before_what_is_prepared(shop: ClipShop, recordings: Path, tmp_path: Path) -> None:
    copies = []
    for n in range(4):
        copies.append(tmp_path / f"{n}.mp4")
        shutil.copy(recordings / "long.mp4", copies[-1])
    worker = threading.Thread(target=lambda: shop.prepare_all([(c, 30.0) for c in copies]))
    worker.start()
    wait_until(lambda: shop.ask(copies[0], 30.0).state == "making")
    ready(shop.wait(recordings / "a.mp4", 1.0, LOW_PRIORITY_PATIENCE))
    assert any(shop.ask(c, 30.0).state == "making" for c in copies)
    worker.join()


# -- preparing -------------------------------------------------------------------------------------------------


def test_progress_rises_to_the_end(shop: ClipShop, recordings: Path) -> None:
    seen: list[Preparation] = []
    wanted = [(recordings / "long.mp4", 30.0), (recordings / "a.mp4", 2.0), (recordings / "a.mp4", 2.0)]
    result = shop.prepare_all(wanted, seen=seen.append)
    assert result == seen[-1] == Preparation(2, 0, 2, 1.0)
    shares = [p.share for p in seen]
    assert shares == sorted(shares)
    assert any(0 < share < 0.5 for share in shares), "the encoding under way counts in part"
    assert shop.prepare_all(wanted, seen=seen.append) == result  # all there


def test_a_bad_recording_does_not_hold_up_the_others(
    shop: ClipShop, recordings: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.mp4").write_bytes(b"<html>not a video")
    wanted = [
        (tmp_path / "bad.mp4", 2.0),
        (tmp_path / "absent.mp4", 2.0),
        (recordings / "a.mp4", 2.0),
        (recordings / "a.mp4", float("nan")),
        ("\ud800.mp4", 1.0),
        ("a\0b.mp4", 1.0),
        ("http://127.0.0.1/a.mp4", 1.0),
    ]
    result = shop.prepare_all(wanted)
    assert (result.ready, result.failed, result.total) == (1, 6, 7)
    reasons = {Path(video).name: reason for video, end, reason in result.failures if end == 2.0}
    assert "web page" in reasons["bad.mp4"] or "text" in reasons["bad.mp4"]
    assert "No such file" in reasons["absent.mp4"]
    assert leftovers(shop.folder) == []


def test_it_can_be_left(shop: ClipShop, recordings: Path) -> None:
    result = shop.prepare_all([(recordings / "long.mp4", 30.0)], stopped=lambda: True)
    assert (result.ready, result.failed, result.total) == (0, 0, 1)
    ready(shop.wait(recordings / "long.mp4", 30.0, LOW_PRIORITY_PATIENCE))  # it went on


def test_nothing_to_prepare(shop: ClipShop) -> None:
    assert shop.prepare_all([]) == Preparation(0, 0, 0, 1.0)


# -- failures --------------------------------------------------------------------------------------------------


def test_a_failure_is_told_and_tried_again_when_asked(
    shop: ClipShop, recordings: Path, tmp_path: Path
) -> None:
    video = tmp_path / "v.mp4"
    video.write_bytes(b"\0" * 4000)
    state = shop.wait(video, 2.0, LOW_PRIORITY_PATIENCE)
    assert state.state == "failed"
    assert state.reason
    assert state.hint
    assert shop.ask(video, 2.0) == state
    times = video.stat()
    data = (recordings / "a.mp4").read_bytes()
    video.write_bytes(data)
    os.utime(video, ns=(times.st_atime_ns, times.st_mtime_ns))
    ready(shop.wait(video, 2.0, LOW_PRIORITY_PATIENCE))


def test_a_full_disk_is_told_and_nothing_fills_it(recordings: Path, tmp_path: Path) -> None:
    with ClipShop(tmp_path / "clips", reserve_bytes=10**18, retry_seconds=3600) as shop:
        state = shop.wait(recordings / "a.mp4", 2.0, LOW_PRIORITY_PATIENCE)
        assert state.state == "failed"
        assert "the disk is nearly full" in state.reason
        assert "try again" in state.hint
        assert shop.ask(recordings / "a.mp4", 2.0) == state
        assert [p for p in shop.folder.rglob("*") if p.is_file() and p.name != ".lock"] == []
        shop._reserve = MODEST  # somebody made room
        assert shop.ask(recordings / "a.mp4", 2.0) == state
        assert shop.ask(recordings / "a.mp4", 2.0, retry=True).state == "making"
        ready(shop.wait(recordings / "a.mp4", 2.0, LOW_PRIORITY_PATIENCE))


def test_after_a_while_it_is_tried_again_by_itself(recordings: Path, tmp_path: Path) -> None:
    with ClipShop(tmp_path / "clips", reserve_bytes=10**18, retry_seconds=0.2) as shop:
        assert shop.wait(recordings / "a.mp4", 2.0, LOW_PRIORITY_PATIENCE).state == "failed"
        shop._reserve = MODEST
        time.sleep(0.25)
        assert shop.ask(recordings / "a.mp4", 2.0).state == "making"
        ready(shop.wait(recordings / "a.mp4", 2.0, LOW_PRIORITY_PATIENCE))


def test_the_disk_fills_up_on_the_way(
    recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "proxies").mkdir()
    room = iter([10, 10, 10, 1])
    told: list[object] = []
    monkeypatch.setattr(
        clip_making.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(0, 0, next(room))
    )
    task = Task(str(recordings / "a.mp4"), "p", str(tmp_path), (Cut("k", 4.0),), 480, 5)
    with pytest.raises(UserError, match="nearly full"):
        make_clips(task, told.append)
    assert [type(t) for t in told] == [Progress, Progress]
    assert [p.name for p in tmp_path.rglob("*")] == ["proxies"]


def test_a_recording_that_grows_meanwhile_is_not_used(recordings: Path, tmp_path: Path) -> None:
    (tmp_path / "proxies").mkdir()
    video = tmp_path / "v.mp4"
    shutil.copy(recordings / "a.mp4", video)

    def tell(reply: object) -> None:
        with video.open("ab") as stream:
            stream.write(b"more")

    with pytest.raises(UserError, match="changed while it was read"):
        make_clips(Task(str(video), "p", str(tmp_path), (Cut("k", 4.0),), 480, 0), tell)
    assert [*(tmp_path / "proxies").iterdir()] == []


def test_a_process_that_dies_is_told_and_replaced(shop: ClipShop, recordings: Path) -> None:
    maker = Maker()
    task = Task(str(recordings / "long.mp4"), "p", str(shop.folder), (Cut("0" * 64, 30.0),), 480, 0)
    try:
        replies = []
        for reply in maker.run(task):
            replies.append(reply)
            if len(replies) == 1:
                assert isinstance(reply, Progress)
                assert maker.pid is not None
                os.kill(maker.pid, signal.SIGKILL)
        assert isinstance(replies[-1], Failed)
        assert "ended unexpectedly" in replies[-1].reason
        assert isinstance([*maker.run(task)][-1], Done)
    finally:
        maker.stop()


def test_a_process_that_hangs_is_ended(recordings: Path, tmp_path: Path) -> None:
    (tmp_path / "proxies").mkdir()
    maker = Maker()
    task = Task(str(recordings / "long.mp4"), "p", str(tmp_path), (Cut("0" * 64, 30.0),), 480, 0)
    try:
        replies = maker.run(task)
        assert isinstance(next(replies), Progress)
        pid = maker.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        maker._stall = 0.5
        last = [*replies][-1]
        assert isinstance(last, Failed)
        assert "nothing happened for 0.5 s" in last.reason
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    finally:
        maker.stop()


def test_closing_ends_the_work_at_once(recordings: Path, tmp_path: Path) -> None:
    shop = ClipShop(tmp_path / "clips", reserve_bytes=MODEST)
    shop.ask(recordings / "long.mp4", 30.0)
    wait_until(lambda: bool(leftovers(shop.folder)))  # it encodes
    shop.close()
    assert shop.ask(recordings / "long.mp4", 30.0).state == "failed"
    assert not [*(tmp_path / "clips").glob("*.mp4")]
    shop.close()  # twice is harmless


KILLED = """
import sys
from pathlib import Path
from proctor.studio.clips import ClipShop
if __name__ == "__main__":
    shop = ClipShop(Path(sys.argv[1]), reserve_bytes=0)
    print("begun", flush=True)
    shop.prepare_all([(sys.argv[2], 30.0), (sys.argv[3], 2.0)])
"""


def test_killed_half_way_it_goes_on_from_there(recordings: Path, tmp_path: Path) -> None:
    script, folder = tmp_path / "killed.py", tmp_path / "clips"
    script.write_text(KILLED)
    wanted = [(recordings / "long.mp4", 30.0), (recordings / "a.mp4", 2.0)]
    for pause in (0.0, 0.2, 0.5):
        begun = subprocess.Popen(
            [sys.executable, script, folder, *(str(v) for v, _ in wanted)], stdout=subprocess.PIPE
        )
        assert begun.stdout is not None
        assert begun.stdout.readline() == b"begun\n"
        wait_until(lambda: bool(leftovers(folder)))
        time.sleep(pause)
        begun.kill()
        begun.wait()
        begun.stdout.close()
    with ClipShop(folder, reserve_bytes=MODEST) as shop:
        assert shop.prepare_all(wanted).ready == 2
        for video, end in wanted:
            clip = ready(shop.ask(video, end))
            path = folder / f"{clip.key}.mp4"
            assert numbers_in(path) == list(range(round(end * 30)))
            assert file_sha256(path) == clip.sha256
    wait_until(lambda: not leftovers(folder), 10)


def test_what_killed_processes_left_is_cleared_away(recordings: Path, tmp_path: Path) -> None:
    folder = tmp_path / "clips"
    with ClipShop(folder, reserve_bytes=MODEST) as shop:
        clip = ready(shop.wait(recordings / "a.mp4", 1.0, LOW_PRIORITY_PATIENCE))
    kept = {p.name for p in folder.rglob("*")}
    (folder / ".x.mp4.abc").mkdir()
    (folder / ".x.mp4.abc" / "video.mp4").write_bytes(b"half")
    (folder / "proxies" / ".y.json.tmp").write_bytes(b"half")
    (folder / ("0" * 64 + ".mp4")).write_bytes(b"without its note")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    (folder / ".link").symlink_to(outside)
    with ClipShop(folder, reserve_bytes=MODEST) as shop:
        assert {p.name for p in folder.rglob("*")} == kept
        assert ready(shop.ask(recordings / "a.mp4", 1.0)) == clip
        # a second studio on the same folder leaves alone what the first one may be making
        (folder / ".busy.mp4.abc").mkdir()
        with ClipShop(folder, reserve_bytes=MODEST) as other:
            assert ready(other.ask(recordings / "a.mp4", 1.0)) == clip
            assert leftovers(folder) == [".busy.mp4.abc"]
    assert (outside / "mine").read_text() == "mine"


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="clips cannot be kept here"):
        ClipShop(tmp_path / "file" / "clips")


def test_notes_that_lie_are_not_believed(shop: ClipShop, recordings: Path) -> None:
    video = recordings / "a.mp4"
    clip = ready(shop.wait(video, 1.0, LOW_PRIORITY_PATIENCE))
    note = shop.folder / f"{clip.key}.json"
    shop._ready.clear()
    for text in (
        b"",
        b"{",
        b"[]",
        b'{"key":1}',
        b"\xff\xfe",
        note.read_bytes().replace(b'"bytes":', b'"bytes":1'),
    ):
        note.write_bytes(text)
        assert ready(shop.wait(video, 1.0, LOW_PRIORITY_PATIENCE)) == clip
        shop._ready.clear()


def test_the_time_base_of_a_slow_recording(shop: ClipShop, tmp_path: Path) -> None:
    """The sample's videos have eight pictures a second."""
    video = MAKER.make_video(tmp_path / "slow.mp4", MAKER.Recipe(times=range(40), time_base=Fraction(1, 8)))
    clip = ready(shop.wait(video, 2.0, LOW_PRIORITY_PATIENCE))
    seen = numbers_in(shop.folder / f"{clip.key}.mp4")
    assert len(seen) == 60
    assert seen == [k * 8 // 30 for k in range(60)]


@pytest.mark.parametrize("rate", [Fraction(25), Fraction(30_000, 1001), Fraction(60)])
def test_a_timeline_shows_each_frame_of_its_recording(tmp_path: Path, rate: Fraction) -> None:
    """Thirty pictures a second would leave out, or show twice, frames of a recording with another rate."""
    times = range(0, 40 * rate.denominator, rate.denominator)
    tick = Fraction(1, rate.numerator)
    video = MAKER.make_video(tmp_path / "v.mp4", MAKER.Recipe(times=times, time_base=tick, b_frames=2))
    with ClipShop(tmp_path / "clips", reserve_bytes=MODEST) as shop:

        def found() -> ClipState | None:
            state = shop.ask(video, float(40 / rate), rate=rate)
            return None if state.state == "making" else state

        state = wait_until(found, LOW_PRIORITY_PATIENCE)
        assert state.clip is not None, state
        with av.open(str(tmp_path / "clips" / f"{state.clip.key}.mp4")) as clip:
            shown = [MAKER.number_in(f.to_ndarray(format="rgb24")) for f in clip.decode(video=0)]
    assert shown == list(range(40))
    assert state.clip.fps == pytest.approx(float(rate))
