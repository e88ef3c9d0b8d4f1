"""BERSON from its formulas, with loops over sequences, pairs and times: what the batched head must be equal to, weight for weight."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from proctor.learn.sequencing.berson import BersonHead, _Layer
from proctor.learn.sequencing.encoder import Encoded

Order = tuple[int, ...]


def losses(
    head: BersonHead, encoded: Encoded, lengths: Sequence[int], orders: Sequence[Order]
) -> tuple[Tensor, Tensor]:
    """The losses of what is pointed at and of pairs; no dropout."""
    pointer, pair, row = [], [], 0
    for n, order in zip(lengths, orders, strict=True):
        steps, relations, logits = read(head, encoded, row, n)
        row += n * (n - 1)
        logs = chosen(head, steps, relations, order)
        pointer.append(-sum(logs[1:], logs[0]) / max(n - 1, 1))
        wrong = [
            F.cross_entropy(logit, torch.tensor(int(order.index(i) < order.index(j))))
            for (i, j), logit in logits.items()
        ]
        pair.append(sum(wrong, torch.tensor(0.0)) / max(len(wrong), 1))
    return torch.stack(pointer).mean(), torch.stack(pair).mean()


def read(
    head: BersonHead, encoded: Encoded, row: int, n: int
) -> tuple[Tensor, Tensor, dict[tuple[int, int], Tensor]]:
    """Vectors of the steps, [N, d]; relations, [N, N, d + 2]; logits of each pair."""
    own: list[list[Tensor]] = [[] for _ in range(n)]
    relations = [[torch.zeros(head.width + 2) for _ in range(n)] for _ in range(n)]
    logits = {}
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            hidden, pooled, span = encoded.hidden[row], encoded.pooled[row], encoded.span[row]
            row += 1
            scores = head.token(hidden)[:, 0]
            for step, there in ((i, span[0]), (j, span[1])):
                own[step].append(scores.masked_fill(~there, -1e4).softmax(0) @ hidden)
            logits[i, j] = head.relation.weight @ pooled + head.relation.bias
            relations[i][j] = torch.cat([pooled, logits[i, j].softmax(0)])
    steps = []
    for vectors in own:
        if not vectors:
            steps.append(torch.zeros(head.width))
            continue
        stacked = torch.stack(vectors)
        steps.append((stacked @ head.edge.weight[0]).softmax(0) @ stacked)
    return torch.stack(steps), torch.stack([torch.stack(each) for each in relations]), logits


def chosen(head: BersonHead, steps: Tensor, relations: Tensor, order: Order) -> list[Tensor]:
    """Logarithm of the probability of each step of the order after those before it."""
    n, d = steps.shape
    x = steps
    for layer in head.layers:
        assert isinstance(layer, _Layer)
        x = _layer(layer, x)
    x = head.norm(x)
    keys = torch.cat([steps, x], 1) @ head.key.weight.T + head.key.bias
    hidden, cell = x.mean(0), torch.zeros(d)
    logs = []
    for time in range(n):
        given = steps[order[time - 1]] if time else torch.zeros(d)
        hidden, cell = _lstm(head, given, hidden, cell)
        remain = sorted(order[time:])
        none = torch.zeros(len(remain), d + 2)
        features = torch.cat(
            [
                relations[order[time - 1], remain] if time else none,
                relations[order[time - 2], remain] if time > 1 else none,
                relations[remain][:, remain].sum(1) / n,
                relations[remain][:, remain].sum(0) / n,
            ],
            1,
        )
        query = head.query.weight @ hidden + head.query.bias
        scores = head.score(torch.tanh(query + features @ head.project.weight.T + keys[remain]))[:, 0]
        logs.append(scores.log_softmax(0)[remain.index(order[time])])
    return logs


def _layer(layer: _Layer, x: Tensor) -> Tensor:
    query, key, value = layer.attend(layer.before(x)).chunk(3, 1)
    heads = []
    for part in torch.arange(x.shape[1]).chunk(layer.heads):
        shares = (query[:, part] @ key[:, part].T / math.sqrt(len(part))).softmax(1)
        heads.append(shares @ value[:, part])
    z = x + layer.join(torch.cat(heads, 1))
    inner: Tensor = layer.widen(layer.norm(z))
    tanh = torch.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3))
    return z + layer.narrow(0.5 * inner * (1 + tanh))


def _lstm(head: BersonHead, x: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    lstm = head.lstm
    gates = lstm.weight_ih_l0 @ x + lstm.bias_ih_l0 + lstm.weight_hh_l0 @ hidden + lstm.bias_hh_l0
    enter, forget, new, leave = gates.chunk(4)
    cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
    return leave.sigmoid() * cell.tanh(), cell
