"""What holds for every format of task graphs: round trips, stated losses, broken bytes."""

from __future__ import annotations

import random
import string
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.datasets.interchange.dot import render_dot_file
from proctor.datasets.interchange.format import find_format
from proctor.datasets.interchange.graph_file import MAX_EDGES, MAX_STEPS
from proctor.datasets.interchange.graph_json import render_captaincook, render_own
from proctor.datasets.interchange.graphml import render_graphml
from proctor.datasets.interchange.graphs import GRAPH_PARSERS, graph_format, load_graph_drafts
from proctor.datasets.interchange.howto import render_howto
from proctor.errors import UserError
from proctor.procedure.graph import GraphDraft, GraphError, Step, TaskGraph

RENDERERS = {
    "graph-json": render_own,
    "captaincook4d-graph": render_captaincook,
    "dot": render_dot_file,
    "graphml": render_graphml,
    "howto": render_howto,
}
SUFFIXES = {
    "graph-json": ".json",
    "captaincook4d-graph": ".json",
    "dot": ".dot",
    "graphml": ".graphml",
    "howto": ".jsonld",
}
LOSSLESS = [name for name in GRAPH_PARSERS if find_format(name).lossless]

_TEXT = st.one_of(
    st.text(max_size=12),
    st.text(string.punctuation + '\\"\n\r\t\0 nNGlr;&#x1a', max_size=12),
    st.sampled_from(
        ["START", "END", "&amp;", "&#65;", "\\", '\\"', "a\\", "<b>", "]]>", "é", "e\u0301", "digraph"]
    ),
)


@st.composite
def graphs(draw: st.DrawFn) -> TaskGraph:
    ids = draw(st.lists(_TEXT, min_size=1, max_size=6, unique=True))
    # the first and the last may become start and end, which nobody may leave out
    steps = tuple(Step(i, draw(_TEXT), i in ids[1:-1] and draw(st.booleans())) for i in ids)
    n = len(ids)
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    roles = draw(st.sampled_from([(None, None), (ids[0], None), (None, ids[-1]), (ids[0], ids[-1])]))
    if roles[0] is not None:
        edges += [(0, b) for b in range(1, n) if (0, b) not in edges]
    if roles[1] is not None:
        edges += [(a, n - 1) for a in range(n - 1) if (a, n - 1) not in edges]
    try:
        return TaskGraph(
            draw(_TEXT), draw(_TEXT), steps, tuple((ids[a], ids[b]) for a, b in edges), roles[0], roles[1]
        )
    except GraphError:
        return TaskGraph(draw(_TEXT), draw(_TEXT), steps, tuple((ids[a], ids[b]) for a, b in edges))


def test_every_readable_format_of_graphs_has_a_parser() -> None:
    assert set(GRAPH_PARSERS) == set(RENDERERS)
    for name in GRAPH_PARSERS:
        declared = graph_format(name)
        assert declared.kind == "graph"
        assert declared.read is not None
        assert declared.write is not None
        assert declared.lossless != bool(declared.loss)
    with pytest.raises(UserError, match="there is no graph format 'csv'"):
        graph_format("csv")


@pytest.mark.parametrize("name", LOSSLESS)
@given(graph=graphs())
@settings(max_examples=60)
def test_a_lossless_format_gives_the_same_graph(name: str, graph: TaskGraph) -> None:
    data, lost = RENDERERS[name]([graph])
    found = GRAPH_PARSERS[name](data, "f", "other")
    assert lost == ()
    assert found.dropped == ()
    assert [d.build() for d in found.objects] == [graph]


@pytest.mark.parametrize("name", LOSSLESS)
@given(several=st.lists(graphs(), min_size=2, max_size=4, unique_by=lambda g: g.id))
@settings(max_examples=25)
def test_several_graphs_share_a_file(name: str, several: list[TaskGraph]) -> None:
    data, _ = RENDERERS[name](several)
    assert [d.build() for d in GRAPH_PARSERS[name](data, "f", "x").objects] == several


