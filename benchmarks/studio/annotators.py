"""Annotators at their screens, played over HTTP in a light process of their own: drafts, submits, retries with the same key.

It imports nothing but the standard library and its two neighbours, because it shares the cores with the server. Who sits
there, with which session, and how many cards each assignment shows comes in a plan; everything that was measured and
acknowledged goes out as a result. Both are JSON (see ``Plan`` and ``play``).

Run: python benchmarks/studio/annotators.py PLAN RESULT (started by load.py and fault_load.py). It says "at work" when it begins.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import signal
import sys
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from latency import Latencies
from wire import Person, Reply, WireError

JSON = {"Content-Type": "application/json"}
OUTAGE = 300.0
"""Seconds for which a person goes on trying before giving up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be played.

    Attributes:
        host: of the server.
        port: of the server.
        people: for each person ``{"cookies": {…}, "first": pid of the first assignment}``.
        cards: how many answers each assignment shows, by pid.
        saves: of each person.
        think: mean seconds between two requests of a person (exponential); 0 for none.
        pages: fetch the page of each assignment first, as a browser does.
        retry: send again, with the same key, what was not answered.
        seed: of sheets, keys and thinking.
        tasks: kind of the sheets: ``rate``, ``order``, or those of the verification page where it is empty.
    """

    host: str
    port: int
    people: list[dict[str, Any]]
    cards: dict[str, int]
    saves: int
    think: float = 0.0
    pages: bool = False
    retry: bool = False
    seed: int = 1
    tasks: str = ""


@dataclass
class Room:
    """What happened.

    Attributes:
        latencies: of answered requests, by kind.
        acknowledged: for each acknowledged submit: pid, key, rev, sheet.
        unanswered: key by pid of each submit that was sent and never answered: it may be in the store or not.
        refused: answers that were no success, by kind and status.
        cut: requests that ended without an answer.
        outages: seconds from a cut request until it was answered.
        drafts_checked: drafts looked for after an outage.
        drafts_lost: of them, those that had been acknowledged and were not there.
        complaints: the first few refusals in full.
    """

    latencies: dict[str, Latencies] = field(default_factory=dict)
    acknowledged: list[dict[str, Any]] = field(default_factory=list)
    unanswered: dict[str, str] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    outages: list[float] = field(default_factory=list)
    drafts_checked: int = 0
    drafts_lost: int = 0
    complaints: list[str] = field(default_factory=list)

    def note(self, kind: str, reply: Reply) -> bool:
        """Take down a reply; say whether it was a success."""
        if not 200 <= reply.status < 300:
            self.refused[f"{kind} {reply.status}"] += 1
            if len(self.complaints) < 5:
                self.complaints.append(f"{kind} {reply.status}: {reply.body[:300].decode(errors='replace')}")
            return False
        self.latencies.setdefault(kind, Latencies()).add(reply.seconds)
        return True


class RefusedError(Exception):
    """A request that must succeed was refused; the person stops."""


@dataclass
class Desk:
    """One person at work."""

    plan: Plan
    room: Room
    person: Person
    who: int
    first: str
    dice: random.Random

    async def work(self) -> None:
        """Judge one item after the other, going where the server sends them."""
        pid, client = self.first, f"tab-{self.who}"
        for number in range(self.plan.saves):
            if pid not in self.plan.cards:
                raise RefusedError(
                    f"person {self.who} was sent to {pid!r} after {number} of {self.plan.saves}"
                )
            pid = await self._one(pid, client, number)

    async def _one(self, pid: str, client: str, number: int) -> str:
        if self.plan.pages:
            await self._think()
            await self._must("page", "GET", f"/w/{pid}")
        sheet = self._sheet(pid, number)
        key = str(uuid.UUID(int=self.dice.getrandbits(128), version=4))
        await self._think()
        draft = {"client_id": client, "seq": number + 1, "base": 0, "sheet": sheet, "active_ms": 900}
        await self._must("draft", "PUT", f"/w/{pid}/draft", draft)
        await self._think()
        body = {"client_id": client, "sheet": sheet, "active_ms": 1800}
        headers = {"Idempotency-Key": key, "If-Match": '"0"'}
        self.room.unanswered[pid] = key
        reply = await self._must("submit", "POST", f"/w/{pid}/submit", body, headers, look=(pid, sheet))
        del self.room.unanswered[pid]
        told = json.loads(reply.body)
        self.room.acknowledged.append({"pid": pid, "key": key, "rev": told["rev"], "sheet": sheet})
        return str(told["next"]).removeprefix("/w/")

    def _sheet(self, pid: str, number: int) -> dict[str, Any]:
        note = f"note {self.who}.{number}.{pid}"
        if self.plan.tasks == "rate":
            asked = ("style", "relevance", "answerability", "correctness")
            values = {name: self.dice.choice(("yes", "no")) for name in asked}
            return {"values": {"fluency": str(self.dice.randint(1, 5)), **values}, "note": note}
        if self.plan.tasks == "order":
            order = [f"s{n}" for n in range(1, 10)]
            self.dice.shuffle(order)
            moves = [[name, n, n + 1] for n, name in enumerate(order)]
            return {"order": [*order, "s0"], "moves": moves, "values": {"confidence": "4"}, "note": note}
        right = self.dice.random() < 0.8
        answers = [
            self.dice.choice(("right", "right", "wrong")) if right else None
            for _ in range(self.plan.cards[pid])
        ]
        own = [f"own answer {self.who}.{number}"] if right and self.dice.random() < 0.2 else []
        return {
            "question": "right" if right else "wrong",
            "reasons": [],
            "answers": answers,
            "own_answers": own,
            "note": note,
        }

    async def _think(self) -> None:
        if self.plan.think:
            await asyncio.sleep(self.dice.expovariate(1 / self.plan.think))

    async def _must(
        self,
        kind: str,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        look: tuple[str, dict[str, Any]] | None = None,
    ) -> Reply:
        """Send until it is answered; a refusal ends the person's work."""
        data = b"" if body is None else json.dumps(body).encode()
        lost_at: float | None = None
        while True:
            try:
                if lost_at is not None and look is not None:
                    await self._draft_is_there(*look)
                    look = None
                reply = await self.person.request(method, path, data, {**JSON, **(headers or {})})
            except WireError as error:
                self.room.cut += 1
                lost_at = lost_at or time.perf_counter()
                if not self.plan.retry or time.perf_counter() - lost_at > OUTAGE:
                    raise RefusedError(f"{kind}: {error}") from error
                await asyncio.sleep(0.1)
                continue
            if not self.room.note(kind, reply):
                raise RefusedError(f"{kind} was refused with {reply.status}")
            if lost_at is not None:
                self.room.outages.append(time.perf_counter() - lost_at)
            return reply

    async def _draft_is_there(self, pid: str, sheet: dict[str, Any]) -> None:
        """After an outage: what was acknowledged as a draft stands, as the draft or as what was submitted."""
        reply = await self.person.request("GET", f"/w/{pid}/state")
        if not self.room.note("state", reply):
            raise RefusedError(f"the state was refused with {reply.status}")
        state = json.loads(reply.body)
        draft, submitted = (state.get("draft") or {}).get("sheet"), state.get("submitted") or {}
        self.room.drafts_checked += 1
        self.room.drafts_lost += draft != sheet and submitted.get("note") != sheet["note"]


