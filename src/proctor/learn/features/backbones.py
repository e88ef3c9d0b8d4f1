"""Backbones from local folders of weights: models of timm, torchvision and transformers, for pictures, clips, sound and depth.

What comes out is the last layer's input, pooled over places and times, and never the classes (the published 400 numbers a
second are class scores, since the extraction replaced an attribute that those networks do not have). The layer is found by
running the model once, so it is right for every architecture. Nothing is downloaded, and no code from a folder is run.
Source: CaptainCook4D (Peddi et al. 2024), Section 4 and its code for extraction; docs/features.md lists what goes where.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.corpus.embed.local_models import fingerprint, read_config, stay_offline
from proctor.errors import MissingExtraError, UserError
from proctor.learn.features.extract import Extractor, Looks
from proctor.learn.features.store import Modality
from proctor.learn.features.windows import AUDIO_RATE, Film, Window
from proctor.records import Json, content_hash, file_sha256

__all__ = [
    "DEPTH_COLUMNS",
    "Preparation",
    "depth_rows",
    "load_library",
    "load_pretrained",
    "open_backbone",
    "open_network",
]

Floats = NDArray[np.float32]

_IMAGES_A_SECOND: Final = 4
_CLIP_FRAMES: Final = 16
_SPEECH_RATE: Final = 16_000
_LOCAL: Final[Mapping[str, Any]] = {"local_files_only": True, "trust_remote_code": False}
_WEIGHTS: Final = ("*.safetensors", "*.bin", "*.pth", "*.pt")


def open_backbone(looks: Looks) -> Extractor:
    """Load a backbone on its device.

    Raises:
        UserError: if weights are missing or of another model, or there is no such device.
        MissingExtraError: without torch or transformers.
    """
    folder = looks.weights
    kind, _, name = looks.spec.partition(":")
    name, _, layer = name.partition("@")
    if name and kind in ("transformers", "depth"):
        raise UserError(
            "it takes no name: the folder's config.json says which model it is.",
            where=looks.spec,
            hint=f"give --features {kind}",
        )
    if folder is None or not folder.is_dir():
        raise UserError(
            "the weights are missing: nothing is downloaded."
            if folder is None
            else "there is no such folder.",
            where=looks.spec if folder is None else str(folder),
            hint=f"{_WHERE[kind]}; then give the folder with --weights",
        )
    torch = _torch(looks)
    model = _OPENERS[kind](torch, folder, name)
    model.model.eval().to(looks.device)
    if layer:
        _give_maps(model, layer)
    settled = _Settled(torch, looks, model)
    if model.modality == "audio":
        return _Ears(settled)
    return _Eyes(settled)


def open_network(
    kind: Literal["timm", "torchvision", "transformers"], folder: Path, name: str
) -> tuple[Any, Preparation]:
    """Load a network of single pictures to be trained further, and how it wants them prepared; no name where the folder says it.

    Raises:
        UserError: if it cannot be loaded, or sees no single pictures; MissingExtraError without transformers.
    """
    model = _OPENERS[kind](importlib.import_module("torch"), folder, name)
    seen = getattr(model.model, "main_input_name", "pixel_values") == "pixel_values" or hasattr(
        model.model, "vision_model"
    )
    if model.prepare is None or model.frames or not seen:
        raise UserError(
            "this model sees no single pictures.", where=str(folder), hint="take CLIP or a ResNet"
        )
    return model.model, model.prepare


_WHERE: Final = {
    "timm": "download model.safetensors and config.json of a timm model (huggingface.co/timm) into one folder",
    "torchvision": "download the model's .pth file (its address stands in torchvision's docs of weights) into a folder",
    "transformers": "download config.json, preprocessor_config.json and model.safetensors of the model into one folder",
    "depth": "download config.json, preprocessor_config.json and model.safetensors of a depth model (DPT, Depth Anything)",
}


def _torch(looks: Looks) -> Any:
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise MissingExtraError("torch", "learn", "Extracting features with a backbone") from None
    if looks.threads is not None:
        torch.set_num_threads(looks.threads)
    try:
        torch.zeros(1, device=looks.device)
    except (RuntimeError, AssertionError, ValueError) as error:
        told = str(error).strip().splitlines()[0]
        raise UserError(
            f"there is no device '{looks.device}' here: {told}", hint="give cpu, cuda or cuda:1"
        ) from None
    return torch


def load_library(name: str) -> Any:
    """Import timm, torchvision or transformers, none of which downloads anything afterwards.

    Raises:
        UserError: if it is not installed, or does not fit torch.
    """
    stay_offline()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        if name == "transformers":
            raise MissingExtraError("transformers", "transformers", "Extracting features with it") from None
        raise UserError(
            f"Extracting features with it needs the package '{name}', which is not installed.",
            hint=f"pip install {name.partition('.')[0]}",
        ) from None
    except (RuntimeError, OSError, ImportError) as error:
        told = str(error).strip().splitlines()[0]
        raise UserError(
            f"{name} cannot be loaded: {told}",
            hint="torch and torchvision have to be of one release: install both from the same index",
        ) from None


# -- preparing pictures --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Preparation:
    """How a model wants its pictures.

    Attributes:
        size: pixels that the shorter side is scaled to, or height and width.
        crop: height and width that are cut from the middle; None for all of it.
        mean: of red, green, blue from 0 to 1.
        std: likewise.
        cubic: scale by cubic rather than linear interpolation.
    """

    size: int | tuple[int, int]
    crop: tuple[int, int] | None
    mean: tuple[float, ...]
    std: tuple[float, ...]
    cubic: bool = False

    def height(self, film: Film) -> int:
        """Return at which height to decode, so that little is left to scale."""
        if not isinstance(self.size, int):
            return max(2, self.size[0])
        tall = film.height > film.width
        return max(2, round(self.size * film.height / film.width) if tall else self.size)

    def __call__(self, torch: Any, images: Sequence[Any], device: str) -> Any:
        """Return the pictures as a tensor, shape (images, 3, height, width)."""
        pixels = torch.from_numpy(np.stack(images)).to(device).permute(0, 3, 1, 2).float() / 255
        high, wide = pixels.shape[-2:]
        if isinstance(self.size, int):
            scale = self.size / min(high, wide)
            wanted = (max(self.size, round(high * scale)), max(self.size, round(wide * scale)))
        else:
            wanted = self.size
        if wanted != (high, wide):
            mode = "bicubic" if self.cubic else "bilinear"
            pixels = torch.nn.functional.interpolate(
                pixels, size=wanted, mode=mode, align_corners=False, antialias=True
            )
        if self.crop is not None:
            top, left = ((have - want) // 2 for have, want in zip(wanted, self.crop, strict=True))
            if min(top, left) < 0:
                raise UserError(f"pictures of {wanted} pixels cannot be cut to {self.crop}.")
            pixels = pixels[..., top : top + self.crop[0], left : left + self.crop[1]]
        mean, std = (
            torch.tensor(v, device=device, dtype=torch.float32).view(-1, 1, 1) for v in (self.mean, self.std)
        )
        return (pixels - mean) / std


def _square(value: Any) -> tuple[int, int]:
    """Read a size as configurations write it: 224, [224], [224, 224] or height and width."""
    if isinstance(value, Mapping):
        return int(value["height"]), int(value["width"])
    sides = [value] if isinstance(value, int | float) else list(value)
    return int(sides[0]), int(sides[-1])


# -- models --------------------------------------------------------------------------------------------------------


@dataclass
class _Model:
    """A loaded model, and how it is called.

    Attributes:
        name: for the store.
        identity: of its weights.
        model: a torch module.
        run: from prepared input to pooled rows: images (N, 3, H, W), clips (N, frames, 3, H, W), or sound.
        prepare: of pictures; None for sound.
        frames: that a clip has; 0 for a model of single images, and for sound.
        listen: from samples at 16 kHz to the input of a model of sound.
        layer: whose maps are given in place of pooled rows; empty for none.
        shape: of these maps (channels, height, width), once the model has run.
    """

    name: str
    identity: str
    model: Any
    run: Callable[[Any], Any]
    prepare: Preparation | None = None
    frames: int = 0
    modality: Modality = "video"
    listen: Callable[[Sequence[Floats]], Any] | None = None
    layer: str = ""
    shape: tuple[int, ...] = ()


def _give_maps(model: _Model, layer: str) -> None:
    """Have a model of single images give the maps of a layer, for detectors of anomalies; flattened, one picture a window.

    Raises:
        UserError: if it has no such layer, or (when run) what the layer gives are no maps.
    """
    if model.frames or model.prepare is None:
        raise UserError("only models of single images give maps of a layer.", where=model.name)
    inside = dict(model.model.named_modules())
    if layer not in inside:
        named = ", ".join(name for name in inside if name and "." not in name)
        raise UserError(
            f"it has no layer '{layer}'.", where=model.name, hint=f"there are {named}, and those inside"
        )
    seen: list[Any] = []
    inside[layer].register_forward_hook(lambda *told: seen.append(told[2]))
    pooled = model.run

    def run(batch: Any) -> Any:
        pooled(batch)
        maps = seen.pop()
        if getattr(maps, "ndim", 0) != 4:
            raise UserError(f"the layer '{layer}' gives no maps of height and width.", where=model.name)
        model.shape = tuple(maps.shape[1:])
        return maps.flatten(1)

    model.run, model.layer, model.name = run, layer, f"{model.name}@{layer}"


def _open_timm(torch: Any, folder: Path, name: str) -> _Model:
    timm = load_library("timm")
    config = read_config(folder, "config.json")
    architecture = name or str(config.get("architecture", ""))
    if not architecture:
        raise UserError(
            "config.json does not say which model of timm this is.",
            where=str(folder),
            hint="give it: timm:resnet50",
        )
    given = config.get("model_args")
    arguments: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {}
    arguments.pop("num_classes", None)
    stated = config.get("pretrained_cfg") if not name or name == config.get("architecture") else None
    if stated:
        arguments["pretrained_cfg"] = stated
    try:
        model = timm.create_model(architecture, pretrained=False, num_classes=0, **arguments)
    except (RuntimeError, TypeError) as error:
        raise UserError(
            f"timm has no such model: {error}", where=architecture, hint="see timm.list_models()"
        ) from None
    state, identity = _state_of(torch, folder)
    heads = model.pretrained_cfg.get("classifier") or ()
    _load(model, state, (heads,) if isinstance(heads, str) else tuple(heads), folder)
    wants = timm.data.resolve_model_data_config(model)
    crop = _square(wants["input_size"][1:])
    share = float(wants.get("crop_pct") or 1.0)
    prepare = Preparation(
        int(min(crop) / share), crop, tuple(wants["mean"]), tuple(wants["std"]), wants["interpolation"] == "bicubic"
    )  # fmt: skip
    return _Model(f"timm:{architecture}", identity, model, model, prepare)


def _open_torchvision(torch: Any, folder: Path, name: str) -> _Model:
    models = load_library("torchvision").models
    try:
        room = models.get_model_builder(name).__module__.removeprefix("torchvision.models.")
        wants = models.get_model_weights(name).DEFAULT.transforms()
    except ValueError as error:
        raise UserError(
            f"torchvision has no such model: {error}.", hint="give torchvision:resnet50"
        ) from None
    if room.split(".")[0] in ("detection", "segmentation", "optical_flow", "quantization"):
        raise UserError(f"{name} does not classify, so it has no such features.", where=f"torchvision:{name}")
    model = models.get_model(name, weights=None).eval()
    crop = _square(wants.crop_size)
    size = list(wants.resize_size)
    prepare = Preparation(
        size[0] if len(size) == 1 else (size[0], size[1]), crop, tuple(wants.mean), tuple(wants.std),
        wants.interpolation.value == "bicubic",
    )  # fmt: skip
    clip = room.startswith("video")
    example = torch.zeros(1, 3, *((_CLIP_FRAMES,) if clip else ()), *crop)
    head, layer = _last_layer(torch, model, example)
    state, identity = _state_of(torch, folder)
    _load(model, state, (head,), folder)
    seen: list[Any] = []
    layer.register_forward_pre_hook(lambda _, given: seen.append(given[0]))

    def run(batch: Any) -> Any:
        model(batch.transpose(1, 2) if clip else batch)
        return _pooled_input(layer, seen.pop())

    return _Model(f"torchvision:{name}", identity, model, run, prepare, _CLIP_FRAMES if clip else 0)


def _last_layer(torch: Any, model: Any, example: Any) -> tuple[str, Any]:
    """Return the layer that gives the classes, and its name: the last one that runs and has as many outputs as the model."""
    ran: list[tuple[str, Any, Any]] = []
    kinds = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)
    hooks = [
        module.register_forward_hook(lambda m, _, out, name=name: ran.append((name, m, out)))
        for name, module in model.named_modules()
        if isinstance(module, kinds)
    ]
    with torch.inference_mode():
        classes = model(example).shape[-1]
    for hook in hooks:
        hook.remove()
    for name, module, _ in reversed(ran):
        if classes in (getattr(module, "out_features", None), getattr(module, "out_channels", None)):
            return name, module
    raise UserError("the layer that gives its classes was not found.", hint="use another model")


def _pooled_input(layer: Any, given: Any) -> Any:
    """Return what a layer was given, averaged over places and times; shape (N, width)."""
    if hasattr(layer, "in_channels"):
        return given.flatten(2).mean(dim=2) if given.ndim > 2 else given
    return given.reshape(len(given), -1, given.shape[-1]).mean(dim=1)


def _state_of(torch: Any, folder: Path) -> tuple[dict[str, Any], str]:
    """Read the one file of weights of a folder, and return its hash."""
    files: list[Path] = []
    for pattern in _WEIGHTS:
        files = files or sorted(folder.glob(pattern))
    if len(files) != 1:
        raise UserError(
            f"{len(files)} files of weights are in it, one was expected.",
            where=str(folder),
            hint="keep one .safetensors, .bin, .pth or .pt file in the folder",
        )
    safe = load_library("safetensors.torch") if files[0].suffix == ".safetensors" else None
    try:
        state: Any = safe.load_file(files[0]) if safe else torch.load(files[0], "cpu", weights_only=True)
    except Exception as error:  # whatever pickle or safetensors make of a damaged file
        raise UserError(
            f"the weights cannot be read: {type(error).__name__}.",
            where=str(files[0]),
            hint="download the file again; files that hold more than weights are not opened",
        ) from None
    for key in ("state_dict", "model"):
        if isinstance(state, dict) and isinstance(state.get(key), dict):
            state = state[key]
    return {k.removeprefix("module."): v for k, v in state.items()}, file_sha256(files[0])[:16]


def _load(model: Any, state: dict[str, Any], heads: Sequence[str], folder: Path) -> None:
    """Put weights into a model; all of them have to fit, but those of the layers that give classes."""
    own = model.state_dict()
    body = {k: v for k, v in state.items() if not k.startswith(tuple(f"{h}." for h in heads))}
    wanted = {k for k in own if not k.startswith(tuple(f"{h}." for h in heads))}
    wanted -= {k for k in wanted if k.endswith("num_batches_tracked")}
    wrong = sorted(k for k in wanted & body.keys() if own[k].shape != body[k].shape)
    _refuse_misfit(folder, sorted(wanted - body.keys()), sorted(body.keys() - own.keys()), wrong)
    model.load_state_dict(body, strict=False)


def _refuse_misfit(
    folder: Path, missing: Sequence[str], foreign: Sequence[str], wrong: Sequence[str]
) -> None:
    """Raise where a layer would stay random: features would look like features and mean nothing."""
    told = [
        f"{len(names)} {what} ({', '.join(names[:3])}{' …' if len(names) > 3 else ''})"
        for names, what in ((missing, "missing"), (foreign, "unknown"), (wrong, "of another shape"))
        if names
    ]
    if told:
        raise UserError(
            f"the weights are not of this model: {'; '.join(told)}.",
            where=str(folder),
            hint="check the model's name against the file",
        )


# -- transformers --------------------------------------------------------------------------------------------------


def _open_transformers(torch: Any, folder: Path, name: str) -> _Model:  # noqa: ARG001 - the openers' signature
    transformers = load_library("transformers")
    config, model, trained = load_pretrained(transformers, folder, "AutoModel")
    identity = fingerprint(folder.absolute())
    titled = f"transformers:{config.model_type}"
    wants = str(getattr(model, "main_input_name", ""))
    both = getattr(config, "vision_config", None) is not None and getattr(config, "text_config", None)
    if wants in ("input_values", "input_features"):
        return _sounding(transformers, folder, titled, identity, model, trained)
    prepare = _preparation(folder)
    if both:
        return _Model(
            titled, identity, model, lambda batch: _rows_of(model.get_image_features(batch)), prepare
        )
    frames = int(getattr(config, "num_frames", 0) or getattr(config, "frames_per_clip", 0) or 0)
    classy = trained or any("cls_token" in key for key, _ in model.named_parameters())

    def run(batch: Any) -> Any:
        extra = {"skip_predictor": True} if wants == "pixel_values_videos" else {}
        return _pooled(model(**{wants: batch}, **extra), trained, classy)

    return _Model(titled, identity, model, run, prepare, frames)


def load_pretrained(transformers: Any, folder: Path, kind: str) -> tuple[Any, Any, bool]:
    """Load a model by a class of ``transformers`` in full precision; also say whether its pooling layer, if any, was trained.

    Raises:
        UserError: if it cannot be loaded, or a layer would stay random.
    """
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        config = transformers.AutoConfig.from_pretrained(folder, **_LOCAL)
        model, told = getattr(transformers, kind).from_pretrained(
            folder, output_loading_info=True, dtype="float32", **_LOCAL
        )
    except (OSError, ValueError, RuntimeError, KeyError, ImportError, UnpicklingError) as error:
        said = " ".join(str(error).split())[:300]
        raise UserError(
            f"the model cannot be loaded: {said}", where=str(folder), hint=_WHERE["transformers"]
        ) from None
    missing = sorted(told["missing_keys"])
    _refuse_misfit(
        folder, [k for k in missing if "pooler" not in k], [], sorted(map(str, told["mismatched_keys"]))
    )
    return config, model, not any("pooler" in key for key in missing)


def _pooled(out: Any, trained: bool, classy: bool) -> Any:
    """Return one row each: the model's own pooling where it was trained, else the class token, else the mean of all tokens."""
    own = getattr(out, "pooler_output", None)
    if own is not None and trained:
        return own.flatten(1)
    states = out.last_hidden_state
    if states.ndim > 3:
        return states.flatten(2).mean(dim=2)
    return states[:, 0] if classy and own is not None else states.mean(dim=1)


