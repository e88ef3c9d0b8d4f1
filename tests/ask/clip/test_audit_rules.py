"""Rules that plant faults: each draft has the fault that it says it has, checked on the steps and not by the rule's own words."""

from __future__ import annotations

import random
import re

import pytest
from tests.ask.clip.filtered import clip, clips

from proctor.ask.clip.audit import (
    CATCHES,
    PLANTED_KINDS,
    RULES,
    Act,
    Draft,
    PlantedKind,
    Scene,
)
from proctor.ask.clip.filter_prompt import PROBLEMS
from proctor.ask.clip.record import FILTERS, ShownStep

ALL = [(kind, name) for kind in PLANTED_KINDS for name in RULES[kind]]


def foreign(scene: Scene, rng: random.Random) -> Act | None:
    """An act of another clip; of the small ones none shares a thing with another."""
    acts = [
        act
        for other in clips()
        if other.id != scene.clip.id
        for act in Scene.of(other, lambda _s, _r: None).named
        if act.thing
    ]
    return rng.choice(acts)


def drafts(kind: PlantedKind, name: str) -> list[tuple[Scene, Draft]]:
    found = []
    for made in clips():
        scene = Scene.of(made, foreign)
        found += [(scene, draft) for draft in RULES[kind][name](scene, random.Random(f"{kind}{made.id}"))]
    return found


def place(scene: Scene, text: str) -> int:
    """Which step a text tells; -1 for none."""
    said = text.casefold().rstrip(".")
    return next((n for n, step in enumerate(scene.clip.steps) if step.text.casefold() == said), -1)


def asked_after(scene: Scene, draft: Draft) -> int:
    """The step that "right after" refers to: the first of those that the draft speaks of that its question names."""
    named = re.fullmatch(r"What does the person do right after (.+)\?", draft.question)
    assert named is not None
    return next(n for n, a in enumerate(scene.acts) if a is not None and a.name == named[1])


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_every_rule_makes_something_of_small_clips(kind: PlantedKind, name: str) -> None:
    found = drafts(kind, name)
    assert found
    for scene, draft in found:
        known = {step.id for step in scene.clip.steps}
        assert draft.question.endswith("?")
        assert draft.answer.strip()
        assert draft.steps
        assert {step.id for step in draft.steps} <= known
        assert draft.problem == "" if kind == "sound" else draft.problem in PROBLEMS[CATCHES[kind]]


def test_there_is_a_kind_for_every_filter_and_sound_ones() -> None:
    assert set(CATCHES.values()) == set(FILTERS)
    assert set(PLANTED_KINDS) - set(CATCHES) == {"sound"}


# -- sound ---------------------------------------------------------------------------------------------------------


def test_sound_answers_follow_from_the_order_of_steps() -> None:
    for scene, draft in drafts("sound", "after"):
        assert place(scene, draft.answer) == asked_after(scene, draft) + 1
    for scene, draft in drafts("sound", "before"):
        later = draft.question.partition("right before ")[2].rstrip("?")
        assert scene.acts[place(scene, draft.answer) + 1].name == later  # type: ignore[union-attr]
    for scene, draft in drafts("sound", "between"):
        n = place(scene, draft.answer)
        one, _, other = draft.question.partition("between ")[2].rstrip("?").partition(" and ")
        assert scene.acts[n - 1].name == one  # type: ignore[union-attr]
        assert scene.acts[n + 1].name == other  # type: ignore[union-attr]


def test_the_first_of_two_is_the_earlier_one_and_stands_on_either_side() -> None:
    sides = set()
    for scene, draft in drafts("sound", "first-of-two"):
        names = [a.name.casefold() for a in scene.acts if a is not None]
        one, _, other = draft.question.partition("first: ")[2].rstrip("?").casefold().partition(" or ")
        first = min(one, other, key=names.index)
        assert draft.answer.casefold() == first
        sides.add(first == one)
    assert sides == {True, False}


def test_sound_questions_name_no_step_that_is_done_twice() -> None:
    for _, name in (pair for pair in ALL if pair[0] == "sound"):
        assert all("drilling" not in draft.question for _, draft in drafts("sound", name))


# -- faults --------------------------------------------------------------------------------------------------------


