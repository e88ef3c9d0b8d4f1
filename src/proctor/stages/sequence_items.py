"""``proctor import sequences``: a file of sequences becomes questions about the order of their steps, with the right orders at hand.

Steps are presented in an order that hangs on the sequence's id alone and are called by their numbers in it, so that no id tells the
right order. Pictures are checked and copied into the workspace under their hashes. Source: Wu et al. 2022, Section 2; ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path

import msgspec

from proctor.corpus.collection import NoImage, find_image
from proctor.corpus.picture import Picture as Sent
from proctor.corpus.picture import PictureError, read_picture
from proctor.datasets.sequence_files import SequenceFile, read_sequences
from proctor.errors import UserError
from proctor.exam.kinds.order import KIND
from proctor.exam.kinds.order_marks import right_orders
from proctor.exam.question import Gold, Item, Order, Ordering, Picture, Question, Words, check_questions
from proctor.procedure.manual import Modality, Sequence, SequenceStep, fixed_shuffle
from proctor.records import Dropped, atomic_write, write_jsonl
from proctor.workspace import Workspace

__all__ = ["SequencesIn", "import_sequences", "picture_in"]

PICTURES = "pictures"
"""Folder of the workspace that holds them."""
_SUFFIXES: Mapping[str, str] = {"image/jpeg": ".jpg", "image/png": ".png", "image/webp": ".webp"}
_Copy = Callable[[str], Picture | tuple[str, str]]


class SequencesIn(msgspec.Struct, frozen=True, kw_only=True):
    """What came in; ``several`` items have several right orders or a task graph, ``build.dropped.jsonl`` lists what is left out."""

    items: int
    several: int
    pictures: int
    dropped: dict[str, int]


def import_sequences(file: Path, root: Path, modality: Modality = "multimodal") -> SequencesIn:
    """Make a workspace of items of a file of sequences; ``modality`` is what is kept of steps, and whose right orders count.

    Raises:
        UserError: if the file cannot be read, no sequence can be asked about, or the workspace has items already.
    """
    workspace, read = Workspace(root), read_sequences(file)
    workspace.create()
    if workspace.file("items.jsonl").exists():
        raise UserError("the workspace has items already.", where=str(root), hint="import into a new folder")
    dropped = list(read.dropped)
    items = list(_items(read, modality, cache(partial(_copied, read.root, root)), dropped))
    if not items:
        message = f"not one of {len(read.sequences)} sequences can be asked about (the first: {dropped[-1].detail})."
        raise UserError(message, where=str(file), hint=f"steps need what --modality {modality} shows of them")
    write_jsonl(workspace.file("items.jsonl"), items)
    result = SequencesIn(
        items=len(items),
        several=sum(len(item.golds) > 1 or right_orders(item).before is not None for item in items),
        pictures=len({p.path for i in items for p in i.question.evidence if isinstance(p, Picture)}),
        dropped=workspace.write_dropped("build", dropped),
    )
    settings = {"name": file.stem, "version": read.hash[:12], "accept": "authors", "modality": modality}
    counts = msgspec.to_builtins(result)
    workspace.record("build", settings=settings, counts=counts, outputs=("items.jsonl",))
    return result


def picture_in(folder: Path, name: str) -> Sent | tuple[str, str]:
    """Return a picture within a folder, or why it cannot be shown: a reason that can be counted, and in words."""
    path = find_image(folder, name)
    if isinstance(path, NoImage):
        return f"picture-{path.reason}", path.detail
    try:
        return read_picture(path)
    except PictureError as error:
        return f"picture-{error.reason}", error.detail


def _copied(folder: Path, root: Path, path: str) -> Picture | tuple[str, str]:
    """Copy a picture of a folder into the workspace and return it, or why it cannot be shown."""
    read = picture_in(folder, path)
    if isinstance(read, tuple):
        return read
    digest = hashlib.sha256(read.data).hexdigest()
    name = f"{PICTURES}/{digest}{_SUFFIXES.get(read.mime, '.jpg')}"
    if not (root / name).exists():
        (root / PICTURES).mkdir(exist_ok=True)
        with atomic_write(root / name) as stream:
            stream.write(read.data)
    return Picture(path=name, sha256=digest)


def _items(read: SequenceFile, modality: Modality, copy: _Copy, dropped: list[Dropped]) -> Iterator[Item]:
    """Yield the item of each sequence whose steps all show something; what is left out is put into ``dropped``."""
    for sequence in read.sequences:
        steps = sequence.view(modality).steps
        slots = fixed_shuffle(sequence.id, len(steps))
        parts = [[*_parts(steps[s], str(n), sequence.id, copy, dropped)] for n, s in enumerate(slots, 1)]
        if bare := [step for step, shown in zip(slots, parts, strict=True) if not shown]:
            why = f"step {min(bare)} has nothing that the modality '{modality}' shows"
            dropped.append(Dropped(sequence.id, "step-not-shown", why))
        else:
            made = _item(sequence, modality, slots, tuple(part for shown in parts for part in shown))
            check_questions([made.question])
            yield made


def _parts(
    step: SequenceStep, slot: str, where: str, copy: _Copy, dropped: list[Dropped]
) -> Iterator[Words | Picture]:
    if step.text.strip():
        yield Words(id=slot, text=step.text.strip())
    for path in step.images:
        found = copy(path)
        if isinstance(found, Picture):
            yield msgspec.structs.replace(found, id=slot)
        else:
            dropped.append(Dropped(where, found[0], f"step {step.id}: {found[1]}"))


def _item(
    sequence: Sequence, modality: Modality, slots: tuple[int, ...], shown: tuple[Words | Picture, ...]
) -> Item:
    name = {step: str(slot) for slot, step in enumerate(slots, 1)}
    before = None if sequence.before is None else tuple((name[a], name[b]) for a, b in sequence.before)
    orders = [tuple(name[step] for step in order) for order in sequence.orders(modality)]
    path = max(sequence.category_paths, key=len, default=())
    question = Question(
        id=sequence.id,
        kind=KIND.name,
        text="In which order are these steps done?",
        form=Order(ids=tuple(map(str, range(1, len(slots) + 1)))),
        evidence=shown,
        facts={"goal": sequence.goal} if sequence.goal else {},
        facets={"category": path[1]} if len(path) > 1 and path[1] else {},
        cluster=sequence.task or sequence.id,
        provenance={"modality": modality},
    )
    by = "authors"
    golds = tuple(Gold(value=Ordering(ids=o, before=before), written_by=by, approved_by=by) for o in orders)
    return Item(question=question, golds=golds, approved_by=by, seen=KIND.seen(question))
