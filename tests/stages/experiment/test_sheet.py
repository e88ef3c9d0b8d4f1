"""A sheet of answers for people: drawn evenly, in an order that tells nothing, read back as marks."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from tests.taking import judge, predict

from proctor.errors import UserError
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item, gold_texts
from proctor.records import read_jsonl, write_jsonl
from proctor.stages.build import build
from proctor.stages.calibrate import calibrate
from proctor.stages.derive import derive
from proctor.stages.exam_settings import CalibrateSettings
from proctor.stages.experiment.sheet import COLUMNS, write_sheet
from proctor.stages.generate import generate
from proctor.stages.read import read
from proctor.stages.settings import GenerateSettings
from proctor.stages.verify import verify

RUNS = ("constant", "recipe-text", "random-step")


@pytest.fixture(scope="module")
def bench(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sheet") / "bench"
    read("plain", sample, root)
    derive(root)
    generate(root, GenerateSettings(examples=60))
    verify(root)
    build(root)
    for run in RUNS:
        predict(root, run)
    judge(root)
    return root


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_answers_are_drawn_evenly_and_mixed(bench: Path, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    assert write_sheet(bench, RUNS, path, answers=31) == 31
    found = rows(path)
    assert tuple(found[0]) == COLUMNS
    assert sorted(Counter(row["run"] for row in found).values()) == [10, 10, 11]
    assert {row["human"] for row in found} == {""}
    order = [row["run"] for row in found]
    assert order != sorted(order)
    answers = {
        (run, p.item_id): p.answer
        for run in RUNS
        for p in read_jsonl(bench / "runs" / run / "predictions.jsonl", Prediction)
    }
    items = {i.id: i for i in read_jsonl(bench / "items.jsonl", Item)}
    for row in found:
        assert row["answer"] == answers[row["run"], row["item_id"]]
        assert row["question"] == items[row["item_id"]].question.text
        assert row["references"].split(" | ") == list(gold_texts(items[row["item_id"]]))


def test_the_draw_depends_on_seed_run_and_item_alone(bench: Path, tmp_path: Path) -> None:
    def drawn(name: str, runs: tuple[str, ...], seed: int, answers: int) -> set[tuple[str, str]]:
        write_sheet(bench, runs, tmp_path / name, answers=answers, seed=seed)
        return {(row["run"], row["item_id"]) for row in rows(tmp_path / name)}

    two = drawn("a", RUNS[:2], 0, 20)
    assert drawn("b", RUNS[:2], 0, 20) == two
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert two < drawn("c", RUNS, 0, 30)
    assert drawn("d", RUNS[:2], 1, 20) != two


def test_what_people_wrote_is_not_touched(bench: Path, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("precious")
    assert write_sheet(bench, RUNS, path) == 0
    assert path.read_text() == "precious"


def test_a_filled_sheet_calibrates_and_empty_rows_are_no_marks(bench: Path, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    write_sheet(bench, RUNS, path, answers=60)
    filled = rows(path)
    for number, row in enumerate(filled):
        row["human"] = "" if number % 3 == 0 else str(number % 2 * 2)
    with path.open("w", newline="") as stream:
        table = csv.DictWriter(stream, COLUMNS)
        table.writeheader()
        table.writerows(filled)
    result = calibrate(bench, CalibrateSettings(human=(str(path),), resamples=200))
    marks = result.file.calibration.human
    assert len(marks) == sum(row["human"] != "" for row in filled) == 40


def test_formulas_are_texts(bench: Path, tmp_path: Path) -> None:
    folder = bench / "runs" / "hostile"
    folder.mkdir()
    answers = read_jsonl(bench / "runs" / "constant" / "predictions.jsonl", Prediction)
    texts = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "no formula")
    write_jsonl(
        folder / "predictions.jsonl",
        [msgspec.structs.replace(p, answer=t) for p, t in zip(answers, texts, strict=False)],
    )
    path = tmp_path / "sheet.csv"
    assert write_sheet(bench, ("hostile",), path) == len(texts)
    assert {row["answer"] for row in rows(path)} == {"no formula", *(f"'{t}" for t in texts[:-1])}


def test_without_answers_there_is_no_sheet(bench: Path, tmp_path: Path) -> None:
    folder = bench / "runs" / "mute"
    folder.mkdir()
    answers = read_jsonl(bench / "runs" / "constant" / "predictions.jsonl", Prediction)
    write_jsonl(
        folder / "predictions.jsonl",
        [msgspec.structs.replace(p, answer=None, failure="refusal: no") for p in answers],
    )
    with pytest.raises(UserError, match="no answers to mark"):
        write_sheet(bench, ("mute",), tmp_path / "sheet.csv")
    assert not (tmp_path / "sheet.csv").exists()
