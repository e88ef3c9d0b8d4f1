"""The stages ``predict`` and ``judge`` with their settings as keywords, for one run at a time; results as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from proctor.exam.kinds.moment_marker import Rubric
from proctor.exam.view import View
from proctor.llm.estimate import Estimate
from proctor.stages import judge as judging
from proctor.stages import predict as predicting
from proctor.stages.exam_settings import JudgeSettings, PredictSettings

__all__ = ["estimate_judging", "estimate_prediction", "judge", "predict"]


def asked(view: View | None, given: dict[str, Any]) -> PredictSettings:
    shown = {} if view is None else {"show": view.spec, "captioner": view.captioner}
    return PredictSettings(**shown, **given)


def predict(
    root: Path,
    predictor: str,
    *,
    view: View | None = None,
    limits: Any = None,
    seen: Any = None,
    **given: Any,
) -> dict[str, Any]:
    (made,) = predicting.predict(root, predictor, asked(view, given), limits=limits, seen=seen)
    return {"shrunk": {}, **msgspec.to_builtins(made)}


def estimate_prediction(
    root: Path, model: str, *, view: View | None = None, limits: Any = None, **given: Any
) -> Estimate:
    return predicting.estimate_prediction(root, model, asked(view, given), limits=limits)


def marking(runs: Sequence[str], judge: str, rubric: Rubric | None, repeats: int) -> JudgeSettings:
    name = None if rubric is None else rubric.name
    return JudgeSettings(runs=tuple(runs), judge=judge, rubric=name, repeats=repeats, judge_floors=True)


def judge(
    root: Path,
    runs: Sequence[str] = (),
    *,
    judge: str = "rules",
    rubric: Rubric | None = None,
    repeats: int = 1,
    **how: Any,
) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(
        judging.judge(root, marking(runs, judge, rubric, repeats), **how)
    )
    return made


def estimate_judging(
    root: Path,
    runs: Sequence[str] = (),
    *,
    judge: str = "rules",
    rubric: Rubric | None = None,
    repeats: int = 1,
    **how: Any,
) -> Estimate | None:
    return judging.estimate_judging(root, marking(runs, judge, rubric, repeats), **how)
