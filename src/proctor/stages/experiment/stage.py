"""What an experiment is made of: stages with their settings, what is being done, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from proctor.exam.table import ScoreRow, ScoreTable
from proctor.llm.estimate import Estimate
from proctor.settings import Outline, Settings
from proctor.stages.limits import Limits
from proctor.stages.models import Closing
from proctor.stages.show import Show
from proctor.stages.together import Job, side_by_side
from proctor.workspace import Workspace

if TYPE_CHECKING:
    from proctor.stages.calibrate import Calibrated
    from proctor.stages.experiment.compare import Grid

__all__ = [
    "Chosen",
    "Doing",
    "Done",
    "Part",
    "Plan",
    "Stage",
    "StoppedError",
    "Task",
    "Unit",
    "nothing",
    "rows_of_tables",
    "units_of_table",
]

S = TypeVar("S", bound=Settings)
Chosen = Mapping[str, Settings]
"""The settings of every stage, by its name."""


class StoppedError(Exception):
    """A stage ended early, so that none comes after it; what is there is written."""


@dataclass(frozen=True, slots=True)
class Part:
    """One stage as it was done: its name, the counts of its closing line, and its calls, if it made any."""

    name: str
    counts: Mapping[str, Any]
    calls: Closing | None = None


@dataclass(slots=True)
class Done:
    """What came of an experiment.

    Attributes:
        parts: the stages, in order; those of a cell begin with its name.
        stopped: why the experiment ended early; empty when it did not.
        notes: what to beware of.
        lines: what else stages say of themselves, for people.
        searched: what retrievers found, by set of questions.
        scores: of every system its row over all questions, one a measure.
        calibration: of the judges; None without marks by people.
        report: path of the page; empty when it did not come so far. Of a grid the table of its cells.
        sheet: path of the answers for people to mark; empty when they have.
        grid: the cells side by side; None where nothing varied.
    """

    parts: list[Part] = field(default_factory=list)
    stopped: str = ""
    notes: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    searched: dict[str, tuple[ScoreRow, ...]] = field(default_factory=dict)
    scores: dict[str, tuple[ScoreRow, ...]] = field(default_factory=dict)
    calibration: Calibrated | None = None
    report: str = ""
    sheet: str = ""
    grid: Grid | None = None


@dataclass(slots=True)
class Doing:
    """An experiment that is going on, in the workspace of one of its cells or in the one that all of them share.

    Attributes:
        root: the workspace.
        chosen: settings of every stage.
        limits: for all stages together.
        show: shows progress.
        done: what came of it so far.
        cell: name of the cell; empty in the workspace that all share.
    """

    root: Path
    chosen: Chosen
    limits: Limits
    show: Show
    done: Done
    cell: str = ""

    @property
    def workspace(self) -> Workspace:
        """The workspace."""
        return Workspace(self.root)

    def settings(self, kind: type[S]) -> S:
        """Return the settings of a stage, for another one."""
        return next(found for found in self.chosen.values() if isinstance(found, kind))

    @contextmanager
    def showing(self, title: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        """Show the progress of a part."""
        with self.show(f"{self.cell}: {title}" if self.cell else title, total) as seen:
            yield seen

    def add(self, name: str, result: msgspec.Struct | Mapping[str, Any]) -> None:
        """Write down what a stage did.

        Raises:
            StoppedError: if it ended early, or no model said anything: nothing comes after it unless failures are accepted.
        """
        calls: Closing | None = getattr(result, "calls", None) or None
        part = Part(
            f"{self.cell}: {name}" if self.cell else name, counts=msgspec.to_builtins(result), calls=calls
        )
        self.done.parts.append(part)
        if calls is not None:
            self.done.notes += [f"{part.name}: {cut.told}" for cut in calls.cut_off]
        if calls is not None and _ended_early(result):
            self.stop(f"{part.name}: {calls.stopped or 'no model said anything'}")

    def stop(self, why: str) -> None:
        """End the experiment early, or note why, where failures are accepted.

        Raises:
            StoppedError: if they are not.
        """
        if not self.limits.accept_failures:
            raise StoppedError(why)
        self.done.notes.append(f"{why}; what is missing counts as failed")

    def together(self, jobs: Sequence[Task]) -> None:
        """Do what asks different providers side by side, and write down what was done in the order of the jobs.

        Raises:
            StoppedError: if one of them ended early.
            UserError: if one of them failed.
            KeyboardInterrupt: if somebody stopped them.
        """
        for job in jobs:
            job.title = f"{self.cell}: {job.title}" if self.cell else job.title
            job.ends = lambda made: _ended_early(made) and not self.limits.accept_failures
        stopped: StoppedError | None = None
        for job in side_by_side(self.root, jobs, self.limits, self.show):
            assert job.result is not None
            try:
                self.add(job.name, job.result)
            except StoppedError as error:
                stopped = stopped or error
        if stopped is not None:
            raise stopped

    def within(self, root: Path, chosen: Chosen, cell: str, limits: Limits) -> Doing:
        """Return the same experiment, going on in the workspace of a cell."""
        return replace(self, root=root, chosen=chosen, cell=cell, limits=limits)


@dataclass(slots=True, eq=False, kw_only=True)
class Task(Job[msgspec.Struct]):
    """A job that is a part of an experiment, called ``name`` there."""

    name: str


def _ended_early(result: msgspec.Struct | Mapping[str, Any]) -> bool:
    """Tell whether nothing comes after what a stage did."""
    calls: Closing | None = getattr(result, "calls", None) or None
    return calls is not None and (bool(calls.stopped) or calls.mute)


class Unit(NamedTuple):
    """What a cell is measured by: one number of each of the things that its system was tried on.

    Attributes:
        system: who answered; empty for what was asked and approved.
        measure: ``approved by oracle``, ``judge``, ``rouge-1``, ``accuracy``.
        marks: by question or example, None where there is none.
        clusters: what intervals draw whole, by the same.
        full: the mark for what is right; numbers are printed from 0 to 100.
        judge: who gave the marks; empty where nobody did.
    """

    system: str
    measure: str
    marks: Mapping[str, float | None]
    clusters: Mapping[str, str]
    full: float = 1.0
    judge: str = ""

    @property
    def scale(self) -> float:
        """What a mark is multiplied with to be printed."""
        return 100.0 / self.full


def _nobody(_settings: Any) -> Iterable[str]:
    return ()


def nothing(_doing: Doing, _settings: Any) -> Iterator[Estimate]:
    """Say that a stage asks nobody, and that nothing stands in for its results."""
    yield from ()


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of an experiment.

    Attributes:
        name: of its settings: their heading, their table in ``proctor.toml``, and before the dot of ``--vary``.
        run: does it, or goes on with it; what is done already costs nothing.
        writes: files of the workspace that later stages read: names and patterns; a folder that ends in ``/`` is shared as
            it is.
        models: names of the models that it asks.
        check: sees that it can be done, before an earlier one is paid for.
        estimate: says what it would take, and leaves in a copy of the workspace what stands in for its results; without it
            the models are played.
    """

    name: str
    run: Callable[[Doing, Any], None]
    writes: tuple[str, ...] = ()
    models: Callable[[Any], Iterable[str]] = _nobody
    check: Callable[[Doing, Any], None] | None = None
    estimate: Callable[[Doing, Any], Iterator[Estimate]] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A published experiment: its stages in order.

    Attributes:
        outline: the settings of each of them.
        stages: in the same order.
        measure: what cells are measured by, from a finished workspace.
        costs: files whose records say what they cost.
    """

    outline: Outline
    stages: tuple[Stage, ...]
    measure: Callable[[Path], Iterable[Unit]]
    costs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As it is typed."""
        return self.outline.name


def units_of_table(table: ScoreTable, system: str, prefix: str = "") -> Iterator[Unit]:
    """Yield what a system got for each question, by every measure of its table; the prefix stands before their names."""
    for measure, marks in table.marks.items():
        row = table.row(measure=measure)
        clusters = {id_: table.clusters.get(id_, id_) for id_ in marks}
        yield Unit(system, f"{prefix}{measure}", marks, clusters, row.full, row.judge)


def rows_of_tables(tables: Mapping[str, ScoreTable]) -> dict[str, tuple[ScoreRow, ...]]:
    """Return of every system its row over all questions, one a measure."""
    return {name: tuple(row for row in t.rows if row.slice == "all") for name, t in tables.items()}
