"""InstructionBench's whole experiment: pairs, filters, options, answers, floors and the page, in one go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.clip_view import ClipView
from proctor.exam.kinds.clip_prompt import STYLES
from proctor.stages.instructional.answer import PredictOptions, floors, predict, require_videos
from proctor.stages.instructional.choices import make
from proctor.stages.instructional.filter import filter_questions
from proctor.stages.instructional.pairs import found_clips, generate
from proctor.stages.instructional.settings import ChoiceOptions, FilterOptions, PairOptions
from proctor.stages.models import Asked, Limits, open_models, require_keys
from proctor.stages.report import report
from proctor.stages.show import Show
from proctor.stages.styled.experiment import Done
from proctor.workspace import Workspace

__all__ = ["InstructionalPlan", "conduct"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionalPlan:
    """What to do.

    Attributes:
        pairs: what is generated, by whom.
        filters: who filters.
        choices: who makes options.
        systems: models that answer.
        views: what each of them is shown, once for each.
        style: of prompts with pictures.
        judge: of open-ended answers; None leaves them out.
        videos: folder of the clips' videos.
        seed: of the bootstrap.
    """

    pairs: PairOptions
    filters: FilterOptions
    choices: ChoiceOptions
    systems: Sequence[str] = ()
    views: Sequence[str] = ("question", "steps")
    style: str = "d"
    judge: str | None = None
    videos: Path | None = None
    seed: int = 0


def conduct(root: Path, plan: InstructionalPlan, *, limits: Limits | None = None, show: Show) -> Done:
    """Do the experiment; a second call goes on where the first one ended, and nothing is paid for twice.

    Args:
        root: the workspace.
        plan: what to do.
        limits: for all stages together.
        show: shows progress.

    Raises:
        UserError: if something about the plan, the data or the workspace is wrong.
    """
    limits = (limits or Limits()).shared()
    _require_sound(Workspace(root), plan, limits)
    done = Done()
    with show("writing pairs") as seen:
        if not _added(done, "generate", generate(root, plan.pairs, limits=limits, seen=seen)):
            return done
    with show("filtering") as seen:
        if not _added(done, "filter", filter_questions(root, plan.filters, limits=limits, seen=seen)):
            return done
    with show("making options") as seen:
        if not _added(done, "choices", make(root, plan.choices, limits=limits, seen=seen)):
            return done
    for floor in floors(root, seed=plan.seed):
        done.add(f"floor/{floor['system']}", floor)
    for model in plan.systems:
        for view in plan.views:
            if not _answered(root, plan, model, view, limits, show, done):
                return done
    with show("writing the report") as seen:
        written = report(root, videos=plan.videos, seen=seen)
    done.add("report", msgspec.to_builtins(written))
    done.report = written.report
    return done


_LEFT: Final = {
    "generate": ("pairs", "pairs"),
    "filter": ("benchmark", "filters"),
    "choices": ("achieved", "choices"),
}
"""Of each stage the count of what it leaves to the next one, and the name of its list of what was dropped."""


def _added(done: Done, name: str, result: Asked) -> bool:
    """Write down a stage; return whether the next one may begin: not while models owe an answer, which would change it.

    Raises:
        KeyboardInterrupt: if that is what ended it; what was done is written.
        UserError: if it left nothing to go on with.
    """
    if result.interrupted:
        raise KeyboardInterrupt
    counts = msgspec.to_builtins(result)
    if done.add(name, counts) and not result.complete:
        done.stopped = f"{name}: {counts['postponed']:,} are postponed, since models did not answer"
    if done.stopped:
        return False
    left, dropped = _LEFT[name]
    if not counts.get(left):
        raise UserError(
            f"nothing is left of the stage '{name}' to go on with.",
            hint=f"{dropped}.dropped.jsonl says why; ask for more pairs (--total), or leave more for the benchmark "
            "(--benchmark-share)",
        )
    return True


def _require_sound(workspace: Workspace, plan: InstructionalPlan, limits: Limits) -> None:
    """See that later stages can be done before earlier ones are paid for.

    Raises:
        UserError: naming what cannot.
    """
    if plan.style not in STYLES:
        raise UserError(f"there is no style {plan.style!r}.", hint=f"choose of {', '.join(STYLES)}")
    views = [ClipView.parse(view) for view in plan.views]
    names = [
        plan.pairs.models.generator, plan.pairs.models.sorts, *plan.filters.names, *plan.choices.models.all, *plan.systems,
        *([plan.judge] if plan.judge else []),
    ]  # fmt: skip
    voters = plan.filters.models.assistants
    if len(set(voters)) < len(voters):
        raise UserError(
            "an assistant is named twice.",
            hint="a second vote of the same model says nothing new; name different ones",
        )
    names = list(dict.fromkeys(names))
    require_keys(workspace, names, limits)
    workspace.create()
    with open_models(workspace, limits) as models:
        models.require_prices(*names)
    if plan.systems and any(view.kind == "frames" for view in views):
        require_videos(workspace, plan.videos, found_clips(workspace, plan.pairs).clips)


def _answered(
    root: Path, plan: InstructionalPlan, model: str, view: str, limits: Limits, show: Show, done: Done
) -> bool:
    options = PredictOptions(model=model, view=view, style=plan.style, videos=plan.videos, seed=plan.seed)  # type: ignore[arg-type]
    with show(f"answering: {model} ({view})") as seen:
        if not done.add(f"predict/{model} ({view})", predict(root, options, limits=limits, seen=seen)):
            return False
    if plan.judge is None:
        return True
    opened = replace(options, form="open", judge=plan.judge)
    with show(f"answering open-ended: {model} ({view})") as seen:
        return done.add(f"open/{model} ({view})", predict(root, opened, limits=limits, seen=seen))
