"""Pictures as data: what a family's scores look like, before anybody draws it. The report room draws."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Bars", "Figure", "Histogram", "IntervalPlot", "Matrix", "Reliability"]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A table of numbers to be coloured: a confusion matrix (counts) or a heat-map of agreement.

    Attributes:
        title: what it shows.
        rows: row labels (reference first, so these are the true classes of a confusion matrix).
        columns: column labels.
        cells: one tuple a row; None where nothing is defined.
        kind: ``counts`` (shaded by the share of the row) or ``values`` (shaded between ``low`` and ``high``).
        row_title: what the rows are.
        column_title: what the columns are.
        low: value of the lightest shade of ``values``.
        high: value of the darkest.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[float | None, ...], ...]
    kind: str = "counts"
    row_title: str = ""
    column_title: str = ""
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, slots=True)
class Bars:
    """One value for each of many labels (average precision by class).

    Attributes:
        title: what it shows.
        labels: of the bars.
        values: None where undefined.
        counts: how many instances stand behind each bar; empty when not known.
        high: the value at the right end of the scale; the scale starts at 0.
        unit: printed behind the values.
    """

    title: str
    labels: tuple[str, ...]
    values: tuple[float | None, ...]
    counts: tuple[int, ...] = ()
    high: float = 100.0
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Reliability:
    """Confidence against what came true, in bins.

    Attributes:
        title: what it shows.
        confidence: mean confidence of each bin, 0 to 1; None for an empty bin.
        accuracy: share that came true, None for an empty bin.
        low: lower end of the Wilson interval of ``accuracy``.
        high: upper end.
        counts: items in each bin.
        edges: the borders of the bins, one more than bins.
    """

    title: str
    confidence: tuple[float | None, ...]
    accuracy: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    counts: tuple[int, ...]
    edges: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class IntervalPlot:
    """Values with intervals, one line each, on one scale.

    Attributes:
        title: what it shows.
        labels: of the lines.
        values: None where undefined.
        low: lower ends, None where there is none.
        high: upper ends.
        chance: what knowing nothing would give, None where not known.
        scale: the ends of the scale.
    """

    title: str
    labels: tuple[str, ...]
    values: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    chance: tuple[float | None, ...] = ()
    scale: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often values lie in each of equally wide bins.

    Attributes:
        title: what it shows.
        edges: the borders of the bins, increasing, one more than bins; a bin holds its left border and not its right one.
        counts: values in each bin.
        unit: of the values.
        marks: of these values, such as their median: name and value.
        references: of others that they are held against, such as published ones: name and value.
    """

    title: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    unit: str = ""
    marks: tuple[tuple[str, float], ...] = ()
    references: tuple[tuple[str, float], ...] = ()


Figure = Matrix | Bars | Reliability | IntervalPlot | Histogram
