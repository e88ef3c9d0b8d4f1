"""Images that nobody vouches for: checked whole, within a number of pixels, kept under their hash; those inside documents."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from proctor.corpus.ingest.blocks import Picture, Problem, single_spaced
from proctor.corpus.ingest.reading import CannotReadError, Reading, package
from proctor.errors import UserError
from proctor.records import atomic_write, read_bytes

__all__ = ["Pictures", "Pixels", "check_image", "keep_image", "local_file"]

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


# -- images inside documents: each once, without icons, up to a number; what is left out is counted ----------------

_COUNTED: Final = {
    "small-image": "smaller than min_image_side (bullets, rules, icons)",
    "repeated-image": "the same picture stands in this document before",
    "too-many-images": "behind the first max_images of this document",
    "page-scan": "they cover a page whose text was read",
    "image-not-kept": "no folder for images was given, so pixels out of documents cannot be kept",
}


class Pictures:
    """The images of one document.

    Args:
        reading: the document.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._seen: set[str] = set()
        self._left_out: Counter[str] = Counter()

    @property
    def full(self) -> bool:
        """True when no further image is taken."""
        return len(self._seen) >= self._reading.options.max_images

    def leave_out(self, reason: str) -> None:
        """Count an image that is left out before its pixels are looked at."""
        self._left_out[reason] += 1

    def embedded(self, data: bytes, caption: str, *, page: int = 0) -> Iterator[Picture]:
        """Yield an image whose bytes are in the document.

        Raises:
            CannotReadError: if it is none.
        """
        if self._reading.out_images is None:
            self.leave_out("image-not-kept")
            return
        yield from self._taken(data, caption, page, None)

    def beside(self, file: Path, caption: str) -> Iterator[Picture]:
        """Yield an image that is a file beside the document.

        Raises:
            CannotReadError: if it is none.
        """
        if (size := file.stat().st_size) > self._reading.options.max_bytes:
            raise CannotReadError(
                "file-too-large", f"an image of {size} bytes. Scale it down, or raise max_bytes."
            )
        try:
            data = read_bytes(file)
        except UserError as error:
            raise CannotReadError("unreadable", f"the image {file.name!r} {error.message}") from None
        yield from self._taken(data, caption, 0, file)

    def linked(self, address: str, caption: str) -> Iterator[Picture]:
        """Yield the image of an address in a document; nothing is ever fetched.

        Raises:
            CannotReadError: if it is elsewhere, missing or no image.
        """
        if address[:5].lower() == "data:":
            yield from self.embedded(_from_data_address(address), caption)
        else:
            yield from self.beside(local_file(address, self._reading), caption)

    def _taken(self, data: bytes, caption: str, page: int, file: Path | None) -> Iterator[Picture]:
        options, out = self._reading.options, self._reading.out_images
        if self.full:
            return self.leave_out("too-many-images")
        pixels = check_image(data, options.max_pixels)
        if min(pixels.width, pixels.height) < options.min_image_side:
            return self.leave_out("small-image")
        if pixels.sha256 in self._seen:
            return self.leave_out("repeated-image")
        self._seen.add(pixels.sha256)
        if out is not None:
            name = keep_image(data, pixels, out)
        else:
            assert file is not None  # embedded images without a folder do not come here
            name = file.relative_to(self._reading.folder.resolve()).as_posix()
        yield Picture(
            file=single_spaced(name) if not name.isprintable() else name,
            sha256=pixels.sha256,
            width=pixels.width,
            height=pixels.height,
            caption=single_spaced(caption),
            page=page,
            original=str(file) if file is not None else "",
        )

    def problems(self) -> Iterator[Problem]:
        """Yield what was left out, one a reason, with the number."""
        for reason in sorted(self._left_out):
            yield Problem(reason, f"{self._left_out[reason]} images: {_COUNTED[reason]}.")


def local_file(address: str, reading: Reading) -> Path:
    """Return the file that an address in a document names.

    Raises:
        CannotReadError: if it is not in the folder, or missing.
    """
    shown = single_spaced(address)[:200]
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        raise CannotReadError("missing-image", f"{shown!r} is no address. Correct it.") from None
    if parts.scheme or parts.netloc:
        raise CannotReadError(
            "remote-image", f"{shown!r} is not fetched. Save it beside the document and name that file."
        )
    folder = reading.folder.resolve()
    name = unquote(parts.path)
    try:
        file = ((folder / name.lstrip("/")) if name.startswith("/") else reading.path.parent / name).resolve()
        inside, there = file.is_relative_to(folder), file.is_file()
    except (OSError, ValueError, RuntimeError):  # too long, NUL bytes, links in a circle
        raise CannotReadError(
            "missing-image", f"{shown!r} cannot be the name of a file. Correct it."
        ) from None
    if not inside:
        raise CannotReadError("image-outside", f"{shown!r} leads out of the folder. Copy it into the folder.")
    if not there:
        raise CannotReadError(
            "missing-image", f"there is no file {shown!r}. Correct the path, or restore the file."
        )
    return file


def _from_data_address(address: str) -> bytes:
    head, comma, body = address.partition(",")
    if not comma:
        raise CannotReadError("not-an-image", "a data: address without data. Restore the document.")
    raw = unquote_to_bytes(body)
    if not head.lower().rstrip().endswith(";base64"):
        return raw
    try:
        return base64.b64decode(b"".join(raw.split()), validate=True)
    except binascii.Error:
        raise CannotReadError(
            "damaged-image", "a data: address whose base64 is broken. Restore the document."
        ) from None
