"""``proctor learn sequence-page``: runs that put steps in order, side by side on one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from proctor.corpus.collection import NoImage, find_image
from proctor.errors import UserError
from proctor.learn.sequencing.data import MODALITY, Ordered, Presented, Shown
from proctor.learn.sequencing.figures import OrderFigures, order_figures, pair_truths, predicted_steps
from proctor.learn.sequencing.partial import partly_ordered
from proctor.metrics.calibration import reliability_bins
from proctor.metrics.figure import Matrix
from proctor.metrics.ordering import PartialOrder, is_valid_order, kendall_tau
from proctor.report.numbers import count
from proctor.report.page import write_page
from proctor.report.parts import Paragraph, Part
from proctor.report.sequences import BoardRow, OrderSaid, SequenceShown, StepShown, sequences_page
from proctor.stages.learn.sequence import LearnedSequence, read_learned, read_test_part
from proctor.stages.learn.sequence_settings import SequencePageSettings
from proctor.stages.order_people import read_people
from proctor.stages.report_evidence import thumbnail

__all__ = ["SequencePage", "draw_sequences"]

_MAPS: Final = 4
"""Sequences whose pairs are drawn."""
_SIDE: Final = 220
_MEASURES: Final = (
    "perfect_match_ratio",
    "kendall_tau",
    "position_accuracy",
    "longest_common_subsequence",
    "longest_common_substring",
    "displacement",
)


class SequencePage(msgspec.Struct, frozen=True):
    """What was drawn: the file, runs as the page calls them, sequences that are shown, and notes for the reader."""

    page: str
    runs: tuple[str, ...]
    sequences: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Run:
    name: str
    learned: LearnedSequence
    shown: Shown
    items: Sequence[Presented]
    predicted: Sequence[Ordered]
    taus: Sequence[float]


def draw_sequences(settings: SequencePageSettings) -> SequencePage:
    """Read runs and write the page.

    Raises:
        UserError: if a run is not whole or of another kind, or runs are of other files or seeds.
    """
    runs = [_read(folder, _name(folder, settings.runs)) for folder in settings.runs]
    first = runs[0]
    for run, folder in zip(runs, settings.runs, strict=True):
        if [i.sequence.id for i in run.items] != [i.sequence.id for i in first.items]:
            raise UserError(
                "it was tested on other sequences than the first run.",
                where=str(folder),
                hint="draw runs of one file and seed",
            )
    best = max(runs, key=lambda run: run.learned.test.kendall_tau)
    board = [_row(run.name, "run", run.learned.test, _asked(run.learned)) for run in runs]
    notes = list(dict.fromkeys(note for run in runs for note in run.learned.notes))
    if settings.people is not None:
        board.append(_people(settings.people, first, notes))
    board += [_row(name, "floor", figures) for name, figures in first.learned.floors.items()]
    order = sorted(range(len(best.items)), key=lambda k: (best.taus[k], best.items[k].sequence.id))
    shown = [order[k * len(order) // settings.examples] for k in range(min(settings.examples, len(order)))]
    if len(order) <= settings.examples:
        shown = order
    picture = _Pictures((settings.data or Path(first.learned.data)).parent)
    page = sequences_page(
        settings.title or "Steps put in order",
        board,
        [part for run in runs for part in _pairs(run)],
        [_sequence(k, runs, picture) for k in shown],
        [*notes, *picture.notes()],
        {"file": first.learned.data, **{run.name: _asked(run.learned) for run in runs}},
        len(order) - len(shown),
    )
    write_page(settings.out, page)
    return SequencePage(
        str(settings.out), tuple(r.name for r in runs), len(shown), (*notes, *picture.notes())
    )


def _name(folder: Path, every: Sequence[Path]) -> str:
    return folder.name if sum(other.name == folder.name for other in every) == 1 else str(folder)


def _read(folder: Path, name: str) -> _Run:
    learned = read_learned(folder)
    shown: Shown = msgspec.convert(learned.modality, Shown)
    items, predicted = read_test_part(folder, shown)
    taus = [
        kendall_tau(i.sequence.authored, predicted_steps(i, p.order)).value
        for i, p in zip(items, predicted, strict=True)
    ]
    return _Run(name, learned, shown, items, predicted, taus)


def _asked(learned: LearnedSequence) -> str:
    pretrained = f", pretrained by {'+'.join(learned.pretrain)}" if learned.pretrain else ""
    return f"{learned.model}, {learned.encoder}, {learned.modality}{pretrained}, seed {learned.seed}"


def _row(name: str, role: str, figures: OrderFigures, note: str = "") -> BoardRow:
    values = tuple((getattr(figures, m), *figures.intervals.get(m, (None, None))) for m in _MEASURES)
    return BoardRow(name, role, figures.n, values, note)


def _people(path: Path, run: _Run, notes: list[str]) -> BoardRow:
    """Return the row of people: the mean over every order that one gave, shown the same as the run."""
    items = {item.sequence.id: item for item in run.items}
    people = read_people(path, {name: item.sequence for name, item in items.items()})
    answers = [a for a in people.main if a.modality == MODALITY[run.shown]]
    if not answers:
        raise UserError(f"nobody put any of the test sequences in order, shown {run.shown}.", where=str(path))
    asked = [items[answer.item.id] for answer in answers]
    given = [
        Ordered(tuple(i.slots.index(step) for step in a.order)) for i, a in zip(asked, answers, strict=True)
    ]
    seen = len({answer.item.id for answer in answers})
    if seen < len(items):
        notes.append(f"People put {seen} of {count(len(items), 'test sequence')} in order.")
    orders = f"{count(len(answers), 'order')} by {len({a.worker for a in answers})} people"
    return _row("people", "people", order_figures(asked, given, run.shown), orders)


# -- pairs ---------------------------------------------------------------------------------------------------------


def _pairs(run: _Run) -> Iterator[Part]:
    truth, stated = pair_truths(run.items, run.predicted, run.shown)
    if not len(truth):
        return
    error = run.learned.calibration
    known = "" if error is None else f" (expected calibration error {error.expected_calibration_error:.3f})"
    title = f"{run.name}: how often what is said to come first does{known}"
    yield reliability_bins(truth, stated).as_figure(title)
    with_pairs = [k for k, one in enumerate(run.predicted) if one.precedence is not None]
    for k in with_pairs[:: max(1, len(with_pairs) // _MAPS)][:_MAPS]:
        yield from _map(run, k)


def _map(run: _Run, at: int) -> Iterator[Part]:
    item, one = run.items[at], run.predicted[at]
    assert one.precedence is not None
    places = [item.slots.index(step) for step in item.sequence.authored]
    matrix = ((one.precedence + 1 - one.precedence.T) / 2)[places][:, places]
    names = tuple(f"{n}. {step.text[:32]}" for n, step in enumerate(item.sequence.steps, 1))
    cells = tuple(
        tuple(None if i == j else round(float(p), 2) for j, p in enumerate(row))
        for i, row in enumerate(matrix)
    )
    yield Matrix(
        f"{run.name}: probability that the step of the row comes before that of the column, {item.sequence.id}",
        names, tuple(str(n) for n in range(1, len(names) + 1)), cells, kind="values", row_title="step", column_title="before step",
    )  # fmt: skip
    free = [(p.first + 1, p.second + 1, p.either) for p in partly_ordered(matrix).swappable]
    told = ", ".join(f"{min(i, j)} and {max(i, j)} ({100 * p:.0f} %)" for i, j, p in free[:8])
    more = f", and {len(free) - 8} pairs more" if len(free) > 8 else ""
    yield Paragraph(
        f"Interchangeable, as far as the model can tell: {told}{more}."
        if free
        else "No two steps can be swapped."
    )


# -- sequences -----------------------------------------------------------------------------------------------------


class _Pictures:
    """Small pictures as data addresses; those that are not there are counted."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._missing: set[str] = set()
        self.of = cache(self._of)

    def _of(self, name: str) -> str:
        found = find_image(self._root, name)
        address = "" if isinstance(found, NoImage) else thumbnail(found, _SIDE)
        if not address:
            self._missing.add(name)
        return address

    def notes(self) -> list[str]:
        missing = len(self._missing)
        return (
            [f"{count(missing, 'picture')} cannot be read; --data names where the file is."]
            if missing
            else []
        )


def _sequence(at: int, runs: Sequence[_Run], picture: _Pictures) -> SequenceShown:
    sequence = runs[0].items[at].sequence
    texts: Mapping[int, str] = {
        n: step.text for run in runs for n, step in enumerate(run.items[at].sequence.steps) if step.text
    }
    images = {n: s.images[0] for run in runs for n, s in enumerate(run.items[at].sequence.steps) if s.images}
    return SequenceShown(
        sequence.id,
        sequence.goal,
        sequence.task,
        tuple(
            StepShown(texts.get(n, ""), picture.of(images[n]) if n in images else "")
            for n in sequence.authored
        ),
        tuple(_said(run, at) for run in runs),
        (("task", sequence.task),) if sequence.task and sequence.goal != sequence.task else (),
    )


def _said(run: _Run, at: int) -> OrderSaid:
    item, one = run.items[at], run.predicted[at]
    order = predicted_steps(item, one.order)
    accepted = order in item.sequence.orders(MODALITY[run.shown])
    if item.sequence.before is not None:
        accepted = accepted or is_valid_order(PartialOrder(range(len(order)), item.sequence.before), order)
    return OrderSaid(run.name, order, run.taus[at], accepted)
