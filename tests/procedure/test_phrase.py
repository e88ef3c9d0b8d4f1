from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.phrase import parse_phrase, render_step


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Peel-Peel one garlic clove", "Peel one garlic clove"),
        ("add-1/4 tsp salt to a bowl", "Add 1/4 tsp salt to a bowl"),
        ("Place -Place the egg over the lettuce", "Place the egg over the lettuce"),
        ("slicing-Continue slicing with floss", "Continue slicing with floss"),
        ("Measure and add-2 tbsp water to the bowl", "Measure and add 2 tbsp water to the bowl"),
        ("melt-In a large mug, melt the butter", "In a large mug, melt the butter"),
        ("stir-then stir the bowl", "Then stir the bowl"),
        ("Season-pepper on pan to taste", "Season pepper on pan to taste"),
        ("Stir-fry the vegetables", "Stir-fry the vegetables"),
        ("Re-insert the screw", "Re-insert the screw"),
        ("lower-medium heat", "Lower-medium heat"),
        ("  Attach   the wheel. ", "Attach the wheel"),
        ("", ""),
        ("   ", ""),
        ("-", "-"),
    ],
)
def test_render_step(text: str, expected: str) -> None:
    assert render_step(text) == expected


def test_render_step_lower_case_keeps_acronyms() -> None:
    assert render_step("PCR tube goes into the rack", capital=False) == "PCR tube goes into the rack"
    assert render_step("Peel-Peel one clove", capital=False) == "peel one clove"


@pytest.mark.parametrize(
    ("text", "imperative", "gerund", "past"),
    [
        (
            "Peel-Peel one garlic clove",
            "peel one garlic clove",
            "peeling one garlic clove",
            "peeled one garlic clove",
        ),
        (
            "Add-1 egg to a blender",
            "add 1 egg to a blender",
            "adding 1 egg to a blender",
            "added 1 egg to a blender",
        ),
        (
            "Cut or tear-Cut or tear 1 slice of bread",
            "cut or tear 1 slice of bread",
            "cutting or tearing 1 slice of bread",
            "cut or tore 1 slice of bread",
        ),
        (
            "In a bowl, whisk 1 cup of curd until smooth",
            "whisk 1 cup of curd in a bowl until smooth",
            "whisking 1 cup of curd in a bowl until smooth",
            "whisked 1 cup of curd in a bowl until smooth",
        ),
        (
            "Once the pan is hot, add the mushrooms",
            "add the mushrooms once the pan is hot",
            "adding the mushrooms once the pan is hot",
            "added the mushrooms once the pan is hot",
        ),
        (
            "remove-then carefully remove the paper liner",
            "carefully remove the paper liner",
            "carefully removing the paper liner",
            "carefully removed the paper liner",
        ),
        (
            "mixing-Keep mixing with a spatula",
            "keep mixing with a spatula",
            "mixing with a spatula",
            "kept mixing with a spatula",
        ),
        (
            "Measure 1/8 teaspoon of salt and add it to the mug",
            "measure 1/8 teaspoon of salt and add it to the mug",
            "measuring 1/8 teaspoon of salt and adding it to the mug",
            "measured 1/8 teaspoon of salt and added it to the mug",
        ),
        (
            "Use the knife to scoop jelly from the jar",
            "use the knife to scoop jelly from the jar",
            "using the knife to scoop jelly from the jar",
            "used the knife to scoop jelly from the jar",
        ),
        (
            "season-pepper to taste",
            "season with pepper to taste",
            "seasoning with pepper to taste",
            "seasoned with pepper to taste",
        ),
        (
            "Scoop-While the cake is cooling, prepare to pipe. Scoop 4 spoonfuls into a bag",
            "scoop 4 spoonfuls into a bag",
            "scooping 4 spoonfuls into a bag",
            "scooped 4 spoonfuls into a bag",
        ),
        (
            "Boil-Boil the water. (Meanwhile assemble the cone)",
            "boil the water",
            "boiling the water",
            "boiled the water",
        ),
        (
            "Kneads the dough with the mixer.",
            "knead the dough with the mixer",
            "kneading the dough with the mixer",
            "kneaded the dough with the mixer",
        ),
        (
            "Pipette 50 µL of buffer into the tube",
            "pipette 50 µL of buffer into the tube",
            "pipetting 50 µL of buffer into the tube",
            "pipetted 50 µL of buffer into the tube",
        ),
        (
            "deep fry the onion rings",
            "deep fry the onion rings",
            "deep frying the onion rings",
            "deep fried the onion rings",
        ),
        (
            "Re-insert the cartridge and close the lid",
            "re-insert the cartridge and close the lid",
            "re-inserting the cartridge and closing the lid",
            "re-inserted the cartridge and closed the lid",
        ),
        (
            "attach-attach arm to turntable top",
            "attach arm to turntable top",
            "attaching arm to turntable top",
            "attached arm to turntable top",
        ),
    ],
)
def test_forms_of_a_step(text: str, imperative: str, gerund: str, past: str) -> None:
    phrase = parse_phrase(text)
    assert (phrase.imperative, phrase.gerund, phrase.past) == (imperative, gerund, past)


