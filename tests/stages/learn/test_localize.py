"""``proctor learn localize`` from annotations to figures and files, and what ``proctor score localization`` says of these."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from proctor.errors import UserError
from proctor.records import read_json
from proctor.samples import path
from proctor.stages.learn.localize import Localized, learn_localize
from proctor.stages.learn.localize_settings import LocalizeSettings
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


def test_classes_that_were_never_trained_on_count_as_not_found_and_are_told(tmp_path: Path) -> None:
    found = learn_localize(LocalizeSettings(annotations=path(), split="Re", resamples=0))
    assert per_cent(found, "R@5x") == [0, 0, 0, 0, 0]
    assert found.seen is None
    assert any("are in no recording that is trained on" in note for note in found.notes)


@pytest.mark.shared
def test_the_prior_on_real_annotations(shared_data: Path) -> None:
    """What knows recipe and length alone, beside published models that see pixels."""
    settings = LocalizeSettings(
        annotations=shared_data / "captaincook4d", split="P", resamples=0, protocol="paper"
    )
    found = learn_localize(settings)
    assert per_cent(found, "mAP") == pytest.approx([38.9, 33.9, 28.1, 21.2, 15.6], abs=0.05)
    assert (found.trained_on, found.test.recordings, found.test.segments) == (288, 96, 1397)
    assert [r.backbone for r in found.published][:2] == ["3dresnet", "slowfast"]
    assert found.published[3].mean_ap[0] == pytest.approx(0.4816)