@given(graph=graphs())
def test_captaincook_keeps_what_the_format_can_say(graph: TaskGraph) -> None:
    data, lost = render_captaincook([graph])
    (draft,) = GRAPH_PARSERS["captaincook4d-graph"](data, "f", graph.id or "x").objects
    again = draft.build()
    order = [i for i in graph.topological_order if i not in (graph.start, graph.end)]
    if any(d.reason == "step_id" for d in lost):
        new = {d.id: d.detail.removeprefix("became ") for d in lost if d.reason == "step_id"}
        names = {i: new.get(i, i) for i in order}
    else:
        names = {i: i for i in order}
    assert {names[i]: graph[i].text for i in order} == {s.id: s.text for s in again.actions}
    assert all(
        graph.comes_before(a, b) == again.comes_before(names[a], names[b]) for a in order for b in order
    )


@given(graph=graphs())
def test_a_howto_is_one_possible_order(graph: TaskGraph) -> None:
    data, lost = render_howto([graph])
    blank = [s.id for s in graph.actions if not s.text]
    assert [d.id for d in lost if d.reason == "empty_text"] == blank
    if blank or "" in graph.index:
        return
    (draft,) = GRAPH_PARSERS["howto"](data, "f", "x").objects
    again = draft.build()
    order = [s.id for s in again.steps]
    assert graph.is_valid_order(order)
    assert all(again[i].text == graph[i].text for i in order)
    claimed = sum(again.comes_before(a, b) and not graph.comes_before(a, b) for a in order for b in order)
    told = [d.detail.split()[3] for d in lost if d.reason == "partial_order"]
    assert told == ([f"{claimed:,}"] if claimed else [])


# -- the functions of the registry -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRAPH_PARSERS)
def test_files_are_written_whole_and_read_back(name: str, tmp_path: Path, twins: TaskGraph) -> None:
    path = tmp_path / f"twins{SUFFIXES[name]}"
    declared = find_format(name)
    assert declared.write is not None
    assert declared.read is not None
    declared.write([twins], path)
    (again,) = declared.read(path).objects
    assert isinstance(again, TaskGraph)
    assert [s.text for s in again.actions] == [s.text for s in twins.actions]
    guessed, found = load_graph_drafts(path)
    assert guessed == name
    assert [d.build() for d in found.objects] == [again]


@pytest.mark.parametrize("name", GRAPH_PARSERS)
def test_what_cannot_be_read_is_said(name: str, tmp_path: Path) -> None:
    read = find_format(name).read
    assert read is not None
    path = tmp_path / "x"
    with pytest.raises(UserError, match="no such file"):
        read(path)
    with pytest.raises(UserError, match="folder"):
        read(tmp_path)
    for data in (b"", b"\xff\xfe\x00", b"\x00" * 100, b"[" * 100_000, b'{"a":' * 20_000, b"<a>" * 20_000):
        path.write_bytes(data)
        with pytest.raises(UserError):
            read(path)
    with pytest.raises(UserError, match="device or a pipe"):
        read(Path("/dev/zero"))
    path.write_bytes(b"")
    with path.open("r+b") as stream:
        stream.truncate(25 * 2**20)
    with pytest.raises(UserError, match="the file has 25 MB"):
        read(path)


@pytest.mark.parametrize("name", GRAPH_PARSERS)
def test_nothing_and_half_characters_are_not_written(name: str, tmp_path: Path) -> None:
    write = find_format(name).write
    assert write is not None
    with pytest.raises(UserError, match="no graph to write"):
        write([], tmp_path / "x")
    with pytest.raises(UserError, match="half of a character"):
        write([TaskGraph("g", "g", (Step("a", "x\ud800"),))], tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["captaincook4d-graph", "howto"])
def test_a_format_for_one_graph_takes_no_two(name: str, twins: TaskGraph, diamond: TaskGraph) -> None:
    with pytest.raises(UserError, match="holds one graph, there are 2"):
        RENDERERS[name]([twins, diamond])


