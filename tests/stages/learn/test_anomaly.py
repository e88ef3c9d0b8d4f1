"""``proctor learn anomaly`` on planted frames: what is told, what is written, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.learn.anomaly.planted import planted
from typer.testing import CliRunner

from proctor.cli.learn import app
from proctor.cli.main import app as main_app
from proctor.errors import UserError
from proctor.learn.runs import read_run
from proctor.stages.learn import anomaly as stage


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Run the command on planted frames; returns what it printed as JSON, or the text."""
    data, division, _ = planted(tmp_path / "store", strength=8.0)
    monkeypatch.setattr(stage, "read_step_data", lambda _: (data, None))
    monkeypatch.setattr(stage, "divide", lambda *_: division)

    def run(*words: str, text: bool = False) -> Any:
        given = ["anomaly", "--annotations", "a", "--features", str(tmp_path / "store"), *words]
        outcome = CliRunner().invoke(app, given + ([] if text else ["--json"]), catch_exceptions=False)
        assert outcome.exit_code == 0
        return outcome.stdout if text else json.loads(outcome.stdout)

    return run


def test_frames_and_steps_are_told_and_written(made: Callable[..., Any], tmp_path: Path) -> None:
    run = tmp_path / "run"
    found = made("--block", "mahalanobis", "--per-step", "--resamples", "200", "--out", str(run))
    assert (found["block"], found["learned"]["recordings"], found["published"]) == ("mahalanobis", 6, [])
    frames = found["frames"]
    assert frames["none"]["recordings"] == 6
    assert frames["none"]["one_class"] == 3
    assert frames["none"]["auc"]["value"] > 0.85
    assert frames["none"]["auc"]["low"] < frames["none"]["auc"]["value"]
    assert frames["published"]["auc"]["value"] != frames["none"]["auc"]["value"]
    assert found["any_step"]["auc_in_steps"]["value"] == 0.5 < found["any_step"]["auc"]["value"]
    assert found["test"]["n"] == 24
    assert found["test"]["auc_within"] == 1
    rows = [json.loads(line) for line in (run / "frames.jsonl").read_text().splitlines()]
    assert len(rows) == frames["none"]["frames"]
    assert sum(row["label"] for row in rows) == frames["none"]["anomalous"]
    steps = read_run(run)
    assert (len(steps.test), len(steps.val), steps.record.model) == (24, 24, "mahalanobis")
    chosen = found["learned"]["threshold"]
    normal, mistaken = ([r.score for r in steps.val if r.label == label] for label in (False, True))
    assert max(normal) <= chosen < min(mistaken)
    assert made("--block", "mahalanobis", "--per-step", "--resamples", "200", "--out", str(run)) == found


def test_the_scoring_command_reads_the_frames(made: Callable[..., Any], tmp_path: Path) -> None:
    found = made("--post", "published", "--resamples", "0", "--out", str(tmp_path / "run"))
    words = [
        "score",
        "classification",
        "--pred",
        str(tmp_path / "run/frames.jsonl"),
        "--resamples",
        "0",
        "--json",
    ]
    outcome = CliRunner().invoke(main_app, words, catch_exceptions=False)
    scores = json.loads(outcome.stdout)
    assert scores["steps"] == found["frames"]["none"]["frames"]
    for name, figure in (("roc_auc", "auc"), ("equal_error_rate", "eer"), ("macro_roc_auc", "auc_macro")):
        assert scores[name] == pytest.approx(found["frames"]["published"][figure]["value"])


def test_a_block_is_trained_and_stands_beside_the_paper_and_chance(
    made: Callable[..., Any], tmp_path: Path
) -> None:
    words = ["--block", "ssmctb", "--epochs", "2", "--lr", "0.01", "--resamples", "0", "--device", "cpu"]
    text = made(*words, "--out", str(tmp_path / "run"), text=True)
    assert "ssmctb in the paper" in text
    assert "50.65%" in text
    assert "chance" in text
    assert "inside of any step" in text
    assert "macro leaves out 3 recordings" in text
    assert {"best.pt", "log.jsonl", "frames.jsonl", "run.json"} <= {
        p.name for p in (tmp_path / "run").iterdir()
    }
    found = made(*words, "--out", str(tmp_path / "run"))
    assert found["published"] == [0.5065, 0.4965]
    assert found["learned"]["epochs"] == 2


def test_a_run_of_other_settings_is_not_overwritten(made: Callable[..., Any], tmp_path: Path) -> None:
    made("--block", "knn", "--resamples", "0", "--out", str(tmp_path / "run"))
    with pytest.raises(UserError, match="another configuration"):
        made("--block", "knn", "--neighbours", "3", "--resamples", "0", "--out", str(tmp_path / "run"))


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (("--block", "sspcab", "--per-step"), "knows no steps"),
        (("--block", "sspcab", "--pos-weight", "2"), "normal frames alone"),
        (("--block", "sspcab", "--devices", "2"), "one process"),
    ],
)
def test_what_a_block_cannot_do_is_refused(
    made: Callable[..., Any], words: tuple[str, ...], seen: str
) -> None:
    with pytest.raises(UserError, match=seen):
        made(*words)
