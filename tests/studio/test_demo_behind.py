"""The sample is served first: its videos are drawn behind, or taken from ``proctor demo``, and pages wait for them."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from proctor.exam.question import Footage
from proctor.stages import studio_demo
from proctor.stages.studio import open_studio
from proctor.stages.studio_demo import draw_behind, make_demo
from proctor.studio.cards import clip_state
from proctor.studio.context import Settings


@contextmanager
def quiet(_what: str, _total: int | None = None) -> Iterator[Any]:
    yield lambda: None


class Rehearser:
    """Draws nothing before it may, and then an empty file."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.asked: list[Path] = []

    def draw_recordings(self, recordings: Any, *, seen: Any) -> None:
        self.asked = [path for path, _ in recordings]
        for path in self.asked:
            self.may.wait(60)
            path.parent.mkdir(exist_ok=True)
            path.touch()
            seen(path)


@pytest.fixture
def rehearser(monkeypatch: pytest.MonkeyPatch) -> Rehearser:
    made = Rehearser()
    monkeypatch.setattr(studio_demo, "find_rehearser", lambda _purpose: made)
    return made


def _open(folder: Path) -> Any:
    settings = Settings(project="Sample", origin="http://127.0.0.1:1", folder=folder / "bench" / "studio")
    return open_studio(folder / "bench", settings)


def test_pages_wait_for_videos_that_are_being_drawn(tmp_path: Path, rehearser: Rehearser) -> None:
    folder = tmp_path / "studio-demo"
    make_demo(folder, show=quiet)
    with _open(folder) as studio, draw_behind(folder, studio, show=quiet) as drawing:
        (name, *_) = sorted(studio.awaited)
        footage = Footage(recording=Path(name).stem, video=name, end=5.0)
        state = clip_state(studio, footage)
        assert state is not None
        assert state.state == "making"  # the page says that it is being cut, and polls
        rehearser.may.set()
        drawing.join(60)
        assert not studio.awaited
        assert studio.find_video(footage) == folder / "sample" / name  # looked for in vain before, found now


def test_what_proctor_demo_has_drawn_is_taken(
    demo_workspace: Path, tmp_path: Path, rehearser: Rehearser
) -> None:
    rehearser.may.set()
    folder, other = tmp_path / "studio-demo", tmp_path / "demo" / "sample"
    shutil.copytree(demo_workspace, folder)
    shutil.copytree(demo_workspace / "sample", other)
    (other / "videos").mkdir(exist_ok=True)
    with _open(folder) as studio, draw_behind(folder, studio, show=quiet) as drawing:
        drawing.join(60)
    first = rehearser.asked[0].name if rehearser.asked else ""
    (other / "videos" / first).write_bytes(b"drawn before")
    shutil.rmtree(folder / "sample" / "videos")
    with _open(folder) as studio, draw_behind(folder, studio, show=quiet) as drawing:
        drawing.join(60)
    assert (folder / "sample" / "videos" / first).read_bytes() == b"drawn before"
    assert first not in {path.name for path in rehearser.asked}

    # Recordings that were changed there are another sample.
    shutil.rmtree(folder / "sample" / "videos")
    next((other / "recordings").iterdir()).write_text("{}", "utf-8")
    with _open(folder) as studio, draw_behind(folder, studio, show=quiet) as drawing:
        drawing.join(60)
    assert first in {path.name for path in rehearser.asked}
