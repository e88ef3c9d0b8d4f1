"""Features of pictures: networks of local folders that give a grid of them, and grids that were made before."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from proctor.corpus.embed.local_models import read_config
from proctor.corpus.picture import PictureError
from proctor.errors import UserError
from proctor.learn.features.backbones import Preparation, open_network
from proctor.learn.features.store import FeatureStore
from proctor.learn.sequencing.encoders.stream import Tower
from proctor.learn.sequencing.training import Protocol

__all__ = ["Grids", "NetworkTower", "open_pictures"]

_IMAGENET: Final = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


class NetworkTower(Tower):
    """The last grid of a network: tokens of a vision transformer without its class token, or maps of a ResNet.

    Normalisation over batches stays as it was learned, so that what is seen of a picture does not depend on the others.

    Args:
        network: of transformers, timm or torchvision.
        preparation: how it wants pictures; they are scaled to its size whatever their shape.
        protocol: the paper's code takes the colours of ImageNet for every network.
    """

    def __init__(self, network: Any, preparation: Preparation, protocol: Protocol) -> None:
        super().__init__()
        self.network = getattr(network, "vision_model", network)
        size = preparation.crop or preparation.size
        self.pixels = size if isinstance(size, tuple) else (size, size)
        if protocol == "code":
            self.normal(*_IMAGENET)
        else:
            self.normal(preparation.mean, preparation.std)
        self.eval()
        with torch.no_grad():
            found = self._run(torch.zeros(1, 3, *self.pixels))
        self.features = found.shape[-1]
        self.cells = (found.shape[1], found.shape[2])

    def train(self, mode: bool = True) -> NetworkTower:
        """Train all but the normalisation over batches."""
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.eval()
        return self

    def forward(self, images: Tensor) -> Tensor:
        """Return features row by row, shape [M, w, v]."""
        return self._run(self.normalised(images)).flatten(1, 2)

    def _run(self, pixels: Tensor) -> Tensor:
        """Return features, shape [M, rows, columns, v]."""
        network = self.network
        found: Tensor
        if hasattr(network, "config"):
            found = network(pixel_values=pixels).last_hidden_state
        elif hasattr(network, "forward_features"):
            found = network.forward_features(pixels)
        else:
            found = pixels
            for name, layer in network.named_children():
                if name not in ("avgpool", "fc"):
                    found = layer(found)
        if found.ndim == 4:
            # Channels come first but in the Swin family of timm.
            last = getattr(network, "output_fmt", "NCHW") == "NHWC"
            return found if last else found.permute(0, 2, 3, 1)
        high, wide = self._patches()
        return found[:, found.shape[1] - high * wide :].reshape(len(found), high, wide, -1)

    def _patches(self) -> tuple[int, int]:
        """Return rows and columns of a vision transformer, whose tokens begin with its class token, where it has one."""
        embedding = getattr(self.network, "patch_embed", None)
        if embedding is not None:
            high, wide = embedding.grid_size
            return high, wide
        side = getattr(getattr(self.network, "config", None), "patch_size", None)
        if not isinstance(side, int):
            raise UserError("this network has no grid of features.", hint="take CLIP's ViT or a ResNet")
        return self.pixels[0] // side, self.pixels[1] // side


class Grids:
    """Features of pictures that were made before: an ``.npy`` file for each (rows, or rows and columns, of v numbers), or a store.

    Where a picture has fewer rows than others (regions that a detector found), its first row, of the whole picture, fills the gap.

    Args:
        folder: ``a/b.jpg`` has its features in ``a/b.npy`` or ``a/b.jpg.npy``; in a store, rows under its path.

    Raises:
        UserError: if there are none, or they are of several widths.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._store = FeatureStore.open(folder) if (folder / "store.json").exists() else None
        shapes: set[tuple[int, ...]]
        if self._store is not None:
            shapes = {(len(self._store.rows(i)), self._store.width) for i in self._store.recordings}
        else:
            shapes = {self._array(file).shape for file in sorted(folder.rglob("*.npy"))}
        widths = {shape[-1] for shape in shapes}
        if len(widths) != 1 or not all(len(shape) in (2, 3) and min(shape) > 0 for shape in shapes):
            raise UserError(
                f"its features have {len(widths)} widths; one is needed."
                if widths
                else "there are no features.",
                where=str(folder),
                hint="give .npy files of rows (w, v) or of a grid (rows, columns, v), all of one model",
            )
        self.features = widths.pop()
        whole = next(iter(shapes)) if len(shapes) == 1 else ()
        self.cells = whole[:2] if len(whole) == 3 else _grid(max(int(np.prod(s[:-1])) for s in shapes))

    def read(self, name: str) -> Tensor:
        """Return the features of a picture, shape [w, v].

        Raises:
            PictureError: if there are none, or they are no numbers.
        """
        wanted = self.cells[0] * self.cells[1]
        rows = torch.from_numpy(np.array(self._rows(name), np.float32)).flatten(0, -2)
        if not bool(rows.isfinite().all()):
            raise PictureError("unreadable", "its features are not finite", name)
        return torch.cat([rows, rows[:1].expand(wanted - len(rows), -1)])

    def _rows(self, name: str) -> NDArray[Any]:
        if self._store is not None:
            if name not in self._store:
                raise PictureError("missing", "the store has no features of it", name)
            return self._store.rows(name)
        inside = self.folder.resolve()
        for file in (inside / f"{name}.npy", (inside / name).with_suffix(".npy")):
            if file.is_file() and file.resolve().is_relative_to(inside):
                return self._array(file)
        raise PictureError("missing", "there are no features of it", name)

    @staticmethod
    def _array(file: Path) -> NDArray[Any]:
        try:
            found: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise UserError(
                f"these are no features: {error}.", where=str(file), hint="remove the file"
            ) from None
        return found


def _grid(cells: int) -> tuple[int, int]:
    """Return rows and columns: a square where it is one, else a single row."""
    side = round(cells**0.5)
    return (side, side) if side * side == cells else (1, cells)


def open_pictures(place: str, protocol: Protocol) -> Tower | Grids:
    """Open what gives features of pictures.

    Args:
        place: folder of a network, for torchvision with ``@NAME`` behind it, or of features.
        protocol: see ``NetworkTower``.

    Raises:
        UserError: if the folder is neither; MissingExtraError without the library.
    """
    written, _, name = place.partition("@")
    folder = Path(written).expanduser()
    if not written or not folder.is_dir():
        raise UserError(
            "there is no such folder.", where=written, hint="models are not downloaded; name a local folder"
        )
    config = read_config(folder, "config.json")
    if "model_type" in config:
        return NetworkTower(*open_network("transformers", folder, ""), protocol)
    if "architecture" in config:
        return NetworkTower(*open_network("timm", folder, name), protocol)
    if name:
        return NetworkTower(*open_network("torchvision", folder, name), protocol)
    return Grids(folder)
