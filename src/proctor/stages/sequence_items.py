"""``proctor import sequences``: a file of sequences becomes questions about the order of their steps, with the right orders at hand.

Steps are presented in an order that hangs on the sequence's id alone and are called by their numbers in it, so that no id tells the
right order. Pictures are checked and copied into the workspace under their hashes. Source: Wu et al. 2022, Section 2; ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from proctor.corpus.collection import NoImage, find_image
from proctor.corpus.picture import PictureError, read_picture
from proctor.datasets.sequence_files import SequenceFile, read_sequences
from proctor.errors import UserError
from proctor.exam.kinds.order import KIND
from proctor.exam.kinds.order_marks import right_orders
from proctor.exam.question import Gold, Item, Order, Ordering, Picture, Question, Words, check_questions
from proctor.procedure.manual import Modality, Sequence, SequenceStep, fixed_shuffle
from proctor.records import Dropped, atomic_write, write_jsonl
from proctor.workspace import Workspace

__all__ = ["SequencesIn", "import_sequences"]

PICTURES = "pictures"
"""Folder of the workspace that holds them."""
_SUFFIXES: Mapping[str, str] = {"image/jpeg": ".jpg", "image/png": ".png", "image/webp": ".webp"}


class SequencesIn(msgspec.Struct, frozen=True, kw_only=True):
    """What came in.

    Attributes:
        items: questions.
        several: of them, those with several right orders, or with a task graph.
        pictures: files that were copied.
        dropped: how much was left out, by reason; ``build.dropped.jsonl`` lists it.
    """

    items: int
    several: int
    pictures: int
    dropped: dict[str, int]


def import_sequences(file: Path, root: Path, modality: Modality = "multimodal") -> SequencesIn:
    """Make a workspace of items of a file of sequences.

    Args:
        file: as ``proctor.datasets.sequence_files`` reads it.
        root: the workspace; made where it is not there.
        modality: what is kept of the steps, and whose right orders count.

    Raises:
        UserError: if the file cannot be read, no sequence can be asked about, or the workspace has items already.
    """
    workspace, read = Workspace(root), read_sequences(file)
    workspace.create()
    if workspace.file("items.jsonl").exists():
        raise UserError("the workspace has items already.", where=str(root), hint="import into a new folder")
    album = _Album(read, root)
    dropped = list(read.dropped)
    items = list(_items(read, modality, album, dropped))
    if not items:
        raise UserError(
            f"not one of {len(read.sequences)} sequences can be asked about (the first: {dropped[-1].detail}).",
            where=str(file),
            hint=f"steps need what --modality {modality} shows of them",
        )
    write_jsonl(workspace.file("items.jsonl"), items)
    result = SequencesIn(
        items=len(items),
        several=sum(len(item.golds) > 1 or right_orders(item).before is not None for item in items),
        pictures=sum(isinstance(kept, Picture) for kept in album.kept.values()),
        dropped=workspace.write_dropped("build", dropped),
    )
    settings = {"name": file.stem, "version": read.hash[:12], "accept": "authors", "modality": modality}
    counts = msgspec.to_builtins(result)
    workspace.record("build", settings=settings, counts=counts, outputs=("items.jsonl",))
    return result


@dataclass
class _Album:
    """Copies pictures into a workspace.

    Attributes:
        file: whose pictures they are; nothing outside its folder is read.
        root: the workspace.
        kept: from the path in the file to the picture in the workspace, or to why it cannot be shown, as a code and in words.
    """

    file: SequenceFile
    root: Path
    kept: dict[str, Picture | tuple[str, str]] = field(default_factory=dict)

    def picture(self, path: str) -> Picture | tuple[str, str]:
        """Return a picture of the workspace, or why there is none."""
        if path not in self.kept:
            self.kept[path] = self._copy(find_image(self.file.root, path))
        return self.kept[path]

    def _copy(self, found: Path | NoImage) -> Picture | tuple[str, str]:
        if isinstance(found, NoImage):
            return f"picture-{found.reason}", found.detail
        try:
            read = read_picture(found)
        except PictureError as error:
            return f"picture-{error.reason}", error.detail
        digest = hashlib.sha256(read.data).hexdigest()
        name = f"{PICTURES}/{digest}{_SUFFIXES.get(read.mime, '.jpg')}"
        if not (self.root / name).exists():
            (self.root / PICTURES).mkdir(exist_ok=True)
            with atomic_write(self.root / name) as stream:
                stream.write(read.data)
        return Picture(path=name, sha256=digest)


def _items(read: SequenceFile, modality: Modality, album: _Album, dropped: list[Dropped]) -> Iterator[Item]:
    """Yield the item of each sequence whose steps all show something; what is left out is put into ``dropped``."""
    for sequence in read.sequences:
        steps = sequence.view(modality).steps
        slots = fixed_shuffle(sequence.id, len(steps))
        parts = [
            tuple(_parts(steps[step], str(slot), sequence.id, album, dropped))
            for slot, step in enumerate(slots, 1)
        ]
        if bare := [step for step, shown in zip(slots, parts, strict=True) if not shown]:
            why = f"step {min(bare)} has nothing that the modality '{modality}' shows"
            dropped.append(Dropped(sequence.id, "step-not-shown", why))
            continue
        made = _item(sequence, modality, slots, tuple(part for shown in parts for part in shown))
        check_questions([made.question])
        yield made


def _parts(
    step: SequenceStep, slot: str, where: str, album: _Album, dropped: list[Dropped]
) -> Iterator[Words | Picture]:
    if step.text.strip():
        yield Words(id=slot, text=step.text.strip())
    for path in step.images:
        found = album.picture(path)
        if isinstance(found, Picture):
            yield msgspec.structs.replace(found, id=slot)
        else:
            code, why = found
            dropped.append(Dropped(where, code, f"step {step.id}: {why}"))


def _item(
    sequence: Sequence, modality: Modality, slots: tuple[int, ...], shown: tuple[Words | Picture, ...]
) -> Item:
    name = {step: str(slot) for slot, step in enumerate(slots, 1)}
    before = None if sequence.before is None else tuple((name[a], name[b]) for a, b in sequence.before)
    values = [
        Ordering(ids=tuple(name[step] for step in order), before=before)
        for order in sequence.orders(modality)
    ]
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
    golds = tuple(Gold(value=value, written_by="authors", approved_by="authors") for value in values)
    return Item(question=question, golds=golds, approved_by="authors", seen=KIND.seen(question))
