import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.metrics.score import Score, Signature, require_comparable, require_comparable_scores
from proctor.version import __version__

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
    require_comparable(one, one.having(judge="rules-2", seed="1"), ignoring={"judge"})


def test_another_seed_of_the_bootstrap_is_comparable():
    one = Signature("mean", {"judge": "rules-1", "seed": "0"})
    require_comparable(one, one.having(seed="1"))
    require_comparable(one, Signature("mean", {"judge": "rules-1"}))
    require_comparable_scores(Score(0.5, one, 4), Score(0.6, one.having(seed="1"), 4))


def test_videos_that_count_as_not_found_do_not_forbid_a_comparison():
    counted = Signature("map", {"failed": "not-found"})
    require_comparable_scores(Score(0.5, counted, 10), Score(0.7, counted, 8, failed=2))


def test_a_score_is_a_number_formats_and_has_a_dictionary():
    score = Score(0.8693, Signature("m", {"judge": "rules"}), 10, 0.8, 0.9, failed=2)
    assert (float(score), f"{score:.2f}", f"{score:.1%}", f"{score}") == (0.8693, "0.87", "86.9%", str(score))
    assert repr(score) == f"Score({score})"
    row = score._repr_html_().partition("<tbody>")[2]
    assert re.findall(r">([^<]+)</td>", row) == ["0.869", "0.8 to 0.9", "10", str(score.full_signature)]
    assert score.to_dict() == {
        "value": 0.8693, "low": 0.8, "high": 0.9, "n": 10, "failed": 2, "skipped": 0, "note": "",
        "signature": f"m|judge:rules|version:{__version__}",
    }  # fmt: skip
    undefined = Score(math.nan, Signature("m"), 0, note="nothing")
    assert (undefined.to_dict()["value"], f"{undefined:.2f}") == (None, "undefined")
    noted = Score(math.nan, Signature("m"), 0, note="<b>nothing")
    assert ">&lt;b&gt;nothing</td>" in noted._repr_html_()
    other = Score(0.8693, Signature("m", {"judge": "rules"}), 10, 0.8, 0.9, failed=2, version="9")
    assert other == score
    assert Score.parse(str(other)).version == "9"


def test_score_prints_value_interval_and_denominator():
    signature = Signature("mean", {"judge": "rules"})
    score = Score(44.125, signature, 399, 40.0, 48.25, failed=2, skipped=1)
    assert (
        str(score)
        == f"mean|judge:rules|version:{__version__} = 44.125 [40, 48.25] (n=399, 2 failed, 1 skipped)"
    )
    assert score.total == 402
    assert str(Score(0.8693, signature, 10)) == f"mean|judge:rules|version:{__version__} = 0.8693 (n=10)"
    assert "undefined (n=0; nothing)" in str(Score(math.nan, signature, 0, note="nothing"))


def test_score_refuses_silent_nan_negative_counts_and_half_an_interval():
    signature = Signature("mean")
    with pytest.raises(ValueError, match="needs a note"):
        Score(math.nan, signature, 0)
    with pytest.raises(ValueError, match="must not be negative"):
        Score(1.0, signature, 1, failed=-1)
    with pytest.raises(ValueError, match="two ends or none"):
        Score(1.0, signature, 1, low=0.5)


@given(
    st.floats(-1e300, 1e300),
    st.none() | st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)),
    st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)),
    st.text(st.characters(blacklist_categories=("Cs",)), max_size=20),
)
def test_a_printed_score_parses_back(value, ends, counts, note):
    low, high = ends or (None, None)
    score = Score(value, Signature("m", {"a": "b"}), counts[0], low, high, counts[1], counts[2], note)
    back = Score.parse(str(score))
    assert back.value == pytest.approx(value, rel=1e-9)
    assert (back.signature, back.n, back.failed, back.skipped) == (score.signature, *counts)
    assert back.note == note
    assert (back.low is None) == (low is None)


def test_an_undefined_score_parses_back_and_rubbish_does_not():
    score = Score(math.nan, Signature("m"), 0, note="nothing was counted")
    assert str(Score.parse(str(score))) == str(score)
    with pytest.raises(ValueError, match="printed score"):
        Score.parse("m = 3")


def test_scores_on_other_denominators_refuse_to_be_compared():
    signature = Signature("m", {"protocol": "corrected"})
    a = Score(0.5, signature, 10)
    require_comparable_scores(a, Score(0.7, signature, 10))
    with pytest.raises(ValueError, match=r"different denominators: 10 items .* against 12"):
        require_comparable_scores(a, Score(0.7, signature, 10, failed=2))
    with pytest.raises(ValueError, match="stand on different items: 10 scored of 10 against 8"):
        require_comparable_scores(a, Score(0.7, signature, 8, failed=2))
    with pytest.raises(ValueError, match="protocol"):
        require_comparable_scores(a, Score(0.7, signature.having(protocol="published"), 10))
