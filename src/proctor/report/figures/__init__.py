"""Pictures of scores: ``proctor.metrics.figure`` values drawn as HTML tables and SVG, one file a kind.

Every function takes the picture as data and returns markup without scripts or inline styles; colours come from
classes. All texts are escaped, cut and made visible before they reach the markup. Each number that is drawn can also
be read: in a cell, beside the mark, or in a table that unfolds below.
"""

from __future__ import annotations

from markupsafe import Markup

from proctor.metrics.figure import Bars, Figure, Histogram, IntervalPlot, Matrix, Reliability
from proctor.report.figures.bars import BARS_GUIDE, draw_bars
from proctor.report.figures.histogram import HISTOGRAM_GUIDE, draw_histogram
from proctor.report.figures.intervals import INTERVALS_GUIDE, draw_intervals
from proctor.report.figures.matrix import draw_matrix, matrix_guide
from proctor.report.figures.reliability import RELIABILITY_GUIDE, draw_reliability

__all__ = ["draw_figure", "figure_guide"]


def draw_figure(figure: Figure) -> Markup:
    """Draw a picture; its title is left to the page.

    Raises:
        ValueError: if labels and numbers of the picture are not equally many.
    """
    match figure:
        case Matrix():
            return draw_matrix(figure)
        case Bars():
            return draw_bars(figure)
        case Reliability():
            return draw_reliability(figure)
        case IntervalPlot():
            return draw_intervals(figure)
        case Histogram():
            return draw_histogram(figure)


def figure_guide(figure: Figure) -> str:
    """Return how to read a picture of this kind, in a few sentences."""
    match figure:
        case Matrix():
            return matrix_guide(figure)
        case Bars():
            return BARS_GUIDE
        case Reliability():
            return RELIABILITY_GUIDE
        case IntervalPlot():
            return INTERVALS_GUIDE
        case Histogram():
            return HISTOGRAM_GUIDE
