"""An encoder from scratch that is trained on a processor in minutes: d 64, two layers, four heads, feed-forward 256.

The paper has none; ours, for tests and for manuals that are at hand. Each step has its own positions, and text and picture of a
step the same embedding of their slot. With BERSON's head (feed-forward 192) and a vocabulary of 64 words: 267,076 parameters.
"""

from __future__ import annotations

from typing import Final, cast

import torch
from torch import Tensor, nn

from proctor.learn.sequencing.data import Shown
from proctor.learn.sequencing.encoder import Description, Tower
from proctor.learn.sequencing.encoders.stream import SLOTS, Patches, SingleStream, Transformer, table
from proctor.learn.sequencing.encoders.tokenizers import WordTokenizer

__all__ = ["tiny"]

_WIDTH: Final = 64
_SIZES: Final = (_WIDTH, 2, 4, 256)
"""Width, layers, heads, feed-forward."""
_POSITIONS: Final = 120
"""Tokens of a step at most."""
_PATCH: Final = 4


class _Pixels(Tower):
    """Cuts small pictures into patches of 4 x 4 pixels, 48 values each: nothing is learned before the projection."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.pixels, self.cells, self.features = (side, side), (side // _PATCH,) * 2, 3 * _PATCH**2
        self.normal((128 / 255,) * 3, (40 / 255,) * 3)  # as made-up pictures have them

    def forward(self, images: Tensor) -> Tensor:
        return nn.functional.unfold(self.normalised(images), _PATCH, stride=_PATCH).transpose(1, 2)


class _Texts(Transformer):
    """Adds to words their position in the step, that they are text, and the slot of the step."""

    def __init__(self, words: int, slots: nn.Embedding) -> None:
        super().__init__(words, *_SIZES)
        self.positions = table(_POSITIONS, _WIDTH)
        self.kind = nn.Parameter(torch.zeros(_WIDTH))
        self.slots = slots
        self.norm = nn.LayerNorm(_WIDTH)
        self.dropout = nn.Dropout(0.1)

    def embed(self, tokens: Tensor, groups: Tensor) -> Tensor:
        placed = self.words(tokens) + self.positions.weight[: tokens.shape[1]] + self.kind
        placed = placed[groups] + self.slots.weight[: groups.shape[1], None]
        return cast(Tensor, self.dropout(self.norm(placed)))


def tiny(shown: Shown, tokenizer: WordTokenizer, side: int = 8) -> SingleStream:
    """Make the encoder with random weights. Pictures have ``side`` x ``side`` pixels, a multiple of 4; made-up ones 8, so 4 patches."""
    tower = _Pixels(side) if shown != "text" else None
    patches = Patches(tower.features, _WIDTH, tower.cells, normed=True) if tower else None
    texts = tokenizer if shown != "image" else None
    slots = patches.slots if patches else table(SLOTS, _WIDTH)
    reader = _Texts(texts.size, slots) if texts else Transformer(2, *_SIZES)
    words = texts.words if texts else ()
    said = Description("tiny", shown, side=side, words=words, buckets=tokenizer.buckets)
    return SingleStream(reader, _WIDTH, texts, tower, patches, said, span_images=True)
