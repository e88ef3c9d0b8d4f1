"""Encoders of steps: from scratch, or from local folders of weights; all behind ``StepEncoder``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec
import torch

from proctor.errors import UserError
from proctor.learn.sequencing.data import Shown
from proctor.learn.sequencing.encoder import StepEncoder
from proctor.learn.sequencing.encoders.folders import image_encoder, open_pictures, text_encoder
from proctor.learn.sequencing.encoders.tiny import tiny
from proctor.learn.sequencing.encoders.tokenizers import WordTokenizer
from proctor.learn.sequencing.training import Protocol
from proctor.records import Json

__all__ = ["open_encoder", "rebuild"]

_SEES: Final[Mapping[str, Shown]] = {
    "text": "text",
    "clip": "image",
    "resnet": "image",
    "features": "image",
    "visualbert": "both",
    "clip-vil": "both",
}
_HOW: Final = "tiny, text:FOLDER, clip:FOLDER, resnet:FOLDER, features:FOLDER, visualbert:FOLDER+FEATURES or clip-vil:FOLDER+FOLDER"


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
        UserError: if there is no such encoder, it does not see what is shown, or its folder does not hold it; MissingExtraError
            without transformers.
    """
    kind, _, place = spec.partition(":")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if kind == "tiny":
            side = 8 if spec == kind else int(place) if place.isascii() and place.isdigit() else 0
            if side % 4 or not 4 <= side <= 224:
                hint = "give tiny, or a multiple of 4 up to 224: tiny:16, tiny:32"
                raise UserError(f"pictures cannot have {place!r} pixels.", where=spec, hint=hint)
            return tiny(shown, WordTokenizer.of(texts if shown != "image" else ()), side)
        sees = _SEES.get(kind)
        if sees is None or not place:
            wrong = f"there is no encoder '{kind}'" if sees is None else "it names no folder"
            raise UserError(f"{wrong}.", where=spec, hint=f"give {_HOW}")
        if sees != shown:
            raise UserError(
                f"this encoder is for the modality {sees}, but {shown} is shown.",
                where=spec,
                hint=f"give --modality {sees}, or {' or '.join(k for k in _SEES if _SEES[k] == shown)}",
            )
        description: dict[str, Json] = {"encoder": spec, "shown": shown, "protocol": protocol}
        if sees == "image":
            return image_encoder(open_pictures(place, protocol), description, 0 if protocol == "code" else 2)
        folder, _, pictures = place.partition("+") if sees == "both" else (place, "", "")
        if sees == "both" and not pictures:
            raise UserError(
                "it names no pictures: a transformer of texts and their source are needed.",
                where=spec,
                hint=f"give {kind}:FOLDER+FOLDER; features of regions are made before, an .npy file for each picture",
            )
        tower = open_pictures(pictures, protocol) if pictures else None
        return text_encoder(
            Path(folder), description, tower, "shared" if kind == "visualbert" else "features"
        )


class _Description(msgspec.Struct):
    encoder: str
    shown: Shown
    protocol: Protocol = "right"
    identity: str | None = None
    side: Annotated[int, msgspec.Meta(ge=4, le=224, multiple_of=4)] = 8
    words: list[str] = []
    buckets: Annotated[int, msgspec.Meta(ge=1)] = 1


def rebuild(description: Mapping[str, Json]) -> StepEncoder:
    """Make an encoder again from what it said of itself; its weights are loaded by whoever has them.

    Encoders from folders are opened from there once more.

    Raises:
        UserError: if the description is of no encoder, or the folder is not as it was.
    """
    try:
        said = msgspec.convert(description, _Description)
    except msgspec.ValidationError as error:
        raise UserError(
            f"the description of the encoder is damaged: {error}.", hint="train the model again"
        ) from None
    if said.encoder == "tiny":
        return tiny(said.shown, WordTokenizer(said.words, said.buckets), said.side)
    encoder = open_encoder(said.encoder, said.shown, (), protocol=said.protocol)
    if said.identity != (encoder.tokenizer.identity if encoder.tokenizer else None):
        raise UserError(
            "the tokenizer in the folder is another one than the model was trained with.",
            where=said.encoder,
            hint="restore the folder, or train the model again",
        )
    return encoder
