"""Performances of activities, from wherever they are: workspaces, data sets, recordings of other tools, orders as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from proctor.datasets.interchange.format import find_format, guess_format
from proctor.datasets.interchange.reading import parse_json
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.procedure.induce import Performance, observe_order, observe_recording
from proctor.procedure.recording import Recording
from proctor.records import read_bytes, read_jsonl
from proctor.stages.inputs import load_recordings
from proctor.workspace import Workspace

__all__ = ["Activity", "activities_of", "choose_activities", "observe", "only_numbered"]

_HINT: Final = "see docs/graphs.md"


@dataclass(slots=True)
class Activity:
    """What was seen of one activity.

    Attributes:
        id: of the activity.
        name: for people.
        performances: that have a say.
        texts: of steps by id.
        left_out: recordings that have no say because of their mistakes.
        seen: steps that any recording mentions, or the file lists.
        listed: steps that the file lists by itself: they are in the graph, whoever performs them.
        numbers: of steps whose id is a whole number: every text that they have, and a recording that has it.
    """

    id: str
    name: str
    performances: list[Performance] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    left_out: int = 0
    seen: set[str] = field(default_factory=set)
    listed: frozenset[str] = frozenset()
    numbers: dict[str, dict[str, str]] = field(default_factory=dict)


def observe(
    source: Path, from_: str | None, dataset: str | None, without: Sequence[str]
) -> tuple[dict[str, Activity], Mapping[str, TaskGraph]]:
    """Return the activities by id, and the graphs that the source itself brings.

    Args:
        source: workspace, folder of a data set, recordings as JSON Lines or in an interchange format, orders as JSON.
        from_: interchange format of the recordings; told by the ending where it is None.
        dataset: that the source is a folder of.
        without: kinds of mistakes whose recordings have no say; ``any`` stands for all.

    Raises:
        UserError: if anything cannot be read.
    """
    if dataset is not None:
        from proctor.datasets.dataset import load_dataset

        read = load_dataset(dataset).read(source, "corrected")
        return activities_of(read.recordings, without, read.graphs), read.graphs
    if from_ is not None:
        return activities_of(_imported(source, from_), without, {}), {}
    if source.is_dir():
        workspace = Workspace(source)
        graphs = workspace.graphs()
        return activities_of(load_recordings(workspace, graphs), without, graphs), graphs
    if source.suffix.lower() == ".json":
        if without:
            raise UserError("orders carry no mistakes, so --without finds none.", where=str(source))
        return _of_orders(source), {}
    if source.suffix.lower() == ".jsonl":
        return activities_of(read_jsonl(source, Recording), without, {}), {}
    return activities_of(
        _imported(source, guess_format(source, "recordings", to_read=True).name), without, {}
    ), {}


def _imported(source: Path, name: str) -> list[Recording]:
    format_ = find_format(name)
    if format_.read is None or format_.kind != "recordings":
        raise UserError(f"the format '{name}' gives no recordings.", hint=_HINT)
    return [cast("Recording", r) for r in format_.read(source).objects]


def activities_of(
    recordings: Iterable[Recording], without: Sequence[str], graphs: Mapping[str, TaskGraph]
) -> dict[str, Activity]:
    """Return recordings by activity, those with mistakes of the kinds in ``without`` left out; texts are the graphs' first."""
    activities: dict[str, Activity] = {}
    for recording in recordings:
        id_ = recording.activity_id
        activity = activities.setdefault(id_, Activity(id_, recording.activity_name))
        for segment in recording.segments:
            activity.seen.add(segment.step_id)
            activity.texts.setdefault(segment.step_id, segment.text)
            if segment.step_id.isdecimal():
                said = activity.numbers.setdefault(segment.step_id, {})
                said.setdefault(" ".join(segment.text.casefold().split()), recording.id)
        kinds = {m.kind for s in recording.segments for m in s.mistakes}
        if kinds & set(without) or ("any" in without and kinds):
            activity.left_out += 1
            continue
        activity.performances.append(observe_recording(recording))
    for id_, graph in graphs.items():
        if id_ in activities:
            activities[id_].texts |= {s.id: s.text for s in graph.steps}
    return activities


# -- orders as JSON ------------------------------------------------------------------------------------------------


