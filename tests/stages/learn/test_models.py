"""Which recogniser a model's name stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from proctor.errors import UserError
from proctor.stages.learn.mistakes import recogniser_of
from proctor.stages.learn.settings import MistakesSettings


@pytest.mark.parametrize(
    ("model", "context", "name"),
    [
        ("floor", "causal", "floor"),
        ("local", "causal", "local"),
        ("step", "offline", "step"),
        ("context", "causal", "context-causal"),
        ("context", "offline", "context-offline"),
        ("sequence", "offline", "sequence-offline"),
        ("both", "causal", "both-causal"),
    ],
)
def test_models_that_need_no_pixels(
    model: Literal["floor", "local", "step", "context", "sequence", "both"],
    context: Literal["causal", "offline"],
    name: str,
) -> None:
    assert recogniser_of(MistakesSettings(annotations=Path(), model=model, context=context)).name == name


def test_trees_look_at_no_video() -> None:
    with pytest.raises(UserError, match="looks at no features"):
        recogniser_of(MistakesSettings(annotations=Path(), features=(Path("store"),)))
