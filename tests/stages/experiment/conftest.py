"""The shipped sample, read into a folder, and a small experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from proctor.llm.estimate import Estimate
from proctor.samples import copy_sample
from proctor.settings import Given
from proctor.stages.experiment.conduct import choose, conduct
from proctor.stages.experiment.foresee import foresee
from proctor.stages.experiment.moment import PLAN as MOMENTS
from proctor.stages.experiment.moment import System, systems
from proctor.stages.experiment.settings import AnswerSettings
from proctor.stages.experiment.stage import Done
from proctor.stages.limits import Limits

A, B = "openai/gpt-4o-2024-08-06", "anthropic/claude-3-5-sonnet-20240620"


@contextmanager
def quietly(_title: str, _total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show no progress."""
    yield lambda: None


class Small(msgspec.Struct, frozen=True, kw_only=True):
    """Two generators, two predictors in two views, two judges, two rubrics."""

    examples: int = 12
    generators: tuple[str, ...] = (A, B)
    verifiers: tuple[str, ...] = ()
    predictors: tuple[str, ...] = (A, B)
    views: tuple[str, ...] = ("question", "recipe")
    captioner: str = ""
    judges: tuple[str, ...] = (A, B)
    rubrics: tuple[str, ...] = ("ternary-step", "binary")
    protocol: str = "corrected"
    seed: int = 2

    @property
    def systems(self) -> list[System]:
        """Who answers."""
        return systems(AnswerSettings(predictor=self.predictors, show=self.views, captioner=self.captioner))

    def given(self, source: Path | None = None, human: Sequence[Path] = ()) -> Given:
        """Return it by stage."""
        seeds = {"seed": self.seed}
        data = {"data": source, "dataset": "plain"} if source is not None else {}
        return {
            "source": {**data, "protocol": self.protocol},
            "generate": {"generator": self.generators, "examples": self.examples, **seeds},
            "verify": {"verifier": self.verifiers},
            "build": {"min_confidence": 0.5, **seeds},
            "predict": {
                "predictor": self.predictors, "show": self.views, "captioner": self.captioner, **seeds,
            },
            "judge": {"judge": self.judges, "rubric": self.rubrics},
            "calibrate": {"human": tuple(human), **seeds},
            "score": seeds,
        }  # fmt: skip


def do(
    root: Path,
    plan: Small,
    *,
    source: Path | None = None,
    human: Sequence[Path] = (),
    limits: Limits | None = None,
    vary: Sequence[str] = (),
) -> Done:
    """Do the experiment."""
    chosen = choose(root, MOMENTS, plan.given(source, human))
    return conduct(root, MOMENTS, chosen, vary=vary, limits=limits, show=quietly)


def told(root: Path, plan: Small, *, source: Path | None = None, **more: Any) -> Estimate:
    """Say what it would take."""
    chosen = choose(root, MOMENTS, plan.given(source))
    return foresee(root, MOMENTS, chosen, show=quietly, **more)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped sample; its videos are not rendered."""
    folder = tmp_path_factory.mktemp("sample") / "sample"
    copy_sample(folder)
    return folder


PLAN = Small()


@pytest.fixture
def plan() -> Small:
    return PLAN


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
