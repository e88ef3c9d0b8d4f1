"""Orders made whole: what a language model left out, made up or said twice.

Source: ours; the code of Wu et al. 2022 cuts both lists to the shorter one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering.order import can_be_id, named, require_order

__all__ = ["RepairedOrder", "repair_order"]


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
