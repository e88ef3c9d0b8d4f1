"""A small workspace in which every stage has been done, and a way to do a stage in a process that may be killed."""

from __future__ import annotations

import json
import os
import shutil
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.taking import judge, predict

from proctor.errors import UserError
from proctor.samples import copy_sample
from proctor.stages.build import build
from proctor.stages.derive import derive
from proctor.stages.exam_settings import ScoreSettings
from proctor.stages.generate import generate
from proctor.stages.read import read
from proctor.stages.report import report
from proctor.stages.score import score
from proctor.stages.settings import (
    BuildSettings,
    DeriveSettings,
    GenerateSettings,
    ReadSettings,
    ReportSettings,
)
from proctor.stages.verify import verify

Stage = Callable[[Path], Any]

BEFORE: dict[str, Stage] = {
    "read": lambda home: read("plain", home / "sample", home / "bench"),
    "derive": lambda home: derive(home / "bench"),
    "generate": lambda home: generate(home / "bench", GenerateSettings(sample="all", seed=1), limit=40),
    "verify": lambda home: verify(home / "bench"),
    "build": lambda home: build(home / "bench", BuildSettings(name="first")),
    "predict": lambda home: predict(home / "bench", "random-step", run="dice", seed=1),
    "judge": lambda home: judge(home / "bench"),
    "score": lambda home: score(home / "bench", ScoreSettings(resamples=200)),
    "report": lambda home: report(home / "bench", ReportSettings(title="First")),
}
"""The stages as the workspace was made."""

AGAIN: dict[str, Stage] = {
    **BEFORE,
    "read": lambda home: read(
        "plain", home / "sample", home / "bench", ReadSettings(corrections="published")
    ),
    "derive": lambda home: derive(home / "bench", DeriveSettings(protocol="published")),
    "generate": lambda home: generate(home / "bench", GenerateSettings(sample="all", seed=2), limit=50),
    "verify": lambda home: verify(home / "bench", threshold=0.95),
    "build": lambda home: build(home / "bench", BuildSettings(name="second", min_confidence=0.9)),
    "predict": lambda home: predict(home / "bench", "random-step", run="dice", seed=2),
    "score": lambda home: score(home / "bench", ScoreSettings(resamples=300)),
    "report": lambda home: report(home / "bench", ReportSettings(title="Second")),
}
"""The same with other settings, so that each file that is written differs from the one that is there."""


@pytest.fixture(scope="session")
def stages() -> dict[str, Stage]:
    """The stages, to be done again with other settings."""
    return AGAIN


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``sample`` and ``bench``, all stages done; not to be changed."""
    home = tmp_path_factory.mktemp("finished") / "home"
    copy_sample(home / "sample")
    for stage in BEFORE.values():
        stage(home)
    return home


@pytest.fixture
def fresh(finished: Path, tmp_path: Path) -> Callable[[], Path]:
    """A function that gives a copy of the folder, always at the same place, because settings name it."""

    def copy() -> Path:
        home = tmp_path / "home"
        if home.exists():
            shutil.rmtree(home)
        return Path(shutil.copytree(finished, home))

    return copy


@dataclass(frozen=True)
class Ended:
    """How a child process ended: the signal or 0, and what it reported."""

    signal: int
    report: dict[str, Any]


def in_child(work: Callable[[Callable[[dict[str, Any]], None]], None]) -> Ended:
    """Run ``work`` in a forked process; it is given a function that reports to the parent at once.

    A ``UserError`` is reported as ``user_error``, anything else that is raised as ``bug``.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads of libraries
        child = os.fork()
    if child == 0:
        os.close(reading)

        def tell(value: dict[str, Any]) -> None:
            os.write(writing, json.dumps(value).encode() + b"\n")

        try:
            work(tell)
        except UserError as error:
            tell({"user_error": error.render()})
        except BaseException:
            tell({"bug": traceback.format_exc()})
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        told = [json.loads(line) for line in stream.read().splitlines()]
    _, status = os.waitpid(child, 0)
    merged = {key: value for report in told for key, value in report.items()}
    return Ended(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, merged)


@pytest.fixture(scope="session", name="in_child")
def in_child_fixture() -> Callable[..., Ended]:
    """The function ``in_child``: tests cannot import from here."""
    return in_child


def contents(root: Path) -> dict[str, bytes]:
    """Return every file below a folder but SQLite's (verdicts carry their time) and what killed writers leave."""
    return {
        str(p.relative_to(root)): p.read_bytes()
        for p in sorted(root.rglob("*"))
        if p.is_file() and ".sqlite" not in p.name and not is_leftover(p.relative_to(root))
    }


def is_leftover(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


@pytest.fixture(scope="session", name="contents")
def contents_fixture() -> Callable[[Path], dict[str, bytes]]:
    """The function ``contents``: tests cannot import from here."""
    return contents
