from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from proctor.drawing import layout as layout_module
from proctor.drawing.engines import Engine, Placement, Route
from proctor.drawing.layout import Layouts
from proctor.drawing.sketch import NotDrawnError, Sketch
from proctor.procedure.graph import Step, TaskGraph


class Counting:
    """A layout program that stacks everything, slowly, and counts how often it is asked."""

    def __init__(self, name: str = "stack", seconds: float = 0.0, failure: str = "") -> None:
        self.asked = 0
        self.engine = Engine(name, self.place)
        self._seconds, self._failure = seconds, failure
        self._lock = threading.Lock()

    def place(self, sketch: Sketch) -> Placement:
        with self._lock:
            self.asked += 1
        time.sleep(self._seconds)
        if self._failure:
            raise NotDrawnError(self._failure)
        corners = tuple((5.0, 5.0 + 80 * k) for k in range(len(sketch.slots)))
        routes = tuple(Route((10.0, 1.0, 10.0, 2.0, 10.0, 3.0, 10.0, 4.0)) for _ in sketch.edges)
        return Placement(200.0, 900.0, corners, routes)


def test_a_graph_is_placed_once_whoever_asks(diamond: TaskGraph, twins: TaskGraph) -> None:
    program = Counting()
    layouts = Layouts(engine=program.engine)
    again = TaskGraph("g", "g", diamond.steps, diamond.edges, diamond.start, diamond.end)
    assert layouts.find(diamond) is layouts.find(diamond) is layouts.find(again)
    assert program.asked == 1
    layouts.find(twins)
    assert program.asked == 2


def test_many_threads_cost_one_layout(diamond: TaskGraph) -> None:
    program = Counting(seconds=0.1)
    layouts = Layouts(engine=program.engine)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: layouts.find(diamond), range(16)))
    assert program.asked == 1
    assert all(one is found[0] for one in found)


def test_layouts_survive_the_process(tmp_path: Path, diamond: TaskGraph) -> None:
    first, second = Counting(), Counting()
    placed = Layouts(tmp_path, first.engine).find(diamond)
    assert [p.suffix for p in tmp_path.iterdir()] == [".json"]
    assert Layouts(tmp_path, second.engine).find(diamond) == placed
    assert (first.asked, second.asked) == (1, 0)


def test_another_text_another_program_and_another_version_are_placed_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Counting()
    short = TaskGraph("g", "g", (Step("a", "Stir"),))
    long = TaskGraph("g", "g", (Step("a", "Stir the soup with a spoon for two minutes"),))
    Layouts(tmp_path, program.engine).find(short)
    Layouts(tmp_path, program.engine).find(long)
    assert program.asked == 2
    Layouts(tmp_path, Counting("other").engine).find(short)
    assert len(list(tmp_path.iterdir())) == 3
    monkeypatch.setattr(layout_module, "DRAWING_VERSION", 99)
    Layouts(tmp_path, program.engine).find(short)
    assert program.asked == 3


def test_stored_files_hold_numbers_only(tmp_path: Path, diamond: TaskGraph) -> None:
    Layouts(tmp_path, Counting().engine).find(diamond)
    text = next(tmp_path.iterdir()).read_text()
    assert "do a" not in text
    assert set(json.loads(text)) == {"width", "height", "corners", "routes"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json",
        b"[]",
        b'{"width": 1, "height": 1, "corners": [], "routes": []}',
        b'{"width": "<script>", "height": 1, "corners": [], "routes": []}',
        b'{"width": 1e999, "height": 1, "corners": [[0,0],[0,0],[0,0],[0,0],[0,0],[0,0]], "routes": []}',
    ],
)
def test_a_damaged_file_is_made_again(tmp_path: Path, diamond: TaskGraph, content: bytes) -> None:
    program = Counting()
    good = Layouts(tmp_path, program.engine).find(diamond)
    path = next(tmp_path.iterdir())
    path.write_bytes(content)
    assert Layouts(tmp_path, program.engine).find(diamond) == good
    assert program.asked == 2
    assert path.read_bytes() != content


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path, diamond: TaskGraph) -> None:
    (tmp_path / "file").write_text("x")
    program = Counting()
    assert Layouts(tmp_path / "file", program.engine).find(diamond).placement
    assert Layouts(tmp_path / "file", program.engine).find(diamond).placement
    assert program.asked == 2


def test_a_failure_is_remembered_and_told_each_time(diamond: TaskGraph) -> None:
    program = Counting(failure="it took too long")
    layouts = Layouts(engine=program.engine)
    for _ in range(3):
        with pytest.raises(NotDrawnError, match="it took too long"):
            layouts.find(diamond)
    assert program.asked == 1


def test_a_failure_is_tried_again_after_a_while(diamond: TaskGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Counting(failure="it took too long")
    layouts = Layouts(engine=program.engine)
    for wait, asked in ((600.0, 1), (-1.0, 2)):
        monkeypatch.setattr(layout_module, "_RETRY", wait)
        for _ in range(2 if wait > 0 else 1):
            with pytest.raises(NotDrawnError):
                layouts.find(diamond)
        assert program.asked == asked


def test_preparing_passes_over_what_cannot_be_drawn(diamond: TaskGraph, twins: TaskGraph) -> None:
    huge = TaskGraph("g", "g", tuple(Step(str(n), "x") for n in range(400)))
    program = Counting()
    layouts = Layouts(engine=program.engine)
    layouts.prepare([diamond, huge, twins])
    assert program.asked == 2
    assert layouts.find(twins).placement


def test_without_a_layout_program_the_reason_is_told(
    diamond: TaskGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout_module, "find_engine", lambda: None)
    with pytest.raises(NotDrawnError, match="neither Graphviz nor"):
        Layouts().find(diamond)


def test_memory_holds_a_limited_number_of_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_module, "_KEPT", 3)
    program = Counting()
    layouts = Layouts(engine=program.engine)
    graphs = [TaskGraph(str(n), "g", (Step("a", "x"),)) for n in range(5)]
    for graph in graphs:
        layouts.find(graph)
    layouts.find(graphs[4])
    assert program.asked == 5
    layouts.find(graphs[0])
    assert program.asked == 6
