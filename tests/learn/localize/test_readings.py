"""The best reading of a recording: the same as trying every one, whatever the order of the candidates."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.learn.localize.order_prior import ActivityPrior, GapPrior, OrderPrior
from proctor.learn.localize.readings import (
    Candidates,
    DecodeWeights,
    Reading,
    late_steps,
    log_odds,
    read_recording,
)

SECONDS = 100.0
WEIGHTS = DecodeWeights(score=1.3, even=0.2, length=0.7, place=0.6, gap=0.8, order=0.9)


def activity(steps: int, after: tuple[tuple[int, int], ...] = ((0, 1), (1, 2), (0, 2))) -> ActivityPrior:
    needs = np.zeros((steps, steps), np.bool_)
    for a, b in after:
        if max(a, b) < steps:
            needs[a, b] = True
    spread = np.linspace(0.1, 0.9, steps)
    return ActivityPrior(
        tuple(map(str, range(steps))), np.full(steps, np.log(10.0)), np.full(steps, 0.5), spread, np.full(steps, 0.2),
        np.full(steps, 0.2), np.full(steps, 0.05), np.linspace(0.05, 0.2, steps), needs, 5,
    )  # fmt: skip


def common() -> OrderPrior:
    rng = np.random.default_rng(3)
    gaps = GapPrior(*(rng.uniform(0.001, 0.1, (3, 19))))
    return OrderPrior({}, gaps, float(np.log(12.0)), 0.8, frozenset())


def tried(
    found: Candidates, prior: ActivityPrior, shared: OrderPrior
) -> tuple[dict[tuple[int, ...], float], float]:
    """Return the log score of every reading, as the module's text defines it, and of all together."""
    odds, w = log_odds(found, prior, shared, WEIGHTS), WEIGHTS
    options = [[-1, *np.flatnonzero(found.step == k)] for k in range(len(prior.steps))]
    scale = np.log(found.seconds)

    def gap(density: np.ndarray, value: float) -> float:
        return float(w.gap * (shared.gaps.log_density(density, np.array([value]))[0] + scale))

    scores = {}
    place = {int(row): n for n, row in enumerate(found.ordered())}
    for picked in product(*options):
        rows = sorted((int(row) for row in picked if row >= 0), key=place.__getitem__)
        total, latest = 0.0, None
        done: list[int] = []
        for row in rows:
            k = int(found.step[row])
            total += float(odds[row])
            gaps, since = (shared.gaps.first, 0.0) if latest is None else (shared.gaps.between, latest)
            total += gap(gaps, float(found.start[row]) - since)
            if any(prior.after[k, j] for j in done):
                total += w.order * float(np.log(prior.late[k] / (1 - prior.late[k])))
            latest = float(found.end[row]) if latest is None else max(latest, float(found.end[row]))
            done.append(k)
        total += gap(shared.gaps.last, max(found.seconds - (latest or 0.0), 0.0))
        scores[tuple(rows)] = total
    return scores, float(np.logaddexp.reduce(list(scores.values())))


@st.composite
def recordings(draw: st.DrawFn) -> Candidates:
    n = draw(st.integers(0, 9))
    steps = [draw(st.integers(0, 3)) for _ in range(n)]
    starts = [draw(st.integers(0, 80)) + 0.5 for _ in range(n)]
    lengths = [draw(st.integers(0, 20)) for _ in range(n)]
    scores = [draw(st.floats(0.01, 1.0)) for _ in range(n)]
    start = np.array(starts, np.float64)
    return Candidates(np.array(steps, np.int64), start, start + np.array(lengths), np.array(scores), SECONDS)


