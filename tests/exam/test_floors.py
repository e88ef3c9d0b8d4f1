import random

import pytest

from proctor.exam.bound import AnnotationBound
from proctor.exam.floors import (
    ConstantFloor,
    EchoGold,
    RandomStepFloor,
    RecipeTextFloor,
    make_floor,
    moment_floor,
)
from proctor.exam.kinds.moment import KIND
from proctor.exam.kinds.moment_marker import RulesMarker
from proctor.exam.kinds.moment_question import FLOOR_NAMES
from proctor.exam.library import Library
from proctor.exam.predict import PrivilegedPredictor, make_task, predict_items
from proctor.exam.scores import score_run
from proctor.exam.table import Resampling
from proctor.llm.media import MediaStore
from proctor.procedure.graph import Step, TaskGraph


def answers(predictor, items, graphs, seed=0):
    return {p.item_id: p.answer for p in predict_items(items, moment_floor(predictor, graphs), seed=seed)}


def score(predictor, items, graphs):
    predictions = list(predict_items(items, moment_floor(predictor, graphs)))
    library = Library(media=MediaStore(), graphs=graphs)
    judgements = [RulesMarker().mark(*made, library) for made in zip(items, predictions, strict=True)]
    return score_run(
        KIND, items, predictions, {"judge": judgements}, benchmark="t",
        resampling=Resampling(resamples=50),
    )  # fmt: skip


def test_names():
    assert [make_floor(n, []).name for n in FLOOR_NAMES] == list(FLOOR_NAMES)
    with pytest.raises(ValueError, match="no floor 'gpt'; known: constant"):
        make_floor("gpt", [])


def test_privileged_ones_say_so():
    for floor in (ConstantFloor.fit([]), AnnotationBound(), EchoGold()):
        assert isinstance(floor, PrivilegedPredictor)
        assert floor.privilege
    for floor in (RecipeTextFloor(), RandomStepFloor()):
        assert not isinstance(floor, PrivilegedPredictor)


def test_constant_answers_by_type(release, graphs):
    found = answers(ConstantFloor.fit(release), release, graphs)
    by_type = {
        i.question.facets["type"]: {
            found[j.id] for j in release if j.question.facets["type"] == i.question.facets["type"]
        }
        for i in release
    }
    assert all(len(texts) == 1 for texts in by_type.values())
    assert by_type["measurement"] == {"No."}


def test_constant_does_not_see_the_recording_it_is_asked_about(make_item):
    items = [
        make_item("a", "missing", "Did I forget anything?", ["Yes, you forgot the clamp."], number=n)
        for n in range(9)
    ]
    items += [
        make_item("b", "missing", "Did I forget anything?", ["No, you are on track."], number=n)
        for n in range(3)
    ]
    floor = ConstantFloor.fit(items)
    assert floor.constant("missing", "a") == "No, you are on track."
    assert floor.constant("missing", "b") == "Yes."
    assert floor.constant("missing", "c") == "Yes."
    assert floor.constant("unseen type", "a") == "No, you are on track."


def test_recipe_text_uses_question_and_graph(make_item, shelf):
    floor = RecipeTextFloor()

    def say(question):
        item = make_item("r", "next", question, ["x"])
        return floor.predict(make_task(item, shelf), random.Random(0)).answer

    assert say("What comes after sliding the glass shelf?") == "You should tighten the clamp for 30 seconds."
    assert say("What do I do after wiping the shelf with the cloth?") == "You have completed all the steps."
    assert say("Did I forget anything?") == "No, you are on track."
    assert say("Did I tighten the clamp correctly?") == "No, you should tighten the clamp for 30 seconds."
    assert say("Is that okay?") == "Yes, that is fine."
    assert say("What now?").startswith("You should ")


def test_recipe_text_never_sees_the_type(make_item, graphs):
    same = [
        make_item("r", t, "Did I tighten the clamp correctly?", ["x"])
        for t in ("next", "technique", "timing")
    ]
    assert len(set(answers(RecipeTextFloor(), same, graphs).values())) == 1


def test_random_step_is_seeded_and_reaches_every_place(make_item, graphs, shelf):
    items = [make_item(f"r{k}", "next", "What now?", ["x"]) for k in range(200)]
    first = answers(RandomStepFloor(), items, graphs, seed=1)
    assert first == answers(RandomStepFloor(), items[::-1], graphs, seed=1)
    assert first != answers(RandomStepFloor(), items, graphs, seed=2)
    assert len(set(first.values())) == len(shelf.actions) + 1


def test_random_step_by_time(make_item, graphs):
    items = [make_item(f"r{k}", "next", "What now?", ["x"]) for k in range(20)]
    assert set(answers(RandomStepFloor(seconds_per_step=30.0), items, graphs).values()) == {
        "You should slide the glass shelf onto both brackets."
    }
    assert set(answers(RandomStepFloor(seconds_per_step=1.0), items, graphs).values()) == {
        "You have completed all the steps."
    }
    for bad in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="seconds_per_step"):
            RandomStepFloor(seconds_per_step=bad)


def test_random_step_of_a_graph_too_wide_to_count(make_item, monkeypatch):
    monkeypatch.setattr("proctor.procedure.graph.DOWNSET_LIMIT", 3)
    wide = TaskGraph("w", "w", tuple(Step(str(k), f"Sand board {k}") for k in range(9)), (("0", "8"),))
    prediction = RandomStepFloor().predict(
        make_task(make_item("r", "next", "?", ["x"]), wide), random.Random(0)
    )
    assert prediction.answer
    assert prediction.details["order"] == "random ready steps"


def test_floors_stand_in_the_expected_order(release, graphs):
    random_step, constant, bound, echo = (
        score(p, release, graphs).row("all").value
        for p in (RandomStepFloor(), ConstantFloor.fit(release), AnnotationBound(), EchoGold())
    )
    assert random_step < constant < bound <= echo == 100.0


def test_echo_without_gold_fails(make_item, graphs):
    (prediction,) = predict_items([make_item("r", "next", "?", [])], moment_floor(EchoGold(), graphs))
    assert prediction.failure == "the item has no gold answer"
