"""Runs made by hand: mistakes that cluster in recordings, and models that know recordings, steps, both or nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from proctor.learn.recogniser import Reason
from proctor.learn.runs import FeatureSource, PredictedStep, RunRecord, write_run

HOSTILE = "</script><script>alert('x')</script>\"'&\u202e<img src=x onerror=alert(1)>"
KINDS = ("measurement", "technique", "timing")


def planted_steps(
    recordings: int, seed: int, knows: tuple[float, float], *, text: str = "Stir the batter", each: int = 12
) -> list[PredictedStep]:
    """Return steps of recordings, half of which have mistakes.

    Args:
        recordings: how many.
        seed: of the mistakes: equal seeds give equal steps and labels.
        knows: how much the scores say of the recording, and of the step within it.
        text: of every step, with its number.
        each: steps of a recording.
    """
    rng = np.random.default_rng(seed)
    noise = np.random.default_rng(seed + 1)
    rows = []
    for r in range(recordings):
        bad = r % 2 == 1
        for k in range(each):
            wrong = bool(bad and rng.random() < 0.6)
            kind = KINDS[int(rng.integers(3))]
            logit = knows[0] * (1 if bad else -1) + knows[1] * (1 if wrong else -1) + noise.normal() - 0.3
            rows.append(
                PredictedStep(
                    recording=f"{1 + r % 4}_{r}",
                    step=str(k),
                    label=wrong,
                    score=float(1 / (1 + np.exp(-logit))),
                    kinds=(kind,) if wrong else (),
                    reasons=(
                        Reason("unmet predecessors so far", float(r % 3), knows[0] * (1 if bad else -1)),
                        Reason("minutes against normal", round(float(noise.normal()), 2), knows[1] * (1 if wrong else -1)),
                    ),
                    activity=f"Recipe {1 + r % 4}",
                    text=f"{text} {k}",
                    times=((60.0 * k, 60.0 * k + 41.5),),
                )
            )  # fmt: skip
    return rows


MODELS = {
    "floor": (0.1, 0.2),
    "step": (0.6, 0.4),
    "context-causal": (1.8, 0.3),
    "context-offline": (2.6, 0.5),
}


def planted_run(
    folder: Path,
    model: str = "floor",
    *,
    recordings: int = 16,
    text: str = "Stir the batter",
    **fields: object,
) -> Path:
    """Write a run of a model and return its folder."""
    knows = MODELS.get(model, (0.5, 0.5))
    record = RunRecord(
        **{
            "model": model, "split": "R", "data": "captaincook4d", "data_hash": "0123456789abcdef",
            "features": () if model in MODELS else (FeatureSource("video", "omnivore", "ab" * 8, 1024),),
            **fields,
        }
    )  # fmt: skip
    test = planted_steps(recordings, 1, knows, text=text)
    write_run(folder, record, test, planted_steps(max(2, recordings // 2), 2, knows))
    return folder
