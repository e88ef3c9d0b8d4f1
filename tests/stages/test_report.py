"""Which pictures of a recording the report shows with a question."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from proctor.exam.question import Item
from proctor.media import frames as media_frames
from proctor.stages import report
from proctor.stages.settings import ReportSettings

RATE = 10


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording with ten pictures a second, numbered by their grey."""

    def extract(path: Path, times: list[float], **_: Any) -> list[Any]:
        numbers = [int(t * RATE + 0.0005) for t in times]
        return [
            SimpleNamespace(time=n / RATE, image=np.full((16, 16, 3), n % 256, np.uint8)) for n in numbers
        ]

    monkeypatch.setattr(media_frames, "extract_frames", extract)


def _item(end: float) -> Item:
    return SimpleNamespace(id="i", example=SimpleNamespace(end=end))  # type: ignore[return-value]


def _run(*times: float) -> Any:
    return SimpleNamespace(predictions=(SimpleNamespace(item_id="i", frame_times=times),))


@pytest.mark.parametrize(
    ("runs", "count", "shown"),
    [
        ((), 4, [1.6, 5.0, 8.3, 9.9]),
        ((_run(1.0, 3.0, 5.0, 7.0, 9.0),), 4, [3.0, 7.0, 9.0, 9.9]),
        ((_run(2.0, 9.94),), 4, [2.0, 9.9]),  # a run saw the last picture itself: it is shown once
        ((_run(1.0, 2.0),), 1, [9.9]),
        ((), 1, [9.9]),
    ],
)
def test_the_moments_own_picture_is_there_and_last(
    recording: None, runs: tuple[Any, ...], count: int, shown: list[float]
) -> None:
    times = report._times([_item(10.0)], runs, count)
    found = report._frames_of(Path("r.mp4"), [_item(10.0)], times, ReportSettings(height=16))["i"]
    assert [frame.time for frame in found] == shown
