from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.procedure.recording import Mistake, Recording, Segment
from proctor_rehearsal.drawing.scene import (
    ACTIONS,
    Deed,
    Scene,
    Sprite,
    parse_deeds,
    scenes_from_recording,
    scenes_from_segments,
)
from proctor_rehearsal.drawing.shapes import SHAPES
from proctor_rehearsal.drawing.vocabulary import LIQUIDS, OBJECTS, PRODUCTS, VERBS, VESSEL_OF


def deed(text: str) -> Deed:
    (only,) = parse_deeds(text)
    return only


def names(deed: Deed) -> dict[str, str]:
    roles = ("moved", "target", "tool", "through")
    return {role: thing.shape for role in roles if (thing := getattr(deed, role)) is not None}


def front(scene: Scene) -> dict[str, Sprite]:
    return {a.role: a for a in scene.actors if a.role != "around"}


@pytest.mark.parametrize(
    ("text", "action", "who"),
    [
        ("Pour 500 ml of hot water into the teapot", "pour", {"moved": "kettle", "target": "teapot"}),
        ("Pour the liquid through the filter into the dish", "pour", {"target": "dish", "through": "funnel"}),
        ("Cut the lemon into thin slices", "cut", {"moved": "lemon", "tool": "knife"}),
        ("Cut the filter paper into four strips", "cut", {"moved": "paper", "tool": "scissors"}),
        ("Stir the jug with a knife for 5 seconds", "stir", {"target": "jug", "tool": "knife"}),
        ("Stir the jug for 5 seconds", "stir", {"target": "jug", "tool": "spoon"}),
        ("Add 2 teaspoons of sugar to the jug", "put", {"moved": "heap", "target": "jug", "tool": "spoon"}),
        ("Push the cable through the hole in the base", "press", {"moved": "cable", "target": "base"}),
        ("Tighten the joint with the hex key for three turns", "turn", {"moved": "joint", "tool": "hexkey"}),
        ("Place the base on the table with the felt side down", "put", {"moved": "base"}),
        ("Write the word acid on the tube", "write", {"target": "tube", "tool": "pen"}),
        ("Wait 15 seconds for the tea to steep", "wait", {}),
        ("add-1/4 tsp salt to a bowl", "put", {"moved": "heap", "target": "bowl", "tool": "spoon"}),
        ("Calibrate the frobnicator", "put", {"moved": "box"}),
    ],
)
def test_reads_what_is_done(text: str, action: str, who: dict[str, str]) -> None:
    found = names(deed(text))
    assert deed(text).action == action
    assert who.items() <= found.items()
    if not who:
        assert found == {}


def test_two_verbs_are_two_deeds() -> None:
    assert [d.action for d in parse_deeds("Switch on the lamp and wait 5 seconds")] == ["switch", "wait"]
    assert [d.action for d in parse_deeds("Add salt and pepper to the bowl")] == ["put"]


@pytest.mark.parametrize(
    ("right", "wrong", "differs"),
    [
        ("Add 2 teaspoons of sugar to the jug", "Add 5 teaspoons of sugar to the jug", "count"),
        ("Pour 5 ml of vinegar into the tube", "Pour 10 ml of vinegar into the tube", "count"),
        ("Pour hot water into the beaker", "Pour cold water into the beaker", "warmth"),
        ("Cut the lemon into thin slices", "Cut the lemon into thick wedges", "style"),
        ("Screw the bulb into the socket", "Screw the bulb crookedly into the socket", "style"),
        (
            "Press the ring onto the socket until it clicks",
            "Press the ring onto the socket without a click",
            "style",
        ),
        ("Place the base on the table", "Place the base on the table with the felt side up", "style"),
        ("Dip the strips in the dish", "Dip the strips halfway in the dish", "style"),
        ("Stir the jug", "Stir the jug with a knife", "tool"),
        ("Add sugar to the jug", "Add sugar to a cup", "target"),
        ("Cut the paper into four strips", "Tear the paper into four strips", "action"),
    ],
)
def test_what_was_done_wrong_changes_the_deed(right: str, wrong: str, differs: str) -> None:
    assert getattr(deed(right), differs) != getattr(deed(wrong), differs)


@given(st.text(max_size=200))
def test_any_text_gives_deeds_that_can_be_drawn(text: str) -> None:
    deeds = parse_deeds(text)
    assert 1 <= len(deeds) <= 3
    for found in deeds:
        assert found.action in ACTIONS
        assert found.count > 0
        for shape in names(found).values():
            assert shape in SHAPES


def test_every_word_has_a_drawing_and_every_verb_an_action() -> None:
    assert set(OBJECTS.values()) - {"surface"} <= set(SHAPES)
    assert set(VESSEL_OF.values()) | set(PRODUCTS) | set(PRODUCTS.values()) <= set(SHAPES)
    assert set(VERBS.values()) <= set(ACTIONS)
    assert set(VESSEL_OF) <= set(LIQUIDS)


