"""Hints of a model: mistakes that somebody could make in each step, for scripts whose mistakes people choose."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

import proctor.capture
from proctor.capture.hints import INDUCED_KINDS, Hints
from proctor.capture.records import Hint
from proctor.llm.estimate import Estimate
from proctor.llm.message import Parameters, Request
from proctor.llm.outcome import Reply
from proctor.llm.prompt import PromptSet
from proctor.llm.structured import Unreadable, read_object
from proctor.procedure.graph import TaskGraph
from proctor.procedure.showing import shown_text
from proctor.records import Dropped
from proctor.stages.limits import Limits
from proctor.stages.models import Closing, Models, open_models
from proctor.workspace import Workspace

__all__ = ["ask_hints", "estimate_hints", "read_hints"]

_STAGE: Final = "capture plan"
_MOST: Final = 3  # hints of one step
_LONGEST: Final = 240  # characters of a hint


class _Proposed(msgspec.Struct, frozen=True):
    """Hints as (number of the step from 1, kind, text)."""

    hints: list[tuple[int, str, str]]


def ask_hints(
    place: Workspace, graphs: Mapping[str, TaskGraph], model: str, limits: Limits | None, dropped: list[Dropped]
) -> tuple[dict[str, Hints], Closing]:  # fmt: skip
    """Ask a model about each activity, all steps at once; return hints by activity, and list in ``dropped`` what did not come.

    Raises:
        UserError: if the model is none, or what may be spent does not do.
    """
    found: dict[str, Hints] = {}
    with open_models(place, limits) as models:
        models.require_prices(model)
        requests = _requests(models, graphs, model)
        outcomes = {request.key: outcome for request, outcome in models.ask(_STAGE)(requests.values())}
        closing = models.closing()
    for id_, request in requests.items():
        said = outcomes.get(request.key)
        read = (
            read_hints(graphs[id_], said.text, model) if isinstance(said, Reply) else Unreadable("no_reply")
        )
        if isinstance(read, Unreadable):
            dropped.append(Dropped(id_, "no_hints", f"{read.reason} {read.detail}".strip()))
            continue
        found[id_], refused = read
        if refused:
            dropped.append(Dropped(id_, "hints_refused", f"{refused} that say nothing of their step"))
    return found, closing


def estimate_hints(place: Workspace, graphs: Mapping[str, TaskGraph], model: str, limits: Limits) -> Estimate:
    """Say what asking would cost; nothing is sent. Raises ``UserError`` as ``ask_hints``."""
    with open_models(place, limits) as models:
        return models.estimate([(_STAGE, _requests(models, graphs, model).values())])


def _requests(models: Models, graphs: Mapping[str, TaskGraph], model: str) -> dict[str, Request]:
    template = PromptSet("capture", Path(proctor.capture.__file__).parent / "prompts")["hints"]
    how = models.replying.over(Parameters(temperature=0.0, max_tokens=8_192), model, "generator")
    requests: dict[str, Request] = {}
    for id_, graph in graphs.items():
        steps = [f"{n}. {shown_text(step.text)}" for n, step in enumerate(graph.actions, 1)]
        prompt = template.render(models.secret, title=graph.name, steps=steps, kinds=", ".join(INDUCED_KINDS), most=_MOST)  # fmt: skip
        requests[id_] = Request(model=model, messages=prompt.messages, parameters=how)
    return requests


def read_hints(graph: TaskGraph, reply: str, by: str) -> tuple[Hints, int] | Unreadable:
    """Return the hints of a reply, at most three for a step, and how many were refused.

    Refused are those of no step or kind, without words, too long, or generic: without a word of the step's text (of four letters
    or more, told by its first four).
    """
    read = read_object(reply, _Proposed, required=("hints",))
    if isinstance(read, Unreadable):
        return read
    hints: Hints = {}
    for number, kind, said in read.hints:
        text = " ".join("".join(c if c.isprintable() else " " for c in said).split())
        step = graph.actions[number - 1] if 0 < number <= len(graph.actions) else None
        if step is None or kind not in INDUCED_KINDS or len(text) > _LONGEST:
            continue
        if _stems(text) & _stems(step.text):
            hint = Hint(step=step.id, kind=kind, text=text, by=by)
            hints[step.id] = (*hints.get(step.id, ()), hint)[:_MOST]
    return hints, len(read.hints) - sum(map(len, hints.values()))


def _stems(text: str) -> set[str]:
    return {word[:4] for word in re.findall(r"[^\W\d_]{4,}", text.casefold())}
