"""Task graphs as JSON: Proctor's own shapes, CaptainCook4D's, and strictness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.datasets.interchange.graph_json import parse_captaincook, parse_own, render_captaincook
from proctor.datasets.interchange.graphs import load_graph_drafts
from proctor.datasets.interchange.reading import parse_json
from proctor.errors import UserError
from proctor.procedure.graph import Step, TaskGraph
from proctor.workspace import Workspace

TEA = {
    "id": 7,
    "name": "Tea",
    "steps": [
        {"id": 1, "text": "Boil"},
        {"id": "2", "text": "Pour", "after": [1]},
        {"id": 3, "text": "Drink"},
    ],
    "edges": [["Pour", "Drink"], [1, 2]],
    "end": "Drink",
}


def test_the_file_of_a_plain_folder_is_read() -> None:
    (draft,) = parse_own(json.dumps(TEA).encode(), "f", "x").objects
    assert draft.edges == (("2", "3"), ("1", "2"))
    assert (draft.id, draft.name, draft.start, draft.end) == ("7", "Tea", None, "3")
    assert draft.build()["2"].text == "Pour"


def test_plain_samples_of_the_tests_are_read(tests_data: Path) -> None:
    from proctor.datasets.plain.read import load_folder

    folder = tests_data / "plain_valid"
    known = load_folder(folder).graphs
    read = [
        load_graph_drafts(p)[1].objects[0].build() for p in sorted((folder / "activities").glob("*.json"))
    ]
    assert {g.id: g for g in read} == known


def test_the_graphs_of_a_workspace_are_read(tmp_path: Path, diamond: TaskGraph, twins: TaskGraph) -> None:
    Workspace(tmp_path).write_graphs({"g": diamond, "twins": twins})
    name, found = load_graph_drafts(tmp_path / "graphs.json")
    assert name == "graph-json"
    assert [d.build() for d in found.objects] == [diamond, twins]


def test_a_text_that_two_steps_have_names_neither() -> None:
    value = {"id": "g", "steps": [{"id": "a", "text": "x"}, {"id": "b", "text": "x"}], "edges": [["x", "b"]]}
    (draft,) = parse_own(json.dumps(value).encode(), "f", "x").objects
    assert draft.edges == (("x", "b"),)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "there is no graph"),
        ([], "there is no graph"),
        ("x", "Expected `object`"),
        ({**TEA, "colour": 1}, "colour"),
        ({**TEA, "steps": [{"id": 1}]}, "missing required field `text`"),
        ({**TEA, "edges": [[1]]}, "length"),
        ({**TEA, "edges": [[1.5, 2]]}, "float"),
        ({"8": TEA}, "under '8' has the id '7'"),
    ],
)
def test_other_shapes_are_refused(value: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(UserError) as error:
        load_graph_drafts(path)
    assert message in str(error.value)


# -- CaptainCook4D -----------------------------------------------------------------------------------------------


def test_ids_that_fit_stay() -> None:
    graph = TaskGraph(
        "mug", "Mug", (Step("0", "START"), Step("12", "x"), Step("9", "y"), Step("40", "END")),
        (("0", "12"), ("0", "9"), ("12", "40"), ("9", "40")), "0", "40",
    )  # fmt: skip
    data, lost = render_captaincook([graph])
    assert json.loads(data)["edges"] == [[0, 12], [0, 9], [12, 40], [9, 40]]
    assert [d.reason for d in lost] == ["graph_name"]
    assert parse_captaincook(data, "f", "mug").objects[0].build().steps == graph.steps


def test_other_ids_are_numbered_and_ends_are_added(branches: TaskGraph) -> None:
    data, lost = render_captaincook([branches])
    value = json.loads(data)
    assert value["steps"] == {
        "0": "START", "1": "do a1", "2": "do a2", "3": "do b1", "4": "do b2", "5": "do z", "6": "END",
    }  # fmt: skip
    assert [0, 1] in value["edges"]
    assert [5, 6] in value["edges"]
    assert {d.id: d.detail for d in lost if d.reason == "step_id"}["b1"] == "became 3"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"steps": {}, "edges": []}', "no steps"),
        ('{"steps": {"a": "x"}, "edges": []}', "step id 'a' is not a number"),
        ('{"steps": {"1": "x", "1": "y"}, "edges": []}', "the key '1' occurs twice"),
        ('{"steps": {"1": 5}, "edges": []}', "Expected `str`"),
        ('{"steps": {"1": "x"}, "edges": [[1, NaN]]}', "NaN is not a JSON number"),
        ('{"steps": {"1": "\\ud800"}, "edges": []}', "half of a character"),
        ('{"steps": {"1": "x"}, "edges": [[1, ' + "9" * 5_000 + "]]}", "not readable as JSON"),
    ],
)
def test_broken_files_are_told(text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        parse_captaincook(text.encode(), "f", "x")
    assert message in str(error.value)


def test_a_byte_order_mark_is_no_harm_and_whole_pairs_are_characters() -> None:
    assert parse_json(b'\xef\xbb\xbf{"a": "\\ud83c\\udf75"}', "f") == {"a": "🍵"}


@pytest.mark.shared
def test_all_graphs_of_captaincook4d_are_those_of_the_reader(shared_data: Path) -> None:
    from proctor.datasets.captaincook4d import read_graphs

    root = shared_data / "captaincook4d"
    known = read_graphs(root)
    assert len(known) == 24
    for path in sorted((root / "task_graphs").glob("*.json")):
        name, found = load_graph_drafts(path)
        assert name == "captaincook4d-graph"
        assert found.objects[0].build() == known[path.stem]
        data, lost = render_captaincook([known[path.stem]])
        assert json.loads(data) == json.loads(path.read_bytes())
        assert [d.reason for d in lost] == ["graph_name"]
