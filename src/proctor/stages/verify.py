"""The stage ``verify``: candidates to verdicts in the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, Unpack

import msgspec

from proctor.ask.clip.record import RULE
from proctor.ask.moment.model_generator import Attached
from proctor.compute import HERE, Place, batches, map_items
from proctor.errors import UserError
from proctor.exam.kinds.clip import clip_times
from proctor.exam.kinds.moment import shown_frames, step_times, video_of
from proctor.exam.kinds.moment_question import MOMENT, moment_example
from proctor.exam.library import Library
from proctor.exam.question import Footage, Item, Question, part_of, version_of
from proctor.exam.view import View
from proctor.llm.estimate import Estimate
from proctor.llm.media import MediaStore
from proctor.llm.prompt import frame_labels
from proctor.llm.store import CallStore, Selection
from proctor.stages.clip.reading import load_verdicts
from proctor.stages.exam_library import exam_library
from proctor.stages.exam_settings import VerifySettings
from proctor.stages.models import CALLS, Closing, Limits, Models, open_models
from proctor.stages.naming import file_name
from proctor.stages.questions import ASKED, required_questions
from proctor.stages.settings import ReplyOptions
from proctor.stages.spread import Packed, pack_graphs, unpack_graphs
from proctor.tables import Shown
from proctor.verify.filter_verdict import filter_annotator, filter_verdicts, funnel_verdicts
from proctor.verify.llm_prompt import criteria_of, verification_prompts
from proctor.verify.model_verifier import ModelVerifier, acceptance_funnel
from proctor.verify.store import VerdictStore, split_stale, verdict_key
from proctor.verify.verdict import DEFAULT_THRESHOLD, Verdict
from proctor.version import __version__
from proctor.workspace import Workspace, is_there

if TYPE_CHECKING:
    from proctor.ask.clip.filters import FilterResult
    from proctor.exam.frames import ShownFrame
    from proctor.verify.agreement import AgainstPeople
    from proctor.verify.oracle.annotator import Oracle

__all__ = [
    "DEFAULTS",
    "ReviewOptions",
    "Reviewed",
    "Verified",
    "against_people",
    "costs_of",
    "estimate_verification",
    "estimate_verifying",
    "has_store",
    "open_store",
    "standing_verdicts",
    "store_filters",
    "verify",
    "verify_as",
    "verify_with_model",
]

DEFAULTS: dict[str, Any] = {"store": "verification.sqlite", "threshold": DEFAULT_THRESHOLD}

_SAVE_EVERY: Final = 200
_ORACLE_READS: Final = ("candidates.jsonl", "examples.jsonl")


class Verified(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """What annotators say of a workspace's candidates.

    Attributes:
        candidates: that there are.
        annotators: of each how many ``questions`` and ``answers`` were found right, wrong or unsure.
        judged_now: candidates that were judged by this call.
    """

    candidates: int
    annotators: dict[str, dict[str, dict[str, int]]]
    judged_now: int


class Reviewed(Verified, frozen=True, kw_only=True, omit_defaults=True):
    """The same after a model's reviews.

    Attributes:
        funnel: how many candidates about moments passed each step of generation and each criterion.
        funnels: the same of each other kind.
        dropped: candidates without a verdict, by reason.
        unsent: parameters that the model has no field for, by model.
        verifier: the model.
        calls: the closing line.
    """

    funnel: dict[str, int]
    funnels: dict[str, dict[str, int]] = {}
    dropped: dict[str, int]
    unsent: dict[str, list[str]] = {}
    verifier: str
    calls: Closing


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
) -> Verified:
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
    annotators = count_verdicts(latest)
    counts = {"candidates": len(questions), "annotators": annotators}
    workspace.record("verify", settings=settings, counts=counts, inputs=_ORACLE_READS)
    return Verified(candidates=len(questions), annotators=annotators, judged_now=len(todo))


class ReviewOptions(TypedDict, total=False):
    """What can be chosen for a model's reviews.

    Attributes:
        store: of verdicts; file in the workspace, or ``postgresql://`` URL.
        form: of the reply, ``json`` for structured output; ``text`` by default.
        view: frames that the model sees beside the steps; none by default.
        videos: folder that the recordings' videos are relative to; the data set's by default.
        limit: review at most so many.
        limits: what the calls may cost, and where they are kept.
        replies: how the model replies.
    """

    store: str | None
    form: Literal["text", "json"]
    view: View | None
    videos: Path | None
    limit: int | None
    limits: Limits | None
    replies: ReplyOptions | None


def verify_with_model(
    root: Path,
    model: str,
    *,
    seen: Callable[[], None] | None = None,
    **options: Unpack[ReviewOptions],
) -> Reviewed:
    """Have every candidate reviewed that a model has not reviewed yet; its verdicts are kept with all others.

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
    questions = required_questions(workspace)
    settings = workspace.settings("verify", {"store": options.get("store")}, DEFAULTS)
    stage = f"verify/{file_name(model)}"
    with (
        open_store(workspace, settings) as verdicts,
        open_models(workspace, options.get("limits"), options.get("replies")) as models,
    ):
        who = model_verifier(models, workspace, model, questions, **options)
        models.expect(stage, model, models.replying.over(who.parameters, model, "verifier"))
        todo = _unreviewed(questions, who, verdicts)[: options.get("limit")]
        reviewed = who.verify(todo, models.ask(stage, seen))
        verdicts.append_many(reviewed.verdicts)
        calls = models.closing()
        latest, _ = split_stale(verdicts.latest_on(questions), {q.id: q for q in questions})
    funnels = _funnels(workspace, questions, who, latest)
    result = Reviewed(
        candidates=len(questions),
        annotators=count_verdicts(latest),
        judged_now=len(reviewed.verdicts),
        funnel=funnels.pop(MOMENT, {}),
        funnels=funnels,
        dropped=workspace.write_dropped(stage.replace("/", "."), reviewed.dropped),
        unsent=calls.unsent,
        verifier=model,
        calls=calls,
    )
    counts = msgspec.to_builtins(result)
    for name in ("annotators", "judged_now", "verifier", "calls"):
        del counts[name]
    inputs = [name for name in ASKED if is_there(workspace.file(name))]
    # Where something changed, the oracle has yet to see it, and its record must say so.
    if not workspace.changed("verify"):
        everybody = {"candidates": len(questions), "annotators": result.annotators}
        oracle = [name for name in _ORACLE_READS if name in inputs] or inputs
        workspace.record("verify", settings=settings, counts=everybody, inputs=oracle)
    how = " + ".join(dict.fromkeys(who.how(question.kind) for question in questions))
    workspace.record(stage, settings={"verifier": model, "how": how}, counts=counts, inputs=inputs)
    return result


