import itertools
import math
import random
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from proctor.metrics.choice import (
    LETTERS,
    METRICS,
    balanced_letter_counts,
    blind_pass_probability,
    chance_accuracy,
    choice_accuracy,
    letter_balance,
    letter_confusion,
    letter_counts,
    longest_option_credit,
    option_tells,
    parse_letter,
    recall_by_letter,
    recall_spread,
    vote_probability,
)
from proctor.metrics.errors import MetricInputError

OPTIONS = ["Add the salt", "Pour the milk", "Stir the eggs", "A bowl of water", "Turn off the heat"]

PARSED = [
    # explicit statements
    ("The answer is B", "B", "answer"),
    ("The answer is B.", "B", "answer"),
    ("the answer is b.", "B", "answer"),
    ("The correct answer is: (C)", "C", "answer"),
    ("The correct answer is option D.", "D", "answer"),
    ("The correct option is E", "E", "answer"),
    ("Answer: B", "B", "answer"),
    ("Answer : b", "B", "answer"),
    ("ANSWER: B", "B", "answer"),
    ("**Answer:** B", "B", "answer"),
    ("**Answer: B**", "B", "answer"),
    ("**The answer is B.** The person pours.", "B", "answer"),
    ("### Answer\nFinal answer: C", "C", "answer"),
    ("Answer: **B**. Pour the milk", "B", "answer"),
    ("Answer: __B__", "B", "answer"),
    ("Answer: `B`", "B", "answer"),
    ("My answer is 'B'", "B", "answer"),
    ("The best answer is “B”", "B", "answer"),
    ("The answer is B because (A) is wrong", "B", "answer"),
    ("The answer is B, not C.", "B", "answer"),
    ("The answer is B: Pour the milk", "B", "answer"),
    ("The answer is B) Pour the milk", "B", "answer"),
    ("The answer is A", "A", "answer"),
    ("The answer is A.", "A", "answer"),
    ("the answer is a.", "A", "answer"),
    ("The answer is A because the salt is missing", "A", "answer"),
    ("The answer is A) Add the salt", "A", "answer"),
    ("The answer is A Add the salt", "A", "answer"),
    ("The answer should be C.", "C", "answer"),
    ("The answer would be option (C)", "C", "answer"),
    ("The correct choice is clearly C", "C", "answer"),
    ("Correct option: D", "D", "answer"),
    ("Choice: D", "D", "answer"),
    ("Option B is correct.", "B", "answer"),
    ("B is correct.", "B", "answer"),
    ("B) is the correct answer", "B", "answer"),
    ("A is the best option.", "A", "answer"),
    ("Looking at the frames, B is the right answer.", "B", "answer"),
    ("I choose B.", "B", "answer"),
    ("I would go with option C", "C", "answer"),
    ("I pick (D).", "D", "answer"),
    ("So I select E", "E", "answer"),
    (r"\boxed{B}", "B", "answer"),
    (r"The result is $\boxed{\text{C}}$.", "C", "answer"),
    (r"First A, then B. \boxed{D}", "D", "answer"),
    (r"The answer is $B$", "B", "answer"),
    (r"The answer is \(B\)", "B", "answer"),
    (r"The answer is \textbf{B}", "B", "answer"),
    ("The answer is A at first sight. Final answer: B", "B", "answer"),
    ("The answer is C at first sight. My final answer is B.", "B", "answer"),
    ("The answer is B. Yes, the answer is B.", "B", "answer"),
    ("<think>The answer is A? No.</think>The answer is B", "B", "answer"),
    ("The answer is not A. The answer is B.", "B", "answer"),
    ("I can't see the salt, so the answer is B.", "B", "answer"),
    ("The wrong answer is A; the right answer is C.", "C", "answer"),
    ("I would not choose A. I choose B.", "B", "answer"),
    ("Answer:\nB", "B", "answer"),
    ("Answer:\n\n(B) Pour the milk", "B", "answer"),
    ("答案 answer: Ｂ", "B", "answer"),
    ('{"answer": "B"}', "B", "answer"),
    ('```json\n{"reason": "x", "answer": "C"}\n```', "C", "answer"),
    ("{'answer': 'B', 'confidence': 0.9}", "B", "answer"),
    ("I believe the answer to be B.", "B", "answer"),
    ("Option C is the most likely.", "C", "answer"),
    ("The answer is B, A is not in the video.", "B", "answer"),
    ("The answer is B, and A is wrong.", "B", "answer"),
    ("The correct answer is: \n\n**C. Stir the eggs**", "C", "answer"),
    (
        "Based on the video, the correct answer is B. Pour the milk.\n\nExplanation: Option A is incorrect.",
        "B",
        "answer",
    ),
    ("The answer is **(B) Pour the milk**.", "B", "answer"),
    ("Selected option: B", "B", "answer"),
    # nothing but a letter
    ("B", "B", "sole"),
    ("b", "B", "sole"),
    ("a", "A", "sole"),
    ("A", "A", "sole"),
    (" B \n", "B", "sole"),
    ("B.", "B", "sole"),
    ("(B)", "B", "sole"),
    ("[b]", "B", "sole"),
    ("'B'", "B", "sole"),
    ("**B**", "B", "sole"),
    ("**(B)**", "B", "sole"),
    ("Option B", "B", "sole"),
    ("option b.", "B", "sole"),
    ("<answer>B</answer>", "B", "sole"),
    ("<think>A or C?</think>\n\nB", "B", "sole"),
    ("$B$", "B", "sole"),
    ("Ｂ", "B", "sole"),
    ("（Ｂ）", "B", "sole"),
    ("B\n", "B", "sole"),
    ("> B", "B", "sole"),
    ("B\n\nExplanation: the person pours (A) first", "B", "sole"),
    ("The person pours.\n\n**B**", "B", "sole"),
    ("b\nbecause of the milk", "B", "sole"),
    # in brackets
    ("It must be (B) here", "B", "bracketed"),
    ("Probably [C], pour first", "C", "bracketed"),
    ("(b) Pour the milk", "B", "bracketed"),
    ("(A) Add the salt", "A", "bracketed"),
    ("(B) Pour the milk, as said in (B)", "B", "bracketed"),
    ("He adds step(s), hence (C)", "C", "bracketed"),
    ("It cannot be (A), so (B)", "B", "bracketed"),
    ("The person( s ) {D}", "D", "bracketed"),
    # letter and punctuation at the start
    ("B. Pour the milk", "B", "start"),
    ("B) Pour the milk", "B", "start"),
    ("B: Pour the milk", "B", "start"),
    ("b) pour", "B", "start"),
    ("A. Add the salt", "A", "start"),
    ("A.Add the salt", "A", "start"),
    ("a. Add the salt", "A", "start"),
    ("**B.** Pour the milk", "B", "start"),
    ("**B**. Pour the milk", "B", "start"),
    ("Option B: pour", "B", "start"),
    ("B.\nThe person pours.", "B", "sole"),
    ("C. The person is stirring. A spoon is used.", "C", "start"),
    ("'B'. Pour", "B", "start"),
    ("B - Pour the milk", "B", "start"),
    ("B – pour the milk into the bowl", "B", "start"),
    ("B Pour the milk", "B", "start"),
    ("B, pour the milk", "B", "start"),
    ("**B** Pour the milk", "B", "start"),
    ("A - add the salt", "A", "start"),
    ("C. Stir the eggs. Option A is incorrect.", "C", "start"),
    # the text of an option
    ("Pour the milk", "B", "text"),
    ("pour the milk.", "B", "text"),
    ("  Pour   the milk ", "B", "text"),
    ("**Pour the milk**", "B", "text"),
    ("A bowl of water", "D", "text"),
    ("The answer is: Pour the milk.", "B", "text"),
    ("Answer: a bowl of water", "D", "text"),
    ("“Pour the milk”", "B", "text"),
]

