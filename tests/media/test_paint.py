from __future__ import annotations

import io
import sys
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image

from proctor.errors import MissingExtraError
from proctor.media.paint import encode_jpeg, encode_png, square_size, upright_size


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ((1280, 720, None, 0, 360), (640, 360)),
        ((3840, 2160, Fraction(1), 0, 360), (640, 360)),
        ((1920, 1080, None, 90, 360), (360, 202)),  # stands upright: 202 wide, 360 high
        ((1920, 1080, None, -90, 360), (360, 202)),
        ((1920, 1080, None, 180, 360), (640, 360)),
        ((720, 576, Fraction(16, 15), 0, None), (768, 576)),
        ((100, 4, None, 0, 2), (50, 2)),
        ((4, 1000, None, 0, 10), (2, 10)),
    ],
)
def test_upright_size(
    given: tuple[int, int, Fraction | None, int, int | None], size: tuple[int, int]
) -> None:
    assert upright_size(*given) == size


@pytest.mark.parametrize("aspect", [None, Fraction(0), Fraction(1)])
def test_square_pixels_stay(aspect: Fraction | None) -> None:
    assert square_size(160, 96, aspect) == (160, 96)


def test_png_is_lossless_and_jpeg_close_and_both_repeat() -> None:
    image = np.random.default_rng(3).integers(90, 110, (32, 48, 3), dtype=np.uint8)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(encode_png(image)))), image)
    close = np.asarray(Image.open(io.BytesIO(encode_jpeg(image)))).astype(int)
    assert np.abs(close - image).mean() < 6
    assert encode_jpeg(image) == encode_jpeg(image.copy())
    assert encode_png(image) == encode_png(image.copy())
    assert len(encode_jpeg(image, quality=20)) < len(encode_jpeg(image, quality=95))


def test_missing_pillow_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match="'pillow'"):
        encode_png(np.zeros((2, 2, 3), np.uint8))
