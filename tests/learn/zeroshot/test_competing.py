"""Wordings compete: on a few steps, half of them mistaken; the best is taken, of equals the first."""

from __future__ import annotations

from dataclasses import replace

from proctor.ask.step.entry import Entry
from proctor.ask.step.questions import CATEGORY_TEMPLATES, Asker
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item
from proctor.learn.zeroshot.competing import choose_templates, development_items

ASKER = Asker({"1": ("fork", "bowl", "plate", "mug")})
ENTRY = Entry("1_7", 0, "1", "Whisk 1 egg with a fork", "Omelette", "1", 0.0, 5.0)
ENTRIES = [replace(ENTRY, number=n, kinds=("technique",) if n < 9 else ()) for n in range(40)]


def played(items: list[Item], skilled: str) -> list[Prediction]:
    """Say what is right where the wording is the skilled one, and always yes elsewhere."""
    return [
        Prediction(
            item_id=i.id, predictor="m", answer="…",
            details={"read": i.golds[0].value.text if i.question.provenance["template"] == skilled else "yes"},  # type: ignore[union-attr]
        )
        for i in items
    ]  # fmt: skip


def of_category(items: list[Item], category: str) -> list[Item]:
    return [i for i in items if i.question.facets["category"] == category]


def test_half_of_the_steps_carry_the_mistake() -> None:
    items = development_items(ENTRIES, ASKER, "v2", 12, 0, of="develop")
    technique = of_category(items, "technique")
    assert len(technique) == 12 * len(CATEGORY_TEMPLATES["technique"])
    assert sum(i.golds[0].value.text == "no" for i in technique) == len(technique) / 2  # type: ignore[union-attr]
    few = of_category(development_items(ENTRIES, ASKER, "v2", 40, 0, of="develop"), "technique")
    assert len(few) == 18 * 2  # no more than there are mistakes
    assert of_category(items, "order") == []  # nothing comes before the step
    assert of_category(items, "timing") == []
    assert development_items(ENTRIES, ASKER, "v2", 12, 0, of="develop") == items
    assert development_items(ENTRIES, ASKER, "v2", 12, 1, of="develop") != items


def test_the_best_wording_is_taken_and_all_figures_are_kept() -> None:
    items = of_category(development_items(ENTRIES, ASKER, "v2", 12, 0, of="develop"), "technique")
    chosen, (told,) = choose_templates(ENTRIES, items, played(items, "b"))
    assert chosen["technique"].name == told.chosen == "b"
    assert [(c.name, c.n, c.mistakes, c.balanced, c.f1) for c in told.tried] == [
        ("a", 12, 6, 0.5, 0.0),
        ("b", 12, 6, 1.0, 1.0),
    ]


def test_of_equals_the_first_is_taken() -> None:
    items = of_category(development_items(ENTRIES, ASKER, "v2", 12, 0, of="develop"), "technique")
    chosen, _ = choose_templates(ENTRIES, items, played(items, "none"))
    assert chosen["technique"].name == "a"
