"""Planned files fetched one after another: gone on with, tried again, checked, and put in place whole or not at all."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from proctor.errors import UserError
from proctor.fetch.plan import STATE, Planned, Unpacked, Wanted, require_inside
from proctor.fetch.transfer import Limits, MishapError, Transfer, rest
from proctor.fetch.unpack import RefusedError, UnpackLimits, unpack
from proctor.records import file_sha256, write_json

__all__ = ["Fetched", "Seen", "fetch_files", "lock_folder"]

Seen = Callable[[str, int, int | None], None]
"""Told the file's place, bytes that are there, and bytes that there will be (None: nobody knows)."""

_CHUNK: Final = 2**20


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that was put in place.

    Attributes:
        place: its path in the folder; of an archive what its path would be.
        size: bytes as it came.
        sha256: as it came.
        files: of an archive, how many it held; 0 for a plain file.
        checked: it had the declared checksum; False where none is declared.
    """

    place: str
    size: int
    sha256: str
    files: int
    checked: bool


def fetch_files(
    planned: Sequence[Planned],
    folder: Path,
    *,
    overwrite: bool = False,
    limits: Limits | None = None,
    unpack_limits: UnpackLimits | None = None,
    seen: Seen | None = None,
    told: Callable[[str], None] | None = None,
) -> Iterator[Fetched]:
    """Fetch what the plan says, and yield each file when it is in place.

    It may be ended at any time: the same call goes on where it was.

    Args:
        planned: of ``plan.plan_files``; what is there already is left alone.
        folder: made if need be.
        overwrite: replace what is there and is not what it must be.
        limits: of time and size.
        unpack_limits: of archives.
        seen: told how far a file is.
        told: told why an attempt is made again.

    Raises:
        UserError: if something is in the way, another process works here, or a file cannot be had or is not what it must
            be (it is then kept beside its place as ``.wrong`` and never used).
    """
    work = [p for p in planned if p.state in ("fetch", "differs") or (overwrite and p.state == "unchecked")]
    if not overwrite:
        refuse_differing(planned, folder)
    if not work:
        return
    with lock_folder(folder):
        # remove half-unpacked archives of a process that was killed; only we are here now
        for left in (folder / STATE).glob("*.unpacking"):
            shutil.rmtree(left, ignore_errors=True)
        _require_room(work, folder)
        for one in work:
            with _full_disk_told(folder):
                fetched = _fetch(one.wanted, folder, overwrite, limits, unpack_limits, seen, told)
            yield fetched


def refuse_differing(planned: Sequence[Planned], folder: Path) -> None:
    """Make sure that nothing is in the way.

    Raises:
        UserError: naming the files that are there and are not what they must be.
    """
    differ = [p.place for p in planned if p.state == "differs"]
    if differ:
        raise UserError(
            f"{len(differ)} files are there and are not the release's: {', '.join(differ[:10])}"
            f"{' …' if len(differ) > 10 else ''}.",
            where=str(folder),
            hint="move them away, or replace them with --overwrite",
        )


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep others from fetching into the same folder; the lock ends with the process, however it ends.

    Raises:
        UserError: if somebody else is at it.
    """
    state = folder / STATE
    if state.is_symlink():
        raise UserError("this is a link; Proctor keeps unfinished files there.", where=str(state))
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lock").open("ab") as handle:
        try:
            import fcntl
        except ImportError:  # no such locks on this system
            yield
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(
                "another 'proctor datasets get' works in this folder.",
                where=str(folder),
                hint="wait until it has ended",
            ) from None
        yield


