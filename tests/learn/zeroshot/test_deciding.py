"""Decisions: what replies come to, the rule OR, weights that are fitted, and what is no answer counts as no mistake."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.ask.step.entry import Entry
from proctor.ask.step.questions import CATEGORIES, Asker
from proctor.errors import UserError
from proctor.exam.prediction import Prediction
from proctor.learn.zeroshot.deciding import fit_weights, read_replies

ASKER = Asker({"1": ("fork", "bowl", "plate", "mug")})


def entry(number: int, *kinds: str) -> Entry:
    return Entry(
        "1_7", number, f"{number}", "Whisk 1 egg with a fork", "Omelette", "1", 0.0, 5.0, kinds=kinds
    )


def answered(item_id: str, read: str) -> Prediction:
    if read == "failed":
        return Prediction(item_id=item_id, predictor="m", failure="refusal: no")
    return Prediction(item_id=item_id, predictor="m", answer="…", details={"read": read})


def test_one_signal_is_enough_and_what_says_nothing_signals_nothing() -> None:
    entries = [entry(n) for n in range(4)]
    said = {
        0: {"technique": "yes", "measurement": "no"},
        1: {"technique": "hedged", "measurement": "failed"},
        2: {"technique": "empty", "measurement": "yes"},
        3: {"technique": "unreadable"},
    }
    items = [ASKER.item(entries[n], c) for n, by in said.items() for c in by]
    answers = [
        answered(i.id, said[int(i.question.facts["entry"][4:])][i.question.facts["category"]]) for i in items
    ]
    replies = read_replies(entries, items, answers)
    assert replies.any.tolist() == [True, False, False, False]
    assert replies.signals("measurement").tolist() == [True, False, False, False]
    assert replies.asked("measurement").tolist() == [True, True, True, False]
    assert replies.counts() == {
        "technique": {"mistake": 0, "fine": 1, "hedged": 1, "empty": 1, "unreadable": 1, "failed": 0},
        "measurement": {"mistake": 1, "fine": 1, "hedged": 0, "empty": 0, "unreadable": 0, "failed": 1},
    }
    assert read_replies(entries, items, answers[:-1]).counts()["technique"]["failed"] == 1


def test_any_option_but_the_right_one_signals_a_mistake() -> None:
    one = entry(0)
    item = ASKER.item(one, "preparation")
    letters = {
        letter: read_replies([one], [item], [answered(item.id, letter)]).any.item() for letter in "ABCD"
    }
    right = "ABCD"[item.question.facts["right"]]
    assert letters == {letter: letter != right for letter in "ABCD"}
    assert not read_replies([one], [item], [answered(item.id, "hedged")]).any.item()


def test_weights_find_the_category_that_tells() -> None:
    rng = np.random.default_rng(0)
    features = (rng.random((2_000, 7)) < 0.3).astype(float)
    logits = -2.0 + 3.0 * features[:, 2]
    labels = rng.random(2_000) < 1 / (1 + np.exp(-logits))
    weights = fit_weights(features, labels)
    assert weights.weights["order"] == pytest.approx(3.0, abs=0.3)
    assert weights.bias == pytest.approx(-2.0, abs=0.3)
    assert max(abs(weights.weights[c]) for c in CATEGORIES if c != "order") < 0.4
    called = weights.probabilities(features) > weights.threshold
    assert np.array_equal(called, features[:, 2] == 1)
    assert fit_weights(features, labels) == weights


def test_nothing_is_fitted_where_all_are_alike() -> None:
    with pytest.raises(UserError, match="all alike"):
        fit_weights(np.zeros((3, 7)), np.zeros(3, np.bool_))
