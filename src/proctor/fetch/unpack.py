"""Archives unpacked without trusting them: every name, kind and size is judged, and a limit is on everything.

All is written into a new folder of its own; whoever asked moves the files on when the whole archive was good.
"""

from __future__ import annotations

import gzip
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Self, cast

from proctor.errors import UserError
from proctor.fetch.plan import safe_place

__all__ = ["RefusedError", "UnpackLimits", "unpack"]

_CHUNK: Final = 2**20
_HEADERS: Final = 4 * 2**20
"""Bytes that may lie between two files of a tar: long names and other notes."""
_ENTRY: Final = 160
"""Bytes of a zip's directory by member, at most on average; it is read as a whole."""
_KINDS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class RefusedError(UserError):
    """An archive that is broken or not to be trusted."""


@dataclass(frozen=True, slots=True)
class UnpackLimits:
    """How much an archive may hold.

    Attributes:
        members: files and folders.
        total: bytes when unpacked.
        ratio: unpacked bytes by packed byte, of one file and of all.
        free: bytes up to which the ratio does not matter: small files of zeros are no bomb.
    """

    members: int = 200_000
    total: int = 2**40
    ratio: float = 300.0
    free: int = 64 * 2**20


def unpack(archive: Path, into: Path, limits: UnpackLimits | None = None) -> dict[str, int]:
    """Unpack a .zip, .tar or .tar.gz, recognised by its content, into a new folder.

    Returns:
        Sizes in bytes by path, with slashes.

    Raises:
        RefusedError: if it is no such archive, broken, larger than the limits, or has a member that is no plain file or
            folder, is encrypted, comes twice or would lie elsewhere. What was unpacked until then lies in ``into``.
        UserError: if the disk has no room for it.
    """
    limits = limits or UnpackLimits()
    into.mkdir(parents=True)
    try:
        with archive.open("rb") as stream:
            head = stream.read(512)
            stream.seek(0)
            place = _Place(into, archive.stat().st_size, limits, archive)
            if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
                _unpack_zip(stream, place)
            elif head[:2] == b"\x1f\x8b":
                with gzip.GzipFile(fileobj=stream, mode="rb") as inner:
                    _unpack_tar(cast("IO[bytes]", inner), place)
            elif head[257:262] == b"ustar" or (len(head) == 512 and _is_old_tar(head)):
                _unpack_tar(stream, place)
            else:
                raise place.refuse("is no .zip, .tar or .tar.gz")
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError) as error:
        raise RefusedError(f"the archive is broken: {error}.", where=str(archive)) from None
    except (struct.error, UnicodeError, NotImplementedError, RuntimeError, ValueError, OverflowError):
        raise RefusedError("the archive is broken or of an unknown kind.", where=str(archive)) from None
    return place.files


class _Place:
    """The folder that is filled, and what has come into it."""

    def __init__(self, into: Path, packed: int, limits: UnpackLimits, archive: Path) -> None:
        self.files: dict[str, int] = {}
        self._folders: set[str] = set()
        self._into, self._packed, self.limits, self._archive = into, packed, limits, archive
        self._members = self._total = 0

    def refuse(self, what: str) -> RefusedError:
        return RefusedError(
            f"the archive {what}; it was not unpacked.",
            where=str(self._archive),
            hint="if you trust it, look into it and unpack it by hand",
        )

    def name(self, name: str) -> str:
        """Return a member's path, judged; empty for the archive's own folder."""
        self._members += 1
        self.require_members(self._members)
        try:
            return safe_place(name, empty=True)
        except UserError as error:
            raise self.refuse(f"has a member that is not safe: {error.message.removesuffix('.')}") from None

    def require_members(self, count: int) -> None:
        if count > self.limits.members:
            raise self.refuse(f"has more than {self.limits.members:,} members")

    def require_total(self, total: int) -> None:
        if total > self.limits.total:
            raise self.refuse(f"would be more than {self.limits.total:,} bytes")
        self.require_ratio(total, self._packed)
        if total > shutil.disk_usage(self._into).free:
            raise UserError(
                f"unpacked it is {total:,} bytes, more than the disk has room for.",
                where=str(self._into),
                hint="make room, and run the same command again: the archive is kept",
            )

    def require_ratio(self, size: int, packed: int) -> None:
        if size > self.limits.free and size > self.limits.ratio * max(packed, 1):
            raise self.refuse(f"grows from {packed:,} to {size:,} bytes and looks like a bomb")

    def folder(self, place: str) -> None:
        """Make a folder; it may be named more than once."""
        parts = place.split("/")
        for n in range(1, len(parts) + 1):
            above = "/".join(parts[:n])
            if above in self.files:
                raise self.refuse(f"has {above!r} as a file and as a folder")
            if above not in self._folders:
                (self._into / above).mkdir(exist_ok=True)
                self._folders.add(above)

    def file(self, place: str, stream: IO[bytes], size: int) -> None:
        """Write a file of exactly that size."""
        if not place or place in self.files or place in self._folders:
            raise self.refuse(f"has {place!r} twice")
        if size < 0:
            raise self.refuse(f"has {place!r} with a size below 0")
        above = place.rpartition("/")[0]
        if above:
            self.folder(above)
        self.require_total(self._total + size)
        written = 0
        try:
            target = (self._into / place).open("xb")
        except FileExistsError:
            raise self.refuse(f"has {place!r} twice, for this disk") from None
        with target:
            while chunk := stream.read(_CHUNK):
                written += len(chunk)
                if written > size:
                    raise self.refuse(f"has in {place!r} more than it says")
                target.write(chunk)
        if written != size:
            raise self.refuse(f"has in {place!r} {written:,} bytes and says {size:,}")
        self._total += size
        self.files[place] = size


