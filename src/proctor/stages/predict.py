"""The stage ``predict``: models, and systems without one, answer the items of a workspace, of every kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from proctor.errors import UserError, did_you_mean
from proctor.exam.kind import Kind, View, ViewOptions, kind_named
from proctor.exam.kinds.moment_question import FLOOR_NAMES, MOMENT
from proctor.exam.library import Prompts
from proctor.exam.prediction import Prediction
from proctor.exam.predictor import ModelPredictor
from proctor.exam.question import Choice, Item, Order
from proctor.exam.view import View as MomentView
from proctor.llm.estimate import Estimate
from proctor.llm.media import MediaStore
from proctor.llm.model import FUNCTION, PERSON, TRAINED, is_asked
from proctor.llm.outcome import is_settled
from proctor.records import content_hash, file_sha256, read_json, write_json, write_jsonl
from proctor.stages.exam_library import exam_library
from proctor.stages.exam_settings import PredictSettings
from proctor.stages.inputs import load_all_items, load_predictions
from proctor.stages.models import Closing, Limits, Models, open_models
from proctor.stages.naming import file_name
from proctor.stages.rehearsing import in_trial
from proctor.stages.together import Job, side_by_side
from proctor.tables import Shown
from proctor.version import __version__
from proctor.workspace import Workspace, is_there

if TYPE_CHECKING:
    from proctor.exam.function import Answering, Function
    from proctor.stages.answers import Answers
    from proctor.stages.show import Show

__all__ = [
    "PREDICTORS",
    "AnswersIn",
    "Form",
    "Predicted",
    "RunInfo",
    "count_answers",
    "estimate_prediction",
    "floor_names",
    "form_of",
    "full_run_name",
    "import_predictions",
    "items_hash",
    "items_of_run",
    "predict",
    "predict_with_several",
    "read_run_info",
    "run_inputs",
    "run_name",
]

PREDICTORS: Final = FLOOR_NAMES
"""Systems without a model of questions about moments."""

Form = Literal["open", "choice", "order"]


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
        view: what a model was shown of moments; None for predictors that are no models, and for other kinds.
        kind: of the items.
        form: of the items: answered in words, by one of their options, or by putting things into order.
        questions: the set that the items are of; empty for all.
        show: what a model was shown, where the kind is another one: the label of its view.
        source: hash of the file that the answers were read from, or of the module of the function that gave them; unset for others.
        named: name under which the answers came in, where they became several runs; unset otherwise.
        replying: what was said of a model's replies, over the protocol; unset for nothing. Without their longest length: that one
            may be raised for those that were cut off.
    """

    predictor: str
    role: Literal["floor", "system", "human", "upper"] = "system"
    privilege: str = ""
    seed: int = 0
    items: str = ""
    proctor: str = ""
    view: MomentView | None = None
    kind: str = MOMENT
    form: Form = "open"
    questions: str = ""
    show: str = ""
    source: str | msgspec.UnsetType = msgspec.UNSET
    named: str | msgspec.UnsetType = msgspec.UNSET
    replying: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET

    @property
    def asks_no_model(self) -> bool:
        """Whether it is a floor or a bound that no model stands behind."""
        return self.role in ("floor", "upper") and self.view is None and not self.show


