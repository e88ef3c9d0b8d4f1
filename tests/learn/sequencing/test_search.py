"""Orders found with BERSON: against all orders one by one, with and without constraints."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.metrics.errors import MetricInputError

torch = pytest.importorskip("torch")
from tests.learn.sequencing.test_berson import LENGTHS, WIDTH, _one_thread, made, rows_of  # noqa: E402, F401

from proctor.learn.sequencing import search  # noqa: E402
from proctor.learn.sequencing.pairs import Pairs  # noqa: E402
from proctor.learn.sequencing.search import decode  # noqa: E402


def worths(head, pairs, encoded, b: int) -> dict[tuple[int, ...], float]:
    """The logarithm of the probability of every order of sequence b, teacher-forced, alone."""
    n = int(pairs.counts[b])
    one = Pairs.of([n])
    read = head.read(rows_of(encoded, pairs.table[:, 0] == b), one)
    found = {}
    for order in permutations(range(n)):
        targets = one.targets([order])
        found[order] = head.log_probabilities(read, targets).gather(2, targets[..., None]).sum().item()
    return found


@pytest.mark.parametrize("how", [{"beam": 120}, {"search": "exact"}])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_best_of_all_orders_in_a_batch_of_different_lengths(seed: int, how: dict[str, object]) -> None:
    torch.manual_seed(seed)
    head, pairs, encoded = made()
    each = [worths(head, pairs, encoded, b) for b in range(len(LENGTHS))]
    assert sum(torch.tensor(list(each[0].values())).exp()) == pytest.approx(1, abs=1e-5)
    assert decode(head, encoded, pairs, **how) == [max(one, key=one.__getitem__) for one in each]
    with torch.no_grad():
        whole = search._Tree(head, head.read(encoded, pairs), search._needed(pairs, None)).beam(120)
    first = zip(whole.chosen[:120].tolist(), whole.worth[:120].tolist(), strict=True)
    assert {tuple(o): worth for o, worth in first} == {
        o: pytest.approx(w, abs=2e-6) for o, w in each[0].items()
    }


def test_exact_search_of_eight_steps_is_a_beam_that_keeps_all(monkeypatch) -> None:
    monkeypatch.setattr(search, "_AT_ONCE", 500 * 8 * WIDTH)
    torch.manual_seed(2)
    head, pairs, encoded = made([6, 8])
    exact = decode(head, encoded, pairs, search="exact", beam=1)
    assert exact == decode(head, encoded, pairs, beam=40_320)


@pytest.mark.parametrize(("n", "how"), [(4, {"search": "exact"}), (4, {"beam": 24}), (10, {}), (12, {})])
def test_equal_steps_stay_as_they_are_presented(n: int, how: dict[str, object]) -> None:
    head, pairs, encoded = made([n, 1])
    encoded.span[:] = True
    same = rows_of(encoded, torch.zeros(len(pairs.table), dtype=torch.long))
    assert decode(head, same, pairs, **how) == [tuple(range(n)), (0,)]


@given(st.integers(0, 10_000), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4))
@settings(max_examples=20, deadline=None)
def test_constraints_are_kept_by_the_best_that_keeps_them(seed: int, drawn: list[tuple[int, int]]) -> None:
    torch.manual_seed(seed)
    known = {(a, b) for a, b in drawn if a < b}  # never a cycle
    head, pairs, encoded = made([4, 2])
    every = worths(head, pairs, encoded, 0)
    allowed = {o: worth for o, worth in every.items() if all(o.index(a) < o.index(b) for a, b in known)}
    best = max(allowed.values())
    for how in ({"beam": 24}, {"search": "exact"}):
        first, second = decode(head, encoded, pairs, before=[known, [(1, 0)]], **how)
        assert allowed[first] == pytest.approx(best, abs=2e-5)
        assert second == (1, 0)
    assert decode(head, encoded, pairs, before=[known, None], beam=1)[0] in allowed


def test_what_cannot_be_decoded() -> None:
    head, pairs, encoded = made([9, 2])
    with pytest.raises(UserError, match="8 steps or fewer, but a sequence has 9"):
        decode(head, encoded, pairs, search="exact")
    with pytest.raises(MetricInputError, match="cycle"):
        decode(head, encoded, pairs, before=[[(0, 1), (1, 0)], None])
    assert sorted(decode(head, encoded, pairs)[0]) == list(range(9))
    torch.nn.init.constant_(head.key.bias, torch.nan)
    with pytest.raises(UserError, match="is no number"):
        decode(head, encoded, pairs)