def _of_orders(source: Path) -> dict[str, Activity]:
    """Read a list of orders, an object of orders by name, or ``{"steps": {id: text}, "performances": orders}``.

    The last may have an ``id`` and a ``name``; an activity without is called as its file.
    """
    value = parse_json(read_bytes(source), str(source))
    activity = Activity(source.stem, source.stem)
    if isinstance(value, dict) and _has_texts(value):
        texts = _texts_of(value, source)
        activity.id = _said(value, "id", source) or activity.id
        activity.name = _said(value, "name", source) or activity.id
        value = value.get("performances", [])
        activity.texts, activity.listed = texts or {}, frozenset(texts or ())
        activity.seen |= activity.listed
        activity.performances = _orders(value, source, texts)
    else:
        activity.performances = _orders(value, source, None)
    return {activity.id: activity}


def _has_texts(value: Mapping[str, object]) -> bool:
    """Tell texts and performances from orders that happen to be called ``steps`` and ``performances``."""
    performances = value.get("performances")
    several = isinstance(performances, list) and any(isinstance(order, list) for order in performances)
    return isinstance(value.get("steps"), dict) or isinstance(performances, dict) or several


def _texts_of(value: Mapping[str, object], source: Path) -> dict[str, str] | None:
    """Return the texts of steps by id; None where the file has none, so that any id is a step."""
    unknown = value.keys() - {"steps", "performances", "id", "name"}
    if unknown:
        raise UserError(
            f"the key '{min(unknown)[:60]}' is not known.",
            where=str(source),
            hint='the file has the keys "steps" and "performances", and may have "id" and "name"',
        )
    steps = value.get("steps")
    if steps is None:
        return None
    if not isinstance(steps, dict):
        raise UserError(
            '"steps" is no object of texts by id.', where=str(source), hint='like {"boil": "Boil the water"}'
        )
    for id_, text in steps.items():
        if not isinstance(text, str):
            raise UserError(
                f"the text of step '{id_[:60]}' is {_what(text)}; a text was expected.", where=str(source)
            )
    return steps


def _said(value: Mapping[str, object], key: str, source: Path) -> str:
    said = value.get(key, "")
    if not isinstance(said, str):
        raise UserError(f'"{key}" is {_what(said)}; a text was expected.', where=str(source))
    return said


def _orders(value: object, source: Path, known: Mapping[str, str] | None) -> list[Performance]:
    named = dict(enumerate(value, start=1)) if isinstance(value, list) else value
    if not isinstance(named, dict):
        raise UserError("a list of orders was expected.", where=str(source), hint=_HINT)
    performances = []
    for name, steps in named.items():
        if not isinstance(steps, list) or not all(
            isinstance(s, str | int) and not isinstance(s, bool) for s in steps
        ):
            raise UserError(
                f"order {str(name)[:60]} is not a list of steps.",
                where=str(source),
                hint='like ["boil", "pour"]',
            )
        ids = [str(s) for s in steps]
        unknown = [] if known is None else [s for s in ids if s not in known]
        if unknown:
            raise UserError(
                f"performance {str(name)[:60]} has the step '{unknown[0][:60]}', which is not among the steps.",
                where=str(source),
                hint='add it to "steps" with its text, or correct the performance',
            )
        performances.append(observe_order(str(name), ids))
    return performances


def _what(value: object) -> str:
    return {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}.get(
        type(value), "a number"
    )


# -- which activities ------------------------------------------------------------------------------------------------


def choose_activities(found: Mapping[str, Activity], wanted: Sequence[str], source: Path) -> list[Activity]:
    """Return the activities of these ids or names, all where none is named.

    Raises:
        UserError: if there is none at all, or not exactly one of a name.
    """
    if not found:
        raise UserError("there are no recordings in it.", where=str(source), hint=_HINT)
    chosen = []
    for name in wanted:
        fitting = [a for a in found.values() if name == a.id] or [a for a in found.values() if name == a.name]
        if len(fitting) != 1:
            known = ", ".join(f"{a.id} ({a.name})" for a in list(found.values())[:20])
            raise UserError(f"there is no activity '{name}'.", where=str(source), hint=f"there are: {known}")
        chosen += fitting
    return chosen or list(found.values())


def only_numbered(activity: Activity) -> str | None:
    """Say so where step ids are but numbers within each recording: then equal ids mean nothing."""
    several = {id_: said for id_, said in activity.numbers.items() if len(said) > 1}
    if 2 * len(several) <= len(activity.seen):
        return None
    id_, said = next(iter(several.items()))
    (one, first), (other, second) = list(said.items())[:2]
    return (
        f"activity '{activity.name or activity.id}': its steps are only numbered within each recording: '{id_}' is "
        f"'{one[:60]}' in {first} and '{other[:60]}' in {second}, so an order of numbers means nothing"
    )
