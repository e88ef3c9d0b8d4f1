"""``proctor graph`` as it is typed: what people see, JSON for machines, exit statuses."""

from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

from proctor import samples
from proctor.cli.console import run
from proctor.cli.graph import app
from proctor.drawing.engines import find_engine
from proctor.procedure.graph import TaskGraph
from proctor.workspace import Workspace

Typed = tuple[int, str, str]


def _graph(*arguments: object) -> Typed:
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["graph", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        status = run(app)
    return status, out.getvalue(), err.getvalue()


@pytest.fixture
def bench(tmp_path: Path, diamond: TaskGraph, twins: TaskGraph) -> Path:
    Workspace(tmp_path).write_graphs({"g": diamond, "twins": twins})
    return tmp_path


@pytest.mark.parametrize("command", ["lint", "convert", "draw", "induce", "benchmark", "order-mistakes"])
def test_help_teaches_with_an_example(command: str) -> None:
    status, out, _ = _graph(command, "--help")
    assert status == 0
    assert f"Examples:\n  proctor graph {command} " in out


def test_lint_shows_a_table_and_counts(bench: Path) -> None:
    status, out, err = _graph("lint", bench)
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[2:4]] == ["g", "Twins"]
    assert "same_text      1  different steps have the same text  Twins: steps '1', '3'" in out
    status, out, _ = _graph("lint", bench, "--rule", "same_text")
    assert out.splitlines()[-1].split() == ["Twins", "steps", "'1',", "'3'", "'Stir", "the", "jar'"]
    assert _graph("lint", bench, "--rule", "cycle")[1] == "no finding of rule cycle\n"
    status, _, err = _graph("lint", bench, "--rule", "R1")
    assert status == 2
    assert "there is no rule 'R1'" in err


def test_lint_ends_with_status_2_when_a_graph_is_broken(tmp_path: Path) -> None:
    (tmp_path / "x.dot").write_text("digraph { a -> b -> a }", encoding="utf-8")
    status, out, err = _graph("lint", tmp_path / "x.dot", "--json")
    assert (status, err) == (2, "")
    value = json.loads(out)
    assert value["broken"] == 1
    assert value["graphs"][0]["findings"][0] == {
        "rule": "cycle",
        "where": "step 'a'",
        "seen": "a → b → a",
        "broken": True,
    }


def test_convert_says_what_was_lost(bench: Path) -> None:
    status, out, _ = _graph("convert", bench, bench / "x.jsonld", "--graph", "g")
    assert status == 0
    assert out.splitlines() == [
        f"{bench / 'x.jsonld'}: 1 graph(s), 6 nodes, 6 edges as howto",
        "lost: start (1): S: 'do S': a HowTo has no such node",
        "lost: end (1): E: 'do E': a HowTo has no such node",
        "lost: partial order (1): g: the list orders 1 pairs that may be done either way",
    ]
    assert "nothing was lost in writing" in _graph("convert", bench, bench / "x.graphml")[1]
    status, _, err = _graph("convert", bench, bench / "y.jsonld")
    assert status == 2
    assert "a HowTo holds one graph, there are 2" in err
    status, out, err = _graph("convert", bench / "x.jsonld", bench / "z.dot")
    assert "warning: 'g': a HowTo is a list" in err


@pytest.mark.skipif(find_engine() is None, reason="needs Graphviz or fast-sugiyama")
def test_draw_writes_a_picture(bench: Path) -> None:
    status, out, _ = _graph("draw", bench, bench / "g.svg", "--graph", "g")
    assert (status, out) == (0, f"{bench / 'g.svg'}: 'g', 4 steps\n")
    assert (bench / "g.svg").read_bytes().startswith(b"<?xml")


def test_induce_shows_support(tmp_path: Path) -> None:
    (tmp_path / "tea.json").write_text('[["a", "b", "c"], ["b", "a", "c"], ["a", "b"]]', encoding="utf-8")
    status, out, _ = _graph("induce", tmp_path / "tea.json", tmp_path / "out.dot", "--method", "counting")
    assert status == 0
    assert out.splitlines()[2].split() == ["tea", "3", "3", "2", "0", "2"]
    assert " ".join(out.split()).count("→ c 2 of 2 0.342") == 2
    assert out.splitlines()[-1] == f"{tmp_path / 'out.dot'}: 1 graph(s)"
    status, out, _ = _graph("induce", tmp_path / "tea.json", "--threshold", "0.6", "--json")
    assert json.loads(out)["activities"][0]["pairs"] == 3
    assert _graph("induce", tmp_path / "tea.json", "--threshold", "2")[0] == 2


