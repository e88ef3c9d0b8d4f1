"""What a model of orders is trained from, and what comes of it: the same for every model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, get_args

from proctor.learn.sequencing.data import OrderModel, Parts, Shown
from proctor.learn.settings import TrainOptions
from proctor.learn.trainer import Show
from proctor.records import Json

__all__ = ["OBJECTIVES", "Objective", "Protocol", "TrainedOrder", "Training"]

Objective = Literal["mlm", "isp", "pisp", "smrm"]
OBJECTIVES: Final[tuple[Objective, ...]] = get_args(Objective)

Protocol = Literal["paper", "code", "right"]
"""As the paper says, as its released code does, or what is right; docs/sequencing.md lists what differs."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """What is learned from what, and how.

    Attributes:
        parts: sequences; ``test`` is never looked at.
        root: folder that paths of pictures are relative to.
        shown: of each step.
        encoder: ``tiny``, ``words`` (of the pairwise model: no network), or what ``encoders.open_encoder`` takes.
        protocol: paper, code or right.
        pretrain: objectives, none for no pretraining.
        goal: whether the goal stands before every text.
        seed: of everything that is drawn.
        options: of fine-tuning, what the user set.
        pretrain_options: of pretraining, likewise.
        folder: for checkpoints; a training that was killed goes on from there. None keeps nothing.
        show: shows progress.
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
    """What came of it.

    Attributes:
        model: puts steps in order.
        chosen: for the record: epochs, figure on dev, parameters.
        notes: what a reader of the figures has to know.
        dropped: pictures that could not be read, and likewise, by reason.
    """

    model: OrderModel
    chosen: Mapping[str, Json]
    notes: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
