"""What texts, pictures and both together reach on made-up manuals, beside the best that each can.

    python benchmarks/learn/sequencing_planted.py [--train 480] [--test 300] [--seed 0] [--no-pretraining]

One thread, pretraining, fine-tuning and evaluation together; the CPU-seconds of each stand in the last column. A figure is
reached when it is within three standard errors of its ceiling.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.learn.sequencing.planted import OrderIn, ceiling, plant_manuals

from proctor.learn.sequencing.data import Shown, presented
from proctor.learn.sequencing.finetune import train_berson
from proctor.learn.sequencing.training import Objective, Training
from proctor.learn.settings import TrainOptions
from proctor.metrics.ordering import measure_orders

PLANTED: tuple[tuple[OrderIn, tuple[Shown, ...]], ...] = (
    ("both", ("text", "image", "both")), ("image", ("text", "both")), ("text", ("image", "both")),
)  # fmt: skip


_ABLE: dict[Shown, tuple[Objective, ...]] = {
    "text": ("mlm",), "image": ("isp", "pisp", "smrm"), "both": ("mlm", "isp", "pisp", "smrm"),
}  # fmt: skip


def main() -> None:
    """Train on each, and print what was reached."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=int, default=480)
    parser.add_argument("--test", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=6, help="of fine-tuning")
    parser.add_argument("--no-pretraining", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"{'order in':9} {'shown':6} {'tau':>6} {'best':>6} {'PMR':>6} {'best':>6} {'reached':>8} {'CPU s':>6}"
    )
    with TemporaryDirectory() as folder:
        root = Path(folder)
        for order_in, views in PLANTED:
            parts = plant_manuals(root, (given.train, 60, given.test), order_in=order_in, seed=given.seed)
            for shown in views:
                begun = time.process_time()
                training = Training(
                    parts=parts, root=root, shown=shown, seed=given.seed,
                    pretrain=() if given.no_pretraining else _ABLE[shown],
                    options=TrainOptions(epochs=given.epochs, device="cpu"),
                    pretrain_options=TrainOptions(device="cpu"),
                )  # fmt: skip
                model = train_berson(training).model
                test = presented(parts.test, shown)
                found = model.predict(test)
                seconds = time.process_time() - begun
                means = measure_orders([p.targets for p in test], [o.order for o in found]).means()
                best = ceiling(shown, order_in)
                perfect, most = means["perfect_match_ratio"], best["perfect_match_ratio"]
                error = math.sqrt(max(most * (1 - most), 0.01) / given.test)
                print(
                    f"{order_in:9} {shown:6} {means['kendall_tau']:6.3f} {best['kendall_tau']:6.3f} {perfect:6.3f} {most:6.3f} "
                    f"{'yes' if abs(perfect - most) <= 3 * error else 'no':>8} {seconds:6.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
