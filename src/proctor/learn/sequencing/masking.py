"""What pretraining hides and exchanges: words, whole pictures, patches. Source: Wu et al. 2022, Section 4.2.

============================  =======================  ==============================
what                          paper, right             code (as released)
============================  =======================  ==============================
words masked                  k in each step with      each with a chance of 0.10,
                              text, k = max(1, round   whatever its step
                              (0.15 x the shortest))
their masks                   80 % mask, 10 % another  the same
                              word, 10 % as they were
pictures exchanged            two of them, each once   one of the two stands twice
patches exchanged             1 to w of each picture   0 to w - 1, labelled as
                                                       exchanged even if none is
patches masked in a picture   max(1, round(0.15 w))    5
masked in two pictures        less than half at the    compared by places in the
                              same patches             input, which never are equal
============================  =======================  ==============================

``paper`` and ``right`` differ in how long and how fast is trained, not here. Special tokens are never masked, and steps without a
picture never exchanged. A group in which an exchange changes nothing, since the two are equal, counts as in order. This module
imports torch: import it late.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from proctor.errors import UserError
from proctor.learn.sequencing.encoder import Tokenizer
from proctor.learn.sequencing.training import Protocol

__all__ = ["Swapped", "mask_patches", "mask_words", "swap"]

_SHARE: Final = 0.15
_SWAPS: Final = 0.5
_TRIES: Final = 5_000
_STUCK: Final = 50
"""Masked patches of a group are drawn anew after so many that were too much alike; after ``_TRIES`` there are none."""


class Swapped(NamedTuple):
    """Pictures, exchanged in some groups."""

    images: Tensor  # features, [M, w, v]
    in_order: Tensor  # 1 for groups as the authors have them, 0 for exchanged ones, [G]
    asked: Tensor  # whether the group has two pictures or more, [G]; of the others nothing is asked


def mask_words(
    tokens: Tensor, groups: Tensor, tokenizer: Tokenizer, generator: np.random.Generator, protocol: Protocol = "right"
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return words of steps [M, T], in groups [G, K] of rows, as the encoder sees them, and which are to be told, [M, T]."""
    words = tokens.cpu().numpy()
    ordinary = ~tokenizer.is_special(tokens).cpu().numpy()
    drawn, treated = generator.random(words.shape), generator.random(words.shape)
    others = np.flatnonzero(~tokenizer.is_special(torch.arange(tokenizer.size)).numpy())
    random_words = others[generator.integers(len(others), size=words.shape)]
    chosen = ordinary & (drawn < 0.10)
    if protocol != "code":
        chosen[:], lengths = False, ordinary.sum(1)
        for rows in groups.tolist():
            having = [row for row in rows if lengths[row]]
            count = max(1, round(_SHARE * min((lengths[row] for row in having), default=0)))
            for row in having:
                places = np.argsort(np.where(ordinary[row], drawn[row], 2.0), kind="stable")[:count]
                chosen[row, places] = True
    seen = np.where(chosen & (treated < 0.8), tokenizer.mask, words)
    seen = np.where(chosen & (treated >= 0.9), random_words, seen)
    return torch.from_numpy(seen).to(tokens.device), torch.from_numpy(chosen).to(tokens.device)


def swap(
    images: Tensor, seen: Tensor, groups: Tensor, generator: np.random.Generator, *,
    whole: bool, protocol: Protocol = "right",
) -> Swapped:  # fmt: skip
    """Exchange two pictures of every second group, drawn by chance: ``whole`` ones, or the contents of some of their patches.

    Images are features [M, w, v]; places are not in them, and stay where they are. ``seen`` [M] says which steps have one, and each
    row is in one of the groups [G, K].
    """
    patches, flat = images.shape[1], images.flatten(0, 1)
    source = torch.arange(len(flat))
    in_order = torch.ones(len(groups), dtype=torch.long)
    for group, rows in enumerate(_with_picture(seen, groups)):
        if len(rows) < 2 or generator.random() >= _SWAPS:
            continue
        one, other = (rows[k] for k in sorted(generator.choice(len(rows), 2, replace=False).tolist()))
        here = there = torch.arange(patches)
        if not whole:
            count = int(generator.integers(patches)) + (protocol != "code")
            here, there = (torch.from_numpy(generator.permutation(patches)[:count]) for _ in range(2))
        first, second = one * patches + here, other * patches + there
        source[first], source[second] = second, second if whole and protocol == "code" else first
        in_order[group] = int(torch.equal(flat[first], flat[second]) and protocol != "code")
    moved = flat[source.to(images.device)].view_as(images)
    return Swapped(moved, in_order.to(images.device), seen[groups].sum(1) > 1)


def mask_patches(
    seen: Tensor, groups: Tensor, patches: int, generator: np.random.Generator, protocol: Protocol = "right"
) -> Tensor:
    """Draw as many of w patches of every picture, and return which, [M, w]; see ``swap`` for the rest.

    Raises:
        UserError: if pictures have too few patches for so many in a group.
    """
    masked = torch.zeros(len(seen), patches, dtype=torch.bool)
    count = 5 if protocol == "code" else max(1, round(_SHARE * patches))
    for rows in _with_picture(seen, groups):
        drawn: list[list[int]] = []
        failed = 0
        while len(drawn) < len(rows):
            places = generator.permutation(patches)[:count].tolist()
            if protocol == "code" or all(2 * len({*places} & {*others}) < count for others in drawn):
                drawn.append(places)
                continue
            failed += 1
            if failed > _TRIES:
                raise UserError(
                    f"pictures of {patches} patches are too few to mask {count} in each of {len(rows)}, apart from each other.",
                    hint="pretrain on fewer steps at a time, without smrm, or with larger pictures",
                )
            if failed % _STUCK == 0:
                drawn.clear()
        for row, places in zip(rows, drawn, strict=True):
            masked[row, places] = True
    return masked.to(seen.device)


def _with_picture(seen: Tensor, groups: Tensor) -> list[list[int]]:
    having = seen.tolist()
    return [[row for row in rows if having[row]] for rows in groups.tolist()]
