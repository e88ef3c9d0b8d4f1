"""Archives that nobody should trust: each is refused, and nothing lies outside the folder that was named."""

from __future__ import annotations

import gzip
import io
import random
import stat
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.fetch.unpack import RefusedError, UnpackLimits, unpack

BAD_NAMES = [
    "../a",
    "x/../../a",
    "x/..",
    "/etc/a",
    "//a",
    "C:/a",
    "c:a",
    "x\\..\\a",
    "\\a",
    "NUL",
    "x/con",
    "COM1.txt",
    "aux.",
    "a\x01b",
    "a\nb",
    "/".join("x" * 80),
    "x" * 256,
    ".proctor-get/lock",
    ".Proctor-Get/lock",
]


def zip_of(*members: tuple[str | zipfile.ZipInfo, bytes], path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members:
            opened.writestr(name, content)
    return path


def tar_of(*members: tarfile.TarInfo, path: Path, mode: str = "w") -> Path:
    with tarfile.open(path, mode) as opened:  # type: ignore[call-overload]
        for member in members:
            opened.addfile(member, io.BytesIO(bytes(member.size)))
    return path


def entry(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, link
    return info


def outside(tmp_path: Path) -> set[str]:
    return {p.name for p in tmp_path.iterdir()} - {"archive", "out"}


def refuse(archive: Path, match: str, limits: UnpackLimits | None = None) -> None:
    with pytest.raises(RefusedError, match=match):
        unpack(archive, archive.parent / "out", limits)
    assert outside(archive.parent) == set()


@pytest.mark.parametrize("mode", ["zip", "w", "w:gz"])
def test_good_archives_come_out_as_they_were(mode: str, tmp_path: Path) -> None:
    files = {"a.txt": b"1", "sub/b.txt": b"22" * 1_000, "sub/ä ö.txt": b"", "long/" + "n" * 200: b"x"}
    path = tmp_path / "archive"
    if mode == "zip":
        zip_of(("sub/", b""), *files.items(), path=path)
    else:
        with tarfile.open(path, mode) as opened:  # type: ignore[call-overload]
            opened.addfile(entry("./", tarfile.DIRTYPE))
            opened.addfile(entry("sub", tarfile.DIRTYPE))
            for name, content in files.items():
                info = entry(f"./{name}", size=len(content))
                info.mode = 0o6777
                opened.addfile(info, io.BytesIO(content))
    assert unpack(path, tmp_path / "out") == {name: len(content) for name, content in files.items()}
    for name, content in files.items():
        assert (tmp_path / "out" / name).read_bytes() == content
        assert not (tmp_path / "out" / name).stat().st_mode & 0o6000


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names_are_refused(name: str, tmp_path: Path) -> None:
    refuse(zip_of(("good", b"1"), (name, b"2"), path=tmp_path / "archive"), "not safe")
    (tmp_path / "archive").unlink()
    (tmp_path / "x").mkdir()
    refuse_tar = tar_of(entry("good"), entry(name), path=tmp_path / "x/archive")
    refuse(refuse_tar, "not safe")


def test_a_zero_byte_in_a_name_is_refused(tmp_path: Path) -> None:
    path = zip_of(("aXb", b"1"), path=tmp_path / "archive")
    path.write_bytes(path.read_bytes().replace(b"aXb", b"a\0b"))
    refuse(path, "not safe")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_in_a_tar_are_refused(kind: bytes, tmp_path: Path) -> None:
    refuse(tar_of(entry("a", kind, link="/etc/passwd"), path=tmp_path / "archive"), "link or a device")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_in_a_zip_are_refused(kind: int, tmp_path: Path) -> None:
    info = zipfile.ZipInfo("a")
    info.external_attr = (kind | 0o777) << 16
    refuse(zip_of((info, b"/etc/passwd"), path=tmp_path / "archive"), "link or a device")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("names", [("a", "a"), ("a", "./a"), ("a/b", "a//b"), ("a", "a/b"), ("a/b", "a")])
def test_names_that_come_twice_are_refused(names: tuple[str, str], tmp_path: Path) -> None:
    refuse(zip_of(*((name, b"1") for name in names), path=tmp_path / "archive"), "twice|file and as a folder")
    (tmp_path / "archive").unlink()
    (tmp_path / "x").mkdir()
    refuse(tar_of(*map(entry, names), path=tmp_path / "x/archive"), "twice|file and as a folder")


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    path = zip_of(("a", b"1"), path=tmp_path / "archive")
    raw = bytearray(path.read_bytes())
    raw[6] |= 1
    at = raw.index(b"PK\x01\x02")
    raw[at + 8] |= 1
    path.write_bytes(raw)
    refuse(path, "encrypted")


def test_an_unusual_packing_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "archive", "w", zipfile.ZIP_BZIP2) as opened:
        opened.writestr("a", b"1" * 1_000)
    refuse(tmp_path / "archive", "unusual")


# -- bombs -------------------------------------------------------------------------------------------------------

SMALL = UnpackLimits(members=10, total=100_000, ratio=50, free=10_000)


def test_what_it_says_is_too_much(tmp_path: Path) -> None:
    refuse(
        zip_of(("a", random.Random(1).randbytes(100_001)), path=tmp_path / "archive"), "would be more", SMALL
    )


@pytest.mark.parametrize("mode", ["zip", "w:gz"])
def test_zeros_are_a_bomb(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "archive"
    if mode == "zip":
        zip_of(("a", bytes(90_000)), path=path)
    else:
        tar_of(entry("a", size=90_000), path=path, mode=mode)
    refuse(path, "bomb", SMALL)


def test_many_small_ones_are_a_bomb_together(tmp_path: Path) -> None:
    path = zip_of(*((f"{n}", bytes(9_999)) for n in range(9)), path=tmp_path / "archive")
    refuse(path, "bomb", UnpackLimits(ratio=10, free=20_000))


def test_a_zip_that_says_less_than_it_holds(tmp_path: Path) -> None:
    """The real size counts, not the said one."""
    path = zip_of(("a", bytes(50_000)), path=tmp_path / "archive")
    raw = bytearray(path.read_bytes())
    at = raw.index(b"PK\x01\x02")
    raw[at + 24 : at + 28] = struct.pack("<L", 5)
    path.write_bytes(raw)
    refuse(path, "broken|more than it says")
    assert sum(p.stat().st_size for p in (tmp_path / "out").rglob("*") if p.is_file()) <= 5


def test_members_that_lie_over_each_other_are_refused(tmp_path: Path) -> None:
    path = zip_of(("a", bytes(5_000)), ("b", bytes(5_000)), path=tmp_path / "archive")
    raw = bytearray(path.read_bytes())
    second = raw.index(b"PK\x01\x02", raw.index(b"PK\x01\x02") + 1)
    raw[second + 42 : second + 46] = bytes(4)
    path.write_bytes(raw)
    refuse(path, "over each other|broken")


def test_too_many_members(tmp_path: Path) -> None:
    refuse(zip_of(*((f"{n}", b"") for n in range(11)), path=tmp_path / "archive"), "more than 10", SMALL)
    (tmp_path / "archive").unlink()
    (tmp_path / "x").mkdir()
    refuse(tar_of(*(entry(f"{n}") for n in range(11)), path=tmp_path / "x/archive"), "more than 10", SMALL)


def test_a_million_members_are_refused_before_they_are_listed(tmp_path: Path) -> None:
    """The directory is never decoded: it takes no time and no memory."""
    directory = (b"PK\x01\x02" + bytes(42)) * 1_000_000
    end = b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, 0xFFFF, 0xFFFF, len(directory), 4, 0)
    (tmp_path / "archive").write_bytes(b"PK\x03\x04" + directory + end)
    refuse(tmp_path / "archive", "more than 200,000")


def test_a_tar_header_of_any_length_is_not_read(tmp_path: Path) -> None:
    """A long name of two gigabytes of zeros, packed into two megabytes, would be read into memory."""
    head = entry("x", tarfile.GNUTYPE_LONGNAME, 2**31).tobuf(tarfile.GNU_FORMAT)
    with gzip.open(tmp_path / "archive", "wb", compresslevel=1) as stream:
        stream.write(head)
        for _ in range(32):
            stream.write(bytes(2**20))
    refuse(tmp_path / "archive", "header that is too long")


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    info = entry("a", size=512)
    info.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.size": str(2**40), "GNU.sparse.map": "0,1"}
    with tarfile.open(tmp_path / "archive", "w", format=tarfile.PAX_FORMAT) as opened:
        opened.addfile(info, io.BytesIO(bytes(512)))
    with pytest.raises(UserError):
        unpack(tmp_path / "archive", tmp_path / "out")
    assert not any((tmp_path / "out").iterdir())


# -- broken ones -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"PK\x03\x04", b"\x1f\x8b", b"<html>", bytes(1024), b"Rar!\x1a\x07"]
)
def test_no_archive_at_all(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(content)
    refuse(tmp_path / "archive", "is no|broken|holds no file")


@pytest.mark.parametrize("mode", ["zip", "w", "w:gz"])
@pytest.mark.parametrize("part", [0.02, 0.3, 0.6, 0.9])
def test_cut_short_it_is_refused(mode: str, part: float, tmp_path: Path) -> None:
    path = make(mode, tmp_path / "archive")
    raw = path.read_bytes()
    end = len(raw) if mode != "w" else 4 * 1_024 + 4 * 512
    path.write_bytes(raw[: int(end * part)])
    refuse(path, "broken|is no|says")


def test_a_tar_cut_between_two_files_is_refused(tmp_path: Path) -> None:
    path = make("w", tmp_path / "archive")
    path.write_bytes(path.read_bytes()[: 2 * (512 + 1_024)])
    refuse(path, "cut short")


def make(mode: str, path: Path) -> Path:
    content = bytes(n * 7919 % 251 for n in range(1_000))
    if mode == "zip":
        return zip_of(*((f"f{n}", content) for n in range(4)), path=path)
    with tarfile.open(path, mode) as opened:  # type: ignore[call-overload]
        for n in range(4):
            opened.addfile(entry(f"f{n}", size=len(content)), io.BytesIO(content))
    return path


@given(
    mode=st.sampled_from(["zip", "w", "w:gz"]),
    flips=st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), min_size=1, max_size=6),
)
def test_flipped_bytes_end_in_files_or_a_refusal(
    mode: str, flips: list[tuple[float, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("flip")
    path = make(mode, folder / "archive")
    raw = bytearray(path.read_bytes())
    for where, value in flips:
        raw[int(where * len(raw))] = value
    path.write_bytes(raw)
    try:
        files = unpack(path, folder / "out")
    except UserError:
        files = {}
    for name, size in files.items():
        assert (folder / "out" / name).stat().st_size == size
    assert outside(folder) == set()
