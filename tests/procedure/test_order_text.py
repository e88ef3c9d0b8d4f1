"""What texts of steps say of their order."""

from __future__ import annotations

import pytest

from proctor.procedure.order_text import StepTexts

SOUP = [
    "Peel-Peel 1 carrot",
    "Chop-Chop the peeled carrot",
    "Boil-Boil water in a pot",
    "Add-Add the chopped carrot to the pot",
    "Stir-Stir the contents of the pot",
]


def _texts(texts: list[str]) -> StepTexts:
    return StepTexts(texts, [k / len(texts) for k in range(len(texts))])


def test_a_thing_ties_steps_to_the_next_that_names_it() -> None:
    soup = _texts(SOUP)
    assert soup.kinds == ["prepare", "prepare", "heat", "add", "mix"]
    direct, further = soup.kinship(0, 1), soup.kinship(0, 3)
    assert {"shares", "next", "made", "made_next", "prepared_further"} <= set(direct)
    assert "next" not in further
    assert "prepared_then_used" in further
    assert 0 < direct["rarity"] == further["rarity"] < 1


def test_work_in_one_vessel() -> None:
    soup = _texts(SOUP)
    assert {"same_vessel", "added_then_worked", "next_in_vessel"} <= set(soup.kinship(3, 4))
    assert {"same_vessel", "worked_then_added", "brings_vessel"} <= set(soup.kinship(2, 3))
    assert "nothing" in soup.kinship(0, 2)


@pytest.mark.parametrize(
    ("texts", "telling"),
    [
        (["step 1", "step 2", "step 3"], False),
        (["a", "b", "c"], False),
        (["task alpha", "task beta", "task gamma"], False),  # a word that all share says nothing
        (["", "", ""], False),
        (["Karotte schälen", "Karotte schneiden", "Wasser kochen", "Wasser salzen"], True),
        (["attach the wheel", "tighten the screw", "paint it"], True),
        (SOUP, True),
    ],
)
def test_texts_that_say_nothing_are_known(texts: list[str], telling: bool) -> None:
    assert _texts(texts).telling is telling
