"""The desk as a whole: opening, closing, reading as of one moment, names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from proctor.errors import UserError
from proctor.verify.desk.desk import Desk, new_pid
from proctor.verify.schema import tables
from proctor.verify.store import VerdictStore


def test_pids_are_long_random_and_safe_in_addresses() -> None:
    pids = {new_pid() for _ in range(2_000)}
    assert len(pids) == 2_000
    assert all(re.fullmatch("[a-z2-7]{16}", pid) for pid in pids)


def test_a_desk_and_a_store_of_verdicts_are_one_place(bench: Any, make_verdict: Any) -> None:
    bench.append([make_verdict("c", "ana", "+ +")])
    with VerdictStore.open(bench.target) as store:
        assert [v.annotator for v in store.latest()] == ["ana"]
        store.append(make_verdict("c", "ben", "-"))
    assert [v.annotator for v in bench.verdicts("c")] == ["ana", "ben"]


def test_a_reader_sees_one_moment(bench: Any, make_verdict: Any) -> None:
    if bench.desk.database.is_sqlite:
        with bench.desk.reading() as connection:
            first = len(connection.execute(tables().verdicts.select()).all())
            bench.append([make_verdict("c", "ana", "+ +")])
            assert len(connection.execute(tables().verdicts.select()).all()) == first
    assert len(bench.rows("verdicts")) == bench.desk.read(
        lambda c: len(c.execute(tables().verdicts.select()).all())
    )


def test_what_was_acknowledged_is_there_for_the_next_who_opens(bench: Any, make_verdict: Any) -> None:
    for n in range(20):
        bench.append([make_verdict("c", f"a{n}", "+ +")])
    other = bench.open()
    try:
        with other.reading() as connection:
            assert len(connection.execute(tables().verdicts.select()).all()) == 20
    finally:
        other.close()


def test_a_closed_desk_says_so(bench: Any) -> None:
    bench.desk.close()
    with pytest.raises(UserError, match="closed"):
        bench.desk.write(lambda c: None)
    bench.desk = bench.open()


def test_a_desk_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        Desk.open(tmp_path / "none.sqlite", secret=b"x", create=False)
    assert not (tmp_path / "none.sqlite").exists()


def test_a_write_that_fails_leaves_nothing_behind(bench: Any) -> None:
    def job(_desk: Any, c: Any) -> None:
        c.execute(tables().meta.insert(), {"key": "half", "value": "x"})
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        bench.do(job)
    assert not bench.rows("meta", key="half")
