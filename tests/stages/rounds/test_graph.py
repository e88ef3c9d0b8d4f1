"""Rounds of task graphs: tasks out of texts, drafts and tables of edges; files, agreement and workspaces out of what people wrote."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from proctor.errors import UserError
from proctor.records import canonical_json
from proctor.stages.graph_induce import induce_graphs
from proctor.stages.graph_settings import InduceSettings
from proctor.stages.rounds.graph import collect, make
from proctor.stages.rounds.settings import GraphRoundSettings
from proctor.verify.rounds.graph import GraphSheet, GraphStep, GraphTask
from proctor.verify.rounds.records import Reading, Round, RoundSettings
from proctor.workspace import Workspace

TEXT = "Boil the water.\r\nChop the onion.\nPour the water over it."
STEPS = tuple(GraphStep(id=f"s{n}", text=t) for n, t in enumerate(("Boil the water", "Chop", "Pour"), 1))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "bench").mkdir()
    return Workspace(tmp_path / "bench")


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "onion_soup.txt").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    (folder / "notes.md").write_text("no")
    return folder


def tasks_of(made: Any) -> list[GraphTask]:
    return [msgspec.json.decode(task.body, type=GraphTask) for task in made.tasks]


def collected(workspace: Workspace, made: Any, sheets: dict[str, GraphSheet], out: Path | None = None) -> Any:
    (task,) = made.tasks
    options = msgspec.Raw(canonical_json(made.options))
    round_ = Round(
        id=1, pid="r", name="graphs", kind="graph", settings=RoundSettings(), options=options, state="open", created_at=0
    )  # fmt: skip
    readings = [
        Reading(
            round="graphs", kind="graph", task=task.name, person=person, batch="b", seconds=1, rev=1, at=0,
            sheet=msgspec.Raw(canonical_json(sheet)), body=task.body, counts=person != "out",
        )
        for person, sheet in sheets.items()
    ]  # fmt: skip
    return collect(workspace, round_, readings, out)


def sheet(*edges: str) -> GraphSheet:
    return GraphSheet(steps=STEPS, edges=tuple((f"s{e[0]}", f"s{e[1]}") for e in edges))


def test_texts_become_tasks(workspace: Workspace, texts: Path, tmp_path: Path) -> None:
    made = make(workspace, GraphRoundSettings(texts=texts))
    assert tasks_of(made) == [GraphTask(id="onion_soup", title="onion soup", text=TEXT.replace("\r\n", "\n"))]
    listed = tmp_path / "texts.jsonl"
    listed.write_text('{"id": "tea", "title": "Tea"}\n')
    assert tasks_of(make(workspace, GraphRoundSettings(texts=listed))) == [GraphTask(id="tea", title="Tea")]


@pytest.mark.parametrize(
    ("row", "words"),
    [({"id": "../up"}, "no id"), ({"id": "a", "text": "x" * 30_001}, "30,000"), ({}, "id"), (None, "nothing")],
)  # fmt: skip
def test_texts_that_are_refused(workspace: Workspace, tmp_path: Path, row: Any, words: str) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_text("" if row is None else json.dumps(row))
    with pytest.raises(UserError, match=words):
        make(workspace, GraphRoundSettings(texts=file))


def test_a_text_in_another_encoding_is_named(workspace: Workspace, texts: Path) -> None:
    (texts / "tea.txt").write_bytes("Grüner Tee".encode("latin-1"))
    with pytest.raises(UserError, match="no UTF-8"):
        make(workspace, GraphRoundSettings(texts=texts))


def test_texts_or_edges(workspace: Workspace, texts: Path) -> None:
    for settings in (GraphRoundSettings(), GraphRoundSettings(texts=texts, edges=texts)):
        with pytest.raises(UserError, match="either texts"):
            make(workspace, settings)


def test_a_model_drafts_or_the_task_has_no_proposals(
    workspace: Workspace, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import proctor.stages.models as models
    from proctor.llm.outcome import Reply

    draft = {
        "steps": [["Boil water", "Boil the water"], ["Pour", "no such words"], ["Chop", "Chop"]],
        "edges": [[1, 2, 0.9], [3, 2, 0.2], [1, 9, 1], [2, 2, 1]],
    }
    replies = [f"Steps: {json.dumps(draft)}", "I would rather not."]
    asked: list[Any] = []

    def ask(self: Any, name: str) -> Any:
        def asking(requests: Any) -> Any:
            for request in requests:
                asked.append(request)
                yield request, Reply(text=replies.pop(0))

        return asking

    monkeypatch.setattr(models.Models, "ask", ask)
    settings = GraphRoundSettings(texts=texts, draft="openai/gpt-4o")
    (task,) = tasks_of(make(workspace, settings))
    assert [(s.id, s.spans) for s in task.steps] == [("d1", ((0, 14),)), ("d2", ()), ("d3", ((16, 20),))]
    assert [(e.before, e.after, e.probability) for e in task.edges] == [("d3", "d2", 0.2), ("d1", "d2", 0.9)]
    assert "Chop the onion." in asked[0].messages[-1].parts[0].text
    made = make(workspace, settings)
    assert tasks_of(made)[0].steps == ()
    assert [d.reason for d in made.dropped] == ["no_draft"]


def test_two_authors_give_graphs_agreement_and_a_plain_folder(
    workspace: Workspace, texts: Path, tmp_path: Path
) -> None:
    from proctor.datasets.dataset import load_dataset

    made = make(workspace, GraphRoundSettings(texts=texts, write=True))
    out = tmp_path / "out"
    sheets = {"p1": sheet("13", "23"), "p2": sheet("13"), "out": sheet("31")}
    found = collected(workspace, made, sheets, out)
    assert {p.relative_to(out).as_posix() for p in found.files} == {
        "activities/onion_soup.json", "agreement.json", "disagreements.csv",
    }  # fmt: skip
    figures = json.loads((out / "agreement.json").read_text())
    assert figures["counts"] == {"graphs": 1, "steps": 3, "edges that all agree on": 1, "disagreements": 1}
    assert figures["numbers"]["onion_soup, p1 and p2, edge F1"]["value"] == pytest.approx(0.8)
    with (out / "disagreements.csv").open(encoding="utf-8-sig", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["before"], row["after"], row["text"], row["said_by"]) == ("s2", "s3", "Chop → Pour", "p1")
    # the folder is a plain one once there is a recording
    (out / "recordings").mkdir()
    segments = [{"step": "s1", "start": 0, "end": 5}, {"step": "s3", "start": 6, "end": 9}]
    record = {"id": "r1", "activity": "onion_soup", "duration": 20, "segments": segments}
    (out / "recordings" / "r1.json").write_text(json.dumps(record))
    read = load_dataset("plain").read(out, "corrected")
    assert read.graphs["onion_soup"].edges == (("s1", "s3"),)
    # and in the workspace, where a later round of ours may change it, and nobody else's
    assert workspace.graphs()["onion_soup"].edges == (("s1", "s3"),)
    assert "1 graphs are in the workspace" in found.lines[-1]
    collected(workspace, made, {"p1": sheet("12")}, out)
    assert workspace.graphs()["onion_soup"].edges == (("s1", "s2"),)
    workspace.record("round graph", settings={"settled": []}, counts={})
    assert "1 that came with the data" in collected(workspace, made, {"p1": sheet("13")}).lines[-1]
    assert workspace.graphs()["onion_soup"].edges == (("s1", "s2"),)


def test_inferred_edges_are_reviewed_and_go_back_to_induce(workspace: Workspace, tmp_path: Path) -> None:
    source, review, out = tmp_path / "tea.json", tmp_path / "review.csv", tmp_path / "out"
    orders = [["boil", "=leaf", "pour"], ["boil", "=leaf", "pour"], ["=leaf", "boil", "pour"]]
    source.write_text(json.dumps({"steps": {i: f"Do {i}" for i in orders[0]}, "performances": orders}))
    induce_graphs(InduceSettings(source=source, review=review))
    made = make(workspace, GraphRoundSettings(edges=review))
    (task,) = tasks_of(made)
    assert task.fixed
    assert {s.text for s in task.steps} == {"Do boil", "Do =leaf", "Do pour"}
    pairs = [(e.before, e.after) for e in task.edges]
    taken = next(p for p in pairs if "pour" in p)
    rest = tuple(p for p in pairs if p != taken)
    sheets = {name: GraphSheet(edges=(taken,), refused=rest) for name in ("p1", "p2")}
    files = collected(workspace, made, sheets, out).files
    assert out / "edges.csv" in files
    found = induce_graphs(InduceSettings(source=source, reviewed=out / "edges.csv"))
    assert {(e.before, e.after) for e in found.edges} == {tuple(i.lstrip("'") for i in taken)}
    # where people differ, nothing is decided
    collected(workspace, made, {**sheets, "p3": GraphSheet(refused=tuple(pairs))}, out)
    with (out / "edges.csv").open(encoding="utf-8-sig", newline="") as file:
        decisions = [row["decision"] for row in csv.DictReader(file)]
    assert decisions.count("") == 1
    bad = review.read_text("utf-8-sig").replace("0.", "many.", 1)
    review.write_text(bad)
    with pytest.raises(UserError, match="float"):
        make(workspace, GraphRoundSettings(edges=review))