def test_vague_answers_lack_something() -> None:
    for scene, draft in drafts("vague", "generic") + drafts("vague", "not-an-answer"):
        assert place(scene, draft.answer) == -1
    for scene, draft in drafts("vague", "partial"):
        assert "two things" in draft.question
        assert len(draft.steps) == 3
        assert place(scene, draft.answer) == scene.clip.steps.index(draft.steps[1])
    for scene, draft in drafts("vague", "shorter-list"):
        assert "all the things" in draft.question
        assert len(draft.steps) > 2
        assert place(scene, draft.answer) == 0


def test_tricky_questions_have_several_answers_or_none_that_can_be_seen() -> None:
    for scene, draft in drafts("tricky", "repeated-step"):
        assert scene.clip.id == "shelf"
        assert draft.question == "What does the person do right after drilling the holes?"
        assert place(scene, draft.answer) in (3, 5)
    for scene, draft in drafts("tricky", "at-some-time"):
        assert scene.clip.steps.index(draft.steps[1]) >= 2
    for _, draft in drafts("tricky", "artefact"):
        assert draft.answer.casefold() == draft.steps[0].text
        assert re.search(r"number \d+|exactly \d+\.\d seconds|the id s\d+", draft.question)
    for _, draft in drafts("tricky", "wordplay"):
        words = draft.steps[0].text.split()
        assert draft.answer[::-1] in words or int(draft.answer) in map(len, words)
    for scene, draft in drafts("tricky", "false-premise"):
        earlier, later = (next(a for a in scene.named if a.step is step) for step in draft.steps)
        if "go back" in draft.question:
            assert draft.question.index(earlier.name) < draft.question.index(later.name)
        else:
            assert draft.question.index(f"start {later.name}") < draft.question.index(
                f"before {earlier.name}"
            )


def test_hallucinated_answers_say_what_no_step_says() -> None:
    for name in ("foreign-answer", "foreign-thing", "foreign-addition"):
        for scene, draft in drafts("hallucinated", name):
            words = set(re.findall(r"[a-z]{4,}", draft.answer.casefold()))
            assert words - {w for step in scene.clip.steps for w in step.text.casefold().split()}, name
            assert place(scene, draft.answer) == -1
    for scene, draft in drafts("hallucinated", "reversed-order"):
        assert place(scene, draft.answer) == asked_after(scene, draft) - 1


def test_blind_solvable_questions_give_their_answer_away() -> None:
    for _, draft in drafts("blind-solvable", "echo"):
        assert draft.answer.casefold().removeprefix("the ") in draft.question.casefold()
    for _, draft in drafts("blind-solvable", "needed"):
        assert draft.answer == "Yes"
    results = {draft.question: draft.answer for _, draft in drafts("blind-solvable", "result")}
    assert results["In what state does the person leave the tomato by chopping the tomato?"] == "In pieces"
    assert results["In what state does the person leave the water by boiling the water?"] == "Hot"


# -- scenes ----------------------------------------------------------------------------------------------------------


def scene_of(texts: str, **changes: object) -> Scene:
    return Scene.of(clip("c", "a task", texts, **changes), lambda _s, _r: None)


def test_steps_that_overlap_do_not_follow_each_other() -> None:
    steps = (
        ShownStep(id="s1", text="peel the carrot", start=0.0, end=12.0),
        ShownStep(id="s2", text="boil the water", start=10.0, end=20.0),
        ShownStep(id="s3", text="cut the onion", start=20.0, end=30.0),
    )
    scene = scene_of("x", steps=steps)
    assert [(a.step.id, b.step.id) for a, b in scene.pairs] == [("s2", "s3")]


def test_substeps_and_texts_without_a_verb_are_no_acts() -> None:
    steps = (
        ShownStep(id="s1", text="peel the carrot", start=0.0, end=5.0),
        ShownStep(id="s1.1", text="hold the carrot", start=0.0, end=2.0),
        ShownStep(id="s2", text="carrots!", start=5.0, end=6.0),
        ShownStep(id="s3", text="", start=6.0, end=7.0),
        ShownStep(id="s4", text="cut the onion " * 30, start=7.0, end=8.0),
    )
    scene = scene_of("x", steps=steps)
    assert [a.step.id if a else None for a in scene.acts] == ["s1", None, None, None]
    assert scene.pairs == ()


def test_what_is_between_two_acts_that_cannot_be_told_is_not_passed_over() -> None:
    scene = scene_of("peel the carrot; ???; cut the onion")
    assert scene.pairs == ()
    assert [(a.step.id, b.step.id) for a, b in scene.apart] == [("s1", "s3")]
