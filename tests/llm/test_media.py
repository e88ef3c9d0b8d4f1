"""Media by what they hold: encoded once, kept once, checked when they are read."""

from __future__ import annotations

import base64
import hashlib
import os
import threading
from pathlib import Path

import pytest

from proctor.errors import UserError
from proctor.llm import media as media_module
from proctor.llm.media import MediaStore
from proctor.llm.message import Image, Video


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> MediaStore:
    return MediaStore(tmp_path / "media" if request.param == "folder" else None)


def test_an_image_is_encoded_once_a_source(store: MediaStore) -> None:
    calls: list[str] = []

    def encode(name: str) -> tuple[bytes, int, int]:
        calls.append(name)
        return name.encode(), 4, 3

    first = store.image("v/frame 1/small", lambda: encode("one"))
    again = store.image("v/frame 1/small", lambda: encode("one"))
    other = store.image("v/frame 1/large", lambda: encode("two"))
    assert first is again
    assert first != other
    assert calls == ["one", "two"]
    assert store.encoded == 2
    assert first == Image(hashlib.sha256(b"one").hexdigest(), "image/jpeg", 4, 3)


def test_the_same_bytes_have_one_name(store: MediaStore) -> None:
    assert store.add(b"x") == store.add(b"x") == hashlib.sha256(b"x").hexdigest()
    assert store.get(store.add(b"x")) == b"x"
    assert store.video(b"v", 2.5).sha256 == store.audio(b"v", 1.0).sha256


def test_base64_is_made_once_and_shared(store: MediaStore) -> None:
    data = os.urandom(10_000)
    picture = store.image("a", lambda: (data, 1, 1))
    text = store.base64(picture)
    assert base64.b64decode(text) == data
    assert store.base64(picture) is text


def test_base64_texts_are_bounded_and_come_back(store: MediaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media_module, "_BASE64_BYTES", 40_000)
    pictures = [store.image(str(i), lambda i=i: (bytes([i]) * 12_000, 1, 1)) for i in range(10)]
    texts = [store.base64(picture) for picture in pictures]
    assert store._held <= 40_000
    assert [store.base64(picture) for picture in pictures] == texts


def test_what_is_not_there(store: MediaStore) -> None:
    with pytest.raises(UserError):
        store.get("0" * 64)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 65, "/" * 64])
def test_only_hashes_are_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError):
        MediaStore(tmp_path).get(name)


def test_a_file_that_was_changed_is_found_out(tmp_path: Path) -> None:
    store = MediaStore(tmp_path)
    name = store.add(b"x")
    (tmp_path / name[:2] / name).write_bytes(b"y")
    with pytest.raises(UserError, match="does not hold what its name says"):
        store.get(name)


def test_a_folder_is_shared(tmp_path: Path) -> None:
    name = MediaStore(tmp_path).add(b"x")
    assert MediaStore(tmp_path).get(name) == b"x"


def test_many_threads_agree(store: MediaStore) -> None:
    pictures = [store.image(str(i), lambda i=i: (os.urandom(5_000), 1, 1)) for i in range(20)]
    found: list[list[bytes]] = []

    def read() -> None:
        found.append([store.base64(picture) for picture in pictures for _ in range(5)])

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(texts == found[0] for texts in found)


# -- clips ---------------------------------------------------------------------------------------------------------


def test_a_clip_is_cut_once_a_source(store: MediaStore) -> None:
    cuts: list[str] = []

    def cut(name: str) -> tuple[bytes, float]:
        cuts.append(name)
        return name.encode(), 2.5

    first = store.clip("v/[0, 2.5)/360p", lambda: cut("one"))
    assert first == store.clip("v/[0, 2.5)/360p", lambda: cut("again"))
    assert first == Video(hashlib.sha256(b"one").hexdigest(), "video/mp4", 2.5)
    assert store.clip("v/[0, 3.5)/360p", lambda: cut("two")) != first
    assert cuts == ["one", "two"]
    assert store.size(first) == 3


def test_a_clip_is_remembered_over_runs_while_its_bytes_are_there(tmp_path: Path) -> None:
    first = MediaStore(tmp_path).clip("a", lambda: (b"clip", 1.5))

    def never() -> tuple[bytes, float]:
        raise AssertionError("it was cut again")

    assert MediaStore(tmp_path).clip("a", never) == first
    note = next((tmp_path / "clips").iterdir())
    bytes_ = tmp_path / first.sha256[:2] / first.sha256
    for spoil in (
        lambda: bytes_.unlink(),
        lambda: note.write_bytes(b"{"),
        lambda: note.write_bytes(b'{"type":"video","sha256":"../../x","mime":"video/mp4","seconds":1.0}'),
        lambda: note.unlink(),
    ):
        spoil()
        assert MediaStore(tmp_path).clip("a", lambda: (b"clip", 1.5)) == first
        assert MediaStore(tmp_path).clip("a", never) == first


def test_a_cut_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> tuple[bytes, float]:
        raise UserError("the video is damaged.")

    store = MediaStore(tmp_path)
    with pytest.raises(UserError, match="damaged"):
        store.clip("a", fail)
    assert not any(tmp_path.iterdir())
    assert store.clip("a", lambda: (b"x", 1.0)).seconds == 1.0


def test_the_size_of_what_is_not_there(store: MediaStore) -> None:
    with pytest.raises(UserError, match="not in the store"):
        store.size(Image("a" * 64, "image/jpeg", 1, 1))
