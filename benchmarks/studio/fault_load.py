"""The studio killed under load: SIGKILL at random moments, started again, everything acknowledged looked for afterwards.

Annotators work without thinking and send again, with the same key, whatever got no answer. After each outage they look whether
the draft that had been acknowledged is still there. In the end every acknowledged save must be in the store exactly once, no
other response may be there, and the chain of events must hold.

Run: python benchmarks/studio/fault_load.py [--kills 20] [--seed 1] [--annotators 8] [--saves 500] [--database sqlite]
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import site_under_test
from check import Findings, examine
from latency import quantile
from load import HERE, enough_items, store
from process import kill, server

from proctor.stages.studio import open_desk
from proctor.verify.desk.events import check_chain

SHORTEST, LONGEST = 0.05, 2.0
"""Seconds between a start that answers and the next kill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is done.

    Attributes:
        annotators: at work.
        saves: of each.
        kills: SIGKILLs while they work.
        seed: of the moments.
        database: ``sqlite`` or ``postgresql``.
    """

    annotators: int = 8
    saves: int = 500
    kills: int = 20
    seed: int = 1
    database: str = "sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Survived:
    """What came of it.

    Attributes:
        kills: that happened while somebody worked.
        result: of the annotators (see annotators.py).
        found: in the store.
        broken_event: number of the first event that does not fit the one before it; None when all do.
    """

    kills: int
    result: dict[str, Any]
    found: Findings
    broken_event: int | None

    @property
    def sound(self) -> bool:
        """True when nothing was lost, doubled, altered or refused."""
        calm = not self.result["refused"] and not self.result["stopped"] and not self.result["drafts_lost"]
        return self.found.sound and calm and self.broken_event is None


def survive(fault: Fault) -> Survived:
    """Play it and look."""
    dice = random.Random(fault.seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="proctor-bench-")))
        target = stack.enter_context(store(fault.database, folder))
        items = enough_items(fault.annotators, fault.saves)
        site = site_under_test.build(
            folder, target, items=items, annotators=fault.annotators, saves=fault.saves
        )
        asked, told = folder / "plan.json", folder / "result.json"
        asked.write_text(json.dumps({**site.plan(fault.saves), "retry": True, "seed": fault.seed}))
        command = [sys.executable, str(HERE / "annotators.py"), str(asked), str(told)]
        people: subprocess.Popen[bytes] | None = None
        kills = 0
        try:
            while people is None or people.poll() is None:
                with server(site.unlimited, site.port, folder) as (process, _):
                    people = people or _begin(command)
                    _wait(people, dice.uniform(SHORTEST, LONGEST) if kills < fault.kills else None)
                    if people.poll() is None:
                        kill(process)
                        kills += 1
        finally:
            if people is not None and people.poll() is None:
                people.kill()
        result = json.loads(told.read_text())
        with open_desk(site.workspace, target, create=False) as desk:
            _, broken = desk.read(check_chain)
        return Survived(
            kills=kills,
            result=result,
            found=examine(target, result["acknowledged"], result["unanswered"]),
            broken_event=broken,
        )


def _begin(command: list[str]) -> subprocess.Popen[bytes]:
    """Start the annotators' process; returns when they are at work."""
    people = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert people.stdout is not None
    people.stdout.readline()
    return people


def _wait(people: subprocess.Popen[bytes], seconds: float | None) -> None:
    give_up = None if seconds is None else time.monotonic() + seconds
    while people.poll() is None and (give_up is None or time.monotonic() < give_up):
        time.sleep(0.01)


def row(fault: Fault, survived: Survived) -> str:
    """Return the row."""
    result = survived.result
    chain = (
        "the chain of events holds"
        if survived.broken_event is None
        else f"event {survived.broken_event} does not fit"
    )
    told = [
        f"{survived.kills} kills; {survived.found}",
        f"{result['cut']} requests cut and sent again",
        f"{result['drafts_lost']} of {result['drafts_checked']} acknowledged drafts lost",
        f"back after p50 {quantile(result['outages'], 0.5):.1f} s",
        chain,
        *result["stopped"][:1],
        *result["complaints"][:1],
    ]
    name = "SQLite" if fault.database == "sqlite" else "PostgreSQL"
    people = f"{fault.annotators} annotators × {fault.saves} saves"
    return (
        f"| SIGKILL under load, {people}, {name}, seed {fault.seed} | {'; '.join(told)} | all there, once |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("annotators", "saves", "kills", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Fault(), name))
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    fault = Fault(**vars(parser.parse_args()))
    survived = survive(fault)
    print(row(fault, survived))
    if not survived.sound:
        sys.exit("something was lost, doubled or refused")


if __name__ == "__main__":
    main()