class Predicted(Shown, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a run.

    Attributes:
        run: its name.
        kind: of its items.
        items: how many it has.
        answered: how many answers there are, failed ones not among them; of a circular run one for each rotation.
        asked_now: how many items were asked this time.
        failed: how many predictions are failures.
        failures: how many for each reason.
        note: where another run had the name.
        calls: of models; None where none was asked.
        shrunk: how many were shrunk, for each way.
        why: what the first failure of each kind says that no call had.
    """

    run: str
    kind: str
    items: int
    answered: int
    asked_now: int
    failed: int
    failures: dict[str, int]
    note: str = ""
    calls: Closing | None = None
    shrunk: dict[str, int] = {}
    why: dict[str, str] = {}


class AnswersIn(msgspec.Struct, frozen=True, kw_only=True):
    """What came in of a file of answers.

    Attributes:
        runs: one for each kind and form of questions that it answers.
        dropped: how many of its lines were left out, by reason; ``predictions.dropped.jsonl`` lists them.
    """

    runs: list[Predicted]
    dropped: dict[str, int]


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


def items_of_run(items: Sequence[Item], info: RunInfo) -> list[Item]:
    """Return those of a workspace's items that a run is about."""
    return [item for item in items if _is_of(item, info.kind, info.form, info.questions)]


def form_of(item: Item) -> Form:
    """Return how an item is answered: in words, by one of its options, or by putting things into order."""
    form = item.question.form
    return "choice" if isinstance(form, Choice) else "order" if isinstance(form, Order) else "open"


def _is_of(item: Item, kind: str, form: str, questions: str) -> bool:
    asked = item.question
    wanted = not questions or asked.provenance.get("set", "") == questions
    return asked.kind == kind and form_of(item) == form and wanted


# -- who answers what ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Group:
    """Items of one kind and form."""

    kind: Kind[Any]
    form: Form
    questions: str
    items: list[Item]

    def name(self, who: str) -> str:
        """Return the name of a run over these items."""
        return full_run_name(self.kind.name, self.form, self.questions, who)


def _groups(workspace: Workspace, settings: PredictSettings) -> list[_Group]:
    """Return the items that are asked for, by kind and form, in the order of the items."""
    items = load_all_items(workspace)
    which = settings.questions or ""
    found: dict[tuple[str, Form], list[Item]] = {}
    for item in items:
        if _is_of(item, settings.kind or item.question.kind, settings.form or form_of(item), which):
            found.setdefault((item.question.kind, form_of(item)), []).append(item)
    if not found:
        kinds = {item.question.kind for item in items}
        there = ", ".join(sorted({f"{item.question.kind} ({form_of(item)})" for item in items}))
        raise UserError(
            "there are no items of this kind, form and set.",
            where=str(workspace.file("items.jsonl")),
            hint=did_you_mean(settings.kind or "", kinds - {settings.kind}, f"there are {there}"),
        )
    return [_Group(kind_named(kind), form, which, there) for (kind, form), there in found.items()]


def floor_names(root: Path, settings: PredictSettings | None = None) -> list[str]:
    """Return the systems without a model that can answer a workspace's items.

    Raises:
        UserError: if there are no such items.
    """
    groups = _groups(Workspace(root), settings or PredictSettings())
    return list(dict.fromkeys(name for group in groups for name in group.kind.floors(group.items)))


def _with_view(groups: Iterable[_Group], settings: PredictSettings) -> list[tuple[_Group, View]]:
    """Return the groups whose kind has the view that is asked for.

    Raises:
        UserError: if none has.
    """
    options = ViewOptions(**{name: getattr(settings, name) for name in ViewOptions.__struct_fields__})
    found: list[tuple[_Group, View]] = []
    errors: list[UserError] = []
    for group in groups:
        try:
            text = settings.show or group.kind.views(group.items)[0]
            found.append((group, group.kind.view(text, options)))
        except UserError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    return found


def full_run_name(kind: str, form: Form, questions: str, who: str) -> str:
    """Return the name of a run over items of a kind, form and set; those of moments need not say so."""
    if kind == MOMENT and form == "open":
        return who
    parts = (kind, "" if form in ("open", kind) else form, questions, who)
    return file_name("-".join(filter(None, parts)))


def run_name(model: str, view: View) -> str:
    """Return the name of a model's run: the model without its address, and what it is shown; other kinds stand before it."""
    return file_name(f"{model} {view.label}")


def predict(
    root: Path,
    predictor: str | Answering,
    settings: PredictSettings | None = None,
    *,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
) -> list[Predicted]:
    """Answer the items of a workspace and write ``runs/<run>/predictions.jsonl``, one run for each kind and form.

    Items that a run has answered already are not asked again, unless the items changed. When a model's run ends early
    (Ctrl-C), what it has answered is kept.

    Args:
        root: the workspace.
        predictor: one of ``floor_names``, the name of a model (``openai/gpt-4o``), a function or its name
            (``python:module:function``; ``proctor.exam.function``), or ``human:FILE``: a person's answers are read from a file
            (``proctor.stages.answers``), or ``model:RUN``: the model of a run of ``proctor learn sequence`` answers items that are
            answered by an order.
        settings: which items, what is shown of them, and how they are asked.
        limits: what a model's calls may cost, and where they are kept.
        seen: called after each item, or each call of a model.

    Raises:
        UserError: if there are no items or no such predictor, or a model's provider cannot take the view.
    """
    workspace = Workspace(root)
    settings = settings or workspace.resolve(PredictSettings)
    groups = _groups(workspace, settings)
    trial = in_trial(root)
    person = isinstance(predictor, str) and predictor.startswith(PERSON)
    if isinstance(predictor, str) and person and not trial:
        from proctor.stages.answers import read_answers

        file = Path(predictor.removeprefix(PERSON))
        answers = read_answers(file, [item for group in groups for item in group.items])
        workspace.write_dropped("predictions", answers.dropped)
        return _predict_from_file(workspace, groups, answers, file, settings, predictor, "human")
    if not isinstance(predictor, str) or person or is_asked(predictor):
        chosen = _with_view(groups, settings)
        _require_one(settings, chosen)
        limits = (limits or Limits()).shared()
        model = _answering(predictor, trial=trial)
        return [_predict_with_model(workspace, g, view, model, settings, limits, seen) for g, view in chosen]
    fitting = _answered_by(predictor, groups)
    _require_one(settings, fitting)
    answered = _predict_with_trained if predictor.startswith(TRAINED) else _predict_with_floor
    return [answered(workspace, group, predictor, settings, seen) for group in fitting]


def _answered_by(floor: str, groups: Sequence[_Group]) -> list[_Group]:
    """Return the groups that a system without a model, or a trained model of orders, can answer.

    Raises:
        UserError: if it can answer none.
    """
    if floor.startswith(TRAINED):
        if orders := [group for group in groups if group.form == "order"]:
            return orders
        forms = ", ".join(dict.fromkeys(group.form for group in groups))
        hint = "a trained model of orders answers questions of the kind 'order' alone"
        raise UserError(f"none of these items is answered by an order, but by {forms}.", hint=hint)
    fitting = [group for group in groups if floor in group.kind.floors(group.items)]
    if not fitting:
        from proctor.llm.prices import meant_name

        known = dict.fromkeys(name for group in groups for name in group.kind.floors(group.items))
        raise UserError(
            f"there is no predictor '{floor}'.",
            hint=meant_name(floor)
            or f"a model is written PROVIDER/MODEL; without a model, {did_you_mean(floor, known)}",
        )
    return fitting


def _answering(predictor: str | Answering, *, trial: bool = False) -> str | Function:
    """Return the function that answers in the place of a model, or the name of the model that does.

    In a dry run no function is called, and answers of people to played questions are not there: a function of no wit stands in.
    """
    if isinstance(predictor, str) and not predictor.startswith((FUNCTION, PERSON)):
        return predictor
    from proctor.exam.function import Function, load_function, named

    found: str | Function = predictor if isinstance(predictor, str) else named(predictor)
    if isinstance(found, str) and found.startswith(FUNCTION):
        found = load_function(found)
    if trial:
        name = found if isinstance(found, str) else found.name
        return Function(name, "", lambda shown: "A" if shown.options else "…")
    return found


def predict_with_several(
    root: Path,
    predictors: Sequence[str],
    settings: PredictSettings | None = None,
    *,
    limits: Limits | None = None,
    show: Show,
) -> list[Predicted]:
    """Answer the items with several predictors, as ``predict`` does; those that ask different providers side by side.

    Args:
        root: the workspace.
        predictors: as of ``predict``.
        settings: as of ``predict``.
        limits: for all of them together.
        show: shows progress.

    Returns:
        The runs in the order of the predictors.

    Raises:
        UserError: as ``predict``, of the first that failed, when the others have come to their end.
        KeyboardInterrupt: if they were stopped.
    """
    asked = settings or Workspace(root).resolve(PredictSettings)

    def job(name: str) -> Job[list[Predicted]]:
        models = (name, asked.image_model or "", asked.captioner or "") if is_asked(name) else ()
        return Job(
            title=name,
            do=lambda turn: predict(root, name, asked, limits=turn.limits, seen=turn.seen),
            models=models,
        )

    done = side_by_side(root, [job(name) for name in predictors], limits or Limits(), show)
    return [made for one in done for made in one.result or ()]


def _require_one(settings: PredictSettings, runs: Sequence[object]) -> None:
    if settings.run is not None and len(runs) > 1:
        raise UserError(
            f"--run names one run, but there would be {len(runs)}.", hint="say of which --kind and --form"
        )


def import_predictions(
    file: Path, root: Path, run: str, role: Literal["system", "human"] = "system", *, sample: bool = False
) -> AnswersIn:
    """Bring answers that were made elsewhere into a workspace: ``runs/<run>/predictions.jsonl``, as ``predict`` writes it.

    Items of the same kind and form that the file does not answer are failed predictions. A run that holds other answers is
    replaced, and this is said, as when ``predict`` is run with other settings.

    Args:
        file: JSON Lines of ``{"item_id": …, "answer": …}``, or CSV; see ``proctor.stages.answers``.
        root: the workspace, with items.
        run: name of the run. Answers to several kinds or forms become one run for each, named by ``full_run_name``; all of
            them are meant where this name is given to ``judge`` or ``score``.
        role: of who answered.
        sample: items that the file does not answer were never asked; they are not in the run, and in no mean.

    Raises:
        UserError: if the file is broken, or answers not one item.
    """
    workspace = Workspace(root)
    workspace.run_folder(run)  # refuses what is no name
    from proctor.stages.answers import read_answers

    groups = _groups(workspace, PredictSettings())
    answers = read_answers(file, [item for group in groups for item in group.items])
    settings = PredictSettings(run=run)
    made = _predict_from_file(workspace, groups, answers, file, settings, run, role, sample=sample)
    return AnswersIn(runs=made, dropped=workspace.write_dropped("predictions", answers.dropped))


def _predict_from_file(
    workspace: Workspace,
    groups: Iterable[_Group],
    answers: Answers,
    file: Path,
    settings: PredictSettings,
    who: str,
    role: Literal["system", "human"],
    *,
    sample: bool = False,
) -> list[Predicted]:
    """Write answers that were read from a file as runs, one for each kind and form of items that it answers."""
    answered = [group for group in groups if any(item.id in answers.found for item in group.items)]
    made = []
    for group in answered:
        given = settings.run
        run = group.name(file_name(who)) if given is None else _own_name(workspace, group, given, answered)
        info = RunInfo(
            predictor=who,
            role=role,
            items=items_hash(group.items),
            kind=group.kind.name,
            form=group.form,
            questions=group.questions,
            source=file_sha256(file)[:16],
            named=msgspec.UNSET if given is None or run == given else given,
        )
        begun = _Run.begin(workspace, run, info, group.items)
        asked = begun.unanswered(settings.limit)
        if sample:
            asked = [item for item in asked if item.id in answers.found]
        wanted = {item.id for item in asked}
        fresh = [p for p in answers.to(group.items, who) if p.item_id in wanted]
        made.append(begun.told(begun.write(fresh, {"predictor": who, "file": str(file)}), len(asked)))
    return made


def _own_name(workspace: Workspace, group: _Group, given: str, answered: Sequence[_Group]) -> str:
    """Return the name of a run that came in under a name; one that is there keeps its own, so that it is replaced."""
    full = group.name(given)
    for name in (given, full):
        folder = workspace.run_folder(name)
        if is_there(folder / "run.json"):
            there = read_run_info(folder)
            if (there.kind, there.form) == (group.kind.name, group.form):
                return name
    return full if len(answered) > 1 else given


def _predict_with_floor(
    workspace: Workspace,
    group: _Group,
    name: str,
    settings: PredictSettings,
    seen: Callable[[], None] | None,
) -> Predicted:
    from proctor.exam.predict import predict_items

    floor = group.kind.fit(name, group.items, exam_library(workspace, group.items, MediaStore()))
    info = RunInfo(
        predictor=floor.name,
        role="upper" if floor.upper else "floor",
        privilege=floor.privilege,
        seed=settings.seed,
        items=items_hash(group.items),
        proctor=__version__,
        kind=group.kind.name,
        form=group.form,
        questions=group.questions,
    )
    begun = _Run.begin(workspace, settings.run or group.name(name), info, group.items)
    asked = begun.unanswered(settings.limit)
    fresh = predict_items(asked, floor, seed=settings.seed, progress=seen)
    answers = begun.write(fresh, {"predictor": name, "seed": settings.seed})
    workspace.keep("predict", {"seed": settings.seed})
    return begun.told(answers, len(asked))


def _predict_with_trained(
    workspace: Workspace,
    group: _Group,
    name: str,
    settings: PredictSettings,
    seen: Callable[[], None] | None,
) -> Predicted:
    from proctor.exam.predict import predict_items
    from proctor.stages.learn.sequence import LEARNED_FROM  # no other predictor needs what learns
    from proctor.stages.order_model import open_order_system

    folder = Path(name.removeprefix(TRAINED))
    system, learned = open_order_system(folder, name, workspace.root)
    info = RunInfo(
        predictor=name,
        items=items_hash(group.items),
        kind=group.kind.name,
        form=group.form,
        questions=group.questions,
        show=learned.modality,
        source=file_sha256(folder / "run.json")[:16],
    )
    run = settings.run or group.name(file_name(folder.resolve().name))
    begun = _Run.begin(workspace, run, info, group.items)
    asked = begun.unanswered(settings.limit)
    fresh: list[Prediction] = []
    for prediction in predict_items(asked, system, progress=seen):
        fresh.append(prediction)
        if not len(fresh) % 50:  # a run that is killed goes on from there
            begun.keep(fresh, {"predictor": name})
    result = begun.told(begun.write(fresh, {"predictor": name}), len(asked))
    known: set[str] = set(read_json(folder / LEARNED_FROM, list[str]))
    if seen_before := sum((item.question.cluster or item.id) in known for item in group.items):
        note = f"{seen_before} of {len(group.items)} items are of tasks that the model was trained on: no figure of these is fair"
        result = msgspec.structs.replace(result, note="; ".join(filter(None, (result.note, note))))
    return result


def _predict_with_model(
    workspace: Workspace,
    group: _Group,
    view: View,
    answering: str | Function,
    settings: PredictSettings,
    limits: Limits,
    seen: Callable[[], None] | None,
) -> Predicted:
    with open_models(workspace, limits, settings) as models:
        who = _predictor(models, workspace, group, view, answering, settings)
        model = who.models["answer"]
        begun = _begin_model(workspace, group, who, settings)
        asked = begun.unanswered(settings.limit, limits)
        stage = f"predict/{begun.folder.name}"
        if asked and len(set(who.models.values())) > 1:
            models.require_prices(*who.models.values())  # before one of them is paid
        if parameters := group.kind.parameters(group.items[0].question.form):
            models.expect(stage, model, models.replying.over(parameters, model, "predictor"))
        done = {"predictor": model, "view": view.label, **settings.said(), **models.remarks()}
        ask = models.ask(stage, seen)
        fresh = who.predict(asked, ask, interrupted=lambda there: begun.keep(there, done))
        calls = models.closing()
    answers = begun.write(fresh, done)
    return begun.told(answers, len(asked), calls=calls, shrunk=_shrunk(answers))


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
    model: str | Answering,
    settings: PredictSettings | None = None,
    *,
    limits: Limits | None = None,
) -> Estimate:
    """Say what predictions would take, from the real prompts; nothing is sent.

    Args:
        root: the workspace.
        model: as the predictor of ``predict``; a system without a model, and a person, take nothing.
        settings: as ``predict``.
        limits: where calls and prices are kept.

    Raises:
        UserError: as ``predict``.
    """
    workspace = Workspace(root)
    settings = settings or workspace.resolve(PredictSettings)
    groups = _groups(workspace, settings)
    chosen: list[tuple[_Group, View]] = []
    if not isinstance(model, str) or is_asked(model):
        chosen = _with_view(groups, settings)
        _require_one(settings, chosen)
    elif not model.startswith(PERSON):
        _require_one(settings, _answered_by(model, groups))
    limits, answering = limits or Limits(), _answering(model)
    with open_models(workspace, limits, settings) as models:
        stages = []
        for group, view in chosen:
            who = _predictor(models, workspace, group, view, answering, settings)
            begun = _begin_model(workspace, group, who, settings)
            stages.append(
                (f"predict/{begun.folder.name}", who.requests(begun.unanswered(settings.limit, limits)))
            )
        return models.estimate(stages)


