"""Pictures that a corpus takes into its folder: copied once, hashed, and never from outside."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from proctor.corpus.adopt import adopt_images
from proctor.corpus.collection import build_corpus, load_corpus, write_corpus
from proctor.corpus.source import image_source, table_source, text_source
from proctor.errors import UserError
from proctor.records import Dropped

Image = pytest.importorskip("PIL.Image", reason="needs the extra 'corpus'")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    (folder / "sub").mkdir(parents=True)
    Image.new("RGB", (20, 10), "red").save(folder / "a.png")
    Image.new("RGB", (20, 10), "red").save(folder / "sub" / "twin.png")
    Image.new("RGB", (20, 10), "blue").save(folder / "b.jpeg")
    Image.new("1", (300, 300)).save(folder / "large.png")
    (folder / "fake.jpg").write_bytes(b"<html>not found</html>")
    Image.new("RGB", (5, 5)).save(tmp_path / "secret.png")
    return folder


def image(id: str, path: str, caption: str = "A mill"):
    return image_source(id, caption, path)


def test_pixels_are_copied_under_their_hash(pictures, tmp_path):
    (found,) = adopt_images([image("a", "a.png")], pictures, tmp_path / "c")
    digest = hashlib.sha256((pictures / "a.png").read_bytes()).hexdigest()
    assert found.image == f"images/{digest}.png"
    assert found.content_hash == digest
    assert (tmp_path / "c" / found.image).read_bytes() == (pictures / "a.png").read_bytes()
    assert found.caption == "A mill"


def test_equal_pictures_become_one_source_of_a_corpus_that_is_whole(pictures, tmp_path):
    found = [image("a", "a.png"), image("twin", "sub/twin.png", "Another"), image("b", "b.jpeg")]
    built = build_corpus(adopt_images(found, pictures, tmp_path / "c"), root=tmp_path / "c")
    write_corpus(tmp_path / "c", built.corpus, dropped=built.dropped)
    corpus = load_corpus(tmp_path / "c")
    assert [source.id for source in corpus] == ["a", "b"]
    assert corpus.aliases == {"twin": "a"}
    assert all(corpus.pixels(source) for source in corpus)
    assert len(list((tmp_path / "c" / "images").iterdir())) == 2


def test_what_has_no_pixels_stays_as_it_is(pictures, tmp_path):
    found = [
        image("gone", "gone.png"),
        image("far", "https://example.org/a.png"),
        image_source("none", "A mill", ""),
        text_source("t", "T", "body"),
        table_source("b", "T", ["x"], [["y"]]),
        Dropped("d", "no_text"),
    ]
    assert list(adopt_images(found, pictures, tmp_path / "c")) == found
    assert not (tmp_path / "c").exists()


def test_what_cannot_be_shown_or_lies_outside_is_listed(pictures, tmp_path):
    (pictures / "link.png").symlink_to(tmp_path / "secret.png")
    names = ["fake.jpg", "large.png", "../secret.png", str(tmp_path / "secret.png"), "link.png"]
    found = list(adopt_images([image(n, n) for n in names], pictures, tmp_path / "c", max_pixels=1000))
    assert all(isinstance(entry, Dropped) for entry in found)
    assert [entry.id for entry in found] == names
    assert len({entry.reason for entry in found[:2]}) == 2
    assert [entry.reason for entry in found[2:]] == ["path-outside"] * 3
    assert "fake.jpg" in found[0].detail
    assert not (tmp_path / "c" / "images").exists()


def test_a_file_that_is_too_long_is_not_read(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr("proctor.corpus.adopt.MAX_BYTES", 10)
    (found,) = adopt_images([image("a", "a.png")], pictures, tmp_path / "c")
    assert (found.reason, found.id) == ("too-large", "a")


def test_a_folder_that_cannot_be_written_is_told(pictures, tmp_path):
    (tmp_path / "c").write_bytes(b"a file")
    with pytest.raises(UserError, match="images"):
        list(adopt_images([image("a", "a.png")], pictures, tmp_path / "c"))
