import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import effort

from proctor.metrics.choice.letters import LETTERS
from proctor.metrics.choice.reading import parse_letter
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
    with effort(3):
        parse_letter(response, OPTIONS)
