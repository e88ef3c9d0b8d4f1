from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.drawing import engines
from proctor.drawing.engines import (
    Engine,
    Placement,
    find_engine,
    graphviz_engine,
    run_limited,
    sugiyama_engine,
    write_dot,
)
from proctor.drawing.sketch import NotDrawnError, Sketch, make_sketch
from proctor.procedure.graph import Step, TaskGraph


def chain(n: int) -> TaskGraph:
    steps = tuple(Step(str(i), "do it") for i in range(n))
    return TaskGraph("g", "g", steps, tuple((str(i), str(i + 1)) for i in range(n - 1)))


@st.composite
def graphs(draw: st.DrawFn) -> TaskGraph:
    n = draw(st.integers(1, 8))
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    steps = tuple(Step(str(i), "do " * draw(st.integers(1, 30))) for i in range(n))
    return TaskGraph("g", "g", steps, tuple((str(a), str(b)) for a, b in edges))


HAVE_DOT = shutil.which("dot") is not None
HAVE_SUGIYAMA = importlib.util.find_spec("fast_sugiyama") is not None


@pytest.fixture(
    params=[
        pytest.param("dot", marks=pytest.mark.skipif(not HAVE_DOT, reason="Graphviz is not installed")),
        pytest.param(
            "sugiyama", marks=pytest.mark.skipif(not HAVE_SUGIYAMA, reason="fast-sugiyama is not installed")
        ),
    ]
)
def engine(request: pytest.FixtureRequest) -> Engine:
    return graphviz_engine(str(shutil.which("dot"))) if request.param == "dot" else sugiyama_engine()


def check(sketch: Sketch, placed: Placement) -> None:
    """Boxes lie inside the drawing and apart; every arrow leaves one box below and enters the next above."""
    spots = [
        (x, y, x + s.width, y + s.height) for (x, y), s in zip(placed.corners, sketch.slots, strict=True)
    ]
    for a, (left, top, right, bottom) in enumerate(spots):
        assert 0 <= left < right <= placed.width
        assert 0 <= top < bottom <= placed.height
        for other in spots[a + 1 :]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
    assert len(placed.routes) == len(sketch.edges)
    found = set()
    for route in placed.routes:
        p = route.points
        assert len(p) % 6 == 2
        begin = next(
            k
            for k, (x0, y0, x1, y1) in enumerate(spots)
            if x0 - 2 <= p[0] <= x1 + 2 and y0 - 2 <= p[1] <= y1 + 2
        )
        finish = next(
            k
            for k, (x0, y0, x1, y1) in enumerate(spots)
            if x0 - 2 <= p[-2] <= x1 + 2 and y0 - 2 <= p[-1] <= y1 + 2
        )
        found.add((begin, finish))
    assert found == set(sketch.edges)
    assert all(spots[a][3] <= spots[b][1] for a, b in sketch.edges)


def test_small_graphs(engine: Engine, diamond: TaskGraph, branches: TaskGraph, twins: TaskGraph) -> None:
    for graph in (diamond, branches, twins):
        sketch = make_sketch(graph)
        check(sketch, engine.place(sketch))


def test_a_step_alone_and_steps_without_edges(engine: Engine) -> None:
    for n in (1, 3):
        sketch = make_sketch(TaskGraph("g", "g", tuple(Step(str(i), "x") for i in range(n))))
        check(sketch, engine.place(sketch))


def test_several_parts_with_long_edges(engine: Engine) -> None:
    """Two parts that both need bends, and a step alone."""
    ids = [f"{p}{n}" for p in "ab" for n in range(4)] + ["alone"]
    edges = [(f"{p}{n}", f"{p}{n + 1}") for p in "ab" for n in range(3)] + [
        ("a0", "a3"),
        ("b0", "b3"),
        ("b0", "b2"),
    ]
    sketch = make_sketch(TaskGraph("g", "g", tuple(Step(i, i) for i in ids), tuple(edges)))
    check(sketch, engine.place(sketch))


@settings(max_examples=6)
@given(graphs())
def test_any_graph(graph: TaskGraph) -> None:
    sketch = make_sketch(graph)
    for there, make in ((HAVE_DOT, lambda: graphviz_engine("dot")), (HAVE_SUGIYAMA, sugiyama_engine)):
        if there:
            check(sketch, make().place(sketch))


def test_equal_input_gives_equal_places(engine: Engine, diamond: TaskGraph) -> None:
    sketch = make_sketch(diamond)
    assert engine.place(sketch) == engine.place(sketch)


def test_no_text_of_a_step_reaches_a_layout_program() -> None:
    evil = '"]; x [URL="javascript:alert(1)" label=<<b>x</b>>'
    graph = TaskGraph(evil, evil, (Step(evil, evil), Step("b", "Boil")), ((evil, "b"),))
    dot = write_dot(make_sketch(graph))
    assert not re.search(r"URL|alert|javascript|Boil|<b>", dot)
    body = [line for line in dot.splitlines() if re.match(r"n\d", line)]
    assert all(re.fullmatch(r"n\d+ \[width=[\d.]+, height=[\d.]+\];|n\d+ -> n\d+;", line) for line in body)
    assert len(body) == 3


# -- limits ------------------------------------------------------------------------------------------------------


def test_a_program_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "TIME_LIMIT", 0.3)
    with pytest.raises(NotDrawnError, match=r"it took more than 0.3 seconds"):
        run_limited([sys.executable, "-c", "import time; time.sleep(600)"], b"", "it")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are set on Linux only")
def test_a_program_that_eats_memory_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "MEMORY_LIMIT", 256 << 20)
    code = "import sys; sys.stdin.read(); x = bytearray(1 << 30); print(len(x))"
    with pytest.raises(NotDrawnError, match="ended with status 1"):
        run_limited([sys.executable, "-c", code], b"go", "it")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 3", "status 3"),
        ("exit 0", "status 0"),
        ("echo graph 1 x", "could not be read"),
        ("echo graph 1 1 1; echo node n0 nan 1; echo stop", "could not be read"),
        ("printf '\\377'", "could not be read"),
        ("echo graph 1 1 1; echo stop", "could not be read"),
    ],
)
def test_a_program_that_fails_is_told(tmp_path: Path, script: str, said: str) -> None:
    program = tmp_path / "dot"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\n{script}\n")
    program.chmod(0o755)
    with pytest.raises(NotDrawnError, match=said):
        graphviz_engine(str(program)).place(make_sketch(chain(1)))


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotDrawnError, match="could not be started"):
        graphviz_engine(str(tmp_path / "nothing")).place(make_sketch(chain(1)))


def test_data_go_to_the_program_on_its_input_and_never_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: dict[str, Any] = {}

    def spy(arguments: list[str], **options: Any) -> Any:
        seen.update(options, arguments=arguments)
        raise OSError(1, "spy")

    monkeypatch.setattr("proctor.drawing.engines.subprocess.Popen", spy)
    with pytest.raises(NotDrawnError):
        graphviz_engine("dot of nobody").place(make_sketch(chain(2)))
    assert seen["arguments"] == ["dot of nobody", "-Tplain"]
    assert not seen.get("shell")


def test_graphviz_is_taken_first_then_the_library_then_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "find_graphviz", lambda: "/some/dot")
    assert find_engine() == graphviz_engine("/some/dot")
    monkeypatch.setattr(engines, "find_graphviz", lambda: None)
    monkeypatch.setattr(engines.importlib.util, "find_spec", lambda name: object())
    assert find_engine() == sugiyama_engine()
    monkeypatch.setattr(engines.importlib.util, "find_spec", lambda name: None)
    assert find_engine() is None