UNPARSED = [
    ("", "empty"),
    ("  \n ", "empty"),
    ("...", "empty"),
    ("<think>The answer is B", "empty"),
    ("The person adds salt", "none"),
    ("The", "none"),
    ("Because the pan is hot", "none"),
    ("A good choice is to stir.", "none"),
    ("A person pours milk", "none"),
    ("a spoon", "none"),
    ("Eggs", "none"),
    ("Dairy: milk", "none"),
    ("F", "none"),
    ("(F)", "none"),
    ("F. Something", "none"),
    ("The answer is F.", "none"),
    ("The answer is a spoon", "none"),
    ("The answer is A good mix", "none"),
    ("The answer is Because", "none"),
    ("The answer is the milk", "none"),
    ("The answer is not B", "none"),
    ("The answer isn't B", "none"),
    ("The wrong answer is B", "none"),
    ("I don't think B is correct", "none"),
    ("I do not choose B", "none"),
    ("Neither A nor B is correct", "none"),
    ("It is not (B)", "none"),
    ("I cannot answer.", "none"),
    ("I don't know", "none"),
    ("Pour the milk and stir", "none"),
    ("a.m. is the time", "none"),
    ("A.M. it was", "none"),
    ("E.g. salt", "none"),
    ("A-frame", "none"),
    ("C++", "none"),
    ("AB", "none"),
    ("1", "none"),
    ("answer", "none"),
    ("step(s) of the task(s)", "none"),
    ("The answer is B or C", "conflict"),
    ("The answer is B and C.", "conflict"),
    ("Answer: A, B", "conflict"),
    ("Answer: A/B", "conflict"),
    ("Both: answer is (A) and (C)", "conflict"),
    ("The answer is A. No, the answer is B.", "conflict"),
    ("Final answer: A. Final answer: B", "conflict"),
    (r"\boxed{A} or \boxed{B}", "conflict"),
    ("(A) or (B)", "conflict"),
    ("A\nB\nC", "conflict"),
    ("A) and C)", "conflict"),
    ("A: B", "conflict"),
    ("A: B. Pour the milk", "conflict"),
    ("The answer is A, B, and C", "conflict"),
    ("The answer is either A or B", "none"),
    ("B - stir", "none"),
    ("A - frame", "none"),
    ("(A) Add the salt (B) Pour the milk", "conflict"),
    ("A. Add the salt\nB. Pour the milk\nC. Stir the eggs", "conflict"),
    ("A) Add the salt\nB) Pour the milk", "conflict"),
]