# -- zip -------------------------------------------------------------------------------------------------------


def _unpack_zip(stream: IO[bytes], place: _Place) -> None:
    directory = _zip_directory_bytes(stream)
    if directory > max(place.limits.members * _ENTRY, 2**16):
        raise place.refuse(f"has more than {place.limits.members:,} members")
    with zipfile.ZipFile(stream) as opened:
        members = opened.infolist()
        place.require_members(len(members))
        names = [_judge_zip_member(member, place) for member in members]
        _refuse_overlap(members, place)
        place.require_total(sum(m.file_size for m in members))
        twice = {name for name, m in zip(names, members, strict=True) if not m.is_dir()}
        if len(twice) != sum(not m.is_dir() for m in members):
            raise place.refuse("has a name twice")
        for name, member in zip(names, members, strict=True):
            if member.is_dir():
                if name:
                    place.folder(name)
                continue
            with opened.open(member) as inner:
                place.file(name, inner, member.file_size)


def _judge_zip_member(member: zipfile.ZipInfo, place: _Place) -> str:
    raw = member.orig_filename
    name = place.name(raw)
    if member.flag_bits & 0x41:
        raise place.refuse(f"is encrypted ({raw[:100]!r})")
    if member.compress_type not in _KINDS:
        raise place.refuse(f"is packed in an unusual way ({raw[:100]!r})")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise place.refuse(f"holds a link or a device ({raw[:100]!r})")
    if member.is_dir() and member.file_size:
        raise place.refuse(f"has a folder with content ({raw[:100]!r})")
    place.require_ratio(member.file_size, member.compress_size)
    return name


def _refuse_overlap(members: list[zipfile.ZipInfo], place: _Place) -> None:
    """Refuse members that share bytes: the way to make a bomb of a small file."""
    end = 0
    for member in sorted(members, key=lambda m: m.header_offset):
        if member.header_offset < end:
            raise place.refuse("has members that lie over each other")
        end = member.header_offset + 30 + member.compress_size


def _zip_directory_bytes(stream: IO[bytes]) -> int:
    """Return how many bytes the list of members has, before it is read."""
    size = stream.seek(0, 2)
    start = max(size - 2**16 - 22, 0)
    stream.seek(start)
    tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    if tail[-22:-18] == b"PK\x05\x06" and tail[-2:] == b"\0\0":
        at = len(tail) - 22
    if at < 0 or len(tail) < at + 22:
        raise zipfile.BadZipFile("its end is missing")
    found: int = struct.unpack_from("<L", tail, at + 12)[0]
    locator = tail[max(at - 20, 0) : at]
    if len(locator) == 20 and locator[:4] == b"PK\x06\x07":
        stream.seek(min(struct.unpack_from("<Q", locator, 8)[0], size))
        record = stream.read(56)
        if len(record) == 56 and record[:4] == b"PK\x06\x06":
            found = max(found if found != 0xFFFFFFFF else 0, struct.unpack_from("<Q", record, 40)[0])
    stream.seek(0)
    return min(found, size)


# -- tar -------------------------------------------------------------------------------------------------------


class _Bounded:
    """A stream that gives up when more is read than was allowed for now: headers can claim any length."""

    def __init__(self, stream: IO[bytes], place: _Place) -> None:
        self._stream, self._place, self._left = stream, place, 0

    def allow(self, count: int) -> None:
        self._left = count

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size if 0 <= size <= _CHUNK else _CHUNK)
        self._left -= len(data)
        if self._left < 0:
            raise self._place.refuse("has a header that is too long")
        return data


class _Header(tarfile.TarInfo):
    """A header that has to be whole: the library takes a broken one, and the end of the file, for the archive's end."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # the block of zeros: the right end
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"cut short or damaged ({error})") from None


def _unpack_tar(stream: IO[bytes], place: _Place) -> None:
    bounded = _Bounded(stream, place)
    bounded.allow(_HEADERS)
    with tarfile.open(fileobj=bounded, mode="r|", errorlevel=2, tarinfo=_Header) as opened:  # type: ignore[call-overload]
        while True:
            bounded.allow(_HEADERS)
            member = opened.next()
            if member is None:
                break
            opened.members.clear()
            name = place.name(member.name)
            if member.isdir():
                if name:
                    place.folder(name)
            elif not member.isreg() or member.issparse():
                raise place.refuse(f"holds a link or a device ({member.name[:100]!r})")
            else:
                bounded.allow(member.size + _HEADERS)
                inner = opened.extractfile(member)
                if inner is None:
                    raise place.refuse(f"cannot be read ({member.name[:100]!r})")
                place.file(name, inner, member.size)
        bounded.allow(_HEADERS)
        while bounded.read():  # to the end, where the checksum of a .gz is
            pass
    if not place.files:
        raise place.refuse("holds no file")


def _is_old_tar(head: bytes) -> bool:
    """True where the first header's own sum is right: tar files from before 1988 have no mark."""
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True
