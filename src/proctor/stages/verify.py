"""The stage ``verify``: candidates to verdicts in the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, Literal, TypedDict, Unpack

import msgspec

from proctor.ask.clip.funnel import FilterResult
from proctor.ask.moment.model_generator import Attached
from proctor.ask.moment.promqa_prompt import TemplateNeeds
from proctor.compute import HERE, Place, batches, map_items
from proctor.errors import UserError
from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment_question import MOMENT
from proctor.exam.library import Library
from proctor.exam.question import Question, version_of
from proctor.exam.view import View
from proctor.llm.estimate import Estimate
from proctor.llm.media import MediaStore
from proctor.procedure.graph import TaskGraph
from proctor.stages.models import Limits, Models, open_models
from proctor.stages.naming import file_name
from proctor.stages.pictures import ExamplePictures
from proctor.stages.questions import required_questions, workspace_questions
from proctor.stages.spread import Packed, pack_graphs, unpack_graphs
from proctor.stages.videos import workspace_videos
from proctor.verify.filter_verdict import filter_verdicts, funnel_verdicts
from proctor.verify.llm_prompt import verification_prompts
from proctor.verify.model_verifier import ModelVerifier, acceptance_funnel
from proctor.verify.oracle.annotator import DEFAULT_THRESHOLD, Oracle
from proctor.verify.store import VerdictStore, split_stale, verdict_key
from proctor.verify.verdict import Verdict
from proctor.version import __version__
from proctor.workspace import Workspace, is_there

__all__ = [
    "DEFAULTS",
    "ReviewOptions",
    "estimate_verification",
    "has_store",
    "open_store",
    "store_filters",
    "verify",
    "verify_with_model",
]

DEFAULTS: dict[str, Any] = {"store": "verification.sqlite", "threshold": DEFAULT_THRESHOLD}

_SAVE_EVERY: Final = 200


def open_store(
    workspace: Workspace, settings: dict[str, Any] | None = None, *, create: bool = True
) -> VerdictStore:
    """Open the workspace's store of verdicts: its own SQLite file, or the URL in the settings.

    Raises:
        UserError: if it cannot be opened.
    """
    where = (settings or workspace.settings("verify", {}, DEFAULTS))["store"]
    return VerdictStore.open(where if "://" in where else workspace.file(where), create=create)


def has_store(workspace: Workspace) -> bool:
    """Tell whether there is a store of verdicts, or a URL that names one."""
    where = workspace.settings("verify", {}, DEFAULTS)["store"]
    return "://" in where or is_there(workspace.file(where))


def verify(
    root: Path,
    *,
    store: str | None = None,
    threshold: float | None = None,
    limit: int | None = None,
    place: Place = HERE,
    seen: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Have every candidate judged that the task-graph oracle has not judged yet, and count what annotators say.

    Verdicts are saved every few hundred candidates; a run that was killed goes on where it stopped. A candidate
    that changed since its verdict is judged again, and so is one that was judged with another threshold or by
    another version.

    Args:
        root: the workspace.
        store: file in the workspace, or ``postgresql://`` URL.
        threshold: confidence below which the oracle is unsure.
        limit: judge at most so many.
        place: where the oracle runs; it says the same everywhere.
        seen: called after each candidate.

    Raises:
        UserError: if there are no candidates, the threshold is out of range or the store cannot be used.
    """
    workspace = Workspace(root)
    questions = required_questions(workspace)
    mine = _of_moments(workspace, questions)
    graphs = workspace.graphs()
    settings = workspace.settings("verify", {"store": store, "threshold": threshold}, DEFAULTS)
    if not 0.5 <= settings["threshold"] <= 1:
        raise UserError(f"the threshold is {settings['threshold']}.", hint="give a confidence from 0.5 to 1")
    oracle = _oracle(settings["threshold"])
    how = f"threshold {settings['threshold']:g}, proctor {__version__}"
    with open_store(workspace, settings) as verdicts:
        known = _judged_by(oracle.name, how, verdicts)
        todo = [q for q in mine if known.get(q.id) != version_of(q)][:limit]
        work = (Packed(batch, tuple[Question, ...]) for batch in batches(todo, _SAVE_EVERY))
        for outcome in map_items(partial(_judge, oracle.threshold, how, pack_graphs(graphs)), work, place):
            verdicts.append_many(outcome.value.value)
            if seen is not None:
                for _ in outcome.item.value:
                    seen()
        latest, _ = split_stale(verdicts.latest_on(questions), {q.id: q for q in questions})
    counts = {"candidates": len(questions), **count_verdicts(latest)}
    workspace.record(
        "verify", settings=settings, counts=counts, inputs=("candidates.jsonl", "examples.jsonl")
    )
    return {**counts, "judged_now": len(todo)}


