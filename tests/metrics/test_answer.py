import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import effort

from proctor.metrics.answer import (
    mean_score,
    parse_judge_score,
    points,
    style_overlap,
)
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Signature

SIGNATURE = Signature("mean_score", {"benchmark": "demo-1", "judge": "rules-1", "cluster": "recording"})


def recordings(n):
    return [f"r{i}" for i in range(n)]


def test_points():
    assert [points(j) for j in (0, 1, 2, None)] == [0.0, 50.0, 100.0, None]


@pytest.mark.parametrize("bad", [3, -1, 1.5, True, "2"])
def test_points_refuses(bad):
    with pytest.raises(ValueError, match="0, 1 or 2"):
        points(bad)


def test_perfect_and_all_wrong():
    assert mean_score([100.0] * 12, recordings(12), SIGNATURE).value == 100.0
    assert mean_score([0.0] * 12, recordings(12), SIGNATURE).value == 0.0


def test_golden():
    score = mean_score([0.0, 50.0, 100.0, 100.0], recordings(4), SIGNATURE)
    assert score.value == 62.5
    assert score.n == 4
    assert score.low < 62.5 < score.high


def test_empty_is_undefined_and_says_why():
    score = mean_score([], [], SIGNATURE, skipped=7)
    assert math.isnan(score.value)
    assert score.note == "there are no items"
    assert (score.n, score.skipped) == (0, 7)


def test_failures_are_counted_and_never_zero():
    score = mean_score([100.0, None, None], recordings(3), SIGNATURE)
    assert score.value == 100.0
    assert (score.n, score.failed) == (1, 2)
    assert score.low is None
    assert "one cluster" in score.note
    assert mean_score([None, None], recordings(2), SIGNATURE).note == "every answer failed"


def test_invalid():
    with pytest.raises(ValueError, match="2 values for 1 clusters"):
        mean_score([1.0, 2.0], ["r"], SIGNATURE)
    with pytest.raises(ValueError, match="finite"):
        mean_score([1.0, math.nan], recordings(2), SIGNATURE)


# -- the judge's words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("Reasonable. Score: 2", 2),
        ("Score: 0", 0),
        ("The score: 1 was considered... Score: 2", 2),
        ("Score: 3", None),
        ("two out of two", None),
        ("Score: **1**", 1),
        ("**Score:** 1", 1),
        ("score = 2", 2),
        ("SCORE:2.", 2),
        ('{"explanation": "x", "score": 2}', 2),
        ("Score: 2/2", 2),
        ("Score: 1/2", 1),
        ("Score: 1 out of 2", 1),
        ("Score: 2.0", 2),
        ("Score: 1.5", None),
        ("Score: -1", None),
        ("Score: 12", None),
        ("Score: 1-2", None),
        ("Score: 1 or 2", None),
        ("Score: 2 (not 1)", 2),
        ("Score: 2. This score reflects full agreement.", 2),
        ("Score: two", None),
        ("Score:", None),
        ("Score:\n\n2", 2),
        ("I give a score of 2", 2),
        ("2", None),
        ("", None),
        ("underscore: 2", None),
        ("Scores: 2", None),
        ("Score: v2", None),
    ],
)
def test_parse_judge_score(response, expected):
    assert parse_judge_score(response) == expected


@pytest.mark.shared
def test_judge_expected(shared_expected):
    expected = shared_expected("smmqg-instructionbench")["judge"]
    assert len(expected["parse"]) == 6
    for response, judgement in expected["parse"]:
        assert parse_judge_score(response) == judgement
    marks = [points(j) for j in expected["scores"]]
    score = mean_score(marks, recordings(len(marks)), SIGNATURE)
    assert score.value == pytest.approx(expected["score_0_100"], abs=1e-9)