def _predictor(
    models: Models,
    workspace: Workspace,
    group: _Group,
    view: View,
    answering: str | Function,
    settings: PredictSettings,
) -> ModelPredictor[Any]:
    """Return a model, or a function in its place, as a predictor of this workspace."""
    function = None if isinstance(answering, str) else answering
    model = answering if isinstance(answering, str) else answering.name
    if function is not None:
        models.functions[model] = function
    library = exam_library(
        workspace, group.items, models.media, videos=settings.videos, left_out=models.left_out
    )
    group.kind.require(group.items, view, library, model)
    others = {"lmm": settings.image_model, "captioner": settings.captioner}
    roles = {role: name for role in group.kind.roles if (name := others.get(role))}
    return ModelPredictor(
        kind=group.kind,
        view=view,
        models={"answer": model, **roles},
        library=library,
        prompts=Prompts(models.prompts, models.secret),
        shrink=settings.shrink,
        function=function,
        price=models.price,
        replying=models.replying,
        context=models.context,
    )


def _begin_model(
    workspace: Workspace, group: _Group, who: ModelPredictor[Any], settings: PredictSettings
) -> _Run:
    view: View = who.view
    info = RunInfo(
        predictor=who.name,
        # Who sees nothing of the evidence is a blind floor, whatever the model: the report draws scores against it. Somebody's
        # own function may look elsewhere, so it is a system.
        role="floor" if view.blind and who.function is None else "system",
        privilege=view.privilege,
        items=items_hash(group.items),
        view=view if isinstance(view, MomentView) else None,
        kind=group.kind.name,
        form=group.form,
        questions=group.questions,
        show="" if isinstance(view, MomentView) else view.label,
        source=msgspec.UNSET if who.function is None else who.function.version,
        replying=who.replying.drawn(who.models["answer"], "predictor") or msgspec.UNSET,
    )
    turns = {item.id: len(group.kind.turns(item, view)) for item in group.items}
    name = settings.run or group.name(run_name(who.name.removesuffix(f" ({view.label})"), view))
    return _Run.begin(workspace, name, info, group.items, turns, shrunk=settings.shrink)


