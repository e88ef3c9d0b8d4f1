"""Pretrains and trains BERSON on a few manuals, and is killed in the middle of each stage; the test goes on with it.

python tests/learn/sequencing/killed.py PICTURES FOLDER STEPS…: a process for each number of steps, killed behind them.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import msgspec
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.learn.sequencing.planted import plant_manuals

from proctor.learn import trainer
from proctor.learn.checkpoints import read_checkpoint
from proctor.learn.sequencing import finetune, pretrain
from proctor.learn.sequencing.training import TrainedOrder, Training
from proctor.learn.settings import TrainOptions


def train(pictures: Path, folder: Path) -> TrainedOrder:
    """Both stages have two epochs of three batches, and a checkpoint after each."""
    torch.set_num_threads(1)
    for stage, name in ((finetune, "usual_training"), (pretrain, "usual_pretraining")):
        usual = getattr(stage, name)
        setattr(stage, name, lambda *a, usual=usual: msgspec.structs.replace(usual(*a), save_seconds=0.0))
    options = TrainOptions(epochs=2, batch=2, device="cpu")
    training = Training(
        parts=plant_manuals(pictures, (6, 2, 0), order_in="image"), root=pictures, shown="both", folder=folder,
        pretrain=("mlm", "isp", "pisp", "smrm"), options=options, pretrain_options=options,
    )  # fmt: skip
    return finetune.train_berson(training)


def main() -> None:
    step = trainer._Run._step
    left = 0

    def counted(run: trainer._Run) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        step(run)

    trainer._Run._step = counted  # type: ignore[method-assign]
    for given in sys.argv[3:]:
        left = int(given)
        if not (child := os.fork()):  # torch is imported once; nothing has been trained in this process
            train(Path(sys.argv[1]), Path(sys.argv[2]))
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        for last in sorted(Path(sys.argv[2]).glob("*/last.pt")):
            place = read_checkpoint(last).place
            print(last.parent.name, place["epoch"], place["place"], flush=True)


if __name__ == "__main__":
    main()
