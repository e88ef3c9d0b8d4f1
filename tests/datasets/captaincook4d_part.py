"""Every sixth recording of the real CaptainCook4D, for tests of what comes after reading: reading all takes seconds each time."""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["write_part"]

EVERY = 6


def write_part(whole: Path, folder: Path) -> Path:
    """Write a data set in the published form with some of the recordings of another, and return its folder."""
    (folder / "annotation_json").mkdir(parents=True)
    (folder / "task_graphs").symlink_to(whole / "task_graphs", target_is_directory=True)
    source = whole / "annotation_json"
    complete = json.loads((source / "complete_step_annotations.json").read_text())
    kept = dict(list(complete.items())[::EVERY])
    errors = json.loads((source / "error_annotations.json").read_text())
    wanted = {
        "complete_step_annotations.json": kept,
        "error_annotations.json": [row for row in errors if row["recording_id"] in kept],
    }
    for name, value in wanted.items():
        (folder / "annotation_json" / name).write_text(json.dumps(value))
    return folder
