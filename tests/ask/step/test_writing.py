"""Questions that a model writes: what is refused, and that refused ones are asked in our wording."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proctor.ask.step.entry import Entry
from proctor.ask.step.questions import Asker
from proctor.ask.step.writing import Written, problem_with, reworded

STEP = "Microwave the covered bowl for 2 minutes"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Was the covered bowl microwaved for the whole 2 minutes?", ""),
        ("Did the person microwave the bowl, covered, for 2 minutes, neither more nor less?", ""),
        ("The bowl was covered and microwaved for 2 minutes.", "no single question"),
        ("Was the bowl covered? Was it microwaved for 2 minutes?", "no single question"),
        ("Sure:\nWas the covered bowl microwaved?", "no single question"),
        ("Was the time kept?", "does not name the step"),
        ("Was the covered bowl microwaved for 2 minutes (yes)?", "says its answer"),
        ("Was the covered bowl not microwaved for long enough?", "turned round"),
        ("Did the person forget to microwave the covered bowl?", "turned round"),
        ("Didn't the person microwave the covered bowl?", "turned round"),
        ("Was the covered bowl " + "really " * 70 + "microwaved?", "no single question"),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    assert problem_with(text, STEP) == problem


def test_a_step_may_forbid_something_itself() -> None:
    step = "Puree tomatoes without any water in a blender"
    assert problem_with("Were the tomatoes pureed without water in the blender?", step) == ""


def test_only_what_passed_is_asked() -> None:
    asker = Asker({"1": ("fork", "bowl", "plate", "mug")})
    entry = Entry("1_7", 3, "12", STEP, "Omelette", "1", 3.0, 9.0)
    item = asker.item(entry, "timing")
    choice = asker.item(replace(entry, text="Whisk 1 egg with a fork"), "preparation")

    def written(problem: str) -> Written:
        return Written(
            category="timing", recipe="Omelette", step=STEP, text="How?", problem=problem, model="m"
        )

    found = {item.question.text: written(""), choice.question.text: written("")}
    assert reworded(item, found).question.text == "How?"
    assert reworded(item, found).question.id == item.id
    assert reworded(item, found).question.provenance["template"] == "written"
    assert reworded(item, {item.question.text: written("turned round")}) == item
    assert reworded(item, {}) == item
    assert reworded(choice, found) == choice
