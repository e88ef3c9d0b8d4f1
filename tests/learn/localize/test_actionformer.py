"""ActionFormer as a localizer: it learns, goes on after a kill, and says what it cannot do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from proctor.errors import UserError
from proctor.learn.features.store import FeatureStore, StoreWriter
from proctor.learn.localize.data import StepSpan, TimedRecording
from proctor.learn.recogniser import ProtocolName
from proctor.learn.settings import TrainOptions, TrainSettings
from proctor.metrics.localization import Segments, segment_mean_average_precisions

torch = pytest.importorskip("torch")
from tests.learn.localize.made import Made, make  # noqa: E402

from proctor.learn.checkpoints import read_checkpoint  # noqa: E402
from proctor.learn.localize import actionformer  # noqa: E402
from proctor.learn.localize.actionformer import ActionFormer, usual_training  # noqa: E402
from proctor.learn.localize.localizer import Localizer  # noqa: E402
from proctor.learn.localize.network import Found, PyramidNetwork  # noqa: E402
from proctor.learn.localize.recordings import recordings_of  # noqa: E402

OPTIONS = TrainOptions(lr=3e-3, epochs=12, device="cpu")
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


def test_it_finds_what_it_has_learned_also_where_it_has_not_been(made: Made) -> None:
    model: Localizer = ActionFormer([made.store], OPTIONS, hidden=32, levels=5)
    said = model.fit(made.task)
    assert said["epochs"] == 12
    truth = made.task.data.truth(made.task.test)
    found = model.predict(made.task.test)
    assert found.videos == made.task.test
    assert segment_mean_average_precisions(truth, found)[-1] > 0.9
    learned = model.predict(made.task.train)
    assert segment_mean_average_precisions(made.task.data.truth(made.task.train), learned)[-1] > 0.98
    last = np.array([made.task.data.recordings[str(v)].seconds for v in found.videos])[found.video]
    assert (found.start >= 0).all()
    assert (found.end <= last).all()
    assert (found.end > found.start).all()
    assert np.bincount(found.video).max() <= 2000


class Killed(BaseException):
    pass


@contextmanager
def killing(title: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show progress until the third batch of the second epoch; then the process dies."""
    left = [6]

    def seen() -> None:
        left[0] -= 1
        if not left[0]:
            raise Killed

    yield seen


