"""Drawn videos: one frame a second up to the last moment that is asked about, the same bytes, nothing drawn twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.benchmark.item import Item
from proctor.errors import UserError
from proctor.evaluate.predict import make_task
from proctor.evaluate.showing import shown_frames
from proctor.evaluate.view import View
from proctor.llm.media import MediaStore
from proctor.media.probe import probe
from proctor.records import read_jsonl, write_jsonl
from proctor.stages.inputs import load_examples
from proctor.stages.rehearsal import render_videos
from proctor.stages.rehearsal.files import Now
from proctor.workspace import Workspace


def last_moments(bench: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    for item in read_jsonl(bench / "items.jsonl", Item):
        found[item.recording_id] = max(found.get(item.recording_id, 0.0), item.example.end)
    return found


def test_a_video_reaches_behind_the_last_moment_that_is_asked_about(bench: Path, tmp_path: Path) -> None:
    drawn = list[Path]()
    paths = render_videos(bench, tmp_path / "videos", most=3, seen=drawn.append)
    ends = last_moments(bench)
    assert [p.stem for p in paths] == sorted(ends)[:3]
    assert sorted(drawn) == paths
    for path in paths:
        found = probe(path)
        assert found.fps == pytest.approx(1.0)
        assert ends[path.stem] < found.duration <= ends[path.stem] + 2.0
    before = [p.stat().st_mtime_ns for p in paths]
    assert render_videos(bench, tmp_path / "videos", most=3, seen=drawn.append) == paths
    assert [p.stat().st_mtime_ns for p in paths] == before
    assert len(drawn) == 3


def test_a_video_is_drawn_again_when_later_moments_are_asked_about(bench: Path, tmp_path: Path) -> None:
    items = read_jsonl(bench / "items.jsonl", Item)
    ends = last_moments(bench)
    name = next(r for r in sorted(ends) if len({i.example.end for i in items if i.recording_id == r}) > 1)
    mine = sorted((i for i in items if i.recording_id == name), key=lambda i: i.example.end)
    write_jsonl(bench / "items.jsonl", mine[:1])
    (path,) = render_videos(bench, tmp_path / "videos")
    assert probe(path).duration < ends[name]
    write_jsonl(bench / "items.jsonl", mine)
    assert render_videos(bench, tmp_path / "videos") == [path]
    assert probe(path).duration > ends[name]
    path.write_bytes(b"no video")
    render_videos(bench, tmp_path / "videos")
    assert probe(path).duration > ends[name]


def test_the_same_annotations_give_the_same_bytes_and_recordings_differ(bench: Path, tmp_path: Path) -> None:
    one = render_videos(bench, tmp_path / "one", most=2)
    two = render_videos(bench, tmp_path / "two", most=2)
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in two]
    assert one[0].read_bytes() != one[1].read_bytes()


def test_every_item_has_frames_to_show(now: Now, home: object) -> None:
    videos: Path = home.videos  # type: ignore[attr-defined]
    media = MediaStore()
    for item in list(now.items)[::7]:
        task = make_task(item, now.graphs[item.example.activity_id], media_root=videos)
        shown = shown_frames(task, View(frames=5, height=144), media)
        assert 1 <= len(shown) <= 5
        assert shown[-1].time < item.example.end <= shown[-1].time + 2.1


def test_without_items_the_examples_say_what_is_needed(bench: Path, tmp_path: Path) -> None:
    (bench / "items.jsonl").unlink()
    workspace = Workspace(bench)
    examples = load_examples(workspace, workspace.graphs())
    (path,) = render_videos(bench, tmp_path / "videos", most=1)
    first = min(e.recording_id for e in examples)
    assert path.stem == first
    assert probe(path).duration > max(e.end for e in examples if e.recording_id == first)


def test_an_item_of_an_unknown_recording_is_named(bench: Path, tmp_path: Path) -> None:
    lines = (bench / "recordings.jsonl").read_text().splitlines(keepends=True)
    gone = min(last_moments(bench))
    (bench / "recordings.jsonl").write_text("".join(line for line in lines if f'"id":"{gone}"' not in line))
    with pytest.raises(UserError, match=f"no recording '{gone}'"):
        render_videos(bench, tmp_path / "videos")


def test_a_recording_whose_name_leaves_the_folder_is_refused(bench: Path, tmp_path: Path) -> None:
    first = min(last_moments(bench))
    for name in ("recordings.jsonl", "items.jsonl"):
        text = (bench / name).read_text()
        (bench / name).write_text(text.replace(f'"{first}"', '"../escape"'))
    with pytest.raises(UserError, match="cannot name a file"):
        render_videos(bench, tmp_path / "videos")
    assert not (tmp_path / "escape.mp4").exists()


def test_a_place_that_cannot_be_written_is_named(bench: Path, tmp_path: Path) -> None:
    (tmp_path / "videos").write_text("a file")
    with pytest.raises(UserError, match="cannot be made"):
        render_videos(bench, tmp_path / "videos")


def test_no_items_and_no_examples_name_the_command(
    bench: Path, tmp_path: Path, name_videos: Callable[[Path], None]
) -> None:
    name_videos(bench)
    write_jsonl(bench / "items.jsonl", list[Item]())
    with pytest.raises(UserError, match="no records"):
        render_videos(bench, tmp_path / "videos")
    for name in ("items.jsonl", "examples.jsonl"):
        (bench / name).unlink()
    with pytest.raises(UserError, match="not there yet"):
        render_videos(bench, tmp_path / "videos")
