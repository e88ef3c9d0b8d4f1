"""Networks that embed frames in 128 numbers, and how they learn that from videos of one procedure without labels.

Rows of features go through a small network, maps of a layer through the convolutions of the paper, and frames through
ResNet-50 as far as its third layer and then these. Each row is looked at with the one before it. Source: Bansal et al. 2022
("My View is the Best View"), Section 4.1, and its released code. This module imports torch: import it late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from proctor.errors import UserError
from proctor.learn.features.backbones import load_library
from proctor.learn.procedures.losses import c_idm, cycle_back
from proctor.learn.settings import TrainSettings
from proctor.learn.trainer import Show, Trained, device_of, fit, seeded

__all__ = [
    "FAR",
    "USUAL",
    "FrameNetwork",
    "MapNetwork",
    "Method",
    "ProcedureEmbedder",
    "RowNetwork",
    "cut_resnet",
    "resnet_base",
]

Items = NDArray[np.int64]
Method = Literal["tcc", "cidm"]

WIDTH: Final = 128
HIDDEN: Final = 256
DROPOUT: Final = 0.1
CONTEXT: Final = 2
"""Rows that are looked at together: the row and the one before it."""

SAMPLED: Final = 32
"""Frames of each video of a batch, drawn anew each time."""

FAR: Final = 10.0
"""Seconds: sigma of C-IDM as published, 300 frames at thirty a second."""

USUAL: Final = TrainSettings(
    epochs=20, batch=5, lr=1e-3, weight_decay=1e-5, pos_weight=1.0, clip=None, patience=None, plateau=None
)
"""Of rows of features. The paper trains its larger network with a rate of 1e-4, 10,000 batches of 2 or 5 videos, four to a step."""

BATCHES: Final = 50
"""Of an epoch: there is no other end of one, since frames are drawn."""

_CHECKED: Final = 8
_CHUNK: Final = 1_024


class RowNetwork(nn.Module):
    """Rows (N, context, width) to (N, 128); over time the first layer is a convolution of ``context`` rows.

    Args:
        mean: of each number of a row, likewise ``deviation``; shape (width,).
        deviation: above 0.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, mean: Tensor, deviation: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("deviation", deviation)
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Dropout(DROPOUT), nn.Linear(CONTEXT * len(mean), HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, WIDTH)
        )  # fmt: skip

    def forward(self, rows: Tensor) -> Tensor:
        """Embed rows."""
        found: Tensor = self.layers((rows - self.mean) / self.deviation)
        return found


