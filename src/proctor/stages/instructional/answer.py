"""The stage ``predict`` over clips: models and floors answer with options or open-ended, and tables say how well."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from proctor.errors import UserError
from proctor.exam.choice_floors import CHOICE_FLOORS, choice_floor
from proctor.exam.clip_question import ClipQuestion, choice_questions, open_questions
from proctor.exam.clip_view import ClipView
from proctor.exam.kinds.clip import KIND, ClipAsking, clip_items, require_a_video
from proctor.exam.kinds.clip_marker import CONSISTENCY_MARKER
from proctor.exam.kinds.clip_prompt import ChoiceStyle
from proctor.exam.library import Library, Prompts
from proctor.exam.marker import ModelMarker
from proctor.exam.predict import predict_items
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.predictor import ModelPredictor
from proctor.exam.question import Footage
from proctor.exam.scores import score_run
from proctor.exam.table import Resampling, ScoreTable
from proctor.generate.instructional.record import ShownClip
from proctor.generate.promqa_prompt import generation_prompts
from proctor.llm.estimate import Estimate
from proctor.records import content_hash, is_there, read_json, read_jsonl, write_json, write_jsonl
from proctor.stages.instructional.choices import load_choices
from proctor.stages.instructional.filter import load_kept
from proctor.stages.instructional.pairs import load_clips
from proctor.stages.models import Limits, Models, open_models
from proctor.stages.questions import pairs_of_choices
from proctor.stages.videos import Videos, workspace_videos
from proctor.workspace import Workspace

__all__ = [
    "CLIP_RUNS",
    "Form",
    "PredictOptions",
    "estimate",
    "floors",
    "load_runs",
    "predict",
    "questions_of_form",
    "require_videos",
]

CLIP_RUNS: Final = "clip-runs"
"""Folder of answers about clips in a workspace, one folder for each form and system."""

Form = Literal["choice", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions:
    """Who answers what.

    Attributes:
        model: full name.
        form: ``choice`` (multiple choice) or ``open``.
        view: what it is shown: ``frames:8``, ``frames:16``, ``frames:fps1``, ``question``, ``steps``.
        style: of the prompts that go with pictures: a to d.
        shuffle: seed of an order of the options for each question; None shows them as printed.
        circular: every rotation of the options is asked.
        judge: of open-ended answers.
        videos: folder of the clips' videos.
        limit: at most so many questions.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """

    model: str
    form: Form = "choice"
    view: str = "frames:8"
    style: ChoiceStyle = "d"
    shuffle: int | None = None
    circular: bool = False
    judge: str | None = None
    videos: Path | None = None
    limit: int | None = None
    resamples: int = 10_000
    seed: int = 0


def questions_of_form(workspace: Workspace, form: Form, *, limit: int | None = None) -> list[ClipQuestion]:
    """Return the questions of a workspace in one form.

    Raises:
        UserError: if there are none; it names the command that makes them.
    """
    clips = load_clips(workspace) if is_there(workspace.file("clips.jsonl")) else []
    if form == "open":
        found = open_questions(load_kept(workspace), clips)
    else:
        found = choice_questions(load_choices(workspace), pairs_of_choices(workspace), clips)
    if not found:
        raise UserError(
            "there is no question to answer.",
            where=str(workspace.root),
            hint="see filters.dropped.jsonl and choices.dropped.jsonl",
        )
    return found[:limit]


def predict(
    root: Path,
    options: PredictOptions,
    *,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Have a model answer, and score it.

    Args:
        root: the workspace.
        options: who answers what.
        limits: what calls may cost.
        seen: called after each call.

    Raises:
        UserError: if there are no questions, videos are missing, or a model is wrong.
    """
    if options.form == "open" and options.judge is None:
        raise UserError("open-ended answers need a judge.", hint="name a model: --judge MODEL")
    workspace = Workspace(root)
    questions = questions_of_form(workspace, options.form, limit=options.limit)
    items = clip_items(questions)
    with open_models(workspace, limits) as models:
        models.require_prices(options.model, *([options.judge] if options.judge else []))
        who = _predictor(workspace, models, options, questions)
        predictions = who.predict(items, models.ask(f"predict/{who.view.view.kind}", seen))
        how = Resampling(resamples=options.resamples, seed=options.seed)
        benchmark = _benchmark(workspace, options.form, questions)
        folder = _folder(workspace, options.form, who.name)
        judgements: dict[str, list[Judgement]] = {}
        if options.form == "open":
            judge = ModelMarker(
                model=options.judge or "",
                marker=CONSISTENCY_MARKER,
                library=who.library,
                prompts=Prompts(generation_prompts(limits.prompts if limits else None), models.secret),
                price=models.price,
            )
            made = judge.mark(items, predictions, models.ask("judge", seen))
            write_jsonl(folder / "judgements.jsonl", made)
            judgements[KIND.measured.judge] = made
        table = score_run(
            KIND, items, predictions, judgements, benchmark=benchmark,
            privilege=who.view.privilege if options.form == "choice" else "", resampling=how,
        )  # fmt: skip
        calls = models.closing()
    write_jsonl(folder / "predictions.jsonl", predictions)
    write_json(folder / "table.json", table)
    workspace.record(
        f"clips/{options.form}/{folder.name}",
        settings={
            **{k: v for k, v in msgspec.to_builtins(_plain(options)).items() if v is not None},
            "predictor": who.name,
        },
        counts=dict(table.counts),
        inputs=["choices.jsonl" if options.form == "choice" else "open.jsonl"],
    )
    return {"system": who.name, "table": msgspec.to_builtins(table), "calls": calls}


