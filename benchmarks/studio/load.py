"""The studio under load: many annotators save at once, and everything that was acknowledged is looked for afterwards.

A save is what the page does for one item: a draft (PUT), then the submit (POST); both are measured by themselves. In the
closed loop nobody thinks, so the server is always busy and a reply waits for the others'; paced people think between two
requests, as real ones do, only faster. The load comes from a light process of its own (``annotators.py``).

Run: python benchmarks/studio/load.py [--case 8x500] [--database sqlite|postgresql] [--think 0.5] [--items 100000] [--bare]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import site_under_test
from check import examine
from latency import Latencies, Summary
from postgres import NoPostgresError, postgres
from process import Usage, free_port, server, usage

HERE = Path(__file__).resolve().parent
USUAL = ((8, 500, 0.0), (50, 500, 0.0), (50, 40, 1.0))
"""Annotators, saves of each, mean seconds of thinking."""
TASKS = ((8, 500, 0.0, "rate"), (8, 500, 0.0, "order"))
"""The same with sheets of tasks, and their kind."""
TARGET = {8: "p95 < 20 ms, last tenth like the first, nothing lost", 50: "nothing lost"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is played.

    Attributes:
        annotators: at work at the same time.
        saves: of each.
        think: mean seconds between two requests of a person.
        database: ``sqlite``, ``postgresql`` or ``bare`` (no studio at all: see bare.py).
        items: in the store; as many as the saves need when 0.
        pages: fetch the page of each item, too.
        tasks: kind of tasks whose sheets are saved, in place of verified items.
    """

    annotators: int
    saves: int
    think: float = 0.0
    database: str = "sqlite"
    items: int = 0
    pages: bool = False
    tasks: str = ""

    @property
    def name(self) -> str:
        """The beginning of a row."""
        store = {
            "sqlite": "SQLite",
            "postgresql": "PostgreSQL",
            "bare": "no studio, one row and one flush a request",
        }
        how = f"thinking {self.think:g} s" if self.think else "closed loop"
        many = f", {self.items:,} items" if self.items else ""
        saves = {"rate": "ratings of samples", "order": "orders of 10 steps"}.get(self.tasks, "saves")
        return f"{self.annotators} annotators × {self.saves} {saves}, {store[self.database]}, {how}{many}"


def play(folder: Path, plan: dict[str, Any]) -> dict[str, Any]:
    """Let annotators work in a process of their own; return their result.

    Raises:
        RuntimeError: if it failed.
    """
    asked, told = folder / "plan.json", folder / "result.json"
    asked.write_text(json.dumps(plan))
    command = [sys.executable, str(HERE / "annotators.py"), str(asked), str(told)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise RuntimeError(f"the annotators' process ended with {done.returncode}")
    result: dict[str, Any] = json.loads(told.read_text())
    return result


def summary(result: dict[str, Any], kind: str) -> Summary:
    """Return what is said of one kind of request."""
    latencies = Latencies()
    latencies.seconds = array("d", result["latencies"].get(kind, ()))
    return latencies.summary()


def rows(case: Case, result: dict[str, Any], verdict: str, used: Usage) -> Iterator[str]:
    """Yield the rows of one case: one for each kind of request."""
    saves = len(result["acknowledged"])
    trouble = [*result["stopped"][:1], *result["complaints"][:1]]
    if result["refused"] or result["cut"]:
        trouble.append(f"refused {result['refused']}, cut {result['cut']}")
    told = [
        f"{saves / result['wall']:.0f} saves/s",
        f"{1000 * used.cpu / max(saves, 1):.1f} ms CPU of the server each",
        f"it waited for a core {100 * used.waited / result['wall']:.0f}% of the time",
        verdict,
    ]
    target = TARGET.get(case.annotators, "") if case.database != "bare" else ""
    yield f"| {case.name} | {'; '.join([*told, *trouble])} | {target} |"
    for kind in sorted(result["latencies"]):
        yield f"| – {kind} | {summary(result, kind)} | |"


@contextmanager
def store(database: str, folder: Path) -> Iterator[str]:
    """Yield where an empty store may be made."""
    if database == "postgresql":
        with postgres() as url:
            yield url
    else:
        yield str(folder / "verdicts.sqlite")


def measure(case: Case) -> list[str]:
    """Play one case against a fresh store and server, check the store, return the rows."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="proctor-bench-")))
        if case.database == "bare":
            return _measure_bare(case, folder)
        target = stack.enter_context(store(case.database, folder))
        site = site_under_test.build(
            folder,
            target,
            items=case.items or (64 if case.tasks else enough_items(case.annotators, case.saves)),
            annotators=case.annotators,
            saves=case.saves,
            tasks=case.tasks,
        )
        with server(site.unlimited, site.port, folder) as (process, _):
            before = usage(process.pid)
            result = play(folder, {**site.plan(case.saves), "think": case.think, "pages": case.pages})
            used = usage(process.pid) - before
        found = examine(target, result["acknowledged"], result["unanswered"], tasks=bool(case.tasks))
        return list(rows(case, result, str(found), used))


def _measure_bare(case: Case, folder: Path) -> list[str]:
    port = free_port()
    queues = [[f"p{who}x{n}" for n in range(case.saves)] for who in range(case.annotators)]
    following = {a: b for queue in queues for a, b in pairwise(queue)}
    (folder / "queues.json").write_text(json.dumps(following))
    command = [
        sys.executable,
        str(HERE / "bare.py"),
        str(port),
        str(folder / "bare.sqlite"),
        str(folder / "queues.json"),
    ]
    plan = {
        "host": "127.0.0.1",
        "port": port,
        "people": [{"cookies": {"s": "x" * 43}, "first": queue[0]} for queue in queues],
        "cards": {pid: 3 for queue in queues for pid in queue},
        "saves": case.saves,
        "think": case.think,
    }
    with server(command, port, folder) as (process, _):
        before = usage(process.pid)
        result = play(folder, plan)
        used = usage(process.pid) - before
    client = 1000 * result["cpu"] / len(result["acknowledged"])
    return list(rows(case, result, f"{client:.1f} ms CPU of the load itself each", used))


def enough_items(annotators: int, saves: int) -> int:
    """Return how many items, each for two people, give everybody so many, whatever pairs come last."""
    return -(-annotators * saves // 2) + annotators * annotators


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", nargs="*", metavar="ANNOTATORSxSAVES", default=[])
    parser.add_argument("--database", nargs="*", choices=("sqlite", "postgresql", "bare"))
    parser.add_argument(
        "--think", type=float, default=0.0, help="mean seconds between two requests of a person"
    )
    parser.add_argument("--items", type=int, default=0, help="in the store (as many as needed when 0)")
    parser.add_argument(
        "--tasks", choices=("rate", "order"), default="", help="sheets of tasks, not of items"
    )
    parser.add_argument("--pages", action="store_true", help="fetch the page of each item, too")
    given = parser.parse_args()
    plain = [(int(k), int(m), given.think) for k, _, m in (case.partition("x") for case in given.case)]
    databases = given.database or (["bare", "sqlite", "postgresql"] if not plain else ["sqlite"])
    for database in databases:
        usual = USUAL[:1] if database == "bare" else (*USUAL, *TASKS)
        for annotators, saves, think, *kind in plain or usual:
            case = Case(
                annotators=annotators,
                saves=saves,
                think=think,
                database=database,
                items=given.items,
                pages=given.pages,
                tasks=kind[0] if kind else given.tasks,
            )
            try:
                print("\n".join(measure(case)), flush=True)
            except NoPostgresError as error:
                print(f"| {case.name} | not measured: {error} | |")


if __name__ == "__main__":
    main()
