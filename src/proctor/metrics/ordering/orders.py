"""Orders and rank vectors: what an order is, when two are over the same steps, and how not to mix up the two forms.

An *order* lists steps as they are done: ``order[t]`` is the step done at time t. A *rank vector* is its inverse:
``ranks[i]`` is the time at which step i is done. They are equal only for permutations that are their own inverse,
so that most small examples do not show a mix-up; a rotation of three does.

Source: Wu et al. 2022.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.errors import MetricInputError

__all__ = [
    "RepairedOrder",
    "count_inversions",
    "order_to_ranks",
    "ranks_to_order",
    "repair_order",
    "require_order",
    "require_reordering",
    "settle_alike",
    "shuffle_targets",
]


Floats = NDArray[np.float64]


_NAMED = 5
"""Ids that a message names before it says how many more there are."""


def require_order(order: Sequence[Hashable], *, what: str = "order", where: str = "") -> None:
    """Make sure that an order has steps and none twice.

    Raises:
        MetricInputError: naming the repeated steps.
    """
    place = f"{where}: " if where else ""
    if isinstance(order, str | bytes):
        raise MetricInputError(f"{place}the {what} is a text, {order!r}", "pass a list of step ids")
    if not len(order):
        raise MetricInputError(f"{place}the {what} has no steps", "an order needs at least one step")
    try:
        distinct = len(set(order))
    except TypeError:
        raise MetricInputError(
            f"{place}the {what} holds something that cannot be an id (a list?)", "pass texts or numbers"
        ) from None
    for step in order:
        if step != step:  # only a missing number differs from itself
            raise MetricInputError(f"{place}the {what} holds NaN", "pass ids that are equal to themselves")
    if distinct != len(order):
        twice = [step for step, n in Counter(order).items() if n > 1]
        raise MetricInputError(f"{place}the {what} repeats {named(twice)}", "every step occurs once")


def require_reordering(
    reference: Sequence[Hashable],
    prediction: Sequence[Hashable],
    *,
    what: str = "prediction",
    where: str = "",
) -> None:
    """Make sure that a prediction holds the reference's steps, each once.

    Args:
        reference: the steps in their right order.
        prediction: the steps in predicted order.
        what: what the message calls the second order.
        where: which item this is, for the message.

    Raises:
        MetricInputError: naming the item and the steps that are missing, unknown or repeated.
    """
    place = f"{where}: " if where else ""
    require_order(reference, what="reference", where=where)
    if isinstance(prediction, str | bytes):
        raise MetricInputError(f"{place}the {what} is a text, {prediction!r}", "pass a list of step ids")
    try:
        counts = Counter(prediction)
    except TypeError:
        raise MetricInputError(
            f"{place}the {what} holds something that cannot be an id (a list?)", "pass texts or numbers"
        ) from None
    known = set(reference)
    problems = {
        "lacks": [step for step in reference if step not in counts],
        "has the unknown": [step for step in counts if step not in known],
        "repeats": [step for step, n in counts.items() if n > 1 and step in known],
    }
    found = [f"{word} {named(steps)}" for word, steps in problems.items() if steps]
    if found:
        repair = ", or repair predictions (repair_order, --mode repair)" if what == "prediction" else ""
        raise MetricInputError(
            f"{place}the {what} {' and '.join(found)}", f"give every step of the reference once{repair}"
        )


def can_be_id(value: object) -> bool:
    """True if a value can be looked up; a tuple that holds a list cannot, though its type says so."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def named(steps: Sequence[object]) -> str:
    """Return a few ids for a message, and how many more there are."""
    shown = ", ".join(repr(step) for step in steps[:_NAMED])
    return shown if len(steps) <= _NAMED else f"{shown} and {len(steps) - _NAMED} more"


def order_to_ranks(order: Sequence[int]) -> list[int]:
    """Return the rank vector of an order of the steps 0..N-1: at which time each step is done.

    Raises:
        MetricInputError: if the order is not a permutation of 0..N-1.
    """
    return _inverse(order, "order")


def ranks_to_order(ranks: Sequence[int]) -> list[int]:
    """Return the order of a rank vector: which step is done at each time.

    Raises:
        MetricInputError: if the ranks are not a permutation of 0..N-1.
    """
    return _inverse(ranks, "rank vector")


def _inverse(permutation: Sequence[int], what: str) -> list[int]:
    if sorted(permutation) != list(range(len(permutation))) or not len(permutation):
        raise MetricInputError(
            f"the {what} {list(permutation)[:20]} is not a permutation of 0..{max(len(permutation) - 1, 0)}",
            "number the steps and the times from 0, each once",
        )
    inverse = [0] * len(permutation)
    for place, value in enumerate(permutation):
        inverse[value] = place
    return inverse


