"""Image files: captions from sidecars and names; what is no image, too large or cut off."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.corpus.ingest.makers import drops_of, image_bytes, sources_of

from proctor.corpus.ingest.pictures import check_image
from proctor.corpus.ingest.reading import CannotReadError
from proctor.corpus.source import Source
from proctor.records import Dropped

Ingest = Callable[..., list[Source | Dropped]]


def bomb(width: int, height: int) -> bytes:
    """Return a PNG of a few bytes that says it has so many pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0" * 999))
        + chunk(b"IEND", b"")
    )


def test_captions(tmp_path: Path, ingest: Ingest) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a.png", "b.jpg", "c.webp", "red_kettle-2.gif"):
        (folder / name).write_bytes(image_bytes(ord(name[0]), {"g": "GIF", "p": "WEBP"}.get(name[-1], "PNG")))
    (folder / "a.txt").write_text("A kettle\non a stand\n")
    said = {
        "caption": "Hot",
        "licence": "CC0-1.0",
        "url": "https://example.org/b",
        "verbalisation": "A blue pot.",
    }
    (folder / "b.jpg.json").write_text(json.dumps(said))
    found = ingest(folder, licence="CC-BY-4.0")
    by_id = {s.id: s for s in sources_of(found)}
    assert {id: s.caption for id, s in by_id.items()} == {
        "image:a.png": "A kettle on a stand",
        "image:b.jpg": "Hot",
        "image:c.webp": "c",
        "image:red_kettle-2.gif": "red kettle 2",
    }
    b = by_id["image:b.jpg"]
    assert (b.licence, b.url, b.verbalisation) == ("CC0-1.0", "https://example.org/b", "A blue pot.")
    assert by_id["image:a.png"].licence == "CC-BY-4.0"
    assert [s.meta["caption_from"] for s in by_id.values()] == [
        "sidecar",
        "sidecar",
        "file-name",
        "file-name",
    ]
    assert b.image == f"images/{b.content_hash}.gif"  # what it is, not what it is called
    assert drops_of(found) == {}


def test_every_kind_of_bad_image_is_told(tmp_path: Path, ingest: Ingest) -> None:
    good = image_bytes(1, size=(200, 200))
    jpeg = image_bytes(1, "JPEG", (200, 200))
    files = {
        "bomb.png": bomb(60_000, 60_000),
        "large.png": bomb(9_000, 9_000),
        "cut.png": good[: len(good) // 2],
        "cut.jpg": jpeg[: len(jpeg) // 2],
        "text.png": b"hello",
        "empty.png": b"",
        "post.png": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n",
    }
    folder = tmp_path / "in"
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "side.png").write_bytes(good)
    (folder / "side.json").write_text("[1, 2]")
    found = ingest(folder)
    assert not sources_of(found)
    assert drops_of(found) == {
        "bomb.png": "image-too-large",
        "large.png": "image-too-large",
        "cut.png": "damaged-image",
        "cut.jpg": "damaged-image",
        "text.png": "not-an-image",
        "empty.png": "empty-document",
        "post.png": "not-an-image",
        "side.png": "bad-sidecar",
    }


def test_an_image_cut_off_anywhere_is_never_passed(tmp_path: Path) -> None:
    for kind in ("PNG", "JPEG", "GIF"):
        data = image_bytes(3, kind, (64, 64))
        whole = check_image(data, 10_000)
        assert (whole.width, whole.height) == (64, 64)
        for part in range(1, 20):
            with pytest.raises(CannotReadError):
                check_image(data[: (len(data) - 20) * part // 20], 10_000)
