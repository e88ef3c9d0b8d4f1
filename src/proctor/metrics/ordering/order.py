"""Orders and rank vectors: what an order is, when two are over the same steps, and how not to mix up the two forms.

An *order* lists steps as they are done: ``order[t]`` is the step done at time t. A *rank vector* is its inverse:
``ranks[i]`` is the time at which step i is done. They are equal only for permutations that are their own inverse,
so that most small examples do not show a mix-up; a rotation of three does.

Source: Wu et al. 2022.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from proctor.metrics.errors import MetricInputError

__all__ = [
    "order_to_ranks",
    "ranks_to_order",
    "require_order",
    "require_reordering",
    "shuffle_targets",
]

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
