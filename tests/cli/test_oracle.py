"""``proctor oracle evaluate``: its figures on real data where they exist, and every broken input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proctor.cli.oracle import app, evaluate_file
from proctor.errors import UserError


@pytest.mark.shared
def test_the_published_development_examples(shared_data: Path) -> None:
    """The figures of docs/oracle.md: 235 answers, and the aims of the issue on recipes left out."""
    result = evaluate_file(
        shared_data / "captaincook4d", shared_data / "promqa/examples_dev.json", resamples=200, quiet=True
    )
    found = result.figures
    assert (found.n, found.questions, found.groups, found.right) == (235, 195, 12, 173)
    assert result.unsettled == []
    assert found.human.between_annotators.value == pytest.approx(0.869, abs=0.01)
    assert result.seen == list(result.weights.groups)
    for figures in (found, *result.crossed.values()):
        assert figures.agreement_all.value >= 0.85
        assert figures.agreement_all.value > figures.always_right_agreement + 0.1
    half = next(r for r in result.crossed["calibration"].accept_by_coverage if r.wanted_coverage == 0.5)
    assert half.coverage >= 0.5
    assert half.precision.value >= 0.95


@pytest.mark.shared
def test_the_command_prints_json_and_tables(shared_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "evaluate",
        "--annotations",
        str(shared_data / "captaincook4d"),
        "--examples",
        str(shared_data / "promqa/examples_dev.json"),
        "--resamples",
        "100",
    ]
    app([*options, "--json"], standalone_mode=False)
    result = json.loads(capsys.readouterr().out)
    assert {
        "n",
        "decided",
        "coverage",
        "agreement_decided",
        "agreement_all",
        "accept_by_threshold",
        "by_type",
    } <= set(result)
    app(options, standalone_mode=False)
    text = capsys.readouterr().out
    assert "agreement over all" in text
    assert "not a test" in text


@pytest.mark.shared
@pytest.mark.parametrize(
    "content", ["", "[", "{}", "[]", '[{"question_id": "x"}]', "not json", "[1, 2]", "null"]
)
def test_broken_examples(shared_data: Path, tmp_path: Path, content: str) -> None:
    path = tmp_path / "examples.json"
    path.write_text(content)
    with pytest.raises(UserError) as caught:
        evaluate_file(shared_data / "captaincook4d", path, quiet=True)
    assert "examples.json" in str(caught.value)


@pytest.mark.shared
def test_a_truncated_file(shared_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    whole = (shared_data / "promqa/examples_dev.json").read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r"cut\.json"):
        evaluate_file(shared_data / "captaincook4d", path, quiet=True)


@pytest.mark.shared
def test_an_unknown_recipe(shared_data: Path, tmp_path: Path) -> None:
    raw = json.loads((shared_data / "promqa/examples_dev.json").read_text())[:1]
    raw[0]["activity_name"] = "Moon Cheese"
    path = tmp_path / "moon.json"
    path.write_text(json.dumps(raw))
    with pytest.raises(UserError, match="Moon Cheese"):
        evaluate_file(shared_data / "captaincook4d", path, quiet=True)


@pytest.mark.shared
def test_a_step_that_the_graph_lacks(shared_data: Path, tmp_path: Path) -> None:
    raw = json.loads((shared_data / "promqa/examples_dev.json").read_text())[:1]
    raw[0]["current_step"]["step_id"] = 999
    path = tmp_path / "step.json"
    path.write_text(json.dumps(raw))
    with pytest.raises(UserError, match="999"):
        evaluate_file(shared_data / "captaincook4d", path, quiet=True)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        evaluate_file(tmp_path, tmp_path / "none.json", quiet=True)
    (tmp_path / "none.json").write_text("[]")
    with pytest.raises(UserError):
        evaluate_file(tmp_path, tmp_path / "none.json", quiet=True)
