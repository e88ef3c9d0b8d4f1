"""Made-up manuals whose order texts tell in part, pictures in part, and both together wholly; and what is the best to be had.

Stages are those of ``datasets.synthetic_manuals``. With ``order_in="text"`` all pictures of a manual are alike, and texts tell
everything; with ``image`` it is the other way round. What each view can reach at best is counted over all orders.
"""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import permutations
from pathlib import Path
from typing import Final, Literal

from proctor.datasets.synthetic_manuals import IMAGE_BUCKETS, TASKS, TEXT_BUCKETS, make_step
from proctor.learn.sequencing.data import Parts, Shown
from proctor.metrics.ordering import measure_orders
from proctor.procedure.manual import Sequence, SequenceStep

__all__ = ["OrderIn", "ceiling", "plant_manuals"]

OrderIn = Literal["both", "text", "image"]
"""What tells the order: both together, or one of the two alone."""

_STAGES: Final = {"both": (0, 1, 2, 3, 4), "text": (0, 2, 3), "image": (0, 1, 4)}
"""Of manuals with one telling modality: those whose buckets differ in it, one of each."""
_SILENT: Final = 2
"""The stage that lends what tells nothing: its text, or its picture, to all steps."""


def plant_manuals(
    root: Path, counts: tuple[int, int, int], *, order_in: OrderIn = "both", seed: int = 0
) -> Parts:
    """Make manuals to train, choose and test on, and write their pictures.

    Args:
        root: folder for the pictures.
        counts: manuals of train, dev and test.
        order_in: what tells their order.
        seed: the same gives the same.
    """
    rng = random.Random(f"{seed} {order_in}")
    made = [_manual(root, number, order_in, rng) for number in range(sum(counts))]
    train, dev, _ = counts
    return Parts(tuple(made[:train]), tuple(made[train : train + dev]), tuple(made[train + dev :]))


def _manual(root: Path, number: int, order_in: OrderIn, rng: random.Random) -> Sequence:
    task = TASKS[number % len(TASKS)]
    folder = root / order_in
    folder.mkdir(parents=True, exist_ok=True)
    steps = []
    for place, stage in enumerate(_STAGES[order_in]):
        text = make_step(task, _SILENT if order_in == "image" else stage, rng).text
        picture = make_step(task, _SILENT if order_in == "text" else stage, rng).png
        name = f"{order_in}/{number}-{rng.getrandbits(48):012x}.png"  # a name that does not tell the stage
        (root / name).write_bytes(picture)
        steps.append(SequenceStep(str(place), text, (name,)))
    return Sequence(f"{task}-{number}", f"Some {task}", tuple(steps), task=f"{task}-{number}")


def ceiling(shown: Shown, order_in: OrderIn = "both") -> dict[str, float]:
    """Return the means of all measures that nobody exceeds who cannot tell equal stages apart, and who orders the rest rightly.

    Example:
        >>> ceiling("image")["perfect_match_ratio"]
        0.16666666666666666
    """
    stages = _STAGES[order_in]
    alike = defaultdict(list)
    for place, stage in enumerate(stages):
        text = TEXT_BUCKETS[stage] if shown != "image" and order_in != "image" else 0
        image = IMAGE_BUCKETS[stage] if shown != "text" and order_in != "text" else 0
        alike[text, image].append(place)
    orders: list[tuple[int, ...]] = [()]
    for bucket in sorted(alike):
        orders = [(*order, *rest) for order in orders for rest in permutations(alike[bucket])]
    return measure_orders([tuple(range(len(stages)))] * len(orders), orders).means()