@pytest.mark.parametrize("name", LOSSLESS)
def test_a_broken_graph_is_told_with_its_problems(name: str, tmp_path: Path) -> None:
    broken = {
        "graph-json": '{"id": "g", "steps": [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}],'
        ' "edges": [["a", "b"], ["b", "a"]]}',
        "dot": "digraph g { a -> b -> a }",
        "graphml": '<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/>'
        '<edge source="a" target="b"/><edge source="b" target="a"/></graph></graphml>',
    }
    path = tmp_path / f"g{SUFFIXES[name]}"
    path.write_text(broken[name], encoding="utf-8")
    read = find_format(name).read
    assert read is not None
    with pytest.raises(UserError, match="a → b → a") as error:
        read(path)
    assert "proctor graph lint" in str(error.value)
    assert load_graph_drafts(path)[1].objects[0].edges == (("a", "b"), ("b", "a"))


def _big(steps: int, edges: int) -> GraphDraft:
    pairs = ((f"s{k // steps}", f"s{k % steps}") for k in range(edges))
    return GraphDraft("big", "big", tuple(Step(f"s{k}", "x") for k in range(steps)), tuple(pairs))


def _files(draft: GraphDraft) -> Iterator[tuple[str, str]]:
    nodes = "".join(f'<node id="{s.id}"/>' for s in draft.steps)
    edges = "".join(f'<edge source="{a}" target="{b}"/>' for a, b in draft.edges)
    yield ".graphml", f'<graphml><graph edgedefault="directed">{nodes}{edges}</graph></graphml>'
    yield (
        ".dot",
        "digraph {" + ";".join([s.id for s in draft.steps] + [f"{a}->{b}" for a, b in draft.edges]) + "}",
    )
    yield ".jsonld", '{"@type": "HowTo", "step": [' + ",".join('"x"' for _ in draft.steps) + "]}"


def test_files_with_too_many_steps_are_refused(tmp_path: Path) -> None:
    for suffix, text in _files(_big(MAX_STEPS + 1, 0)):
        path = tmp_path / f"big{suffix}"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=r"it has 10,001 steps or more"):
            load_graph_drafts(path)


def test_edges_between_groups_do_not_multiply_without_end(tmp_path: Path) -> None:
    names = " ".join(f"n{k}" for k in range(2_000))
    path = tmp_path / "big.dot"
    path.write_text(f"digraph {{ {{{names}}} -> {{{names}}} }}", encoding="utf-8")
    with pytest.raises(UserError, match=f"files with up to {MAX_EDGES:,} are read"):
        load_graph_drafts(path)


@pytest.mark.parametrize("suffix", [".graphml", ".dot", ".jsonld"])
def test_five_thousand_steps_are_read_in_a_moment(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"big{suffix}"
    path.write_text(dict(_files(_big(5_000, 5_000)))[suffix], encoding="utf-8")
    begin = time.process_time()
    (draft,) = load_graph_drafts(path)[1].objects
    assert len(draft.steps) == 5_000
    assert time.process_time() - begin < 5


# -- broken bytes ------------------------------------------------------------------------------------------------


def _sample() -> TaskGraph:
    steps = (
        Step("0", "START"),
        Step("1", 'Add "½" cup \\ sugar\nand stir'),
        Step("2", "Stir & wait"),
        Step("3", "END"),
    )
    return TaskGraph("tea", "Tea <black>", steps, (("0", "1"), ("0", "2"), ("1", "3"), ("2", "3")), "0", "3")


@pytest.mark.parametrize("name", GRAPH_PARSERS)
def test_flipped_bytes_give_a_graph_or_a_clear_error(name: str) -> None:
    data, _ = RENDERERS[name]([_sample()])
    rng = random.Random(name)
    refused, places = 0, set[str]()
    for _ in range(600):
        broken = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            place = rng.randrange(len(broken))
            match rng.randrange(4):
                case 0:
                    broken[place] ^= 1 << rng.randrange(8)
                case 1:
                    broken[place] = rng.choice(b'"<>{}[]\\&;:,=-/#\x00\xff')
                case 2:
                    del broken[place]
                case _:
                    broken[place:place] = broken[: rng.randrange(30)]
        if rng.random() < 0.1:
            del broken[rng.randrange(len(broken)) :]
        try:
            for draft in GRAPH_PARSERS[name](bytes(broken), "f", "x").objects:
                draft.build()
        except UserError as error:
            refused += 1
            places.add((error.where or "").partition(":")[0])
        except GraphError:
            refused += 1
    assert 60 < refused < 600
    assert places == {"f"}
