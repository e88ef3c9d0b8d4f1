import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.metrics.score import Score, Signature, require_comparable

part = st.text(st.characters(blacklist_characters="|", blacklist_categories=("Cs",)), min_size=1, max_size=12)
key = part.filter(lambda text: ":" not in text)


@given(part, st.dictionaries(key, part, max_size=5))
def test_signature_round_trips(name, parameters):
    signature = Signature(name, parameters)
    assert Signature.parse(str(signature)) == signature
    assert hash(Signature.parse(str(signature))) == hash(signature)


def test_signature_prints_sorted_and_keeps_colons_in_values():
    signature = Signature("mean", {"z": "1", "judge": "rules:v1:x"})
    assert str(signature) == "mean|judge:rules:v1:x|z:1"
    assert Signature.parse(str(signature)).parameters["judge"] == "rules:v1:x"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("", {}), ("a|b", {}), ("a", {"k": "x|y"}), ("a", {"k:l": "x"}), ("a", {"k": ""}), ("a", {"": "x"})],
)
def test_signature_refuses_parts_that_would_not_parse(name, parameters):
    with pytest.raises(ValueError, match="signature"):
        Signature(name, parameters)


@pytest.mark.parametrize("text", ["mean|judge", "mean|", "mean|a:1|a:2", "mean|a:"])
def test_parse_refuses(text):
    with pytest.raises(ValueError, match="signature"):
        Signature.parse(text)


def test_having_and_differing():
    one = Signature("mean", {"slice": "all", "seed": "0"})
    two = one.having(slice="clean")
    assert one.differing(two) == ("slice",)
    assert one.differing(two, ignoring={"slice"}) == ()
    assert one.differing(Signature("kappa", {"slice": "all", "seed": "0"})) == ("name",)
    assert one.differing(Signature("mean", {"slice": "all"})) == ("seed",)


def test_require_comparable_names_what_differs():
    one = Signature("mean", {"judge": "rules-1", "benchmark": "v1"})
    require_comparable(one, Signature("mean", {"judge": "rules-1", "benchmark": "v1"}))
    with pytest.raises(ValueError, match=r"judge \('rules-1' against 'rules-2'\)"):
        require_comparable(one, one.having(judge="rules-2"))
    with pytest.raises(ValueError, match=r"seed \('unset' against '1'\)"):
        require_comparable(one, one.having(seed="1"))
    require_comparable(one, one.having(seed="1"), ignoring={"seed"})


def test_score_prints_value_interval_and_denominator():
    signature = Signature("mean", {"judge": "rules"})
    score = Score(44.125, signature, 399, 40.0, 48.25, failed=2, skipped=1)
    assert str(score) == "mean|judge:rules = 44.12 [40, 48.25] (n=399, 2 failed, 1 skipped)"
    assert score.total == 402
    assert str(Score(0.8693, signature, 10)) == "mean|judge:rules = 0.8693 (n=10)"
    assert "undefined (nothing)" in str(Score(math.nan, signature, 0, note="nothing"))


def test_score_refuses_silent_nan_negative_counts_and_half_an_interval():
    signature = Signature("mean")
    with pytest.raises(ValueError, match="needs a note"):
        Score(math.nan, signature, 0)
    with pytest.raises(ValueError, match="must not be negative"):
        Score(1.0, signature, 1, failed=-1)
    with pytest.raises(ValueError, match="two ends or none"):
        Score(1.0, signature, 1, low=0.5)
