"""Training of V1 and V2 at the size of CaptainCook4D's split R, against one step a batch; what planted signals are recognised.

Rows are random, of 1,024 numbers, mapped from a file; lengths of steps are drawn like the real ones (median 36, 95 % below 165,
the longest of 1,070 rows; 217,000 in all). What learns is the learner of `proctor learn mistakes`, mistakes and kinds at once. Each row of the table is measured in a process of its own, on two threads.

Run: python benchmarks/learn/training.py [--part v1] (about ten minutes on a quiet machine).
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np
import torch

from proctor.learn.batches import Places, RowTable
from proctor.learn.clips import ClipRecogniser, Clips, _ClipLearner, usual_training, way_of
from proctor.learn.networks import StepNetwork, Variant
from proctor.learn.planted import DIFFICULTIES, plant, shuffled
from proctor.learn.recogniser import Task
from proctor.learn.samples import KINDS, Division, StepData
from proctor.learn.settings import TrainOptions
from proctor.learn.trainer import fit
from proctor.metrics.classification import roc_auc

ROWS, WIDTH, STEPS = 217_000, 1_024, 3_972
VALIDATED = 48
"""The longest steps, that are validated on, outside of what is timed."""
SAMPLED = 0.12
"""Share of the batches of an epoch of V2 that is measured."""
BATCH_ONE = 60
"""Steps of one batch each that are measured."""
PARTS = ("v1", "v2", "one", "import", "planted")
VARIANTS = ("v1", "v2", "v3")


def lengths() -> np.ndarray:
    """Return the rows of each step, ROWS in all."""
    drawn = np.random.default_rng(0).lognormal(np.log(36), 0.92, STEPS)
    found = np.clip(drawn, 1, 1_070).astype(np.int64)
    found[found.argmax()] = 1_070
    left = ROWS - int(found.sum())
    usual = np.argsort(np.abs(found - 36), kind="stable")
    for first in range(0, abs(left), STEPS // 2):
        found[usual[: min(STEPS // 2, abs(left) - first)]] += np.sign(left)
    return found


def made(path: Path) -> None:
    """Write the rows: the same 7,000 again and again."""
    block = np.random.default_rng(1).normal(size=(7_000, WIDTH)).astype(np.float16)
    with path.open("wb") as file:
        for _ in range(ROWS // len(block)):
            file.write(block.tobytes())


def learner_of(path: Path, variant: Variant, size: int, epochs: int) -> _ClipLearner:
    """Return the learner of ``proctor learn mistakes``: random labels of mistakes and kinds, validated on the longest steps."""
    matrix = np.memmap(path, np.float16, "r", shape=(ROWS, WIDTH))
    matrix.view(np.uint8).reshape(-1)[::4096].sum()  # all of it is in memory, as after the first epoch
    each = lengths()
    clips = Clips(RowTable((matrix,), (np.arange(ROWS),), np.cumsum([0, *each])), 0, 0)
    targets = (np.random.default_rng(2).random((STEPS, 1 + len(KINDS))) < 0.3).astype(np.float32)
    longest = np.argsort(each)[-VALIDATED:]
    division = Division("R", np.arange(STEPS), longest, longest)
    task = Task(StepData((), {}, {}, (), "benchmark", ""), division, targets[:, 0] > 0)
    settings = msgspec.structs.replace(
        usual_training(variant, "right"), batch=size, epochs=epochs, plateau=None, patience=None, device="cpu"
    )
    module = StepNetwork([WIDTH], variant, outputs=targets.shape[1])
    weights = torch.ones(targets.shape[1])
    return _ClipLearner(
        module, clips, torch.from_numpy(targets), weights, task, way_of("right"), settings, variant == "v1"
    )


def epoch(path: Path, variant: Variant, size: int, share: float = 1.0) -> tuple[float, float, float]:
    """Train one epoch; return its wall and processor seconds, scaled to all batches, and the peak of memory in MB.

    However few batches are timed, the peak is that of all: the largest one and the one of the longest step are learned, too,
    and the longest steps are scored.
    """
    learner = learner_of(path, variant, size, 2 if variant == "v1" else 1)
    batches, validate = learner.batches, learner.validate
    every = list(batches(np.random.default_rng(0)))
    marks: list[tuple[float, float]] = []

    def sampled(generator: np.random.Generator) -> list[Places]:
        marks.append((time.perf_counter(), time.process_time()))
        return list(batches(generator))[: max(1, round(len(every) * share))]

    def validated() -> float:
        marks.append((time.perf_counter(), time.process_time()))
        return validate()

    learner.batches, learner.validate = sampled, validated  # type: ignore[method-assign]
    fit(learner, learner._settings)
    wall, cpu = (
        (after - before) / share for before, after in zip(*marks[-2:], strict=True)
    )  # of the last epoch
    if variant != "v1" and size > 1:
        learner.module.train()
        rows = learner._clips.table.lengths
        for worst in (
            max(every, key=lambda b: len(b) * rows[b].max()),
            max(every, key=lambda b: rows[b].max()),
        ):
            learner.loss(worst).backward()  # type: ignore[no-untyped-call]
    return wall, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def row(what: str, measured: str, target: str = "") -> None:
    """Print one row of the table."""
    print(f"| {what} | {measured} | {target} |", flush=True)


def planted() -> None:
    """Print what each variant recognises of planted signals."""
    torch.set_num_threads(1)
    for name in DIFFICULTIES:
        with tempfile.TemporaryDirectory() as folder:
            found = plant(Path(folder), name, recordings=300, width=16, modalities=2)
            one = plant(Path(folder) / "one", name, recordings=300, width=16)
            for variant in VARIANTS:
                given = found if variant == "v3" else one
                test, begin = given.task.division.test, time.process_time()
                options = TrainOptions(lr=5e-4, device="cpu", patience=5)
                model = ClipRecogniser(variant, given.stores, options)
                model.fit(given.task)
                trained = time.process_time() - begin
                auc = roc_auc(given.task.target[test], model.scores(test)).value
                control = shuffled(given)
                model = ClipRecogniser(variant, given.stores, msgspec.structs.replace(options, epochs=3))
                model.fit(control)
                recordings = [control.data.samples[i].recording_id for i in test]
                chance = roc_auc(control.target[test], model.scores(test), clusters=recordings)
                row(
                    f"planted, {name}: {variant} of {len(given.task.division.train):,} steps, ROC-AUC (Bayes {given.bayes:.3f}; labels shuffled)",
                    f"{auc:.3f}, {given.share(auc):.0%} of what is possible in {trained:.0f} s CPU (shuffled {chance.low:.2f} to {chance.high:.2f})",
                    "≥ 90 %, ≤ 120 s CPU; shuffled around 0.5",
                )


def imports() -> None:
    """Print whether torch is imported by what does not need it."""
    for what, code in (
        ("import proctor", "import proctor"),
        ("the options of learn", "import proctor.cli.learn"),
        ("steps and splits", "import proctor.learn.samples, proctor.learn.evaluate, proctor.learn.settings"),
    ):
        begin = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", f"{code}; import sys; print('torch' in sys.modules)"],
            capture_output=True,
            text=True,
            check=True,
        )
        seconds = time.perf_counter() - begin
        row(
            f"torch is imported by: {what}",
            f"{done.stdout.strip()} ({seconds:.2f} s, all of the process)",
            "False",
        )


def measure(part: str, path: Path) -> None:
    """Print the rows of one part."""
    if part == "v1":
        wall, cpu, memory = epoch(path, "v1", 512)
        row(
            f"V1, an epoch of {ROWS:,} rows × {WIDTH:,}, 512 a batch",
            f"{wall:.1f} s ({cpu:.1f} s CPU), peak {memory:,.0f} MB, all mapped rows counted",
            "≤ 6 s, ≤ 1,500 MB",
        )
    elif part == "v2":
        wall, cpu, memory = epoch(path, "v2", 32, SAMPLED)
        row(
            f"V2, an epoch of {STEPS:,} steps, 32 of like length a batch ({SAMPLED:.0%} measured)",
            f"{wall:.0f} s ({cpu:.0f} s CPU), peak {memory:,.0f} MB, all mapped rows and the longest steps counted",
            "≤ 180 s CPU, ≤ 1,500 MB",
        )
    elif part == "one":
        wall, cpu, _ = epoch(path, "v2", 1, BATCH_ONE / STEPS)
        row(
            f"the same, one step a batch as the released code ({BATCH_ONE} steps measured)",
            f"{wall:.0f} s ({cpu:.0f} s CPU)",
        )
    elif part == "import":
        imports()
    else:
        planted()


def main() -> None:
    """Print one row a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--rows", type=Path, help="the file of rows, where it is made already")
    given = parser.parse_args()
    if given.rows is not None:
        measure(given.part[0], given.rows)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.f16"
        made(path)
        for part in given.part or PARTS:
            subprocess.run([sys.executable, __file__, "--part", part, "--rows", str(path)], check=True)


if __name__ == "__main__":
    main()
