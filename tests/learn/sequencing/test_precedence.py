"""The model of pairs: signs, calibration, exact orders, what it learns and what it does at the edges."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.learn.sequencing.data import Ordered, Parts, Presented, presented
from proctor.learn.sequencing.pair_calibration import Calibration, calibrate, pair_outcomes
from proctor.learn.sequencing.partial import partly_ordered
from proctor.learn.sequencing.precedence import PairwiseOrder, likeliest_order, load_pairwise, train_pairwise
from proctor.learn.sequencing.training import TrainedOrder, Training
from proctor.learn.settings import TrainOptions
from proctor.metrics.calibration import expected_calibration_error
from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering import measure_orders
from proctor.procedure.manual import Sequence, SequenceStep

THINGS = ("onion", "carrot", "leek", "potato", "beet", "turnip")


def sequence(id: str, *texts: str) -> Sequence:
    return Sequence(
        id=id, goal="", steps=tuple(SequenceStep(str(n), t) for n, t in enumerate(texts)), task=id
    )


def soup(number: int) -> Sequence:
    """A manual whose order follows from its words, but for two steps that come in either order."""
    rng = random.Random(number)
    thing = rng.choice(THINGS)
    free = ["salt the water", "warm the plates"]
    rng.shuffle(free)
    return sequence(f"s{number}", f"wash the {thing}", f"chop the {thing}", *free, "serve it")


def trained(train: int = 30, dev: int = 12, **options: object) -> TrainedOrder:
    made = [soup(n) for n in range(train + dev)]
    parts = Parts(tuple(made[:train]), tuple(made[train:]), ())
    return train_pairwise(Training(**{"parts": parts, "root": Path(), "encoder": "words", **options}))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def learned() -> TrainedOrder:
    return trained()


def test_the_order_is_learned_and_free_steps_are_left_open(learned: TrainedOrder) -> None:
    shown = presented([soup(n) for n in range(100, 130)], "text")
    found = learned.model.predict(shown)
    orders = [
        [t for t in o.order if item.slots[t] not in (2, 3)] for item, o in zip(shown, found, strict=True)
    ]
    wanted = [[t for t in item.targets if item.slots[t] not in (2, 3)] for item in shown]
    assert measure_orders(wanted, orders).perfect_match.mean() == 1.0
    for item, one in zip(shown, found, strict=True):
        assert one.precedence is not None
        at = item.targets
        assert one.precedence[at[0], at[4]] > 0.9
        assert 0.3 < one.precedence[at[2], at[3]] < 0.7
        open_pairs = partly_ordered(one.precedence).swappable
        assert {(p.first, p.second) for p in open_pairs} <= {(at[2], at[3]), (at[3], at[2])}
        assert len(open_pairs) == 1


def test_both_directions_of_a_pair_add_up_to_one_and_slots_do_not_matter(learned: TrainedOrder) -> None:
    manual = soup(7)
    (straight,) = learned.model.predict([Presented(manual, (0, 1, 2, 3, 4))])
    (turned,) = learned.model.predict([Presented(manual, (4, 2, 0, 1, 3))])
    assert straight.precedence is not None
    assert turned.precedence is not None
    np.testing.assert_allclose(straight.precedence + straight.precedence.T, 1.0, atol=1e-12)
    slots = np.array([4, 2, 0, 1, 3])
    np.testing.assert_allclose(turned.precedence, straight.precedence[np.ix_(slots, slots)], atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0.001, 0.999), min_size=10, max_size=10), st.sets(st.sampled_from(range(10))))
def test_a_kept_pair_outweighs_all_probabilities(values: list[float], kept: set[int]) -> None:
    upper = list(combinations(range(5), 2))
    precedence = np.full((5, 5), 0.5)
    for (i, j), p in zip(upper, values, strict=True):
        precedence[i, j], precedence[j, i] = p, 1 - p
    before = [upper[k] for k in kept]
    found = likeliest_order(precedence, before)
    logs = np.log(precedence)

    def worth(order: tuple[int, ...]) -> float:
        return float(sum(logs[a, b] for a, b in combinations(order, 2)))

    allowed = [o for o in permutations(range(5)) if all(o.index(a) < o.index(b) for a, b in before)]
    assert found in allowed
    assert worth(found) == pytest.approx(max(map(worth, allowed)), abs=1e-6)


def test_constraints_are_kept_where_the_order_is_searched_for() -> None:
    precedence = np.where(np.triu(np.ones((20, 20)), 1) > 0, 0.999, 0.001)  # 0, 1, 2, …, 19
    np.fill_diagonal(precedence, 0.5)
    order = likeliest_order(precedence, [(19, 0)])
    assert order.index(19) < order.index(0)
    assert (
        sum(a > b for a, b in combinations(order, 2)) == 19
    )  # the pair itself, and one of the two against 18 others
    with pytest.raises(MetricInputError, match="cycle"):
        likeliest_order(precedence, [(1, 0), (0, 1)])


def test_what_is_saved_predicts_the_same(learned: TrainedOrder, tmp_path: Path) -> None:
    learned.model.save(tmp_path / "run")
    shown = presented([soup(n) for n in range(200, 205)], "text")
    again = load_pairwise(tmp_path / "run").predict(shown)
    for one, other in zip(learned.model.predict(shown), again, strict=True):
        assert one.order == other.order
        assert one.precedence is not None
        np.testing.assert_array_equal(one.precedence, other.precedence)
    (tmp_path / "run" / "weights.npz").write_bytes(b"half")
    with pytest.raises(UserError, match="no pairwise model"):
        load_pairwise(tmp_path / "run")


def test_the_same_training_gives_the_same_bytes(learned: TrainedOrder, tmp_path: Path) -> None:
    learned.model.save(tmp_path / "a")
    trained().model.save(tmp_path / "b")
    for name in ("model.json", "columns.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    "texts",
    [
        ("stir it", "stir it", "stir it"),
        ("Zxq vlp.", "Qqq wrt."),
        ("", "wash it"),
        tuple(f"step {THINGS[n % 6]} {n}" for n in range(20)),
    ],
    ids=["equal", "unseen", "empty", "twenty"],
)
def test_odd_manuals_are_ordered(learned: TrainedOrder, texts: tuple[str, ...]) -> None:
    (found,) = learned.model.predict(presented([sequence("odd", *texts)], "text"))
    assert sorted(found.order) == list(range(len(texts)))
    if len(set(texts)) == 1:
        assert found.precedence is not None
        assert (found.precedence == 0.5).all()


def test_one_manual_is_enough_to_learn_from_and_equal_steps_are_not() -> None:
    one = trained(train=1, dev=0)
    assert one.chosen["calibration"] == "none"
    assert sorted(one.model.predict(presented([soup(3)], "text"))[0].order) == [0, 1, 2, 3, 4]
    parts = Parts((sequence("e", "stir", "stir"),), (), ())
    with pytest.raises(UserError, match="no two different steps"):
        train_pairwise(Training(parts=parts, root=Path(), encoder="words"))


def test_words_cannot_see_pictures() -> None:
    with pytest.raises(UserError, match="reads texts"):
        trained(shown="image")


def test_a_tiny_encoder_learns_the_same_and_is_loaded_again(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    found = trained(
        train=24, dev=3, encoder="tiny", options=TrainOptions(epochs=4), folder=tmp_path / "state"
    )
    shown = presented([soup(n) for n in range(100, 110)], "text")
    first = found.model.predict(shown)
    for item, one in zip(shown, first, strict=True):
        assert one.precedence is not None
        np.testing.assert_allclose(one.precedence + one.precedence.T, 1.0, atol=1e-9)
        assert one.precedence[item.targets[0], item.targets[4]] > 0.8
    found.model.save(tmp_path / "run")
    for one, other in zip(first, load_pairwise(tmp_path / "run").predict(shown), strict=True):
        assert one.precedence is not None
        assert other.precedence is not None
        np.testing.assert_allclose(one.precedence, other.precedence, atol=1e-6)


def test_a_training_that_stopped_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    torch.set_num_threads(1)

    def run(epochs: int, folder: str) -> TrainedOrder:
        options = TrainOptions(epochs=epochs, batch=4)
        return trained(train=8, dev=1, encoder="tiny", options=options, folder=tmp_path / folder, show=show)

    class Killed(Exception):
        pass

    batches = 0
    stop = 5

    @contextmanager
    def show(title: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        def seen() -> None:
            nonlocal batches
            batches += 1
            if batches == stop:
                raise Killed

        yield seen

    with pytest.raises(Killed):
        run(4, "a")
    resumed = run(4, "a")
    again, batches = batches - stop, stop
    whole = run(4, "b")
    assert again < batches - stop == 8
    shown = presented([soup(50)], "text")
    one, other = (m.model.predict(shown)[0].precedence for m in (resumed, whole))
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_calibration_lowers_the_error_of_scores_that_are_too_sure() -> None:
    rng = np.random.default_rng(0)

    def manuals(count: int) -> list[np.ndarray]:
        sure = rng.normal(0, 1.0, (count, 10))
        came = rng.random(sure.shape) < 1 / (1 + np.exp(-sure))
        return list(np.where(came, sure, -sure) * 4)  # forwards, and four times too sure

    calibration, losses = calibrate(manuals(200))
    assert min(losses, key=lambda name: losses[name]) == calibration.kind != "none"
    flat = np.concatenate(manuals(300))
    turned = np.where(np.arange(len(flat)) % 2 == 0, 1, -1)

    def error(map: Calibration) -> float:
        return expected_calibration_error(turned > 0, map(flat * turned)).value

    assert error(calibration) < 0.03 < 0.15 < error(Calibration())
    both = calibration(np.array([1.3, -1.3]))
    assert both.sum() == pytest.approx(1.0)


def test_outcomes_leave_out_what_nobody_can_tell() -> None:
    manual = Sequence(
        id="r",
        goal="",
        steps=tuple(SequenceStep(str(n), t) for n, t in enumerate(("a", "b", "c", "c"))),
        references={"text": ((0, 1, 2, 3), (1, 0, 2, 3))},
    )
    precedence = np.full((4, 4), 0.5)
    precedence[0, 1], precedence[1, 0] = 0.8, 0.2
    came, said = pair_outcomes([Presented(manual, (2, 0, 1, 3))], [Ordered((0, 1, 2, 3), precedence)], "text")
    # Left out: (a, b), whose order differs, and (c, c).
    assert came.tolist() == [False, False, True, True]
    assert said.tolist() == [0.8, 0.5, 0.5, 0.5]


def test_twenty_steps_have_an_order_that_no_move_betters(learned: TrainedOrder) -> None:
    model = learned.model
    assert isinstance(model, PairwiseOrder)
    texts = [
        f"{verb} the {thing}" for thing in THINGS[:4] for verb in ("wash", "chop", "salt", "warm", "serve")
    ]
    (found,) = model.predict([Presented(sequence("long", *texts), tuple(range(20)))])
    verbs = [texts[i].split()[0] for i in found.order]
    assert verbs[:4] == ["wash"] * 4
    assert verbs[-4:] == ["serve"] * 4
