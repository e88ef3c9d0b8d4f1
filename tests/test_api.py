"""The workspace from Python: what the commands do, chained; the same files, the same messages."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.typed import proctor as command

import proctor
from proctor.errors import UserError
from proctor.exam.function import ShownAnswer, ShownQuestion
from proctor.records import read_jsonl
from proctor.samples import path as sample
from proctor.stages.judge import Judged


def first_step(shown: ShownQuestion) -> str | None:
    """Answers what stands first in the recipe; nothing about tea."""
    return None if "tea" in shown.prompt else shown.prompt.splitlines()[-1]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> proctor.Workspace:
    root = tmp_path_factory.mktemp("api") / "bench"
    ws = (
        proctor.Workspace(str(root))
        .read("plain", str(sample()))
        .derive()
        .generate(examples=30)
        .verify()
        .build()
    )
    return ws.predict(first_step, name="mine").predict("constant", "annotations").judge().score()


def test_a_chain_writes_what_the_commands_write(bench: proctor.Workspace, tmp_path: Path) -> None:
    root = tmp_path / "typed"
    for words in (["read", "plain", sample(), root], ["derive", root], ["generate", root, "--examples", 30],
                  ["verify", root], ["build", root], ["predict", root, "-p", "constant", "-p", "annotations"],
                  ["judge", root]):  # fmt: skip
        assert command(*words).status == 0
    for name in ("recordings.jsonl", "examples.jsonl", "candidates.jsonl", "items.jsonl", "release/manifest.json",
                 "runs/constant/judgements.jsonl"):  # fmt: skip
        assert (bench.root / name).read_bytes() == (root / name).read_bytes(), name


def test_the_leaderboard_ranks_a_function_as_a_system(bench: proctor.Workspace) -> None:
    board = bench.leaderboard()
    assert [line.run for line in board] == ["mine", "annotations", "constant"]
    assert [line.role for line in board] == ["system", "upper", "floor"]
    assert board["annotations"].score == 100.0
    assert set(board.to_pandas()["run"]) == {"annotations", "constant", "mine"}
    shown = board._repr_html_()
    grey = ["annotations" in row or "constant" in row for row in shown.split("<tr")[2:]]
    assert (
        [row.startswith(' style="opacity') for row in shown.split("<tr")[2:]] == grey == [False, True, True]
    )
    assert "3 runs; grey: floors and upper bounds" in shown
    assert "grey" not in board[:1]._repr_html_()
    assert board[1:]._repr_html_().count("opacity") == 2


def test_what_is_there_can_be_looked_at(bench: proctor.Workspace) -> None:
    assert bench.runs == ["annotations", "constant", "mine"]
    assert len(bench.recordings) == 12
    assert len(bench.questions) == 30
    assert len(bench.examples) == 269
    item = bench.items[0]
    assert bench.items[item.id] is not None
    assert bench.predictions("mine")[item.id].item_id == item.id
    assert bench.judgements("constant")[item.id].item_id == item.id
    assert set(bench.graphs) == {recording.activity_id for recording in bench.recordings}
    assert {"id", "kind", "question", "answers", "type"} <= set(bench.items.to_pandas().columns)
    assert len(repr(bench)) < 200
    assert repr(bench).endswith("read, derive, generate, verify, build; 3 runs)")
    assert "generate" in bench._repr_html_()
    for shown in (bench.items, bench.questions, bench.recordings, bench.leaderboard()):
        assert len(repr(shown)) < 200
    candidate: proctor.Candidate = read_jsonl(bench.root / "candidates.jsonl", proctor.Candidate)[0]
    right = [{"value": "right", "reason": "because " * 99}] * 9
    said = {
        "candidate_id": "1",
        "annotator": "Ada",
        "annotator_kind": "human",
        "at": "",
        "question": right[0],
    }
    verdict = msgspec.convert({**said, "answers": right}, proctor.Verdict)
    records: tuple[Any, ...] = (bench.recordings[0], bench.examples[0], bench.graphs["lamp"], candidate, verdict,
               bench.predictions("mine")[0], bench.judgements("constant")[0])  # fmt: skip
    for record in records:
        assert re.fullmatch(rf"{type(record).__name__}\(.{{1,250}}\)", repr(record))
        assert record._repr_html_().startswith("<table>")
    assert repr(bench.recordings["tea_1"]).startswith("Recording(id='tea_1', activity_id=")
    for record in (bench.recordings[0], next(iter(bench.graphs.values())), bench.examples[0]):
        assert f'<td style="text-align:left">{record.id}</td>' in record._repr_html_()
    recording = bench.recordings["lamp_1"]
    assert f"segments={len(recording.segments)}, mistakes=" in repr(recording)
    for result in bench.results.values():
        for one in result if isinstance(result, list) else [result]:
            assert re.fullmatch(rf"{type(one).__name__}\(.{{1,250}}\)", repr(one))
            assert one._repr_html_().count("<tr>") == len(one.__struct_fields__) + 1
    assert repr(bench.results["score"]).startswith("ScoredRuns(runs=(RunScore('annotations'), RunScore(")
    benchmark = proctor.load_benchmark(bench.root / "release")
    assert len(benchmark.to_pandas()) == len(benchmark.to_polars()) == len(benchmark) == len(bench.items)


def test_results_are_those_of_the_stages(bench: proctor.Workspace) -> None:
    assert list(bench.results) == [
        "read",
        "derive",
        "generate",
        "verify",
        "build",
        "predict",
        "judge",
        "score",
    ]


def test_a_second_object_goes_on_with_the_folder(bench: proctor.Workspace) -> None:
    again = proctor.Workspace(bench.root, progress=False)
    assert again.leaderboard()["mine"].score == bench.leaderboard()["mine"].score


def test_what_failed_is_said_and_ends_the_chain(
    bench: proctor.Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    def boom(shown: ShownQuestion) -> str:
        raise ValueError("my model broke")

    ws = proctor.Workspace(bench.root.with_name("failing")).import_release(bench.root / "release")
    with pytest.raises(
        UserError, match=r"bad: no model said anything: function \d+ \(ValueError: my model broke"
    ):
        ws.predict(boom, name="bad")
    ws.predict(boom, name="bad", accept_failures=True)
    ws.predict(first_step, name="part")
    assert "warning: part: failed: function" in capsys.readouterr().err
    ws.predict(first_step, name="blind", show="frames:2@96p", limit=2)
    assert "warning: blind: failed: not_shown 2 (the item has no video" in capsys.readouterr().err
    with pytest.raises(UserError, match=r"cut: stopped early: .*\n  → the same call goes on from here"):
        ws.predict(first_step, name="cut", max_calls=3)


def test_a_function_marks_and_its_errors_end_the_chain(
    bench: proctor.Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    def half(shown: ShownAnswer) -> int | None:
        return 1 if shown.answer in shown.prompt and shown.golds else 0

    def boom(shown: ShownAnswer) -> int:
        raise ValueError("my judge broke")

    ws = proctor.Workspace(bench.root.with_name("marked")).import_release(bench.root / "release")
    ws.predict(first_step, name="mine").predict("constant")
    with pytest.raises(
        UserError, match=r"'mine' is not marked yet.\n  → run first: proctor judge \S+ --run mine"
    ):
        ws.judgements("mine")
    ws.judge(half)
    told = ws.results["judge"]
    assert isinstance(told, Judged)
    assert list(told.by_rule) == ["constant"]
    assert {mark.score for mark in ws.judgements("mine")} == {1, None}  # it has no answer about tea
    assert ws.leaderboard()["mine"].judge.startswith("python:tests.test_api:")
    with pytest.raises(
        UserError, match=r"judge: no model said anything: function \d+ \(ValueError: my judge"
    ):
        ws.judge(boom)
    capsys.readouterr()
    first = ws.items[0].id
    ws.judge(lambda shown: None if shown.id == first else 2)
    assert "warning: judge: failed: function 1 (it returned nothing)" in capsys.readouterr().err
    with pytest.raises(UserError, match="5 is no function"):
        ws.judge(5)  # type: ignore[arg-type]


def test_the_leaderboard_knows_what_came_after_the_scores(bench: proctor.Workspace) -> None:
    ws = proctor.Workspace(bench.root.with_name("later")).import_release(bench.root / "release")
    ws.predict("constant").judge().score()
    assert [line.run for line in ws.leaderboard()] == ["constant"]
    assert {line.run for line in ws.predict("recipe-text").judge().leaderboard()} == {
        "constant",
        "recipe-text",
    }
    assert repr(ws.leaderboard()[:1]).startswith("1 run, the first one")
    assert "random-step" in {line.run for line in ws.predict("random-step").judge().report().leaderboard()}
    assert len(proctor.Workspace(ws.root).report().leaderboard()) == 3  # of a page alone


def test_a_slip_in_a_name_of_the_package_has_a_suggestion() -> None:
    with pytest.raises(AttributeError) as slip:
        proctor.Workspce  # noqa: B018
    assert (slip.value.name, slip.value.obj) == ("Workspce", proctor)


def test_settings_of_the_workspace_hold(bench: proctor.Workspace, tmp_path: Path) -> None:
    (tmp_path / "proctor.toml").write_text('[generate]\nexamples = 7\nsample = "quota"\n')
    ws = proctor.Workspace(tmp_path).read("plain", sample()).derive().generate()
    assert len(ws.questions) == 7
    assert len(ws.generate(examples=9, seed=1).questions) == 9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda ws: ws.derive(protocl="published"),
            r"derive\(\) has no option 'protocl'.\n  → did you mean protocol",
        ),
        (lambda ws: ws.generate(examples="many"), "examples is 'many': Expected `int`"),
        (lambda ws: ws.generate(examples=0), "at least 1 was expected"),
        (lambda ws: ws.generate("recipe"), "no questions of the kind 'recipe'"),
        (lambda ws: ws.predict("constnt"), "did you mean constant"),
        (lambda ws: ws.predict("constant", "annotations", name="both"), "several systems answer"),
        (lambda ws: ws.predict(first_step, max_cost="lots"), "not an amount of US dollars"),
        (lambda ws: ws.predictions("mien"), "did you mean mine"),
        (lambda ws: ws.score(runs=("mien",)), "did you mean mine"),
        (lambda ws: ws.judge("ruls"), "did you mean rules"),
        (lambda ws: ws.judge("mine:mark"), r"\n  → did you mean python:mine:mark\?"),
        (lambda ws: ws.predict("mine:answer"), r"\n  → did you mean python:mine:answer\?"),
        (lambda ws: ws.generate(generator=("rulse",)), "did you mean rules"),
        (lambda ws: ws.predict("python:shlex:qoute"), "did you mean quote"),
        (lambda ws: ws.predictions("../.."), "cannot be the name of a run"),
        (lambda ws: ws.verify("openai/gpt-4o", threshold=0.9), "the oracle's, and a model verifies"),
        (lambda ws: ws.read("plian", "x"), "did you mean plain"),
        (lambda ws: ws.derive(workers="many"), "--workers is 'many'"),
        (lambda ws: proctor.Workspace(ws.root.with_name("bensh")).derive(), "did you mean .*bench"),
    ],
)
def test_mistakes_are_errors_with_the_text_of_the_commands(
    bench: proctor.Workspace, call: object, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        call(bench)  # type: ignore[operator]


def test_a_folder_that_cannot_be_read_leaves_no_workspace(tmp_path: Path) -> None:
    ws = proctor.Workspace(tmp_path / "new")
    with pytest.raises(UserError, match="there is no such folder"):
        ws.read("plain", tmp_path / "absent")
    assert not ws.root.exists()


def test_help_shows_the_options_of_the_stage() -> None:
    parameters = inspect.signature(proctor.Workspace.generate).parameters
    assert {"kind", "generator", "examples", "per_recording", "max_cost", "videos", "seed"} <= set(parameters)
    assert "options" not in parameters
    assert "examples: How many examples to draw." in str(proctor.Workspace.generate.__doc__)


def test_the_package_shows_what_one_needs() -> None:
    names = [name for name in dir(proctor) if not name.startswith("_")]
    assert "Workspace" in names
    assert "load_benchmark" in names
    assert len(names) <= 24
    assert all(getattr(proctor, name) is not None for name in names)


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, proctor; print(*[m for m in ('numpy', 'typer', 'msgspec', 'sqlalchemy', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_a_dataset_reads_and_checks_a_folder_by_its_name() -> None:
    plain = proctor.load_dataset("plain")
    folder = sample()
    assert plain.read(str(folder)) == plain.read(folder)
    assert plain.check(str(folder)) == plain.check(folder)
    assert [*plain.iter_records(str(folder))] == [*plain.iter_records(folder)]
