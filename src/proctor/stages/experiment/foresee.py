"""What an experiment would take, told from its real prompts before anything is sent.

Questions that are not asked yet cannot be put into the prompts of later stages. In their place stand those of the rule
generator about the same examples, and in place of answers that are not given yet those of the annotations: they are as
long as real ones, and all that surrounds them (procedure, steps, frames) is the real thing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from proctor.errors import UserError
from proctor.exam.kinds.moment_question import MOMENT
from proctor.exam.prediction import Prediction
from proctor.llm.estimate import Estimate
from proctor.llm.fence import FENCE_FILE
from proctor.records import write_jsonl
from proctor.stages.build import build
from proctor.stages.exam_settings import JudgeSettings, PredictSettings
from proctor.stages.experiment.conduct import (
    FORMER_RUNS,
    Done,
    answers_to,
    prepare,
    require_videos,
    set_former_runs_aside,
)
from proctor.stages.experiment.plan import Plan, Source
from proctor.stages.generate import estimate_generation, generate
from proctor.stages.inputs import load_items, load_predictions
from proctor.stages.judge import estimate_judging
from proctor.stages.models import CALLS, Limits
from proctor.stages.predict import PREDICTORS, estimate_prediction, items_hash, predict
from proctor.stages.rehearsing import REHEARSAL_VIDEOS
from proctor.stages.verify import estimate_verification, verify
from proctor.workspace import Workspace, is_there

__all__ = ["foresee"]

_PROXY = "annotations"
"""Predictor whose answers stand in for those that are not given yet."""


_ADDED = (
    "lines",
    "requests",
    "calls",
    "new",
    "input",
    "input_worst",
    "output",
    "output_worst",
    "cost",
    "cost_worst",
)


def foresee(
    root: Path,
    plan: Plan,
    *,
    source: Source | None = None,
    limits: Limits | None = None,
) -> Estimate:
    """Say what an experiment would take; nothing is sent, and nothing in the workspace changes but its pictures.

    Raises:
        UserError: as ``conduct``.
    """
    plan.check()
    limits = limits or Limits()
    with tempfile.TemporaryDirectory(prefix="proctor-foresee-") as folder:
        copy = Path(folder, "bench")
        _copied(root, copy)
        if not limits.calls and is_there(root / CALLS):
            limits = msgspec.structs.replace(limits, calls=str((root / CALLS).resolve()))
        if not plan.videos and (root / REHEARSAL_VIDEOS).is_dir():
            plan = msgspec.structs.replace(plan, videos=str((root / REHEARSAL_VIDEOS).resolve()))
        prepare(copy, plan, source, Done())
        require_videos(Workspace(copy), plan)
        return _together(list(_parts(copy, plan, limits)))


def _parts(root: Path, plan: Plan, limits: Limits) -> Iterator[Estimate]:
    workspace = Workspace(root)
    came_with_items = is_there(workspace.file("items.jsonl")) and "generate" not in workspace.stages()
    if not came_with_items:
        found = estimate_generation(root, plan.asking, videos=plan.video_folder, limits=limits)
        if found is not None:
            yield found
        if not _asked_as_planned(workspace, plan):
            _proxies(root, plan)
        for name in plan.verifiers:
            yield estimate_verification(root, name, limits=limits)
    for system in plan.systems:
        yield estimate_prediction(root, system.model, system.settings(plan.video_folder), limits=limits)
    if not plan.judges:
        return
    set_former_runs_aside(workspace, plan)
    for name in PREDICTORS:
        predict(root, name, PredictSettings(seed=plan.seed, kind=MOMENT))
    for system in plan.systems:
        _answers_in_place_of(root, system.run)
    for model, rubric in plan.markings:
        settings = JudgeSettings(judge=model, rubric=rubric.name, repeats=plan.repeats)
        marking = estimate_judging(root, settings, limits=limits)
        if marking is not None:
            yield marking


def _asked_as_planned(workspace: Workspace, plan: Plan) -> bool:
    """Tell whether the items that are there are those of this plan, or will be made anew."""
    stages = workspace.stages()
    if not is_there(workspace.file("items.jsonl")) or not {"generate", "build"} <= stages.keys():
        return False
    asked = {
        "generator": list(plan.generators), "sample": plan.sample, "examples": plan.examples, "seed": plan.seed,
    }  # fmt: skip
    if any("/" in name for name in plan.generators):
        asked["template"] = plan.template
    accepted = {"accept": plan.accept, "min_confidence": plan.min_confidence}
    return all(
        stages[stage].settings.get(name) == value
        for stage, settings in (("generate", asked), ("build", accepted))
        for name, value in settings.items()
    )


def _answers_in_place_of(root: Path, run: str) -> None:
    """Give a run the answers that it lacks; they name it, since the same answer of two runs would be marked once."""
    workspace = Workspace(root)
    items = load_items(workspace, workspace.graphs())
    folder = workspace.run_folder(run)
    given: dict[str, Prediction] = {}
    if run in workspace.run_names() and answers_to(folder, items_hash(items)):
        given = {p.item_id: p for p in load_predictions(folder, items) if p.failure is None}
    if len(given) == len(items):
        return
    predict(root, _PROXY, PredictSettings(run=run, kind=MOMENT))
    answers = [
        given.get(p.item_id) or msgspec.structs.replace(p, answer=p.answer and f"{p.answer} ({run})")
        for p in load_predictions(folder, items)
    ]
    write_jsonl(folder / "predictions.jsonl", answers)


def _proxies(root: Path, plan: Plan) -> None:
    """Make items by rules: as many for each example as there are generators."""
    generate(
        root,
        msgspec.structs.replace(plan.asking, generator=("rules",), per_example=len(plan.generators)),
    )
    verify(root)
    build(root, accept="oracle", min_confidence=0.0, seed=plan.seed)


def _copied(root: Path, copy: Path) -> None:
    """Copy a workspace's files and runs; its other folders (pictures, videos) may be large and are shared."""
    copy.mkdir()
    if not root.is_dir():
        return
    for path in root.resolve().iterdir():
        if path.name == "runs":
            shutil.copytree(path, copy / path.name)
        elif path.is_dir():
            if path.name not in ("release", FORMER_RUNS):
                (copy / path.name).symlink_to(path, target_is_directory=True)
        elif not path.name.startswith(CALLS) and path.name != "report.html":
            with suppress(FileNotFoundError):  # another process is at work
                shutil.copy2(path, copy / path.name)
    if (root / FENCE_FILE).exists() and not (copy / FENCE_FILE).exists():
        raise UserError("the secret of the workspace's fences cannot be read.", where=str(root / FENCE_FILE))


def _together(parts: list[Estimate]) -> Estimate:
    """Add estimates up."""
    if not parts:
        raise UserError("no model is asked.", hint="name one: --predictor openai/gpt-4o")
    total = parts[0]
    for part in parts[1:]:
        numbers = {name: getattr(total, name) + getattr(part, name) for name in _ADDED}
        unpriced = tuple(dict.fromkeys((*total.unpriced, *part.unpriced)))
        total = msgspec.structs.replace(total, **numbers, unpriced=unpriced)
    return total
