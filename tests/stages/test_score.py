"""Runs of three kinds in one workspace: each has its table, those measured alike are compared, judges are calibrated by kind."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.documents import document, items_of
from tests.exam.clip_set import clip_items, question
from tests.typed import proctor

from proctor.errors import UserError
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item
from proctor.exam.table import ScoreTable
from proctor.records import read_json, write_json, write_jsonl
from proctor.stages.calibrate import calibrate
from proctor.stages.exam_settings import CalibrateSettings, ScoreSettings
from proctor.stages.experiment.compare import compare_cells
from proctor.stages.experiment.documents import PLAN as DOCUMENTS_PLAN
from proctor.stages.predict import RunInfo, items_hash
from proctor.stages.score import ScoredRuns, score
from proctor.workspace import Workspace

CHOICE = clip_items(question(n) for n in range(20))
OPEN = clip_items(
    msgspec.structs.replace(question(n, options=()), id=f"open{n}", answer="so") for n in range(20)
)
DOCUMENTS = items_of(
    document(
        f"d{n}",
        style=("numerical", "compound")[n % 2],
        text="How high?",
        answer="412 metres",
        gold=("text:vell",),
    )
    for n in range(40)
)
QUICK = ScoreSettings(resamples=200)


def run(
    bench: Path, name: str, items: list[Item], answers: list[str], form: str = "open"
) -> list[Prediction]:
    """Write a run that answered in these words."""
    kind = items[0].question.kind
    info = RunInfo(predictor=name, kind=kind, form=form, items=items_hash(items), role="system")  # type: ignore[arg-type]
    made = [Prediction(item_id=i.id, predictor=name, answer=a) for i, a in zip(items, answers, strict=True)]
    write_json(bench / "runs" / name / "run.json", info)
    write_jsonl(bench / "runs" / name / "predictions.jsonl", made)
    return made


def marks(made: list[Prediction], judge: str, scores: list[int | None], **details: str) -> list[Judgement]:
    return [
        Judgement(item_id=p.item_id, predictor=p.predictor, judge=judge, score=s, details=details)
        for p, s in zip(made, scores, strict=True)
    ]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    bench = tmp_path / "bench"
    Workspace(bench).create()
    write_jsonl(bench / "items.jsonl", [*CHOICE, *OPEN, *DOCUMENTS])
    run(bench, "letters-a", CHOICE, ["A"] * 20, "choice")
    run(bench, "letters-b", CHOICE, ["B"] * 20, "choice")
    said = run(bench, "open", OPEN, ["so"] * 20)
    write_jsonl(bench / "runs/open/judgements.jsonl", marks(said, "c", [2, 0] * 10, scale="binary"))
    for name, steps in (("docs-x", (2, 1)), ("docs-y", (0, 1))):
        answers = run(bench, name, DOCUMENTS, ["412 metres", "nobody knows"] * 20)
        folder = bench / "runs" / name
        of_judge = {"rubric": "reference", "model": "m/r", "template": "source-judge-reference@1"}
        reference = marks(answers, "m/r (reference)", [*steps] * 20, **of_judge)
        write_jsonl(folder / "judgements.jsonl", reference)  # the last judge's
        write_jsonl(folder / "judgements/r.jsonl", reference)
        of_judge = {"rubric": "source", "model": "m/s", "template": "source-judge@1"}
        write_jsonl(folder / "judgements/s.jsonl", marks(answers, "m/s (source)", [*steps] * 20, **of_judge))
        again = marks(answers, "m/s (source)#1", [0, 0] * 20, repeat="1", **of_judge)
        write_jsonl(folder / "judgements/s1.jsonl", again)
    return bench


def test_every_kind_has_its_table_and_only_what_was_measured_alike_is_compared(bench: Path) -> None:
    found = score(bench, QUICK)
    assert list(found.kinds.values()) == ["documents", "documents", "clip", "clip", "clip"]
    assert {n: t.row().measure for n, t in found.tables.items()} == {
        "docs-x": "judge", "docs-y": "judge", "letters-a": "accuracy", "letters-b": "accuracy", "open": "consistency",
    }  # fmt: skip
    assert found.tables["letters-a"].row().value == pytest.approx(0.2)
    assert found.tables["letters-a"].row().chance == pytest.approx(0.2)
    assert found.tables["open"].row().value == 0.5
    docs = found.tables["docs-x"]
    assert list(docs.marks) == [
        "judge",
        "reference judge",
        "rouge-1",
    ]  # a repetition is no measure of its own
    assert (docs.row().value, docs.row(measure="rouge-1").value) == (75.0, 50.0)
    assert {(c.a, c.b) for c in found.comparisons} == {("docs-x", "docs-y"), ("letters-a", "letters-b")}
    assert next(c for c in found.comparisons if c.a == "docs-x").difference == -50.0
    stored: ScoreTable = read_json(bench / "runs/docs-x/scores.json", ScoreTable)
    assert stored == docs
    # cells of an experiment print the same numbers, from 0 to 100
    grid = compare_cells(DOCUMENTS_PLAN, {"": bench}, resamples=100)
    assert {
        (row.system, row.measure): (row.value, row.least, row.coverage, row.judge) for row in grid.rows
    } == {
        (name, row.measure): (row.value, row.least, 1.0, row.judge)
        for name in ("docs-x", "docs-y")
        for row in found.tables[name].rows
        if row.slice == "all"
    }
    assert msgspec.convert(msgspec.to_builtins(found), ScoredRuns) == found


def test_a_run_that_answers_little_does_not_lead_and_the_form_of_the_leaderboard_is_kept(bench: Path) -> None:
    made = run(bench, "picky", DOCUMENTS, ["412 metres"] * 40)
    rest = [msgspec.structs.replace(p, answer=None, failure="refusal: no") for p in made[10:30]]
    write_jsonl(bench / "runs/picky/predictions.jsonl", [*made[:10], *rest])
    of_judge = {"rubric": "source", "model": "m/s", "template": "source-judge@1"}
    marked = marks(made[:10], "m/s (source)", [2] * 10, **of_judge)
    write_jsonl(bench / "runs/picky/judgements.jsonl", marked)
    (line,) = proctor("score", bench, "--run", "picky", "--resamples", "200", "--json").json["runs"]
    assert line == {
        "run": "picky", "kind": "documents", "role": "system", "rank": None,
        "why": "10 of 40 questions have a mark; ranked from 95 % on",
        "measure": "judge", "judge": "m/s (source)", "unit": 100.0, "score": 100.0, "low": 25.0, "high": 100.0,
        "coverage": 0.25, "questions": 40, "failed": 20, "skipped": 10, "interval": [100.0, 100.0],
    }  # fmt: skip
    runs = {line.run: line for line in score(bench, QUICK).runs}
    assert [(name, line.rank) for name, line in runs.items()] == [
        ("docs-x", 1), ("docs-y", 2), ("picky", None), ("letters-a", 1), ("letters-b", 1), ("open", 1),
    ]  # fmt: skip
    assert (runs["letters-a"].judge, runs["letters-a"].unit) == ("letters-1", 1.0)
    found = proctor("score", bench, "--resamples", "200", "--min-coverage", "0.25")
    assert "not ranked" not in found.out
    assert "25.0 to 100.0" in found.out
    assert score(bench, None).runs[0].run == "picky"  # the workspace keeps it, so that the report ranks alike


def test_answers_to_other_items_are_not_scored(bench: Path) -> None:
    write_jsonl(bench / "items.jsonl", [*CHOICE[1:], *OPEN, *DOCUMENTS])
    with pytest.raises(UserError, match="'letters-a' answered other items"):
        score(bench, QUICK)
    assert list(score(bench, msgspec.structs.replace(QUICK, runs=("open",))).tables) == ["open"]


def test_judges_of_documents_are_calibrated_and_their_scores_corrected(bench: Path) -> None:
    people = bench.parent / "people.csv"
    rows = [
        f"d{n},{run_},{2 if run_ == 'docs-x' else n % 2}" for n in range(40) for run_ in ("docs-x", "docs-y")
    ]
    people.write_text("item_id,run,human\n" + "\n".join(rows) + "\n")
    settings = CalibrateSettings(human=(str(people),), resamples=200)
    found = calibrate(bench, settings)
    assert found.kind == "documents"
    assert (bench / "calibration.documents.json").exists()
    assert not (bench / "calibration.json").exists()
    assert {report.judge.judge for report in found.file.calibration.judges} >= {
        "m/s (source)",
        "m/r (reference)",
    }
    corrected = score(bench, QUICK).corrected
    assert set(corrected) == {"docs-x", "docs-y"}
    assert corrected["docs-x"][0].mean.value == 100.0
    assert found.file.calibration.cluster == "question"
    with pytest.raises(UserError, match="no marks by people"):
        calibrate(bench, msgspec.structs.replace(settings, kind="clip"))
