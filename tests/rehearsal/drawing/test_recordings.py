"""Drawn videos: one frame a second up to the last moment that is asked about, the same bytes, nothing drawn twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.rehearsal.conftest import Home

from proctor.errors import UserError
from proctor.exam.kinds.moment import shown_frames
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.library import Library
from proctor.exam.question import Item
from proctor.exam.view import View
from proctor.llm.media import MediaStore
from proctor.media.probe import probe
from proctor.records import read_jsonl, write_jsonl
from proctor.stages.inputs import load_examples
from proctor.workspace import Workspace
from proctor_rehearsal.drawing.recordings import render_videos
from proctor_rehearsal.players.files import Now

Drawn = tuple[list[Path], list[Path]]


@pytest.fixture(scope="module")
def drawn(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """The videos of two recordings, not to be changed, and the paths that were told as they were done."""
    told = list[Path]()
    return render_videos(
        home.bench, tmp_path_factory.mktemp("drawn") / "videos", most=2, seen=told.append
    ), told


def last_moments(bench: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    for item in read_jsonl(bench / "items.jsonl", Item):
        found[item.question.cluster] = max(
            found.get(item.question.cluster, 0.0), moment_example(item.question).end
        )
    return found


def test_a_video_reaches_behind_the_last_moment_that_is_asked_about(home: Home, drawn: Drawn) -> None:
    paths, told = drawn
    ends = last_moments(home.bench)
    assert [p.stem for p in paths] == sorted(ends)[:2]
    assert sorted(told) == paths
    for path in paths:
        found = probe(path)
        assert found.fps == pytest.approx(1.0)
        assert ends[path.stem] < found.duration <= ends[path.stem] + 2.0
    before = [p.stat().st_mtime_ns for p in paths]
    again = list[Path]()
    assert render_videos(home.bench, paths[0].parent, most=2, seen=again.append) == paths
    assert [p.stat().st_mtime_ns for p in paths] == before
    assert again == []


def test_a_video_is_drawn_again_when_later_moments_are_asked_about(bench: Path, tmp_path: Path) -> None:
    items = read_jsonl(bench / "items.jsonl", Item)
    ends = last_moments(bench)
    name = next(
        r
        for r in sorted(ends)
        if len({moment_example(i.question).end for i in items if i.question.cluster == r}) > 1
    )
    mine = sorted(
        (i for i in items if i.question.cluster == name), key=lambda i: moment_example(i.question).end
    )
    write_jsonl(bench / "items.jsonl", mine[:1])
    (path,) = render_videos(bench, tmp_path / "videos")
    assert probe(path).duration < ends[name]
    write_jsonl(bench / "items.jsonl", mine)
    assert render_videos(bench, tmp_path / "videos") == [path]
    assert probe(path).duration > ends[name]
    path.write_bytes(b"no video")
    render_videos(bench, tmp_path / "videos")
    assert probe(path).duration > ends[name]


def test_the_same_annotations_give_the_same_bytes_and_recordings_differ(
    home: Home, drawn: Drawn, tmp_path: Path
) -> None:
    one, other = drawn[0]
    (again,) = render_videos(home.bench, tmp_path / "again", most=1)
    assert again.read_bytes() == one.read_bytes() != other.read_bytes()


def test_every_item_has_frames_to_show(now: Now, drawn: Drawn) -> None:
    paths, library = drawn[0], Library(media=MediaStore())
    items = [item for item in now.items if item.question.cluster in {p.stem for p in paths}]
    for item in items[::2]:
        video = paths[0].parent / f"{item.question.cluster}.mp4"
        shown = shown_frames(
            library, video, moment_example(item.question).end, View(frames=5, height=144), where=item.id
        )
        assert 1 <= len(shown) <= 5
        assert shown[-1].time < moment_example(item.question).end <= shown[-1].time + 2.1


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
