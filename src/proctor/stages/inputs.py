"""What the stages read: records of a workspace that fit together, or a message that says which one does not.

Every file of a workspace may have been edited, cut short or made elsewhere. The types are checked while a file is
decoded (``proctor.records``); here is checked what no type says: ids occur once, steps are in the task graph,
times are finite, not negative and in order, and records speak of records that exist. A stage that has its inputs
from here never meets a surprise half-way, so it writes everything or nothing.
"""

from __future__ import annotations

import hashlib
import math
import shlex
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import msgspec

from proctor.errors import UserError
from proctor.exam.kinds.example import QUESTION_TYPES, Example
from proctor.exam.kinds.moment_question import MOMENT, moment_example, question_about
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Choice, Item, Pick, Text, check_questions, wrong_ordering
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Recording
from proctor.records import iter_jsonl, iter_jsonl_placed, read_jsonl, read_jsonl_at
from proctor.workspace import Workspace, is_there

if TYPE_CHECKING:
    from proctor.ask.moment.candidate import Candidate

__all__ = [
    "PlacedExamples",
    "iter_examples",
    "iter_recordings",
    "load_all_items",
    "load_asked",
    "load_candidates",
    "load_examples",
    "load_items",
    "load_judgements",
    "load_predictions",
    "load_recordings",
    "media_root",
]

_Graphs = Mapping[str, TaskGraph]


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=_HasId)
T = TypeVar("T")
A = TypeVar("A", Prediction, Judgement)


def load_recordings(workspace: Workspace, graphs: _Graphs) -> list[Recording]:
    """Return the recordings of a workspace; see ``iter_recordings``."""
    return list(iter_recordings(workspace, graphs))


def iter_recordings(workspace: Workspace, graphs: _Graphs) -> Iterator[Recording]:
    """Yield the recordings of a workspace.

    A recording whose activity has no task graph is passed on: derivation leaves it out with that reason.

    Raises:
        UserError: if the file is missing, broken or empty, or a record contradicts itself or the task graphs.
    """
    path = workspace.require("recordings.jsonl")
    records: Iterator[Recording] = iter_jsonl(path, Recording)
    named = ((r.id, r) for r in records)
    return _sound(path, named, lambda r: _wrong_with_recording(r, graphs), _anew(workspace, path.name))


def iter_examples(workspace: Workspace, graphs: _Graphs) -> Iterator[tuple[int, Example]]:
    """Yield the examples of a workspace with their places in the file, in little memory: there may be millions.

    Raises:
        UserError: if the file is missing, broken or empty, or a record contradicts itself or the task graphs; that an
            id occurs twice is found when all have been read.
    """
    path = workspace.require("examples.jsonl")
    hint = _anew(workspace, path.name)
    hashes = array("Q")
    placed: Iterator[tuple[int, Example]] = iter_jsonl_placed(path, Example)
    for place, example in placed:
        hashes.append(_hash(example.id))
        for problem in _wrong_with_example(example, graphs):
            raise UserError(f"{problem}.", where=_where(path, len(hashes), example.id), hint=hint)
        yield place, example
    _require_records(path, hashes, hint)
    _require_once(path, Example, hashes, hint)


def load_examples(workspace: Workspace, graphs: _Graphs) -> list[Example]:
    """Return the examples of a workspace.

    Raises:
        UserError: if the file is missing, broken or empty, or a record contradicts itself or the task graphs.
    """
    return [e for _, e in iter_examples(workspace, graphs)]


class _Named(msgspec.Struct):
    id: str


def some_examples(workspace: Workspace, graphs: _Graphs, only: Collection[str]) -> list[Example]:
    """Return the examples with these ids; of all others only the names are read, which takes a third of the time."""
    path = workspace.require("examples.jsonl")
    hint = _anew(workspace, path.name)
    hashes = array("Q")
    numbers: dict[int, int] = {}
    placed: Iterator[tuple[int, _Named]] = iter_jsonl_placed(path, _Named)
    for place, named in placed:
        hashes.append(_hash(named.id))
        if named.id in only:
            numbers[place] = len(hashes)
    _require_once(path, _Named, hashes, hint)
    found: list[Example] = list(read_jsonl_at(path, numbers, Example))
    for number, example in zip(numbers.values(), found, strict=True):
        for problem in _wrong_with_example(example, graphs):
            raise UserError(f"{problem}.", where=_where(path, number, example.id), hint=hint)
    return found