def _funnels(
    workspace: Workspace, questions: Sequence[Question], who: ModelVerifier, latest: Sequence[Verdict]
) -> dict[str, dict[str, int]]:
    """Return how many questions of each kind came how far."""
    kinds = {question.id: question.kind for question in questions}
    mine = [v for v in latest if v.annotator == who.name and v.role == "annotator"]
    found: dict[str, dict[str, int]] = {}
    for kind in dict.fromkeys(kinds.values()):
        said = [v for v in mine if kinds[v.candidate_id] == kind and v.note == who.how(kind)]
        many = sum(other == kind for other in kinds.values())
        funnel = acceptance_funnel(many, said, criteria_of(kind))
        found[kind] = {**_generated(workspace), **funnel} if kind == MOMENT else funnel
    return found


def store_filters(workspace: Workspace, results: Sequence[FilterResult], asked: Sequence[Question]) -> int:
    """Keep what filters say beside everybody's verdicts, of what they dropped as well; return how many verdicts are new.

    What a filter has said before in the same way is not said again.
    """
    questions = {question.id: question for question in asked}
    at = datetime.now(UTC).isoformat(timespec="seconds")
    said = [
        *filter_verdicts((v for result in results for v in result.verdicts), questions, at=at),
        *funnel_verdicts(results, questions, at=at),
    ]
    with open_store(workspace) as store:
        before = {verdict_key(v): msgspec.structs.replace(v, at=at) for v in store.latest()}
        return store.append_many(v for v in said if before.get(verdict_key(v)) != v)


