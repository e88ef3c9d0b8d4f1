"""The stage and the command ``calibrate`` on a real workspace, and what score and report make of it."""

from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from tests.taking import judge, predict

from proctor.cli.calibrate import app
from proctor.cli.console import run
from proctor.errors import UserError
from proctor.exam.prediction import Judgement, Prediction
from proctor.records import read_json, read_jsonl, write_json, write_jsonl
from proctor.stages.calibrate import CALIBRATION_FILE, CalibrationFile, calibrate
from proctor.stages.exam_settings import CalibrateSettings, ScoreSettings
from proctor.stages.report import report
from proctor.stages.score import score
from proctor.workspace import Workspace

JUDGES = {"openai/j": 0.9, "google/j": 0.6}
TEMPLATES = ("ternary-step", "binary-default")


@pytest.fixture(scope="module")
def judged(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two runs, two judges with two templates each, one asked twice; and a file of people's marks."""
    import shutil

    home = Path(shutil.copytree(finished, tmp_path_factory.mktemp("judged") / "home"))
    bench = home / "bench"
    predict(bench, "constant")
    judge(bench)
    rng = random.Random(3)
    rows = []
    for name in ("constant", "dice"):
        folder = bench / "runs" / name
        answers = read_jsonl(folder / "predictions.jsonl", Prediction)
        truth = {a.item_id: rng.choice([0, 0, 1, 2]) for a in answers}
        rows += [(a.item_id, name, truth[a.item_id]) for a in answers]
        (folder / "judgements").mkdir()
        for who, right in JUDGES.items():
            for template in TEMPLATES:
                for repeat in ("0", "1") if who == "openai/j" else ("0",):
                    marks = [_judgement(rng, a, who, template, repeat, right, truth) for a in answers]
                    place = folder / "judgements" / f"{who.replace('/', '-')}.{template}.{repeat}.jsonl"
                    write_jsonl(place, marks)
                    if (who, template, repeat) == ("openai/j", "ternary-step", "0"):
                        write_jsonl(folder / "judgements.jsonl", marks)
    rng.shuffle(rows)
    lines = ["item_id,predictor,human", *(f"{i},{p},{m}" for i, p, m in rows[: len(rows) * 3 // 4])]
    (home / "human.csv").write_text("\n".join(lines) + "\n")
    return home


def _judgement(
    rng: random.Random,
    answer: Prediction,
    who: str,
    template: str,
    repeat: str,
    right: float,
    truth: dict[str, int],
) -> Judgement:
    mark = truth[answer.item_id] if rng.random() < right else rng.choice([0, 1, 2])
    return Judgement(
        item_id=answer.item_id,
        predictor=answer.predictor,
        judge=who,
        score=2 * (mark == 2) if template.startswith("binary") else mark,
        rationale="because",
        details={"template": template, "repeat": repeat, "scale": template.split("-")[0]},
    )


@pytest.fixture
def home(judged: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(judged, tmp_path / "home"))


class Outcome(msgspec.Struct):
    status: int
    out: str
    err: str


def command(*arguments: object) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["calibrate", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        status = run(app)
    return Outcome(status, out.getvalue(), err.getvalue())


def quick(home: Path, **options: Any) -> Any:
    return calibrated(home, human=(str(home / "human.csv"),), **options)


def calibrated(home: Path, **options: Any) -> Any:
    bench = home / "bench"
    return calibrate(bench, Workspace(bench).resolve(CalibrateSettings, **{"resamples": 200, **options}))


# -- the stage -------------------------------------------------------------------------------------------------


def test_it_finds_the_better_judge_and_keeps_everything(home: Path) -> None:
    found = quick(home)
    assert found.file.calibration.choice.judge.startswith("openai/j")
    assert len(found.file.calibration.judges) == 4
    assert {r.judge.judge for r in found.file.calibration.judges if r.consistency} == {"openai/j"}
    stored: CalibrationFile = read_json(home / "bench" / CALIBRATION_FILE, CalibrationFile)
    assert stored == found.file
    assert stored.hash == found.hash
    record = Workspace(home / "bench").stages()["calibrate"]
    assert record.settings["human_sha256"]
    assert "runs/dice/judgements/google-j.ternary-step.0.jsonl" in record.inputs


def test_the_same_inputs_give_the_same_bytes_and_settings_are_kept(home: Path) -> None:
    quick(home)
    first = (home / "bench" / CALIBRATION_FILE).read_bytes()
    calibrate(home / "bench")
    assert (home / "bench" / CALIBRATION_FILE).read_bytes() == first


def test_score_and_report_take_it_up_and_name_its_hash(home: Path) -> None:
    bench = home / "bench"
    assert score(bench, ScoreSettings(resamples=200)).corrected == {}
    assert not (bench / "runs/dice/corrected.json").exists()
    found = quick(home)
    scored = score(bench, ScoreSettings(resamples=200))
    assert set(scored.corrected) == {"constant", "dice"}
    (main,) = [s for s in scored.corrected["dice"] if s.judge.name == "openai/j · ternary-step"]
    assert f"calibration:{found.hash}" in main.mean.signature
    assert main.judged.value is not None
    assert "not identified" in main.mean.note, "the sample's two recordings are too few, and it says so"
    assert (bench / "runs/dice/corrected.json").is_file()
    report(bench)
    page = (bench / "report.html").read_text()
    assert "If people had judged" in page
    assert found.hash in page
    assert "not identified: people marked" in page
    assert 'data-tag="judges compared"' in page


def test_the_report_opens_each_person_s_marks_while_their_file_is_there(home: Path) -> None:
    bench, file = home / "bench", home / "human.csv"
    head, *lines = file.read_text().splitlines()
    by = [f"{line},{('ana', 'bo')[n % 2]}" for n, line in enumerate(lines)]
    file.write_text("\n".join([f"{head},annotator", *by]) + "\n")
    people = quick(home).file.calibration.people

    def opened() -> list[bool]:
        report(bench)
        page = (bench / "report.html").read_text()
        return [f'data-tag="marked by {name}"' in page for name in people]

    assert [*people] == ["ana", "bo"]
    assert all(opened())
    file.write_text(file.read_text() + "\n")
    assert not any(opened()), "its numbers may be others now"
    file.unlink()
    assert not any(opened())


def test_a_workspace_without_a_calibration_has_no_such_sections(home: Path) -> None:
    report(home / "bench")
    page = (home / "bench" / "report.html").read_text()
    assert 'id="judges"' not in page
    assert "If people had judged" not in page


def test_rejudging_makes_the_calibration_stale_but_corrected_scores_follow(home: Path) -> None:
    bench = home / "bench"
    quick(home)
    before = score(bench, ScoreSettings(resamples=200)).corrected["dice"]
    path = bench / "runs/dice/judgements.jsonl"
    write_jsonl(path, [msgspec.structs.replace(j, score=2) for j in read_jsonl(path, Judgement)])
    (bench / "runs/dice/judgements/openai-j.ternary-step.0.jsonl").unlink()
    assert any("calibrate" in s for s in Workspace(bench).stale())
    after = score(bench, ScoreSettings(resamples=200)).corrected["dice"]
    shown = {s.judge.name: s.judged.value for s in after}
    assert shown["openai/j · ternary-step"] == 100
    assert shown != {s.judge.name: s.judged.value for s in before}


def test_judges_can_be_chosen_by_name_template_or_pattern(home: Path) -> None:
    assert {r.judge.judge for r in quick(home, judge=("google/j",)).file.calibration.judges} == {"google/j"}
    assert {r.judge.template for r in quick(home, judge=("binary-*",)).file.calibration.judges} == {
        "binary-default"
    }
    with pytest.raises(UserError, match="no judge 'nobody'"):
        quick(home, judge=("nobody",))


def test_scores_whose_template_is_not_known_are_compared_with_none_that_is(home: Path) -> None:
    for path in home.glob("bench/runs/*/judgements.jsonl"):
        marks = read_jsonl(path, Judgement)
        write_jsonl(path, [msgspec.structs.replace(j, details={}) for j in marks])
    (note,) = quick(home).file.self_preference.notes
    assert note.startswith("compared with the template '' only; left out: ")


def test_people_who_judged_in_the_runs_count_too(home: Path) -> None:
    folder = home / "bench/runs/dice"
    marks = [
        msgspec.structs.replace(j, judge="human/eva", details={})
        for j in read_jsonl(folder / "judgements.jsonl", Judgement)
    ]
    write_jsonl(folder / "judgements/human-eva.jsonl", marks)
    found = calibrated(home)
    assert found.file.calibration.people == {"eva": len(marks)}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "tsv"])
def test_people_can_come_as_records_or_as_tables(home: Path, suffix: str) -> None:
    items = [a.item_id for a in read_jsonl(home / "bench/runs/dice/predictions.jsonl", Prediction)][:25]
    path = home / f"people.{suffix}"
    if suffix == "jsonl":
        write_jsonl(path, [Judgement(item_id=i, predictor="dice", judge="human/ana", score=1) for i in items])
    else:
        comma = "," if suffix == "csv" else "\t"
        lines = [
            comma.join(("item", "run", "annotator", "mark")),
            *(comma.join((i, "dice", "ana", "1")) for i in items),
        ]
        path.write_text("\n".join(lines))
    found = calibrated(home, human=(str(path),))
    assert found.file.calibration.people == {"ana": 25}


def test_a_predictor_stands_for_its_run(home: Path) -> None:
    item = read_jsonl(home / "bench/runs/dice/predictions.jsonl", Prediction)[0]
    assert item.predictor == "random-step"
    path = home / "one.csv"
    path.write_text(f"item_id,predictor,human\n{item.item_id},random-step,2\n")
    found = calibrated(home, human=(str(path),))
    assert found.file.calibration.human[0].predictor == "dice"
    assert found.corrected["dice"][0].mean.value is None


# -- bad input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item_id,predictor,human\nITEM,dice,3\n", "the mark is '3'"),
        ("item_id,predictor,human\nITEM,dice,yes\n", "the mark is 'yes'"),
        ("item_id,predictor,human\nITEM,dice,nan\n", "the mark is 'nan'"),
        ("item_id,predictor,human\nITEM,nobody,1\n", "no run 'nobody'"),
        ("item_id,predictor,human\ngone,dice,1\n", "no item 'gone'"),
        ("item_id,human\nITEM,1\n", "does not say which answers"),
        ("item_id,predictor\nITEM,dice\n", "no column 'human'"),
        ("predictor,human\ndice,1\n", "no column 'item_id'"),
        ("item_id,predictor,human\nITEM,dice,\n", "no marks by people"),
        ("item_id,predictor,human\n", "no rows"),
        ("item_id,predictor,judge,human\nITEM,dice,openai/j,1\n", "is no person"),
        ("item_id,predictor,human\nITEM,dice,1\nITEM,dice,2\n", "twice"),
    ],
)
def test_people_files_that_cannot_be(home: Path, text: str, message: str) -> None:
    item = read_jsonl(home / "bench/runs/dice/predictions.jsonl", Prediction)[0].item_id
    path = home / "bad.csv"
    path.write_text(text.replace("ITEM", item))
    with pytest.raises(UserError, match=message):
        calibrated(home, human=(str(path),))
    assert not (home / "bench" / CALIBRATION_FILE).exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1.5}, "confidence must lie strictly between 0 and 1"),
        ({"family": ("openai",)}, "assigns no family"),
        ({"right": 0}, "--right is 0; at least 1"),
        ({"criterion": "luck"}, "--criterion"),
        (
            {"kind": "styled"},
            r"(?s)items\.jsonl: there are no items of the kind 'styled'.*known here: moment$",
        ),
    ],
)
def test_options_that_cannot_be(home: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        quick(home, **options)


def test_nothing_judged_and_nobody_asked(home: Path) -> None:
    with pytest.raises(UserError, match="no marks by people"):
        calibrated(home)
    for path in (home / "bench/runs").rglob("judgements*.jsonl"):
        path.unlink()
    for path in (home / "bench/runs").rglob("judgements/*.jsonl"):
        path.unlink()
    with pytest.raises(UserError, match="no run is judged yet"):
        quick(home)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["calibration"]["human"][0].update(item_id="gone"), "does not have"),
        (lambda d: d["calibration"]["human"][0].update(votes=[7]), "not 0, 1 or 2"),
        (lambda d: d["calibration"]["human"][0].update(votes=[]), "without a mark"),
        (lambda d: d.pop("calibration"), "calibration"),
    ],
)
def test_a_broken_calibration_is_named(home: Path, change: Callable[[Any], Any], message: str) -> None:
    quick(home)
    path = home / "bench" / CALIBRATION_FILE
    data = json.loads(path.read_bytes())
    change(data)
    write_json(path, data)
    with pytest.raises(UserError, match=message):
        score(home / "bench", ScoreSettings(resamples=200))