def test_mean_judgement_golden():
    assert mean_score([points(j) for j in (2, 2, 1, 0, 2)], recordings(5), SIGNATURE).value == 70.0


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("## Rationale\nfine\n## Judge\n2", 2),
        ("Judgement: 1", 1),
        ("**Judgment**: 0", 0),
        ("Judge: 2/2", 2),
        ("Judge: 1/2", 1),
        ("Judge: first 0, then on reflection 1", 1),
        ("Score: 2 because 5 steps match", 2),
        ("Judge: partial", None),
        ("Judge: 7", None),
        ("2", None),
    ],
)
def test_parse_judge_score_of_promqa(response, expected):
    assert parse_judge_score(response, scale="promqa") == expected


def test_parse_judge_score_invalid():
    with pytest.raises(MetricInputError, match="text, got None"):
        parse_judge_score(None)
    with pytest.raises(MetricInputError, match=r"'binary'.*smmqg, promqa"):
        parse_judge_score("Score: 1", scale="binary")


@given(st.text(max_size=80))
def test_any_words_of_a_judge_have_a_defined_reading(text):
    for scale in ("smmqg", "promqa"):
        assert parse_judge_score(text, scale=scale) in {0, 1, 2, None}
        assert parse_judge_score(f"{text}\nScore: 1", scale=scale) == 1


@pytest.mark.parametrize("part", ["score ", "Score: 1 ", "1 ", "\n", "*", "1/", "score:", "-"])
def test_long_judgements_take_bounded_time(part):
    with effort(3):
        parse_judge_score(part * (400_000 // len(part)))


# -- styles ----------------------------------------------------------------------------------------------------


def test_style_overlap_golden():
    found = style_overlap([["IE"], ["MH", "NUM"], [], ["CMP", "IE"]])
    assert found.overlap == 0.5
    assert found.unclaimed == 0.25
    assert math.isnan(found.own)


@pytest.mark.shared
def test_style_overlap_expected(shared_expected):
    expected = shared_expected("smmqg-instructionbench")["style_overlap"]
    assert 100 * style_overlap(expected["positives"]).overlap == expected["overlap_percent"]


def test_style_overlap_with_true_styles():
    found = style_overlap([["IE"], ["MH", "NUM"], []], ["IE", "IE", "MH"])
    assert found.own == pytest.approx(1 / 3)
    assert found.matrix.rows == ("IE", "MH")
    assert found.matrix.columns == ("IE", "MH", "NUM")
    assert found.matrix.cells == ((50.0, 50.0, 50.0), (0.0, 0.0, 0.0))


def test_style_overlap_perfect_empty_invalid():
    assert style_overlap([["a"], ["b"]]).overlap == 0.0
    assert style_overlap([["a", "a"]]).overlap == 0.0
    assert math.isnan(style_overlap([]).overlap)
    with pytest.raises(MetricInputError, match="collection"):
        style_overlap(["IE"])
    with pytest.raises(MetricInputError, match="1 true styles for 2"):
        style_overlap([[], []], ["IE"])


# -- published tables ------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_smmqg_table_6_is_nearer_to_the_mean_over_questions(shared_expected):
    """Weighted style means lie 0.1 to 0.6 below Table 6, unweighted ones 0.1 to 1.4 above."""
    expected = shared_expected("smmqg-instructionbench")
    counts = list(expected["smmqg_totals"]["style_counts"].values())
    assert sum(counts) == 1024
    table6 = expected["kendall"]["table7_gpt35_vs_gpt4"]["a"]
    weighted, plain = [], []
    for printed, styles in zip(table6, expected["paper_tables"]["T2_qa"].values(), strict=True):
        weighted.append(np.average(styles, weights=counts) - printed)
        plain.append(np.mean(styles) - printed)
    assert -0.65 < min(weighted) <= max(weighted) < -0.05
    assert 0.05 < min(plain) <= max(plain) < 1.45
    assert sum(map(abs, weighted)) < sum(map(abs, plain))


def test_no_resamples_leaves_the_interval_out():
    score = mean_score([1.0, 0.0, None], recordings(3), SIGNATURE, resamples=0)
    assert (score.value, score.low, score.high, score.n, score.failed) == (0.5, None, None, 2, 1)
    with pytest.raises(ValueError, match="finite"):
        mean_score([math.inf], ["r"], SIGNATURE, resamples=0)
