import os
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import torch
from tests.learn.sequencing import killed

from proctor.learn.sequencing.encoder import Steps
from proctor.learn.sequencing.finetune import usual_training
from proctor.learn.sequencing.pretrain import Pretraining, Shuffled, usual_pretraining


class Asked(torch.nn.Module):
    """Remembers what it is asked, and in which order the steps stand."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.asked, self.seen = [], []

    def turns(self):
        return "isp", "pisp", "smrm"

    def losses(self, steps, groups, turn, generator):
        self.asked.append(turn)
        self.seen.append((steps.tokens[groups, 0].tolist(), generator.random()))
        return {turn: self.weight}


def learner(lengths, together=2):
    ends = np.cumsum(lengths)
    rows = [torch.arange(end - length, end) for end, length in zip(ends, lengths, strict=True)]
    inputs = SimpleNamespace(take=lambda rows: Steps(tokens=rows[:, None]))
    asked = Asked()
    made = Pretraining(asked, inputs, rows, 4, together=together)
    return Shuffled(asked, rows, 4, made.loss, made.figure)


def test_objectives_take_turns_and_steps_stay_in_authored_order():
    made = learner([5, 3, 4, 7] * 100, together=3)
    for epoch in range(6):
        for items in made.batches(np.random.default_rng(epoch)):
            made.loss(items)
    counted = Counter(made.module.asked)
    assert sum(counted.values()) == 600
    assert all(abs(counted[name] / 600 - 1 / 3) < 0.06 for name in ("isp", "pisp", "smrm"))
    drawn = [group for groups, _ in made.module.seen for group in groups]
    assert all(group == sorted(set(group)) and len(group) == 3 for group in drawn)
    assert len(set(map(tuple, drawn))) > 1000  # drawn anew each time
    short = learner([2, 5, 5, 5], together=3)
    short.loss(np.arange(4))
    assert {len(group) for groups, _ in short.module.seen for group in groups} == {2}


def test_what_is_drawn_comes_from_the_epoch_and_the_batch_and_is_the_same_for_dev_each_time():
    made = learner([5] * 12)
    batches = made.batches(np.random.default_rng(1))
    for items in (*batches, *batches[::-1]):
        made.loss(items)
    seen = made.module.seen
    assert seen[:3] == seen[3:][::-1]
    made.batches(np.random.default_rng(2))
    made.loss(batches[0])
    assert seen[-1] != seen[0]
    with torch.inference_mode():
        made.validate()
        made.batches(np.random.default_rng(3))
        made.validate()
    assert seen[-9:] == seen[-18:-9]  # three objectives of three batches


def test_rates_and_epochs_are_those_of_the_paper_and_of_its_code():
    paper, code = (usual_training(p, "clip:x", "both", 98_268) for p in ("paper", "code"))
    assert (paper.batch, paper.lr, paper.epochs, paper.optimiser) == (4, 5e-6, 10, None)
    assert usual_training("paper", "text:x", "text", 8_032).epochs == 5
    assert (code.batch, code.lr, code.epochs, code.clip, code.optimiser) == (1, 5e-6, 4, 1.0, "adamw")
    assert [usual_pretraining(p, "text:x").epochs for p in ("paper", "code")] == [5, 8]
    assert {usual_pretraining(p, "text:x").lr for p in ("paper", "code")} == {1e-5}


def test_killed_in_each_stage_it_ends_with_the_same_weights(tmp_path):
    # In the second epoch of pretraining, and two steps later in the first one of fine-tuning.
    program = [sys.executable, killed.__file__, str(tmp_path / "pictures"), str(tmp_path / "hurt"), "4", "4"]
    told = subprocess.run(
        program, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, text=True
    )
    assert told.stdout.split("\n")[:-1] == ["-9", "pretrain 1 1", "-9", "finetune 0 2", "pretrain 2 0"]
    calm, hurt = (killed.train(tmp_path / "pictures", tmp_path / name) for name in ("calm", "hurt"))
    assert hurt.chosen == calm.chosen
    weights = hurt.model.state_dict()
    for name, value in calm.model.state_dict().items():
        assert torch.equal(value, weights[name]), name
