"""In which order options are shown, and how a letter as shown is one as printed.

Orders are positions in the printed options: ``(2, 0, 1)`` shows the third option as A. The printed order is balanced over the
whole set; a shuffle by the seed is drawn for each question by itself; circular evaluation shows every rotation and takes a
question as answered when all of them are (MMBench, Liu et al. 2023), so that a liking for a letter earns nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from proctor.exam.predict import item_rng
from proctor.metrics.choice.letters import LETTERS

__all__ = [
    "Order",
    "parse_order",
    "printed_letter",
    "rotations",
    "shown_letter",
    "shown_order",
    "spell_order",
]

Order = tuple[int, ...]


def shown_order(id_: str, options: int, seed: int | None = None) -> Order:
    """Return the order of a question's options: as printed without a seed, else shuffled by seed and question id."""
    order = list(range(options))
    if seed is not None:
        item_rng(seed, f"options/{id_}").shuffle(order)
    return tuple(order)


def rotations(order: Order) -> tuple[Order, ...]:
    """Return the order moved on by 0, 1, 2, … places: every option stands once at every letter."""
    return tuple(order[k:] + order[:k] for k in range(len(order)))


def shown_letter(printed: str, order: Order) -> str:
    """Return under which letter the option with a printed letter is shown."""
    return LETTERS[order.index(LETTERS.index(printed))]


def printed_letter(shown: str, order: Order) -> str:
    """Return the printed letter of the option that is shown under a letter."""
    return LETTERS[order[LETTERS.index(shown)]]


def spell_order(order: Sequence[int]) -> str:
    """Return an order as a record keeps it: the printed letters in the order shown, ``CAB``."""
    return "".join(LETTERS[i] for i in order)


def parse_order(text: str, options: int) -> Order | None:
    """Read what ``spell_order`` wrote; None when it is no order of so many options."""
    order = tuple(LETTERS.find(letter) for letter in text)
    return order if sorted(order) == list(range(options)) else None
