"""ProMQA's experiment: questions about moments are asked and checked, systems answer, judges mark, people calibrate them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.kinds.moment_marker import Rubric
from proctor.exam.kinds.moment_question import MOMENT, moment_example
from proctor.exam.prediction import Prediction
from proctor.exam.table import ScoreTable
from proctor.exam.view import View
from proctor.llm.estimate import Estimate
from proctor.llm.model import PERSON
from proctor.records import is_there, read_json, write_json, write_jsonl
from proctor.stages.build import build
from proctor.stages.calibrate import calibrate, load_evidence, require_marked_items
from proctor.stages.derive import derive
from proctor.stages.exam_settings import CalibrateSettings, JudgeSettings, PredictSettings, ScoreSettings
from proctor.stages.exchange import import_published, import_release
from proctor.stages.experiment.settings import (
    NOBODY,
    OUTLINES,
    AnswerSettings,
    MarkSettings,
    ReadingSettings,
    ReviewSettings,
)
from proctor.stages.experiment.sheet import write_sheet
from proctor.stages.experiment.stage import Doing, Plan, Stage, Task, Unit, nothing, rows_of_tables
from proctor.stages.experiment.tasks import answers_of, marks_of
from proctor.stages.generate import estimate_generation, generate
from proctor.stages.inputs import load_items, load_predictions, load_recordings
from proctor.stages.judge import estimate_judging, judge
from proctor.stages.naming import file_name
from proctor.stages.predict import (
    PREDICTORS,
    estimate_prediction,
    items_hash,
    predict,
    read_run_info,
    run_name,
)
from proctor.stages.questions import workspace_questions
from proctor.stages.read import read
from proctor.stages.rehearsing import REHEARSAL_VIDEOS
from proctor.stages.report import report
from proctor.stages.score import score
from proctor.stages.settings import (
    BuildSettings,
    DeriveSettings,
    GenerateSettings,
    ReadSettings,
    ReportSettings,
)
from proctor.stages.verify import estimate_verification, has_store, open_store, verify, verify_with_model
from proctor.stages.videos import workspace_videos
from proctor.verify.store import split_stale
from proctor.verify.verdict import Verdict
from proctor.workspace import Workspace

__all__ = ["FORMER_RUNS", "PLAN", "SHEET_FILE", "System", "markings", "set_former_runs_aside", "systems"]

SHEET_FILE: Final = "to-mark.csv"
"""Answers for people to mark, in the workspace."""
FORMER_RUNS: Final = "former-runs"
"""Folder of runs that answered other questions than the plan now asks, in the workspace."""
_PROXY: Final = "annotations"
"""Predictor whose answers stand in for those that are not given yet."""


# -- recordings and examples ---------------------------------------------------------------------------------------


def _read(doing: Doing, settings: ReadingSettings) -> None:
    """Bring recordings and examples into the workspace, where they are not there."""
    workspace = doing.workspace
    if settings.release is not None:
        if not is_there(workspace.file("items.jsonl")):
            doing.add("import", import_release(settings.release, doing.root))
        return
    if settings.published is not None and settings.data is not None:
        if not is_there(workspace.file("items.jsonl")):
            doing.add("import", import_published(settings.published, settings.data, doing.root))
        return
    there = is_there(workspace.file("recordings.jsonl")) or is_there(workspace.file("items.jsonl"))
    if not there and settings.data is not None:
        how = ReadSettings(corrections=settings.protocol)
        doing.add("read", read(settings.dataset, settings.data, doing.root, how).counts)
    if not is_there(workspace.file("examples.jsonl")) and is_there(workspace.file("recordings.jsonl")):
        doing.add("derive", derive(doing.root, DeriveSettings(protocol=settings.protocol)))


def _can_read(doing: Doing, settings: ReadingSettings) -> None:
    """See that there are recordings, and that those that are there were read as is wanted: they are not read again.

    Raises:
        UserError: if there is neither a source nor anything in the workspace, or it was read by another protocol.
    """
    workspace = doing.workspace
    if settings.published is not None and settings.data is None:
        raise UserError(
            "published questions need the annotations that they are about.",
            where=str(settings.published),
            hint="name their folder, too: --data FOLDER",
        )
    stages = workspace.stages()
    made = ""
    if "derive" in stages:
        made = stages["derive"].settings.get("protocol", "")
    elif "read" in stages:
        made = stages["read"].settings.get("corrections", "")
    if made in ("corrected", "published") and made != settings.protocol:
        raise UserError(
            f"the data were read by the protocol '{made}', but the plan says '{settings.protocol}'.",
            where=str(workspace.root),
            hint=f"go on with --protocol {made}, or begin the experiment in another folder",
        )
    there = is_there(workspace.file("recordings.jsonl")) or is_there(workspace.file("items.jsonl"))
    if not there and settings.data is None and settings.release is None:
        raise UserError(
            "the workspace has no recordings yet.",
            where=str(workspace.root),
            hint="say where they are: --data FOLDER (and --published FILE for published questions), or --release NAME",
        )


# -- questions -----------------------------------------------------------------------------------------------------


def _came_with_items(workspace: Workspace) -> bool:
    """True for a workspace that came with its items: nobody asks, they are taken as they are."""
    return is_there(workspace.file("items.jsonl")) and "generate" not in workspace.stages()


def _generate(doing: Doing, settings: GenerateSettings) -> None:
    _require_videos(doing, doing.settings(AnswerSettings))
    if _came_with_items(doing.workspace):
        return
    videos = doing.settings(AnswerSettings).videos
    with doing.showing("asking questions") as seen:
        made = generate(doing.root, settings, videos=videos, limits=doing.limits, seen=seen)
    doing.add("generate", made)


def _estimate_generate(doing: Doing, settings: GenerateSettings) -> Iterator[Estimate]:
    _require_videos(doing, doing.settings(AnswerSettings))
    if _came_with_items(doing.workspace):
        return
    videos = doing.settings(AnswerSettings).videos
    found = estimate_generation(doing.root, settings, videos=videos, limits=doing.limits)
    if found is not None:
        yield found
    if not _asked_as_planned(doing, settings):
        generate(
            doing.root,
            msgspec.structs.replace(settings, generator=("rules",), per_example=len(settings.generator)),
        )


def _asked_as_planned(doing: Doing, settings: GenerateSettings) -> bool:
    """Tell whether the candidates that are there are those of this plan, or will be made anew."""
    record = doing.workspace.stages().get("generate")
    return (
        record is not None
        and is_there(doing.workspace.file("candidates.jsonl"))
        and msgspec.json.encode(record.settings, order="sorted")
        == msgspec.json.encode(settings.recorded(), order="sorted")
    )


def _verify(doing: Doing, settings: ReviewSettings) -> None:
    if _came_with_items(doing.workspace):
        return
    with doing.showing("checking them against the task graph") as seen:
        doing.add("verify", verify(doing.root, seen=seen))
    for model in settings.verifier:
        with doing.showing(f"checking them: {model}") as seen:
            doing.add(f"verify/{model}", verify_with_model(doing.root, model, limits=doing.limits, seen=seen))


def _estimate_verify(doing: Doing, settings: ReviewSettings) -> Iterator[Estimate]:
    if _came_with_items(doing.workspace):
        return
    verify(doing.root)
    for name in settings.verifier:
        yield estimate_verification(doing.root, name, limits=doing.limits)


def _build(doing: Doing, settings: BuildSettings) -> None:
    if _came_with_items(doing.workspace):
        return
    name = "rehearsal" if doing.limits.rehearsal is not None else ""
    doing.add("build", build(doing.root, settings, name=name))


def _estimate_build(doing: Doing, settings: BuildSettings) -> Iterator[Estimate]:
    if not _came_with_items(doing.workspace) and not _built_as_planned(doing, settings):
        build(doing.root, BuildSettings(min_confidence=0.0, seed=settings.seed))
    yield from ()


def _built_as_planned(doing: Doing, settings: BuildSettings) -> bool:
    record = doing.workspace.stages().get("build")
    return (
        record is not None
        and _asked_as_planned(doing, doing.settings(GenerateSettings))
        and (record.settings.get("accept"), record.settings.get("min_confidence"))
        == (settings.accept, settings.min_confidence)
    )


# -- answers -------------------------------------------------------------------------------------------------------


class System(msgspec.Struct, frozen=True):
    """A model that answers, and one of the ways in which it is shown the items."""

    model: str
    view: View

    @property
    def run(self) -> str:
        """Name of its run."""
        return file_name(self.model) if self.model.startswith(PERSON) else run_name(self.model, self.view)

    def settings(self, videos: Path | None) -> PredictSettings:
        """Return how it is asked; videos are looked for in the folder."""
        return PredictSettings(
            run=self.run, kind=MOMENT, show=self.view.spec, captioner=self.view.captioner, videos=videos
        )


def systems(settings: AnswerSettings) -> list[System]:
    """Return who answers, in the order of the settings."""
    found = []
    for text in settings.predictor:
        if text == NOBODY:
            continue
        if text.startswith(PERSON):  # whatever they were shown
            found.append(System(text, View.parse("question")))
            continue
        model, own = _split(text)
        found += [
            System(model, View.parse(view, captioner=settings.captioner)) for view in own or settings.show
        ]
    return found


def _split(text: str) -> tuple[str, Sequence[str]]:
    """Tell a model from its own views; an address may hold an equals sign, too."""
    model, equals, views = text.rpartition("=")
    if not equals or "/" in views:
        return text, ()
    return model, [view.strip() for view in views.split(",")]


def _answering(settings: AnswerSettings) -> Iterator[str]:
    for system in systems(settings):
        yield system.model
        if system.view.captioner:
            yield system.view.captioner


def _can_answer(_: Doing, settings: AnswerSettings) -> None:
    """See that somebody answers and can be shown what they are to see.

    Raises:
        UserError: if nobody answers, two systems have one name, or there is no video for those who are to see some.
    """
    answering = systems(settings)
    if not settings.predictor:
        hint = f"name at least one: --predictor openai/gpt-4o; '{NOBODY}' for baselines alone"
        raise UserError("no system was named that answers the questions.", hint=hint)
    runs = [system.run for system in answering]
    twice = next((run for run in runs if runs.count(run) > 1), None)
    if twice is not None:
        raise UserError(f"two systems would be called '{twice}'.", hint="name every model and view once")


def _videos(doing: Doing, settings: AnswerSettings) -> Path | None:
    """Return the folder that is named, else that of a rehearsal's drawn videos, where there is one."""
    drawn = doing.workspace.file(REHEARSAL_VIDEOS)
    return settings.videos or (drawn if drawn.is_dir() else None)


