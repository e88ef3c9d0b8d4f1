"""Rows gathered from mapped matrices and batches of like length."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from proctor.learn.batches import RowTable, bucketed, flat  # noqa: E402
from proctor.learn.networks import StepNetwork  # noqa: E402


def make_table(lengths: list[int], width: int = 16, path: Path | None = None) -> RowTable:
    total = sum(lengths)
    matrix = np.random.default_rng(1).normal(size=(total, width)).astype(np.float16)
    if path is not None:
        matrix.tofile(path)
        matrix = np.memmap(path, np.float16, "r", shape=(total, width))
    ends = np.cumsum([0, *lengths])
    items = [np.arange(a, b) for a, b in pairwise(ends)]
    return RowTable.of([matrix], [items], lengths)


def test_rows_come_from_their_matrices() -> None:
    first = np.arange(20, dtype=np.float16).reshape(10, 2)
    second = -1 - np.arange(10, dtype=np.float16).reshape(10, 1)
    rows = [[np.array([3, 4]), np.array([9])], [np.array([1, -1]), np.array([0])]]
    table = RowTable.of([first, second], rows, [2, 1])
    assert (len(table), table.widths, table.lengths.tolist()) == (2, (2, 1), [2, 1])
    assert table.gather(np.array([0, 1, 2])).tolist() == [[6, 7, -2], [8, 9, 0], [18, 19, -1]]
    batch = table.batch(np.array([1, 0]))
    assert batch.mask.tolist() == [[True, False], [True, True]]
    assert batch.x[0].tolist() == [[18, 19, -1], [0, 0, 0]]
    assert batch.x.dtype == torch.float32


def test_what_is_no_number_is_told_to_no_network() -> None:
    matrix = np.array([[np.nan, np.inf, -np.inf, 2]], dtype=np.float16)
    table = RowTable.of([matrix], [[np.array([0])]], [1])
    assert table.gather(np.array([0])).tolist() == [[0, 1, -1, 2]]
    assert np.isnan(matrix[0, 0])  # the matrix is as it was


@pytest.mark.parametrize("variant", ["v1", "v2"])
def test_a_batch_equals_its_items_one_by_one(variant: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    table = make_table([5, 1, 17, 9, 9, 30], path=tmp_path / "rows.f16")
    network = StepNetwork([16], variant).eval()  # type: ignore[arg-type]
    with torch.no_grad():
        batch = table.batch(np.arange(6))
        together = network(batch.x, batch.mask)
        for item in range(6):
            one = table.batch(np.array([item]))
            alone = network(one.x, one.mask)[0]
            assert torch.allclose(together[item, : len(alone)], alone, atol=1e-5)


def test_buckets_hold_every_item_once_with_little_padding() -> None:
    lengths = np.random.default_rng(0).integers(1, 400, 1000)
    items = np.arange(100, 1000)
    found = bucketed(lengths, items, 32, np.random.default_rng(5))
    assert sorted(np.concatenate(found).tolist()) == items.tolist()
    assert all(len(batch) <= 32 for batch in found)
    padded = sum(lengths[batch].max() * len(batch) for batch in found)
    assert padded < 1.1 * lengths[items].sum()
    tops = [int(lengths[batch].max()) for batch in found]
    assert tops != sorted(tops)


def test_order_is_the_generators() -> None:
    lengths, items = np.full(50, 3), np.arange(50)

    def drawn(seed: int) -> list[list[int]]:
        return [b.tolist() for b in bucketed(lengths, items, 8, np.random.default_rng(seed))]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert np.concatenate(bucketed(lengths, items, 8)).tolist() == items.tolist()


def test_long_items_make_small_batches() -> None:
    lengths = np.array([10] * 30 + [1000])
    found = bucketed(lengths, np.arange(31), 32, most_rows=100)
    assert [len(batch) for batch in found] == [10, 10, 10, 1]
    uneven = np.arange(1, 41)
    found = bucketed(uneven, np.arange(40), 32, most_rows=100)
    assert all(uneven[batch].max() * len(batch) <= 100 for batch in found)
    assert (len(found[0]), sum(map(len, found))) == (10, 40)


def test_flat_rows_leave_the_padding_out() -> None:
    table = make_table([4, 2, 3])
    found = flat(table, np.array([0, 2]), 3, np.random.default_rng(0))
    assert [len(batch) for batch in found] == [3, 3, 1]
    assert sorted(np.concatenate(found).tolist()) == [0, 1, 2, 3, 6, 7, 8]
