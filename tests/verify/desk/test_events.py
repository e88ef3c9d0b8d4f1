"""The chain of events: an edit of any row shows."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.verify.desk.events import add_event, check_chain, list_events, look_back
from proctor.verify.schema import tables


def fill(bench: Any, n: int = 6) -> None:
    for number in range(n):
        bench.time += 1.25
        bench.do(
            lambda desk, c, k=number: add_event(
                desk, c, f"kind.{k}", f"s{k % 2}", "ana", number=k, text="ä€\x00"
            )
        )


def test_events_come_back_newest_first_a_page_at_a_time(bench: Any) -> None:
    fill(bench)
    events = bench.desk.read(list_events)
    assert [e.kind for e in events] == [f"kind.{k}" for k in reversed(range(6))]
    assert events[0].body == {"number": 5, "text": "ä€\x00"}
    assert events[0].at == bench.time
    page, _ = bench.desk.read(lambda c: look_back(c, before=events[2].id, limit=2))
    assert [e.kind for e in page] == ["kind.2", "kind.1"]
    assert [e.kind for e in bench.desk.read(lambda c: list_events(c, subject="s1"))] == [
        "kind.5",
        "kind.3",
        "kind.1",
    ]


def test_a_whole_chain_holds_and_an_empty_one_too(bench: Any) -> None:
    assert bench.desk.read(check_chain) == (0, None)
    fill(bench)
    assert bench.desk.read(check_chain) == (6, None)


@pytest.mark.parametrize(
    "change",
    [
        {"actor": "mallory"},
        {"kind": "kind.9"},
        {"subject": "other"},
        {"at": 1.0},
        {"body": '{"number":3,"text":"x"}'},
        {"digest": "0" * 64},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_row_is_found(bench: Any, change: dict[str, Any]) -> None:
    fill(bench)
    third = sorted(row.id for row in bench.rows("events"))[3]
    t = tables().events
    bench.do(lambda _desk, c: c.execute(t.update().where(t.c.id == third).values(**change)))
    assert bench.desk.read(check_chain)[1] == third


def test_a_removed_row_is_found_at_the_one_after_it(bench: Any) -> None:
    fill(bench)
    ids = sorted(row.id for row in bench.rows("events"))
    t = tables().events
    bench.do(lambda _desk, c: c.execute(t.delete().where(t.c.id == ids[2])))
    assert bench.desk.read(check_chain)[1] == ids[3]


def test_two_rows_that_change_places_are_found(bench: Any) -> None:
    fill(bench)
    rows = sorted(bench.rows("events"), key=lambda row: row.id)
    t = tables().events

    def swap(_desk: Any, c: Any) -> None:
        for row, other in ((rows[1], rows[2]), (rows[2], rows[1])):
            values = {k: getattr(other, k) for k in ("at", "actor", "kind", "subject", "body", "digest")}
            c.execute(t.update().where(t.c.id == row.id).values(**values))

    bench.do(swap)
    assert bench.desk.read(check_chain)[1] == rows[1].id


def test_events_of_one_transaction_that_fails_leave_no_gap_in_the_chain(bench: Any) -> None:
    fill(bench, 2)

    def broken(desk: Any, c: Any) -> None:
        add_event(desk, c, "lost", "s", "ana")
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        bench.do(broken)
    fill(bench, 2)
    assert bench.desk.read(check_chain) == (4, None)


def test_a_clock_that_is_set_back_breaks_nothing(bench: Any) -> None:
    fill(bench, 2)
    bench.time -= 1e6
    fill(bench, 2)
    assert bench.desk.read(check_chain) == (4, None)
