"""What the drivers of other annotation servers share: an installation of its own, a server process, saves, one row.

A peer is installed into a virtual environment outside the repository and only ever run as a process; nothing of it is
imported. Environments lie in PROCTOR_BENCH_PEERS (a folder in the system's temporary one when unset) and are made when missing.
Each person in turn posts an annotation and waits for the answer (a closed loop without think time). When the last one has been
acknowledged the server is killed with SIGKILL, and what it has kept is counted.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from latency import Latencies
from wire import Person, Reply

Save = Callable[[Person, int, int, str], Awaitable[Reply]]
"""Posts one annotation: the person's connection, the person's number, the item's number, a text unique to this save."""


class NotInstalledError(Exception):
    """The package could not be installed here; its text is why."""


@dataclass
class Outcome:
    """What came of one closed loop.

    Attributes:
        annotators: at work at the same time.
        latencies: of acknowledged saves.
        acknowledged: texts whose save was answered with success.
        refused: answers by status that were no success.
        seconds: from the first request to the last reply.
    """

    annotators: int
    latencies: Latencies = field(default_factory=Latencies)
    acknowledged: list[str] = field(default_factory=list)
    refused: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0


def environment(name: str, package: str) -> Path:
    """Return the virtual environment of a peer, made when there is none.

    Raises:
        NotInstalledError: if pip could not install it.
    """
    parent = Path(os.environ.get("PROCTOR_BENCH_PEERS") or Path(tempfile.gettempdir()) / "peers")
    home, mark = parent / name, parent / name / "installed"
    if mark.exists():
        return home
    venv.create(home, with_pip=True, clear=True)
    pip = [str(home / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", package]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise NotInstalledError(lines[-1] if lines else f"pip ended with {done.returncode}")
    mark.write_text(package)
    return home


def version(home: Path, package: str) -> str:
    """Return the version of an installed package."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run([home / "bin" / "python", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


async def closed_loop(people: Sequence[Person], count: int, save: Save) -> Outcome:
    """Let each person save ``count`` annotations, one after the other, everybody at the same time."""
    outcome = Outcome(len(people))

    async def work(who: int, person: Person) -> None:
        for item in range(count):
            text = f"note-{who}-{item}"
            reply = await save(person, who, item, text)
            if 200 <= reply.status < 300:
                outcome.latencies.add(reply.seconds)
                outcome.acknowledged.append(text)
            else:
                outcome.refused[reply.status] += 1

    began = time.perf_counter()
    await asyncio.gather(*(work(who, person) for who, person in enumerate(people)))
    outcome.seconds = time.perf_counter() - began
    for person in people:
        person.close()
    return outcome


def row(name: str, outcome: Outcome, kept: Counter[str], *, started: float, memory: float) -> str:
    """Return the table's row of one loop.

    Args:
        name: of the peer, with its version.
        outcome: of the loop.
        kept: texts found in the store afterwards.
        started: seconds until the server answered.
        memory: of the server afterwards, in MB.
    """
    done = len(outcome.acknowledged)
    lost = sum(kept[text] == 0 for text in outcome.acknowledged)
    twice = sum(kept[text] > 1 for text in outcome.acknowledged)
    trouble = f"; {sum(outcome.refused.values())} refused {dict(outcome.refused)}" if outcome.refused else ""
    measured = (
        f"{done / outcome.seconds:.1f} saves/s; {outcome.latencies.summary()}; after SIGKILL {lost} of {done} lost"
        f"{f', {twice} twice' if twice else ''}{trouble}; start {started:.1f} s, {memory:.0f} MB"
    )
    people = f"{outcome.annotators} annotator{'s' * (outcome.annotators > 1)}"
    return f"| {name}: {people} × {done // outcome.annotators} saves, closed loop | {measured} | |"


Plan = Sequence[tuple[int, int]]
"""Loops to be run: annotators, saves of each."""


def plans(description: str | None, usual: Plan) -> Plan:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--plan", nargs="*", metavar="ANNOTATORSxSAVES", help="for example 8x50")
    given = parser.parse_args().plan
    if not given:
        return usual
    return [(int(k), int(m)) for k, _, m in (plan.partition("x") for plan in given)]


def run(
    name: str,
    package: str,
    description: str | None,
    measure: Callable[[Path, str, int, int], str],
    plan: Plan,
) -> None:
    """Install a peer where it is missing and print a row per loop; one row says so when it does not install."""
    asked = plans(description, plan)
    try:
        home = environment(name, package)
    except NotInstalledError as error:
        print(f"| {package} | did not install here: {error} | |")
        return
    label = f"{package} {version(home, package)}"
    for annotators, count in asked:
        try:
            print(measure(home, label, annotators, count), flush=True)
        except (RuntimeError, OSError) as error:
            print(f"| {label} | installed, but was not measured: {str(error).splitlines()[-1]} | |")
            print(error, file=sys.stderr)
