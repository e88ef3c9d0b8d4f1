"""Encoders of steps: from scratch, or from local folders of weights; all behind ``StepEncoder``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import torch

from proctor.errors import UserError
from proctor.learn.sequencing.data import Shown
from proctor.learn.sequencing.encoder import Description, StepEncoder
from proctor.learn.sequencing.encoders.folders import image_encoder, open_pictures, text_encoder
from proctor.learn.sequencing.encoders.stream import Places
from proctor.learn.sequencing.encoders.tiny import tiny
from proctor.learn.sequencing.encoders.tokenizers import WordTokenizer
from proctor.learn.sequencing.training import Protocol

__all__ = ["open_encoder", "rebuild"]

_FORMS: Final[Mapping[Shown, tuple[str, ...]]] = {
    "text": ("text:FOLDER",),
    "image": ("clip:FOLDER", "resnet:FOLDER", "features:FOLDER"),
    "both": ("visualbert:FOLDER+FEATURES", "clip-vil:FOLDER+FOLDER"),
}


def open_encoder(
    spec: str, shown: Shown, texts: Iterable[str], *, protocol: Protocol = "right", seed: int = 0
) -> StepEncoder:
    """Open an encoder. Nothing is downloaded.

    Args:
        spec: ``tiny``, ``tiny:SIDE`` for pictures of more pixels than 8 x 8, or a kind with its folder. Those of networks are of
            transformers, for pictures also of timm, or of torchvision with ``@NAME`` behind it.
        shown: of each step.
        texts: make the vocabulary of ``tiny``; others have their own.
        protocol: see ``training.Protocol``.
        seed: of the weights that come from no folder; the state of torch's generator stays as it was.

    Raises:
        UserError: if there is no such encoder, or its folder does not hold it; MissingExtraError without transformers.
    """
    kind, _, place = spec.partition(":")
    folder, _, pictures = place.partition("+") if shown == "both" else (place, "", "")
    side = 8 if spec == "tiny" else int(place) if place.isascii() and place.isdigit() else 0
    if kind == "tiny" and (side % 4 or not 4 <= side <= 224):
        hint = "give tiny, or a multiple of 4 up to 224: tiny:16, tiny:32"
        raise UserError(f"pictures cannot have {place!r} pixels.", where=spec, hint=hint)
    known = any(form.startswith(f"{kind}:") for form in _FORMS[shown])
    if kind != "tiny" and not (known and folder and (pictures or shown != "both")):
        hint = f"give tiny, {' or '.join(_FORMS[shown])}, or another --modality; features are an .npy file for each picture"
        raise UserError(f"this is no encoder for the modality {shown}.", where=spec, hint=hint)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if kind == "tiny":
            return tiny(shown, WordTokenizer.of(texts if shown != "image" else ()), side)
        description = Description(spec, shown, protocol)
        if shown == "image":
            return image_encoder(open_pictures(place, protocol), description, 0 if protocol == "code" else 2)
        tower = open_pictures(pictures, protocol) if pictures else None
        places: Places = "shared" if kind == "visualbert" else "features"
        return text_encoder(Path(folder), description, tower, places)


def rebuild(said: Description) -> StepEncoder:
    """Make an encoder again, or raise a UserError: its folder, which is opened once more, is not as it was.

    Its weights are loaded by whoever has them.
    """
    if said.encoder == "tiny":
        return tiny(said.shown, WordTokenizer(said.words, said.buckets), said.side)
    encoder = open_encoder(said.encoder, said.shown, (), protocol=said.protocol)
    if said.identity != encoder.description.identity:
        raise UserError(
            "the tokenizer in the folder is another one than the model was trained with.",
            where=said.encoder,
            hint="restore the folder, or train the model again",
        )
    return encoder
