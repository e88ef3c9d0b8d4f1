"""InstructionBench's whole experiment: pairs, filters, options, answers, floors and the page, in one go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from proctor.stages.instructional.answer import PredictOptions, floors, predict
from proctor.stages.instructional.choices import ChoiceOptions, make
from proctor.stages.instructional.filter import FilterOptions, filter_questions
from proctor.stages.instructional.pairs import CLIPS, PairOptions, generate
from proctor.stages.instructional.report import report
from proctor.stages.models import Limits
from proctor.stages.styled.experiment import Done
from proctor.workspace import Workspace, is_there

__all__ = ["InstructionalPlan", "conduct"]


class Show(Protocol):
    """Shows the progress of one part."""

    def __call__(self, title: str, total: int | None = None) -> AbstractContextManager[Callable[[], None]]:
        """Begin a part; the value of the context is called once per finished thing."""
        ...


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
    done = Done()
    options = plan.pairs
    if is_there(Workspace(root).file(CLIPS)):
        options = replace(options, data=())  # the clips that are there, whatever became of the folder
    with show("writing pairs") as seen:
        if not done.add("generate", generate(root, options, limits=limits, seen=seen)):
            return done
    with show("filtering") as seen:
        if not done.add("filter", filter_questions(root, plan.filters, limits=limits, seen=seen)):
            return done
    with show("making options") as seen:
        if not done.add("choices", make(root, plan.choices, limits=limits, seen=seen)):
            return done
    for floor in floors(root, seed=plan.seed):
        done.add(f"floor/{floor['system']}", floor)
    for model in plan.systems:
        for view in plan.views:
            if not _answered(root, plan, model, view, limits, show, done):
                return done
    with show("writing the report") as seen:
        written = report(root, videos=plan.videos, seen=seen)
    done.add("report", written)
    done.report = written["report"]
    return done


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
