"""Rounds on both databases: quotas, leases, variants, what is kept, taken back and given back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from proctor.errors import UserError
from proctor.verify.desk import people, rounds, work
from proctor.verify.desk.records import ConflictError, GoneError, InvalidError
from proctor.verify.rounds import kind as kinds
from proctor.verify.rounds.form import Field, FormKind, FormSheet
from proctor.verify.rounds.kind import NoOptions
from proctor.verify.rounds.records import RoundSettings, Task


class Said(msgspec.Struct, frozen=True):
    text: str


class Plain(FormKind[Said, NoOptions]):
    name, title, detail = "plain", "Say yes or no", "Read and say."
    task, options = Said, NoOptions

    def fields(self, task: Said, options: NoOptions) -> list[Field]:
        return [Field(name="good", label=task.text)]


KIND = Plain()


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kinds._KINDS, "plain", f"{__name__}:KIND")


class Hall:
    """A desk with rounds."""

    def __init__(self, bench: Any) -> None:
        self.bench = bench
        self.desk = bench.desk
        self.count = 0

    def do(self, function: Any, *args: Any, **more: Any) -> Any:
        return self.desk.write(lambda c: function(self.desk, c, *args, **more)).result(60)

    def begin(self, tasks: int | list[Task] = 4, name: str = "r", **settings: Any) -> Any:
        made = (
            [a_task(f"t{n}", stratum="ab"[n % 2]) for n in range(tasks)] if isinstance(tasks, int) else tasks
        )
        return self.do(
            rounds.add_round, name=name, kind="plain", tasks=made, settings=RoundSettings(**settings),
            options=NoOptions(), actor="x",
        )  # fmt: skip

    def hire(self, role: str = "annotator") -> Any:
        self.count += 1
        handle = f"p{self.count}"
        return self.do(people.add, handle=handle, name=handle, role=role, actor="x", gate="open")

    def take(self, round_: Any, person: Any) -> Any:
        return self.do(rounds.open_batch, round_, person)

    def work_of(self, person: Any) -> list[Any]:
        rows = self.bench.rows("assignments", person_id=person.id, live=True)
        return sorted(rows, key=lambda row: row.queue_pos)

    def submit(self, pid: str, person: Any, value: str = "yes", rev: int = 0, key: str = "") -> Any:
        sheet = FormSheet(values={"good": value})
        raw = msgspec.Raw(msgspec.json.encode(sheet))
        return self.do(
            work.submit, pid, person, sheet=raw, rev=rev, key=key or f"key {pid} {rev}", active_ms=1500
        )

    def names(self, person: Any) -> list[str]:
        tasks = {row.id: row.name for row in self.bench.rows("tasks")}
        return [tasks[row.task_id] for row in self.work_of(person)]

    def readings(self, round_: Any) -> list[Any]:
        return self.desk.read(lambda c: list(rounds.read_readings(c, round_)))


def a_task(name: str, **more: Any) -> Task:
    return Task(name=name, body=msgspec.Raw(msgspec.json.encode(Said(f"Is {name} good?"))), **more)


@pytest.fixture
def hall(bench: Any) -> Iterator[Hall]:
    return Hall(bench)


def test_a_batch_is_done_and_collected(hall: Hall) -> None:
    round_, ana = hall.begin(3, wanted=1), hall.hire()
    batch = hall.take(round_, ana)
    assert hall.take(round_, ana) == batch  # a second tab goes on with the same
    for n, row in enumerate(hall.work_of(ana)):
        done = hall.submit(row.pid, ana, "no" if n else "yes")
        assert (done.stage, done.queued is None) == ("task", n == 2)
    assert hall.bench.rows("batches")[0].state == "complete"
    found = hall.readings(round_)
    assert [(r.task, r.person, r.seconds, r.rev) for r in found] == [
        (f"t{n}", ana.pid, 1.5, 1) for n in range(3)
    ]
    assert Counter(msgspec.json.decode(r.sheet)["values"]["good"] for r in found) == {"no": 2, "yes": 1}
    assert hall.take(round_, hall.hire()) is None


def test_nobody_gets_beyond_the_quota_when_all_come_at_once(hall: Hall) -> None:
    round_ = hall.begin(12, wanted=2, batch=5)
    crowd = [hall.hire() for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda p: hall.take(round_, p), crowd))
    had = Counter(row.task_id for row in hall.bench.rows("assignments", live=True))
    assert set(had.values()) == {2}
    assert len(had) == 12
    assert sum(map(len, map(hall.names, crowd))) == 24


def test_b5_when_the_time_is_over_others_get_what_is_missing(hall: Hall) -> None:
    round_, ana, ben = hall.begin(4, wanted=1, lease_minutes=90), hall.hire(), hall.hire()
    hall.take(round_, ana)
    first, *rest = hall.work_of(ana)
    hall.submit(first.pid, ana)
    assert hall.take(round_, ben) is None
    hall.bench.time += 100 * 60  # past the lease, in the minutes of grace
    hall.submit(rest[0].pid, ana)
    hall.bench.time += 10 * 60
    with pytest.raises(ConflictError, match="ran out"):
        hall.submit(rest[1].pid, ana)
    hall.take(round_, ben)
    assert sorted(hall.names(ben)) == sorted({"t0", "t1", "t2", "t3"} - set(hall.names(ana)))
    with pytest.raises(GoneError):
        hall.submit(rest[1].pid, ana)
    for row in hall.work_of(ben):
        hall.submit(row.pid, ben)
    assert sorted(r.task for r in hall.readings(round_)) == ["t0", "t1", "t2", "t3"]
    # Who comes back finds nothing left, and keeps what they had done.
    assert hall.take(round_, ana) is None
    assert {b.state for b in hall.bench.rows("batches")} == {"expired", "complete"}


def test_tests_and_checks_are_mixed_in_and_have_no_quota(hall: Hall) -> None:
    tasks = [*(a_task(f"t{n}") for n in range(6)), *(a_task(f"x{n}", role="test") for n in range(2))]
    round_ = hall.begin([*tasks, a_task("c0", role="attention")], wanted=1, batch=2, tests=2, attention=1)
    for _ in range(3):
        person = hall.hire()
        hall.take(round_, person)
        names = hall.names(person)
        assert sorted(n[0] for n in names) == ["c", "t", "t", "x", "x"]
        assert names[0][0] == names[-1][0] == "t"


def test_d3_another_variant_only_after_some_days_and_d4_not_in_both_rounds(hall: Hall) -> None:
    forms = [
        a_task(f"{g}-{v}", group=g, variant=v) for g in ("g0", "g1", "g2") for v in ("both", "text", "image")
    ]
    round_, ana = hall.begin(forms, wanted=1, rest_days=7), hall.hire()
    other = hall.begin([a_task("alt", group="g0")], name="alternatives", not_rounds=("r",))
    seen: list[str] = []
    for _ in range(3):
        hall.take(round_, ana)
        mine = [row for row in hall.work_of(ana) if row.state == "open"]
        for row in mine:
            hall.submit(row.pid, ana)
        assert len(mine) == 3
        hall.bench.time += 6 * 86400
        assert hall.take(round_, ana) is None
        hall.bench.time += 2 * 86400
        seen = hall.names(ana)
    assert len(set(seen)) == 9
    assert hall.take(other, ana) is None
    assert hall.take(other, hall.hire()) is not None


def test_what_is_submitted_twice_taken_back_or_changed(hall: Hall) -> None:
    round_, ana = hall.begin(1, wanted=1), hall.hire()
    hall.take(round_, ana)
    (row,) = hall.work_of(ana)
    assert hall.submit(row.pid, ana, key="same key").again is False
    assert hall.submit(row.pid, ana, key="same key").again is True
    with pytest.raises(ConflictError, match="other contents"):
        hall.submit(row.pid, ana, "no", key="same key")
    with pytest.raises(ConflictError) as stale:
        hall.submit(row.pid, ana, "no", rev=0, key="another")
    assert stale.value.theirs == FormSheet(values={"good": "yes"})
    protocol = hall.bench.protocol
    hall.do(work.undo, row.pid, ana, rev=1, protocol=protocol)
    assert hall.bench.rows("batches")[0].state == "open"
    assert hall.readings(round_) == []
    hall.submit(row.pid, ana, "no", rev=1)
    assert [r.rev for r in hall.readings(round_)] == [2]
    assert len(hall.bench.rows("responses")) == 2
    hall.do(rounds.set_state, round_, "closed", actor="x")
    with pytest.raises(ConflictError, match="closed"):
        hall.submit(row.pid, ana, "yes", rev=2)


def test_what_cannot_be_done_is_held_for_the_coordinator(hall: Hall) -> None:
    round_, ana, ben = hall.begin(2, wanted=1), hall.hire(), hall.hire()
    hall.take(round_, ana)
    first, second = hall.work_of(ana)
    hall.do(work.cant_judge, first.pid, ana, reason="media")
    hall.submit(second.pid, ana)
    assert hall.bench.rows("batches")[0].state == "complete"
    assert hall.take(round_, ben) is None
    ((task, why),) = hall.desk.read(lambda c: rounds.progress(c, round_)).held
    assert why.startswith("The clip")
    hall.do(rounds.give_out_again, round_, task.pid, actor="x")
    assert hall.take(round_, ana) is None  # not to whom could not do it
    assert hall.take(round_, ben) is not None


def test_drafts_of_tasks_are_of_their_kind(hall: Hall) -> None:
    round_, ana, ben = hall.begin(1), hall.hire(), hall.hire()
    hall.take(round_, ana)
    (row,) = hall.work_of(ana)
    save = {"client_id": "c", "seq": 1, "base": 0}
    hall.do(work.save_draft, row.pid, ana, sheet=msgspec.Raw(b'{"values":{"good":"no"}}'), **save)
    for bad in (b'{"question":"right"}', b'{"values":7}', b"[]", b"{"):
        with pytest.raises(InvalidError):
            hall.do(work.save_draft, row.pid, ana, sheet=msgspec.Raw(bad), **{**save, "seq": 2})
    with pytest.raises(GoneError):
        hall.do(work.save_draft, row.pid, ben, sheet=FormSheet(), **save)
    with pytest.raises(InvalidError):
        hall.submit(row.pid, ana, "perhaps")
    found = hall.desk.read(lambda c: work.load_task(c, work.own_assignment(c, row.pid, ana)))
    assert found.draft.sheet == FormSheet(values={"good": "no"})
    assert found.asked.body == Said("Is t0 good?")


def test_people_of_a_platform_are_known_again_and_their_ids_kept_apart(hall: Hall) -> None:
    first = hall.do(rounds.worker, "5f3a", study="s", session="1")
    again = hall.do(rounds.worker, "5f3a", study="s", session="2")
    assert first.id == again.id
    assert first.role == "worker"
    (kept,) = hall.bench.rows("platform_ids")
    assert (kept.platform_id, kept.session) == ("5f3a", "1")
    assert "5f3a" not in repr(hall.bench.rows("people")) + repr(hall.bench.rows("events"))
    assert first.id not in {p.id for p in hall.bench.see(people.list_people)}


@pytest.mark.parametrize(
    ("name", "tasks", "says"),
    [
        ("", 2, "1 to 80"),
        ("r\n", 2, "1 to 80"),
        ("r", [], "no tasks"),
        ("r", [a_task("t", role="test")], "no tasks"),
        ("r", [a_task("t"), a_task("t")], "is there twice"),
        ("taken", 2, "already"),
    ],
)
def test_rounds_that_cannot_begin(hall: Hall, name: str, tasks: Any, says: str) -> None:
    hall.begin(1, name="taken")
    with pytest.raises(UserError, match=says):
        hall.begin(tasks, name=name)
    assert len(hall.bench.rows("rounds")) == 1
