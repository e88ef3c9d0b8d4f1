"""``proctor learn localize`` from annotations to figures and files, and what ``proctor metrics localization`` says of these."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace as changed
from tests.learn.localize.planted import plant_steps
from typer.testing import CliRunner

from proctor.cli.learn import app
from proctor.errors import UserError
from proctor.records import read_json, write_json
from proctor.samples import path
from proctor.stages.learn import localize
from proctor.stages.learn.localize import Localized, learn_localize
from proctor.stages.learn.localize_settings import LocalizeSettings
from proctor.stages.learn.runs import list_runs
from proctor.stages.learn.settings import RunsSettings
from proctor.stages.scoring.localization import score_localization
from proctor.stages.scoring.options import LocalizationSettings


def scored(run: Path) -> dict[str, object]:
    settings = LocalizationSettings(gt=run / "truth.csv", pred=run / "predictions.csv", resamples=0)
    return dict(score_localization(settings).headline)


def per_cent(found: Localized, name: str) -> list[float]:
    return [100 * (f.value or 0) for f in found.test.row(name)]  # type: ignore[arg-type]


def test_the_written_files_are_scored_alike(tmp_path: Path) -> None:
    found = learn_localize(
        LocalizeSettings(annotations=path(), split="R", resamples=20, out=tmp_path / "run")
    )
    headline = scored(tmp_path / "run")
    for row, name in (("mAP", "mAP"), ("R@1x", "R@1x"), ("micro R@5x", "micro_R@5x")):
        assert headline[name] == pytest.approx(per_cent(found, row), abs=1e-9)
    assert (headline["segments"], headline["predictions"]) == (found.test.segments, found.test.predictions)
    assert found.published == ()  # nothing was published on other data
    assert found.val is not None
    first = found.test.row("mAP")[0]
    assert first.low is not None
    assert first.value is not None
    assert first.low <= first.value
    record = read_json(tmp_path / "run" / "run.json")
    assert record["target"] == "steps in time"
    assert record["files"]["predictions.csv"]["rows"] == found.test.predictions
    assert record["results"]["test"]["rows"][0]["name"] == "mAP"
    dropped = [json.loads(line) for line in (tmp_path / "run" / "dropped.jsonl").read_text().splitlines()]
    assert len(dropped) == sum(found.dropped.values()) + sum(found.changed.values())


def test_equal_runs_give_equal_bytes_and_another_one_is_not_written_over(tmp_path: Path) -> None:
    settings = LocalizeSettings(annotations=path(), split="R", resamples=0, out=tmp_path / "a")
    learn_localize(settings)
    learn_localize(changed(settings, out=tmp_path / "b"))
    for name in ("predictions.csv", "truth.csv", "dropped.jsonl", "run.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    with pytest.raises(UserError, match="another configuration"):
        learn_localize(changed(settings, split="P"))
    learn_localize(changed(settings, split="P", overwrite=True))


def test_the_average_over_overlaps_is_shown(tmp_path: Path) -> None:
    asked = ["--annotations", str(path()), "--split", "R", "--resamples", "0", "--out", str(tmp_path / "run")]
    shown = CliRunner().invoke(app, ["localize", *asked])
    assert shown.exit_code == 0, shown.output
    results = read_json(tmp_path / "run" / "run.json")["results"]
    test, val = (100 * results[part]["average_map"]["value"] for part in ("test", "val"))
    assert f"average mAP over the overlaps: test {test:.1f}%, val {val:.1f}%" in shown.stdout
    listed = CliRunner().invoke(app, ["runs", str(tmp_path)])
    at = 100 * next(r["at"][4]["value"] for r in results["test"]["rows"] if r["name"] == "mAP")
    assert listed.stdout.splitlines()[-1].split()[-3] == f"{at:.1f}%"


def test_a_run_is_listed_with_its_map_and_a_damaged_one_with_what_is_wrong(tmp_path: Path) -> None:
    settings = LocalizeSettings(annotations=path(), split="R", resamples=0, out=tmp_path / "a")
    found = learn_localize(settings)
    learn_localize(changed(settings, out=tmp_path / "b", seed=3))
    (listed, second) = list_runs(RunsSettings(folder=tmp_path))
    assert (listed.model, listed.split, listed.auc, listed.wrong) == ("prior", "R", None, "")
    assert listed.mean_ap == pytest.approx(found.test.value("mAP", 0.5))
    assert second.seed == 3
    with (tmp_path / "a" / "predictions.csv").open("a") as stream:
        stream.write("\n")
    (tmp_path / "b" / "truth.csv").unlink()
    assert [r.wrong for r in list_runs(RunsSettings(folder=tmp_path))] == [
        "predictions.csv: the file was changed after the run: its hash differs.",
        "truth.csv: the file is not there.",
    ]
    record = read_json(tmp_path / "a" / "run.json")
    shutil.copytree(tmp_path / "a", tmp_path / "c")
    for results in ({}, {"test": {**record["results"]["test"], "rows": []}}):
        files = {"truth.csv": record["files"]["truth.csv"]}
        write_json(tmp_path / "c" / "run.json", record | {"results": results, "files": files})
        without = list_runs(RunsSettings(folder=tmp_path / "c"))[0]
        assert (without.model, without.mean_ap, without.wrong) == ("prior", None, "")
    write_json(tmp_path / "a" / "run.json", record | {"files": {}})
    assert list_runs(RunsSettings(folder=tmp_path))[0].wrong.endswith("the run was not finished.")


def test_classes_that_were_never_trained_on_count_as_not_found_and_are_told(tmp_path: Path) -> None:
    found = learn_localize(LocalizeSettings(annotations=path(), split="Re", resamples=0))
    assert per_cent(found, "R@5x") == [0, 0, 0, 0, 0]
    assert found.seen is None
    assert any("are in no recording that is trained on" in note for note in found.notes)


def test_robustness_is_told_by_three_trainings_that_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shipped sample is too small for it: no class is in every training and in recordings of both sorts."""
    task = replace(plant_steps(tmp_path, recordings=48, activities=2).task, val=())
    monkeypatch.setattr(localize, "localize_task", lambda *_, **__: (task, ()))
    settings = LocalizeSettings(
        annotations=path(), split="R", robust=True, resamples=20, out=tmp_path / "run"
    )
    found = learn_localize(settings)
    assert list(found.robust) == ["normal", "all", "matched"]
    normal, whole, matched = found.robust.values()
    assert normal.trained_on == matched.trained_on < whole.trained_on == found.trained_on
    assert found.test.recordings == whole.normal.recordings + whole.mistaken.recordings
    assert found.halves is not None
    for all_, first, second in zip(
        found.halves.whole["R@1x"], found.halves.normal["R@1x"], found.halves.mistaken["R@1x"], strict=True
    ):
        assert all_ == pytest.approx(first + second)
    for name in ("predictions-normal.csv", "predictions-matched.csv"):
        assert read_json(tmp_path / "run" / "run.json")["files"][name]["rows"] > 0
    assert (found.val, found.prior) == (None, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "actionformer"}, "needs features, and none are given"),
        ({"model": "segmenter"}, "needs features, and none are given"),
        ({"robust": True}, "no recording of 'test' is without mistakes"),
        ({"features": (Path("nowhere"),)}, "there is no such folder"),
        ({"annotations": Path("nowhere")}, "nowhere"),
    ],
)
def test_what_cannot_be_done_is_said(change: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        learn_localize(changed(LocalizeSettings(annotations=path(), split="R"), **change))


@pytest.mark.parametrize("model", ["actionformer", "segmenter"])
def test_a_network_learns_from_a_store_beside_the_prior(model: str, tmp_path: Path) -> None:
    """One epoch of a tiny network: the way is what is tested, not what it finds."""
    pytest.importorskip("torch")
    from proctor.learn.features.store import StoreWriter
    from proctor.learn.localize.data import localize_data
    from proctor.learn.samples import read_step_data
    from proctor.learn.settings import TrainOptions

    data = localize_data(read_step_data(path())[0])
    lacking = next(iter(data.recordings))
    with StoreWriter(
        tmp_path / "s", width=4, seconds=1.0, modality="video", backbone="made", source="made"
    ) as writer:
        for n, (id_, recording) in enumerate(data.recordings.items()):
            if id_ != lacking:
                writer.add(id_, np.random.default_rng(n).normal(size=(int(recording.seconds) + 1, 4)))
    settings = LocalizeSettings(
        annotations=path(), split="R", model=model, features=(tmp_path / "s",), hidden=4, levels=2,
        resamples=0, out=tmp_path / "run",
    )  # type: ignore[arg-type]  # fmt: skip
    found = learn_localize(settings, TrainOptions(epochs=1, device="cpu"))
    assert found.prior is not None
    assert found.prior.segments == found.test.segments
    assert found.dropped["no_features"] == 1
    assert scored(tmp_path / "run")["mAP"] == pytest.approx(per_cent(found, "mAP"), abs=1e-9)
    shares = {"MoF", "MoF-bg", "MoF/video", "Edit", "F1@10", "F1@25", "F1@50"}
    assert set(found.rows) == (shares if model == "segmenter" else set())
    record = read_json(tmp_path / "run" / "run.json")
    assert set(record["results"].get("rows", {})) == set(found.rows)
    assert (record["features"][0]["backbone"], record["settings"]["hidden"]) == ("made", 4)
    with pytest.raises(UserError, match="looks at no features"):
        learn_localize(changed(settings, model="prior", out=None))


def test_under_code_the_annotations_are_written_as_the_released_code_reads_them(tmp_path: Path) -> None:
    learn_localize(
        LocalizeSettings(annotations=path(), split="R", protocol="code", resamples=0, out=tmp_path / "run")
    )
    settings = LocalizationSettings(
        gt=tmp_path / "run" / "annotations.json", pred=tmp_path / "run" / "predictions.csv", resamples=0,
        subset="Test", label_key="label_id", drop_empty=True,
    )  # fmt: skip
    assert score_localization(settings).headline["mAP"] == scored(tmp_path / "run")["mAP"]


@pytest.mark.shared
def test_the_prior_on_real_annotations(shared_data: Path) -> None:
    """What knows recipe and length alone, beside published models that see pixels."""
    found = learn_localize(LocalizeSettings(annotations=shared_data / "captaincook4d", resamples=0))
    assert per_cent(found, "mAP") == pytest.approx([44.2, 37.1, 31.9, 23.5, 17.2], abs=0.06)
    assert (found.trained_on, found.test.recordings, found.test.segments) == (216, 53, 773)
    assert [r.backbone for r in found.published][:2] == ["3dresnet", "slowfast"]
    assert found.published[3].mean_ap[0] == pytest.approx(0.404)
    assert found.notes == (
        "published figures are of models that were trained on the validation part, too: --with-val",
    )
