"""``proctor learn mistakes --out --page``: the run and its page are what was trained; other runs are not written over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.learn.made import make_data
from typer.testing import CliRunner

from proctor.cli.learn import app
from proctor.errors import UserError
from proctor.learn.recogniser import Reason, Task
from proctor.learn.runs import read_run
from proctor.learn.settings import TrainOptions
from proctor.records import Dropped, read_jsonl
from proctor.stages.learn import mistakes
from proctor.stages.learn.settings import MistakesSettings


class Long:
    """Calls long steps mistakes; counts how often it was trained."""

    name = "long"
    trained = 0

    def fit(self, task: Task) -> Mapping[str, object]:
        Long.trained += 1
        self.task = task
        return {"rate": np.float64(0.5)}

    def scores(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        seconds = np.array([self.task.data.samples[k].seconds for k in places])
        return seconds / (seconds + 60)

    def reasons(self, places: NDArray[np.int64], most: int = 5) -> Sequence[tuple[Reason, ...]]:
        return [(Reason("seconds", self.task.data.samples[k].seconds, 1.0),)[:most] for k in places]

    def kind_scores(self, places: NDArray[np.int64]) -> Mapping[str, NDArray[np.float64]]:
        return {"timing": self.scores(places)}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MistakesSettings:
    data, division = make_data()
    data = replace(data, dropped=(Dropped("r0:9", "no_times", "missing; it cannot be seen"),))
    monkeypatch.setattr(mistakes, "task_of", lambda s: Task(data, division, data.labels(), s.seed))
    monkeypatch.setattr(mistakes, "recogniser_of", lambda *_: Long())
    monkeypatch.setattr(Long, "trained", 0)
    return MistakesSettings(
        annotations=tmp_path, out=tmp_path / "run", page=tmp_path / "page.html", resamples=0
    )


def test_the_run_and_its_page_are_what_was_trained(settings: MistakesSettings) -> None:
    assert settings.out is not None
    assert settings.page is not None
    found = mistakes.learn_mistakes(settings)
    run = read_run(settings.out)
    assert (len(run.test), sum(row.label for row in run.test)) == (found.n, found.positives)
    assert run.record.results["test"]["auc"]["value"] == found.test.auc  # type: ignore[index]
    assert run.test[0].reasons[0].value == sum(end - start for start, end in run.test[0].times)
    assert run.record.chosen["rate"] == 0.5
    text = settings.page.read_text("utf-8")
    assert found.test.auc is not None
    assert f"<bdi>{100 * found.test.auc:.1f}</bdi>" in text
    assert "<bdi>seconds</bdi>" in text
    assert found.dropped == {"no_times": 1}
    assert [d.id for d in read_jsonl(settings.out / "dropped.jsonl", Dropped)] == ["r0:9"]


def test_another_run_is_not_written_over_and_nothing_is_trained_for_it(settings: MistakesSettings) -> None:
    mistakes.learn_mistakes(settings)
    mistakes.learn_mistakes(settings)
    other = msgspec.structs.replace(settings, seed=1)
    with pytest.raises(UserError, match="another configuration"):
        mistakes.learn_mistakes(other)
    assert Long.trained == 2
    mistakes.learn_mistakes(msgspec.structs.replace(other, overwrite=True))
    assert settings.out is not None
    assert read_run(settings.out).record.seed == 1


def test_a_network_is_written_over_with_its_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from proctor.learn.planted import plant

    planted = plant(tmp_path, "easy", recordings=12, steps=4, width=4)
    monkeypatch.setattr(mistakes, "task_of", lambda s: replace(planted.task, seed=s.seed))
    asked = MistakesSettings(
        annotations=tmp_path, model="v1", features=(tmp_path / "video",), out=tmp_path / "run", resamples=0
    )
    few = TrainOptions(epochs=1, device="cpu")
    first = mistakes.learn_mistakes(asked, few)
    other = msgspec.structs.replace(asked, seed=1, overwrite=True)
    second = mistakes.learn_mistakes(other, few)
    assert second.test.auc != first.test.auc
    assert second.test == mistakes.learn_mistakes(msgspec.structs.replace(other, out=None), few).test
    assert read_run(tmp_path / "run").record.seed == 1


@pytest.mark.parametrize("rank", ["0", "1"])
def test_of_several_processes_the_first_prints_and_writes(
    settings: MistakesSettings, rank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings.out is not None
    monkeypatch.setenv("RANK", rank)
    words = ["mistakes", "--annotations", ".", "--out", str(settings.out), "--devices", "2"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert Long.trained == 1
    assert bool(done.stdout) == settings.out.exists() == (rank == "0")
    assert ("learns in one process" in done.stderr) == (rank == "0")


def test_events_without_a_run_are_refused_before_anything_is_trained(settings: MistakesSettings) -> None:
    with pytest.raises(UserError, match="events are written into a run"):
        mistakes.learn_mistakes(
            msgspec.structs.replace(settings, out=None, page=None), TrainOptions(tensorboard=True)
        )
    assert Long.trained == 0


def test_a_page_without_a_run_is_refused_before_anything_is_trained(settings: MistakesSettings) -> None:
    with pytest.raises(UserError, match="a page is drawn of a run"):
        mistakes.learn_mistakes(msgspec.structs.replace(settings, out=None))
    assert Long.trained == 0
