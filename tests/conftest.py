"""What several rooms' tests share: the real annotations, where they exist, and a few small procedures."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from proctor.procedure.graph import Step, TaskGraph

settings.register_profile("proctor", deadline=None)  # a busy machine is not a failing test
settings.load_profile("proctor")

REPOSITORY = Path(__file__).resolve().parents[1]


def find_shared_data() -> Path | None:
    """Return the folder of real data: PROCTOR_DATA, else ../shared/data beside the repository."""
    given = os.environ.get("PROCTOR_DATA")
    folder = Path(given) if given else REPOSITORY.parent / "shared" / "data"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets; tests that need it are skipped where it does not exist."""
    folder = find_shared_data()
    if folder is None:
        pytest.skip("needs the real annotations: set PROCTOR_DATA or place them in ../shared/data")
    return folder


@pytest.fixture(scope="session")
def shared_expected(shared_data: Path) -> Callable[[str], dict[str, Any]]:
    """Return a file of expected numbers by name (``recognition``); skips where the real data are not."""
    folder = shared_data.parent / "expected"
    if not folder.is_dir():
        pytest.skip("needs the expected numbers: place them in ../shared/expected")
    return lambda name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture
def tests_data() -> Path:
    """The hand-made, tiny files of the tests."""
    return REPOSITORY / "tests" / "data"


def build_graph(text: str, *, edges: str = "", start: str | None = None, end: str | None = None) -> TaskGraph:
    """Build a graph from one line: ``make_graph("a b c", edges="a>b b>c")``; step ``a`` says "do a"."""
    pairs = tuple((a, b) for a, b in (edge.split(">") for edge in edges.split()))
    return TaskGraph("g", "g", tuple(Step(i, f"do {i}") for i in text.split()), pairs, start, end)


@pytest.fixture(scope="session")
def make_graph() -> Callable[..., TaskGraph]:
    """The function ``build_graph``: tests cannot import from here."""
    return build_graph


@pytest.fixture
def diamond() -> TaskGraph:
    """Start, then ``a``; ``b`` and ``c`` in any order; ``d``; end."""
    return build_graph("S a b c d E", edges="S>a a>b a>c b>d c>d d>E", start="S", end="E")


@pytest.fixture
def branches() -> TaskGraph:
    """Two independent chains that meet in the last step; no start, no end."""
    return build_graph("a1 a2 b1 b2 z", edges="a1>a2 b1>b2 a2>z b2>z")


@pytest.fixture
def twins() -> TaskGraph:
    """A procedure in which two different steps have the same text."""
    steps = (
        Step("0", "START"),
        Step("1", "Stir the jar"),
        Step("2", "Add sugar"),
        Step("3", "Stir the jar"),
        Step("9", "END"),
    )
    return TaskGraph("twins", "Twins", steps, (("0", "1"), ("1", "2"), ("2", "3"), ("3", "9")), "0", "9")
