"""Key steps found without labels: on planted procedures, on films of a known order, and from the command line."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import msgspec
import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("sklearn", reason="needs scikit-learn")

import torch
from tests.learn.procedures.planted import plant_procedure
from typer.testing import CliRunner

from proctor.cli.learn import app
from proctor.errors import UserError
from proctor.learn.features.store import FeatureStore, StoreWriter
from proctor.learn.samples import read_step_data
from proctor.learn.settings import TrainOptions
from proctor.samples import copy_sample
from proctor.stages.learn.extract import extract
from proctor.stages.learn.procedure import learn_from, learn_procedures
from proctor.stages.learn.procedure_settings import ProcedureSettings
from proctor.stages.learn.settings import ExtractSettings

NOWHERE = Path("nowhere")


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return plant_procedure(tmp_path_factory.mktemp("planted") / "store", recordings=6, steps=6)


def asked(**given) -> ProcedureSettings:
    usual = {"annotations": NOWHERE, "features": NOWHERE, "rate": 1.0, "resamples": 200, "draws": 10}
    return ProcedureSettings(**(usual | given))


def test_trained_embeddings_beat_chance_by_a_margin_and_raw_rows_too(planted):
    """At least 30 points of IoU above chance of rows at the lower end, and above rows that are not embedded."""
    trained = learn_from(*planted, asked(method="cidm", clusters="7"), 7, TrainOptions(epochs=4)).means
    raw = learn_from(*planted, asked(method="none", clusters="7"), 7).means
    assert trained.margins["iou"].low > 0.30
    assert trained.found.iou > raw.found.iou + 0.1
    assert trained.found.iou > trained.by_time.iou


def test_steps_in_the_order_of_the_graph(planted):
    found = learn_from(*planted, asked(method="none", head="ordered"), None)
    assert found.activities[0].clusters == 7  # six steps and the pause
    assert found.means.found.iou > 0.8


def test_texts_as_anchors(planted, tmp_path):
    data, store = planted
    means = {}
    for sample in data.samples:
        span = sample.executions[0]
        rows = store.window(sample.recording_id, span.start, span.end).astype(float)
        means.setdefault(sample.step, []).append(rows.mean(0))

    def texts(name, steps, width=store.width):
        with StoreWriter(
            tmp_path / name, width=width, seconds=1.0, modality="text", backbone="x", source="x"
        ) as w:
            for step in steps:
                w.add(step, np.mean(means[step], axis=0)[None, :width])
        return tmp_path / name

    found = learn_from(*planted, asked(method="none", head="ordered", anchors=texts("all", means)), None)
    assert found.means.found.iou > 0.8
    for path, words in (
        (texts("few", list(means)[:2]), "no row of 4 of 6"),
        (texts("thin", means, 3), "3 numbers and frames 32"),
    ):
        with pytest.raises(UserError, match=words):
            learn_from(*planted, asked(method="none", head="ordered", anchors=path), None)


def test_anchors_that_nothing_would_use_are_refused(planted, tmp_path):
    with pytest.raises(UserError, match="--head ordered alone"):
        learn_from(*planted, asked(method="none", anchors=tmp_path), 7)


def test_features_that_end_early_or_late_are_named(planted, tmp_path):
    data, store = planted
    with StoreWriter(
        tmp_path / "s", width=store.width, seconds=1.0, modality="video", backbone="x", source="x"
    ) as w:
        for id_ in store.recordings:
            rows = np.asarray(store.rows(id_), float)
            w.add(id_, rows[:20] if id_ == "1_2" else np.concatenate([rows, rows]) if id_ == "1_3" else rows)
    notes = learn_from(data, FeatureStore.open(tmp_path / "s"), asked(method="none", clusters="7"), 7).notes
    assert any("'1_2', end more than 5 s before" in note for note in notes)
    assert any("'1_3', go on more than 5 s after" in note for note in notes)
    assert not any(
        "1_2" in note for note in learn_from(*planted, asked(method="none", clusters="7"), 7).notes
    )


def test_a_run_is_written_and_repeated_to_the_byte(planted, tmp_path):
    settings = asked(method="tcc", clusters="5", out=tmp_path / "run")
    options = TrainOptions(epochs=1)
    first = learn_from(*planted, settings, 5, options)
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == [
        "dropped.jsonl",
        "labels.jsonl",
        "procedure.json",
        "training",
    ]
    lines = [json.loads(line) for line in (tmp_path / "run/labels.jsonl").read_text().splitlines()]
    assert [line["recording"] for line in lines] == [f"1_{n}" for n in range(1, 7)]
    assert all(line["runs"][0][0] == 0 for line in lines)
    assert lines[0]["runs"][-1][1] == len(planted[1].rows("1_1"))
    before = (tmp_path / "run/procedure.json").read_bytes()
    assert learn_from(*planted, settings, 5, options) == first
    assert (tmp_path / "run/procedure.json").read_bytes() == before
    with pytest.raises(UserError, match="other settings"):
        learn_from(*planted, msgspec.structs.replace(settings, seed=1), 5, options)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/mine.txt").write_text("x")
    with pytest.raises(UserError, match="is no run"):
        learn_from(*planted, msgspec.structs.replace(settings, out=tmp_path / "other"), 5, options)


def test_clusters_of_the_data_and_the_protocol_of_the_code(planted):
    auto = learn_from(*planted, asked(method="none", clusters="auto"), None).activities[0]
    assert 6 <= auto.clusters < 30
    assert auto.chosen["clusters"] == auto.clusters
    code = learn_from(*planted, asked(method="none", clusters="7", protocol="code"), 7)
    right = learn_from(*planted, asked(method="none", clusters="7"), 7)
    assert code.means.random.recall != right.means.random.recall  # frames of the background are left out
    assert code.means.found != right.means.found
    with pytest.raises(UserError, match=r"activity 'Activity 1'.*clusters of"):
        learn_from(*planted, asked(method="none", clusters="9999"), 9_999)


def test_the_protocol_of_the_code_takes_its_exponent(planted):
    """These rows spread in many directions: with exponent 2 nearly all are in one cluster."""
    code, right = (
        learn_from(*planted, asked(method="none", clusters="7", protocol=protocol), 7).means.found.recall
        for protocol in ("code", "right")
    )
    assert code < 0.25
    assert right > 0.6


def test_one_recording_cannot_be_embedded(tmp_path):
    made = plant_procedure(tmp_path / "one", recordings=1, steps=3)
    with pytest.raises(UserError, match="two recordings"):
        learn_from(*made, asked(), 5)
    alone = learn_from(*made, asked(method="none", clusters="4"), 4)
    assert alone.means.margins["iou"].low is None


def test_command_line(tmp_path):
    copy_sample(tmp_path / "sample")
    command = ["procedure", "--annotations", str(tmp_path / "sample"), "--recordings", "all"]
    done = CliRunner().invoke(app, [*command, "--draws", "3"])
    assert done.exit_code == 0, done.output
    assert "7.61% 3.92% 2.22%" in done.stdout
    found = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert len(found["activities"]) == 3
    with pytest.raises(UserError, match="no number of clusters"):
        learn_procedures(ProcedureSettings(annotations=tmp_path / "sample", clusters="many"))
    with pytest.raises(UserError, match="no such folder"):
        learn_procedures(ProcedureSettings(annotations=tmp_path / "sample", features=tmp_path / "none"))


def test_steps_of_a_rendered_film_are_found_above_chance(tmp_path):
    """The tea of the sample, its four films small and a frame a second: what training on plain features is above random rows."""
    drawing = pytest.importorskip("proctor_rehearsal.drawing.render", reason="needs the extra rehearsal")
    scene = pytest.importorskip("proctor_rehearsal.drawing.scene")
    copy_sample(tmp_path / "sample")
    data, _ = read_step_data(tmp_path / "sample")
    jobs = [
        drawing.Job(
            tmp_path / f"videos/{id_}.mp4",
            scene.scenes_from_recording(p.recording),
            width=160,
            height=90,
            fps=1,
        )
        for id_, p in sorted(data.performances.items())
        if id_.startswith("tea_")
    ]
    drawing.render_many(jobs, processes=1)
    store = tmp_path / "plain"
    extract(
        ExtractSettings(sources=(tmp_path / "videos",), out=store),
        show=lambda *_: nullcontext(lambda *_: None),
    )
    found = learn_procedures(
        asked(annotations=tmp_path / "sample", features=store, clusters="10", recordings="all"),
        TrainOptions(epochs=3, device="cpu"),
    )
    assert found.dropped == {"no_features": 8, "empty": 2}
    margin = found.means.margins["iou"]
    assert margin.value > 0.15
    assert margin.low > 0.05