def _require_videos(doing: Doing, settings: AnswerSettings) -> None:
    """See that there is a video before questions are paid for that nobody can be shown.

    Raises:
        UserError: if somebody is to see videos, and not one recording has one.
    """
    workspace = doing.workspace
    if doing.limits.left_out is not None:  # a dry run says what it leaves out
        return
    if doing.limits.rehearsal is not None or not any(s.view.sees_video for s in systems(settings)):
        return
    graphs = workspace.graphs()
    if is_there(workspace.file("recordings.jsonl")):
        recordings = {r.id: r.video for r in load_recordings(workspace, graphs)}
    else:  # the workspace came with its items
        items = load_items(workspace, graphs)
        recordings = {item.question.cluster: moment_example(item.question).video for item in items}
    videos = workspace_videos(workspace, _videos(doing, settings), recordings)
    for recording_id, named in recordings.items():
        with suppress(UserError):
            if videos.find(recording_id, named) is not None:
                return
    raise UserError(
        f"none of the {len(recordings):,} recordings has a video.",
        where=str(videos.folder or workspace.root),
        hint="say where they are (--videos FOLDER), or show no pictures (--show question --show recipe)",
    )


def _predict(doing: Doing, settings: AnswerSettings) -> None:
    workspace, limits = doing.workspace, doing.limits
    answering = systems(settings)
    videos = settings.videos
    if limits.rehearsal is not None and videos is None and any(s.view.sees_video for s in answering):
        videos = limits.rehearsal.videos()
    if former := set_former_runs_aside(workspace, [system.run for system in answering]):
        doing.add("set aside", {"runs": former})
        doing.done.notes.append(
            f"these runs answered other questions and are now in {FORMER_RUNS}: {', '.join(former)}"
        )
    human = doing.settings(CalibrateSettings).human
    marked = human or (() if limits.rehearsal is not None else _marked_before(workspace))
    require_marked_items(list(map(Path, marked)), workspace)
    for name in PREDICTORS:
        with doing.showing(f"answering: {name}") as seen:
            (floor,) = predict(doing.root, name, PredictSettings(seed=settings.seed, kind=MOMENT), seen=seen)
            doing.add(f"predict/{name}", floor)
    doing.together(
        [
            answers_of(
                doing, f"answering: {system.run}", f"predict/{system.run}", system.model, system.settings(videos),
                others=(system.view.captioner,),
            )
            for system in answering
        ]
    )  # fmt: skip