@contextmanager
def _full_disk_told(folder: Path) -> Iterator[None]:
    """Turn a failed write, whose error names no file, into a message."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise UserError(
            f"cannot be written: {error.strerror or type(error).__name__}.",
            where=str(folder),
            hint="make room, then run the same command again to continue",
        ) from error


def _require_room(work: Sequence[Planned], folder: Path) -> None:
    needed = sum(max((p.wanted.size or 0) - p.partial, 0) for p in work)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(
            f"{needed:,} bytes are to come, and the disk has room for {free:,}.",
            where=str(folder),
            hint="make room, or fetch a part with --only",
        )


def _fetch(
    wanted: Wanted,
    folder: Path,
    overwrite: bool,
    limits: Limits | None,
    unpack_limits: UnpackLimits | None,
    seen: Seen | None,
    told: Callable[[str], None] | None,
) -> Fetched:
    part = folder / STATE / f"{wanted.key}.part"
    place = wanted.place
    told = told or (lambda _: None)

    def far(done: int, total: int | None) -> None:
        if seen is not None:
            seen(place, done, total)

    if wanted.local is not None:
        _copy(wanted.local, part, far)
        sha256 = _checked(wanted, part, folder)
    else:
        sha256 = asyncio.run(_download(wanted, part, folder, limits or Limits(), far, told))
    with part.open("rb") as stream:
        os.fsync(stream.fileno())
    size, files = part.stat().st_size, 0
    if wanted.unpack:
        files = _place_archive(wanted, part, sha256, folder, overwrite, unpack_limits)
    else:
        target = require_inside(folder, place)
        target.parent.mkdir(parents=True, exist_ok=True)
        _put(part, target, overwrite)
    for left in (part, part.with_suffix(".json")):
        left.unlink(missing_ok=True)
    return Fetched(place, size, sha256, files, wanted.sha256 is not None)


async def _download(
    wanted: Wanted,
    part: Path,
    folder: Path,
    limits: Limits,
    far: Callable[[int, int | None], None],
    told: Callable[[str], None],
) -> str:
    """Bring the unfinished file to its end and return its checksum."""
    transfer = Transfer(wanted.url, given=wanted.given, part=part, size=wanted.size, limits=limits, seen=far)
    fruitless, anew = 0, False
    for attempt in range(1, limits.attempts + 1):
        before = transfer.have
        try:
            await transfer.go_on()
        except MishapError as error:
            fruitless = 0 if transfer.have > before and not error.slow else fruitless + 1
            if fruitless >= limits.fruitless or attempt == limits.attempts:
                raise UserError(
                    f"{error.message} {attempt} attempts were made.",
                    where=wanted.shown,
                    hint=f"run the same command again: it continues after {transfer.have:,} bytes",
                ) from None
            wait = error.wait if error.wait is not None else limits.backoff * 2 ** max(fruitless - 1, 0)
            told(f"{wanted.place}: {error.message} Trying again.")
            await rest(min(wait, limits.longest_wait))
            continue
        if anew or not transfer.resumed or _is_right(wanted, part) or attempt == limits.attempts:
            break
        told(f"{wanted.place}: the pieces do not fit together; it starts over.")
        transfer.begin_anew()
        anew = True
    return _checked(wanted, part, folder)


def _is_right(wanted: Wanted, part: Path) -> bool:
    if wanted.size is not None and part.stat().st_size != wanted.size:
        return False
    return wanted.sha256 is None or file_sha256(part) == wanted.sha256.lower()


def _checked(wanted: Wanted, part: Path, folder: Path) -> str:
    """Return the checksum of a whole file, which is the declared one.

    Raises:
        UserError: if it is not; the file is then kept aside.
    """
    size, sha256 = part.stat().st_size, file_sha256(part)
    if wanted.size is not None and size != wanted.size:
        message = f"the file has {size:,} bytes; declared are {wanted.size:,}."
    elif wanted.sha256 is not None and sha256 != wanted.sha256.lower():
        message = f"the file's SHA-256 is {sha256}; declared is {wanted.sha256.lower()}."
    else:
        return sha256
    aside = _set_aside(wanted, part, folder)
    raise UserError(
        message,
        where=wanted.shown,
        hint=f"it is not used; look at it in {aside}, and run the command again or name a mirror with --from",
    )


def _set_aside(wanted: Wanted, part: Path, folder: Path) -> Path:
    """Keep a file that is not used under a name that nothing reads."""
    aside = require_inside(folder, f"{wanted.place}.wrong")
    aside.parent.mkdir(parents=True, exist_ok=True)
    part.replace(aside)
    part.with_suffix(".json").unlink(missing_ok=True)
    return aside


def _copy(source: Path, part: Path, far: Callable[[int, int | None], None]) -> None:
    part.with_suffix(".json").unlink(missing_ok=True)
    total, done = source.stat().st_size, 0
    with source.open("rb") as stream, part.open("wb") as copy:
        while chunk := stream.read(_CHUNK):
            copy.write(chunk)
            done += len(chunk)
            far(done, total)


# -- into place ------------------------------------------------------------------------------------------------


def _put(source: Path, target: Path, overwrite: bool) -> None:
    """Give a whole file its name, at once; something that came there meanwhile is not replaced unasked."""
    if target.is_dir() and not target.is_symlink():
        raise UserError("there is a folder where the file belongs.", where=str(target), hint="move it away")
    if overwrite:
        source.replace(target)
        return
    try:
        os.link(source, target)
    except FileExistsError:
        raise UserError(
            "there is something here already.", where=str(target), hint="move it away, or use --overwrite"
        ) from None
    except OSError:  # a disk without hard links
        if os.path.lexists(target):
            raise UserError("there is something here already.", where=str(target)) from None
        source.replace(target)
    else:
        source.unlink()


def _place_archive(
    wanted: Wanted,
    part: Path,
    sha256: str,
    folder: Path,
    overwrite: bool,
    limits: UnpackLimits | None,
) -> int:
    """Unpack into a folder of its own, look what is in the way, and only then put the files in place."""
    work = folder / STATE / f"{wanted.key}.unpacking"
    try:
        try:
            inside = unpack(part, work, limits)
        except RefusedError as error:
            aside = _set_aside(wanted, part, folder)
            raise UserError(
                error.message, where=wanted.shown, hint=f"the archive is kept as {aside} and not used"
            ) from None
        files = {f"{wanted.into}/{name}".lstrip("/"): name for name in inside}
        todo = _new_files(files, work, folder, overwrite)
        for place in todo:
            target = require_inside(folder, place)
            target.parent.mkdir(parents=True, exist_ok=True)
            _put(work / files[place], target, overwrite)
        record = Unpacked(wanted.place, sha256, {place: inside[name] for place, name in files.items()})
        write_json(folder / STATE / f"{wanted.key}.unpacked.json", record)
    except FileExistsError as error:
        raise UserError(
            "a file is where a folder belongs.", where=error.filename, hint="move it away"
        ) from None
    finally:
        with suppress(OSError):
            shutil.rmtree(work)
    return len(inside)


def _new_files(files: dict[str, str], work: Path, folder: Path, overwrite: bool) -> list[str]:
    """Return the files that are not there yet.

    Raises:
        UserError: if one is there with other content and may not be replaced.
    """
    new, differ = [], []
    for place, name in files.items():
        if place.split("/")[0].casefold() == STATE:
            raise UserError(f"the archive has a member {place!r}, which is Proctor's own place.")
        target = require_inside(folder, place)
        if not os.path.lexists(target):
            new.append(place)
        elif not _equal(target, work / name):
            differ.append(place)
    if differ and not overwrite:
        raise UserError(
            f"{len(differ)} files of the archive are there with other content: {', '.join(differ[:10])}"
            f"{' …' if len(differ) > 10 else ''}.",
            where=str(folder),
            hint="move them away, or replace them with --overwrite; the archive is kept and not fetched again",
        )
    return new + differ


def _equal(one: Path, other: Path) -> bool:
    return (
        one.is_file()
        and one.stat().st_size == other.stat().st_size
        and file_sha256(one) == file_sha256(other)
    )
