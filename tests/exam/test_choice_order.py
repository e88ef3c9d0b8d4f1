"""Orders of options: by seed and question alone, to a letter and back."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from tests.exam.clip_set import ClipQuestion

from proctor.exam.choice import (
    parse_order,
    printed_letter,
    rotations,
    shown_letter,
    shown_order,
    spell_order,
)

OPTIONS = ("a", "b", "c", "d", "e")


def question(name: str, options: tuple[str, ...] = OPTIONS) -> ClipQuestion:
    return ClipQuestion(id=name, question="?", answer=options[0], options=options, letter="A")


def test_without_a_seed_options_are_as_printed() -> None:
    assert shown_order("q", 5) == (0, 1, 2, 3, 4)


def test_a_shuffle_depends_on_seed_and_question() -> None:
    orders = {name: shown_order(name, 5, 7) for name in map(str, range(40))}
    assert orders == {name: shown_order(name, 5, 7) for name in reversed(list(orders))}
    assert len(set(orders.values())) > 20
    assert orders != {name: shown_order(name, 5, 8) for name in orders}


def test_shuffles_put_the_right_option_everywhere_equally_often() -> None:
    placed = Counter(shown_letter("A", shown_order(str(n), 5, 3)) for n in range(2_000))
    assert set(placed) == set("ABCDE")
    assert all(320 < count < 480 for count in placed.values())  # five standard deviations about 400


def test_rotations_in_order() -> None:
    assert rotations((2, 0, 1)) == ((2, 0, 1), (0, 1, 2), (1, 2, 0))
    assert rotations(()) == ()


@given(st.permutations(range(5)), st.sampled_from("ABCDE"))
def test_letters_go_there_and_back(order: list[int], letter: str) -> None:
    there = tuple(order)
    assert printed_letter(shown_letter(letter, there), there) == letter
    assert parse_order(spell_order(there), 5) == there
    assert parse_order(spell_order(there), 4) is None


def test_orders_that_are_none() -> None:
    for text in ("", "AB", "ABB", "abc", "ABD", "ÄBC"):
        assert parse_order(text, 3) is None
