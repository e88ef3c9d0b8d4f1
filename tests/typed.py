"""A command typed in this process, as the console script runs it: a process of its own costs a second of imports."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from proctor.cli.console import run
from proctor.cli.main import app

__all__ = ["SAID", "Outcome", "proctor", "proctor_process"]

SAID: list[list[str]] = []
"""The words of every command that was typed: tests of pages look whether theirs were."""


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
    """Run one command in this process as the console script does; what is no user's mistake is raised."""
    SAID.append([*map(str, arguments)])
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["proctor", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        status = run(app)
    return Outcome(status, out.getvalue(), err.getvalue())


def proctor_process(*arguments: object, **more: Any) -> Outcome:
    """Run one command in a process of its own; ``more`` goes to ``subprocess.run``."""
    SAID.append([*map(str, arguments)])
    done = subprocess.run(
        [sys.executable, "-c", "from proctor.cli.main import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        **more,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)
