"""What a metric is called and means: the entries of the catalogue, written beside the functions they describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

__all__ = ["FAMILIES", "Direction", "Family", "Metric"]

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
