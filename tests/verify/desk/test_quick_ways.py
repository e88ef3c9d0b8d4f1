"""What a save does in few statements against the long way round, over random histories on both databases."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from proctor.errors import UserError
from proctor.verify.desk import cases, flow, work
from proctor.verify.desk.cases import take_over_verdicts
from proctor.verify.desk.events import check_chain
from proctor.verify.desk.items import get_item
from proctor.verify.desk.records import Sheet
from proctor.verify.desk.roster import dispute_resolved, release_case
from proctor.verify.schema import tables

SIGNS = ("right", "wrong")
ITEMS = tuple(f"i{n}" for n in [1, 2])


def _case_row(connection: Any, item_id: int) -> dict[str, Any] | None:
    table = tables().cases
    row = connection.execute(table.select().where(table.c.item_id == item_id)).first()
    return None if row is None else dict(row._mapping)


def _expected_case(old: Any, item_id: int, state: str, stands: Any, now: float) -> dict[str, Any] | None:
    """The rule of a case's row, told from the row that was there before."""
    decided = stands.adjudication is not None
    if state not in ("case", "held") and (old is None or not decided):
        return None
    same = old is not None and old["case_hash"] == stands.case.hash
    return {
        "item_id": item_id,
        "case_hash": stands.case.hash,
        "open_question": stands.case.question_init is None,
        "open_answers": sum(row.init is None for row in stands.case.rows),
        "may_add": stands.case.may_add,
        "opened_at": old["opened_at"] if same else now,
        "decided_at": now if decided else None,
    }


class History:
    """A project in which anything may happen, with every quick way compared with the slow one."""

    def __init__(self, bench: Any, a_pair: Any, seed: int, patch: pytest.MonkeyPatch) -> None:
        self.bench, self.random = bench, random.Random(seed)
        self.seen: Counter[str] = Counter()
        self.readers = bench.hire("ann", "ben", "cid")
        self.deciders = bench.hire("edda", "fritz", role="adjudicator")
        bench.sync(*(a_pair(name, "a", "b") for name in ITEMS))
        self.mine: list[tuple[str, Any]] = []
        for name in ITEMS:
            two = self.random.sample(self.readers, 2)
            self.mine += list(zip(bench.give(name, *two, at=self.random.randrange(3)), two, strict=True))
        self._watch(patch)

    def _watch(self, patch: pytest.MonkeyPatch) -> None:
        write, refresh = cases._write_case, cases.refresh_item

        def watched(desk: Any, connection: Any, item_id: int, state: str, stands: Any) -> None:
            old = _case_row(connection, item_id)
            write(desk, connection, item_id, state, stands)
            new = _case_row(connection, item_id)
            assert new == _expected_case(old, item_id, state, stands, desk.now())
            what = (
                "no case" if new is None else "the same" if old == {**new, "decided_at": None} else "a case"
            )
            self.seen[f"{state}: {what}"] += 1

        def refreshed(desk: Any, connection: Any, item_id: int, item: Any = None, slots: Any = None) -> str:
            if item is not None:
                assert item == get_item(connection, item_id)
            if slots is not None:
                slots, query = list(slots), cases._live_slots()
                found = [tuple(row) for row in connection.execute(query, {"item": item_id})]
                assert sorted(slots) == sorted(found)
            return refresh(desk, connection, item_id, item, slots)

        patch.setattr(cases, "_write_case", watched)
        patch.setattr(work, "refresh_item", refreshed)

    def submit(self, pid: str, person: Any) -> None:
        look = self.bench.look(pid, person)
        question = (
            self.random.choice(("right", "right", "right", "wrong")) if look.cards.question_open else None
        )
        valid = question != "wrong"
        sheet = Sheet(
            question=question,
            answers=tuple(self.random.choice(SIGNS) if valid else None for _ in look.cards.targets),
            own_answers=("mine",) if valid and self.random.random() < 0.1 else (),
        )
        if not valid:
            sheet = msgspec.structs.replace(sheet, answers=())
        key, protocol = f"key-{self.random.random()}", self.bench.protocol

        def job(desk: Any, c: Any) -> tuple[Any, str | None]:
            done = work.submit(
                desk, c, pid, person, sheet=sheet, rev=look.assignment.rev, key=key, protocol=protocol
            )
            slow = flow.next_work(desk, c, person, protocol, "judge") if done.stage == "judge" else None
            return done, slow

        done, slow = self.bench.do(job)
        self.seen[f"{done.stage} submitted"] += 1
        if done.stage == "judge":
            assert done.queued == slow
            self.seen["queued" if slow else "queue is empty"] += 1

    def undo(self, pid: str, person: Any) -> None:
        self.bench.undo(pid, person, rev=self.bench.look(pid, person).assignment.rev)
        self.seen["undone"] += 1

    def give_back(self, pid: str, person: Any) -> None:
        self.bench.do(work.cant_judge, pid, person, reason="other", note="no")
        self.seen["given back"] += 1

    def take_case(self, *_: Any) -> None:
        person = self.random.choice(self.deciders)
        pid = self.bench.next(person, "adjudicate")
        if pid is not None:
            self.mine.append((pid, person))

    def decide(self, *_: Any) -> None:
        person = self.random.choice(self.deciders)
        pid = self.bench.next(person, "adjudicate")
        if pid is not None:
            self.mine.append((pid, person))
            self.submit(pid, person)

    def coordinate(self, *_: Any) -> None:
        number = self.bench.item(self.random.choice(ITEMS)).id
        if self.random.random() < 0.5:
            self.bench.do(release_case, number, actor="cli")
        else:
            self.bench.do(dispute_resolved, number, reopen=self.random.random() < 0.5, actor="cli", note="so")
        self.seen["coordinated"] += 1

    def bring(self, *_: Any) -> None:
        verdicts = [v for v in self.bench.verdicts(self.random.choice(ITEMS)) if v.role == "annotator"]
        if verdicts and self.random.random() < 0.3:
            said = tuple(
                msgspec.structs.replace(a, value=self.random.choice(SIGNS)) for a in verdicts[0].answers
            )
            self.bench.append([msgspec.structs.replace(verdicts[0], annotator="elsewhere", answers=said)])
            self.bench.do(take_over_verdicts)
            self.seen["brought"] += 1

    def step(self) -> None:
        ways = (
            *[self.submit] * 5,
            *[self.decide] * 3,
            self.undo,
            self.take_case,
            self.coordinate,
            self.bring,
        )
        if self.random.random() < 0.04:
            ways = (self.give_back,)
        self.bench.time += self.random.choice((1.0, 1.0, 60.0, 3600.0))
        pid, person = self.random.choice(self.mine)
        try:
            self.random.choice(ways)(pid, person)
        except UserError:
            self.seen["refused"] += 1


@pytest.fixture
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as found:
        yield found


@pytest.mark.parametrize("seed", [1, 2])
def test_quick_ways_say_what_the_slow_ones_say(
    bench: Any, a_pair: Any, patch: pytest.MonkeyPatch, seed: int
) -> None:
    history = History(bench, a_pair, seed, patch)
    for _ in range(120):
        history.step()
    often = {"queued", "queue is empty", "case: a case", "settled: a case", "settled: the same", "undone"}
    assert often <= set(history.seen), history.seen
    count, broken = bench.desk.read(check_chain)
    assert count == len(bench.rows("events"))
    assert broken is None
