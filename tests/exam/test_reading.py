from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import effort

from proctor.exam.reading import (
    ANY_ORDER,
    FAMILY,
    RESTART,
    Vocabulary,
    asks_for_amount,
    asks_for_count,
    asks_for_fault,
    is_open,
    is_yes_no,
    plain_text,
    read_answer,
    stem,
    words,
)


@pytest.mark.parametrize(
    ("forms", "base"),
    [
        ("slice slices slicing sliced", "slice"),
        ("chop chops chopped chopping", "chop"),
        ("tighten tightened tightening tightens", "tighten"),
        ("leaf leaves", "leaf"),
        ("tomato tomatoes", "tomato"),
        ("take took taken taking", "take"),
        ("press pressed pressing presses", "press"),
        ("berry berries", "berry"),
    ],
)
def test_forms_of_a_word_share_a_stem(forms, base):
    assert {stem(form) for form in forms.split()} == {stem(base)}


def test_different_words_keep_apart():
    assert (
        len({stem(w) for w in ("oil", "boil", "bowl", "onion", "glass", "gas", "bus", "whisk", "wash")}) == 9
    )


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Two screws", ["2", "screws"]),
        ("½ tsp", ["1/2", "tsp"]),
        ("1½ cups", ["1.5", "cups"]),
        ("1 1/2 cups", ["1.5", "cups"]),
        ("DON’T do it", ["don't", "do", "it"]),
        ("ﬁne ＡＢＣ", ["fine", "abc"]),
        ("1/0 of", ["1/0", "of"]),
    ],
)
def test_words(text, tokens):
    assert words(text) == tokens


@pytest.mark.parametrize(
    ("text", "polarity", "stance"),
    [
        ("No.", "no", None),
        ("Yes", "yes", None),
        ("No, you're on track.", "no", "fine"),
        ("Everything is fine so far.", None, "fine"),
        ("You didn't miss any steps.", None, "fine"),
        ("No steps are missing.", None, "fine"),
        ("You have not forgotten anything.", None, "fine"),
        ("You have completed all the steps.", None, "finished"),
        ("No, nothing else, it's ready to use.", "no", "finished"),
        ("Yes, you forgot the clamp.", "yes", "act"),
        ("Tighten the clamp.", None, "act"),
        ("You haven't added all screws.", None, "act"),
        ("That is not correct.", None, "act"),
        ("No, not yet. Attach the bracket first.", "no", "act"),
        ("I can't tell from the video.", None, "unknown"),
        ("It's unclear.", None, "unknown"),
        ("Nope, all good", "no", "fine"),
        ("Nothing, all the steps are done.", None, "finished"),
        ("All of the steps have been finished.", None, "finished"),
        ("There is nothing left.", None, "finished"),
        ("Nothing that had to come before it is missing.", None, "fine"),
        ("You haven't left out any step.", None, "fine"),
        ("No, not at this point.", "no", "fine"),
        ("You did not turn the last screw in properly.", None, "act"),
        ("3.", None, "act"),
        ("", None, None),
        ("!!! ...", None, None),
    ],
)
def test_polarity_and_stance(text, polarity, stance):
    reading = read_answer(text)
    assert (reading.polarity, reading.stance) == (polarity, stance)


def test_well_but_not_well_is_mixed():
    reading = read_answer("You didn't miss any steps, but the bracket is crooked and loose.")
    assert reading.stance == "act"
    assert reading.mixed
    assert not read_answer("You didn't miss any steps.").mixed


@pytest.mark.parametrize(
    "text", ["Yes. No.", "Yes and no.", "No, yes", "Yes, you forgot it. No, you did not."]
)
def test_contradiction(text):
    assert read_answer(text).contradictory


@pytest.mark.parametrize(
    "text", ["Yes, no screws were used.", "No. Nothing is missing.", "No screws are missing."]
)
def test_no_contradiction(text):
    assert not read_answer(text).contradictory


def test_amounts_know_their_unit_and_what_they_measure():
    (first, second) = read_answer("Use 2 tbsp of oil for 30 seconds.").amounts
    assert (first.value, first.unit, first.of) == (2, "tbsp", "oil")
    assert (second.value, second.unit, second.of) == (30, "second", "time")
    assert str(first) == "2 tbsp"
    (half,) = read_answer("½ tsp").amounts
    assert half.value == Fraction(1, 2)


def test_roles_of_instead_of():
    advice = read_answer("You should use oak instead of pine.")
    report = read_answer("You used pine instead of oak.")
    assert "oak" in advice.wanted
    assert stem("pine") in advice.actual
    assert stem("pine") in report.actual
    assert "oak" in report.wanted
    unclear = read_answer("Use oak instead of pine.")
    assert not unclear.wanted
    assert not unclear.actual


def test_before_and_after_are_two_ways_to_say_it():
    one, two = read_answer("Sand the wood before painting."), read_answer("Paint after sanding the wood.")
    assert one.earlier == two.earlier == {"sand", "wood"}
    assert "paint" in one.later & two.later


def test_mentioned_words_are_context():
    reading = read_answer("You should attach the bracket before sliding the shelf.")
    assert frozenset().union(*reading.units) == {stem("attach"), "bracket"}
    assert reading.context == {stem("slide"), "shelf"}
    front = read_answer("Before sliding the shelf, attach the bracket.")
    assert "bracket" in frozenset().union(*front.units)
    assert "shelf" in front.context


