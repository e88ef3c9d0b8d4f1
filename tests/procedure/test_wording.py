from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.wording import plain_english


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("use bowl instead of cup", "use a bowl instead of a cup"),
        ("add it to pan", "add it to the pan"),
        ("season pan with salt", "season the pan with salt"),
        ("use a soiled and broken egg", "use a soiled and broken egg"),
        ("use wrong shaped mug", "use a wrong shaped mug"),
        ("pour the mix into prepared mug", "pour the mix into the prepared mug"),
        ("whisk the contents of bowl", "whisk the contents of the bowl"),
        ("use spoon instead of clean one", "use a spoon instead of a clean one"),
        ("do not cover the bowl", "do not cover the bowl"),
        ("use tools to scoop", "use tools to scoop"),
        ("wait 2 minute and serve", "wait 2 minute and serve".replace("minute", "minutes")),
        ("peel 1 garlic cloves", "peel 1 garlic clove"),
        ("peel 3 garlic clove instead of 2", "peel 3 garlic cloves instead of 2"),
        ("use 2 strawberry", "use 2 strawberries"),
        ("add 1 1/2 cups of milk", "add 1 1/2 cups of milk"),
        ("slice two 1/2 inch thick rounds", "slice two 1/2 inch thick rounds"),
        ("a 2 minute video", "a 2 minute video"),
        ("heat 4tbsps of oil", "heat 4 tbsp of oil"),
        ("use two pieces instead of bottom piece", "use two pieces instead of the bottom piece"),
        ("did not cover down side of the knife", "did not cover the down side of the knife"),
        ("did not cook for required time", "did not cook for the required time"),
        ("season pepper on top, no measuring", "season pepper on top without measuring"),
        ("mix the tomatoes in blender/mixer", "mix the tomatoes in the blender/mixer"),
        ("use a cup as lid", "use a cup as a lid"),
        ("so that cheese and bell pepper separates", "so that cheese and bell pepper separate"),
        (
            "so that the mixture and what is in it separates",
            "so that the mixture and what is in it separates",
        ),
        (
            "did not cook properly the mushrooms to turn brown",
            "did not cook the mushrooms properly to turn brown",
        ),
        ("use italian seasoning", "use Italian seasoning"),
        ("add one table spoon of Tomato paste", "add one tablespoon of tomato paste"),
    ],
)
def test_telegrams_are_made_whole(text: str, plain: str) -> None:
    assert plain_english(text) == plain


@given(st.text(max_size=200))
def test_a_second_time_changes_nothing(text: str) -> None:
    once = plain_english(text)
    assert plain_english(once) == once
