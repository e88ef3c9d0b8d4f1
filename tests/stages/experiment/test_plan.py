"""What an experiment is: systems, markings, and everything that can be wrong with a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from proctor.errors import UserError
from proctor.exam.judge_prompt import CONTEXTS, FORMS, SCALES, Rubric
from proctor.exam.view import View
from proctor.records import write_json
from proctor.stages.experiment.plan import PLAN_FILE, Plan, System, kept_plan
from proctor.workspace import Workspace

A, B = "openai/gpt-4o", "google/gemini-1.5-pro"


def test_every_predictor_is_shown_every_view() -> None:
    plan = Plan(predictors=(A, B), views=("question", "frames:10@765p"))
    frames = View.parse("frames:10@765p")
    assert list(plan.systems) == [
        System(A, View(kind="question")),
        System(A, frames),
        System(B, View(kind="question")),
        System(B, frames),
    ]
    assert len({system.run for system in plan.systems}) == 4


def test_a_predictor_may_have_views_of_its_own() -> None:
    plan = Plan(predictors=(f"{A}=frames:100@288p,recipe", B), views=("question",))
    assert [(s.model, s.view.spec) for s in plan.systems] == [
        (A, View.parse("frames:100@288p").spec),
        (A, "recipe"),
        (B, "question"),
    ]


def test_an_address_may_hold_an_equals_sign() -> None:
    name = "compat/qwen@http://localhost:8000/v1?x=1/y"
    assert [s.model for s in Plan(predictors=(name,), views=("question",)).systems] == [name]


def test_only_captions_have_a_captioner() -> None:
    plan = Plan(predictors=(A,), views=("recipe", "captions:50@288p"), captioner=B)
    assert [s.view.captioner for s in plan.systems] == ["", B]
    assert B in plan.models
    with pytest.raises(UserError, match="captioner"):
        Plan(predictors=(A,), views=("captions",)).check()


def test_scores_are_made_of_the_last_marking() -> None:
    plan = Plan(predictors=(A,), judges=(A, B), rubrics=("ternary-step", "binary", "binary-recipe"))
    found = [(judge, rubric.name) for judge, rubric in plan.markings]
    assert found[-1] == (A, "ternary-step")
    assert sorted(found) == sorted(
        [(A, "ternary-step"), (A, "binary"), (A, "binary-recipe"), (B, "ternary-step")]
    )
    assert Plan(predictors=(A,)).markings == []


def test_models_are_named_once() -> None:
    plan = Plan(generators=("rules", A), verifiers=(B,), predictors=(A, B), judges=(B, A), views=("recipe",))
    assert plan.models == [A, B]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "nobody answers"),
        ({"predictors": ("gpt-4o",)}, "not the name of a model"),
        ({"predictors": (A,), "views": ("smell",)}, "smell"),
        ({"predictors": (f"{A}=smell",)}, "smell"),
        ({"predictors": (A, A)}, "would be called"),
        ({"predictors": (A,), "judges": ("x",)}, "not the name of a model"),
        ({"predictors": (A,), "generators": ("oracle",)}, "not the name of a model"),
        ({"predictors": (A,), "judges": ("compat/q@http://a/v1", "compat/q@http://b/v1")}, "two judges"),
        ({"predictors": (A,), "rubrics": ()}, "no rubric"),
        ({"predictors": (A,), "rubrics": ("quaternary",)}, "ternary-step"),
        ({"predictors": (A,), "protocol": "mine"}, "'corrected' or 'published'"),
    ],
)
def test_what_is_wrong_is_said_at_once(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as error:
        Plan(**values).check()
    assert message in error.value.render()


def test_rubrics_have_names_that_can_be_read_back() -> None:
    all_ = [
        Rubric(scale, context, mistakes, form)
        for scale in SCALES
        for context in CONTEXTS
        for mistakes in (False, True)
        for form in FORMS
        if context == "step" or not mistakes
    ]
    assert len({r.name for r in all_}) == len(all_) == 16
    assert [Rubric.parse(r.name) for r in all_] == all_


def test_a_workspace_keeps_its_plan(tmp_path: Path) -> None:
    assert kept_plan(Workspace(tmp_path)) is None
    plan = Plan(predictors=(A,), judges=(B,), examples=7)
    write_json(tmp_path / PLAN_FILE, plan)
    assert kept_plan(Workspace(tmp_path)) == plan


@pytest.mark.parametrize("text", ["", "{", '{"predictors": "x"}', '{"colour": "red"}', "[]"])
def test_a_damaged_plan_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / PLAN_FILE).write_text(text)
    with pytest.raises(UserError, match=PLAN_FILE):
        kept_plan(Workspace(tmp_path))


def test_a_plan_can_be_read_and_changed_by_hand() -> None:
    plan = Plan(predictors=(A,))
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
    assert '"views":["question","recipe","frames:50@360p"]' in msgspec.json.encode(plan).decode()
