"""An experiment written down in a file: what ``proctor run`` does and ``proctor init`` writes.

``[experiment]`` names the kind of questions and the workspace, ``[limits]`` what it may cost, and every other table is a stage with
its settings, as in the help of ``proctor experiment``. Paths are relative to the file.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.errors import UserError, did_you_mean
from proctor.records import is_there, read_bytes
from proctor.settings import Field, Given, fields_of
from proctor.stages.experiment.settings import OUTLINES
from proctor.stages.limits import Limits

__all__ = ["ExperimentPlan", "read_plan"]

_HEAD: Final = "experiment"
_LIMITS: Final = "limits"


class ExperimentPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan says.

    Attributes:
        kind: of the questions: ``moment``, ``documents`` or ``clip``.
        workspace: the folder.
        given: settings by stage.
        limits: what it may cost, and where calls are kept.
        vary: what varies, ``stage.setting=value,value``.
        rehearse: how often models that are played here are right; None for real ones.
    """

    kind: str
    workspace: Path
    given: Given
    limits: Limits
    vary: tuple[str, ...] = ()
    rehearse: float | None = None


class _Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: str = "moment"
    workspace: str = "bench"
    vary: tuple[str, ...] | str = ()
    rehearse: float | None = None


def read_plan(path: Path) -> ExperimentPlan:
    """Return what a plan says.

    Raises:
        UserError: if the file is not TOML, a table or a setting is unknown, or a value is of another type; it says where.
    """
    if not is_there(path):
        beside = {plan.stem: plan for plan in sorted(path.parent.glob("*.toml"))}
        near = get_close_matches(path.stem, beside, n=1)  # without the ending, in which all are alike
        raise UserError(
            "there is no such plan.",
            where=str(path),
            hint=f"did you mean {beside[near[0]]}?"
            if near
            else f"proctor init {shlex.quote(str(path))} writes one",
        )
    try:
        tables: dict[str, Any] = tomllib.loads(read_bytes(path).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(
            f"not valid TOML: {error}.", where=str(path), hint="proctor init writes a plan"
        ) from None
    head = _head(tables.pop(_HEAD, {}), path)
    outline = OUTLINES[_known(head.kind, OUTLINES, f"{path}: [{_HEAD}]", "kind of questions")]
    for name in tables:
        _known(name, (*outline.settings, _LIMITS), str(path), "table")
    folder = path.absolute().parent
    limits = {field.name: field for field in fields_of(Limits)}
    given = {
        stage: _values(tables[stage], {f.name: f for f in fields_of(settings)}, folder, f"{path}: [{stage}]")
        for stage, settings in outline.settings.items()
        if stage in tables
    }
    return ExperimentPlan(
        kind=head.kind,
        workspace=folder / Path(head.workspace).expanduser(),
        given=given,
        limits=msgspec.structs.replace(
            Limits(), **_values(tables.get(_LIMITS, {}), limits, folder, f"{path}: [{_LIMITS}]")
        ),
        vary=(head.vary,) if isinstance(head.vary, str) else head.vary,
        rehearse=head.rehearse,
    )


def _head(table: object, path: Path) -> _Head:
    try:
        head = msgspec.convert(table, _Head)
    except msgspec.ValidationError as error:
        known = ", ".join(_Head.__struct_fields__)
        raise UserError(f"{error}.", where=f"{path}: [{_HEAD}]", hint=f"it may hold: {known}") from None
    if head.rehearse is not None and not 0 <= head.rehearse <= 1:
        raise UserError(
            f"rehearse is {head.rehearse:g}.", where=f"{path}: [{_HEAD}]", hint="a share from 0 to 1"
        )
    return head


def _values(table: object, declared: Mapping[str, Field], folder: Path, where: str) -> dict[str, object]:
    if not isinstance(table, dict):
        raise UserError(
            "this must be a table.", where=where, hint="write it as [name], with a line for each setting"
        )
    values = {}
    for name, value in table.items():
        field = declared[_known(name.replace("-", "_"), declared, where, "setting")]
        try:
            values[field.name] = field.convert(value, folder=folder)
        except UserError as error:
            raise UserError(error.message, where=where, hint=error.hint) from None
    return values


def _known(name: str, known: Collection[str], where: str, what: str) -> str:
    if name not in known:
        raise UserError(f"there is no {what} '{name:.80}'.", where=where, hint=did_you_mean(name, known))
    return name
