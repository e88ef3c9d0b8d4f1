"""``proctor capture plan``: scripts and the plan of a workspace, and how much of it is done. docs/capture.md, *The plan*."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

import proctor.capture
from proctor.capture.hints import INDUCED_KINDS, Hints, text_hints
from proctor.capture.plan import PLAN, SCRIPTS, Plan, make_plan, read_plan, read_scripts
from proctor.capture.records import MANIFEST, Hint, Manifest, Script, State, Strategy, capture_folder
from proctor.capture.script import count_performances, draw_scripts
from proctor.errors import UserError
from proctor.llm.message import Parameters, Request
from proctor.llm.outcome import Reply
from proctor.llm.prompt import PromptSet
from proctor.llm.structured import Unreadable, read_object
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.showing import shown_text
from proctor.records import Dropped, is_there, read_bytes, read_json, write_json, write_jsonl
from proctor.stages.capture.settings import PlanSettings
from proctor.stages.graphs import load_graphs
from proctor.stages.limits import Limits
from proctor.stages.models import Closing, open_models
from proctor.workspace import Workspace

__all__ = ["Planned", "Progress", "plan", "read_hints", "read_states", "show_plan"]

_STAGE: Final = "capture plan"
_DEFAULT: Final[dict[Strategy, int]] = {
    "normal": 4,
    "impromptu": 1,
    "disordered": 1,
    "missing": 1,
    "induced": 1,
}
_MOST: Final = 3  # hints of one step
_LONGEST: Final = 240  # characters of a hint


class Progress(msgspec.Struct):
    """How many recordings are to do, being made, made, or withdrawn."""

    to_do: int = 0
    under_way: int = 0
    recorded: int = 0
    withdrawn: int = 0


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """What is planned, and how much of it is done.

    Attributes:
        folder: with ``plan.json`` and ``scripts.jsonl``.
        scripts: how many there are of each strategy.
        performances: how many distinct normal scripts each activity can have; None where they cannot be counted.
        slots: recordings that are planned.
        new: of them, those that were planned now.
        by_participant: progress; an empty code stands for what is anybody's.
        by_strategy: progress.
        dropped: scripts that cannot be drawn, hints that did not come, recordings that cannot be read.
        calls: closing line of models, where one was asked.
    """

    folder: str
    scripts: dict[str, int]
    performances: dict[str, int | None]
    slots: int
    new: int = 0
    by_participant: dict[str, Progress]
    by_strategy: dict[str, Progress]
    dropped: list[Dropped] = []
    calls: Closing | None = None


def plan(workspace: Path, settings: PlanSettings, limits: Limits | None = None) -> Planned:
    """Draw scripts and plan recordings; what is there already stays as it is, byte for byte, but for hints of a model.

    Raises:
        UserError: if there are no task graphs or an activity has changed, or settings do not go together.
    """
    place, folder, dropped = Workspace(workspace), capture_folder(workspace), list[Dropped]()
    counts = settings.script_counts()
    graphs, brought = _graphs(place, settings.graphs)
    old = read_plan(workspace) if is_there(folder / PLAN) else Plan(seed=settings.seed or 0)
    bank = read_scripts(workspace) if is_there(folder / SCRIPTS) else {}
    if settings.seed not in (None, old.seed):
        raise UserError(f"the plan was drawn with --seed {old.seed}.", where=str(folder / PLAN))
    for script in bank.values():
        graph = graphs.get(script.activity)
        if graph is not None and any(
            s.step not in graph or graph[s.step].text != s.text for s in script.steps
        ):
            seen = f"'{script.activity}' has changed since scripts were drawn of it."
            raise UserError(seen, where=str(folder / SCRIPTS), hint="give the new version an id of its own")
    place.create()
    asked, calls = _asked(place, graphs, settings.hints, limits, dropped) if settings.hints else ({}, None)
    for id_, graph in graphs.items():
        hints = text_hints(graph) | asked.get(id_, {})
        drawn = draw_scripts(graph, counts, old.seed, hints)
        bank |= {script.id: script for script in drawn if script.id not in bank}
        made = Counter(script.strategy for script in drawn)
        lacking = {s: n - made[s] for s, n in counts.items() if made[s] < n}
        dropped += [Dropped(id_, f"no_{s}", f"{n} scripts: its steps allow none") for s, n in lacking.items()]
    for id_, script in bank.items() if asked else ():
        hints = asked.get(script.activity, {})
        said = tuple(
            h
            for s in script.steps
            for h in hints.get(s.step) or [h for h in script.hints if h.step == s.step]
        )
        bank[id_] = msgspec.structs.replace(
            script, hints=said if script.strategy in ("impromptu", "induced") else ()
        )
    people, given = settings.codes(old.participants, old.given)
    wanted = msgspec.structs.replace(
        old, participants=people, given=given, environments=settings.places() or old.environments or ("room-1",),
        strategies=settings.shares() or old.strategies or _DEFAULT,
    )  # fmt: skip
    had = Counter(slot.participant for slot in old.slots if slot.participant)
    each = max(had.values(), default=len(graphs)) if settings.recordings is None else settings.recordings
    ours = [script for script in bank.values() if script.activity in graphs]
    planned = make_plan(ours, wanted, each, settings.anybody, settings.from_, settings.per_day)
    if brought:
        place.write_graphs(graphs)
    write_jsonl(folder / SCRIPTS, bank.values())
    write_json(folder / PLAN, planned)
    outputs = [f"{folder.name}/{SCRIPTS}", *(["graphs.json"] if brought else [])]
    done = {"seed": old.seed, "people": list(people), "hints": settings.hints or ""}
    place.record(
        _STAGE, settings=done, counts={"scripts": len(bank), "slots": len(planned.slots)}, outputs=outputs
    )
    return _told(workspace, planned, bank, graphs, dropped, calls, len(old.slots))


def show_plan(workspace: Path) -> Planned:
    """Return what is planned and how much of it is done; nothing is changed.

    Raises:
        UserError: if there is no plan, or a file is broken.
    """
    place = Workspace(workspace)
    graphs = place.graphs() if is_there(place.file("graphs.json")) else {}
    return _told(workspace, read_plan(workspace), read_scripts(workspace), graphs, [], None, None)


def read_states(workspace: Path) -> tuple[dict[str, State], list[Dropped]]:
    """Return the states of recordings by id, and those that cannot be read: nobody is given these, as if they were under way."""
    states, unreadable = dict[str, State](), list[Dropped]()
    for path in sorted(capture_folder(workspace).glob(f"recordings/*/{MANIFEST}")):
        try:
            found: Manifest = read_json(path, Manifest)
            states[path.parent.name] = found.state
        except UserError as error:
            states[path.parent.name] = "recording"
            unreadable.append(Dropped(path.parent.name, "unreadable", error.message))
    return states, unreadable


def _told(
    workspace: Path, planned: Plan, bank: Mapping[str, Script], graphs: Mapping[str, TaskGraph], dropped: list[Dropped],
    calls: Closing | None, before: int | None,
) -> Planned:  # fmt: skip
    states, unreadable = read_states(workspace)
    people: dict[str, Progress] = {who: Progress() for who in planned.participants}
    strategies: dict[str, Progress] = {}
    for slot in planned.slots:
        if slot.script not in bank:
            seen = f"the script '{slot.script[:64]}' of the recording '{slot.id}' is not there."
            raise UserError(
                seen, where=str(capture_folder(workspace) / SCRIPTS), hint="restore a copy of the file"
            )
        state = states.get(slot.id, "planned")
        place = {"recording": "under_way", "withdrawn": "withdrawn"}.get(state) or (
            "to_do" if state in ("planned", "armed", "interrupted") else "recorded"
        )
        for progress in (
            people.setdefault(slot.participant, Progress()),
            strategies.setdefault(slot.strategy, Progress()),
        ):
            setattr(progress, place, getattr(progress, place) + 1)
    return Planned(
        folder=str(capture_folder(workspace)), scripts=dict(sorted(Counter(s.strategy for s in bank.values()).items())),
        performances={id_: count_performances(graph) for id_, graph in graphs.items()},
        slots=len(planned.slots), new=0 if before is None else len(planned.slots) - before,
        by_participant=people, by_strategy=strategies, dropped=dropped + unreadable, calls=calls,
    )  # fmt: skip


def _graphs(place: Workspace, source: Path | None) -> tuple[dict[str, TaskGraph], bool]:
    """Return the workspace's task graphs and those of a source, and whether there are any new ones."""
    there = place.graphs() if is_there(place.file("graphs.json")) else {}
    found: list[TaskGraph] = []
    if source is not None and source.suffix.lower() == ".txt":
        lines = read_bytes(source).decode("utf-8-sig", "replace").splitlines()
        steps = tuple(Step(str(n), text) for n, text in enumerate(filter(None, map(str.strip, lines)), 1))
        chain = tuple((a.id, b.id) for a, b in itertools.pairwise(steps))
        found = [TaskGraph(source.stem, source.stem, steps, chain)] if steps else []
    elif source is not None:
        found = load_graphs(source).graphs
    twice = [id_ for id_, n in Counter(graph.id for graph in found).items() if n > 1]
    if twice or (other := [g.id for g in found if there.get(g.id, g) != g]):
        seen = f"'{(twice or other)[0][:60]}' is there {'twice' if twice else 'already, and different'}."
        raise UserError(seen, where=str(source), hint="give one of them another id")
    graphs = there | {graph.id: graph for graph in found}
    if not graphs:
        raise UserError(
            "there are no task graphs.", where=str(source or place.root), hint="--graphs FOLDER or FILE"
        )
    return graphs, len(graphs) > len(there)