@pytest.mark.parametrize(("response", "letter", "rule"), PARSED)
def test_parsed(response, letter, rule):
    found = parse_letter(response, OPTIONS)
    assert (found.letter, found.rule) == (letter, rule)


@pytest.mark.parametrize(("response", "rule"), UNPARSED)
def test_unparsed(response, rule):
    found = parse_letter(response, OPTIONS)
    assert (found.letter, found.rule) == (None, rule)


@pytest.mark.parametrize(
    ("response", "letter", "rule"),
    [
        ("B) Pour the milk", "B", "bracket"),
        ("B", "B", "bracket"),
        ("b)", "B", "bracket"),
        (" C.", "C", "bracket"),
        ("(D) x", "D", "bracket"),
        ("A) the answer is B", "A", "bracket"),
        ("F) nothing", None, "none"),
        ("Because", None, "none"),
        ("The answer is B", "B", "answer"),
    ],
)
def test_completion_of_an_opened_bracket(response, letter, rule):
    found = parse_letter(response, OPTIONS, opened_bracket=True)
    assert (found.letter, found.rule) == (letter, rule)


def test_only_letters_of_the_question_count():
    assert parse_letter("C", 2).letter is None
    assert parse_letter("C", 3).letter == "C"
    assert parse_letter("T", 20).letter == "T"
    assert parse_letter("The", 26).letter is None
    assert parse_letter("The answer is I think unclear", 9).letter is None
    assert parse_letter("The answer is I.", 9).letter == "I"


def test_texts_of_options():
    assert parse_letter("same", ["same", "same", "x"]).rule == "conflict"
    assert (
        parse_letter("B", ["B", "A"]).letter == "B"
    )  # a letter is a letter, even when another option says it
    assert parse_letter("no", ["yes", "no"]).letter == "B"
    assert parse_letter("Pour the milk", 5).letter is None
    assert parse_letter("3/4", ["1/2", "3/4"]).letter == "B"
    assert parse_letter("…", ["...", "x"]).rule == "empty"


