"""Speed of the rule-based judge: median of several runs.

    python benchmarks/judge.py [--runs 5]

All data are made here. The judge meets every answer afresh, so that no cache of read answers can help.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

from proctor.exam.judge import RuleJudge
from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment_question import question_about
from proctor.exam.prediction import Prediction
from proctor.exam.question import Gold, Item, Text
from proctor.procedure.graph import Step, TaskGraph


def median_seconds(work: Callable[[int], object], runs: int) -> float:
    """Median wall time of ``work(run number)``."""
    times = []
    for run in range(runs):
        begin = time.perf_counter()
        work(run)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def judging(answers: int) -> Callable[[int], object]:
    """Mark this many different answers, three golds each, in an activity of 15 steps."""
    verbs = [
        "attach",
        "tighten",
        "pour",
        "cut",
        "measure",
        "wipe",
        "align",
        "stir",
        "label",
        "heat",
        "fold",
        "press",
    ]
    things = [
        "bracket",
        "clamp",
        "valve",
        "panel",
        "filter",
        "cup",
        "cable",
        "sheet",
        "knob",
        "hinge",
        "tray",
        "seal",
    ]
    rng = random.Random(0)

    def sentence() -> str:
        return f"{rng.choice(verbs)} the {rng.choice(things)} with {rng.randint(1, 9)} {rng.choice(things)}s"

    graph = TaskGraph("g", "g", tuple(Step(str(k), sentence()) for k in range(15)))
    example = Example(
        id="e", clip_id="c", recording_id="r", activity_id="g", activity_name="g", type="next",
        end=1.0, state="ongoing", noisy=False,
    )  # fmt: skip
    judge = RuleJudge()

    def work(run: int) -> None:
        for k in range(answers):
            golds = tuple(
                Gold(value=Text(text=f"You should {sentence()}, number {run}-{k}.")) for _ in range(3)
            )
            item = Item(question=question_about(example, "i", "What should I do next?"), golds=golds)
            judge.judge(
                item, graph, Prediction(item_id="i", predictor="p", answer=f"Now {sentence()} ({run}-{k}).")
            )

    return work


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    answers = 1_000
    rate = answers / median_seconds(judging(answers), runs)
    print(f"| rule-based judge, unseen answers, 3 golds each | {rate:,.0f}/s | |")


if __name__ == "__main__":
    main()
