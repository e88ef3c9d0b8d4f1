from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.language import RULES, find_faults

WRONG = {
    "unfinished": (
        "You used a knife instead to slice.",
        "You weighed 4oz instead of.",
        "You cut it into long instead of short ones.",
        "You should add the sugar and.",
        "You did for 3 minutes.",
        "You toasted but do not until charred and crispy.",
        "You did not do circular and slowly mix the contents of the mug.",
        "Yes, you did for about 3 minutes.",
        "You chopped, but all connected together.",
        "You cut the carrot, but some loosely attached.",
    ),
    "verb as a thing": (
        "You used the sugar went into a cup instead of the jug.",
        "No, you used the key was turned once instead of three times.",
        "You used up instead of down.",
        "You used the beaker with the leaves was used instead of the dish.",
        "You used two ice cubes were used instead of six.",
        "You used increase the heat instead of the power.",
    ),
    "doubled verb": ("You seasoned performed in salt bae style.", "You mixed mix the contents of the bowl."),
    "form of the verb": (
        "You minced instead of chop.",
        "You did not drain the excess water and leaving some water behind.",
        "You did not properly chopped the cucumber.",
        "You turned on the burner and turn off the heat.",
    ),
    "order of words": ("You did not cook properly the mushrooms to turn brown.", "You sliced horizontally carrot."),
    "prefix": (
        "You used add-Add 1/2 cup instead of 1/3 cup of cheese.",
        "You should peel-peel the clove.",
        "You have to add-1/4 tsp salt to the bowl.",
    ),
    "no unit": ("You used 3 instead of two.", "It should have been 4.", "4, not 6, should have been it. You used 4 instead of 6."),
    "agreement": (
        "You heated the contents of the mug for 2 minute and served.",
        "You should peel 1 garlic cloves.",
        "You should keep going for another 1 minute.",
        "You was too fast with the sugar.",
        "You mixed incompletely, so that cheese and bell pepper separates.",
    ),
    "article": (
        "You used bowl instead of a cup.",
        "You used a egg in this step.",
        "You should season pan with salt.",
        "You used a the bowl.",
    ),
    "number words": ("You cooked it for two and half minutes.",),
    "doubled word": ("You should stir the the sugar.",),
    "punctuation": ("You stirred the sugar,, and then you stopped.", "You stirred ,and then you stopped."),
}  # fmt: skip


def test_every_rule_has_an_example() -> None:
    assert set(WRONG) == set(RULES)


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in WRONG.items() for text in texts])
def test_what_is_wrong_is_found(rule: str, text: str) -> None:
    assert rule in {fault.rule for fault in find_faults(text)}


@pytest.mark.parametrize(
    "text",
    [
        "The sugar went into a cup instead of the jug.",
        "You used up the sugar before the tea was done.",
        "You used the spoon that was wet.",
        "Yes, you minced instead of chopping.",
        "It was 10 seconds instead of 20 seconds.",
        "You used 2 eggs instead of 1.",
        "You should place the tuna from the can drained on the leaves.",
        "Should adding the salt have come before stirring?",
        "You should add the chopped or grated cucumber to the whisked curd.",
        "You should take the 5-minute timer and set it to 2 minutes.",
        "Slice two 1/2 inch thick rounds from a baguette.",
        "You used an hour instead of half an hour.",
        "You did not stir while heating and adding the milk.",
        "You should do the step “Add-Add 1 cups bowl”.",
        "Did I forget to use a brush?",
        "No, but you did slice too many strawberries and blitz the blender for too long.",
        "You did for the sugar what was asked, and you did not do it slowly enough.",
        "You opened the two boxes, but all of them were empty.",
        "You poured the tea, but some spilled.",
        "You pulled at the wheels, but all stayed attached.",
        "You called them, but some joined the game.",
        "Stirring was all you did for 2 hours.",
        "Did I place completely the wrong bowl?",
        "No.",
        "",
        "Du hast die Schüssel statt der Tasse benutzt.",
        "Has usado a una taza en vez de el bol.",
    ],
)
def test_good_english_and_other_languages_pass(text: str) -> None:
    assert find_faults(text) == ()


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    for fault in find_faults(text):
        assert fault.rule in RULES
        assert fault.found
