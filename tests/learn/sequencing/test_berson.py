"""BERSON: sizes, equality with its formulas, and what its losses must not depend on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from proctor.errors import UserError

torch = pytest.importorskip("torch")
from tests.learn.sequencing import plain_berson as plain  # noqa: E402

from proctor.learn.sequencing.berson import PAIR_WEIGHTS, BersonHead, released_size  # noqa: E402
from proctor.learn.sequencing.encoder import Encoded  # noqa: E402
from proctor.learn.sequencing.pairs import Pairs  # noqa: E402

LENGTHS = (5, 1, 3, 2, 4)
WIDTH = 16


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(3)
    yield
    torch.set_num_threads(before)


def made_head(**how: object) -> BersonHead:
    """Weights large enough that probabilities differ."""
    head = BersonHead(WIDTH, **how).eval()
    with torch.no_grad():
        for weight in head.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return head


def made_encoded(pairs: Pairs, states: int = 7) -> Encoded:
    rows = len(pairs.table)
    span = torch.rand(rows, 2, states) > 0.4
    span[:, :, 0] = True
    return Encoded(
        torch.randn(rows, states, WIDTH, requires_grad=True),
        torch.randn(rows, WIDTH, requires_grad=True),
        span,
    )


def made_orders(lengths: tuple[int, ...] = LENGTHS, seed: int = 0) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(seed)
    return [tuple(int(i) for i in rng.permutation(n)) for n in lengths]


def rows_of(encoded: Encoded, rows: torch.Tensor) -> Encoded:
    return Encoded(encoded.hidden[rows], encoded.pooled[rows], encoded.span[rows])


def test_sizes_are_those_released() -> None:
    with torch.device("meta"):
        assert released_size(BersonHead(1024)) == 37_805_065
        assert released_size(BersonHead(768)) == 23_636_745
        small = BersonHead(64)
    assert released_size(small) - sum(p.numel() for p in small.parameters()) == 2 * 64 + 4 * 64 + 4 + 64 + 1
    assert [layer.widen.out_features for layer in small.layers] == [192, 192]
    assert [layer.heads for layer in small.layers] == [4, 4]


def test_pairs_of_sequences_of_different_lengths() -> None:
    pairs = Pairs.of([2, 1, 3])
    assert pairs.table.tolist() == [
        [0, 0, 1], [0, 1, 0], [2, 0, 1], [2, 0, 2], [2, 1, 0], [2, 1, 2], [2, 2, 0], [2, 2, 1],
    ]  # fmt: skip
    assert pairs.groups.tolist() == [[0, 1], [1, 0], [3, 4], [3, 5], [4, 3], [4, 5], [5, 3], [5, 4]]
    assert pairs.counts.tolist() == [2, 1, 3]
    assert pairs.targets([(1, 0), (0,), (2, 0, 1)]).tolist() == [[1, 0, 2], [0, 1, 2], [2, 0, 1]]
    with pytest.raises(ValueError, match=r"\[0, 2\] is no permutation of 0..1"):
        pairs.targets([(0, 2), (0,), (2, 0, 1)])
    with pytest.raises(UserError, match="without steps"):
        Pairs.of([2, 0])


def test_it_is_the_plain_version_in_values_and_gradients() -> None:
    head, pairs, orders = made_head(), Pairs.of(LENGTHS), made_orders()
    encoded = made_encoded(pairs)
    inputs = [encoded.hidden, encoded.pooled, *head.parameters()]
    found = head(encoded, pairs, pairs.targets(orders))
    grads = torch.autograd.grad(found.total, inputs)
    pointer, pair = plain.losses(head, encoded, LENGTHS, orders)
    expected = torch.autograd.grad(pointer + 0.6 * pair, inputs)
    assert found.pointer.item() == pytest.approx(pointer.item(), abs=1e-6)
    assert found.pair.item() == pytest.approx(pair.item(), abs=1e-6)
    for one, other in zip(grads, expected, strict=True):
        torch.testing.assert_close(one, other, atol=2e-6, rtol=1e-4)


def test_the_last_step_costs_nothing_and_one_step_nothing_at_all() -> None:
    head, pairs, orders = made_head(), Pairs.of(LENGTHS), made_orders()
    encoded, targets = made_encoded(pairs), pairs.targets(orders)
    logs = head.log_probabilities(head.read(encoded, pairs), targets).gather(2, targets[..., None])[..., 0]
    assert [logs[b, n - 1].item() for b, n in enumerate(LENGTHS)] == [0.0] * 5
    assert (logs[0, :4] < 0).all()
    single = Pairs.of([1, 1])
    found = head(rows_of(encoded, torch.arange(0)), single, single.targets([(0,), (0,)]))
    assert (found.pointer.item(), found.pair.item()) == (0.0, 0.0)


@pytest.mark.parametrize(("protocol", "independent"), [("right", True), ("paper", True), ("code", False)])
def test_neighbours_and_padding(protocol: str, independent: bool) -> None:
    head, pairs, orders = made_head(protocol=protocol), Pairs.of(LENGTHS), made_orders()
    encoded = made_encoded(pairs)
    alone = Pairs.of([3])
    rows = (pairs.table[:, 0] == 2).nonzero()[:, 0]
    short = rows_of(encoded, rows)
    longer = Encoded(
        torch.cat([short.hidden, torch.randn(6, 4, WIDTH)], 1), short.pooled, torch.nn.functional.pad(short.span, (0, 4))
    )  # fmt: skip
    all_logs = head.log_probabilities(head.read(encoded, pairs), pairs.targets(orders))[2, :2, :3]
    remain = torch.tensor([order_left(orders[2], time) for time in range(2)])
    for part in (short, longer):
        logs = head.log_probabilities(head.read(part, alone), alone.targets([orders[2]]))[0, :2]
        near = torch.allclose(logs[remain], all_logs[remain], atol=1e-5)
        assert near == independent


def order_left(order: tuple[int, ...], time: int) -> list[bool]:
    return [slot in order[time:] for slot in range(len(order))]


def test_relabelling_slots_permutes_what_is_said() -> None:
    head, pairs = made_head(), Pairs.of([4])
    encoded, order, moved = made_encoded(pairs), (2, 0, 3, 1), (3, 1, 0, 2)
    # Slot s of the relabelled sequence shows what slot moved[s] showed.
    place = {(int(i), int(j)): row for row, (_, i, j) in enumerate(pairs.table)}
    rows = torch.tensor([place[moved[int(i)], moved[int(j)]] for _, i, j in pairs.table])
    again = tuple(moved.index(slot) for slot in order)
    first, second = (
        head(e, pairs, pairs.targets([o])) for e, o in ((encoded, order), (rows_of(encoded, rows), again))
    )
    assert second.pointer.item() == pytest.approx(first.pointer.item(), abs=1e-6)
    assert second.pair.item() == pytest.approx(first.pair.item(), abs=1e-6)
    before, after = (head.read(e, pairs).precedence()[0] for e in (encoded, rows_of(encoded, rows)))
    np.testing.assert_allclose(after, before[np.ix_(moved, moved)], atol=1e-6)
    np.testing.assert_allclose(before + before.T, np.ones((4, 4)), atol=1e-12)


def test_a_step_without_states_and_half_precision() -> None:
    head, pairs, orders = made_head(), Pairs.of(LENGTHS), made_orders()
    encoded, targets = made_encoded(pairs), pairs.targets(orders)
    empty = Encoded(encoded.hidden, encoded.pooled, encoded.span & (pairs.table[:, 1] != 0)[:, None, None])
    assert torch.isfinite(head(empty, pairs, targets).total)
    whole = head(encoded, pairs, targets).total
    with torch.autocast("cpu", torch.bfloat16):
        half = head(encoded, pairs, targets).total
    half.backward()
    assert half.item() == pytest.approx(whole.item(), rel=0.05)
    assert all(torch.isfinite(weight.grad).all() for weight in head.parameters())


def test_weights_of_pairs() -> None:
    assert PAIR_WEIGHTS["sind"] == 1.0
    head, pairs = made_head(weight=PAIR_WEIGHTS["nips"]), Pairs.of([3])
    found = head(made_encoded(pairs), pairs, pairs.targets([(2, 0, 1)]))
    assert found.total.item() == pytest.approx(found.pointer.item() + 0.1 * found.pair.item())
