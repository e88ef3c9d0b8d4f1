"""Encoders from local folders: texts alone, pictures alone, or both in a single stream.

Source: Wu et al. 2022, Section 4.1 (RoBERTa, CLIP and ResNet, VisualBERT and CLIP-ViL).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from proctor.learn.sequencing.encoders.pictures import open_pictures
from proctor.learn.sequencing.encoders.stream import (
    First,
    Join,
    Marks,
    Mean,
    Parts,
    Patches,
    Places,
    SingleStream,
    Span,
    Transformer,
)
from proctor.learn.sequencing.encoders.texts import FolderReader, FolderWords, load_reader
from proctor.learn.sequencing.encoders.tokenizers import FolderTokenizer
from proctor.learn.sequencing.training import Protocol
from proctor.records import Json

__all__ = ["image_encoder", "multimodal_encoder", "text_encoder"]

_SLOTS: Final = 5
_WIDEST: Final = 768
"""Of encoders of pictures alone, as in the paper's code."""
_HEAD: Final = 64
_CELLS: Final = 25
"""Rows and columns that have embeddings in CLIP-ViL."""


def text_encoder(folder: Path, description: Mapping[str, Json], join: Join = "repeat_cls") -> SingleStream:
    """Open a transformer of texts; a group is its pooled [CLS] (dense, tanh).

    Raises:
        UserError: if it cannot be opened; MissingExtraError without transformers.
    """
    tokenizer = FolderTokenizer(folder)
    reader = load_reader(folder, tokenizer, "steps")
    parts = Parts(
        texts=FolderWords(reader.model),
        reader=reader,
        pool=_pooler(reader),
        width=reader.model.config.hidden_size,
        tokenizer=tokenizer,
    )
    return SingleStream(
        parts, join=join, slots=_SLOTS, description={**description, "identity": tokenizer.identity}
    )


def _pooler(reader: FolderReader) -> First:
    """Take the model's own dense layer, where it has one."""
    pool = First(reader.model.config.hidden_size, "tanh")
    own = getattr(getattr(reader.model, "pooler", None), "dense", None)
    if own is not None:
        pool.dense, reader.model.pooler = own, None
    return pool


def image_encoder(
    place: str, description: Mapping[str, Json], protocol: Protocol, fusion_layers: int = 2
) -> SingleStream:
    """Open an encoder of pictures alone: features of a grid, and a small transformer over [CLS] and the pictures of a group.

    Args:
        place: see ``open_pictures``.
        description: for ``rebuild``.
        protocol: see ``open_pictures``.
        fusion_layers: of the transformer; without any, pictures of a group meet in the mean alone that stands for the group.

    Raises:
        UserError: if it cannot be opened; MissingExtraError without its library.
    """
    pictures = open_pictures(place, protocol)
    width = min(_WIDEST, pictures.features)
    heads = next(h for h in range(max(1, width // _HEAD), 0, -1) if width % h == 0)
    parts = Parts(
        texts=Marks(width, _SLOTS),
        reader=Transformer(width, fusion_layers, heads, 4 * width),
        pool=First(width, "dense") if fusion_layers else Mean(width),
        width=width,
        patches=Patches(pictures.features, width, pictures.cells, _SLOTS, normed=True),
        pictures=pictures,
    )
    return SingleStream(parts, slots=_SLOTS, description=description)


def multimodal_encoder(
    folder: Path,
    place: str,
    description: Mapping[str, Json],
    protocol: Protocol,
    places: Places,
    span: Span = "text",
) -> SingleStream:
    """Open a transformer of texts that sees pictures beside them; a group is its raw [CLS].

    Args:
        folder: of the transformer and its tokenizer.
        place: of the pictures, see ``open_pictures``.
        description: for ``rebuild``.
        protocol: see ``open_pictures``.
        places: ``features`` for CLIP-ViL, ``shared`` for VisualBERT.
        span: what the vectors of steps are made of.

    Raises:
        UserError: if it cannot be opened; MissingExtraError without its library.
    """
    tokenizer = FolderTokenizer(folder)
    reader = load_reader(folder, tokenizer, "kinds")
    pictures = open_pictures(place, protocol)
    width = reader.model.config.hidden_size
    cells = max(_CELLS, pictures.cells[0]), max(_CELLS, pictures.cells[1])
    parts = Parts(
        texts=FolderWords(reader.model),
        reader=reader,
        pool=First(width),
        width=width,
        patches=Patches(pictures.features, width, cells, _SLOTS, places=places, kind=not reader.segmented),
        tokenizer=tokenizer,
        pictures=pictures,
    )
    return SingleStream(
        parts, span=span, slots=_SLOTS, description={**description, "identity": tokenizer.identity}
    )
