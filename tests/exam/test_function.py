"""A function is shown what a model would be, and whatever it does is an answer or a failure of that item alone."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PIL import Image
from tests.documents import document, items_of
from tests.taking import judge
from tests.typed import proctor

from proctor.corpus.collection import write_corpus
from proctor.corpus.source import image_source
from proctor.errors import UserError
from proctor.exam.function import ShownAnswer, ShownQuestion, load_function
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Choice, Gold, Item, Open, Pick, Question, Text
from proctor.llm.store import CallStore
from proctor.records import read_json, read_jsonl, write_jsonl
from proctor.stages import judge as stage
from proctor.stages.exam_settings import JudgeSettings, PredictSettings
from proctor.stages.limits import Limits
from proctor.stages.predict import RunInfo, estimate_prediction, predict
from proctor.stages.trial import trial
from proctor.workspace import Workspace

OPTIONS = ("one", "two", "three", "four")
ITEMS = [
    Item(
        question=Question(
            id=f"q{n}",
            kind="clip",
            text=f"Which {n}?",
            form=Choice(options=OPTIONS),
            facts={"steps": ["Stir."]},
        ),
        golds=(Gold(value=Pick(option=n)),),
    )
    for n in range(4)
]
WORDS = [
    Item(
        question=Question(
            id=f"w{n}", kind="clip", text=f"What {n}?", form=Open(), facts={"steps": ["Stir."]}
        ),
        golds=(Gold(value=Text(text="so")),),
    )
    for n in range(6)
]
STEPS = PredictSettings(show="steps", form="choice", shuffle=3, run="own")


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    Workspace(tmp_path).create()
    write_jsonl(tmp_path / "items.jsonl", [*ITEMS, *WORDS])
    return tmp_path


def answers(bench: Path, run: str = "own") -> dict[str, Prediction]:
    return {p.item_id: p for p in read_jsonl(bench / "runs" / run / "predictions.jsonl", Prediction)}


def test_it_sees_the_question_as_a_model_and_never_what_is_right(bench: Path) -> None:
    seen: list[ShownQuestion] = []

    def right(shown: ShownQuestion) -> str:
        seen.append(shown)
        return "ABCD"[shown.options.index(OPTIONS[int(shown.id[1])])]

    (run,) = predict(bench, right, STEPS)
    assert (run.run, run.items, run.failed, run.asked_now) == ("own", 4, 0, 4)
    first = next(shown for shown in seen if shown.id == "q0")
    assert (first.kind, first.question, first.view) == ("clip", "Which 0?", "steps, shuffled 3")
    assert "Stir." in first.prompt
    assert {shown.options for shown in seen} != {OPTIONS}
    assert all(set(shown.options) == set(OPTIONS) for shown in seen)
    assert not {"gold", "golds", "facts"} & set(msgspec.structs.asdict(first))
    assert judge(bench, ["own"])["runs"] == {"own": {"match": 4}}
    info = read_json(bench / "runs/own/run.json", RunInfo)
    assert info.predictor == f"python:{__name__}:{right.__qualname__} (steps, shuffled 3)"
    assert (info.role, info.privilege) == ("system", "the annotated steps")


def test_errors_and_what_is_no_text_are_failures_of_that_item(bench: Path) -> None:
    def answer(shown: ShownQuestion) -> object:
        wrong = {
            "w0": KeyError("flour"),
            "w1": SystemExit(3),
            "w2": StopIteration(),
            "w3": ValueError("\ud800"),
        }
        if shown.id in wrong:
            raise wrong[shown.id]
        return {"w4": None, "w5": 7}[shown.id]

    (run,) = predict(bench, answer, PredictSettings(show="steps", form="open", run="own"))  # type: ignore[arg-type]
    assert run.failures == {"function": 6}
    said = {name: str(p.failure) for name, p in answers(bench).items()}
    for name, why in (
        ("w0", "KeyError: 'flour'"),
        ("w1", "SystemExit: 3"),
        ("w2", "StopIteration"),
        ("w3", "ValueError: \\ud800"),
    ):
        assert said[name].startswith(f"function: {why}")
        assert "test_function.py:" in said[name]
    assert (said["w4"], said["w5"]) == (
        "function: it returned nothing",
        "function: it returned int, which is no text",
    )


def test_what_was_raised_is_told_on_the_terminal(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench / "broken.py").write_text("def answer(shown):\n    return {}['flour']\n")
    monkeypatch.chdir(bench)
    monkeypatch.setattr(sys, "path", [*sys.path])
    done = proctor("predict", bench, "-p", "python:broken:answer", "--form", "open", "--show", "steps")
    assert done.status == 1
    assert "failed: function 6" in done.out
    assert "\n  function: KeyError: 'flour' (broken.py:2)" in done.out
    assert re.search(r"python-broken-answer\S* +6 +0 +6 +6\n", done.out)
    assert done.out.endswith("next: correct what failed, then run the same command again\n")
    some = (
        "predict",
        bench,
        "-p",
        "python:broken:answer",
        "--form",
        "open",
        "--show",
        "steps",
        "--run",
        "some",
    )
    (bench / "broken.py").write_text("def answer(shown):\n    return {'w0': 'so'}[shown.id]\n")
    sys.modules.pop("broken")
    stopped = proctor(*some, "--max-calls", 2)
    assert stopped.status == 3
    assert re.search(r"some +6 +1 +6 +5\n", stopped.out)
    assert stopped.out.endswith("next: run the same command again, for what is left\n")
    assert proctor(*some).out.endswith(f"next: proctor judge {bench}\n")


def test_a_call_that_cancels_itself_is_a_failure_and_a_coroutine_that_is_returned_is_awaited(
    bench: Path,
) -> None:
    async def cancelled(_: ShownQuestion) -> str:
        raise asyncio.CancelledError

    async def answer() -> str:
        return "A"

    (run,) = predict(bench, cancelled, STEPS)
    assert run.failures == {"function": 4}
    (run,) = predict(bench, lambda _: answer(), msgspec.structs.replace(STEPS, run="returned"))
    assert run.failures == {}
    assert run.calls is not None
    assert run.calls.unpriced == 0


def test_coroutine_functions_overlap_and_others_are_called_one_after_the_other(bench: Path) -> None:
    most = {"now": 0, "plain": 0, "async": 0}

    def plain(_: ShownQuestion) -> str:
        most["now"] += 1
        most["plain"] = max(most["plain"], most["now"])
        time.sleep(0.002)
        most["now"] -= 1
        return "A"

    async def overlapping(_: ShownQuestion) -> str:
        most["now"] += 1
        most["async"] = max(most["async"], most["now"])
        await asyncio.sleep(0.05)
        most["now"] -= 1
        return "A"

    predict(bench, plain, STEPS)
    predict(bench, overlapping, msgspec.structs.replace(STEPS, run="other"))
    assert (most["plain"], most["async"]) == (1, 4)


def test_a_picture_of_a_source_comes_as_a_file(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    Image.new("RGB", (40, 30), (20, 90, 160)).save(corpus / "vell.png")
    write_corpus(corpus, [image_source("image:vell", "Lake Vell", "vell.png", verbalisation="Blue water.")])
    write_jsonl(tmp_path / "items.jsonl", items_of([document("d", gold=("image:vell",), answer="Blue.")]))

    def answer(shown: ShownQuestion) -> str:
        (part,) = shown.parts
        assert part.path is not None
        with Image.open(part.path) as picture:
            return f"{part.id} {part.kind} {part.mime} {picture.size}"

    predict(tmp_path, answer, PredictSettings(run="own"))
    assert answers(tmp_path)["d"].answer == "image:vell picture 1 image/png (40, 30)"


SLOW = """
import pathlib, time
def answer(shown):
    with pathlib.Path("asked.txt").open("a") as stream:
        stream.write(shown.id + "\\n")
    time.sleep(0.2)
    return shown.id
