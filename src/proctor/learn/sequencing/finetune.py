"""BERSON trained to put shuffled steps in order: an encoder, pretrained if that is asked for, and its head.

Every access shuffles a sequence anew, except for dev. Pairs of steps grow with the square of their number: ``paper`` and ``code``
learn from the first five steps, as published; ``right`` learns from some of the steps of a long sequence, drawn anew each time, and
orders all of them. The weights are chosen on dev, and test is never looked at. Source: Wu et al. 2022, Section 5 and Table 11.
This module imports torch: import it late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, Literal, Self, TypeVar

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from proctor.errors import UserError
from proctor.learn.checkpoints import Checkpoint, write_checkpoint
from proctor.learn.sequencing.berson import BersonHead, Losses
from proctor.learn.sequencing.data import MODALITY, Ordered, Presented, Shown, presented
from proctor.learn.sequencing.encoder import Description, Encoded, StepEncoder, Steps
from proctor.learn.sequencing.encoders import open_encoder, rebuild
from proctor.learn.sequencing.inputs import Inputs
from proctor.learn.sequencing.pairs import Pairs
from proctor.learn.sequencing.pretrain import Shuffled, pretrain, risen
from proctor.learn.sequencing.search import Search, decode
from proctor.learn.sequencing.training import Protocol, TrainedOrder, Training
from proctor.learn.settings import TrainSettings
from proctor.learn.trainer import fit, load_weights, seeded
from proctor.metrics.ordering import measure_orders
from proctor.procedure.manual import Sequence as Steplist
from proctor.records import Json, content_hash, read_json, write_json

__all__ = ["BersonModel", "OrderNetwork", "train_berson", "train_network", "usual_training"]

Head = TypeVar("Head", bound=nn.Module)

FIRST: Final = 5
"""Steps of a sequence that ``paper`` and ``code`` learn from, the first ones; ``right`` learns from so many drawn ones at a time."""
_EXACT: Final = 5
"""Steps up to which all orders are searched; of more a beam is kept."""
_AT_ONCE: Final = 512
"""Pairs that are encoded together when nothing is learned, and in any case on a GPU."""
_LIKE: Final = 64
"""Pairs of like length that a CPU encodes together."""
_WARM: Final = 100
"""Batches in which the released rate rises."""
_WEIGHTS: Final = "weights.pt"


def usual_training(protocol: Protocol, encoder: str, shown: Shown, sequences: int) -> TrainSettings:
    """Return how a protocol fine-tunes. The tiny encoder begins from nothing: it has rates and epochs of its own in all of them.

    The released code lowers the rate along a line; here it is a cosine.
    """
    paper = TrainSettings(
        epochs=10 if shown == "both" else 5, batch=4, lr=5e-6, weight_decay=0.0, clip=None, patience=None, plateau=None,
        pos_weight=1.0,
    )  # fmt: skip
    falling = msgspec.structs.replace(paper, clip=1.0, lowest_lr=0.0, optimiser="adamw")
    if encoder.startswith("tiny"):
        # About 25 batches of a rising rate, and 300 in all or more. On real manuals (docs/sequencing.md) tau on dev rises by 0.02,
        # 0.01 and 0.00 in the second to the fourth epoch; a higher rate gave less, and so did more dropout with hidden words.
        each = max(1, sequences // 12)
        epochs = max(4, -(-300 // each))
        return msgspec.structs.replace(
            falling, epochs=epochs, batch=12, lr=1e-3, weight_decay=0.01, warmup=max(1, min(25 // each, epochs // 4)),
        )  # fmt: skip
    if protocol == "paper":
        return paper
    if protocol == "code":
        return msgspec.structs.replace(falling, epochs=4, batch=1, warmup=min(1, _WARM // max(1, sequences)))
    return msgspec.structs.replace(falling, warmup=1)


class Saved(msgspec.Struct, frozen=True):
    """What is needed to make a network again, without weights."""

    model: Literal["berson", "pairs"]
    shown: Shown
    goal: bool
    protocol: Protocol
    encoder: Description


class OrderNetwork(nn.Module, Generic[Head]):
    """An encoder of pairs of steps, and a head that reads what it says of them; paths of pictures are relative to ``root``."""

    model: Literal["berson", "pairs"] = "berson"
    file = "model.json"
    states = True
    """Whether the head reads states of tokens; where it does not they are not kept."""
    most = FIRST
    """Steps of a sequence that are learned from at a time."""

    def __init__(
        self,
        encoder: StepEncoder,
        shown: Shown,
        *,
        goal: bool = False,
        root: Path = Path(),
        protocol: Protocol = "right",
    ) -> None:
        super().__init__()
        self.shown, self.goal, self.root, self.protocol = shown, goal, root, protocol
        self.encoder, self.head = encoder, self.make_head(encoder.width)
        self.dropped: dict[str, int] = {}  # of the steps that were read last, by reason

    def make_head(self, width: int) -> Head:
        """Return a head for an encoder of a width."""
        raise NotImplementedError

    def read(self, shown: Sequence[Presented]) -> tuple[Inputs, list[Tensor]]:
        """Return the inputs of sequences, and the rows of each as it is presented."""
        inputs = Inputs.read([p.sequence for p in shown], self.encoder, self.root, goal=self.goal)
        self.dropped = dict(Counter(dropped.reason for dropped in inputs.dropped))
        return inputs, [inputs.rows[p.sequence.id][list(p.slots)] for p in shown]

    def encoded(self, inputs: Inputs, rows: Sequence[Tensor]) -> Iterator[tuple[list[int], Pairs, Encoded]]:
        """Yield which lists of two rows or more, of like length, are encoded at once, their pairs, and what is said of them."""
        left = sorted((i for i, r in enumerate(rows) if len(r) > 1), key=lambda i: len(rows[i]))
        while left:
            count = 1
            while count < len(left) and (n := len(rows[left[count]])) * (n - 1) * (count + 1) <= _AT_ONCE:
                count += 1
            items, left = left[:count], left[count:]
            steps = inputs.take(torch.cat([rows[i] for i in items]))
            yield items, *self.encode(steps, [len(rows[i]) for i in items])

    def encode(self, steps: Steps, lengths: Sequence[int]) -> tuple[Pairs, Encoded]:
        """Encode all pairs of steps of sequences of these lengths, whose steps stand one after another."""
        device = next(self.head.parameters()).device
        steps, pairs = steps.to(device), Pairs.of(lengths).to(device)
        if steps.images is not None:  # each picture is seen once, not once a pair
            steps = steps.having(images=self.encoder.see(steps.images))
        groups, most = pairs.groups, _LIKE if device.type == "cpu" else _AT_ONCE
        if len(groups) <= most:
            return pairs, self.encoder(steps, groups)
        # Those of like length together: on a CPU it is padding that takes the time, on a GPU it is memory.
        order = torch.arange(len(groups), device=device)
        if steps.tokens is not None and self.encoder.tokenizer is not None:
            lengths_of = (steps.tokens != self.encoder.tokenizer.pad).sum(1)
            order = torch.argsort(lengths_of[groups].sum(1), stable=True)
        parts = [self.encoder(steps, part) for part in torch.split(groups[order], most)]
        longest = max(part.hidden.shape[1] for part in parts) if self.states else 0
        back, pad = torch.argsort(order), nn.functional.pad
        return pairs, Encoded(
            torch.cat([pad(p.hidden, (0, 0, 0, longest - p.hidden.shape[1])) for p in parts])[back],
            torch.cat([p.pooled for p in parts])[back],
            torch.cat([pad(p.span, (0, longest - p.span.shape[2])) for p in parts])[back],
        )

    def figure(self, inputs: Inputs, dev: Sequence[Steplist]) -> float:
        """Return what the epoch is chosen by, higher is better."""
        raise NotImplementedError

    def loss(self, inputs: Inputs, sequences: Sequence[Tensor], generator: np.random.Generator) -> Tensor:
        """Return the loss of rows in authored order, ``most`` of each at most, drawn and shuffled."""
        drawn = [generator.permutation(len(rows))[: self.most] for rows in sequences]
        steps = inputs.take(torch.cat([rows[d] for rows, d in zip(sequences, drawn, strict=True)]))
        pairs, encoded = self.encode(steps, [len(d) for d in drawn])
        losses: Losses = self.head(
            encoded, pairs, pairs.targets([tuple(np.argsort(d).tolist()) for d in drawn])
        )
        return losses.total

    def save(self, folder: Path) -> None:
        """Write ``weights.pt``, and then what is needed to make the network again."""
        folder.mkdir(parents=True, exist_ok=True)
        write_checkpoint(folder / _WEIGHTS, Checkpoint({}, {}, self.state_dict()))
        told = Saved(self.model, self.shown, self.goal, self.protocol, self.encoder.description)
        write_json(folder / self.file, told)

    @classmethod
    def load(cls, folder: Path, root: Path = Path()) -> Self:
        """Read what ``save`` wrote.

        Raises:
            UserError: if it is no such folder, or a file is damaged.
        """
        saved: Saved = read_json(folder / cls.file, Saved)
        network = cls(
            rebuild(saved.encoder), saved.shown, goal=saved.goal, root=root, protocol=saved.protocol
        )
        load_weights(folder / _WEIGHTS, network)
        network.eval()
        return network


Network = TypeVar("Network", bound=OrderNetwork[Any])


class BersonModel(OrderNetwork[BersonHead]):
    """Puts steps in order with an encoder of pairs and BERSON's head; an ``OrderModel``."""

    def make_head(self, width: int) -> BersonHead:
        """Return BERSON."""
        return BersonHead(width, protocol=self.protocol)

    def predict(self, shown: Sequence[Presented]) -> list[Ordered]:
        """Return an order for each, with the probabilities of its pairs."""
        inputs, rows = self.read(shown)
        self.eval()
        with torch.inference_mode():
            return self.order(inputs, rows)

    def order(self, inputs: Inputs, rows: Sequence[Tensor]) -> list[Ordered]:
        """Return an order for each list of rows, as they are presented."""
        found = {i: Ordered((0,), np.full((1, 1), 0.5)) for i, r in enumerate(rows) if len(r) == 1}
        for items, pairs, encoded in self.encoded(inputs, rows):
            search: Search = "exact" if pairs.valid.shape[1] <= _EXACT else "beam"
            orders = decode(self.head, encoded, pairs, search=search)
            likely = self.head.read(encoded, pairs).precedence()
            for item, order, matrix in zip(items, orders, likely, strict=True):
                np.fill_diagonal(matrix, 0.5)
                found[item] = Ordered(order, matrix)
        return [found[i] for i in range(len(rows))]

    def figure(self, inputs: Inputs, dev: Sequence[Steplist]) -> float:
        """Return tau on dev, or as the released code position accuracy and perfect matches."""
        shown = presented(dev, self.shown)
        orders = self.order(inputs, [inputs.rows[p.sequence.id][list(p.slots)] for p in shown])
        measures = measure_orders([p.targets for p in shown], [o.order for o in orders]).means()
        if self.protocol == "right":
            return measures["kendall_tau"]
        return measures["position_accuracy"] + measures["perfect_match_ratio"]


