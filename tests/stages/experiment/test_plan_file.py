"""Plans in files: every draft can be read, and what is wrong in one is said with its place."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from proctor.errors import UserError
from proctor.exam.function import ShownQuestion
from proctor.release.manifest import ReleaseInfo
from proctor.stages.experiment.draft import Wish, draft_plan
from proctor.stages.experiment.plan_file import read_plan
from proctor.stages.experiment.settings import OUTLINES


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "manuals").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("wish", "kind", "said"),
    [
        (Wish(have="recordings", data="sample"), "moment", {"predict": {"predictor": ("none",)}}),
        (Wish(have="recordings", data="sample", models=("openai/gpt-4o",)), "moment",
         {"source": {"dataset": "plain"}, "predict": {"predictor": ("openai/gpt-4o",)}}),
        (Wish(have="benchmark", data="everyday", models=("python:mine:answer",)), "moment", {"source": {"release": "everyday"}}),
        (Wish(have="documents", data="manuals", models=('a/"b"\\c', "a/é")), "documents",
         {"documents": {"generator": 'a/"b"\\c'}, "answer": {"model": ('a/"b"\\c', "a/é"), "sources": ("gold", "bm25@5")}}),
        (Wish(have="videos", data="manuals", models=("a/b",)), "clip", {"pairs": {"generator": "a/b"}}),
    ],
)  # fmt: skip
def test_a_draft_is_read_as_what_was_wanted(
    data: Path, wish: Wish, kind: str, said: dict[str, dict[str, Any]]
) -> None:
    draft_plan(data / "plan.toml", wish)
    plan = read_plan(data / "plan.toml")
    assert plan.kind == wish.kind == kind
    assert plan.workspace == data / "plan"
    assert plan.limits.max_cost == (Decimal(5) if wish.models else None)
    assert plan.given.get("build") == (None if wish.have == "benchmark" else {"name": "plan"})
    for stage, values in said.items():
        assert values.items() <= plan.given[stage].items()
    for stage, given in plan.given.items():  # the values fit the structs
        OUTLINES[kind].settings[stage](**given)


def test_the_sample_is_copied_beside_the_plan_and_never_over_something(data: Path) -> None:
    draft_plan(data / "a.toml", Wish(have="recordings", data="sample"))
    (data / "sample" / "mine.txt").write_text("kept")
    draft_plan(data / "b.toml", Wish(have="recordings", data="sample"))
    assert (data / "sample" / "mine.txt").read_text() == "kept"
    assert read_plan(data / "b.toml").given["source"]["data"] == data / "sample"


def test_a_misspelt_sample_is_named(data: Path) -> None:
    with pytest.raises(UserError, match="did you mean sample, which is shipped"):
        draft_plan(data / "a.toml", Wish(have="recordings", data="samle"))


def test_the_manuals_are_copied_and_the_workspace_is_another_folder(data: Path) -> None:
    (data / "manuals").rmdir()
    wish = Wish(have="documents", data="manuals", models=("a/b",))
    written = draft_plan(data / "manuals.toml", wish)
    assert written == [data / "manuals", data / "manuals.toml"]
    assert (data / "manuals" / "ph-meter.md").is_file()
    assert read_plan(data / "manuals.toml").workspace == data / "manuals-bench"


def test_a_benchmark_is_called_as_its_workspace_as_far_as_a_release_can_be(data: Path) -> None:
    for stem, name in (("Öl & gas 2", "l-gas-2"), ("ours", "ours"), ("工具", "benchmark")):
        draft_plan(data / f"{stem}.toml", Wish(have="recordings", data="sample"))
        plan = read_plan(data / f"{stem}.toml")
        assert (plan.workspace.name, plan.given["build"]) == (stem, {"name": name})
        ReleaseInfo(name=name, version="1").check()


def test_a_function_that_nobody_wrote_is_written_as_an_example(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wish = Wish(have="benchmark", data="everyday", models=("python:mine:answer", "python:json:loads"))
    assert draft_plan(data / "one.toml", wish) == [data / "mine.py", data / "one.toml"]
    monkeypatch.chdir(data)
    named: dict[str, Any] = {}
    exec((data / "mine.py").read_text(), named)
    shown = ShownQuestion(id="i", kind="moment", question="And now?", view="question", prompt="")
    assert named["answer"](shown) == "Nothing, you are on track."
    (data / "mine.py").write_text("# mine\n")
    assert draft_plan(data / "two.toml", wish) == [data / "two.toml"]
    assert (data / "mine.py").read_text() == "# mine\n"


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (Wish(have="documents", data="manuals"), "written by models, and none is named"),
        (Wish(have="videos", data="absent", models=("a/b",)), "there is no such folder"),
        (
            Wish(have="recordings", data="manuals"),
            r"its files are of no known data set.*\n  → your own recordings: docs",
        ),
        (Wish(have="benchmark", data="evryday"), "no benchmark of that name"),
    ],
)
def test_what_cannot_be_planned_is_said(data: Path, wish: Wish, message: str) -> None:
    with pytest.raises(UserError, match=message):
        draft_plan(data / "plan.toml", wish)
    assert not (data / "plan.toml").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("generate =", "not valid TOML"),
        ("\udcff", "not valid TOML"),
        ("generate = 3", r"\[generate\]: this must be a table"),
        ('[experiment]\nkind = "momnt"', "did you mean moment"),
        ("[experiment]\nkinds = 3", r"\[experiment\]: .*\n.*kind, workspace, vary, rehearse"),
        ("[experiment]\nrehearse = 7", "a share from 0 to 1"),
        ("[experiment]\nrehearse = nan", "a share from 0 to 1"),
        ("[generat]", "no table 'generat'.\n  → did you mean generate"),
        ("[generate]\nexampls = 3", "no setting 'exampls'.\n  → did you mean examples"),
        ('[generate]\nexamples = "a"', r"\[generate\]: examples is 'a': Expected `int`"),
        ("[generate]\nexamples = 1.5", "Expected `int`"),
        ('[limits]\nmax_cost = "lots"', r"\[limits\]: 'lots' is not an amount"),
        ("[[limits]]\nmax_cost = 1", r"\[limits\]: this must be a table"),
    ],
)
def test_what_is_wrong_in_a_plan_is_said_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UserError, match=message) as raised:
        read_plan(plan)
    assert str(plan) in str(raised.value)


def test_a_plan_says_everything_that_the_command_line_can(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        '[experiment]\nworkspace = "w"\nvary = "generate.seed=1,2"\nrehearse = 1\n'
        '[limits]\nmax-cost = "$2.50"\nprices = "p.toml"\n[generate]\ngenerator = "rules"\nper-recording = 2\n'
        '[source]\ndata = "/there"\n'
    )
    plan = read_plan(tmp_path / "plan.toml")
    assert plan.vary == ("generate.seed=1,2",)
    assert plan.rehearse == 1
    assert plan.limits.max_cost == Decimal("2.50")
    assert plan.limits.prices == tmp_path / "p.toml"
    assert plan.given["generate"] == {"generator": ("rules",), "per_recording": 2}
    assert plan.given["source"] == {"data": Path("/there")}
