"""Doing an experiment: every stage in its order, with one budget; what is done already is not done or paid for again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from proctor.errors import UserError
from proctor.exam.kinds.moment_question import MOMENT, moment_example
from proctor.records import write_json
from proctor.stages.build import build
from proctor.stages.calibrate import Calibrated, calibrate, load_evidence, require_marked_items
from proctor.stages.derive import derive
from proctor.stages.exam_settings import CalibrateSettings, JudgeSettings, PredictSettings, ScoreSettings
from proctor.stages.exchange import import_published
from proctor.stages.experiment.plan import PLAN_FILE, Plan, Source
from proctor.stages.experiment.sheet import write_sheet
from proctor.stages.generate import generate
from proctor.stages.inputs import load_items, load_recordings
from proctor.stages.judge import judge
from proctor.stages.models import Limits, require_keys
from proctor.stages.predict import PREDICTORS, items_hash, predict, read_run_info
from proctor.stages.read import read
from proctor.stages.report import report
from proctor.stages.score import ScoredRuns, score
from proctor.stages.settings import DeriveSettings, ReadSettings
from proctor.stages.show import Show
from proctor.stages.verify import verify, verify_with_model
from proctor.stages.videos import workspace_videos
from proctor.workspace import Workspace, is_there

__all__ = [
    "FORMER_RUNS",
    "SHEET_FILE",
    "Done",
    "Part",
    "answers_to",
    "conduct",
    "prepare",
    "require_videos",
    "set_former_runs_aside",
]

SHEET_FILE = "to-mark.csv"
"""Answers for people to mark, in the workspace."""
FORMER_RUNS = "former-runs"
"""Folder of runs that answered other questions than the plan now asks, in the workspace."""


@dataclass(frozen=True, slots=True)
class Part:
    """One stage of the experiment: its name, the counts of its closing line, and its calls, if it made any."""

    name: str
    counts: Mapping[str, Any]

    @property
    def calls(self) -> Mapping[str, Any]:
        """What the stage asked of models; empty when it asked nobody."""
        found: Mapping[str, Any] = self.counts.get("calls", {})
        return found


@dataclass(slots=True)
class Done:
    """What came of an experiment.

    Attributes:
        parts: the stages, in order.
        stopped: why the experiment ended early; empty when it did not.
        scores: of all runs; None when it did not come so far.
        calibration: of the judges; None without marks by people.
        report: path of the page; empty when it did not come so far.
        sheet: path of the answers for people to mark; empty when they have.
    """

    parts: list[Part] = field(default_factory=list)
    stopped: str = ""
    scores: ScoredRuns | None = None
    calibration: Calibrated | None = None
    report: str = ""
    sheet: str = ""

    def add(self, name: str, counts: Mapping[str, Any]) -> bool:
        """Write down a stage; return whether the next one may begin."""
        part = Part(name, counts)
        self.parts.append(part)
        mute = f"{name}: no model said anything" if part.calls.get("mute") else ""
        self.stopped = self.stopped or str(part.calls.get("stopped") or mute)
        return not self.stopped


def conduct(
    root: Path,
    plan: Plan,
    *,
    source: Source | None = None,
    human: Sequence[Path] = (),
    limits: Limits | None = None,
    show: Show,
) -> Done:
    """Do an experiment, from recordings to the report; a second call goes on where the first one ended.

    Args:
        root: the workspace.
        plan: what to do.
        source: of the recordings; not needed when the workspace has them.
        human: files with marks by people, for the calibration of judges.
        limits: for all stages together; a rehearsal that is going on stands in for videos and people, too.
        show: shows progress.

    Raises:
        UserError: if something about the plan, the data or the workspace is wrong, or a key is missing.
    """
    plan.check()
    for path in human:
        if not is_there(path):  # told now, not after all has been paid for
            raise UserError("there is no such file.", where=str(path), hint="check the path and its spelling")
    limits = (limits or Limits()).shared()
    rehearsal = limits.rehearsal
    workspace = Workspace(root)
    done = Done()
    require_keys(workspace, plan.models, limits)
    prepare(root, plan, source, done)
    if rehearsal is None:
        require_videos(workspace, plan)
    write_json(workspace.file(PLAN_FILE), plan)
    name = "rehearsal" if rehearsal is not None else None
    videos = plan.video_folder
    if not _questions(root, plan, limits, done, show, name):
        return done
    if rehearsal is not None and videos is None and any(s.view.sees_video for s in plan.systems):
        videos = rehearsal.videos()
    if former := set_former_runs_aside(workspace, plan):
        done.add("set aside", {"runs": former})
    marked = workspace.stages().get("calibrate")  # by people in files that its settings name
    kept = [Path(name) for name in marked.settings["human"]] if marked is not None else []
    require_marked_items([] if rehearsal is not None and not human else human or kept, workspace)
    if not _answers(root, plan, videos, limits, done, show):
        return done
    marks = [*human, *(rehearsal.marks() if rehearsal is not None and not human else ())]
    if not _marks(root, plan, limits, done, show):
        return done  # a leaderboard of what happened to be marked in time would mislead
    if marks or kept or load_evidence(workspace, load_items(workspace, workspace.graphs())).people:
        by = tuple(map(str, marks)) or None
        done.calibration = calibrate(root, workspace.resolve(CalibrateSettings, human=by, seed=plan.seed))
    elif plan.judges:
        sheet = workspace.file(SHEET_FILE)
        write_sheet(root, [system.run for system in plan.systems], sheet, seed=plan.seed)
        done.sheet = str(sheet)
    done.scores = score(root, workspace.resolve(ScoreSettings, seed=plan.seed))
    with show("taking frames for the report") as seen:
        page = report(root, videos=videos, seen=seen)
    done.add("report", msgspec.to_builtins(page))
    done.report = page.report
    return done


def prepare(root: Path, plan: Plan, source: Source | None, done: Done) -> None:
    """Bring recordings and examples into the workspace, where they are not there.

    Raises:
        UserError: if there is neither a source nor anything in the workspace, or it was read by another protocol.
    """
    workspace = Workspace(root)
    _require_protocol(workspace, plan)
    there = is_there(workspace.file("recordings.jsonl")) or is_there(workspace.file("items.jsonl"))
    if not there and source is None:
        raise UserError(
            "the workspace has no recordings yet.",
            where=str(root),
            hint="say where they are: --data FOLDER (and --published FILE for published questions)",
        )
    if source is not None and source.published is not None:
        if not is_there(workspace.file("items.jsonl")):
            done.add("import", import_published(source.published, source.folder, root))
        return
    if not there and source is not None:
        how = ReadSettings(corrections="published" if plan.protocol == "published" else "corrected")
        done.add("read", read(source.dataset, source.folder, root, how).counts)
    if not is_there(workspace.file("examples.jsonl")) and is_there(workspace.file("recordings.jsonl")):
        done.add("derive", msgspec.to_builtins(derive(root, DeriveSettings(protocol=plan.protocol))))


def _require_protocol(workspace: Workspace, plan: Plan) -> None:
    """See that recordings and examples that are there were made as the plan says: they are not made again.

    Raises:
        UserError: if they were made by another protocol.
    """
    stages = workspace.stages()
    made = ""
    if "derive" in stages:
        made = stages["derive"].settings.get("protocol", "")
    elif "read" in stages:
        made = stages["read"].settings.get("corrections", "")
    if made in ("corrected", "published") and made != plan.protocol:
        raise UserError(
            f"the data were read by the protocol '{made}', but the plan says '{plan.protocol}'.",
            where=str(workspace.root),
            hint=f"go on with --protocol {made}, or begin the experiment in another folder",
        )


def answers_to(folder: Path, asked: str) -> bool:
    """Tell whether a run's answers are to the items with this hash; one that does not say so was cut off."""
    return is_there(folder / "run.json") and read_run_info(folder).items == asked


