"""The published experiment on every sixth of the real annotations, as a user types it: one command, models behind an HTTP port."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from tests.conftest import find_shared_data
from tests.datasets.captaincook4d_part import write_part
from tests.media.make_video import make_grey_videos

from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item
from proctor.records import read_jsonl
from proctor_rehearsal.players import Rehearsal, write_marks
from proctor_rehearsal.standin import Standin

GPT, GEMINI, CLAUDE = (
    "openai/gpt-4o-2024-08-06",
    "google/gemini-1.5-pro-001",
    "anthropic/claude-3-5-sonnet-20240620",
)
RUBRICS = ("ternary-step", "binary-step")

PLAN = (
    *("--examples", "18", "--generator", GPT, "--generator", GEMINI, "--verifier", CLAUDE),
    *("--predictor", GPT, "--predictor", GEMINI, "--predictor", f"{CLAUDE}=recipe,frames:4@48p"),
    *("--show", "question", "--show", "captions:2@48p", "--show", "frames:6@48p"),
    *("--captioner", "openai/gpt-4o-mini", "--judge", GPT, "--judge", GEMINI),
    *(word for rubric in RUBRICS for word in ("--rubric", rubric)),
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("published") / "bench"


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    """A small video of each recording: as long as its last step, a frame every ten seconds, each of another grey."""
    folder = tmp_path_factory.mktemp("videos")
    found = json.loads((data / "annotation_json" / "complete_step_annotations.json").read_text())
    lasts = {name: max(step["end_time"] for step in r["steps"]) for name, r in found.items()}
    make_grey_videos(folder, {f"{name}_360p.mp4": last for name, last in lasts.items()})
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = find_shared_data()
    if found is None:
        pytest.skip("needs the real annotations: set PROCTOR_DATA or place them in ../shared/data")
    return write_part(found / "captaincook4d", tmp_path_factory.mktemp("part") / "captaincook4d")


def run(server: Standin, *words: object) -> dict[str, Any]:
    """Run ``proctor experiment`` in a process of its own, with keys and addresses in the environment as for real models."""
    found = subprocess.run(
        [sys.executable, "-c", "from proctor.cli.main import main; main()", "experiment", *map(str, words), "--json"],
        capture_output=True, text=True, timeout=500, env={**os.environ, **server.environment}, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    result: dict[str, Any] = json.loads(found.stdout)
    return result


def test_one_command_from_annotations_to_report(
    data: Path, bench: Path, videos: Path, tmp_path: Path
) -> None:
    with Standin(answer=Rehearsal(bench, quality=0.8, seed=3)) as server:
        told = run(server, bench, "--data", data, "--videos", videos, *PLAN)
        assert not told["stopped"]
        assert server.errors == []
        first = server.count
        assert sum(stage["calls"]["sent"] for stage in told["stages"] if "calls" in stage) == first
        check_files(bench, told)
        with Path(told["sheet"]).open(newline="") as sheet:
            assert len(list(csv.DictReader(sheet))) == 200

        # now people have marked half of the answers: the workspace's name alone goes on, and nobody is asked again
        marks = tmp_path / "marks.csv"
        write_marks(bench, marks, share=0.5, seed=1)
        again = run(server, bench, "--human", marks)
        sent = {s["stage"]: s["calls"] for s in again["stages"] if s.get("calls", {}).get("sent")}
        assert (server.count, sent) == (first, {})
        check_calibration(bench, again)
        check_page(Path(again["report"]).read_text())


def check_files(bench: Path, told: dict[str, Any]) -> None:
    items = read_jsonl(bench / "items.jsonl", Item)
    assert len(items) >= 25
    runs = {path.name for path in (bench / "runs").iterdir()}
    systems = {run for run in runs if re.match("openai|google|anthropic", run)}
    assert len(systems) == 8
    for name in runs:
        answers = read_jsonl(bench / "runs" / name / "predictions.jsonl", Prediction)
        assert [a.item_id for a in answers] == [i.id for i in items]
        failed = [a for a in answers if a.failure]
        assert len(failed) < 0.15 * len(answers), failed[:2]
        marks = read_jsonl(bench / "runs" / name / "judgements.jsonl", Judgement)
        floor = name not in systems
        assert all(m.judge.startswith("rules-" if floor else f"{GPT} ") for m in marks if m.score is not None)
        # a failure is no wrong answer, and what the judge did not say is no mark
        assert all(m.score is None for m in marks if m.item_id in {a.item_id for a in failed})
        kept = list((bench / "runs" / name / "judgements").glob("*"))
        assert len(kept) == (0 if floor else len(RUBRICS) + 1)
    scores = {name: rows[0]["value"] for name, rows in told["scores"].items()}
    seeing = [scores[name] for name in systems if "frames" in name]
    blind = [scores[name] for name in systems if re.search("question|recipe", name)]
    assert fmean(seeing) > fmean(blind) + 5  # players who are shown something know more, and marks show it


def check_calibration(bench: Path, told: dict[str, Any]) -> None:
    assert told["calibration"]
    found = json.loads((bench / "calibration.json").read_text())
    judges = found["calibration"]["judges"]
    assert len(judges) == len(RUBRICS) + 1
    preference = found["self_preference"]
    assert len(preference["generators"]) == 2
    assert len({cell["predictor"] for cell in preference["judge_cells"]}) >= 3


def check_page(page: str) -> None:
    for heading in (
        "Leaderboard", "What it cost", "Which runs differ significantly", "Judges against people",
        "Correlation with people", "What people said and what the judge said", "If people had judged",
        "Marks of each run by each judge", "Who answers whose questions", "How the questions came about",
    ):  # fmt: skip
        assert heading in page, heading
    assert page.count("UklGR") > 5  # pictures, each once: what base64 makes of the first bytes of a WebP file
    assert "A rehearsal:" not in page