def _rows_of(out: Any) -> Any:
    wrapped = getattr(out, "pooler_output", None)  # newer versions of transformers wrap them
    return out if wrapped is None else wrapped


_Size = float | tuple[float, ...] | dict[str, float | None]


class _Processor(msgspec.Struct, frozen=True):
    """What a configuration of transformers says of pictures."""

    size: _Size | None = None
    crop_size: _Size | None = None
    do_center_crop: bool | None = None
    do_normalize: bool | None = True
    image_mean: tuple[float, ...] | None = None
    image_std: tuple[float, ...] | None = None
    resample: int | None = 3


def _preparation(folder: Path) -> Preparation:
    """Read how pictures are prepared from the folder's own configuration."""
    names = ("preprocessor_config.json", "video_preprocessor_config.json", "processor_config.json")
    told: Mapping[str, Json] = {}
    for name in names:
        told = told or read_config(folder, name)
    try:
        found = msgspec.convert(
            told.get("image_processor") or told.get("video_processor") or told, _Processor
        )
    except msgspec.ValidationError as error:
        raise UserError(
            f"how pictures are prepared cannot be read: {error}.", where=str(folder), hint="check its files"
        ) from None
    size = found.size
    if not size:
        raise UserError(
            "nothing here says how pictures are prepared (preprocessor_config.json).",
            where=str(folder),
            hint="download it, too: with other sizes or colours the features are others",
        )
    short = size.get("shortest_edge") if isinstance(size, Mapping) else None
    crop = found.crop_size if found.do_center_crop else None
    normal = found.do_normalize
    return Preparation(
        int(short) if short else _square(size), _square(crop) if crop else None if not short else (int(short),) * 2,
        (found.image_mean or (0.5,) * 3) if normal else (0.0,) * 3,
        (found.image_std or (0.5,) * 3) if normal else (1.0,) * 3,
        found.resample == 3,
    )  # fmt: skip


