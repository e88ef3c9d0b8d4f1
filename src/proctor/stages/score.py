"""The stage ``score``: judgements to scores with intervals, and runs compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from proctor.compute import HERE, Place, map_items
from proctor.errors import UserError
from proctor.exam.corrected import CorrectedScore
from proctor.exam.kinds.moment import KIND
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item
from proctor.exam.scores import score_run
from proctor.exam.table import Resampling, ScoreTable, compare_tables
from proctor.metrics.significance import Comparison
from proctor.records import write_json
from proctor.stages.calibrate import corrected_scores, load_calibration, load_evidence
from proctor.stages.inputs import load_items, load_judgements, load_predictions
from proctor.stages.judge import chosen_runs
from proctor.stages.predict import read_run_info
from proctor.stages.spread import Packed
from proctor.workspace import Workspace, is_there

__all__ = ["DEFAULTS", "ScoredRuns", "score"]

DEFAULTS: dict[str, Any] = {"confidence": 0.95, "resamples": 10_000, "seed": 0}


class ScoredRuns(msgspec.Struct, frozen=True, omit_defaults=True):
    """The scores of every run, best first, and every pair of runs compared.

    ``corrected`` holds what the runs would score if people had judged, one for each judge and template; it is empty
    in a workspace without a calibration.
    """

    tables: dict[str, ScoreTable]
    comparisons: tuple[Comparison, ...]
    corrected: dict[str, tuple[CorrectedScore, ...]] = {}


def score(
    root: Path,
    runs: Sequence[str] = (),
    *,
    confidence: float | None = None,
    resamples: int | None = None,
    seed: int | None = None,
    place: Place = HERE,
) -> ScoredRuns:
    """Score runs and write ``runs/<run>/scores.json`` and ``comparisons.json``.

    In a workspace with a ``calibration.json`` the runs get corrected scores, too.

    Args:
        root: the workspace.
        runs: names; all runs by default.
        confidence: level of the intervals, in (0, 1).
        resamples: of the bootstrap.
        seed: of the bootstrap.
        place: where the bootstrap of each run runs; the numbers are the same everywhere.

    Raises:
        UserError: if a run is not judged yet, or a setting is out of range.
    """
    workspace = Workspace(root)
    items = load_items(workspace, workspace.graphs())
    given = {"confidence": confidence, "resamples": resamples, "seed": seed}
    settings = workspace.settings("score", given, DEFAULTS)
    if not 0 < settings["confidence"] < 1:
        raise UserError(
            f"the confidence is {settings['confidence']}.", hint="give a level between 0 and 1, such as 0.95"
        )
    if settings["resamples"] < 100:
        raise UserError(f"{settings['resamples']} resamples are too few.", hint="give 100 or more")
    marked = (Packed(_marked(workspace, items, n), _Marked) for n in chosen_runs(workspace, runs))
    work = partial(_scored, Packed(items, list[Item]), benchmark_name(workspace), settings)
    tables: dict[str, ScoreTable] = {}
    for outcome in map_items(work, marked, place, name=lambda run: run.value.name):
        table = tables[outcome.name] = outcome.value.value
        write_json(workspace.run_folder(outcome.name) / "scores.json", table)
    ordered = sorted(tables.items(), key=lambda pair: -(pair[1].row("all").value or 0.0))
    compared = [msgspec.structs.replace(table, predictor=name) for name, table in ordered]
    comparisons = compare_tables(compared, Resampling(**settings)) if len(compared) > 1 else ()
    write_json(workspace.file("comparisons.json"), comparisons)
    corrected = _corrected(workspace, items, [name for name, _ in ordered])
    workspace.keep("score", settings)
    return ScoredRuns(dict(ordered), comparisons, corrected)


class _Marked(NamedTuple):
    name: str
    privilege: str
    predictions: list[Prediction]
    judgements: list[Judgement]


def _marked(workspace: Workspace, items: Sequence[Item], name: str) -> _Marked:
    folder = workspace.run_folder(name)
    if not is_there(folder / "judgements.jsonl"):
        raise UserError(
            f"the run '{name}' is not judged yet.",
            where=str(folder / "judgements.jsonl"),
            hint=f"run first: proctor judge {workspace.root}",
        )
    predictions, judgements = load_predictions(folder, items), load_judgements(folder, items)
    if changed := workspace.changed(f"judge/{name}"):
        raise UserError(
            f"the run '{name}' was judged before {' and '.join(changed)} changed.",
            where=str(folder),
            hint=f"run again: proctor judge {workspace.root}",
        )
    return _Marked(name, read_run_info(folder).privilege, predictions, judgements)


def _scored(
    items: Packed[list[Item]], benchmark: str, settings: Mapping[str, Any], marked: Packed[_Marked]
) -> Packed[ScoreTable]:
    run = marked.value
    table = score_run(
        KIND, items.value, run.predictions, {KIND.measured.judge: run.judgements},
        benchmark=benchmark, privilege=run.privilege, resampling=Resampling(**settings),
    )  # fmt: skip
    return Packed(table, ScoreTable)


def _corrected(
    workspace: Workspace, items: Sequence[Item], runs: Sequence[str]
) -> dict[str, tuple[CorrectedScore, ...]]:
    """Correct the scores by the workspace's calibration, where it has one, and write ``runs/<run>/corrected.json``."""
    calibration = load_calibration(workspace, items)
    if calibration is None:
        return {}
    corrected = corrected_scores(calibration, load_evidence(workspace, items), runs)
    for name, scores in corrected.items():
        write_json(workspace.run_folder(name) / "corrected.json", scores)
    return corrected


def benchmark_name(workspace: Workspace) -> str:
    """Return ``name@version`` of the benchmark as it was built."""
    record = workspace.stages().get("build")
    settings = record.settings if record else {"version": "unbuilt"}
    return f"{settings.get('name', 'benchmark')}@{settings.get('version', '')}"