def set_former_runs_aside(workspace: Workspace, plan: Plan) -> list[str]:
    """Move runs away that answered other questions, unless the plan names them: those it asks again.

    They cannot be marked or compared with what is asked now; what was paid for stays in the folder ``FORMER_RUNS``.

    Returns:
        Their names.
    """
    asked = items_hash(load_items(workspace, workspace.graphs()))
    planned = {*PREDICTORS, *(system.run for system in plan.systems)}
    moved = []
    for name in workspace.run_names():
        folder = workspace.run_folder(name)
        if name in planned or answers_to(folder, asked):
            continue
        number, target = 1, workspace.file(FORMER_RUNS) / name
        while target.exists():
            number, target = number + 1, target.with_name(f"{name}-{number + 1}")
        target.parent.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # another process was first
            folder.rename(target)
            moved.append(name)
    return moved


def _questions(root: Path, plan: Plan, limits: Limits, done: Done, show: Show, name: str | None) -> bool:
    """Make the items; say whether to go on. Items that came with the workspace are taken as they are."""
    workspace = Workspace(root)
    if is_there(workspace.file("items.jsonl")) and "generate" not in workspace.stages():
        return True
    with show("asking questions") as seen:
        made = generate(root, plan.asking, videos=plan.video_folder, limits=limits, seen=seen)
    if not done.add("generate", msgspec.to_builtins(made)):
        return False
    with show("checking them against the task graph", made.candidates) as seen:
        done.add("verify", verify(root, seen=seen))
    for model in plan.verifiers:
        with show(f"checking them: {model}", made.candidates) as seen:
            if not done.add(f"verify/{model}", verify_with_model(root, model, limits=limits, seen=seen)):
                return False
    built = build(root, accept=plan.accept, min_confidence=plan.min_confidence, name=name, seed=plan.seed)
    return done.add("build", built)


