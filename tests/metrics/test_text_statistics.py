import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.metrics.text_statistics import (
    count_tokens,
    count_words,
    distinct_n,
    first_words,
    mean_tokens,
    mean_words,
    tokenize,
    type_token_ratio,
)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Did I miss a step?", ["Did", "I", "miss", "a", "step", "?"]),
        ("You didn't.", ["You", "did", "n't", "."]),
        (
            "You've added 1/2 tsp, it’s 1.5 more",
            ["You", "'ve", "added", "1/2", "tsp", ",", "it", "’s", "1.5", "more"],
        ),
        ("non-stick pan (5-6 min)", ["non", "-", "stick", "pan", "(", "5", "-", "6", "min", ")"]),
        ("wait... what", ["wait", "...", "what"]),
        ("1,000 ½ 30g", ["1,000", "½", "30", "g"]),
        ("a_b", ["a", "_", "b"]),
        ("", []),
        ("  \n", []),
    ],
)
def test_tokenize(text, tokens):
    assert tokenize(text) == tokens


@given(st.text(max_size=200))
def test_tokens_hold_everything_but_white_space(text):
    assert "".join(tokenize(text)) == "".join(text.split())


def test_tokenize_is_linear():
    text = "an " * 200_000 + "a" * 400_000 + "1/" * 100_000
    begin = time.perf_counter()
    tokenize(text)
    assert time.perf_counter() - begin < 5


def test_counts():
    assert count_words("You didn't miss it.") == 4
    assert count_tokens("You didn't miss it.") == 6
    assert mean_words(["a b", "c"]) == 1.5
    assert mean_tokens(["a b.", "c"]) == 2.0


def test_empty_is_nan():
    assert math.isnan(mean_words([]))
    assert math.isnan(mean_tokens([]))
    assert math.isnan(type_token_ratio([]))
    assert math.isnan(type_token_ratio(["...", ""]))
    assert math.isnan(distinct_n(["a"], 2))


def test_diversity_golden():
    texts = ["Add the salt.", "add the oil"]
    assert type_token_ratio(texts) == 4 / 6
    assert distinct_n(texts, 1) == 4 / 6
    assert distinct_n(texts, 2) == 3 / 4
    assert distinct_n(texts, 3) == 1.0
    with pytest.raises(ValueError, match="positive"):
        distinct_n(texts, 0)


def test_first_words_by_count_then_alphabet():
    assert first_words(["Did I?", "did we?", "Am I?", "?", "-- Is it"]) == [("did", 2), ("am", 1), ("is", 1)]


@given(st.lists(st.text("ab ", max_size=12), max_size=8), st.integers(1, 3))
def test_distinct_n_is_a_share(texts, n):
    value = distinct_n(texts, n)
    assert math.isnan(value) or 0 < value <= 1


@pytest.mark.shared
def test_words_of_the_published_questions(shared_data):
    """On half of the published examples both counts are near the published means of all of them."""
    examples = json.loads((shared_data / "promqa" / "examples_dev.json").read_text())
    questions = [e["question"] for e in examples]
    answers = [a for e in examples for a in e["answers"]]
    assert mean_tokens(questions) == pytest.approx(8.913, abs=0.15)
    assert mean_tokens(answers) == pytest.approx(11.821, abs=0.3)
    assert mean_words(questions) == pytest.approx(7.865, abs=0.15)
    assert mean_words(answers) == pytest.approx(9.974, abs=0.3)
