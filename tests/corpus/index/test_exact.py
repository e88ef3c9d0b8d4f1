"""Queries are searched in parts: the same hits, in the order of the queries, each part by one thread."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.corpus.index.exact import Found, exact_top, import_faiss, in_parts, one_thread
from proctor.errors import UserError

faiss = pytest.importorskip("faiss")


@pytest.fixture
def two_threads():
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(2)
    yield
    faiss.omp_set_num_threads(before)


def unit(number: int, dimension: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(number, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def echo(part: np.ndarray) -> list[Found]:
    return [(np.array([int(row[0])]), np.array([float(row[0])])) for row in part]


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("number", [1, 2, 3, 19, 20, 39, 40, 41, 257])
def test_parts_come_back_in_the_order_of_queries(number: int) -> None:
    queries = np.arange(number, dtype=np.float32)[:, None]
    assert [int(rows[0]) for rows, _ in in_parts(echo, queries)] == list(range(number))


@pytest.mark.usefixtures("two_threads")
def test_each_part_has_one_thread_and_the_caller_keeps_his() -> None:
    seen: list[tuple[int, int]] = []

    def search(part: np.ndarray) -> list[Found]:
        seen.append((len(part), faiss.omp_get_max_threads()))
        return echo(part)

    in_parts(search, np.zeros((100, 4), np.float32))
    assert sorted(seen) == [(50, 1), (50, 1)]
    assert faiss.omp_get_max_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_what_a_part_raises_reaches_the_caller() -> None:
    def search(part: np.ndarray) -> list[Found]:
        if part[0, 0] > 10:
            raise UserError("no.")
        return echo(part)

    with pytest.raises(UserError, match="no"):
        in_parts(search, np.arange(100, dtype=np.float32)[:, None])
    assert faiss.omp_get_max_threads() == 2


def test_one_thread_ends_with_its_block_also_after_an_error() -> None:
    before = faiss.omp_get_max_threads()
    seen: list[int] = []

    def fail() -> None:
        with one_thread(faiss):
            seen.append(faiss.omp_get_max_threads())
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        fail()
    assert seen == [1]
    assert faiss.omp_get_max_threads() == before


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("number", [1, 7, 19, 20, 45, 130])
def test_hits_do_not_depend_on_how_many_are_asked_together(number: int) -> None:
    vectors = unit(3_000, 48)
    queries = unit(130, 48, 5)
    whole = exact_top(queries, vectors, 7)
    for (rows, scores), (rows_, scores_) in zip(exact_top(queries[:number], vectors, 7), whole, strict=False):
        assert rows.tolist() == rows_.tolist()
        assert scores.tobytes() == scores_.tobytes()


def test_products_are_used_from_some_tens_of_queries() -> None:
    assert import_faiss().cvar.distance_compute_blas_threshold == 20
