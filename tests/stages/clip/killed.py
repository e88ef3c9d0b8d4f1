"""The whole experiment as a work that can be killed (``tests.lives``)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
from tests.stages.clip.material import do, plan, quietly

from proctor.stages.models import Limits

__all__ = ["live"]


def live(workspace: str, data: str, url: str) -> None:
    """Do the experiment with models at an address."""

    def name(model: str) -> str:
        return f"compat/{model}@{url}/v1"

    usual = plan(Path(data))
    voters = tuple(name(f"assistant{n}") for n in range(3))
    how = replace(
        usual,
        pairs=msgspec.structs.replace(usual.pairs, generator=name("writer"), total=8),
        filters=msgspec.structs.replace(usual.filters, judge=(name("judge"),), assistant=voters),
        choices=msgspec.structs.replace(usual.choices, writer=name("writer"), assistant=voters),
        systems=(name("predictor"),),
        judge=name("judge"),
        matcher=name("judge"),
    )
    done = do(Path(workspace), how, limits=Limits(max_connections=8), show=quietly)
    assert not done.stopped, done.stopped
