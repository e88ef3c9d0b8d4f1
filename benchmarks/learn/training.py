"""Training of V1 and V2 at the size of CaptainCook4D's split R, against one step a batch; what planted signals are recognised.

Rows are random, of 1,024 numbers, mapped from a file; lengths of steps are drawn like the real ones (median 38, 95 % below 170,
at most 1,070 rows; 217,000 in all). Each row of the table is measured in a process of its own, on two threads.

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

import numpy as np

ROWS, WIDTH, STEPS = 217_000, 1_024, 3_972
SAMPLED = 0.12
"""Share of the batches of an epoch of V2 that is measured."""
BATCH_ONE = 60
"""Steps of one batch each that are measured."""
PARTS = ("v1", "v2", "one", "import", "planted")
VARIANTS = ("v1", "v2", "v3")


def lengths() -> np.ndarray:
    """Return the rows of each step, ROWS in all."""
    drawn = np.minimum(np.random.default_rng(0).lognormal(np.log(38), 0.91, STEPS), 1_070)
    found = np.maximum(1, drawn * ROWS / drawn.sum()).astype(np.int64)
    found[: ROWS - found.sum()] += 1
    return np.asarray(found)


def made(path: Path) -> None:
    """Write the rows: the same 7,000 again and again."""
    block = np.random.default_rng(1).normal(size=(7_000, WIDTH)).astype(np.float16)
    with path.open("wb") as file:
        for _ in range(ROWS // len(block)):
            file.write(block.tobytes())


class Steps:
    """A learner of random labels; ``share`` of its batches make an epoch."""

    def __init__(self, path: Path, variant: str, size: int, share: float = 1.0) -> None:
        import torch

        from proctor.learn.batches import RowTable
        from proctor.learn.networks import StepNetwork

        matrix = np.memmap(path, np.float16, "r", shape=(ROWS, WIDTH))
        each = lengths()
        self.table = RowTable((matrix,), (np.arange(ROWS),), np.cumsum([0, *each]))
        self.module = StepNetwork([WIDTH], variant)
        self.labels = torch.from_numpy(np.random.default_rng(2).random(STEPS) < 0.3).float()
        self.flat, self.size, self.share = variant == "v1", size, share

    def batches(self, generator: np.random.Generator) -> list:
        from proctor.learn.batches import bucketed, flat

        items = np.arange(STEPS)
        if self.flat:
            return flat(self.table, items, self.size, generator)
        found = bucketed(self.table.lengths, items, self.size, generator, 8_192)
        self.all = len(found)
        return found[: max(1, round(len(found) * self.share))]

    def loss(self, items):
        from torch.nn.functional import binary_cross_entropy_with_logits

        if self.flat:
            logits = self.module(self.table.gather(items)[None])[0, :, 0]
            step = np.searchsorted(self.table.offsets, items, "right") - 1
            return binary_cross_entropy_with_logits(logits, self.labels[step])
        batch = self.table.batch(items)
        logits = self.module(batch.x, batch.mask)[..., 0]
        wanted = self.labels[items][:, None].expand_as(logits)
        weight = batch.mask / batch.mask.sum(1, keepdim=True)
        return binary_cross_entropy_with_logits(logits, wanted, weight, reduction="sum") / len(items)

    def validate(self) -> float:
        return 0.5


def epoch(path: Path, variant: str, size: int, share: float = 1.0) -> tuple[float, float, float]:
    """Train one epoch; return its wall and processor seconds, scaled to all batches, and the peak of memory in MB."""
    from proctor.learn.settings import TrainSettings
    from proctor.learn.trainer import fit

    learner = Steps(path, variant, size, share)
    settings = TrainSettings(epochs=2 if variant == "v1" else 1, plateau=None, patience=None, device="cpu")
    marks: list[tuple[float, float]] = []
    learner.validate = lambda: marks.append((time.perf_counter(), time.process_time())) or 0.5  # type: ignore[method-assign]
    begin = time.perf_counter(), time.process_time()
    fit(learner, settings)
    before = marks[-2] if len(marks) > 1 else begin  # the file is in memory after the first epoch
    scale = 1 / share
    wall, cpu = (scale * (after - start) for after, start in zip(marks[-1], before, strict=True))
    return wall, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def row(what: str, measured: str, target: str = "") -> None:
    """Print one row of the table."""
    print(f"| {what} | {measured} | {target} |", flush=True)


def planted() -> None:
    """Print what each variant recognises of planted signals."""
    import msgspec
    import torch

    from proctor.learn.clips import ClipRecogniser
    from proctor.learn.planted import DIFFICULTIES, plant, shuffled
    from proctor.learn.settings import TrainOptions
    from proctor.metrics.classification import roc_auc

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
            f"{wall:.1f} s ({cpu:.1f} s CPU), peak {memory:,.0f} MB, the mapped rows counted",
            "≤ 6 s, ≤ 1,500 MB",
        )
    elif part == "v2":
        wall, cpu, memory = epoch(path, "v2", 32, SAMPLED)
        row(
            f"V2, an epoch of {STEPS:,} steps, 32 of like length a batch ({SAMPLED:.0%} measured)",
            f"{wall:.0f} s ({cpu:.0f} s CPU), peak {memory:,.0f} MB, the mapped rows counted",
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
