"""A child process that asks the library fast-sugiyama for layers: JSON in on standard input, JSON out.

In: ``nodes`` (number of slots), ``edges`` (pairs), ``room`` (pixels between the middles of neighbours). Out: for
every slot its horizontal position and layer (0 on top), and for every edge the same of its bends from top to bottom.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import msgspec

__all__ = ["place_layers"]

Spot = tuple[float, int]


class _Request(msgspec.Struct):
    nodes: int
    edges: list[tuple[int, int]]
    room: float


def place_layers(
    nodes: int, edges: list[tuple[int, int]], room: float
) -> tuple[list[Spot], list[list[Spot]]]:
    """Return positions of slots and bends of edges; parts that nothing connects stand side by side."""
    library: Any = import_module("fast_sugiyama")
    # The library numbers its bends after the nodes that it was given, so these must be numbered without gaps.
    used = sorted({n for edge in edges for n in edge})
    small = {n: k for k, n in enumerate(used)}
    pairs = [(small[a], small[b]) for a, b in edges]
    spots: dict[int, Spot] = {}
    following: dict[int, list[int]] = {}
    offset = 0.0
    parts = (
        library.from_edges(pairs, vertex_spacing=room, dummy_vertices=True, dummy_size=0.5) if pairs else []
    )
    for part, (places, _, _, links) in enumerate(parts):
        left = min(x for _, (x, _) in places)
        top = max(y for _, (_, y) in places)
        base = len(used) + part * 1_000_000  # bends of two parts may have the same number
        names = {n: n if n < len(used) else base + n for n, _ in places}
        for n, (x, y) in places:
            spots[names[n]] = (x - left + offset, round((top - y) / room))
        for a, b in links or ():
            following.setdefault(names[a], []).append(names[b])
        offset += max(x for _, (x, _) in places) - left + room
    bends = {}
    for start in range(len(used)):
        for then in following.get(start, []):
            path, at = [], then
            while at >= len(used):
                path.append(spots[at])
                at = following[at][0]
            bends[start, at] = path
    placed = [spots[small[n]] if n in small else None for n in range(nodes)]
    alone = iter(range(nodes))
    found = [spot if spot is not None else (offset + room * next(alone), 0) for spot in placed]
    return found, [bends[pair] for pair in pairs]


def main() -> None:
    """Answer one request."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=_Request)
    sys.stdout.buffer.write(msgspec.json.encode(place_layers(request.nodes, request.edges, request.room)))


if __name__ == "__main__":
    main()
