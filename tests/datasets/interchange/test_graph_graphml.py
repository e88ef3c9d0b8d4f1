"""GraphML: files of NetworkX and as yEd writes them, what NetworkX says of ours, attacks."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from proctor.datasets.interchange.graphml import parse_graphml, render_graphml
from proctor.errors import UserError
from proctor.procedure.graph import Step, TaskGraph

TEA = {("start", "boil"), ("start", "leaf"), ("boil", "pour"), ("leaf", "pour"), ("pour", "end")}


def _tea(*, attribute: str = "label") -> nx.DiGraph:
    graph = nx.DiGraph(name="tea")
    graph.add_nodes_from(
        (node, {attribute: f"{node} & <co>"}) for node in ("start", "boil", "leaf", "pour", "end")
    )
    graph.add_edges_from(sorted(TEA))
    return graph


def test_the_golden_file_of_networkx(tests_data: Path) -> None:
    found = parse_graphml(
        (tests_data / "interchange" / "graphs" / "networkx.graphml").read_bytes(), "f", "networkx"
    )
    graph = found.objects[0].build()
    assert (graph.id, graph.name, graph.start, graph.end) == ("networkx", "tea", "start", "end")
    assert graph["leaf"].text == "Put 1 tsp tea & ½ tsp sugar into a cup"
    assert graph["pour"].text == "Pour\nslowly"
    assert set(graph.edges) == TEA
    assert found.dropped == ()


@pytest.mark.parametrize("attribute", ["label", "text", "name", "title", "description"])
@pytest.mark.parametrize("writer", [nx.write_graphml_xml, nx.write_graphml])
def test_what_networkx_writes_today_is_read(attribute: str, writer: object, tmp_path: Path) -> None:
    path = tmp_path / "tea.graphml"
    writer(_tea(attribute=attribute), path)  # type: ignore[operator]
    graph = parse_graphml(path.read_bytes(), "f", "tea").objects[0].build()
    assert {s.id: s.text for s in graph.steps} == dict(_tea(attribute=attribute).nodes(data=attribute))
    assert set(graph.edges) == TEA


def test_networkx_nodes_without_attributes_are_their_own_text(tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    nx.write_graphml(nx.DiGraph([("Boil water", "Pour")]), path)
    found = parse_graphml(path.read_bytes(), "f", "g")
    assert [(s.id, s.text) for s in found.objects[0].steps] == [
        ("Boil water", "Boil water"),
        ("Pour", "Pour"),
    ]
    assert found.warnings == ("graph 'g': 2 node(s) without a text were called by their id.",)


def test_networkx_reads_ours(twins: TaskGraph, tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    path.write_bytes(render_graphml([twins])[0])
    read = nx.read_graphml(path)
    assert read.is_directed()
    assert dict(read.nodes(data="label")) == {s.id: s.text for s in twins.steps}
    assert list(read.edges) == list(twins.edges)
    assert read.graph["name"] == "Twins"
    assert {n: r for n, r in read.nodes(data="proctor_role") if r} == {"0": "start", "9": "end"}


def test_ours_survives_networkx(twins: TaskGraph, tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    path.write_bytes(render_graphml([twins])[0])
    nx.write_graphml(nx.read_graphml(path), path)
    again = parse_graphml(path.read_bytes(), "f", "twins").objects[0].build()
    assert again == twins


def test_a_file_as_yed_writes_it(tests_data: Path) -> None:
    found = parse_graphml(
        (tests_data / "interchange" / "graphs" / "yed-like.graphml").read_bytes(), "f", "tea"
    )
    graph = found.objects[0].build()
    assert {s.id: s.text for s in graph.steps} == {
        "n0": "START",
        "n1::n0": "Boil water",
        "n1::n1": "Put tea & sugar\ninto a cup",
        "n2": "Pour",
    }
    assert len(graph.edges) == 4
    assert (graph.start, graph.end) == ("n0", None)
    assert [(d.id, d.reason) for d in found.dropped] == [("n1 → n2", "edge_of_group"), ("n1", "group")]


def test_names_that_xml_does_not_take_are_kept_beside(tmp_path: Path) -> None:
    graph = TaskGraph(
        "", "\x00name", (Step("a b", "x\x01"), Step("n0", "y"), Step("", "z\r\n")), (("a b", ""),)
    )
    data, lost = render_graphml([graph])
    assert lost == ()
    assert parse_graphml(data, "f", "s").objects[0].build() == graph
    path = tmp_path / "g.graphml"
    path.write_bytes(data)
    read = nx.read_graphml(path)
    assert sorted(read.nodes) == ["n0", "n1", "n2"]
    assert read.nodes["n1"]["label"] == "x\ufffd"


HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html/>", "the file is <html>, not <graphml>"),
        ('<graphml><graph edgedefault="undirected"/></graphml>', "its edges have no direction"),
        (
            '<graphml><graph><node id="a"/><edge source="a" target="a" directed="false"/></graph></graphml>',
            "the edge a → a has no direction",
        ),
        ("<graphml><graph><node/></graph></graphml>", "a node has no id"),
        ('<graphml><graph><edge source="a"/></graph></graphml>', "an edge has no source or no target"),
        ("<graphml><graph>", "not XML"),
        ("<a>" * 300 + "</a>" * 300, "nested deeper"),
        (
            '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>' + HEAD + "&b;</graphml>",
            "document type",
        ),
        ('<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>' + HEAD + "&f;</graphml>", "document type"),
        ('<!DOCTYPE graphml SYSTEM "http://127.0.0.1:9/x.dtd">' + HEAD + "</graphml>", "document type"),
    ],
)
def test_what_is_no_task_graph_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        parse_graphml(text.encode(), "f", "x")
    assert message in str(error.value)


def test_hyperedges_and_labels_of_edges_are_told() -> None:
    text = (
        HEAD + '<key id="k" for="edge" attr.name="label"/><graph edgedefault="directed" id="g"><node id="a"/>'
        '<node id="b"/><edge source="a" target="b"><data key="k">then</data></edge><hyperedge/></graph></graphml>'
    )
    found = parse_graphml(text.encode("utf-16"), "f", "x")
    assert [d.reason for d in found.dropped] == ["hyperedge"]
    assert "graph 'g': 1 edge(s) have labels, which are not kept." in found.warnings


def test_prefixed_elements_and_defaults_are_understood() -> None:
    text = (
        '<g:graphml xmlns:g="http://graphml.graphdrawing.org/xmlns"><g:key id="k" for="node" attr.name="text">'
        '<g:default>to be said</g:default></g:key><g:graph edgedefault="directed"><g:node id="a"/>'
        '<g:node id="b"><g:data key="k">say</g:data></g:node></g:graph></g:graphml>'
    )
    draft = parse_graphml(text.encode(), "f", "x").objects[0]
    assert [(s.id, s.text) for s in draft.steps] == [("a", "to be said"), ("b", "say")]
