"""The one encoder: texts and pictures of a group of steps side by side in a row that a transformer reads.

Text alone, pictures alone and both differ only in what is put in. Source: Wu et al. 2022, Section 4.1; docs/sequencing.md says
what the paper leaves open: each picture has an embedding of its slot, without which two of them could not be told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from proctor.errors import UserError
from proctor.learn.sequencing.encoder import Encoded, StepEncoder, Steps, Tokenizer
from proctor.learn.sequencing.encoders.layout import Layout, check_slots
from proctor.records import Json

__all__ = [
    "First",
    "Given",
    "Join",
    "Marks",
    "Mean",
    "Parts",
    "Patches",
    "Places",
    "SingleStream",
    "Span",
    "Tower",
    "Transformer",
]

Span = Literal["text", "text+image"]
"""What the vectors of steps are made of: the paper's code takes texts alone, pictures act through attention."""

Join = Literal["repeat_cls", "single_cls"]
"""Every step with its own [CLS], as in the paper's code, or the first alone, as in BERSON."""

Places = Literal["grid", "features", "shared"]
"""Of patches: rows and columns, the same in the space of the features (CLIP-ViL), or all at one place (VisualBERT)."""


class Reader(Protocol):
    """A transformer over rows: embeddings, what is there, what of it is text, and to which step it belongs."""

    def __call__(self, rows: Tensor, present: Tensor, text: Tensor, owner: Tensor) -> Tensor:
        """Return states of the shape of ``rows``, [G, L, d]."""
        ...


class Tower(nn.Module):
    """From pixels to the features of a grid.

    Attributes:
        pixels: height and width of the pictures.
        cells: rows and columns of the grid.
        features: v.
    """

    pixels: tuple[int, int]
    cells: tuple[int, int]
    features: int
    mean: Tensor
    std: Tensor

    def normal(self, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
        """Keep by which means and deviations of colours from 0 to 1 pictures are normalised."""
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(-1, 1, 1), persistent=False)

    def normalised(self, images: Tensor) -> Tensor:
        """Return bytes, or colours from 0 to 1, normalised."""
        scaled = images if images.is_floating_point() else images.float() / 255
        return (scaled - self.mean) / self.std


class Given(Protocol):
    """Features of pictures that were made before.

    Attributes:
        cells: rows and columns of the grid.
        features: v.
    """

    cells: tuple[int, int]
    features: int

    def read(self, name: str) -> Tensor:
        """Return the features of a picture by its path, shape [w, v]."""
        ...


