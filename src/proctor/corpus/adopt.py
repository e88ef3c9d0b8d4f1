"""Pictures of a data set or a manual copied into a corpus folder, so that the folder holds all that it speaks of.

To be done before a corpus is built: the pixels' hash becomes the content hash, so that equal pictures become one source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from proctor.corpus.collection import NoImage, find_image
from proctor.corpus.ingest.pictures import check_image, keep_image
from proctor.corpus.ingest.reading import CannotReadError
from proctor.corpus.picture import MAX_BYTES, MAX_PIXELS
from proctor.corpus.source import Source
from proctor.records import Dropped, read_bytes

__all__ = ["IMAGES", "adopt_images"]

IMAGES: Final = "images"
"""Name of the folder of pixels in a corpus folder."""


def adopt_images(
    found: Iterable[Source | Dropped], pictures: Path, folder: Path, *, max_pixels: int = MAX_PIXELS
) -> Iterator[Source | Dropped]:
    """Yield what was found, images with a copy of their pixels in ``folder/images`` and the hash of these.

    Images without pixels (an address, or no file there) stay as they are. A file that cannot be shown, and a path or link that leads
    out of ``pictures``, becomes a listed drop.

    Args:
        found: sources, and what was dropped before.
        pictures: the folder that the paths of images are relative to.
        folder: of the corpus that is going to be written.
        max_pixels: beyond which a picture is taken for a decompression bomb.

    Raises:
        UserError: if the copies cannot be written.
        MissingExtraError: if Pillow is not installed.
    """
    for entry in found:
        if isinstance(entry, Dropped) or entry.modality != "image" or not entry.image:
            yield entry
        else:
            yield _adopted(entry, pictures, folder, max_pixels)


def _adopted(source: Source, pictures: Path, folder: Path, max_pixels: int) -> Source | Dropped:
    path = find_image(pictures, source.image)
    if isinstance(path, NoImage):
        return Dropped(source.id, "path-outside", path.detail) if path.reason == "outside" else source
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise CannotReadError("too-large", f"{size:,} bytes, at most {MAX_BYTES:,} are read.")
        data = read_bytes(path)
        pixels = check_image(data, max_pixels)
    except CannotReadError as error:
        return Dropped(source.id, error.reason, f"{source.image}: {error.detail}")
    except OSError as error:
        return Dropped(source.id, "unreadable", f"{source.image}: {error.strerror or error}")
    name = keep_image(data, pixels, folder / IMAGES)
    return msgspec.structs.replace(source, image=name, content_hash=pixels.sha256)
