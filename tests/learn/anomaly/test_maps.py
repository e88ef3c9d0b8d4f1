"""Maps of a layer of a backbone, from a video to a block that learns from them; the backbone is a small made one."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.learn.features.films import moving_square, write_film
from torch import nn

from proctor.errors import UserError
from proctor.learn.anomaly.blocks import PredictiveBlock
from proctor.learn.features import backbones
from proctor.learn.features.extract import Looks, extract_video, open_extractor
from proctor.learn.features.store import FeatureStore
from proctor.stages.learn.extract import extract
from proctor.stages.learn.settings import ExtractSettings

FRAMES = 16


def small(clip: int = 0) -> backbones._Model:
    """A residual network's outline: two layers of maps, then their mean."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = nn.Sequential()
        network.add_module("layer1", nn.Sequential(nn.Conv2d(3, 8, 3, stride=4, padding=1), nn.ReLU()))
        network.add_module("layer2", nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU()))
        network.add_module("pool", nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()))
    prepare = backbones.Preparation(64, (64, 64), (0.5,) * 3, (0.5,) * 3)
    return backbones._Model("timm:small", "0", network, network, prepare, clip)


@pytest.fixture(autouse=True)
def _made(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    opened = {"timm": lambda *_: small(), "torchvision": lambda *_: small(FRAMES)}
    for kind, opener in opened.items():
        monkeypatch.setitem(backbones._OPENERS, kind, opener)  # type: ignore[arg-type]
    open_extractor.cache_clear()


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_film(tmp_path_factory.mktemp("v") / "1_7.mp4", moving_square(2, 0, (4, 30)), 20)


def test_maps_are_what_the_layer_gives_of_one_picture_a_window(video: Path, tmp_path: Path) -> None:
    extractor = open_extractor(Looks("timm:@layer2", tmp_path))
    assert (extractor.name, extractor.shape, extractor.width) == ("timm:small@layer2", (16, 8, 8), 16 * 64)
    assert extractor.window(1.0).frames == 1
    maps = extract_video(video, Looks("timm:@layer2", tmp_path)).rows[0]
    pooled = extract_video(video, Looks("timm:", tmp_path, frames=1)).rows[0]
    assert maps.reshape(-1, 16, 64).mean(2) == pytest.approx(pooled, rel=1e-4, abs=1e-6)
    assert open_extractor(Looks("timm", tmp_path)).shape == ()
    assert open_extractor(Looks("timm:@layer1.0", tmp_path)).shape == (8, 16, 16)


def test_maps_of_a_video_go_into_a_store_and_a_block(video: Path, tmp_path: Path) -> None:
    settings = ExtractSettings(
        sources=(video,), out=tmp_path / "maps", features="timm:@layer2", weights=tmp_path
    )
    extract(settings, show=lambda *_: nullcontext(lambda: None))
    store = FeatureStore.open(tmp_path / "maps")
    assert store.shape == (16, 8, 8)
    maps = np.asarray(store.rows("1_7")).reshape(-1, *store.shape)
    assert maps.min() == 0 < maps.max()
    errors = PredictiveBlock("sspcab", 16).errors(torch.from_numpy(maps.astype(np.float32)))
    assert errors.shape == (len(maps), 8, 8)
    assert errors.isfinite().all()


@pytest.mark.parametrize(
    ("spec", "seen"),
    [
        ("timm:@layer9", "no layer 'layer9'"),
        ("timm:@pool", "no maps"),
        ("torchvision:@layer1", "single images"),
    ],
)
def test_layers_that_give_no_maps_are_refused(spec: str, seen: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=seen):
        open_extractor(Looks(spec, tmp_path))
