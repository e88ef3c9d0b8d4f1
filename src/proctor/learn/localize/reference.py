"""The annotations as the released code of CaptainCook4D trains on them, its mistakes included; ``--protocol code``.

That code writes one file in ActivityNet's form. Steps that were never executed stay in it as segments from -1 to -1, and no
recording is said to hold mistakes. It then learns the id of a *text*, the last one that the file gives it, while it is tested
on ids: where a text belongs to several ids, executions are trained under a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from proctor.learn.samples import StepData

__all__ = ["FRAMES_PER_SECOND", "reference_document", "reference_labels"]

FRAMES_PER_SECOND: Final = 29.97
"""Of the videos, as the released code has it."""
_MISSED: Final = (-1.0, -1.0)


def reference_labels(data: StepData) -> dict[str, str]:
    """Return the id that the released code trains each text under: the last one in the order of the data set."""
    return {
        segment.text: key
        for performance in data.performances.values()
        for key, segment in zip(performance.keys, performance.recording.segments, strict=True)
    }


def reference_document(data: StepData, homes: Mapping[str, str]) -> dict[str, object]:
    """Return the annotations in the form that the released code writes: one JSON object.

    Args:
        data: of ``read_step_data``.
        homes: part (``train``, ``val`` or ``test``) by recording id; others are left out.

    Returns:
        What ``proctor metrics localization --gt`` reads with ``--label-key label_id --drop-empty``. The id of a label is a
        whole number where it is written as one.
    """
    subsets = {"train": "Training", "val": "Validation", "test": "Test"}
    database = {}
    for id_, performance in data.performances.items():
        if id_ not in homes:
            continue
        annotations = []
        for key, segment in zip(performance.keys, performance.recording.segments, strict=True):
            timed = segment.start is not None and segment.end is not None
            start, end = (segment.start or 0.0, segment.end or 0.0) if timed else _MISSED
            annotations.append(
                {
                    "label": segment.text,
                    "segment": [start, end],
                    "segment(frames)": [
                        math.floor(FRAMES_PER_SECOND * start),
                        math.ceil(FRAMES_PER_SECOND * end),
                    ],
                    "label_id": int(key) if key.isdecimal() else key,
                    "has_error": bool(segment.mistakes),
                }
            )
        database[id_] = {
            "subset": subsets[homes[id_]],
            "duration": performance.recording.duration,
            "fps": FRAMES_PER_SECOND,
            "has_error": False,
            "annotations": annotations,
        }
    classes = 1 + max(
        (int(k) for p in data.performances.values() for k in p.keys if k.isdecimal()), default=0
    )
    return {"version": f"{data.name}-{FRAMES_PER_SECOND}fps-{classes}Steps", "database": database}
