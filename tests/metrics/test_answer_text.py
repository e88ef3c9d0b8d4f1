import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from tests.patience import effort

from proctor.metrics.answer import (
    METRICS,
    Overlap,
    best_constant_answer,
    is_exact_match,
    lost_words,
    normalise_answer,
    rouge_1_overlap,
    rouge_l_overlap,
    rouge_tokens,
    token_overlap,
)
from proctor.metrics.errors import MetricInputError

PACKAGE = RougeScorer(["rouge1", "rougeL"], use_stemmer=False)
WORDS = st.lists(st.sampled_from(["a", "b", "c", "the", "add", "salt", "12"]), max_size=9).map(" ".join)


# -- golden ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "prediction", "expected"),
    [
        ("the cat sat on the mat", "the cat on mat", (1.0, 0.666667, 0.8)),
        ("red blue", "", (0.0, 0.0, 0.0)),
        ("a a b", "a a a", (0.666667, 0.666667, 0.666667)),
    ],
)
def test_rouge_1_golden(reference, prediction, expected):
    overlap = rouge_1_overlap(reference, prediction)
    assert (overlap.precision, overlap.recall, overlap.f1) == pytest.approx(expected, abs=5e-7)


@pytest.mark.shared
def test_rouge_1_expected(shared_expected):
    cases = shared_expected("smmqg-instructionbench")["rouge1"]["cases"]
    assert len(cases) == 3
    for case in cases:
        found = rouge_1_overlap(case["ref"], case["pred"])
        assert found.f1 == pytest.approx(case["F1"], abs=5e-7)
        assert found.precision == pytest.approx(case.get("P", found.precision), abs=5e-7)
        assert found.recall == pytest.approx(case.get("R", found.recall), abs=5e-7)


def test_rouge_l_golden():
    """Lin 2004, section 3.1: police killed the gunman; 3/4 against 2/4 by order."""
    reference = "police killed the gunman"
    assert rouge_l_overlap(reference, "police kill the gunman").f1 == 0.75
    assert rouge_l_overlap(reference, "the gunman kill police").f1 == 0.5
    assert rouge_1_overlap(reference, "the gunman kill police").f1 == 0.75


# -- the package, as an oracle ---------------------------------------------------------------------------------


def package(reference, prediction, name):
    found = PACKAGE.score(reference, prediction)[name]
    return found.precision, found.recall, found.fmeasure


@given(st.text(string.printable, max_size=60), st.text(string.printable, max_size=60))
@settings(max_examples=200)
def test_rouge_equals_the_package_on_ascii(reference, prediction):
    for function, name in ((rouge_1_overlap, "rouge1"), (rouge_l_overlap, "rougeL")):
        found = function(reference, prediction)
        assert (found.precision, found.recall, found.f1) == pytest.approx(
            package(reference, prediction, name)
        )


@given(WORDS, WORDS)
@settings(max_examples=200)
def test_rouge_equals_the_package_on_repeated_words(reference, prediction):
    for function, name in ((rouge_1_overlap, "rouge1"), (rouge_l_overlap, "rougeL")):
        found = function(reference, prediction)
        assert (found.precision, found.recall, found.f1) == pytest.approx(
            package(reference, prediction, name)
        )


@given(st.lists(WORDS, min_size=1, max_size=4), WORDS)
def test_several_references_are_the_package_s_best(references, prediction):
    best = PACKAGE.score_multi(references, prediction)["rouge1"].fmeasure
    assert rouge_1_overlap(references, prediction).f1 == pytest.approx(best)


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcd"), max_size=8))
def test_longest_common_subsequence_by_definition(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    expected = Overlap.of(table[-1][-1], len(a), len(b))
    assert rouge_l_overlap(" ".join(a), " ".join(b)) == expected


# -- properties ------------------------------------------------------------------------------------------------


@given(st.lists(WORDS, min_size=1, max_size=4), WORDS, st.randoms())
def test_order_of_references_never_matters(references, prediction, rng):
    shuffled = list(references)
    rng.shuffle(shuffled)
    for function in (rouge_1_overlap, rouge_l_overlap, token_overlap, is_exact_match):
        assert function(references, prediction) == function(shuffled, prediction)


@given(WORDS, WORDS)
def test_bounds_and_symmetry(a, b):
    for function in (rouge_1_overlap, rouge_l_overlap, token_overlap):
        there, back = function(a, b), function(b, a)
        assert 0.0 <= there.f1 <= 1.0
        assert there.f1 == pytest.approx(back.f1)
        assert (there.precision, there.recall) == (back.recall, back.precision)
    assert rouge_l_overlap(a, b).f1 <= rouge_1_overlap(a, b).f1 + 1e-12
    assert is_exact_match(a, b) <= token_overlap(a, b).f1


@given(WORDS, WORDS, WORDS)
def test_another_reference_never_lowers_a_value(a, b, prediction):
    for function in (rouge_1_overlap, rouge_l_overlap, token_overlap):
        assert function([a, b], prediction).f1 >= function(a, prediction).f1


@given(st.text(max_size=40))
def test_normalising_twice_changes_nothing(text):
    once = normalise_answer(text, "squad")
    assert normalise_answer(once, "squad") == once
    assert normalise_answer(text, "none") == text
    assert is_exact_match(text, text) == 1.0


# -- exact match and token F1 ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "normalisation", "expected"),
    [
        ("The  Salt!", "none", "The  Salt!"),
        ("The  Salt!", "squad", "salt"),
        ("an apple, a day", "squad", "apple day"),
        ("theatre a1", "squad", "theatre a1"),
        ("don't stop", "squad", "dont stop"),
        ("A", "squad", ""),
        ("“Salz”", "squad", "“salz”"),
        ("“Salz”", "unicode", "salz"),
        ("The Straße", "unicode", "the strasse"),
        ("Ｓａｌｔ，ｎｏｗ", "unicode", "salt now"),
        ("盐，现在", "unicode", "盐 现在"),
        ("", "squad", ""),
    ],
)
def test_normalise_answer(text, normalisation, expected):
    assert normalise_answer(text, normalisation) == expected