def test_contradicting_judgements_are_refused(home: Path) -> None:
    path = home / "bench/runs/dice/judgements/again.jsonl"
    first = read_jsonl(home / "bench/runs/dice/judgements.jsonl", Judgement)[0]
    write_jsonl(
        path, [msgspec.structs.replace(first, score=(first.score or 0) + 1 if first.score != 2 else 0)]
    )
    with pytest.raises(UserError, match="twice"):
        quick(home)


# -- the command -----------------------------------------------------------------------------------------------


def test_the_command_prints_tables(home: Path) -> None:
    found = command(home / "bench", "--human", home / "human.csv", "--resamples", 200)
    assert found.status == 0, found.err
    for text in (
        "Pearson",
        "chosen by correlation: openai/j",
        "asked again",
        "corrected",
        "next: proctor report",
    ):
        assert text in found.out


def test_the_command_prints_json_and_writes_the_report(home: Path) -> None:
    found = command(home / "bench", "--human", home / "human.csv", "--resamples", 200, "--json", "--report")
    assert found.status == 0, found.err
    data = json.loads(found.out)
    assert {"kind", "hash", "calibration", "self_preference", "corrected", "report"} == set(data)
    assert (home / "bench/report.html").is_file()


def test_an_error_is_a_message(home: Path) -> None:
    found = command(home / "bench", "--human", home / "missing.csv")
    assert found.status == 2
    assert "missing.csv" in found.err
    assert "Traceback" not in found.err
