"""What an experiment is: systems, markings, options, cells, and everything that can be wrong with what was chosen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.stages.experiment.conftest import PLAN, do, quietly

from proctor.errors import UserError
from proctor.exam.kinds.moment_marker import CONTEXTS, FORMS, SCALES, Rubric
from proctor.exam.view import View
from proctor.settings import fields_of
from proctor.stages.experiment.cells import cells_of
from proctor.stages.experiment.clip import PLAN as CLIPS
from proctor.stages.experiment.conduct import PLAN_FILE, choose, conduct
from proctor.stages.experiment.documents import PLAN as DOCUMENTS
from proctor.stages.experiment.moment import PLAN as MOMENTS
from proctor.stages.experiment.moment import System, markings, systems
from proctor.stages.experiment.settings import AnswerSettings, MarkSettings
from proctor.stages.experiment.stage import Plan
from proctor.stages.settings import BuildSettings
from proctor.workspace import Workspace

A, B = "openai/gpt-4o", "google/gemini-1.5-pro"
PLANS = (MOMENTS, DOCUMENTS, CLIPS)


@pytest.mark.parametrize("plan", PLANS, ids=[plan.name for plan in PLANS])
def test_every_setting_of_every_stage_is_an_option_once(plan: Plan) -> None:
    assert [stage.name for stage in plan.stages] == list(plan.outline.settings)
    every = {(s, f.name) for s, settings in plan.outline.settings.items() for f in fields_of(settings)}
    options = plan.outline.options()
    assert sorted(place for _, places in options for place in places) == sorted(every)
    flags = [flag for declared, _ in options for flag in declared.flags]
    assert len(set(flags)) == len(flags)


def test_every_predictor_is_shown_every_view() -> None:
    frames = View.parse("frames:10@765p")
    found = systems(AnswerSettings(predictor=(A, B), show=("question", "frames:10@765p")))
    assert found == [System(m, v) for m in (A, B) for v in (View(kind="question"), frames)]
    assert len({system.run for system in found}) == 4


def test_a_predictor_may_have_views_of_its_own_and_an_address_an_equals_sign() -> None:
    found = systems(AnswerSettings(predictor=(f"{A}=frames:100@288p,recipe", B), show=("question",)))
    assert [(s.model, s.view.spec) for s in found] == [
        (A, View.parse("frames:100@288p").spec), (A, "recipe"), (B, "question"),
    ]  # fmt: skip
    name = "compat/qwen@http://localhost:8000/v1?x=1/y"
    assert [s.model for s in systems(AnswerSettings(predictor=(name,), show=("question",)))] == [name]


def test_only_captions_have_a_captioner() -> None:
    settings = AnswerSettings(predictor=(A,), show=("recipe", "captions:50@288p"), captioner=B)
    assert [s.view.captioner for s in systems(settings)] == ["", B]
    with pytest.raises(UserError, match="captioner"):
        systems(AnswerSettings(predictor=(A,), show=("captions",)))


def test_scores_are_made_of_the_last_marking() -> None:
    settings = MarkSettings(judge=(A, B), rubric=("ternary-step", "binary", "binary-recipe"))
    found = [(judge, rubric.name) for judge, rubric in markings(settings)]
    assert found[-1] == (A, "ternary-step")
    assert sorted(found) == sorted(
        [(A, "ternary-step"), (A, "binary"), (A, "binary-recipe"), (B, "ternary-step")]
    )
    assert markings(MarkSettings()) == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"predictors": ()}, "no system was named"),
        ({"predictors": ("gpt-4o",)}, "not the name of a model"),
        ({"views": ("smell",)}, "smell"),
        ({"predictors": (f"{A}=smell",)}, "smell"),
        ({"predictors": (A, A)}, "would be called"),
        ({"judges": ("x",)}, "not the name of a model"),
        ({"generators": ("oracle",)}, "no generator 'oracle'"),
        ({"judges": ("compat/q@http://a/v1", "compat/q@http://b/v1")}, "two judges"),
        ({"rubrics": ()}, "no rubric"),
        ({"rubrics": ("quaternary",)}, "did you mean ternary"),
        ({"protocol": "mine"}, "one of corrected, published"),
    ],
)
def test_what_is_wrong_is_said_at_once(
    values: dict[str, Any], message: str, sample: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as error:
        do(tmp_path / "bench", msgspec.structs.replace(PLAN, **values), source=sample)
    assert message in error.value.render()
    assert not (tmp_path / "bench" / "recordings.jsonl").exists()


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


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", '{"colour": "red"}', '{"plan": "promqa", "settings": {"predict": {"show": "x"}}}',
        '{"plan": "documents", "settings": {}}',
    ],
)  # fmt: skip
def test_a_damaged_or_another_plan_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / PLAN_FILE).write_text(text)
    with pytest.raises(UserError, match=PLAN_FILE):
        choose(tmp_path, MOMENTS, {})


def test_what_only_the_file_of_settings_says_is_not_kept_in_the_plan(tmp_path: Path) -> None:
    nothing = replace(MOMENTS, stages=(), measure=lambda _: iter(()))
    for name in ("mine", "yours"):
        Workspace(tmp_path).keep("build", {"name": name, "accept": "humans"})
        chosen = choose(tmp_path, MOMENTS, {"build": {"accept": "oracle"}, "predict": {"predictor": (A,)}})
        assert chosen["build"] == BuildSettings(name=name)
        conduct(tmp_path, nothing, chosen, show=quietly)
        assert choose(tmp_path, MOMENTS, {}) == chosen


# -- cells ---------------------------------------------------------------------------------------------------------


def test_every_combination_is_a_cell_and_values_are_those_of_the_setting(tmp_path: Path) -> None:
    chosen = choose(tmp_path, MOMENTS, PLAN.given())
    vary = (f"generate.generator={A},rules|{B}", "build.min_confidence=0.5,1", "predict.captioner=x/y,z/w")
    cells = cells_of(MOMENTS, chosen, vary)
    assert len({cell.name for cell in cells}) == len(cells) == 8
    asked = [cell.chosen["generate"].generator for cell in cells]  # type: ignore[attr-defined]
    assert set(asked) == {(A,), ("rules", B)}
    assert {cell.chosen["build"].min_confidence for cell in cells} == {0.5, 1.0}  # type: ignore[attr-defined]
    assert cells_of(MOMENTS, chosen, ())[0].chosen == chosen


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        (["generate.template"], "does not say what varies"),
        (["taste.template=a"], "no stage 'taste'"),
        (["generate.taste=a"], "no setting 'taste'"),
        (["generate.seed=1", "generate.seed=2"], "varies twice"),
        (["generate.seed=1,1"], "value twice"),
        (["generate.seed=one"], "a number was expected"),
        (["generate.sample=few"], "one of quota"),
        (["generate.examples=0"], "at least 1"),
    ],
)
def test_what_cannot_vary_is_said_at_once(vary: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        cells_of(MOMENTS, choose(tmp_path, MOMENTS, PLAN.given()), vary)
