"""Every sixth recording of the real CaptainCook4D, for tests of what comes after reading: reading all takes seconds each time."""

from __future__ import annotations

import json
import math
from pathlib import Path

__all__ = ["write_part"]

EVERY = 6


def write_part(whole: Path, folder: Path, *, shorter_than: float = math.inf) -> Path:
    """Write a data set in the published form with every sixth of the recordings that are so short (seconds); return its folder."""
    (folder / "annotation_json").mkdir(parents=True)
    (folder / "task_graphs").symlink_to(whole / "task_graphs", target_is_directory=True)
    source = whole / "annotation_json"
    complete = json.loads((source / "complete_step_annotations.json").read_text())
    short = {
        name: found
        for name, found in complete.items()
        if max(step["end_time"] for step in found["steps"]) < shorter_than
    }
    kept = dict(list(short.items())[::EVERY])
    errors = json.loads((source / "error_annotations.json").read_text())
    wanted = {
        "complete_step_annotations.json": kept,
        "error_annotations.json": [row for row in errors if row["recording_id"] in kept],
    }
    for name, value in wanted.items():
        (folder / "annotation_json" / name).write_text(json.dumps(value))
    return folder
