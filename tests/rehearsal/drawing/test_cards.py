"""Drawn cards: the same for the same image, different for others, told in the source, never in place of real pixels."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from proctor.corpus.collection import Corpus
from proctor.corpus.source import image_source, text_source
from proctor_rehearsal.drawing.cards import draw_card, draw_missing


@pytest.mark.parametrize(
    "caption", ["", "Arlen at dusk", "Ζωή \u202e \x00 日本", "<script>" * 5_000, "w" * 10_000]
)
def test_every_caption_gives_a_card_that_can_be_read(caption: str) -> None:
    card = draw_card("image:1", caption)
    assert card == draw_card("image:1", caption)
    with Image.open(io.BytesIO(card)) as image:
        image.load()
        assert (image.format, image.size) == ("PNG", (320, 240))


def test_cards_of_many_images_differ() -> None:
    assert len({draw_card(f"image:{n}", "the same caption") for n in range(200)}) == 200


def test_only_images_without_pixels_get_cards_and_say_so(tmp_path: Path) -> None:
    images = tmp_path / "images"
    images.mkdir()
    Image.new("RGB", (8, 8)).save(images / "there.png")
    there = image_source("image:a", "A", "images/there.png")
    gone = image_source("image:b", "B", "images/gone.png")
    far = image_source("image:c", "C", "https://example.org/c.png")
    text = text_source("text:d", "D", "words " * 60)
    corpus, drawn = draw_missing(Corpus([there, gone, far, text], tmp_path), images)
    assert drawn == 2
    assert corpus.sources[0] == there
    assert corpus.sources[3] == text
    for before, after in zip((gone, far), corpus.sources[1:3], strict=True):
        assert after.meta["drawn"] == "yes"
        assert after.meta["picture"] == before.image
        assert after.content_hash == before.content_hash
        pixels = corpus.pixels(after)
        assert pixels is not None
        assert pixels.read_bytes() == draw_card(after.id, after.title)
    again, more = draw_missing(corpus, images)
    assert more == 0
    assert again.fingerprint == corpus.fingerprint