# -- the folder of a run -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Run:
    """A run that is begun or gone on with.

    Attributes:
        workspace: whose.
        folder: of the run.
        info: what it is.
        items: what is to be answered.
        turns: how many predictions an item has, where it is more than one.
        before: predictions that it has, by item, failed ones included.
        note: what the user should know of files that were there.
    """

    workspace: Workspace
    folder: Path
    info: RunInfo
    items: Sequence[Item]
    turns: Mapping[str, int]
    before: Mapping[str, Sequence[Prediction]]
    note: str = ""

    @classmethod
    def begin(
        cls,
        workspace: Workspace,
        name: str,
        info: RunInfo,
        items: Sequence[Item],
        turns: Mapping[str, int] | None = None,
        *,
        shrunk: bool = True,
    ) -> _Run:
        """Look for what the run has answered: nothing when it was a run of something else.

        Args:
            workspace: whose.
            name: of the run.
            info: what it is.
            items: what is to be answered.
            turns: how many predictions an item has; one each by default.
            shrunk: False for a run that does not go on with answers to what was shrunk.

        Raises:
            UserError: if its files cannot be read.
        """
        folder, turns = workspace.run_folder(name), turns or {}
        if not is_there(folder / "predictions.jsonl") or not is_there(folder / "run.json"):
            return cls(workspace, folder, info, items, turns, {})
        there = read_run_info(folder)
        if there != info:
            return cls(workspace, folder, info, items, turns, {}, _replaced(name, there, info))
        found = load_predictions(folder, items)
        # A run that was killed may have written its answers and not yet what it is.
        mine = [p for p in found if p.predictor == info.predictor and (shrunk or "shrunk" not in p.details)]
        return cls(workspace, folder, info, items, turns, _by_item(mine))

    def unanswered(self, limit: int | None, limits: Limits | None = None) -> list[Item]:
        """Return the items that have not all their answers yet.

        What failed at the provider is answered by that, unless it is to be asked again, or the run has nothing else.

        Args:
            limit: so many at most.
            limits: of calls; None where no model is asked.
        """
        answered = any(p.failure is None for made in self.before.values() for p in made)
        keep = answered and limits is not None and not limits.retry_failed
        done = {
            name
            for name, made in self.before.items()
            if len(made) >= self.turns.get(name, 1)
            and all(p.failure is None or (keep and is_settled(p.failure)) for p in made)
        }
        return [item for item in self.items if item.id not in done][:limit]

    def write(self, fresh: Iterable[Prediction], settings: Mapping[str, Any]) -> list[Prediction]:
        """Write what was answered before and now, and what the run is; return all predictions."""
        by_item = {**self.before, **_by_item(fresh)}
        answers = [prediction for item in self.items for prediction in by_item.get(item.id, ())]
        # The answers come first: a run that is killed in between is then begun anew, not gone on with as another's.
        write_jsonl(self.folder / "predictions.jsonl", answers)
        write_json(self.folder / "run.json", self.info)
        self.workspace.record(
            f"predict/{self.folder.name}",
            settings=dict(settings),
            counts=count_answers(answers),
            inputs=run_inputs(self.workspace),
            outputs=(f"runs/{self.folder.name}/predictions.jsonl",),
        )
        return answers

    def keep(self, fresh: Sequence[Prediction], settings: Mapping[str, Any]) -> None:
        """Write what a run that ends early has answered, if it is anything."""
        if fresh:
            self.write(fresh, settings)

    def told(
        self,
        answers: Sequence[Prediction],
        asked: int,
        *,
        calls: Closing | None = None,
        shrunk: dict[str, int] | None = None,
    ) -> Predicted:
        """Return the closing line."""
        said = [p.failure.partition(":") for p in answers if p.failure is not None]
        failures = Counter(kind[:40] for kind, _, _ in said)
        of_calls = {} if calls is None else calls.outcomes
        first = {kind[:40]: why.strip() for kind, _, why in reversed(said) if why and kind not in of_calls}
        return Predicted(
            run=self.folder.name,
            kind=self.info.kind,
            items=len(self.items),
            answered=len(answers) - failures.total(),
            asked_now=asked,
            failed=failures.total(),
            failures=dict(failures.most_common()),
            note=self.note,
            calls=calls,
            shrunk=shrunk or {},
            why=first,
        )


def run_inputs(workspace: Workspace) -> Iterator[str]:
    """Yield the names of the workspace's files that a run depends on."""
    return (name for name in ("items.jsonl", "graphs.json") if is_there(workspace.file(name)))


def count_answers(predictions: Iterable[Prediction]) -> dict[str, int]:
    """Count answers, and failures where there are any, for the record of a stage."""
    sorts = Counter("failed" if p.failure is not None else "answered" for p in predictions)
    return {"answered": 0, **sorts}


def _by_item(predictions: Iterable[Prediction]) -> dict[str, list[Prediction]]:
    found: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        found.setdefault(prediction.item_id, []).append(prediction)
    return found


def _replaced(name: str, there: RunInfo, now: RunInfo) -> str:
    """Return in words why what a run had answered is not gone on with."""
    if there.predictor != now.predictor:
        return f"run '{name}' held answers of {there.predictor}; they are replaced"
    if now.source is not msgspec.UNSET and now.view is None and not now.show:  # they were read from a file
        return f"run '{name}' held other answers; they are replaced"
    if there.items != now.items:
        return f"the items have changed since run '{name}' was begun; all are asked again"
    return f"run '{name}' was begun by other settings or another version; all are asked again"
