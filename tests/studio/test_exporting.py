"""What leaves the studio is complete, the same every time, and harmless in a spreadsheet."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.spreadsheet import safe_cell
from proctor.studio.exporting import EXPORTS, find_export, list_exports, make_export, write_export
from proctor.verify.desk import work
from proctor.verify.desk.documents import Protocol
from proctor.verify.desk.records import GoneError, InvalidError, Sheet
from proctor.verify.policy import Policy


@pytest.fixture
def done(office: Any) -> Any:
    """Two people have judged four items: the last one's question is in conflict."""
    from proctor.verify.desk import roster

    office.sync(4)
    two = [office.hire("ana"), office.hire("ben")]
    plan = office.desk.read(lambda c: roster.plan_deal(office.desk, c, two, Policy()))
    office.do(roster.apply_deal, plan, actor="cli")
    for person in two:
        for row in office.open_work(person):
            last = office.rows("items", id=row.item_id)[0].candidate_id == "c003"
            sheet = Sheet(question="right", answers=("right", "wrong"), own_answers=("=1+1",) if last else ())
            if last and person.handle == "ben":
                sheet = Sheet(question="wrong")
            office.do(work.submit, row.pid, person, sheet=sheet, rev=0, key="k" * 9, protocol=Protocol())
    return office


@given(st.text(max_size=30))
def test_no_cell_begins_a_formula(text: str) -> None:
    cell = safe_cell(text)
    assert cell in (text, f"'{text}")
    assert not cell.lstrip(" \u00a0\ufeff").startswith(("=", "+", "-", "@", "\t", "\r"))


def test_published_holds_what_was_accepted(done: Any, tmp_path: Path) -> None:
    assert write_export(done.desk, "published", tmp_path / "out.json") == 3
    objects = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert [o["question_id"] for o in objects] == ["c000", "c001", "c002"]
    for number, one in enumerate(objects):
        assert one["answers"] == [f"Stir {number}."]
        assert one["answer_tags"] == ["machine"]
        assert [j["answers"] for j in one["verification"]["judges"]] == [[True, False]] * 2
        assert one["adjudication"]["init"]["question"] is True
        assert "judge" not in one["adjudication"]


def test_rows_hold_every_response_under_random_ids(done: Any, tmp_path: Path) -> None:
    count = write_export(done.desk, "rows", tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == count
    by_table: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_table.setdefault(row["table"], []).append(row)
    assert len(by_table["response"]) == len(by_table["verdict"]) == 8
    assert len(by_table["answer_judgement"]) == 14
    assert [r["text"] for r in by_table["own_answer"]] == ["=1+1"]
    assert {r["state"] for r in by_table["item"]} == {"settled", "case"}
    assert len(by_table["case"]) == 1
    text = (tmp_path / "out.jsonl").read_text("utf-8")
    assert all(word not in text for word in ('"Ana"', '"Ben"', '"ana"', '"ben"', "password"))


def test_the_table_is_safe(done: Any, tmp_path: Path) -> None:
    count = write_export(done.desk, "csv", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == count == 8 + 14 + 1
    assert [r["text"] for r in rows if r["what"] == "own answer"] == ["'=1+1"]


@pytest.mark.parametrize("kind", list(EXPORTS))
def test_the_same_bytes_every_time(done: Any, tmp_path: Path, kind: Any) -> None:
    for name in ("one", "two"):
        write_export(done.desk, kind, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_exports_are_listed_with_who_and_what(done: Any, tmp_path: Path) -> None:
    made = make_export(done.desk, "csv", tmp_path / "x", actor="me", project="../Käse & Co")
    assert made.file_name.startswith("k-se-co-csv-")
    assert done.desk.read(list_exports) == [made]
    assert done.desk.read(lambda c: find_export(c, made.pid)) == made
    assert done.events("export")[0].actor == "me"
    with pytest.raises(GoneError):
        done.desk.read(lambda c: find_export(c, "none"))
    with pytest.raises(InvalidError):
        make_export(done.desk, "xml", tmp_path / "x", actor="me")
