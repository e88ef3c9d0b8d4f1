"""Rounds of ordering from a file of sequences to tables, runs and references; and Label Studio both ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.typed import proctor

from proctor.datasets.sequence_files import read_sequences
from proctor.errors import UserError
from proctor.stages.order_people import read_people
from proctor.stages.rounds.opening import collect_round, open_round
from proctor.stages.rounds.order import authored, ordered_items
from proctor.stages.rounds.settings import AlternativesSettings, Collect, OrderSettings
from proctor.stages.sequence_items import import_sequences
from proctor.stages.studio import open_desk
from proctor.stages.study import BallotSettings, tally
from proctor.verify.desk import documents, people, rounds, work
from proctor.verify.rounds.alternatives import AlternativesSheet
from proctor.verify.rounds.order import OrderSheet
from proctor.workspace import Workspace

MANUALS = {
    "tea": "Boil.|Warm.|Pour.|Wait.|Serve.",
    "bed": "Strip.|Sheet.|Pillow.|Blanket.",
    "two": "In.|Out.",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lines = [json.dumps({"id": k, "task": k, "steps": v.split("|")}) for k, v in MANUALS.items()]
    (tmp_path / "manuals.jsonl").write_text("\n".join(lines))
    import_sequences(tmp_path / "manuals.jsonl", tmp_path / "bench", "text")
    return tmp_path / "bench"


def submit(root: Path, round_: str, who: str, sheets: dict[str, Any]) -> None:
    """Let somebody take a batch and submit a sheet for each item of it."""
    with open_desk(root) as desk:

        def job(connection: Any) -> None:
            documents.ensure_defaults(desk, connection, ())
            person = people.by_handle(desk, connection, who) or people.add(
                desk, connection, handle=who, name=who, role="annotator", actor="test", gate="open"
            )
            batch = rounds.open_batch(desk, connection, rounds.round_named(connection, round_), person)
            assert batch is not None
            while (pid := rounds.count_batch(connection, batch).following) is not None:
                assignment = work.own_assignment(connection, pid, person)
                item = rounds.round_of_task(connection, assignment.task_id)[1].group
                work.submit(
                    desk, connection, pid, person, sheet=sheets[item], rev=0, key=pid, active_ms=5000,
                    protocol=documents.protocol(connection),
                )  # fmt: skip

        desk.write(job).result()


def test_orders_become_the_peoples_file_runs_and_a_list_of_what_is_done_again(root: Path) -> None:
    with pytest.raises(UserError, match="no item 'soup'"):
        open_round(root, "order", OrderSettings(item=("soup",)))
    opened = open_round(root, "order", OrderSettings(people=3))
    assert (opened.tasks, opened.dropped) == ({"real": 2}, {"two-steps": 1})
    right = {id_: authored(item) for id_, item in ordered_items(Workspace(root)).items()}

    def said(turn: Any) -> dict[str, Any]:
        return {i: OrderSheet(order=turn(o), kept=True, values={"confidence": "4"}) for i, o in right.items()}

    submit(root, "order", "ana", said(lambda o: o))
    submit(root, "order", "ben", said(lambda o: (o[1], o[0], *o[2:])))
    submit(root, "order", "cat", said(lambda o: (*o[1:], o[0])))
    _, found = collect_round(root, Collect(round="order"))
    file = found.files[0]
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["submitted_order"] for line in lines if line["item_id"] == "bed"] == [
        [0, 1, 2, 3], [1, 0, 2, 3], [1, 2, 3, 0],
    ]  # fmt: skip
    assert all(line["presented"] != sorted(line["presented"]) and line["confidence"] == 4 for line in lines)
    figures: Any = found.figures
    assert figures.counts == {"orders": 6, "that count": 4, "batches set aside": 1}
    assert figures.numbers["text, agreement (tau)"].value == pytest.approx((0.8 + 2 / 3) / 2)
    (again,) = [line for line in found.lines if line.startswith("set aside")]
    assert again.endswith("--name again --item bed --item tea")
    assert "kendall" in proctor("score", root).out.casefold()
    table = proctor("study", "order-table", "people", "--sequences", root.parent / "manuals.jsonl", "--people", file)  # fmt: skip
    assert "censored" in table.out


def test_other_orders_become_references_and_votes(root: Path) -> None:
    open_round(root, "alternatives", AlternativesSettings(votes=True, item=("tea", "bed")))
    right = {id_: authored(item) for id_, item in ordered_items(Workspace(root)).items()}
    votes: dict[str, str | list[str]] = {"procedural": "yes", "complementary": "no"}
    swapped = tuple((o[1], o[0], *o[2:]) for o in (right["tea"],))
    none = AlternativesSheet(none=True, values=votes)
    for who in ("ana", "ben", "cat"):
        tea = none if who == "cat" else AlternativesSheet(lanes=swapped, values=votes)
        submit(root, "alternatives", who, {"tea": tea, "bed": none})
    _, found = collect_round(root, Collect(round="alternatives"))
    orders, sequences, ballots = found.files
    made = {s.id: s.orders("text") for s in read_sequences(sequences).sequences}
    assert made == {"tea": ((0, 1, 2, 3, 4), (1, 0, 2, 3, 4)), "bed": ((0, 1, 2, 3),), "two": ((0, 1),)}
    assert [d.reason for d in tally(BallotSettings(ballots=ballots)).dropped] == ["not-complementary"] * 2
    known = {s.id: s for s in read_sequences(root.parent / "manuals.jsonl").sequences}
    series = read_people(orders, known).series
    assert sorted(map(len, series["tea", "text"].values())) == [0, 1, 1]


def test_a_qualification_says_how_right_each_person_is(root: Path) -> None:
    open_round(root, "order", OrderSettings(people=1, item=("bed",), phase="qualification"))
    (item,) = (item for id_, item in ordered_items(Workspace(root)).items() if id_ == "bed")
    a, b, c, d = authored(item)
    submit(root, "order", "ana", {"bed": OrderSheet(order=(b, a, c, d), kept=True, values={"confidence": "4"})})  # fmt: skip
    _, found = collect_round(root, Collect(round="order"))
    assert found.lines[1].endswith(": 50% of places right")
    assert not (root / "runs").exists()


def test_label_studio_gets_tasks_and_gives_orders_back_in_both_shapes(root: Path) -> None:
    tasks = root.parent / "tasks.json"
    proctor("round", "order", root, "--label-studio", tasks)
    made = {task["data"]["item_id"]: task for task in json.loads(tasks.read_text())}
    assert "<Ranker" in (root.parent / "tasks.config.xml").read_text()
    shapes: list[Any] = []
    for id_, texts in MANUALS.items():
        ids = {step["body"]: step["id"] for step in made[id_]["data"]["steps"]}
        ranked = [ids[text] for text in texts.split("|")]
        wrapped = ranked if id_ == "tea" else {"rank": ranked}
        result = [
            {"type": "relation"},
            {"from_name": "order", "type": "ranker", "value": {"ranker": wrapped}},
        ]
        shapes.append({**made[id_], "annotations": [{"result": result, "completed_by": {"email": "a@b"}, "lead_time": 3.5}]})  # fmt: skip
    shapes[2]["annotations"][0]["result"][1]["value"]["ranker"] = ["1"]
    export = root.parent / "export.json"
    export.write_text(json.dumps([*shapes, {"data": {"item_id": "soup"}}, {"data": {}}]))
    known = {s.id: s for s in read_sequences(root.parent / "manuals.jsonl").sequences}
    found = read_people(export, known)
    assert {a.item.id: a.order for a in found.main} == {"tea": (0, 1, 2, 3, 4), "bed": (0, 1, 2, 3)}
    assert {a.record.seconds for a in found.main} == {3.5}
    assert sorted(d.reason for d in found.dropped) == ["no-permutation", "unknown-item", "unknown-item"]
