"""Orders found with BERSON: against all orders one by one, with and without constraints."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.metrics.errors import MetricInputError

torch = pytest.importorskip("torch")
from tests.learn.sequencing.test_berson import LENGTHS, made_encoded, made_head, rows_of  # noqa: E402

from proctor.learn.sequencing import search  # noqa: E402
from proctor.learn.sequencing.pairs import Pairs  # noqa: E402
from proctor.learn.sequencing.search import decode  # noqa: E402

Order = tuple[int, ...]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(5)
    yield
    torch.set_num_threads(before)


def worths(head, encoded, n: int) -> dict[Order, float]:
    """The logarithm of the probability of every order of one sequence, teacher-forced."""
    orders = list(permutations(range(n)))
    one = Pairs.of([n])
    read = head.read(encoded, one)
    found = {}
    for order in orders:
        targets = one.targets([order])
        logs = head.log_probabilities(read, targets).gather(2, targets[..., None])
        found[order] = logs.sum().item()
    return found


@pytest.mark.parametrize("how", [{"beam": 120}, {"beam": 16}, {"search": "exact"}])
def test_it_finds_the_best_of_all_orders_in_a_mixed_batch(how: dict[str, object]) -> None:
    for seed in range(3):
        torch.manual_seed(seed)
        head, pairs = made_head(), Pairs.of(LENGTHS)
        encoded = made_encoded(pairs)
        found = decode(head, encoded, pairs, **how)
        for b, n in enumerate(LENGTHS):
            if n == 1:
                assert found[b] == (0,)
                continue
            alone = rows_of(encoded, (pairs.table[:, 0] == b).nonzero()[:, 0])
            all_of_them = worths(head, alone, n)
            assert sum(torch.tensor(list(all_of_them.values())).exp()) == pytest.approx(1, abs=1e-5)
            assert found[b] == max(all_of_them, key=all_of_them.__getitem__)


def test_scores_grow_as_they_are_teacher_forced() -> None:
    head, pairs = made_head(), Pairs.of([4, 3])
    encoded = made_encoded(pairs)
    with torch.no_grad():
        read = head.read(encoded, pairs)
        whole = search._Tree(head, read, search._needed(pairs, None)).beam(30)
        rows = whole.sample == 0
        assert len({tuple(order) for order in whole.chosen[rows].tolist()}) == 24
        for order, worth in zip(whole.chosen[rows], whole.worth[rows], strict=True):
            targets = torch.stack([order, torch.arange(4)])
            logs = head.log_probabilities(read, targets).gather(2, targets[..., None])
            assert worth.item() == pytest.approx(logs[0].sum().item(), abs=2e-6)


def test_exact_search_of_eight_steps_is_that_of_a_beam_that_keeps_all(monkeypatch) -> None:
    monkeypatch.setattr(search, "_AT_ONCE", 500)
    head, pairs = made_head(), Pairs.of([6, 8])
    encoded = made_encoded(pairs)
    exact = decode(head, encoded, pairs, search="exact", beam=1)
    assert exact == decode(head, encoded, pairs, beam=40_320)


def test_equal_steps_stay_as_they_are_presented() -> None:
    head, pairs = made_head(), Pairs.of([4])
    encoded = made_encoded(pairs)
    same = type(encoded)(*(part[:1].expand_as(part) for part in (encoded.hidden, encoded.pooled)),
                         encoded.span[:1, :1].expand_as(encoded.span))  # fmt: skip
    assert decode(head, same, pairs, beam=24) == [(0, 1, 2, 3)]
    assert decode(head, same, pairs, search="exact") == [(0, 1, 2, 3)]


@given(st.integers(0, 10_000), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4))
@settings(max_examples=25, deadline=None)
def test_constraints_are_kept_and_the_best_that_keeps_them_is_found(
    seed: int, drawn: list[tuple[int, int]]
) -> None:
    torch.manual_seed(seed)
    known = {(a, b) for a, b in drawn if a < b}  # never a cycle
    head, pairs = made_head(), Pairs.of([4, 2])
    encoded = made_encoded(pairs)
    alone = rows_of(encoded, (pairs.table[:, 0] == 0).nonzero()[:, 0])
    allowed = {
        order: worth
        for order, worth in worths(head, alone, 4).items()
        if all(order.index(a) < order.index(b) for a, b in known)
    }
    best = max(allowed, key=allowed.__getitem__)
    for how in ({"beam": 24}, {"search": "exact"}):
        assert decode(head, encoded, pairs, before=[known, [(1, 0)]], **how) == [best, (1, 0)]
    narrow = decode(head, encoded, pairs, before=[known, None], beam=1)[0]
    assert narrow in allowed


def test_what_cannot_be_decoded() -> None:
    head, pairs = made_head(), Pairs.of([9, 2])
    encoded = made_encoded(pairs)
    with pytest.raises(UserError, match="8 steps or fewer, but a sequence has 9"):
        decode(head, encoded, pairs, search="exact")
    with pytest.raises(UserError, match="a beam of 0 keeps nothing"):
        decode(head, encoded, pairs, beam=0)
    with pytest.raises(MetricInputError, match="cycle"):
        decode(head, encoded, pairs, before=[[(0, 1), (1, 0)], None])
    assert sorted(decode(head, encoded, pairs)[0]) == list(range(9))
