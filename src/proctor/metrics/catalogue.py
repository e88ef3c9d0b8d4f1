"""All metrics of the room: each family's module lists its own, this gathers them.

Modules are imported when the catalogue is asked for, so that importing one metric stays cheap.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from proctor.metrics.metric import FAMILIES, Metric

__all__ = ["MODULES", "catalogue", "metric"]

MODULES: Final[dict[str, tuple[str, ...]]] = {
    "localization": ("localization",),
    "classification": ("classification",),
    "clustering": ("clustering",),
    "segmentation": ("segmentation",),
    "ordering": ("ordering",),
    "agreement": ("agreement", "krippendorff", "order_agreement", "segment_agreement"),
    "retrieval": ("retrieval",),
    "answer": ("answer", "answer_text", "choice.marks", "bert_score"),
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
