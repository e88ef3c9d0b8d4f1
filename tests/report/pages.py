"""Pages composed of sections, for the tests of how they are drawn."""

from __future__ import annotations

import base64
import dataclasses
import io
from collections.abc import Iterable

from PIL import Image

from proctor.metrics.figure import Bars, IntervalPlot, Matrix
from proctor.report.parts import (
    AnswerView,
    Cell,
    ExampleView,
    Fold,
    Heat,
    Listing,
    Page,
    Paragraph,
    Section,
    SourceView,
    Table,
)

HOSTILE = "<script>alert('x')</script>\"'&\x1b[2J\u202e<img src=x onerror=alert(1)>"


def picture() -> str:
    stream = io.BytesIO()
    Image.new("RGB", (640, 480), (200, 40, 40)).save(stream, "PNG")
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()


def listed(sections: Iterable[Section]) -> dict[tuple[str, str, str], tuple[str, int]]:
    """Of each number that leads to a listing its text, and how many lines are there, by table, line and column.

    Numbers above a section are a table of its title, with one column that has no name; shades have the text that they print.
    """
    read = [*sections]
    parts = [part for section in read for part in section.parts]
    counts = {part.id: part.counts for part in parts if isinstance(part, Listing)}
    tables = [Table(section.title, ("", ""), section.facts) for section in read]
    tables += [part for part in parts if isinstance(part, Table)]
    for heat in (part for part in parts if isinstance(part, Heat) and part.among):
        cells = (
            (name, *(Cell(heat.show(v), among=(heat.among, f"{name}, {c}")) for c, v in zip(heat.columns, values, strict=True)))
            for name, values in heat.rows
        )  # fmt: skip
        tables.append(Table(heat.title, (heat.corner, *heat.columns), tuple(cells)))
    found = {}
    for table in tables:
        for label, *cells in table.rows:
            name = label.text if isinstance(label, Cell) else label
            for column, cell in zip(table.head[1:], cells, strict=True):
                for one in (cell, *cell.parts) if isinstance(cell, Cell) else ():
                    if one.among and (n := counts.get(one.among[0], {}).get(one.among[1])):
                        found[table.title, name, column] = (one.text, n)
    return found


def full_page(text: str = "Text") -> Page:
    sources = (
        SourceView(
            "text:1", "text", "cited", f"{text} one", text=f"{text} body. " * 200, origin="manual.pdf, page 3"
        ),
        SourceView(
            "table:1",
            "table",
            "cited",
            f"{text} table",
            header=("a", text),
            rows=((text, "2"), ("3",)),
            more="9 rows are not shown",
        ),
        SourceView("image:1", "image", "not cited", f"{text} picture", text=text, picture=picture()),
    )
    example = ExampleView(
        "q/1", f"compare, {text}", f"{text}?", f"{text}.", (("entity", text), ("checks", "all")), sources,
        (AnswerView(f"{text}/model", text, "2", (f"{text} because",), "match"), AnswerView("other", "", "not marked", code="unscored")),
        facets={"style": text, "level": "coarse"},
    )  # fmt: skip
    return Page(
        title=f"{text} questions",
        lead=(f"{text} lead.", text),
        warning=f"{text} warning.",
        sections=(
            Section("corpus", "Corpus", (Paragraph(text), Paragraph(text, beware=True)), (("sources", "3"), (text, text))),
            Section(
                "tables",
                "Tables",
                (
                    Table(f"{text} numbers", ("style", *(f"{text} {n}" for n in range(9))), ((text, *"123456789"),), note=text),
                    Table("words", ("name", "text"), ((text, f"{text} " * 60),), digits=False),
                    Table("none", ("name",), ()),
                    Table("cells", ("run", "score"), ((Cell(text, text, "floor", tag="floor", title=text), Cell("1", "0 to 2", "strong")),)),
                    Listing.of("all", f"{text} list", ("id", "why"), (((text, text), (text, "b")), (("two", ""), ("b",)))),
                    Table("counts", ("what", "n"), ((text, Cell("1", among=("all", text))), ("b", Cell(parts=(Cell("2", among=("all", "b")), Cell("0")))))),
                    Fold(f"{text} fold", (Paragraph(text), Table("inner", ("a", "b"), ((text, "1"),)))),
                ),
            ),
            Section(
                "figures",
                "Figures",
                (
                    Matrix(f"{text} cells", (text, "b"), ("c", "d"), ((1.0, None), (0.5, 0.0)), kind="values"),
                    Heat(f"{text} heat", text, (text, "b", "c"), ((text, (0.0, 0.5, None)), ("r", (0.66, 0.8, 1.0)))),
                    Bars("bars", (text, "b"), (1.0, 2.0), high=3.0),
                    Bars("bars again", (text, "b"), (1.0, 2.0), high=3.0),
                    IntervalPlot("lines", (text,), (0.5,), (0.4,), (0.6,)),
                ),
            ),
        ),
        examples=tuple(dataclasses.replace(example, facets={"style": f"{text} {n % 3}"}) for n in range(8)),
        left=5,
        method=((text, text), ("seed", "0")),
    )  # fmt: skip
