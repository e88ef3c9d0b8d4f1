"""Names of runs and judges for people: short, and no two alike."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.exam.judge_marks import JudgeSetup
from proctor.exam.prediction import Prediction
from proctor.report.data import Run
from proctor.report.naming import RunName, common, name_judges, name_runs, span

FRAMES = {
    "model": "google/gemini-1.5-pro",
    "view": "frames",
    "frames": "10",
    "resolution": "144p",
    "sampling": "published",
}


def run(name: str, **details: str) -> Run:
    predictions = tuple(
        Prediction(item_id=f"i{n}", predictor="x", answer="a", details=details) for n in (1, 2)
    )
    return Run(name, "x", predictions=predictions)


def named(*runs: Run) -> list[tuple[str, str]]:
    return [(n.title, n.view) for n in name_runs(runs).values()]


def test_model_and_view_stand_apart_and_the_usual_sampling_is_not_told() -> None:
    long = "google-gemini-1.5-pro-frames-10f-144p-published"
    (name,) = name_runs([run(long, **FRAMES)]).values()
    assert name == RunName(long, "google/gemini-1.5-pro", "10 frames · 144p", 1)
    assert name.label == "google/gemini-1.5-pro, 10 frames · 144p"
    assert name.short == "gemini-1.5-pro, 10 frames · 144p"
    assert (name.model, name.tag) == ("gemini-1.5-pro", "10f · 144p")


@pytest.mark.parametrize(
    ("details", "view"),
    [
        ({"view": "question"}, "question alone"),
        ({"view": "recipe"}, "question and recipe"),
        ({"view": "video", "resolution": "360p"}, "video · 360p"),
        ({**FRAMES, "frames": "1"}, "1 frame · 144p"),
        ({**FRAMES, "sampling": "uniform"}, "10 frames · 144p · uniform"),
        ({**FRAMES, "view": "captions", "captioner": "openai/c"}, "captions · 10 frames · 144p"),
    ],
)
def test_every_view_in_a_few_words(details: dict[str, str], view: str) -> None:
    assert named(run("openai-m-x", **{**details, "model": "openai/m"})) == [("openai/m", view)]


def test_a_run_without_a_model_keeps_its_name() -> None:
    assert named(run("constant")) == [("constant", "")]
    assert named(Run("empty", "empty")) == [("empty", "")]


def test_a_name_that_somebody_gave_stays_in_front() -> None:
    assert named(run("monday's try", **FRAMES)) == [
        ("monday's try", "google/gemini-1.5-pro · 10 frames · 144p")
    ]


def test_where_a_server_is_does_not_matter() -> None:
    assert named(run("compat-qwen-recipe", model="compat/qwen@http://10.0.0.1:8000/v1", view="recipe")) == [
        ("compat/qwen", "question and recipe")
    ]


def test_runs_that_differ_in_their_sampling_alone_tell_it() -> None:
    runs = [run("openai-m-a", **{**FRAMES, "model": "openai/m", "sampling": s}) for s in ("published", "fps")]
    runs = [Run(f"{r.name}{n}", "x", predictions=r.predictions) for n, r in enumerate(runs)]
    assert [view for _, view in named(*runs)] == ["10 frames · 144p", "10 frames · 144p · fps"]


def test_runs_that_differ_in_their_captioner_alone_tell_it() -> None:
    details = {**FRAMES, "model": "openai/m", "view": "captions"}
    runs = [run(f"openai-m-{c}", **details, captioner=f"openai/{c}") for c in ("big", "small")]
    assert [view.rpartition(" · ")[2] for _, view in named(*runs)] == [
        "captions by openai/big",
        "captions by openai/small",
    ]


def test_runs_that_differ_in_nothing_are_told_by_their_full_names() -> None:
    details = {**FRAMES, "model": "openai/m"}
    names = name_runs([run("openai-m-1", **details), run("openai-m-2", **details), run("openai-m-3")])
    labels = [n.label for n in names.values()]
    assert len(set(labels)) == 3
    assert labels[0].endswith("openai-m-1")
    assert labels[1].endswith("openai-m-2")


def test_many_runs_have_many_names() -> None:
    details: dict[str, Any] = {**FRAMES, "model": "openai/m"}
    runs = [run(f"openai-m-{n}", **{**details, "frames": str(1 + n % 5)}) for n in range(40)]
    names = name_runs(runs)
    assert list(names) == [r.name for r in runs]
    assert len({n.label for n in names.values()}) == 40
    assert [n.number for n in names.values()] == list(range(1, 41))


def test_frames_that_vary_are_a_range() -> None:
    assert span(["50", "8", "12", "many", ""]) == "8–50"
    assert span(["9" * 5000]) == ""
    assert common(["a", "b", "c", "d", "a", ""]) == "a, b, c and 1 more"


def test_judges_are_called_by_model_and_rubric() -> None:
    setups = [
        JudgeSetup("openai/gpt-4o (ternary-step a2855486)", "judge-ternary-step@1"),
        JudgeSetup("openai/gpt-4o (binary d83900c8)", "judge-binary@1", "binary"),
        JudgeSetup("rules 1"),
        JudgeSetup("openai/gpt-4o (mine 00aa11bb)", "own@3"),
    ]
    names = name_judges(setups)
    assert [(n.title, n.view) for n in names.values()] == [
        ("openai/gpt-4o", "ternary-step"),
        ("openai/gpt-4o", "binary"),
        ("rules 1", ""),
        ("openai/gpt-4o", "mine · own@3"),
    ]
    assert list(names) == [s.name for s in setups]


def test_two_versions_of_a_rubric_are_told_by_their_hashes() -> None:
    setups = [JudgeSetup(f"o/m (ternary {h})", "judge-ternary@1") for h in ("aaaaaaaa", "bbbbbbbb")]
    assert [n.view for n in name_judges(setups).values()] == ["ternary · aaaaaaaa", "ternary · bbbbbbbb"]
