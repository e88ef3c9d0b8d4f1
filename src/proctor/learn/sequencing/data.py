"""Sequences to learn from: divided by task, shuffled, and what a model says of their order.

Nothing of one task is in two parts, since several manuals of a task tell how it is done. What a model is shown is shuffled: dev
and test once and for ever, by the id of the sequence, so that all models see the same. Source: Wu et al. 2022, Section 3.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from collections.abc import Sequence as List
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from proctor.datasets.splits import category_keys, split_records
from proctor.errors import UserError
from proctor.procedure.manual import Modality, Order, Sequence, fixed_shuffle

__all__ = [
    "MODALITY", "OrderModel", "Ordered", "Parts", "Presented", "Shown", "divide_by_task", "presented", "undivided_keys",
]  # fmt: skip

Shown = Literal["text", "image", "both"]
"""What is shown of a step, as commands spell it."""

MODALITY: Final[Mapping[Shown, Modality]] = {"text": "text", "image": "image", "both": "multimodal"}

_SHARES: Final = {"train": 0.7, "dev": 0.1, "test": 0.2}
_LEVEL: Final = 3


@dataclass(frozen=True)
class Presented:
    """A sequence without what the modality hides, and which step each slot shows: a permutation of 0..N-1."""

    sequence: Sequence
    slots: Order

    @property
    def targets(self) -> Order:
        """Slots in the authored order: what a model should say."""
        return tuple(int(slot) for slot in np.argsort(self.slots, kind="stable"))


@dataclass(frozen=True)
class Ordered:
    """What a model says of one sequence: slots in the order in which they are done.

    ``precedence`` is the probability that slot i is done before slot j, [N, N], the diagonal ½; None where the model has none.
    """

    order: Order
    precedence: NDArray[np.float64] | None = None


class OrderModel(Protocol):
    """Puts steps in order."""

    def predict(self, shown: List[Presented]) -> list[Ordered]:
        """Return an order for each; what it says of one does not depend on the others."""
        ...

    def save(self, folder: Path) -> None:
        """Write all that is needed to load it again."""
        ...


@dataclass(frozen=True)
class Parts:
    """Sequences by part, each in the order of the file."""

    train: tuple[Sequence, ...]
    dev: tuple[Sequence, ...]
    test: tuple[Sequence, ...]


def divide_by_task(sequences: List[Sequence], seed: int = 0) -> Parts:
    """Divide sequences of different ids: about 70 % train, 10 % dev, 20 % test, and no task or third-level category in two parts.

    Raises:
        UserError: if there are too few tasks to divide.
    """
    keys = {s.id: undivided_keys(s) for s in sequences}
    made = split_records(keys, _SHARES, rng=random.Random(seed)).split  # noqa: S311 - not a secret
    if empty := [name for name in _SHARES if not made.get(name)]:
        tasks = len({s.task or s.id for s in sequences})
        raise UserError(
            f"the {empty[0]} part is empty: {len(sequences)} sequences of {tasks} tasks cannot be divided by task.",
            hint="give sequences of three tasks or more; 'task' says to which each belongs",
        )
    by_id = {s.id: s for s in sequences}
    return Parts(**{name: tuple(by_id[id_] for id_ in made[name]) for name in _SHARES})


def undivided_keys(sequence: Sequence) -> set[str]:
    """Return what a split must not divide: the task, and third-level categories where there are any (top ones are too few)."""
    deep = [path for path in sequence.category_paths if len(path) > _LEVEL]
    named = {f"category {name}" for name in category_keys(deep, _LEVEL)} if deep else set()
    return named | ({f"task {sequence.task}"} if sequence.task else set())


def presented(sequences: List[Sequence], shown: Shown, seed: int = 0) -> list[Presented]:
    """Return sequences with what is hidden left out, each shuffled once and for ever by its id and the seed."""
    return [Presented(s.view(MODALITY[shown]), fixed_shuffle(s.id, len(s.steps), seed)) for s in sequences]