def test_exact_match_perfect_wrong_and_any_reference():
    assert is_exact_match("Add the salt.", "add salt") == 1.0
    assert is_exact_match("Add the salt.", "add salt", normalisation="none") == 0.0
    assert is_exact_match(["no", "Yes."], "yes") == 1.0
    assert is_exact_match("salt", "pepper") == 0.0


def test_an_answer_letter_is_deleted_as_an_article():
    """The trap of the published normalisation, documented where it is applied."""
    assert is_exact_match("A", "the") == 1.0
    assert is_exact_match("A", "the", normalisation="unicode") == 0.0


def test_token_f1_golden_and_empty_texts():
    """SQuAD 2.0: 'hot black coffee' against 'black coffee' shares 2 of 3 and 2 of 2 words."""
    assert token_overlap("black coffee", "the hot black coffee") == Overlap(2 / 3, 1.0, pytest.approx(0.8))
    assert token_overlap("the", "") == Overlap(1.0, 1.0, 1.0)
    assert token_overlap("salt", "") == Overlap(0.0, 0.0, 0.0)
    assert token_overlap("", "salt").f1 == 0.0


# -- empty, invalid, other languages ---------------------------------------------------------------------------


def test_empty_texts():
    assert rouge_1_overlap("salt", "").f1 == 0.0
    assert rouge_1_overlap("", "salt").f1 == 0.0
    assert rouge_1_overlap("", "").f1 == 0.0
    assert rouge_l_overlap("...", "?").f1 == 0.0


@pytest.mark.parametrize("function", [is_exact_match, token_overlap, rouge_1_overlap, rouge_l_overlap])
def test_invalid_input_has_a_named_error(function):
    with pytest.raises(MetricInputError, match="no reference"):
        function([], "x")
    with pytest.raises(MetricInputError, match="a reference answer is a text, got 3"):
        function([3], "x")
    with pytest.raises(MetricInputError, match=r"an answer is a text, got None.*failed"):
        function("x", None)


def test_unknown_options_are_named():
    with pytest.raises(MetricInputError, match=r"'porter'.*ascii, unicode"):
        rouge_1_overlap("x", "x", tokeniser="porter")
    with pytest.raises(MetricInputError, match=r"'lower'.*none, squad, unicode"):
        is_exact_match("x", "x", normalisation="lower")


def test_the_published_tokeniser_drops_other_letters():
    assert rouge_tokens("Käse, süß") == ["k", "se", "s"]
    assert lost_words("Käse und 1/2 süß –") == (2, 4)
    with pytest.raises(MetricInputError, match="unicode"):
        rouge_1_overlap("加入盐", "加入盐")
    assert rouge_1_overlap("加入盐", "加入糖", tokeniser="unicode").f1 == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Add 1/2 tsp.", ["add", "1", "2", "tsp"]),
        ("Käse, GROSSE Straße", ["käse", "grosse", "strasse"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("加入 salt カップ2", ["加", "入", "salt", "カ", "ッ", "プ", "2"]),
        ("می\u200cروم", ["میروم"]),
        ("cafe\u0301", ["café"]),
        ("\u0301 –", []),
        ("добавь соль", ["добавь", "соль"]),
    ],
)
def test_unicode_tokens(text, tokens):
    assert rouge_tokens(text, "unicode") == tokens


@given(st.text(string.printable, max_size=60))
def test_both_tokenisers_agree_on_ascii(text):
    assert rouge_tokens(text, "unicode") == rouge_tokens(text, "ascii")


@given(st.text(max_size=60))
def test_unicode_tokens_hold_every_letter(text):
    joined = "".join(rouge_tokens(text, "unicode"))
    assert all(c.isalnum() or c == "\u0345" or not c.isascii() for c in joined)
    assert rouge_1_overlap(text, text, tokeniser="unicode").f1 in (0.0, 1.0)


def test_best_constant_answer():
    answers = [["No.", "no"], ["Yes"], ["no, all is well", "No"], []]
    assert best_constant_answer(answers) == ("no", 2)
    assert best_constant_answer([["b"], ["a"]]) == ("b", 1)  # "a" is an article
    assert best_constant_answer([["c"], ["b"]]) == ("b", 1)
    assert best_constant_answer([]) == ("", 0)


def test_long_texts_are_fast():
    rng = random.Random(0)
    a, b = (" ".join(f"w{rng.randrange(500)}" for _ in range(20_000)) for _ in range(2))
    with effort(5):
        assert 0.0 < rouge_l_overlap(a, b).f1 < rouge_1_overlap(a, b).f1


def test_entries_of_the_catalogue():
    assert [m.name for m in METRICS][-4:] == ["exact_match", "token_f1", "rouge_1", "rouge_l"]
    assert all(m.family == "answer" for m in METRICS)