def estimate(root: Path, options: PredictOptions, *, limits: Limits | None = None) -> Estimate:
    """Say what answering would take, from the real prompts with their pictures; nothing is sent.

    Raises:
        UserError: as ``predict``.
    """
    workspace = Workspace(root)
    questions = questions_of_form(workspace, options.form, limit=options.limit)
    with open_models(workspace, limits) as models:
        who = _predictor(workspace, models, options, questions)
        return models.estimate([(f"predict/{who.view.view.kind}", who.requests(clip_items(questions)))])


def floors(root: Path, *, resamples: int = 10_000, seed: int = 0) -> list[dict[str, Any]]:
    """Score what knows nothing: chance, the longest option, the most frequent letter.

    Raises:
        UserError: if there are no questions with options.
    """
    workspace = Workspace(root)
    questions = questions_of_form(workspace, "choice")
    items, found = clip_items(questions), []
    for name in CHOICE_FLOORS:
        floor = choice_floor(name, items)
        predictions = list(predict_items(items, floor, seed=seed))
        table = score_run(
            KIND, items, predictions, benchmark=_benchmark(workspace, "choice", questions),
            privilege=floor.privilege, resampling=Resampling(resamples=resamples, seed=seed),
        )  # fmt: skip
        folder = _folder(workspace, "choice", f"floor-{name}")
        write_jsonl(folder / "predictions.jsonl", predictions)
        write_json(folder / "table.json", table)
        found.append({"system": table.predictor, "table": msgspec.to_builtins(table)})
    return found


def load_runs(workspace: Workspace, form: Form) -> dict[str, tuple[ScoreTable, list[Prediction]]]:
    """Return tables and answers of all systems over the questions of a form, by system.

    Runs over questions that were made anew since then are left out.
    """
    folder = workspace.file(CLIP_RUNS) / form
    found: dict[str, tuple[ScoreTable, list[Prediction]]] = {}
    try:
        questions = questions_of_form(workspace, form)
    except UserError:
        return found
    for path in sorted(folder.glob("*/table.json")) if is_there(folder) else ():
        table: ScoreTable = read_json(path, ScoreTable)
        if _of_other_questions(workspace, form, table, questions):
            continue
        found[table.predictor] = (table, read_jsonl(path.with_name("predictions.jsonl"), Prediction))
    return found


def _predictor(
    workspace: Workspace,
    models: Models,
    options: PredictOptions,
    questions: Sequence[ClipQuestion],
) -> ModelPredictor[ClipAsking]:
    view = ClipView.parse(options.view)
    videos = None
    if view.kind == "frames":
        videos = require_videos(workspace, options.videos, [q.clip for q in questions if q.clip is not None])
    return ModelPredictor(
        kind=KIND,
        view=ClipAsking(view=view, style=options.style, shuffle=options.shuffle, circular=options.circular),
        models={"answer": options.model},
        library=Library(media=models.media, videos=videos),
        prompts=Prompts(models.prompts, models.secret),
        price=models.price,
    )


def require_videos(workspace: Workspace, folder: Path | None, clips: Sequence[ShownClip]) -> Videos:
    """Return the finder of clips' videos, which has at least one of them; what is shown of others fails, and is counted.

    Raises:
        UserError: if there is not one, before anything is paid for.
    """
    videos = workspace_videos(workspace, folder, {clip.video_id for clip in clips})
    require_a_video((Footage(recording=c.video_id, end=c.end, video=c.video or "") for c in clips), videos)
    return videos


def _benchmark(workspace: Workspace, form: Form, questions: Sequence[ClipQuestion]) -> str:
    asked = content_hash([(q.id, q.question, q.options, q.letter) for q in questions])
    return f"{workspace.root.resolve().name}-{form}@{asked[:12]}"


def _of_other_questions(
    workspace: Workspace, form: Form, table: ScoreTable, questions: Sequence[ClipQuestion]
) -> bool:
    """A run may be of the first questions only (``limit``); the folder may have been renamed."""
    asked = _benchmark(workspace, form, questions[: len(table.item_marks)])
    return table.benchmark.rpartition("@")[2] != asked.rpartition("@")[2]


def _folder(workspace: Workspace, form: Form, name: str) -> Path:
    safe = re.sub(r"[^A-Za-z0-9._+@-]+", "-", re.sub(r"@https?://[^ ()]*", "", name)).strip("-.")
    return workspace.file(CLIP_RUNS) / form / f"{safe[:70]}-{content_hash(name)[:8]}"


def _plain(options: PredictOptions) -> dict[str, Any]:
    found = {name: getattr(options, name) for name in PredictOptions.__slots__}
    return {**found, "videos": str(options.videos) if options.videos else None}
