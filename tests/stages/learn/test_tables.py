"""Tables of the paper: printed rows, ours, chance, and what is missing; the model is a made one."""

import json

import numpy as np
import pytest
from tests.learn.made import make_data
from typer.testing import CliRunner

from proctor.cli.learn import app
from proctor.errors import UserError
from proctor.learn.features.store import StoreWriter
from proctor.learn.recogniser import Task
from proctor.stages.learn import tables
from proctor.stages.learn.settings import TableSettings


class Knowing:
    """Knows nearly everything; the floor less."""

    def __init__(self, settings):
        self.name, self.settings = settings.model, settings

    def fit(self, task):
        self.task = task
        noise = np.random.default_rng(task.seed).normal(size=task.target.size)
        self.values = task.target + (5.0 if self.name == "floor" else 0.3) * noise
        return {}

    def scores(self, places):
        return 1 / (1 + np.exp(-self.values[places]))

    def reasons(self, places, most=5):
        return [()] * len(places)

    def kind_scores(self, places):
        return {"order": self.scores(places)}


@pytest.fixture
def made(monkeypatch):
    """Made annotations and a made model; V2 cannot be trained."""
    data, division = make_data()
    seen = []

    def recogniser_of(settings, options=None):
        seen.append(settings)
        if settings.model == "v2":
            raise UserError("no torch.")
        return Knowing(settings)

    monkeypatch.setattr(tables, "recogniser_of", recogniser_of)
    monkeypatch.setattr(tables, "task_of", lambda s: Task(data, division, data.labels(), s.seed, s.observed))
    return seen


def store(folder, name, backbone="Omnivore", modality="video"):
    with StoreWriter(
        folder / name, width=2, seconds=1.0, modality=modality, backbone=backbone, source="made"
    ) as w:
        w.add("1_0", np.zeros((3, 2)))
    return folder / name


def rows(table, **wanted):
    return [r for r in table.rows if all(getattr(r, k) == v for k, v in wanted.items())]


def test_table_2_without_features(made, tmp_path):
    table = tables.table_of_paper(TableSettings(number="2", annotations=tmp_path, resamples=20))
    assert len(rows(table, source="printed")) == 26
    printed = [r for r in rows(table, source="chance") if r.n in (799, 671)]
    assert [round(r.values["F1"], 2) for r in printed] == [47.52, 52.85]
    assert [r.name for r in rows(table, source="missing", split="R")] == [
        "Omnivore", "Slowfast", "X3D", "3DResNet", "ImageBind",
    ]  # fmt: skip
    floor, context, offline = rows(table, source="ours", split="R")
    own = rows(table, source="chance", split="R", n=floor.n, positives=floor.positives)
    (always,) = own  # our own test set has its row, too: labels and steps are not all those of the paper
    assert always.values["accuracy"] == pytest.approx(100 * floor.positives / floor.n)
    assert always.values["AUC"] == always.values["within recordings"] == 50
    assert floor.values["AUC"] < context.values["AUC"] == offline.values["AUC"]
    assert 90 < context.values["within recordings"] <= 100
    low, high = context.intervals["AUC"]
    assert low <= context.values["AUC"] <= high
    assert table.columns[:5] == ("accuracy", "precision", "recall", "F1", "AUC")
    assert [s.context for s in made][:3] == ["causal", "causal", "offline"]
    assert all(s.observed == 1 for s in made)


def test_table_2_with_features(made, tmp_path):
    bound = {kind: store(tmp_path, kind, f"imagebind-{kind}", kind) for kind in ("depth", "audio", "video")}
    stores = (store(tmp_path, "a"), *bound.values())
    table = tables.table_of_paper(
        TableSettings(number="2", annotations=tmp_path, features=stores, resamples=0)
    )
    ours = {r.name for r in rows(table, source="ours", split="S")}
    assert {"Omnivore video (a) V1", "imagebind-audio audio (audio) V1", "video, audio V3"} < ours
    missing = {r.name: r.note for r in rows(table, source="missing", split="S")}
    assert missing["Omnivore video (a) V2"].startswith("no torch")
    assert "--features" in missing["X3D"]
    assert not {"Omnivore", "ImageBind"} & missing.keys()
    assert not any(r.intervals for r in table.rows)
    fused = {
        s.features for s in made if s.model == "v3"
    }  # ImageBind alone, in the order of its published weights
    video, audio, depth = (bound[kind] for kind in ("video", "audio", "depth"))
    assert fused == {(video, audio), (video, audio, depth)}


def test_table_11_sees_half_of_each_step(made, tmp_path):
    table = tables.table_of_paper(TableSettings(number="11", annotations=tmp_path, resamples=0))
    assert len(rows(table, source="printed")) == 16
    assert {s.observed for s in made} == {0.5}
    assert {s.context for s in made} == {"causal"}  # the offline one would tell how long the step took


