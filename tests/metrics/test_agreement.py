import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.metrics.agreement import agreement_by_pair, cohen_kappa, raw_agreement


def expand(table):
    """Confusion table to two label sequences."""
    a, b = [], []
    for (x, y), n in table.items():
        a += [x] * n
        b += [y] * n
    return a, b


def test_perfect():
    labels = ["yes", "no", "yes", "no"]
    assert raw_agreement(labels, labels).value == 1.0
    assert cohen_kappa(labels, labels).value == 1.0


def test_golden_kappa():
    """The worked table of the kappa literature: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no gives 0.4."""
    a, b = expand({("y", "y"): 20, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 15})
    score = cohen_kappa(a, b)
    assert score.value == pytest.approx(0.4)
    assert score.low < 0.4 < score.high
    assert raw_agreement(a, b).value == 0.7


def test_interval_of_kappa_is_near_the_asymptotic_one():
    """Standard error of Cohen (1960): sqrt(po (1 - po) / (n (1 - pe)^2))."""
    a, b = expand({("y", "y"): 200, ("y", "n"): 50, ("n", "y"): 100, ("n", "n"): 150})
    score = cohen_kappa(a, b)
    error = np.sqrt(0.7 * 0.3 / 500) / 0.5
    assert score.high - score.low == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_no_agreement_is_negative():
    assert cohen_kappa(["y", "n"] * 10, ["n", "y"] * 10).value == -1.0


def test_empty_and_single_label_are_undefined_with_a_note():
    for score in (raw_agreement([], []), cohen_kappa([], [])):
        assert math.isnan(score.value)
        assert score.note
    only = cohen_kappa(["y"] * 5, ["y"] * 5)
    assert math.isnan(only.value)
    assert "label 'y' only" in only.note
    assert raw_agreement(["y"] * 5, ["y"] * 5).value == 1.0


def test_invalid():
    for metric in (raw_agreement, cohen_kappa):
        with pytest.raises(ValueError, match="parallel"):
            metric(["y"], [])


def test_clusters_widen_and_are_named():
    rng = np.random.default_rng(0)
    a = [str(x) for x in np.repeat(rng.integers(0, 2, 40), 5)]
    b = [str(x) for x in np.repeat(rng.integers(0, 2, 40), 5)]
    alone, together = cohen_kappa(a, b), cohen_kappa(a, b, clusters=[str(i // 5) for i in range(200)])
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert together.signature.parameters["cluster"] == "given"


def test_by_pair_uses_what_both_labelled():
    labels = {"ana": {"1": "y", "2": "n", "3": "y"}, "ben": {"2": "n", "3": "n", "4": "y"}, "cem": {"9": "y"}}
    (pair,) = agreement_by_pair(labels)
    assert (pair.a, pair.b, pair.agreed, pair.n) == ("ana", "ben", 1, 2)
    assert pair.raw.value == 0.5


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30))
def test_kappa_is_symmetric_and_at_most_raw(pairs):
    a, b = zip(*pairs, strict=True)
    one, two = cohen_kappa(a, b, resamples=20), cohen_kappa(b, a, resamples=20)
    if math.isnan(one.value):
        assert math.isnan(two.value)
    else:
        assert one.value == pytest.approx(two.value)
        assert -1.0 <= one.value <= raw_agreement(a, b).value + 1e-12


@pytest.mark.shared
def test_published_judgements_of_the_development_part(shared_data):
    """195 of the 401 examples: raw agreement near the published 0.869, kappa well below it."""
    examples = json.loads((shared_data / "promqa" / "examples_dev.json").read_text())
    pairs = [
        (str(x), str(y))
        for e in examples
        if all(j["question"] for j in e["verification"]["judges"])
        for x, y in zip(*(j["answers"] for j in e["verification"]["judges"]), strict=True)
    ]
    a, b = zip(*pairs, strict=True)
    raw, kappa = raw_agreement(a, b), cohen_kappa(a, b)
    assert raw.low < 0.869 < raw.high
    assert 0.5 < kappa.value < 0.75
