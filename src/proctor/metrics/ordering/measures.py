"""Measures of predicted orders: six numbers a sequence, kept so that everything else is a mean; one sequence or many."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering.orders import Floats, count_inversions, named, require_order, require_reordering
from proctor.metrics.score import Score, Signature

__all__ = [
    "MEASURES",
    "OrderMeasures",
    "displacement",
    "join_measures",
    "kendall_tau",
    "kendall_tau_a",
    "longest_common_subsequence",
    "longest_common_substring",
    "measure_arrays",
    "measure_order",
    "measure_orders",
    "measure_ranks",
    "micro_position_accuracy",
    "normalised_displacement",
    "normalised_subsequence",
    "normalised_substring",
    "order_by_scores",
    "perfect_match_ratio",
    "position_accuracy",
]


Integers = NDArray[np.int64]

MEASURES: Final = (
    "position_accuracy",
    "perfect_match_ratio",
    "longest_common_subsequence",
    "longest_common_substring",
    "kendall_tau",
    "displacement",
)
"""Columns of ``OrderMeasures.values``, as the field lists them: Acc, PMR, Lq, Lr, tau, Dist."""


@dataclass(frozen=True, slots=True)
class OrderMeasures:
    """The six published numbers of each of M sequences.

    Attributes:
        values: shape [M, 6], columns as in ``MEASURES``. Accuracy and perfect match are fractions (0 to 1), the two
            common lengths are raw (1 to N), tau is -1 to 1, displacement is the *sum* over the steps.
        lengths: shape [M], the number N of steps of each sequence.
    """

    values: Floats
    lengths: Integers

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def position_accuracy(self) -> Floats:
        """Share of positions that hold the right step, of each sequence."""
        return self.column("position_accuracy")

    @property
    def perfect_match(self) -> Floats:
        """1 where the whole order is right, else 0."""
        return self.column("perfect_match_ratio")

    @property
    def longest_common_subsequence(self) -> Floats:
        """Lq, a raw length."""
        return self.column("longest_common_subsequence")

    @property
    def longest_common_substring(self) -> Floats:
        """Lr, a raw length."""
        return self.column("longest_common_substring")

    @property
    def kendall_tau(self) -> Floats:
        """One minus twice the share of inverted pairs; 1.0 for a single step."""
        return self.column("kendall_tau")

    @property
    def displacement(self) -> Floats:
        """Dist: the sum over the steps of how far each is from its place."""
        return self.column("displacement")

    @property
    def normalised_subsequence(self) -> Floats:
        """Lq / N."""
        return self.longest_common_subsequence / self.lengths

    @property
    def normalised_substring(self) -> Floats:
        """Lr / N."""
        return self.longest_common_substring / self.lengths

    @property
    def normalised_displacement(self) -> Floats:
        """Dist / floor(N² / 2), its largest value; 0.0 for a single step, which cannot be displaced."""
        return self.displacement / np.maximum(self.lengths**2 // 2, 1)

    @property
    def correct_positions(self) -> Floats:
        """How many steps are at their place: what the pooled (micro) accuracy counts."""
        return np.rint(self.position_accuracy * self.lengths)

    def column(self, name: str) -> Floats:
        """Return one of the six by its name in ``MEASURES``."""
        result: Floats = self.values[:, MEASURES.index(name)]
        return result

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> OrderMeasures:
        """Return the measures of some sequences."""
        return OrderMeasures(self.values[rows], self.lengths[rows])

    def means(self) -> dict[str, float]:
        """Return the macro mean of each measure: every sequence counts alike, however long it is.

        Raises:
            MetricInputError: if there are no sequences.
        """
        self._require_some()
        return dict(zip(MEASURES, self.values.mean(axis=0).tolist(), strict=True))

    def micro_position_accuracy(self) -> float:
        """Return right positions over all positions of all sequences: long sequences count more.

        Raises:
            MetricInputError: if there are no sequences.
        """
        self._require_some()
        return float(self.correct_positions.sum() / self.lengths.sum())

    def _require_some(self) -> None:
        if not len(self):
            raise MetricInputError("there are no sequences, so there is no mean", "pass at least one")


def join_measures(parts: list[OrderMeasures]) -> OrderMeasures:
    """Return the measures of several batches one after another."""
    if not parts:
        return OrderMeasures(np.zeros((0, len(MEASURES))), np.zeros(0, dtype=np.int64))
    return OrderMeasures(
        np.concatenate([part.values for part in parts]), np.concatenate([part.lengths for part in parts])
    )


# The six measures of many orders at once.
#
# Everything follows from one vector a sequence: ``q[t]`` is the place in the reference of the step that the
# prediction puts at ``t``. The prediction is right when q is 0, 1, 2, …; Acc counts its fixed points, Lq is its
# longest increasing subsequence, Lr its longest run of ``q[t+1] = q[t] + 1``, tau counts its inversions, Dist sums
# ``|q[t] - t|``.
#
# Up to seven steps there are at most 5,040 different q: their measures are computed once and looked up. Up to 64
# steps all sequences of one length advance together, one pair of positions at a time; beyond, each is done alone in
# O(N log N).
#
# Source: Wu et al. 2022.

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


# The published measures of predicted orders: one sequence as a ``Score``, or many of different lengths as arrays.
#
# Conventions: the reference comes first. Step ids may be anything hashable. A prediction must hold the reference's
# steps, each once (``repair_order`` makes it so for the output of language models). Macro means weigh every sequence
# alike; that is what the field prints, accuracy and perfect match in per cent.
#
# Source: Wu et al. 2022.

Order = Sequence[Hashable]
_TEXTS: Final = (str, bytes)


def measure_order(reference: Order, prediction: Order) -> OrderMeasures:
    """Measure one predicted order: an ``OrderMeasures`` of length 1.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    require_reordering(reference, prediction)
    places = {step: place for place, step in enumerate(reference)}
    return measure_ranks([[places[step] for step in prediction]])


