"""Answers from elsewhere come in as runs: every line is an answer, or is listed; every item has a prediction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.taking import judge, predict

from proctor.errors import UserError
from proctor.exam.prediction import Prediction
from proctor.exam.question import Choice, Gold, Item, Open, Pick, Question, Text
from proctor.records import Dropped, read_json, read_jsonl, write_jsonl
from proctor.stages.exam_settings import PredictSettings, ScoreSettings
from proctor.stages.judge import chosen_runs
from proctor.stages.predict import RunInfo, import_predictions
from proctor.stages.predict import predict as predict_all
from proctor.stages.score import score
from proctor.workspace import Workspace

OPTIONS = Choice(options=("one", "two", "3", "four"))
CHOICES = [
    Item(
        question=Question(id=f"q{n}", kind="clip", text="Which?", form=OPTIONS),
        golds=(Gold(value=Pick(option=n)),),
    )
    for n in range(4)
]
WORDS = [
    Item(
        question=Question(id=f"{kind}-{n}", kind=kind, text="What?", form=Open(), facts={"steps": []}),
        golds=(Gold(value=Text(text="so")),),
    )
    for kind in ("clip", "documents")
    for n in range(2)
]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    root = tmp_path / "bench"
    Workspace(root).create()
    write_jsonl(root / "items.jsonl", [*CHOICES, *WORDS])
    return root


def written(bench: Path, *lines: Any, name: str = "own.jsonl", head: str = "", end: str = "\n") -> Path:
    texts = [line if isinstance(line, str) else msgspec.json.encode(line).decode() for line in lines]
    (bench.parent / name).write_text(head + end.join(texts) + end, newline="")
    return bench.parent / name


def said(item_id: str, answer: Any, **more: Any) -> dict[str, Any]:
    return {"item_id": item_id, "answer": answer, **more}


def made(bench: Path, run: str) -> dict[str, Prediction]:
    return {p.item_id: p for p in read_jsonl(bench / "runs" / run / "predictions.jsonl", Prediction)}


def test_letters_words_and_numbers_are_scored_and_what_has_no_line_was_not_answered(bench: Path) -> None:
    file = written(
        bench, said("q0", 0), said("q1", "The answer is B."), said("q2", "3"), head="\ufeff", end="\r\n"
    )
    (run,) = import_predictions(file, bench, "mine").runs
    assert (run.run, run.items, run.answered, run.failures) == ("mine", 4, 3, {"unanswered": 1})
    assert [p.answer for p in made(bench, "mine").values()] == ["A", "The answer is B.", "3", None]
    row = score(bench, ScoreSettings(runs=("mine",), resamples=100)).tables["mine"].row()
    assert (row.value, row.n) == (1.0, 3)
    info = read_json(bench / "runs/mine/run.json", RunInfo)
    assert (info.role, info.predictor, info.kind, info.form) == ("system", "mine", "clip", "choice")


def test_digits_are_words_where_an_option_is_worded_so_and_a_number_never_is(bench: Path) -> None:
    lines = (said("q0", "2"), said("q1", "3"), said("q2", 3), said("q3", 4), said("q3", "-1"))
    assert import_predictions(written(bench, *lines), bench, "mine").dropped == {"no_option": 2}
    answers = made(bench, "mine")
    assert (answers["q0"].answer, answers["q0"].details) == ("C", {"given": "2"})
    assert (answers["q1"].answer, answers["q2"].answer) == ("3", "D")


def test_numbers_of_a_table_with_gaps_are_numbers(bench: Path) -> None:
    """What pandas writes once one answer is missing: 1 has become 1.0."""
    import_predictions(written(bench, said("q1", 1.0), said("q3", "3.0")), bench, "mine")
    assert {name: p.answer for name, p in made(bench, "mine").items() if p.answer} == {"q1": "B", "q3": "D"}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (said("nobody", "A"), "unknown"),
        (said("q0", "B"), "twice"),
        (said("q1", " \n"), "empty"),
        ({"item_id": "q1"}, "empty"),
        (said("q1", "A" * 10_000_000), "too_long"),
        (said("q1", "A", failure="timeout: 60 s"), "both"),
        (said("q1", "A", rotation=4), "rotation"),
        (said("q1", "A", rotation=0), "rotation"),
        (said("q1", "A", details={"rotation": "0000000009"}), "rotation"),
        (said("q1", "0000000009"), "no_option"),
        (said("q1", "A", details={"order": "ABCC"}), "order"),
        (said("q1", "A", details={"credit": "1"}), "details"),
        (said("clip-0", "A", rotation=0), "rotation"),
    ],
)
def test_a_line_that_answers_nothing_is_listed_and_counted(
    bench: Path, line: dict[str, Any], code: str
) -> None:
    result = import_predictions(written(bench, said("q0", "A"), line), bench, "mine")
    assert result.dropped == {code: 1}
    (dropped,) = read_jsonl(bench / "predictions.dropped.jsonl", Dropped)
    assert (dropped.id, dropped.reason, "record 2: " in dropped.detail) == (line["item_id"], code, True)
    assert sum(p.failure is None for p in made(bench, "mine").values()) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not one of 0 lines"),
        ('{"item_id": "q0", "answer": "A"}\n{"item_id": "q1", "ans', "not valid JSON"),
        ('{"item_id": "q0", "answer": NaN}', "not valid JSON"),
        ('{"item_id": "q0", "answer": ["A"]}', "record 1: the question is not answered by a list"),
        ('{"item_id": "q0", "answer": true}', r"own.jsonl:1: .*answer"),
        ('{"item_id": 7, "answer": "A"}', r"own.jsonl:1: .*item_id"),
        ('{"item_id": "nobody", "answer": "A"}', "not one of 1 lines .*no such item"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_and_nothing_is_written(
    bench: Path, text: str, why: str
) -> None:
    before = sorted(bench.rglob("*"))
    with pytest.raises(UserError, match=why):
        import_predictions(written(bench, text, end=""), bench, "mine")
    assert sorted(bench.rglob("*")) == before


@pytest.mark.parametrize("name", ["../mine", "", "a/b", ".", " ", "a\nb"])
def test_a_name_that_is_no_folder_is_refused(bench: Path, name: str) -> None:
    with pytest.raises(UserError, match="run"):
        import_predictions(written(bench, said("q0", "A")), bench, name)


def test_several_kinds_are_one_run_each_and_meant_by_the_name_that_was_given(bench: Path) -> None:
    file = written(bench, said("q0", "A"), said("clip-0", "so"), said("documents-1", "so"))
    names = [run.run for run in import_predictions(file, bench, "mine").runs]
    assert names == ["clip-choice-mine", "clip-mine", "documents-mine"]
    predict(bench, "chance")
    assert chosen_runs(Workspace(bench), ["mine"]) == names
    with pytest.raises(UserError, match="no run 'other'"):
        chosen_runs(Workspace(bench), ["other"])


def test_a_run_that_is_there_keeps_its_name_and_is_replaced(bench: Path) -> None:
    several = written(bench, said("q0", "A"), said("clip-0", "so"))
    import_predictions(several, bench, "mine")
    one = import_predictions(written(bench, said("q1", "A"), name="one.jsonl"), bench, "mine").runs
    assert [run.run for run in one] == ["clip-choice-mine"]
    import_predictions(written(bench, said("q1", "A"), name="one.jsonl"), bench, "other")
    assert [run.run for run in import_predictions(several, bench, "other").runs] == ["other", "clip-other"]
    assert chosen_runs(Workspace(bench), ["other", "mine"]) == [
        "clip-other",
        "other",
        "clip-choice-mine",
        "clip-mine",
    ]


def test_the_same_file_changes_nothing_another_one_replaces_and_says_so(bench: Path) -> None:
    first = written(bench, said("q0", "A"), said("q1", "B"))
    import_predictions(first, bench, "mine")
    before = (bench / "runs/mine/predictions.jsonl").read_bytes()
    (again,) = import_predictions(first, bench, "mine").runs
    assert (again.note, (bench / "runs/mine/predictions.jsonl").read_bytes()) == ("", before)
    (other,) = import_predictions(written(bench, said("q1", "C")), bench, "mine").runs
    assert other.note == "run 'mine' held other answers; they are replaced"
    assert [p.answer for p in made(bench, "mine").values()] == [None, "C", None, None]


def test_rotations_are_read_in_the_order_that_was_shown_and_a_missing_one_failed(bench: Path) -> None:
    turns = [said("q0", letter, rotation=n) for n, letter in enumerate("ADCB")]
    file = written(bench, *turns, said("q1", "B", rotation=0))
    (run,) = import_predictions(file, bench, "mine").runs
    assert (run.answered, run.failed) == (5, 11)
    row = score(bench, ScoreSettings(runs=("mine",), resamples=100)).tables["mine"].row()
    assert (row.value, row.n) == (1.0, 1)


def test_a_persons_answers_are_read_from_a_table_and_marked_as_a_persons(bench: Path) -> None:
    file = written(
        bench,
        "item_id,answer,failure",
        "q0,A,",
        "q1,,unsure: cannot tell",
        'q3,"four, I think",',
        name="anna.csv",
    )
    (run,) = predict_all(bench, f"human:{file}", PredictSettings(kind="clip", form="choice"))
    assert run.failures == {"unsure": 1, "unanswered": 1}
    info = read_json(bench / "runs" / run.run / "run.json", RunInfo)
    assert (info.role, info.predictor) == ("human", f"human:{file}")
    assert judge(bench, [run.run])["runs"] == {run.run: {"match": 1, "wrong": 1, "unscored": 2}}
