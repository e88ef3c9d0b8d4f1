"""The one encoder: texts and pictures of a group of steps side by side in a row that a transformer reads.

Text alone, pictures alone and both differ only in what is put in. Source: Wu et al. 2022, Section 4.1; docs/sequencing.md says
what the paper leaves open: each picture has an embedding of its slot, without which two of them could not be told apart.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Final, Literal, cast

import torch
from torch import Tensor, nn

from proctor.errors import UserError
from proctor.learn.sequencing.encoder import Description, Encoded, StepEncoder, Steps, Tokenizer, Tower

__all__ = ["SLOTS", "Patches", "Places", "Reader", "SingleStream", "Transformer", "table"]

SLOTS: Final = 5
"""Steps in a group at most."""
_STD: Final = 0.02

Places = Literal["grid", "features", "shared"]
"""Of patches: rows and columns, the same in the space of the features (CLIP-ViL), or all at one place (VisualBERT)."""


class Patches(nn.Module):
    """Embeds v features of pictures in d numbers: projection, place, slot, kind; then LayerNorm and dropout.

    More ``cells``, rows and columns, may have embeddings than the grid has. ``normed``: the projection has a LayerNorm of its own;
    ``kind``: an embedding of the kind is added, where the transformer has none.
    """

    def __init__(
        self,
        features: int,
        width: int,
        cells: tuple[int, int],
        *,
        places: Places = "grid",
        normed: bool = False,
        kind: bool = True,
    ) -> None:
        super().__init__()
        self.places = places
        self.linear = nn.Linear(features, width)
        self.own = nn.LayerNorm(width) if normed else nn.Identity()
        inner = features if places == "features" else width
        rows, columns = (1, 0) if places == "shared" else cells
        self.rows, self.columns = table(rows, inner), table(columns, inner)
        self.slots = table(SLOTS, inner)
        self.kind = nn.Parameter(_STD * torch.randn(width)) if kind else None
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(0.1)

    def project(self, features: Tensor) -> Tensor:
        """Return features, shape [M, w, v], projected to [M, w, d]."""
        return cast(Tensor, self.own(self.linear(features)))

    def forward(self, content: Tensor, cells: tuple[int, int]) -> Tensor:
        """Add to projected features of groups, shape [G, K, w, d], where they are."""
        at = self.rows.weight[:1]
        if self.places != "shared":
            at = (self.rows.weight[: cells[0], None] + self.columns.weight[None, : cells[1]]).flatten(0, 1)
        at = at + self.slots.weight[: content.shape[1], None]
        if self.places == "features":
            at = at @ self.linear.weight.T
        placed = content + at if self.kind is None else content + at + self.kind
        return cast(Tensor, self.dropout(self.norm(placed)))


def table(rows: int, width: int) -> nn.Embedding:
    """Return a table of embeddings drawn as BERT's are, so that where a word stands does not drown what it is."""
    made = nn.Embedding(rows, width)
    nn.init.normal_(made.weight, std=_STD)
    return made


class Reader(nn.Module, ABC):
    """A transformer over rows, and its embeddings of words."""

    @abstractmethod
    def embed(self, tokens: Tensor, groups: Tensor) -> Tensor:
        """Return embeddings of tokens [M, T] in groups [G, K], shape [G, K, T, d]."""

    @abstractmethod
    def forward(self, rows: Tensor, present: Tensor, text: Tensor, owner: Tensor) -> Tensor:
        """Return states of rows [G, L, d]; given which places are taken, which are of texts, and of which step, all [G, L]."""


class Transformer(Reader):
    """A pre-norm transformer from scratch; its words stand for themselves, and rows come with everything added."""

    def __init__(self, words: int, width: int, layers: int, heads: int, feed_forward: int) -> None:
        super().__init__()
        self.words = table(words, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, feed_forward, 0.1, "gelu", 1e-5, True, True)
            for _ in range(layers)
        )
        self.last = nn.LayerNorm(width)

    def embed(self, tokens: Tensor, groups: Tensor) -> Tensor:
        """Return embeddings, shape [G, K, T, d]."""
        return cast(Tensor, self.words(tokens)[groups])

    def forward(self, rows: Tensor, present: Tensor, text: Tensor, owner: Tensor) -> Tensor:  # noqa: ARG002
        """Return states, shape [G, L, d]."""
        for layer in self.layers:
            rows = layer(rows, src_key_padding_mask=~present)
        return cast(Tensor, self.last(rows))