def test_induce_lets_people_decide(tmp_path: Path) -> None:
    (tmp_path / "tea.json").write_text(
        '{"steps": {"a": "A", "b": "B", "c": "C"}, "performances": [["a", "b", "c"], ["b", "a", "c"], ["a", "b", "c"]]}',
        encoding="utf-8",
    )
    review = tmp_path / "r.csv"
    status, out, _ = _graph("induce", tmp_path / "tea.json", "--threshold", 1, "--review", review)
    assert status == 0
    assert "open: not taken, the most doubtful first" in out
    assert " ".join(out.split()).count("a → b 2 of 3 1 0.208") == 1
    assert f"{review}: 2 edges and 1 open pairs to decide on" in out
    rows = review.read_text(encoding="utf-8-sig").splitlines()
    review.write_text("\n".join([rows[0], rows[1] + "accept", *rows[2:]]), encoding="utf-8")
    status, out, _ = _graph("induce", tmp_path / "tea.json", "--threshold", 1, "--reviewed", review)
    assert (status, "decided by people: 1 accepted, 0 refused" in out) == (0, True)
    found = json.loads(
        _graph("induce", tmp_path / "tea.json", "--threshold", 1, "--reviewed", review, "--json")[1]
    )
    assert [(e["before"], e["after"], e["decision"]) for e in found["edges"]] == [
        ("a", "b", "accept"),
        ("b", "c", None),
    ]
    assert {"before", "after", "probability", "agreeing", "contradicting", "together"} <= found["edges"][
        0
    ].keys()


def test_benchmark_prints_tables_and_json() -> None:
    status, out, _ = _graph("benchmark", "--annotations", samples.path(), "--draws", 1)
    assert status == 0
    assert "Few performances" in out
    assert "95 % interval of F1 over activities" in out
    found = json.loads(_graph("benchmark", "--annotations", samples.path(), "--draws", 0, "--json")[1])
    assert {"precision", "recall", "f1", "by_activity", "seconds"} <= found.keys()
    assert found["held_out"] == "leave-one-activity-out"
    assert 0 < found["f1"] <= 100
    assert _graph("benchmark", "--annotations", samples.path(), "--performances", "none")[0] == 2


def test_order_mistakes_prints_judges_and_noise() -> None:
    status, out, _ = _graph("order-mistakes", "--annotations", samples.path(), "--resamples", 0)
    assert status == 0
    assert out.splitlines()[0] == "119 steps of 12 recordings, 5 tagged as a mistake of order"
    assert "100.0 %" in out
    assert "lacks against the tags the released graph lacks as well" in out
    found = json.loads(_graph("order-mistakes", "--annotations", samples.path(), "--json")[1])
    assert found["against_tags"]["released"]["f1"]["value"] == 1.0


@pytest.mark.parametrize("suffix", ["json", "dot", "graphml", "jsonld"])
def test_random_damage_never_shows_a_traceback(suffix: str, bench: Path) -> None:
    _graph("convert", bench, bench / f"x.{suffix}", "--graph", "g")
    whole = (bench / f"x.{suffix}").read_bytes()
    rng = random.Random(suffix)
    seen = set()
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(3):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path = bench / f"broken.{suffix}"
        path.write_bytes(data)
        status, out, err = _graph("lint", path)
        seen.add(status)
        assert status in (0, 2)
        assert "Traceback" not in err
        assert out or err.startswith("proctor: ")
    assert 2 in seen


def test_damaged_performances_never_show_a_traceback(tmp_path: Path) -> None:
    value = {
        "steps": {"a": "Boil", "b": "Pour", "c": "Drink"},
        "performances": [["a", "b", "c"], ["b", "a", "c"]],
    }
    whole = json.dumps(value).encode()
    rng = random.Random(1)
    path = tmp_path / "o.json"
    seen = set()
    for k in range(80):
        data = bytearray(whole[: rng.randrange(len(whole))] if k % 4 == 0 else whole)
        for _ in range(k % 3):
            data[rng.randrange(len(data))] = rng.choice(b'"[]{}:,ab10 \\')
        path.write_bytes(data)
        status, out, err = _graph("induce", path, "--review", tmp_path / "r.csv")
        seen.add(status)
        assert status in (0, 2)
        assert "Traceback" not in err
        assert out or err.startswith("proctor: ")
    assert seen == {0, 2}


def test_missing_files_and_folders_are_told(tmp_path: Path) -> None:
    commands: list[tuple[str, Callable[[], Typed]]] = [
        ("no such file", lambda: _graph("lint", tmp_path / "x.dot")),
        ("no task graphs in it", lambda: _graph("lint", tmp_path)),
        ("graphs.json is not there yet", lambda: _graph("induce", tmp_path)),
        ("no such file", lambda: _graph("convert", tmp_path / "x.dot", tmp_path / "y.dot")),
    ]
    for message, command in commands:
        status, out, err = command()
        assert (status, out) == (2, "")
        assert message in err
