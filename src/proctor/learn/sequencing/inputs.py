"""Sequences as an encoder takes them: tokens and pictures of all steps, one a row; what cannot be shown is counted."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as List
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from proctor.corpus.picture import FORMATS, MAX_PIXELS, PictureError, read_picture
from proctor.errors import UserError
from proctor.learn.sequencing.encoder import StepEncoder, Steps, Tower
from proctor.procedure.manual import Sequence
from proctor.records import Dropped

__all__ = ["Inputs", "picture_file"]

_MOST_TOKENS: Final = 60
"""Of a step, special ones among them. Source: Wu et al. 2022, Appendix."""


@dataclass(frozen=True)
class Inputs:
    """Steps of sequences."""

    rows: Mapping[str, Tensor]
    """Of the steps of each sequence in authored order, shape [N], by its id."""
    dropped: tuple[Dropped, ...]
    """Pictures that are not shown, with the reason; steps without a picture are not among them."""
    _tokens: Tensor | None
    _pad: int
    _images: Tensor | None
    _image_of: Tensor

    @classmethod
    def read(
        cls, sequences: Iterable[Sequence], encoder: StepEncoder, root: Path, *, goal: bool = False
    ) -> Inputs:
        """Read what an encoder sees of all steps: the first 60 tokens, the first picture.

        Paths of pictures are relative to ``root``, and none outside is opened; ``goal``: whether the goal stands before every text.
        A UserError is raised if an id is there twice, a MissingExtraError without Pillow.
        """
        tokenizer, tower = encoder.tokenizer, encoder.tower
        ids: list[Tensor] = []
        gallery = None if tower is None else _Gallery(tower, root)
        rows: dict[str, Tensor] = {}
        image_of: list[int] = []
        for sequence in sequences:
            if sequence.id in rows:
                raise UserError(f"the sequence '{sequence.id}' is there twice.", hint="give each its own id")
            rows[sequence.id] = torch.arange(len(image_of), len(image_of) + len(sequence.steps))
            for step in sequence.steps:
                if tokenizer is not None:
                    text = f"{sequence.goal}. {step.text}" if goal and sequence.goal else step.text
                    ids.append(torch.tensor(tokenizer.encode(text, _MOST_TOKENS)))
                image_of.append(gallery.place(sequence.id, step.images) if gallery else -1)
        pad = tokenizer.pad if tokenizer else 0
        return cls(
            rows=rows,
            dropped=tuple(gallery.dropped if gallery else ()),
            _tokens=pad_sequence(ids, True, pad) if ids else None,
            _pad=pad,
            _images=gallery.images() if gallery else None,
            _image_of=torch.tensor(image_of, dtype=torch.long),
        )

    def take(self, rows: Tensor) -> Steps:
        """Return steps, shape [M] of rows; no more padding than the longest of them needs."""
        tokens = images = seen = None
        if self._tokens is not None:
            tokens = self._tokens[rows]
            longest = int((tokens != self._pad).sum(1).max()) if len(tokens) else 0
            tokens = tokens[:, :longest]
        if self._images is not None:
            at = self._image_of[rows]
            seen = at >= 0
            images = self._images[at.clamp(min=0)]
        return Steps(tokens, images, seen)


class _Gallery:
    """Pictures, each once, however many steps show it."""

    def __init__(self, tower: Tower, root: Path) -> None:
        self._tower, self._root = tower, root
        self._at: dict[str, int | PictureError] = {}
        self._images: list[Tensor] = []
        self.dropped: list[Dropped] = []

    def place(self, sequence_id: str, images: List[str]) -> int:
        """Return where the first picture of a step is; -1 where it has none, or none that can be shown."""
        if not images:
            return -1
        name = images[0]
        if name not in self._at:
            try:
                read = self._tower.read or (
                    lambda name: _pixels(picture_file(self._root, name), self._tower.pixels)
                )
                self._images.append(read(name))
                self._at[name] = len(self._images) - 1
            except PictureError as error:
                self._at[name] = error
        found = self._at[name]
        if isinstance(found, PictureError):
            self.dropped.append(Dropped(sequence_id, found.reason, f"{name}: {found.detail}"))
            return -1
        return found

    def images(self) -> Tensor:
        """Return them all, shape [M, …]; one blank where there are none, so that it has a shape."""
        tower = self._tower
        shape = (math.prod(tower.cells), tower.features) if tower.read else (3, *tower.pixels)
        return torch.stack(self._images or [torch.zeros(shape)])


def picture_file(root: Path, *names: str) -> Path:
    """Return the first file in a folder that has one of the names, or raise a PictureError: it is missing, or outside."""
    reason, detail = "missing", "there is no such file"
    for name in names:
        with suppress(OSError, ValueError, RuntimeError):  # no file can have this name
            path = (root / name).resolve()
            if not path.is_relative_to(root.resolve()):
                reason, detail = "outside", "it is outside of the folder of pictures"
            elif path.is_file():
                return path
    raise PictureError(reason, detail, names[0])


def _pixels(path: Path, size: tuple[int, int]) -> Tensor:
    """Return a picture in a size, whatever its shape was: bytes, shape [3, height, width]. Source: Wu et al. 2022, Appendix."""
    read_picture(path)  # refuses what must not be decoded
    pillow: Any = importlib.import_module("PIL.Image")
    operations: Any = importlib.import_module("PIL.ImageOps")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pillow.open(path, formats=FORMATS) as image:
                image.seek(getattr(image, "n_frames", 1) // 2)
                if image.width * image.height > MAX_PIXELS:  # pages of a TIFF differ in size
                    raise ValueError(f"it has {image.width:,} × {image.height:,} pixels")
                upright = operations.exif_transpose(image)
    except Exception as error:  # decoders raise whatever a broken frame makes them
        detail = f"its middle frame is broken ({str(error)[:200]})"
        raise PictureError("unreadable", detail, str(path)) from None
    if upright.mode.startswith("I;16"):
        upright = upright.point(lambda value: value / 256).convert("L")
    resized = upright.convert("RGB").resize((size[1], size[0]), pillow.Resampling.BILINEAR)
    return torch.from_numpy(np.array(resized, np.uint8)).permute(2, 0, 1).contiguous()
