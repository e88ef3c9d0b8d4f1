"""Images in PDF pages, by PDFium: JPEG as it is, everything else decoded and written as PNG."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from proctor.corpus.ingest.pdf_layout import Box
from proctor.corpus.ingest.reading import CannotReadError, package

if TYPE_CHECKING:
    from pdfplumber.page import Page

__all__ = ["PageImage", "page_images"]

_MAX_NESTING: Final = 8


@dataclass(frozen=True)
class PageImage:
    """The bytes of an image file and where the image stands on its page."""

    box: Box
    data: bytes


def page_images(
    page: Page, twin: Any, *, max_pixels: int, min_side: int
) -> Iterator[PageImage | CannotReadError]:
    """Yield the images of a page, or why one cannot be had (``small-image`` where it is an icon).

    Args:
        page: as pdfplumber sees it: for positions.
        twin: the same page as PDFium sees it: for pixels.
        max_pixels: of one image.
        min_side: below which an image is an icon.
    """
    raw = package("pypdfium2.raw")
    found = list(twin.get_objects(filter=(raw.FPDF_PAGEOBJ_IMAGE,), max_depth=_MAX_NESTING))
    places = _places(page, found)
    for image, box in zip(found, places, strict=True):
        try:
            yield PageImage(box, _image_bytes(image, max_pixels, min_side))
        except CannotReadError as problem:
            yield problem
        except Exception as error:  # PDFium and Pillow on a hostile file: anything
            yield CannotReadError(
                "damaged-image", f"an image that cannot be decoded ({error}). Restore the document."
            )


def _places(page: Page, found: list[Any]) -> list[Box]:
    """Return where the images are: pdfplumber knows it for those in forms too, as long as both see the same images."""
    if len(page.images) == len(found):
        return [Box(float(i["x0"]), float(i["top"]), float(i["x1"]), float(i["bottom"])) for i in page.images]
    height = float(page.height)
    places = []
    for image in found:
        left, bottom, right, top = image.get_bounds()
        places.append(Box(left, height - top, right, height - bottom))
    return places


def _image_bytes(image: Any, max_pixels: int, min_side: int) -> bytes:
    width, height = image.get_px_size()
    if min(width, height) < min_side:
        raise CannotReadError("small-image", "")
    if width * height > max_pixels:
        raise CannotReadError(
            "image-too-large",
            f"an image of {width}x{height} pixels, {max_pixels} are allowed. Raise max_pixels.",
        )
    # true for grey and three colours; a JPEG in four inks is shown in wrong colours outside of a PDF
    if list(image.get_filters(skip_simple=True)) == ["DCTDecode"] and (
        image.get_metadata().bits_per_pixel in (8, 24)
    ):
        return bytes(image.get_data(decode_simple=True))
    picture = image.get_bitmap(render=False).to_pil()
    stream = io.BytesIO()
    (picture if picture.mode in ("1", "L", "LA", "RGB", "RGBA") else picture.convert("RGB")).save(
        stream, "PNG"
    )
    return stream.getvalue()
