"""Cells of a grid: shared stages are done once, nothing is paid twice, and cells are compared pair by pair."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.stages.experiment.conftest import PLAN, A, B, Small, do, quietly, told

from proctor.records import read_json
from proctor.stages.experiment.cells import CELLS
from proctor.stages.experiment.compare import COMPARISON_FILE, TABLE_FILE, Grid
from proctor.stages.experiment.stage import Done
from proctor.stages.limits import Limits
from proctor_rehearsal.rehearsal import open_rehearsal
from proctor_rehearsal.standin import Standin

TEMPLATES = ("generate.generator=" + f"{A},{B}", "generate.template=dot-steps,excerpt-steps")
"""ProMQA's Tables 6 and 7: templates and generators, whose questions are approved without anybody knowing whose they are."""
SMALL = msgspec.structs.replace(
    PLAN, examples=8, verifiers=(B,), predictors=(A,), views=("question",), judges=(), rubrics=("binary",)
)


def rehearsed(root: Path, plan: Small, **options: Any) -> tuple[Done, Standin]:
    limits = options.pop("limits", Limits())
    with open_rehearsal(root, 0.8, seed=plan.seed, show=quietly) as models:
        done = do(root, plan, limits=msgspec.structs.replace(limits, rehearsal=models), **options)
        return done, models.server


def sent(done: Done) -> int:
    return sum(part.calls.sent for part in done.parts if part.calls)


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> tuple[Path, Done]:
    root = tmp_path_factory.mktemp("grid") / "bench"
    done, _ = rehearsed(root, SMALL, source=sample, vary=TEMPLATES)
    return root, done


def test_templates_and_generators_are_compared_by_who_approves(grid: tuple[Path, Done]) -> None:
    root, done = grid
    assert not done.stopped
    assert done.grid is not None
    assert read_json(root / COMPARISON_FILE, Grid) == done.grid
    assert len(done.grid.costs) == 4
    assert all(cost is not None and cost > 0 for cost in done.grid.costs.values())
    approved = [row for row in done.grid.rows if row.measure == f"approved by {B}"]
    assert [row.cell for row in approved] == [
        f"generator={g} template={t}" for g in (A, B) for t in ("dot-steps", "excerpt-steps")
    ]
    assert all(0 < (row.value or 0) <= 100 and 4 <= row.n <= 8 for row in approved)
    assert sum(pair.measure == f"approved by {B}" for pair in done.grid.pairs) == 6
    with (root / TABLE_FILE).open(newline="") as stream:
        table = list(csv.DictReader(stream))
    assert len(table) == len(done.grid.rows) + len(done.grid.pairs)
    names = [part.name for part in done.parts]
    assert names.count("read") == names.count("derive") == 1
    assert sum(name.endswith(": generate") for name in names) == 4
    for row in done.grid.rows:
        if row.system:
            cell = next(iter((root / CELLS).glob("*" + row.cell.split("template=")[1])))
            assert (cell / "runs" / row.system / "scores.json").exists()


def test_a_score_is_what_its_cell_says(grid: tuple[Path, Done]) -> None:
    root, done = grid
    assert done.grid is not None
    scores = {(r.system, r.cell): r for r in done.grid.rows if r.measure == "score"}
    folder = root / CELLS / f"generator.{A.replace('/', '-')}_template.dot-steps"
    row = json.loads((folder / "runs" / "constant" / "scores.json").read_text())["rows"][0]
    found = scores["constant", f"generator={A} template=dot-steps"]
    assert found.value == pytest.approx(row["value"])
    assert (found.low, found.high) == pytest.approx((row["low"], row["high"]), abs=5)  # drawn by other seeds


def test_again_nothing_is_sent_and_the_comparison_is_the_same(
    grid: tuple[Path, Done], tmp_path: Path
) -> None:
    root, done = grid
    copy = Path(shutil.copytree(root, tmp_path / "bench", symlinks=True))
    again, server = rehearsed(copy, SMALL, vary=TEMPLATES)
    assert (server.count, sent(again)) == (0, 0)
    assert (copy / COMPARISON_FILE).read_bytes() == (root / COMPARISON_FILE).read_bytes()
    assert told(copy, SMALL, vary=TEMPLATES).new == 0
    assert done.report == str(root / TABLE_FILE)


def test_a_limit_holds_for_all_cells_and_the_rest_is_done_later(
    grid: tuple[Path, Done], sample: Path, tmp_path: Path
) -> None:
    root, done = grid
    other = tmp_path / "bench"
    other.mkdir()
    shutil.copy(root / "prompt-secret", other / "prompt-secret")
    first, _ = rehearsed(other, SMALL, source=sample, vary=TEMPLATES, limits=Limits(max_calls=30))
    assert first.stopped
    assert first.grid is None
    assert sent(first) <= 30
    second, _ = rehearsed(other, SMALL, vary=TEMPLATES)
    assert sent(first) + sent(second) == sent(done)
    assert (other / COMPARISON_FILE).read_bytes() == (root / COMPARISON_FILE).read_bytes()


def test_cells_that_differ_late_share_questions_and_answers(sample: Path, tmp_path: Path) -> None:
    plan = msgspec.structs.replace(SMALL, generators=("rules",), verifiers=(), judges=(A,))
    root = tmp_path / "bench"
    done, _ = rehearsed(root, plan, source=sample, vary=[f"judge.judge={A},{B}"])
    names = [part.name for part in done.parts]
    assert names.count("generate") == 1
    assert sum(name.startswith("predict/openai") for name in names) == 1
    assert done.grid is not None
    scores = [pair for pair in done.grid.pairs if pair.measure == "score"]
    assert len(scores) == 5
    assert all(pair.comparison.n > 4 for pair in scores)
    (agreed,) = done.grid.agreement
    assert len(agreed.systems) == 5
    for folder in (root / CELLS).iterdir():
        page = (folder / "report.html").read_text()
        assert "A rehearsal: no model and no person" in page
    assert not (root / "runs" / "constant" / "judgements.jsonl").exists()