def test_table_9_is_by_kind(made, tmp_path):
    table = tables.table_of_paper(TableSettings(number="9", annotations=tmp_path, resamples=0))
    assert len(rows(table, source="chance", split="all")) == 7
    assert [r.kind for r in rows(table, source="chance", split="R")] == ["order"]
    assert table.columns[-2:] == ("AUC", "within recordings")
    assert {r.kind for r in rows(table, source="ours")} == {"order"}
    (one,) = [r for r in table.rows if r.note.endswith("0.7")]
    assert (one.name, one.kind, one.values["F1"]) == ("TimeChat V2", "missing", 12.4)


def test_table_12_compares_windows(made, tmp_path):
    stores = tuple(store(tmp_path, f"{k}s") for k in (1, 3, 4))
    table = tables.table_of_paper(
        TableSettings(number="12", annotations=tmp_path, features=stores, resamples=0)
    )
    first = rows(table, source="printed")[0]
    assert list(first.values)[:3] == ["R@1 0.1", "R@1 0.2", "R@1 0.3"]
    assert [r.name for r in rows(table, source="missing")] == [f"Omnivore video ({k}s) V2" for k in (1, 3, 4)]


@pytest.mark.parametrize(
    ("form", "has"), [("text", "printed  all"), ("markdown", "| printed |"), ("latex", r"\toprule")]
)
def test_the_command_prints_every_form(made, tmp_path, form, has):
    done = CliRunner().invoke(
        app, ["table", "3", "--annotations", str(tmp_path), "--resamples", "0", "--as", form]
    )
    assert done.exit_code == 0, done.output
    assert has in done.output
    assert "its precision and recall give an F1 of 7.0" in done.output


def test_every_training_is_counted(made, tmp_path):
    seen = []
    settings = TableSettings(number="11", annotations=tmp_path, resamples=0)
    tables.table_of_paper(settings, lambda: seen.append(1))
    assert len(seen) == sum(not job.missing for job in tables.table_jobs(settings)) == 4


def test_tables_3_and_9_with_a_run_that_was_asked(made, tmp_path):
    def line(name, f1):
        figures = {"accuracy": 0.5, "precision": 0.25, "recall": 0.75, "f1": f1}
        found = {k: {"value": v, "low": v - 0.1, "high": v + 0.1} for k, v in figures.items()}
        return {"name": name, "source": "run", **found}

    figures = {
        "n": 12, "mistakes": 4, "rows": [line("seer", 0.4), line("chance", 0.1)], "said": {}, "verdict": "",
        "categories": [{"category": "order", "asked": 9, "mistakes": 3, "unasked": 0, "rows": [line("seer", 0.3)]}],
    }  # fmt: skip
    run = {"model": "seer", "variant": "v2", "scored": "all", "figures": figures}
    (tmp_path / "figures.json").write_text(json.dumps(run), encoding="utf-8")

    def asked(number):
        settings = TableSettings(number=number, annotations=tmp_path, asked=(tmp_path,), resamples=0)
        return [r for r in tables.table_of_paper(settings).rows if r.name == "seer V2"]

    (whole,), (order,) = asked("3"), asked("9")
    assert (whole.n, whole.positives, whole.split, whole.values["F1"]) == (12, 4, "all", 40.0)
    assert whole.intervals["F1"] == pytest.approx((30.0, 50.0))
    assert (order.kind, order.positives, order.values["F1"]) == ("order", 3, 30.0)
    with pytest.raises(UserError, match="table 2 shows no model"):
        asked("2")
    (tmp_path / "figures.json").write_text(json.dumps({**run, "figures": {**figures, "categories": []}}))
    with pytest.raises(UserError, match="for each kind"):
        asked("9")


def test_stores_that_lack_recordings_are_a_row_and_bad_annotations_an_error(made, monkeypatch, tmp_path):
    good = tables.task_of

    def task_of(settings):
        if settings.features:
            raise UserError("no step of the part 'val' has features.")
        return good(settings)

    monkeypatch.setattr(tables, "task_of", task_of)
    settings = TableSettings(number="2", annotations=tmp_path, features=(store(tmp_path, "a"),), resamples=0)
    missing = {r.name: r.note for r in rows(tables.table_of_paper(settings), source="missing", split="R")}
    assert "has features" in missing["Omnivore video (a) V1"]

    def broken(settings):
        raise UserError("no such folder.")

    monkeypatch.setattr(tables, "task_of", broken)
    with pytest.raises(UserError, match="no such folder"):
        tables.table_of_paper(settings)
