from __future__ import annotations

import sys
import types
from pathlib import Path

import msgspec
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")
from torch import nn  # noqa: E402

from proctor.errors import UserError  # noqa: E402
from proctor.learn.procedures import embedder  # noqa: E402
from proctor.learn.procedures.embedder import (  # noqa: E402
    USUAL,
    FrameNetwork,
    MapNetwork,
    ProcedureEmbedder,
    cut_resnet,
    resnet_base,
)

SHORT = msgspec.structs.replace(USUAL, epochs=2, device="cpu")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    torch.set_num_threads(1)
    monkeypatch.setattr(embedder, "BATCHES", 6)


def made(recordings=3, width=8, length=50):
    rng = np.random.default_rng(0)
    return {f"r{n}": rng.normal(size=(length + n, width)).astype(np.float16) for n in range(recordings)}


@pytest.mark.parametrize("method", ["tcc", "cidm"])
@pytest.mark.parametrize("published", [False, True])
def test_learns_and_embeds_every_row_the_same_each_time(method, published):
    def run():
        learner = ProcedureEmbedder(made(), 1.0, method=method, published=published, training=SHORT)
        before = learner.embed()
        trained = learner.fit()
        return before, learner.embed(), trained

    before, after, trained = run()
    assert {k: v.shape for k, v in after.items()} == {"r0": (50, 128), "r1": (51, 128), "r2": (52, 128)}
    assert all(np.isfinite(v).all() for v in after.values())
    assert not np.allclose(before["r0"], after["r0"])
    assert len(trained.history) == 2
    again = run()[1]
    assert all(np.array_equal(after[i], again[i]) for i in after)
    if published:  # one norm for the whole video
        assert all(np.linalg.norm(v) == pytest.approx(1, rel=1e-5) for v in after.values())


def test_c_idm_pushes_apart_what_is_far_apart():
    """All 50 s are near with 60, and drawn to each other; with 1 nearly all are pushed apart."""
    spread = []
    for far in (60.0, 1.0):
        learner = ProcedureEmbedder(made(), 1.0, method="cidm", idm_weight=1.0, far=far, training=SHORT)
        learner.fit()
        spread.append(float(learner.embed()["r0"].std()))
    assert spread[1] > 1.5 * spread[0]


def test_as_published_c_idm_changes_no_weight():
    both = []
    for method in ("tcc", "cidm"):
        learner = ProcedureEmbedder(
            made(), 1.0, method=method, idm_weight=5.0, published=True,
            training=msgspec.structs.replace(SHORT, keep="last"),
        )  # fmt: skip
        learner.fit()
        both.append(learner.embed())
    assert all(np.array_equal(both[0][i], both[1][i]) for i in both[0])


def test_as_published_two_videos_are_a_batch_and_test_rows_hardly_differ():
    learner = ProcedureEmbedder(made(5), 1.0, published=True, training=SHORT)
    assert {len(b) for b in learner.batches(np.random.default_rng(0))} == {2}
    assert {
        len(b) for b in ProcedureEmbedder(made(5), 1.0, training=SHORT).batches(np.random.default_rng(0))
    } == {5}
    places = np.arange(5)
    train, test = learner._seen("r0", places), learner._seen("r0", places, testing=True)
    assert torch.equal(train[:4, 1], train[1:, 0])  # the row after
    network = learner.module
    scaled = (test - network.mean) / network.deviation
    assert float((scaled + 1).abs().max()) < 0.05  # everything is nearly -1
    right = ProcedureEmbedder(made(5), 1.0, training=SHORT)
    assert torch.equal(right._seen("r0", places), right._seen("r0", places, testing=True))
    assert torch.equal(right._seen("r0", places)[1:, 1], right._seen("r0", places)[:4, 0])  # the row before


def test_maps_go_through_the_network_of_the_paper():
    rows = {i: v.reshape(len(v), -1)[:, :48] for i, v in made(2, width=48, length=20).items()}
    learner = ProcedureEmbedder(rows, 1.0, (3, 4, 4), training=msgspec.structs.replace(SHORT, epochs=1))
    assert isinstance(learner.module, MapNetwork)
    learner.fit()
    assert learner.embed()["r1"].shape == (21, 128)


def test_short_recordings_are_drawn_from_more_than_once_and_one_alone_is_refused():
    ProcedureEmbedder(made(2, length=5), 1.0, training=SHORT).fit()
    with pytest.raises(UserError, match="two recordings"):
        ProcedureEmbedder(made(1), 1.0, training=SHORT).fit()


class Small(nn.Module):
    """The names of a residual network of torchvision, small."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.relu = nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU()
        self.maxpool = nn.MaxPool2d(2)
        self.layer1, self.layer2, self.layer3 = (nn.Conv2d(4, 4, 3, 2, 1) for _ in range(3))
        self.layer4, self.avgpool, self.fc = nn.Conv2d(4, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Linear(8, 10)


def test_a_residual_network_is_loaded_and_cut(tmp_path: Path, monkeypatch):
    torch.manual_seed(0)
    whole = Small()
    torch.save(whole.state_dict(), tmp_path / "w.pth")
    models = types.SimpleNamespace(resnet50=lambda weights: Small())
    monkeypatch.setattr(embedder, "load_library", lambda _: types.SimpleNamespace(models=models))
    base = resnet_base(tmp_path / "w.pth")
    assert len(base) == 7
    assert torch.equal(base[6].weight, whole.layer3.weight)
    network = FrameNetwork(base, channels=4).eval()
    frames = torch.randint(0, 256, (2, 2, 3, 168, 168)).float()
    with torch.inference_mode():
        assert network(frames).shape == (2, 128)
        maps = base(frames[:, 0] / 127.5 - 1)
    assert maps.shape == (2, 4, 6, 6)  # of the small one; ResNet-50 gives 11 × 11


def test_weights_that_cannot_be_used(tmp_path: Path, monkeypatch):
    with pytest.raises(UserError, match="cannot be read"):
        cut_resnet(Small(), tmp_path / "none.pth")
    (tmp_path / "bad.pth").write_bytes(b"no weights")
    with pytest.raises(UserError, match="no weights of this network"):
        cut_resnet(Small(), tmp_path / "bad.pth")
    torch.save({"fc.weight": torch.zeros(1)}, tmp_path / "other.pth")
    with pytest.raises(UserError, match="no weights of this network"):
        cut_resnet(Small(), tmp_path / "other.pth")

    monkeypatch.setitem(sys.modules, "torchvision", None)
    with pytest.raises(UserError, match="torchvision"):
        resnet_base(tmp_path / "w.pth")
