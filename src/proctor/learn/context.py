"""What surrounds a step, as numbers: its history, length, place in the task graph, and the rest of its recording.

A mistake that no clip shows (a step begun before what it needs) and one that a clip barely shows (two minutes instead of
one) are told by times and the task graph alone. Settings, each with all of the one before:

- ``local``: history, length and instruction of this step, and whether its immediate predecessors have begun;
- ``step``: also its place among all steps that have begun, by the whole graph and by habit. This is knowledge of the rest of
  the recording: one step that was left out shows in every step after it;
- ``causal``: also how the other steps went up to that moment;
- ``offline``: also what came later.

Everything is computed from what can be *seen* at a moment: executions that began before it, and their ends where these lie
before it too. Neither labels of the recording nor its name, person or place are looked at; what is known of mistakes comes
from ``Histories``. Entries without times are not looked at either: what is missing is what the graph asks for and no
execution showed. See ``docs/learn.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.history import Histories, History, StepKeys
from proctor.learn.samples import KINDS, StepData, StepSample
from proctor.procedure.graph import TaskGraph
from proctor.procedure.quantity import find_quantities

__all__ = [
    "GROUPS",
    "SETTINGS",
    "Features",
    "Relations",
    "Setting",
    "context_features",
    "moment_of",
    "relations_of",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Places = NDArray[np.int64]

Setting = Literal["local", "step", "causal", "offline"]

GROUPS: Final = (
    "history",
    "instruction",
    "duration",
    "predecessors",
    "order",
    "position",
    "past",
    "whole",
)
SETTINGS: Final[Mapping[Setting, tuple[str, ...]]] = {
    "local": GROUPS[:4],
    "step": GROUPS[:6],
    "causal": GROUPS[:7],
    "offline": GROUPS,
}

_LONGEST_GAP: Final = 600.0
"""Seconds; one break of half an hour must not decide a mean."""


@dataclass(frozen=True)
class Features:
    """Numbers about samples.

    Attributes:
        values: NaN where something is not known; shape (samples, features).
        names: of the columns, for people.
        groups: of the columns, from ``GROUPS``.
    """

    values: Floats
    names: tuple[str, ...]
    groups: tuple[str, ...]

    def select(self, setting: Setting) -> Features:
        """Keep the groups of a setting."""
        kept = [i for i, group in enumerate(self.groups) if group in SETTINGS[setting]]
        return Features(
            self.values[:, kept], tuple(self.names[i] for i in kept), tuple(self.groups[i] for i in kept)
        )


def context_features(
    data: StepData, histories: Histories, setting: Setting = "offline", observed: float = 1.0
) -> Features:
    """Compute the features of all samples.

    Args:
        data: all samples.
        histories: what training recordings tell; out of fold for the training recordings themselves.
        setting: which groups.
        observed: share of the step's (last) execution that is seen. Below 1 its length is hidden, since a known share
            of it would tell it; what is told is how much longer than usual it already is.

    Raises:
        UserError: if a share is to be seen of a step whose whole recording is known.
    """
    if observed < 1 and setting == "offline":
        raise UserError(
            "the rest of a recording tells how long a step took, so no share of it can be hidden.",
            hint="take the causal setting",
        )
    keys = StepKeys.of(data)
    places: dict[str, list[int]] = {}
    for place, sample in enumerate(data.samples):
        places.setdefault(sample.recording_id, []).append(place)
    parts: list[dict[tuple[str, str], Floats]] = []
    for recording_id, here in places.items():
        looked_at = _Recording(data, here, keys, histories.of(recording_id), observed)
        parts.append(looked_at.columns(setting))
    names = list(parts[0])
    values = np.empty((len(data.samples), len(names)))
    for here, part in zip(places.values(), parts, strict=True):
        values[here] = np.stack([part[name] for name in names], axis=1)
    return Features(values, tuple(name for _, name in names), tuple(group for group, _ in names))


@dataclass(frozen=True)
class Relations:
    """A task graph as matrices over its nodes.

    Attributes:
        index: number of each node.
        direct: ``direct[a, b]``: a is an immediate predecessor of b; shape (nodes, nodes).
        above: likewise any predecessor.
        action: whether a person performs it: neither start nor end; shape (nodes,).
    """

    index: Mapping[str, int]
    direct: Bools
    above: Bools
    action: Bools

    @classmethod
    def of(cls, graph: TaskGraph) -> Relations:
        """Look at a graph."""
        n = len(graph.steps)
        direct, above = np.zeros((n, n), np.bool_), np.zeros((n, n), np.bool_)
        action = np.zeros(n, np.bool_)
        action[[graph.index[s.id] for s in graph.actions]] = True
        for before, after in graph.edges:
            direct[graph.index[before], graph.index[after]] = True
        for step in graph.steps:
            above[[graph.index[a] for a in graph.ancestors(step.id)], graph.index[step.id]] = True
        kept = action[:, None] & action[None, :]
        return cls(graph.index, direct & kept, above & kept, action)


_cached = lru_cache(maxsize=1024)(Relations.of)

_NOTHING: Final = Relations({}, np.zeros((1, 1), np.bool_), np.zeros((1, 1), np.bool_), np.zeros(1, np.bool_))
"""Of an activity without a graph: one node that no step is, so that matrices are not empty."""


def relations_of(data: StepData, activity_id: str) -> Relations:
    """Return what the task graph of an activity says; where there is none, no step needs another."""
    graph = data.graphs.get(activity_id)
    return _NOTHING if graph is None else _cached(graph)


def moment_of(sample: StepSample, observed: float = 1.0) -> float:
    """Return when a step is judged: at its last end, or when the share of its last execution is over, in seconds."""
    if observed < 1:
        last = max(sample.executions, key=lambda e: (e.start, e.end))
        return last.start + observed * last.seconds
    return max(e.end for e in sample.executions)


class _Recording:
    """The executions of one recording and its samples; ``m`` executions, ``k`` samples."""

    def __init__(
        self, data: StepData, places: Sequence[int], keys: StepKeys, history: History, observed: float
    ) -> None:
        samples = [data.samples[p] for p in places]
        rows = sorted(
            (e.start, e.end, int(keys.step[p]), owner)
            for owner, (p, s) in enumerate(zip(places, samples, strict=True))
            for e in s.executions
        )
        self.start, self.end = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
        self.step = np.array([r[2] for r in rows])
        self.owner = np.array([r[3] for r in rows])
        self.history = history
        self.texts = [s.text for s in samples]
        self.activity = int(keys.activity[places[0]])
        self.graph = relations_of(data, samples[0].activity_id)
        node = [self.graph.index.get(s.node, -1) for s in samples]
        self.node = np.array(node)[self.owner]
        self.own: Bools = self.owner[None, :] == np.arange(len(samples))[:, None]
        self.first = self.own.argmax(axis=1)
        self.last = self.own.shape[1] - 1 - self.own[:, ::-1].argmax(axis=1)
        self.sample_step = self.step[self.first]
        self._look(samples, observed)

    def _look(self, samples: Sequence[StepSample], observed: float) -> None:
        """Set the moment of each sample and what is seen then; shapes (k,) and (k, m)."""
        self.moment = np.array([moment_of(sample, observed) for sample in samples])
        self.begun = self.own | (self.start < self.moment[:, None])
        self.ended = self.begun & (self.end <= self.moment[:, None])
        self.z = (self._log_seconds() - self.history.usual[self.step]) / self.history.scatter[self.step]

    def _log_seconds(self) -> Floats:
        seconds: Floats = np.maximum(self.end - self.start, 0.1)
        return np.asarray(np.log(seconds), np.float64)

    def columns(self, setting: Setting) -> dict[tuple[str, str], Floats]:
        """Return all columns of the setting's groups; each of shape (k,)."""
        events = self._event_columns()
        found: dict[tuple[str, str], Floats] = {}

        def add(group: str, columns: Mapping[str, Floats]) -> None:
            found.update({(group, name): np.asarray(column, np.float64) for name, column in columns.items()})

        add("history", self._history())
        add("instruction", self._instruction())
        add("duration", self._duration())
        add("predecessors", self._predecessors(events))
        if setting != "local":
            add("order", self._order(events))
            add("position", self._position(events))
        if setting in ("causal", "offline"):
            add("past", self._past(events))
        if setting == "offline":
            add("whole", self._whole(events))
        return found

    # -- of each execution, as known when it begins; shape (m,) -------------------------------------------------------

    def _event_columns(self) -> dict[str, Floats]:
        sooner = self.start[None, :] < self.start[:, None]  # [e, f]: f began before e
        over = sooner & (self.end[None, :] <= self.start[:, None])
        begun, finished = self._nodes(sooner), self._nodes(over)
        known = self.node >= 0
        direct, above = self.graph.direct[:, self.node].T, self.graph.above[:, self.node].T
        below = self.graph.above[self.node]
        for relation in (direct, above, below):
            relation[~known] = False
        ranks = sooner.sum(axis=1)
        earlier = self.history.earlier[np.ix_(self.step, self.step)]
        last_end = np.where(over, self.end[None, :], -np.inf).max(axis=1)
        running = (sooner & ~over).sum(axis=1)
        # there is no gap while another goes on: when that will end is not known yet
        gap = np.where(np.isfinite(last_end) & (running == 0), self.start - last_end, 0.0)
        count = np.maximum(ranks, 1)
        return {
            "unmet direct": (direct & ~begun).sum(axis=1),
            "unmet": (above & ~begun).sum(axis=1),
            "direct": direct.sum(axis=1),
            "above": above.sum(axis=1),
            "below": below.sum(axis=1),
            "unfinished": (direct & begun & ~finished).sum(axis=1),
            "late": (below & begun).sum(axis=1),
            "mostly later": np.where(sooner, earlier, 0).sum(axis=1),
            "mostly later at most": np.where(sooner, earlier, 0).max(axis=1),
            "against habit": np.where(sooner, earlier, 0).sum(axis=1) / count,
            "done": self._nodes(sooner).sum(axis=1) / max(int(self.graph.action.sum()), 1),
            "rank": ranks,
            "gap": np.minimum(gap, _LONGEST_GAP),
            "running": running,
            "again": (sooner & (self.step[None, :] == self.step[:, None])).any(axis=1),
            "rate": self.history.rate[self.step],
        }

    def _nodes(self, seen: Bools) -> Bools:
        """Return which nodes of the graph are among the executions that each row sees; shape (rows, nodes)."""
        nodes = np.zeros((len(self.node), len(self.graph.action)), np.bool_)
        nodes[np.flatnonzero(self.node >= 0), self.node[self.node >= 0]] = True
        found: Bools = seen.astype(np.float64) @ nodes > 0
        return found

    # -- of each sample; shape (k,) -------------------------------------------------------------------------------------

    def _history(self) -> dict[str, Floats]:
        h, step = self.history, self.sample_step
        columns = {
            "mistakes in this step": h.rate[step],
            "training samples of this step": h.count[step],
            "mistakes in this recipe": np.full(len(step), h.recipe[self.activity]),
        }
        return columns | {f"{kind} mistakes in this step": h.kinds[step, i] for i, kind in enumerate(KINDS)}

    def _instruction(self) -> dict[str, Floats]:
        told = np.array([_instructed(text) for text in self.texts])
        length = np.where(self._over(), self._log_seconds()[self.last], np.nan)
        return {
            "length asked for": told[:, 0],
            "length against what is asked for": length - told[:, 0],
            "amounts in the instruction": told[:, 1],
            "heat in the instruction": told[:, 2],
        }

    def _over(self) -> Bools:
        """Return whether the last execution has ended when it is looked at."""
        over: Bools = self.ended[np.arange(len(self.last)), self.last]
        return over

    def _duration(self) -> dict[str, Floats]:
        over, log_seconds = self._over(), self._log_seconds()
        z = np.where(over, self.z[self.last], np.nan)
        total = np.log(np.where(self.own & self.ended, self.end - self.start, 0).sum(axis=1) + 0.1)
        seen = np.log(np.maximum(np.minimum(self.end[self.last], self.moment) - self.start[self.last], 0.1))
        usual, scatter = self.history.usual[self.sample_step], self.history.scatter[self.sample_step]
        widest = np.where(self.own & self.ended, np.abs(self.z), -np.inf).max(axis=1)
        return {
            "log length": np.where(over, log_seconds[self.last], np.nan),
            "log length of all executions": np.where(over, total, np.nan),
            "usual log length": usual,
            "scatter of lengths": scatter,
            "length against usual": z,
            "distance of length from usual": np.abs(z),
            "squared distance of length": z**2,
            "most unusual length of all executions": np.where(np.isfinite(widest), widest, np.nan),
            "already longer than usual": np.maximum((seen - usual) / scatter, 0),
            "executions": self.own.sum(axis=1),
        }

    def _predecessors(self, events: Mapping[str, Floats]) -> dict[str, Floats]:
        unmet, direct = (events[name][self.first] for name in ("unmet direct", "direct"))
        return {
            "immediate predecessors not begun": unmet,
            "share of immediate predecessors not begun": unmet / np.maximum(direct, 1),
        }

    def _order(self, events: Mapping[str, Floats]) -> dict[str, Floats]:
        of = {name: column[self.first] for name, column in events.items()}
        return {
            "earlier steps not begun": of["unmet"],
            "share of earlier steps not begun": of["unmet"] / np.maximum(of["above"], 1),
            "earlier steps not begun at the last execution": events["unmet"][self.last],
            "later steps already begun": of["late"],
            "share of later steps already begun": of["late"] / np.maximum(of["below"], 1),
            "immediate predecessors not finished": of["unfinished"],
            "steps before it in the graph": of["above"],
            "steps after it in the graph": of["below"],
            "mostly later steps already begun": of["mostly later"],
            "strongest habit broken": of["mostly later at most"],
            "habits broken": of["against habit"],
        }

    def _position(self, events: Mapping[str, Floats]) -> dict[str, Floats]:
        of = {name: column[self.first] for name, column in events.items()}
        start = self.start[self.first]
        during = ~self.own & (self.start >= start[:, None]) & self.begun
        return {
            "seconds since the start": start,
            "rank": of["rank"],
            "share of the graph begun": of["done"],
            "usual share begun": self.history.rank[self.sample_step],
            "place against usual": of["done"] - self.history.rank[self.sample_step],
            "gap before": of["gap"],
            "other steps running": of["running"],
            "steps begun meanwhile": during.sum(axis=1),
        }

    def _past(self, events: Mapping[str, Floats]) -> dict[str, Floats]:
        others = self.begun & ~self.own
        columns = self._summary("before", events, others, others & self.ended)
        began = self._nodes(self.begun)
        needed = (began.astype(np.float64) @ self.graph.above.T) > 0
        held = (needed & ~began).sum(axis=1)
        columns["steps passed over so far"] = held.astype(np.float64)
        columns["share of steps passed over so far"] = held / np.maximum(needed.sum(axis=1), 1)
        before = np.where(others & (self.start < self.start[self.first][:, None]), self.start, -np.inf)
        last, any_ = before.argmax(axis=1), np.isfinite(before.max(axis=1))
        columns |= {
            f"{label} of the step before": np.where(any_, events[name][last], np.nan)
            for name, label in (
                ("unmet", "earlier steps not begun"),
                ("late", "later steps begun"),
                ("rate", "mistakes"),
            )
        }
        ended = self.ended[np.arange(len(last)), last] & any_
        columns["length against usual of the step before"] = np.where(ended, self.z[last], np.nan)
        return columns

    def _whole(self, events: Mapping[str, Floats]) -> dict[str, Floats]:
        others, later = ~self.own, ~self.own & ~self.begun
        everything = np.ones_like(self.own)
        columns = self._summary("all other steps", events, others, others)
        columns |= self._summary("after", events, later, later)
        seen = self._nodes(everything)[0]
        missing = self.graph.action & ~seen
        above = self.graph.above[:, self.node[self.first]].T & (self.node[self.first] >= 0)[:, None]
        k = len(self.first)
        columns["steps of the graph never begun"] = np.full(k, float(missing.sum()))
        columns["share of the graph never begun"] = np.full(
            k, missing.sum() / max(self.graph.action.sum(), 1)
        )
        columns["earlier steps never begun"] = (above & missing).sum(axis=1)
        columns["earlier steps begun too late"] = (
            events["unmet"][self.first] - columns["earlier steps never begun"]
        )
        columns["executions in the recording"] = np.full(k, float(len(self.start)))
        columns["length of the recording against usual"] = np.full(
            k, np.log((self.end - self.start).sum() / np.exp(self.history.usual[self.step]).sum())
        )
        columns["share of the recording gone"] = self.start[self.first] / self.end.max()
        for name, values in (
            ("unusual length", np.abs(self.z)),
            ("earlier steps not begun", events["unmet"]),
            ("mistakes", events["rate"]),
        ):
            mine = np.where(self.own, values, -np.inf).max(axis=1)
            columns[f"rank of {name} in the recording"] = (values[None, :] < mine[:, None]).mean(axis=1)
        return columns

    def _summary(
        self, label: str, events: Mapping[str, Floats], begun: Bools, ended: Bools
    ) -> dict[str, Floats]:
        """Summarise the executions that each sample sees.

        Args:
            label: which these are, for the names.
            events: columns known at the beginning of each execution.
            begun: which executions each sample sees; shape (k, m).
            ended: of these, whose length it knows.
        """
        n = begun.sum(axis=1)
        columns: dict[str, Floats] = {f"executions, {label}": n.astype(np.float64)}
        for name, text in _SUMMARISED.items():
            values = np.where(begun, np.asarray(events[name], np.float64), 0.0)
            columns[f"mean {text}, {label}"] = np.where(n > 0, values.sum(axis=1) / np.maximum(n, 1), np.nan)
            columns[f"largest {text}, {label}"] = values.max(axis=1)
        for name in ("unmet", "late"):
            columns[f"executions with {_SUMMARISED[name]}, {label}"] = (begun & (events[name] > 0)).sum(
                axis=1
            )
        known = ended.sum(axis=1)
        z = np.where(ended, np.clip(self.z, -10, 10), 0.0)
        mean = np.where(known > 0, z.sum(axis=1) / np.maximum(known, 1), np.nan)
        distance = np.where(known > 0, np.abs(z).sum(axis=1) / np.maximum(known, 1), np.nan)
        mine = np.where(self._over(), self.z[self.last], np.nan)
        columns |= {
            f"mean length against usual, {label}": mean,
            f"mean distance of length from usual, {label}": distance,
            f"largest distance of length from usual, {label}": np.abs(z).max(axis=1),
            f"longest against usual, {label}": z.max(axis=1),
            f"shortest against usual, {label}": z.min(axis=1),
            f"length against those {label}": mine - mean,
            f"distance of length against those {label}": np.abs(mine) - distance,
        }
        return columns


_SUMMARISED: Final[Mapping[str, str]] = {
    "unmet direct": "immediate predecessors not begun",
    "unmet": "earlier steps not begun",
    "late": "later steps begun",
    "unfinished": "predecessors not finished",
    "against habit": "habits broken",
    "gap": "gap",
    "again": "repetition",
    "rate": "mistakes in the step",
}


@lru_cache(maxsize=10_000)
def _instructed(text: str) -> tuple[float, float, float]:
    """Return the log of the seconds that an instruction asks for (NaN: none), and whether it names amounts, and heat."""
    quantities = find_quantities(text)
    times = [float(q.low) for q in quantities if q.dimension == "time" and q.low > 0]
    amounts = any(q.dimension in ("amount", "count") for q in quantities)
    heat = any(q.dimension == "temperature" for q in quantities)
    return (float(np.log(times[0])) if times else np.nan), float(amounts), float(heat)
