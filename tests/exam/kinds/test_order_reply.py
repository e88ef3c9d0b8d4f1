"""Orders in replies, in every notation: what is read, what is repaired, and what is not read since it can be read in two ways."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.exam.kinds.order_reply import OrderRead, read_order, spell_slots

TEXTS = ("Boil the water.", "Pour it over the leaves.", "Drink the tea.")


@pytest.mark.parametrize(
    "reply",
    [
        "[3, 1, 2]", '["3", "1", "2"]', '["C", "A", "B"]', '{"order": ["Step 3", "Step 1", "Step 2"]}',
        "```json\n[3,1,2]\n```", '["Drink the tea.", "Boil the water.", "Pour it over the leaves."]',
        "[2, 0, 1]",  # no step has the number 0: it counts from there
        "2 > 0 > 1", "0. Drink the tea.\n1. Boil the water.\n2. Pour it over the leaves.", "[[3], [1], [2]]",
        "[3, 1, 2,]", "３、１、２", "Final order:\n3\n1\n2",
        "3 - Drink the tea\n1 - Boil the water\n2 - Pour it over the leaves",
        "1. drink TEA\n2. Boil water!\n3. Pour it over the dry leaves now",
        "3 → 1 → 2, since one drinks last. 1 → 2 is clear.", "First 1, 2: hot water. 1 → 2.\n[3, 1, 2]",
        "<think>[1, 2, 3] maybe? 2, 1, 3</think>[3, 1, 2]", "3 > 1 > 2", "[3 > 1 > 2]", "[3 1 2]", "3, 1, 2",
        "3,1,2.", "3 1 2", "3-1-2", "C, A, B", "Step 3 → Step 1 → Step 2", "step 3 -> step 1 -> step 2",
        "#3; #1; #2",
        "The correct order is 3, 1, 2, I think.", "c, a, b", "**Order:** 3, 1 and 2", "Order: (3), (1), (2)",
        "3, then 1, then 2", "1. Drink the tea.\n2. Boil the water.\n3. Pour it over the leaves.",
        "Here it is:\n\n1) Step 3\n2) Step 1\n3) Step 2",
        "1. Step 3: Drink the tea.\n2. Step 1: Boil the water.\n3. Step 2: Pour it over the leaves.",
        "- C\n- A\n- B", "3. Drink the tea.\n1. Boil the water.\n2. Pour it over the leaves.",
        "Step 1: Drink the tea\nStep 2: Boil the water\nStep 3: Pour it over",
        "Drink the tea\nBoil the water\nPour it over the leaves",
        "Drink the tea → Boil the water → Pour it over the leaves",
        "Presented: 1, 2, 3.\nFinal answer: 3, 1, 2",
        "[1, 2, 3] is how they were shown. The final answer is [3, 1, 2]",
        "The steps were 1, 2, 3.\n[3, 1, 2]",
    ],
)  # fmt: skip
def test_every_notation_is_read(reply: str) -> None:
    read = read_order(reply, TEXTS)
    assert read.order == (2, 0, 1), read
    assert read.repaired is not None
    assert not read.repaired.repaired


@pytest.mark.parametrize(
    ("reply", "order", "unknown", "repeated", "missing"),
    [
        ("[3, 3, 1, 2]", (2, 0, 1), (), (2,), ()),  # a step named twice counts where it stands first
        ("[3, 7, 1]", (2, 0, 1), ("7",), (), (1,)),
        ("3 > 2", (2, 1, 0), (), (), (0,)),
        ("They were 1, 2, 3.\nAnswer: [3, 1]", (2, 0, 1), (), (), (1,)),
        ("1. Drink it.\n2. Drink the tea.\n3. Step 1\n4. C", (2, 0, 1), ("Drink it.",), (2,), (1,)),
        ('["Step 2: Boil the water.", "Step 3", "A"]', (2, 0, 1), ("Step 2: Boil the water.",), (), (1,)),
    ],
)
def test_what_is_not_whole_is_repaired_and_says_how(
    reply: str, order: tuple[int, ...], unknown: tuple[str, ...], repeated: tuple[int, ...], missing: tuple[int, ...]
) -> None:  # fmt: skip
    read = read_order(reply, TEXTS)
    assert read.order == order
    assert read.repaired is not None
    made = read.repaired
    assert (made.unknown, made.repeated, made.missing) == (unknown, repeated, missing)


@pytest.mark.parametrize(
    ("reply", "rule"),
    [
        ("I cannot tell.", "nothing"), ("", "empty"), ("<think>3, 1, 2", "unfinished_thinking"),
        ("Steps 1 and 2 come after step 3.", "nothing"), ("Either 3, 1, 2 or 1, 3, 2.", "several"),
        ("[3, 1, 2]\n[1, 2, 3]", "several"), ("Step 1: 3\nStep 2: 1\nStep 3: 2", "two-ways"),
        ('{"1": 3, "2": 1, "3": 2}', "two-ways"), ('{"1": 3,\n"2": 1,\n"3": 2}', "nothing"),
        ('{"first": 3,\n"second": 1,\n"third": 2\n}', "nothing"), ("2: 3\n1: 1\n3: 2", "two-ways"),
        ("1 -> 3\n2 -> 1\n3 -> 2", "several"),
        ("| Place | Step |\n|---|---|\n| 1 | 3 |\n| 2 | 1 |\n| 3 | 2 |", "nothing"),
        ("III, I, II", "nothing"), ("Step 3 before Step 1", "nothing"),
        ("[0, 2]", "two-ways"),  # from 0 or from 1
        ("3, 0, 1", "two-ways"),
        ("2", "nothing"),  # one step is no order
        ("[3, 9]", "nothing"), ("1 " * 500_000, "too_long"), ("[7, 8, 9]", "nothing"),
        ("Steps 1-3 show how tea is made.", "nothing"),
        ("1. First I looked at the pictures.\n2. Then I thought.", "nothing"),
    ],
)  # fmt: skip
def test_what_names_no_step_or_can_be_read_in_two_ways_is_not_read(reply: str, rule: str) -> None:
    assert read_order(reply, TEXTS) == OrderRead(rule)


def test_steps_with_the_same_text_are_named_one_after_the_other() -> None:
    texts = ("Stir.", "Add milk.", "Stir.")
    assert read_order("1. Stir.\n2. Add milk.\n3. Stir.", texts).order == (0, 1, 2)
    assert read_order('["Add milk.", "Stir.", "Stir."]', texts).order == (1, 0, 2)


def test_a_step_may_be_called_end() -> None:
    assert read_order("1. End.\n2. Start.", ("Start.", "End.")).order == (1, 0)


@given(st.permutations(range(6)))
def test_what_is_spelt_is_read(order: list[int]) -> None:
    assert read_order(spell_slots(order), [""] * 6).order == tuple(order)


@given(st.text(alphabet="123ABC[]{},:>-. \n\"'stepor", max_size=60))
def test_whatever_is_said_gives_a_whole_order_or_none(reply: str) -> None:
    read = read_order(reply, TEXTS)
    assert read.order is None or sorted(read.order) == [0, 1, 2]


@pytest.mark.parametrize(
    "part", ["1 and 1, ", "1" + " " * 99, "3, 1, 2\n", "1. Step 3\n", "[3,1,2] ", "1: ", "(", "["]
)
def test_a_long_reply_takes_no_time(part: str) -> None:
    began = time.process_time()
    read_order(part * (50_000 // len(part)) + "!", TEXTS)
    assert time.process_time() - began < 2
