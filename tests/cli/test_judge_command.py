"""``proctor judge`` with a model, as it is typed, against a stand-in: told before it is paid."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.taking import estimate_judging, judge

from proctor.errors import UserError
from proctor.exam.kinds.moment_marker import Rubric
from proctor.exam.prediction import Prediction
from proctor.exam.question import gold_texts
from proctor.records import read_jsonl
from proctor.stages.inputs import load_all_items
from proctor.workspace import Workspace
from proctor_rehearsal.standin import Standin

RULES = {"rules": [{"reply": "The steps differ, as far as can be seen.\nVerdict: 1"}]}

Command = Callable[..., Any]


@pytest.fixture
def standin() -> Iterator[Standin]:
    with Standin(RULES) as server:
        yield server


@pytest.fixture
def bench(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished / "bench", tmp_path / "bench"))


def marker(standin: Standin) -> str:
    return f"compat/marker@{standin.url}/v1"


def test_the_estimate_is_what_is_then_sent(bench: Path, standin: Standin) -> None:
    before = {path: path.read_bytes() for path in (bench / "runs").rglob("*") if path.is_file()}
    estimate = estimate_judging(bench, judge=marker(standin))
    assert estimate is not None
    assert standin.count == 0
    assert {path: path.read_bytes() for path in (bench / "runs").rglob("*") if path.is_file()} == before
    told = judge(bench, judge=marker(standin))
    assert estimate.new == told["calls"]["sent"] == standin.count > 10
    assert {line.stage for line in estimate.lines} == {f"judge/{run}" for run in told["runs"]}
    again = estimate_judging(bench, judge=marker(standin))
    assert again is not None
    assert (again.new, again.calls) == (0, estimate.calls)


def test_repeats_and_rubrics_count(bench: Path, standin: Standin) -> None:
    name = marker(standin)
    once = estimate_judging(bench, ["constant"], judge=name)
    thrice = estimate_judging(bench, ["constant"], judge=name, repeats=3)
    blind = estimate_judging(bench, ["constant"], judge=name, rubric=Rubric(context="none"))
    assert once is not None
    assert thrice is not None
    assert blind is not None
    assert thrice.new == 3 * once.new
    assert blind.new <= once.new
    assert blind.input < once.input
    with pytest.raises(UserError, match="repeats"):
        estimate_judging(bench, judge=name, repeats=0)


def test_replies_are_expected_to_be_like_those_that_the_store_has(bench: Path, standin: Standin) -> None:
    name = marker(standin)
    first = estimate_judging(bench, ["annotations"], judge=name)
    assert first is not None
    (line,) = first.lines
    assert (line.earlier, line.output) == (0, 600 * line.new)
    assert line.output < line.output_worst
    told = judge(bench, ["constant"], judge=name)
    second = estimate_judging(bench, ["annotations"], judge=name)
    assert second is not None
    (line,) = second.lines
    assert line.earlier == told["calls"]["sent"]
    assert 0 < line.output == line.new * line.reply < line.output_worst / 5


def test_floors_are_marked_by_rules_unless_a_model_is_to_mark_them(
    bench: Path, standin: Standin, proctor: Command
) -> None:
    name = marker(standin)
    assert "costs nothing" in proctor("judge", bench, "-j", name, "--dry-run").out
    done = proctor("judge", bench, "-j", name)
    assert (done.status, standin.count) == (0, 0), done.err
    assert "as no model answered: annotations, constant (--judge-floors" in done.out
    (rule,) = {line["judge"] for line in proctor("score", bench, "--json").json["runs"]}
    assert rule.startswith("rules-")
    told = proctor(
        "judge", bench, "-j", name, "-r", "constant", "--judge-floors", "--context", "none", "--json"
    ).json
    assert not told.get("by_rule")
    items = {item.id: item for item in load_all_items(Workspace(bench))}
    answers = [
        (items[p.item_id].question.text, gold_texts(items[p.item_id]), p.answer)
        for p in read_jsonl(bench / "runs/constant/predictions.jsonl", Prediction)
    ]
    assert (
        len({answer for *_, answer in answers}) < 4
    )  # a constant answer is asked about once a question and golds
    assert told["calls"]["sent"] == standin.count == len(set(answers))
    assert proctor("score", bench, "-r", "constant", "--json").json["runs"][0]["judge"].startswith(name)


def test_a_dry_run_prints_it_and_sends_nothing(bench: Path, standin: Standin, proctor: Command) -> None:
    done = proctor(
        "judge", bench, "--judge", marker(standin), "--run", "constant", "--judge-floors", "--dry-run"
    )
    assert done.status == 0, done.err
    assert "judge/constant" in done.out
    assert "is not known" in done.out
    assert "tokens out without earlier replies: 600 each" in done.out
    as_json = proctor(
        "judge",
        bench,
        "--judge",
        marker(standin),
        "--run",
        "constant",
        "--judge-floors",
        "--dry-run",
        "--json",
    ).json
    assert [e["new"] > 0 for e in as_json["estimates"]] == [True]
    free = proctor("judge", bench, "--dry-run")
    assert (free.status, free.out.strip()) == (0, "No model is asked: it costs nothing.")
    assert standin.count == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--judge", "gpt"), "there is no judge 'gpt'"),
        (("--judge", "compat/x@http://127.0.0.1:9/v1", "--run", "nobody"), "there is no run 'nobody'"),
        (("--judge", "compat/x@http://127.0.0.1:9/v1", "--scale", "many"), "'many' is not one of"),
        (
            ("--judge", "compat/x@http://127.0.0.1:9/v1", "--rubric", "styled"),
            "→ rubrics for the kind 'moment': ternary-step",
        ),
    ],
)
def test_a_dry_run_says_what_cannot_be(
    bench: Path, proctor: Command, options: tuple[str, ...], message: str
) -> None:
    done = proctor("judge", bench, *options, "--dry-run")
    assert done.status == 2
    assert message in done.err


def test_where_no_reply_can_be_read_the_next_step_shows_how_replies_are_read(
    bench: Path, standin: Standin, proctor: Command
) -> None:
    asked = ("judge", bench, "--judge-floors", "--judge", marker(standin))
    standin.script({"otherwise": {"reply": "I cannot say."}})
    done = proctor(*asked)
    assert "no reply could be read as a mark; the reasons: " in done.out
    assert done.out.endswith("see how they are read: proctor judge read replies.jsonl\n")
    files = [Path(one) for one in re.findall(r"\S+judgements\.jsonl", done.out)]
    assert files
    assert all("no_verdict" in file.read_text() for file in files)
    standin.script({"otherwise": {"reply": "Verdict: 2"}})
    assert proctor(*asked, "--rubric", "ternary").out.endswith(f"next: proctor score {bench}\n")


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("judge", ("--judge-floors", "--judge")),
        ("predict", ("--show", "recipe", "-p")),
        ("verify", ("--verifier",)),
    ],
)
def test_a_command_to_which_no_model_said_anything_ends_with_status_1(
    bench: Path, standin: Standin, proctor: Command, command: str, options: tuple[str, ...]
) -> None:
    standin.script({"faults": [{"status": 401}]})
    outcome = proctor(command, bench, *options, marker(standin))
    assert outcome.status == 1
    assert "next: proctor" not in outcome.out
    assert "no model said anything" in outcome.err
    assert "auth" in outcome.out
    standin.script({"rules": [{"reply": "Sorry, no.", "outcome": "refusal"}]})
    assert proctor(command, bench, *options, marker(standin)).status == 0  # a refusal is something, too
