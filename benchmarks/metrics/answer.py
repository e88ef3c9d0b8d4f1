"""Speed of answers and texts: ROUGE against the rouge-score package, letters, similarity against all pairs, the command.

    python benchmarks/metrics/answer.py [--runs 3]

All data are made here. The package is run on a part of the pairs and extrapolated; both must give the same values on
that part, else nothing is printed. There are no targets for this family in the task: the yardstick is the package, and
the definition (a mean over all pairs of vectors).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rouge_score.rouge_scorer import RougeScorer

from proctor.metrics.answer import rouge_1_overlap, rouge_l_overlap
from proctor.metrics.choice.reading import parse_letter
from proctor.metrics.embedding import mean_pairwise_cosine, near_duplicates, nearest_cosines
from proctor.stages.scoring.answer import score_answer
from proctor.stages.scoring.options import AnswerSettings

PAIRS, PACKAGE_PAIRS = 20_000, 2_000
RESPONSES = 50_000
TEXTS, DIMENSIONS = 10_000, 384
QUESTIONS = 5_000


def median_seconds(work: Callable[[], object], runs: int) -> float:
    """Median wall time."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def sentences(n: int, seed: int) -> list[str]:
    """Sentences of 5 to 18 of 800 words."""
    rng = random.Random(seed)
    return [" ".join(f"w{int(rng.random() ** 2 * 800)}" for _ in range(rng.randint(5, 18))) for _ in range(n)]


def row(what: str, seconds: float, target: str) -> None:
    print(f"| {what} | {seconds:.3f} s | {target} |")


def rouge(runs: int) -> None:
    references, predictions = sentences(PAIRS, 0), sentences(PAIRS, 1)
    for name, function in (("rouge1", rouge_1_overlap), ("rougeL", rouge_l_overlap)):
        package = RougeScorer([name], use_stemmer=False)
        few = range(PACKAGE_PAIRS)
        begin = time.perf_counter()
        theirs = [package.score(references[i], predictions[i])[name].fmeasure for i in few]
        slow = (time.perf_counter() - begin) * PAIRS / PACKAGE_PAIRS
        ours = [function(references[i], predictions[i]).f1 for i in few]
        assert np.allclose(ours, theirs, rtol=0, atol=1e-12)
        seconds = median_seconds(
            lambda function=function: [function(r, p) for r, p in zip(references, predictions, strict=True)],
            runs,
        )
        row(f"{name}, {PAIRS:,} pairs", seconds, f"package: {slow:.3f} s ({slow / seconds:.1f}×)")


def letters(runs: int) -> None:
    rng = random.Random(0)
    forms = (
        "{}",
        "The answer is {}.",
        "({}) pour",
        "**{}.** Pour the milk",
        "Looking at the frames, I choose {}",
        "hm, no",
    )
    options = ["Add the salt", "Pour the milk", "Stir the eggs", "A bowl of water", "Turn off the heat"]
    responses = [rng.choice(forms).format(rng.choice("ABCDE")) for _ in range(RESPONSES)]
    seconds = median_seconds(lambda: [parse_letter(r, options) for r in responses], runs)
    row(f"letters of {RESPONSES:,} responses", seconds, "–")


def similarity(runs: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(TEXTS, DIMENSIONS)) + 0.3
    begin = time.perf_counter()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = ((unit @ unit.T).sum() - TEXTS) / (TEXTS * (TEXTS - 1))
    slow = time.perf_counter() - begin
    assert abs(float(mean_pairwise_cosine(vectors)) - expected) < 1e-9
    seconds = median_seconds(lambda: float(mean_pairwise_cosine(vectors)), runs)
    what = f"{TEXTS:,} × {DIMENSIONS}"
    row(f"self-similarity, {what}", seconds, f"all pairs: {slow:.3f} s ({slow / seconds:.0f}×)")
    row(f"nearest other text, {what}", median_seconds(lambda: nearest_cosines(vectors), runs), "–")
    row(f"near-duplicates, {what}", median_seconds(lambda: near_duplicates(vectors), runs), "–")


def command(runs: int) -> None:
    references, predictions = sentences(QUESTIONS, 0), sentences(QUESTIONS, 1)
    with tempfile.TemporaryDirectory() as folder:
        gt, pred = Path(folder) / "gt.jsonl", Path(folder) / "pred.jsonl"
        gt.write_text(
            "".join(
                json.dumps({"id": i, "answer": r, "recording": f"r{i % 400}", "type": f"t{i % 8}"}) + "\n"
                for i, r in enumerate(references)
            )
        )
        pred.write_text(
            "".join(json.dumps({"id": i, "response": p}) + "\n" for i, p in enumerate(predictions))
        )
        seconds = median_seconds(
            lambda: score_answer(AnswerSettings(gt=gt, pred=pred, slices=("type",))), runs
        )
    row(f"score answer: {QUESTIONS:,} questions × 3 metrics × 9 slices, 10,000 resamples", seconds, "–")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    print("| what | measured | compared with |\n|---|---|---|")
    rouge(runs)
    letters(runs)
    similarity(runs)
    command(runs)


if __name__ == "__main__":
    main()
