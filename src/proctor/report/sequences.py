"""A page of models that put steps in order: leaderboard, probabilities of pairs, and sequences in right and predicted order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from proctor.metrics.figure import IntervalPlot
from proctor.report.figures.parts import join
from proctor.report.numbers import count, show_value
from proctor.report.parts import AnswerView, Cell, ExampleView, Page, Paragraph, Part, Row, Section, Table
from proctor.report.plaintext import clip_line

__all__ = ["BoardRow", "OrderSaid", "SequenceShown", "StepShown", "sequences_page"]

Value = tuple[float, float | None, float | None]
"""A figure and the ends of its interval, where it has one."""

_COLUMNS: Final = ("PMR", "tau", "Acc", "Lq", "Lr", "Dist")
_TEXT: Final = 240
_TONES: Final = {"run": "own", "people": "", "floor": "floor"}


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A line of the leaderboard: of a ``run``, of ``people``, or of a ``floor``; values as ``PMR, tau, Acc, Lq, Lr, Dist``."""

    name: str
    role: str
    n: int
    values: tuple[Value, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class StepShown:
    """A step: its text, and a data address of its picture; either may be empty."""

    text: str
    picture: str = ""


@dataclass(frozen=True, slots=True)
class OrderSaid:
    """What a run said of a sequence: steps by their right number from 0, Kendall's tau, and whether it counts as right otherwise."""

    run: str
    order: tuple[int, ...]
    tau: float
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class SequenceShown:
    """A sequence with what was said of it; steps in right order, ``facts`` are further lines."""

    id: str
    goal: str
    task: str
    steps: tuple[StepShown, ...]
    said: tuple[OrderSaid, ...]
    facts: tuple[tuple[str, str], ...] = ()


def sequences_page(
    title: str,
    board: Sequence[BoardRow],
    pairs: Sequence[Part],
    sequences: Sequence[SequenceShown],
    notes: Sequence[str],
    method: Mapping[str, str],
    left: int = 0,
) -> Page:
    """Return the page; equal runs give equal pages.

    Args:
        title: heading.
        board: of the leaderboard; rows of one role stand from the best to the worst.
        pairs: figures of the probabilities of pairs; none where no run has any.
        sequences: from the worst.
        notes: warnings.
        method: what has to be known to make it again.
        left: sequences that are not shown.
    """
    ordered = sorted(board, key=lambda r: (list(_TONES).index(r.role), -r.values[1][0], r.name))
    note = (
        "PMR: sequences without a mistake, and Acc: steps in their place, in per cent; tau from -1 to 1, 0 is chance; Lq and Lr: "
        "longest common subsequence and run, in steps; Dist: how far steps are from their places, added up. Below: 95 % intervals, "
        "from drawing whole tasks."
    )
    head = ("", "sequences", *_COLUMNS)
    parts: tuple[Part, ...] = (
        *(Paragraph(text[:1].upper() + text[1:], beware=True) for text in notes),
        Table("On the same test sequences", head, tuple(map(_row, ordered)), note, sortable=True),
        _plot(
            "Sequences without a mistake (PMR), per cent",
            ordered,
            0,
            100,
            (0.0, 100.0),
        ),
        _plot("Kendall's tau", ordered, 1, 1, (-1.0, 1.0)),
    )
    sections = [Section("board", "Leaderboard", parts)]
    sections += [Section("pairs", "Pairs of steps", tuple(pairs))] if pairs else []
    return Page(
        title,
        (
            "The steps of manuals were shuffled, and put in order again. Nobody saw another manual of the same task.",
        ),
        sections=tuple(sections),
        examples=tuple(map(_card, sequences)),
        left=left,
        examples_title="Sequences",
        examples_note=f"{count(len(sequences), 'sequence')}, taken evenly from the worst to the best"
        + (f"; {left:,} are left out." if left else "."),
        method=tuple(method.items()),
    )


def _row(row: BoardRow) -> Row:
    scales = (100, 1, 100, 1, 1, 1)
    digits = (1, 3, 1, 2, 2, 2)
    return (
        Cell(row.name, row.note, _TONES[row.role], tag="floor" if row.role == "floor" else ""),
        f"{row.n:,}",
        *(
            Cell(show_value(s * v, d), "" if low is None or high is None else f"{show_value(s * low, d)} to {show_value(s * high, d)}")
            for (v, low, high), s, d in zip(row.values, scales, digits, strict=True)
        ),
    )  # fmt: skip


def _plot(
    title: str, rows: Sequence[BoardRow], at: int, scale: int, ends: tuple[float, float]
) -> IntervalPlot:
    """Draw runs and people, and chance beside each."""
    shown = [row for row in rows if row.role != "floor"]
    floor = next((row.values[at][0] for row in rows if row.name == "chance"), None)

    def scaled(part: int) -> tuple[float | None, ...]:
        return tuple(None if (v := row.values[at][part]) is None else scale * v for row in shown)

    chance = () if floor is None else (scale * floor,) * len(shown)
    return IntervalPlot(title, tuple(r.name for r in shown), scaled(0), scaled(1), scaled(2), chance, ends)


def _card(sequence: SequenceShown) -> ExampleView:
    marks = [_mark(one) for one in sequence.said]
    return ExampleView(
        sequence.id,
        f"{len(sequence.steps)} steps",
        sequence.goal or sequence.task or sequence.id,
        "Steps with a dashed frame stand at another place than in the right order.",
        (("sequence", sequence.id), *sequence.facts),
        answers=tuple(
            AnswerView(
                one.run, ", ".join(str(step + 1) for step in one.order), f"{mark}, tau {show_value(one.tau, 2)}", code=mark
            )
            for one, mark in zip(sequence.said, marks, strict=True)
        ),
        drawing=_drawn(sequence),
        drawing_label="Steps in right and in predicted order; the table below says the same in numbers",
        facets={"steps": f"{len(sequence.steps)}", "task": sequence.task},
    )  # fmt: skip


def _mark(said: OrderSaid) -> str:
    if said.order == tuple(range(len(said.order))):
        return "right"
    return "right otherwise" if said.accepted else "wrong"


def _drawn(sequence: SequenceShown) -> Markup:
    right = tuple(range(len(sequence.steps)))
    columns = [("right order", right), *((one.run, one.order) for one in sequence.said)]
    head = join(
        Markup('<th scope="col"><bdi>{}</bdi></th>').format(clip_line(name, 80)) for name, _ in columns
    )
    rows = join(
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            place + 1, join(_cell(sequence.steps[order[place]], order[place], place) for _, order in columns)
        )
        for place in right
    )
    return Markup(
        '<table class="orders"><thead><tr><td></td>{}</tr></thead><tbody>{}</tbody></table>'
    ).format(head, rows)


def _cell(step: StepShown, number: int, place: int) -> Markup:
    picture = Markup('<img src="{}" alt="">').format(step.picture) if step.picture else Markup("")
    wrong = number != place
    return Markup('<td{}><span class="step-number">{}</span>{}{}<bdi>{}</bdi></td>').format(
        Markup(' class="misplaced"') if wrong else Markup(""),
        number + 1,
        Markup('<span class="sr">misplaced</span>') if wrong else Markup(""),
        picture,
        clip_line(step.text, _TEXT),
    )
