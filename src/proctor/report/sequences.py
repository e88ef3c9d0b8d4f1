"""A page of models that put steps in order: leaderboard, probabilities of pairs, and sequences in right and predicted order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from proctor.metrics.figure import IntervalPlot
from proctor.report.figures.parts import join
from proctor.report.numbers import count, show_value
from proctor.report.parts import AnswerView, Cell, ExampleView, Page, Paragraph, Part, Row, Section, Table
from proctor.report.plaintext import clip_line

__all__ = ["BoardRow", "OrderSaid", "SequenceShown", "StepShown", "sequences_page"]

_COLUMNS: Final = {
    "Acc": (100, 1), "PMR": (100, 1), "Lq": (1, 2), "Lr": (1, 2), "tau": (1, 3), "Dist": (1, 2)
}  # fmt: skip
"""Scale and digits of each, as ``metrics.ordering.MEASURES``."""
_PMR, _TAU = 1, 4
_TEXT: Final = 240
_TONES: Final = {"run": "own", "people": "", "floor": "floor"}
_NOTE: Final = (
    "PMR: sequences without a mistake, and Acc: steps in their place, in per cent; tau from -1 to 1, 0 is chance; Lq and Lr: longest "
    "common subsequence and run, in steps; Dist: how far steps are from their places, added up. Below: 95 % intervals, from drawing "
    "whole tasks."
)


class BoardRow(NamedTuple):
    """A line of the leaderboard: of a ``run``, of ``people``, or of a ``floor``; values and ends of intervals as ``_COLUMNS``."""

    name: str
    role: str
    n: int
    values: tuple[tuple[float, float | None, float | None], ...]
    note: str = ""


class StepShown(NamedTuple):
    """A step: its text, and a data address of its picture; either may be empty."""

    text: str
    picture: str


class OrderSaid(NamedTuple):
    """What a run said of a sequence: steps by their right number from 0, Kendall's tau, and whether it counts as right otherwise."""

    run: str
    order: tuple[int, ...]
    tau: float
    accepted: bool


class SequenceShown(NamedTuple):
    """A sequence with what was said of it; steps in right order."""

    id: str
    goal: str
    task: str
    steps: tuple[StepShown, ...]
    said: tuple[OrderSaid, ...]


def sequences_page(
    title: str,
    board: Sequence[BoardRow],
    pairs: Sequence[Part],
    sequences: Sequence[SequenceShown],
    notes: Sequence[str],
    method: Mapping[str, str],
    left: int,
) -> Page:
    """Return the page: ``board`` in any order, figures of ``pairs``, sequences from the worst, and how many are ``left`` out.

    ``notes`` are warnings, ``method`` is what has to be known to make it again; equal runs give equal pages.
    """
    rows = sorted(board, key=lambda r: (list(_TONES).index(r.role), -r.values[_TAU][0], r.name))
    parts: tuple[Part, ...] = (
        *(Paragraph(text[:1].upper() + text[1:], beware=True) for text in notes),
        Table("On the same test sequences", ("", "sequences", *_COLUMNS), tuple(map(_row, rows)), _NOTE, sortable=True),
        _plot("Sequences without a mistake (PMR), per cent", rows, _PMR, 100, 0.0),
        _plot("Kendall's tau", rows, _TAU, 1, -1.0),
    )  # fmt: skip
    sections = [Section("board", "Leaderboard", parts), Section("pairs", "Pairs of steps", tuple(pairs))]
    said = "The steps of manuals were shuffled, and put in order again. No person and no model saw another manual of the same task."
    out = f"; {left:,} are left out." if left else "."
    return Page(
        title,
        (said,),
        sections=tuple(sections[: 1 + bool(pairs)]),
        examples=tuple(map(_card, sequences)),
        left=left,
        examples_title="Sequences",
        examples_note=f"{count(len(sequences), 'sequence')}, taken evenly from the worst to the best{out}",
        method=tuple(method.items()),
    )


def _row(row: BoardRow) -> Row:
    cells = []
    for (value, low, high), (scale, digits) in zip(row.values, _COLUMNS.values(), strict=True):
        ends = [show_value(scale * end, digits) for end in (low, high) if end is not None]
        cells.append(Cell(show_value(scale * value, digits), " to ".join(ends)))
    tag = "floor" if row.role == "floor" else ""
    return Cell(row.name, row.note, _TONES[row.role], tag=tag), f"{row.n:,}", *cells


def _plot(title: str, rows: Sequence[BoardRow], at: int, scale: int, least: float) -> IntervalPlot:
    """Draw runs and people, and chance beside each."""
    shown = [row for row in rows if row.role != "floor"]
    columns = zip(*(row.values[at] for row in shown), strict=True)
    values, low, high = (tuple(None if v is None else scale * v for v in column) for column in columns)
    chance = tuple(scale * row.values[at][0] for row in rows if row.name == "chance") * len(shown)
    names = tuple(row.name for row in shown)
    return IntervalPlot(title, names, values, low, high, chance, (least, float(scale)))


def _card(sequence: SequenceShown) -> ExampleView:
    answers = []
    for one in sequence.said:
        is_authored = one.order == tuple(range(len(one.order)))
        mark = "right" if is_authored else "right otherwise" if one.accepted else "wrong"
        numbers = ", ".join(str(step + 1) for step in one.order)
        answers.append(AnswerView(one.run, numbers, f"{mark}, tau {show_value(one.tau, 2)}", code=mark))
    name = sequence.goal or sequence.task or sequence.id
    return ExampleView(
        sequence.id,
        f"{len(sequence.steps)} steps",
        name,
        "Steps with a dashed frame stand at another place than in the right order.",
        (("sequence", sequence.id), *([("task", sequence.task)] if sequence.task not in ("", name) else [])),
        answers=tuple(answers),
        drawing=_drawn(sequence),
        drawing_label="Steps in right and in predicted order; the table below says the same in numbers",
        facets={"steps": f"{len(sequence.steps)}", "task": sequence.task},
    )


def _drawn(sequence: SequenceShown) -> Markup:
    right = tuple(range(len(sequence.steps)))
    columns = [("right order", right), *((one.run, one.order) for one in sequence.said)]
    name = Markup('<th scope="col"><bdi>{}</bdi></th>')
    line = Markup('<tr><th scope="row">{}</th>{}</tr>')
    whole = Markup('<table class="orders"><thead><tr><td></td>{}</tr></thead><tbody>{}</tbody></table>')
    cells = (join(_cell(sequence.steps[order[at]], order[at], at) for _, order in columns) for at in right)
    rows = (line.format(place, shown) for place, shown in enumerate(cells, 1))
    return whole.format(join(name.format(clip_line(run, 80)) for run, _ in columns), join(rows))


def _cell(step: StepShown, number: int, place: int) -> Markup:
    wrong = number != place
    return Markup('<td{}><span class="step-number">{}</span>{}{}<bdi>{}</bdi></td>').format(
        Markup(' class="misplaced"') if wrong else "",
        number + 1,
        Markup('<span class="sr">misplaced</span>') if wrong else "",
        Markup('<img src="{}" alt="">').format(step.picture) if step.picture else "",
        clip_line(step.text, _TEXT),
    )
