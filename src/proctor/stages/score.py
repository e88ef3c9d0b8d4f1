"""The stage ``score``: runs of every kind to scores with intervals, and those that can be compared, compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from proctor.compute import HERE, Place, map_items
from proctor.errors import UserError
from proctor.exam.corrected import CorrectedScore
from proctor.exam.kind import Kind, kind_named
from proctor.exam.likeness import bert_measure, rouge_measure
from proctor.exam.matching import is_matched
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Choice, Item
from proctor.exam.scores import score_run
from proctor.exam.table import Measure, Rank, Resampling, ScoreRow, ScoreTable, compare_alike, rank_rows
from proctor.metrics.significance import Comparison
from proctor.records import read_json, write_json
from proctor.stages.calibrate import corrected_scores, load_calibration, load_evidence
from proctor.stages.exam_library import LACKING
from proctor.stages.exam_settings import ScoreSettings
from proctor.stages.inputs import load_all_items, load_judgements, load_predictions
from proctor.stages.judge import chosen_runs
from proctor.stages.predict import RunInfo, items_hash, items_of_run, read_run_info
from proctor.stages.spread import Packed
from proctor.tables import Shown
from proctor.workspace import Workspace, is_there

__all__ = [
    "RunScore",
    "ScoredRuns",
    "benchmark_name",
    "lacking_text",
    "run_judgements",
    "run_likeness",
    "score",
    "scored_tables",
]


class RunScore(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the leaderboard: a run's score over all questions, with its bounds.

    Attributes:
        run: its name.
        kind: of its questions.
        role: ``system``, ``human``, ``floor`` or ``upper``.
        rank: 1 for the best of the runs over the same questions with the same judge; None for floors, bounds and what has too
            few marks.
        why: why it has too few marks to be ranked; empty for others.
        measure: what ``score`` is: ``judge``, ``accuracy``, ``consistency``.
        judge: who gave the marks.
        unit: what is right in the unit of ``score``, ``low`` and ``high``: 100 for points of a judge, 1 for shares.
        score: mean of the marks there are, what failed left out; None without any.
        low: the same with every question as wrong that failed, was not marked or never asked.
        high: the same with all of these as right.
        coverage: share of the questions that were answered and marked, from 0 to 1.
        questions: how many there are.
        failed: how many of them were asked and have no answer or no mark.
        skipped: how many were never asked.
        interval: ends of the interval of ``score``; None without one.
    """

    run: str
    kind: str
    role: str
    rank: int | None
    why: str
    measure: str
    judge: str
    unit: float
    score: float | None
    low: float | None
    high: float | None
    coverage: float
    questions: int
    failed: int
    skipped: int
    interval: tuple[float, float] | None


class ScoredRuns(Shown, msgspec.Struct, frozen=True, omit_defaults=True):
    """The scores of every run, best first within its kind, and every pair of runs compared that can be.

    Attributes:
        runs: the leaderboard: within a kind those ranked first, then those with too few marks.
        tables: by run, in the same order.
        comparisons: of every two runs over the same items with the same measure and judge; p-values are corrected over all pairs
            of such a group.
        corrected: what runs would score if people had judged, one for each judge and template; of kinds with a calibration.
        kinds: of each run.
        roles: of each run: ``system``, ``floor`` or ``bound``.
        lacking: which questions are in no score, since what they cite is not there; empty for none.
    """

    runs: tuple[RunScore, ...]
    tables: dict[str, ScoreTable]
    comparisons: tuple[Comparison, ...]
    corrected: dict[str, tuple[CorrectedScore, ...]] = {}
    kinds: dict[str, str] = {}
    roles: dict[str, str] = {}
    lacking: str = ""


def score(root: Path, settings: ScoreSettings | None = None, *, place: Place = HERE) -> ScoredRuns:
    """Score runs and write ``runs/<run>/scores.json`` and ``comparisons.json``.

    In a workspace with a calibration the runs of its kind get corrected scores, too.

    Args:
        root: the workspace.
        settings: which runs, and how intervals are drawn; those of the workspace by default.
        place: where the bootstrap of each run runs; the numbers are the same everywhere.

    Raises:
        UserError: if a run is not judged yet, or answered other items.
    """
    workspace = Workspace(root)
    settings = settings or workspace.resolve(ScoreSettings)
    items, how = load_all_items(workspace), Resampling(**settings.resampling)
    marked = {n: _marked(workspace, items, n) for n in chosen_runs(workspace, settings.runs)}
    work = partial(_scored, Packed(items, list[Item]), benchmark_name(workspace), how, settings.bert_score)
    tables: dict[str, ScoreTable] = {}
    runs = (Packed(run, _Marked) for run in marked.values())
    for outcome in map_items(work, runs, place, name=lambda run: run.value.name):
        table = tables[outcome.name] = outcome.value.value
        write_json(workspace.run_folder(outcome.name) / "scores.json", table)
    kinds = {name: run.info.kind for name, run in marked.items()}
    board = tuple(_board(tables, {name: run.info for name, run in marked.items()}, settings.min_coverage))
    ordered = {line.run: tables[line.run] for line in board}
    named = [msgspec.structs.replace(table, predictor=name) for name, table in tables.items()]
    named.sort(key=lambda table: -(table.row().value or 0.0))
    comparisons = compare_alike(named, how)
    write_json(workspace.file("comparisons.json"), comparisons)
    corrected = _corrected(workspace, items, kinds, list(ordered))
    workspace.keep("score", {**settings.resampling, "min_coverage": settings.min_coverage})
    return ScoredRuns(
        runs=board,
        tables=ordered,
        comparisons=comparisons,
        corrected=corrected,
        kinds={name: kinds[name] for name in ordered},
        roles={name: marked[name].info.role for name in ordered},
        lacking=lacking_text(workspace),
    )


