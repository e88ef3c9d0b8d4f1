"""Task graphs for recordings of tools that know labels only: the steps that were seen, in no order.

Nothing is guessed: a graph says what must come before what, and labels alone do not tell. An order can be induced
or drawn afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from typing import Final

from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Recording
from proctor.records import Dropped

__all__ = ["derive_orderless"]

_ID: Final = re.compile(r"\w(?:[\w .-]*[\w.-])?")
_MAX_ID: Final = 60


def derive_orderless(
    recordings: Iterable[Recording],
) -> tuple[tuple[Recording, ...], dict[str, TaskGraph], tuple[Dropped, ...]]:
    """Return the recordings with step ids that a plain folder takes, their graphs, and every text that differs.

    A step id that cannot be part of a file name (``Boil & <pour>``) becomes ``s1``, ``s2`` …, by first appearance
    in its activity. Where one id has two texts the first is the step's, and the others are listed.
    """
    given = tuple(recordings)
    by_activity: dict[str, list[Recording]] = {}
    for recording in given:
        by_activity.setdefault(recording.activity_id, []).append(recording)
    graphs: dict[str, TaskGraph] = {}
    lost: list[Dropped] = []
    renamed: dict[str, Recording] = {}
    for id_, of_one in by_activity.items():
        steps = _steps(of_one, lost)
        if steps:
            graphs[id_] = TaskGraph(id_, of_one[0].activity_name or id_, tuple(steps.values()))
        for recording in of_one:
            segments = tuple(
                replace(s, step_id=steps[s.step_id].id, text=steps[s.step_id].text)
                for s in recording.segments
            )
            renamed[recording.id] = replace(recording, segments=segments)
    return tuple(renamed[r.id] for r in given), graphs, tuple(lost)


def _steps(recordings: Iterable[Recording], lost: list[Dropped]) -> dict[str, Step]:
    """Return the steps of one activity by the id that the recordings use."""
    first: dict[str, str] = {}
    for recording in recordings:
        lost += [
            Dropped(f"{recording.id}/{s.step_id}"[:120], "text_differs", s.text[:120])
            for s in recording.segments
            if first.setdefault(s.step_id, s.text) != s.text
        ]
    fresh = (f"s{n}" for n in count(1) if f"s{n}" not in first)
    return {
        id_: Step(
            id_ if (len(id_) <= _MAX_ID and _ID.fullmatch(id_) is not None) else next(fresh), text or id_
        )
        for id_, text in first.items()
    }
