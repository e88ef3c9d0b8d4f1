"""Start of the studio and every page of it with 100,000 items in the store: server time, and what a client waits.

Every GET route of the table is asked for, by the least role that may see it: pages of an assignment by its annotator, the
others by the owner. Server time is the ``app`` of the header ``Server-Timing``, from the first to the last byte of the
application's own doing. The store holds the work of eight people, each with some items judged (see ``--judged``).

Run: python benchmarks/studio/pages.py [--items 100000] [--judged 2000] [--rounds 20] [--keep FOLDER] (about three
minutes). With ``--keep`` the project is made in that folder, and taken from there by the next run.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import re
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec
import site_under_test
import workplace
from latency import quantile
from process import memory_mb, server, usage
from site_under_test import HOST, Site
from wire import Person

from proctor.stages.studio import open_desk
from proctor.studio.routes import ROUTES

ANNOTATORS = 8
STARTS = 5
APP = re.compile(r"\bapp;dur=([0-9.]+)")
AGAIN = re.compile(r"\d+; url=(.*)")
LIMIT = 50.0
LOOK = 0.25
LONGEST = 120.0


class Page(NamedTuple):
    """One address: the route that it stands for, the address, and whose session asks."""

    route: str
    path: str
    token: str


class Timing(NamedTuple):
    """Milliseconds of one page: of the server (none when it does not say), of the client; statuses; bytes.

    ``ready``: seconds until what it has worked out beside it was there; ``again``: where it looks by itself.
    """

    app: list[float]
    client: list[float]
    statuses: set[int]
    size: int
    ready: float | None
    again: str = ""


def pages(site: Site, judged: int) -> list[Page]:
    """Return an address for every GET route whose parameters are known here."""
    people = site.people
    with closing(sqlite3.connect(site.target)) as connection:
        item = connection.execute(
            "SELECT pid FROM proctor_items WHERE agreement = 'answers' LIMIT 1"
        ).fetchone()
        person = connection.execute(
            "SELECT pid FROM proctor_people WHERE role = 'annotator' LIMIT 1"
        ).fetchone()
    known = {"/w/": people.queues[0][judged], "/items/": item and item[0], "/people/": person[0]}
    found = []
    for route in ROUTES():
        if route.method != "GET":
            continue
        path = route.path
        if "{" in path:
            pid = next((value for prefix, value in known.items() if path.startswith(prefix)), None)
            if pid is None:
                continue
            path = re.sub(r"\{[a-z_:]+\}", str(pid), path, count=1)
        if "{" not in path:
            own = route.permission == "own-assignment"
            found.append(Page(route.path, path, people.tokens[0] if own else people.owner))
    return [*found, Page("/ (an annotator)", "/", people.tokens[0])]


def nothing_dealt(site: Site, folder: Path) -> tuple[Site, Page]:
    """Return a copy of the project in which all items wait to be dealt, and the page that previews the whole deal."""
    target = str(folder / "undealt.sqlite")
    Path(target).unlink(missing_ok=True)
    with closing(sqlite3.connect(site.target)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)
        other.execute("UPDATE proctor_items SET state = 'undealt'")
        other.commit()
        found = other.execute("SELECT pid FROM proctor_people WHERE role = 'annotator'").fetchall()
    command = tuple(target if part == site.target else part for part in site.command)
    form = [("preview", "1"), ("policy", "everything"), ("per_item", "2"), ("stratum", "type")]
    query = urlencode([*form, *(("person", pid) for (pid,) in found)])
    page = Page("/deal (preview of all items)", f"/deal?{query}", site.people.owner)
    return dataclasses.replace(site, target=target, command=command), page


async def ask(site: Site, page: Page, rounds: int) -> Timing:
    """Ask for a page several times over one connection; the first reply is not counted.

    A page that has something worked out beside it and looks again by itself is followed until that is ready, and asked for
    once more as often: all its replies count.
    """
    person = Person(HOST, site.port, {site.cookie: page.token}, {"Accept": "text/html"})
    timing = Timing([], [], set(), 0, None)
    began = time.perf_counter()
    for turn in range(rounds + 1):
        timing = await once(person, page.path, timing, counts=turn > 0)
    if timing.again:
        while timing.again:
            if time.perf_counter() - began > LONGEST:
                raise RuntimeError(f"{page.path} was not ready after {LONGEST:g} s")
            await asyncio.sleep(LOOK)
            timing = await once(person, timing.again, timing, counts=True)
        timing = timing._replace(ready=time.perf_counter() - began)
        for _ in range(rounds):
            timing = await once(person, page.path, timing, counts=True)
    person.close()
    return timing


async def once(person: Person, path: str, so_far: Timing, *, counts: bool) -> Timing:
    """Ask once and return the timing with this reply."""
    reply = await person.request("GET", path)
    so_far.statuses.add(reply.status)
    found = APP.search(reply.headers.get("server-timing", ""))
    if counts:
        so_far.client.append(1000 * reply.seconds)
        so_far.app.extend([float(found[1])] if found else [])
    again = AGAIN.fullmatch(reply.headers.get("refresh", ""))
    return so_far._replace(size=len(reply.body), again=again[1] if again else "")


def row(page: Page, timing: Timing) -> str:
    """Return the row of a page."""
    client = f"client p50 {quantile(timing.client, 0.5):.1f}, p95 {quantile(timing.client, 0.95):.1f} ms"
    app = "the server does not say"
    if timing.app:
        app = f"server p50 {quantile(timing.app, 0.5):.1f}, p95 {quantile(timing.app, 0.95):.1f} ms"
    status = "" if timing.statuses == {200} else f"; status {', '.join(map(str, sorted(timing.statuses)))}"
    ready = "" if timing.ready is None else f"; worked out beside it within {timing.ready:.1f} s"
    return f"| `GET {page.route}` | {app}; {client}; {timing.size / 1024:.0f} kB{status}{ready} | server < {LIMIT:.0f} ms |"


def project(folder: Path, items: int, judged: int) -> Site:
    """Return the project of a folder; made there when it is not there yet, or is another one."""
    note = folder / "site.json"
    wanted = {"items": items, "judged": judged}
    if note.exists():
        known = msgspec.json.decode(note.read_bytes())
        if known["made"] == wanted:
            return msgspec.convert(known["site"], Site, dec_hook=lambda _type, value: Path(value))
        raise SystemExit(f"{folder} holds a project of {known['made']}; give another folder")
    target = str(folder / "verdicts.sqlite")
    site = site_under_test.build(folder, target, items=items, annotators=ANNOTATORS, saves=judged + 1)
    with open_desk(site.workspace, target) as desk:
        workplace.judge(desk, site.people, each=judged)
    note.write_bytes(msgspec.json.encode({"made": wanted, "site": site}, enc_hook=str))
    return site


@contextmanager
def place(keep: Path | None) -> Iterator[Path]:
    """Yield a folder that stays, or one that goes."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as name:
        yield Path(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument(
        "--judged", type=int, default=2_000, help="items that each of eight people have judged"
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="", help="measure only routes in which these letters stand")
    parser.add_argument("--keep", type=Path, help="folder in which the project stays for the next run")
    given = parser.parse_args()
    with place(given.keep) as folder:
        site = project(folder, given.items, given.judged)
        starts, used = [], []
        for _ in range(STARTS):
            with server(site.command, site.port, folder) as (process, seconds):
                starts.append(seconds)
                used.append(usage(process.pid).cpu)
        print(
            f"| start with {given.items:,} items until `/healthz` answers, median of {STARTS} | "
            f"{statistics.median(starts):.2f} s (worst {max(starts):.2f}; {statistics.median(used):.2f} s CPU) | < 2 s |",
            flush=True,
        )
        with server(site.command, site.port, folder) as (process, _):
            for page in pages(site, given.judged):
                if given.only not in page.route:
                    continue
                print(row(page, asyncio.run(ask(site, page, given.rounds))), flush=True)
            print(f"| memory of the server after all pages | {memory_mb(process.pid):.0f} MB | |")
        other, page = nothing_dealt(site, folder)
        if given.only in page.route:
            with server(other.command, other.port, folder):
                print(row(page, asyncio.run(ask(other, page, given.rounds))), flush=True)
        Path(other.target).unlink()


if __name__ == "__main__":
    main()
