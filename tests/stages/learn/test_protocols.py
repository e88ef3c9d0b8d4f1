"""Differences between paper, code and right, measured with a made model on made recordings."""

from dataclasses import replace

import numpy as np
import pytest
from tests.learn.made import make_data
from tests.stages.learn.test_tables import Knowing
from typer.testing import CliRunner

from proctor.cli.learn import app
from proctor.errors import UserError
from proctor.learn.planted import plant
from proctor.learn.recogniser import Task
from proctor.metrics.classification import (
    average_precision,
    choose_threshold,
    f1_score,
    rescale_min_max,
    roc_auc,
)
from proctor.stages.learn import protocols
from proctor.stages.learn.settings import ProtocolsSettings


class Unsure(Knowing):
    """Better with some seeds, and never in the range 0 to 1 with a middle of one half."""

    def fit(self, task):
        super().fit(task)
        noise = np.random.default_rng(500 + task.seed).normal(size=task.target.size)
        self.values = task.target - 2.0 + 1.5 * noise
        return {}


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setattr(protocols, "_of_clips", lambda *_: {protocols.RUN: []})
    data, division = make_data()
    monkeypatch.setattr(protocols, "recogniser_of", Unsure)
    monkeypatch.setattr(
        protocols, "task_of", lambda s: Task(data, replace(division, split=s.split), data.labels(), s.seed)
    )
    return data, division


def measured(found, name):
    (one,) = [d for d in found.differences if d.name == protocols.DIFFERENCES[name].name]
    return one.measured


def test_every_figure_is_that_of_the_metrics(made, tmp_path):
    data, division = made
    found = protocols.compare_protocols(ProtocolsSettings(annotations=tmp_path, runs=4, resamples=30))
    task = Task(data, division, data.labels())
    models = []
    for seed in range(4):
        models.append(Unsure(protocols.MistakesSettings(annotations=tmp_path)))
        models[-1].fit(replace(task, seed=seed))
    target, val = task.target[division.test], task.target[division.val]
    scores, of_val = models[0].scores(division.test), models[0].scores(division.val)

    (label,) = measured(found, "label")
    last = data.labels("last")[division.test]
    assert label.published == roc_auc(last, scores).value
    assert label.note.startswith(f"{(last != target).sum()} of {target.size}")

    chosen = scores > choose_threshold(val, of_val).value
    typed, _, best, _, by_steps, *_ = measured(found, "threshold")
    scaled = rescale_min_max(scores)
    assert (typed.figure, typed.split, by_steps.split) == ("F1", "R", "S")
    assert typed.published == f1_score(target, scaled > 0.4).value
    assert by_steps.published == f1_score(target, scaled > 0.6).value
    assert typed.right == best.right == f1_score(target, chosen).value
    assert best.published >= max(best.right, typed.published)
    assert best.low <= best.published - best.right <= best.high

    (run,) = measured(found, "run")
    tested = [roc_auc(target, m.scores(division.test)).value for m in models]
    validated = [roc_auc(val, m.scores(division.val)).value for m in models]
    assert run.published == max(tested)
    assert run.right == tested[int(np.argmax(validated))] < run.published

    both = [protocols._Scored("one", task, v, v) for v in (task.target[division.test] * 1.0, scores)]
    perfect = protocols._paired(*both, 100)
    assert perfect.published == 1.0 > perfect.right
    assert 0 < perfect.low <= perfect.published - perfect.right <= perfect.high

    (hard,) = measured(found, "hard")
    assert hard.low < hard.published - hard.right < hard.high
    assert hard.published == average_precision(target, chosen.astype(float)).value
    assert hard.right == average_precision(target, scores).value
    assert (found.n, found.positives) == (target.size, target.sum())


def test_one_run_has_no_choice_and_no_draws_no_interval(made, tmp_path):
    seen = []
    settings = ProtocolsSettings(annotations=tmp_path, runs=1, resamples=0)
    found = protocols.compare_protocols(settings, lambda: seen.append(1))
    assert measured(found, "run") == ()
    assert len(seen) == 2 == protocols.trainings(settings) - 7
    assert {row.low for one in found.differences for row in one.measured} == {None}
    assert {one.name for one in found.differences} > {one.name for one in protocols.UNMEASURED}


@pytest.mark.parametrize(("more", "has"), [((), "published"), (("--markdown",), "| what | the paper |")])
def test_the_command(made, tmp_path, more, has):
    words = ["protocols", "--annotations", str(tmp_path), "--runs", "2", "--resamples", "20", *more]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert has in done.output
    assert "rescaled, 0.4" in done.output


def test_a_store_that_is_not_there_is_told_before_anything_is_trained(tmp_path, monkeypatch):
    data, division = make_data()
    monkeypatch.setattr(protocols, "task_of", lambda _: Task(data, division, data.labels()))
    monkeypatch.setattr(protocols, "recogniser_of", lambda _: pytest.fail("trained"))
    settings = ProtocolsSettings(annotations=tmp_path, features=(tmp_path / "nowhere",))
    with pytest.raises(UserError, match="nowhere"):
        protocols.compare_protocols(settings)


@pytest.mark.parametrize("given", [True, False])
def test_networks_differ_in_one_thing(tmp_path, monkeypatch, given):
    """On the features that are given, and on planted ones where none are."""
    planted = plant(tmp_path, "easy", recordings=24, steps=5, width=8, lengths=(3, 8))
    monkeypatch.setattr("proctor.learn.planted.plant", lambda *_, recordings: {240: planted}[recordings])
    stores = (planted.stores[0].path,) if given else ()
    seen = []
    settings = ProtocolsSettings(
        annotations=tmp_path, features=stores, epochs=2 if given else 1, resamples=20
    )
    found = protocols._of_clips(settings, planted.task if given else None, lambda: seen.append(1))
    assert len(seen) == 7
    (run,), (vote,), (positions,), (early,) = (found[k] for k in ("run", "vote", "positions", "early"))
    assert (run.model, run.split, positions.model) == ("v1", "planted", "v2")
    assert run.right == vote.right != early.right  # one network, seen whole
    assert run.published >= run.right  # chosen by the very figure that is told
    assert vote.published != vote.right
    assert positions.published != positions.right
    assert early.low <= early.published - early.right <= early.high
