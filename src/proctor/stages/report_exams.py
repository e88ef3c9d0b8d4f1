"""The exams of a workspace: its questions of each kind and form, with everybody who took them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from proctor.exam.kind import kind_named
from proctor.exam.kinds.moment_question import MOMENT
from proctor.exam.prediction import Judgement
from proctor.exam.question import Gold, Item
from proctor.exam.scores import score_run
from proctor.exam.table import Resampling, ScoreTable
from proctor.metrics.score import Signature
from proctor.records import is_there, read_json, read_jsonl
from proctor.report.data import Exam, Run
from proctor.stages.exam_settings import ScoreSettings
from proctor.stages.inputs import load_all_items, load_judgements, load_predictions
from proctor.stages.predict import Form, RunInfo, form_of, items_of_run, read_run_info
from proctor.stages.questions import workspace_questions
from proctor.stages.score import benchmark_name, run_judgements, run_likeness
from proctor.workspace import Workspace

__all__ = ["load_exams", "stored_scores"]

_TITLES: Final = {"moment": "moments", "clip": "clips", "documents": "documents"}


def load_exams(workspace: Workspace) -> tuple[Exam, ...]:
    """Return the exams: built items of every kind with the runs over them, and questions of other kinds that could be built.

    Raises:
        UserError: if a file is broken, or a run does not belong to the items.
    """
    built = tuple(_built(workspace))
    return (*built, *_unbuilt(workspace, {exam.kind for exam in built}))


def _built(workspace: Workspace) -> Iterator[Exam]:
    if not is_there(workspace.file("items.jsonl")):
        return
    items = load_all_items(workspace)
    changed = workspace.changed("build")
    again = f"Out of date (build): {' and '.join(changed)} changed since; run proctor build again."
    outdated = (again,) if changed else ()
    groups: dict[tuple[str, Form, str], list[str]] = {}
    for name in workspace.run_names():
        info = read_run_info(workspace.run_folder(name))
        groups.setdefault((info.kind, info.form, info.questions), []).append(name)
    for item in items:  # that nobody has answered yet
        if not any(key[:2] == (item.question.kind, form_of(item)) for key in groups):
            groups[item.question.kind, form_of(item), ""] = []
    for (kind, form, which), names in groups.items():
        own = items_of_run(items, RunInfo(predictor="", kind=kind, form=form, questions=which))
        runs = tuple(_run(workspace, name, own) for name in names)
        yield Exam(*_named(kind, form, which), tuple(own), runs, outdated)


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


def _unbuilt(workspace: Workspace, built: Collection[str]) -> Iterator[Exam]:
    """Yield questions that could be built as they were generated; of moments somebody has to approve first."""
    groups: dict[tuple[str, Form], list[Item]] = {}
    for question in workspace_questions(workspace):
        if question.kind in (MOMENT, *built) or question.provenance.get("set") == "data":
            continue  # a data set's own questions stand under Retrieval until they are built
        golds = tuple(Gold(value=p.value) for p in question.proposals if p.claim == "right")
        item = Item(question=question, golds=golds)
        groups.setdefault((question.kind, form_of(item)), []).append(item)
    for (kind, form), items in groups.items():
        yield Exam(*_named(kind, form, ""), tuple(items), ())


def _named(kind: str, form: Form, which: str) -> tuple[str, str]:
    """Return the id and the title of an exam."""
    parts = (kind, form if form == "choice" else "", which)
    words = (_TITLES.get(kind, kind), "multiple choice" if form == "choice" else "", which)
    return "-".join(filter(None, parts)), ", ".join(filter(None, words))
