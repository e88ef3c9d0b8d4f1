"""Floors of multiple choice: what they say, and what they get on average."""

import random
from collections import Counter

import msgspec
import pytest
from tests.exam.clip_set import clip_items, question

from proctor.errors import UserError
from proctor.exam import choice_floors
from proctor.exam.choice_floors import CHOICE_FLOORS
from proctor.exam.kinds.clip import KIND
from proctor.exam.predict import predict_items
from proctor.exam.scores import score_run
from proctor.exam.table import Resampling
from proctor.metrics.choice.marks import option_tells

NONE = Resampling(resamples=0)


def varied(count: int = 300, seed: int = 1):
    """Questions whose options differ in length; the right one is the longest more often than by chance."""
    rng = random.Random(seed)
    made = []
    for n in range(count):
        options = ["x" * rng.randint(3, 12) + str(k) for k in range(5)]
        letter = rng.choice("ABCDE")
        if rng.random() < 0.5:
            options["ABCDE".index(letter)] += "y" * 10
        made.append(question(n, options=tuple(options), letter=letter))
    return made


def predict_floor(questions, name, seed=0):
    items = clip_items(questions)
    return list(predict_items(items, choice_floors.choice_floor(name, items), seed=seed))


def most_frequent_letter(questions):
    return choice_floors.most_frequent_letter(clip_items(questions))


def accuracy(questions, floor, seed=0):
    made = predict_floor(questions, floor, seed=seed)
    return score_run(KIND, clip_items(questions), made, benchmark="b", resampling=NONE).row().value


def test_chance_is_one_over_the_number_of_options() -> None:
    questions = [*varied(20), question(400, options=("a", "b"), letter="A")]
    assert accuracy(questions, "chance") == pytest.approx((20 * 0.2 + 0.5) / 21)
    assert accuracy(questions, "chance", seed=9) == accuracy(questions, "chance")


def test_the_longest_option_is_what_the_report_of_tells_says() -> None:
    questions = varied()
    tells = option_tells([q.options for q in questions], [q.letter for q in questions])
    assert accuracy(questions, "longest-option") == pytest.approx(tells.longest_right)
    assert tells.longest_right > 0.4


def test_ties_of_the_longest_option_are_shared() -> None:
    tied = question(0, options=("aa", "bb", "c"), letter="A")
    (made,) = predict_floor([tied], "longest-option")
    assert made.answer in "AB"
    assert made.details["credit"] == "0.5"
    (wrong,) = predict_floor([msgspec.structs.replace(tied, letter="C")], "longest-option")
    assert wrong.details["credit"] == "0.0"


def test_the_most_frequent_letter() -> None:
    questions = [question(n, letter="BBD"[n % 3]) for n in range(9)]
    assert most_frequent_letter(questions) == "B"
    assert accuracy(questions, "most-frequent-letter") == pytest.approx(6 / 9)
    made = predict_floor(questions, "most-frequent-letter")
    assert {p.answer for p in made} == {"B"}
    assert {p.details["privilege"] for p in made} == {"how often each letter is right"}
    assert most_frequent_letter([question(0, letter="D"), question(1, letter="C")]) == "C"
    assert most_frequent_letter([]) == ""
    short = question(0, options=("a", "b"), letter="A")
    late = [question(n, letter="E") for n in range(1, 5)]
    assert predict_floor([short, *late], "most-frequent-letter")[0].details["credit"] == "0.5"


def test_draws_come_from_seed_and_question_and_agree_with_their_average() -> None:
    questions = varied(1_000)
    first = predict_floor(questions, "chance", seed=3)
    assert predict_floor(list(reversed(questions)), "chance", seed=3) == list(reversed(first))
    assert predict_floor(questions, "chance", seed=4) != first
    counts = Counter(p.answer for p in first)
    assert all(140 < counts[letter] < 260 for letter in "ABCDE")  # five standard deviations about 200
    right = sum(p.answer == q.letter for p, q in zip(first, questions, strict=True))
    assert 137 < right < 263


def test_names_and_what_is_no_floor() -> None:
    assert {p.predictor for f in CHOICE_FLOORS for p in predict_floor([question(0)], f)} == {
        f"floor: {floor}" for floor in CHOICE_FLOORS
    }
    with pytest.raises(UserError, match="no floor 'oracle'"):
        predict_floor([question(0)], "oracle")
    with pytest.raises(UserError, match="no options to guess among"):
        predict_floor([question(0, options=())], "chance")
