"""ActionFormer as a localizer: it learns, goes on after a kill, and says what it cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.learn.settings import TrainOptions
from proctor.metrics.localization import Segments, segment_mean_average_precisions

torch = pytest.importorskip("torch")
from tests.learn.localize.made import Made, make  # noqa: E402

from proctor.learn.localize.actionformer import ActionFormer  # noqa: E402
from proctor.learn.localize.localizer import Localizer  # noqa: E402

OPTIONS = TrainOptions(lr=1e-3, epochs=16, batch=2, device="cpu")
SHORT = TrainOptions(lr=1e-3, epochs=3, batch=4, device="cpu")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("made"), recordings=18)


def network(
    made: Made, options: TrainOptions = SHORT, folder: Path | None = None, **other: Any
) -> ActionFormer:
    return ActionFormer([made.store], options, folder, hidden=16, levels=4, **other)


def same(a: Segments, b: Segments) -> bool:
    assert a.score is not None
    assert b.score is not None
    return (a.videos, a.labels) == (b.videos, b.labels) and all(
        np.array_equal(x, y) for x, y in zip(rows(a), rows(b), strict=True)
    )


def rows(a: Segments) -> tuple[Any, ...]:
    return a.video, a.start, a.end, a.label, a.score


def test_it_finds_steps_of_recordings_that_it_has_not_seen(made: Made) -> None:
    model: Localizer = ActionFormer([made.store], OPTIONS, hidden=32, levels=5)
    said = model.fit(made.task)
    assert said["epochs"] == 16
    truth = made.task.data.truth(made.task.test)
    found = model.predict(made.task.test)
    assert found.videos == made.task.test
    assert segment_mean_average_precisions(truth, found)[-1] > 0.95
    last = np.array([made.task.data.recordings[str(v)].seconds for v in found.videos])[found.video]
    assert (found.start >= 0).all()
    assert (found.end <= last).all()
    assert (found.end > found.start).all()
    assert np.bincount(found.video).max() <= 2000
