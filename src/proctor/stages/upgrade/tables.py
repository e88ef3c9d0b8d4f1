"""Tables that are made from marks and replies: they have another form today, and are made again without asking anybody."""

from __future__ import annotations

from collections import Counter

from proctor.errors import UserError
from proctor.records import read_json
from proctor.stages.calibrate import CalibrationFile
from proctor.stages.upgrade.part import Part
from proctor.workspace import Workspace, is_there

__all__ = ["leave_out_tables"]


def leave_out_tables(workspace: Workspace) -> Part:
    """Remove the tables of a workspace; a calibration that can be read stays."""
    root = workspace.root
    scores = [
        *root.glob("runs/*/scores.json"),
        *root.glob("runs/*/corrected.json"),
        *root.glob("comparisons.json"),
    ]
    calibration = [] if _is_calibration(workspace) else list(root.glob("calibration.json"))
    for table in (*scores, *calibration):
        table.unlink()
    return Part(
        left_out=dict(Counter(table.name for table in (*scores, *calibration))),
        again=(*(["calibrate"] if calibration else []), *(["score"] if scores or calibration else [])),
    )


def _is_calibration(workspace: Workspace) -> bool:
    path = workspace.file("calibration.json")
    try:
        return not is_there(path) or bool(read_json(path, CalibrationFile))
    except UserError:
        return False