def _sounding(transformers: Any, folder: Path, name: str, identity: str, model: Any, trained: bool) -> _Model:
    """A model of sound: its own extractor makes log-mel bands or normal samples at 16 kHz."""
    try:
        extractor = transformers.AutoFeatureExtractor.from_pretrained(folder, **_LOCAL)
    except (OSError, ValueError, KeyError, ImportError) as error:
        said = " ".join(str(error).split())[:300]
        raise UserError(
            f"nothing here says how sound is prepared: {said}", where=str(folder), hint=_WHERE["transformers"]
        ) from None
    network = model.get_encoder() if getattr(model.config, "is_encoder_decoder", False) else model

    def listen(batch: Sequence[Floats]) -> Any:
        return extractor(list(batch), sampling_rate=_SPEECH_RATE, return_tensors="pt", padding=True)[
            model.main_input_name
        ]

    def run(batch: Any) -> Any:
        return _pooled(network(batch), trained, False)

    return _Model(name, identity, model, run, modality="audio", listen=listen)


# -- depth ---------------------------------------------------------------------------------------------------------

_CELLS: Final = 8
_BINS: Final = 15
DEPTH_COLUMNS: Final[tuple[str, ...]] = (
    *(f"depth row {y} column {x}" for y in range(_CELLS) for x in range(_CELLS)),
    *(f"share of depth {k}/{_BINS}" for k in range(_BINS)),
    "edges of depth",
)


