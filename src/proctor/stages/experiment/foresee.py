"""What an experiment would take, told from its real prompts before anything is sent.

Questions that are not asked yet cannot be put into the prompts of later stages. In their place stand those of the rule
generator about the same examples, and in place of answers that are not given yet those of the annotations: they are as
long as real ones, and all that surrounds them (procedure, steps, frames) is the real thing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from proctor.errors import UserError
from proctor.llm.estimate import Estimate
from proctor.llm.fence import FENCE_FILE
from proctor.records import write_jsonl
from proctor.stages.build import build
from proctor.stages.experiment.conduct import Done, prepare, require_videos
from proctor.stages.experiment.plan import Plan, Source
from proctor.stages.generate import estimate_generation, generate
from proctor.stages.inputs import load_items, load_predictions
from proctor.stages.judge import estimate_judging
from proctor.stages.models import CALLS, MEDIA, Limits
from proctor.stages.predict import PREDICTORS, estimate_prediction, predict
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
            limits = replace(limits, calls=str((root / CALLS).resolve()))
        prepare(copy, plan, source, Done())
        require_videos(Workspace(copy), plan)
        return _together(list(_parts(copy, plan, limits)))


def _parts(root: Path, plan: Plan, limits: Limits) -> Iterator[Estimate]:
    workspace = Workspace(root)
    asking = [name for name in plan.generators if "/" in name]
    came_with_items = is_there(workspace.file("items.jsonl")) and "generate" not in workspace.stages()
    if not came_with_items:
        found = estimate_generation(
            root, generator=plan.generators, sample=plan.sample, examples=plan.examples, seed=plan.seed,
            template=plan.template if asking else None, videos=plan.video_folder, limits=limits,
        )  # fmt: skip
        if found is not None:
            yield found
        if not is_there(workspace.file("items.jsonl")):
            _proxies(root, plan)
        for name in plan.verifiers:
            yield estimate_verification(root, name, limits=limits)
    for system in plan.systems:
        yield estimate_prediction(
            root, system.model, view=system.view, videos=plan.video_folder, limits=limits
        )
    if not plan.judges:
        return
    for name in PREDICTORS:
        predict(root, name, seed=plan.seed)
    for system in plan.systems:
        if system.run not in workspace.run_names():
            _answers_in_place_of(root, system.run)
    for model, rubric in plan.markings:
        marking = estimate_judging(root, judge=model, rubric=rubric, repeats=plan.repeats, limits=limits)
        if marking is not None:
            yield marking


def _answers_in_place_of(root: Path, run: str) -> None:
    """Give a run answers; they name it, since the same answer of two runs would be marked once."""
    predict(root, _PROXY, run=run)
    workspace = Workspace(root)
    items = load_items(workspace, workspace.graphs())
    folder = workspace.run_folder(run)
    answers = [
        msgspec.structs.replace(p, answer=p.answer and f"{p.answer} ({run})")
        for p in load_predictions(folder, items)
    ]
    write_jsonl(folder / "predictions.jsonl", answers)


def _proxies(root: Path, plan: Plan) -> None:
    """Make items by rules: as many for each example as there are generators."""
    generate(
        root, generator="rules", sample=plan.sample, examples=plan.examples, seed=plan.seed,
        per_example=len(plan.generators),
    )  # fmt: skip
    verify(root)
    build(root, accept="oracle", min_confidence=0.0, seed=plan.seed)


def _copied(root: Path, copy: Path) -> None:
    """Copy a workspace without its calls; pictures are shared, since they are made once and stay right."""
    copy.mkdir()
    if not root.is_dir():
        return
    media = (root / MEDIA).resolve()
    left_out = shutil.ignore_patterns(f"{CALLS}*", MEDIA, "release", "report.html")
    shutil.copytree(root, copy, ignore=left_out, dirs_exist_ok=True)
    if media.is_dir():
        (copy / MEDIA).symlink_to(media, target_is_directory=True)
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
