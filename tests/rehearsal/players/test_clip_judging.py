"""What is wrong with a question is seen from the steps; planted faults on real-looking clips are told apart from sound questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rehearsal.players.clip_material import SALAD, SHELF, clip, lines, scene

from proctor.ask.clip.audit import plant_audit
from proctor.ask.clip.clips import clips_of
from proctor.ask.clip.record import ShownClip
from proctor.datasets.dataset import load_dataset
from proctor_rehearsal.players.clip_judging import (
    categorise,
    fairness,
    guess,
    guesses,
    specificity,
    support,
)
from proctor_rehearsal.players.clip_reading import read_line
from proctor_rehearsal.players.clip_scene import scene_of
from proctor_rehearsal.players.clip_words import same

AFTER = "What does the person do right after cutting the tomato?"


@pytest.mark.parametrize(
    ("question", "answer", "problem"),
    [
        (AFTER, "Add 2 cups of vinegar to the bowl", "none"),
        (AFTER, "Yes", "not-an-answer"),
        (AFTER, "About 12 seconds", "not-an-answer"),
        (AFTER, "Another thing is prepared", "generic"),
        ("How many times does the person wash the lettuce?", "2", "none"),
        ("For how long are the eggs boiled?", "5 minutes", "none"),
        ("Is the tomato cut?", "Yes", "none"),
        ("Which two things does the person do right after cutting the tomato?", "Add 2 cups of vinegar to the bowl", "partial"),
        ("Which two things does the person do right after cutting the tomato?",
         "Add 2 cups of vinegar to the bowl, then mix the lettuce with a spoon", "none"),
        ("Between which two actions does the person mix the lettuce?", "Between adding the vinegar and grating the cheese", "none"),
        ("Between which two actions does the person mix the lettuce?", "Before grating the cheese", "partial"),
        ("What are all the things that the person does before adding the vinegar?", "Cut the tomato into slices", "shorter-list"),
        ("What are all the things that the person does before adding the vinegar?",
         "Wash the lettuce in the sink and cut the tomato into slices", "none"),
    ],
)  # fmt: skip
def test_answers_that_are_not_specific(question: str, answer: str, problem: str):
    assert specificity(scene(), question, answer).problem == problem


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        (AFTER, "none"),
        ("What does the person do right after washing the lettuce?", "several-answers"),
        ("What does the person do at some time before grating the cheese?", "several-answers"),
        ("Why does the person start serving the salad before cutting the tomato?", "false-premise"),
        ("How many letters has the word for what is cut?", "wordplay"),
        ("Which text does the annotation have at number 3?", "artefact"),
        ("What is described by the line with the id s2?", "artefact"),
    ],
)
def test_questions_that_are_not_fair(question: str, problem: str):
    assert fairness(scene(), question).problem == problem


@pytest.mark.parametrize(
    ("question", "answer", "problem"),
    [
        (AFTER, "Add 2 cups of vinegar to the bowl", "none"),
        (AFTER, "Add 2 cups of vinegar to the bowl beside the umbrella", "unsupported"),
        (AFTER, "Saw the board", "unsupported"),
        (AFTER, "Grate the cheese", "contradicted"),
        ("What does the person do right after sawing the board?", "Grate the cheese", "unsupported"),
        ("How many separate times does the person wash the lettuce?", "Twice", "none"),
        ("How many separate times does the person wash the lettuce?", "3 times", "unsupported"),
        ("What does the person grate?", "the cheese", "none"),
    ],
)
def test_answers_that_nothing_supports(question: str, answer: str, problem: str):
    found = support(scene(), question, answer)
    assert found.problem == problem
    if problem == "none":
        assert set(found.ids) <= {line.id for line in scene().lines}
        assert found.ids


def test_the_lines_that_prove_it_are_cited():
    assert support(scene(), AFTER, "Add 2 cups of vinegar to the bowl").ids == ("s2", "s3")


def test_what_a_question_gives_away():
    assert guess("While cutting the tomato, what is the person cutting?") == "The tomato"
    assert (
        guess("In what state is the tomato when the person has finished cutting the tomato?") == "In pieces"
    )
    assert guess("Is the tomato handled at all?") == "Yes"
    assert guess(AFTER) is None
    assert guess("While boiling the eggs, what is the person cutting?") is None
    assert guesses("Which takes the person longer: boiling the eggs or grating the cheese?") == (
        "boiling the eggs",
        "grating the cheese",
    )
    assert guesses(AFTER) == ()


@pytest.mark.parametrize("shown", [SALAD, SHELF])
def test_kinds_are_told_by_the_words(shown: ShownClip):
    found = scene(shown)
    right = [categorise(fact.question) == fact.category for fact in found.sound]
    assert sum(right) / len(right) == 1.0, [
        (f.question, f.category, categorise(f.question))
        for f in found.sound
        if categorise(f.question) != f.category
    ]
    assert categorise("Hm?") == "other"


# -- planted faults ------------------------------------------------------------------------------------------------


def judged(clips: list[ShownClip], each: int) -> dict[str, list[bool]]:
    """By what was planted: did the judge that is there for it see it, and nobody anything in a sound one."""
    by_id = {shown.id: shown for shown in clips}
    found: dict[str, list[bool]] = {}
    for planted in plant_audit(clips, each=each, seed=3).planted:
        pair = planted.pair
        held = scene_of(lines(by_id[pair.clip_id]))
        seen: dict[str, Callable[[], bool]] = {
            "vague": lambda: specificity(held, pair.question, pair.answer).problem == planted.problem,  # noqa: B023
            "tricky": lambda: fairness(held, pair.question).problem == planted.problem,  # noqa: B023
            "hallucinated": lambda: support(held, pair.question, pair.answer).problem == planted.problem,  # noqa: B023
            "blind-solvable": lambda: same(pair.answer, guess(pair.question) or ""),  # noqa: B023
            "sound": lambda: (
                specificity(held, pair.question, pair.answer).problem == "none"  # noqa: B023
                and fairness(held, pair.question).problem == "none"  # noqa: B023
                and support(held, pair.question, pair.answer).problem == "none"  # noqa: B023
                and guess(pair.question) is None  # noqa: B023
            ),
        }
        found.setdefault(planted.kind, []).append(seen[planted.kind]())
    return found


def test_planted_faults_are_seen_on_small_clips():
    more = [
        clip(f"more{n}", f"task {n}", f"open the box {n}; {text}; close the box {n}")
        for n, text in enumerate(
            (
                "fold the paper; cut the ribbon; tie the ribbon",
                "peel the apple; slice the apple; bake the pie",
            ),
            1,
        )
    ]
    for kind, right in judged([SALAD, SHELF, *more], 10).items():
        assert sum(right) / len(right) >= 0.9, kind


@pytest.mark.shared
def test_planted_faults_are_seen_on_real_clips(shared_data: Path):
    recordings = load_dataset("steps").read(shared_data / "steps").recordings
    for name in ("youcook2", "goalstep"):
        clips = [shown for shown in clips_of(recordings, "steps").clips if shown.dataset == name][:120]
        assert len(clips) > 50
        for kind, right in judged(clips, 60).items():
            assert sum(right) / len(right) >= 0.95, (name, kind)


@given(st.lists(st.text(max_size=50), max_size=4), st.text(max_size=100), st.text(max_size=100))
def test_nothing_is_too_strange_to_be_judged(texts: list[str], question: str, answer: str):
    held = scene_of(tuple(read_line(f"s{n}: 0.0 to 1.0 s: {text}") for n, text in enumerate(texts, 1)))
    assert specificity(held, question, answer).problem
    assert fairness(held, question).problem
    assert support(held, question, answer).problem
    assert categorise(question)
    assert guesses(question) is not None