def measure_orders(
    references: Sequence[Order] | NDArray[Any],
    predictions: Sequence[Order] | NDArray[Any],
    *,
    names: Sequence[str] | None = None,
) -> OrderMeasures:
    """Measure many predicted orders, each against its reference; lengths may differ.

    Two integer arrays of one shape go straight to ``measure_arrays``; sequences of one length are measured together.

    Args:
        references: the steps of each sequence in their right order.
        predictions: the same steps in predicted order.
        names: what messages call each sequence (``item 'a'``); its position when not given.

    Returns:
        The six measures of each sequence, in the order given; empty for no sequences.

    Raises:
        MetricInputError: if the numbers of sequences differ or a prediction is not a reordering of its reference;
            the message names the sequence and what is missing, unknown or repeated.
    """
    if isinstance(references, np.ndarray) and isinstance(predictions, np.ndarray):
        return measure_arrays(references, predictions)
    if len(references) != len(predictions):
        raise MetricInputError(
            f"{len(references)} references and {len(predictions)} predictions",
            "pass one prediction a reference",
        )
    by_length: dict[int, tuple[list[int], list[list[int]]]] = {}
    for row, (reference, prediction) in enumerate(zip(references, predictions, strict=True)):
        ranks = _ranks(reference, prediction, row, names)
        rows, matrix = by_length.setdefault(len(ranks), ([], []))
        rows.append(row)
        matrix.append(ranks)
    if not by_length:
        return join_measures([])
    order = np.concatenate([np.array(rows) for rows, _ in by_length.values()])
    joined = join_measures([measure_ranks(matrix) for _, matrix in by_length.values()])
    return joined.take(np.argsort(order))


def _ranks(reference: Order, prediction: Order, row: int, names: Sequence[str] | None) -> list[int]:
    """Places in the reference; a fast look-up first, the full explanation only when it fails."""
    try:
        places = {step: place for place, step in enumerate(reference)}
        ranks = [places[step] for step in prediction]
        whole = 0 < len(ranks) == len(reference) == len(set(ranks))
        # One and the same NaN object is found in a dictionary, and is no id all the same.
        if (
            whole
            and float not in map(type, reference)
            and not isinstance(reference, _TEXTS)
            and not isinstance(prediction, _TEXTS)
        ):
            return ranks
    except (KeyError, TypeError):
        pass
    where = names[row] if names is not None else f"sequence {row}"
    require_reordering(reference, prediction, where=where)
    places = {step: place for place, step in enumerate(reference)}
    return [places[step] for step in prediction]


def position_accuracy(reference: Order, prediction: Order) -> Score:
    """Acc: share of positions that hold the right step, 0 to 1.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("position_accuracy", measure_order(reference, prediction).position_accuracy)


def perfect_match_ratio(reference: Order, prediction: Order) -> Score:
    """PMR: 1 if the two orders are identical, else 0; its mean over sequences is the published ratio.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("perfect_match_ratio", measure_order(reference, prediction).perfect_match)


def longest_common_subsequence(reference: Order, prediction: Order) -> Score:
    """Lq: length of the longest list of steps that both orders hold in this order, gaps allowed; 1 to N.

    A raw length: it grows with N (``normalised_subsequence`` does not). The released evaluator computes it by a
    recursion that visits exponentially many states; the value is the same.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score(
        "longest_common_subsequence", measure_order(reference, prediction).longest_common_subsequence
    )


def longest_common_substring(reference: Order, prediction: Order) -> Score:
    """Lr: length of the longest list of steps that both orders hold without a gap; 1 to N.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("longest_common_substring", measure_order(reference, prediction).longest_common_substring)


def kendall_tau(reference: Order, prediction: Order) -> Score:
    """Tau: ``1 - 2 · inversions / C(N, 2)``, -1 (reversed) to 1 (identical); 1.0 by convention for one step.

    Orders have no ties; ``kendall_tau_a`` takes scores that may tie.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("kendall_tau", measure_order(reference, prediction).kendall_tau)


def displacement(reference: Order, prediction: Order) -> Score:
    """Dist: the *sum* over the steps of ``|place predicted - right place|``, 0 to floor(N² / 2); lower is better.

    Erratum: the paper's prose describes an average per step, but its numbers are sums per sequence. A random order
    of five steps has 8.0 = (N² - 1) / 3, and the paper's near-chance model is printed with 7.87; the released
    evaluator sums as well. When a predicted step is missing, that evaluator overwrites the running sum with the
    largest distance; here such a prediction is refused, or repaired first.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("displacement", measure_order(reference, prediction).displacement)