# -- one run -------------------------------------------------------------------------------------------------------


class _Marked(msgspec.Struct, frozen=True):
    """A run with what was said of its answers, by measure."""

    name: str
    info: RunInfo
    predictions: list[Prediction]
    judgements: dict[str, list[Judgement]]


def _marked(workspace: Workspace, items: Sequence[Item], name: str) -> _Marked:
    folder = workspace.run_folder(name)
    info = read_run_info(folder)
    asked, again = items_of_run(items, info), f"run again: proctor judge {workspace.root}"
    if info.items != items_hash(asked):
        raise UserError(
            f"the run '{name}' answered other items than items.jsonl holds now.",
            where=str(folder),
            hint="run 'proctor predict' again for this benchmark",
        )
    predictions = load_predictions(folder, asked)
    kind = kind_named(info.kind)
    if kind.measured.computed:
        return _Marked(name, info, predictions, {})
    if info.form == "choice":  # read from the replies; judgements say which options a model matched
        matched = run_judgements(kind, folder, asked) if is_there(folder / "judgements.jsonl") else {}
        if matched:
            _require_fresh(workspace, name, again)
        return _Marked(name, info, predictions, matched)
    if not is_there(folder / "judgements.jsonl"):
        if kind.measured.likeness:  # which asks no judge
            return _Marked(name, info, predictions, {})
        raise UserError(
            f"the run '{name}' is not judged yet.",
            where=str(folder / "judgements.jsonl"),
            hint=f"run first: proctor judge {workspace.root}",
        )
    _require_fresh(workspace, name, again)
    return _Marked(name, info, predictions, run_judgements(kind, folder, asked))


def _require_fresh(workspace: Workspace, name: str, again: str) -> None:
    if changed := workspace.changed(f"judge/{name}"):
        raise UserError(
            f"the run '{name}' was judged before {' and '.join(changed)} changed.",
            where=str(workspace.run_folder(name)),
            hint=again,
        )


def run_judgements(kind: Kind[Any], folder: Path, items: Sequence[Item]) -> dict[str, list[Judgement]]:
    """Return the marks that scores are made of by measure: of the last judge, and of further ones where the kind shows them.

    Choices are read from the replies themselves; of them there are marks only if a model matched some (``accuracy``).

    Raises:
        UserError: if a file is missing or broken, or a judgement does not fit the items.
    """
    if any(isinstance(item.question.form, Choice) for item in items):
        read = load_judgements(folder, items)
        return {"accuracy": read} if is_matched(read) else {}
    found: dict[str, list[Judgement]] = {}
    seen: set[str] = set()
    paths = sorted(folder.glob("judgements/*.jsonl")) if kind.measured.rubrics else []
    for path in (folder / "judgements.jsonl", *paths):
        made = load_judgements(folder, items, path.relative_to(folder).as_posix())
        judge = made[0].judge if made else ""
        if judge in seen or (made and made[0].details.get("repeat", "0") != "0"):
            continue
        seen.add(judge)
        said = next(
            (m.details for m in made if "rubric" in m.details), {}
        )  # marks of failed answers have none
        name = kind.measured.rubrics.get(said.get("rubric", ""), kind.measured.judge)
        found[name if name not in found else f"{name} {said.get('model', judge)}"] = made
    order = list(kind.measured.rubrics.values())
    return dict(
        sorted(found.items(), key=lambda pair: [pair[0].startswith(name) for name in order], reverse=True)
    )


def _scored(
    items: Packed[list[Item]], benchmark: str, how: Resampling, bert_score: str, marked: Packed[_Marked]
) -> Packed[ScoreTable]:
    run = marked.value
    kind, asked = kind_named(run.info.kind), items_of_run(items.value, run.info)
    likeness = [] if run.info.form == "choice" else run_likeness(kind, asked, run.predictions, bert_score)
    table = score_run(
        kind, asked, run.predictions, run.judgements, likeness, benchmark=benchmark,
        privilege=run.info.privilege, resampling=how,
    )  # fmt: skip
    return Packed(table, ScoreTable)