async def play(plan: Plan) -> dict[str, Any]:
    """Let everybody work at the same time; return what ``Room`` holds, and seconds (``wall``, ``cpu``) and ``stopped``.

    A signal to end (SIGTERM) lets everybody stop where they are; what was acknowledged until then is returned.
    """
    room, stopped = Room(), []
    desks = []
    origin = f"http://{plan.host}:{plan.port}"
    headers = {"Origin": origin, "Sec-Fetch-Site": "same-origin", "User-Agent": "proctor-bench"}
    for who, entry in enumerate(plan.people):
        person = Person(plan.host, plan.port, dict(entry["cookies"]), dict(headers))
        desks.append(Desk(plan, room, person, who, entry["first"], random.Random(plan.seed * 1000 + who)))
    for desk in desks:
        with contextlib.suppress(WireError):
            await desk.person.request("GET", "/healthz")  # the first save does not wait for its connection
    print("at work", flush=True)
    everybody = [asyncio.ensure_future(desk.work()) for desk in desks]
    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError):
        loop.add_signal_handler(signal.SIGTERM, lambda: [task.cancel() for task in everybody])
    began, used = time.perf_counter(), time.process_time()
    for outcome in await asyncio.gather(*everybody, return_exceptions=True):
        if isinstance(outcome, RefusedError):
            stopped.append(str(outcome))
        elif isinstance(outcome, BaseException) and not isinstance(outcome, asyncio.CancelledError):
            raise outcome
    return {
        "wall": time.perf_counter() - began,
        "cpu": time.process_time() - used,
        "latencies": {kind: list(each.seconds) for kind, each in room.latencies.items()},
        "acknowledged": room.acknowledged,
        "unanswered": room.unanswered,
        "refused": room.refused,
        "cut": room.cut,
        "outages": room.outages,
        "drafts_checked": room.drafts_checked,
        "drafts_lost": room.drafts_lost,
        "complaints": room.complaints,
        "stopped": stopped,
    }


def main() -> None:
    plan = Plan(**json.loads(Path(sys.argv[1]).read_text()))
    result = asyncio.run(play(plan))
    Path(sys.argv[2]).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
