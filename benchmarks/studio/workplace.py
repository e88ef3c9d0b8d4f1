"""A studio that people can begin to work in: items, people with sessions, everything dealt.

Sessions are opened in the store, so that a load needs no passwords: signing in costs 50 ms of CPU on purpose.
"""

from __future__ import annotations

import hashlib
import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec

from proctor.exam.question import Open, Question
from proctor.stages.studio import sync_desk
from proctor.verify.desk import documents, people, rounds, work
from proctor.verify.desk.desk import Desk, new_pid
from proctor.verify.desk.records import Person, Sheet
from proctor.verify.rounds.kind import task_kind
from proctor.verify.rounds.order import OrderTask, Step
from proctor.verify.rounds.rate import RateTask
from proctor.verify.rounds.records import RoundSettings, Task
from proctor.verify.schema import tables

ACTOR = people.COMMAND_LINE
CHUNK = 5_000
TOGETHER = 500
ORDERED = 10
"""Steps of a task of ordering, called ``s0``, ``s1``, …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Who works where.

    Attributes:
        tokens: of each annotator's session.
        owner: token of somebody who may see every page.
        queues: pids of each annotator's assignments, in order.
        cards: how many answers each assignment shows.
    """

    tokens: tuple[str, ...]
    owner: str
    queues: tuple[tuple[str, ...], ...]
    cards: dict[str, int]


def furnish(desk: Desk, root: Path, *, annotators: int, saves: int, tasks: str = "") -> Workplace:
    """Fill an empty desk.

    Args:
        desk: of the store; nothing is in it.
        root: of the workspace, with candidates as ``material.write_workspace`` makes them.
        annotators: how many people.
        saves: assignments of each that there must be at least.
        tasks: kind of tasks that are done instead of items (``rate``, ``order``).

    Raises:
        ValueError: if the items do not give everybody so many.
    """
    sync_desk(root, desk)
    persons = [_person(desk, f"person{n}", "annotator") for n in range(annotators)]
    owner = _person(desk, "owner", "owner")
    queues, cards = _begin_round(desk, persons, tasks, saves) if tasks else _deal(desk, persons)
    if min(map(len, queues)) < saves:
        raise ValueError(f"somebody got {min(map(len, queues))} items, {saves} are asked for")
    tokens = [_session(desk, person) for person in (*persons, owner)]
    return Workplace(tokens=tuple(tokens[:-1]), owner=tokens[-1], queues=queues, cards=cards)


def _person(desk: Desk, handle: str, role: str) -> Person:
    def make(connection: Any) -> Person:
        person = people.add(desk, connection, handle=handle, name=handle, role=role, actor=ACTOR, gate="open")
        people.consent_given(desk, connection, person, 1)
        people.guideline_ticked(desk, connection, person, 1)
        return person

    return desk.write(make).result()


def _session(desk: Desk, person: Person) -> str:
    token = secrets.token_urlsafe(32)
    digest = hashlib.sha256(token.encode()).hexdigest()
    desk.write(lambda c: people.open_session(desk, c, digest, person, agent="bench")).result()
    return token


def _deal(desk: Desk, persons: Sequence[Person]) -> tuple[tuple[tuple[str, ...], ...], dict[str, int]]:
    """Give every item to a pair; pairs take turns. Rows are written directly: dealing is not what is measured here."""
    t, a = tables().items, tables().assignments
    pairs = list(combinations(range(len(persons)), 2))
    queues: list[list[str]] = [[] for _ in persons]
    cards: dict[str, int] = {}

    def write(connection: Any) -> None:
        found = connection.execute(t.select().with_only_columns(t.c.id, t.c.body).order_by(t.c.id)).all()
        now, rows = desk.now(), []
        for n, (item_id, body) in enumerate(found):
            answers = len(msgspec.json.decode(body)["proposals"])
            for slot, who in enumerate(pairs[n % len(pairs)]):
                pid = new_pid()
                rows.append(
                    {
                        "pid": pid,
                        "item_id": item_id,
                        "person_id": persons[who].id,
                        "stage": "judge",
                        "slot": slot,
                    }
                    | {"state": "open", "live": True, "queue_pos": len(queues[who]), "created_at": now}
                )
                queues[who].append(pid)
                cards[pid] = answers
        for begin in range(0, len(rows), CHUNK):
            connection.execute(a.insert(), rows[begin : begin + CHUNK])
        connection.execute(t.update().values(state="judging", wanted=2))

    desk.write(write).result()
    return tuple(map(tuple, queues)), cards


def _begin_round(
    desk: Desk, persons: Sequence[Person], kind: str, each: int
) -> tuple[tuple[tuple[str, ...], ...], dict[str, int]]:
    """Give everybody a batch of tasks, by the desk's own rules."""
    body: msgspec.Struct
    if kind == "rate":
        question = Question(id="q", kind="documents", text="What is stirred before it is used?", form=Open())
        body = RateTask(question=question, answer="The curd.", style="one source")
    else:
        body = OrderTask(
            steps=tuple(Step(id=f"s{n}", text=f"Step {n}") for n in range(ORDERED)), shows="text"
        )
    raw = msgspec.Raw(msgspec.json.encode(body))
    tasks = [Task(name=f"t{n}", body=raw) for n in range(len(persons) * each)]
    settings = RoundSettings(wanted=1, batch=each)
    options = task_kind(kind).options()
    given = {
        "name": kind,
        "kind": kind,
        "tasks": tasks,
        "settings": settings,
        "options": options,
        "actor": ACTOR,
    }
    round_ = desk.write(lambda c: rounds.add_round(desk, c, **given)).result()
    a, queues = tables().assignments, []
    for person in persons:
        batch = desk.write(lambda c, p=person: rounds.open_batch(desk, c, round_, p)).result()
        assert batch is not None
        query = a.select().where(a.c.batch_id == batch.id).order_by(a.c.queue_pos)
        queues.append(tuple(row.pid for row in desk.read(lambda c, q=query: c.execute(q).all())))
    return tuple(queues), {pid: 0 for queue in queues for pid in queue}


def judge(desk: Desk, workplace: Workplace, *, each: int, seed: int = 1) -> None:
    """Let everybody have judged the first ``each`` items of their list, by the desk's own rules, without a server.

    The people are found by their sessions; the load goes on at ``queues[…][each]``.
    """
    dice = random.Random(seed)
    protocol = desk.read(documents.protocol)
    for token, queue in zip(workplace.tokens, workplace.queues, strict=True):
        digest = hashlib.sha256(token.encode()).hexdigest()
        found = desk.read(lambda c, digest=digest: people.find_session(desk, c, digest))
        assert found is not None
        for begin in range(0, each, TOGETHER):
            sheets = [
                (pid, _sheet(dice, workplace.cards[pid]))
                for pid in queue[begin : min(begin + TOGETHER, each)]
            ]

            def submit(connection: Any, person: Person = found[1], sheets: Any = sheets) -> None:
                for pid, sheet in sheets:
                    work.submit(
                        desk,
                        connection,
                        pid,
                        person,
                        sheet=sheet,
                        rev=0,
                        key=f"before-{pid}",
                        protocol=protocol,
                    )

            desk.write(submit).result()


def _sheet(dice: random.Random, cards: int) -> Sheet:
    if dice.random() < 0.1:
        return Sheet(question="wrong")
    return Sheet(
        question="right",
        answers=tuple(dice.choice(("right", "right", "right", "wrong")) for _ in range(cards)),
    )