def test_start_over_is_an_answer_of_its_own():
    assert RESTART in read_answer("You should start over because the glass broke.").content
    assert RESTART not in read_answer("Start the drill.").content


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("too much oil", 1),
        ("not enough oil", -1),
        ("you should press longer", -1),
        ("some oil", 0),
        ("too early, too late", 0),
    ],
)
def test_direction(text, direction):
    assert read_answer(text).direction == direction


@pytest.mark.parametrize(
    ("question", "fault"),
    [
        ("Did I forget anything?", True),
        ("Is there anything else I need to do?", True),
        ("Was that too long?", True),
        ("Should I have used the other bracket?", True),
        ("Did I do it correctly?", False),
        ("Have I done everything so far?", False),
        ("Is this the right amount?", False),
        ("What should I do now?", None),
        ("Which bracket comes first?", None),
        ("Did I jump over a step?", True),
        ("Did anything slip my mind?", True),
        ("Have I left out any part?", True),
        ("Did I mess up the order?", True),
        ("Did I misjudge the length?", True),
        ("Is my timing off here?", True),
        ("Did I turn off the saw?", None),
        ("Am I fine, with nothing left out?", False),
        ("Can I be sure that no step was skipped?", False),
        ("Did I do it as I should?", False),
        ("Did I stick to the plan?", False),
        ("Can I stop here?", False),
        ("Was I supposed to sand it before now?", True),
        ("Am I supposed to sand it now?", None),
    ],
)
def test_what_no_means(question, fault):
    assert asks_for_fault(question) is fault


@pytest.mark.parametrize(
    ("question", "yes_no"),
    [
        ("Did I?", True),
        ("What is next?", False),
        ("Hey, is it fine?", True),
        ("Hm. Should I go on?", True),
        ("Where is it?", False),
        ("Ought I to have sanded it?", True),
        ("Could you tell me what comes next?", False),
        ("Would you sand it now?", True),
        ("", False),
    ],
)
def test_is_yes_no(question, yes_no):
    assert is_yes_no(question) is yes_no


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("No, you have already sanded it.", "done"),
        ("No, that comes later.", "later"),
        ("You first have to sand it.", "later"),
        ("No, that comes next.", "due"),
        ("You can sand the board now.", "due"),
        ("Sand the board.", None),
    ],
)
def test_where_an_answer_puts_what_was_asked(text, place):
    assert read_answer(text).place == place


def test_advice_alone_leaves_open_whether_something_is_wrong():
    assert read_answer("You should sand the board.").assumed
    assert read_answer("Sand the board.").assumed
    assert not read_answer("You should have sanded the board.").assumed
    assert not read_answer("You forgot the board.").assumed


def test_any_order_has_many_wordings():
    for text in (
        "in any order",
        "Either of the two can come first.",
        "Both can be done now.",
        "The order doesn't matter.",
    ):
        assert ANY_ORDER in read_answer(text).content
    assert ANY_ORDER not in read_answer("Keep to the order of the plan.").content


def test_families_hold_stems():
    assert all(stem(w) in FAMILY for w in ("slice", "place", "combine", "season", "grate"))
    assert FAMILY[stem("slicing")] == FAMILY[stem("chopped")]


@pytest.mark.parametrize(
    ("question", "amount", "count"),
    [
        ("How much glue should I use?", True, False),
        ("What temperature should it have been?", True, False),
        ("Which setting should I have picked?", True, False),
        ("What's wrong with the amount here?", False, False),
        ("How many steps have I skipped so far?", True, True),
        ("What's the number of steps I've missed?", True, True),
        ("How many screws do I need?", True, False),
        ("What now?", False, False),
    ],
)
def test_questions_for_figures(question, amount, count):
    assert (asks_for_amount(question), asks_for_count(question)) == (amount, count)


@given(st.text(max_size=200))
def test_plain_text_stays_plain(text):
    assert words(plain_text(text)) == words(text)


def test_open_questions():
    assert is_open("What now?")
    assert is_open("Could you tell me what comes next?")
    assert not is_open("Is that what I should do?")
    assert not is_open("Everything fine?")


def test_vocabulary_recognises_steps_by_the_words_that_tell(shelf):
    vocabulary = Vocabulary.of(shelf)

    def steps(text):
        return frozenset().union(*map(vocabulary.recognise, read_answer(text).units))

    assert steps("attaching the left bracket") == {"1"}
    assert steps("the right bracket was not attached") == {"2"}
    assert steps("wipe it down") == {"5"}
    assert steps("attach the bracket") == {"1", "2"}
    assert steps("call your mother") == frozenset()
    assert vocabulary.weight("left") > vocabulary.weight("bracket")


def test_grammar_of_time_is_linear():
    for text in (
        "not " * 20_000,
        "a" * 100_000,
        "1/2 " * 20_000,
        "no, " * 20_000,
        "yes no" * 15_000,
        "- " * 30_000,
    ):
        with effort(2, text[:10]):
            read_answer(text)


@given(st.text(max_size=300))
def test_any_text_can_be_read(text):
    reading = read_answer(text)
    assert reading.wanted.isdisjoint(reading.actual)
    assert reading.earlier.isdisjoint(reading.later)
    assert reading == read_answer(text)