def _open_depth(torch: Any, folder: Path, name: str) -> _Model:  # noqa: ARG001 - the openers' signature
    config, model, _ = load_pretrained(load_library("transformers"), folder, "AutoModelForDepthEstimation")

    def run(batch: Any) -> Any:
        return depth_rows(torch, model(pixel_values=batch).predicted_depth.float())

    titled = f"estimated-depth:{config.model_type}"
    return _Model(titled, fingerprint(folder.absolute()), model, run, _preparation(folder), modality="depth")


def depth_rows(torch: Any, depth: Any) -> Any:
    """Return the columns ``DEPTH_COLUMNS`` of estimated depth maps, each scaled by itself, since models know no metres.

    Args:
        torch: the package.
        depth: shape (N, height, width).
    """
    flat = depth.flatten(1)
    # single wild pixels must not set the scale: 2 % at either end are cut
    low, high = (flat.kthvalue(max(1, round(share * flat.shape[1])), dim=1).values for share in (0.02, 0.98))
    scaled = ((depth - low[:, None, None]) / (high - low).clamp(min=1e-6)[:, None, None]).clamp(0, 1)
    cells = torch.nn.functional.adaptive_avg_pool2d(scaled[:, None], _CELLS).flatten(1)
    bins = (scaled.flatten(1) * _BINS).long().clamp(max=_BINS - 1)
    shares = torch.nn.functional.one_hot(bins, _BINS).float().mean(dim=1)
    edges = scaled.diff(dim=1).abs().mean(dim=(1, 2)) + scaled.diff(dim=2).abs().mean(dim=(1, 2))
    return torch.cat([cells, shares, edges[:, None]], dim=1)


