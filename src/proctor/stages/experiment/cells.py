"""Cells of a grid: what varies, their names, and their workspaces, which share what stages before them wrote."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

from proctor.errors import UserError
from proctor.llm.fence import FENCE_FILE, FenceSecret
from proctor.records import atomic_write, is_there, read_bytes, write_json
from proctor.settings import Field, Settings, fields_of
from proctor.stages.experiment.stage import Chosen, Plan, Stage
from proctor.stages.models import MEDIA
from proctor.stages.naming import file_name
from proctor.stages.rehearsing import REHEARSAL_FILE
from proctor.workspace import Workspace

__all__ = ["CELLS", "Cell", "cells_of", "join_workspace", "settings_from"]

CELLS: Final = "cells"
"""Folder of the cells in a workspace."""
_TRUE, _FALSE = ("yes", "true", "on"), ("no", "false", "off")


class Cell(NamedTuple):
    """One combination of what varies.

    Attributes:
        varied: what is different in it, by stage and field, as it was typed.
        chosen: settings of every stage.
    """

    varied: Mapping[tuple[str, str], str]
    chosen: Chosen

    @property
    def name(self) -> str:
        """What it is called: ``template=dot-steps generator=openai/gpt-4o``; empty where nothing varies."""
        often = Counter(name for _, name in self.varied)
        return " ".join(
            f"{name if often[name] == 1 else f'{stage}.{name}'}={value}"
            for (stage, name), value in self.varied.items()
        )

    def part(self, stage: Stage) -> str:
        """Return the name of its folder as far as a stage decides it."""
        parts = [f"{name}={value}" for (of, name), value in self.varied.items() if of == stage.name]
        return file_name("_".join(part.replace("=", ".", 1) for part in parts))


def cells_of(plan: Plan, chosen: Chosen, vary: Sequence[str]) -> list[Cell]:
    """Return all combinations of what varies.

    Args:
        plan: of the experiment.
        chosen: settings of every stage.
        vary: ``section.field=value,value``.

    Raises:
        UserError: if there is no such setting, it is named twice, or a value does not fit.
    """
    axes: dict[tuple[str, str], list[str]] = {}
    for text in vary:
        place, equals, values = text.partition("=")
        section, _, name = place.strip().partition(".")
        key = (section, name.replace("-", "_"))
        if not equals or not values.strip():
            raise UserError(
                f"{text!r} does not say what varies.", hint="--vary generate.template=dot-steps,excerpt-steps"
            )
        if key in axes:
            raise UserError(f"{place} varies twice.", hint="name all values in one --vary")
        found = [value.strip() for value in values.split(",")]
        if len(set(found)) < len(found):
            raise UserError(f"{place} has a value twice.", hint="name every value once")
        axes[key] = found
    cells = []
    for combination in product(*axes.values()):
        varied = dict(zip(axes, combination, strict=True))
        now = dict(chosen)
        for (section, name), value in varied.items():
            declared = _declared(plan, section, name)
            now[section] = settings_from(now[section], {name: _read(declared, value)})
        cells.append(Cell(varied, now))
    return cells


def _declared(plan: Plan, section: str, name: str) -> Field:
    settings = plan.outline.settings.get(section)
    if settings is None:
        known = ", ".join(plan.outline.settings)
        raise UserError(f"the experiment has no stage '{section}'.", hint=f"it has {known}")
    for declared in fields_of(settings):
        if declared.name == name:
            return declared
    known = ", ".join(f.name for f in fields_of(settings))
    raise UserError(f"the stage '{section}' has no setting '{name}'.", hint=f"it has {known}")


def settings_from(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Return settings with other values, looked at anew."""
    now = {name: getattr(settings, name) for name in settings.__struct_fields__}
    return type(settings)(**{**now, **values})


def _read(declared: Field, text: str) -> Any:
    """Return a value of a setting; of one that may be repeated several are joined by ``|``."""
    if declared.several:
        return tuple(_one(declared, part) for part in text.split("|"))
    return (
        None
        if text == "none" and not declared.required and declared.default is None
        else _one(declared, text)
    )


def _one(declared: Field, text: str) -> Any:
    if declared.parse is not None:
        return declared.parse(text)
    if declared.kind is bool:
        if text.lower() not in (*_TRUE, *_FALSE):
            raise UserError(f"{declared.name} is {text!r}.", hint="use yes or no")
        return text.lower() in _TRUE
    if declared.kind in (int, float, Path):
        try:
            return declared.kind(text)
        except ValueError:
            raise UserError(f"{declared.name} is {text!r}; a number was expected.") from None
    return text


# -- workspaces ----------------------------------------------------------------------------------------------------


def join_workspace(root: Path, cell: Path, stages: Iterable[Stage]) -> None:
    """Give the workspace of a cell what the stages before it wrote; it may be there already, and is brought up to date.

    Files are copied whole, one by one, and folders of pictures, sources and vectors are shared, so that this may be killed
    at any moment.

    Args:
        root: the workspace that has them.
        cell: the workspace of the cell.
        stages: those that were done.
    """
    FenceSecret.load(root / FENCE_FILE)
    (root / MEDIA).mkdir(exist_ok=True)
    cell.mkdir(parents=True, exist_ok=True)
    done = list(stages)
    always = ("workspace.json", FENCE_FILE, REHEARSAL_FILE, f"{MEDIA}/")
    for pattern in dict.fromkeys((*always, *(name for stage in done for name in stage.writes))):
        for path in _matching(root, pattern):
            _give(path, cell / path.relative_to(root))
    _give_records(Workspace(root), Workspace(cell), {stage.name for stage in done})


def _matching(root: Path, pattern: str) -> Iterator[Path]:
    if pattern.endswith("/"):
        if (root / pattern).is_dir():
            yield root / pattern
    else:
        yield from (path for path in sorted(root.glob(pattern)) if path.is_file())


def _give(path: Path, target: Path) -> None:
    if path.is_dir() or path.suffix == ".sqlite":  # shared as it is
        if target.is_symlink() and not target.exists():
            target.unlink()  # where it led to is gone
        if not is_there(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(os.path.relpath(path, target.parent), target_is_directory=path.is_dir())
        return
    content = read_bytes(path)
    if is_there(target) and read_bytes(target) == content:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target) as stream:
        stream.write(content)
    shutil.copymode(path, target)


def _give_records(source: Workspace, target: Workspace, done: set[str]) -> None:
    """Write what the stages before a cell did into its record, beside what its own did."""
    theirs = {name: record for name, record in source.stages().items() if name.partition("/")[0] in done}
    own = {name: record for name, record in target.stages().items() if name not in theirs}
    together = {**theirs, **own}
    if together != target.stages():
        write_json(target.file("stages.json"), together)