@pytest.mark.parametrize(
    ("response", "options"), [(None, 5), (3, 5), ("A", 1), ("A", 27), ("A", []), ("A", True)]
)
def test_invalid(response, options):
    with pytest.raises(MetricInputError, match=r"response is a text|2 to 26 options"):
        parse_letter(response, options)


@given(
    st.sampled_from("ABCDE"),
    st.sampled_from(["{}", "({})", "{}.", "**{}**", "The answer is {}.", "{}) x", "Answer: {}"]),
)
def test_every_letter_in_every_form(letter, form):
    assert parse_letter(form.format(letter), 5).letter == letter
    assert parse_letter(form.format(letter.lower()), 5).letter == letter


@given(st.text(max_size=120), st.integers(2, 26))
def test_any_text_has_a_defined_result(response, options):
    found = parse_letter(response, options)
    assert (found.letter is None) == (found.rule in {"none", "conflict", "empty"})
    assert found.letter is None or found.letter in LETTERS[:options]


@pytest.mark.parametrize(
    "response",
    [
        "answer is " * 20_000,
        "(" * 200_000,
        "the answer " * 20_000 + "B",
        "A and B or " * 20_000,
        "\\boxed{" * 30_000,
        "<think>" * 30_000,
        "*" * 200_000,
        "A\n" * 100_000,
        "A. x\n" * 40_000,
        " " * 200_000 + "B",
        "final correct " * 15_000,
        "answer:" + " " * 200_000 + "x",
        "I choose " * 20_000 + "A, " * 40_000,
        "\n" * 200_000,
        "not A is " * 20_000,
    ],
)
def test_long_responses_take_bounded_time(response):
    begin = time.perf_counter()
    parse_letter(response, OPTIONS)
    assert time.perf_counter() - begin < 3


# -- accuracy --------------------------------------------------------------------------------------------------


def test_accuracy_perfect_wrong_and_unparsed():
    assert choice_accuracy(["A", "B"], ["A", "B"]).accuracy == 1.0
    counts = choice_accuracy(["A", "B", "C", "D"], ["A", "C", None, "D"])
    assert (counts.right, counts.wrong, counts.unparsed, counts.n) == (2, 1, 1, 4)
    assert counts.accuracy == 0.5
    assert counts.accuracy_of_parsed == 2 / 3
    assert counts.marks == (1.0, 0.0, 0.0, 1.0)


def test_accuracy_empty_and_all_unparsed():
    assert math.isnan(choice_accuracy([], []).accuracy)
    counts = choice_accuracy(["A"], [None])
    assert counts.accuracy == 0.0
    assert math.isnan(counts.accuracy_of_parsed)


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [(["A"], []), (["AB"], ["A"]), ([None], ["A"]), (["A"], ["a"]), ([""], [None]), (["1"], ["A"])],
)
def test_accuracy_invalid(gold, predicted):
    with pytest.raises(MetricInputError):
        choice_accuracy(gold, predicted)


def test_chance():
    assert chance_accuracy([5, 5]) == pytest.approx(0.2)
    assert chance_accuracy([2, 4]) == 0.375
    assert math.isnan(chance_accuracy([]))
    with pytest.raises(MetricInputError, match="2 to 26"):
        chance_accuracy([1])


# -- letters ---------------------------------------------------------------------------------------------------


def test_balance_golden():
    """mc_letters of the expected numbers."""
    test = letter_balance([1010, 990, 1005, 995, 1000])
    assert test.chi2 == pytest.approx(0.25, abs=1e-12)
    assert test.p == pytest.approx(0.992809, abs=5e-7)
    assert (test.df, test.note) == (4, "")
    assert balanced_letter_counts(5000, 5) == (1000,) * 5
    assert balanced_letter_counts(12, 5) == (3, 3, 2, 2, 2)


