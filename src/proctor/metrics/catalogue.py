"""All metrics of the room: each family's module lists its own, this gathers them.

Modules are imported when the catalogue is asked for, so that importing one metric stays cheap.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Final, Literal, get_args

__all__ = ["FAMILIES", "MODULES", "Direction", "Entries", "Family", "Metric", "catalogue", "metric"]


# What a metric is called and means: the entries of the catalogue, written beside the functions they describe.

Family = Literal[
    "localization",
    "classification",
    "clustering",
    "segmentation",
    "ordering",
    "agreement",
    "retrieval",
    "answer",
    "text",
    "significance",
]
FAMILIES: Final[tuple[Family, ...]] = get_args(Family)
Direction = Literal["higher", "lower", "neither"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One line of the table of all metrics in ``docs/metrics.md``.

    Attributes:
        name: the published name in snake case; also the name in the signature.
        label: how tables print it (``mAP``, ``PMR``).
        family: the group it is scored with.
        function: where it is, as ``module:function`` below ``proctor.metrics``.
        signature: an example of its printed signature.
        range: from the worst possible to the best possible value, with its unit (``0 to 1``, ``0 to 100 %``).
        direction: whether more is better.
        definition: one sentence or formula, in our own words.
        citation: where it was published (author and year, section).
        traps: what people get wrong with it, published errata among them; empty when there is nothing.
    """

    name: str
    label: str
    family: Family
    function: str
    signature: str
    range: str
    direction: Direction
    definition: str
    citation: str
    traps: str = ""


@dataclass(frozen=True, slots=True)
class Entries:
    """Makes the entries of one module: what they have in common is said once.

    Attributes:
        family: of all of them.
        module: below ``proctor.metrics``; the function has the metric's name unless another is given.
    """

    family: Family
    module: str

    def __call__(
        self,
        name: str,
        label: str,
        definition: str,
        *,
        signature: str,
        citation: str,
        range: str = "0 to 1",
        direction: Direction = "higher",
        function: str = "",
        traps: str = "",
    ) -> Metric:
        """Return an entry; ``signature`` is what follows the name, see ``Metric`` for the others."""
        place, printed = f"{self.module}:{function or name}", f"{name}|{signature}"
        return Metric(name, label, self.family, place, printed, range, direction, definition, citation, traps)


MODULES: Final[dict[str, tuple[str, ...]]] = {
    "localization": ("localization",),
    "classification": ("classification",),
    "clustering": ("clustering",),
    "segmentation": ("segmentation",),
    "ordering": ("ordering",),
    "agreement": ("agreement", "krippendorff", "order_agreement", "segment_agreement"),
    "retrieval": ("retrieval",),
    "answer": ("answer", "choice.marks", "bert_score"),
    "text": ("text_statistics", "embedding"),
    "significance": (
        "significance",
        "hypothesis_tests",
        "concurrence",
        "power",
        "calibration",
        "judge_error",
    ),
}
"""Modules below ``proctor.metrics`` that hold a tuple ``METRICS``, by family."""


@cache
def catalogue() -> tuple[Metric, ...]:
    """Return every metric, families in their order, metrics in the order of their modules."""
    return tuple(
        entry
        for family in FAMILIES
        for module in MODULES[family]
        for entry in import_module(f"proctor.metrics.{module}").METRICS
    )


def metric(name: str) -> Metric:
    """Return the metric of this name.

    Raises:
        KeyError: if there is none.
    """
    for entry in catalogue():
        if entry.name == name:
            return entry
    raise KeyError(name)
