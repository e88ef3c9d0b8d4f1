"""Tables of people and alternative orders: worked values, and what files of people may hold."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests.typed import proctor

from proctor.errors import UserError
from proctor.stages.order_tables import OrderTable, OrderTableSettings, order_table

FIVE = [0, 1, 2, 3, 4]
SWAPPED = [1, 0, 2, 3, 4]
BACK = [0, 1, 2, 4, 3]


def _lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _sequences(references: dict[str, list[list[int]]], category: str = "") -> list[dict[str, Any]]:
    return [
        {"id": id_, "steps": list("abcde"), "category": category, "references": {"both": orders}}
        for id_, orders in references.items()
    ]


def _answer(item: str, worker: str, order: list[int] | None, **rest: Any) -> dict[str, Any]:
    return {"item_id": item, "worker_id": worker, "modality": "both", "submitted_order": order, **rest}


def _made(number: Any, sequences: Path, **rest: Any) -> OrderTable:
    return order_table(OrderTableSettings(number=number, sequences=sequences, **rest))


def _ours(table: OrderTable) -> list[tuple[float | None, ...]]:
    return [row.values for row in table.rows if row.corpus == "ours"]


def test_table_4_of_the_worked_instances(tmp_path: Path) -> None:
    rows = _sequences({"1": [], "2": [SWAPPED], "3": [SWAPPED], "4": []})
    orders = {"1": FIVE, "2": SWAPPED, "3": BACK, "4": FIVE[::-1]}
    predictions = _lines(tmp_path / "p.jsonl", [{"id": i, "order": o} for i, o in orders.items()])
    answers = [*(_answer(i, "w", o) for i, o in orders.items()), _answer("1", "v", SWAPPED)]
    people = _lines(tmp_path / "h.jsonl", answers)
    made = _made(
        "4", _lines(tmp_path / "s.jsonl", rows), predictions=(f"model={predictions}",), people=people
    )
    model, every, even = _ours(made)
    assert model == pytest.approx((2, 60, 50, 3, 60, 80, 0, 50, 3, 4, 60, 70, 25, 50, 3, 3.5, 50))
    assert every[11:15] == pytest.approx((68, 20, 40, 3))  # five orders of four manuals
    assert even[11:15] == pytest.approx((65, 12.5, 37.5, 2.75))
    # nobody can tell equal steps apart, neither a model nor people
    rows[1] |= {"steps": list("aacde"), "references": {}}
    alike = _made(
        "4", _lines(tmp_path / "s.jsonl", rows), predictions=(f"model={predictions}",), people=people
    )
    assert [values[12] for values in _ours(alike)] == [50, 40, 37.5]


def test_references_are_counted_with_the_deviation_of_the_population(tmp_path: Path) -> None:
    every = [list(o) for o in permutations(FIVE)][1:]
    rows = _sequences({str(n): every[:n] for n in (0, 1, 3, 5)})
    made = _made("5", _lines(tmp_path / "s.jsonl", rows), corpus="recipeqa")
    assert _ours(made)[0] == pytest.approx((3, 2, 6, 4, 1.632993, 3.25), abs=1e-6)
    assert _ours(made)[1] == (0, None, None, None, None, 1)


def test_categories_of_more_than_ten_and_where_people_are_ahead(tmp_path: Path) -> None:
    lines = []
    for category, n in (("A", 11), ("B", 12), ("C", 10)):
        lines += _sequences({f"{category}{k}": [SWAPPED] * (k < 2) for k in range(n)}, category)
    sequences = _lines(tmp_path / "s.jsonl", lines)
    rows = [r for r in _made("6", sequences).rows if r.corpus == "ours" and r.modality == "multimodal"]
    assert [(r.name, r.values) for r in rows] == [("A", (2, 2)), ("B", (2, 2))]
    people = _lines(tmp_path / "h.jsonl", [_answer(row["id"], "w", FIVE) for row in lines])
    orders = [{"id": row["id"], "order": SWAPPED if row["id"][0] == "A" else FIVE} for row in lines]
    page, predictions = tmp_path / "f.html", _lines(tmp_path / "p.jsonl", orders)
    given = ("--sequences", sequences, "--people", people, "--predictions", f"m={predictions}")
    found = proctor("study", "order-table", "fig3", *given, "--html", page)
    assert found.status == 0, found.err
    cells = [line.split()[-4:] for line in found.out.splitlines()[2:4]]
    assert cells == [["m:", "A", "100.00", "11"], ["m:", "B", "0.00", "12"]]
    assert "m: A (n = 11)" in page.read_text()
    assert proctor("study", "order-table", "4", *given, "--html", page).status == 2
    other = proctor("study", "order-table", "fig3", *given, "--modality", "text")
    assert (other.status, "more than 10 sequences" in other.err) == (2, True)


def test_what_people_say_is_checked_and_careless_assignments_are_listed(tmp_path: Path) -> None:
    sequences = _lines(tmp_path / "s.jsonl", _sequences({"1": [], "2": []}))
    rows = [
        _answer("1", "ann", FIVE, confidence=5, helped="both", presented=[4, 0, 1, 2, 3], assignment_id="a"),
        _answer("2", "ann", SWAPPED, confidence=4, helped="text", assignment_id="a"),
        _answer("1", "bob", FIVE, confidence=5, helped="both", assignment_id="b", seconds=7.5),
        _answer("2", "bob", FIVE, confidence=5, assignment_id="b"),
        _answer("1", "cay", [1, 2, 3, 4, 0], assignment_id="c", confidence=1),
        _answer("1", "ann", FIVE),
        _answer("1", "dan", [0, 1, 2, 3, 3]),
        _answer("1", "dan", [0, 1, 2, 3]),
        _answer("9", "dan", FIVE),
        _answer("1", "dan", FIVE, presented=[0, 0, 1, 2, 3]),
        _answer("1", "dan", None),
        _answer("1", "eve", FIVE) | {"modality": "image"},
        *(_answer("1", w, o, phase="alternative") for w, o in (("x", SWAPPED), ("y", SWAPPED), ("y", BACK), ("z", None))),
    ]  # fmt: skip
    people = _lines(tmp_path / "h.jsonl", rows)
    table = _made("8", sequences, people=people)
    assert _ours(table) == [pytest.approx((200 / 3, 100 / 3, 0, 0))]
    assert _ours(_made("9", sequences, people=people)) == [(75, 25, 0, 0, 0)]
    wrong = "no-permutation"
    assert [d.reason for d in table.dropped] == [
        "answered-twice",
        wrong,
        wrong,
        "unknown-item",
        wrong,
        wrong,
        "all-alike",
    ]
    (careless,) = table.censored
    assert (careless.assignment, careless.accuracy, careless.items) == ("c", 0.0, ("1",))
    assert "cay" not in careless.worker
    assert _ours(_made("agreement", sequences, people=people)) == [pytest.approx(((1 + 0.8) / 2, 0.2))]
    every, even = _ours(_made("people", sequences, people=people))
    assert every == even == pytest.approx((90, 75, 4.75, 4.5, 0.95, 0.5))
    for bad in (rows[0] | {"seconds": float("nan")}, rows[0] | {"confidence": 6}, rows[0] | {"helped": "no"}):
        _lines(people, [bad])
        with pytest.raises(UserError):
            _made("8", sequences, people=people)