class MapNetwork(nn.Module):
    """Maps (N, context, channels, height, width) to (N, 128), as published."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Dropout(DROPOUT)]
        for before in (channels, HIDDEN):
            layers += [nn.Conv3d(before, HIDDEN, 3, padding=1), nn.BatchNorm3d(HIDDEN), nn.ReLU()]
        layers += [nn.AdaptiveMaxPool3d(1), nn.Flatten()]
        for _ in range(2):
            layers += [nn.Dropout(DROPOUT), nn.Linear(HIDDEN, HIDDEN), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(HIDDEN, WIDTH))

    def forward(self, maps: Tensor) -> Tensor:
        """Embed maps."""
        found: Tensor = self.layers(maps.transpose(1, 2))
        return found


class FrameNetwork(nn.Module):
    """Frames (N, context, 3, 168, 168) of numbers from 0 to 255 to (N, 128).

    Args:
        base: from pictures (N, 3, height, width) to maps (N, channels, height, width); see ``resnet_base``.
        channels: of its maps.
    """

    def __init__(self, base: nn.Module, channels: int = 1_024) -> None:
        super().__init__()
        self.base = base
        self.head = MapNetwork(channels)

    def forward(self, frames: Tensor) -> Tensor:
        """Embed frames."""
        maps = self.base(frames.flatten(0, 1) / 127.5 - 1)
        found: Tensor = self.head(maps.unflatten(0, frames.shape[:2]))
        return found


def resnet_base(weights: Path) -> nn.Module:
    """Return ResNet-50 as far as its third layer, with the weights of a file of torchvision's; nothing is downloaded.

    Args:
        weights: such as ``resnet50-0676ba61.pth``.

    Raises:
        UserError: without torchvision, or if the file cannot be read or is of another network.
    """
    models = load_library("torchvision").models
    return cut_resnet(models.resnet50(weights=None), weights)


def cut_resnet(network: nn.Module, weights: Path) -> nn.Module:
    """Give a residual network its weights, and cut it after ``layer3``.

    Raises:
        UserError: if the file cannot be read, or is of another network.
    """
    try:
        state: Any = torch.load(weights, "cpu", weights_only=True)
        network.load_state_dict(state)
    except OSError as error:
        raise UserError(
            f"the weights cannot be read: {error.strerror or error}.",
            where=str(weights),
            hint="download the file of torchvision's ResNet-50 and name it",
        ) from None
    except Exception as error:  # whatever pickle makes of a damaged file, and torch of one of another network
        raise UserError(
            f"these are no weights of this network: {str(error).splitlines()[0]}",
            where=str(weights),
            hint="download the file of torchvision's ResNet-50 again",
        ) from None
    parts = dict(network.named_children())
    return nn.Sequential(
        *(parts[name] for name in ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3"))
    )


@dataclass
class ProcedureEmbedder:
    """What learns an embedding of the recordings of one procedure (``trainer.Learner``).

    Attributes:
        rows: features of each recording, shape (T, width); at least one recording, of the same width.
        seconds: from one row to the next.
        shape: of a row that is a map, (channels, height, width); empty where it is a vector.
        method: cycles between videos, or these and C-IDM.
        idm_weight: of C-IDM, which is a sum over pairs of frames; published: 1, and 0.1 in an example.
        far: seconds; C-IDM pushes rows apart that are farther from each other than this.
        training: how.
        published: with the mistakes of the released code (docs/procedure-learning.md).
        seed: of weights and everything that is drawn.
        module: the network; rows of features need no ``base``.
    """

    rows: Mapping[str, NDArray[np.float16]]
    seconds: float
    shape: tuple[int, ...] = ()
    method: Method = "tcc"
    idm_weight: float = 0.01
    far: float = FAR
    training: TrainSettings = USUAL
    published: bool = False
    seed: int = 0
    module: nn.Module = field(init=False)

    def __post_init__(self) -> None:
        self.ids = sorted(self.rows)
        with seeded(self.seed):
            self.module = MapNetwork(self.shape[0]) if self.shape else RowNetwork(*self._moments())
        self.device = device_of(self.training)
        self.lowest = np.inf

    def fit(self, folder: Path | None = None, show: Show | None = None) -> Trained:
        """Train; what the folder holds already is gone on with.

        Raises:
            UserError: with one recording only, or if the training fails (see ``trainer.fit``).
        """
        if len(self.ids) < 2:
            raise UserError(
                "cycles between videos need two recordings of an activity, and there is one.",
                where=f"recording '{self.ids[0]}'",
                hint="add features of others, or embed nothing (--method none)",
            )
        about = {
            "method": self.method, "idm_weight": self.idm_weight, "far": self.far, "published": self.published,
            "recordings": self.ids,
        }  # fmt: skip
        return fit(self, self.training, folder, seed=self.seed, about=about, show=show)

    def embed(self) -> dict[str, NDArray[np.float32]]:
        """Return every row of every recording embedded, shape (T, 128); the module is put into evaluation mode."""
        self.module.eval()
        found = {}
        with torch.inference_mode():
            for id_ in self.ids:
                count = len(self.rows[id_])
                parts = [
                    self.module(self._seen(id_, np.arange(first, min(first + _CHUNK, count)), testing=True))
                    for first in range(0, count, _CHUNK)
                ]
                found[id_] = self._scaled(torch.cat(parts)[None])[0].float().cpu().numpy()
        return found

    # -- what the trainer asks for

    def batches(self, generator: np.random.Generator) -> Sequence[Items]:
        """Return batches of different recordings."""
        self.lowest = np.inf
        most = 2 if self.published else self.training.batch
        size = min(max(most, 2), len(self.ids))
        return [np.sort(generator.choice(len(self.ids), size, replace=False)) for _ in range(BATCHES)]

    def loss(self, items: Items) -> Tensor:
        """Return the loss of recordings, of frames that are drawn from each."""
        generator = np.random.default_rng(int(torch.randint(2**62, ())))
        loss = self._loss(items, generator)
        self.lowest = min(self.lowest, float(loss.detach()))
        return loss

    def validate(self) -> float:
        """Return the loss of frames that are the same each time, negative; as published the lowest of one batch."""
        if self.published:
            return -self.lowest
        generator = np.random.default_rng([self.seed, len(self.ids)])
        batches = [b for _ in range(_CHECKED // BATCHES + 1) for b in self.batches(generator)][:_CHECKED]
        return -float(np.mean([float(self._loss(items, generator)) for items in batches]))

    def _loss(self, items: Items, generator: np.random.Generator) -> Tensor:
        ids = [self.ids[item] for item in items.tolist()]
        counts = [len(self.rows[id_]) for id_ in ids]
        # frames of a video, in order; of short ones some twice
        drawn = [np.sort(generator.choice(n, SAMPLED, replace=n < SAMPLED)) for n in counts]
        seen = torch.cat([self._seen(id_, places) for id_, places in zip(ids, drawn, strict=True)])
        embedded = self._scaled(self.module(seen).unflatten(0, (len(ids), SAMPLED)))
        places = torch.from_numpy(np.stack(drawn)).to(self.device, torch.float32)
        lengths = torch.tensor([[n] for n in counts], device=self.device)
        # Differences of squares: half the digits would be none at all.
        with torch.autocast(self.device.type, enabled=False):
            shares = places / lengths
            loss = cycle_back(embedded.float(), shares, published=self.published)
            if self.method == "cidm":
                times = places * self.seconds
                loss = loss + self.idm_weight * c_idm(
                    embedded.float(), times, shares, sigma=self.far, published=self.published
                )
        return loss

    # -- rows as tensors

    def _seen(self, id_: str, places: Items, *, testing: bool = False) -> Tensor:
        """Return rows with their context, (N, context, width) or (N, context, C, H, W); of the first row it is the row itself."""
        rows = self.rows[id_]
        beside = places + (1 if self.published and not testing else -1)
        both = np.stack([places, beside.clip(0, len(rows) - 1)], axis=1)
        found = torch.from_numpy(np.asarray(rows[both], np.float32)).to(self.device)
        if self.published and testing and isinstance(self.module, RowNetwork):
            # Normalised rows are taken for pixels and scaled once more; what the network sees hardly differs.
            mean, deviation = self.module.mean, self.module.deviation
            again = (found - mean) / deviation / 127.5 - 1
            found = again * deviation + mean
        return found.reshape(*found.shape[:2], *self.shape) if self.shape else found

    def _scaled(self, embedded: Tensor) -> Tensor:
        """Return embedded videos (videos, frames, width) as they are, as published over the norm of all of each video."""
        return embedded / embedded.flatten(1).norm(dim=1)[:, None, None] if self.published else embedded

    def _moments(self) -> tuple[Tensor, Tensor]:
        """Return mean and deviation of each number of a row over all recordings; 1 for what never changes."""
        count = sum(len(rows) for rows in self.rows.values())
        mean = sum(rows.sum(0, dtype=np.float64) for rows in self.rows.values()) / count
        squares = sum(((rows - mean) ** 2).sum(0) for rows in self.rows.values()) / count
        deviation = np.sqrt(squares)
        deviation[deviation < 1e-6 * np.maximum(1.0, np.abs(mean))] = 1.0
        return torch.tensor(mean, dtype=torch.float32), torch.tensor(deviation, dtype=torch.float32)
