"""Hints and mistakes that come from the text of a step: what is changed can be read back, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.capture.hints import INDUCED_KINDS, sayable, text_hints
from proctor.capture.records import Hint
from proctor.datasets.dataset import load_dataset
from proctor.procedure.altered import mistakes_in
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.quantity import find_difference
from proctor.procedure.showing import shown_text
from proctor.said import Said


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("add-1/4 tsp salt to a bowl", {"Add 1/2 tsp salt to a bowl", "Add 1/8 tsp salt to a bowl"}),
        ("Peel one garlic clove", {"Peel 2 garlic cloves"}),
        ("Peel 2 garlic cloves", {"Peel 4 garlic cloves", "Peel 1 garlic clove"}),
        ("Saute for 20-30 seconds", {"Saute for 40-60 seconds", "Saute for 10-15 seconds"}),
        ("Saute for 2-3 minutes", {"Saute for 4-6 minutes"}),  # not for 1-1 1/2
        ("Boil for 1 minute", {"Boil for 2 minutes", "Boil for 1/2 minute"}),
        ("Heat a pan on medium heat", {"Heat a pan on high heat"}),
        ("Pour boiling water over it", {"Pour cold water over it"}),
        ("Bake at 350 degrees", {"Bake at 175 degrees"}),  # nobody is asked to bake at 700
        ("Secure it with 5 toothpicks", {"Secure it with 10 toothpicks"}),
        ("Roll it from one end to another", set()),
        ("Melt 1 tablespoons of butter", set()),
        ("Add 1/0 cup of milk", set()),
        ("Add 1/3 tsp and later 1/3 tsp salt", set()),
        ("Wait 1-10 minutes", set()),  # 2 to 20 minutes would not be wrong for sure
        ("Stir", set()),
        ("", set()),
    ],
)
def test_numbers_and_heat_of_a_text_are_changed(text: str, changed: set[str]) -> None:
    assert {modified for _, _, modified in mistakes_in(text)} == changed


def test_kinds_follow_the_quantity() -> None:
    found = mistakes_in("Microwave 2 tbsp of butter on high for 3 minutes")
    assert {(kind, text) for kind, text, _ in found} == {
        ("measurement", "4 tbsp instead of 2 tbsp"),
        ("measurement", "1 tbsp instead of 2 tbsp"),
        ("timing", "6 minutes instead of 3 minutes"),
        ("timing", "1 1/2 minutes instead of 3 minutes"),
        ("temperature", "low instead of high"),
    }


@given(st.text(alphabet="0123456789/-. abtspcu½°one two ", max_size=60))
def test_any_text_is_survived_and_what_is_changed_differs(text: str) -> None:
    for kind, said, modified in mistakes_in(text):
        assert kind in INDUCED_KINDS
        assert said
        assert modified != shown_text(text)


@pytest.mark.shared
def test_half_of_the_real_steps_name_what_can_go_wrong(shared_data: Path) -> None:
    graphs = load_dataset("captaincook4d").read(shared_data / "captaincook4d", "corrected").graphs.values()
    texts = [step.text for graph in graphs for step in graph.actions]
    with_mistakes = [text for text in texts if mistakes_in(text)]
    assert (len(texts), len(with_mistakes)) == (358, 179)
    dimensions = {
        "measurement": ("amount", "count", "length"),
        "timing": ("time",),
        "temperature": ("temperature",),
    }
    for text in with_mistakes:
        for kind, said, modified in mistakes_in(text):
            difference = find_difference(text, modified, dimensions[kind])  # type: ignore[arg-type]
            assert difference is not None
            assert said == f"{difference.wrong_words} instead of {difference.right_words}"


def test_hints_speak_of_the_step(make_graph: Callable[..., TaskGraph]) -> None:
    graph = TaskGraph("g", "g", (Step("1", "Chop-Chop 2 tbsp cilantro"), Step("2", "Wait")))
    hints = text_hints(graph)
    assert [(h.kind, h.text) for h in hints["1"]] == [
        ("measurement", "4 tbsp instead of 2 tbsp"),
        ("technique", "stop chopping the cilantro half-way, or do it with another tool"),
        ("preparation", "use something else in place of the cilantro"),
    ]
    assert [h.kind for h in hints["2"]] == ["technique"]
    assert {h.by for h in (*hints["1"], *hints["2"])} == {"text"}
    assert text_hints(make_graph("S a E", edges="S>a a>E", start="S", end="E")).keys() == {"a"}


def test_the_hints_of_texts_can_be_said_in_another_language() -> None:
    graph = TaskGraph("g", "g", (Step("1", "Chop-Chop 2 tbsp cilantro"), Step("2", "Säge das Brett")))
    hints = text_hints(graph)
    found = [sayable(hint) for step in "12" for hint in hints[step]]
    assert [hint.text for hint in found] == [hint.text for step in "12" for hint in hints[step]]
    assert [(h.text.pattern, h.text.values) for h in found if isinstance(h.text, Said)] == [
        ("{wrong} instead of {right}", {"wrong": "4 tbsp", "right": "2 tbsp"}),
        ("stop {doing} half-way, or do it with another tool", {"doing": "chopping the cilantro"}),
        ("use something else in place of the {thing}", {"thing": "cilantro"}),
        (
            "stop doing the step “{step}” half-way, or do it with another tool",
            {"step": "säge das Brett"},
        ),
    ]
    of_a_model = Hint(step="1", kind="technique", text="a spoon instead of a fork", by="m")
    assert sayable(of_a_model) is of_a_model
