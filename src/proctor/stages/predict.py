"""The stage ``predict``: a predictor answers the benchmark."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from proctor.benchmark.item import Item
from proctor.errors import UserError
from proctor.evaluate.floors import FLOOR_NAMES, make_floor
from proctor.evaluate.model_predictor import ModelPredictor
from proctor.evaluate.predict import predict_items
from proctor.evaluate.prediction import Prediction
from proctor.evaluate.view import View
from proctor.llm.estimate import Estimate
from proctor.procedure.graph import TaskGraph
from proctor.records import content_hash, read_json, write_json, write_jsonl
from proctor.stages.inputs import load_items, load_predictions
from proctor.stages.models import Limits, Models, open_models
from proctor.stages.videos import workspace_videos
from proctor.version import __version__
from proctor.workspace import Workspace, is_there

__all__ = [
    "PREDICTORS",
    "RunInfo",
    "estimate_prediction",
    "items_hash",
    "model_predictor",
    "predict",
    "read_run_info",
    "run_name",
]

PREDICTORS: Final = FLOOR_NAMES


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is: who answered, in which role, seeing what, and which items.

    Attributes:
        predictor: name on the predictions.
        role: ``floor``, ``system``, ``human`` or ``upper``.
        privilege: what it saw that a predictor must not; empty for honest ones.
        seed: of the run.
        items: hash of the items that were asked; a run of other items is not gone on with.
        proctor: version of Proctor, because its own predictors may answer differently in another one.
        view: what a model was shown; None for predictors that are no models.
    """

    predictor: str
    role: Literal["floor", "system", "human", "upper"] = "system"
    privilege: str = ""
    seed: int = 0
    items: str = ""
    proctor: str = ""
    view: View | None = None


def items_hash(items: Sequence[Item]) -> str:
    """Return a hash of all items: of what was asked and what counts as right."""
    return content_hash([content_hash(item) for item in items])


def read_run_info(folder: Path) -> RunInfo:
    """Return what a run is.

    Raises:
        UserError: if the run does not say so.
    """
    info: RunInfo = read_json(folder / "run.json", RunInfo)
    return info