class SingleStream(StepEncoder):
    """Encodes groups of steps in one row without gaps: ``[CLS] T1 [SEP] [CLS] T2 [SEP] … V1 V2 …``.

    Where only pictures are shown, two words stand for the texts: [CLS], and a mark for a picture that is missing, so that its
    step has a place in the row.

    Args:
        dense: layer behind the one state of a group.
        mean: whether that is the mean of all states, instead of the first.
        span_images: whether vectors of steps are made of pictures, too; in the paper's code these act through attention only.
        repeat_cls: whether every step has its own [CLS], as in the paper's code, or the first alone, as in BERSON.
    """

    def __init__(
        self,
        reader: Reader,
        width: int,
        tokenizer: Tokenizer | None,
        tower: Tower | None,
        patches: Patches | None,
        description: Description,
        *,
        dense: nn.Module | None = None,
        mean: bool = False,
        span_images: bool = False,
        repeat_cls: bool = True,
    ) -> None:
        super().__init__()
        self.reader, self.dense, self.mean, self.width, self.slots = reader, dense, mean, width, SLOTS
        self.tokenizer, self.tower, self.patches = tokenizer, tower, patches
        self.span_images = span_images or tokenizer is None
        self.repeat_cls = repeat_cls and tokenizer is not None
        self.description = description

    def forward(self, steps: Steps, groups: Tensor) -> Encoded:
        """Encode groups of steps, see ``StepEncoder``, or raise a UserError: there are more in a group than slots."""
        many = groups.shape[1]
        if many > self.slots:
            raise UserError(
                f"{many} steps are to be encoded together, but the encoder has {self.slots} slots.",
                hint=f"encode at most {self.slots} steps together",
            )
        if self.tokenizer is None:  # [CLS], and the mark
            seen = _seen(steps)
            tokens = torch.arange(2, device=seen.device).expand(len(seen), 2)
            there = torch.stack([torch.ones_like(seen), ~seen], 1)[groups]
        else:
            assert steps.tokens is not None
            tokens, there = steps.tokens, (steps.tokens != self.tokenizer.pad)[groups]
        if not self.repeat_cls:
            there[:, 1:, 0] = False
        patches, patch_in, content = self._patches(steps, groups)
        # Columns are what could stand in a row: T tokens of each of K steps, then w patches of each. What is there moves together.
        taken = torch.cat([there.flatten(1), patches.flatten(1)], 1)
        at = (taken.cumsum(1) - 1).masked_fill(~taken, -1)
        counts = taken.sum(1, keepdim=True)
        length = int(counts.max()) if len(groups) else 1
        columns = torch.arange(taken.shape[1], device=taken.device)
        # What is not there is written behind the last place, and cut off.
        source = columns.new_zeros(len(groups), length + 1)
        source = source.scatter(1, at.masked_fill(~taken, length), columns.expand_as(taken))[:, :length]
        places, numbers = columns[:length], columns[:many]
        present = places < counts
        text = present & (source < there.shape[2] * many)
        of = torch.cat([numbers.repeat_interleave(part.shape[2]) for part in (there, patches)])
        owner = of[source]
        usable = (present if self.span_images else text) & (places > 0)
        rows = self.reader.embed(tokens, groups).flatten(1, 2)
        if content is not None:
            rows = torch.cat([rows, content.flatten(1, 2)], 1)
        rows = rows.take_along_dim(source[..., None], 1) * present[..., None]
        hidden = self.reader(rows, present, text, owner) if len(groups) else rows
        pooled = (hidden * present[..., None]).sum(1) / counts if self.mean else hidden[:, 0]
        token_at, patch_at = torch.split(at, [there.shape[2] * many, patches.shape[2] * many], 1)
        return Encoded(
            hidden=hidden,
            pooled=pooled if self.dense is None else self.dense(pooled),
            span=usable[:, None] & (owner[:, None] == numbers[:, None]),
            token_at=None if self.tokenizer is None else token_at.view_as(there),
            patch_at=None if self.patches is None else patch_at.view_as(patches),
            patch_in=patch_in,
        )

    def _patches(self, steps: Steps, groups: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return which patches there are [G, K, w], projected ones [M, w, d], and what is fed in [G, K, w, d]."""
        if self.patches is None or self.tower is None:
            return torch.zeros(*groups.shape, 0, dtype=torch.bool, device=groups.device), None, None
        assert steps.images is not None
        seen, cells = _seen(steps), math.prod(self.tower.cells)
        features = torch.zeros(len(seen), cells, self.tower.features, device=seen.device)
        if bool(seen.any()):  # each once, whatever the number of its groups; networks need not take none
            looked = self.see(steps.images[seen])
            features = features.to(looked.dtype).index_put((seen.nonzero()[:, 0],), looked)
        patch_in = self.patches.project(features)
        content = patch_in if steps.masked is None else patch_in * ~steps.masked[..., None]
        there = seen[groups][..., None].expand(-1, -1, cells)
        return there, patch_in, self.patches(content[groups], self.tower.cells)


def _seen(steps: Steps) -> Tensor:
    assert steps.images is not None
    return steps.images.new_ones(len(steps), dtype=torch.bool) if steps.seen is None else steps.seen