@dataclass(frozen=True, slots=True)
class PlacedExamples:
    """Examples that are read from the file whenever they are asked for.

    Attributes:
        path: of the file.
        places: where each begins in it.
    """

    path: Path
    places: Sequence[int]

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Example]:
        return read_jsonl_at(self.path, self.places, Example)


def load_candidates(
    workspace: Workspace, examples: Iterable[Example], name: str = "candidates.jsonl"
) -> list[Candidate]:
    """Return the candidates of a workspace, from the file of that name.

    Raises:
        UserError: if the file is missing, broken or empty, or a candidate does not fit its example.
    """
    by_id = {e.id: e for e in examples}
    from proctor.ask.moment.candidate import Candidate

    return _load(workspace, name, Candidate, lambda c: _wrong_with_candidate(c, by_id))


def load_asked(
    workspace: Workspace, graphs: _Graphs, name: str = "candidates.jsonl"
) -> tuple[list[Candidate], dict[str, Example]]:
    """Return the candidates of a workspace, and by id the examples that they ask about, however many others there are.

    Raises:
        UserError: if a file is missing, broken or empty, an example occurs twice, one that is asked about contradicts
            itself or the task graphs, or a candidate does not fit its example.
    """
    workspace.require("examples.jsonl")
    from proctor.ask.moment.candidate import Candidate

    candidates: list[Candidate] = read_jsonl(workspace.require(name), Candidate)
    examples = some_examples(workspace, graphs, {c.example_id for c in candidates})
    return load_candidates(workspace, examples, name), {e.id: e for e in examples}


def load_items(workspace: Workspace, graphs: _Graphs) -> list[Item]:
    """Return the items of a workspace that are about moments.

    Raises:
        UserError: if there are none, the file is missing or broken, or a record contradicts itself or the task graphs.
    """
    found = [item for item in load_all_items(workspace, graphs) if item.question.kind == MOMENT]
    _require_records(workspace.file("items.jsonl"), found, _anew(workspace, "items.jsonl"))
    return found


def load_all_items(workspace: Workspace, graphs: _Graphs | None = None) -> list[Item]:
    """Return the items of a workspace, of every kind.

    Args:
        workspace: that has them.
        graphs: its task graphs; read where an item needs one.

    Raises:
        UserError: if the file is missing, broken or empty, or a record contradicts itself or the task graphs.
    """
    known: list[_Graphs] = [] if graphs is None else [graphs]

    def wrong(item: Item) -> Iterator[str]:
        if item.question.kind != MOMENT:
            return _wrong_with_any_item(item)
        if not known:
            known.append(workspace.graphs())
        return _wrong_with_item(item, known[0])

    return _load(workspace, "items.jsonl", Item, wrong)


def load_predictions(folder: Path, items: Collection[Item]) -> list[Prediction]:
    """Return the predictions of a run.

    Raises:
        UserError: if the file is missing, broken or empty, or a prediction does not fit the items.
    """
    return _load_answers(folder / "predictions.jsonl", Prediction, items, "predict", _wrong_with_prediction)


_MARKS: Final = "judgements.jsonl"


def load_judgements(folder: Path, items: Collection[Item], name: str = _MARKS) -> list[Judgement]:
    """Return the judgements of a run, from the file that its scores are made of or another one in its folder.

    Raises:
        UserError: if the run is not marked, the file is missing, broken or empty, or a judgement does not fit the items.
    """
    if name == _MARKS and not is_there(folder / name):
        raise UserError(
            f"the run '{folder.name}' is not marked yet.",
            where=str(folder),
            hint=f"run first: proctor judge {shlex.quote(str(folder.parent.parent))} --run {shlex.quote(folder.name)}",
        )
    return _load_answers(folder / name, Judgement, items, "judge", _wrong_with_judgement)


# -- files -------------------------------------------------------------------------------------------------------


def _load(workspace: Workspace, name: str, type_: type[R], wrong: Callable[[R], Iterator[str]]) -> list[R]:
    path = workspace.require(name)
    records: list[R] = read_jsonl(path, type_)
    hint = _anew(workspace, name)
    return list(_sound(path, ((r.id, r) for r in records), wrong, hint))


