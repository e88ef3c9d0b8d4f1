"""Names of files that come from names of models."""

from __future__ import annotations

import pytest

from proctor.exam.view import View
from proctor.stages.naming import LONGEST_NAME, file_name
from proctor.stages.predict import run_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("openai/gpt-4o", "openai-gpt-4o"),
        ("compat/q@http://host:8000/v1", "compat-q"),
        ("compat/q@http://host/v1 (binary 1234abcd)#2", "compat-q-binary-1234abcd-2"),
        ("../../etc/passwd", "etc-passwd"),
        ("a/é\0b", "a-b"),
    ],
)
def test_names_are_safe_and_say_no_address(text: str, name: str) -> None:
    assert file_name(text) == name


def test_long_names_that_begin_alike_stay_apart() -> None:
    path = "transformers/" + "deep/" * 60
    names = {
        file_name(f"{path} ({rubric}){again}") for rubric in ("binary", "ternary") for again in ("", "#1")
    }
    assert len(names) == 4
    assert {len(name) for name in names} == {LONGEST_NAME}
    assert file_name(path) == file_name(path)


def test_runs_are_named_by_model_and_view() -> None:
    captions = View.parse("captions:50@288p", captioner="compat/c@http://b/v1")
    assert run_name("compat/q@http://a/v1", captions) == "compat-q-captions-50f-288p-published-by-compat-c"
    assert run_name("openai/gpt-4o", View(kind="recipe")) == "openai-gpt-4o-recipe"