def predict(
    root: Path,
    predictor: str,
    *,
    run: str | None = None,
    seed: int | None = None,
    limit: int | None = None,
    view: View | None = None,
    limits: Limits | None = None,
    videos: Path | None = None,
    seen: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Answer the items of a workspace and write ``runs/<run>/predictions.jsonl``.

    Items that the run has answered already are not asked again, unless the items changed.

    Args:
        root: the workspace.
        predictor: one of ``PREDICTORS``, or the name of a model (``openai/gpt-4o``).
        run: name of the run; by default the predictor's own, or the model's with its view.
        seed: of the run.
        limit: answer at most so many items.
        view: what a model is shown; question and recipe by default.
        limits: what a model's calls may cost, and where they are kept.
        videos: folder that the items' video paths are relative to; the data set's by default.
        seen: called after each item, or each call of a model.

    Raises:
        UserError: if there are no items or no such predictor.
    """
    if "/" in predictor:
        return _predict_with_model(
            root, predictor, run=run, limit=limit, view=view or View(kind="recipe"), limits=limits,
            videos=videos, seen=seen,
        )  # fmt: skip
    workspace = Workspace(root)
    graphs = workspace.graphs()
    items = load_items(workspace, graphs)
    if predictor not in PREDICTORS:
        raise UserError(f"there is no predictor '{predictor}'.", hint=f"known: {', '.join(PREDICTORS)}")
    settings = workspace.settings("predict", {"seed": seed}, {"seed": 0})
    who = make_floor(predictor, items)
    folder = workspace.run_folder(run or predictor)
    info = RunInfo(
        predictor=who.name,
        role="upper" if predictor == "annotations" else "floor",
        privilege=str(getattr(who, "privilege", "")),
        seed=settings["seed"],
        items=items_hash(items),
        proctor=__version__,
    )
    path = folder / "predictions.jsonl"
    kept = _answered(folder, info, items)
    done = {p.item_id for p in kept}
    asked = [i for i in items if i.id not in done][:limit]
    fresh = predict_items(asked, graphs, who, seed=settings["seed"], progress=seen)
    by_id = {p.item_id: p for p in (*kept, *fresh)}
    # The answers come first: a run that is killed in between is then begun anew, not gone on with as another's.
    write_jsonl(path, [by_id[i.id] for i in items if i.id in by_id])
    write_json(folder / "run.json", info)
    workspace.keep("predict", settings)
    workspace.record(
        f"predict/{folder.name}",
        settings={"predictor": predictor, **settings},
        counts={"answered": len(by_id)},
        inputs=("items.jsonl", "graphs.json"),
        outputs=(f"runs/{folder.name}/predictions.jsonl",),
    )
    failed = sum(p.failure is not None for p in by_id.values())
    return {
        "run": folder.name,
        "items": len(items),
        "answered": len(by_id),
        "asked_now": len(asked),
        "failed": failed,
    }


def _predict_with_model(
    root: Path,
    model: str,
    *,
    run: str | None,
    limit: int | None,
    view: View,
    limits: Limits | None,
    videos: Path | None,
    seen: Callable[[], None] | None,
) -> dict[str, Any]:
    workspace = Workspace(root)
    graphs = workspace.graphs()
    items = load_items(workspace, graphs)
    folder = workspace.run_folder(run or run_name(model, view))
    # Who sees nothing of the recording is a blind floor, whatever the model: the report draws scores against it.
    role: Literal["floor", "system"] = "system" if view.sees_video else "floor"
    info = RunInfo(predictor=f"{model} ({view.label})", role=role, items=items_hash(items), view=view)
    kept = _answered(folder, info, items)
    done = {p.item_id for p in kept}
    asked = [i for i in items if i.id not in done][:limit]
    with open_models(workspace, limits) as models:
        who = model_predictor(models, workspace, model, view, graphs, videos=videos)
        fresh = who.predict(asked, models.ask(f"predict/{folder.name}", seen))
        calls = models.closing()
    by_id = {p.item_id: p for p in (*kept, *fresh)}
    write_jsonl(folder / "predictions.jsonl", [by_id[i.id] for i in items if i.id in by_id])
    write_json(folder / "run.json", info)
    workspace.record(
        f"predict/{folder.name}",
        settings={"predictor": model, "view": view.label},
        counts={"answered": len(by_id)},
        inputs=("items.jsonl", "graphs.json"),
        outputs=(f"runs/{folder.name}/predictions.jsonl",),
    )
    failed = sum(p.failure is not None for p in by_id.values())
    return {
        "run": folder.name,
        "items": len(items),
        "answered": len(by_id),
        "asked_now": len(asked),
        "failed": failed,
        "calls": calls,
    }


def estimate_prediction(
    root: Path,
    model: str,
    *,
    limit: int | None = None,
    view: View | None = None,
    limits: Limits | None = None,
    videos: Path | None = None,
) -> Estimate:
    """Say what a model's predictions would take, from the real prompts; nothing is sent.

    Raises:
        UserError: as ``predict``.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    items = load_items(workspace, graphs)[:limit]
    view = view or View(kind="recipe")
    with open_models(workspace, limits) as models:
        who = model_predictor(models, workspace, model, view, graphs, videos=videos)
        return models.estimate([(f"predict/{run_name(model, view)}", who.requests(items))])


def run_name(model: str, view: View) -> str:
    """Return the name of a model's run: the model without its address, and what it is shown."""
    bare = re.sub(r"@https?://.*", "", model)
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{bare}-{view.label}").strip("-.")[:120]


def model_predictor(
    models: Models,
    workspace: Workspace,
    model: str,
    view: View,
    graphs: Mapping[str, TaskGraph],
    *,
    videos: Path | None = None,
) -> ModelPredictor:
    """Return a model as a predictor of this workspace."""
    finder = workspace_videos(workspace, videos)
    return ModelPredictor(
        model=model,
        view=view,
        prompts=models.prompts,
        secret=models.secret,
        media=models.media,
        graphs=graphs,
        find_video=lambda example: finder.find(example.recording_id, example.video, height=view.height),
        price=models.price,
    )


def _answered(folder: Path, info: RunInfo, items: Sequence[Item]) -> list[Prediction]:
    """Return the answers that the run has already; none when it was a run of something else."""
    path = folder / "predictions.jsonl"
    if not is_there(path) or not is_there(folder / "run.json") or read_run_info(folder) != info:
        return []
    return [p for p in load_predictions(folder, items) if p.failure is None]