@pytest.mark.parametrize(
    ("text", "thing", "brief"),
    [
        ("Add-1/2 tsp baking powder to a blender", "baking powder", "added the baking powder"),
        ("Melt-Melt a small knob of butter in a pan over low heat", "butter", "melted the butter"),
        ("Peel-Peel 2 cloves of garlic", "garlic", "peeled the garlic"),
        ("Turn-Turn on the heat to medium", "heat", "turned on the heat"),
        ("Mix the contents of the bowl well", "contents of the bowl", "mixed the contents of the bowl"),
        ("Screw in the 4 mm bolt until tight", "bolt", "screwed in the bolt"),
        ("Add 1/6 cup water the bowl", "water", "added the water"),
        ("Transfer-Transfer to a plate", "", "transferred to a plate"),
        ("cook-cook for 20-30 seconds more", "", "cooked"),
        ("Return-Return to low heat", "", ""),
        ("Use scissors to cut the bag", "scissors", ""),
        ("Let-Let the noodles sit for about 1 minute", "", "let the noodles sit"),
        ("Add-Add in 3 tablespoons of milk to the mug", "milk", "added in the milk"),
    ],
)
def test_object_and_brief_form(text: str, thing: str, brief: str) -> None:
    phrase = parse_phrase(text)
    assert (phrase.object, phrase.brief_past) == (thing, brief)


@pytest.mark.parametrize(
    "text", ["4 wheels to the axle", "noodles", "?", "", "Don't overtighten", "END", "«»"]
)
def test_text_without_a_verb_is_quoted(text: str) -> None:
    phrase = parse_phrase(text)
    assert phrase.quoted
    assert phrase.imperative.startswith("do the step “")
    assert phrase.gerund.startswith("doing the step “")
    assert phrase.brief == ""


@given(st.text(max_size=200))
def test_any_text_has_all_forms(text: str) -> None:
    phrase = parse_phrase(text)
    render_step(text)
    for form in (phrase.imperative, phrase.gerund, phrase.past, phrase.participle):
        assert form
        assert form == parse_phrase(text).__getattribute__(
            ("imperative", "gerund", "past", "participle")[
                (phrase.imperative, phrase.gerund, phrase.past, phrase.participle).index(form)
            ]
        )


def test_brief_forms_hold_no_quantities(shared_data: Path) -> None:
    """A question that names a step must not give an amount, a time or a heat level away."""
    for text in _graph_texts(shared_data):
        phrase = parse_phrase(text)
        assert not re.search(r"\d", phrase.brief), text
        assert not re.search(r"\b(low|medium|high)\b", phrase.brief), text


def test_every_step_of_the_task_graphs_has_a_verb(shared_data: Path) -> None:
    quoted = [t for t in _graph_texts(shared_data) if parse_phrase(t).quoted]
    assert quoted == []


def test_few_steps_of_other_data_sets_are_quoted(shared_data: Path) -> None:
    with gzip.open(shared_data / "steps" / "youcook2.jsonl.gz", "rt") as lines:
        texts = [step["text"] for line in lines for step in json.loads(line)["steps"]]
    share = sum(parse_phrase(t).quoted for t in texts) / len(texts)
    assert share < 0.02


def _graph_texts(shared_data: Path) -> list[str]:
    graphs = [
        json.loads(p.read_text())
        for p in sorted((shared_data / "captaincook4d" / "task_graphs").glob("*.json"))
    ]
    return [t for g in graphs for t in g["steps"].values() if t not in ("START", "END")]
