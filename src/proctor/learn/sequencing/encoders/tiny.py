"""An encoder from scratch that is trained on a processor in minutes: d 64, two layers, four heads, feed-forward 256.

The paper has none; ours, for tests and for manuals that are at hand. Each step has its own positions, and text and picture of a
step the same embedding of their slot. With BERSON's head (feed-forward 192) and a vocabulary of 64 words: 267,076 parameters.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

from proctor.learn.sequencing.data import Shown
from proctor.learn.sequencing.encoders.stream import (
    First,
    Marks,
    Parts,
    Patches,
    SingleStream,
    Tower,
    Transformer,
)
from proctor.learn.sequencing.encoders.tokenizers import WordTokenizer
from proctor.records import Json

__all__ = ["PixelTower", "tiny"]

_WIDTH: Final = 64
_LAYERS: Final = 2
_HEADS: Final = 4
_FEED_FORWARD: Final = 256
_POSITIONS: Final = 120
_PATCH: Final = 4


class PixelTower(Tower):
    """Cuts small pictures into patches of 4 x 4 pixels, 48 values each: nothing is learned before the projection.

    Args:
        side: pixels of the picture; made-up pictures have 8, so 4 patches.
    """

    def __init__(self, side: int) -> None:
        super().__init__()
        cells = side // _PATCH
        self.pixels, self.cells, self.features = (side, side), (cells, cells), 3 * _PATCH**2
        self.normal((128 / 255,) * 3, (40 / 255,) * 3)  # as made-up pictures have them

    def forward(self, images: Tensor) -> Tensor:
        """Return patches row by row, shape [M, w, 48]."""
        return nn.functional.unfold(self.normalised(images), _PATCH, stride=_PATCH).transpose(1, 2)


class _Texts(nn.Module):
    def __init__(self, words: int, slots: nn.Embedding) -> None:
        super().__init__()
        self.words = nn.Embedding(words, _WIDTH)
        self.positions = nn.Embedding(_POSITIONS, _WIDTH)
        self.kind = nn.Parameter(torch.randn(_WIDTH))
        self.slots = slots
        self.norm = nn.LayerNorm(_WIDTH)
        self.dropout = nn.Dropout(0.1)

    def forward(self, tokens: Tensor, groups: Tensor) -> Tensor:
        embedded = self.words(tokens) + self.positions.weight[: tokens.shape[1]] + self.kind
        placed = embedded[groups] + self.slots.weight[: groups.shape[1], None]
        dropped: Tensor = self.dropout(self.norm(placed))
        return dropped


def tiny(shown: Shown, tokenizer: WordTokenizer, *, side: int = 8, slots: int = 5) -> SingleStream:
    """Make the encoder with random weights.

    Args:
        shown: of each step.
        tokenizer: of the texts; not used for pictures alone.
        side: pixels of pictures, a multiple of 4.
        slots: steps in a group at most.
    """
    text, image = shown != "image", shown != "text"
    tower = PixelTower(side) if image else None
    patches = Patches(tower.features, _WIDTH, tower.cells, slots, normed=True) if tower else None
    shared = patches.slots if patches else nn.Embedding(slots, _WIDTH)
    parts = Parts(
        texts=_Texts(tokenizer.size, shared) if text else Marks(_WIDTH, slots),
        reader=Transformer(_WIDTH, _LAYERS, _HEADS, _FEED_FORWARD),
        pool=First(_WIDTH),
        width=_WIDTH,
        patches=patches,
        pictures=tower,
        tokenizer=tokenizer if text else None,
    )
    description: dict[str, Json] = {
        "encoder": "tiny",
        "shown": shown,
        "side": side,
        "slots": slots,
        "words": tokenizer.words if text else (),
        "buckets": tokenizer.buckets,
    }
    return SingleStream(parts, span="text+image", slots=slots, description=description)
