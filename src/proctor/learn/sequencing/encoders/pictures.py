"""Features of pictures: networks of local folders that give a grid of them, and grids that were made before."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from proctor.corpus.embed.local_models import read_config
from proctor.corpus.picture import PictureError
from proctor.errors import UserError
from proctor.learn.features.backbones import Preparation, open_network
from proctor.learn.sequencing.encoders.stream import Tower
from proctor.learn.sequencing.training import Protocol

__all__ = ["open_pictures"]

_IMAGENET: Final = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


class _Network(Tower):
    """The last grid of a network: tokens of a vision transformer without its class token, or maps of a ResNet.

    Normalisation over batches stays as it was learned, so that what is seen of a picture does not depend on the others.
    """

    def __init__(self, network: Any, preparation: Preparation, protocol: Protocol) -> None:
        super().__init__()
        self.network = getattr(network, "vision_model", network)
        if isinstance(getattr(network, "fc", None), nn.Linear):  # of torchvision, which gives classes alone
            maps = [layer for name, layer in network.named_children() if name not in ("avgpool", "fc")]
            self.network = nn.Sequential(*maps)
        size = preparation.crop or preparation.size
        self.pixels = high, wide = size if isinstance(size, tuple) else (size, size)
        # The paper's code takes the colours of ImageNet for every network.
        self.normal(*(_IMAGENET if protocol == "code" else (preparation.mean, preparation.std)))
        patch = getattr(getattr(self.network, "config", None), "patch_size", None)
        self.cells = 0, 0
        if isinstance(patch, int):
            self.cells = high // patch, wide // patch
        elif (embedding := getattr(self.network, "patch_embed", None)) is not None:  # timm
            self.cells = tuple(getattr(embedding, "grid_size", self.cells))
        self.eval()
        with torch.no_grad():
            found = self._run(torch.zeros(1, 3, high, wide))
        self.features, self.cells = found.shape[3], (found.shape[1], found.shape[2])

    def train(self, mode: bool = True) -> _Network:
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.eval()
        return self

    def forward(self, images: Tensor) -> Tensor:
        return self._run(self.normalised(images)).flatten(1, 2)

    def _run(self, pixels: Tensor) -> Tensor:
        """Return features, shape [M, rows, columns, v]."""
        network = self.network
        if hasattr(network, "config"):
            found: Tensor = network(pixel_values=pixels).last_hidden_state
        else:
            found = getattr(network, "forward_features", network)(pixels)
        if found.ndim == 4:  # channels come first but in the Swin family of timm
            return found if getattr(network, "output_fmt", "") == "NHWC" else found.permute(0, 2, 3, 1)
        high, wide = self.cells
        if not 0 < high * wide <= found.shape[1]:  # patches that the network has merged
            high, wide = _grid(found.shape[1])
        return found[:, found.shape[1] - high * wide :].reshape(len(found), high, wide, -1)


class _Grids(Tower):
    """Features of pictures that were made before: an ``.npy`` file for each, of rows, or rows and columns, of v numbers.

    ``a/b.jpg`` has its features in ``a/b.npy`` or ``a/b.jpg.npy``. Where a picture has fewer rows than others (regions that a
    detector found), its first row, of the whole picture, fills the gap.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder, self.read = folder.resolve(), self._read
        shapes = {_array(file).shape for file in sorted(folder.rglob("*.npy"))}
        widths = {shape[-1:] for shape in shapes}
        if len(widths) != 1 or not all(len(shape) in (2, 3) and min(shape) > 0 for shape in shapes):
            raise UserError(
                "its features are not of one width." if shapes else "there are no features.",
                where=str(folder),
                hint="give .npy files of rows (w, v) or of a grid (rows, columns, v), all of one model",
            )
        ((self.features,),) = widths
        whole: tuple[int, ...] = next(iter(shapes))[:-1] if len(shapes) == 1 else ()
        most = max(math.prod(shape[:-1]) for shape in shapes)
        self.cells = (whole[0], whole[1]) if len(whole) == 2 else _grid(most)

    def _read(self, name: str) -> Tensor:
        """Return the features of a picture, shape [w, v], or raise a PictureError."""
        try:
            files = (self.folder / f"{name}.npy", (self.folder / name).with_suffix(".npy"))
            inside = (f for f in files if f.is_file() and f.resolve().is_relative_to(self.folder))
            file = next(inside, None)
        except (OSError, ValueError):  # no file can have this name
            file = None
        if file is None:
            raise PictureError("missing", "there are no features of it", name)
        rows = torch.from_numpy(np.array(_array(file), np.float32)).flatten(0, -2)
        if not bool(rows.isfinite().all()):
            raise PictureError("unreadable", "its features are not finite", name)
        return torch.cat([rows, rows[:1].expand(self.cells[0] * self.cells[1] - len(rows), -1)])


def _array(file: Path) -> NDArray[Any]:
    try:
        found: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
        if found.dtype.kind not in "fiu":
            raise ValueError(f"they are of the kind {found.dtype}")
    except (OSError, ValueError, EOFError) as error:
        raise UserError(f"these are no features: {error}.", where=str(file), hint="remove the file") from None
    return found


def _grid(cells: int) -> tuple[int, int]:
    """Return rows and columns: a square where it is one, else a single row."""
    side = math.isqrt(cells)
    return (side, side) if side * side == cells else (1, cells)


def open_pictures(place: str, protocol: Protocol) -> Tower:
    """Open what gives features of pictures: the folder of a network, for torchvision with ``@NAME`` behind it, or of features.

    Raises:
        UserError: if the folder is neither; MissingExtraError without the library.
    """
    written, _, name = place.partition("@")
    folder = Path(written).expanduser()
    if not written or not folder.is_dir():
        hint = "models are not downloaded; name a local folder"
        raise UserError("there is no such folder.", where=written, hint=hint)
    config = read_config(folder, "config.json")
    if "model_type" in config:
        return _Network(*open_network("transformers", folder, ""), protocol)
    if "architecture" in config or name:
        library: Literal["timm", "torchvision"] = "timm" if "architecture" in config else "torchvision"
        return _Network(*open_network(library, folder, name), protocol)
    return _Grids(folder)
