"""Image files: caption from a sidecar (``kettle.txt``, ``kettle.json``), else from the file's name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from proctor.corpus.ingest.blocks import Picture, caption_from_name, single_spaced
from proctor.corpus.ingest.decoding import decode_text
from proctor.corpus.ingest.pictures import check_image, keep_image
from proctor.corpus.ingest.reading import CannotReadError, IngestOptions, Reading
from proctor.records import read_bytes

__all__ = ["IMAGE_ENDINGS", "ImageFile", "find_sidecar", "read_image"]

IMAGE_ENDINGS: Final = frozenset({".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff"})
_MAX_SIDECAR: Final = 1 << 20


class _Sidecar(msgspec.Struct):
    """What a JSON file beside an image may say."""

    caption: str = ""
    verbalisation: str | None = None
    licence: str | None = None
    license: str | None = None
    url: str | None = None


class ImageFile(msgspec.Struct, frozen=True):
    """A checked image file with what is said about it; ``said_by`` is ``sidecar`` or ``file-name``."""

    picture: Picture
    said_by: str
    verbalisation: str | None = None
    licence: str | None = None
    url: str | None = None


def find_sidecar(image: Path, folder: Path) -> Path | None:
    """Return the file with the caption of an image: ``a.json``, ``a.jpg.json``, ``a.txt`` or ``a.jpg.txt``, the first there is.

    Args:
        image: the image's file.
        folder: a link that leads out of it is no sidecar.
    """
    inside = folder.resolve()
    for ending in (".json", ".txt"):
        for path in (image.with_suffix(ending), image.with_name(image.name + ending)):
            if path.is_file() and path.resolve().is_relative_to(inside):
                return path
    return None


def read_image(reading: Reading) -> ImageFile:
    """Check an image file and find its caption.

    Raises:
        CannotReadError: if it is no image, damaged, too large, or its sidecar cannot be read.
        MissingExtraError: without the extra ``corpus``.
    """
    data = read_bytes(reading.path)
    pixels = check_image(data, reading.options.max_pixels)
    sidecar = find_sidecar(reading.path, reading.folder)
    said = _said(sidecar, reading.options) if sidecar else _Sidecar()
    caption = single_spaced(said.caption)
    if reading.out_images is not None:
        name = keep_image(data, pixels, reading.out_images)
    else:
        name = reading.path.relative_to(reading.folder).as_posix().encode("utf-8", "replace").decode("utf-8")
    picture = Picture(
        file=name,
        sha256=pixels.sha256,
        width=pixels.width,
        height=pixels.height,
        caption=caption or caption_from_name(reading.path),
        original=str(reading.path),
    )
    return ImageFile(
        picture,
        "sidecar" if caption else "file-name",
        said.verbalisation or None,
        said.licence or said.license,
        said.url,
    )


def _said(sidecar: Path, options: IngestOptions) -> _Sidecar:
    if (size := sidecar.stat().st_size) > min(_MAX_SIDECAR, options.max_bytes):
        raise CannotReadError(
            "bad-sidecar", f"{sidecar.name} has {size} bytes, no caption is so long. Shorten it."
        )
    text = decode_text(read_bytes(sidecar)).text
    if sidecar.suffix.lower() == ".txt":
        return _Sidecar(caption=text)
    try:
        return msgspec.json.decode(text, type=_Sidecar)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CannotReadError(
            "bad-sidecar", f'{sidecar.name}: {error}. Write {{"caption": "…"}}, or take it away.'
        ) from None
