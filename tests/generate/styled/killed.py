"""Processes that generate questions and can be killed: each is forked from one that has imported everything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback
from dataclasses import replace
from pathlib import Path

import msgspec
from tests.generate.styled.rehearsed import PROMPTS, corpus, embed_words, generator, plan

from proctor.generate.styled.pipeline import StyledModels
from proctor.generate.styled.prompting import PromptKit
from proctor.generate.styled.run import generate_styled
from proctor.records import write_json, write_jsonl
from proctor.stages.models import Limits, open_models
from proctor.workspace import Workspace

__all__ = ["Lives", "live"]

CONNECTIONS = 12
ROOT = Path(__file__).resolve().parents[3]


def live(folder: Path, url: str) -> None:
    """Generate questions in a workspace and write what came of it."""
    targets = plan(per_cell=1)
    names = {
        role: f"compat/{role}@{url}/v1"
        for role in ("entity", "generator", "verifier", "generator_lmm", "verifier_lmm")
    }
    with open_models(Workspace(folder), Limits(max_connections=CONNECTIONS)) as models:
        kit = PromptKit(PROMPTS, models.secret)
        made = generator(targets, corpus=corpus(30), models=StyledModels(**names), price=models.price)
        made = replace(made, kit=kit)
        run = generate_styled(targets, made, models.ask("generate"), embed=embed_words)
    assert run.is_complete
    write_jsonl(folder / "styled.jsonl", run.questions)
    write_jsonl(folder / "styled.attempts.jsonl", run.attempts)
    write_json(folder / "styled.json", msgspec.to_builtins(run.summary))


class Lives:
    """Starts processes that ``live``."""

    def __init__(self) -> None:
        self._ends: dict[int, int] = {}
        self._parent = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.generate.styled.killed"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        self._ask("ready")

    def start(self, folder: Path, url: str) -> int:
        """Start one and return its process id."""
        return int(self._ask(f"{folder} {url}"))

    def ended(self, pid: int, *, patient: bool = True) -> int | None:
        """Return how a process ended, the negative number of a signal; None where it is alive and nobody waits."""
        if pid not in self._ends:
            said = self._ask(f"wait {pid} {os.WNOHANG if not patient else 0}")
            if said == "alive":
                return None
            self._ends[pid] = int(said)
        return self._ends[pid]

    def kill(self, pid: int) -> int:
        """Kill a process and return how it ended, which may have been before."""
        if pid not in self._ends:
            os.kill(pid, signal.SIGKILL)  # nobody else has waited for it, so the number is still its own
        status = self.ended(pid)
        assert status is not None
        return status

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
    import sqlalchemy.dialects.sqlite  # noqa: F401

    import proctor.llm.providers.compat
    import proctor.llm.registry  # noqa: F401

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
                _child(Path(words[0]), words[1])
            print(pid, flush=True)


def _child(folder: Path, url: str) -> None:
    status = 1
    try:
        printed = os.open(folder / "printed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number in (1, 2):
            os.dup2(printed, number)
        live(folder, url)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve()
