"""The command line in this process, and a small workspace in which every stage has been done."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from proctor.cli.console import run
from proctor.cli.main import app
from proctor.samples import copy_sample


@dataclass(frozen=True)
class Outcome:
    """What a command left behind: its status, and what it printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def proctor(*arguments: object) -> Outcome:
    """Run one command in this process as the console script does."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["proctor", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        status = run(app)
    return Outcome(status, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session", name="proctor")
def proctor_fixture() -> Callable[..., Outcome]:
    """The function ``proctor``: tests cannot import from here."""
    return proctor


JOB = (
    ("derive",),
    ("generate", "--sample", "all", "--limit", "40"),
    ("verify",),
    ("build",),
    ("predict", "-p", "constant", "-p", "annotations"),
    ("judge",),
    ("score", "--resamples", "200"),
    ("report",),
)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``sample`` (the data) and ``bench`` (all stages done); not to be changed."""
    home = tmp_path_factory.mktemp("job")
    copy_sample(home / "sample")
    bench = home / "bench"
    steps = [("read", "plain", home / "sample", bench), *((c, bench, *flags) for c, *flags in JOB)]
    for step in steps:
        outcome = proctor(*step)
        assert outcome.status == 0, outcome.err
    return home


@pytest.fixture
def home(finished: Path, tmp_path: Path) -> Path:
    """A copy of ``finished`` to be broken."""
    return Path(shutil.copytree(finished, tmp_path / "home"))


@pytest.fixture
def bench(home: Path) -> Path:
    """A workspace to be broken."""
    return home / "bench"


def contents(root: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes; links, hidden files and SQLite's own files included."""
    return {
        str(p.relative_to(root)): b"->" if p.is_symlink() else p.read_bytes()
        for p in sorted(root.rglob("*"))
        if p.is_symlink() or p.is_file()
    }


@pytest.fixture(scope="session", name="contents")
def contents_fixture() -> Callable[[Path], dict[str, bytes]]:
    """The function ``contents``: tests cannot import from here."""
    return contents