def _load_answers(
    path: Path,
    type_: type[A],
    items: Collection[Item],
    stage: str,
    wrong: Callable[[A, Item], Iterator[str]],
) -> list[A]:
    records: list[A] = read_jsonl(path, type_)
    hint = f"correct the file, or remove it and run 'proctor {stage}' again"
    by_id = {item.id: item for item in items}

    def check(record: A) -> Iterator[str]:
        item = by_id.get(record.item_id)
        if item is None:
            yield "there is no such item in items.jsonl"
        else:
            yield from wrong(record, item)

    return list(_sound(path, ((_turn(r), r) for r in records), check, hint))


def _turn(record: Prediction | Judgement) -> str:
    """Return what names a record among those of its run: its item and, of a circular run, the rotation of the options."""
    rotation = record.details.get("rotation")
    return record.item_id if rotation is None else f"{record.item_id} (rotation {rotation})"


def _sound(
    path: Path, records: Iterable[tuple[str, T]], wrong: Callable[[T], Iterator[str]], hint: str
) -> Iterator[T]:
    """Yield the records until one whose id occurred before or with which something is wrong."""
    first: dict[str, int] = {}
    for number, (name, record) in enumerate(records, 1):
        where = _where(path, number, name)
        if name in first:
            raise UserError(f"its id is that of record {first[name]}, too.", where=where, hint=hint)
        first[name] = number
        for problem in wrong(record):
            raise UserError(f"{problem}.", where=where, hint=hint)
        yield record
    _require_records(path, first, hint)


def _require_records(path: Path, records: Sized, hint: str) -> None:
    if not records:
        raise UserError("there are no records in it.", where=str(path), hint=hint)


def _require_once(path: Path, type_: type[R], hashes: array[int], hint: str) -> None:
    """End at an id that occurred before; the ids themselves are read again only where two hashes are the same."""
    twice = {one for one, other in pairwise(sorted(hashes)) if one == other}
    if not twice:
        return
    first: dict[str, int] = {}
    records: Iterator[R] = iter_jsonl(path, type_)
    for number, record in enumerate(records, 1):
        if hashes[number - 1] in twice and first.setdefault(record.id, number) != number:
            where = _where(path, number, record.id)
            raise UserError(f"its id is that of record {first[record.id]}, too.", where=where, hint=hint)


def _hash(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest())


def _where(path: Path, number: int, name: str) -> str:
    return f"{path}: record {number} ('{name[:80]}')"


def _anew(workspace: Workspace, name: str) -> str:
    return f"correct the file, or make it again: {workspace.command_for(name)}"


# -- records -----------------------------------------------------------------------------------------------------


def _wrong_with_recording(recording: Recording, graphs: _Graphs) -> Iterator[str]:
    graph = graphs.get(recording.activity_id)
    if recording.duration is not None:
        yield from _wrong_with_time("duration", recording.duration)
    for position, segment in enumerate(recording.segments):
        what = f"segments[{position}]"
        if graph is not None:
            yield from _unknown_steps([segment.step_id], graph, what)
        yield from _wrong_with_span(what, segment.start, segment.end)


def _is_sound(example: Example, graphs: _Graphs) -> bool:
    """Tell quickly whether nothing is wrong with an example: there may be millions of sound ones."""
    graph = graphs.get(example.activity_id)
    if graph is None or example.type not in QUESTION_TYPES or not 0 <= example.end < math.inf:
        return False
    asked = (example.next_steps or (), example.missing_steps or ())
    named = {s.step_id for s in chain(example.all_next, example.all_missing, *asked)}.union(*example.blocking)
    for done in example.performed:
        named.add(done.step_id)
        start, end = done.start, done.end
        if start is not None and not 0 <= start < math.inf:
            return False
        if end is not None and not (0 if start is None else start) <= end < math.inf:
            return False
    return graph.index.keys() >= named


