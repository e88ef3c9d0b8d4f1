"""The whole experiment on the shipped sample, all models played over HTTP."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.stages.experiment.conftest import PLAN, A, B, Small, do, quietly, told

from proctor.ask.moment.candidate import Candidate
from proctor.errors import UserError
from proctor.exam.prediction import Prediction
from proctor.llm.fence import FENCE_FILE
from proctor.records import read_jsonl
from proctor.stages.experiment.conduct import PLAN_FILE, choose
from proctor.stages.experiment.moment import FORMER_RUNS, set_former_runs_aside
from proctor.stages.experiment.moment import PLAN as MOMENTS
from proctor.stages.experiment.stage import Done
from proctor.stages.models import CALLS, Limits
from proctor.stages.predict import PREDICTORS
from proctor.stages.rehearsing import REHEARSAL_FILE
from proctor.stages.score import benchmark_name
from proctor.stages.settings import BuildSettings
from proctor.workspace import Workspace
from proctor_rehearsal.rehearsal import open_rehearsal
from proctor_rehearsal.standin import Standin

QUALITY = 0.8


def rehearsed(root: Path, plan: Small, **options: Any) -> tuple[Done, Standin]:
    """Do an experiment with all models played; return what came of it and the server."""
    limits = options.pop("limits", Limits())
    with open_rehearsal(root, QUALITY, seed=plan.seed, show=quietly) as models:
        done = do(root, plan, limits=msgspec.structs.replace(limits, rehearsal=models), **options)
        return done, models.server


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> tuple[Path, Small, Done, int]:
    """A finished rehearsal, not to be changed: workspace, plan, what came of it, requests that the server saw."""
    root = tmp_path_factory.mktemp("experiment") / "bench"
    done, server = rehearsed(root, PLAN, source=sample)
    return root, PLAN, done, server.count


def test_every_part_is_done_and_called(finished: tuple[Path, Small, Done, int]) -> None:
    root, plan, done, count = finished
    assert not done.stopped
    names = [part.name for part in done.parts]
    assert names[:5] == ["read", "derive", "generate", "verify", "build"]
    assert [n for n in names if n.startswith("judge/")] == [
        f"judge/{B} · ternary-step",
        f"judge/{A} · binary",
        f"judge/{A} · ternary-step",
    ]
    assert names[-1] == "report"
    assert sum(part.calls.sent for part in done.parts if part.calls) == count > 100
    kept = choose(root, MOMENTS, {})
    assert kept == choose(root, MOMENTS, plan.given())
    assert benchmark_name(Workspace(root)) == "rehearsal@0.1.0"  # in every signature; the next build is none
    assert Workspace(root).resolve(BuildSettings).name == "benchmark"
    candidates = read_jsonl(root / "candidates.jsonl", Candidate)
    assert {c.provenance.model for c in candidates} == {A, B}


def test_scores_calibration_and_both_tables_of_preference(finished: tuple[Path, Small, Done, int]) -> None:
    root, plan, done, _ = finished
    assert {system.run for system in plan.systems} < set(done.scores)
    assert done.calibration is not None
    judges = {row.judge for row in done.calibration.file.calibration.judges}
    assert len(judges) == 3
    preference = done.calibration.file.self_preference
    assert len(preference.generators) == 2
    assert preference.judge_cells
    assert done.calibration.corrected
    page = Path(done.report).read_text()
    assert "A rehearsal: no model and no person" in page
    for heading in (
        "Leaderboard",
        "What it cost",
        "Judges against people",
        "Marks of each run by each judge",
    ):
        assert heading in page
    assert (root / REHEARSAL_FILE).exists()


def test_again_nothing_is_sent_and_every_file_is_the_same(
    finished: tuple[Path, Small, Done, int], tmp_path: Path
) -> None:
    root, plan, _, _ = finished
    copy = Path(shutil.copytree(root, tmp_path / "bench"))
    before = fingerprints(copy)
    done, server = rehearsed(copy, plan)
    assert server.count == 0
    assert not done.stopped
    assert fingerprints(copy) == before


def test_a_budget_holds_for_all_stages_and_the_rest_is_done_later(
    finished: tuple[Path, Small, Done, int], sample: Path, tmp_path: Path
) -> None:
    root, plan, _, count = finished
    other = tmp_path / "bench"
    other.mkdir()
    shutil.copy(root / FENCE_FILE, other / FENCE_FILE)
    stops = []
    for most in (10, 70, 10_000):
        done, server = rehearsed(other, plan, source=sample, limits=Limits(max_calls=most))
        assert server.count <= most
        stops.append((bool(done.stopped), done.parts[-1].name, bool(done.report)))
        count -= server.count
    assert stops[0] == (True, "generate", False)
    assert [stopped for stopped, _, _ in stops] == [True, True, False]
    assert stops[-1][1:] == ("report", True)
    assert count == 0
    wanted, found = fingerprints(root), fingerprints(other)
    assert {n: h for n, h in found.items() if n.startswith(("items", "runs/"))} == {
        n: h for n, h in wanted.items() if n.startswith(("items", "runs/"))
    }


def test_what_it_would_take_is_told_and_leaves_no_trace(sample: Path, plan: Small, tmp_path: Path) -> None:
    root = tmp_path / "bench"
    estimate = told(root, plan, source=sample)
    assert not root.exists()
    stages = {line.stage.partition("/")[0] for line in estimate.lines}
    assert stages == {"generate", "predict", "judge"}
    assert estimate.new == estimate.calls > 100
    assert estimate.cost > 0
    assert not estimate.unpriced
    by_rules = told(root, msgspec.structs.replace(plan, generators=("rules",)), source=sample)
    assert by_rules.new < estimate.new


def test_the_estimate_is_near_what_it_takes(finished: tuple[Path, Small, Done, int], sample: Path) -> None:
    root, plan, _, count = finished
    before = told(root.parent / "elsewhere", plan, source=sample)
    assert 0.6 * count < before.new < 2 * count
    after = told(root, plan)
    assert after.new == 0
    assert after.cost == 0


def test_a_changed_plan_is_foreseen_and_done(finished: tuple[Path, Small, Done, int], tmp_path: Path) -> None:
    root, plan, _, _ = finished
    other = tmp_path / "bench"
    shutil.copytree(root, other)
    (other / "videos").mkdir()
    os.mkfifo(other / "videos" / "pipe")  # nobody can copy this, and nobody should: videos are large
    changed = msgspec.structs.replace(plan, examples=plan.examples + 6, predictors=(A,))
    before = told(other, changed)
    assert not (other / FORMER_RUNS).exists()
    done, server = rehearsed(other, changed)
    assert done.report
    assert 0 < server.count < 2 * before.new
    kept = {system.run for system in changed.systems}
    former = {system.run for system in plan.systems} - kept
    assert former
    assert {path.name for path in (other / FORMER_RUNS).iterdir()} == former
    assert {"set aside": sorted(former)} == {
        p.name: p.counts["runs"] for p in done.parts if p.name == "set aside"
    }
    assert done.scores.keys() == {*PREDICTORS, *kept}
    assert told(other, changed).new == 0
    again, server = rehearsed(other, changed)
    assert server.count == 0
    assert "set aside" not in [part.name for part in again.parts]


def test_people_are_not_forgotten_when_their_file_is_not_named_again(
    finished: tuple[Path, Small, Done, int], tmp_path: Path
) -> None:
    root, plan, first, _ = finished
    other = tmp_path / "bench"
    shutil.copytree(root, other)
    done = do(other, plan)  # all calls are stored
    assert done.calibration is not None
    assert first.calibration is not None
    assert done.calibration.hash == first.calibration.hash
    assert done.sheet == ""


def test_a_file_of_marks_that_is_not_there_is_told_first(sample: Path, plan: Small, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        rehearsed(tmp_path / "bench", plan, source=sample, human=[tmp_path / "marks.csv"])
    assert not (tmp_path / "bench" / "recordings.jsonl").exists()


def test_former_runs_never_replace_each_other(
    finished: tuple[Path, Small, Done, int], tmp_path: Path
) -> None:
    root, plan, _, _ = finished
    other = tmp_path / "bench"
    shutil.copytree(root, other)
    run = next(iter(plan.systems)).run
    (other / FORMER_RUNS / run).mkdir(parents=True)
    (other / "runs" / run / "run.json").unlink()  # killed before it said what it answered
    less = msgspec.structs.replace(plan, predictors=(B,))
    assert set_former_runs_aside(Workspace(other), [s.run for s in less.systems]) == [run]
    assert (other / FORMER_RUNS / f"{run}-2" / "predictions.jsonl").exists()
    assert not any((other / FORMER_RUNS / run).iterdir())


def test_what_was_read_is_not_called_something_else(
    finished: tuple[Path, Small, Done, int], tmp_path: Path
) -> None:
    root, plan, _, _ = finished
    other = tmp_path / "bench"
    shutil.copytree(root, other)
    kept = (other / PLAN_FILE).read_bytes()
    published = msgspec.structs.replace(plan, protocol="published")
    with pytest.raises(UserError, match="read by the protocol 'corrected'"):
        rehearsed(other, published)
    with pytest.raises(UserError, match="read by the protocol 'corrected'"):
        told(other, published)
    assert (other / PLAN_FILE).read_bytes() == kept


def test_a_missing_key_is_named_before_anything_is_done(sample: Path, plan: Small, tmp_path: Path) -> None:
    root = tmp_path / "bench"
    root.mkdir()
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        do(root, plan, source=sample)
    assert not any(root.iterdir())


def test_lacking_videos_are_told_before_anything_is_asked(
    sample: Path, plan: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-none")
    seeing = msgspec.structs.replace(plan, views=("recipe", "frames:2@48p"))
    (tmp_path / "bench").mkdir()
    with pytest.raises(UserError, match="recordings has a video") as error:
        do(tmp_path / "bench", seeing, source=sample)
    assert "--videos" in error.value.render()
    assert told(tmp_path / "other", seeing, source=sample).left_out, "a dry run says what it left out"
    assert not (tmp_path / "bench" / CALLS).exists()


def test_a_workspace_without_recordings_needs_a_source(plan: Small, tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    with pytest.raises(UserError, match="no recordings yet") as error:
        rehearsed(tmp_path / "bench", plan)
    assert "--data" in error.value.render()


def test_real_and_rehearsed_never_mix(
    finished: tuple[Path, Small, Done, int], plan: Small, tmp_path: Path
) -> None:
    root, _, _, _ = finished
    real = tmp_path / "real"
    real.mkdir()
    shutil.copy(root / CALLS, real / CALLS)
    with pytest.raises(UserError, match="mix"), open_rehearsal(real, QUALITY, show=quietly):
        pass
    copy = Path(shutil.copytree(root, tmp_path / "bench"))
    with (
        pytest.raises(UserError, match="begun with quality"),
        open_rehearsal(copy, 0.3, seed=2, show=quietly),
    ):
        pass


def test_a_rehearsal_sends_no_key_away_and_gives_it_back(
    finished: tuple[Path, Small, Done, int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    with open_rehearsal(tmp_path / "bench", QUALITY, show=quietly) as models:
        assert os.environ["OPENAI_API_KEY"] != "sk-mine"
        for name in (A, B, "google/x", "compat/qwen@http://example.com/v1", "anyllm/mistral/large"):
            assert models.resolve(name).endpoint.startswith(models.url)
    assert os.environ["OPENAI_API_KEY"] == "sk-mine"
    assert "ANTHROPIC_API_KEY" not in os.environ


def test_frames_and_captions_of_drawn_videos(sample: Path, plan: Small, tmp_path: Path) -> None:
    root = tmp_path / "bench"
    seeing = msgspec.structs.replace(
        plan,
        examples=6,
        generators=("rules",),
        predictors=(A,),
        judges=(),
        views=("captions:2@48p", "frames:3@48p"),
        captioner="openai/gpt-4o-mini",
    )
    done, server = rehearsed(root, seeing, source=sample)
    assert not done.stopped
    assert any(r.media.get("image") == 3 for r in server.requests)
    for system in seeing.systems:
        answers = read_jsonl(root / "runs" / system.run / "predictions.jsonl", Prediction)
        shown = [a for a in answers if a.failure is None]
        assert len(shown) >= len(answers) / 2
        assert all(len(a.frame_times) == len(a.frame_indices) > 0 for a in shown)
    assert "data:image/webp" in Path(done.report).read_text()
    assert told(root, seeing).new == 0  # told with the videos that were drawn


def fingerprints(root: Path) -> dict[str, str]:
    """Return hashes of what the stages wrote; databases and files that hold paths or times are left out."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_file() and not re.match(
            r"media/|.*\.sqlite|release/|stages\.json|proctor\.toml|report\.html", name
        ):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    assert PLAN_FILE in found
    return found


