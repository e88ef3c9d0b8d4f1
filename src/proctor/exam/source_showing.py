"""What a model is shown of sources: numbered texts in fences, pictures where there are pixels, descriptions where not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from proctor.corpus.detokenise import detokenise, looks_tokenised
from proctor.corpus.picture import PictureError, read_picture
from proctor.corpus.source import Source, render_source, render_table
from proctor.llm.media import MediaStore
from proctor.llm.message import Image

if TYPE_CHECKING:
    from proctor.corpus.collection import Corpus

__all__ = [
    "SOURCE_LIMIT",
    "CorpusPictures",
    "FindPicture",
    "ShownLimits",
    "ShownSource",
    "ShownSources",
    "find_sources",
    "show_source",
    "show_sources",
    "show_title",
]

SOURCE_LIMIT: Final = 30_000
"""Characters of one source in a prompt; of longer ones the middle is left out, and the record says so."""

FindPicture = Callable[[Source], Image | None]
"""The pixels of an image, small enough to be sent; None where they are missing or cannot be read."""


class CorpusPictures:
    """Finds the pixels of a corpus's images and keeps them in a media store, each file read once.

    Args:
        corpus: of the images.
        media: where the pictures are kept.

    Attributes:
        problems: why a picture cannot be shown, by id of its source; such an image is shown by words.
    """

    def __init__(self, corpus: Corpus, media: MediaStore) -> None:
        self._corpus = corpus
        self._media = media
        self._found: dict[str, Image | None] = {}
        self.problems: dict[str, str] = {}

    def __call__(self, source: Source) -> Image | None:
        """Return the picture of a source; None where there is none that can be shown."""
        if source.id not in self._found:
            self._found[source.id] = self._read(source)
        return self._found[source.id]

    def _read(self, source: Source) -> Image | None:
        path = self._corpus.pixels(source)
        if path is None:
            self.problems[source.id] = self._corpus.why_no_pixels(source)
            return None
        try:
            picture = read_picture(path)
        except PictureError as error:
            self.problems[source.id] = f"{error.reason}: {error.detail}"
            return None
        return Image(self._media.add(picture.data), picture.mime, picture.width, picture.height)


@dataclass(frozen=True, slots=True)
class ShownSources:
    """Sources as a prompt takes them.

    Attributes:
        ids: of the sources, in the order of their numbers.
        texts: one each: the rendering; of a picture caption and description.
        kinds: one each, our own words: ``a text``, ``picture 1``.
        pictures: to be attached, in the order of their numbers.
        described: images that are shown by words alone, because their pixels are not there.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    kinds: tuple[str, ...]
    pictures: tuple[Image, ...]
    described: int

    @property
    def values(self) -> dict[str, Any]:
        """Variables of the templates."""
        return {"sources": list(self.texts), "kinds": list(self.kinds), "pictures": len(self.pictures)}

    @property
    def details(self) -> dict[str, str]:
        """What goes into a record: how many sources, which, and how images were shown."""
        found = {"sources": str(len(self.ids)), "source_ids": " ".join(self.ids)}
        if self.pictures:
            found["pictures"] = str(len(self.pictures))
        return found | ({"described": str(self.described)} if self.described else {})


def find_sources(
    ids: Iterable[str], corpus: Corpus | None, *, most: int | None = None
) -> tuple[Source, ...] | str:
    """Return the sources of ids in their order, duplicates (under two ids) once; a text says why there are none.

    Args:
        ids: of sources: those that a question cites, or that a retriever found, best first.
        corpus: that holds them.
        most: at most so many sources.
    """
    kept: dict[str, Source] = {}
    for id_ in ids:
        source = None if corpus is None else corpus.get(id_)
        if source is None:
            return f"no_source: the corpus has no source '{id_[:100]}'"
        kept.setdefault(source.id, source)
        if len(kept) == most:
            break
    return tuple(kept.values()) or "no_source: the question cites no source"


