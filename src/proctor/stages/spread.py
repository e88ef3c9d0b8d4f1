"""What the stages share when their work is spread over workers by ``proctor.compute``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec

from proctor.procedure.graph import TaskGraph
from proctor.records import canonical_json, decode

__all__ = ["Packed", "pack_graphs", "unpack_graphs"]

T = TypeVar("T")


class Packed(Generic[T]):
    """Records that go to a worker, or come back, as the JSON that they are in files.

    A pickled record is not the same record: ``omit_defaults`` asks whether a value *is* the default, so what was left
    out before is written after, and content hashes change.

    Attributes:
        value: the records.
    """

    def __init__(self, value: T, type_: Any) -> None:
        self.value = value
        self._type = type_

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (msgspec.json.encode(self.value), self._type)


def _unpacked(data: bytes, type_: Any) -> Packed[Any]:
    return Packed(msgspec.json.decode(data, type=type_), type_)


def pack_graphs(graphs: Mapping[str, TaskGraph]) -> bytes:
    """Return task graphs in the form in which they go with every batch."""
    return canonical_json(dict(graphs))


@lru_cache(maxsize=4)
def unpack_graphs(packed: bytes) -> Mapping[str, TaskGraph]:
    """Return the task graphs; the same objects for the same bytes, because much is remembered of a graph by identity."""
    graphs: dict[str, TaskGraph] = decode(packed, dict[str, TaskGraph], "graphs.json")
    return graphs
