"""Documents that the tests read: drawn by reportlab and Pillow, the same in every run."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

from PIL import Image as Pictures

from proctor.corpus.source import Source
from proctor.records import Dropped

WORDS = [
    "machine",
    "water",
    "kettle",
    "safety",
    "valve",
    "pressure",
    "gauge",
    "handle",
    "lid",
    "filter",
    "soapy",
    "warm",
    "remove",
    "rinse",
    "place",
    "stand",
    "before",
    "opening",
    "turn",
    "clean",
    "dry",
    "back",
]


def sentences(seed: int, count: int) -> list[str]:
    """Return sentences of nine words, each with a number of its own, so that a lost one is missed."""
    rng = random.Random(seed)
    return [
        f"Sentence {seed}x{n} " + " ".join(rng.choice(WORDS) for _ in range(9)) + "." for n in range(count)
    ]


def prose(seed: int, count: int) -> str:
    return " ".join(sentences(seed, count))


def image_bytes(seed: int = 0, kind: str = "PNG", size: tuple[int, int] = (120, 80)) -> bytes:
    """Return an image file: stripes whose colours come from the seed."""
    rng = random.Random(seed)
    picture = Pictures.new("RGB", size)
    for left in range(0, size[0], 10):
        colour = (rng.randrange(256), rng.randrange(256), rng.randrange(256))
        picture.paste(colour, (left, 0, min(left + 10, size[0]), size[1]))
    stream = io.BytesIO()
    picture.save(stream, kind)
    return stream.getvalue()


def handbook(path: Path, *, encrypted: str | None = None, pages: int = 2, **layout: Any) -> Path:
    """Draw a handbook: title, headings, prose, a table with lines, an image with its caption on each page."""
    from reportlab.lib import colors
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import Image, PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table

    style = getSampleStyleSheet()
    grid = [("GRID", (0, 0), (-1, -1), 0.5, colors.black)]
    story: list[Any] = [Paragraph("Kettle Handbook", style["Title"])]
    for page in range(1, pages + 1):
        story += [Paragraph(f"Safety {page}", style["Heading1"])]
        story += [Paragraph(prose(100 * page + n, 4), style["BodyText"]) for n in range(3)]
        story += [
            Paragraph(f"Table {page}: Temperatures of drinks", style["BodyText"]),
            Table([["Drink", "Degrees"], ["Green tea", "80"], ["Black tea", str(90 + page)]], style=grid),
            Spacer(1, 14),
            Paragraph(f"Cleaning {page}", style["Heading2"]),
            Paragraph(prose(1000 * page, 5), style["BodyText"]),
            Image(io.BytesIO(image_bytes(page)), 150, 100),
            Paragraph(f"Figure {page}. The striped kettle {page}.", style["BodyText"]),
            PageBreak(),
        ]
    SimpleDocTemplate(str(path), invariant=1, encrypt=encrypted, **layout).build(story)
    return path


def sources_of(found: list[Source | Dropped], modality: str | None = None) -> list[Source]:
    return [s for s in found if isinstance(s, Source) and modality in (None, s.modality)]


def drops_of(found: list[Source | Dropped]) -> dict[str, str]:
    """Return reason by id."""
    return {d.id: d.reason for d in found if isinstance(d, Dropped)}
