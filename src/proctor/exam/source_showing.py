"""What a model is shown of sources: numbered texts in fences, pictures where there are pixels, descriptions where not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from proctor.corpus.picture import PictureError, read_picture
from proctor.corpus.source import Source, render_source
from proctor.llm.media import MediaStore
from proctor.llm.message import Image

if TYPE_CHECKING:
    from proctor.corpus.collection import Corpus

__all__ = ["SOURCE_LIMIT", "CorpusPictures", "FindPicture", "ShownSources", "find_sources", "show_sources"]

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
