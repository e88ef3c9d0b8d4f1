"""The stage ``derive``: recordings to examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from proctor.ask.moment.derive import Protocol, derive_examples, rules_for
from proctor.compute import HERE, Place, batches, map_items
from proctor.errors import UserError
from proctor.exam.kinds.example import Example
from proctor.procedure.recording import Recording
from proctor.records import Dropped, atomic_write, encode_jsonl
from proctor.stages.inputs import iter_recordings
from proctor.stages.settings import DeriveSettings
from proctor.stages.spread import Packed, pack_graphs, unpack_graphs
from proctor.tables import Shown
from proctor.workspace import Workspace

__all__ = ["Derived", "derive"]

_AT_ONCE: Final = 16
"""Recordings that are sent to a worker together: about half a second of work."""


class Derived(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of the closing line.

    Attributes:
        protocol: by which the examples were derived.
        examples: how many.
        by_type: of them.
        noisy: of them, those after a mistake.
        states: of the examples of type ``next``.
        recordings: that gave examples.
        dropped: moments and recordings left out, by reason.
    """

    protocol: Protocol
    examples: int
    by_type: dict[str, int]
    noisy: int
    states: dict[str, int]
    recordings: int
    dropped: dict[str, int]


class _Derived(NamedTuple):
    """What came of some recordings: lines of examples.jsonl, what was left out, and counts."""

    lines: bytes
    dropped: Packed[list[Dropped]]
    by_type: Counter[str]
    states: Counter[str]
    noisy: int
    recordings: int


def derive(root: Path, settings: DeriveSettings | None = None, *, place: Place = HERE) -> Derived:
    """Derive the examples of a workspace and return the counts.

    Args:
        root: the workspace.
        settings: the protocol; the workspace's own by default.
        place: where it runs; the files are the same everywhere.

    Raises:
        UserError: if the workspace has no recordings or the protocol is unknown.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    settings = settings or workspace.resolve(DeriveSettings)
    chosen = _protocol(settings.protocol or _how_read(workspace))
    dropped: list[Dropped] = []
    by_type: Counter[str] = Counter()
    states: Counter[str] = Counter()
    noisy = recordings = 0
    recordings_read = batches(iter_recordings(workspace, graphs), _AT_ONCE)
    work = (Packed(batch, tuple[Recording, ...]) for batch in recordings_read)
    with atomic_write(workspace.file("examples.jsonl")) as stream:
        for outcome in map_items(partial(_derived, pack_graphs(graphs), chosen), work, place):
            found = outcome.value
            stream.write(found.lines)
            dropped += found.dropped.value
            by_type.update(found.by_type)
            states.update(found.states)
            noisy, recordings = noisy + found.noisy, recordings + found.recordings
    reasons = workspace.write_dropped("derive", dropped)
    result = Derived(
        protocol=chosen,
        examples=by_type.total(),
        by_type=dict(by_type),
        noisy=noisy,
        states=dict(states),
        recordings=recordings - reasons.get("not_eligible", 0) - reasons.get("no_graph", 0),
        dropped=reasons,
    )
    counts = msgspec.structs.asdict(result)
    del counts["protocol"]
    workspace.record(
        "derive",
        settings={"protocol": chosen},
        counts=counts,
        inputs=("recordings.jsonl", "graphs.json"),
        outputs=("examples.jsonl",),
        kept=msgspec.structs.asdict(settings),
    )
    return result


def _derived(graphs: bytes, protocol: Protocol, recordings: Packed[Sequence[Recording]]) -> _Derived:
    results = list(derive_examples(recordings.value, unpack_graphs(graphs), rules_for(protocol)))
    examples = [r for r in results if isinstance(r, Example)]
    return _Derived(
        lines=encode_jsonl(examples),
        dropped=Packed([r for r in results if isinstance(r, Dropped)], list[Dropped]),
        by_type=Counter(e.type for e in examples),
        states=Counter(e.state for e in examples if e.type == "next"),
        noisy=sum(e.noisy for e in examples),
        recordings=len(recordings.value),
    )


def _protocol(name: str) -> Protocol:
    if name == "published":
        return "published"
    if name == "corrected":
        return "corrected"
    raise UserError(f"there is no protocol {name!r}.", where="derive", hint="known: corrected, published")


def _how_read(workspace: Workspace) -> str:
    """Return the correction mode that the recordings were read in."""
    read = workspace.stages().get("read")
    return str(read.settings.get("corrections", "corrected")) if read else "corrected"