class Patches(nn.Module):
    """Embeds features of pictures: projection, place, slot, kind; then LayerNorm and dropout.

    Args:
        features: v.
        width: d.
        cells: rows and columns that have embeddings; more than the grid has is right, too.
        slots: pictures in a row.
        places: see ``Places``.
        normed: whether the projection has a LayerNorm of its own.
        kind: whether to add an embedding of the kind, where the transformer has none.
        dropout: after all.
    """

    def __init__(
        self,
        features: int,
        width: int,
        cells: tuple[int, int],
        slots: int,
        *,
        places: Places = "grid",
        normed: bool = False,
        kind: bool = True,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.places = places
        self.linear = nn.Linear(features, width)
        self.own = nn.LayerNorm(width) if normed else nn.Identity()
        inner = features if places == "features" else width
        rows, columns = (1, 0) if places == "shared" else cells
        self.rows = nn.Embedding(rows, inner)
        self.columns = nn.Embedding(columns, inner)
        self.slots = nn.Embedding(slots, inner)
        self.kind = nn.Parameter(torch.randn(width)) if kind else None
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def project(self, features: Tensor) -> Tensor:
        """Return features, shape [M, w, v], projected to [M, w, d]."""
        projected: Tensor = self.own(self.linear(features))
        return projected

    def forward(self, content: Tensor, cells: tuple[int, int]) -> Tensor:
        """Add to projected features of groups, shape [G, K, w, d], where they are."""
        at = self.rows.weight[:1]
        if self.places != "shared":
            high, wide = cells
            at = (self.rows.weight[:high, None] + self.columns.weight[None, :wide]).flatten(0, 1)
        at = at + self.slots.weight[: content.shape[1], None]
        if self.places == "features":
            at = at @ self.linear.weight.T
        placed = content + at if self.kind is None else content + at + self.kind
        dropped: Tensor = self.dropout(self.norm(placed))
        return dropped


class Transformer(nn.Module):
    """A pre-norm transformer from scratch; rows come with everything added. The rest of ``Reader`` does not matter to it."""

    def __init__(self, width: int, layers: int, heads: int, feed_forward: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, heads, feed_forward, dropout, "gelu", batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, rows: Tensor, present: Tensor, text: Tensor, owner: Tensor) -> Tensor:  # noqa: ARG002
        """Return states, shape [G, L, d]."""
        for layer in self.layers:
            rows = layer(rows, src_key_padding_mask=~present)
        normed: Tensor = self.norm(rows)
        return normed


class First(nn.Module):
    """The state of [CLS] as it is, or through a layer.

    Args:
        width: d.
        layer: none, a dense one, or one with tanh behind it.
    """

    def __init__(self, width: int, layer: Literal["none", "dense", "tanh"] = "none") -> None:
        super().__init__()
        self.dense = nn.Identity() if layer == "none" else nn.Linear(width, width)
        self.bend = nn.Tanh() if layer == "tanh" else nn.Identity()

    def forward(self, hidden: Tensor, present: Tensor) -> Tensor:  # noqa: ARG002
        """Return one state of each group, shape [G, d]."""
        first: Tensor = self.bend(self.dense(hidden[:, 0]))
        return first


class Mean(nn.Module):
    """The mean of all states through a dense layer, for states that know nothing of each other.

    Args:
        width: d.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, width)

    def forward(self, hidden: Tensor, present: Tensor) -> Tensor:
        """Return one state of each group, shape [G, d]."""
        shares = present / present.sum(1, keepdim=True)
        meant: Tensor = self.dense((hidden * shares[..., None]).sum(1))
        return meant


class Marks(nn.Module):
    """Stands for the texts where only pictures are shown: [CLS], and a mark for a picture that is missing.

    Without the mark a step without a picture would have no place in the row, and nothing could be said of it.
    """

    def __init__(self, width: int, slots: int) -> None:
        super().__init__()
        self.marks = nn.Embedding(2, width)
        self.slots = nn.Embedding(slots, width)

    def forward(self, tokens: Tensor, groups: Tensor) -> Tensor:
        """Return embeddings, shape [G, K, 2, d]."""
        at = self.slots.weight[: groups.shape[1], None]
        embedded: Tensor = self.marks(tokens.clamp(max=1))[groups] + at
        return embedded


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What an encoder is made of.

    Attributes:
        texts: from tokens [M, T] and groups [G, K] to embeddings [G, K, T, d].
        reader: a ``Reader``.
        pool: from states [G, L, d] and which there are [G, L] to one of the group [G, d].
        width: d.
        patches: None for texts alone.
        pictures: where their features come from.
        tokenizer: None for pictures alone.
    """

    texts: nn.Module
    reader: nn.Module
    pool: nn.Module
    width: int
    patches: Patches | None = None
    pictures: Tower | Given | None = None
    tokenizer: Tokenizer | None = None


class SingleStream(StepEncoder):
    """Encodes groups of steps in one row: ``[CLS] T1 [SEP] [CLS] T2 [SEP] … V1 V2 …``.

    Args:
        parts: see there.
        span: what the vectors of steps are made of.
        join: of texts.
        slots: steps in a group at most.
        description: for ``encoders.rebuild``.
    """

    def __init__(
        self,
        parts: Parts,
        *,
        span: Span = "text",
        join: Join = "repeat_cls",
        slots: int = 5,
        description: Mapping[str, Json],
    ) -> None:
        super().__init__()
        self.width, self.slots, self.tokenizer = parts.width, slots, parts.tokenizer
        self.span, self.join, self.description = span, join, dict(description)
        self.texts, self.reader, self.pool = parts.texts, parts.reader, parts.pool
        self.patches = parts.patches
        pictures = parts.pictures
        self.tower = pictures if isinstance(pictures, Tower) else None
        if pictures is not None:
            self.cells = pictures.cells
            self.grid = (pictures.cells[0] * pictures.cells[1], pictures.features)
        if isinstance(pictures, Tower):
            self.pixels = pictures.pixels
        elif pictures is not None:
            self.features = pictures.read

    def describe(self) -> dict[str, Json]:
        """Return what ``encoders.rebuild`` makes the same encoder of, without weights."""
        return dict(self.description)

    def see(self, images: Tensor) -> Tensor:
        """Return the features of pictures, shape [M, w, v]; features themselves are given back."""
        if self.tower is None or images.ndim == 3:
            return images
        seen: Tensor = self.tower(images)
        return seen

    def forward(self, steps: Steps, groups: Tensor) -> Encoded:
        """Encode groups of steps; see ``StepEncoder``."""
        check_slots(groups, self.slots)
        tokens, words = self._tokens(steps)
        patches, patch_in, content = self._patches(steps, groups)
        there = words[groups]
        if self.join == "single_cls" or self.tokenizer is None:
            there = there.clone()
            there[:, 1:, 0] = False
        image = self.span == "text+image" or self.tokenizer is None
        layout = Layout.of(there, patches, (True, image))
        rows = layout.arrange(self.texts(tokens, groups), content)
        text = layout.present & (layout.source < there[0].numel())
        hidden = self.reader(rows, layout.present, text, layout.owner)
        return Encoded(
            hidden=hidden,
            pooled=self.pool(hidden, layout.present),
            span=layout.span,
            token_at=None if self.tokenizer is None else layout.token_at,
            patch_at=None if self.patches is None else layout.patch_at,
            patch_in=patch_in,
        )

    def _tokens(self, steps: Steps) -> tuple[Tensor, Tensor]:
        """Return tokens and which are there, both of shape [M, T]."""
        if self.tokenizer is None:
            seen = _seen(steps)
            return torch.ones_like(seen)[:, None].long() * torch.arange(2, device=seen.device), torch.stack(
                [torch.ones_like(seen), ~seen], 1
            )
        if steps.tokens is None:
            raise UserError("the encoder reads texts, but steps come without.", hint="show text or both")
        return steps.tokens, steps.tokens != self.tokenizer.pad

    def _patches(self, steps: Steps, groups: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return which patches there are [G, K, w], projected ones [M, w, d], and what is fed in [G, K, w, d]."""
        if self.patches is None or self.grid is None:
            return torch.zeros(*groups.shape, 0, dtype=torch.bool, device=groups.device), None, None
        if steps.images is None:
            raise UserError("the encoder sees pictures, but steps come without.", hint="show image or both")
        seen = _seen(steps)
        looked = self.see(steps.images[seen])
        features = looked.new_zeros(len(steps), *self.grid).index_put((seen.nonzero()[:, 0],), looked)
        patch_in = self.patches.project(features)
        content = patch_in if steps.masked is None else patch_in * ~steps.masked[..., None]
        there = seen[groups][..., None].expand(-1, -1, self.grid[0])
        return there, patch_in, self.patches(content[groups], self.cells)


def _seen(steps: Steps) -> Tensor:
    assert steps.images is not None
    if steps.seen is not None:
        return steps.seen
    return torch.ones(len(steps.images), dtype=torch.bool, device=steps.images.device)
