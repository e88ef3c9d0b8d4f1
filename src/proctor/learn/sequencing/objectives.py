"""What pretraining asks of an encoder: hidden words, whether pictures are in order, and which patch was where.

Heads on top of the encoder answer; the encoder is kept, and they are thrown away. Source: Wu et al. 2022, Section 4.2. This
module imports torch: import it late.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from proctor.learn.sequencing.encoder import Encoded, StepEncoder, Steps
from proctor.learn.sequencing.masking import mask_patches, mask_words, swap
from proctor.learn.sequencing.training import Objective, Protocol

__all__ = ["Objectives"]

_RELEASED_WEIGHT = 0.2
"""Of SMRM, on the sum over a batch of four; the paper names no weight."""


class Objectives(nn.Module):
    """An encoder and the heads that it is pretrained with.

    A masked place is to be matched with its patch as it is fed in, or, with the target ``output``, with its state when nothing is
    masked (one more pass).
    """

    def __init__(
        self,
        encoder: StepEncoder,
        enabled: Sequence[Objective],
        *,
        protocol: Protocol = "right",
        target: Literal["input", "output"] = "input",
    ) -> None:
        super().__init__()
        self.encoder, self.enabled = encoder, tuple(enabled)
        self.protocol, self.target = protocol, target
        width = encoder.width
        if "mlm" in enabled and encoder.tokenizer is not None:
            size = encoder.tokenizer.size
            tables = [
                m for m in encoder.modules() if isinstance(m, nn.Embedding) and m.num_embeddings >= size
            ]
            # Words are told by the embeddings that read them: of all tables that are large enough the smallest.
            table = min(tables, key=lambda table: table.num_embeddings)
            last = nn.Linear(width, table.num_embeddings)
            last.weight = table.weight
            norm = nn.LayerNorm(width)
            # Embeddings from scratch are large: without this all words but one would seem impossible at first.
            nn.init.constant_(norm.weight, min(1.0, float(1 / (table.weight.detach().std() * width**0.5))))
            self.words = nn.Sequential(nn.Linear(width, width), nn.GELU(), norm, last)
        for name in ("isp", "pisp"):
            if name in enabled:
                self.add_module(name, nn.Linear(width, 2))
        if "smrm" in enabled:
            inner = 2 * width  # of a state and a candidate
            self.smrm = nn.Sequential(
                nn.Linear(inner, inner), nn.GELU(), nn.LayerNorm(inner), nn.Linear(inner, 1)
            )

    def turns(self) -> tuple[Objective, ...]:
        """Objectives of which one is drawn for each batch: exchanging and masking patches at once would confound."""
        return tuple(name for name in self.enabled if name != "mlm")

    def losses(
        self, steps: Steps, groups: Tensor, turn: Objective | None, generator: np.random.Generator
    ) -> dict[Objective, Tensor]:
        """Return the loss of hidden words, if these are asked for, and of the objective whose turn it is.

        Groups are rows in authored order, [G, K], each row in one group.
        """
        whole = steps if steps.images is None else steps.having(images=self.encoder.see(steps.images))
        shown, chosen = whole, None
        if "mlm" in self.enabled and whole.tokens is not None and self.encoder.tokenizer is not None:
            tokens, chosen = mask_words(
                whole.tokens, groups, self.encoder.tokenizer, generator, self.protocol
            )
            shown = shown.having(tokens=tokens)
        found: dict[Objective, Tensor] = {}
        if turn is None or shown.images is None or shown.seen is None:
            encoded = self.encoder(shown, groups)
        elif turn == "smrm":
            patches = shown.images.shape[1]
            masked = mask_patches(shown.seen, groups, patches, generator, self.protocol)
            encoded = self.encoder(shown.having(masked=masked), groups)
            found[turn] = self._matching(encoded, masked, whole, groups, generator)
        else:
            swapped = swap(
                shown.images, shown.seen, groups, generator, whole=turn == "isp", protocol=self.protocol
            )
            encoded = self.encoder(shown.having(images=swapped.images), groups)
            logits = self.get_submodule(turn)(encoded.pooled[swapped.asked])
            found[turn] = _mean_entropy(logits, swapped.in_order[swapped.asked])
        if chosen is not None and whole.tokens is not None:
            assert encoded.token_at is not None
            at = torch.nonzero(chosen[groups], as_tuple=True)
            states = encoded.hidden[at[0], encoded.token_at[at]]
            found["mlm"] = _mean_entropy(self.words(states), whole.tokens[groups][at])
        return found

    def _matching(
        self, encoded: Encoded, masked: Tensor, whole: Steps, groups: Tensor, generator: np.random.Generator
    ) -> Tensor:
        """Cross-entropy of the patch at each masked place among all masked patches of its group."""
        assert encoded.patch_at is not None
        assert encoded.patch_in is not None
        hidden_places = masked[groups].flatten(1)
        count = int(hidden_places.sum(1).max()) if len(groups) else 0
        if not count:
            return encoded.pooled.sum() * 0
        # Masked places first; groups with fewer pictures have fewer, and are padded.
        at = torch.argsort(~hidden_places, dim=1, stable=True)[:, :count]
        valid = hidden_places.gather(1, at)
        places = encoded.patch_at.flatten(1).gather(1, at).clamp_min(0)
        states = _rows(encoded.hidden, places)
        if self.target == "input":
            targets = _rows(encoded.patch_in[groups].flatten(1, 2), at)
        else:
            with torch.no_grad():
                targets = _rows(self.encoder(whole, groups).hidden, places)
        # Candidates in an order of its own for each masked place; in the code one for all of a group.
        drawn = generator.random((len(groups), 1 if self.protocol == "code" else count, count))
        order = torch.from_numpy(np.argsort(drawn, axis=-1)).expand(-1, count, -1).to(at.device)
        rows = torch.arange(len(groups), device=at.device)[:, None, None]
        candidates = targets[rows, order]
        scores = self.smrm(torch.cat([states[:, :, None].expand_as(candidates), candidates], -1))[..., 0]
        scores = scores.masked_fill(~valid[rows, order], torch.finfo(scores.dtype).min)
        right = (order == torch.arange(count, device=at.device)[:, None]).long().argmax(-1)
        losses = functional.cross_entropy(scores.flatten(0, 1).float(), right.flatten(), reduction="none")
        losses = losses.view_as(right) * valid
        if self.protocol == "code":
            return _RELEASED_WEIGHT * (losses.sum(1) / valid.sum(1).clamp_min(1)).sum()
        return losses.sum() / valid.sum()


def _rows(states: Tensor, places: Tensor) -> Tensor:
    return states.gather(1, places[..., None].expand(-1, -1, states.shape[-1]))


def _mean_entropy(logits: Tensor, right: Tensor) -> Tensor:
    """Mean cross-entropy; of nothing 0, with a gradient of 0."""
    summed = functional.cross_entropy(logits.float(), right, reduction="sum")
    return summed / max(1, len(right))