def test_scenes_cover_the_recording_without_gaps_or_overlaps() -> None:
    scenes = scenes_from_segments(
        "Tea", [(6, 9, "Stir the jug"), (2, 7, "Pour water into the jug"), (9, 9, "Cut the lemon")], 12.0
    )
    assert scenes[0].start == 0
    assert scenes[-1].end == 12.0
    assert all(a.end == b.start for a, b in pairwise(scenes))
    assert [(s.start, s.end, s.action) for s in scenes] == [
        (0, 2, "idle"), (2, 6, "pour"), (6, 9, "stir"), (9, 12, "idle"),
    ]  # fmt: skip


@given(
    st.lists(
        st.tuples(
            st.floats(0, 100), st.floats(0, 100), st.sampled_from(["Stir the pot", "Cut the onion", "x"])
        ),
        max_size=8,
    ),
    st.floats(1, 120),
)
def test_scenes_never_overlap(spans: list[tuple[float, float, str]], duration: float) -> None:
    scenes = scenes_from_segments("T", spans, duration)
    assert all(a.start < a.end <= b.start for a, b in pairwise(scenes))
    assert scenes[0].start == 0
    assert scenes[-1].end == duration


def test_liquid_stays_colours_and_moves() -> None:
    scenes = scenes_from_segments(
        "Tea",
        [
            (0, 5, "Pour 500 ml of hot water into the teapot"),
            (5, 10, "Place two tea bags in the teapot"),
            (10, 25, "Wait 15 seconds for the tea to steep"),
            (25, 30, "Pour the tea into the jug"),
        ],
        31,
    )
    pour, put, wait, serve = (front(s) for s in scenes[:4])
    assert pour["target"].fill == 0 < pour["target"].fill_after
    assert pour["target"].warmth == "hot"
    assert put["target"].gains == ("teabag", "teabag")
    assert (wait["target"].liquid, wait["target"].liquid_after) == ("water", "tea")
    assert (serve["moved"].shape, serve["target"].shape, serve["target"].liquid) == ("teapot", "jug", "tea")
    assert serve["moved"].fill_after < serve["moved"].fill


def test_short_steeping_is_seen() -> None:
    def colour(seconds: float) -> str:
        steps = [(0, 1, "Pour water into the teapot"), (1, 2, "Put a tea bag in the teapot")]
        return front(scenes_from_segments("T", [*steps, (2, 2 + seconds, "Wait")], 60)[2])[
            "target"
        ].liquid_after

    assert (colour(3), colour(12)) == ("weak tea", "tea")


def test_what_is_fixed_leaves_the_shelf_and_comes_back() -> None:
    texts = ["Screw the pole into the base", "Unscrew the pole", "Screw the pole into the base", "Wait"]
    scenes = scenes_from_segments("Lamp", [(i, i + 1, t) for i, t in enumerate(texts)], 4.5)
    base = [next((a for a in s.actors if a.shape == "base"), None) for s in scenes]
    assert base[0] is not None
    assert base[0].gains == ("pole",)
    assert base[1] is not None
    assert base[1].contents == ("pole",)
    assert base[2] is not None
    assert base[2].contents == ()
    assert base[2].gains == ("pole",)
    assert all(a.shape != "pole" for a in scenes[-1].actors)


def test_cutting_makes_what_is_used_later() -> None:
    texts = ["Stir the jug", "Cut the lemon into thin slices", "Put three lemon slices in the jug"]
    before, cut, after = scenes_from_segments("T", [(i, i + 1, t) for i, t in enumerate(texts)], 3)
    assert "slice" not in {a.shape for a in before.actors}
    assert front(cut)["target"].shape == "lemon"
    assert "lemon" not in {a.shape for a in after.actors}
    assert front(after)["target"].gains == ("slice",) * 3


def test_a_recording_is_shown_as_performed_and_names_no_mistake() -> None:
    told = "Stir the jug with a spoon"
    done = "Stir the jug with a knife"
    recording = Recording(
        "r1",
        "tea",
        "Iced Tea",
        (
            Segment("9", "Cut the lemon", None, None, None, (Mistake("missing", "never cut"),)),
            Segment("1", told, 1.0, 5.0, done, (Mistake("technique", "a knife was used"),)),
        ),
        8.0,
    )
    scenes = scenes_from_recording(recording)
    assert [s.action for s in scenes] == ["idle", "stir", "idle"]
    assert front(scenes[1])["tool"].shape == "knife"
    written = " ".join(t for s in scenes for t in (s.title, s.caption, *(a.label + a.mark for a in s.actors)))
    for word in ("technique", "mistake", "instead", "wrong", "never", "used"):
        assert word not in written


def test_the_sample_s_texts_are_all_understood() -> None:
    folder = Path(__file__).parents[3] / "src/proctor/samples/everyday/activities"
    paths = sorted(folder.glob("*.json"))
    assert paths
    for path in paths:
        for step in json.loads(path.read_text())["steps"]:
            if step["id"] in ("start", "end"):
                continue
            for found in parse_deeds(step["text"]):
                assert "box" not in names(found).values(), step["text"]
