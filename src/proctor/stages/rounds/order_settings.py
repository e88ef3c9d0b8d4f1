"""Settings of rounds in which steps are put in order, or other orders are named."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import option
from proctor.stages.rounds.settings import Given

__all__ = ["AlternativesSettings", "OrderSettings", "SampleSettings"]


class SampleSettings(Given, frozen=True, kw_only=True):
    """Which manuals are given to people, and what of them."""

    people: Annotated[int, option("People that do each task.", ge=1, le=1000)] = 3
    batch: Annotated[int, option("Tasks that a person takes on together; 0 for all.", ge=0)] = 5
    shows: Annotated[
        tuple[Literal["both", "text", "image"], ...],
        option("Only this modality (repeatable; all by default)."),
    ] = ()
    item: Annotated[tuple[str, ...], option("Only this item (repeatable), such as one to be done again.")] = ()  # fmt: skip


class OrderSettings(SampleSettings, frozen=True, kw_only=True):
    """Which manuals people put in order."""

    label_studio: Annotated[Path | None, option("Write tasks for Label Studio to this file; no round.")] = (
        None
    )
    phase: Annotated[Literal["main", "qualification"], option("qualification: orders that do not count.")] = "main"  # fmt: skip


class AlternativesSettings(SampleSettings, frozen=True, kw_only=True):
    """Of which manuals people name other orders."""

    votes: Annotated[bool, option("Also ask whether a manual suits a golden set (proctor study golden).")] = False  # fmt: skip