@pytest.mark.shared
def test_balance_expected(shared_expected):
    expected = shared_expected("smmqg-instructionbench")["mc_letters"]
    assert list(balanced_letter_counts(expected["n"], expected["options"])) == expected["balanced_counts"]
    example = expected["chi2_example"]
    test = letter_balance(example["counts"])
    assert test.chi2 == pytest.approx(example["chi2"], abs=1e-9)
    assert test.p == pytest.approx(example["p"], abs=5e-7)


@given(st.lists(st.integers(0, 200), min_size=2, max_size=8).filter(any))
def test_balance_equals_scipy(counts):
    expected = stats.chisquare(counts)
    test = letter_balance(counts)
    assert test.chi2 == pytest.approx(expected.statistic, abs=1e-9)
    assert test.p == pytest.approx(expected.pvalue, abs=1e-9)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=6).filter(any), st.randoms())
def test_balance_ignores_which_letter_is_which(counts, rng):
    shuffled = list(counts)
    rng.shuffle(shuffled)
    assert letter_balance(shuffled).chi2 == pytest.approx(letter_balance(counts).chi2)


def test_balance_of_questions_with_different_numbers_of_options():
    test = letter_balance([10, 20], [5, 5, 20], [0, 0])
    first, second = stats.chisquare([10, 20]), stats.chisquare([5, 5, 20])
    assert test.chi2 == pytest.approx(first.statistic + second.statistic)
    assert test.df == 3
    assert test.p == pytest.approx(stats.chi2.sf(test.chi2, 3))


def test_balance_undefined_rough_and_invalid():
    nothing = letter_balance([0, 0, 0])
    assert math.isnan(nothing.p)
    assert nothing.note
    assert letter_balance().note
    assert "rough" in letter_balance([3, 1]).note
    for bad in ([3], [], [-1, 2], [0.5, 1]):
        with pytest.raises(MetricInputError, match="counts"):
            letter_balance(bad)


def test_letter_counts():
    assert letter_counts(["A", None, "C", "A"], 3) == {"A": 2, "B": 0, "C": 1}
    with pytest.raises(MetricInputError, match="'D' of question 0"):
        letter_counts(["D"], 3)
    with pytest.raises(MetricInputError, match="must not be negative"):
        balanced_letter_counts(-1, 3)


def test_selection_bias_golden():
    """Who always says A has recalls 1, 0, 0, 0: the largest spread of four letters."""
    gold = ["A", "B", "C", "D"] * 3
    recalls = recall_by_letter(gold, ["A"] * 12, 4)
    assert recalls == {"A": 1.0, "B": 0.0, "C": 0.0, "D": 0.0}
    assert recall_spread(list(recalls.values())) == pytest.approx(math.sqrt(3) / 4)
    assert recall_spread(list(recall_by_letter(gold, gold, 4).values())) == 0.0
    assert recall_by_letter(["A"], [None], 2) == {"A": 0.0, "B": None}
    assert math.isnan(recall_spread([0.5, None]))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=9))
def test_recall_spread_is_numpy_s_population_deviation(recalls):
    assert 0 <= recall_spread(recalls) <= 0.5 + 1e-12
    assert recall_spread(recalls) == pytest.approx(np.std(recalls), abs=1e-9)


def test_confusion():
    matrix = letter_confusion(["A", "A", "B"], ["A", None, "A"], 2)
    assert matrix.rows == ("A", "B")
    assert matrix.columns == ("A", "B", "unparsed")
    assert matrix.cells == ((1.0, 0.0, 1.0), (1.0, 0.0, 0.0))
    with pytest.raises(MetricInputError):
        letter_confusion(["A"], ["C"], 2)


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from(["A", "B", "C", None])), max_size=30))
def test_confusion_sums_to_the_questions(pairs):
    gold, predicted = [g for g, _ in pairs], [p for _, p in pairs]
    cells = letter_confusion(gold, predicted, 3).cells
    assert sum(map(sum, cells)) == len(pairs)
    assert sum(cells[i][i] for i in range(3)) == choice_accuracy(gold, predicted).right


# -- tells -----------------------------------------------------------------------------------------------------