def _marked_before(workspace: Workspace) -> tuple[str, ...]:
    """Files of marks by people that an earlier calibration named."""
    record = workspace.stages().get("calibrate")
    return tuple(record.settings["human"]) if record is not None else ()


def answers_to(folder: Path, asked: str) -> bool:
    """Tell whether a run's answers are to the items with this hash; one that does not say so was cut off."""
    return is_there(folder / "run.json") and read_run_info(folder).items == asked


def set_former_runs_aside(workspace: Workspace, kept: Sequence[str]) -> list[str]:
    """Move runs away that answered other questions, unless they are asked again.

    They cannot be marked or compared with what is asked now; what was paid for stays in the folder ``FORMER_RUNS``.

    Returns:
        Their names.
    """
    asked = items_hash(load_items(workspace, workspace.graphs()))
    moved = []
    for name in workspace.run_names():
        folder = workspace.run_folder(name)
        if name in (*PREDICTORS, *kept) or answers_to(folder, asked):
            continue
        number, target = 1, workspace.file(FORMER_RUNS) / name
        while target.exists():
            number, target = number + 1, target.with_name(f"{name}-{number + 1}")
        target.parent.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # another process was first
            folder.rename(target)
            moved.append(name)
    return moved


def _estimate_predict(doing: Doing, settings: AnswerSettings) -> Iterator[Estimate]:
    videos = _videos(doing, settings)
    for system in systems(settings):
        yield estimate_prediction(doing.root, system.model, system.settings(videos), limits=doing.limits)
    set_former_runs_aside(doing.workspace, [system.run for system in systems(settings)])
    for name in PREDICTORS:
        predict(doing.root, name, PredictSettings(seed=settings.seed, kind=MOMENT))
    for system in systems(settings):
        _answers_in_place_of(doing, system.run)


