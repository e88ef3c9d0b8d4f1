"""The parts of an experiment that ask different providers side by side: answers to questions, and marks for them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from proctor.stages.exam_settings import JudgeSettings, PredictSettings
from proctor.stages.experiment.stage import Doing, Task
from proctor.stages.judge import Judged, judge
from proctor.stages.predict import Predicted, predict
from proctor.stages.together import Turn

__all__ = ["answers_of", "marks_of", "runs_of"]


def answers_of(
    doing: Doing, title: str, name: str, model: str, settings: PredictSettings, others: Sequence[str] = ()
) -> Task:
    """Return a run of one model over the items of one kind and form.

    Args:
        doing: the experiment.
        title: of its progress.
        name: of the part.
        model: that answers.
        settings: of the run.
        others: models that it asks, too.
    """

    def do(turn: Turn) -> Predicted:
        (made,) = predict(doing.root, model, settings, limits=turn.limits, seen=turn.seen)
        return made

    return Task(title=title, name=name, do=do, models=(model, *others))


def marks_of(doing: Doing, title: str, name: str, settings: JudgeSettings, of: Task | None = None) -> Task:
    """Return what a judge does.

    Args:
        doing: the experiment.
        title: of its progress.
        name: of the part.
        settings: of the judge.
        of: the run that is marked, from its end on; None for those that the settings name.
    """

    def do(turn: Turn) -> Judged:
        how = settings if of is None else msgspec.structs.replace(settings, runs=runs_of([of]))
        return judge(doing.root, how, limits=turn.limits, seen=turn.seen, later=turn.later)

    models = (settings.match_options or settings.judge,)
    return Task(title=title, name=name, do=do, models=models, after=() if of is None else (of,))


def runs_of(tasks: Sequence[Task]) -> tuple[str, ...]:
    """Return the names of the runs among what was done, in their order."""
    return tuple(task.result.run for task in tasks if isinstance(task.result, Predicted))
