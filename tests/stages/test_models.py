"""The published experiment by models, on the shipped sample, through real HTTP to a stand-in that plays them."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.media.make_video import make_grey_video
from tests.stages.asking import ask
from tests.taking import judge, predict

from proctor.ask.moment.candidate import Candidate
from proctor.errors import UserError
from proctor.exam.kinds.example import Example
from proctor.exam.view import View
from proctor.llm.fence import FENCE_FILE
from proctor.llm.flow import FlowSettings
from proctor.llm.gate import GateRules
from proctor.llm.store import CallStore
from proctor.records import Dropped, read_jsonl
from proctor.samples import copy_sample
from proctor.stages.build import build
from proctor.stages.derive import derive
from proctor.stages.generate import estimate_generation, generate
from proctor.stages.models import CALLS, Limits
from proctor.stages.read import read
from proctor.stages.settings import BuildSettings, GenerateSettings
from proctor.stages.verify import estimate_verification, open_store, verify, verify_with_model
from proctor.verify.llm_prompt import OF_MOMENTS
from proctor.workspace import Workspace
from proctor_rehearsal.standin import Answer, Call, Standin

FAULTS = [{"kind": "status", "status": 503, "probability": 0.3}]
"""The server fails 30 % of the calls, drawn anew each time that one comes."""

EXAMPLES = 24


def play(call: Call) -> Answer | None:
    """Play generator, verifier, predictor and judge, told apart by their models' names."""
    role = call.model
    if role == "asker":
        return ask(call)
    if role == "reviewer":
        return _review(call)
    if role == "answerer":
        return Answer(text=f"You should do step {int(call.draw('answer') * 9)} now.")
    if role == "marker":
        return Answer(text=f"I compared the steps.\nVerdict: {int(call.draw('mark') * 3)}")
    return None


def _review(call: Call) -> Answer:
    found = re.search(r"one object for each of the (\d+) answers", call.text)
    assert found is not None
    if call.draw("kind") < 0.15 and len(call.content.turns) == 1:
        return Answer(text="It all looks right to me.")
    question = {"reason": "r"} | {c: "no" if call.draw(c) < 0.1 else "yes" for c in OF_MOMENTS.names}
    answers = [
        {"reason": "r", "verdict": "right" if call.draw("answer", n) < 0.8 else "wrong"}
        for n in range(int(found[1]))
    ]
    return Answer(text=json.dumps({"question": question, "answers": answers, "own_answers": []}))


@pytest.fixture(scope="module")
def server() -> Iterator[Standin]:
    with Standin(answer=play) as running:
        yield running
        assert running.errors == []


@pytest.fixture
def standin(server: Standin) -> Standin:
    server.script(answer=play)
    server.reset()
    return server


@pytest.fixture(scope="module")
def derived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with examples and its fences' secret, not to be changed."""
    home = tmp_path_factory.mktemp("derived")
    copy_sample(home / "sample")
    read("plain", home / "sample", home / "bench")
    derive(home / "bench")
    # What the stand-in says depends on the request, and this on the secret.
    (home / "bench" / FENCE_FILE).write_text("0123456789abcdef" * 4)
    return home / "bench"


@pytest.fixture
def bench(derived: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(derived, tmp_path / "bench"))


def model(standin: Standin, role: str) -> str:
    return f"compat/{role}@{standin.url}/v1"


def experiment(root: Path, standin: Standin) -> dict[str, Any]:
    """Do the stages and return what each said."""
    view = View(kind="recipe")
    told: dict[str, Any] = {}
    told["generate"] = msgspec.to_builtins(
        generate(root, GenerateSettings(generator=(model(standin, "asker"),), examples=EXAMPLES, seed=3))
    )
    told["verify"] = msgspec.to_builtins(verify_with_model(root, model(standin, "reviewer")))
    told["build"] = msgspec.to_builtins(build(root, BuildSettings(accept="any", min_confidence=0.0)))
    told["predict"] = predict(root, model(standin, "answerer"), run="toy", view=view)
    told["judge"] = judge(root, judge=model(standin, "marker"))
    return told


