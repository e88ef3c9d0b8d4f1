"""Checkpoints: whole or not there, read without running anything that is in them, refused when they are of something else.

This module imports torch: import it late.
"""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import torch
from torch import Tensor, nn

from proctor.errors import UserError
from proctor.learn.settings import TrainSettings
from proctor.records import Json, atomic_write, content_hash

__all__ = ["Checkpoint", "configuration_of", "read_checkpoint", "write_checkpoint"]

FORMAT: Final = "proctor-checkpoint-1"

_FREE: Final = frozenset({"epochs", "device", "tensorboard", "save_seconds"})
"""Settings that a training may go on with when they have changed."""


@dataclass(frozen=True)
class Checkpoint:
    """What a file holds.

    Attributes:
        configuration: what was trained from what, and how.
        place: where the training was; tensors, numbers, text, lists and mappings of them.
        weights: of the module, by name.
    """

    configuration: Mapping[str, Json]
    place: Mapping[str, Any]
    weights: Mapping[str, Tensor]

    def require(self, wanted: Mapping[str, Json], path: Path) -> None:
        """Refuse a checkpoint of another configuration.

        Raises:
            UserError: naming what differs.
        """
        names = sorted({*wanted, *self.configuration})
        there, here = self.configuration, wanted
        differ = [
            f"{n} is {there.get(n)!r} there and {here.get(n)!r} here"
            for n in names
            if there.get(n) != here.get(n)
        ]
        if differ:
            raise UserError(
                f"the checkpoint is of another configuration: {'; '.join(differ)}.",
                where=str(path),
                hint="train in another folder, remove the checkpoint, or set what it was trained with",
            )


def configuration_of(
    settings: TrainSettings, module: nn.Module, seed: int, devices: int, about: Mapping[str, Json]
) -> dict[str, Json]:
    """Return what two trainings must have in common for one to go on where the other was."""
    # A cosine ends with the last epoch: how many there are is seen in every step.
    free = _FREE if settings.warmup is None else _FREE - {"epochs"}
    given = {k: v for k, v in msgspec.to_builtins(settings).items() if k not in free}
    shapes = [[name, list(value.shape)] for name, value in module.state_dict().items()]
    return {**given, "seed": seed, "devices": devices, "network": content_hash(shapes), **about}


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whole or not at all.

    Raises:
        UserError: if the disk is full or the folder cannot be written; what was there before is untouched.
    """
    with atomic_write(path) as stream:
        kept: Any = _Kept(stream)
        try:
            torch.save(
                {
                    "format": FORMAT, "configuration": dict(checkpoint.configuration), "place": dict(checkpoint.place),
                    "weights": dict(checkpoint.weights),
                },
                kept,
            )  # fmt: skip
        except RuntimeError:  # torch's own words for a write that failed
            if kept.error is not None:
                raise kept.error from None
            raise


class _Kept:
    """A stream that remembers why a write failed: torch forgets it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        try:
            return int(self._stream.write(data))
        except OSError as error:
            self.error = error
            raise

    def flush(self) -> None:
        self._stream.flush()


def read_checkpoint(path: Path, map_location: str = "cpu") -> Checkpoint:
    """Read a checkpoint; code in it is not run (``weights_only``).

    Raises:
        UserError: if there is none, it is damaged, or something else than tensors and plain values is in it.
    """
    try:
        with zipfile.ZipFile(path) as archive:  # torch itself would not see a bit that has changed
            damaged = archive.testzip()
        if damaged is not None:
            raise ValueError(f"{damaged} is damaged")
        found = torch.load(path, map_location=map_location, weights_only=True)
    except FileNotFoundError:
        raise UserError(
            "there is no checkpoint.",
            where=str(path),
            hint="train first; where only this file is gone, remove last.pt next to it and train again",
        ) from None
    except (
        RuntimeError,
        EOFError,
        pickle.UnpicklingError,
        OSError,
        ValueError,
        KeyError,
        AssertionError,
        zipfile.BadZipFile,
    ) as error:
        raise UserError(
            f"this is not a whole checkpoint: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
            where=str(path),
            hint="remove it to train again, or restore a copy",
        ) from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise UserError(
            f"this is no checkpoint of this Proctor ({FORMAT}).",
            where=str(path),
            hint="remove it to train again",
        )
    parts: list[Any] = [found.get(name) for name in ("configuration", "place", "weights")]
    if not all(isinstance(part, dict) for part in parts):
        raise UserError(
            "parts of the checkpoint are missing.", where=str(path), hint="remove it to train again"
        )
    return Checkpoint(*parts)
