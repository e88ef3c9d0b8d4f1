"""What ActionFormer finds of planted steps: against the ceiling, with shuffled classes, and the planted gap of mistaken steps.

288 recordings of four activities with eight steps each (340 rows, 32 classes), 32 numbers a row (`tests/learn/localize/planted.py`); 64
channels, 6 levels, 30 epochs of batches of 8. A tenth of the right steps shows nothing, and four tenths of the mistaken ones: the ceiling is what shows; a network that guesses at long pauses may be a little above it. `--seed` plants
other recordings, and `--part robust` trains on recordings without mistakes, on all, and on as many of all.

Run: python benchmarks/learn/localization_planted.py (minutes of one core).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import torch
from tests.learn.localize.planted import PlantedSteps, plant_steps, shuffled_steps

from proctor.learn.localize.actionformer import ActionFormer
from proctor.learn.localize.figures import localized
from proctor.learn.localize.localizer import LocalizeTask
from proctor.learn.localize.robust import TRAININGS, robust_tasks, robust_training
from proctor.learn.settings import TrainOptions
from proctor.metrics.localization import Segments

PARTS = ("ceiling", "shuffled", "robust")
OPTIONS = TrainOptions(epochs=30, lr=2e-3, batch=8, device="cpu")
RECORDINGS = 288
STEPS = 8
"""Of an activity; with five, intervals of the gap within recordings are too narrow (docs/localize.md)."""
RESAMPLES = 2_000


def trained(planted: PlantedSteps, task: LocalizeTask) -> tuple[Segments, float]:
    """Return what a small network finds in the test recordings, and the CPU seconds of training and finding."""
    began = time.process_time()
    network = ActionFormer([planted.store], OPTIONS, hidden=64, levels=6)
    network.fit(task)
    return network.predict(task.test), time.process_time() - began


def against_ceiling(planted: PlantedSteps, name: str, ceiling: float) -> Segments:
    """Print mAP at 0.5 beside the ceiling and beside chance."""
    found, seconds = trained(planted, planted.task)
    figures = localized(planted.task.data.truth(planted.task.test), found, resamples=RESAMPLES)
    at = figures.row("mAP")[-1]
    print(
        f"{name}: mAP@0.5 {at.value:.1%} ({at.low:.1%} to {at.high:.1%}), of the ceiling {at.value / ceiling:.1%}; "
        f"chance {planted.chance():.1%}; {seconds:.0f} CPU-s",
        flush=True,
    )
    return found


def against_gap(planted: PlantedSteps, found: Segments) -> None:
    """Print the robust protocol of three trainings, and of the best localizer, beside what was planted."""
    tasks = robust_tasks(planted.task)
    print(f"planted: a mistaken step shows nothing {planted.lost:.0%} more often", flush=True)
    for name in ("best", *TRAININGS):
        given = (
            planted.best if name == "best" else found if name == "all" else trained(planted, tasks[name])[0]
        )
        one = robust_training(tasks, "all" if name == "best" else name, given, resamples=RESAMPLES, seed=0)
        within, gap = one.within[0].difference[-1], one.gap.rows[0].at[-1]
        print(
            f"{name} ({one.trained_on} recordings): R@1x@0.5 of right less mistaken steps {within.value:.1%} "
            f"({within.low:.1%} to {within.high:.1%}); mAP@0.5 {one.normal.value('mAP', 0.5):.1%} without mistakes, "
            f"{one.mistaken.value('mAP', 0.5):.1%} with, gap {gap.value:.1%} ({gap.low:.1%} to {gap.high:.1%})",
            flush=True,
        )


def main() -> None:
    """Plant, train and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    given = parser.parse_args()
    parts = given.part or list(PARTS)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        planted = plant_steps(Path(folder), recordings=RECORDINGS, steps=given.steps, seed=given.seed)
        ceiling = planted.ceiling()
        print(
            f"ceiling: mAP@0.5 {ceiling:.1%}; hidden {planted.hidden.mean():.1%} of the test steps",
            flush=True,
        )
        if "ceiling" in parts or "robust" in parts:
            found = against_ceiling(planted, "planted", ceiling)
        if "shuffled" in parts:
            against_ceiling(shuffled_steps(planted), "shuffled", ceiling)
        if "robust" in parts:
            against_gap(planted, found)


if __name__ == "__main__":
    main()
