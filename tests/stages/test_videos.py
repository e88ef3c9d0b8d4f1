"""Where videos of recordings are found, and what is never taken for one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.procedure.recording import Recording
from proctor.records import read_jsonl
from proctor.stages.read import read
from proctor.stages.report import report
from proctor.stages.videos import Videos, workspace_videos
from proctor.workspace import Workspace


def test_a_report_without_the_extra_says_how_to_have_pictures(
    fresh: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = fresh() / "bench"
    videos = tmp_path / "videos"
    videos.mkdir()
    for one in read_jsonl(bench / "recordings.jsonl", Recording):
        (videos / f"{one.id}.mp4").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "av", None)
    (reason,) = report(bench, videos=videos).without_frames
    assert reason.endswith("pip install 'proctor-bench[video]'")


IDS = ("1_7", "1_7_3", "10_7", "tea")


def folder(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    return root


def found(root: Path, recording: str, named: str | None = None, height: int | None = None) -> str:
    finder = Videos(root, lambda: IDS)
    path = finder.find(recording, named, height=height)
    assert path is not None
    assert path.is_file()
    return finder.name(path)


@pytest.mark.parametrize(
    "name",
    [
        "1_7.mp4", "1_7.MKV", "1_7_360p.mp4", "1_7_gopro.webm", "1_7_gopro_4k.mov", "sub/1_7.avi", "360p/1_7_360p.m4v",
    ],
)  # fmt: skip
def test_a_recording_is_found_by_its_id(tmp_path: Path, name: str) -> None:
    others = (
        "1_7_3.mp4",
        "10_7.mp4",
        "11_7.mp4",
        "1_70.mp4",
        "01_7.mp4",
        "1_7.txt",
        "a/b/1_7.mp4",
        "._1_7.mp4",
    )
    folder(tmp_path, *others)
    with pytest.raises(UserError, match="there is no video named by recording '1_7'"):
        found(tmp_path, "1_7")
    assert found(folder(tmp_path, name), "1_7") == name


def test_the_longest_id_owns_a_file(tmp_path: Path) -> None:
    folder(tmp_path, "1_7_3_360p.mp4", "1_7_360p.mp4")
    assert found(tmp_path, "1_7") == "1_7_360p.mp4"
    assert found(tmp_path, "1_7_3") == "1_7_3_360p.mp4"


def test_without_known_recordings_only_plain_names_are_understood(tmp_path: Path) -> None:
    finder = Videos(folder(tmp_path, "1_7_3.mp4", "1_7_gopro.mp4"))
    with pytest.raises(UserError, match="no video"):
        finder.find("1_7")
    folder(tmp_path, "1_7_360p.mp4")
    assert Videos(tmp_path).find("1_7") == tmp_path / "1_7_360p.mp4"


def test_the_exact_name_comes_first_then_resolutions_then_others(tmp_path: Path) -> None:
    assert found(folder(tmp_path, "1_7_front.mp4"), "1_7") == "1_7_front.mp4"
    assert found(folder(tmp_path, "1_7_360p.mp4"), "1_7") == "1_7_360p.mp4"
    assert found(folder(tmp_path, "1_7.mp4"), "1_7", height=360) == "1_7.mp4"


@pytest.mark.parametrize(
    ("height", "taken"),
    [
        (288, "1_7_360p.mp4"), (360, "1_7_360p.mp4"), (361, "1_7_1080p.mp4"), (1_440, "1_7_4k.mp4"),
        (4_320, "1_7_4k.mp4"), (None, "1_7_4k.mp4"),
    ],
)  # fmt: skip
def test_the_smallest_resolution_that_is_enough_is_taken(
    tmp_path: Path, height: int | None, taken: str
) -> None:
    folder(tmp_path, "1_7_1080p.mp4", "1_7_360p.mp4", "1_7_4k.mp4")
    assert found(tmp_path, "1_7", height=height) == taken


def test_the_resolution_may_stand_in_the_folder(tmp_path: Path) -> None:
    folder(tmp_path, "resolution_360p/1_7.mp4", "resolution_1080p/1_7.mp4")
    assert found(tmp_path, "1_7", height=300) == "resolution_360p/1_7.mp4"
    assert found(tmp_path, "1_7", height=765) == "resolution_1080p/1_7.mp4"


@pytest.mark.parametrize(
    "names",
    [
        ("1_7.mp4", "1_7.mkv"), ("a/1_7.mp4", "b/1_7.mp4"), ("1_7_front.mp4", "1_7_side.mp4"),
        ("a/1_7_360p.mp4", "b/1_7_360p.mp4"), ("1_7.mp4", "360p/1_7.mp4"),
    ],
)  # fmt: skip
def test_nothing_is_guessed(tmp_path: Path, names: tuple[str, ...]) -> None:
    with pytest.raises(UserError) as caught:
        found(folder(tmp_path, *names), "1_7", height=360)
    assert caught.value.message.startswith("2 files could be the video of recording '1_7': ")
    for name in names:
        assert name in caught.value.message


def test_the_named_path_comes_first_and_its_absence_is_told(tmp_path: Path) -> None:
    folder(tmp_path, "videos/x.mp4", "tea.mp4")
    assert found(tmp_path, "tea", "videos/x.mp4") == "videos/x.mp4"
    assert found(tmp_path, "tea", "videos/y.mp4") == "tea.mp4"
    with pytest.raises(UserError) as caught:
        found(tmp_path, "1_7", "videos/y.mp4")
    assert caught.value.message == (
        "there is no video 'videos/y.mp4', nor one named by recording '1_7' (2 video files are in the folder)."
    )
    assert caught.value.hint is not None
    assert "1_7_360p.mp4" in caught.value.hint


@pytest.mark.parametrize("named", ["../out.mp4", "a/../../out.mp4", "/etc/hosts", "..\\out.mp4", "a\0b.mp4"])
def test_a_named_path_stays_inside(tmp_path: Path, named: str) -> None:
    folder(tmp_path, "out.mp4", "in/tea.mp4")
    with pytest.raises(UserError, match="no path inside the folder"):
        found(tmp_path / "in", "tea", named)


@pytest.mark.parametrize(
    "recording", ["../out", "sub/tea", "..", ".", "", "*", "tea.mp4", "/out", "sub\\tea"]
)
def test_an_id_is_a_name_and_no_path(tmp_path: Path, recording: str) -> None:
    folder(tmp_path, "out.mp4", "in/sub/tea.mp4", "in/tea.mp4")
    with pytest.raises(UserError, match="there is no video"):
        Videos(tmp_path / "in", lambda: (*IDS, recording)).find(recording)
    with pytest.raises(UserError, match="there is no video"):
        Videos(tmp_path / "in").find(recording)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=60,
    deadline=None,
)
@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_any_id_finds_its_own_file_and_no_other(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    root = folder(tmp_path_factory.mktemp("v"), "other.mp4")
    if name.startswith(".") or name == "other":
        return
    finder = Videos(root, lambda: [name])
    with pytest.raises(UserError):
        finder.find(name)
    folder(root, f"{name}.mp4")
    assert Videos(root, lambda: [name]).find(name) == root / f"{name}.mp4"


def test_the_folder_is_looked_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path, "a/1_7.mp4", "tea.mp4")
    real, scans = os.scandir, []
    monkeypatch.setattr(os, "scandir", lambda path: scans.append(path) or real(path))  # type: ignore[func-returns-value]
    finder = Videos(tmp_path, lambda: IDS)
    for _ in range(5):
        finder.find("1_7")
        finder.find("tea")
    assert len(scans) == 2


def test_no_folder_is_no_video_and_a_wrong_folder_is_an_error(tmp_path: Path) -> None:
    assert Videos(None).find("1_7", "x.mp4") is None
    with pytest.raises(UserError, match="no such folder of videos"):
        workspace_videos(Workspace(tmp_path), tmp_path / "nowhere")
    with pytest.raises(UserError, match="cannot be read"):
        Videos(tmp_path / "nowhere").find("1_7")


def test_links_are_followed_and_folders_with_a_videos_name_are_none(tmp_path: Path) -> None:
    folder(tmp_path, "far/film.bin", "in/x.txt")
    (tmp_path / "in" / "tea.mp4").symlink_to(tmp_path / "far" / "film.bin")
    (tmp_path / "in" / "1_7.mp4").mkdir()
    assert found(tmp_path / "in", "tea") == "tea.mp4"
    with pytest.raises(UserError, match="there is no video"):
        found(tmp_path / "in", "1_7")


def test_a_name_that_is_no_text_can_be_written_down(tmp_path: Path) -> None:
    folder(tmp_path, os.fsdecode(b"1_7_\xff.mp4"), os.fsdecode(b"1_7_\xfe.mp4"))
    with pytest.raises(UserError) as caught:
        found(tmp_path, "1_7")
    caught.value.message.encode()


@pytest.mark.shared
def test_every_recording_of_captaincook4d_finds_its_own(shared_data: Path, tmp_path: Path) -> None:
    read("captaincook4d", shared_data / "captaincook4d", tmp_path / "bench")
    workspace = Workspace(tmp_path / "bench")
    recordings = read_jsonl(workspace.file("recordings.jsonl"), Recording)
    ids = [r.id for r in recordings]
    assert len(ids) > 300
    assert {r.video for r in recordings} == {None}
    place = folder(tmp_path / "gopro", *(f"{r}_360p.mp4" for r in ids), *(f"4k/{r}_4K.MP4" for r in ids))
    finder = workspace_videos(workspace, place)
    for recording in ids:
        assert finder.find(recording, height=288) == place / f"{recording}_360p.mp4"
        assert finder.find(recording, height=765) == place / "4k" / f"{recording}_4K.MP4"
