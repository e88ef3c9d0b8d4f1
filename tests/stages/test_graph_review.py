"""Edges as a table that people fill in, and what comes of it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from proctor.errors import UserError
from proctor.stages import graph_induce
from proctor.stages.graph_settings import InduceSettings
from proctor.stages.graphs import load_graphs

ORDERS = [
    ["boil", "leaf", "pour", "drink"],
    ["boil", "leaf", "pour", "drink"],
    ["leaf", "boil", "pour", "drink"],
]


def induce(source: Path, **options: Any) -> dict[str, Any]:
    settings = InduceSettings(source=source, **{"method": "counting", **options})
    found: dict[str, Any] = msgspec.to_builtins(graph_induce.induce_graphs(settings))
    return found


@pytest.fixture
def tea(tmp_path: Path) -> Path:
    source = tmp_path / "tea.json"
    source.write_text(json.dumps(ORDERS), encoding="utf-8")
    return source


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def decide(path: Path, decisions: dict[str, str], delimiter: str = ",") -> None:
    rows = rows_of(path)
    for row in rows:
        row["decision"] = decisions.get(f"{row['before']} {row['after']}", "")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def edges(found: dict[str, Any]) -> set[str]:
    return {f"{e['before']} {e['after']}" for e in found["edges"]}


def test_every_edge_and_every_doubtful_pair_is_a_row(tea: Path, tmp_path: Path) -> None:
    found = induce(tea, review=tmp_path / "r.csv")
    assert edges(found) == {"boil pour", "leaf pour", "pour drink"}
    rows = rows_of(tmp_path / "r.csv")
    # two of three agree: the open pair is more doubtful than what all three agree on
    assert (rows[0]["kind"], rows[0]["before"], rows[0]["after"]) == ("open", "boil", "leaf")
    assert [(r["agreeing"], r["contradicting"], r["together"]) for r in rows] == [("2", "1", "3")] + 3 * [
        ("3", "0", "3")
    ]
    assert {r["decision"] for r in rows} == {""}
    assert induce(tea, reviewed=tmp_path / "r.csv")["edges"] == found["edges"], "nothing was decided"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_decisions_come_back(tea: Path, tmp_path: Path, delimiter: str) -> None:
    review = tmp_path / "r.csv"
    induce(tea, review=review)
    decide(review, {"boil leaf": "Accept ", "pour drink": "refuse"}, delimiter)
    found = induce(tea, target=tmp_path / "out.json", reviewed=review, review=tmp_path / "again.csv")
    # drink no longer waits for pour, but for what pour waited for
    assert edges(found) == {"boil leaf", "leaf pour", "leaf drink"}
    assert found["decisions"] == [
        {"graph": "tea", "before": "boil", "after": "leaf", "decision": "accept"},
        {"graph": "tea", "before": "pour", "after": "drink", "decision": "refuse"},
    ]
    assert {e["before"]: e["decision"] for e in found["edges"]}["boil"] == "accept"
    assert found["open"] == []
    (graph,) = load_graphs(tmp_path / "out.json").graphs
    assert set(graph.edges) == {("boil", "leaf"), ("leaf", "pour"), ("leaf", "drink")}
    new = next(e for e in found["edges"] if e["after"] == "drink")
    assert (new["agreeing"], new["together"], new["decision"]) == (3, 3, None)
    again = {(r["before"], r["after"]): r["decision"] for r in rows_of(tmp_path / "again.csv")}
    assert again[("boil", "leaf")] == "accept"


def test_a_review_as_lines(tea: Path, tmp_path: Path) -> None:
    review = tmp_path / "r.jsonl"
    induce(tea, review=review)
    lines = [json.loads(line) for line in review.read_text(encoding="utf-8").splitlines()]
    lines[0]["decision"] = "accept"
    review.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert edges(induce(tea, reviewed=review)) == {"boil leaf", "leaf pour", "pour drink"}
    # a row of one's own
    review.write_text(
        '{"graph": "tea", "before": "leaf", "after": "boil", "decision": "accept"}\n', encoding="utf-8"
    )
    found = induce(tea, reviewed=review)
    assert edges(found) == {"leaf boil", "boil pour", "pour drink"}
    assert found["edges"][0]["contradicting"] == 2, (
        "evidence against what was accepted is shown, first of all"
    )


def test_texts_and_ids_that_look_like_formulas_stay_text(tmp_path: Path) -> None:
    source = tmp_path / "t.json"
    steps = {"=1+1": '=HYPERLINK("http://x")', "@b": "+1", "-c\n": "a" * 1_000_000}
    source.write_text(
        json.dumps({"steps": steps, "performances": [["=1+1", "@b", "-c\n"], ["=1+1", "@b", "-c\n"]]}),
        encoding="utf-8",
    )
    review = tmp_path / "r.csv"
    induce(source, review=review)
    rows = rows_of(review)
    assert not [c for row in rows for c in row.values() if c.startswith(("=", "+", "-", "@"))]
    assert len(rows[1]["after_text"]) == 300
    rows[0]["decision"] = "refuse"
    with review.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    found = induce(source, reviewed=review)
    assert len(found["decisions"]) == 1
    assert {(e["before"], e["after"]) for e in found["edges"]} == {("@b", "-c\n"), ("=1+1", "-c\n")}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("tea,pour,boil,accept", "'boil', 'pour' would have to come before one another"),
        ("tea,boil,drink,refuse", "'boil' → 'drink' is refused, but follows"),
        ("tea,boil,leaf,accept\ntea,boil,leaf,refuse", "accepted in one row and refused in another"),
        ("tea,boil,sugar,accept", "no step is called 'sugar'"),
        ("tea,boil,leaf,perhaps", "the decision is 'perhaps'"),
        ("coffee,boil,leaf,accept", "none of its 1 decisions is about a graph that is induced here"),
        ("tea,boil,leaf", "not as many cells as there are columns"),
    ],
)
def test_what_is_wrong_with_a_review_is_told(tea: Path, tmp_path: Path, rows: str, message: str) -> None:
    review = tmp_path / "r.csv"
    review.write_text(f"graph,before,after,decision\n{rows}\n", encoding="utf-8")
    with pytest.raises(UserError) as error:
        induce(tea, reviewed=review)
    assert message in str(error.value)


def test_files_that_are_no_reviews_are_told(tea: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a review is a \.csv or a \.jsonl file"):
        induce(tea, review=tmp_path / "r.xlsx")
    (tmp_path / "r.csv").write_text("before,after\n", encoding="utf-8")
    with pytest.raises(UserError, match="the columns graph, decision are missing"):
        induce(tea, reviewed=tmp_path / "r.csv")
    with pytest.raises(UserError, match="no such file"):
        induce(tea, reviewed=tmp_path / "nothing.csv")


def test_decisions_about_other_graphs_are_counted(tea: Path, tmp_path: Path) -> None:
    review = tmp_path / "r.csv"
    review.write_text(
        "graph,before,after,decision\ntea,boil,leaf,accept\ncoffee,a,b,refuse\n", encoding="utf-8"
    )
    found = induce(tea, reviewed=review)
    assert len(found["decisions"]) == 1
    assert "1 decision(s) are about other graphs" in found["warnings"][0]


def test_probabilities_are_in_the_table(tea: Path, tmp_path: Path) -> None:
    found = induce(tea, method="likelihood", review=tmp_path / "r.csv")
    rows = rows_of(tmp_path / "r.csv")
    assert len(rows) == len(found["edges"]) + len(found["open"])
    sure = [float(r["probability"]) if r["kind"] == "edge" else 1 - float(r["probability"]) for r in rows]
    assert sure == sorted(sure)
    edge = next(r for r in rows if r["kind"] == "edge")
    decide(tmp_path / "r.csv", {f"{edge['before']} {edge['after']}": "refuse"})
    again = induce(tea, method="likelihood", reviewed=tmp_path / "r.csv")
    assert f"{edge['before']} {edge['after']}" not in edges(again)
