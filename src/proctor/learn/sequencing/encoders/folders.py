"""Encoders from local folders: texts alone, pictures alone, or both in a single stream.

Source: Wu et al. 2022, Section 4.1 (RoBERTa, CLIP and ResNet, VisualBERT and CLIP-ViL).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import torch
from torch import Tensor, nn

from proctor.errors import UserError
from proctor.learn.features.backbones import load_library, load_pretrained
from proctor.learn.sequencing.encoder import Tokenizer
from proctor.learn.sequencing.encoders.stream import Patches, Places, Reader, SingleStream, Tower, Transformer
from proctor.learn.sequencing.encoders.tokenizers import FolderTokenizer
from proctor.records import Json

__all__ = ["image_encoder", "text_encoder"]

_WIDEST: Final = 768
"""Of encoders of pictures alone, as in the paper's code."""
_HEAD: Final = 64
_CELLS: Final = 25
"""Rows and columns that have embeddings in CLIP-ViL."""


class _FolderReader(Reader):
    """Gives embeddings to a transformer, which adds its own positions and segments to them, LayerNorm and dropout.

    Text has the positions that it would have alone. Pictures share one position: the one of padding, which is zero, where the
    model has such (RoBERTa, whose first position is 2), else 0; where they are stands in their own embeddings. Segments, where
    the model has two, tell steps apart, or texts and pictures.
    """

    def __init__(self, folder: Path, tokenizer: Tokenizer, pictures: bool) -> None:
        super().__init__()
        _, model, _ = load_pretrained(load_library("transformers"), folder, "AutoModel")
        takes = inspect.signature(model.forward).parameters
        reads = "inputs_embeds" in takes and not getattr(model.config, "is_encoder_decoder", False)
        rows, width = model.get_input_embeddings().weight.shape if reads else (0, 0)
        if not rows or width != model.config.hidden_size:
            raise UserError(
                f"a model of the kind {model.config.model_type!r} reads no texts, writes them, or is narrower at its embeddings.",
                where=str(folder),
                hint="take a model of the families of BERT or RoBERTa",
            )
        if rows < tokenizer.size:
            raise UserError(
                f"the checkpoint is of another tokenizer: it knows {rows} tokens, the tokenizer {tokenizer.size}.",
                where=str(folder),
                hint="put the model's own tokenizer into the folder",
            )
        self.model: Any = model
        self.pictures, self.width = pictures, int(width)
        table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
        self.shared = getattr(table, "padding_idx", None) or 0
        self.first = self.shared + 1 if self.shared else 0
        self.placed = "position_ids" in takes
        self.segmented = "token_type_ids" in takes and getattr(model.config, "type_vocab_size", 0) >= 2
        self.longest = int(getattr(model.config, "max_position_embeddings", 2**31)) - self.first

    def embed(self, tokens: Tensor, groups: Tensor) -> Tensor:
        return cast(Tensor, self.model.get_input_embeddings()(tokens)[groups])

    def forward(self, rows: Tensor, present: Tensor, text: Tensor, owner: Tensor) -> Tensor:
        if rows.shape[1] > self.longest and (long := int(text.sum(1).max())) > self.longest:
            raise UserError(
                f"{long} tokens are to be encoded together, but the model has {self.longest} positions.",
                hint="encode fewer steps together, or fewer tokens of each",
            )
        given: dict[str, Tensor] = {"inputs_embeds": rows, "attention_mask": present.long()}
        if self.placed:
            places = self.first + torch.arange(rows.shape[1], device=rows.device)
            given["position_ids"] = torch.where(text, places, self.shared)
        if self.segmented:
            given["token_type_ids"] = ((~text if self.pictures else owner > 0) & present).long()
        return cast(Tensor, self.model(**given).last_hidden_state)

    def pooler(self) -> nn.Module:
        """Give away the model's own dense layer, or a new one, with tanh behind it."""
        own = getattr(getattr(self.model, "pooler", None), "dense", None)
        if own is not None:
            self.model.pooler = None
        return nn.Sequential(own or nn.Linear(self.width, self.width), nn.Tanh())


def text_encoder(
    folder: Path,
    description: Mapping[str, Json],
    tower: Tower | None = None,
    places: Places = "features",
    **how: bool,
) -> SingleStream:
    """Open a transformer of texts from its folder, which may see pictures of a tower beside them; ``how`` is given to ``SingleStream``.

    A group of texts alone is its pooled [CLS] (dense, tanh), with pictures its raw [CLS]. ``places`` are ``features`` for CLIP-ViL,
    ``shared`` for VisualBERT.

    Raises:
        UserError: if it cannot be opened; MissingExtraError without transformers.
    """
    tokenizer = FolderTokenizer(folder)
    reader = _FolderReader(folder, tokenizer, tower is not None)
    patches = None
    if tower is not None:
        cells = max(_CELLS, tower.cells[0]), max(_CELLS, tower.cells[1])
        patches = Patches(tower.features, reader.width, cells, places=places, kind=not reader.segmented)
    said = {**description, "identity": tokenizer.identity}
    dense = reader.pooler() if tower is None else None
    return SingleStream(reader, reader.width, tokenizer, tower, patches, said, dense=dense, **how)


def image_encoder(tower: Tower, description: Mapping[str, Json], fusion_layers: int = 2) -> SingleStream:
    """Make an encoder of pictures alone: a small transformer over [CLS] and the pictures of a group.

    Without layers pictures of a group meet only in the mean that stands for the group.
    """
    width = min(_WIDEST, tower.features)
    heads = next(h for h in range(max(1, width // _HEAD), 0, -1) if width % h == 0)
    reader = Transformer(2, width, fusion_layers, heads, 4 * width)
    patches = Patches(tower.features, width, tower.cells, normed=True)
    dense = nn.Linear(width, width)
    return SingleStream(
        reader, width, None, tower, patches, description, dense=dense, mean=fusion_layers == 0
    )
