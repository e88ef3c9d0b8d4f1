"""The whole experiment as a work that can be killed (``tests.lives``)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.stages.instructional.material import plan, quietly

from proctor.generate.instructional.choices import ChoiceModels
from proctor.generate.instructional.filters import FilterModels
from proctor.generate.instructional.pairs import PairModels
from proctor.stages.instructional.experiment import conduct
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
        pairs=replace(usual.pairs, models=PairModels(generator=name("writer")), total=8),
        filters=replace(usual.filters, models=FilterModels(judges=(name("judge"),), assistants=voters)),
        choices=replace(usual.choices, models=ChoiceModels(writer=name("writer"), assistants=voters)),
        systems=(name("predictor"),),
        judge=name("judge"),
    )
    done = conduct(Path(workspace), how, limits=Limits(max_connections=8), show=quietly)
    assert not done.stopped, done.stopped
