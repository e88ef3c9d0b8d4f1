"""What pretraining hides and exchanges: words, whole pictures, patches. Source: Wu et al. 2022, Section 4.2.

============================  =======================  ==============================  =======================
what                          paper, right             code (as released)              option
============================  =======================  ==============================  =======================
words masked                  k in each step with      each with a chance of 0.10,     no_shared_words: a
                              text, k = max(1, round   whatever its step               masked word wherever
                              (0.15 x the shortest))                                   its group has it
their masks                   80 % mask, 10 % another  the same                        one draw a word with
                              word, 10 % as they were                                  no_shared_words
pictures exchanged            two of them, each once   one of the two stands twice
patches exchanged             1 to w of each picture   0 to w - 1, labelled as
                                                       exchanged even if none is
patches masked in a picture   max(1, round(0.15 w))    5
masked in two pictures        less than half at the    compared by places in the
                              same patches             input, which never are equal
============================  =======================  ==============================  =======================

``paper`` and ``right`` differ in how long and how fast is trained, not here. Special tokens are never masked, and steps without a
picture never exchanged. A group in which an exchange changes nothing, since the two are equal, counts as in order. This module
imports torch: import it late.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from proctor.errors import UserError
from proctor.learn.sequencing.encoder import Tokenizer
from proctor.learn.sequencing.training import Protocol

__all__ = ["MaskedWords", "Swapped", "mask_patches", "mask_words", "swap_patches", "swap_pictures"]

_SHARE: Final = 0.15
_SHARE_RELEASED: Final = 0.10
_SWAPS: Final = 0.5
_PATCHES_RELEASED: Final = 5
_TRIES: Final = 5_000
_STUCK: Final = 50
"""Masked patches of a group are drawn anew after so many that were too much alike; after ``_TRIES`` there are none."""


@dataclass(frozen=True)
class MaskedWords:
    """Texts with words masked.

    Attributes:
        tokens: shape [M, T], as the encoder sees them.
        chosen: which are to be told, of the same shape.
    """

    tokens: Tensor
    chosen: Tensor


@dataclass(frozen=True)
class Swapped:
    """Pictures, exchanged in some groups.

    Attributes:
        images: features, shape [M, w, v].
        in_order: 1 for groups as the authors have them, 0 for exchanged ones, shape [G].
        asked: groups with two pictures or more, shape [G]; of the others nothing is asked.
    """

    images: Tensor
    in_order: Tensor
    asked: Tensor


def mask_words(
    tokens: Tensor,
    groups: Tensor,
    tokenizer: Tokenizer,
    generator: np.random.Generator,
    *,
    protocol: Protocol = "right",
    no_shared_words: bool = False,
) -> MaskedWords:
    """Mask words of groups of steps, as many in each step of a group that has any.

    Args:
        tokens: shape [M, T].
        groups: rows of them, shape [G, K], each row in one group.
        tokenizer: that they are of.
        generator: of the draws.
        protocol: ``code`` masks each word for itself.
        no_shared_words: a masked word is masked wherever its group has it, so that it cannot be copied.
    """
    words = tokens.cpu().numpy()
    ordinary = ~tokenizer.is_special(tokens).cpu().numpy()
    drawn, treated = generator.random(words.shape), generator.random(words.shape)
    chosen = ordinary & (drawn < _SHARE_RELEASED)
    others = np.flatnonzero(~tokenizer.is_special(torch.arange(tokenizer.size)).numpy())
    random_words = others[generator.integers(len(others), size=words.shape)]
    if protocol != "code":
        chosen = _balanced(ordinary, drawn, groups)
        if no_shared_words:
            _share_words(words, ordinary, chosen, (treated, random_words), groups)
    seen = np.where(chosen & (treated < 0.8), tokenizer.mask, words)
    seen = np.where(chosen & (treated >= 0.9), random_words, seen)
    device = tokens.device
    return MaskedWords(torch.from_numpy(seen).to(device), torch.from_numpy(chosen).to(device))


def _balanced(ordinary: NDArray[np.bool_], drawn: NDArray[np.float64], groups: Tensor) -> NDArray[np.bool_]:
    chosen = np.zeros_like(ordinary)
    lengths = ordinary.sum(1)
    for rows in groups.tolist():
        having = [row for row in rows if lengths[row]]
        count = max(1, round(_SHARE * min((lengths[row] for row in having), default=0)))
        for row in having:
            places = np.argsort(np.where(ordinary[row], drawn[row], 2.0), kind="stable")[:count]
            chosen[row, places] = True
    return chosen


def _share_words(
    words: NDArray[np.int64],
    ordinary: NDArray[np.bool_],
    chosen: NDArray[np.bool_],
    draws: tuple[NDArray[np.float64], NDArray[np.int64]],
    groups: Tensor,
) -> None:
    """Choose every occurrence of a chosen word in its group, and treat all of them as the first."""
    for rows in groups.numpy(force=True):
        there, words_there = chosen[rows], words[rows]
        for word in np.unique(words_there[there]).tolist():
            at = ordinary[rows] & (words_there == word)
            first = tuple(np.argwhere(at & there)[0])
            there |= at
            for drawn in draws:
                part = drawn[rows]
                part[at] = part[first]
                drawn[rows] = part
        chosen[rows] = there


def swap_pictures(
    images: Tensor,
    seen: Tensor,
    groups: Tensor,
    generator: np.random.Generator,
    *,
    protocol: Protocol = "right",
) -> Swapped:
    """Exchange two pictures of every second group, drawn by chance.

    Args:
        images: features, shape [M, w, v].
        seen: which steps have a picture, shape [M].
        groups: rows of them, shape [G, K], each row in one group.
        generator: of the draws.
        protocol: ``code`` writes one of the two twice.
    """
    rows = torch.arange(len(images))
    in_order = torch.ones(len(groups), dtype=torch.long)
    for group, one, other in _drawn_pairs(seen, groups, generator):
        changed = protocol == "code" or not torch.equal(images[one], images[other])
        rows[one], rows[other] = other, other if protocol == "code" else one
        in_order[group] = int(not changed)
    return _swapped(images[rows.to(images.device)], in_order, seen, groups)


def swap_patches(
    images: Tensor,
    seen: Tensor,
    groups: Tensor,
    generator: np.random.Generator,
    *,
    protocol: Protocol = "right",
) -> Swapped:
    """Exchange the contents of M patches of two pictures in every second group, drawn by chance, M uniform in 1..w.

    Args:
        images: features, shape [M, w, v]; places stay where they are, since none are in them.
        seen: which steps have a picture, shape [M].
        groups: rows of them, shape [G, K], each row in one group.
        generator: of the draws.
        protocol: ``code`` draws M in 0..w - 1.
    """
    patches = images.shape[1]
    flat = torch.arange(len(images) * patches)
    in_order = torch.ones(len(groups), dtype=torch.long)
    for group, one, other in _drawn_pairs(seen, groups, generator):
        count = int(generator.integers(patches)) + (protocol != "code")
        here, there = (torch.from_numpy(generator.permutation(patches)[:count]) for _ in range(2))
        first, second = one * patches + here, other * patches + there
        flat[first], flat[second] = second, first
        same = torch.equal(images[one, here], images[other, there])
        in_order[group] = int(same and protocol != "code")
    moved = images.flatten(0, 1)[flat.to(images.device)].view_as(images)
    return _swapped(moved, in_order, seen, groups)


def _drawn_pairs(
    seen: Tensor, groups: Tensor, generator: np.random.Generator
) -> Iterator[tuple[int, int, int]]:
    """Yield the groups in which something is exchanged, and the rows of two pictures, the earlier one first."""
    for number, rows in enumerate(_with_picture(seen, groups)):
        if len(rows) > 1 and generator.random() < _SWAPS:
            one, other = sorted(generator.choice(len(rows), 2, replace=False).tolist())
            yield number, rows[one], rows[other]


def _with_picture(seen: Tensor, groups: Tensor) -> list[list[int]]:
    having = seen.tolist()
    return [[row for row in rows if having[row]] for rows in groups.tolist()]


def _swapped(images: Tensor, in_order: Tensor, seen: Tensor, groups: Tensor) -> Swapped:
    asked = seen[groups].sum(1) > 1
    return Swapped(images, in_order.to(images.device), asked)


def mask_patches(
    seen: Tensor,
    groups: Tensor,
    patches: int,
    generator: np.random.Generator,
    *,
    protocol: Protocol = "right",
) -> Tensor:
    """Draw as many patches of every picture, and of two pictures of a group less than half at the same places.

    Args:
        seen: which steps have a picture, shape [M].
        groups: rows of them, shape [G, K], each row in one group.
        patches: of a picture, w.
        generator: of the draws.
        protocol: ``code`` draws 5, of each picture for itself.

    Returns:
        What is masked, shape [M, w].

    Raises:
        UserError: if pictures have too few patches for so many in a group.
    """
    masked = torch.zeros(len(seen), patches, dtype=torch.bool)
    for rows in _with_picture(seen, groups):
        if protocol == "code":
            drawn = [
                generator.permutation(patches)[:_PATCHES_RELEASED].tolist() for _ in rows
            ]  # compared by places in the input, which never are equal
        else:
            drawn = _apart(len(rows), max(1, round(_SHARE * patches)), patches, generator)
        for row, places in zip(rows, drawn, strict=True):
            masked[row, places] = True
    return masked.to(seen.device)


def _apart(pictures: int, count: int, patches: int, generator: np.random.Generator) -> list[list[int]]:
    drawn: list[list[int]] = []
    failed = 0
    while len(drawn) < pictures:
        places = generator.permutation(patches)[:count].tolist()
        if all(2 * len({*places} & {*others}) < count for others in drawn):
            drawn.append(places)
            continue
        failed += 1
        if failed > _TRIES:
            raise UserError(
                f"pictures of {patches} patches are too few to mask {count} in each of {pictures}, apart from each other.",
                hint="pretrain on fewer steps at a time, without smrm, or with larger pictures",
            )
        if failed % _STUCK == 0:
            drawn.clear()
    return drawn
