"""Picture files: what is shown as it is, what is encoded anew, and what is refused with which reason."""

from __future__ import annotations

import hashlib
import pickle
import struct
import sys
import zlib
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.corpus.picture import MAX_SIDE, PICTURE_REASONS, PictureError, read_picture
from proctor.errors import MissingExtraError

Image = pytest.importorskip("PIL.Image", reason="needs the extra 'corpus'")


def encoded(mode: str, size: tuple[int, int], format: str, color=0, **options) -> bytes:
    stream = BytesIO()
    Image.new(mode, size, color).save(stream, format, **options)
    return stream.getvalue()


def read(tmp_path: Path, data: bytes):
    path = tmp_path / "picture"
    path.write_bytes(data)
    return read_picture(path)


def png_of(width: int, height: int) -> bytes:
    """A PNG that says of itself that it has so many pixels, in a few hundred bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("format", "mime"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp")]
)
def test_small_common_files_are_shown_as_they_are(tmp_path, format, mime):
    data = encoded("RGB", (30, 20), format, "red")
    picture = read(tmp_path, data)
    assert (picture.data, picture.mime, picture.width, picture.height) == (data, mime, 30, 20)
    assert picture.file_sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("mode", "format"),
    [("RGB", "BMP"), ("P", "GIF"), ("CMYK", "TIFF"), ("1", "BMP"), ("I;16", "TIFF"), ("RGBA", "TIFF")],
)
def test_other_formats_become_a_jpeg(tmp_path, mode, format):
    data = encoded(mode, (30, 20), format)
    picture = read(tmp_path, data)
    assert (picture.mime, picture.width, picture.height) == ("image/jpeg", 30, 20)
    assert picture.file_sha256 == hashlib.sha256(data).hexdigest()
    assert Image.open(BytesIO(picture.data)).mode == "RGB"


def test_grey_of_16_bits_keeps_its_range(tmp_path):
    picture = read(tmp_path, encoded("I;16", (8, 8), "TIFF", 0x8000))
    assert abs(Image.open(BytesIO(picture.data)).getpixel((4, 4))[0] - 128) <= 2


def test_what_can_be_seen_through_stands_on_white(tmp_path):
    picture = read(tmp_path, encoded("RGBA", (8, 8), "TIFF", (0, 0, 0, 0)))
    assert Image.open(BytesIO(picture.data)).getpixel((4, 4)) == (255, 255, 255)


def test_a_large_picture_is_made_smaller(tmp_path):
    picture = read(tmp_path, encoded("RGB", (4000, 1000), "PNG"))
    assert (picture.width, picture.height) == (MAX_SIDE, MAX_SIDE // 4)


def test_a_picture_that_lies_on_its_side_is_turned(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = read(tmp_path, encoded("RGB", (30, 20), "JPEG", exif=exif))
    assert (picture.width, picture.height) == (20, 30)


def test_of_an_animation_the_first_frame_is_shown(tmp_path):
    stream = BytesIO()
    frames = [Image.new("RGB", (16, 16), color) for color in ("red", "blue")]
    frames[0].save(stream, "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    red, _, blue = Image.open(BytesIO(read(tmp_path, stream.getvalue()).data)).getpixel((8, 8))
    assert red > 200 > 100 > blue


@pytest.mark.parametrize(
    ("data", "reason", "said"),
    [
        (b"", "no_image", "it is empty"),
        (b"%PDF-1.7 a document", "no_image", "%PDF"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "no_image", "svg"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n", "no_image", "PS-Adobe"),
        (png_of(10_000, 6_000), "too_many_pixels", "10,000 × 6,000"),
        (png_of(10_000, 10_000), "too_many_pixels", "10,000 × 10,000"),
        (png_of(100_000, 100_000), "too_many_pixels", "bomb"),
        (png_of(3_000, 3_000), "unreadable", "broken"),
        (encoded("RGB", (300, 300), "PNG", "red")[:-40], "unreadable", "broken"),
        (encoded("RGB", (300, 300), "JPEG", "red")[:400], "unreadable", "broken"),
    ],
)
def test_what_cannot_be_shown_has_a_reason(tmp_path, data, reason, said):
    with pytest.raises(PictureError) as caught:
        read(tmp_path, data)
    assert caught.value.reason == reason in PICTURE_REASONS
    assert said in caught.value.detail
    assert str(tmp_path / "picture") in str(caught.value)


def test_files_that_cannot_be_read_have_a_reason(tmp_path, monkeypatch):
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(PictureError) as caught:
            read_picture(path)
        assert caught.value.reason == "unreadable"
    monkeypatch.setattr("proctor.corpus.picture.MAX_BYTES", 10)
    with pytest.raises(PictureError) as caught:
        read(tmp_path, b"x" * 11)
    assert (caught.value.reason, caught.value.detail) == ("too_large", "it has 11 bytes, more than 10")


@given(st.data())
def test_no_damaged_file_gives_anything_but_a_reason(tmp_path_factory, data):
    good = data.draw(
        st.sampled_from([encoded("RGB", (40, 30), f) for f in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")])
    )
    at = data.draw(st.integers(0, len(good) - 1))
    damaged = good[:at] + data.draw(st.binary(max_size=6)) + good[at + data.draw(st.integers(0, 6)) :]
    path = tmp_path_factory.mktemp("damaged") / "p"
    path.write_bytes(damaged)
    try:
        seen = "shown" if read_picture(path).width > 0 else "nothing"
    except PictureError as error:
        seen = error.reason
    assert seen in ("shown", *PICTURE_REASONS)


def test_the_error_survives_another_process():
    error = pickle.loads(pickle.dumps(PictureError("no_image", "it is empty", "a.png")))
    assert (error.reason, error.detail, error.where) == ("no_image", "it is empty", "a.png")


def test_the_extra_is_named_where_pillow_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtraError, match=r"proctor-bench\[corpus\]"):
        read(tmp_path, b"x")