def show_sources(sources: Sequence[Source], picture: FindPicture | None = None) -> ShownSources:
    """Prepare sources for a prompt.

    Args:
        sources: in the order in which they are numbered.
        picture: finds the pixels of images; None shows all images by caption and description.
    """
    kinds: list[str] = []
    pictures: list[Image] = []
    described = 0
    for source in sources:
        if source.modality != "image":
            kinds.append(f"a {source.modality}")
            continue
        found = picture(source) if picture is not None else None
        if found is None:
            described += 1
            kinds.append("an image, of which you have only caption and description")
        else:
            pictures.append(found)
            kinds.append(f"picture {len(pictures)}")
    return ShownSources(
        ids=tuple(source.id for source in sources),
        texts=tuple(render_source(source) or source.id for source in sources),
        kinds=tuple(kinds),
        pictures=tuple(pictures),
        described=described,
    )


# -- a single source in words ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownLimits:
    """How much of a source a model gets to read; what is left out is said where it is left out.

    Attributes:
        text: characters of a text's body and of an image's description.
        rows: of a table.
        columns: of a table.
        cell: characters of a cell.
        table: characters of a whole table; further rows are left out until it fits.
        title: characters of a title or caption.
    """

    text: int = 8_000
    rows: int = 60
    columns: int = 40
    cell: int = 300
    table: int = 12_000
    title: int = 300


@dataclass(frozen=True, slots=True)
class ShownSource:
    """A source as a model reads it, and what of it was left out in words (empty when nothing was)."""

    text: str
    cut: str = ""


def show_source(source: Source, limits: ShownLimits | None = None) -> ShownSource:
    """Return what a model reads of a source: detokenised, and cut to limits.

    A text is ``title: body``, a table its title, section, header and rows, an image its caption and description.
    """
    limits = limits or ShownLimits()
    if source.modality == "table":
        return _show_table(source, limits)
    title = show_title(source, limits)
    whole = (source.body if source.modality == "text" else source.verbalisation or "").strip()
    # A tokeniser's blanks go, so what is read beyond the limit may come into it; no more than needed is looked at.
    body = detokenise(whole[: 2 * limits.text]).strip()
    note = ""
    if len(body) > limits.text or len(whole) > 2 * limits.text:
        body = _cut(body, limits.text)
        note = f"only the first {len(body) - 1:,} characters of about {len(whole):,} are shown"
        body = f"{body}\n[{note}]"
    if source.modality == "text":
        return ShownSource(f"{title}: {body}" if title else body, note)
    return ShownSource(f"{title.removesuffix('.')}. {body}" if title and body else title or body, note)


def show_title(source: Source, limits: ShownLimits | None = None) -> str:
    """Return the title of a source, or the caption of an image, on one line."""
    limits = limits or ShownLimits()
    return _line(detokenise(source.title[: 2 * limits.title]), limits.title)


def _line(text: str, limit: int) -> str:
    """Return a text on one line, cut at the last blank before the limit."""
    return _cut(" ".join(text.split()), limit)


def _cut(text: str, limit: int) -> str:
    """Cut at the last blank before the limit."""
    if len(text) <= limit:
        return text
    short = text[:limit]
    blank = short.rfind(" ", limit // 2)
    return (short[:blank] if blank > 0 else short) + "…"


def _show_table(source: Source, limits: ShownLimits) -> ShownSource:
    shown_rows = source.rows[: limits.rows]
    several = (source.title, source.section, *source.header, *(cell for row in shown_rows for cell in row))
    is_tokenised = any(looks_tokenised(text[: 2 * limits.cell]) for text in several)

    def line(text: str, limit: int) -> str:
        return _line(detokenise(text[: 2 * limit], is_tokenised=is_tokenised), limit)

    def cells(row: Sequence[str]) -> tuple[str, ...]:
        return tuple(line(cell, limits.cell) for cell in row[: limits.columns])

    title, section = line(source.title, limits.title), line(source.section, limits.title)
    header = cells(source.header)
    rows: list[tuple[str, ...]] = []
    size = len(render_table(title, section, header, ()))
    for row in shown_rows:
        kept = cells(row)
        size += 1 + sum(map(len, kept)) + 3 * max(len(kept) - 1, 0)
        if rows and size > limits.table:
            break
        rows.append(kept)
    notes = []
    if len(rows) < len(source.rows):
        notes.append(f"only the first {len(rows):,} of {len(source.rows):,} rows are shown")
    widest = max(map(len, (source.header, *source.rows[: len(rows)])), default=0)
    if widest > limits.columns:
        notes.append(f"only the first {limits.columns} of {widest:,} columns are shown")
    note = "; ".join(notes)
    text = render_table(title, section, header, rows)
    return ShownSource(f"{text}\n[{note}]" if note else text, note)
