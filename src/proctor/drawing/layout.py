"""Layouts of task graphs, made once for each graph and kept: in memory, and on disk by hash.

A layout depends on the graph alone, never on a moment, so 100,000 items of 24 activities cost 24 layouts. On disk
there are only numbers; all text is taken from the graph at hand.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from proctor.drawing.engines import Engine, Placement, Route, find_engine
from proctor.drawing.sketch import NotDrawnError, Sketch, make_sketch
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.records import atomic_write, content_hash
from proctor.said import say

__all__ = ["DRAWING_VERSION", "Layout", "Layouts"]

DRAWING_VERSION: Final = 1
"""Part of the name of every stored layout; to be raised when sizes or spacing change."""
_KEPT: Final = 1_024
_RETRY: Final = 600.0
"""Seconds after which a failure is no longer believed: a busy machine may have been the reason."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A measured graph and where everything stands; without a placement the page's own engine gives one."""

    sketch: Sketch
    placement: Placement | None

    @property
    def arrows(self) -> tuple[Route, ...]:
        """The routes of all edges; none while nothing is placed."""
        return self.placement.routes if self.placement is not None else ()


class Layouts:
    """Finds the layout of a graph; may be used from many threads.

    Args:
        folder: where layouts are stored as ``<hash>.json``; None keeps them in memory only.
        engine: layout program; None means the best one of this machine, if there is any.
    """

    def __init__(self, folder: Path | None = None, engine: Engine | None = None) -> None:
        self._folder = folder
        self._engine = engine if engine is not None else find_engine()
        self._lock = threading.Lock()
        self._kept: OrderedDict[TaskGraph, tuple[Layout | NotDrawnError, float]] = OrderedDict()
        self._working: dict[TaskGraph, threading.Lock] = {}

    def find(self, graph: TaskGraph) -> Layout:
        """Return the layout of a graph, at once when it is known.

        Raises:
            NotDrawnError: if the graph is too large, no layout program is there, or it failed or took too long.
        """
        with self._lock:
            known = self._recall(graph)
            if known is None:
                alone = self._working.setdefault(graph, threading.Lock())
        if known is None:
            with alone:
                known = self._once(graph)
        if isinstance(known, NotDrawnError):
            raise NotDrawnError(*known.args)
        return known

    def prepare(self, graphs: Iterable[TaskGraph], workers: int = 2) -> None:
        """Make the layouts of these graphs side by side; those that cannot be drawn are passed over."""
        with ThreadPoolExecutor(max_workers=workers) as pool:
            for _ in pool.map(self._try, graphs):
                pass

    def _try(self, graph: TaskGraph) -> None:
        try:
            self.find(graph)
        except NotDrawnError:
            return

    def _recall(self, graph: TaskGraph) -> Layout | NotDrawnError | None:
        known, since = self._kept.get(graph, (None, 0.0))
        if known is None:
            return None
        if isinstance(known, NotDrawnError) and time.monotonic() - since > _RETRY:
            del self._kept[graph]
            return None
        self._kept.move_to_end(graph)
        return known

    def _once(self, graph: TaskGraph) -> Layout | NotDrawnError:
        """Make a layout unless another thread made it while this one waited."""
        with self._lock:
            known = self._recall(graph)
        if known is not None:
            return known
        try:
            made: Layout | NotDrawnError = self._make(graph)
        except NotDrawnError as error:
            made = error
        with self._lock:
            self._kept[graph] = (made, time.monotonic())
            self._working.pop(graph, None)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return made

    def _make(self, graph: TaskGraph) -> Layout:
        sketch = make_sketch(graph)
        if self._engine is None:
            raise NotDrawnError(say("neither Graphviz nor the library fast-sugiyama is installed"))
        path = self._path(sketch)
        placement = _read(path, sketch)
        if placement is None:
            placement = self._engine.place(sketch)
            _write(path, placement)
        return Layout(sketch, placement)

    def _path(self, sketch: Sketch) -> Path | None:
        if self._folder is None or self._engine is None:
            return None
        sizes = [(s.width, s.height) for s in sketch.slots]
        return (
            self._folder / f"{content_hash([DRAWING_VERSION, self._engine.name, sizes, sketch.edges])}.json"
        )


def _read(path: Path | None, sketch: Sketch) -> Placement | None:
    """Return a stored layout; None when there is none, or when it is not one of this graph."""
    if path is None:
        return None
    try:
        placement = msgspec.json.decode(path.read_bytes(), type=Placement)
    except (OSError, msgspec.DecodeError):
        return None
    numbers = [placement.width, placement.height, *(v for c in placement.corners for v in c)]
    numbers += [v for route in placement.routes for v in route.points]
    fits = len(placement.corners) == len(sketch.slots) and len(placement.routes) == len(sketch.edges)
    whole = all(len(r.points) >= 8 and len(r.points) % 6 == 2 for r in placement.routes)
    return placement if fits and whole and all(map(math.isfinite, numbers)) else None


def _write(path: Path | None, placement: Placement) -> None:
    if path is None:
        return
    try:
        with atomic_write(path) as stream:
            stream.write(msgspec.json.encode(placement))
    except (OSError, UserError):
        return  # a folder that cannot be written costs time, not the drawing
