"""Doing an experiment: every stage in its order, with one budget; what is done already is not done or paid for again.

Where settings vary, the stages before the first one that differs are done once; from there on each value has a workspace of
its own in ``cells/``, which begins with what those stages wrote. All share one call store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor.llm.model import ModelName
from proctor.records import Json, is_there, read_json, write_json
from proctor.settings import Settings
from proctor.stages.experiment.cells import CELLS, Cell, cells_of, join_workspace, settings_from
from proctor.stages.experiment.compare import compare_cells, write_grid
from proctor.stages.experiment.stage import Chosen, Doing, Done, Plan, Stage, StoppedError
from proctor.stages.limits import Limits
from proctor.stages.models import CALLS, open_models, replies_said, require_keys
from proctor.stages.rehearsing import find_rehearser, played_in
from proctor.stages.settings import ReplyOptions
from proctor.stages.show import Show
from proctor.workspace import Workspace

__all__ = ["PLAN_FILE", "Kept", "choose", "conduct", "kept_settings", "prepare", "walk"]

PLAN_FILE: Final = "experiment.json"
"""Where a workspace keeps what was chosen, so that the experiment is gone on with by the workspace's name alone."""


class Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a workspace's experiment is: its plan, what was chosen for each stage, and what varies."""

    plan: str
    settings: dict[str, dict[str, Any]]
    vary: tuple[str, ...] = ()


def kept_settings(root: Path, plan: Plan) -> Kept | None:
    """Return the experiment that a workspace keeps, None where there is none.

    Raises:
        UserError: if it cannot be read, or is another one.
    """
    path = Workspace(root).file(PLAN_FILE)
    if not is_there(path):
        return None
    kept: Kept = read_json(path, Kept)
    if kept.plan != plan.name:
        raise UserError(
            f"the workspace's experiment is '{kept.plan}', not '{plan.name}'.",
            where=str(path),
            hint=f"go on with: proctor experiment {kept.plan} {root}",
        )
    return kept


def choose(root: Path, plan: Plan, given: Mapping[str, Mapping[str, Any]]) -> Chosen:
    """Return the settings of every stage: what was given, then what the workspace keeps, then ``proctor.toml``, then defaults.

    Args:
        root: the workspace.
        plan: of the experiment.
        given: values by stage and field.

    Raises:
        UserError: if a value does not fit.
    """
    kept = kept_settings(root, plan)
    workspace = Workspace(root)
    chosen: dict[str, Settings] = {}
    for stage, settings in plan.outline.settings.items():
        before = _former(root, kept, stage, settings)
        values = {**before, **{name: v for name, v in given.get(stage, {}).items() if v is not None}}
        found = workspace.resolve(settings, **values) if settings.section else settings(**values)
        if "human" in settings.__struct_fields__:  # a calibration remembers its files by itself
            found = settings_from(found, {"human": tuple(values.get("human", ()))})
        chosen[stage] = found
    return chosen


def _former(root: Path, kept: Kept | None, stage: str, settings: type[Settings]) -> Mapping[str, Any]:
    """Return what was chosen for a stage before."""
    values = kept.settings.get(stage, {}) if kept is not None else {}
    try:
        found = msgspec.convert(values, settings, dec_hook=lambda kind, value: kind(value))
    except msgspec.ValidationError as error:
        raise UserError(
            f"{error}: {stage}.",
            where=str(Workspace(root).file(PLAN_FILE)),
            hint="correct the file, or remove it to choose again",
        ) from None
    return {name: getattr(found, name) for name in values if hasattr(found, name)}


def conduct(
    root: Path,
    plan: Plan,
    chosen: Chosen,
    *,
    vary: Sequence[str] = (),
    limits: Limits | None = None,
    show: Show,
) -> Done:
    """Do an experiment; a second call goes on where the first one ended, and nothing is paid for twice.

    Args:
        root: the workspace.
        plan: of the experiment.
        chosen: settings of every stage (``choose``).
        vary: what varies, ``section.field=value,value``; every combination is a cell.
        limits: for all stages and cells together; a rehearsal that is going on stands in for videos and people, too.
        show: shows progress.

    Raises:
        UserError: if something about the settings, the data or the workspace is wrong, or a key is missing.
    """
    done = Done()
    cells, doing = prepare(root, plan, chosen, vary, (limits or Limits()).shared(), show, done)
    before = kept_settings(root, plan)
    settings = {
        name: _plain(doing.workspace, s, before.settings.get(name, {}) if before is not None else ())
        for name, s in chosen.items()
    }
    write_json(doing.workspace.file(PLAN_FILE), Kept(plan=plan.name, settings=settings, vary=tuple(vary)))
    finished: dict[str, Path] = {}
    try:
        for cell, there in walk(doing, plan.stages, cells, lambda now, stage, s: stage.run(now, s)):
            finished[cell.name] = there.root
    except StoppedError as stopped:
        done.stopped = str(stopped)
        return done
    grid = compare_cells(plan, finished)
    if len(cells) > 1 or grid.agreement:
        done.grid = grid
        table = write_grid(root, grid)
        done.report = table if len(cells) > 1 else done.report
    return done


