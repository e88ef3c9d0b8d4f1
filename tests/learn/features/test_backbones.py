"""Backbones from local folders: tiny models with random weights, saved as their libraries save them."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.learn.features.films import moving_square, plain_colour, write_film

from proctor.corpus.embed.local_models import stay_offline
from proctor.errors import UserError
from proctor.learn.features.extract import Looks, extract_video, open_extractor

torch: Any = pytest.importorskip("torch", reason="needs torch")
stay_offline()
_KEPT: list[Any] = []


def library(name: str) -> Any:
    """Import timm, torchvision or transformers; torchvision's compiled half may be missing beside torch for processors."""
    found = importlib.util.find_spec("torchvision")
    if found is not None and found.origin and not _KEPT:
        try:
            _KEPT.extend(ctypes.CDLL(str(so)) for so in Path(found.origin).parent.glob("_C*.so"))
        except OSError:
            _KEPT.append(torch.library.Library("torchvision", "FRAGMENT"))
            for op in ("nms", "qnms"):
                _KEPT[-1].define(f"{op}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    try:
        return importlib.import_module(name)
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"{name} cannot be imported: {error}")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_film(tmp_path_factory.mktemp("v") / "a.mp4", moving_square(2, 0, (4, 30)), 20)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_film(tmp_path_factory.mktemp("v") / "b.mp4", plain_colour(200, 20, 20), 20)


def rows(path: Path, spec: str, folder: Path, **given: Any) -> np.ndarray:
    return extract_video(path, Looks(spec, folder, **given)).rows[0]


# -- timm ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def timm_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    timm = library("timm")
    folder = tmp_path_factory.mktemp("timm")
    torch.manual_seed(0)
    model = timm.create_model("resnet10t", num_classes=7, pretrained_cfg_overlay={"input_size": (3, 64, 64)})
    timm.models.save_for_hf(model, folder)
    return folder


def test_timm_gives_what_the_model_itself_gives_before_its_classes(timm_folder: Path, video: Path) -> None:
    timm = library("timm")
    found = rows(video, "timm", timm_folder, frames=2)
    assert found.shape == (3, 512)
    extractor = open_extractor(Looks("timm", timm_folder, frames=2))
    assert (extractor.name, extractor.modality) == ("timm:resnet10t", "video")
    # by hand: timm's own transform of the frames at 1/4 and 3/4 s, and the mean of the two
    from proctor.media.frames import extract_frames

    torch.manual_seed(0)
    model = timm.create_model(
        "resnet10t", num_classes=7, pretrained_cfg_overlay={"input_size": (3, 64, 64)}
    ).eval()
    model.reset_classifier(0)
    prepare = timm.data.create_transform(**timm.data.resolve_model_data_config(model))
    from PIL import Image

    images = [frame.image for frame in extract_frames(video, [0.25, 0.75], height=73)]
    with torch.inference_mode():
        by_hand = model(torch.stack([prepare(Image.fromarray(i)) for i in images])).mean(dim=0).numpy()
    cosine = found[0] @ by_hand / np.linalg.norm(found[0]) / np.linalg.norm(by_hand)
    assert cosine > 0.999
    assert np.linalg.norm(found[0]) == pytest.approx(np.linalg.norm(by_hand), rel=0.02)


def test_batches_and_overlaps_change_nothing(timm_folder: Path, video: Path) -> None:
    looks = {"frames": 3, "windows": (1.0, 2.0)}
    one = extract_video(video, Looks("timm", timm_folder, batch=1, **looks)).rows
    many = extract_video(video, Looks("timm", timm_folder, batch=64, **looks)).rows
    assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(one, many, strict=True))
    assert not np.allclose(one[0], one[1], atol=1e-3)