_OPENERS: Final[Mapping[str, Callable[[Any, Path, str], _Model]]] = {
    "timm": _open_timm,
    "torchvision": _open_torchvision,
    "transformers": _open_transformers,
    "depth": _open_depth,
}


# -- running -------------------------------------------------------------------------------------------------------


class _Settled:
    """What eyes and ears share: a model on its device, half precision on a GPU, and clear words where memory ends."""

    def __init__(self, torch: Any, looks: Looks, model: _Model) -> None:
        self.torch, self.model, self.device = torch, model, looks.device
        self.name, self.modality = model.name, model.modality
        self.frames = looks.frames
        self.batch = looks.batch or 8
        said = [model.identity, model.prepare and str(model.prepare)]
        self.identity = f"weights {model.identity}, settings {content_hash(said)}"

    def run(self, given: Any) -> Floats:
        torch = self.torch
        kind: Literal["cuda", "cpu"] = "cuda" if self.device.startswith("cuda") else "cpu"
        try:
            with torch.inference_mode(), torch.autocast(kind, dtype=torch.float16, enabled=kind == "cuda"):
                rows: Floats = self.model.run(given.to(self.device)).float().cpu().numpy()
        except (torch.OutOfMemoryError, MemoryError):
            raise UserError(
                f"the memory of '{self.device}' does not hold a batch of {len(given)}.",
                hint=f"give --batch {max(1, self.batch // 4)}",
            ) from None
        return rows


