"""The stage ``predict``: a predictor answers the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from proctor.benchmark.item import Item
from proctor.errors import UserError
from proctor.evaluate.floors import FLOOR_NAMES, make_floor
from proctor.evaluate.predict import predict_items
from proctor.evaluate.prediction import Prediction
from proctor.records import content_hash, read_json, write_json, write_jsonl
from proctor.stages.inputs import load_items, load_predictions
from proctor.version import __version__
from proctor.workspace import Workspace, is_there

__all__ = ["PREDICTORS", "RunInfo", "items_hash", "predict", "read_run_info"]

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
    """

    predictor: str
    role: Literal["floor", "system", "human", "upper"] = "system"
    privilege: str = ""
    seed: int = 0
    items: str = ""
    proctor: str = ""


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
    seen: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Answer the items of a workspace and write ``runs/<run>/predictions.jsonl``.

    Items that the run has answered already are not asked again, unless the items changed.

    Args:
        root: the workspace.
        predictor: one of ``PREDICTORS``.
        run: name of the run; the predictor's own by default.
        seed: of the run.
        limit: answer at most so many items.
        seen: called after each item.

    Raises:
        UserError: if there are no items or no such predictor.
    """
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


def _answered(folder: Path, info: RunInfo, items: Sequence[Item]) -> list[Prediction]:
    """Return the answers that the run has already; none when it was a run of something else."""
    path = folder / "predictions.jsonl"
    if not is_there(path) or not is_there(folder / "run.json") or read_run_info(folder) != info:
        return []
    return [p for p in load_predictions(folder, items) if p.failure is None]