def _answers(root: Path, plan: Plan, videos: Path | None, limits: Limits, done: Done, show: Show) -> bool:
    for name in PREDICTORS:
        with show(f"answering: {name}") as seen:
            (made,) = predict(root, name, PredictSettings(seed=plan.seed, kind=MOMENT), seen=seen)
            done.add(f"predict/{name}", msgspec.to_builtins(made))
    for system in plan.systems:
        with show(f"answering: {system.run}") as seen:
            (made,) = predict(root, system.model, system.settings(videos), limits=limits, seen=seen)
        if not done.add(f"predict/{system.run}", msgspec.to_builtins(made)):
            return False
    return True


def _marks(root: Path, plan: Plan, limits: Limits, done: Done, show: Show) -> bool:
    """Have all answers marked; say whether everybody came to the end."""
    if not plan.judges:
        with show("marking the answers") as seen:
            return done.add("judge/rules", msgspec.to_builtins(judge(root, seen=seen)))
    for model, rubric in plan.markings:
        with show(f"marking: {model} · {rubric.name}") as seen:
            settings = JudgeSettings(judge=model, rubric=rubric.name, repeats=plan.repeats)
            marked = judge(root, settings, limits=limits, seen=seen)
        if not done.add(f"judge/{model} · {rubric.name}", msgspec.to_builtins(marked)):
            return False
    return True


def require_videos(workspace: Workspace, plan: Plan) -> None:
    """See that there is a video before questions are paid for that nobody can be shown.

    Raises:
        UserError: if somebody is to see videos, and not one recording has one.
    """
    if not any(system.view.sees_video for system in plan.systems):
        return
    graphs = workspace.graphs()
    if is_there(workspace.file("recordings.jsonl")):
        recordings = {r.id: r.video for r in load_recordings(workspace, graphs)}
    else:  # the workspace came with its items
        recordings = {
            i.question.cluster: moment_example(i.question).video for i in load_items(workspace, graphs)
        }
    videos = workspace_videos(workspace, plan.video_folder, recordings)
    for recording_id, named in recordings.items():
        with suppress(UserError):
            if videos.find(recording_id, named) is not None:
                return
    raise UserError(
        f"none of the {len(recordings):,} recordings has a video.",
        where=str(videos.folder or workspace.root),
        hint="say where they are (--videos FOLDER), or show no pictures (--show question --show recipe)",
    )
