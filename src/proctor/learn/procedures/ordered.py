"""Key steps in an order that the task graph allows: each recording is cut into its steps, exactly, by dynamic programming.

A state is a downset of the graph (what has begun) and its latest step, or the pause after it. From each, time goes on in
the same state, pauses, or begins a step whose predecessors have begun; every frame costs what its place is away from the
step's centre. Centres and cuts are found in turns, from the mean place of each step over orders of the graph, or from the
texts of steps where these are embedded as frames are. The order of each recording is its own.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph, TooManyDownsetsError

__all__ = ["Orders", "align_recordings"]

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

MOST_STATES: Final = 20_000
ROUNDS: Final = 10
ORDERS: Final = 50
PAUSE: Final = 0
"""Label of what is no step; step ``i`` of ``Orders.steps`` has the label ``i + 1``."""


@dataclass(frozen=True)
class Orders:
    """All orders of a task graph, as states that follow each other.

    Raises:
        UserError: when states are asked for, if the graph is too wide.
    """

    graph: TaskGraph

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """Ids of the steps that are performed, in the order of the file."""
        return tuple(step.id for step in self.graph.actions)

    @cached_property
    def states(self) -> tuple[Labels, Labels, Labels, int]:
        """Return of each state its downset, its label and the downset before its step began, and how many downsets there are.

        Downsets are numbered as they are reached, the empty one first; states are sorted by downset, the pause first in each.
        The empty downset has a pause alone. Of a pause the downset before is its own.
        """
        places = {step: i for i, step in enumerate(self.steps)}
        numbers: dict[int, int] = {0: 0}
        latest: dict[int, list[tuple[int, int]]] = {0: []}
        waiting = [0]
        count = 1
        for downset in waiting:
            done = [step for i, step in enumerate(self.steps) if downset >> i & 1]
            for step in self.graph.ready(done):
                if step not in places:
                    continue
                after = downset | 1 << places[step]
                if after not in numbers:
                    numbers[after] = len(numbers)
                    latest[after] = []
                    waiting.append(after)
                    count += 1
                latest[after].append((places[step] + 1, numbers[downset]))
                count += 1
                if count > MOST_STATES:
                    raise UserError(
                        f"the graph allows too many orders: more than {MOST_STATES:,} states.",
                        where=f"task graph '{self.graph.name}'",
                        hint="use --head procut, which knows no order",
                    )
        rows = [
            (number, label, before)
            for downset, number in numbers.items()
            for label, before in [(PAUSE, number), *sorted(latest[downset])]
        ]
        downsets, labels, befores = (np.array(column, np.int64) for column in zip(*rows, strict=True))
        return downsets, labels, befores, len(numbers)

    def mean_places(self, seed: int) -> Floats:
        """Return the mean place of each step over orders of the graph, from 0 to 1; shape (steps,)."""
        rng = random.Random(seed)  # noqa: S311 - of orders, not secrets
        try:
            orders = [self.graph.sample_order(rng) for _ in range(ORDERS)]
        except TooManyDownsetsError:
            orders = [self.graph.topological_order]
        kept = [[step for step in order if step in self.steps] for order in orders]
        return np.array(
            [np.mean([(order.index(s) + 0.5) / len(order) for order in kept]) for s in self.steps]
        )

    def align(self, costs: Floats) -> Labels:
        """Return the cheapest labels of the frames of a recording: all steps are performed, in an order of the graph.

        Args:
            costs: of each frame the cost of a pause and of each step, finite, shape (T, 1 + steps).

        Raises:
            UserError: if the graph is too wide, or there are fewer frames than steps.
        """
        downsets, labels, befores, count = self.states
        frames = len(costs)
        if frames < len(self.steps):
            raise UserError(
                f"{frames} rows are too few for the {len(self.steps)} steps of the task graph.",
                where=f"task graph '{self.graph.name}'",
                hint="extract more rows a second, or use --head procut",
            )
        begins = np.searchsorted(downsets, np.arange(count))
        reached = np.full(len(labels), np.inf)
        first = (labels != PAUSE) & (befores == 0)
        reached[first] = costs[0, labels[first]]
        reached[0] = costs[0, PAUSE]
        stayed = np.empty((frames, len(labels)), np.bool_)
        arrived = np.empty((frames, count), np.int32)
        for frame in range(1, frames):
            lowest = np.minimum.reduceat(reached, begins)
            at_lowest = np.flatnonzero(reached == lowest[downsets])[::-1]
            arrived[frame, downsets[at_lowest]] = at_lowest
            other = lowest[befores]
            stayed[frame] = reached <= other
            reached = np.where(stayed[frame], reached, other) + costs[frame, labels]
        state = begins[-1] + int(reached[begins[-1] :].argmin())
        found = np.empty(frames, np.int64)
        for frame in range(frames - 1, -1, -1):
            found[frame] = labels[state]
            if frame and not stayed[frame, state]:
                state = int(arrived[frame, befores[state]])
        return found


def align_recordings(
    embedded: Mapping[str, NDArray[np.float32]],
    graph: TaskGraph,
    *,
    first_costs: Mapping[str, Floats] | None = None,
    seed: int = 0,
) -> tuple[dict[str, Labels], tuple[str, ...]]:
    """Cut each recording into the steps of the graph.

    Args:
        embedded: rows of each recording, shape (T, width).
        graph: of the activity.
        first_costs: of each row of each recording the cost of each step by other knowledge (texts), shape (T, steps); without
            these the first cut is by time.
        seed: of the orders that mean places are of.

    Returns:
        A label of each row, 0 for none and ``i + 1`` for step ``i``; and the ids of the steps.

    Raises:
        UserError: if the graph is too wide, or a recording too short.
    """
    orders = Orders(graph)
    ids = sorted(embedded)
    rows = {id_: embedded[id_].astype(np.float64) for id_ in ids}
    labels: dict[str, Labels] = {}
    places = orders.mean_places(seed)
    for id_ in ids:
        if first_costs is None:
            times = (np.arange(len(rows[id_])) + 0.5) / len(rows[id_])
            costs = np.abs(times[:, None] - places)
        else:
            costs = first_costs[id_]
        # No row is a pause at first: what is far from all centres becomes one.
        labels[id_] = orders.align(np.concatenate([np.full((len(costs), 1), 1e6), costs], axis=1))
    for _ in range(ROUNDS):
        every, known = np.concatenate([rows[i] for i in ids]), np.concatenate([labels[i] for i in ids])
        whole = every.mean(0)
        centres = np.stack(
            [
                whole,
                *(
                    every[known == k].mean(0) if (known == k).any() else whole
                    for k in range(1, len(orders.steps) + 1)
                ),
            ]
        )
        before = labels
        labels = {id_: orders.align(((rows[id_][:, None] - centres) ** 2).sum(-1)) for id_ in ids}
        if all(np.array_equal(labels[i], before[i]) for i in ids):
            break
    return labels, orders.steps
