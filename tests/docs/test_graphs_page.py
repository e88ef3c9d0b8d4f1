"""docs/graphs.md: its commands run as they are typed, in the order of the page; its numbers are found again."""

from __future__ import annotations

import csv
import re
import shlex
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from tests.docs.outsider import shown, type_all, types
from tests.typed import proctor

from proctor.drawing.engines import find_engine
from proctor.metrics.interval import wilson_interval
from proctor.procedure.graph import TaskGraph
from proctor.procedure.graph_compare import compare_precedence
from proctor.procedure.induce import induce_order, observe_recording
from proctor.samples import copy_sample
from proctor.stages.graph_benchmark import benchmark_graphs
from proctor.stages.graph_benchmark_page import benchmark_grids
from proctor.stages.graph_settings import BenchmarkSettings
from proctor.stages.graph_synthetic import recover
from proctor.stages.graphs import load_graphs

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "graphs.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line)
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]


CONSOLE = r"~/data|bench|labelled"
"""The commands after those on files that the page shows."""


@types("graphs.md", commands=rf"^(?!.*(?:{CONSOLE}))")
@pytest.mark.skipif(find_engine() is None, reason="needs Graphviz or fast-sugiyama to draw")
def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    for name, text in zip(("tea.json", "orders.json", "performances.json"), files, strict=True):
        Path(name).write_text(text, encoding="utf-8")
    assert {c[2] for c in COMMANDS} == {"lint", "convert", "draw", "induce"}
    shown: dict[str, str] = {}
    for command in COMMANDS:
        assert command[:2] == ["proctor", "graph"]
        done = proctor(*command[1:])
        assert done.status == 0, done.err
        shown[command[2]] = shown.get(command[2], "") + done.out
    assert "implied_edge" in shown["lint"]
    assert "edge boil → drink" in shown["lint"]
    assert "precision 1.000, recall 1.000" in shown["induce"]
    assert "write accept or refuse into the column decision" in shown["induce"]
    assert load_graphs(Path("final.json")).graphs[0].edges == (
        ("boil", "pour"),
        ("warm", "pour"),
        ("pour", "drink"),
    )
    assert load_graphs(Path("tea.dot")).graphs == load_graphs(Path("tea.json")).graphs


@types("graphs.md", commands=CONSOLE)
def test_graphs_of_data_sets(tmp_path: Path, tests_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for name in ("coin", "youcook2"):
        (Path("data") / name).symlink_to(tests_data / "datasets" / name)
    copy_sample(Path("data/captaincook4d"))
    Path("docs").mkdir()
    Path("docs/graphs.md").write_text(PAGE, encoding="utf-8")
    smaller = partial(recover, sizes=(5,), counts=(2,))
    monkeypatch.setattr("proctor.stages.graph_benchmark.recover", smaller)
    commands = [line for line in shown("graphs.md")[0] if re.search(CONSOLE, line)]
    sheet = next(n for n, line in enumerate(commands) if "labelled" in line)
    type_all(commands[:sheet], tmp_path)
    with Path("steps.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    with Path("steps.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, rows[0].keys())
        table.writeheader()
        table.writerows(row | {"step_id": row["text"]} for row in rows)
    type_all(commands[sheet:], tmp_path)
    assert Path("docs/graphs.md").read_text(encoding="utf-8") != PAGE


def test_the_intervals_of_the_page() -> None:
    assert wilson_interval(2, 2).low == pytest.approx(0.34, abs=0.005)
    assert wilson_interval(20, 20).low == pytest.approx(0.84, abs=0.005)


@pytest.mark.shared
def test_the_table_of_captaincook4d(shared_data: Path) -> None:
    from proctor.datasets.dataset import load_dataset

    read = load_dataset("captaincook4d").read(shared_data / "captaincook4d", "corrected")
    rows = re.findall(
        r"^\| (all|\d+)([^|]*)\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.MULTILINE
    )
    assert len(rows) == 6
    for count, words, threshold, *numbers in rows:
        kept = [r for r in read.recordings if _kept({m.kind for s in r.segments for m in s.mistakes}, words)]
        assert len(kept) == (384 if count == "all" else int(count))
        both = missing = extra = turned = 0
        for id_, graph in read.graphs.items():
            seen = [observe_recording(r) for r in kept if r.activity_id == id_]
            agreed = compare_precedence(graph, induce_order(seen, threshold=float(threshold)).graph)
            both += agreed.both
            missing += len(agreed.missing)
            extra += len(agreed.extra)
            turned += len(agreed.reversed_)
        found = (both / (both + extra), both / (both + missing), 2 * both / (2 * both + missing + extra))
        assert [f"{n:.3f}" for n in found] == numbers
        assert turned == 0


@pytest.mark.shared
def test_the_row_to_beat(shared_data: Path) -> None:
    from proctor.datasets.dataset import load_dataset

    read = load_dataset("captaincook4d").read(shared_data / "captaincook4d", "corrected")
    both = missing = extra = 0
    for id_, graph in read.graphs.items():
        seen = [
            observe_recording(r)
            for r in read.recordings
            if r.activity_id == id_ and not any(m.kind == "order" for s in r.segments for m in s.mistakes)
        ]
        steps = induce_order(seen).graph.steps  # these stand by their mean position
        chain = tuple((a.id, b.id) for a, b in pairwise(steps))
        agreed = compare_precedence(graph, TaskGraph(id_, id_, steps, chain))
        both += agreed.both
        missing += len(agreed.missing)
        extra += len(agreed.extra)
    shown = f"| {both / (both + extra):.3f} | {both / (both + missing):.3f} | "
    shown += f"{2 * both / (2 * both + missing + extra):.3f} |"
    assert f"| the 267 as one list, steps by mean position | – {shown}" in PAGE


@pytest.mark.shared
def test_the_table_of_edges(shared_data: Path) -> None:
    folder = shared_data / "captaincook4d"
    found, _ = benchmark_graphs(
        BenchmarkSettings(annotations=folder, method="counting", draws=0, resamples=0)
    )
    assert found.f1 == pytest.approx(84.358, abs=1e-3)
    (grid,) = benchmark_grids(found)
    for row in grid[2][-4:]:
        assert f"| {' | '.join(row)} |" in PAGE or row[0].endswith("performances")
    assert f"{found.precision:.1f} | {found.recall:.1f} | {found.f1:.1f} |" in PAGE


def _kept(kinds: set[str], words: str) -> bool:
    if "order" in words:
        return "order" not in kinds
    return not kinds if "without" in words else True
