"""Image files that nobody vouches for: checked whole, within a number of pixels, and kept under their hash."""

from __future__ import annotations

import hashlib
import io
import warnings
from pathlib import Path
from typing import Final, NamedTuple

from proctor.corpus.ingest.reading import CannotReadError, package
from proctor.errors import UserError
from proctor.records import atomic_write

__all__ = ["Pixels", "check_image", "keep_image"]

_FORMATS: Final = {"JPEG": "jpg", "PNG": "png", "GIF": "gif", "WEBP": "webp", "BMP": "bmp", "TIFF": "tif"}
"""Formats that Pillow decodes itself; others (EPS) would start programs."""


class Pixels(NamedTuple):
    """A checked image: its hash, the ending of its file name, and its size."""

    sha256: str
    extension: str
    width: int
    height: int


def check_image(data: bytes, max_pixels: int) -> Pixels:
    """Decode an image to the end and say what it is.

    Raises:
        CannotReadError: if it is no image, damaged, or larger than ``max_pixels``.
    """
    pillow = package("PIL.Image")
    # Only one thread decodes (catch_warnings is not safe for more); the size is judged by us, before anything is decoded.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            picture = pillow.open(io.BytesIO(data), formats=tuple(_FORMATS))
        except pillow.DecompressionBombError:
            raise _bomb("far more pixels than any photograph", max_pixels) from None
        except Exception:
            raise CannotReadError(
                "not-an-image", f"no {', '.join(_FORMATS)} image. Convert it, or take it away."
            ) from None
        with picture:
            width, height = picture.size
            if width * height > max_pixels:
                raise _bomb(f"{width}x{height} pixels", max_pixels)
            try:
                picture.load()
            except Exception as error:
                raise CannotReadError(
                    "damaged-image",
                    f"a {picture.format} image of {width}x{height} that cannot be decoded ({error}). Restore a copy.",
                ) from None
            return Pixels(hashlib.sha256(data).hexdigest(), _FORMATS[picture.format], width, height)


def _bomb(seen: str, max_pixels: int) -> CannotReadError:
    return CannotReadError(
        "image-too-large", f"it has {seen}, {max_pixels} are allowed. Scale it down, or raise max_pixels."
    )


def keep_image(data: bytes, pixels: Pixels, folder: Path) -> str:
    """Write an image to ``folder/<sha256>.<ending>`` unless it is there; return that path relative to the folder's parent.

    Raises:
        UserError: if it cannot be written.
    """
    name = f"{pixels.sha256}.{pixels.extension}"
    target = folder / name
    if not target.is_file() or target.stat().st_size != len(data):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"the folder for images cannot be made: {error.strerror or error}.",
                where=str(folder),
                hint="move away what is there, or name another folder",
            ) from None
        with atomic_write(target) as stream:
            stream.write(data)
    return f"{folder.name}/{name}"
