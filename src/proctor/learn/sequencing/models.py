"""The models of orders by their names on the command line: how each is trained, and how its folder is opened again."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from proctor.errors import UserError
from proctor.learn.sequencing.data import OrderModel
from proctor.learn.sequencing.training import TrainedOrder, Training
from proctor.records import is_there, read_json

__all__ = ["MODEL", "ModelName", "load_order_model", "train_order"]

ModelName = Literal["tiny", "pairwise", "berson"]

MODEL: Final = "model.json"
_TRAINED: Final = {
    "tiny": ("finetune", "train_berson"),
    "berson": ("finetune", "train_berson"),
    "pairwise": ("precedence", "train_pairwise"),
}
_LOADED: Final = {"berson": ("finetune", "load_berson"), "pairwise": ("precedence", "load_pairwise")}


class _Saved(msgspec.Struct, frozen=True):
    """What every model says in ``model.json``, among other things."""

    model: str


def train_order(model: ModelName, training: Training) -> TrainedOrder:
    """Train a model; ``tiny`` is ``berson`` with the encoder of that name.

    Raises:
        UserError: if encoder, pictures or options cannot be used.
    """
    trained: TrainedOrder = _named(*_TRAINED[model])(training)
    return trained


def load_order_model(folder: Path) -> OrderModel:
    """Open a model that ``OrderModel.save`` wrote.

    Raises:
        UserError: if there is none, or it is of another version.
    """
    if not is_there(folder / MODEL):
        raise UserError(
            f"there is no model of orders in it (no {MODEL}).",
            where=str(folder),
            hint="name the folder of a finished run of proctor learn sequence --out RUN",
        )
    saved: _Saved = read_json(folder / MODEL, _Saved)
    if saved.model not in _LOADED:
        raise UserError(
            f"there is no model of orders {saved.model[:40]!r}.",
            where=str(folder / MODEL),
            hint="train it again with this version",
        )
    model: OrderModel = _named(*_LOADED[saved.model])(folder)
    return model


def _named(module: str, function: str) -> Callable[..., Any]:
    """Return a function of a module that imports torch or scikit-learn, which only the model that is asked for needs."""
    found: Callable[..., Any] = getattr(import_module(f"proctor.learn.sequencing.{module}"), function)
    return found
