"""Bit rows against networkx: components, orders, cycles."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.cycles import (
    each_bit,
    find_cycle,
    strong_components,
    topological_order,
    transposed,
)


@st.composite
def _rows(draw: st.DrawFn) -> list[int]:
    n = draw(st.integers(1, 12))
    return [draw(st.integers(0, (1 << n) - 1)) & ~(1 << i) for i in range(n)]


def _digraph(rows: list[int]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(rows)))
    graph.add_edges_from((i, j) for i, row in enumerate(rows) for j in each_bit(row))
    return graph


@given(st.integers(0, 1 << 200))
def test_each_bit_lists_the_set_bits_in_order(mask: int) -> None:
    assert list(each_bit(mask)) == [i for i in range(201) if mask >> i & 1]


@given(_rows())
def test_transposed_reverses_every_edge(rows: list[int]) -> None:
    turned = transposed(rows)
    assert set(_digraph(turned).edges) == {(b, a) for a, b in _digraph(rows).edges}
    assert transposed(turned) == rows


@given(_rows())
def test_components_are_those_of_networkx_and_in_topological_order(rows: list[int]) -> None:
    found = strong_components(rows, transposed(rows))
    assert {frozenset(c) for c in found} == set(
        map(frozenset, nx.strongly_connected_components(_digraph(rows)))
    )
    place = {node: k for k, members in enumerate(found) for node in members}
    assert all(place[a] <= place[b] for a, b in _digraph(rows).edges)


@given(_rows(), st.integers(0, (1 << 12) - 1))
def test_components_of_a_part_are_those_of_the_subgraph(rows: list[int], chosen: int) -> None:
    within = chosen & ((1 << len(rows)) - 1)
    part = _digraph(rows).subgraph(list(each_bit(within)))
    found = strong_components(rows, transposed(rows), within)
    assert {frozenset(c) for c in found} == set(map(frozenset, nx.strongly_connected_components(part)))


@given(_rows())
def test_an_order_is_found_exactly_where_there_is_no_cycle(rows: list[int]) -> None:
    order, graph = topological_order(rows), _digraph(rows)
    assert (order is not None) == nx.is_directed_acyclic_graph(graph)
    if order is not None:
        place = {node: k for k, node in enumerate(order)}
        assert all(place[a] < place[b] for a, b in graph.edges)


@given(_rows())
def test_a_cycle_is_a_shortest_one_through_the_first_member(rows: list[int]) -> None:
    graph = _digraph(rows)
    for members in strong_components(rows, transposed(rows)):
        if len(members) == 1:
            continue
        cycle = find_cycle(rows, members)
        assert cycle[0] == members[0]
        assert all(graph.has_edge(a, b) for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        shortest = min(
            nx.shortest_path_length(graph, child, members[0]) + 1
            for child in graph.successors(members[0])
            if nx.has_path(graph, child, members[0])
        )
        assert len(cycle) == shortest


def test_a_node_on_no_cycle_is_said_to_be_on_none() -> None:
    with pytest.raises(ValueError, match="no cycle leads through node 0"):
        find_cycle([0b10, 0], [0, 1])


def test_a_chain_of_ten_thousand_needs_no_recursion() -> None:
    n = 10_000
    rows = [1 << (i + 1) for i in range(n - 1)] + [0]
    assert topological_order(rows) == list(range(n))
