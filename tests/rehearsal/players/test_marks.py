"""Marks in place of people's: a file that calibration reads, slips by quality, names that nobody takes for people."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest
from tests.taking import judge, predict

from proctor.errors import UserError
from proctor.exam.prediction import Judgement
from proctor.records import read_jsonl
from proctor.stages.calibrate import calibrate
from proctor.stages.exam_settings import CalibrateSettings
from proctor_rehearsal.players import write_marks


@pytest.fixture
def judged(bench: Path) -> Path:
    predict(bench, "annotations", run="good")
    predict(bench, "random-step", run="bad")
    judge(bench)
    return bench


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def rule_marks(bench: Path) -> dict[tuple[str, str], int]:
    found = {}
    for run in ("good", "bad"):
        for mark in read_jsonl(bench / "runs" / run / "judgements.jsonl", Judgement):
            assert mark.score is not None
            found[mark.item_id, run] = mark.score
    return found


def test_calibration_reads_the_marks(judged: Path, tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    count = write_marks(judged, path, people=3)
    written = rows(path)
    assert count == len(written) == 3 * len(rule_marks(judged))
    assert {row["annotator"] for row in written} == {f"human/rehearsal-{n}" for n in (1, 2, 3)}
    result = calibrate(judged, CalibrateSettings(human=(str(path),), resamples=200))
    calibration = result.file.calibration
    assert dict(calibration.people) == {f"rehearsal-{n}": count // 3 for n in (1, 2, 3)}
    assert [j.judge.judge.partition("-")[0] for j in calibration.judges] == ["rules"]
    assert len(calibration.human) > 0.95 * count / 3


@pytest.mark.parametrize("quality", [0.0, 0.8, 1.0])
def test_slips_follow_quality_and_go_to_a_neighbour(judged: Path, tmp_path: Path, quality: float) -> None:
    write_marks(judged, tmp_path / "m.csv", quality=quality)
    true, distance = rule_marks(judged), Counter[int]()
    for row in rows(tmp_path / "m.csv"):
        distance[abs(int(row["human"]) - true[row["item_id"], row["run"]])] += 1
    assert distance[0] / distance.total() == pytest.approx(quality, abs=0.06)
    assert distance[2] == 0


def test_a_share_is_marked_and_it_is_the_same_each_time(judged: Path, tmp_path: Path) -> None:
    a, b, whole, other = (tmp_path / name for name in ("a.csv", "b.csv", "whole.csv", "other.csv"))
    some = write_marks(judged, a, share=0.4)
    assert write_marks(judged, b, share=0.4) == some
    assert a.read_bytes() == b.read_bytes()
    all_ = write_marks(judged, whole)
    assert some / all_ == pytest.approx(0.4, abs=0.1)
    assert set(a.read_text().splitlines()) <= set(whole.read_text().splitlines())
    write_marks(judged, other, seed=1)
    assert other.read_bytes() != whole.read_bytes()


def test_two_people_do_not_slip_together(judged: Path, tmp_path: Path) -> None:
    write_marks(judged, tmp_path / "m.csv", quality=0.7)
    true, slips = rule_marks(judged), Counter[tuple[str, str]]()
    for row in rows(tmp_path / "m.csv"):
        name = row["item_id"], row["run"]
        slips[name] += int(row["human"]) != true[name]
    both = sum(n == 2 for n in slips.values()) / len(slips)
    assert both == pytest.approx(0.09, abs=0.05)


def test_failed_answers_are_not_marked(judged: Path, tmp_path: Path) -> None:
    path = judged / "runs" / "bad" / "predictions.jsonl"
    lines = path.read_text().splitlines()
    start = lines[0].index('"answer":')
    end = lines[0].index('",', start + 10) + 1
    lines[0] = lines[0][:start] + '"failure":"refusal: no"' + lines[0][end:]
    path.write_text("\n".join(lines) + "\n")
    assert write_marks(judged, tmp_path / "m.csv", people=1) == len(rule_marks(judged)) - 1


@pytest.mark.parametrize(
    "wrong", [{"people": 0}, {"share": 0.0}, {"share": 1.1}, {"quality": -0.1}, {"quality": 2.0}]
)
def test_numbers_that_make_no_sense_are_named(judged: Path, tmp_path: Path, wrong: dict[str, float]) -> None:
    with pytest.raises(UserError, match="make no marks"):
        write_marks(judged, tmp_path / "m.csv", **wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "m.csv").exists()


def test_without_runs_there_is_nothing_to_mark(bench: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no runs"):
        write_marks(bench, tmp_path / "m.csv")
    assert not (tmp_path / "m.csv").exists()
