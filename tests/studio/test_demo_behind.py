"""The sample is served first: its videos are drawn behind, or taken from ``proctor demo``, and pages wait for them."""

from __future__ import annotations

import shutil
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from proctor.exam.question import Footage
from proctor.stages import studio_demo
from proctor.stages.studio import open_studio
from proctor.studio.cards import clip_state
from proctor.studio.context import Settings


@contextmanager
def quiet(title: str, total: int | None = None) -> Any:
    yield lambda: None


class Rehearser:
    """Draws empty files, once it may."""

    def __init__(self) -> None:
        self.may = threading.Event()

    def draw_recordings(self, recordings: Any, *, seen: Any) -> None:
        for path, _ in recordings:
            self.may.wait(60)
            path.parent.mkdir(exist_ok=True)
            path.touch()
            seen(path)


def test_videos_are_drawn_behind_or_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rehearser = Rehearser()
    monkeypatch.setattr(studio_demo, "find_rehearser", lambda _purpose: rehearser)
    folder, other = tmp_path / "studio-demo", tmp_path / "demo" / "sample"
    studio_demo.make_demo(folder, show=quiet)
    shutil.copytree(folder / "sample", other)
    settings = Settings(project="Sample", origin="http://127.0.0.1:1", folder=folder / "bench" / "studio")
    with open_studio(folder / "bench", settings) as studio:
        with studio_demo.draw_behind(folder, studio, show=quiet) as drawing:
            first, second, *_ = sorted(studio.awaited)
            footage = Footage(recording=Path(first).stem, video=first, end=5.0)
            assert (state := clip_state(studio, footage)) is not None
            assert state.state == "making"  # the page says that it is being cut, and polls
            rehearser.may.set()
            drawing.join(60)
            assert not studio.awaited
            assert studio.find_video(footage) == folder / "sample" / first  # looked for in vain before

        # What ``proctor demo`` has drawn of the same recordings is taken; of others nothing is.
        (other / "videos").mkdir(exist_ok=True)
        (other / first).write_bytes(b"drawn before")
        for same in (True, False):
            shutil.rmtree(folder / "sample" / "videos")
            if not same:
                next((other / "recordings").iterdir()).write_text("{}", "utf-8")
            with studio_demo.draw_behind(folder, studio, show=quiet) as drawing:
                drawing.join(60)
            assert (folder / "sample" / first).read_bytes() == (b"drawn before" if same else b"")
            assert (folder / "sample" / second).is_file()