FILES = ("candidates.jsonl", "generate.dropped.jsonl", "items.jsonl", "runs/toy/judgements.jsonl")


def files(root: Path) -> dict[str, Any]:
    """Return what the stages wrote. The provider's name of a call and the time of a verdict say when, not what."""
    found: dict[str, Any] = {name: (root / name).read_bytes() for name in FILES}
    for name in ("runs/toy/predictions.jsonl", "runs/toy/judgements.jsonl"):
        found[name] = [json.loads(line) for line in (root / name).read_text().splitlines()]
        for record in found[name]:
            record["details"].pop("call", None)
    with open_store(Workspace(root)) as store:
        verdicts = sorted(store.latest(), key=lambda v: v.candidate_id)
        found["verdicts"] = [(v.candidate_id, v.question, v.answers, v.note) for v in verdicts]
    return found


def test_the_whole_experiment_runs_and_running_it_again_sends_nothing(bench: Path, standin: Standin) -> None:
    told = experiment(bench, standin)
    funnel = told["generate"]["funnel"]
    assert funnel["examples"] == funnel["asked"] == EXAMPLES
    assert EXAMPLES > funnel["replied"] >= funnel["parsed"] == funnel["picked"] > 0.7 * EXAMPLES
    assert funnel["repaired"] > 0
    assert told["generate"]["candidates"] == funnel["picked"]
    reviewed = told["verify"]["funnel"]
    steps = ("asked", "replied", "parsed", "picked", "reviewed", *OF_MOMENTS.names, "kept")
    assert [reviewed[step] for step in steps] == sorted((reviewed[step] for step in steps), reverse=True)
    assert reviewed["reviewed"] == reviewed["candidates"] == funnel["picked"]
    assert told["build"]["items"] == reviewed["kept"] > 0
    assert told["predict"]["answered"] == reviewed["kept"]
    assert sum(told["judge"]["runs"]["toy"].values()) == reviewed["kept"]
    assert "unscored" not in told["judge"]["runs"]["toy"]
    stages = Workspace(bench).stages()
    assert stages["generate"].counts["funnel"] == funnel
    assert stages["verify/compat-reviewer"].counts["funnel"] == reviewed
    assert Workspace(bench).stale() == []
    assert all(times == 1 for times in standin.counts.values())

    before, sent = files(bench), standin.count
    again = experiment(bench, standin)
    assert standin.count == sent
    assert files(bench) == before
    assert again["generate"]["calls"]["sent"] == again["verify"]["judged_now"] == 0


