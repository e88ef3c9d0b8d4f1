"""Which tasks somebody gets: even over strata, those first that the fewest have done, one form of each thing.

Pure; ``verify.desk.rounds`` asks it inside the transaction that reserves what it says. docs/rounds.md.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["Free", "draw_tasks", "mix_in"]


class Free(NamedTuple):
    """A task that somebody may get.

    Attributes:
        id: of the task.
        stratum: batches are even over these.
        group: of a batch, no two tasks are of one group; a task without one stands for itself.
        variant: which form of the group it is.
        taken: people who have it or have done it.
        left: people who may still get it.
    """

    id: int
    stratum: str = ""
    group: str = ""
    variant: str = ""
    taken: int = 0
    left: int = 1


def draw_tasks(free: Iterable[Free], size: int, *, key: str, turn: int = 0) -> list[int]:
    """Return ids of at most ``size`` tasks, shuffled.

    Strata take turns, the one with the fewest in the batch first and of those the one with the most left, so every batch has
    of each stratum as many as of another, give or take one, as long as there are any. Of a group's variants the one is taken
    that a Latin square gives to this ``turn`` (who comes how many times), or the next one that is free.

    Args:
        free: tasks that this person may get.
        size: 0 for all.
        key: of the person and the batch; the same key and tasks give the same batch.
        turn: row of the Latin square: number of the person plus number of their batch.
    """
    pools: dict[str, list[Free]] = defaultdict(list)
    for task in _one_of_each(free, turn):
        pools[task.stratum].append(task)
    for pool in pools.values():
        pool.sort(key=lambda t: (-t.taken, _lot(key, str(t.id))))  # taken from the end
    left = {name: sum(t.left for t in pool) for name, pool in pools.items()}
    had: Counter[str] = Counter()
    chosen: list[int] = []
    while pools and (not size or len(chosen) < size):
        name = min(pools, key=lambda n: (had[n], -left[n], _lot(key, n)))
        chosen.append(pools[name].pop().id)
        had[name] += 1
        if not pools[name]:
            del pools[name]
    return sorted(chosen, key=lambda number: _lot(key, f"place {number}"))


def _one_of_each(free: Iterable[Free], turn: int) -> list[Free]:
    groups: dict[str, list[Free]] = defaultdict(list)
    for task in sorted(free, key=lambda t: (t.group, t.variant, t.id)):
        groups[task.group or f"\0{task.id}"].append(task)
    found = []
    for forms in groups.values():
        if len(forms) == 1:  # nearly all, and lots take time
            found += forms
            continue
        variants = sorted({task.variant for task in forms})
        row = int(
            _lot("", forms[0].group)[:8], 16
        )  # of the square; the same whoever asks and whatever is free
        found.append(min(forms, key=lambda t: (variants.index(t.variant) - row - turn) % len(variants)))
    return found


def mix_in(real: Sequence[int], others: Sequence[int], *, key: str) -> list[int]:
    """Return real tasks with tests and checks among them, at drawn places that are neither the first nor the last."""
    mixed = list(real)
    for number in others:
        places = max(len(mixed) - 1, 1)
        mixed.insert(
            1 + int(_lot(key, f"test {number}")[:8], 16) % places if len(mixed) > 1 else len(mixed), number
        )
    return mixed


def _lot(key: str, what: str) -> str:
    return hashlib.sha256(f"{key}\0{what}".encode()).hexdigest()