def _answers_in_place_of(doing: Doing, run: str) -> None:
    """Give a run the answers that it lacks; they name it, since the same answer of two runs would be marked once."""
    workspace = doing.workspace
    items = load_items(workspace, workspace.graphs())
    folder = workspace.run_folder(run)
    given: dict[str, Prediction] = {}
    if run in workspace.run_names() and answers_to(folder, items_hash(items)):
        given = {p.item_id: p for p in load_predictions(folder, items) if p.failure is None}
    if len(given) == len(items):
        return
    predict(doing.root, _PROXY, PredictSettings(run=run, kind=MOMENT))
    write_json(folder / "run.json", msgspec.structs.replace(read_run_info(folder), role="system"))
    answers = [
        given.get(p.item_id) or msgspec.structs.replace(p, answer=p.answer and f"{p.answer} ({run})")
        for p in load_predictions(folder, items)
    ]
    write_jsonl(folder / "predictions.jsonl", answers)


# -- marks and scores ----------------------------------------------------------------------------------------------


def markings(settings: MarkSettings) -> list[tuple[str, Rubric]]:
    """Return who marks, and how; scores are made of the last one's marks.

    Every judge is asked by the first rubric, the first judge by every rubric, so that both can be compared with people.
    """
    rubrics = [Rubric.parse(name) for name in settings.rubric]
    pairs = [(judge, rubrics[0]) for judge in settings.judge]
    pairs[1:1] = [(judge, rubric) for judge in settings.judge[:1] for rubric in rubrics[1:]]
    return list(reversed(list(dict.fromkeys(pairs))))


def _can_mark(_: Doing, settings: MarkSettings) -> None:
    """See that judges can be told apart.

    Raises:
        UserError: if two would have one name, or there is no rubric.
    """
    judges = [file_name(judge) for judge in dict.fromkeys(settings.judge)]
    alike = next((judge for judge in judges if judges.count(judge) > 1), None)
    if alike is not None:
        raise UserError(
            f"two judges would be called '{alike}'.",
            hint="an address does not tell judges apart: let their servers give the model two names",
        )
    if not settings.rubric:
        raise UserError("no rubric was named.", hint="the published one is ternary-step")
    markings(settings)


def _asked_of(model: str, rubric: Rubric, settings: MarkSettings) -> JudgeSettings:
    return JudgeSettings(
        judge=model, rubric=rubric.name, repeats=settings.repeats, judge_floors=settings.judge_floors
    )


def _judge(doing: Doing, settings: MarkSettings) -> None:
    if not settings.judge:
        with doing.showing("marking the answers") as seen:
            doing.add("judge/rules", judge(doing.root, seen=seen))
    tasks: list[Task] = []
    for model, rubric in markings(settings):
        who = f"{model} · {rubric.name}"
        how = _asked_of(model, rubric, settings)
        tasks.append(marks_of(doing, f"marking: {who}", f"judge/{who}", how))
    doing.together(tasks)


def _estimate_judge(doing: Doing, settings: MarkSettings) -> Iterator[Estimate]:
    for model, rubric in markings(settings):
        how = _asked_of(model, rubric, settings)
        found = estimate_judging(doing.root, how, limits=doing.limits)
        if found is not None:
            yield found


def _can_calibrate(_: Doing, settings: CalibrateSettings) -> None:
    """See that files of marks are there: told now, not after all has been paid for.

    Raises:
        UserError: if one is not.
    """
    for path in settings.human:
        if not is_there(Path(path)):
            raise UserError("there is no such file.", where=path, hint="check the path and its spelling")