# -- hints of a model ----------------------------------------------------------------------------------------------


class _Proposed(msgspec.Struct, frozen=True):
    """Hints as (number of the step from 1, kind, text)."""

    hints: list[tuple[int, str, str]]


def _asked(
    place: Workspace,
    graphs: Mapping[str, TaskGraph],
    model: str,
    limits: Limits | None,
    dropped: list[Dropped],
) -> tuple[dict[str, Hints], Closing]:
    """Ask a model about each activity, all steps at once."""
    template = PromptSet("capture", Path(proctor.capture.__file__).parent / "prompts")["hints"]
    found: dict[str, Hints] = {}
    with open_models(place, limits) as models:
        how = models.replying.over(Parameters(temperature=0.0, max_tokens=8_192), model, "generator")
        requests = {}
        for id_, graph in graphs.items():
            steps = [f"{n}. {shown_text(step.text)}" for n, step in enumerate(graph.actions, 1)]
            prompt = template.render(
                models.secret, title=graph.name, steps=steps, kinds=", ".join(INDUCED_KINDS), most=_MOST
            )
            requests[id_] = Request(model=model, messages=prompt.messages, parameters=how)
        outcomes = {request.key: outcome for request, outcome in models.ask(_STAGE)(requests.values())}
        for id_, request in requests.items():
            said = outcomes.get(request.key)
            read = (
                read_hints(graphs[id_], said.text, model)
                if isinstance(said, Reply)
                else Unreadable("no_reply")
            )
            if isinstance(read, Unreadable):
                dropped.append(Dropped(id_, "no_hints", f"{read.reason} {read.detail}".strip()))
                continue
            found[id_], refused = read
            dropped += [Dropped(id_, "hints_refused", f"{refused} that say nothing of their step")][:refused]
        return found, models.closing()


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
        if (
            step is not None
            and kind in INDUCED_KINDS
            and len(text) <= _LONGEST
            and _stems(text) & _stems(step.text)
        ):
            hint = Hint(step=step.id, kind=kind, text=text, by=by)
            hints[step.id] = (*hints.get(step.id, ()), hint)[:_MOST]
    return hints, len(read.hints) - sum(map(len, hints.values()))


def _stems(text: str) -> set[str]:
    return {word[:4] for word in re.findall(r"[^\W\d_]{4,}", text.casefold())}