@settings(max_examples=60, deadline=None)
@given(recordings())
def test_is_exact_while_no_state_is_dropped(found: Candidates) -> None:
    prior, shared = activity(4), common()
    reading = read_recording(found, prior, shared, WEIGHTS, beam=10_000)
    scores, evidence = tried(found, prior, shared)
    assert reading.evidence == pytest.approx(evidence, abs=1e-9)
    assert reading.score == pytest.approx(max(scores.values()), abs=1e-9)
    assert scores[tuple(reading.chosen.tolist())] == pytest.approx(reading.score, abs=1e-9)
    probability = np.zeros(len(found.step))
    late = np.zeros(4)
    for rows, score in scores.items():
        share = np.exp(score - evidence)
        probability[list(rows)] += share
        for k, _ in late_steps(prior, [int(found.step[row]) for row in rows]):
            late[k] += share
    assert reading.probability == pytest.approx(probability, abs=1e-9)
    assert reading.late == pytest.approx(late, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(recordings(), st.integers(0, 2**16), st.integers(1, 12))
def test_order_of_candidates_and_beam_change_nothing_but_how_exact_it_is(
    found: Candidates, seed: int, beam: int
) -> None:
    prior, shared = activity(4), common()
    mixed = np.random.default_rng(seed).permutation(len(found.step))
    other = Candidates(
        found.step[mixed], found.start[mixed], found.end[mixed], found.score[mixed], found.seconds
    )
    one, two = (read_recording(c, prior, shared, WEIGHTS, beam=beam) for c in (found, other))
    assert one.evidence == pytest.approx(two.evidence, abs=1e-9)
    assert one.missing == two.missing
    assert one.out_of_order == two.out_of_order
    exact = read_recording(found, prior, shared, WEIGHTS, beam=10_000)
    assert one.score <= exact.score + 1e-9
    assert one.evidence <= exact.evidence + 1e-9


def read(starts: dict[int, float], steps: int = 3) -> Reading:
    """Read steps of ten seconds that are certain."""
    k = np.array(list(starts), np.int64)
    start = np.array(list(starts.values()))
    certain = DecodeWeights(score=20.0, even=0.1, length=0.1, place=0.1, gap=0.1, order=1.0)
    return read_recording(
        Candidates(k, start, start + 10, np.ones(len(k)), SECONDS), activity(steps), common(), certain
    )


def test_what_is_missing_and_out_of_order() -> None:
    assert read({0: 0.0, 1: 20.0, 2: 40.0}).out_of_order == ()
    swapped = read({1: 0.0, 0: 20.0, 2: 40.0})
    assert swapped.missing == ()
    assert swapped.out_of_order == ((0, (1,)),)
    assert swapped.late[0] > 0.99
    last = read({2: 0.0, 1: 20.0, 0: 40.0})
    assert last.out_of_order == ((1, (2,)), (0, (2, 1)))
    # What never occurs is missing, and makes nothing late.
    assert read({2: 0.0, 0: 40.0}).missing == (1,)


def test_nothing_to_choose_from() -> None:
    reading = read({})
    assert reading.chosen.tolist() == []
    assert reading.missing == (0, 1, 2)
    assert reading.evidence == reading.score
    assert reading.late.tolist() == [0, 0, 0]


def test_more_steps_than_a_word_has_bits() -> None:
    n = 130
    chain = tuple((i, i + 1) for i in range(n - 1))
    k = np.arange(n)
    start = np.arange(n, dtype=np.float64) * 5.0
    start[[69, 70]] = start[[70, 69]]
    certain = DecodeWeights(score=20.0, even=0.1, length=0.0, place=0.0, gap=0.1, order=1.0)
    found = Candidates(k, start, start + 5, np.ones(n), 5.0 * n)
    reading = read_recording(found, activity(n, chain), common(), certain, beam=4)
    assert reading.missing == ()
    assert reading.out_of_order == ((69, (70,)),)


def test_of_a_repeated_step_the_first_execution_counts() -> None:
    assert late_steps(activity(3), [0, 1, 0, 2]) == ()
    assert late_steps(activity(3), [1, 0, 1]) == ((0, (1,)),)