def train_berson(training: Training) -> TrainedOrder:
    """Train BERSON, after pretraining its encoder where objectives are named.

    Raises:
        UserError: as ``train_network``.
    """
    most = None if training.protocol == "right" else FIRST
    train, dev = (
        # References and graphs are of all steps, and nothing here is learned from them.
        [replace(s, steps=s.steps[:most], references={}, before=None) for s in part]
        for part in (training.parts.train, training.parts.dev)
    )
    several = sum(len(s.steps) > 1 for s in train)
    usual = usual_training(training.protocol, training.encoder, training.shown, several)
    model, chosen, dropped = train_network(training, (train, dev), BersonModel, usual)
    return TrainedOrder(model=model, chosen=chosen, dropped=dropped)


def train_network(
    training: Training, parts: Sequence[Sequence[Steplist]], kind: type[Network], usual: TrainSettings
) -> tuple[Network, dict[str, Json], dict[str, int]]:  # fmt: skip
    """Train a network on one part and choose on the other; sequences of one step are left out.

    The options of the training go before usual settings.

    Returns:
        The network, what stands in the record, and what could not be read, by reason.

    Raises:
        UserError: if there is nothing to train or to choose on, the encoder cannot be opened, or as ``trainer.fit``.
    """
    train, dev = ([s for s in part if len(s.steps) > 1] for part in parts)
    if not train or not dev:
        raise UserError(
            "no sequence of two steps is there to train on, or none to choose on.", hint="give more sequences"
        )
    shown, goal, protocol = training.shown, training.goal, training.protocol
    texts = [step.text for s in train for step in s.steps] if shown != "image" else []
    if goal and texts:
        texts = [*(s.goal for s in train), *texts]
    encoder = open_encoder(training.encoder, shown, texts, protocol=protocol, seed=training.seed)
    with seeded(training.seed):
        network = kind(encoder, shown, goal=goal, root=training.root, protocol=protocol)
    views = [s.view(MODALITY[shown]) for s in (*train, *dev)]
    inputs, _ = network.read([Presented(s, s.authored) for s in views])
    dropped = network.dropped
    about: dict[str, Json] = {
        "data": content_hash([[s.id, s.goal, [[t.text, list(t.images)] for t in s.steps]] for s in views]),
        "encoder": content_hash(msgspec.to_builtins(encoder.description)), "protocol": protocol, "goal": goal,
    }  # fmt: skip
    rows = [[inputs.rows[s.id] for s in part] for part in (train, dev)]
    chosen: dict[str, Json] = {}
    if training.pretrain:
        chosen["pretraining"] = pretrain(encoder, inputs, rows[0], rows[1], training, about)
    settings = training.options.over(usual)
    learner = Shuffled(
        network, rows[0], settings.batch, partial(network.loss, inputs), partial(network.figure, inputs, dev)
    )
    about |= {"stage": "finetuning", "head": type(network).__name__, "pretrained": sorted(training.pretrain)}
    folder = training.folder and training.folder / "finetune"
    trained = fit(learner, risen(settings), folder, seed=training.seed, about=about, show=training.show)
    chosen |= {**trained.chosen, "parameters": sum(p.numel() for p in network.parameters())}
    return network, chosen, dropped