class ReviewOptions(TypedDict, total=False):
    """What can be chosen for a model's reviews.

    Attributes:
        store: of verdicts; file in the workspace, or ``postgresql://`` URL.
        form: of the reply, ``json`` for structured output; ``text`` by default.
        view: frames that the model sees beside the steps; none by default.
        videos: folder that the recordings' videos are relative to; the data set's by default.
        limit: review at most so many.
        limits: what the calls may cost, and where they are kept.
    """

    store: str | None
    form: Literal["text", "json"]
    view: View | None
    videos: Path | None
    limit: int | None
    limits: Limits | None


def verify_with_model(
    root: Path,
    model: str,
    *,
    seen: Callable[[], None] | None = None,
    **options: Unpack[ReviewOptions],
) -> dict[str, Any]:
    """Have every candidate reviewed that a model has not reviewed yet; its verdicts lie beside all others.

    A candidate that changed since is reviewed again, and so is one that was reviewed with another template. What got
    no verdict is listed in ``verify.<model>.dropped.jsonl``.

    Args:
        root: the workspace.
        model: its name (``openai/gpt-4o``).
        seen: called after each call.
        **options: see ``ReviewOptions``.

    Raises:
        UserError: if there are no candidates, no such model, or the store cannot be used.
    """
    _require_model(model)
    workspace = Workspace(root)
    questions = _of_moments(workspace, required_questions(workspace))
    graphs = workspace.graphs()
    settings = workspace.settings("verify", {"store": options.get("store")}, DEFAULTS)
    stage = f"verify/{file_name(model)}"
    with open_store(workspace, settings) as verdicts, open_models(workspace, options.get("limits")) as models:
        who = model_verifier(models, workspace, model, graphs, **options)
        models.expect(stage, model, who.parameters)
        todo = _unreviewed(questions, who, verdicts)[: options.get("limit")]
        reviewed = who.verify(todo, models.ask(stage, seen))
        verdicts.append_many(reviewed.verdicts)
        calls, remarks = models.closing(), models.remarks()
        latest, _ = split_stale(verdicts.latest_on(questions), {q.id: q for q in questions})
    mine = [v for v in latest if v.annotator == who.name and v.role == "annotator" and v.note == who.how]
    counts = {
        "candidates": len(questions),
        "funnel": {**_generated(workspace), **acceptance_funnel(len(questions), mine)},
        "dropped": workspace.write_dropped(stage.replace("/", "."), reviewed.dropped),
        **remarks,
    }
    inputs = ("candidates.jsonl", "examples.jsonl")
    said = count_verdicts(latest)
    # Where something changed, the oracle has yet to see it, and its record must say so.
    if not workspace.changed("verify"):
        everybody = {"candidates": len(questions), **said}
        workspace.record("verify", settings=settings, counts=everybody, inputs=inputs)
    workspace.record(stage, settings={"verifier": model, "how": who.how}, counts=counts, inputs=inputs)
    return {**counts, **said, "judged_now": len(reviewed.verdicts), "verifier": model, "calls": calls}


def store_filters(workspace: Workspace, results: Sequence[FilterResult]) -> int:
    """Keep what filters say of the workspace's questions beside everybody's verdicts; return how many are new.

    Questions that are not among those of the workspace, as a filter has dropped them for good, are left out. What a filter has
    said before in the same way is not said again.
    """
    questions = {question.id: question for question in workspace_questions(workspace)}
    known = [result for result in results if result.item_id in questions]
    at = datetime.now(UTC).isoformat(timespec="seconds")
    said = [
        *filter_verdicts((v for result in known for v in result.verdicts), questions, at=at),
        *funnel_verdicts(known, questions, at=at),
    ]
    with open_store(workspace) as store:
        before = {verdict_key(v): msgspec.structs.replace(v, at=at) for v in store.latest()}
        return store.append_many(v for v in said if before.get(verdict_key(v)) != v)