def test_weights_of_another_model_are_refused(timm_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"not of this model: .* missing"):
        open_extractor(Looks("timm:resnet18", timm_folder))
    with pytest.raises(UserError, match="no such model"):
        open_extractor(Looks("timm:nonsense", timm_folder))
    (tmp_path / "config.json").write_text(json.dumps({"architecture": "resnet10t"}))
    with pytest.raises(UserError, match="0 files of weights"):
        open_extractor(Looks("timm", tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(UserError, match="cannot be read"):
        open_extractor(Looks("timm", tmp_path))


# -- torchvision ---------------------------------------------------------------------------------------------------

_WIDTHS = {
    "resnet18": 512,
    "squeezenet1_1": 512,
    "mobilenet_v3_small": 1024,
    "shufflenet_v2_x0_5": 1024,
    "efficientnet_b0": 1280,
    "densenet121": 1024,
    "vit_b_16": 768,
    "swin_t": 768,
    "convnext_tiny": 768,
    "r3d_18": 512,
    "s3d": 1024,
    "mvit_v2_s": 768,
    "swin3d_t": 768,
}


@pytest.mark.parametrize("name", ["resnet18", "squeezenet1_1", "vit_b_16", "swin_t", "r3d_18", "s3d"])
def test_the_layer_of_classes_is_found_in_every_architecture(name: str) -> None:
    backbones = importlib.import_module("proctor.learn.features.backbones")
    models = library("torchvision").models
    model = models.get_model(name, weights=None).eval()
    wants = models.get_model_weights(name).DEFAULT.transforms()
    clip = models.get_model_builder(name).__module__.startswith("torchvision.models.video")
    example = torch.zeros(1, 3, *((16,) if clip else ()), *([wants.crop_size[0]] * 2))
    _, layer = backbones._last_layer(torch, model, example)
    width = getattr(layer, "in_features", None) or layer.in_channels
    assert width == _WIDTHS[name]


@pytest.fixture(scope="module")
def clip_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = library("torchvision").models
    folder = tmp_path_factory.mktemp("r3d")
    torch.manual_seed(0)
    torch.save({"state_dict": models.video.r3d_18(num_classes=5).state_dict()}, folder / "r3d_18.pth")
    return folder


def test_a_clip_model_sees_windows_whole_and_weights_of_other_classes_do(
    clip_folder: Path, video: Path
) -> None:
    found = rows(video, "torchvision:r3d_18", clip_folder, frames=4)
    assert found.shape == (3, 512)
    models = library("torchvision").models
    torch.manual_seed(0)
    model = models.video.r3d_18(num_classes=5).eval()
    model.fc = torch.nn.Identity()
    from proctor.media.frames import extract_frames

    prepare = models.video.R3D_18_Weights.DEFAULT.transforms()
    images = [f.image for f in extract_frames(video, [0.125, 0.375, 0.625, 0.875], height=128)]
    clip = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2)[None]
    with torch.inference_mode():
        by_hand = model(prepare(clip))[0].numpy()
    assert found[0] @ by_hand / np.linalg.norm(found[0]) / np.linalg.norm(by_hand) > 0.999


def test_torchvision_refuses_what_does_not_classify(clip_folder: Path) -> None:
    with pytest.raises(UserError, match="does not classify"):
        open_extractor(Looks("torchvision:raft_small", clip_folder))
    with pytest.raises(UserError, match="no such model"):
        open_extractor(Looks("torchvision:nonsense", clip_folder))
    with pytest.raises(UserError, match="not of this model"):
        open_extractor(Looks("torchvision:resnet18", clip_folder))


# -- transformers --------------------------------------------------------------------------------------------------

_TINY = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
_NORMAL = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "do_normalize": True, "resample": 2}


def save(folder: Path, model: Any, **prepare: Any) -> Path:
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(_NORMAL | prepare))
    return folder


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    transformers: ModuleType = library("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()

    def make(kind: str) -> Path:
        torch.manual_seed(0)
        folder = tmp_path_factory.mktemp(kind)
        side = {"image_size": 32, "patch_size": 8}
        square = {"size": {"height": 32, "width": 32}}
        if kind == "vit":
            return save(
                folder,
                transformers.ViTForImageClassification(transformers.ViTConfig(**_TINY, **side)),
                **square,
            )
        if kind == "videomae":
            config = transformers.VideoMAEConfig(**_TINY, **side, num_frames=4)
            crop = {
                "size": {"shortest_edge": 32},
                "do_center_crop": True,
                "crop_size": {"height": 32, "width": 32},
            }
            return save(folder, transformers.VideoMAEForVideoClassification(config), **crop)
        if kind == "clip":
            config = transformers.CLIPConfig(
                text_config=_TINY | {"vocab_size": 20}, vision_config=_TINY | side, projection_dim=12
            )
            return save(folder, transformers.CLIPModel(config), **square)
        if kind == "resnet":
            config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 24], depths=[1, 1])
            return save(folder, transformers.ResNetForImageClassification(config), **square)
        if kind == "wav2vec2":
            config = transformers.Wav2Vec2Config(
                **_TINY, conv_dim=[8, 8], conv_kernel=[10, 8], conv_stride=[40, 8], num_conv_pos_embeddings=4,
                num_conv_pos_embedding_groups=2,
            )  # fmt: skip
            transformers.Wav2Vec2FeatureExtractor().save_pretrained(folder)
            transformers.Wav2Vec2Model(config).save_pretrained(folder)
            return folder
        config = transformers.DPTConfig(
            **_TINY | {"num_hidden_layers": 4}, **side, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8] * 4,
            fusion_hidden_size=8, reassemble_factors=[4, 2, 1, 0.5],
        )  # fmt: skip
        model = transformers.DPTForDepthEstimation(config)
        for parameter in model.parameters():  # as it begins, all depths are one
            torch.nn.init.normal_(parameter, std=0.2)
        return save(folder, model, **square)

    made: dict[str, Path] = {}
    return lambda kind: made.setdefault(kind, made.get(kind) or make(kind))


