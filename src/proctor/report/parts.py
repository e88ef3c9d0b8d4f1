"""A page as data: sections of texts, tables and pictures, and questions with their evidence and answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from markupsafe import Markup

from proctor.metrics.figure import Figure

__all__ = [
    "LEFT",
    "RARE",
    "AnswerView",
    "Cell",
    "Drawn",
    "ExampleView",
    "Find",
    "Fold",
    "Heat",
    "Highlight",
    "Led",
    "Listing",
    "Page",
    "Paragraph",
    "Part",
    "Row",
    "Section",
    "SourceView",
    "Table",
    "values_of",
]

RARE: Final = frozenset(
    {
        "step",
        "something to name",
        "accepted answers",
        "kind of answer",
        "answers by",
        "cites",
        "cluster",
        "letter",
    }
)
"""Facets that numbers lead to and few readers filter by."""


def values_of(value: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the values of a facet of one example."""
    return value if isinstance(value, tuple) else (value,)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A text; ``beware`` sets it apart as a warning."""

    text: str
    beware: bool = False


Find: TypeAlias = "tuple[tuple[str, str], ...]"
"""Filters of the examples as name and value."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Attributes:
        text: what it says.
        small: a second line: an interval, what a run was shown.
        tone: class of the style sheet: ``soft``, ``warn``, ``strong``, ``better``, ``worse``, ``tie``, ``own``, ``floor``,
            ``upper``.
        drawn: a small chart, drawn by this room; hidden from screen readers, since ``text`` says the same.
        tag: a word set apart, such as ``floor`` or ``chosen``.
        title: in full, as a tooltip.
        item: id of the question that it leads to, where the page shows that as an example.
        find: which examples it leads to: values by the name of a facet, ``run``, ``mark`` (``no mark`` and ``not asked``, too),
            ``other`` (a second run) or ``than`` (``better``, ``equal``, ``worse``: the first run's mark against the second one's;
            ``compared``, ``not compared``: whether both have one).
        among: id of a ``Listing`` that it leads to, and the tag of its lines.
        parts: further numbers in the same cell.
    """

    text: str = ""
    small: str = ""
    tone: str = ""
    drawn: Markup | None = None
    tag: str = ""
    title: str = ""
    item: str = ""
    find: Find = ()
    among: tuple[str, str] | None = None
    parts: tuple[Cell, ...] = ()


Row: TypeAlias = "tuple[str | Cell, ...]"
"""A line of a table."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells ready to print.

    Attributes:
        title: what it shows.
        head: names of the columns; the first one is that of the labels.
        rows: one tuple a line, as long as ``head``; the first cell is its label, and its tone that of the line.
        note: below it.
        digits: whether all cells but the first are numbers, which are set flush right.
        words: columns that hold words all the same.
        sortable: whether readers can sort it by a click on the head of a column.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""
    digits: bool = True
    words: frozenset[int] = frozenset()
    sortable: bool = False

    def __post_init__(self) -> None:
        """See that every line has all its cells."""
        if any(len(row) != len(self.head) for row in self.rows):
            raise ValueError(f"a line of the table {self.title!r} has not {len(self.head)} cells")


LINES: Final = 500
"""Lines of a listing that a page has as a table; scripts add those behind them."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A folded table, one line for each of the things that numbers of the page count.

    Attributes:
        id: of this listing; letters and hyphens.
        table: its lines.
        tags: of each line, the tags of the numbers that count it.
    """

    id: str
    table: Table
    tags: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        """See that every line has its tags."""
        if len(self.tags) != len(self.table.rows):
            raise ValueError(f"{self.table.title!r} has not tags for every line")

    @classmethod
    def of(
        cls, id: str, title: str, head: tuple[str, ...], lines: Sequence[tuple[Row, Iterable[str]]]
    ) -> Listing:
        """Return a listing of lines that are each given with its tags."""
        table = Table(title, head, tuple(row for row, _ in lines), digits=False)
        return cls(id, table, tuple(tuple(dict.fromkeys(tags)) for _, tags in lines))

    @property
    def counts(self) -> dict[str, int]:
        """Tag to the number of lines that have it, in order of appearance."""
        return dict(Counter(tag for tags in self.tags for tag in tags))


LEFT: Final = ("left", "no room")
"""Listing of the questions that are not among the examples, and the tag of its lines."""

FEW: Final = 10
"""Values of fewer questions are grey in a table of shades."""


