"""``proctor learn sequence-page``: runs that put steps in order, side by side on one page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.corpus.collection import NoImage, find_image
from proctor.errors import UserError
from proctor.learn.sequencing.data import MODALITY, Ordered, Presented
from proctor.learn.sequencing.figures import OrderFigures, order_figures, pair_truths, predicted_steps
from proctor.learn.sequencing.partial import partly_ordered
from proctor.metrics.calibration import reliability_bins
from proctor.metrics.figure import Matrix
from proctor.metrics.ordering import MEASURES, PartialOrder, is_valid_order, kendall_tau
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
    items: Sequence[Presented]
    predicted: Sequence[Ordered]

    def said(self, at: int) -> OrderSaid:
        sequence = self.items[at].sequence
        order = predicted_steps(self.items[at], self.predicted[at].order)
        accepted = order in sequence.orders(MODALITY[self.learned.modality])
        if sequence.before is not None:
            accepted = accepted or is_valid_order(PartialOrder(range(len(order)), sequence.before), order)
        return OrderSaid(self.name, order, kendall_tau(sequence.authored, order).value, accepted)


def draw_sequences(settings: SequencePageSettings) -> SequencePage:
    """Read runs and write the page.

    Raises:
        UserError: if a run is not whole or of another kind, or runs are of other files or seeds.
    """
    names = Counter(folder.name for folder in settings.runs)
    called = [(f, f.name if names[f.name] == 1 else str(f)) for f in settings.runs]
    runs = [_Run(name, read_learned(folder), *read_test_part(folder)) for folder, name in called]
    first = runs[0]
    for run, folder in zip(runs, settings.runs, strict=True):
        if [(i.sequence.id, i.slots) for i in run.items] != [(i.sequence.id, i.slots) for i in first.items]:
            message = "it was tested on other sequences than the first run."
            raise UserError(message, where=str(folder), hint="draw runs of one file and seed")
    board = [_row(run.name, "run", run.learned.test, run.learned.asked) for run in runs]
    notes = list(dict.fromkeys(note for run in runs for note in run.learned.notes))
    if settings.people is not None:
        board.append(_people(settings.people, first, notes))
    board += [_row(name, "floor", figures) for name, figures in first.learned.floors.items()]
    best = max(runs, key=lambda run: run.learned.test.kendall_tau)
    order = sorted(range(len(best.items)), key=lambda k: (best.said(k).tau, best.items[k].sequence.id))
    many = min(settings.examples, len(order))
    missing: set[str] = set()
    picture = cache(partial(_picture, (settings.data or Path(first.learned.data)).parent, missing))
    sequences = [_sequence(order[k * len(order) // many], runs, picture) for k in range(many)]
    if missing:
        notes.append(f"{count(len(missing), 'picture')} cannot be read; --data names where the file is.")
    title, pairs = settings.title or "Steps put in order", [part for run in runs for part in _pairs(run)]
    method = {"file": first.learned.data, **{run.name: run.learned.asked for run in runs}}
    page = sequences_page(title, board, pairs, sequences, notes, method, len(order) - many)
    write_page(settings.out, page)
    return SequencePage(str(settings.out), tuple(r.name for r in runs), many, tuple(notes))


def _row(name: str, role: str, figures: OrderFigures, note: str = "") -> BoardRow:
    values = tuple((getattr(figures, m), *figures.intervals.get(m, (None, None))) for m in MEASURES)
    return BoardRow(name, role, figures.n, values, note)


def _people(path: Path, run: _Run, notes: list[str]) -> BoardRow:
    """Return the row of people: the mean over every order that one gave, shown the same as the run."""
    items = {item.sequence.id: item for item in run.items}
    people = read_people(path, {name: item.sequence for name, item in items.items()})
    shown = run.learned.modality
    answers = [a for a in people.main if a.modality == MODALITY[shown]]
    if not answers:
        raise UserError(f"no person put any of the test sequences in order, shown {shown}.", where=str(path))
    asked = [items[answer.item.id] for answer in answers]
    pairs = zip(asked, answers, strict=True)
    given = [Ordered(tuple(map(item.slots.index, answer.order))) for item, answer in pairs]
    if (seen := len({answer.item.id for answer in answers})) < len(items):
        notes.append(f"People put {seen} of {count(len(items), 'test sequence')} in order.")
    orders = f"{count(len(answers), 'order')} by {len({a.worker for a in answers})} people"
    return _row("people", "people", order_figures(asked, given, shown), orders)


def _pairs(run: _Run) -> Iterator[Part]:
    truth, stated = pair_truths(run.items, run.predicted, run.learned.modality)
    if not len(truth):
        return
    error = run.learned.calibration
    known = "" if error is None else f" (expected calibration error {error.expected_calibration_error:.3f})"
    title = f"{run.name}: how often what is said to come first does{known}"
    yield reliability_bins(truth, stated).as_figure(title)
    both = zip(run.items, run.predicted, strict=True)
    said = [(item, one.precedence) for item, one in both if one.precedence is not None]
    for item, precedence in said[:: max(1, len(said) // _MAPS)][:_MAPS]:
        yield from _map(run, item, precedence)


def _map(run: _Run, item: Presented, precedence: NDArray[np.float64]) -> Iterator[Part]:
    places = [item.slots.index(step) for step in item.sequence.authored]
    matrix = ((precedence + 1 - precedence.T) / 2)[places][:, places]
    names = tuple(f"{n}. {step.text[:32]}" for n, step in enumerate(item.sequence.steps, 1))
    rows = enumerate(matrix.round(2).tolist())
    cells = tuple(tuple(None if i == j else p for j, p in enumerate(row)) for i, row in rows)
    yield Matrix(
        f"{run.name}: probability that the step of the row comes before that of the column, {item.sequence.id}",
        names, tuple(str(n) for n in range(1, len(names) + 1)), cells, kind="values", row_title="step", column_title="before step",
    )  # fmt: skip
    free = [(p.first + 1, p.second + 1, p.either) for p in partly_ordered(matrix).swappable]
    told = ", ".join(f"{min(i, j)} and {max(i, j)} ({100 * p:.0f} %)" for i, j, p in free[:8])
    more = f", and {len(free) - 8} pairs more" if len(free) > 8 else ""
    said = f"Interchangeable, as far as the model can tell: {told}{more}."
    yield Paragraph(said if free else "No two steps can be swapped.")


def _picture(root: Path, missing: set[str], name: str) -> str:
    """Return a small picture as a data address; one that is not there is noted."""
    found = find_image(root, name)
    if not (address := "" if isinstance(found, NoImage) else thumbnail(found, _SIDE)):
        missing.add(name)
    return address


def _sequence(at: int, runs: Sequence[_Run], picture: Callable[[str], str]) -> SequenceShown:
    """Return a sequence; runs that were shown texts give these, and others the pictures."""
    sequence = runs[0].items[at].sequence
    steps = []
    for shown in zip(*(run.items[at].sequence.steps for run in runs), strict=True):
        images = [step.images[0] for step in shown if step.images]
        text = next((step.text for step in shown if step.text), "")
        steps.append(StepShown(text, picture(images[0]) if images else ""))
    said = tuple(run.said(at) for run in runs)
    return SequenceShown(sequence.id, sequence.goal, sequence.task, tuple(steps), said)
