"""A page as data: sections of texts, tables and pictures, and questions with their sources side by side.

For pages that are composed by a stage, such as SMMQG's; the benchmark's own report has a template of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from proctor.metrics.figure import Figure

__all__ = ["AnswerView", "ExampleView", "Heat", "Page", "Paragraph", "Section", "SourceView", "Table"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A text; ``beware`` sets it apart as a warning."""

    text: str
    beware: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Cells ready to print.

    Attributes:
        title: what it shows.
        head: names of the columns; the first one is that of the labels.
        rows: one tuple a line, as long as ``head``; the first cell is its label.
        note: below it.
        digits: whether all cells but the first are numbers, which are set flush right.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    digits: bool = True

    def __post_init__(self) -> None:
        """See that every line has all its cells."""
        if any(len(row) != len(self.head) for row in self.rows):
            raise ValueError(f"a line of the table {self.title!r} has not {len(self.head)} cells")


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
    """

    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]
    high: float = 1.0
    digits: int = 2
    unit: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        """See that every line has all its cells."""
        if any(len(values) != len(self.columns) for _, values in self.rows):
            raise ValueError(f"a line of {self.title!r} has not {len(self.columns)} cells")

    def shade(self, value: float | None) -> int | None:
        """Return the shade of a value, 0 (lightest) to 8; None for none."""
        if value is None or not math.isfinite(value):
            return None
        share = value / self.high if self.high > 0 else 0.0
        return round(8 * min(1.0, max(0.0, share)))

    def show(self, value: float | None) -> str:
        """Return a value as it is printed."""
        if value is None or not math.isfinite(value):
            return ""
        return f"{value:,.{self.digits}f}{self.unit}"


@dataclass(frozen=True, slots=True)
class Section:
    """One section.

    Attributes:
        id: for links to it, letters and hyphens.
        title: its heading, also in the page's navigation.
        parts: in order.
        facts: numbers above everything else, by what they are.
    """

    id: str
    title: str
    parts: tuple[Paragraph | Table | Heat | Figure, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


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


@dataclass(frozen=True, slots=True)
class AnswerView:
    """What a system said and what it got for it."""

    system: str
    text: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class ExampleView:
    """One question with everything that belongs to it.

    Attributes:
        id: of the question.
        kind: style and combination of modalities.
        question: as asked.
        answer: of the benchmark.
        facts: further lines, by name: entity, seed, hops, checks, difficulty, ranks.
        sources: cited ones first.
        answers: of the systems.
    """

    id: str
    kind: str
    question: str
    answer: str
    facts: tuple[tuple[str, str], ...] = ()
    sources: tuple[SourceView, ...] = ()
    answers: tuple[AnswerView, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page.

    Attributes:
        title: heading.
        lead: first paragraph.
        warning: shown loudly above everything (a rehearsal); empty for none.
        sections: in order.
        examples: shown in a section of their own after the others.
        method: name and value of everything that has to be known to make it again.
    """

    title: str
    lead: str = ""
    warning: str = ""
    sections: tuple[Section, ...] = ()
    examples: tuple[ExampleView, ...] = ()
    method: tuple[tuple[str, str], ...] = field(default_factory=tuple)