def _wrong_with_example(example: Example, graphs: _Graphs) -> Iterator[str]:
    if _is_sound(example, graphs):
        return
    graph = graphs.get(example.activity_id)
    if graph is None:
        yield f"there is no task graph for its activity '{example.activity_id[:80]}'"
        return
    if example.type not in QUESTION_TYPES:
        yield f"its type is '{example.type[:80]}'; known are {', '.join(QUESTION_TYPES)}"
    yield from _wrong_with_time("end", example.end)
    named = [s for group in (example.next_steps, example.missing_steps) for s in group or ()]
    named += [*example.all_next, *example.all_missing]
    yield from _unknown_steps([s.step_id for s in named], graph, "its steps")
    yield from _unknown_steps([i for pair in example.blocking for i in pair], graph, "blocking")
    for position, done in enumerate(example.performed):
        what = f"performed step {position + 1}"
        yield from _unknown_steps([done.step_id], graph, what)
        yield from _wrong_with_span(what, done.start, done.end)


def _wrong_with_candidate(candidate: Candidate, examples: Mapping[str, Example]) -> Iterator[str]:
    example = examples.get(candidate.example_id)
    if example is None:
        yield f"it asks about example '{candidate.example_id[:80]}', which is not in examples.jsonl"
    elif (candidate.type, candidate.recording_id) != (example.type, example.recording_id):
        yield f"its type or recording differs from that of its example '{example.id[:80]}'"
    if not candidate.question.strip():
        yield "its question is empty"
    if not candidate.answers:
        yield "it has no answer"


def _wrong_with_item(item: Item, graphs: _Graphs) -> Iterator[str]:
    question = item.question
    try:
        example = moment_example(question)
    except msgspec.ValidationError as error:
        yield f"its facts are no example: {error}"
        return
    yield from (f"in its example, {problem}" for problem in _wrong_with_example(example, graphs))
    about = question_about(example, question.id, question.text)
    for name in ("form", "evidence", "facets", "cluster", "place"):
        if getattr(question, name) != getattr(about, name):
            yield f"its {name} is not that of its example"
    if not question.text.strip():
        yield "its question is empty"
    if not item.golds:
        yield "it has no gold answer"
    for gold in item.golds:
        if not isinstance(gold.value, Text):
            yield "a gold answer is no text"


def _wrong_with_any_item(item: Item) -> Iterator[str]:
    try:
        check_questions([item.question])
    except UserError as error:
        yield error.message.removesuffix(".")
    if not item.golds:
        yield "it has no gold answer"
    options = item.question.form.options if isinstance(item.question.form, Choice) else ()
    for gold in item.golds:
        if isinstance(gold.value, Pick) and not 0 <= gold.value.option < len(options):
            yield f"option {gold.value.option} is right, which it does not have"
        if why := wrong_ordering(gold.value, item.question.form):
            yield f"a gold answer is an order that {why}"


def _wrong_with_prediction(prediction: Prediction, _: Item) -> Iterator[str]:
    if (prediction.answer is None) == (prediction.failure is None):
        yield "it must have either an answer or a failure"
    for time in prediction.frame_times:
        yield from _wrong_with_time("a time in frame_times", time)


def _wrong_with_judgement(judgement: Judgement, item: Item) -> Iterator[str]:
    if judgement.score not in (None, 0, 1, 2):
        yield f"its score is {judgement.score}; 0, 1, 2 or null was expected"
    if judgement.gold is not None and not 0 <= judgement.gold < len(item.golds):
        yield f"its gold is number {judgement.gold}, but the item has {len(item.golds)}"


def _unknown_steps(step_ids: Iterable[str], graph: TaskGraph, what: str) -> Iterator[str]:
    for step_id in step_ids:
        if step_id not in graph:
            yield f"{what}: step '{step_id[:80]}' is not in the task graph of '{graph.id[:80]}'"


def _wrong_with_span(what: str, start: float | None, end: float | None) -> Iterator[str]:
    for name, time in (("start", start), ("end", end)):
        if time is not None:
            yield from _wrong_with_time(f"{what}: {name}", time)
    if start is not None and end is not None and end < start:
        yield f"{what}: it ends at {end:g} s, before it starts at {start:g} s"


def _wrong_with_time(what: str, seconds: float) -> Iterator[str]:
    if not math.isfinite(seconds) or seconds < 0:
        yield f"{what} is {seconds:g}; a time in seconds from 0 was expected"


def media_root(workspace: Workspace) -> Path | None:
    """Return the folder that video paths are relative to: that of the data set which was read."""
    read = workspace.stages().get("read")
    if read is None or not read.settings.get("folder"):
        return None
    return Path(read.settings["folder"])
