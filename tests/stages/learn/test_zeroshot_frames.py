"""Steps shown as frames of real files: those of the step alone, and what a model is told of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from proctor.ask.step.entry import Entry
from proctor.ask.step.questions import STEP, Asker
from proctor.errors import UserError
from proctor.learn.zeroshot.deciding import read_replies
from proctor.records import write_jsonl
from proctor.stages.exam_settings import PredictSettings
from proctor.stages.inputs import load_predictions
from proctor.stages.predict import predict
from proctor.workspace import Workspace
from proctor_rehearsal.players import rehearse

ENTRY = Entry("1_7", 0, "1", "Whisk 1 egg with a fork", "Omelette", "1", 2.0, 4.0)
ENTRIES = [ENTRY, replace(ENTRY, number=1, start=5.0, end=9.0, kinds=("technique",))]


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    pytest.importorskip("av")
    from tests.media.make_video import Recipe, make_video

    (tmp_path / "videos").mkdir()
    make_video(tmp_path / "videos" / "1_7_360p.mp4", Recipe(times=range(100), time_base=Fraction(1, 10)))
    return tmp_path / "videos"


def test_frames_of_the_step_alone_are_shown(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPAT_API_KEY", "a-key-of-the-stand-in")
    asker, root = Asker({"1": ("fork", "bowl", "plate", "mug")}), tmp_path / "run"
    items = [asker.item(entry, category) for entry in ENTRIES for category in (STEP, "preparation")]
    Workspace(root).create()
    write_jsonl(root / "items.jsonl", items)
    with rehearse(root, quality=1.0) as server:
        settings = PredictSettings(kind="step", show="frames:4", videos=videos)
        runs = predict(root, f"compat/eyes@{server.url}/v1", settings)
        assert all(record.media == {"image": 4} for record in server.requests)
    answers = [p for run in runs for p in load_predictions(root / "runs" / run.run, items)]
    times = {p.item_id: p.frame_times for p in answers}
    assert times[items[0].id] == pytest.approx((2.2, 2.7, 3.2, 3.7), abs=0.1)
    assert times[items[2].id] == pytest.approx((5.5, 6.5, 7.5, 8.5), abs=0.1)
    replies = read_replies(ENTRIES, items, answers)
    assert replies.signals(STEP).tolist() == [False, True]
    assert replies.signals("preparation").tolist() == [False, False]


def test_the_clip_of_the_step_itself_is_shown(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPAT_API_KEY", "a-key-of-the-stand-in")
    asker, root = Asker({}), tmp_path / "run"
    items = [asker.item(entry, STEP) for entry in ENTRIES]
    Workspace(root).create()
    write_jsonl(root / "items.jsonl", items)
    with rehearse(root, quality=1.0) as server:
        settings = PredictSettings(kind="step", show="video:96p", videos=videos)
        (run,) = predict(root, f"compat/eyes@{server.url}/v1", settings)
        assert [record.media for record in server.requests] == [{"video": 1}] * 2
    answers = load_predictions(root / "runs" / run.run, items)
    assert [float(p.details["seconds"]) for p in answers] == pytest.approx([2.0, 4.0], abs=0.15)
    assert read_replies(ENTRIES, items, answers).signals(STEP).tolist() == [False, True]
    with pytest.raises(UserError, match="takes no video"):
        predict(root, "openai/gpt-4o", settings)