def _plain(workspace: Workspace, settings: Settings, before: Collection[str]) -> dict[str, Json]:
    """Return settings as they are kept: without what is left as it is; folders as they are found from anywhere.

    What only ``proctor.toml`` says is not copied, so that a change there holds; what was kept before stays.
    """
    usual = {f.name: f.default for f in msgspec.structs.fields(settings)}
    said = workspace.said(type(settings))
    values = {name: getattr(settings, name) for name in settings.__struct_fields__}
    chosen = {
        name: v
        for name, v in values.items()
        if (v != usual[name] and name in before) or v != (usual if v in (None, ()) else said)[name]
    }
    found: dict[str, Json] = msgspec.to_builtins(
        chosen, enc_hook=lambda value: str(value.absolute()) if isinstance(value, Path) else str(value)
    )
    return found


def prepare(
    root: Path,
    plan: Plan,
    chosen: Chosen,
    vary: Sequence[str],
    limits: Limits,
    show: Show,
    done: Done,
    *,
    asking: bool = True,
) -> tuple[list[Cell], Doing]:
    """See that all stages of all cells can be done, before one of them is paid for; keys only where models will be asked.

    Raises:
        UserError: naming what cannot.
    """
    cells = cells_of(plan, chosen, vary)
    names = list(
        dict.fromkeys(
            name
            for cell in cells
            for stage in plan.stages
            for name in stage.models(cell.chosen[stage.name])
            if name
        )
    )
    for name in names:
        ModelName.parse(name)
    limits = msgspec.structs.replace(limits, replies=replies_said(Workspace(root), limits))
    doing = Doing(root, cells[0].chosen, limits, show, done)
    for cell in cells:
        for stage in plan.stages:
            if stage.check is not None:
                stage.check(doing.within(root, cell.chosen, "", limits), cell.chosen[stage.name])
    if not asking:
        return cells, doing
    require_keys(doing.workspace, names, limits)
    doing.workspace.create()
    if limits.max_cost is not None:
        with open_models(doing.workspace, limits) as models:
            models.require_prices(*names)
    return cells, doing


Do = Callable[[Doing, Stage, Any], None]


def walk(
    doing: Doing, stages: Sequence[Stage], cells: Sequence[Cell], do: Do, done: tuple[Stage, ...] = ()
) -> Iterator[tuple[Cell, Doing]]:
    """Do stages in order; where cells differ, go on in a workspace for each of their values. Yield the cells that are done."""
    for place, stage in enumerate(stages):
        groups: dict[Any, list[Cell]] = {}
        for cell in cells:
            groups.setdefault(msgspec.json.encode(cell.chosen[stage.name], enc_hook=str), []).append(cell)
        if len(groups) > 1:
            for members in groups.values():
                with _cell(doing, stage, members, done) as within:
                    yield from walk(within, stages[place:], members, do, done)
            return
        settings = cells[0].chosen[stage.name]
        do(_replying(doing, settings), stage, settings)
        done = (*done, stage)
    yield cells[0], doing


def _replying(doing: Doing, settings: Settings) -> Doing:
    """Return the same experiment, in which models reply as the settings of a stage say."""
    if not isinstance(settings, ReplyOptions):
        return doing
    replies = settings.replying().after(doing.limits.replies)
    limits = msgspec.structs.replace(doing.limits, replies=replies)
    return doing.within(doing.root, doing.chosen, doing.cell, limits)


@contextmanager
def _cell(doing: Doing, stage: Stage, cells: Sequence[Cell], done: Sequence[Stage]) -> Iterator[Doing]:
    """Go on in the workspace of those cells that have one value of a stage's settings."""
    part = cells[0].part(stage)
    root = doing.root / CELLS / part
    join_workspace(doing.root, root, done)
    limits = doing.limits
    if limits.calls is None:
        limits = msgspec.structs.replace(limits, calls=str(doing.root / CALLS))
    name = f"{doing.cell}, {part}" if doing.cell else part
    within = doing.within(root, cells[0].chosen, name, limits)
    played = played_in(doing.root)
    if limits.rehearsal is None or played is None:
        yield within
        return
    rehearser = find_rehearser("A rehearsal")  # it plays what the files of its own workspace say
    with rehearser.open_rehearsal(root, played.quality, seed=played.seed, show=doing.show) as playing:
        yield doing.within(root, cells[0].chosen, name, msgspec.structs.replace(limits, rehearsal=playing))