def verify_as(
    root: Path,
    settings: VerifySettings,
    *,
    limits: Limits | None = None,
    place: Place = HERE,
    seen: Callable[[], None] | None = None,
) -> Verified:
    """Have candidates judged by who the settings name: a model, or the task-graph oracle; see ``verify`` and ``verify_with_model``.

    Args:
        root: the workspace.
        settings: who judges, and what a model is shown.
        limits: what a model's calls may cost, and where they are kept.
        place: where the oracle runs.
        seen: called after each candidate, or each call of a model.

    Raises:
        UserError: as those.
    """
    if settings.verifier is not None:
        return verify_with_model(root, settings.verifier, seen=seen, **_review(settings, limits))
    return verify(
        root, store=settings.store, threshold=settings.threshold, limit=settings.limit, place=place, seen=seen
    )


def estimate_verifying(
    root: Path, settings: VerifySettings, *, limits: Limits | None = None
) -> list[Estimate]:
    """Foresee what ``verify_as`` would ask: nothing of the oracle.

    Raises:
        UserError: as ``estimate_verification``.
    """
    if settings.verifier is None:
        return []
    return [estimate_verification(root, settings.verifier, **_review(settings, limits))]


def _review(settings: VerifySettings, limits: Limits | None) -> ReviewOptions:
    view = (
        View(frames=settings.frames, height=settings.height, sampling=settings.sampling)
        if settings.frames
        else None
    )
    return {
        "store": settings.store,
        "form": settings.form,
        "view": view,
        "videos": settings.videos,
        "limit": settings.limit,
        "limits": limits,
        "replies": settings,
    }


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
    questions = required_questions(workspace)
    settings = workspace.settings("verify", {"store": options.get("store")}, DEFAULTS)
    with open_models(workspace, options.get("limits"), options.get("replies")) as models:
        who = model_verifier(models, workspace, model, questions, **options)
        todo = questions
        if "://" in settings["store"] or is_there(workspace.file(settings["store"])):
            with open_store(workspace, settings, create=False) as verdicts:
                todo = _unreviewed(questions, who, verdicts)
        return models.estimate([(f"verify/{file_name(model)}", who.requests(todo[: options.get("limit")]))])


def model_verifier(
    models: Models,
    workspace: Workspace,
    model: str,
    questions: Sequence[Question],
    **options: Unpack[ReviewOptions],
) -> ModelVerifier:
    """Return a model as verifier of questions of this workspace."""
    limits, view = options.get("limits"), options.get("view")
    items = [Item(question=question, golds=()) for question in questions]
    library = exam_library(
        workspace, items, models.media, videos=options.get("videos"), left_out=models.left_out
    )
    who = ModelVerifier(
        model,
        verification_prompts(limits.prompts if limits else None),
        models.secret,
        library,
        form=options.get("form", "text"),
        replying=models.replying,
    )
    if view is None:
        return who
    return replace(who, attach=partial(_frames, library=library, view=view), view=view.label)


def _frames(question: Question, library: Library, view: View) -> Attached:
    """Return frames of what a question is about, up to its moment or all over its clip; none where nothing was recorded.

    Raises:
        UserError: if there is no video, or it shows nothing of it.
    """
    footage = part_of(question, Footage)
    if footage is None:
        return Attached()
    try:
        path = video_of(footage, view, library, question.id)
    except UserError:
        if library.left_out is None:
            raise
        library.left_out.add(footage.recording)
        return Attached()
    if question.kind == MOMENT:
        steps = step_times(moment_example(question))
        frames: Sequence[ShownFrame] = shown_frames(
            library, path, footage.end, view, steps, where=question.id
        )
    else:
        times = clip_times(*library.frames.times(path), footage.start, footage.end, view, where=question.id)
        frames = library.frames.at(path, times, view.height)
    return Attached(
        tuple(f.image for f in frames), frame_labels([f.time for f in frames], [f.number for f in frames])
    )


