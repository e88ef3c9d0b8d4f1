"""A release travels: what was built here is answered there, with the same items and the same scores."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.moments import without_seen
from tests.taking import judge, predict

from proctor.errors import UserError
from proctor.exam.question import Item
from proctor.records import read_jsonl
from proctor.samples import path as sample
from proctor.stages.build import build
from proctor.stages.derive import derive
from proctor.stages.exam_settings import ScoreSettings
from proctor.stages.exchange import import_release
from proctor.stages.generate import generate
from proctor.stages.read import read
from proctor.stages.report import report
from proctor.stages.score import score
from proctor.stages.settings import BuildSettings, GenerateSettings
from proctor.stages.verify import verify
from proctor.workspace import Workspace


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("built")
    read("plain", sample(), root)
    derive(root)
    generate(root, GenerateSettings(examples=40, seed=3))
    verify(root)
    build(root, BuildSettings(name="tiny", version="1.2.3"))
    return root


def scores(root: Path) -> float | None:
    predict(root, "recipe-text", seed=1)
    judge(root)
    return score(root, ScoreSettings(resamples=200)).tables["recipe-text"].row("all").value


def test_items_and_scores_are_the_same_elsewhere(built: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    counts = import_release(built / "release", there)
    assert read_jsonl(there / "items.jsonl", Item) == [*without_seen(read_jsonl(built / "items.jsonl", Item))]
    assert counts.items == len(read_jsonl(built / "items.jsonl", Item))
    assert scores(there) == scores(built)


def test_the_report_works_from_a_release_alone(built: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    import_release(built / "release", there)
    page = Path(report(there).report).read_text(encoding="utf-8")
    assert "tiny" in page
    assert "1.2.3" in page


def test_a_tampered_release_is_refused(built: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(built / "release", copy)
    rows = copy / "data/test.jsonl"
    rows.write_bytes(rows.read_bytes().replace(b"Yes", b"No!", 1))
    with pytest.raises(UserError, match="not the one that was released"):
        import_release(copy, tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_the_same_release_comes_again_and_another_is_refused(built: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    import_release(built / "release", there)
    before = (there / "items.jsonl").read_bytes()
    (there / "graphs.json").unlink()  # as when the first import was stopped half-way
    import_release(built / "release", there)
    assert (there / "graphs.json").is_file()
    with pytest.raises(UserError, match="items already"):
        import_release("everyday", there)
    assert (there / "items.jsonl").read_bytes() == before


def test_page_and_scores_show_the_same_interval(built: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    import_release(built / "release", there)
    predict(there, "recipe-text", seed=1)
    judge(there)
    row = score(there, ScoreSettings(confidence=0.5, resamples=300, seed=4)).tables["recipe-text"].row("all")
    usual = (
        score(tmp_path / "there", ScoreSettings(confidence=0.95, resamples=300, seed=4))
        .tables["recipe-text"]
        .row("all")
    )
    assert (row.low, row.high) != (usual.low, usual.high)
    score(there, Workspace(there).resolve(ScoreSettings, confidence=0.5))
    page = Path(report(there).report).read_text(encoding="utf-8")
    assert f"{row.low:.1f} to {row.high:.1f}" in page
    assert f"{usual.low:.1f} to {usual.high:.1f}" not in page
