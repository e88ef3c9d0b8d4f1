"""Open a local video or sound file, and nothing else, within limits on the work that it may cause; write one whole or not at all.

FFmpeg opens URLs, playlists and concatenation scripts as readily as files, and a script can name any file of the
machine. So only regular files are opened, by absolute path, with the protocol list cut down to ``file`` and the
format list cut down to single-file containers. When FFmpeg says no, the bytes are looked at for a better reason.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal

from proctor.errors import MissingExtraError, UserError

__all__ = [
    "DEFAULT_LIMITS",
    "Deadline",
    "Limits",
    "cut_off",
    "import_av",
    "local_file",
    "open_sound",
    "open_video",
    "write_mp4",
]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on the work that one file may cause.

    Attributes:
        frames: most frames that one call returns.
        source_pixels: most pixels of one coded frame (8K has 33 million).
        output_bytes: most memory that the returned images of one call may take.
        seconds: wall-clock time for one file; checked between packets.
    """

    frames: int = 20_000
    source_pixels: int = 70_000_000
    output_bytes: int = 4 * 2**30
    seconds: float = 600.0


DEFAULT_LIMITS: Final = Limits()


class Deadline:
    """A point in time after which work on a file stops.

    A decoder that hangs inside one call cannot be interrupted from the same process; ``probe.check_all``
    therefore probes in a process that it can end.
    """

    def __init__(self, seconds: float, where: str) -> None:
        self.seconds = seconds
        self.where = where
        self._until = time.monotonic() + seconds

    def check(self) -> None:
        """Raise ``UserError`` when the time is over."""
        if time.monotonic() > self._until:
            raise UserError(
                f"reading it took longer than the limit of {self.seconds:g} s.",
                where=self.where,
                hint="is the file on a slow disk or damaged? Re-encode it, or raise the time limit",
            )


# -- open a local video file, and nothing else ---------------------------------------------------------------------

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.video.codeccontext import VideoCodecContext
    from av.video.stream import VideoStream


_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]+:")
_FORMATS: Final = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,asf,flv,ogg,mxf,ivf,mp3,wav,flac,aac,w64,aiff,caf"
)
_MAGIC: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"#EXTM3U", "a playlist that names other files"),
    (b"ffconcat", "a script that names other files"),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself"),
    (b"<!DOCTYPE", "a web page"),
    (b"<!doctype", "a web page"),
    (b"<html", "a web page"),
    (b"<?xml", "an XML document"),
)
_FILES: Final = {"video": "mp4, mov, mkv, webm, avi, ...", "sound": "wav, mp3, ogg, m4a, flac"}
_SAFE: Final = {"video": "H.264 in an mp4 file", "sound": "a wav or mp3 file"}
_TEXT = frozenset(range(32, 127)) | {9, 10, 13}
_OGG_PAGE: Final = 65_307  # bytes of the longest
_MAX_BOXES: Final = 4096


def import_av() -> ModuleType:
    """Return the ``av`` package.

    Raises:
        MissingExtraError: when the extra ``video`` is not installed.
    """
    try:
        import av
        import av.error
        import av.video.reformatter
    except ImportError:
        raise MissingExtraError("av", "video", "Reading and writing video") from None
    return av


