"""InstructionBench's experiment: pairs, filters, options, answers, floors and the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.choice_floors import CHOICE_FLOORS
from proctor.exam.clip_view import ClipView
from proctor.exam.kinds.clip import KIND, require_a_video
from proctor.exam.question import Footage
from proctor.llm.model import PERSON
from proctor.llm.outcome import is_settled
from proctor.stages.build import build
from proctor.stages.clip.choices import make
from proctor.stages.clip.filter import filter_questions
from proctor.stages.clip.pairs import found_clips, generate
from proctor.stages.clip.settings import ChoiceOptions, FilterOptions, PairOptions
from proctor.stages.exam_settings import JudgeSettings, PredictSettings, ScoreSettings
from proctor.stages.experiment.settings import OUTLINES, ClipAnswerSettings
from proctor.stages.experiment.stage import (
    Doing,
    Plan,
    Stage,
    Task,
    Unit,
    rows_of_tables,
    units_of_table,
)
from proctor.stages.experiment.tasks import answers_of, marks_of, runs_of
from proctor.stages.judge import judge
from proctor.stages.models import Asked
from proctor.stages.predict import predict
from proctor.stages.report import report
from proctor.stages.score import score, scored_tables
from proctor.stages.settings import BuildSettings
from proctor.stages.videos import workspace_videos
from proctor.workspace import Workspace

__all__ = ["PLAN"]


def _add(doing: Doing, name: str, result: Asked, left: int | None, dropped: str) -> None:
    """Write down a stage that the next one needs whole: not while models owe an answer, which would change it.

    Raises:
        KeyboardInterrupt: if that is what ended it; what was done is written.
        StoppedError: if models owe an answer or calls failed for all, unless failures are accepted.
        UserError: if it left nothing to go on with.
    """
    if result.interrupted:
        raise KeyboardInterrupt
    doing.add(name, result)
    if not result.complete:
        owed = getattr(result, "postponed", 0)
        doing.stop(f"{name}: {owed:,} are postponed, since models were not asked")
    failed = (
        {kind: n for kind, n in result.calls.outcomes.items() if is_settled(kind)} if result.calls else {}
    )
    if not left and failed:
        told = ", ".join(f"{kind} {n:,}" for kind, n in failed.items())
        doing.stop(f"{name}: nothing is left to go on with, since calls failed: {told}")
    if not left:
        raise UserError(
            f"nothing is left of the stage '{name}' to go on with.",
            hint=f"{dropped}.dropped.jsonl says why; ask for more pairs (--total), or leave more for the benchmark "
            "(--benchmark-share)",
        )


def _pairs(doing: Doing, options: PairOptions) -> None:
    with doing.showing("writing pairs") as seen:
        made = generate(doing.root, options, limits=doing.limits, seen=seen)
    _add(doing, "generate", made, made.pairs, "pairs")


def _can_write(_: Doing, options: PairOptions) -> None:
    """See that somebody writes.

    Raises:
        UserError: if nobody was named.
    """
    options.models  # noqa: B018 - it is said by the property


def _filter(doing: Doing, options: FilterOptions) -> None:
    with doing.showing("filtering") as seen:
        made = filter_questions(doing.root, _filtering(doing, options), limits=doing.limits, seen=seen)
    doing.done.lines += made.lines
    _add(doing, "filter", made, made.benchmark, "filters")


def _filtering(doing: Doing, options: FilterOptions) -> FilterOptions:
    """Return who filters: who writes pairs, where nobody was named."""
    judges = options.judge or (doing.settings(PairOptions).generator,)
    return msgspec.structs.replace(options, judge=judges, on=options.on or "pairs")


def _can_filter(doing: Doing, options: FilterOptions) -> None:
    """See that somebody votes, each once.

    Raises:
        UserError: if nobody does, or one is named twice.
    """
    if not options.assistant:
        raise UserError(
            "no assistants were named to vote on options.",
            hint="name assistants, three as in the paper: -a MODEL -a MODEL -a MODEL",
        )
    if len(set(options.assistant)) < len(options.assistant):
        raise UserError(
            "an assistant is named twice.",
            hint="a second vote of the same model says nothing new; name different ones",
        )
    _filtering(doing, options).filters  # noqa: B018 - it says what is wrong with votes


def _choices(doing: Doing, options: ChoiceOptions) -> None:
    options = msgspec.structs.replace(
        options, writer=options.writer or doing.settings(PairOptions).generator, on=options.on or "pairs"
    )
    with doing.showing("making options") as seen:
        made = make(doing.root, options, limits=doing.limits, seen=seen)
    _add(doing, "choices", made, made.achieved, "choices")
    doing.done.lines.append(f"{made.achieved:,} of {made.asked:,} questions got options")


def _can_answer(doing: Doing, settings: ClipAnswerSettings) -> None:
    """See that systems can be shown what they are to see.

    Raises:
        UserError: if there is no such view, or there are no videos for those who are to see some.
    """
    views = [ClipView.parse(view) for view in settings.show]
    clips = found_clips(
        doing.workspace, doing.settings(PairOptions)
    ).clips  # told now, not after pairs are paid
    dry = doing.limits.left_out is not None  # it says what it leaves out
    if settings.predictor and not dry and any(view.kind == "frames" for view in views):
        videos = workspace_videos(doing.workspace, settings.videos, {clip.video_id for clip in clips})
        shown = (Footage(recording=c.video_id, end=c.end, video=c.video or "") for c in clips)
        require_a_video(shown, videos)


def _build(doing: Doing, settings: BuildSettings) -> None:
    doing.add("build", build(doing.root, settings))


def _predict(doing: Doing, settings: ClipAnswerSettings) -> None:
    runs: list[str] = []
    for name in CHOICE_FLOORS:
        (floor,) = predict(
            doing.root, name, PredictSettings(kind=KIND.name, form="choice", seed=settings.seed)
        )
        doing.add(f"floor/{name}", floor)
        runs.append(floor.run)
    matching = JudgeSettings(match_options=settings.match_options) if settings.match_options else None
    if (
        matching is not None
    ):  # floors as well, though nothing of them is unread: what is compared is marked alike
        doing.add(
            "match/floors",
            judge(doing.root, msgspec.structs.replace(matching, runs=tuple(runs)), limits=doing.limits),
        )
    tasks: list[Task] = []
    for model in dict.fromkeys(settings.predictor):
        for view in dict.fromkeys(settings.show[:1] if model.startswith(PERSON) else settings.show):
            who = f"{model} ({view})"
            asked = PredictSettings(
                kind=KIND.name, form="choice", show=view, style=settings.style, shuffle=settings.shuffle,
                circular=settings.circular, videos=settings.videos, limit=settings.limit, seed=settings.seed,
            )  # fmt: skip
            run = answers_of(doing, f"answering: {who}", f"predict/{who}", model, asked)
            tasks.append(run)
            if matching is not None:
                tasks.append(marks_of(doing, f"matching options: {who}", f"match/{who}", matching, of=run))
            if settings.judge is not None:
                opened = msgspec.structs.replace(asked, form="open", circular=False, shuffle=None)
                run = answers_of(doing, f"answering open-ended: {who}", f"open/{who}", model, opened)
                how = JudgeSettings(judge=settings.judge)
                tasks += [run, marks_of(doing, f"marking: {who}", f"judge/{who}", how, of=run)]
    doing.together(tasks)
    scoring = ScoreSettings(
        runs=(*runs, *runs_of(tasks)),
        resamples=settings.resamples,
        min_coverage=settings.min_coverage,
        seed=settings.seed,
    )
    rows = rows_of_tables(score(doing.root, scoring).tables)
    doing.done.scores |= {f"{doing.cell}: {run}" if doing.cell else run: found for run, found in rows.items()}
    with doing.showing("writing the report") as seen:
        written = report(doing.root, videos=settings.videos, seen=seen)
    doing.add("report", written)
    doing.done.report = written.report


def _measure(root: Path) -> Iterator[Unit]:
    """Yield what systems got for each question, with options and open-ended."""
    for info, table in scored_tables(Workspace(root), KIND.name):
        yield from units_of_table(table, table.predictor, "" if info.form == "choice" else f"{info.form}: ")


PLAN: Final = Plan(
    outline=OUTLINES["clip"],
    stages=(
        Stage(
            "pairs", _pairs, check=_can_write, models=lambda o: [o.models.generator, o.models.sorts],
            writes=("clips.jsonl", "clips.dropped.jsonl", "pairs.jsonl", "pairs.json", "pairs.dropped.jsonl"),
        ),
        Stage(
            "filter", _filter, check=_can_filter, models=lambda o: o.names,
            writes=("filters.jsonl", "filters.json", "filters.dropped.jsonl", "open.jsonl", "training.jsonl"),
        ),
        Stage(
            "choices", _choices, models=lambda o: [o.writer, *o.assistant],
            writes=("choices.jsonl", "choices.json", "choices.attempts.jsonl", "choices.dropped.jsonl"),
        ),
        Stage("build", _build, writes=("items.jsonl", "build.dropped.jsonl", "release/**/*")),
        Stage(
            "predict", _predict, check=_can_answer, models=lambda s: [*s.predictor, s.judge or "", s.match_options or ""],
            writes=("runs/**/*",),
        ),
    ),
    measure=_measure,
    costs=("pairs.jsonl", "filters.jsonl", "choices.attempts.jsonl", "runs/*/predictions.jsonl", "runs/*/judgements/*.jsonl"),
)  # fmt: skip
