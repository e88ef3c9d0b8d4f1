"""What is to be fetched, told from the folder alone."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.fetch.plan import STATE, Wanted, choose, from_mirror, plan_files, safe_place

A = Wanted(
    "https://data.example/v1/a.json?raw=1", "annotations/a.json", 3, hashlib.sha256(b"abc").hexdigest()
)
B = Wanted("https://data.example/v1/all%20b.zip", "videos", None, None, unpack=True)


def test_places() -> None:
    assert A.place == "annotations/a.json"
    assert (B.place, B.into) == ("videos/all b.zip", "videos")
    assert Wanted("https://data.example/b.zip", ".", unpack=True).place == "b.zip"
    assert safe_place("./a//b/.") == "a/b"


@pytest.mark.parametrize(
    "path", ["", ".", "/", "/a", "..", "a/../b", "C:\\x", "a\\b", "nul", f"{STATE}/lock", "a\0"]
)
def test_declared_paths_that_lead_elsewhere_are_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(UserError):
        plan_files([Wanted("https://data.example/a", path)], tmp_path)


@given(st.text(max_size=40))
def test_a_safe_place_stays_inside(path: str) -> None:
    try:
        place = safe_place(path)
    except UserError:
        return
    root = Path("/root/folder")
    assert (root / place).is_relative_to(root)
    assert ".." not in place.split("/")
    assert safe_place(place) == place


def test_only() -> None:
    assert choose([A, B], None) == (A, B)
    assert choose([A, B], "*.json") == (A,)
    assert choose([A, B], "annotations/*") == (A,)
    assert choose([A, B], "all*") == (B,)
    with pytest.raises(UserError, match=r"annotations/a\.json"):
        choose([A, B], "*.csv")


def test_a_mirror_has_the_same_paths() -> None:
    a, b = from_mirror([A, B], "http://127.0.0.1:8/base/")
    assert (a.url, a.place, a.given) == ("http://127.0.0.1:8/base/annotations/a.json", A.place, True)
    assert (b.url, b.place) == ("http://127.0.0.1:8/base/videos/all%20b.zip", B.place)
    assert b.key == B.key, "what was begun elsewhere lies under the same name"


def test_a_local_folder_has_the_same_paths(tmp_path: Path) -> None:
    (tmp_path / "annotations").mkdir()
    (tmp_path / "annotations/a.json").write_bytes(b"abc")
    assert from_mirror([A], str(tmp_path))[0].local == tmp_path / "annotations/a.json"
    with pytest.raises(UserError, match=r"1 of 2 files are not there: videos/all b\.zip"):
        from_mirror([A, B], str(tmp_path))


@pytest.mark.parametrize("mirror", ["file:///tmp", "ftp://a.example", "/nowhere/at/all", "http://"])
def test_other_mirrors_are_refused(mirror: str) -> None:
    with pytest.raises(UserError):
        from_mirror([A], mirror)


@pytest.mark.parametrize(
    ("content", "state"), [(None, "fetch"), (b"abc", "there"), (b"abd", "differs"), (b"abcd", "differs")]
)
def test_states(content: bytes | None, state: str, tmp_path: Path) -> None:
    path = tmp_path / A.path
    path.parent.mkdir()
    if content is not None:
        path.write_bytes(content)
    assert plan_files([A], tmp_path)[0].state == state


def test_without_a_checksum_nothing_is_sure(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert plan_files([Wanted(A.url, "a")], tmp_path)[0].state == "unchecked"
    assert plan_files([Wanted(A.url, "a", 4)], tmp_path)[0].state == "differs"


@pytest.mark.parametrize("kind", ["folder", "broken link"])
def test_what_is_no_file_is_in_the_way(kind: str, tmp_path: Path) -> None:
    if kind == "folder":
        (tmp_path / "a").mkdir()
    else:
        (tmp_path / "a").symlink_to(tmp_path / "nowhere")
    assert plan_files([Wanted(A.url, "a")], tmp_path)[0].state == "differs"


def test_planning_writes_nothing(tmp_path: Path) -> None:
    plan_files([A, B], tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_what_cannot_be_planned(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="twice"):
        plan_files([A, A], tmp_path)
    with pytest.raises(UserError, match="https"):
        plan_files([Wanted("http://data.example/a", "a")], tmp_path)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UserError, match="not a folder"):
        plan_files([A], tmp_path / "file")


@pytest.mark.parametrize("note", [b"", b"{", b"[]", b'{"place": 1}', b"\xff"])
def test_a_broken_note_of_ours_is_as_none(note: bytes, tmp_path: Path) -> None:
    (tmp_path / STATE).mkdir()
    (tmp_path / STATE / f"{B.key}.unpacked.json").write_bytes(note)
    assert plan_files([B], tmp_path)[0].state == "fetch"
