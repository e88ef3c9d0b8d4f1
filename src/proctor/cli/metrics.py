"""``proctor metrics``: any family of metrics from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from proctor.cli.console import group_app
from proctor.cli.lazy import LazyGroup
from proctor.stages.scoring import all_families

__all__ = ["FAMILIES", "app"]

FAMILIES: Mapping[str, tuple[str, str]] = {
    name: ("proctor.cli.scoring.families", summary) for name, summary in all_families().items()
}
"""The command of each family: its module, and what it computes."""


class _Families(LazyGroup):
    more: ClassVar[Mapping[str, Sequence[str]]] = {"answer": ("bertscore",)}
    members: ClassVar[Mapping[str, tuple[str, str]]] = FAMILIES


app = group_app(
    "Compute metrics from files, with intervals.\n\n"
    "Each family takes a reference and a prediction, as CSV, JSON or JSON Lines, and prints a table; --json prints everything, "
    "--latex a table for a paper, --report writes a page with pictures. docs/metrics.md describes every metric.\n\n"
    "Example: proctor metrics localization --gt gt.csv --pred predictions.csv --protocol corrected",
    cls=_Families,
)
