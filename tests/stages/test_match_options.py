"""Replies that no rule reads go to a model, those alone, and what it says is counted apart, in marks, scores and the report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.typed import proctor

from proctor.errors import UserError
from proctor.exam.prediction import Judgement
from proctor.exam.question import Choice, Gold, Item, Open, Pick, Question, Text
from proctor.records import read_jsonl, write_jsonl
from proctor.report.compose import compose
from proctor.report.data import ReportData, ReportOptions
from proctor.report.parts import Cell, Table
from proctor.stages.exam_settings import JudgeSettings, ScoreSettings
from proctor.stages.judge import estimate_judging, judge
from proctor.stages.predict import import_predictions
from proctor.stages.questions import workspace_questions
from proctor.stages.report_exams import load_exams
from proctor.stages.score import score
from proctor.workspace import Workspace
from proctor_rehearsal.standin import Answer, Call, Standin

OPTIONS = ("a whisk", "a spoon", "a fork", "two hands")
ITEMS = [
    Item(
        question=Question(id=f"q{n}", kind="clip", text=f"What is used in {n}?", form=Choice(options=OPTIONS)),
        golds=(Gold(value=Pick(option=0)),),
    )
    for n in range(9)
]  # fmt: skip
OPEN = Item(
    question=Question(id="w", kind="clip", text="What?", form=Open()), golds=(Gold(value=Text(text="so")),)
)
REPLIES = {
    "q0": "(A)",  # read by rule
    "q1": "A whisk or a spoon? It is the thing with wires.",  # matched: A as shown
    "q2": "They stir with something wooden.",  # matched, wrong
    "q3": "I cannot say.",  # matched with none
    "q4": "Either wires or wood, certainly one of both.",  # the model names two
    "q5": "Some machine.",  # the model names an option that there is not
    "q6": "The thing beside the bowl.",  # the model answers with prose, twice
    "q7": "B",  # read by rule, wrong
    "q8": "The thing that broke.",  # the model fails
}
SAID = {"q1": "A", "q2": "The answer is B.", "q3": "none", "q4": "A and B", "q5": "F", "q6": "Who knows."}


def match(call: Call) -> Answer:
    (number,) = re.findall(r"What is used in (\d)\?", call.text)
    if number == "8":
        return Answer(text="I must not.", outcome="refusal")
    return Answer(text=SAID[f"q{number}"])


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    root = tmp_path / "bench"
    Workspace(root).create()
    write_jsonl(root / "items.jsonl", [*ITEMS, OPEN])
    lines = [{"item_id": id_, "answer": text} for id_, text in REPLIES.items()]
    # as if q1 was shown in another order: what the model calls A is the first option as printed
    lines[1] |= {"details": {"order": "ADCB"}}
    write_jsonl(tmp_path / "own.jsonl", lines)
    import_predictions(tmp_path / "own.jsonl", root, "mine")
    return root


def marks(bench: Path) -> dict[str, Judgement]:
    return {j.item_id: j for j in read_jsonl(bench / "runs/mine/judgements.jsonl", Judgement)}


def test_only_what_no_rule_reads_is_sent_and_all_is_counted_apart(bench: Path) -> None:
    with Standin(answer=match) as server:
        how = JudgeSettings(match_options=f"compat/m@{server.url}/v1")
        estimate = estimate_judging(bench, how)
        assert estimate is not None
        assert estimate.new == 7
        assert server.count == 0
        done = judge(bench, how)
        sent = [r.call.text for r in server.requests]
    assert done.runs["mine"] == {
        "match": 2, "wrong": 7, "read by rule": 2, "matched by a model": 2, "unread": 5, "matching failed": 2,
    }  # fmt: skip
    assert {n for text in sent for n in re.findall(r"What is used in (\d)\?", text)} == set("1234568")
    assert not [text for text in sent if "gold" in text]
    made = marks(bench)
    assert {j.judge for j in made.values()} == {done.judge}
    assert done.judge.startswith("letters-1 + compat/m@")
    assert {id_: j.details.get("matched", "") for id_, j in made.items()} == {
        "q0": "", "q1": "yes", "q2": "yes", "q3": "none", "q4": "none", "q5": "none", "q6": "failed", "q7": "", "q8": "failed",
    }  # fmt: skip
    assert (made["q1"].score, made["q1"].rationale) == (2, "A (matched by a model)")
    assert (made["q5"].score, made["q5"].rationale) == (0, "no letter; the model matched no option")
    assert "refusal" in made["q8"].rationale

    table = score(bench, ScoreSettings(runs=("mine",), resamples=100)).tables["mine"]
    row = table.row()
    assert (row.value, row.n, row.matched, row.unparsed) == (2 / 9, 9, 2, 5)
    assert (table.judge, row.judge) == (done.judge, done.judge)
    assert "|matcher:" in row.signature
    told = {k: table.counts[k] for k in ("right", "wrong", "read by rule", "matched by a model", "unparsed")}
    assert told == {
        "right": 2,
        "wrong": 2,
        "read by rule": 2,
        "matched by a model": 2,
        "unparsed": 5,
    }
    printed = proctor("score", str(bench), "--run", "mine", "--resamples", "100")
    assert "mine: 2 replies read by rule, 2 matched by a model, 5 unread" in printed.out
    exam = next(
        e
        for e in load_exams(Workspace(bench), workspace_questions(Workspace(bench)))
        if e.id == "clip-choice"
    )
    assert exam.runs[0].table == table
    page = compose(ReportData(exams=(exam,)), ReportOptions(resamples=100))
    (board,) = (
        part
        for s in page.sections
        for part in s.parts
        if isinstance(part, Table) and part.title == "Leaderboard"
    )
    cells = dict(zip(board.head, (c.text if isinstance(c, Cell) else c for c in board.rows[0]), strict=True))
    assert (cells["Matched"], cells["Unread"]) == ("2", "5")

    judge(bench)  # without a model they are unread again
    assert {j.judge for j in marks(bench).values()} == {"letters-1"}
    plain = score(bench, ScoreSettings(runs=("mine",), resamples=100)).tables["mine"]
    assert (plain.row().value, plain.row().matched, plain.row().unparsed) == (1 / 9, 0, 7)
    assert "matcher" not in plain.row().signature
    assert "matched by a model" not in plain.counts


def test_matches_of_other_replies_are_refused(bench: Path) -> None:
    with Standin(answer=match) as server:
        judge(bench, JudgeSettings(match_options=f"compat/m@{server.url}/v1"))
    path = bench / "runs/mine/predictions.jsonl"
    path.write_text(path.read_text().replace("something wooden", "the thing with wires"))
    with pytest.raises(UserError, match=r"judged before .*predictions\.jsonl changed"):
        score(bench, ScoreSettings(runs=("mine",), resamples=100))


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (JudgeSettings(judge="openai/gpt-4o", match_options="openai/gpt-4o"), "where rules mark"),
        (JudgeSettings(runs=("words",), match_options="openai/gpt-4o"), "marked by models alone"),
        (JudgeSettings(runs=("mine",), match_options="gpt-4o"), "gpt-4o"),
    ],
)
def test_what_cannot_be_matched_is_refused(bench: Path, how: JudgeSettings, told: str) -> None:
    write_jsonl(bench.parent / "words.jsonl", [{"item_id": "w", "answer": "so"}])
    import_predictions(bench.parent / "words.jsonl", bench, "words")
    with pytest.raises(UserError, match=told):
        judge(bench, how)
