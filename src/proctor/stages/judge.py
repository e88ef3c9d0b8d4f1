"""The stage ``judge``: predictions to judgements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.compute import HERE, Place, batches, map_items
from proctor.errors import UserError
from proctor.exam.judge import RuleJudge, judge_predictions
from proctor.exam.judge_prompt import SCALES, Rubric
from proctor.exam.kinds.moment_marker import RubricMarker
from proctor.exam.library import Library, Prompts
from proctor.exam.marker import ModelMarker
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item
from proctor.exam.verdict.reply import read_verdict
from proctor.llm.estimate import Estimate
from proctor.llm.message import Request
from proctor.procedure.graph import TaskGraph
from proctor.records import iter_jsonl, write_jsonl
from proctor.stages.inputs import load_items, load_predictions
from proctor.stages.models import Limits, Models, open_models
from proctor.stages.naming import file_name
from proctor.stages.predict import items_hash, read_run_info
from proctor.stages.spread import Packed, pack_graphs, unpack_graphs
from proctor.workspace import Workspace

__all__ = ["chosen_runs", "estimate_judging", "judge", "model_judges", "read_replies"]


class _Given(msgspec.Struct, frozen=True):
    """A line of a file of replies."""

    id: str | int
    reply: str


def read_replies(file: Path, scale: str) -> list[dict[str, Any]]:
    """Return what each reply of a judge model is read as: ``id``, ``score`` or None, ``rule`` and ``reason``.

    Args:
        file: JSON Lines with ``id`` and ``reply``.
        scale: ``ternary`` or ``binary``.

    Raises:
        UserError: for another scale, a line that cannot be read (with its number), or an id that occurs twice.
    """
    chosen = next((known for known in SCALES if known == scale), None)
    if chosen is None:
        raise UserError(f"--scale is {scale!r:.60}.", hint=f"one of {', '.join(SCALES)}")
    found: dict[str | int, dict[str, Any]] = {}
    replies: Iterator[_Given] = iter_jsonl(file, _Given)
    for given in replies:
        if given.id in found:
            raise UserError(
                f"the id {given.id!r:.100} occurs twice.",
                where=str(file),
                hint="give each reply an id of its own",
            )
        read = read_verdict(given.reply, chosen)
        found[given.id] = {
            "id": given.id,
            "score": read.score,
            "rule": read.form or read.reason,
            "reason": read.detail,
        }
    return list(found.values())


_AT_ONCE: Final = 200
"""Answers that are sent to a worker together."""


def judge(
    root: Path,
    runs: Sequence[str] = (),
    *,
    judge: str = "rules",
    rubric: Rubric | None = None,
    repeats: int = 1,
    limits: Limits | None = None,
    place: Place = HERE,
    seen: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Mark the answers of runs and write ``runs/<run>/judgements.jsonl``.

    A model's marks are also kept under ``runs/<run>/judgements/<judge>.jsonl``, one file a judge, rubric and repetition,
    so that judges can be compared; ``judgements.jsonl`` holds the marks that scores are made of: those of the last judge.

    Args:
        root: the workspace.
        runs: names; all runs by default.
        judge: ``rules``, or the name of a model (``openai/gpt-4o``).
        rubric: how a model is asked; ternary with the performed steps by default, as published.
        repeats: how many times a model is asked the same.
        limits: what a model's calls may cost, and where they are kept.
        place: where the rules run; their marks are the same everywhere.
        seen: called after each answer, or each call of a model.

    Raises:
        UserError: if there are no runs, no such judge, or a run answered other items.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    items = load_items(workspace, graphs)
    if _is_model(judge):
        return _judge_with_model(
            workspace, graphs, items, runs, judge, rubric or Rubric(), repeats, limits, seen
        )
    marker, result, by_id = RuleJudge(), {}, {item.id: item for item in items}
    mark = partial(_marked, marker, pack_graphs(graphs))
    for name in chosen_runs(workspace, runs):
        folder = workspace.run_folder(name)
        _require_same_items(folder, items)
        predictions = load_predictions(folder, items)
        marks: list[Judgement] = []
        answers = batches(((by_id[p.item_id], p) for p in predictions), _AT_ONCE)
        for outcome in map_items(mark, (Packed(batch, _Answers) for batch in answers), place):
            marks += outcome.value.value
            if seen is not None:
                for _ in outcome.item.value:
                    seen()
        write_jsonl(folder / "judgements.jsonl", marks)
        result[name] = _count(marks)
        workspace.record(
            f"judge/{name}",
            settings={"judge": marker.name},
            counts=result[name],
            inputs=("items.jsonl", "graphs.json", f"runs/{name}/predictions.jsonl"),
            outputs=(f"runs/{name}/judgements.jsonl",),
        )
    return {"judge": marker.name, "runs": result}


_Answers = tuple[tuple[Item, Prediction], ...]


def _marked(marker: RuleJudge, graphs: bytes, answers: Packed[_Answers]) -> Packed[list[Judgement]]:
    items, predictions = zip(*answers.value, strict=True)
    marks = list(judge_predictions(items, unpack_graphs(graphs), predictions, marker))
    return Packed(marks, list[Judgement])


def _judge_with_model(
    workspace: Workspace,
    graphs: Mapping[str, TaskGraph],
    items: Sequence[Item],
    runs: Sequence[str],
    model: str,
    rubric: Rubric,
    repeats: int,
    limits: Limits | None,
    seen: Callable[[], None] | None,
) -> dict[str, Any]:
    result: dict[str, dict[str, int]] = {}
    with open_models(workspace, limits) as models:
        judges, asked = model_judges(models, model, rubric, graphs, repeats), items
        for name in chosen_runs(workspace, runs):
            folder = workspace.run_folder(name)
            _require_same_items(folder, items)
            predictions = load_predictions(folder, items)
            for who in reversed(judges):  # the first one is the one that scores are made of
                marks = who.mark(asked, predictions, models.ask(f"judge/{name}", seen))
                write_jsonl(folder / "judgements" / f"{file_name(who.name)}.jsonl", marks)
            write_jsonl(folder / "judgements.jsonl", marks)
            result[name] = _count(marks)
            workspace.record(
                f"judge/{name}",
                settings={"judge": judges[0].name, "repeats": repeats},
                counts={**result[name], **models.remarks()},
                inputs=("items.jsonl", "graphs.json", f"runs/{name}/predictions.jsonl"),
                outputs=(f"runs/{name}/judgements.jsonl",),
            )
        return {"judge": judges[0].name, "runs": result, "calls": models.closing()}


def estimate_judging(
    root: Path,
    runs: Sequence[str] = (),
    *,
    judge: str = "rules",
    rubric: Rubric | None = None,
    repeats: int = 1,
    limits: Limits | None = None,
) -> Estimate | None:
    """Say what a model's marks would take, from the real prompts; nothing is sent. None for rules: they ask nobody.

    The second round, for replies without a verdict, is not in it.

    Raises:
        UserError: as ``judge``.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    items = load_items(workspace, graphs)
    if not _is_model(judge):
        return None
    with open_models(workspace, limits) as models:
        judges, asked = model_judges(models, judge, rubric or Rubric(), graphs, repeats), items

        def stages() -> Iterator[tuple[str, Iterable[Request]]]:
            for name in chosen_runs(workspace, runs):
                folder = workspace.run_folder(name)
                _require_same_items(folder, items)
                predictions = load_predictions(folder, items)
                for who in judges:
                    yield f"judge/{name}", who.requests(asked, predictions)

        return models.estimate(stages())