def test_a_stop_among_the_marks_makes_no_leaderboard(
    finished: tuple[Path, Small, Done, int], tmp_path: Path
) -> None:
    root, plan, _, _ = finished
    other = Path(shutil.copytree(root, tmp_path / "bench"))
    more = msgspec.structs.replace(plan, judges=(A,), rubrics=("ternary-recipe",))
    stopped, server = rehearsed(other, more, limits=Limits(max_calls=8))
    assert 0 < server.count <= 8
    assert stopped.parts[-1].name == f"judge/{A} · ternary-recipe"
    assert stopped.stopped
    assert (stopped.scores, stopped.report) == ({}, "")
    again, _ = rehearsed(other, more)
    assert again.report


def test_marks_of_questions_that_are_gone_are_told_before_anything_is_asked(
    finished: tuple[Path, Small, Done, int], tmp_path: Path
) -> None:
    root, plan, _, _ = finished
    copy = Path(shutil.copytree(root, tmp_path / "bench"))
    marks = tmp_path / "marks.csv"
    text = (copy / "rehearsal-marks.csv").read_text().splitlines()
    marks.write_text("\n".join([text[0], *text[1:40], "gone__x," + text[1].partition(",")[2]]) + "\n")
    with pytest.raises(UserError, match="there is no item 'gone__x'"):
        rehearsed(copy, msgspec.structs.replace(plan, judges=(B, A)), human=[marks])
    with pytest.raises(UserError, match="no such file"):
        rehearsed(copy, plan, human=[tmp_path / "absent.csv"])
