"""``proctor capture plan``: scripts and the plan of a workspace, and how much of it is done. docs/capture.md, *The plan*."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from proctor.capture.hints import text_hints
from proctor.capture.plan import PLAN, SCRIPTS, Plan, make_plan, read_plan, read_scripts
from proctor.capture.records import Script, State, Strategy, capture_folder
from proctor.capture.script import count_performances, draw_scripts, short_name
from proctor.errors import UserError
from proctor.llm.estimate import Estimate
from proctor.procedure.graph import Step, TaskGraph
from proctor.records import Dropped, is_there, read_bytes, write_json, write_jsonl
from proctor.stages.capture.hints import ask_hints, estimate_hints
from proctor.stages.capture.manifests import recordings_of
from proctor.stages.capture.settings import PlanSettings
from proctor.stages.graphs import load_graphs
from proctor.stages.limits import Limits
from proctor.stages.models import Closing
from proctor.workspace import Workspace

__all__ = ["Planned", "Progress", "estimate_plan", "plan", "read_states", "show_plan"]

_STAGE: Final = "capture plan"
_SHARES: Final[dict[Strategy, int]] = {
    "normal": 4,
    "impromptu": 1,
    "disordered": 1,
    "missing": 1,
    "induced": 1,
}
_change = msgspec.structs.replace


class Progress(msgspec.Struct):
    """How many recordings are to do, being made, made, or withdrawn."""

    to_do: int = 0
    under_way: int = 0
    recorded: int = 0
    withdrawn: int = 0


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """What is planned, and how much of it is done.

    Of an activity, ``performances`` are the distinct normal scripts that it can have, None where they cannot be counted; of
    ``slots``, ``new`` were planned now. What is anybody's is under an empty code. ``dropped`` are scripts that cannot be drawn, hints
    that did not come, and recordings that cannot be read.
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

    Raises ``UserError`` if there are no task graphs or one has changed, a file is broken, or settings do not go together.
    """
    place, folder, dropped = Workspace(workspace), capture_folder(workspace), list[Dropped]()
    graphs, brought = _graphs(place, settings.graphs)
    old = read_plan(workspace) if is_there(folder / PLAN) else Plan(seed=settings.seed or 0)
    bank = read_scripts(workspace) if is_there(folder / SCRIPTS) else {}
    if settings.seed not in (None, old.seed):
        raise UserError(f"the plan was drawn with --seed {old.seed}.", where=str(folder / PLAN))
    for script in (script for script in bank.values() if script.activity in graphs):
        texts = {step.id: step.text for step in graphs[script.activity].steps}
        if any(texts.get(step.step) != step.text for step in script.steps):
            seen = f"'{script.activity[:60]}' has changed since scripts were drawn of it."
            raise UserError(seen, where=str(folder / SCRIPTS), hint="give the new version an id of its own")
    people, given = settings.codes(old.participants, old.given)
    places = settings.places() or old.environments or ("room-1",)
    shares = settings.shares() or old.strategies or _SHARES
    wanted = _change(old, participants=people, given=given, environments=places, strategies=shares)
    for id_, graph in graphs.items():
        had = Counter(script.strategy for script in bank.values() if script.activity == id_)
        counts = settings.script_counts(had)
        drawn = draw_scripts(graph, counts, old.seed)
        bank |= {script.id: script for script in drawn if script.id not in bank}
        made = Counter(script.strategy for script in drawn)
        lacking = {s: n - made[s] for s, n in counts.items() if made[s] < n}
        dropped += [Dropped(id_, f"no_{s}", f"{n} scripts: its steps allow none") for s, n in lacking.items()]
    planned_of = Counter(slot.participant for slot in old.slots if slot.participant)
    each = (
        max(planned_of.values(), default=len(graphs)) if settings.recordings is None else settings.recordings
    )
    ours = [script for script in bank.values() if script.activity in graphs]
    planned = make_plan(ours, wanted, each, settings.anybody, settings.from_, settings.per_day)
    place.create()
    hints, calls = ask_hints(place, graphs, settings.hints, limits, dropped) if settings.hints else ({}, None)
    for script in (script for script in ours if script.activity in hints and script.hints):
        of_step = text_hints(graphs[script.activity]) | hints[script.activity]
        bank[script.id] = _change(script, hints=tuple(h for step in script.steps for h in of_step[step.step]))
    if brought:
        place.write_graphs(graphs)
    write_jsonl(folder / SCRIPTS, bank.values())
    write_json(folder / PLAN, planned)
    before = place.stages().get(_STAGE)
    outputs = {f"{folder.name}/{SCRIPTS}", *(before.outputs if before else ())}
    outputs |= {"graphs.json"} if brought else set()
    done = {"seed": old.seed, "people": list(people), "hints": settings.hints or ""}
    place.record(_STAGE, settings=done, counts={"scripts": len(bank), "slots": len(planned.slots)}, outputs=sorted(outputs))  # fmt: skip
    return _told(workspace, planned, bank, graphs, dropped, calls, len(planned.slots) - len(old.slots))


def estimate_plan(workspace: Path, settings: PlanSettings, limits: Limits) -> Estimate | None:
    """Say what the model of ``hints`` would be asked; None without one. Raises ``UserError`` for graphs or models as ``plan``."""
    place = Workspace(workspace)
    graphs, _ = _graphs(place, settings.graphs)
    return None if settings.hints is None else estimate_hints(place, graphs, settings.hints, limits)


def show_plan(workspace: Path) -> Planned:
    """Return what is planned and how much is done, and change nothing; raises ``UserError`` if there is no plan, or it is broken."""
    place = Workspace(workspace)
    graphs = place.known_graphs()
    return _told(workspace, read_plan(workspace), read_scripts(workspace), graphs, [])


def read_states(workspace: Path) -> tuple[dict[str, State], list[Dropped]]:
    """Return the states of recordings by id, and those that cannot be read: nobody is given these, as if they were under way."""
    unreadable: list[Dropped] = []
    states: dict[str, State] = {folder.name: m.state for folder, m in recordings_of(workspace, unreadable)}
    return {**states, **{one.id: "recording" for one in unreadable}}, unreadable


def _told(
    workspace: Path, planned: Plan, bank: Mapping[str, Script], graphs: Mapping[str, TaskGraph], dropped: list[Dropped],
    calls: Closing | None = None, new: int = 0,
) -> Planned:  # fmt: skip
    states, unreadable = read_states(workspace)
    people = {
        who: Progress() for who in (*planned.participants, *(slot.participant for slot in planned.slots))
    }
    strategies: dict[str, Progress] = {}
    groups = {"recording": "under_way", "withdrawn": "withdrawn", "stopped": "recorded", "stopped_disk": "recorded", "incomplete": "recorded"}  # fmt: skip
    for slot in planned.slots:
        if slot.script not in bank:
            seen = f"the script '{slot.script[:64]}' of the recording '{slot.id}' is not there."
            raise UserError(seen, where=f"{capture_folder(workspace)}/{SCRIPTS}", hint="restore a copy of it")
        group = groups.get(states.get(slot.id, "planned"), "to_do")
        for one in (people[slot.participant], strategies.setdefault(slot.strategy, Progress())):
            setattr(one, group, getattr(one, group) + 1)
    return Planned(
        folder=str(capture_folder(workspace)), scripts=dict(Counter(script.strategy for script in bank.values())),
        performances={id_: count_performances(graph) for id_, graph in graphs.items()}, slots=len(planned.slots), new=new,
        by_participant=people, by_strategy=strategies, dropped=dropped + unreadable, calls=calls,
    )  # fmt: skip


def _graphs(place: Workspace, source: Path | None) -> tuple[dict[str, TaskGraph], bool]:
    """Return the workspace's task graphs and those of a source, and whether any are new."""
    there = place.known_graphs()
    graphs = dict(there)
    for graph in _read_graphs(source) if source is not None else ():
        if graphs.setdefault(graph.id, graph) != graph:
            seen = f"'{graph.id[:60]}' is there already, and different."
            raise UserError(seen, where=str(source), hint="give one of them another id")
    if len(set(map(short_name, graphs))) < len(graphs) or not graphs:
        seen = "two activities would have one name." if graphs else "there are no task graphs."
        raise UserError(seen, where=str(source or place.root), hint="see --graphs")
    return graphs, len(graphs) > len(there)


def _read_graphs(source: Path) -> list[TaskGraph]:
    """Read task graphs; a ``.txt`` is one activity, called as the file, with a step a line, in their order."""
    if source.suffix.lower() != ".txt" or source.is_dir():
        return load_graphs(source).graphs
    try:
        lines = read_bytes(source).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UserError("it is no text in UTF-8.", where=str(source)) from None
    texts = filter(None, (" ".join(line.split()) for line in lines))
    steps = tuple(Step(str(n), text) for n, text in enumerate(texts, 1))
    if not steps:
        raise UserError("it has no steps.", where=str(source), hint="a step a line")
    edges = tuple((a.id, b.id) for a, b in pairwise(steps))
    return [
        TaskGraph(source.stem, source.stem.replace("-", " ").replace("_", " ").capitalize(), steps, edges)
    ]
