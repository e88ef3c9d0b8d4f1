"""Files of sequences: a manual a line, its steps in the order in which they are done.

``{"id": "tea-1", "task": "make tea", "steps": ["Boil water.", "Pour it."]}``, and whatever else is known (``SequenceLine``). Steps
are counted from 0. The page is docs/sequencing.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import msgspec

from proctor.datasets.manual_parts import BadPartError, safe_path
from proctor.errors import UserError
from proctor.procedure.manual import MODALITIES, ManualError, Modality, Order, Sequence, SequenceStep
from proctor.records import Dropped, file_sha256, iter_jsonl, write_jsonl

__all__ = ["MODALITY_NAMES", "SequenceFile", "SequenceLine", "read_sequences", "write_sequences"]

MODALITY_NAMES: Final[Mapping[str, Modality]] = {**{name: name for name in MODALITIES}, "both": "multimodal"}
"""As files and commands spell them."""
_ROOT: Final = "Root"
"""Above a top category that stands alone."""


class SequenceLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the file.

    Attributes:
        steps: texts in the order in which they are done; an empty one where a step has pictures only.
        task: several manuals of one task are never divided between training and testing.
        goal: what the steps lead to; the task where it is left out.
        category: the top category; or the path from the root; or several paths.
        pictures: of each step a path, several or none, relative to the file.
        references: further right orders, by ``text``, ``image``, ``both``; ``semantics``: the step done at each time (``order``),
            or the time of each step (``ranks``).
        before: pairs of steps: the first must be done before the second, and every order that keeps all of these is right.
    """

    id: str
    steps: list[str]
    task: str = ""
    goal: str = ""
    category: str | list[str | list[str]] = ""
    pictures: list[str | list[str] | None] | None = None
    references: dict[str, list[list[int]]] = {}
    semantics: Literal["order", "ranks"] = "order"
    before: list[tuple[int, int]] | None = None


@dataclass(frozen=True)
class SequenceFile:
    """What a file holds: sequences in its order, the folder that paths of pictures are relative to, and its hash.

    Sequences and references that were left out are ``no-id``, ``duplicate-id``, ``too-few-steps``, ``pictures`` (of another number of
    steps), ``picture`` (a path that leads out of the folder; the step has one less), ``reference`` (no permutation, or of an unknown
    modality) or ``contradiction`` (a reference or the steps as they stand break ``before``).
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
            dropped.append(Dropped(id_[:200], "duplicate-id" if id_ else "no-id", f"record {number}"))
        elif (made := _sequence(line, id_, dropped)) is not None:
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


def _sequence(line: SequenceLine, id_: str, dropped: list[Dropped]) -> Sequence | None:
    def drop(reason: str, detail: str) -> None:
        dropped.append(Dropped(id_, reason, detail[:300]))

    count, pictures = len(line.steps), [None] * len(line.steps) if line.pictures is None else line.pictures
    if count < 2 or len(pictures) != count:
        drop("too-few-steps" if count < 2 else "pictures", f"{count} steps, pictures of {len(pictures)}")
        return None
    steps = []
    for n, (text, shown) in enumerate(zip(line.steps, pictures, strict=True)):
        images: list[str] = []
        for path in filter(None, [shown] if isinstance(shown, str) else shown or []):
            try:  # whoever writes the file does not say what else is read
                images.append(safe_path(path))
            except BadPartError as error:
                drop("picture", str(error))
        steps.append(SequenceStep(str(n), text, tuple(images)))
    before, goal = None if line.before is None else tuple(line.before), line.goal or line.task
    try:
        whole = Sequence(id_, goal, tuple(steps), _paths(line), before=before, task=line.task)
    except ManualError as error:
        drop("contradiction", str(error))
        return None
    return replace(whole, references=_references(line, whole, drop))


def _paths(line: SequenceLine) -> tuple[tuple[str, ...], ...]:
    found = line.category
    if isinstance(found, str) or any(isinstance(part, list) for part in found):
        parts = [found] if isinstance(found, str) else found
        return tuple((_ROOT, p) if isinstance(p, str) else tuple(p) for p in parts if p)
    return (tuple(map(str, found)),) if found else ()


def _references(
    line: SequenceLine, sequence: Sequence, drop: Callable[[str, str], None]
) -> dict[Modality, tuple[Order, ...]]:
    """Return the orders that count as right, the authored one first, each once."""
    found: dict[Modality, dict[Order, None]] = {}
    for name, orders in line.references.items():
        if name not in MODALITY_NAMES:
            drop("reference", f"there is no modality {name[:40]!r}")
            continue
        kept = found.setdefault(MODALITY_NAMES[name], {sequence.authored: None})
        for numbers in orders:
            if sorted(numbers) != list(sequence.authored):
                drop("reference", f"{numbers[:20]} over {len(sequence.steps)} steps")
                continue
            order = tuple(numbers if line.semantics == "order" else map(numbers.index, sequence.authored))
            if broken := [(a, b) for a, b in sequence.before or () if order.index(a) > order.index(b)]:
                drop("contradiction", f"{list(order[:20])} against {broken[0]}")
            else:
                kept[order] = None
    return {modality: tuple(kept) for modality, kept in found.items()}


def _line(sequence: Sequence) -> SequenceLine:
    category: str | list[str | list[str]] = [list(path) for path in sequence.category_paths]
    if len(sequence.category_paths) == 1:
        (path,) = sequence.category_paths
        category = path[1] if len(path) == 2 and path[0] == _ROOT else list(path)
    pictures: list[str | list[str] | None] = [list(step.images) for step in sequence.steps]
    return SequenceLine(
        id=sequence.id,
        steps=[step.text for step in sequence.steps],
        task=sequence.task,
        goal=sequence.goal,
        category=category or "",
        pictures=pictures if any(pictures) else None,
        references={
            "both" if modality == "multimodal" else modality: [list(order) for order in orders[1:]]
            for modality, orders in sequence.references.items()
            if len(orders) > 1
        },
        before=None if sequence.before is None else list(sequence.before),
    )
