"""The ablation without pixels: rows of every model, and the page of numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor import samples
from proctor.errors import UserError
from proctor.learn.evaluate import Figure
from proctor.stages.learn.settings import StudySettings
from proctor.stages.learn.study import FRACTIONS, Spread, learn_study

pytest.importorskip("torch", reason="needs torch")


def test_every_model_has_a_row_and_a_line_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "numbers.md"
    found = learn_study(
        StudySettings(annotations=samples.path(), splits=("R",), seeds=1, resamples=0, markdown=page)
    )
    assert [(r.model, r.observed) for r in found.rows] == [
        ("floor", 1.0),
        ("local", 1.0),
        ("step", 1.0),
        ("context-causal", 1.0),
        *(("context-causal", share) for share in FRACTIONS),
        ("sequence-causal", 1.0),
        ("context-offline", 1.0),
    ]
    assert all(0 < row.positives < row.n for row in found.rows)
    assert all(row.without_order.mean != row.auc.mean for row in found.rows)
    text = page.read_text(encoding="utf-8")
    left_out = found.missing["R"]
    assert 0 < left_out.positives < left_out.n
    assert f"| R | {left_out.n} ({left_out.positives}) | absent | {left_out.absent.called} | " in text
    assert f"| R | floor | 100% | {found.rows[0].n} " in text
    assert f"| {(found.rows[0].auc.mean or 0) * 100:.1f} ± 0.0 |" in text


def test_a_spread_over_seeds_has_the_first_interval() -> None:
    spread = Spread.of([Figure(0.5, 0.4, 0.6), Figure(0.7)])
    assert (spread.mean, spread.low, spread.high) == (pytest.approx(0.6), 0.4, 0.6)
    assert spread.deviation == pytest.approx(0.1414, abs=1e-4)
    assert Spread.of([Figure(0.5), Figure(None)]).mean is None


def test_annotations_that_are_not_there_are_named_once(tmp_path: Path) -> None:
    with pytest.raises(UserError) as failed:
        learn_study(StudySettings(annotations=tmp_path / "nowhere", splits=("R",), seeds=1))
    assert str(failed.value).count("nowhere") == 1