@pytest.mark.parametrize(
    ("kind", "spec", "width", "modality", "name"),
    [
        ("vit", "transformers", 16, "video", "transformers:vit"),
        ("videomae", "transformers", 16, "video", "transformers:videomae"),
        ("clip", "transformers", 12, "video", "transformers:clip"),
        ("resnet", "transformers", 24, "video", "transformers:resnet"),
        ("wav2vec2", "transformers", 16, "audio", "transformers:wav2vec2"),
        ("dpt", "depth", 80, "depth", "estimated-depth:dpt"),
    ],
)
def test_models_of_transformers_look_and_listen(
    tools: Callable[[str], Path],
    video: Path,
    other: Path,
    kind: str,
    spec: str,
    width: int,
    modality: str,
    name: str,
) -> None:
    folder = tools(kind)
    first, second = rows(video, spec, folder), rows(other, spec, folder)
    assert first.shape == second.shape == (3, width)
    assert np.isfinite(first).all()
    extractor = open_extractor(Looks(spec, folder))
    assert (extractor.name, extractor.modality, extractor.width) == (name, modality, width)
    assert np.array_equal(first, rows(video, spec, folder))
    if modality != "audio":  # both films are silent
        assert not np.allclose(first, second, atol=1e-3)


def test_a_pooling_layer_that_was_never_trained_is_not_used(
    tools: Callable[[str], Path], video: Path
) -> None:
    transformers = library("transformers")
    folder = tools("vit")
    found = rows(video, "transformers", folder, frames=1)
    model = transformers.ViTModel.from_pretrained(folder, add_pooling_layer=False).eval()
    from proctor.media.frames import extract_frames

    image = extract_frames(video, [0.5], height=32)[0].image
    pixels = torch.from_numpy(image).permute(2, 0, 1)[None].float() / 255
    pixels = torch.nn.functional.interpolate(pixels, (32, 32), mode="bilinear", antialias=True)
    with torch.inference_mode():
        states = model(pixel_values=(pixels - 0.5) / 0.5).last_hidden_state
    assert found[0] == pytest.approx(states[0, 0].numpy(), abs=1e-4)


def test_missing_files_and_missing_layers_are_told(tools: Callable[[str], Path], tmp_path: Path) -> None:
    transformers = library("transformers")
    with pytest.raises(UserError, match="cannot be loaded"):
        open_extractor(Looks("transformers", tmp_path))
    config = transformers.ViTConfig(**_TINY, image_size=32, patch_size=8)
    transformers.ViTModel(config).save_pretrained(tmp_path)
    with pytest.raises(UserError, match="how pictures are prepared"):
        open_extractor(Looks("transformers", tmp_path))
    deeper = json.loads((tmp_path / "config.json").read_text()) | {"num_hidden_layers": 2}
    (tmp_path / "config.json").write_text(json.dumps(deeper))
    with pytest.raises(UserError, match=r"not of this model: \d+ missing"):
        open_extractor(Looks("transformers", tmp_path))


def test_a_device_that_is_not_there_is_told(tools: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match="no device 'cuda:77'"):
        open_extractor(Looks("transformers", tools("vit"), device="cuda:77"))


def test_memory_that_ends_says_which_batch_to_try(
    tools: Callable[[str], Path], video: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extractor: Any = open_extractor(Looks("transformers", tools("vit"), batch=64))

    def full(_: Any) -> Any:
        raise torch.OutOfMemoryError("full")

    monkeypatch.setattr(extractor._model, "run", full)
    with pytest.raises(UserError, match="--batch 16"):
        extractor.rows([[np.zeros((32, 32, 3), np.uint8)]], 1.0)


def test_depth_is_told_by_where_it_is_near_and_far() -> None:
    backbones = importlib.import_module("proctor.learn.features.backbones")
    plane = torch.zeros(1, 32, 32)
    plane[:, :, 16:] = 7.0
    found = dict(zip(backbones.DEPTH_COLUMNS, backbones.depth_rows(torch, plane)[0].tolist(), strict=True))
    assert (found["depth row 3 column 0"], found["depth row 3 column 7"]) == (0.0, 1.0)
    assert (found["share of depth 0/15"], found["share of depth 14/15"], found["share of depth 8/15"]) == (
        0.5,
        0.5,
        0,
    )
    assert found["edges of depth"] == pytest.approx(1 / 31)
    ramp = torch.linspace(0, 1, 4096).view(1, 64, 64)
    shares = backbones.depth_rows(torch, ramp)[0, 64:79].tolist()
    assert shares[1:-1] == pytest.approx([0.96 / 15] * 13, abs=0.004)
    assert [shares[0], shares[-1]] == pytest.approx([0.96 / 15 + 0.02] * 2, abs=0.004)


def test_the_layer_of_classes_is_the_last_that_runs_and_its_input_is_pooled_over_places() -> None:
    backbones = importlib.import_module("proctor.learn.features.backbones")
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 5), torch.nn.Dropout()
    )
    assert backbones._last_layer(torch, model.eval(), torch.zeros(1, 3))[0] == "2"
    seen = torch.arange(8.0).view(1, 2, 2, 2)
    assert backbones._pooled_input(torch.nn.Conv2d(2, 4, 1), seen).tolist() == [[1.5, 5.5]]
    tokens = torch.arange(6.0).view(1, 3, 2)
    assert backbones._pooled_input(torch.nn.Linear(2, 4), tokens).tolist() == [[2.0, 3.0]]
