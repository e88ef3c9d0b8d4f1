"""A picture file, checked before anybody looks at it: it is an image, and neither a bomb nor too large to be sent.

Files come from anywhere. Only the common formats are tried, the size is read before the pixels, and what a decoder says about a
broken file becomes a reason that can be counted.
"""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from proctor.errors import MissingExtraError, UserError
from proctor.records import read_bytes

__all__ = [
    "FORMATS",
    "MAX_BYTES",
    "MAX_PIXELS",
    "MAX_SIDE",
    "PICTURE_REASONS",
    "Picture",
    "PictureError",
    "read_picture",
]

PICTURE_REASONS: Final = ("no_image", "too_many_pixels", "too_large", "unreadable")
"""Why a file cannot be shown."""
MAX_PIXELS: Final = 50_000_000
"""Pixels beyond which a picture is taken for a decompression bomb."""
FORMATS: Final = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
"""Those that are tried."""
MAX_BYTES: Final = 100 * 2**20
"""Bytes of a file that are read."""
MAX_SIDE: Final = 1568
"""Longer side of what is sent: beyond it providers shrink pictures themselves."""

_SENT_BYTES: Final = 3_500_000
"""Of what is sent: providers take 5 MB of base64."""
_SENT_AS_THEY_ARE: Final = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
_ORIENTATION: Final = 0x0112
_QUALITY: Final = 90


class PictureError(UserError):
    """A file that cannot be shown; ``reason`` can be counted.

    Args:
        reason: one of ``PICTURE_REASONS``.
        detail: what was seen.
        where: the file.
    """

    def __init__(self, reason: str, detail: str, where: str | None = None) -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{detail}.", where=where, hint="replace the file by a JPEG or PNG, or leave it out")

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the reason when the error comes from another process."""
        return type(self), (self.reason, self.detail, self.where)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as it is sent: the file's own bytes where everybody can show them, a JPEG of it otherwise.

    Attributes:
        data: encoded.
        mime: of ``data``.
        width: pixels of ``data``.
        height: pixels of ``data``.
        file_sha256: of the file's bytes, hex digits.
    """

    data: bytes
    mime: str
    width: int
    height: int
    file_sha256: str


def read_picture(path: Path) -> Picture:
    """Read a picture file and decode it to the end, so that half a file is noticed.

    Raises:
        PictureError: if it is no image of a known format, is broken, or is too large.
        MissingExtraError: if Pillow is not installed.
    """
    pillow = _pillow()
    where = str(path)
    data = _bytes(path)
    try:
        # No other formats: some of them start programs. Odd metadata and its own limit on pixels are only warnings.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pillow.open(BytesIO(data), formats=FORMATS) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    raise PictureError(
                        "too_many_pixels",
                        f"it has {width:,} × {height:,} pixels, more than {MAX_PIXELS:,}",
                        where,
                    )
                image.load()
                return _sendable(image, data)
    except PictureError:
        raise
    except pillow.DecompressionBombError as error:
        raise PictureError("too_many_pixels", f"it is a decompression bomb ({error})", where) from None
    except pillow.UnidentifiedImageError:
        seen = f"it starts with {data[:16]!r}" if data else "it is empty"
        raise PictureError("no_image", f"it is no image ({seen})", where) from None
    except MemoryError:
        raise PictureError("too_large", "its pixels do not fit in memory", where) from None
    except Exception as error:  # decoders raise whatever a broken file makes them
        raise PictureError("unreadable", f"it is a broken image ({str(error)[:200]})", where) from None


def _pillow() -> ModuleType:
    try:
        return import_module("PIL.Image")
    except ImportError:
        raise MissingExtraError("pillow", "corpus", "reading pictures") from None


def _bytes(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise PictureError("too_large", f"it has {size:,} bytes, more than {MAX_BYTES:,}", str(path))
        return read_bytes(path)
    except PictureError:
        raise
    except (OSError, ValueError, UserError) as error:
        message = error.message if isinstance(error, UserError) else str(error)
        raise PictureError("unreadable", f"it cannot be read ({message})", str(path)) from None


def _sendable(image: Any, data: bytes) -> Picture:
    """Return the file itself where it is small and upright; the same bytes do not depend on the version of an encoder."""
    digest = hashlib.sha256(data).hexdigest()
    mime = _SENT_AS_THEY_ARE.get(image.format or "")
    upright = image.getexif().get(_ORIENTATION, 1) == 1
    small = max(image.size) <= MAX_SIDE and len(data) <= _SENT_BYTES
    still = getattr(image, "n_frames", 1) == 1
    if mime is not None and upright and small and still:
        return Picture(data, mime, image.width, image.height, digest)
    return _encoded(image, digest)


def _encoded(image: Any, digest: str) -> Picture:
    """Turn it upright, put it on white, shrink it, and write a JPEG."""
    operations = import_module("PIL.ImageOps")
    image.seek(0)
    upright = operations.exif_transpose(image)
    # 16-bit greys cannot be converted with their range kept; their upper byte is what a screen shows.
    if upright.mode.startswith("I;16"):
        upright = upright.point(lambda value: value / 256).convert("L")
    whole = upright.convert("RGBA")
    flat = import_module("PIL.Image").new("RGB", whole.size, "white")
    flat.paste(whole, mask=whole.getchannel("A"))
    flat.thumbnail((MAX_SIDE, MAX_SIDE))
    stream = BytesIO()
    flat.save(stream, "JPEG", quality=_QUALITY)
    return Picture(stream.getvalue(), "image/jpeg", flat.width, flat.height, digest)
