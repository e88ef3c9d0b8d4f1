"""The exams of a workspace: its questions of each kind and form, with everybody who took them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from proctor.exam.kind import kind_named
from proctor.exam.kinds.clip import clip_items
from proctor.exam.kinds.documents import document_items
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item
from proctor.exam.scores import score_run
from proctor.exam.source_question import SourceQuestion
from proctor.exam.table import Resampling, ScoreTable
from proctor.metrics.score import Signature
from proctor.records import is_there, read_json, read_jsonl
from proctor.report.data import Exam, Role, Run
from proctor.stages.exam_settings import ScoreSettings
from proctor.stages.inputs import load_all_items, load_judgements, load_predictions
from proctor.stages.instructional.answer import Form, load_runs, questions_of_form
from proctor.stages.instructional.choices import CHOICES
from proctor.stages.instructional.filter import KEPT
from proctor.stages.predict import RunInfo, form_of, items_of_run, read_run_info
from proctor.stages.score import benchmark_name, run_judgements, run_likeness
from proctor.stages.styled.answer import load_answers
from proctor.stages.styled.questions import QUESTION_SETS, QuestionSet, load_questions
from proctor.stages.styled.reading import CORPUS, STYLED, load_styled, questions_of
from proctor.workspace import Workspace

__all__ = ["load_exams", "stored_scores"]

_TITLES: Final = {"moment": "moments", "clip": "clips", "documents": "documents"}
_FORMS: Final[tuple[tuple[Form, str, str], ...]] = (
    ("choice", CHOICES, "clips, multiple choice"),
    ("open", KEPT, "clips, open-ended"),
)


def load_exams(workspace: Workspace) -> tuple[Exam, ...]:
    """Return the exams: built items of every kind with the runs over them, and what answered questions that were not built.

    Raises:
        UserError: if a file is broken, or a run does not belong to the items.
    """
    built = tuple(_built(workspace))
    kinds = {exam.kind for exam in built}
    clips = _clips(workspace) if "clip" not in kinds else ()
    documents = _documents(workspace) if "documents" not in kinds else ()
    return (*built, *clips, *documents)


def _built(workspace: Workspace) -> Iterator[Exam]:
    if not is_there(workspace.file("items.jsonl")):
        return
    items = load_all_items(workspace)
    groups: dict[tuple[str, Form, str], list[str]] = {}
    for name in workspace.run_names():
        info = read_run_info(workspace.run_folder(name))
        groups.setdefault((info.kind, info.form, info.questions), []).append(name)
    for item in items:  # that nobody has answered yet
        if not any(key[:2] == (item.question.kind, form_of(item)) for key in groups):
            groups[item.question.kind, form_of(item), ""] = []
    for (kind, form, which), names in groups.items():
        own = items_of_run(items, RunInfo(predictor="", kind=kind, form=form, questions=which))
        parts = [kind, *([form] if form == "choice" else []), which]
        title = ", ".join(
            filter(None, (_TITLES.get(kind, kind), "multiple choice" if form == "choice" else "", which))
        )
        yield Exam(
            "-".join(filter(None, parts)),
            title,
            tuple(own),
            tuple(_run(workspace, name, own) for name in names),
        )


def _run(workspace: Workspace, name: str, items: Sequence[Item]) -> Run:
    folder = workspace.run_folder(name)
    info = read_run_info(folder)
    predictions = load_predictions(folder, items)
    judged = is_there(folder / "judgements.jsonl")
    judgements = load_judgements(folder, items) if judged else []
    how = Resampling(**workspace.resolve(ScoreSettings).resampling)
    kind = kind_named(info.kind)
    table = None
    if judgements or (predictions and info.form == "choice"):
        in_words = info.form != "choice"
        make = partial(
            score_run,
            kind,
            items,
            predictions,
            run_judgements(kind, folder, items) if judged and in_words else {},
            run_likeness(kind, items, predictions) if in_words else (),
            benchmark=benchmark_name(workspace),
            privilege=info.privilege,
        )
        plain = make(resampling=Resampling(resamples=0))
        table = stored_scores(folder / "scores.json", plain, how) or make(resampling=how)
    return Run(
        name=name,
        predictor=info.predictor,
        role=info.role,
        predictions=tuple(predictions),
        judgements=tuple(judgements),
        table=table,
        opinions=_opinions(workspace, name, judgements, {item.id for item in items}),
    )


def stored_scores(path: Path, now: ScoreTable, how: Resampling) -> ScoreTable | None:
    """Return the scores of a run as they were written; None where its marks, or how intervals are made, are other ones now.

    Args:
        path: of the scores.
        now: as they would be now, without intervals.
        how: intervals are made now.
    """
    if not is_there(path):
        return None
    table: ScoreTable = read_json(path, ScoreTable)
    made = Signature.parse(table.row().signature).parameters
    wanted = {"interval": how.name, "resamples": str(how.resamples), "seed": str(how.seed)}
    alike = all(made.get(name, value) == value for name, value in wanted.items())
    return table if alike and all(table.marks.get(m) == marks for m, marks in now.marks.items()) else None


def _opinions(
    workspace: Workspace, name: str, judgements: Sequence[Judgement], known: set[str]
) -> tuple[Judgement, ...]:
    """Return what further judges said of a run's answers: all that is not what the run's score is made with."""
    own = {(j.judge, j.details.get("template", ""), j.item_id) for j in judgements}
    found: list[Judgement] = []
    for path in sorted(workspace.run_folder(name).glob("judgements/*.jsonl")):
        said: list[Judgement] = read_jsonl(path, Judgement)
        found += [
            j
            for j in said
            if j.item_id in known and (j.judge, j.details.get("template", ""), j.item_id) not in own
        ]
    return tuple(found)


def _clips(workspace: Workspace) -> Iterator[Exam]:
    for form, file, title in _FORMS:
        if not is_there(workspace.file(file)) or not workspace.file(file).stat().st_size:
            continue
        questions = questions_of_form(workspace, form)
        runs = tuple(
            Run(name, name, _role(table, predictions), tuple(predictions), table=table)
            for name, (table, predictions) in load_runs(workspace, form).items()
        )
        yield Exam(f"clip-{form}", title, tuple(clip_items(questions)), runs)


def _role(table: ScoreTable, predictions: Sequence[Prediction]) -> Role:
    """Return what a run stands for: who asks no model, or shows it the question alone, is a floor, who is told annotations an upper bound."""
    if not any(p.details.get("model") and p.details.get("view") != "question" for p in predictions):
        return "floor"
    return "upper" if table.privilege else "system"


def _documents(workspace: Workspace) -> Iterator[Exam]:
    if not is_there(workspace.file(CORPUS)):
        return
    for which in QUESTION_SETS:
        if not (questions := _document_questions(workspace, which)):
            continue
        answers = load_answers(workspace, which)
        runs = tuple(
            Run(name, name, "system", tuple(predictions), table=table)
            for name, (table, predictions) in answers.items()
        )
        warnings = tuple(
            f"Out of date ({stage}): {' and '.join(changed)} changed since; run proctor answer again."
            for stage in sorted(workspace.stages())
            if stage.startswith(f"answer/{which}/") and (changed := workspace.changed(stage))
        )
        if which == "data" and not runs:
            continue  # a data set's own questions that nobody answered stand under Retrieval alone
        title = {"styled": "documents", "data": "documents, the data set's own questions"}[which]
        yield Exam(f"documents-{which}", title, tuple(document_items(questions)), runs, warnings)


def _document_questions(workspace: Workspace, which: QuestionSet) -> list[SourceQuestion]:
    """Return a set of questions; none where it has none."""
    if which == "styled":
        there = is_there(workspace.file(STYLED)) and bool(load_styled(workspace))
    else:
        there = any(q.gold_complete and q.gold for q in questions_of(workspace))
    return load_questions(workspace, which) if there else []
