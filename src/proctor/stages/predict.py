"""The stage ``predict``: a predictor answers the benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

from proctor.errors import UserError
from proctor.exam.floors import FLOOR_NAMES, make_floor
from proctor.exam.kinds.moment import KIND, PUBLISHED
from proctor.exam.library import Library, Prompts
from proctor.exam.predict import predict_items
from proctor.exam.prediction import Prediction
from proctor.exam.predictor import ModelPredictor
from proctor.exam.question import Item
from proctor.exam.view import View
from proctor.llm.estimate import Estimate
from proctor.llm.prices import PriceTable
from proctor.procedure.graph import TaskGraph
from proctor.records import content_hash, read_json, write_json, write_jsonl
from proctor.stages.inputs import load_items, load_predictions
from proctor.stages.models import Limits, Models, open_models
from proctor.stages.naming import file_name
from proctor.stages.videos import workspace_videos
from proctor.version import __version__
from proctor.workspace import Workspace, is_there

__all__ = [
    "PREDICTORS",
    "RunInfo",
    "estimate_prediction",
    "items_hash",
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
        privilege: what it saw that a predictor must not; empty for honest ones. A model whose frames are chosen by the
            annotated steps has one, too.
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
    shrink: bool = True,
    seen: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Answer the items of a workspace and write ``runs/<run>/predictions.jsonl``.

    Items that the run has answered already are not asked again, unless the items changed. When a model's run ends early
    (Ctrl-C), what it has answered is kept.

    Args:
        root: the workspace.
        predictor: one of ``PREDICTORS``, or the name of a model (``openai/gpt-4o``).
        run: name of the run; by default the predictor's own, or the model's with its view.
        seed: of the run.
        limit: answer at most so many items.
        view: what a model is shown; question and recipe by default.
        limits: what a model's calls may cost, and where they are kept.
        videos: folder of the recordings' videos (``proctor.stages.videos``); the data set's by default.
        shrink: what is too large for a model's provider is shrunk by a stated rule (``proctor.exam.fitting``), which
            is told in the prediction; False makes it an error before anything is sent.
        seen: called after each item, or each call of a model.

    Returns:
        ``run``, ``items``, ``answered``, ``asked_now``, ``failed``, ``failures`` (how many for each reason), and ``note``
        where another run had the name; for models also ``calls`` and ``shrunk`` (how many for each way).

    Raises:
        UserError: if there are no items or no such predictor, or a model's provider cannot take the view.
    """
    if "/" in predictor:
        options = _ModelOptions(view or View(kind="recipe"), limits, videos, shrink)
        return _predict_with_model(root, predictor, options, run=run, limit=limit, seen=seen)
    workspace = Workspace(root)
    graphs = workspace.graphs()
    items = load_items(workspace, graphs)
    if predictor not in PREDICTORS:
        raise UserError(f"there is no predictor '{predictor}'.", hint=f"known: {', '.join(PREDICTORS)}")
    settings = workspace.settings("predict", {"seed": seed}, {"seed": 0})
    who = make_floor(predictor, items)
    info = RunInfo(
        predictor=who.name,
        role="upper" if predictor == "annotations" else "floor",
        privilege=str(getattr(who, "privilege", "")),
        seed=settings["seed"],
        items=items_hash(items),
        proctor=__version__,
    )
    begun = _Run.begin(workspace, run or predictor, info, items)
    asked = begun.unanswered(limit)
    fresh = predict_items(asked, graphs, who, seed=settings["seed"], progress=seen)
    answers = begun.write(fresh, {"predictor": predictor, **settings})
    workspace.keep("predict", settings)
    return begun.told(answers, len(asked))


class _ModelOptions(NamedTuple):
    """What a model's run has beside the others."""

    view: View
    limits: Limits | None
    videos: Path | None
    shrink: bool


