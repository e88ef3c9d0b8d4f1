"""Processes that give questions options and can be killed: each is forked from one that has imported everything."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from dataclasses import replace
from pathlib import Path

import msgspec
from tests.generate.instructional.choice_player import PROMPTS, maker, question

from proctor.generate.instructional.choice_prompt import ChoicePrompts
from proctor.generate.instructional.choice_run import make_choices
from proctor.generate.instructional.choices import ChoiceModels
from proctor.records import write_json, write_jsonl
from proctor.stages.models import Limits, open_models
from proctor.workspace import Workspace

__all__ = ["Lives", "live"]

CONNECTIONS = 12
QUESTIONS = 14
ROOT = Path(__file__).resolve().parents[3]


def live(folder: Path, url: str) -> None:
    """Give questions options in a workspace and write what came of it."""
    names = ChoiceModels(
        writer=f"compat/writer@{url}/v1",
        assistants=tuple(f"compat/assistant{n}@{url}/v1" for n in range(3)),
    )
    with open_models(Workspace(folder), Limits(max_connections=CONNECTIONS)) as models:
        made = maker(models=names, price=models.price, attempts=4)
        made = replace(made, prompts=ChoicePrompts(PROMPTS.prompts, models.secret))
        run = make_choices([question(n) for n in range(QUESTIONS)], made, models.ask("choices"))
    assert run.is_complete
    write_jsonl(folder / "choices.jsonl", run.items)
    write_jsonl(folder / "choices.attempts.jsonl", run.attempts)
    write_jsonl(folder / "choices.dropped.jsonl", run.dropped)
    write_json(folder / "choices.json", msgspec.to_builtins(run.summary))


class Lives:
    """Starts processes that ``live``."""

    def __init__(self) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.generate.instructional.choice_killed"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        self._ask("ready")

    def start(self, folder: Path, url: str) -> int:
        """Start one and return its process id."""
        return int(self._ask(f"{folder} {url}"))

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
    import scipy.special  # noqa: F401
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
