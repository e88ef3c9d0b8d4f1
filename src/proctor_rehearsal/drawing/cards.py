"""Drawn cards in place of pictures that are not at hand: for rehearsals and tests, never for results.

A card shows the caption on a ground whose colours come from the image's id, so that no two look alike. Its source says
``drawn`` in its ``meta``, and keeps the content hash of the image that it stands for.
"""

from __future__ import annotations

import hashlib
import textwrap
from pathlib import Path
from typing import Final

import msgspec

from proctor.corpus.collection import Corpus
from proctor.corpus.source import Source
from proctor.errors import MissingExtraError
from proctor.records import atomic_write

__all__ = ["draw_card", "draw_missing"]

_SIZE: Final = (320, 240)
_LINES: Final = 5
_WIDTH: Final = 26


def draw_missing(corpus: Corpus, images: Path) -> tuple[Corpus, int]:
    """Return the corpus with a card for every image that has no pixels, and how many were drawn.

    Args:
        corpus: whose root is the folder that holds ``images``.
        images: folder of the pictures, within the corpus.

    Raises:
        MissingExtraError: without Pillow.
        UserError: if the folder cannot be written.
    """
    drawn = 0
    sources: list[Source] = []
    for source in corpus:
        if source.modality == "image" and corpus.pixels(source) is None:
            data = draw_card(source.id, source.title)
            name = f"card-{hashlib.sha256(data).hexdigest()[:32]}.png"
            images.mkdir(parents=True, exist_ok=True)
            if not (images / name).is_file():
                with atomic_write(images / name) as stream:
                    stream.write(data)
            meta = {**source.meta, "drawn": "yes", "picture": source.image}
            source = msgspec.structs.replace(source, image=f"{images.name}/{name}", meta=meta)
            drawn += 1
        sources.append(source)
    return Corpus(sources, corpus.root, corpus.aliases), drawn


def draw_card(id: str, caption: str) -> bytes:
    """Return a card as PNG; the same for the same id and caption.

    Raises:
        MissingExtraError: without Pillow.
    """
    import io

    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise MissingExtraError("Pillow", "corpus", "drawing cards") from None
    digest = hashlib.sha256(id.encode()).digest()
    card = Image.new("RGB", _SIZE, (96 + digest[0] // 2, 96 + digest[1] // 2, 96 + digest[2] // 2))
    draw = ImageDraw.Draw(card)
    for n in range(4):
        x, y, r = digest[3 + n] % _SIZE[0], digest[8 + n] % _SIZE[1], 20 + digest[12 + n] % 50
        colour = (digest[16 + n], digest[20 + n], digest[24 + n])
        (draw.ellipse if digest[28 + n] % 2 else draw.rectangle)((x - r, y - r, x + r, y + r), fill=colour)
    # The font that comes with Pillow has Latin letters only.
    words = caption.encode("ascii", "replace").decode("ascii")
    lines = textwrap.wrap(words, _WIDTH)[:_LINES] or ["(no caption)"]
    top = _SIZE[1] - 14 * len(lines) - 12
    draw.rectangle((8, top - 4, _SIZE[0] - 8, _SIZE[1] - 8), fill=(255, 255, 255))
    draw.multiline_text((14, top), "\n".join(lines), fill=(0, 0, 0), spacing=2)
    stream = io.BytesIO()
    card.save(stream, "PNG")
    return stream.getvalue()
