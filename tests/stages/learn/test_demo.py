"""The whole way from video to page, small: films whose mistakes are seen, features without weights, V2, a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.learn.features.films import write_film

from proctor.learn.features.store import FeatureStore
from proctor.learn.runs import read_run
from proctor.stages.learn import demo
from proctor.stages.learn.settings import LearnDemoSettings

pytest.importorskip("torch", reason="needs torch")

STEPS, SECONDS = 4, 2
"""Steps of a recording, seconds of a step."""


def write_small(folder: Path, recordings: int = 16) -> None:
    """Write a plain folder whose films turn red where a step is a mistake; every other recording has two."""
    for name in ("activities", "recordings", "videos"):
        (folder / name).mkdir(parents=True)
    steps = [{"id": str(n), "text": f"Do the thing number {n}"} for n in range(STEPS)]
    (folder / "activities" / "a.json").write_text(
        json.dumps({"id": "a", "name": "A", "steps": steps, "edges": []})
    )
    (folder / "dataset.json").write_text(json.dumps({"name": "small"}))
    rng = np.random.default_rng(0)
    for number in range(recordings):
        wrong = set(rng.choice(STEPS, 2, replace=False).tolist()) if number % 2 else set()
        segments = [
            {"step": str(n), "start": n * SECONDS, "end": (n + 1) * SECONDS}
            | (
                {"mistakes": [{"kind": "technique", "text": "Red"}], "performed": "It is red"}
                if n in wrong
                else {}
            )
            for n in range(STEPS)
        ]
        about = {"id": f"r{number}", "activity": "a", "video": f"videos/r{number}.mp4", "segments": segments}
        (folder / "recordings" / f"r{number}.json").write_text(json.dumps(about))
        write_film(folder / "videos" / f"r{number}.mp4", _reddening(wrong), STEPS * SECONDS * 4, fps=4)


def _reddening(wrong: set[int]) -> Callable[[int], NDArray[np.uint8]]:
    def paint(frame: int) -> NDArray[np.uint8]:
        red = frame // (4 * SECONDS) in wrong
        return np.full((96, 160, 3), (200, 40, 40) if red else (60, 60, 60), np.uint8)

    return paint


@contextmanager
def show(title: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    yield lambda: None


def test_mistakes_that_are_seen_are_learned_from_the_video_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "copy_sample", write_small)
    monkeypatch.setattr(demo, "render_videos", lambda data, show: 0)
    asked = LearnDemoSettings(folder=tmp_path, epochs=30, resamples=50)
    found = demo.learn_demo(asked, show=show)
    assert FeatureStore.open(tmp_path / "plain").recordings == tuple(sorted(f"r{n}" for n in range(16)))
    assert found.learned["v2"].n == found.learned["floor"].n == 4 * STEPS
    assert found.learned["v2"].test.auc == 1.0
    assert (found.learned["floor"].test.auc or 0) < 0.9  # what it does not see
    page = Path(found.page).read_text(encoding="utf-8")
    assert "Do the thing number 2" in page
    run = read_run(tmp_path / "runs" / "v2")
    assert (run.record.data, run.record.features[0].backbone) == ("plain", "plain")
    assert list(found.seconds) == ["render", "extract", "train", "page"]
    again = demo.learn_demo(asked, show=show)
    assert again.extraction is None
    assert again.learned["v2"].test.auc == 1.0
