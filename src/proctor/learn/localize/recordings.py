"""Recordings as a network of time is given them: rows of features of all stores side by side, and where actions are in them.

This module imports torch: import it late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.batches import Places, RowTable
from proctor.learn.features.store import FeatureStore
from proctor.learn.localize.data import TimedRecording
from proctor.learn.localize.grid import Grid, grid_of
from proctor.learn.localize.localizer import LocalizeTask
from proctor.records import Dropped

__all__ = ["Actions", "Recordings", "recordings_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Actions:
    """The actions of a recording, parallel arrays, shape (actions,).

    Attributes:
        start: rows, a fraction; likewise ``end``.
        end: beside ``start``.
        label: number of the class.
    """

    start: Floats
    end: Floats
    label: Places


@dataclass(frozen=True)
class Recordings:
    """All recordings of a task that have features.

    Attributes:
        table: item i are the rows of recording i.
        place: of each recording, by id.
        actions: of each recording that is trained on or chooses; none of others, whose steps are not looked at.
        train: places of the recordings that are trained on.
        val: of those that choose.
        unseen: classes that no recording to train on has.
        grid: of the rows.
        dropped: recordings without features.
    """

    table: RowTable
    place: Mapping[str, int]
    actions: Sequence[Actions]
    train: Places
    val: Places
    unseen: Places
    grid: Grid
    dropped: tuple[Dropped, ...]


def recordings_of(task: LocalizeTask, stores: Sequence[FeatureStore]) -> Recordings:
    """Return the recordings of a task that all stores have rows of; no row is read.

    Rows of further stores lie beside those of the first by time: of each, the row that the middle falls into, zeros past the
    end.

    Raises:
        UserError: if there is no store, or no recording that is trained on has features and a timed step.
    """
    if not stores:
        raise UserError("this model looks at features.", where="--features", hint="name a store of features")
    asked = tuple(dict.fromkeys([*task.train, *task.val, *task.test]))
    lacking = {i: [s.backbone for s in stores if i not in s or not s.held[i].rows] for i in asked}
    dropped = tuple(Dropped(i, "no_features", ", ".join(b)) for i, b in lacking.items() if b)
    ids = [i for i in asked if not lacking[i]]
    place = {i: n for n, i in enumerate(ids)}
    seconds = stores[0].seconds
    grid = grid_of(task.protocol, seconds)
    lengths = [stores[0].held[i].rows for i in ids]
    items = [
        [s.places(i, 0.0, n * seconds, seconds) for i, n in zip(ids, lengths, strict=True)] for s in stores
    ]
    number = {label: n for n, label in enumerate(task.data.classes)}
    learned = {*task.train, *task.val}
    actions = [_actions(task.data.recordings[i], number, grid, i in learned) for i in ids]
    train, val = (
        np.array([place[i] for i in part if i in place], np.int64) for part in (task.train, task.val)
    )
    seen = np.unique(np.concatenate([np.zeros(0, np.int64), *(actions[i].label for i in train)]))
    if not len(seen):
        raise UserError(
            "no recording that is trained on has features and a timed step.",
            where=", ".join(str(s.path) for s in stores),
            hint="convert or extract the features of its recordings (proctor features check), or take another split",
        )
    return Recordings(
        RowTable.of([s.matrix for s in stores], items, lengths), place, actions, train, val,
        np.setdiff1d(np.arange(len(number)), seen), grid, dropped,
    )  # fmt: skip


def _actions(recording: TimedRecording, number: Mapping[str, int], grid: Grid, learned: bool) -> Actions:
    spans = recording.spans if learned else ()
    return Actions(
        grid.rows(np.array([s.start for s in spans], np.float64)),
        grid.rows(np.array([s.end for s in spans], np.float64)),
        np.array([number[s.step] for s in spans], np.int64),
    )