def test_longest_option():
    assert longest_option_credit(["a", "bbb", "cc"], "B") == 1.0
    assert longest_option_credit(["a", "bbb", "cc"], "A") == 0.0
    assert longest_option_credit(["aaa", "bbb ", "c"], "A") == 0.5
    with pytest.raises(MetricInputError, match="gold letter 'D'"):
        longest_option_credit(["a", "b"], "D")


def test_tells_golden_and_empty():
    tells = option_tells([["one two three", "one"], ["a b", "c d"]], ["A", "B"])
    assert tells.longest_right == 0.75
    assert tells.chance == 0.5
    assert (tells.words_right, tells.words_wrong) == (2.5, 1.5)
    assert (tells.characters_right, tells.characters_wrong) == (8.0, 3.0)
    assert tells.credits == (1.0, 0.5)
    assert math.isnan(option_tells([], []).longest_right)
    with pytest.raises(MetricInputError, match="1 questions for 2"):
        option_tells([["a", "b"]], ["A", "B"])


@given(st.lists(st.text("ab", max_size=4), min_size=2, max_size=6))
def test_credits_of_all_letters_sum_to_one(options):
    assert math.fsum(
        longest_option_credit(options, LETTERS[i]) for i in range(len(options))
    ) == pytest.approx(1)


# -- retry leak ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accuracy", "fails", "passes"),
    [
        (0.2, 0.104, 1.0),
        (0.5, 0.5, 0.999023),
        (0.7, 0.784, 0.912267),
        (0.8, 0.896, 0.666512),
        (0.9, 0.972, 0.247229),
        (0.95, 0.99275, 0.07018),
    ],
)
def test_retry_leak_golden(accuracy, fails, passes):
    assert vote_probability(accuracy) == pytest.approx(fails, abs=1e-9)
    assert blind_pass_probability(accuracy) == pytest.approx(passes, abs=5e-7)


@pytest.mark.shared
def test_retry_leak_expected(shared_expected):
    rows = shared_expected("smmqg-instructionbench")["mc_votes"]["independent_assistants"]
    assert len(rows) == 6
    for row in rows:
        assert vote_probability(row["blind_acc"]) == pytest.approx(row["fail_stage3_per_attempt"], abs=5e-7)
        assert blind_pass_probability(row["blind_acc"]) == pytest.approx(row["pass_within_10"], abs=5e-7)


@given(st.floats(0, 1), st.integers(1, 6), st.data())
def test_vote_equals_scipy_and_brute_force(accuracy, voters, data):
    needed = data.draw(st.integers(0, voters))
    found = vote_probability(accuracy, voters=voters, needed=needed)
    assert found == pytest.approx(stats.binom.sf(needed - 1, voters, accuracy), abs=1e-9)
    brute = sum(
        math.prod(accuracy if v else 1 - accuracy for v in votes)
        for votes in itertools.product([0, 1], repeat=voters)
        if sum(votes) >= needed
    )
    assert found == pytest.approx(brute, abs=1e-9)


@given(st.floats(0, 1), st.integers(1, 12))
def test_more_attempts_never_pass_less(accuracy, attempts):
    more = blind_pass_probability(accuracy, attempts=attempts + 1)
    assert 0 <= blind_pass_probability(accuracy, attempts=attempts) <= more + 1e-12 <= 1 + 1e-9


def test_votes_invalid():
    for wrong in (
        {"accuracy": 1.2},
        {"accuracy": math.nan},
        {"accuracy": 0.5, "needed": 4},
        {"accuracy": 0.5, "voters": 0},
    ):
        with pytest.raises(MetricInputError):
            vote_probability(**wrong)
    with pytest.raises(MetricInputError, match="attempt"):
        blind_pass_probability(0.5, attempts=0)


def test_a_simulated_vote_comes_near_the_formula():
    rng = random.Random(0)
    passed = sum(any(sum(rng.random() < 0.8 for _ in range(3)) < 2 for _ in range(10)) for _ in range(4_000))
    assert passed / 4_000 == pytest.approx(blind_pass_probability(0.8), abs=0.03)


def test_entries_of_the_catalogue():
    assert {m.name for m in METRICS} >= {"choice_accuracy", "letter_balance", "blind_pass_probability"}
    assert all(m.family == "answer" for m in METRICS)