def test_killed_within_an_epoch_it_ends_with_the_same_segments(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def often(*of: Any) -> TrainSettings:
        return msgspec.structs.replace(usual_training(*of), save_seconds=0.0)

    monkeypatch.setattr(actionformer, "usual_training", often)
    calm = network(made, folder=tmp_path / "calm")
    calm.fit(made.task)
    with pytest.raises(Killed):
        network(made, folder=tmp_path / "hurt", show=killing).fit(made.task)
    place = read_checkpoint(tmp_path / "hurt" / "last.pt").place
    assert (place["epoch"], place["place"]) == (1, 2)
    again = network(made, folder=tmp_path / "hurt")
    again.fit(made.task)
    assert same(again.predict(made.task.test), calm.predict(made.task.test))
    for name in ("best.pt", "last.pt"):
        hurt, whole = (read_checkpoint(tmp_path / f / name).weights for f in ("hurt", "calm"))
        assert all(torch.equal(hurt[n], whole[n]) for n in whole)
    other = replace(made.task, seed=1)
    with pytest.raises(UserError, match="seed is 0 there and 1 here"):
        network(made, folder=tmp_path / "hurt").fit(other)
    network(made, folder=tmp_path / "hurt", anew=True).fit(other)


def test_same_task_same_segments_whatever_is_asked_for(made: Made) -> None:
    one, two = network(made), network(made)
    one.fit(made.task)
    two.fit(made.task)
    found = one.predict(made.task.test)
    assert same(found, two.predict(made.task.test[::-1]))
    single = two.predict(made.task.test[1:2])
    part = found.take(found.video == 1)
    assert single.score == pytest.approx(part.score, abs=1e-5)
    assert one.predict(()).videos == ()


def test_steps_of_test_recordings_are_not_looked_at(made: Made) -> None:
    recordings = dict(made.task.data.recordings)
    for name in made.task.test:
        recordings[name] = replace(recordings[name], spans=(StepSpan("1", "", 3.0, 4.0),))
    other = replace(made.task, data=replace(made.task.data, recordings=recordings))
    one, two = network(made), network(made)
    one.fit(made.task)
    two.fit(other)
    assert same(one.predict(made.task.test), two.predict(made.task.test))


def test_recordings_without_features_are_listed(made: Made) -> None:
    data = made.task.data
    lost = {n: TimedRecording(n, "1", 50.0, (StepSpan("9", "", 3, 9),), False) for n in ("x", "y")}
    more = replace(data, recordings={**data.recordings, **lost}, classes=(*data.classes, "9"))
    task = replace(made.task, data=more, train=(*made.task.train, "x"), test=(*made.task.test, "y"))
    model = network(made)
    said = model.fit(task)
    assert [(d.id, d.reason) for d in model.dropped] == [("x", "no_features"), ("y", "no_features")]
    assert said["recordings_without_features"] == 2
    assert said["classes_unseen"] == 1  # step 9 is only in a recording that has no rows
    found = model.predict(task.test)
    assert found.videos == task.test
    assert "y" not in found.used_videos()
    assert "9" not in found.used_labels()
    with pytest.raises(UserError, match="no recording that is trained on has features and a timed step"):
        network(made).fit(replace(task, train=("x",)))
    with pytest.raises(UserError, match="looks at features"):
        ActionFormer([]).fit(task)


def test_stores_lie_beside_each_other_in_time(made: Made, tmp_path: Path) -> None:
    with StoreWriter(
        tmp_path / "slow", width=2, seconds=2.0, modality="audio", backbone="slow", source="a test"
    ) as writer:
        for name in made.store.recordings:
            writer.add(name, np.arange(60, dtype=np.float16).reshape(30, 2))
    table = recordings_of(made.task, [made.store, FeatureStore.open(tmp_path / "slow")]).table
    assert table.widths == (8, 2)
    rows = table.gather(table.places_of(np.array([0])))
    assert rows[:4, 8].tolist() == [0, 0, 2, 2]
    assert rows[59:62, 9].tolist() == [59, 0, 0]
    model = ActionFormer([made.store, FeatureStore.open(tmp_path / "slow")], SHORT, hidden=16, levels=3)
    assert model.fit(made.task)["epochs"] == 3


@pytest.mark.parametrize("protocol", ["paper", "code"])
def test_published_protocols(made: Made, protocol: ProtocolName, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actionformer, "LONGEST", 128)
    seen: list[int] = []

    class Seen(PyramidNetwork):
        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Found:
            seen.append(x.shape[1])
            return super().forward(x, mask)

    monkeypatch.setattr(actionformer, "PyramidNetwork", Seen)
    task = replace(made.task, val=(), train=(*made.task.train[:5], *made.task.val), protocol=protocol)
    options = TrainOptions(epochs=1, device="cpu")
    model = ActionFormer([made.store], options, hidden=8, levels=3)
    said = model.fit(task)
    assert said["val_figure"] == 0.0
    assert len(seen) == 4  # batches of two of eight
    assert set(seen) == {128}
    assert len(model.predict(task.test)) > 0
    settings = usual_training(protocol)
    assert (settings.epochs, settings.warmup, settings.batch, settings.average) == (21, 5, 2, 0.999)
    assert (settings.lr, settings.lowest_lr, settings.weight_decay, settings.keep) == (
        1e-4,
        1e-8,
        0.05,
        "last",
    )


def test_right_learns_in_batches_that_fit_the_data() -> None:
    for recordings, hidden, batch, lr in ((331, 512, 8, 2e-4), (60, 64, 2, 8e-4), (10, 16, 2, 2e-3)):
        settings = usual_training("right", recordings, hidden)
        assert settings.batch == batch
        assert settings.lr == pytest.approx(lr)


def test_a_network_that_cannot_be_is_refused(made: Made) -> None:
    for hidden, levels in ((30, 4), (0, 4), (32, 0)):
        with pytest.raises(UserError, match="there is no network"):
            ActionFormer([made.store], hidden=hidden, levels=levels)
