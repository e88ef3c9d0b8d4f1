"""How networks are trained. This module imports msgspec only, so that ``--help`` waits for nothing."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from proctor.settings import Settings, option

__all__ = ["Precision", "TrainOptions", "TrainSettings"]

Precision = Literal["auto", "32", "bf16"]
Device = Literal["auto", "cpu", "cuda"]
Keep = Literal["best", "last"]
Optimiser = Literal["adamw"]


class TrainSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How one network is trained; ``TrainOptions`` says what each means.

    Attributes:
        plateau: epochs without a better validation figure after which the rate is divided by ten; None never.
        plateau_factor: what the rate is multiplied with then.
        lowest_lr: under which it does not fall.
        margin: by how much a figure must be larger to be better, for the rate.
        warmup: epochs in which the rate rises, step by step, from 0; then it falls along a cosine to ``lowest_lr``. None leaves
            the rate to ``plateau``.
        optimiser: ``adamw`` decays weights apart from the gradient, and those of more than one dimension only: no biases, norms
            and scales. None is Adam.
        average: decay of the moving average of all weights; the average is validated and kept. None keeps the weights themselves.
        keep: the weights of the best epoch on validation, or of the last.
        most_rows: padded rows a batch, learned or scored; a batch of long steps is divided. 3,072 of V2 at a width of 1,024 take 1 GB.
        save_seconds: within an epoch a checkpoint is written when the last one is so old.
    """

    epochs: int = 50
    batch: int = 32
    lr: float = 1e-3
    weight_decay: float = 1e-3
    pos_weight: float = 1.5
    clip: float | None = 1.0
    patience: int | None = 10
    plateau: int | None = 5
    plateau_factor: float = 0.1
    lowest_lr: float = 1e-7
    margin: float = 1e-4
    warmup: int | None = None
    optimiser: Optimiser | None = None
    average: float | None = None
    keep: Keep = "best"
    accumulate: int = 1
    most_rows: int = 3072
    precision: Precision = "auto"
    device: Device = "auto"
    deterministic: bool = False
    tensorboard: bool = False
    save_seconds: float = 300.0


class TrainOptions(Settings, frozen=True, kw_only=True):
    """What a user sets of training; what is left out is as the model and the protocol say."""

    section: ClassVar[str] = "train"
    heading: ClassVar[str] = "Training"

    epochs: Annotated[int | None, option("Times that all training steps are seen, at most.", ge=1)] = None
    batch: Annotated[int | None, option("Steps (for v1: rows) a batch.", ge=1)] = None
    lr: Annotated[float | None, option("Learning rate of Adam.", ge=0)] = None
    weight_decay: Annotated[float | None, option("Weight decay of Adam.", ge=0)] = None
    pos_weight: Annotated[float | None, option("Weight of mistakes in the loss.", ge=0)] = None
    clip: Annotated[float | None, option("Largest norm of a gradient; a large number for none.", ge=1e-6)] = (
        None
    )
    patience: Annotated[
        int | None, option("Epochs without a better validation figure after which training ends.", ge=1)
    ] = None
    accumulate: Annotated[int | None, option("Batches whose gradients make one step.", ge=1)] = None
    precision: Annotated[
        Precision | None, option("Of the arithmetic; auto is bf16 on a GPU that has it.")
    ] = None
    device: Annotated[Device, option("What trains; auto is the GPU, where there is one.")] = "auto"
    devices: Annotated[int, option("Processes that train together, each on its own device.", ge=1)] = 1
    deterministic: Annotated[bool, option("Only operations that give the same result each time.")] = False
    tensorboard: Annotated[bool, option("Write events for TensorBoard into the run folder.")] = False

    def over(self, usual: TrainSettings) -> TrainSettings:
        """Return the usual settings of a model with what the user set instead."""
        given = {
            name: value
            for name in TrainSettings.__struct_fields__
            if (value := getattr(self, name, None)) is not None
        }
        return msgspec.structs.replace(usual, **given)
