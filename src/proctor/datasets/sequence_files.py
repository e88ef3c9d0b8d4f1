"""Files of sequences: a manual a line, its steps in the order in which they are done.

``{"id": "tea-1", "task": "make tea", "steps": ["Boil water.", "Pour it."]}``, and whatever else is known: ``goal``, ``category``,
``pictures`` (of each step a path, several or none, relative to the file), ``references`` (further right orders by modality) and
``before`` (pairs of steps of a task graph). Steps are counted from 0. The page is docs/sequencing.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import msgspec

from proctor.datasets.manual_parts import BadPartError, safe_path
from proctor.errors import UserError
from proctor.procedure.manual import MODALITIES, ManualError, Modality, Order, Sequence, SequenceStep
from proctor.records import Dropped, file_sha256, iter_jsonl, write_jsonl

__all__ = ["SequenceFile", "SequenceLine", "read_sequences", "write_sequences"]

_FEWEST: Final = 2
_TOP: Final = ("Root", "")
"""Path of a top category, which a line spells as its name alone; of none here."""
_NAMES: Final[Mapping[str, Modality]] = {**{name: name for name in MODALITIES}, "both": "multimodal"}


class SequenceLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the file.

    Attributes:
        id: unique in the file.
        steps: texts in the order in which they are done; an empty one where a step has pictures only.
        task: several manuals of one task are never divided between training and testing.
        goal: what the steps lead to; the task where it is left out.
        category: the top category; a list is the path from the root.
        pictures: of each step.
        references: further right orders, by ``text``, ``image``, ``both``; the order of the steps always counts as right.
        semantics: what ``references`` hold: ``order`` (the step done at each time) or ``ranks`` (the time of each step).
        before: pairs of steps: the first must be done before the second, and every order that keeps all of these is right.
    """

    id: str
    steps: list[str]
    task: str = ""
    goal: str = ""
    category: str | list[str] = ""
    pictures: list[str | list[str] | None] | None = None
    references: dict[str, list[list[int]]] = {}
    semantics: Literal["order", "ranks"] = "order"
    before: list[tuple[int, int]] | None = None


@dataclass(frozen=True)
class SequenceFile:
    """What a file holds.

    Attributes:
        sequences: in its order.
        root: folder that paths of pictures are relative to.
        dropped: sequences and references that were left out: ``duplicate-id``, ``too-few-steps``, ``pictures``,
            ``picture`` (a path that leads out of the folder; the step has one less), ``reference`` (no permutation, or of an
            unknown modality), ``contradiction`` (a reference or the steps as they stand break ``before``).
        hash: of the file.
    """

    sequences: tuple[Sequence, ...]
    root: Path
    dropped: tuple[Dropped, ...]
    hash: str


def read_sequences(path: Path) -> SequenceFile:
    """Read a file.

    Raises:
        UserError: if a line cannot be read, or no sequence is left.
    """
    found: dict[str, Sequence] = {}
    dropped: list[Dropped] = []
    lines: Iterable[SequenceLine] = iter_jsonl(path, SequenceLine)
    for number, line in enumerate(lines, 1):
        id_ = line.id.strip()
        if not id_ or id_ in found:
            dropped.append(Dropped(line.id[:200], "duplicate-id" if id_ else "no-id", f"record {number}"))
        elif (made := _sequence(line, dropped)) is not None:
            found[id_] = made
    if not found:
        first = f" (the first: {dropped[0].reason}, {dropped[0].detail})" if dropped else ""
        raise UserError(
            f"there is no sequence of two steps or more in it{first}.",
            where=str(path),
            hint='a manual a line: {"id": "tea-1", "task": "make tea", "steps": ["Boil water.", "Pour it."]}',
        )
    return SequenceFile(tuple(found.values()), path.parent, tuple(dropped), file_sha256(path))


def write_sequences(path: Path, sequences: Iterable[Sequence]) -> int:
    """Write sequences, and return how many; paths of pictures stay as they are."""
    return write_jsonl(path, map(_line, sequences))


def _sequence(line: SequenceLine, dropped: list[Dropped]) -> Sequence | None:
    count, id_ = len(line.steps), line.id.strip()
    if count < _FEWEST:
        dropped.append(Dropped(id_, "too-few-steps", f"{count} of {_FEWEST}"))
        return None
    pictures = line.pictures if line.pictures is not None else [None] * count
    if len(pictures) != count:
        dropped.append(Dropped(id_, "pictures", f"of {len(pictures)} steps, and there are {count}"))
        return None
    steps = tuple(
        SequenceStep(
            str(n), text, tuple(_inside([shown] if isinstance(shown, str) else shown or [], id_, dropped))
        )
        for n, (text, shown) in enumerate(zip(line.steps, pictures, strict=True))
    )
    names = line.category if isinstance(line.category, list) else [_TOP[0], line.category]
    bare = Sequence(
        id=id_,
        goal=line.goal or line.task,
        steps=steps,
        category_paths=(tuple(names),) if line.category else (),
        task=line.task,
    )
    before = None if line.before is None else tuple(line.before)
    try:
        whole = replace(bare, before=before)
    except ManualError as error:
        dropped.append(Dropped(id_, "contradiction", str(error)[:300]))
        return None
    return replace(whole, references=_references(line, before or (), dropped))


def _inside(paths: list[str], id_: str, dropped: list[Dropped]) -> Iterator[str]:
    """Yield the paths that stay in the folder of the file: whoever writes the file does not say what else is read."""
    for path in filter(None, paths):
        try:
            yield safe_path(path)
        except BadPartError as error:
            dropped.append(Dropped(id_, "picture", str(error)[:300]))


def _references(
    line: SequenceLine, before: tuple[tuple[int, int], ...], dropped: list[Dropped]
) -> dict[Modality, tuple[Order, ...]]:
    """Return the orders that count as right, the authored one first, each once."""
    authored = tuple(range(len(line.steps)))
    found: dict[Modality, tuple[Order, ...]] = {}
    for name, orders in line.references.items():
        modality = _NAMES.get(name)
        if modality is None:
            dropped.append(Dropped(line.id, "reference", f"there is no modality {name[:40]!r}"))
            continue
        kept = dict.fromkeys(found.get(modality, (authored,)))
        for numbers in orders:
            if sorted(numbers) != list(authored):
                dropped.append(Dropped(line.id, "reference", f"{numbers[:20]} over {len(authored)} steps"))
                continue
            order = tuple(numbers) if line.semantics == "order" else _inverse(numbers)
            if broken := [pair for pair in before if order.index(pair[0]) > order.index(pair[1])]:
                dropped.append(Dropped(line.id, "contradiction", f"{list(order[:20])} against {broken[0]}"))
                continue
            kept[order] = None
        found[modality] = tuple(kept)
    return found


def _inverse(ranks: list[int]) -> Order:
    return tuple(sorted(range(len(ranks)), key=ranks.__getitem__))


def _line(sequence: Sequence) -> SequenceLine:
    path = max(sequence.category_paths, key=len, default=_TOP)
    return SequenceLine(
        id=sequence.id,
        steps=[step.text for step in sequence.steps],
        task=sequence.task,
        goal=sequence.goal,
        category=path[1] if len(path) == len(_TOP) and path[0] == _TOP[0] else list(path),
        pictures=[list(s.images) for s in sequence.steps] if any(s.images for s in sequence.steps) else None,
        references={
            "both" if modality == "multimodal" else modality: [list(order) for order in orders[1:]]
            for modality, orders in sequence.references.items()
            if len(orders) > 1
        },
        before=None if sequence.before is None else list(sequence.before),
    )