def normalised_subsequence(reference: Order, prediction: Order) -> Score:
    """Lq / N, so that sequences of different lengths can be compared; 1/N to 1.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("normalised_subsequence", measure_order(reference, prediction).normalised_subsequence)


def normalised_substring(reference: Order, prediction: Order) -> Score:
    """Lr / N; 1/N to 1.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("normalised_substring", measure_order(reference, prediction).normalised_substring)


def normalised_displacement(reference: Order, prediction: Order) -> Score:
    """Dist / floor(N² / 2), 0 (right) to 1 (reversed, or any exchange of the two halves); 0.0 for one step.

    Raises:
        MetricInputError: if the prediction is not a reordering of the reference.
    """
    return _score("normalised_displacement", measure_order(reference, prediction).normalised_displacement)


def micro_position_accuracy(references: Sequence[Order], predictions: Sequence[Order]) -> Score:
    """Right positions over all positions of all sequences, 0 to 1: long sequences count more than in the macro mean.

    Raises:
        MetricInputError: if there are no sequences or a prediction is not a reordering of its reference.
    """
    measures = measure_orders(references, predictions)
    signature = Signature("micro_position_accuracy", {"average": "micro", "interval": "none"})
    return Score(measures.micro_position_accuracy(), signature, len(measures))


def _score(name: str, values: Floats | Integers) -> Score:
    """The measure of one order, under the signature of a mean over orders without an interval."""
    return Score(float(values[0]), Signature(name, {"average": "macro", "interval": "none"}), len(values))


# Orders from scores, and scores that tie.
#
# Source: ours.

Step = TypeVar("Step", bound=Hashable)


def order_by_scores(
    scores: Mapping[Step, float], presented: Sequence[Step] | None = None, *, where: str = ""
) -> list[Step]:
    """Return the steps by rising score (the score says when a step is done), ties by presented slot.

    Ties must never be broken by original id: ids often count up in the right order, so that a model with equal
    scores everywhere would be marked perfect.

    Args:
        scores: score of each step; smaller is earlier.
        presented: the steps as the model saw them; needed only if two scores tie.
        where: which item this is, for messages.

    Raises:
        MetricInputError: if there are no scores, one is not finite, two tie without ``presented``, or ``presented``
            holds other steps.
    """
    place = f"{where}: " if where else ""
    if not scores:
        raise MetricInputError(f"{place}there are no scores", "give one score a step")
    wrong = [step for step, score in scores.items() if not np.isfinite(score)]
    if wrong:
        raise MetricInputError(f"{place}the scores of {named(wrong)} are not finite")
    if presented is None:
        if len(set(scores.values())) != len(scores):
            raise MetricInputError(
                f"{place}scores tie and it is not known in which order the steps were presented",
                "give 'presented': ties are broken in that order, never by id",
            )
        return sorted(scores, key=lambda step: scores[step])
    require_order(presented, what="presented order", where=where)
    if set(presented) != scores.keys():
        differing = sorted(map(repr, scores.keys() ^ set(presented)))
        raise MetricInputError(
            f"{place}the scores and the presented order differ in {', '.join(differing[:5])}",
            "give one score for each presented step",
        )
    return sorted(presented, key=lambda step: scores[step])


def kendall_tau_a(reference: Sequence[float] | Floats, prediction: Sequence[float] | Floats) -> Score:
    """Tau-a of two weak orders: ``(concordant - discordant) / C(N, 2)``, -1 to 1; a tie on either side counts as half right.

    Unlike tau-b, which corrects for ties, equal scores everywhere give 0, as guessing does. 1.0 by convention for
    one step, like ``kendall_tau``, with which it agrees when nothing ties.

    Args:
        reference: when each step is done; equal for steps that may be exchanged.
        prediction: score of the same steps; smaller is earlier.

    Raises:
        MetricInputError: if the lengths differ, are 0, or a number is not finite.
    """
    right, predicted = np.asarray(reference, dtype=np.float64), np.asarray(prediction, dtype=np.float64)
    if right.ndim != 1 or right.shape != predicted.shape or not right.size:
        raise MetricInputError(
            f"two lists of equal length are needed, got shapes {list(right.shape)} and {list(predicted.shape)}",
            "pass one number a step in both",
        )
    if not (np.isfinite(right).all() and np.isfinite(predicted).all()):
        raise MetricInputError("scores must be finite", "leave the sequence out and count it as failed")
    signature = Signature("kendall_tau_a", {"average": "macro", "interval": "none"})
    if right.size == 1:
        return Score(1.0, signature, 1)
    total = sum(
        float((np.sign(right[i + 1 :] - right[i]) * np.sign(predicted[i + 1 :] - predicted[i])).sum())
        for i in range(right.size - 1)
    )
    return Score(total / (right.size * (right.size - 1) / 2), signature, 1)