"""


def test_a_killed_run_goes_on_and_a_changed_module_is_asked_anew(bench: Path) -> None:
    (bench / "slow_answers.py").write_text(SLOW)
    typed = [sys.executable, "-c", "from proctor.cli.main import main; main()", "predict", str(bench)]
    typed += ["-p", "python:slow_answers:answer"]
    typed += ["--show", "steps", "--form", "open", "--run", "own"]
    asked = bench / "asked.txt"
    first = subprocess.Popen(typed, cwd=bench, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not asked.exists() or len(asked.read_text().split()) < 4:
        assert first.poll() is None
        time.sleep(0.01)
    with CallStore.open(next(bench.rglob("calls.sqlite")), create=False) as store:
        while len(store) < 3:
            time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    subprocess.run(typed, cwd=bench, check=True, capture_output=True)
    names = asked.read_text().split()
    assert len(names) <= len(WORDS) + 1  # nothing twice but the one that was in flight
    assert {name: p.answer for name, p in answers(bench).items()} == {item.id: item.id for item in WORDS}
    assert answers(bench)["w0"].predictor == "python:slow_answers:answer (steps)"
    (bench / "slow_answers.py").write_text(SLOW.replace("0.2", "0"))
    done = subprocess.run(typed, cwd=bench, check=True, capture_output=True, text=True)
    assert "all are asked again" in done.stdout
    assert len(asked.read_text().split()) == len(names) + len(WORDS)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("python:", "not the name of a function"),
        ("python:mine", "not the name of a function"),
        ("python:mine.py:answer", "not the name of a function"),
        ("python:nowhere_at_all:answer", "no module 'nowhere_at_all'"),
        ("python:broken_answers:answer", "cannot be imported: ZeroDivisionError"),
        ("python:exits_at_once:answer", "cannot be imported: SystemExit: 2"),
        ("python:json:nothing", "no function 'nothing'"),
        ("python:sys:path", "no function 'path'"),
    ],
)
def test_what_is_no_function_is_told_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str
) -> None:
    (tmp_path / "broken_answers.py").write_text("1 / 0")
    (tmp_path / "exits_at_once.py").write_text("import sys\nsys.exit(2)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(UserError, match=why):
        load_function(name)


def marks_of(bench: Path) -> dict[str, Judgement]:
    return {j.item_id: j for j in read_jsonl(bench / "runs/own/judgements.jsonl", Judgement)}


def test_a_function_marks_in_the_place_of_a_model(bench: Path) -> None:
    seen: list[ShownAnswer] = []

    def mark(shown: ShownAnswer) -> int | None:
        seen.append(shown)
        if shown.id == "w1":
            raise KeyError("flour")
        made: object = {"w0": 2, "w2": None, "w3": True, "w4": 1, "w5": np.int64(0)}[shown.id]
        return made  # type: ignore[return-value] # what is no mark is refused, whatever its type

    predict(bench, lambda shown: shown.id, PredictSettings(show="steps", form="open", run="own"))
    judged = stage.judge(bench, function=mark)
    name = f"python:{__name__}:{mark.__qualname__} (consistency "
    assert judged.judge.startswith(name)
    assert judged.runs == {"own": {"match": 1, "wrong": 1, "unscored": 4}}
    assert judged.calls is not None
    assert judged.calls.outcomes["function"] == 4
    made = marks_of(bench)
    assert {item: mark.score for item, mark in made.items()} == {
        "w0": 2,
        "w1": None,
        "w2": None,
        "w3": None,
        "w4": None,
        "w5": 0,
    }
    assert "function: KeyError: 'flour' (test_function.py:" in str(made["w1"].failure)
    assert str(made["w2"].failure) == "function: it returned nothing"
    assert str(made["w3"].failure) == "function: it returned bool, which is no mark (0, 2)"
    assert str(made["w4"].failure) == "function: it returned 1, which is no mark (0, 2)"
    first = next(shown for shown in seen if shown.id == "w0")
    assert (first.question, first.answer, first.golds, first.marks) == ("What 0?", "w0", ("so",), (0, 2))
    assert "What 0?" in first.prompt
    stage.judge(bench, function=mark)
    assert len(seen) == 6 + 4  # what it marked is kept, and what failed is asked again: as answers are


def test_what_failed_and_what_floods_is_not_shown_to_a_function_that_marks(bench: Path) -> None:
    def answer(shown: ShownQuestion) -> str | None:
        return None if shown.id == "w0" else "x" * 30_000 if shown.id == "w1" else "so"

    predict(bench, answer, PredictSettings(show="steps", form="open", run="own"))
    stage.judge(bench, function=lambda shown: 0 if shown.id in ("w0", "w1") else 2)
    assert [made.score for made in marks_of(bench).values()] == [None, 0, 2, 2, 2, 2]


def test_a_dry_run_asks_no_function_for_marks(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench / "never_marks.py").write_text("def mark(shown):\n    raise AssertionError(shown)\n")
    monkeypatch.chdir(bench)
    monkeypatch.setattr(sys, "path", [*sys.path])
    predict(bench, lambda shown: shown.id, PredictSettings(show="steps", form="open", run="own"))
    asked = ("judge", bench, "--judge", "python:never_marks:mark")
    assert "6" in proctor(*asked, "--dry-run").out
    assert not (bench / "runs/own/judgements.jsonl").exists()
    done = proctor(*asked)
    assert (done.status, "AssertionError" in done.out) == (1, True)
    settings = JudgeSettings(judge="python:never_marks:mark")
    with trial(bench, Limits()) as (copy, limits):  # what an experiment does in a dry run
        assert stage.judge(copy, settings, limits=limits).runs == {"own": {"match": 6}}


def test_a_dry_run_calls_nobody(bench: Path) -> None:
    def never(shown: ShownQuestion) -> str:
        raise AssertionError(shown)

    estimate = estimate_prediction(bench, never, STEPS)
    assert (estimate.new, estimate.cost, estimate.unpriced) == (4, 0, ())
    assert not (bench / "runs").exists()
