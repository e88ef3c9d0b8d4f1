"""The six measures of many orders at once.

Everything follows from one vector a sequence: ``q[t]`` is the place in the reference of the step that the
prediction puts at ``t``. The prediction is right when q is 0, 1, 2, …; Acc counts its fixed points, Lq is its
longest increasing subsequence, Lr its longest run of ``q[t+1] = q[t] + 1``, tau counts its inversions, Dist sums
``|q[t] - t|``.

Up to seven steps there are at most 5,040 different q: their measures are computed once and looked up. Up to 64
steps all sequences of one length advance together, one pair of positions at a time; beyond, each is done alone in
O(N log N).

Source: Wu et al. 2022.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from itertools import permutations
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.inversions import count_inversions
from proctor.metrics.ordering.measures import MEASURES, Floats, Integers, OrderMeasures

__all__ = ["measure_arrays", "measure_ranks", "ranks_in_reference"]

_TABLE_STEPS: Final = 7
_TOGETHER_STEPS: Final = 64
_BITS: Final = 3
"""Bits of one place in the index of the table."""
_WORD_BITS: Final = 5
"""Bits of one id in the word that holds the places of all ids."""
_CHUNK_SHORT: Final = 1 << 12
_CHUNK: Final = 1 << 14
"""Sequences done at a time (of at most seven steps, and of more), so that what is in work stays in the cache."""


# -- places ----------------------------------------------------------------------------------------------------


def measure_arrays(references: ArrayLike, predictions: ArrayLike) -> OrderMeasures:
    """Measure M predicted orders of N steps each against one reference each.

    Args:
        references: shape [M, N], integer ids of the steps in their right order.
        predictions: shape [M, N], the same ids in predicted order. A row's ids may be any integers.

    Returns:
        The six measures of each sequence.

    Raises:
        MetricInputError: if the shapes differ, N is 0, an array holds no integers, or a prediction is not a
            reordering of its reference (the message names the row and the missing, unknown and repeated ids).
    """
    reference, prediction = _matrix(references, "references"), _matrix(predictions, "predictions")
    if reference.shape != prediction.shape:
        raise MetricInputError(
            f"references have shape {list(reference.shape)} and predictions {list(prediction.shape)}",
            "both need one row a sequence and one column a step; pass lists for sequences of different lengths",
        )
    count, steps = reference.shape
    values = np.empty((count, len(MEASURES)))
    if count:
        first = _shared_first_id(reference, prediction)
        size = _CHUNK_SHORT if steps <= _TABLE_STEPS else _CHUNK
        for begin in range(0, count, size):
            part = slice(begin, begin + size)
            _measure_chunk(reference[part], prediction[part], first, values[part], begin)
    return OrderMeasures(values, np.full(count, steps, dtype=np.int64))


def ranks_in_reference(references: ArrayLike, predictions: ArrayLike) -> Integers:
    """Return q, shape [M, N]: the place in the reference of the step that the prediction puts at each place.

    Raises:
        MetricInputError: see ``measure_arrays``.
    """
    reference, prediction = _matrix(references, "references"), _matrix(predictions, "predictions")
    if reference.shape != prediction.shape:
        raise MetricInputError(
            f"references have shape {list(reference.shape)} and predictions {list(prediction.shape)}"
        )
    return _ranks_of_any_ids(reference, prediction, 0)


def measure_ranks(ranks: ArrayLike) -> OrderMeasures:
    """Measure orders that are given as places in their references, shape [M, N], a permutation of 0..N-1 each.

    Raises:
        MetricInputError: if a row is not such a permutation.
    """
    matrix = _matrix(ranks, "ranks")
    return measure_arrays(np.broadcast_to(np.arange(matrix.shape[1]), matrix.shape), matrix)


def _matrix(orders: ArrayLike, name: str) -> NDArray[Any]:
    matrix = np.asarray(orders)
    if matrix.ndim != 2 or (matrix.size and matrix.dtype.kind not in "iu"):
        seen = f"{matrix.dtype} of shape {list(matrix.shape)}"
        raise MetricInputError(
            f"{name} must be integers of shape [sequences, steps], got {seen}",
            "measure_orders takes lists of any ids",
        )
    if matrix.shape[1] == 0:
        raise MetricInputError(f"{name} have no steps", "an order needs at least one step")
    if matrix.dtype.kind == "u" and matrix.dtype.itemsize == 8 and matrix.size and matrix.max() >= 1 << 63:
        raise MetricInputError(f"{name} hold ids of 2^63 and more", "number the steps from 0")
    # Unsigned 64-bit numbers would become floats as soon as a signed one is added.
    return matrix.astype(np.int64) if matrix.dtype == np.uint64 or not matrix.size else matrix


def _shared_first_id(reference: NDArray[Any], prediction: NDArray[Any]) -> int | None:
    """Return the smallest id if every id lies within N of it, else None: then ids must be looked up."""
    low, high = int(reference.min()), int(reference.max())
    if high - low >= reference.shape[1]:
        return None
    return low if low <= int(prediction.min()) and int(prediction.max()) <= high else None


def _measure_chunk(
    reference: NDArray[Any], prediction: NDArray[Any], first: int | None, out: Floats, begin: int
) -> None:
    steps = reference.shape[1]
    ranks: NDArray[Any]
    if steps <= _TABLE_STEPS:
        if first is not None:
            codes = _codes_of_numbers(reference, prediction, first)
        else:
            codes = _codes(_ranks_of_any_ids(reference, prediction, begin))
        rows = _row_of_code(steps)[codes]
        if rows.min() < 0:
            _name_wrong_row(reference, prediction, begin)
        np.take(_table(steps), rows, axis=0, out=out)
        return
    if first is None:
        ranks = _ranks_of_any_ids(reference, prediction, begin)
    else:
        ranks = _ranks_of_numbers(reference, prediction, first)
        if not _are_permutations(ranks):
            _name_wrong_row(reference, prediction, begin)
    out[:] = _measured(ranks)


def _ranks_of_numbers(reference: NDArray[Any], prediction: NDArray[Any], first: int) -> NDArray[Any]:
    """Place of each predicted step for ids first..first+N-1; what is wrong shows as no permutation.

    A place that no id was written to keeps the mark of "nowhere" (255). If the result has N different places, then
    the reference wrote N different ids and the prediction read all of them: one check is enough for both.
    """
    count, steps = reference.shape
    kind = np.uint8 if steps < 255 else np.int64
    rows = np.arange(-first, count * steps - first, steps)[:, None]
    places = np.full(count * steps, np.iinfo(kind).max, dtype=kind)
    places[reference + rows] = np.arange(steps, dtype=kind)
    found: NDArray[Any] = places[prediction + rows]
    return found


def _ranks_of_any_ids(reference: NDArray[Any], prediction: NDArray[Any], begin: int) -> Integers:
    by_id, predicted = (
        np.argsort(reference, axis=1, kind="stable"),
        np.argsort(prediction, axis=1, kind="stable"),
    )
    ids = np.take_along_axis(reference, by_id, axis=1)
    same = np.array_equal(ids, np.take_along_axis(prediction, predicted, axis=1))
    if not same or bool((ids[:, 1:] == ids[:, :-1]).any()):
        _name_wrong_row(reference, prediction, begin)
    ranks = np.empty(reference.shape, dtype=np.int64)
    np.put_along_axis(ranks, predicted, by_id, axis=1)
    return ranks


def _are_permutations(ranks: NDArray[Any]) -> bool:
    """True if each row holds each of 0..N-1; a row of N entries does when all N are hit."""
    count, steps = ranks.shape
    if int(ranks.max()) >= steps:
        return False
    hit = np.zeros(count * steps, dtype=np.bool_)
    hit[ranks + np.arange(0, count * steps, steps)[:, None]] = True
    return bool(hit.all())


def _name_wrong_row(reference: NDArray[Any], prediction: NDArray[Any], begin: int) -> None:
    """Find the first row that is no reordering, and say what is wrong with it."""
    from proctor.metrics.ordering.order import require_reordering

    for row, (right, predicted) in enumerate(zip(reference.tolist(), prediction.tolist(), strict=True)):
        require_reordering(right, predicted, where=f"sequence {begin + row}")


# -- up to seven steps: every permutation once -----------------------------------------------------------------


def _codes(ranks: NDArray[Any]) -> Integers:
    """One number a sequence: three bits a place, which holds the rank plus one."""
    codes = np.zeros(len(ranks), dtype=np.int64)
    for t in range(ranks.shape[1]):
        codes |= (ranks[:, t].astype(np.int64) + 1) << (_BITS * t)
    return codes


def _codes_of_numbers(reference: NDArray[Any], prediction: NDArray[Any], first: int) -> Integers:
    """The same from ids first..first+N-1, by arithmetic alone; 0, which is no code, where something is wrong.

    Each id has five bits of a word, to which the reference adds its place plus one: so an id that it lacks has 0,
    and one that it repeats has the sum, at most 1 + … + 7 = 28. What the prediction reads out is a permutation of
    1..N only if the reference wrote each id once and the prediction reads each once: if the reference lacks an id,
    a whole prediction reads its 0, and one that is not whole reads some place twice.
    """
    count, steps = reference.shape
    places = np.zeros(count, dtype=np.int64)
    codes = np.zeros(count, dtype=np.int64)
    summed = np.zeros(count, dtype=np.int64)
    for t in range(steps):
        shift = (reference[:, t].astype(np.int64) - first) * _WORD_BITS
        places += np.int64(t + 1) << shift
    for t in range(steps):
        shift = (prediction[:, t].astype(np.int64) - first) * _WORD_BITS
        place = (places >> shift) & ((1 << _WORD_BITS) - 1)
        summed |= place
        codes |= (place & 7) << (_BITS * t)
    if summed.max() > 7:
        codes[summed > 7] = 0
    return codes


@cache
def _table(steps: int) -> Floats:
    table = _measured(np.array(list(permutations(range(steps))), dtype=np.uint8))
    table.flags.writeable = False
    return table


@cache
def _row_of_code(steps: int) -> NDArray[np.int16]:
    rows = np.full(1 << (_BITS * steps), -1, dtype=np.int16)
    every = np.array(list(permutations(range(steps))), dtype=np.int64)
    rows[_codes(every)] = np.arange(len(every))
    rows.flags.writeable = False
    return rows


# -- more steps ------------------------------------------------------------------------------------------------


def _measured(ranks: NDArray[Any]) -> Floats:
    """The six measures of rows of q; the columns of q become contiguous so that each operation is a long one."""
    steps = ranks.shape[1]
    columns = np.ascontiguousarray(ranks.T, dtype=np.uint8 if steps <= _TOGETHER_STEPS else np.int64)
    place = np.arange(steps, dtype=np.int64)
    fixed = (ranks == place).sum(axis=1)
    distance = np.abs(ranks - place).sum(axis=1)
    if steps <= _TOGETHER_STEPS:
        inversions, subsequence = _inversions(columns), _increasing(columns)
    else:
        both = [(count_inversions(q), _longest_increasing(q)) for q in ranks.tolist()]
        inversions, subsequence = np.array(both, dtype=np.int64).T
    pairs = max(1, steps * (steps - 1) // 2)
    return np.stack(
        [
            fixed / steps,
            fixed == steps,
            subsequence,
            _consecutive(columns),
            1.0 - 2.0 * inversions / pairs,
            distance,
        ],
        axis=1,
    ).astype(np.float64)


def _inversions(columns: NDArray[Any]) -> Integers:
    steps = len(columns)
    total = np.zeros(columns.shape[1], dtype=np.int64)
    for i in range(steps - 1):
        # At most 63 later places: the count of one place fits into a byte.
        total += (columns[i] > columns[i + 1 :]).sum(axis=0, dtype=np.uint8)
    return total


def _increasing(columns: NDArray[Any]) -> Integers:
    """Longest increasing subsequence: the best that ends at each place is one more than the best it can follow."""
    best = np.ones_like(columns)
    for j in range(1, len(columns)):
        best[j] += ((columns[:j] < columns[j]) * best[:j]).max(axis=0)
    longest: Integers = best.max(axis=0).astype(np.int64)
    return longest


def _consecutive(columns: NDArray[Any]) -> Integers:
    run = np.ones(columns.shape[1], dtype=np.int64)
    longest = run.copy()
    for t in range(1, len(columns)):
        run *= columns[t] == columns[t - 1] + 1
        run += 1
        np.maximum(longest, run, out=longest)
    return longest


def _longest_increasing(places: list[int]) -> int:
    """Patience sorting: ``ends[k]`` is the smallest end of an increasing subsequence of k + 1 places."""
    ends: list[int] = []
    for value in places:
        at = bisect_left(ends, value)
        ends[at : at + 1] = [value]
    return len(ends)