def _calibrate(doing: Doing, settings: CalibrateSettings) -> None:
    workspace, rehearsal = doing.workspace, doing.limits.rehearsal
    played = tuple(map(str, rehearsal.marks())) if rehearsal is not None and not settings.human else ()
    marks = settings.human or played
    known = (
        _marked_before(workspace)
        or load_evidence(workspace, load_items(workspace, workspace.graphs())).people
    )
    if marks or known:
        doing.done.calibration = calibrate(
            doing.root, msgspec.structs.replace(settings, human=marks or _marked_before(workspace))
        )
    elif doing.settings(MarkSettings).judge:
        sheet = workspace.file(SHEET_FILE)
        runs = [system.run for system in systems(doing.settings(AnswerSettings))]
        write_sheet(doing.root, runs, sheet, seed=settings.seed)
        doing.done.sheet = str(sheet)


def _score(doing: Doing, settings: ScoreSettings) -> None:
    scored = score(doing.root, settings)
    doing.done.scores |= {
        f"{doing.cell}: {name}" if doing.cell else name: rows
        for name, rows in rows_of_tables(scored.tables).items()
    }


def _report(doing: Doing, settings: ReportSettings) -> None:
    videos = _videos(doing, doing.settings(AnswerSettings))
    with doing.showing("taking frames for the report") as seen:
        page = report(doing.root, settings, videos=videos, seen=seen)
    doing.add("report", page)
    doing.done.report = page.report


# -- cells ---------------------------------------------------------------------------------------------------------


def _measure(root: Path) -> Iterator[Unit]:
    """Yield who approved the questions that were asked, example by example, and what systems got for each item."""
    workspace = Workspace(root)
    asked = {q.id: q for q in workspace_questions(workspace) if q.kind == MOMENT}
    verdicts: list[Verdict] = []
    if has_store(workspace):
        with open_store(workspace, create=False) as store:
            verdicts, _ = split_stale(store.latest_on(asked.values()), asked)
    of = {id_: moment_example(question).id for id_, question in asked.items()}
    clusters = {of[id_]: question.cluster for id_, question in asked.items()}
    for annotator in dict.fromkeys(v.annotator for v in verdicts if v.role == "annotator"):
        said: dict[str, list[float]] = {}
        for verdict in verdicts:
            if verdict.annotator == annotator and verdict.role == "annotator":
                good = verdict.question.value == "right" and any(a.value == "right" for a in verdict.answers)
                said.setdefault(of[verdict.candidate_id], []).append(float(good))
        marks = {example: sum(values) / len(values) for example, values in said.items()}
        yield Unit("", f"approved by {annotator}", marks, clusters)
    for run in workspace.run_names():
        path = workspace.run_folder(run) / "scores.json"
        if is_there(path):
            table: ScoreTable = read_json(path, ScoreTable)
            row = table.row()
            yield Unit(run, "score", table.item_marks, table.clusters, row.full, row.judge)


PLAN: Final = Plan(
    outline=OUTLINES["moment"],
    stages=(
        Stage(
            "source", _read, check=_can_read,
            writes=("recordings.jsonl", "graphs.json", "examples.jsonl", "items.jsonl", "*.dropped.jsonl"),
        ),
        Stage(
            "generate", _generate, models=lambda s: s.models, estimate=_estimate_generate,
            writes=("candidates.jsonl", "generate.dropped.jsonl"),
        ),
        Stage(
            "verify", _verify, models=lambda s: s.verifier, estimate=_estimate_verify,
            writes=("verification.sqlite", "verify*.dropped.jsonl"),
        ),
        Stage(
            "build", _build, estimate=_estimate_build,
            writes=("items.jsonl", "build.dropped.jsonl", "release/**/*"),
        ),
        Stage(
            "predict", _predict, models=_answering, check=_can_answer, estimate=_estimate_predict,
            writes=("runs/*/*.json*", f"{REHEARSAL_VIDEOS}/"),
        ),
        Stage(
            "judge", _judge, models=lambda s: s.judge, check=_can_mark, estimate=_estimate_judge,
            writes=("runs/*/judgements/*",),
        ),
        Stage("calibrate", _calibrate, check=_can_calibrate, estimate=nothing),
        Stage("score", _score, estimate=nothing),
        Stage("report", _report, estimate=nothing),
    ),
    measure=_measure,
    costs=("candidates.jsonl", "runs/*/predictions.jsonl", "runs/*/judgements/*.jsonl"),
)  # fmt: skip