def estimate_verification(
    root: Path,
    model: str,
    **options: Unpack[ReviewOptions],
) -> Estimate:
    """Say what a model's reviews would take, from the real prompts; nothing is sent.

    Raises:
        UserError: as ``verify_with_model``.
    """
    _require_model(model)
    workspace = Workspace(root)
    questions = _of_moments(workspace, required_questions(workspace))
    graphs = workspace.graphs()
    settings = workspace.settings("verify", {"store": options.get("store")}, DEFAULTS)
    with open_models(workspace, options.get("limits")) as models:
        who = model_verifier(models, workspace, model, graphs, **options)
        todo = questions
        if "://" in settings["store"] or is_there(workspace.file(settings["store"])):
            with open_store(workspace, settings, create=False) as verdicts:
                todo = _unreviewed(questions, who, verdicts)
        return models.estimate([(f"verify/{file_name(model)}", who.requests(todo[: options.get("limit")]))])


def model_verifier(
    models: Models,
    workspace: Workspace,
    model: str,
    graphs: Mapping[str, TaskGraph],
    **options: Unpack[ReviewOptions],
) -> ModelVerifier:
    """Return a model as verifier of this workspace."""
    limits, view = options.get("limits"), options.get("view")
    prompts = verification_prompts(limits.prompts if limits else None)
    form = options.get("form", "text")
    if view is None:
        return ModelVerifier(model, prompts, models.secret, graphs, form=form)
    pictures = ExamplePictures(models.media, view, workspace_videos(workspace, options.get("videos")))

    def attach(example: Example, graph: TaskGraph) -> Attached:
        return pictures(example, graph, TemplateNeeds(frames=True))

    return ModelVerifier(model, prompts, models.secret, graphs, form=form, attach=attach, view=view.label)


def _of_moments(workspace: Workspace, questions: Sequence[Question]) -> list[Question]:
    """Return the questions that the oracle and models review: those about moments, by whose facts they do it.

    Raises:
        UserError: if there is none.
    """
    found = [question for question in questions if question.kind == MOMENT]
    if not found:
        raise UserError(
            f"not one of {len(questions):,} questions is about a moment, and only those are verified by the oracle or a model.",
            where=str(workspace.root),
            hint=f"have people verify the others: proctor studio {workspace.root}",
        )
    return found


def _require_model(name: str) -> None:
    if "/" not in name:
        raise UserError(
            f"there is no verifier '{name}'.",
            hint="name a model, such as openai/gpt-4o; the oracle needs no name",
        )


def _unreviewed(questions: Sequence[Question], who: ModelVerifier, store: VerdictStore) -> list[Question]:
    known = _judged_by(who.name, who.how, store)
    return [q for q in questions if known.get(q.id) != version_of(q)]


def _generated(workspace: Workspace) -> dict[str, int]:
    """Return the generator's part of the funnel, if a model generated."""
    record = workspace.stages().get("generate")
    funnel = record.counts.get("funnel") if record is not None else None
    steps = ("asked", "replied", "parsed", "picked")
    return {step: funnel[step] for step in steps if step in funnel} if isinstance(funnel, dict) else {}


def _judged_by(annotator: str, how: str, store: VerdictStore) -> dict[str, str]:
    """Return the hash of every candidate as the annotator saw it when it judged in the same way as now.

    How it judged stands in each verdict, not in the record of the stage: a run that was killed or limited has
    judged some candidates in the new way and the others in the old one.
    """
    return {
        v.candidate_id: v.candidate_hash for v in store.latest() if v.annotator == annotator and v.note == how
    }


@lru_cache(maxsize=1)
def _oracle(threshold: float) -> Oracle:
    return Oracle(threshold=threshold)


def _judge(
    threshold: float, how: str, graphs: bytes, asked: Packed[tuple[Question, ...]]
) -> Packed[list[Verdict]]:
    oracle, library = _oracle(threshold), Library(media=MediaStore(), graphs=unpack_graphs(graphs))
    verdicts = [oracle.judge(question, library.graph(question)) for question in asked.value]
    return Packed([msgspec.structs.replace(verdict, note=how) for verdict in verdicts], list[Verdict])


def count_verdicts(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return for each annotator how many questions and answers were found right, wrong or unsure."""
    annotators: dict[str, dict[str, Counter[str]]] = {}
    for verdict in verdicts:
        said = annotators.setdefault(verdict.annotator, {"questions": Counter(), "answers": Counter()})
        said["questions"][verdict.question.value] += 1
        said["answers"].update(a.value for a in verdict.answers)
    return {
        "annotators": {n: {k: dict(c) for k, c in said.items()} for n, said in sorted(annotators.items())}
    }
