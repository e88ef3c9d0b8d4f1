import numpy as np
import pytest
import torch
from torch import nn

from proctor.learn.sequencing.encoder import Encoded, StepEncoder, Steps
from proctor.learn.sequencing.encoders import open_encoder
from proctor.learn.sequencing.objectives import Objectives


class Plain(StepEncoder):
    """States are the patches as they were, masked or not, behind one state of the group."""

    width, tower = 8, None

    def forward(self, steps, groups):
        count, together = groups.shape
        patches = steps.images[groups].flatten(1, 2)
        hidden = torch.cat([torch.zeros(count, 1, 8), patches], 1)
        at = torch.arange(1, 1 + together * 9).view(1, together, 9).expand(count, -1, -1)
        span = torch.zeros(count, together, hidden.shape[1], dtype=torch.bool)
        return Encoded(hidden, hidden[:, 0], span, patch_at=at, patch_in=steps.images)


class Same(nn.Module):
    """Knows a patch again."""

    def forward(self, both):
        states, candidates = both.chunk(2, -1)
        return -100 * (states - candidates).square().sum(-1, keepdim=True)


class Blind(nn.Module):
    """Knows nothing."""

    def forward(self, both):
        return both.sum(-1, keepdim=True) * 0


def images(count):
    return torch.from_numpy(np.random.default_rng(3).normal(size=(count, 9, 8)).astype(np.float32))


@pytest.mark.parametrize("protocol", ["right", "code"])
@pytest.mark.parametrize("target", ["input", "output"])
def test_each_masked_place_is_matched_with_its_own_patch_however_candidates_are_shuffled(protocol, target):
    objectives = Objectives(Plain(), ["smrm"], protocol=protocol, target=target)
    objectives.smrm = Same()
    seen = torch.ones(12, dtype=torch.bool)
    seen[[1, 2]] = False  # one group with one picture fewer, one with a single candidate less
    groups = torch.arange(12).view(4, 3)
    for seed in range(5):
        found = objectives.losses(
            Steps(images=images(12), seen=seen), groups, "smrm", np.random.default_rng(seed)
        )
        assert float(found["smrm"]) < 1e-3
    objectives.smrm = Blind()
    chance = float(
        objectives.losses(
            Steps(images=images(8), seen=seen[4:]),
            torch.arange(8).view(4, 2),
            "smrm",
            np.random.default_rng(0),
        )["smrm"]
    )
    candidates = {"right": 2, "code": 10}[protocol]  # one of nine patches masked, or five, of two pictures
    assert chance == pytest.approx(np.log(candidates) * (0.2 * 4 if protocol == "code" else 1), rel=1e-5)


def test_sizes_of_the_heads():
    matcher = Objectives(Plain(), ["smrm"]).smrm
    assert sum(p.numel() for p in matcher.parameters()) == 4 * 8**2 + 8 * 8 + 1
    objectives = Objectives(Plain(), ["isp", "pisp"])
    assert [p.numel() for p in objectives.parameters()] == [16, 2, 16, 2]


def test_words_are_told_by_the_embeddings_that_read_them():
    encoder = open_encoder("tiny", "text", ["cut the bread", "cut the bread", "bake it", "bake it"])
    objectives = Objectives(encoder, ["mlm"])
    own = sum(p.numel() for p in objectives.parameters()) - sum(p.numel() for p in encoder.parameters())
    assert own == 64 * 64 + 64 + 2 * 64 + encoder.tokenizer.size
    tokens = torch.tensor([encoder.tokenizer.encode(t, 60) for t in ("cut the bread", "bake the bread")])
    found = objectives.losses(Steps(tokens=tokens), torch.tensor([[0, 1]]), None, np.random.default_rng(0))
    assert set(found) == {"mlm"}
    assert 0 < float(found["mlm"].detach()) < np.log(encoder.tokenizer.size) + 2  # not sure of wrong words


def test_a_batch_without_two_pictures_in_a_group_has_no_loss_of_exchanges():
    objectives = Objectives(Plain(), ["isp", "pisp", "smrm"])
    assert objectives.turns() == ("isp", "pisp", "smrm")
    none = Steps(images=images(4), seen=torch.zeros(4, dtype=torch.bool))
    for turn in objectives.turns():
        found = objectives.losses(none, torch.arange(4).view(2, 2), turn, np.random.default_rng(0))
        assert float(found[turn].detach()) == 0.0
