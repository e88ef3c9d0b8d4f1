"""What a model of orders is trained from, and what comes of it: the same for every model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from proctor.learn.sequencing.data import OrderModel, Parts, Shown
from proctor.learn.settings import TrainOptions
from proctor.records import Json

if TYPE_CHECKING:
    from proctor.learn.trainer import Show  # it imports torch

__all__ = ["OBJECTIVES", "Objective", "Protocol", "TrainedOrder", "Training"]

Objective = Literal["mlm", "isp", "pisp", "smrm"]
OBJECTIVES: Final[tuple[Objective, ...]] = get_args(Objective)

Protocol = Literal["paper", "code", "right"]
"""As the paper says, as its released code does, or what is right; docs/sequencing.md lists what differs."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """What is learned from what, and how; ``parts.test`` is never looked at.

    Paths of pictures are relative to ``root``; ``encoder`` is ``tiny``, ``words`` (of the pairwise model: no network), or what
    ``encoders.open_encoder`` takes; ``goal`` stands before every text; ``options`` (of fine-tuning) are what the user set. A
    training that was killed goes on from the checkpoints in ``folder``; None keeps nothing.
    """

    parts: Parts
    root: Path
    shown: Shown = "text"
    encoder: str = "tiny"
    protocol: Protocol = "right"
    pretrain: tuple[Objective, ...] = ()
    goal: bool = False
    seed: int = 0
    options: TrainOptions = field(default_factory=TrainOptions)
    pretrain_options: TrainOptions = field(default_factory=TrainOptions)
    folder: Path | None = None
    show: Show | None = None


@dataclass(frozen=True, kw_only=True)
class TrainedOrder:
    """What came of it; ``chosen`` is for the record (epochs, figure on dev, parameters), ``dropped`` counts pictures by reason."""

    model: OrderModel
    chosen: Mapping[str, Json]
    notes: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
