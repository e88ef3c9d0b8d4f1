"""BERSON: sizes, equality with its formulas, and what its losses must not depend on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from proctor.errors import UserError

torch = pytest.importorskip("torch")
from tests.learn.sequencing import plain_berson as plain  # noqa: E402

from proctor.learn.sequencing.berson import BersonHead  # noqa: E402
from proctor.learn.sequencing.encoder import Encoded  # noqa: E402
from proctor.learn.sequencing.pairs import Pairs  # noqa: E402

LENGTHS = (5, 1, 3, 2, 4)
ORDERS = [(3, 0, 4, 2, 1), (0,), (2, 0, 1), (1, 0), (1, 3, 0, 2)]
WIDTH = 16


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(3)
    yield
    torch.set_num_threads(before)


def made(lengths=LENGTHS, **how: object) -> tuple[BersonHead, Pairs, Encoded]:
    """Weights large enough that probabilities differ, and random states."""
    head, pairs = BersonHead(WIDTH, **how).eval(), Pairs.of(lengths)
    with torch.no_grad():
        for weight in head.parameters():
            weight += 0.3 * torch.randn_like(weight)
    rows = len(pairs.table)
    hidden, pooled = (torch.randn(rows, *shape, requires_grad=True) for shape in ((7, WIDTH), (WIDTH,)))
    return head, pairs, Encoded(hidden, pooled, torch.rand(rows, 2, 7) > 0.4)


def rows_of(encoded: Encoded, rows: torch.Tensor) -> Encoded:
    return Encoded(encoded.hidden[rows], encoded.pooled[rows], encoded.span[rows])


def test_sizes_are_those_released() -> None:
    with torch.device("meta"):
        heads = [BersonHead(width) for width in (1024, 768, 64)]
    # The released code makes, and never uses: a normalisation before the first attention, two relations, and a classifier.
    sizes = [
        sum(p.numel() for p in h.parameters()) + 2 * h.width + 2 * (2 * h.width + 2) + h.width + 1
        for h in heads
    ]
    assert sizes[:2] == [37_805_065, 23_636_745]
    assert [layer.widen.out_features for layer in heads[2].layers] == [192, 192]


def test_pairs_of_sequences_of_different_lengths() -> None:
    pairs = Pairs.of([2, 1, 3])
    assert pairs.table[:3].tolist() == [[0, 0, 1], [0, 1, 0], [2, 0, 1]]
    assert pairs.groups.tolist() == [[0, 1], [1, 0], [3, 4], [3, 5], [4, 3], [4, 5], [5, 3], [5, 4]]
    assert pairs.counts.tolist() == [2, 1, 3]
    assert pairs.targets([(1, 0), (0,), (2, 0, 1)]).tolist() == [[1, 0, 2], [0, 1, 2], [2, 0, 1]]
    with pytest.raises(UserError, match="without steps"):
        Pairs.of([2, 0])


def test_it_is_the_plain_version_in_values_and_gradients() -> None:
    head, pairs, encoded = made(weight=0.4)
    inputs = [encoded.hidden, encoded.pooled, *head.parameters()]
    found = head(encoded, pairs, pairs.targets(ORDERS))
    pointer, pair = plain.losses(head, encoded, LENGTHS, ORDERS)
    assert found.pointer.item() == pytest.approx(pointer.item(), abs=1e-6)
    assert found.pair.item() == pytest.approx(pair.item(), abs=1e-6)
    grads = (torch.autograd.grad(loss, inputs) for loss in (found.total, pointer + 0.4 * pair))
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other, atol=2e-6, rtol=1e-4)


def test_one_step_costs_nothing() -> None:
    head, _, encoded = made()
    single = Pairs.of([1, 1])
    found = head(rows_of(encoded, torch.arange(0)), single, single.targets([(0,), (0,)]))
    assert (found.pointer.item(), found.pair.item()) == (0.0, 0.0)


@pytest.mark.parametrize(("protocol", "independent"), [("right", True), ("paper", True), ("code", False)])
def test_neighbours_and_padding(protocol: str, independent: bool) -> None:
    head, pairs, encoded = made(protocol=protocol)
    alone = []
    for b, (n, order) in enumerate(zip(LENGTHS, ORDERS, strict=True)):
        own, part = Pairs.of([n]), rows_of(encoded, pairs.table[:, 0] == b)
        padded = torch.cat([part.hidden, torch.randn(len(part.hidden), 4, WIDTH)], 1)
        longer = Encoded(padded, part.pooled, torch.nn.functional.pad(part.span, (0, 4)))
        alone.append(head(longer, own, own.targets([order])).pointer.item())
    together = head(encoded, pairs, pairs.targets(ORDERS)).pointer.item()
    assert (together == pytest.approx(np.mean(alone), abs=1e-6)) == independent


def test_relabelling_slots_permutes_what_is_said() -> None:
    head, pairs, encoded = made([4])
    order, moved = (2, 0, 3, 1), (3, 1, 0, 2)  # slot s now shows what slot moved[s] showed
    place = {(i, j): row for row, (_, i, j) in enumerate(pairs.table.tolist())}
    again = rows_of(encoded, torch.tensor([place[moved[i], moved[j]] for _, i, j in pairs.table.tolist()]))
    first = head(encoded, pairs, pairs.targets([order]))
    second = head(again, pairs, pairs.targets([tuple(moved.index(slot) for slot in order)]))
    torch.testing.assert_close([second.pointer, second.pair], [first.pointer, first.pair])
    before, after = (head.read(e, pairs).precedence()[0] for e in (encoded, again))
    np.testing.assert_allclose(after, before[np.ix_(moved, moved)], atol=1e-6)
    np.testing.assert_allclose(before + before.T, np.ones((4, 4)), atol=1e-12)


def test_a_step_without_states_and_half_precision() -> None:
    head, pairs, encoded = made()
    targets = pairs.targets(ORDERS)
    empty = Encoded(encoded.hidden, encoded.pooled, encoded.span & (pairs.table[:, 1] != 0)[:, None, None])
    assert torch.isfinite(head(empty, pairs, targets).total)
    with torch.autocast("cpu", torch.bfloat16):
        half = head(encoded, pairs, targets).total
    half.backward()
    assert half.item() == pytest.approx(head(encoded, pairs, targets).total.item(), rel=0.05)
    assert all(torch.isfinite(weight.grad).all() for weight in head.parameters())