class _Eyes:
    """A model that sees: images are pooled over a window, clips are given whole."""

    def __init__(self, settled: _Settled) -> None:
        self._settled, self._model = settled, settled.model
        assert self._model.prepare is not None
        self._prepare = self._model.prepare
        self.name, self.identity, self.modality = settled.name, settled.identity, settled.modality
        self.batch = settled.batch
        blank = np.zeros((self._prepare.height(_SOME), *_SIDE, 3), np.uint8)
        self.width = self.rows([[blank] * self.window(1.0).frames], 1.0).shape[1]
        self.shape = self._model.shape

    def window(self, seconds: float) -> Window:
        images = 1 if self._model.layer else max(1, round(_IMAGES_A_SECOND * seconds))
        usual = self._model.frames or images
        return Window(seconds, self._settled.frames or usual)

    def height(self, film: Film) -> int:
        return self._prepare.height(film)

    def rows(self, windows: Sequence[Any], seconds: float) -> Floats:  # noqa: ARG002 - the protocol's
        torch, device = self._settled.torch, self._settled.device
        # windows overlap: a picture that several of them share is seen once
        unique = {id(image): image for window in windows for image in window}
        places = {key: place for place, key in enumerate(unique)}
        members = np.array([[places[id(image)] for image in window] for window in windows])
        pixels = self._prepare(torch, list(unique.values()), device)
        if self._model.frames:
            return self._settled.run(pixels[torch.from_numpy(members).to(device)])
        size = self.batch * _IMAGES_A_SECOND
        parts = [self._settled.run(pixels[at : at + size]) for at in range(0, len(pixels), size)]
        rows: Floats = np.concatenate(parts)[members].mean(axis=1)
        return rows


_SIDE: Final = (320,)
_SOME: Final = Film(Path(), 1.0, 320, 320, False)


class _Ears:
    """A model that hears."""

    shape: tuple[int, ...] = ()

    def __init__(self, settled: _Settled) -> None:
        self._settled = settled
        self.name, self.identity, self.modality = settled.name, settled.identity, settled.modality
        self.batch = settled.batch
        self.width = self.rows([np.zeros(AUDIO_RATE, np.float32)], 1.0).shape[1]

    def window(self, seconds: float) -> Window:
        return Window(seconds)

    def height(self, film: Film) -> int:
        raise NotImplementedError("sound has no height")

    def rows(self, windows: Sequence[Any], seconds: float) -> Floats:
        from scipy.signal import resample_poly

        listen = self._settled.model.listen
        assert listen is not None
        whole = round(seconds * AUDIO_RATE)
        filled = [np.pad(w, (0, max(0, whole - len(w)))) for w in windows]
        slow = [resample_poly(w, 1, AUDIO_RATE // _SPEECH_RATE).astype(np.float32) for w in filled]
        return self._settled.run(listen(slow))
