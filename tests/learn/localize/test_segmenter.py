"""Every row labelled: what is learned, what runs become, and the metrics that compare rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from proctor.errors import UserError
from proctor.learn.localize.data import StepSpan, TimedRecording
from proctor.learn.localize.dense import BACKGROUND, row_labels, runs_of
from proctor.learn.settings import TrainOptions
from proctor.metrics.localization import segment_mean_average_precisions
from proctor.metrics.segmentation import edit_score, frame_accuracy, segmental_f1

torch = pytest.importorskip("torch")
from tests.learn.localize.made import Made, make  # noqa: E402

from proctor.learn.localize.localizer import Localizer  # noqa: E402
from proctor.learn.localize.segmenter import Segmenter, SegmentNetwork, smoothing  # noqa: E402

OPTIONS = TrainOptions(lr=2e-3, epochs=8, batch=1, device="cpu")
SHORT = TrainOptions(lr=2e-3, epochs=2, device="cpu")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("made"), recordings=18)


def test_rows_have_the_label_of_the_shortest_action() -> None:
    start, end = np.array([0.0, 2.5, 7.0, 3.0]), np.array([6.0, 4.5, 20.0, 3.0])
    assert row_labels(9, start, end, np.array([0, 1, 2, 0]), 5).tolist() == [0, 0, 0, 1, 1, 0, 5, 2, 2]
    assert row_labels(2, np.array([-4.0]), np.array([-1.0]), np.array([0]), 5).tolist() == [5, 5]
    same = row_labels(3, np.array([0.0, 1.0]), np.array([2.0, 3.0]), np.array([0, 1]), 5)
    assert same.tolist() == [0, 0, 1]
    first, last = runs_of(np.array([3, 3, 1, 3]))
    assert (first.tolist(), last.tolist()) == ([0, 2, 3], [2, 3, 4])
    assert [x.tolist() for x in runs_of(np.zeros(0, np.int64))] == [[], []]


def test_padding_and_other_items_change_nothing() -> None:
    torch.manual_seed(0)
    network = SegmentNetwork(4, 3, hidden=8, layers=4, stages=2).eval()
    x = torch.randn(2, 40, 4)
    x[0, 23:] = 0
    mask = torch.arange(40) < torch.tensor([[23], [40]])
    together, alone = network(x, mask), network(x[:1, :23], mask[:1, :23])
    assert len(together) == 3
    for a, b in zip(together, alone, strict=True):
        assert torch.allclose(a[:1, :, :23], b, atol=1e-5)


def test_jumps_cost_up_to_a_limit() -> None:
    mask = torch.tensor([[True, True, False]])
    logits = torch.tensor([[[0.0, np.log(3.0), 99.0], [0.0, 0.0, 0.0]]])
    change = (np.log(0.75) - np.log(0.5), np.log(0.25) - np.log(0.5))
    assert float(smoothing(logits, mask)) == pytest.approx(np.mean(np.square(change)), rel=1e-5)
    far = torch.tensor([[[50.0, -50.0], [-50.0, 50.0]]])
    assert float(smoothing(far, mask[:, :2])) == 16.0
    assert float(smoothing(far[..., :1], mask[:, :1])) == 0.0


def test_it_labels_rows_of_recordings_that_it_has_not_seen(made: Made) -> None:
    segmenter = Segmenter([made.store], OPTIONS, hidden=32)
    model: Localizer = segmenter
    said = model.fit(made.task)
    assert float(str(said["val_figure"])) > 0.9
    truth, found = segmenter.dense(made.task.test)
    assert [len(v) for v in found] == [made.store.held[i].rows for i in made.task.test]
    assert frame_accuracy(truth, found).value > 0.9
    assert edit_score(truth, found, background=[BACKGROUND]).value > 0.8
    assert segmental_f1(truth, found, background=[BACKGROUND]).value > 0.8
    segments = model.predict(made.task.test)
    assert segment_mean_average_precisions(made.task.data.truth(made.task.test), segments)[-1] > 0.9
    assert segments.score is not None
    assert ((segments.score > 0) & (segments.score <= 1)).all()
    for name in range(len(segments.videos)):
        mine = segments.take(segments.video == name)
        assert (mine.start[1:] >= mine.end[:-1] - 1e-9).all()
    rows = sum(int((v != BACKGROUND).sum()) for v in found)
    assert (segments.end - segments.start).sum() == pytest.approx(rows)


def test_without_a_validation_part_and_without_features(made: Made, tmp_path: Path) -> None:
    data = made.task.data
    lost = TimedRecording("y", "1", 50.0, (StepSpan("1", "", 3, 9),), False)
    task = replace(
        made.task,
        val=(),
        test=(*made.task.test, "y"),
        data=replace(data, recordings={**data.recordings, "y": lost}),
    )
    model = Segmenter([made.store], SHORT, tmp_path, hidden=8)
    said = model.fit(task)
    assert (said["epochs"], said["recordings_without_features"]) == (2, 1)
    assert [(d.id, d.reason) for d in model.dropped] == [("y", "no_features")]
    assert "y" not in model.predict(task.test).used_videos()
    assert [len(v) for v in model.dense(["y"])[1]] == [0]
    again = Segmenter([made.store], SHORT, tmp_path, hidden=8)
    again.fit(task)
    assert np.array_equal(again.predict(task.test).score, model.predict(task.test[::-1]).score)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="features and a timed step"):
        Segmenter([made.store], SHORT, hidden=8).fit(replace(task, train=("y",)))
