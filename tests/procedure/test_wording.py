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
        ("add one table spoon of Tomato paste", "add one tablespoon of tomato paste"),
    ],
)
def test_telegrams_are_made_whole(text: str, plain: str) -> None:
    assert plain_english(text) == plain


@given(st.text(max_size=200))
def test_a_second_time_changes_nothing(text: str) -> None:
    once = plain_english(text)
    assert plain_english(once) == once
