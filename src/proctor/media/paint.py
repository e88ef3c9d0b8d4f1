"""From decoded frames to upright images of the wanted size, and from images to bytes."""

from __future__ import annotations

import io
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from proctor.errors import MissingExtraError, UserError
from proctor.media.source import Limits, import_av

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

__all__ = [
    "Image",
    "Painter",
    "encode_jpeg",
    "encode_png",
    "encode_webp",
    "square_size",
    "upright_size",
]

Image = npt.NDArray[np.uint8]
"""Height × width × 3, RGB."""


def square_size(width: int, height: int, aspect: Fraction | None) -> tuple[int, int]:
    """Return (width, height) with square pixels; ``aspect`` is a stored pixel's width over its height."""
    return max(1, round(width * (aspect if aspect and aspect > 0 else 1))), height


def upright_size(
    width: int, height: int, aspect: Fraction | None, rotation: int, wanted: int | None
) -> tuple[int, int]:
    """Return the (width, height) before rotation that give an upright image of the wanted height.

    Pixels are made square; a scaled image's other side is even. None keeps the size.
    """
    wide, high = square_size(width, height, aspect)
    if wanted is None:
        return wide, high
    turned = rotation % 180 == 90
    shape = Fraction(high, wide) if turned else Fraction(wide, high)
    other = max(2, 2 * round(wanted * shape / 2))
    return (wanted, other) if turned else (other, wanted)


class Painter:
    """Turn decoded frames into upright RGB arrays with one converter, counting memory.

    Args:
        height: of the upright image in pixels, None for the video's own.
        aspect: width over height of a stored pixel.
        where: the file, for messages.
        limits: bounds the memory of all images together.
    """

    def __init__(self, height: int | None, aspect: Fraction | None, where: str, limits: Limits) -> None:
        self._height, self._aspect = height, aspect
        self._where, self._limits = where, limits
        self._bytes = 0
        self._reformatter = import_av().video.reformatter.VideoReformatter()

    def __call__(self, frame: VideoFrame) -> Image:
        """Return the image of a frame.

        Raises:
            UserError: when all images so far take more memory than the limit.
        """
        rotation = round(frame.rotation / 90) * 90
        width, height = upright_size(frame.width, frame.height, self._aspect, rotation, self._height)
        self._bytes += width * height * 3
        if self._bytes > self._limits.output_bytes:
            raise UserError(
                f"the images need more than {self._limits.output_bytes / 2**30:.2g} GB.",
                where=self._where,
                hint="ask for fewer or smaller frames",
            )
        image: Image = self._reformatter.reformat(frame, width, height, "rgb24").to_ndarray()
        # FFmpeg's angle turns the picture counterclockwise, as numpy's rot90 does
        return np.ascontiguousarray(np.rot90(image, rotation // 90)) if rotation else image


# -- encoding --------------------------------------------------------------------------------------------------


def encode_jpeg(image: Image, *, quality: int = 90) -> bytes:
    """Return an RGB image (height × width × 3) as JPEG bytes; the same image gives the same bytes.

    Raises:
        MissingExtraError: when Pillow is not installed.
    """
    return _encode(image, "JPEG", quality=quality, optimize=True)


def encode_png(image: Image) -> bytes:
    """Return an RGB image (height × width × 3) as PNG bytes, without loss.

    Raises:
        MissingExtraError: when Pillow is not installed.
    """
    return _encode(image, "PNG", compress_level=6)


def encode_webp(image: Image, *, height: int, quality: int = 50) -> bytes:
    """Return an RGB image (height × width × 3), made smaller to a height where it is higher, as WebP bytes.

    Raises:
        MissingExtraError: when Pillow is not installed.
    """
    return _encode(image, "WEBP", height=height, quality=quality, method=4)


def _encode(image: Image, kind: str, *, height: int = 0, **options: Any) -> bytes:
    try:
        from PIL import Image as Pillow
    except ImportError:
        raise MissingExtraError("pillow", "video", "Writing images") from None
    buffer = io.BytesIO()
    picture = Pillow.fromarray(image)
    if 0 < height < picture.height:
        picture = picture.resize((max(1, round(picture.width * height / picture.height)), height))
    picture.save(buffer, kind, **options)
    return buffer.getvalue()
