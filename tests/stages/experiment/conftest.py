"""The shipped sample, read into a folder, and a small plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from proctor.samples import copy_sample
from proctor.stages.experiment import Plan, Source

A, B = "openai/gpt-4o-2024-08-06", "anthropic/claude-3-5-sonnet-20240620"


@contextmanager
def quietly(_title: str, _total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show no progress."""
    yield lambda: None


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """The shipped sample; its videos are not rendered."""
    folder = tmp_path_factory.mktemp("sample") / "sample"
    copy_sample(folder)
    return Source(folder, "plain")


PLAN = Plan(
    examples=12,
    generators=(A, B),
    predictors=(A, B),
    views=("question", "recipe"),
    judges=(A, B),
    rubrics=("ternary-step", "binary"),
    min_confidence=0.5,
    seed=2,
)
"""Two generators, two predictors in two views, two judges, two rubrics."""


@pytest.fixture
def plan() -> Plan:
    return PLAN


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
