"""BERSON from its formulas, by loops over sequences, pairs and times: what the batched head must be equal to, without dropout."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from proctor.learn.sequencing.berson import BersonHead
from proctor.learn.sequencing.encoder import Encoded


def losses(
    head: BersonHead, encoded: Encoded, lengths: Sequence[int], orders: Sequence[tuple[int, ...]]
) -> tuple[Tensor, Tensor]:
    """The losses of what is pointed at and of pairs."""
    pointer, pair, row = [], [], 0
    for n, order in zip(lengths, orders, strict=True):
        own: list[list[Tensor]] = [[] for _ in range(n)]
        relations = [[torch.zeros(head.width + 2) for _ in range(n)] for _ in range(n)]
        wrong = []
        for i in range(n):
            for j in (j for j in range(n) if j != i):
                hidden, pooled, span = encoded.hidden[row], encoded.pooled[row], encoded.span[row]
                row += 1
                scores = head.token(hidden)[:, 0]
                for step, there in ((i, span[0]), (j, span[1])):
                    own[step].append(scores.masked_fill(~there, -1e4).softmax(0) @ hidden)
                logits = head.relation(pooled)
                relations[i][j] = torch.cat([pooled, logits.softmax(0)])
                wrong.append(-logits.log_softmax(0)[int(order.index(i) < order.index(j))])
        none = torch.zeros(head.width)
        steps = torch.stack([_weighted(head, torch.stack(vectors)) if vectors else none for vectors in own])
        logs = _chosen(head, steps, torch.stack([torch.stack(each) for each in relations]), order)
        pointer.append(-torch.stack(logs).sum() / max(n - 1, 1))
        pair.append(torch.stack(wrong).mean() if wrong else torch.tensor(0.0))
    return torch.stack(pointer).mean(), torch.stack(pair).mean()


def _weighted(head: BersonHead, vectors: Tensor) -> Tensor:
    return (vectors @ head.edge.weight[0]).softmax(0) @ vectors


def _chosen(head: BersonHead, steps: Tensor, relations: Tensor, order: tuple[int, ...]) -> list[Tensor]:
    n, d = steps.shape
    x = steps
    for layer in head.layers:
        x = _layer(layer, x)
    x = head.norm(x)
    keys = head.key(torch.cat([steps, x], 1))
    hidden, cell = x.mean(0)[None], torch.zeros(1, d)
    logs = []
    for time in range(n):
        given = steps[order[time - 1]] if time else torch.zeros(d)
        hidden, cell = torch.lstm_cell(given[None], (hidden, cell), *head.lstm.all_weights[0])
        remain = sorted(order[time:])
        none = torch.zeros(len(remain), d + 2)
        features = [
            relations[order[time - 1], remain] if time else none,
            relations[order[time - 2], remain] if time > 1 else none,
            relations[remain][:, remain].sum(1) / n,
            relations[remain][:, remain].sum(0) / n,
        ]
        query = head.query(hidden[0]) + head.project(torch.cat(features, 1))
        logs.append(head.score(torch.tanh(query + keys[remain])).log_softmax(0)[remain.index(order[time]), 0])
    return logs


def _layer(layer: torch.nn.Module, x: Tensor) -> Tensor:
    query, key, value = layer.attend(layer.before(x)).chunk(3, 1)
    heads = [
        (query[:, part] @ key[:, part].T / math.sqrt(len(part))).softmax(1) @ value[:, part]
        for part in torch.arange(x.shape[1]).chunk(layer.heads)
    ]
    z = x + layer.join(torch.cat(heads, 1))
    inner = layer.narrow(F.gelu(layer.widen(layer.norm(z)), approximate="tanh"))
    return z + inner