def _predict_with_model(
    root: Path,
    model: str,
    options: _ModelOptions,
    *,
    run: str | None,
    limit: int | None,
    seen: Callable[[], None] | None,
) -> dict[str, Any]:
    workspace = Workspace(root)
    graphs = workspace.graphs()
    items = load_items(workspace, graphs)
    begun = _begin_model(workspace, model, options, run, items)
    asked = begun.unanswered(limit)
    settings: dict[str, Any] = {"predictor": model, "view": options.view.label}
    with open_models(workspace, options.limits) as models:
        who = _predictor(models, workspace, model, options, graphs, items)
        stage = f"predict/{begun.folder.name}"
        models.expect(stage, model, PUBLISHED)
        if options.view.kind == "captions" and asked:
            models.require_prices(options.view.captioner, model)  # before one of them is paid
        settings |= models.remarks()
        ask = models.ask(stage, seen)
        fresh = who.predict(asked, ask, interrupted=lambda there: begun.keep(there, settings))
        calls = models.closing()
    answers = begun.write(fresh, settings)
    return {**begun.told(answers, len(asked)), "calls": calls, "shrunk": _shrunk(answers)}


def _shrunk(predictions: Iterable[Prediction]) -> dict[str, int]:
    """Count what was shrunk by the way it was, each with the reason of its first (numbers of bytes are never equal)."""
    told: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for prediction in predictions:
        if text := prediction.details.get("shrunk"):
            way = text.partition(" (")[0]
            told.setdefault(way, text)
            counts[way] += 1
    return {told[way]: n for way, n in counts.most_common()}


def estimate_prediction(
    root: Path,
    model: str,
    *,
    run: str | None = None,
    limit: int | None = None,
    view: View | None = None,
    limits: Limits | None = None,
    videos: Path | None = None,
    shrink: bool = True,
) -> Estimate:
    """Say what a model's predictions would take, from the real prompts; nothing is sent.

    Args:
        root: the workspace.
        model: its name.
        run: as ``predict``, and so are all others.
        limit: answer at most so many items.
        view: what the model is shown.
        limits: where calls and prices are kept.
        videos: folder of the recordings' videos.
        shrink: whether what is too large is shrunk.

    Raises:
        UserError: as ``predict``.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    items = load_items(workspace, graphs)
    options = _ModelOptions(view or View(kind="recipe"), limits, videos, shrink)
    begun = _begin_model(workspace, model, options, run, items)
    with open_models(workspace, limits) as models:
        who = _predictor(models, workspace, model, options, graphs, items)
        return models.estimate([(f"predict/{begun.folder.name}", who.requests(begun.unanswered(limit)))])


def run_name(model: str, view: View) -> str:
    """Return the name of a model's run: the model without its address, and what it is shown."""
    return file_name(f"{model} {view.label}")


def _begin_model(
    workspace: Workspace, model: str, options: _ModelOptions, run: str | None, items: Sequence[Item]
) -> _Run:
    view = options.view
    info = RunInfo(
        predictor=f"{model} ({view.label})",
        # Who sees nothing of the recording is a blind floor, whatever the model: the report draws scores against it.
        role="system" if view.sees_video else "floor",
        privilege=view.privilege,
        items=items_hash(items),
        view=view,
    )
    return _Run.begin(workspace, run or run_name(model, view), info, items, shrunk=options.shrink)


def _predictor(
    models: Models,
    workspace: Workspace,
    model: str,
    options: _ModelOptions,
    graphs: Mapping[str, TaskGraph],
    items: Sequence[Item],
) -> ModelPredictor[View]:
    """Return a model as a predictor of this workspace."""
    own = options.limits.prices if options.limits is not None else None
    prices = PriceTable.load(own) if own else PriceTable.load()
    videos = workspace_videos(workspace, options.videos, {i.question.cluster for i in items})
    library = Library(media=models.media, graphs=graphs, videos=videos)
    KIND.require([], options.view, library, model)
    return ModelPredictor(
        kind=KIND,
        view=options.view,
        models={"answer": model} | ({"captioner": options.view.captioner} if options.view.captioner else {}),
        library=library,
        prompts=Prompts(models.prompts, models.secret),
        shrink=options.shrink,
        price=models.price,
        context=lambda name: found.context if (found := prices.find(name)) is not None else None,
    )


