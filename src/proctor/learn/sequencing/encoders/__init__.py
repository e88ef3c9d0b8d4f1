"""Encoders of steps: from scratch, or from local folders of weights; all behind ``StepEncoder``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from proctor.errors import UserError
from proctor.learn.sequencing.data import Shown
from proctor.learn.sequencing.encoder import StepEncoder
from proctor.learn.sequencing.encoders.tiny import tiny
from proctor.learn.sequencing.encoders.tokenizers import WordTokenizer
from proctor.learn.sequencing.training import Protocol
from proctor.records import Json

__all__ = ["open_encoder", "rebuild"]


def open_encoder(
    spec: str,
    shown: Shown,
    texts: Iterable[str],
    *,
    protocol: Protocol = "right",
    seed: int = 0,  # noqa: ARG001
) -> StepEncoder:
    """Open an encoder.

    Args:
        spec: ``tiny``, or ``tiny:SIDE`` for pictures of more pixels than 8 x 8.
        shown: of each step.
        texts: make the vocabulary of ``tiny``; others have their own.
        protocol: see ``training.Protocol``.
        seed: of the weights that come from no folder.

    Raises:
        UserError: if there is no such encoder, or it does not see what is shown.
    """
    kind, _, place = spec.partition(":")
    if kind == "tiny":
        side = int(place) if place.isascii() and place.isdigit() else 0 if place else 8
        if side < 4 or side % 4 or side > 224:
            raise UserError(
                f"the tiny encoder has no pictures of {place!r} pixels.",
                where=spec,
                hint="give tiny, or a multiple of 4 up to 224: tiny:16, tiny:32",
            )
        return tiny(shown, WordTokenizer.of(texts if shown != "image" else ()), side=side, seed=seed)
    raise UserError(f"there is no encoder '{kind}'.", where=spec, hint="give tiny")


class _Tiny(msgspec.Struct):
    shown: Shown
    side: int
    slots: int
    words: list[str]
    buckets: int


def rebuild(description: Mapping[str, Json]) -> StepEncoder:
    """Make an encoder again from what it said of itself; its weights are loaded by whoever has them.

    Raises:
        UserError: if the description is of no encoder.
    """
    try:
        if description.get("encoder") == "tiny":
            said = msgspec.convert(description, _Tiny)
            tokenizer = WordTokenizer(said.words, said.buckets)
            return tiny(said.shown, tokenizer, side=said.side, slots=said.slots)
    except msgspec.ValidationError as error:
        raise UserError(f"the description of the encoder is damaged: {error}.") from None
    raise UserError(f"there is no encoder {description.get('encoder')!r}.", hint="train the model again")