def local_file(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a readable, non-empty regular file.

    Raises:
        UserError: for a URL or protocol string, a missing file, a folder, a symlink loop, a device, no bytes.
    """
    text = os.fspath(path)
    if _SCHEME.match(text) or "\0" in text:
        raise UserError(
            "this is not a path on this machine; only local files are read.",
            where=text.replace("\0", "\\0"),
            hint="download the file first; if the name really holds a colon, give its absolute path",
        )
    absolute = Path(os.path.abspath(text))  # noqa: PTH100 - resolve() would raise on a symlink loop
    try:
        state = absolute.stat()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(
            f"cannot be opened: {reason}.", where=text, hint="check the path and its spelling"
        ) from None
    if stat.S_ISDIR(state.st_mode):
        raise UserError("this is a folder, a file was expected.", where=text)
    if not stat.S_ISREG(state.st_mode):
        raise UserError("this is not a regular file (a device, pipe or socket).", where=text)
    if state.st_size == 0:
        raise UserError(
            "the file is empty (0 bytes).", where=text, hint="copy or download it again; the transfer failed"
        )
    return absolute


@contextmanager
def open_video(
    path: str | os.PathLike[str], limits: Limits = DEFAULT_LIMITS
) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a local file and its first real video stream; close it at the end of the block.

    Raises:
        UserError: if the file is not a readable video; see ``_read_failure`` for the reasons told.
        MissingExtraError: when PyAV is not installed.
    """
    file = local_file(path)
    with _opened(file, limits, "video") as container:
        yield container, _video_stream(file, container, limits)


@contextmanager
def open_sound(
    path: str | os.PathLike[str], limits: Limits = DEFAULT_LIMITS
) -> Iterator[tuple[InputContainer, AudioStream]]:
    """Open a local file of sound alone and its first stream, as ``open_video`` does; the cover of a record is no video.

    Raises:
        UserError: as ``open_video``, or if there is a video in it.
        MissingExtraError: when PyAV is not installed.
    """
    file = local_file(path)
    with _opened(file, limits, "sound") as container:
        if _pictures(container) or not container.streams.audio:
            seen = "there is a video in it" if _pictures(container) else "there is no sound in it"
            raise UserError(f"{seen}.", where=str(file), hint="give a file of sound alone")
        yield container, container.streams.audio[0]


@contextmanager
def _opened(file: Path, limits: Limits, what: Literal["video", "sound"]) -> Iterator[InputContainer]:
    av = import_av()
    options = {"protocol_whitelist": "file", "format_whitelist": _FORMATS}
    # Odd bytes in titles do not fail the file; PyAV 19 is lenient by itself.
    lenient: dict[str, Any] = {"metadata_errors": "replace"} if int(av.__version__.split(".")[0]) < 19 else {}
    try:
        container = av.open(
            f"file:{file}",
            container_options=options,
            options={"max_pixels": str(limits.source_pixels)},
            timeout=limits.seconds,
            **lenient,
        )
    except (av.error.FFmpegError, OSError, ValueError) as error:
        raise _read_failure(file, error, what) from None
    with container:
        yield container


def _pictures(container: InputContainer) -> list[VideoStream]:
    """Return the real video streams: cover pictures are none."""
    cover = import_av().stream.Disposition.attached_pic
    return [stream for stream in container.streams.video if not stream.disposition & cover]


def _video_stream(file: Path, container: InputContainer, limits: Limits) -> VideoStream:
    pictures = _pictures(container)
    if not pictures:
        others = sorted({str(s.type) for s in container.streams}) or ["nothing"]
        seen = "only a cover picture and " if container.streams.video else "only "
        raise UserError(
            f"there is no video in it, {seen}{' and '.join(others)}.",
            where=str(file),
            hint="was the right file exported? A recording needs pictures",
        )
    stream = pictures[0]
    context: VideoCodecContext | None = stream.codec_context
    if context is None:
        raise UserError(
            "the video's codec is unknown to this FFmpeg.", where=str(file), hint="re-encode as H.264"
        )
    if context.width * context.height > limits.source_pixels:
        raise UserError(
            f"one frame has {context.width}×{context.height} pixels, more than the limit of {limits.source_pixels:,}.",
            where=str(file),
            hint="scale the video down first",
        )
    context.thread_type = "AUTO"
    return stream


def _read_failure(file: Path, error: Exception, what: Literal["video", "sound"]) -> UserError:
    """Say why FFmpeg could not read a file, from its bytes where they tell more than the error."""
    where = str(file)
    if isinstance(error, import_av().error.ExitError):
        return UserError(
            "opening it took longer than the time limit.",
            where=where,
            hint="is the file on a slow disk or damaged? Re-encode it, or raise the time limit",
        )
    cut = cut_off(file)
    if cut:
        return UserError(
            cut,
            where=where,
            hint="copy the file again; if the camera stopped early, repair it with a recovery tool",
        )
    contents = _contents(file)
    if contents:
        return UserError(
            f"this is not a {what}: its contents look like {contents}.",
            where=where,
            hint=f"give a {what} file ({_FILES[what]}); the name's ending does not matter",
        )
    reason = getattr(error, "strerror", None) or str(error)
    return UserError(
        f"no {what} could be read from it: {reason}.",
        where=where,
        hint=f"does it play elsewhere? Then re-encode it as {_SAFE[what]}",
    )


def _contents(file: Path) -> str | None:
    with file.open("rb") as stream:
        head = stream.read(512)
    for magic, name in _MAGIC:
        if head.lstrip().startswith(magic):
            return name
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "a WebP image"
    if all(byte in _TEXT for byte in head):
        return f"text starting with {head[:30].decode('ascii')!r}"
    return None


def cut_off(file: Path) -> str | None:
    """Return how an mp4/mov, wav or ogg file falls short of what it declares; None if complete or of another kind."""
    size = file.stat().st_size
    kinds: list[str] = []
    position = 0
    with file.open("rb") as stream:
        riff = stream.read(12)
        declared = int.from_bytes(riff[4:8], "little") + 8
        # A recorder that streamed could not know the length, and wrote the largest number.
        if riff[:4] == b"RIFF" and riff[8:] == b"WAVE" and size < declared < 2**31:
            return f"the file is cut off: it should have {declared:,} bytes, and has {size:,}."
        if riff[:4] == b"OggS":
            stream.seek(max(0, size - 2 * _OGG_PAGE))
            return _ogg_cut_off(stream.read(), size)
        while position + 8 <= size and len(kinds) < _MAX_BOXES:
            stream.seek(position)
            header = stream.read(16)
            length, kind = int.from_bytes(header[:4], "big"), header[4:8]
            if not all(32 <= byte < 127 for byte in kind):
                break
            if length == 1:
                length = int.from_bytes(header[8:16], "big")
            if length == 0:
                length = size - position
            if length < 8:
                break
            kinds.append(kind.decode("ascii"))
            position += length
    if not kinds or kinds[0] not in ("ftyp", "moov", "mdat", "wide", "free", "skip"):
        return None
    if position > size:
        return (
            f"the file is cut off: its {kinds[-1]!r} part should reach byte {position:,}, "
            f"the file ends at byte {size:,}."
        )
    if "moov" not in kinds:
        return "the file has no index (its 'moov' part is missing): it was cut off or the recording never finished."
    return None


def _ogg_cut_off(tail: bytes, size: int) -> str | None:
    """Return how an ogg file of a size falls short, by its last pages: the last one is marked as such (RFC 3533, section 6)."""
    at, end, marked = tail.find(b"OggS"), 0, False
    while at >= 0 and end <= len(tail):
        segments = tail[at + 26 : at + 27]
        table = tail[at + 27 : at + 27 + sum(segments)]
        end, marked = at + 27 + sum(segments) + sum(table), bool(sum(tail[at + 5 : at + 6]) & 4)
        at = tail.find(b"OggS", end)
    missing = end - len(tail)
    if missing > 0:
        return f"the file is cut off: its last page should reach byte {size + missing:,}, the file ends at byte {size:,}."
    return None if marked else "the file is cut off: its last page is not marked as the last."


# -- media files appear under their name whole or not at all -------------------------------------------------------

if TYPE_CHECKING:
    from av.container import OutputContainer


@contextmanager
def write_mp4(path: Path) -> Iterator[OutputContainer]:
    """Open an mp4 file that appears at ``path`` when the block ends without an error.

    Its index stands in front, so that a browser can play it at once, and it holds no dates and no program
    versions: the same pictures give the same bytes.

    Raises:
        UserError: if it cannot be written or encoded; a file that was there before is then untouched.
        MissingExtraError: when PyAV is not installed.
    """
    av = import_av()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{path.name[:80]}.", dir=path.parent) as folder:
            temporary = Path(folder, "video.mp4")
            options = {"movflags": "faststart", "fflags": "bitexact"}
            with av.open(
                f"file:{temporary.resolve()}", "w", format="mp4", container_options=options
            ) as container:
                yield container
            os.replace(temporary, path)  # noqa: PTH105
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(
            f"cannot be written: {reason}. The file that was there before is untouched.",
            where=str(path),
            hint="check permissions and free space, then run the same command again",
        ) from error
    except av.error.FFmpegError as error:
        raise UserError(
            f"the video could not be encoded: {error}. The file that was there before is untouched.",
            where=str(path),
        ) from error
