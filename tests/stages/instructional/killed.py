"""Processes that do the whole experiment and can be killed: each is forked from one that has imported everything."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from dataclasses import replace
from pathlib import Path

from tests.stages.instructional.material import plan, quietly

from proctor.generate.instructional.choices import ChoiceModels
from proctor.generate.instructional.filters import FilterModels
from proctor.generate.instructional.pairs import PairModels
from proctor.stages.instructional.experiment import conduct
from proctor.stages.models import Limits

__all__ = ["Lives", "live"]

ROOT = Path(__file__).resolve().parents[3]


def live(workspace: Path, data: Path, url: str) -> None:
    """Do the experiment with models at an address."""

    def name(model: str) -> str:
        return f"compat/{model}@{url}/v1"

    usual = plan(data)
    voters = tuple(name(f"assistant{n}") for n in range(3))
    how = replace(
        usual,
        pairs=replace(usual.pairs, models=PairModels(generator=name("writer")), total=12),
        filters=replace(usual.filters, models=FilterModels(judges=(name("judge"),), assistants=voters)),
        choices=replace(usual.choices, models=ChoiceModels(writer=name("writer"), assistants=voters)),
        systems=(name("predictor"),),
        judge=name("judge"),
    )
    done = conduct(workspace, how, limits=Limits(max_connections=8), show=quietly)
    assert not done.stopped, done.stopped


class Lives:
    """Starts processes that ``live``."""

    def __init__(self) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.stages.instructional.killed"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        self._ask("ready")

    def start(self, workspace: Path, data: Path, url: str) -> int:
        """Start one and return its process id."""
        return int(self._ask(f"{workspace} {data} {url}"))

    def ended(self, pid: int, *, patient: bool = True) -> int | None:
        """Return how a process ended, the negative number of a signal; None where it is alive and nobody waits."""
        said = self._ask(f"wait {pid} {os.WNOHANG if not patient else 0}")
        return None if said == "alive" else int(said)

    def close(self) -> None:
        """End the parent of them all."""
        self._parent.communicate(timeout=60)

    def _ask(self, order: str) -> str:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(order + "\n")
        self._parent.stdin.flush()
        said = self._parent.stdout.readline().strip()
        assert said, "the parent of the processes has ended"
        return said


def _serve() -> None:
    import aiohttp  # noqa: F401
    import scipy.special
    import scipy.stats  # noqa: F401
    import sqlalchemy.dialects.sqlite  # noqa: F401

    import proctor.llm.providers.compat  # noqa: F401

    for line in sys.stdin:
        words = line.split()
        if words[0] == "ready":
            print("ready", flush=True)
        elif words[0] == "wait":
            pid, status = os.waitpid(int(words[1]), int(words[2]))
            print(os.waitstatus_to_exitcode(status) if pid else "alive", flush=True)
        else:
            pid = os.fork()
            if not pid:
                _child(Path(words[0]), Path(words[1]), words[2])
            print(pid, flush=True)


def _child(workspace: Path, data: Path, url: str) -> None:
    status = 1
    try:
        printed = os.open(workspace.with_name("printed"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number in (1, 2):
            os.dup2(printed, number)
        live(workspace, data, url)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve()
