"""The model of pairs: signs, calibration, exact orders, what it learns and what it does at the edges."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from proctor.errors import UserError
from proctor.learn.sequencing.data import Parts, Presented, presented
from proctor.learn.sequencing.partial import partly_ordered
from proctor.learn.sequencing.precedence import fit_temperature, load_pairwise, train_pairwise
from proctor.learn.sequencing.training import TrainedOrder, Training
from proctor.learn.settings import TrainOptions
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


def test_the_same_training_gives_the_same_bytes_and_they_predict_the_same(
    learned: TrainedOrder, tmp_path: Path
) -> None:
    learned.model.save(tmp_path / "run")
    trained().model.save(tmp_path / "again")
    model = tmp_path / "run" / "model.json"
    assert model.read_bytes() == (tmp_path / "again" / "model.json").read_bytes()
    shown = presented([soup(n) for n in range(200, 205)], "text")
    again = load_pairwise(tmp_path / "run").predict(shown)
    for one, other in zip(learned.model.predict(shown), again, strict=True):
        assert one.order == other.order
        assert one.precedence is not None
        np.testing.assert_array_equal(one.precedence, other.precedence)
    model.write_text('{"model": "pairwise", "temperature": 1, "columns": ["a"], "weights": []}')
    with pytest.raises(UserError, match="1 columns and 0 weights"):
        load_pairwise(tmp_path / "run")
    model.write_bytes(b'{"model": "pair')
    with pytest.raises(UserError, match=r"model\.json"):
        load_pairwise(tmp_path / "run")


@pytest.mark.parametrize("texts", [("stir it", "stir it"), ("Zxq vlp.", "Qqq wrt."), ("", "wash it")])
def test_odd_manuals_are_ordered(learned: TrainedOrder, texts: tuple[str, ...]) -> None:
    (found,) = learned.model.predict(presented([sequence("odd", *texts)], "text"))
    assert sorted(found.order) == [0, 1]
    assert found.precedence is not None
    assert (found.precedence == 0.5).all() == ("wash it" not in texts)  # nothing is known of the others


def test_one_manual_is_enough_to_learn_from_and_equal_steps_or_hidden_texts_are_not() -> None:
    one = trained(train=1, dev=0)
    assert one.chosen["temperature"] == 1.0
    assert sorted(one.model.predict(presented([soup(3)], "text"))[0].order) == [0, 1, 2, 3, 4]
    parts = Parts((sequence("e", "stir", "stir"),), (), ())
    with pytest.raises(UserError, match="no two different steps"):
        train_pairwise(Training(parts=parts, root=Path(), encoder="words"))
    with pytest.raises(UserError, match="none to choose on"):
        train_pairwise(Training(parts=Parts((soup(1),), parts.train, ()), root=Path(), encoder="tiny"))
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
        assert one.precedence[item.targets[0], item.targets[4]] > 0.65
    found.model.save(tmp_path / "run")
    for one, other in zip(first, load_pairwise(tmp_path / "run").predict(shown), strict=True):
        assert one.precedence is not None
        assert other.precedence is not None
        np.testing.assert_allclose(one.precedence, other.precedence, atol=1e-6)


def test_one_temperature_lowers_the_error_of_scores_that_are_too_sure() -> None:
    rng = np.random.default_rng(0)
    sure = rng.normal(0, 1.0, 5_000)
    came = rng.random(sure.shape) < 1 / (1 + np.exp(-sure))
    assert fit_temperature(np.where(came, sure, -sure) * 4) == pytest.approx(4, rel=0.1)
    assert fit_temperature(np.zeros(0)) == fit_temperature(np.zeros(9)) == 1.0
    assert 0.5 < fit_temperature(np.ones(1)) < 1  # one pair that was right makes nobody sure