def shuffle_targets(slot_to_step: Sequence[Hashable], reference: Sequence[Hashable]) -> list[int]:
    """Return, for each time, the slot that holds the step done then: what a model that sees slots must output.

    Args:
        slot_to_step: which step was presented in each slot.
        reference: the steps in their right order.

    Raises:
        MetricInputError: if the two do not hold the same steps.
    """
    require_reordering(reference, slot_to_step)
    slots = {step: slot for slot, step in enumerate(slot_to_step)}
    return [slots[step] for step in reference]


# Orders made whole: what a language model left out, made up or said twice.
#
# Source: ours; the code of Wu et al. 2022 cuts both lists to the shorter one.


@dataclass(frozen=True, slots=True)
class RepairedOrder:
    """An order that holds every step once, and what had to be done for that.

    Attributes:
        order: every known step once.
        unknown: entries dropped because no such step was presented (one for each time it was named).
        repeated: entries dropped because the step had been named before.
        missing: steps appended, in presented order.
    """

    order: tuple[Hashable, ...]
    unknown: tuple[object, ...] = ()
    repeated: tuple[Hashable, ...] = ()
    missing: tuple[Hashable, ...] = ()

    @property
    def repaired(self) -> bool:
        """True if anything was dropped or appended."""
        return bool(self.unknown or self.repeated or self.missing)


def repair_order(
    prediction: Sequence[object],
    steps: Sequence[Hashable],
    *,
    presented: Sequence[Hashable] | None = None,
    where: str = "",
) -> RepairedOrder:
    """Make a prediction a full order: drop unknown and repeated ids, append missing ones in presented order.

    Missing steps follow the order in which they were *presented*, never that of the reference: that would hand out
    the right answer. The released evaluator cuts both lists to the shorter length instead (not copied).

    Args:
        prediction: ids as predicted; may be empty.
        steps: the steps of this item, in any order.
        presented: the same steps as the model saw them; needed only if one is missing.
        where: which item this is, for messages.

    Raises:
        MetricInputError: if a step is missing and ``presented`` is not given, or it does not hold the same steps.
    """
    place = f"{where}: " if where else ""
    require_order(steps, what="list of steps", where=where)
    known = set(steps)
    if presented is not None:
        require_order(presented, what="presented order", where=where)
        if set(presented) != known:
            differing = sorted(map(repr, known ^ set(presented)))
            raise MetricInputError(
                f"{place}the presented order and the reference differ in {', '.join(differing[:5])}",
                "both must hold the same steps",
            )
    kept: dict[Hashable, None] = {}
    unknown: list[object] = []
    repeated: list[Hashable] = []
    for step in prediction:
        if not can_be_id(step) or step not in known:
            unknown.append(step)
        elif step in kept:
            repeated.append(step)
        else:
            kept[step] = None
    missing = [step for step in presented or steps if step not in kept]
    if missing and presented is None:
        raise MetricInputError(
            f"{place}the prediction lacks {named(missing)} and it is not known in which order the steps were presented",
            "give 'presented': missing steps are appended in that order",
        )
    return RepairedOrder((*kept, *missing), tuple(unknown), tuple(repeated), tuple(missing))


def settle_alike(
    prediction: Sequence[Hashable], reference: Sequence[Hashable], alike: Mapping[Hashable, Hashable]
) -> tuple[Hashable, ...]:
    """Return a prediction whose steps that look the same stand in the order of the reference, since nobody can tell them apart.

    Args:
        prediction: steps, each once.
        reference: the same steps.
        alike: from each step to one that stands for all that look like it.

    Example:
        >>> settle_alike("cba", "abc", {"a": "a", "b": "b", "c": "a"})
        ('a', 'b', 'c')
    """
    left: dict[Hashable, list[Hashable]] = {}
    for step in reversed(reference):
        left.setdefault(alike[step], []).append(step)
    return tuple(left[alike[step]].pop() for step in prediction)


# Pairs in the wrong order: what Kendall's tau counts.


def count_inversions(places: Iterable[int]) -> int:
    """Count pairs of which the larger comes first; equal ones are in order.

    By insertion into a sorted list: faster than arrays for up to some hundred places.
    """
    seen: list[int] = []
    inversions = 0
    for place in places:
        at = bisect_right(seen, place)
        inversions += len(seen) - at
        seen.insert(at, place)
    return inversions
