"""Bytes of images, video and audio by their hash: encoded once, shared by every request that uses them."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.llm.message import Audio, Image, Media, Video
from proctor.records import atomic_write, canonical_json, read_bytes

__all__ = ["MediaStore"]

_BASE64_BYTES: Final = 256 * 2**20
"""Base64 texts that are kept in memory (256 MiB); the ones used longest ago leave first."""


class MediaStore:
    """Media by SHA-256, in a folder or in memory, with the base64 text of those used lately.

    Args:
        folder: where the bytes are kept, two levels deep; in memory when None (tests, small runs).
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._bytes: dict[str, bytes] = {}
        self._made: dict[str, Image] = {}
        self._clips: dict[str, Video] = {}
        self._base64: OrderedDict[str, bytes] = OrderedDict()
        self._held = 0
        self._lock = threading.Lock()
        self.encoded = 0
        """How many times ``encode`` of ``image`` and ``cut`` of ``clip`` were really called: tests prove that nothing is encoded twice."""

    def image(
        self, source: str, encode: Callable[[], tuple[bytes, int, int]], mime: str = "image/jpeg"
    ) -> Image:
        """Return an image, encoding it only when this source was not encoded before.

        Args:
            source: names picture and size for good, such as ``<hash of the video>/frame 599/640x360/jpeg 90``.
            encode: returns the bytes, the width and the height; called at most once a source.
            mime: of the bytes.
        """
        with self._lock:
            made = self._made.get(source)
        if made is None:
            data, width, height = encode()
            made = Image(self.add(data), mime, width, height)
            with self._lock:
                self.encoded += 1
                self._made[source] = made
        return made

    def clip(self, source: str, cut: Callable[[], tuple[bytes, float]], mime: str = "video/mp4") -> Video:
        """Return a clip, cutting it only when this source was not cut before; a folder remembers it over runs.

        Args:
            source: names video, span, size and encoding for good.
            cut: returns the bytes and the duration in seconds.
            mime: of the bytes.

        Raises:
            UserError: what ``cut`` raises.
        """
        with self._lock:
            clip = self._clips.get(source) or self._noted(source)
        if clip is None:
            data, seconds = cut()
            clip = self.video(data, seconds, mime)
            with self._lock:
                self.encoded += 1
            if self._folder is not None:
                note = self._note(source)
                note.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(note) as stream:
                    stream.write(canonical_json(clip))
        with self._lock:
            self._clips[source] = clip
        return clip

    def path(self, sha256: str) -> Path | None:
        """Return the file of a part, which has no suffix; None where bytes are kept in memory."""
        return None if self._folder is None else self._path(sha256)

    def size(self, part: Media) -> int:
        """Return how many bytes a part has as it is kept.

        Raises:
            UserError: if it is not here.
        """
        if self._folder is None:
            return len(self.get(part.sha256))
        try:
            return self._path(part.sha256).stat().st_size
        except OSError:
            raise UserError(f"the media {part.sha256[:12]}… are not in the store.") from None

    def video(self, data: bytes, seconds: float, mime: str = "video/mp4") -> Video:
        """Keep a clip and return the part that names it."""
        return Video(self.add(data), mime, seconds)

    def audio(self, data: bytes, seconds: float, mime: str = "audio/wav") -> Audio:
        """Keep a sound and return the part that names it."""
        return Audio(self.add(data), mime, seconds)

    def add(self, data: bytes) -> str:
        """Keep bytes and return their SHA-256; the same bytes are kept once."""
        name = hashlib.sha256(data).hexdigest()
        if self._folder is None:
            self._bytes.setdefault(name, data)
            return name
        path = self._path(name)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as stream:
                stream.write(data)
        return name

    def get(self, sha256: str) -> bytes:
        """Return the bytes.

        Raises:
            UserError: if they are not here, or are not what their name says.
        """
        if self._folder is None:
            data = self._bytes.get(sha256)
            if data is None:
                raise UserError(f"the media {sha256[:12]}… are not in the store.")
            return data
        data = read_bytes(self._path(sha256))
        if hashlib.sha256(data).hexdigest() != sha256:
            raise UserError(
                "the file does not hold what its name says.",
                where=str(self._path(sha256)),
                hint="delete it; it is made again from the recording",
            )
        return data

    def base64(self, part: Media) -> bytes:
        """Return the base64 text of a part's bytes (ASCII), encoded once while it is in use."""
        with self._lock:
            found = self._base64.get(part.sha256)
            if found is not None:
                self._base64.move_to_end(part.sha256)
                return found
        text = base64.b64encode(self.get(part.sha256))
        with self._lock:
            if part.sha256 not in self._base64:
                self._base64[part.sha256] = text
                self._held += len(text)
            while self._held > _BASE64_BYTES and len(self._base64) > 1:
                _, old = self._base64.popitem(last=False)
                self._held -= len(old)
        return text

    def _note(self, source: str) -> Path:
        assert self._folder is not None
        return (
            self._folder
            / "clips"
            / f"{hashlib.sha256(source.encode('utf-8', 'surrogateescape')).hexdigest()}.json"
        )

    def _noted(self, source: str) -> Video | None:
        """Return the clip that an earlier run has cut, None when there is none or its bytes are gone."""
        if self._folder is None:
            return None
        try:
            clip = msgspec.json.decode(self._note(source).read_bytes(), type=Video)
            self._path(clip.sha256).stat()
        except (OSError, msgspec.DecodeError, UserError):  # cut again
            return None
        return clip

    def _path(self, sha256: str) -> Path:
        if self._folder is None or len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
            raise UserError(f"{sha256[:80]!r} is not a SHA-256.")
        return self._folder / sha256[:2] / sha256