@dataclass(frozen=True, slots=True)
class Heat:
    """A table of numbers whose cells are the darker the higher they are.

    Attributes:
        title: what it shows.
        corner: what the rows are.
        columns: names of the columns.
        rows: name of each row, and its values; None where there is nothing.
        high: value of the darkest shade; 0 is the lightest.
        digits: after the point.
        unit: behind each value.
        note: below it.
        counts: how many questions stand behind each value, where that is said; values of fewer than ``FEW`` are grey.
        finds: as ``Cell.find``, of each value.
        among: id of a ``Listing`` that values lead to, whose tags are names of row and column.
    """

    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]
    high: float = 1.0
    digits: int = 2
    unit: str = ""
    note: str = ""
    counts: tuple[tuple[int, ...], ...] = ()
    finds: tuple[tuple[Find, ...], ...] = ()
    among: str = ""

    def __post_init__(self) -> None:
        """See that every line has all its cells."""
        lines = [*(values for _, values in self.rows), *self.counts, *self.finds]
        if any(len(line) != len(self.columns) for line in lines):
            raise ValueError(f"a line of {self.title!r} has not {len(self.columns)} cells")

    def few(self, row: int, column: int) -> bool:
        """Return whether too few questions stand behind a value for its shade to say anything."""
        return bool(self.counts) and self.counts[row][column] < FEW

    def shade(self, value: float | None) -> int | None:
        """Return the shade of a value, 0 (lightest) to 8; None for none."""
        if value is None or not math.isfinite(value):
            return None
        share = value / self.high if self.high > 0 else 0.0
        return round(8 * min(1.0, max(0.0, share)))

    def cell(self, row: int, column: int) -> Cell:
        """Return a value as it is printed, with where it leads to; empty for none."""
        name, values = self.rows[row]
        text = self.show(values[column])
        return Cell(
            text,
            find=self.finds[row][column] if self.finds and text else (),
            among=(self.among, f"{name}, {self.columns[column]}"),
        )

    def show(self, value: float | None) -> str:
        """Return a value as it is printed."""
        if value is None or not math.isfinite(value):
            return ""
        return f"{value:,.{self.digits}f}{self.unit}"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture that this room has drawn already, with how to read it.

    Attributes:
        title: what it shows.
        markup: drawn.
        guide: how to read it.
        cells: of its numbers ``<data value="n">``, where the n-th ones lead to.
    """

    title: str
    markup: Markup
    guide: str = ""
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class Led:
    """A picture, and where the n-th ones of its numbers lead to."""

    figure: Figure
    cells: tuple[Cell, ...]

    @property
    def title(self) -> str:
        """What it shows."""
        return self.figure.title


@dataclass(frozen=True, slots=True)
class Fold:
    """Parts that unfold; ``shown`` at first."""

    title: str
    parts: tuple[Part, ...]
    shown: bool = False


Part: TypeAlias = Paragraph | Table | Heat | Figure | Led | Drawn | Fold | Listing


@dataclass(frozen=True, slots=True)
class Section:
    """One section.

    Attributes:
        id: for links to it, letters and hyphens.
        title: its heading, also in the page's navigation.
        parts: in order.
        facts: numbers above everything else, by what they are.
        place: before the examples, behind them, or in the appendix.
    """

    id: str
    title: str
    parts: tuple[Part, ...] = ()
    facts: tuple[tuple[str, str | Cell], ...] = ()
    place: Literal["main", "behind", "appendix"] = "main"


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source as it is shown.

    Attributes:
        id: of the source.
        modality: text, table or image.
        role: such as ``cited`` or ``not cited``.
        title: title or caption.
        text: body of a text, description of an image.
        header: of a table.
        rows: of a table; those that are left out are counted in ``more``.
        more: rows or characters that are not shown, in words.
        picture: data address of an image, empty where there are no pixels.
        origin: document, place in it, address, licence.
        time: of a frame, in seconds of its video.
        mark: what went wrong while a frame was taken; empty for nothing.
    """

    id: str
    modality: str
    role: str
    title: str
    text: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    more: str = ""
    picture: str = ""
    origin: str = ""
    time: float | None = None
    mark: str = ""


@dataclass(frozen=True, slots=True)
class AnswerView:
    """What a system said and what it got for it.

    Attributes:
        system: as the page calls the run.
        text: the answer.
        mark: as printed.
        more: why it got the mark, what it was shown, what others say of it; one line each.
        code: mark as the filter of the examples knows it.
        drawn: below the answer, drawn by this room: what moved a score.
        also: further systems that said the same and got the same for it.
        score: mark in points, to compare two systems by; None for none.
    """

    system: str
    text: str
    mark: str = ""
    more: tuple[str, ...] = ()
    code: str = ""
    drawn: Markup | None = None
    also: tuple[str, ...] = ()
    score: float | None = None


@dataclass(frozen=True, slots=True)
class ExampleView:
    """One question with everything that belongs to it.

    Attributes:
        id: of the question.
        kind: in a few words: type, or style and combination of modalities.
        question: as asked.
        answer: of the benchmark; several in lines.
        facts: further lines, by name: entity, steps done.
        made: who made, approved and marked it, by name; unfolds.
        sources: what it is about, cited ones first.
        answers: of the systems.
        drawing: of a task graph at this moment, or of what ``drawing_label`` says.
        drawing_label: what it shows, for screen readers.
        facets: what the examples can be filtered by, as name and value, or several values.
    """

    id: str
    kind: str
    question: str
    answer: str
    facts: tuple[tuple[str, str], ...] = ()
    sources: tuple[SourceView, ...] = ()
    answers: tuple[AnswerView, ...] = ()
    drawing: Markup | None = None
    drawing_label: str = "Drawing of the task graph at this moment; the list of steps says the same"
    facets: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    made: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Highlight:
    """An example that is shown apart: ``tag`` says in a word or two what it teaches, ``why`` in a sentence."""

    item: str
    tag: str
    why: str
    answers: tuple[AnswerView, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page.

    Attributes:
        title: heading.
        lead: the result in words.
        charts: below it.
        striking: the example beside the charts.
        gallery: further examples that teach something, before all of them.
        notes: what else has to be known, below.
        warning: shown loudly above everything (a rehearsal); empty for none.
        sections: in order.
        examples: shown in a section of their own after the others.
        left: how many questions are not among the examples; they open the lines ``LEFT`` of a ``Listing``, where there is one.
        examples_title: heading of the examples.
        examples_note: what they are, in place of the sentence about questions.
        method: name and value of everything that has to be known to make it again.
    """

    title: str
    lead: tuple[str, ...] = ()
    warning: str = ""
    sections: tuple[Section, ...] = ()
    examples: tuple[ExampleView, ...] = ()
    left: int = 0
    examples_title: str = "Examples"
    examples_note: str = ""
    method: tuple[tuple[str, str | Cell], ...] = ()
    charts: tuple[Drawn, ...] = ()
    striking: Highlight | None = None
    gallery: tuple[Highlight, ...] = ()
    notes: tuple[str, ...] = ()