def model_judges(
    models: Models, model: str, rubric: Rubric, graphs: Mapping[str, TaskGraph], repeats: int = 1
) -> list[ModelMarker]:
    """Return a model as judge of this workspace, once for each repetition.

    Raises:
        UserError: if there is no repetition.
    """
    if repeats < 1:
        raise UserError(f"{repeats} repeats were asked for, but at least one is needed.")
    library, prompts = Library(media=models.media, graphs=graphs), Prompts(models.prompts, models.secret)
    return [
        ModelMarker(
            model=model,
            marker=RubricMarker(rubric),
            library=library,
            prompts=prompts,
            repeat=k,
            price=models.price,
        )
        for k in range(repeats)
    ]


def _is_model(judge: str) -> bool:
    """Tell a model from the rules.

    Raises:
        UserError: if it is neither.
    """
    if "/" not in judge and judge != "rules":
        raise UserError(
            f"there is no judge '{judge}'.", hint="known: rules, or a model such as openai/gpt-4o-2024-08-06"
        )
    return "/" in judge


def chosen_runs(workspace: Workspace, names: Sequence[str]) -> list[str]:
    """Return the runs that were named, or all.

    Raises:
        UserError: if there is none, or one that was named has no predictions.
    """
    known = workspace.run_names()
    if not known:
        raise UserError(
            "there are no runs yet.",
            where=str(workspace.root),
            hint=f"run first: proctor predict {workspace.root}",
        )
    unknown = [n for n in names if n not in known]
    if unknown:
        raise UserError(
            f"there is no run '{unknown[0]}'.", where=str(workspace.runs), hint=f"known: {', '.join(known)}"
        )
    return list(names) or known


def _require_same_items(folder: Path, items: Sequence[Item]) -> None:
    if read_run_info(folder).items != items_hash(items):
        raise UserError(
            f"the run '{folder.name}' answered other items than items.jsonl holds now.",
            where=str(folder),
            hint="run 'proctor predict' again for this benchmark",
        )


def _count(marks: Sequence[Judgement]) -> dict[str, int]:
    names = {0: "wrong", 1: "partial", 2: "match", None: "unscored"}
    return dict(Counter(names[m.score] for m in marks))
