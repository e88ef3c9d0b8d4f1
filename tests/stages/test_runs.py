"""A run goes on with what it lacks, and with nothing that was answered for something else; whose marks scores are made of."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.taking import judge, predict

from proctor.errors import UserError
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Choice, Gold, Item, Open, Pick, Question, Text
from proctor.records import read_json, read_jsonl, write_jsonl
from proctor.stages.exam_settings import ScoreSettings
from proctor.stages.predict import RunInfo
from proctor.stages.score import score
from proctor.workspace import Workspace
from proctor_rehearsal.standin import Answer, Standin

LETTERS = Choice(options=("one", "two", "three", "four"))
ITEMS = [
    Item(
        question=Question(id=f"q{n}", kind="clip", text="Which?", form=LETTERS),
        golds=(Gold(value=Pick(option=n % 4)),),
    )
    for n in range(5)
]
WORDS = [
    Item(
        question=Question(id="w", kind="clip", text="What?", form=Open(), facts={"steps": ["Boil water."]}),
        golds=(Gold(value=Text(text="so")),),
    )
]


def write_items(bench: Path, items: list[Item]) -> None:
    write_jsonl(bench / "items.jsonl", items)


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    Workspace(tmp_path).create()
    write_items(tmp_path, ITEMS)
    return tmp_path


def test_only_what_is_missing_failed_or_changed_is_asked(bench: Path) -> None:
    def asked(**given: int) -> int:
        return int(predict(bench, "chance", **given)["asked_now"])

    assert [asked(limit=2), asked(), asked()] == [2, 3, 0]
    (file,) = bench.glob("runs/*/predictions.jsonl")
    made = list(read_jsonl(file, Prediction))
    assert [p.item_id for p in made] == [item.id for item in ITEMS]
    failed = msgspec.structs.replace(made[3], answer=None, failure="timeout: 60 s")
    write_jsonl(file, [*made[:3], failed, made[4]])
    assert [asked(), asked()] == [1, 0]
    assert list(read_jsonl(file, Prediction)) == made
    other = (Gold(value=Pick(option=3)),)
    write_items(bench, [msgspec.structs.replace(ITEMS[0], golds=other), *ITEMS[1:]])
    assert [asked(), asked()] == [5, 0]


def test_a_blind_model_is_a_floor_and_its_first_marks_are_scored_while_they_fit(bench: Path) -> None:
    write_items(bench, WORDS)
    with Standin(answer=lambda call: Answer(text='{"reason": "r", "consistent": "yes"}')) as server:
        model = f"compat/m@{server.url}/v1"
        predict(bench, model, show="question", run="blind")
        predict(bench, model, show="steps", run="told")
        judge(bench, ["blind"], judge=model, repeats=3)
    infos = {name: read_json(bench / "runs" / name / "run.json", RunInfo) for name in ("blind", "told")}
    assert infos["blind"].role == "floor"
    assert (infos["blind"].privilege, infos["told"].privilege) == ("", "the annotated steps")
    (mark,) = read_jsonl(bench / "runs/blind/judgements.jsonl", Judgement)
    assert "repeat" not in mark.details
    assert len(list((bench / "runs/blind/judgements").iterdir())) == 3
    how = ScoreSettings(runs=("blind",), resamples=100)
    assert score(bench, how).tables["blind"].row().value == 1.0
    made = list(read_jsonl(bench / "runs/blind/predictions.jsonl", Prediction))
    write_jsonl(bench / "runs/blind/predictions.jsonl", [msgspec.structs.replace(made[0], answer="another")])
    with pytest.raises(UserError, match="was judged before"):
        score(bench, how)