@dataclass(frozen=True, slots=True)
class _Run:
    """A run that is begun or gone on with.

    Attributes:
        workspace: whose.
        folder: of the run.
        info: what it is.
        items: what is to be answered.
        before: predictions that it has, failed ones included.
        note: what the user should know of files that were there.
    """

    workspace: Workspace
    folder: Path
    info: RunInfo
    items: Sequence[Item]
    before: Mapping[str, Prediction]
    note: str = ""

    @classmethod
    def begin(
        cls, workspace: Workspace, name: str, info: RunInfo, items: Sequence[Item], *, shrunk: bool = True
    ) -> _Run:
        """Look for what the run has answered: nothing when it was a run of something else.

        Args:
            workspace: whose.
            name: of the run.
            info: what it is.
            items: what is to be answered.
            shrunk: False for a run that does not go on with answers to what was shrunk.

        Raises:
            UserError: if its files cannot be read.
        """
        folder = workspace.run_folder(name)
        if not is_there(folder / "predictions.jsonl") or not is_there(folder / "run.json"):
            return cls(workspace, folder, info, items, {})
        there = read_run_info(folder)
        if there != info:
            return cls(workspace, folder, info, items, {}, _replaced(name, there, info))
        found = load_predictions(folder, items)
        # A run that was killed may have written its answers and not yet what it is.
        mine = [p for p in found if p.predictor == info.predictor and (shrunk or "shrunk" not in p.details)]
        return cls(workspace, folder, info, items, {p.item_id: p for p in mine})

    def unanswered(self, limit: int | None) -> list[Item]:
        """Return the items that have no answer yet; failed ones are asked again."""
        done = {item_id for item_id, p in self.before.items() if p.failure is None}
        return [item for item in self.items if item.id not in done][:limit]

    def write(self, fresh: Iterable[Prediction], settings: Mapping[str, Any]) -> list[Prediction]:
        """Write what was answered before and now, and what the run is; return all predictions."""
        by_id = {**self.before, **{p.item_id: p for p in fresh}}
        answers = [by_id[item.id] for item in self.items if item.id in by_id]
        # The answers come first: a run that is killed in between is then begun anew, not gone on with as another's.
        write_jsonl(self.folder / "predictions.jsonl", answers)
        write_json(self.folder / "run.json", self.info)
        self.workspace.record(
            f"predict/{self.folder.name}",
            settings=dict(settings),
            counts={"answered": len(answers)},
            inputs=("items.jsonl", "graphs.json"),
            outputs=(f"runs/{self.folder.name}/predictions.jsonl",),
        )
        return answers

    def keep(self, fresh: Sequence[Prediction], settings: Mapping[str, Any]) -> None:
        """Write what a run that ends early has answered, if it is anything."""
        if fresh:
            self.write(fresh, settings)

    def told(self, answers: Sequence[Prediction], asked: int) -> dict[str, Any]:
        """Return the closing line."""
        failures = Counter(p.failure.partition(":")[0][:40] for p in answers if p.failure is not None)
        told: dict[str, Any] = {
            "run": self.folder.name,
            "items": len(self.items),
            "answered": len(answers),
            "asked_now": asked,
            "failed": failures.total(),
            "failures": dict(failures.most_common()),
        }
        return told | ({"note": self.note} if self.note else {})


def _replaced(name: str, there: RunInfo, now: RunInfo) -> str:
    """Return in words why what a run had answered is not gone on with."""
    if there.predictor != now.predictor:
        return f"run '{name}' held answers of {there.predictor}; they are replaced"
    if there.items != now.items:
        return f"the items have changed since run '{name}' was begun; all are asked again"
    return f"run '{name}' was begun by other settings or another version; all are asked again"
