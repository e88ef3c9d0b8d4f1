"""schema.org HowTo and Recipe: the ways in which pages write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor.datasets.interchange.format import Imported
from proctor.datasets.interchange.howto import parse_howto, render_howto
from proctor.errors import UserError
from proctor.procedure.graph import GraphDraft, TaskGraph


def _read(value: Any) -> Imported[GraphDraft]:
    return parse_howto(json.dumps(value).encode(), "f", "page")


def _texts(found: Imported[GraphDraft], number: int = 0) -> list[str]:
    return [s.text for s in found.objects[number].steps]


def test_a_list_becomes_a_chain_and_says_so() -> None:
    found = _read(
        {
            "@context": "https://schema.org",
            "@type": "HowTo",
            "name": "Make tea",
            "step": [
                {"@type": "HowToStep", "name": "Boil", "text": "Boil the water"},
                {"@type": "HowToStep", "name": "Pour"},
                "Wait\n\n Drink ",
            ],
        }
    )
    graph = found.objects[0].build()
    assert _texts(found) == ["Boil the water", "Pour", "Wait", "Drink"]
    assert graph.edges == (("1", "2"), ("2", "3"), ("3", "4"))
    assert (graph.id, graph.name) == ("page", "Make tea")
    assert found.warnings == (
        "'Make tea': a HowTo is a list, so every step was made to wait for the one before it.",
    )


def test_sections_directions_tips_and_positions() -> None:
    found = _read(
        {
            "@type": ["HowTo", "CreativeWork"],
            "name": [{"@value": "Cake", "@language": "en"}],
            "step": [
                {
                    "@type": "HowToSection",
                    "name": "Bake",
                    "position": "2",
                    "itemListElement": [{"@type": "HowToStep", "text": "Bake it"}],
                },
                {
                    "@type": "HowToSection",
                    "name": "Prepare",
                    "position": 1,
                    "itemListElement": [
                        {
                            "@type": "HowToStep",
                            "itemListElement": [
                                {"@type": "HowToDirection", "text": "Mix flour."},
                                {"@type": "HowToTip", "text": "Sieve it."},
                                {"@type": "HowToDirection", "text": "Add eggs."},
                            ],
                        },
                        {"@type": "HowToTip", "text": "Use a bowl."},
                        {"@type": "HowToStep"},
                        7,
                    ],
                },
            ],
        }
    )
    assert _texts(found) == ["Mix flour. Add eggs.", "Bake it"]
    assert found.objects[0].name == "Cake"
    assert [(d.reason, d.detail) for d in found.dropped] == [
        ("tip", "Sieve it."),
        ("tip", "Use a bowl."),
        ("no_text", "None"),
        ("not_a_step", "7"),
    ]
    assert any("2 section(s) are not kept: 'Prepare', 'Bake'" in w for w in found.warnings)
    assert any("order of their positions" in w for w in found.warnings)


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda recipe: recipe,
        lambda recipe: [recipe],
        lambda recipe: {"@context": "http://schema.org", "@graph": [{"@type": "Organization"}, recipe]},
        lambda recipe: {"@type": "WebPage", "mainEntity": recipe},
        lambda recipe: {"@type": "ItemList", "itemListElement": [{"@type": "ListItem", "item": recipe}]},
        lambda recipe: {
            f"schema:{k}" if k[0] != "@" else k: "schema:Recipe" if k == "@type" else v
            for k, v in recipe.items()
        },
    ],
)
@pytest.mark.parametrize(
    "steps",
    [
        "Boil.\nPour.",
        ["Boil.", "Pour."],
        [{"@type": "HowToStep", "text": "Boil."}, {"@type": "http://schema.org/HowToStep", "text": "Pour."}],
        {
            "@type": "ItemList",
            "itemListElement": [
                {"@type": "ListItem", "position": 1, "item": {"text": "Boil."}},
                {"@type": "ListItem", "position": 2, "item": "Pour."},
            ],
        },
    ],
)
def test_recipes_wherever_they_stand(wrapped: Any, steps: Any) -> None:
    found = _read(wrapped({"@type": "Recipe", "name": "Tea", "recipeInstructions": steps}))
    assert _texts(found) == ["Boil.", "Pour."]
    assert found.objects[0].name == "Tea"


def test_several_on_one_page_get_ids_of_their_own() -> None:
    one = {"@type": "HowTo", "name": "x", "step": "a"}
    assert [d.id for d in _read({"@graph": [one, one]}).objects] == ["page-1", "page-2"]


def test_writing_says_what_the_list_claims(diamond: TaskGraph) -> None:
    data, lost = render_howto([diamond])
    value = json.loads(data)
    assert value["@context"] == "https://schema.org"
    assert [(s["position"], s["identifier"], s["text"]) for s in value["step"]] == [
        (1, "a", "do a"),
        (2, "b", "do b"),
        (3, "c", "do c"),
        (4, "d", "do d"),
    ]
    assert [(d.id, d.reason) for d in lost] == [("S", "start"), ("E", "end"), ("g", "partial_order")]
    assert lost[-1].detail == "the list orders 1 pairs that may be done either way"
    (draft,) = parse_howto(data, "f", "x").objects
    assert (draft.id, [s.id for s in draft.steps]) == ("g", list("abcd"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"@type": "Article"}, "no HowTo and no Recipe"),
        ([], "no HowTo and no Recipe"),
        ("HowTo", "no HowTo and no Recipe"),
        ({"@type": "HowTo", "name": "x"}, "'x' has no steps"),
        ({"@type": "HowTo", "name": "x", "step": [{}, None, True]}, "'x' has no steps"),
    ],
)
def test_pages_without_steps_are_refused(value: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        _read(value)


def test_nesting_has_an_end() -> None:
    steps: Any = "x"
    for _ in range(60):
        steps = {"@type": "HowToSection", "itemListElement": steps}
    with pytest.raises(UserError, match="sections are nested deeper than 20"):
        _read({"@type": "HowTo", "step": steps})


def test_numbers_as_identifiers_keep_every_digit() -> None:
    steps = [
        {"@type": "HowToStep", "identifier": n, "text": "Stir"} for n in (1234567, 1234568, 3.0, 10**400)
    ]
    document = {"@type": "HowTo", "name": "Tea", "identifier": 7654321, "step": steps}
    (draft,) = parse_howto(json.dumps(document).encode(), "f", "x").objects
    assert draft.id == "7654321"
    assert [s.id for s in draft.steps] == ["1234567", "1234568", "3", "1" + "0" * 400]
