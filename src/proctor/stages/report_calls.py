"""What a report takes from the call store: descriptions of frames, and what the describing cost.

A prediction keeps the hash of its request, not the request: the descriptions that stood in a Socratic system's prompt are
read from there. A store that is gone, or is somewhere else, leaves the page without them and is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.llm.store import CallStore, Selection, StoredCall
from proctor.report.data import Run, SharedCost
from proctor.stages.models import CALLS
from proctor.workspace import Workspace, is_there

__all__ = ["Described", "described_frames", "read_descriptions"]

_BLOCK: Final = re.compile(
    r"<<<BEGIN descriptions (?P<code>[0-9a-f]+)>>>\n(?P<lines>.*?)\n<<<END descriptions (?P=code)>>>",
    re.DOTALL,
)
_LINE: Final = re.compile(r"(?:^|\n)- (?P<number>\d+) at ")
_DIGITS: Final = 16
"""Of a request's hash, as predictions keep it."""


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """Descriptions and costs.

    Attributes:
        captions: run to item id to what was said of each frame, in order.
        costs: of each describing model, over all runs that had it describe.
        missing: answers whose descriptions were looked for and not found.
    """

    captions: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
    costs: tuple[SharedCost, ...] = ()
    missing: int = 0


def described_frames(workspace: Workspace, runs: Sequence[Run]) -> Described:
    """Read what other models said of frames in the place of which it stood."""
    wanted = {run.name: found for run in runs if (found := _requests(run))}
    if not wanted:
        return Described()
    nothing = Described(missing=sum(map(len, wanted.values())))
    path = workspace.root / CALLS
    if not is_there(path):
        return nothing
    try:
        with CallStore.open(path, create=False) as store:
            captions = {name: _captions(store, name, items) for name, items in wanted.items()}
            costs = tuple(_costs(store, [run for run in runs if run.name in wanted]))
    except UserError:
        return nothing
    there = sum(map(len, captions.values()))
    return Described(captions=captions, costs=costs, missing=nothing.missing - there)


def read_descriptions(request: str) -> tuple[str, ...]:
    """Return the descriptions that stand in a stored request, each with number and time of its frame; none if there are none.

    Only what stands between the marks with the code that the request's own instructions name is taken.
    """
    try:
        messages = msgspec.json.decode(request)["messages"]
        texts = [
            part["text"] for message in messages for part in message["parts"] if part.get("type") == "text"
        ]
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        return ()
    blocks = [match for text in texts for match in _BLOCK.finditer(text)]
    known = [match for match in blocks if texts[0].count(match["code"])]
    if len(known) != 1:
        return ()
    lines = known[0]["lines"]
    starts = [match.start() + (lines[match.start()] == "\n") for match in _LINE.finditer(lines)]
    ends = [*starts[1:], len(lines)]
    return tuple(lines[a:b].strip().removeprefix("- ") for a, b in zip(starts, ends, strict=True))


def _requests(run: Run) -> dict[str, str]:
    """Return the hash of each request that held descriptions, to its item."""
    return {
        p.details["request"]: p.item_id
        for p in run.predictions
        if p.details.get("view") == "captions" and p.details.get("request")
    }


def _captions(store: CallStore, run: str, items: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for call in _calls(store, (f"predict/{run}", "predict/*")):
        item_id = items.get(call.key[:_DIGITS])
        if item_id is not None and item_id not in found and (captions := read_descriptions(call.request)):
            found[item_id] = captions
        if len(found) == len(items):
            break
    return found


def _calls(store: CallStore, stages: Iterable[str]) -> Iterator[StoredCall]:
    """Yield the run's own calls first, then those of others: whoever asked first is named with a call."""
    for stage in stages:
        yield from store.calls(Selection(stage=stage))


def _costs(store: CallStore, runs: Sequence[Run]) -> Iterator[SharedCost]:
    by_model: dict[str, list[str]] = {}
    for run in runs:
        for model in {p.details.get("captioner", "") for p in run.predictions} - {""}:
            by_model.setdefault(model, []).append(run.name)
    for model, names in sorted(by_model.items()):
        calls = [c for name in names for c in store.calls(Selection(stage=f"predict/{name}", model=model))]
        # A model that answers too describes under the same name; its descriptions are what carries no request of a run.
        answers = {p.details.get("request") for run in runs for p in run.predictions}
        mine = [c for c in calls if c.key[:_DIGITS] not in answers]
        if mine:
            yield SharedCost(
                name=f"descriptions of frames by {model}, for {len(names)} {'run' if len(names) == 1 else 'runs'}",
                calls=len(mine),
                tokens_in=sum(c.input or 0 for c in mine),
                tokens_out=sum(c.output or 0 for c in mine),
                cost=sum(c.cost or 0 for c in mine) / 10**9,
                unpriced=any(c.cost is None for c in mine),
            )