def run_likeness(
    kind: Kind[Any], items: Sequence[Item], predictions: Sequence[Prediction], bert_score: str = ""
) -> list[Measure]:
    """Return the measures of answers in words that need no judge, where the kind shows them.

    Args:
        kind: of the items.
        items: with references.
        predictions: answers to them.
        bert_score: folder of a model; empty leaves BERTScore out.

    Raises:
        UserError: if the model cannot be used.
    """
    if not kind.measured.likeness:
        return []
    found = [rouge_measure(items, predictions)]
    return [*found, bert_measure(items, predictions, Path(bert_score))] if bert_score else found


# -- all runs ------------------------------------------------------------------------------------------------------


def _board(
    tables: Mapping[str, ScoreTable], infos: Mapping[str, RunInfo], min_coverage: float
) -> Iterator[RunScore]:
    """Yield the leaderboards of all kinds, one after the other; runs over other questions of a kind are ranked apart."""
    exams: dict[str, dict[tuple[str, str], dict[str, ScoreRow]]] = {}
    for name, table in tables.items():
        row, info = table.row(), infos[name]
        exams.setdefault(info.kind, {}).setdefault((row.measure, info.items), {})[name] = row
    for kind, alike in exams.items():
        ranks: dict[str, Rank] = {}
        for rows in alike.values():
            competing = [name for name in rows if infos[name].role in ("system", "human")]
            ranks |= rank_rows(rows, competing, min_coverage)
        # rank_rows ordered each group; over all groups what is ranked goes before what is not
        for name in sorted(ranks, key=lambda name: bool(ranks[name].why)):
            row = tables[name].row()
            yield RunScore(
                run=name,
                kind=kind,
                role=infos[name].role,
                rank=ranks[name].place,
                why=ranks[name].why,
                measure=row.measure,
                judge=row.judge,
                unit=row.full,
                score=row.value,
                low=row.least,
                high=row.most,
                coverage=row.coverage,
                questions=row.asked,
                failed=row.failed,
                skipped=row.skipped,
                interval=None if row.low is None or row.high is None else (row.low, row.high),
            )


def _corrected(
    workspace: Workspace, items: Sequence[Item], kinds: Mapping[str, str], runs: Sequence[str]
) -> dict[str, tuple[CorrectedScore, ...]]:
    """Correct the scores by the calibration of each kind that has one, and write ``runs/<run>/corrected.json``."""
    found: dict[str, tuple[CorrectedScore, ...]] = {}
    for kind in dict.fromkeys(kinds.values()):
        if (calibration := load_calibration(workspace, items, kind)) is not None:
            evidence = load_evidence(workspace, items, kind)
            found |= corrected_scores(calibration, evidence, [n for n in runs if kinds[n] == kind])
    for name, scores in found.items():
        write_json(workspace.run_folder(name) / "corrected.json", scores)
    return found


def scored_tables(workspace: Workspace, kind: str) -> Iterator[tuple[RunInfo, ScoreTable]]:
    """Yield the scores of the runs over today's items of a kind, as they were written.

    Raises:
        UserError: if a file is broken.
    """
    folders = [workspace.run_folder(name) for name in workspace.run_names()]
    infos = [(folder, read_run_info(folder)) for folder in folders if is_there(folder / "scores.json")]
    infos = [(folder, info) for folder, info in infos if info.kind == kind]
    items = load_all_items(workspace) if infos and is_there(workspace.file("items.jsonl")) else []
    for folder, info in infos:
        if info.items == items_hash(items_of_run(items, info)):
            table: ScoreTable = read_json(folder / "scores.json", ScoreTable)
            yield info, table


def lacking_text(workspace: Workspace) -> str:
    """Say in one line which questions are in no score, since the corpus lacks a source that they cite; empty for none."""
    build = workspace.stages().get("build")
    dropped = build.counts.get("dropped", {}) if build is not None else {}
    lacking = dropped.get(LACKING, 0) if isinstance(dropped, dict) else 0
    if not lacking:
        return ""
    return (
        f"{lacking:,} {'question is' if lacking == 1 else 'questions are'} in no score, since the corpus lacks a source that they cite "
        "(build.dropped.jsonl)."
    )


def benchmark_name(workspace: Workspace) -> str:
    """Return ``name@version`` of the benchmark as it was built."""
    record = workspace.stages().get("build")
    settings = record.settings if record else {"version": "unbuilt"}
    return f"{settings.get('name', 'benchmark')}@{settings.get('version', '')}"
