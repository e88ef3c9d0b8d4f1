"""Files of features as they are published, read with suspicion: nothing is unpickled, no size is believed before it is checked.

CaptainCook4D (Peddi et al. 2024) gives one file a recording for each backbone; ``LAYOUTS`` lists their folders, names, keys, widths
and strides. The code for localising steps keeps ``RECORDING_360p/video_features.npz`` (or ``.npy``), VideoMAE's clips one
``.npy`` a second. Rows of other backbones are read from files of the same kinds.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.features.store import Modality
from proctor.records import Dropped

__all__ = ["LAYOUTS", "Found", "Layout", "find_features", "read_features"]

MAX_BYTES: Final = 2**28
"""Of one recording's array: a day of rows of 768 numbers; whatever claims more is no features of a recording."""

_NAME: Final = re.compile(
    r"(?P<id>.+?)(_360p)?(\.mp4|\.wav)?(_(?P<window>[\d.]+)s_(?P<stride>[\d.]+)s)?\.np[yz]", re.DOTALL
)
_MAX_HEADER: Final = 10_000
_BROKEN: Final = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError,
)  # fmt: skip
"""What a zip file may end in: cut off, damaged, compressed in a way of its own, encrypted."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a backbone's features lie and what a row of them is.

    Attributes:
        backbone: its name.
        modality: what it looked at.
        seconds: from one row to the next.
        width: numbers a row; None for any.
        keys: names of the array in an ``.npz``, the usual one first; none for the only array.
        folder: below the root of the published features.
        remark: what one has to know of the rows.
        pool: so many rows are averaged to one; an incomplete last group is left out.
        floor: an incomplete last window has no row (else it has).
        without: recordings that were never published.
    """

    backbone: str
    modality: Modality
    seconds: float
    width: int | None = None
    keys: tuple[str, ...] = ()
    folder: str = ""
    remark: str = ""
    pool: int = 1
    floor: bool = False
    without: tuple[str, ...] = ()

    @property
    def stride(self) -> float:
        """Seconds from one row to the next after averaging."""
        return self.seconds * self.pool

    def expected(self, duration: float) -> int:
        """Return how many rows a video of so many seconds has; one more or less happens."""
        return int(duration // self.stride) if self.floor else -int(-duration // self.stride)


_KINETICS: Final = (
    "class scores of Kinetics-400, not features: the layer that the extractor replaces does not exist there"
)
_LEFT: Final = "of the three crops that are made only the left one is used"
_DEPTH: Final = (
    "estimated from the picture (MiDaS), not measured by a sensor; a row is the mean of 30 frames (1.001 s at 29.97 frames/s), "
    "where the other modalities have a row every 2 s: average two with --pool 2 to fuse them"
)


def _second(backbone: str, width: int, remark: str) -> Layout:
    keys = ("arr_0", "video_features")
    return Layout(backbone, "video", 1.0, width, keys, f"segments_1/video/{backbone}", remark)


def _imagebind(modality: Modality, remark: str) -> Layout:
    keys, folder = ("video_embeddings",), f"segments_2/{modality}"
    return Layout(
        f"imagebind-{modality}", modality, 2.0, 1024, keys, folder, remark, floor=True, without=("12_6",)
    )


LAYOUTS: Final[Mapping[str, Layout]] = {
    layout.backbone: layout
    for layout in (
        _second("omnivore", 1024, _LEFT),
        _second("slowfast", 400, _KINETICS),
        _second("x3d", 400, f"{_KINETICS}, after a softmax"),
        _second("3dresnet", 400, _KINETICS),
        Layout("videomae", "video", 1.0, 400, ("video_features", "arr_0"), "segments_1/video/videomae"),
        _imagebind("video", "an incomplete last clip has no row"),
        _imagebind("audio", "16 kHz; an incomplete last clip has no row"),
        _imagebind("text", "what a narrator says of the picture (LaViLa), not the steps' text; a mean of ten, then of two seconds"),
        replace(_imagebind("depth", _DEPTH), seconds=30 * 1001 / 30000, keys=("embeddings", "video_embeddings")),
    )
}  # fmt: skip
"""The published features by name of their backbone."""


@dataclass(frozen=True, slots=True)
class Found:
    """Features of a recording: one file, or one a second in their order."""

    recording_id: str
    files: tuple[Path, ...]
    by_second: bool = False


def find_features(root: Path, layout: Layout) -> tuple[tuple[Found, ...], tuple[Dropped, ...]]:
    """Return the features in a folder by recording, and what else lies there.

    Args:
        root: of all published features, or the folder of this backbone.
        layout: of the files.

    Raises:
        UserError: if there is no such folder, nothing in it has features, two files are of one recording, or the names tell
            of another stride.
    """
    folder = root / layout.folder if layout.folder and (root / layout.folder).is_dir() else root
    if not folder.is_dir():
        raise UserError("there is no such folder.", where=str(folder), hint="give the folder of the features")
    found: dict[str, Found] = {}
    dropped: list[Dropped] = []
    for entry in sorted(folder.iterdir(), key=lambda path: _natural(path.name)):
        if entry.name.startswith("."):
            continue
        one = _found_folder(entry) if entry.is_dir() else _found_file(entry, layout)
        if one is None:
            dropped.append(Dropped(entry.name, "no_features", "neither .npz nor .npy, nor a folder of them"))
        elif one.recording_id in found:
            raise UserError(
                f"'{found[one.recording_id].files[0].name}' and '{one.files[0].name}' are both of recording "
                f"'{one.recording_id}'.",
                where=str(folder),
                hint="move one of them away",
            )
        else:
            found[one.recording_id] = one
    if not found:
        raise UserError(
            f"no file here has {layout.backbone} features.",
            where=str(folder),
            hint=f"they are in {layout.folder or 'RECORDING.npz'} as published; see docs/features.md",
        )
    return tuple(found.values()), tuple(dropped)


def _natural(name: str) -> tuple[tuple[int, str], ...]:
    return tuple(
        (int(part), "") if part.isascii() and part.isdigit() else (-1, part)
        for part in re.split(r"(\d+)", name)
    )


def _found_file(file: Path, layout: Layout) -> Found | None:
    named = _NAME.fullmatch(file.name)
    if named is None:
        return None
    stride = named["stride"]
    if stride is not None and _number(stride) != layout.seconds:
        raise UserError(
            f"by its name there is a row every {stride} s; {layout.backbone} has one every {layout.seconds:g} s.",
            where=str(file),
            hint=f"give --seconds {stride}",
        )
    return Found(named["id"], (file,))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _found_folder(folder: Path) -> Found | None:
    """Return the features of a recording that has a folder: ``video_features.npz``, ``.npy``, or a numbered ``.npy`` a second."""
    recording_id = folder.name.removesuffix(".mp4").removesuffix("_360p")
    for name in ("video_features.npz", "video_features.npy"):
        if (folder / name).is_file():
            return Found(recording_id, (folder / name,))
    files = [f for f in folder.glob("*.npy") if re.search(r"\d", f.stem)]
    return Found(recording_id, tuple(sorted(files, key=lambda f: _natural(f.name))), True) if files else None


# -- reading -------------------------------------------------------------------------------------------------------


def read_features(found: Found, layout: Layout) -> NDArray[Any]:
    """Read the rows of a recording, averaged as the layout says; shape (T, width), of the files' own type.

    Raises:
        UserError: if a file is no array of numbers of this shape, is damaged, cut off or larger than a recording can be, or a
            second is missing.
    """
    rows = _stacked(found.files) if found.by_second else _read_file(found.files[0], layout.keys)
    where = str(found.files[0])
    if rows.ndim != 2 or (layout.width is not None and rows.shape[1] != layout.width) or not rows.shape[1]:
        wanted = "(rows, numbers)" if layout.width is None else f"(rows, {layout.width})"
        raise UserError(
            f"the array has the shape {rows.shape}; {layout.backbone} has {wanted}.",
            where=where,
            hint="is this the backbone that the files are of?",
        )
    read, width = rows.shape
    if layout.pool > 1:
        whole = read // layout.pool
        rows = rows[: whole * layout.pool].reshape(whole, layout.pool, width).mean(axis=1, dtype=np.float64)
    if not len(rows):
        raise UserError(
            f"the array has {read:,} rows, too few for one.",
            where=where,
            hint="extract the features of the recording again",
        )
    return rows


def _stacked(files: tuple[Path, ...]) -> NDArray[Any]:
    """Read one row a file; the last number of a name says which."""
    numbers = [int(re.findall(r"\d+", file.stem)[-1]) for file in files]
    where = str(files[0].parent)
    gaps = [b for a, b in pairwise(numbers) if b != a + 1]
    if gaps or numbers[0] not in (0, 1):
        raise UserError(
            f"the files of seconds are not numbered in sequence: before {(gaps or numbers)[0]} one is missing.",
            where=where,
            hint="extract the missing seconds, or rename the files",
        )
    rows = [_read_file(file, ()) for file in files]
    flat = [row.reshape(-1) for row in rows if row.size == max(row.shape, default=1)]
    if len({len(row) for row in flat}) != 1 or len(flat) < len(rows):
        raise UserError(
            f"the files of seconds have different shapes: {sorted({r.shape for r in rows})[:4]}.", where=where
        )
    return np.stack(flat)


def _read_file(path: Path, keys: Iterable[str]) -> NDArray[Any]:
    """Read the array of an ``.npz`` or ``.npy`` file."""
    try:
        with path.open("rb") as stream:
            if path.suffix == ".npy":
                return _read_array(stream, path.stat().st_size, str(path))
            with zipfile.ZipFile(stream) as archive:
                inside = _member(archive, tuple(keys), path)
                with archive.open(inside) as member:
                    return _read_array(member, inside.file_size, f"{path}: {inside.filename}")
    except UserError:
        raise
    except _BROKEN as error:
        what = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UserError(
            f"the file is damaged or cut off: {what or type(error).__name__}.",
            where=str(path),
            hint="copy or extract it again",
        ) from None


def _member(archive: zipfile.ZipFile, keys: tuple[str, ...], path: Path) -> zipfile.ZipInfo:
    there = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    wanted = next((key for key in keys if key in there), None)
    if wanted is None and not keys and len(there) == 1:
        wanted = next(iter(there))
    if wanted is None:
        raise UserError(
            f"there is no array '{keys[0] if keys else 'features'}' in it, but {', '.join(sorted(there)[:20]) or 'nothing'}.",
            where=str(path),
            hint="name the array with --key, or the backbone that the files are of",
        )
    return there[wanted]


def _read_array(stream: IO[bytes], size: int, where: str) -> NDArray[Any]:
    """Read an array in numpy's format of at most ``size`` bytes, checking each claim before memory is taken for it."""
    dtype, shape, fortran, begin = _read_header(stream, where)
    if dtype.hasobject:
        raise UserError(
            "the array holds Python objects (a pickle), which is never loaded.",
            where=where,
            hint="save the features as an array of numbers",
        )
    if dtype.kind not in "fiu":
        raise UserError(f"the array is of type {dtype}, not numbers.", where=where, hint="save numbers")
    claimed = dtype.itemsize
    for n in shape:
        claimed *= n
    if claimed > MAX_BYTES:
        raise UserError(
            f"the array claims {claimed / 2**20:,.0f} MB (shape {shape}), more than any recording has.",
            where=where,
        )
    if claimed + begin != size:
        raise UserError(
            f"the array of shape {shape} needs {claimed + begin:,} bytes, but there are {size:,}.",
            where=where,
            hint="the file is cut off or damaged: copy or extract it again",
        )
    data = stream.read(claimed + 1)
    if len(data) != claimed:
        raise UserError(
            f"the array ends after {len(data):,} of {claimed:,} bytes.", where=where, hint="copy it again"
        )
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


def _read_header(stream: IO[bytes], where: str) -> tuple[np.dtype[Any], tuple[int, ...], bool, int]:
    begin = stream.read(8)
    if len(begin) < 8 or begin[:6] != npy.MAGIC_PREFIX or begin[6] not in (1, 2):
        raise UserError(
            "this is no array in numpy's format.", where=where, hint="save it with numpy.save or savez"
        )
    counted = stream.read(2 if begin[6] == 1 else 4)
    length = int.from_bytes(counted, "little")
    if length > _MAX_HEADER:
        raise UserError(
            f"the array's header claims {length:,} bytes.", where=where, hint="the file is damaged"
        )
    header = counted + stream.read(length)
    read = npy.read_array_header_1_0 if begin[6] == 1 else npy.read_array_header_2_0
    try:
        shape, fortran, dtype = read(io.BytesIO(header), max_header_size=_MAX_HEADER)
    except Exception as error:  # a parser of Python's literals at work: it may raise anything
        raise UserError(
            f"the array's header cannot be read: {error}.", where=where, hint="copy it again"
        ) from None
    if min(shape, default=0) < 0:
        raise UserError(f"the array claims the shape {shape}.", where=where, hint="the file is damaged")
    return dtype, shape, fortran, 8 + len(header)
