"""``proctor sequences``: a file of sequences from manuals, recordings or task graphs; what is left out is counted and listed.

A section of a manual is a sequence, and its manual the task. A recording is one, its steps in the order in which they were done,
and its activity the task; recordings with mistakes show no right order and are left out. Of a data set with task graphs the
graphs are taken instead: one sequence each, every order that keeps its edges being right. docs/sequencing.md is the page.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from proctor.datasets.dataset import Dataset, Log, dataset_names, guess_dataset, load_dataset
from proctor.datasets.golden import RELEASED_SELECTION, Selection
from proctor.datasets.interchange.format import Format, formats
from proctor.datasets.manual_caps import PUBLISHED_CAPS, RELEASED_CAPS, Caps, TextField, derive_sequences
from proctor.datasets.sequence_files import SequenceLine, write_sequences
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.procedure.manual import Manual, ManualSection, ManualStep, Sequence
from proctor.procedure.recording import Recording
from proctor.procedure.showing import shown_graph, shown_text
from proctor.records import atomic_write, file_sha256, iter_jsonl
from proctor.settings import Settings, argument, option
from proctor.stages.datasets_export import StreamingLog

__all__ = ["MadeSequences", "SequenceSettings", "make_sequences"]

_CAPS: Final = {
    "paper": PUBLISHED_CAPS,
    "code": RELEASED_CAPS,
    "whole": Caps(images_per_step=None, min_steps=2, max_steps=None, sentences_per_step=None, paired=False),
}
_LONGEST: Final = 100_000
"""Characters of a step; the longest of the published ones has 5,339 tokens."""
_PICTURES: Final = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM")
_FIRST = "Keep only this many, from the first; 0: all."


class SequenceSettings(Settings, frozen=True, kw_only=True):
    """What is made of which manuals."""

    place: Annotated[
        tuple[str, ...],
        argument("Manuals or recordings; or howto, dot, … and a file or folder.", "[DATASET] FOLDER"),
    ]
    out: Annotated[Path, option("File to write; FILE.dropped.jsonl lists what is left out.", metavar="FILE")]
    protocol: Annotated[
        Literal["paper", "code", "whole"] | None,
        option("paper (default of manuals): 5 pictured steps, 5 sentences each; code: all; whole: as it is."),
    ] = None
    paired: Annotated[bool | None, option("Leave out steps without a picture.", negatable=True)] = None
    min_steps: Annotated[int | None, option("Drop sequences with fewer.", ge=2)] = None
    max_steps: Annotated[int | None, option(_FIRST, ge=0)] = None
    images_per_step: Annotated[int | None, option(_FIRST, ge=0)] = None
    sentences_per_step: Annotated[int | None, option(_FIRST, ge=0)] = None
    text_fields: Annotated[tuple[TextField, ...], option("Repeatable (text, bullets).", "--text-field")] = ()
    filter: Annotated[Literal["none", "released"], option("What the release leaves out.")] = "none"
    allow: Annotated[tuple[str, ...], option("Only this top category (repeatable).")] = ()
    deny: Annotated[tuple[str, ...], option("Not this top category (repeatable).")] = ()
    deny_word: Annotated[tuple[str, ...], option("No titles with this word (repeatable).")] = ()
    only: Annotated[tuple[str, ...], option("As split=train (repeatable).", metavar="NAME=VALUE")] = ()
    semantics: Annotated[
        Literal["unsaid", "ranks", "order"], option("What multiref_gt holds; unsaid: its lists are left out.")
    ] = "unsaid"
    pictures: Annotated[Literal["copy", "link"], option("How they come into FILE.pictures.")] = "copy"


class MadeSequences(msgspec.Struct, frozen=True):
    """What was made: files, how many of what, and of what was left out by reason; ``tasks`` are what a split does not divide."""

    file: str
    dropped_file: str
    sequences: int
    tasks: int
    steps: int
    pictures: int
    dropped: dict[str, int]
    hash: str


def make_sequences(settings: SequenceSettings, seen: Callable[[], None] = lambda: None) -> MadeSequences:
    """Make the file; ``seen`` is called once a manual.

    Raises:
        UserError: if the data cannot be read, no sequence is left, or FILE holds something else.
    """
    out, tasks, counts = settings.out, set[str](), {"steps": 0, "pictures": 0}
    if out.is_dir():
        raise UserError("this is a folder.", where=str(out), hint="name a file: --out manuals.jsonl")
    if out.is_file():
        try:  # it may be what is to be read
            next(iter_jsonl(out, SequenceLine), None)
        except UserError as error:
            hint = "name another file, or remove this one"
            raise UserError("this is no file of sequences.", where=str(out), hint=hint) from error
    dropped_file = out.with_suffix(".dropped.jsonl")
    with atomic_write(dropped_file) as stream:
        log = StreamingLog(stream)

        def counted() -> Iterator[Sequence]:
            for sequence in _sequences(settings, log, seen):
                tasks.add(sequence.task)
                counts["steps"] += len(sequence.steps)
                counts["pictures"] += sum(len(step.images) for step in sequence.steps)
                yield sequence
            if not tasks:
                why = ", ".join(f"{n:,} {reason}" for reason, n in log.reasons.most_common(5)) or "nothing"
                message = f"no sequence is left (left out: {why})."
                hint = "--protocol whole takes all steps from two on, with and without pictures"
                raise UserError(message, where=settings.place[-1], hint=hint)

        made = write_sequences(out, counted())
    files, left = (str(out), str(dropped_file)), dict(sorted(log.reasons.items()))
    steps, pictures = counts["steps"], counts["pictures"]
    return MadeSequences(*files, made, len(tasks), steps, pictures, left, file_sha256(out))


_Candidate = tuple[Manual, str, tuple[tuple[str, str], ...] | None]
"""A manual, the task it is of, and what its steps wait for (ids); None where their order is the only right one."""


def _sequences(settings: SequenceSettings, log: Log, seen: Callable[[], None]) -> Iterator[Sequence]:
    *names, last = settings.place
    root = Path(last)
    if len(names) > 1:
        raise UserError(f"{len(settings.place)} words are too many.", hint="give a name and a folder")
    only = [text.partition("=") for text in settings.only]
    if wrong := [name for name, sign, _ in only if not sign]:
        raise UserError(f"--only is {wrong[0][:60]!r}.", hint="write NAME=VALUE, for example split=train")
    graphs = {f.name: f for f in formats() if f.kind == "graph" and f.name not in dataset_names()}
    if names and names[0] in graphs:
        candidates, protocol = _of_files(graphs[names[0]], root, log), "whole"
    else:
        dataset = load_dataset(names[0]) if names else guess_dataset(root)
        candidates = _of_dataset(dataset, root, settings.semantics, log)
        protocol = "paper" if dataset.kind == "manuals" else "whole"
    caps = _capped(_CAPS[settings.protocol or protocol], settings)
    released = RELEASED_SELECTION if settings.filter == "released" else Selection()
    deny, words = released.deny.union(settings.deny), released.deny_title_words.union(settings.deny_word)
    selection = Selection(frozenset(settings.allow), deny, words)
    for manual, task, before in candidates:
        seen()
        if (refused := selection.refuses(manual)) is not None:
            log.drop(refused.id, refused.reason, refused.detail)
            continue
        if other := [name for name, _, value in only if manual.attributes.get(name) != value]:
            log.drop(manual.id, "not-asked-for", f"{other[0]} is {manual.attributes.get(other[0])!r}")
            continue
        derived = derive_sequences(_with_sound_pictures(manual, root, log), caps)
        for dropped in derived.dropped:
            log.drop(dropped.id, dropped.reason, dropped.detail)
        for sequence in derived.sequences:
            if (longest := max(len(step.text) for step in sequence.steps)) > _LONGEST:
                log.drop(sequence.id, "text-too-long", f"{longest:,} characters, at most {_LONGEST:,}")
            elif not any(sequence.alike()):
                log.drop(
                    sequence.id, "all-alike", f"{len(sequence.steps)} steps that cannot be distinguished"
                )
            else:  # caps cut the end of a topological order, for which nothing that is left waits
                place = {step.id: n for n, step in enumerate(sequence.steps)}
                pairs = [(place[a], place[b]) for a, b in before or () if a in place and b in place]
                whole = replace(sequence, task=task, before=None if before is None else tuple(pairs))
                yield _with_pictures_brought(whole, root, settings)


def _capped(caps: Caps, settings: SequenceSettings) -> Caps:
    """Return the caps with what was given in their place; 0 is no limit."""
    names = ("paired", "min_steps", "max_steps", "images_per_step", "sentences_per_step")
    asked = {n: v for n in names if (v := getattr(settings, n)) is not None}
    given: dict[str, Any] = {n: None if v == 0 and n != "paired" else v for n, v in asked.items()}
    return replace(caps, text_fields=settings.text_fields or caps.text_fields, **given)


# -- what manuals, recordings and graphs are as candidates ---------------------------------------------------------


def _of_dataset(dataset: Dataset, root: Path, semantics: str, log: Log) -> Iterator[_Candidate]:
    chosen = {"semantics": semantics, "continued": "dropped"}
    options: Any = {name: value for name, value in chosen.items() if name in dataset.options}
    if dataset.kind == "manuals":
        yield from ((m, m.id, None) for m in dataset.iter_records(root, log=log, **options))
        return
    if dataset.kind != "recordings":
        raise UserError(f"{dataset.title} holds {dataset.kind}, no steps.", where=str(root))
    read = dataset.read(root, **options)
    for dropped in read.dropped:
        log.drop(dropped.id, dropped.reason, dropped.detail)
    yield from (_of_graph(graph, dataset.name) for graph in read.graphs.values())
    for recording in () if read.graphs else read.recordings:
        if recording.has_mistakes:
            log.drop(recording.id, "mistakes", "the order in which it was done is not the right one")
        else:
            yield _of_recording(recording, dataset.name, log)


def _of_recording(recording: Recording, source: str, log: Log) -> _Candidate:
    steps: dict[str, ManualStep] = {}
    for number, segment in enumerate(recording.performed):
        text = shown_text(segment.text).strip()
        if not text or text.casefold() in steps:
            log.drop(f"{recording.id} step {number}", "repeated-step" if text else "no-text", text[:80])
        else:
            steps[text.casefold()] = ManualStep(str(number), text)
    sections = (ManualSection(0, tuple(steps.values())),)
    manual = Manual(recording.id, source, recording.activity_name, sections, attributes=recording.attributes)
    return manual, recording.activity_id, None


def _of_graph(graph: TaskGraph, source: str) -> _Candidate:
    shown = shown_graph(graph)
    steps = tuple(ManualStep(id_, shown[id_].text) for id_ in shown.topological_order)
    manual = Manual(graph.id, source, graph.name, (ManualSection(0, steps),))
    # a list says nothing of what may be done in another order
    return manual, graph.id, None if source == "howto" else shown.edges


def _of_files(format_: Format, path: Path, log: Log) -> Iterator[_Candidate]:
    assert format_.read is not None
    files, seen = [path], set[str]()
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.name.lower().endswith(format_.suffixes))
    for file in files:
        try:
            found = format_.read(file)
        except UserError as error:
            if file == path:
                raise
            log.drop(file.name, "unreadable", error.message[:300])
            continue
        for dropped in found.dropped:
            log.drop(f"{file.name} {dropped.id}", dropped.reason, dropped.detail)
        for graph in found.objects:
            assert isinstance(graph, TaskGraph)
            if graph.id in seen:
                log.drop(f"{file.name} {graph.id}", "duplicate-id", "the first counts")
            else:
                seen.add(graph.id)
                yield _of_graph(graph, format_.name)


def _with_sound_pictures(manual: Manual, root: Path, log: Log) -> Manual:
    """Return the manual without pictures that are no files of pictures."""

    def is_sound(image: str) -> bool:
        try:
            with (root / image).open("rb") as stream:
                wrong = "" if stream.read(8).startswith(_PICTURES) else "the file holds no picture"
        except OSError as error:
            wrong = error.strerror or str(error)
        if wrong:
            log.drop(manual.id, "picture", f"{image}: {wrong}")
        return not wrong

    def sound(steps: tuple[ManualStep, ...]) -> tuple[ManualStep, ...]:
        return tuple(replace(step, images=tuple(filter(is_sound, step.images))) for step in steps)

    return replace(manual, sections=tuple(replace(one, steps=sound(one.steps)) for one in manual.sections))


def _with_pictures_brought(sequence: Sequence, root: Path, settings: SequenceSettings) -> Sequence:
    """Bring pictures below the folder of the file, where its readers find them, and return the sequence with their paths there."""
    folder = settings.out.with_suffix(".pictures")
    for image in (image for step in sequence.steps for image in step.images):
        source, goal = (root / image).resolve(), folder / image
        if goal.resolve() == source and (settings.pictures == "link" or not goal.is_symlink()):
            continue
        goal.parent.mkdir(parents=True, exist_ok=True)
        part = goal.with_name(f".{goal.name}.part")
        part.unlink(missing_ok=True)
        if settings.pictures == "link":
            part.symlink_to(source)
        else:
            shutil.copyfile(source, part)
        part.replace(goal)
    steps = (replace(s, images=tuple(f"{folder.name}/{image}" for image in s.images)) for s in sequence.steps)
    return replace(sequence, steps=tuple(steps))