def standing_verdicts(workspace: Workspace, questions: Sequence[Question]) -> list[Verdict]:
    """Return what was last said of these questions as they are today, by everybody; nothing where there is no store."""
    if not has_store(workspace):
        return []
    with open_store(workspace, create=False) as store:
        return split_stale(store.latest_on(questions), {q.id: q for q in questions})[0]


def against_people(root: Path) -> list[AgainstPeople]:
    """Hold every annotator that is no person against people, on questions of every kind.

    Raises:
        UserError: if there are no questions.
    """
    from proctor.verify.agreement import machines_against_people

    workspace = Workspace(root)
    questions = required_questions(workspace)
    return machines_against_people(questions, standing_verdicts(workspace, questions), costs_of(workspace))


def costs_of(workspace: Workspace) -> dict[str, float]:
    """Return what filters and reviewing models cost by the name of the annotator, in dollars; those without a price are left out."""
    found: dict[str, list[float | None]] = {}
    for said in load_verdicts(workspace):
        if said.judge != RULE:
            cost = said.details.get("cost")
            found.setdefault(filter_annotator(said), []).append(None if cost is None else float(cost))
    if is_there(workspace.file(CALLS)):
        with CallStore.open(workspace.file(CALLS), create=False) as store:
            for stage, record in workspace.stages().items():
                if stage.startswith("verify/"):
                    calls = store.calls(Selection(stage=stage))
                    found[record.settings["verifier"]] = [
                        None if c.cost is None else c.cost / 10**9 for c in calls
                    ]
    return {
        name: sum(c for c in costs if c is not None)
        for name, costs in found.items()
        if costs and None not in costs
    }


def _of_moments(workspace: Workspace, questions: Sequence[Question]) -> list[Question]:
    """Return the questions that the oracle judges: those about moments, by whose facts it does.

    Raises:
        UserError: if there is none.
    """
    found = [question for question in questions if question.kind == MOMENT]
    if not found:
        raise UserError(
            f"not one of {len(questions):,} questions is about a moment, and the oracle judges no others.",
            where=str(workspace.root),
            hint=f"have people verify them (proctor studio {workspace.root}), or a model (--verifier openai/gpt-4o)",
        )
    return found


def _require_model(name: str) -> None:
    if "/" not in name:
        from proctor.llm.prices import meant_name

        raise UserError(
            f"there is no verifier '{name}'.",
            hint=meant_name(name) or "name a model, such as openai/gpt-4o; the oracle needs no name",
        )


def _unreviewed(questions: Sequence[Question], who: ModelVerifier, store: VerdictStore) -> list[Question]:
    known = {v.candidate_id: (v.candidate_hash, v.note) for v in store.latest() if v.annotator == who.name}
    return [q for q in questions if known.get(q.id) != (version_of(q), who.how(q.kind))]


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
    from proctor.verify.oracle.annotator import Oracle  # its rules take long to load

    return Oracle(threshold=threshold)


def _judge(
    threshold: float, how: str, graphs: bytes, asked: Packed[tuple[Question, ...]]
) -> Packed[list[Verdict]]:
    oracle, library = _oracle(threshold), Library(media=MediaStore(), graphs=unpack_graphs(graphs))
    verdicts = [oracle.judge(question, library.graph(question)) for question in asked.value]
    return Packed([msgspec.structs.replace(verdict, note=how) for verdict in verdicts], list[Verdict])


def count_verdicts(verdicts: Sequence[Verdict]) -> dict[str, dict[str, dict[str, int]]]:
    """Return for each annotator how many questions and answers were found right, wrong or unsure."""
    annotators: dict[str, dict[str, Counter[str]]] = {}
    for verdict in verdicts:
        said = annotators.setdefault(verdict.annotator, {"questions": Counter(), "answers": Counter()})
        said["questions"][verdict.question.value] += 1
        said["answers"].update(a.value for a in verdict.answers)
    return {n: {k: dict(c) for k, c in said.items()} for n, said in sorted(annotators.items())}
