"""A written procedure: an article of sections with steps, and the sequences of steps that can be put in order.

A ``Manual`` is what a data set holds. A ``Sequence`` is one section of it as it is asked about: some of the steps, with
what is shown of each, and the orders that count as right. An order lists steps as they are done (``order[t]`` is the
step done at time t); rank vectors are converted where they are read.

Source: Wu et al. 2022.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

__all__ = [
    "MODALITIES",
    "Manual",
    "ManualError",
    "ManualSection",
    "ManualStep",
    "Modality",
    "Order",
    "Sequence",
    "SequenceStep",
    "fixed_shuffle",
    "sequence_id",
]

Modality = Literal["multimodal", "text", "image"]
"""What is shown of a step: text and images, the text alone, the images alone."""

MODALITIES: Final[tuple[Modality, ...]] = ("multimodal", "text", "image")

Order = tuple[int, ...]
"""Steps 0..N-1 of a sequence as they are done."""


class ManualError(ValueError):
    """The values do not make a sequence; the message says why."""


@dataclass(frozen=True, slots=True)
class ManualStep:
    """One step as its authors wrote it.

    Attributes:
        id: its index in the section as released, so that it stays when other steps are left out.
        text: the body; may be empty.
        headline: in short, where there is one.
        bullets: points below the body.
        images: paths relative to the data set's root, in order.
    """

    id: str
    text: str = ""
    headline: str = ""
    bullets: tuple[str, ...] = ()
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ManualSection:
    """One method or part of a manual.

    Attributes:
        index: its place in the manual as released.
        steps: in authored order; may be none.
        references: further orders that annotators accept, by modality, over the steps that they were shown.
    """

    index: int
    steps: tuple[ManualStep, ...]
    references: Mapping[Modality, tuple[Order, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manual:
    """A written procedure with pictures.

    Attributes:
        id: unique in its data set.
        source: name of the data set.
        title: the goal.
        sections: each can be put in order alone.
        summary: what it is about.
        url: where it is from.
        category_paths: names from the root to the leaf; a manual may be in several categories.
        attributes: whatever else is known (split), plain text values.
    """

    id: str
    source: str
    title: str
    sections: tuple[ManualSection, ...]
    summary: str = ""
    url: str = ""
    category_paths: tuple[tuple[str, ...], ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)


def sequence_id(manual_id: str, section: int) -> str:
    """Return the id of the sequence of a section: ``manual_id###section``."""
    return f"{manual_id}###{section}"


@dataclass(frozen=True, slots=True)
class SequenceStep:
    """A step as it is shown.

    Attributes:
        id: of the step in its section.
        text: of the chosen fields, cut to length; empty where it is hidden or there is none.
        images: the chosen ones, in order; none where they are hidden or there is none.
    """

    id: str
    text: str = ""
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sequence:
    """Steps to put in order: some of those of one section, in authored order.

    Attributes:
        id: ``manual_id###section``.
        goal: title of the manual.
        steps: in authored order.
        category_paths: of the manual.
        references: orders that count as right, by modality, each a permutation of 0..N-1; the first is the authored
            one. A modality that is absent has only that.
        before: pairs of steps (before, after) of a task graph: every order that keeps them is right, whatever the modality. None
            where there is no graph.
        task: what a split must not divide; several sequences of one task tell how it is done. Empty for one of its own.

    Raises:
        ManualError: if references are no such permutations, or do not begin with the authored order, or it breaks ``before``.
    """

    id: str
    goal: str
    steps: tuple[SequenceStep, ...]
    category_paths: tuple[tuple[str, ...], ...] = ()
    references: Mapping[Modality, tuple[Order, ...]] = field(default_factory=dict)
    before: tuple[tuple[int, int], ...] | None = None
    task: str = ""

    def __post_init__(self) -> None:
        for earlier, later in self.before or ():
            if not 0 <= earlier < later < len(self.steps):
                raise ManualError(
                    f"sequence '{self.id}': step {earlier} before step {later} is against the authored order"
                )
        for modality, orders in self.references.items():
            if modality not in MODALITIES:
                raise ManualError(f"sequence '{self.id}': there is no modality {modality!r}")
            if not orders or orders[0] != self.authored:
                raise ManualError(f"sequence '{self.id}': the first {modality} order is not the authored one")
            if len(set(orders)) < len(orders):
                raise ManualError(f"sequence '{self.id}': the same {modality} order twice")
            for order in orders:
                if sorted(order) != list(self.authored):
                    raise ManualError(
                        f"sequence '{self.id}': {order} is no order of {len(self.steps)} steps (0 to N-1, each once)"
                    )

    @property
    def authored(self) -> Order:
        """The order of the authors: 0..N-1."""
        return tuple(range(len(self.steps)))

    def orders(self, modality: Modality = "multimodal") -> tuple[Order, ...]:
        """Orders that count as right in a modality, the authored one first."""
        return self.references.get(modality, (self.authored,))

    def alike(self, modality: Modality = "multimodal") -> tuple[int, ...]:
        """Return for each step the first one that is shown just the same: nobody can tell their order."""
        shown = [(step.text, step.images) for step in self.view(modality).steps]
        return tuple(map(shown.index, shown))

    def view(self, modality: Modality) -> Sequence:
        """Return the sequence with what the modality hides left out, and only its references."""
        return replace(
            self,
            steps=tuple(
                replace(
                    step,
                    text="" if modality == "image" else step.text,
                    images=() if modality == "text" else step.images,
                )
                for step in self.steps
            ),
            references={modality: self.orders(modality)},
        )


def fixed_shuffle(sequence_id: str, steps: int, seed: int = 0) -> Order:
    """Return which step is presented in each slot: one permutation for ever, whoever asks (ours).

    Args:
        sequence_id: the permutation is drawn from it and the seed alone, so that all models see the same.
        steps: their number N.
        seed: another one scrambles everything anew.

    Returns:
        ``slot_to_step``: a uniform permutation of 0..N-1. What a model must output is
        ``metrics.ordering.shuffle_targets(slot_to_step, order)``.
    """
    slots = list(range(steps))
    random.Random(f"{seed} {sequence_id}").shuffle(slots)  # noqa: S311 - not a secret
    return tuple(slots)
