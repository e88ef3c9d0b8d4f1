"""What an experiment would take, told from its real prompts before anything is sent.

All is tried on a copy of the workspace. A stage that can say what it would ask says so, and leaves there what stands in for its
results: questions of the rule generator about the same examples, answers of the annotations. Every other stage is played on
this machine, and what it asked is added up. Both are as long as real ones, and all that surrounds them is the real thing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.llm.estimate import Estimate
from proctor.llm.message import Request
from proctor.stages.experiment.conduct import prepare, walk
from proctor.stages.experiment.stage import Chosen, Doing, Done, Plan, Stage
from proctor.stages.limits import Limits
from proctor.stages.models import CALLS, open_models
from proctor.stages.rehearsing import Played, find_rehearser, mark_rehearsal
from proctor.stages.show import Show
from proctor.stages.trial import trial

__all__ = ["foresee"]

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
_QUALITY: Final = 0.8
"""How often played models do what they are asked: it decides how many attempts are foreseen."""


def foresee(
    root: Path,
    plan: Plan,
    chosen: Chosen,
    *,
    vary: Sequence[str] = (),
    limits: Limits | None = None,
    show: Show,
    done: Done | None = None,
) -> Estimate | None:
    """Say what an experiment would take, None where no model is asked; nothing is sent, and nothing in the workspace changes.

    Args:
        root: the workspace.
        plan: of the experiment.
        chosen: settings of every stage.
        vary: what varies.
        limits: name the call store, whose calls cost nothing.
        show: shows progress.
        done: gets the notes of the stages that are played.

    Raises:
        UserError: as ``conduct``.
        MissingExtraError: if models have to be played for it, and the extra ``rehearsal`` is not there.
    """
    with trial(root, limits) as (copy, limits):
        cells, doing = prepare(copy, plan, chosen, vary, limits, show, done or Done(), asking=False)
        found: list[Estimate] = []

        def estimate(now: Doing, stage: Stage, settings: Any) -> None:
            if stage.estimate is not None:
                found.extend(stage.estimate(now, settings))
            else:
                found.extend(_played(now, stage, settings, limits))

        for _ in walk(doing, plan.stages, cells, estimate):
            pass
        return _together(found) if found else None


def _played(doing: Doing, stage: Stage, settings: Any, limits: Limits) -> Iterator[Estimate]:
    """Do a stage with all models played, and add up what they were asked."""
    asked: dict[str, list[Request]] = {}
    if not any(stage.models(settings)):
        stage.run(doing, settings)
        return
    with _playing(doing, asked) as playing:
        stage.run(playing, settings)
    with open_models(doing.workspace, limits) as models:
        yield models.estimate((name, requests) for name, requests in asked.items())


@contextmanager
def _playing(doing: Doing, asked: dict[str, list[Request]]) -> Iterator[Doing]:
    """Play all models in the copy of a workspace, whose own store of calls they never see."""
    with tempfile.TemporaryDirectory(prefix="proctor-played-") as folder:
        calls = Path(folder, CALLS)
        mark_rehearsal(Path(folder), Played(quality=_QUALITY), calls=calls)
        rehearser = find_rehearser("Foreseeing what models will be asked")
        with rehearser.play(doing.root, _QUALITY) as rehearsal:
            limits = msgspec.structs.replace(
                doing.limits, calls=str(calls), rehearsal=rehearsal, budget=None, max_cost=None, max_calls=None,
                max_tokens=None, requests_per_minute=None, tokens_per_minute=None,
                listen=lambda name, request: asked.setdefault(name, []).append(request),
            )  # fmt: skip
            yield doing.within(doing.root, doing.chosen, doing.cell, limits)


def _together(parts: list[Estimate]) -> Estimate:
    """Add estimates up."""
    total = parts[0]
    for part in parts[1:]:
        numbers = {name: getattr(total, name) + getattr(part, name) for name in _ADDED}
        unpriced = tuple(dict.fromkeys((*total.unpriced, *part.unpriced)))
        left_out = tuple(sorted({*total.left_out, *part.left_out}))
        total = msgspec.structs.replace(total, **numbers, unpriced=unpriced, left_out=left_out)
    return total