def test_a_server_that_fails_gives_the_same_in_the_end(
    derived: Path, tmp_path: Path, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    calm, rough = (Path(shutil.copytree(derived, tmp_path / name / "bench")) for name in ("calm", "rough"))
    experiment(calm, standin)
    answered = standin.log.summary()["answered"]
    standin.reset()
    monkeypatch.setattr("proctor.stages.models.FlowSettings", _impatient)
    again = Limits(retry_failed=True)
    stages = (
        lambda: generate(
            rough,
            GenerateSettings(generator=(model(standin, "asker"),), examples=EXAMPLES, seed=3),
            limits=again,
        ),
        lambda: verify_with_model(rough, model(standin, "reviewer"), limits=again),
        lambda: build(rough, BuildSettings(accept="any", min_confidence=0.0)),
        lambda: predict(rough, model(standin, "answerer"), run="toy", view=View(kind="recipe"), limits=again),
        lambda: judge(rough, judge=model(standin, "marker"), limits=again),
    )
    for stage in stages:
        failed = []
        for faults in (FAULTS, FAULTS, []):
            standin.script(answer=play, faults=faults)
            told = msgspec.to_builtins(stage())
            failed.append(told["calls"]["outcomes"].get("overload", 0) if "calls" in told else 0)
        assert failed[0] >= failed[1] >= failed[2] == 0 < failed[0] or stage is stages[2]
    summary = standin.log.summary()
    assert (
        summary["count"] > 1.1 * answered
    )  # 1.39 times as many are to be expected; the draws differ from run to run
    assert summary["answered"] == answered  # whatever was answered was asked for once
    assert files(rough) == files(calm)


def _impatient() -> FlowSettings:
    """Calls that fail are left to a run that asks them again."""
    rules = GateRules(breaker_failures=1_000, first_backoff=0.01, longest_backoff=0.05)
    return FlowSettings(rules=rules, attempts=1, throttled_attempts=1)


def test_limits_stop_the_run_and_it_goes_on_later(bench: Path, standin: Standin) -> None:
    name = model(standin, "asker")
    some = generate(
        bench, GenerateSettings(generator=(name,), examples=EXAMPLES, seed=3), limits=Limits(max_calls=5)
    )
    assert standin.count == 5
    assert some.calls.stopped
    assert some.dropped["budget"] >= EXAMPLES - some.funnel.asked >= EXAMPLES - 5
    whole = generate(bench, GenerateSettings(generator=(name,), examples=EXAMPLES, seed=3))
    assert whole.funnel.asked == EXAMPLES
    assert all(times == 1 for times in standin.counts.values())
    few = verify_with_model(bench, model(standin, "reviewer"), limits=Limits(max_calls=3))
    assert few.judged_now <= 3
    assert few.dropped["budget"] >= whole.candidates - 3


def test_estimates_send_nothing_and_know_what_is_paid_for(bench: Path, standin: Standin) -> None:
    name = model(standin, "asker")
    estimate = estimate_generation(bench, GenerateSettings(generator=(name,), examples=EXAMPLES, seed=3))
    assert estimate is not None
    assert standin.count == 0
    assert not (bench / "candidates.jsonl").exists()
    generate(bench, GenerateSettings(generator=(name,), examples=EXAMPLES, seed=3))
    later = estimate_generation(bench, GenerateSettings(generator=(name,), examples=EXAMPLES, seed=3))
    assert later is not None
    assert (estimate.new, later.new) == (EXAMPLES, 0)
    before = standin.count
    reviews = estimate_verification(bench, model(standin, "reviewer"))
    assert reviews.new > 0.7 * EXAMPLES
    assert standin.count == before
    assert not (bench / "verification.sqlite").exists()
    assert estimate_generation(bench, GenerateSettings(generator=("rules",))) is None


def test_another_seed_picks_others_and_pays_nothing(bench: Path, standin: Standin) -> None:
    name = model(standin, "asker")
    generate(bench, GenerateSettings(generator=(name,), sample="all", seed=1), limit=EXAMPLES)
    first = read_jsonl(bench / "candidates.jsonl", Candidate)
    sent = standin.count
    generate(bench, GenerateSettings(generator=(name,), sample="all", seed=2), limit=EXAMPLES)
    second = read_jsonl(bench / "candidates.jsonl", Candidate)
    assert standin.count == sent
    assert {c.example_id for c in first} == {c.example_id for c in second}
    assert {c.question for c in first} != {c.question for c in second}


def test_everything_that_is_no_candidate_has_a_reason(bench: Path, standin: Standin) -> None:
    told = generate(
        bench, GenerateSettings(generator=(model(standin, "asker"),), sample="all", per_example=2), limit=40
    )
    candidates = read_jsonl(bench / "candidates.jsonl", Candidate)
    dropped = read_jsonl(bench / "generate.dropped.jsonl", Dropped)
    failed = {d.id for d in dropped if "#" not in d.id}
    assert len({c.example_id for c in candidates} | failed) == 40
    assert sum(d.reason == "not_picked" for d in dropped) == told.funnel.picked
    assert len(candidates) == 2 * told.funnel.picked


def test_model_and_oracle_stand_side_by_side(bench: Path, standin: Standin) -> None:
    generate(bench, GenerateSettings(examples=EXAMPLES, seed=3))
    verify(bench)
    record = Workspace(bench).stages()["verify"]
    told = verify_with_model(bench, model(standin, "reviewer"))
    assert set(told.annotators) == {*record.counts["annotators"], model(standin, "reviewer")}
    now = Workspace(bench).stages()["verify"]
    assert (now.settings, now.inputs) == (record.settings, record.inputs)
    assert set(now.counts["annotators"]) == set(told.annotators)
    assert "asked" not in told.funnel  # rules generated


def test_a_verifier_does_not_hide_that_the_oracle_saw_other_candidates(bench: Path, standin: Standin) -> None:
    generate(bench, GenerateSettings(examples=EXAMPLES, seed=3))
    verify(bench)
    generate(bench, GenerateSettings(examples=EXAMPLES, seed=4))
    verify_with_model(bench, model(standin, "reviewer"))
    assert any("after 'verify' had read it" in sentence for sentence in Workspace(bench).stale())


def test_a_changed_candidate_and_another_template_are_reviewed_anew(
    bench: Path, standin: Standin, tmp_path: Path
) -> None:
    generate(bench, GenerateSettings(examples=EXAMPLES, seed=3))
    name = model(standin, "reviewer")
    first = verify_with_model(bench, name)
    assert first.judged_now == first.candidates
    path = bench / "candidates.jsonl"
    lines = path.read_text().splitlines()
    record = json.loads(lines[0])
    record["question"] = "Is this question a new one?"
    path.write_text("\n".join([json.dumps(record), *lines[1:]]) + "\n")
    assert verify_with_model(bench, name).judged_now == 1
    own = tmp_path / "own" / "verify"
    own.mkdir(parents=True)
    import proctor.verify

    ours = Path(str(proctor.verify.__file__)).parent / "prompts" / "review.md.j2"
    (own / "review.md.j2").write_text(ours.read_text().replace("You review questions", "You check questions"))
    anew = verify_with_model(bench, name, limits=Limits(prompts=tmp_path / "own"))
    assert anew.judged_now == first.candidates
    assert anew.funnel["reviewed"] == first.candidates


def test_rules_write_the_same_files_as_before_models_came(bench: Path) -> None:
    told = generate(bench, GenerateSettings(examples=EXAMPLES, seed=3))
    assert told.funnel is None
    record = Workspace(bench).stages()["generate"]
    caps = {"per_recording", "max_mistaken", "max_targets"}
    assert set(record.settings) == {"generator", "sample", "examples", "per_example", "seed"} | caps
    assert "template" not in (bench / "proctor.toml").read_text()


def test_pictures_of_procedure_and_recording_are_really_attached(
    bench: Path, standin: Standin, tmp_path: Path
) -> None:
    name = model(standin, "asker")
    generate(bench, GenerateSettings(generator=(name,), template="image-steps", examples=8))
    first = [r.media for r in standin.requests if "image" in r.media]
    assert len(first) == standin.count
    assert all(media == {"image": 1} for media in first)
    standin.reset()
    examples = read_jsonl(bench / "examples.jsonl", Example)
    videos = sorted({e.video for e in examples if e.video})
    shown = set(videos[: len(videos) // 2])
    assert shown
    for video in shown:
        make_grey_video(tmp_path / "videos" / video, 600)
    told = generate(
        bench,
        GenerateSettings(
            generator=(name,), template="image-frames", sampling="uniform", sample="all", frames=3, height=32
        ),
        videos=tmp_path / "videos",
    )
    after_start = [e for e in examples if e.video in shown and e.end > 1]
    assert told.funnel.asked >= len(after_start) > 20
    assert told.funnel.asked + told.dropped["not_shown"] == len(examples)
    counts = {r.media["image"] for r in standin.requests}
    assert 4 in counts  # the procedure and three frames
    assert min(counts) >= 2
    settings = Workspace(bench).stages()["generate"].settings
    assert (settings["frames"], settings["height"], settings["sampling"]) == (3, 32, "uniform")


def test_a_verifier_sees_frames_where_there_are_some(bench: Path, standin: Standin, tmp_path: Path) -> None:
    generate(bench, GenerateSettings(sample="all", seed=3), limit=60)
    examples = {e.id: e for e in read_jsonl(bench / "examples.jsonl", Example)}
    candidates = read_jsonl(bench / "candidates.jsonl", Candidate)
    video = next(examples[c.example_id].video for c in candidates if examples[c.example_id].end > 1)
    assert video is not None
    make_grey_video(tmp_path / "videos" / video, 600)
    name, view = model(standin, "reviewer"), View(frames=2, height=32, sampling="uniform")
    told = verify_with_model(bench, name, view=view, videos=tmp_path / "videos")
    there = [
        c for c in candidates if examples[c.example_id].video == video and examples[c.example_id].end > 0
    ]
    assert 0 < told.judged_now == len(there)
    assert told.dropped == {"not_shown": len(candidates) - len(there)}
    assert {r.media.get("image", 0) for r in standin.requests} <= {1, 2}
    sent = standin.count
    assert verify_with_model(bench, name, view=view, videos=tmp_path / "videos").judged_now == 0
    assert standin.count == sent
    blind = verify_with_model(bench, name)  # another way of reviewing, so all of them anew
    assert blind.judged_now == len(candidates)


def test_settings_of_a_model_hold_from_then_on(bench: Path, standin: Standin) -> None:
    generate(
        bench, GenerateSettings(generator=(model(standin, "asker"),), template="dot-steps", examples=EXAMPLES)
    )
    sent = standin.count
    told = generate(bench)
    assert standin.count == sent
    assert told.funnel.asked == EXAMPLES
    assert Workspace(bench).stages()["generate"].settings["template"] == "dot-steps"
    generate(
        bench, GenerateSettings(generator=("rules",))
    )  # what only models have stays in the file and does no harm


def test_what_makes_no_sense_is_told_before_anything_is_sent(bench: Path, standin: Standin) -> None:
    name = model(standin, "asker")
    for options in (
        {"generator": ["gpt"]},
        {"generator": ["rules"], "template": "dot-steps"},
        {"generator": [name], "template": "smell"},
        {"generator": [name], "pairs": 2, "per_example": 3},
        {"generator": [name], "form": "xml"},
        {"generator": ["nobody/x"]},
    ):
        with pytest.raises(UserError):
            generate(bench, Workspace(bench).resolve(GenerateSettings, **options))
    generate(bench, GenerateSettings(examples=3))
    for wrong in ("oracle", "nobody/x"):
        with pytest.raises(UserError):
            verify_with_model(bench, wrong)
    assert standin.count == 0


# -- killed and gone on with -------------------------------------------------------------------------------------


def killed(root: Path, standin: Standin, after: int, *arguments: str) -> int:
    """Run a command in a process of its own and kill it when the server has seen so many requests.

    Returns:
        How many requests the server had seen when the process was dead, or -1 when the command was done before.
    """
    command = [sys.executable, "-c", "from proctor.cli.main import main; main()", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while standin.count < after and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
        process.kill()
        status = process.wait()
    before = -1
    while before != standin.count:  # what was on its way is still read by the server
        before = standin.count
        time.sleep(0.1)
    assert root.exists()
    return standin.count if status == -signal.SIGKILL else -1


def test_killed_while_it_verifies_it_goes_on(derived: Path, tmp_path: Path, standin: Standin) -> None:
    """The other stages are killed in ``tests/faults/test_sigkill.py``."""
    root = Path(shutil.copytree(derived, tmp_path / "bench"))
    generate(root, GenerateSettings(examples=EXAMPLES, seed=3))
    standin.script(answer=play, latency={"low": 0.005, "high": 0.05})
    name = model(standin, "reviewer")
    seen = killed(root, standin, 20, "verify", str(root), "--verifier", name)
    assert seen >= 20
    with CallStore.open(root / CALLS) as store:
        stored = len(store)
    told = verify_with_model(root, name)
    assert told.judged_now == told.candidates
    assert told.calls.from_store == stored
    assert standin.count == seen + told.calls.sent
