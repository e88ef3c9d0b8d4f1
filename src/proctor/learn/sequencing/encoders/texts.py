"""Transformers of local folders that read texts, and pictures beside them: BERT, RoBERTa and their like."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from proctor.errors import UserError
from proctor.learn.features.backbones import load_library, load_pretrained
from proctor.learn.sequencing.encoder import Tokenizer

__all__ = ["FolderReader", "FolderWords", "load_reader"]

Segments = Literal["steps", "kinds"]
"""What segments tell apart: first and second step, or texts and pictures."""


class FolderReader(nn.Module):
    """Gives embeddings to a transformer, which adds its own positions and segments to them.

    Text has the positions that it would have alone. Pictures share one position: the one of padding, which is zero, where the
    model has such (RoBERTa, whose first position is 2), else 0; where they are stands in their own embeddings.

    Args:
        model: of transformers, takes ``inputs_embeds``.
        segments: what they tell apart, where the model has two.
    """

    def __init__(self, model: Any, segments: Segments) -> None:
        super().__init__()
        self.model = model
        self.segments = segments
        takes = inspect.signature(model.forward).parameters
        padding = getattr(
            getattr(getattr(model, "embeddings", None), "position_embeddings", None), "padding_idx", None
        )
        self.first = 0 if padding is None else padding + 1
        self.shared = 0 if padding is None else padding
        self.placed = "position_ids" in takes
        self.segmented = "token_type_ids" in takes and getattr(model.config, "type_vocab_size", 0) >= 2
        self.longest = int(getattr(model.config, "max_position_embeddings", 2**31)) - self.first

    def forward(self, rows: Tensor, present: Tensor, text: Tensor, owner: Tensor) -> Tensor:
        """Return states, shape [G, L, d].

        Raises:
            UserError: if there are more tokens than positions.
        """
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
            second = owner > 0 if self.segments == "steps" else ~text
            given["token_type_ids"] = (second & present).long()
        states: Tensor = self.model(**given).last_hidden_state
        return states


class FolderWords(nn.Module):
    """The embeddings of words of a model that is held elsewhere."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self._model = (model,)  # not as a part: its weights are not to be counted and saved twice

    def forward(self, tokens: Tensor, groups: Tensor) -> Tensor:
        """Return embeddings, shape [G, K, T, d]."""
        embedded: Tensor = self._model[0].get_input_embeddings()(tokens)
        return embedded[groups]


def load_reader(folder: Path, tokenizer: Tokenizer, segments: Segments) -> FolderReader:
    """Load a transformer of a folder.

    Raises:
        UserError: if it cannot be loaded, or its tokenizer is another one; MissingExtraError without transformers.
    """
    _, model, _ = load_pretrained(load_library("transformers"), folder, "AutoModel")
    if "inputs_embeds" not in inspect.signature(model.forward).parameters:
        raise UserError(
            f"a model of the kind {model.config.model_type!r} reads no texts.",
            where=str(folder),
            hint="take a model of the families of BERT or RoBERTa",
        )
    table = model.get_input_embeddings().weight
    if len(table) < tokenizer.size:
        raise UserError(
            f"the checkpoint is of another tokenizer: it knows {len(table)} tokens, the tokenizer {tokenizer.size}.",
            where=str(folder),
            hint="put the model's own tokenizer into the folder",
        )
    if table.shape[1] != model.config.hidden_size:
        raise UserError(
            f"its embeddings have {table.shape[1]} numbers, its states {model.config.hidden_size}.",
            where=str(folder),
            hint="take a model where they are of one width, such as BERT or RoBERTa",
        )
    return FolderReader(model, segments)
