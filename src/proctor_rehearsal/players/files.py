"""A workspace's files as they are now, for a server that runs while the stages write them."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, TypeVar

from proctor.ask.moment.candidate import Candidate
from proctor.errors import UserError
from proctor.exam.floors import ConstantFloor
from proctor.exam.kinds.example import Example
from proctor.exam.question import Item
from proctor.llm.fence import escape_text
from proctor.procedure.graph import TaskGraph
from proctor.stages.inputs import load_candidates, load_examples, load_items
from proctor.workspace import Workspace
from proctor_rehearsal.players.answers import AnswerSheet, answer_sheet

__all__ = ["Files", "Now", "activity_names", "shown"]

_READ: Final = ("graphs.json", "examples.jsonl", "candidates.jsonl", "items.jsonl")

T = TypeVar("T")
R = TypeVar("R", Example, Candidate, Item)
_Stamp = tuple[tuple[int, int] | None, ...]


@lru_cache(maxsize=100_000)
def shown(text: str) -> str:
    """Return a text as it stands in a fence of one line: what prompts are compared with."""
    return escape_text(text, one_line=True)


def activity_names(example: Example, graph: TaskGraph | None) -> set[str]:
    """Return what prompts may call the activity of an example, as it stands there."""
    names = {example.activity_name, example.activity_id} | ({graph.name, graph.id} if graph else set())
    return {shown(name) for name in names if name}


@dataclass(frozen=True)
class Now:
    """The files at one moment; each is read when somebody needs it.

    A file that is not there yet has no records. One that cannot be used has none either, and ``problems`` says why.
    """

    workspace: Workspace
    problems: list[str] = field(default_factory=list)
    _sheets: dict[str, AnswerSheet] = field(default_factory=dict)

    @cached_property
    def graphs(self) -> Mapping[str, TaskGraph]:
        """Task graphs by activity id."""
        found = self._read("graphs.json", self.workspace.graphs)
        return found if found is not None else {}

    @cached_property
    def examples(self) -> Mapping[str, Example]:
        """Examples by id."""
        found = self._read("examples.jsonl", lambda: load_examples(self.workspace, self.graphs))
        return {e.id: e for e in found or ()}

    @cached_property
    def examples_of(self) -> Mapping[tuple[str, str], Sequence[Example]]:
        """Examples by name of the activity, as prompts show it, and type."""
        index: dict[tuple[str, str], list[Example]] = defaultdict(list)
        for example in self.examples.values():
            for name in activity_names(example, self.graphs.get(example.activity_id)):
                index[name, example.type].append(example)
        return index

    @cached_property
    def candidates_of(self) -> Mapping[tuple[str, tuple[str, ...]], Sequence[Candidate]]:
        """Candidates by question and answers, as prompts show them."""
        found = self._read(
            "candidates.jsonl", lambda: load_candidates(self.workspace, self.examples.values())
        )
        return _grouped(
            found or (),
            lambda c: (escape_text(c.question), tuple(escape_text(a.text) for a in c.answers)),
        )

    @cached_property
    def items(self) -> Sequence[Item]:
        """The benchmark."""
        return self._read("items.jsonl", lambda: load_items(self.workspace, self.graphs)) or ()

    @cached_property
    def items_of(self) -> Mapping[str, Sequence[Item]]:
        """Items by question, as prompts show it."""
        return _grouped(self.items, lambda i: escape_text(i.question.text))

    @cached_property
    def constant(self) -> ConstantFloor:
        """What is mostly the answer to each type of question."""
        return ConstantFloor.fit(self.items)

    @cached_property
    def graph_named(self) -> Mapping[str, TaskGraph]:
        """Task graphs by the names that prompts may show."""
        return {shown(name): g for g in self.graphs.values() for name in (g.id, g.name) if name}

    def sheet(self, item: Item, graph: TaskGraph) -> AnswerSheet:
        """Return right and wrong answers to an item, made once."""
        if item.id not in self._sheets:
            self._sheets[item.id] = answer_sheet(item, graph)
        return self._sheets[item.id]

    def _read(self, name: str, load: Callable[[], T]) -> T | None:
        if not self.workspace.file(name).exists():
            return None
        try:
            return load()
        except UserError as error:
            self.problems.append(f"{name}: {error.render()}")
            return None


def _grouped(records: Iterable[R], key: Callable[[R], T]) -> dict[T, list[R]]:
    groups: dict[T, list[R]] = defaultdict(list)
    for record in records:
        groups[key(record)].append(record)
    return groups


class Files:
    """Watches a workspace: ``now()`` is what its files hold, read again when one of them changed.

    Args:
        root: the workspace; it need not be there yet.
    """

    def __init__(self, root: Path) -> None:
        self._workspace = Workspace(root)
        self._lock = threading.RLock()
        self._stamp: _Stamp = ()
        self._now = Now(self._workspace)

    def now(self) -> Now:
        """Return the files; what was read of them before is kept as long as none changed."""
        with self._lock:
            stamp = tuple(self._stamp_of(name) for name in _READ)
            if stamp != self._stamp:
                self._stamp, self._now = stamp, Now(self._workspace)
            return self._now

    @property
    def problems(self) -> tuple[str, ...]:
        """Why files that are there could not be used."""
        return tuple(self._now.problems)

    def _stamp_of(self, name: str) -> tuple[int, int] | None:
        try:
            status = self._workspace.file(name).stat()
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns
