"""Questions that follow from steps, and their answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rehearsal.players.clip_material import SALAD, SHELF, scene

from proctor.ask.clip.category import LEVEL_CATEGORIES
from proctor.ask.clip.pair_reply import RawPair, check_pair
from proctor_rehearsal.players.clip_scene import Line, scene_of


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("What does the person do right after cutting the tomato?", ["Add 2 cups of vinegar to the bowl"]),
        ("What does the person do right before cutting the tomato?", ["Wash the lettuce in the sink"]),
        ("what does the person do between grating the cheese and boiling the eggs", ["Wash the lettuce in the sink"]),
        ("Between which two actions does the person mix the lettuce?", ["Between adding the vinegar and grating the cheese"]),
        ("How many separate times does the person wash the lettuce?", ["Twice"]),
        ("How many things does the person do, one after the other, before adding the vinegar?", ["2 things"]),
        ("Which takes the person longer: cutting the tomato or adding the vinegar?", ["Adding the vinegar"]),
        ("Which of the two does the person do first: serving the salad or grating the cheese?", ["Grating the cheese"]),
        ("What does the person cut right after washing the lettuce?", ["The tomato"]),
        ("How much is taken when adding the vinegar?", ["2 cups"]),
        ("With what does the person mix the lettuce?", ["a spoon"]),
        ("How does the person cut the tomato?", ["into slices"]),
        ("Where does the person wash the lettuce?", ["in the sink"]),
        ("Up to which state does the person boil the eggs?", ["until they are hard"]),
        ("What does the person do right after washing the lettuce?", ["Cut the tomato into slices", "Boil the eggs until they are hard"]),
        ("What does the person do right after painting the board?", []),
        ("Which of the two does the person do first: painting the board or grating the cheese?", []),
    ],
)  # fmt: skip
def test_steps_answer_questions(question: str, answers: list[str]):
    assert [fact.answer for fact in scene().solve(question)] == answers


@pytest.mark.parametrize("shown", [SALAD, SHELF])
def test_sound_facts_are_good_pairs(shown):
    found = scene(shown)
    known = {line.id for line in found.lines}
    assert len(found.sound) > 10
    for fact in found.sound:
        assert [f.answer for f in found.solve(fact.question)] == [fact.answer]
        assert set(fact.ids) <= known
        assert fact.category in LEVEL_CATEGORIES[fact.level]
        raw = RawPair(fact.question, fact.answer, fact.ids)
        assert check_pair(raw, shown.steps, shown.task) is None, fact


def test_most_kinds_can_be_asked_for():
    kinds = {fact.category for fact in (*scene(SALAD).sound, *scene(SHELF).sound)}
    assert kinds == {
        "ordering", "localisation", "counting", "purpose-cause", "comparison",
        "object-tool", "ingredient-quantity", "manner", "state-attribute", "location",
    }  # fmt: skip


def test_false_orders_are_seen():
    found = scene()
    assert found.foul_premise("Why does the person start serving the salad before grating the cheese?")
    assert not found.foul_premise("Why does the person start grating the cheese before serving the salad?")
    assert found.foul_premise("Why does the person go back to cutting the tomato after serving the salad?")
    # washed before and after the tomato is cut
    assert not found.foul_premise(
        "Why does the person go back to washing the lettuce after cutting the tomato?"
    )
    assert not found.foul_premise("What does the person do right after washing the lettuce?")


def test_what_a_text_tells_of():
    found = scene()
    told = found.said_by("Wash the lettuce in the sink, then grate the cheese")
    assert [act.line.id for act in told] in (["s1", "s5"], ["s6", "s5"])
    assert found.said_by("something") == ()
    assert found.nearest("the cheese is grated")[0] == "s5"
    assert found.nearest("unheard of") == ()


def test_substeps_are_asked_about_and_not_ordered():
    texts = (
        Line("s1", "wash the pan", 0, 5),
        Line("s1.1", "pour the soap into the pan", 1, 2),
        Line("s2", "dry the pan", 6, 9),
    )
    found = scene_of(texts)
    assert [f.answer for f in found.solve("What does the person do right after washing the pan?")] == [
        "Dry the pan"
    ]
    assert [f.ids for f in found.solve("Where does the person pour the soap?")] == [("s1.1",)]


def test_overlapping_steps_have_no_order():
    found = scene_of((Line("s1", "boil the eggs", 0, 20), Line("s2", "cut the tomato", 5, 9)))
    assert found.solve("What does the person do right after boiling the eggs?") == ()


_LINES = st.lists(
    st.builds(
        Line,
        st.sampled_from(["s1", "s2", "s2.1", "s3", ""]),
        st.text(max_size=60)
        | st.sampled_from(["cut the bread in half", "add 2 eggs", "wash it", "cut the bread"]),
        st.none() | st.floats(0, 50),
        st.none() | st.floats(50, 100),
    ),
    max_size=6,
)


@given(_LINES, st.text(max_size=80))
def test_no_steps_are_too_strange(made: list[Line], question: str):
    found = scene_of(tuple(made))
    for fact in found.sound:
        assert len(found.solve(fact.question)) == 1
    found.solve(question)
    found.foul_premise(question)
