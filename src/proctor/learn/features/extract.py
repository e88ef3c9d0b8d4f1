"""From one video to the rows of its features: windows are looked at or listened to in batches, by any extractor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.features.plain import (
    FRAMES_A_SECOND,
    HEIGHT,
    PLAIN_COLUMNS,
    SOUND_COLUMNS,
    picture_features,
    sound_features,
)
from proctor.learn.features.store import Modality
from proctor.learn.features.windows import Film, Window, iter_images, iter_sounds, look, schedule, starts_of

__all__ = ["SPECS", "Extracted", "Extractor", "Looks", "extract_video", "open_extractor"]

Floats = NDArray[np.float32]

SPECS: Final = (
    ("plain", "colours, edges, motion and flow; no weights"),
    ("plain-sound", "log-mel bands and cepstra; no weights"),
    ("timm[:NAME]", "an image model of timm; NAME where the folder has no config.json"),
    ("torchvision:NAME@LAYER", "maps of a layer of an image model, also timm:NAME@LAYER; large"),
    ("torchvision:NAME", "an image or video model of torchvision"),
    ("transformers", "an image, video or sound model of transformers, CLIP's picture side too"),
    ("depth", "depth estimated by a model of transformers, in statistics"),
)
"""What ``open_extractor`` takes, and what it is."""


class Extractor(Protocol):
    """Turns windows into rows.

    Attributes:
        name: of the backbone, for the store.
        identity: changes with everything that changes the rows: weights, frames, preparation.
        modality: what is looked at.
        width: numbers a row.
        batch: windows that are given at a time.
        shape: of a row that is a map, (channels, height, width); else empty.
    """

    name: str
    identity: str
    modality: Modality
    width: int
    batch: int
    shape: tuple[int, ...]

    def window(self, seconds: float) -> Window:
        """Return a window of this length with as many frames as are wanted; none for sound."""
        ...

    def height(self, film: Film) -> int:
        """Return the height in pixels that frames of a film should have."""
        ...

    def rows(self, windows: Sequence[Any], seconds: float) -> Floats:
        """Return a row for each window, its images or its samples; shape (windows, width).

        Raises:
            UserError: if the memory does not suffice.
        """
        ...


@dataclass(frozen=True)
class Looks:
    """Who looks, and how; small and picklable, since it travels to workers.

    Attributes:
        spec: one of ``SPECS``.
        weights: local folder of the weights.
        windows: seconds of each kind of window.
        frames: of one window; the extractor's own number when None.
        batch: windows at a time; the extractor's own number when None.
        device: ``cpu``, ``cuda``, ``cuda:1`` …
        threads: of torch, for rows that do not depend on the machine; as it likes when None.
    """

    spec: str
    weights: Path | None = None
    windows: tuple[float, ...] = (1.0,)
    frames: int | None = None
    batch: int | None = None
    device: str = "cpu"
    threads: int | None = None


@dataclass(frozen=True)
class Extracted:
    """The rows of one video for each kind of window, shape (T, width) each, and what was odd.

    Attributes:
        rows: in the order of ``Looks.windows``.
        silent: its sound was asked for, and it has none.
        seconds: of the video.
    """

    rows: tuple[Floats, ...]
    silent: bool
    seconds: float


@dataclass
class _Plain:
    frames: int | None
    name: str = "plain"
    modality: Modality = "video"
    width: int = len(PLAIN_COLUMNS)
    batch: int = 1
    shape: tuple[int, ...] = ()
    identity: str = field(init=False)

    def __post_init__(self) -> None:
        self.identity = f"version 1, {HEIGHT} pixels high"

    def window(self, seconds: float) -> Window:
        return Window(seconds, self.frames or max(2, round(seconds * FRAMES_A_SECOND)))

    def height(self, film: Film) -> int:
        # a film that stands upright keeps the pixels that one on its side has
        return HEIGHT if film.width >= film.height else 2 * round(HEIGHT * film.height / film.width / 2)

    def rows(self, windows: Sequence[Any], seconds: float) -> Floats:
        return np.stack([picture_features(images, seconds / len(images)) for images in windows])


@dataclass
class _PlainSound:
    name: str = "plain-sound"
    identity: str = "version 1"
    modality: Modality = "audio"
    width: int = len(SOUND_COLUMNS)
    batch: int = 1
    shape: tuple[int, ...] = ()

    def window(self, seconds: float) -> Window:
        return Window(seconds)

    def height(self, film: Film) -> int:
        raise NotImplementedError("sound has no height")

    def rows(self, windows: Sequence[Any], seconds: float) -> Floats:  # noqa: ARG002 - the protocol's
        return np.stack([sound_features(samples) for samples in windows])


@lru_cache(maxsize=1)
def open_extractor(looks: Looks) -> Extractor:
    """Return who looks; models stay loaded for the next video.

    Raises:
        UserError: if there is no such extractor, its weights are missing, are of another model or cannot be read.
        MissingExtraError: if a package is not installed.
    """
    kind: Literal["plain", "plain-sound"] | str = looks.spec.partition(":")[0]
    if looks.spec in ("plain", "plain-sound"):
        if looks.weights is not None:
            raise UserError(f"{looks.spec} features need no weights.", hint="leave --weights out")
        return _Plain(looks.frames) if kind == "plain" else _PlainSound()
    if kind in ("timm", "torchvision", "transformers", "depth"):
        from proctor.learn.features.backbones import open_backbone

        return open_backbone(looks)
    raise UserError(
        f"there are no features {looks.spec!r}.",
        hint="there are " + "; ".join(f"{name} ({what})" for name, what in SPECS),
    )


def extract_video(path: Path, looks: Looks) -> Extracted:
    """Return the features of a video: it is decoded once, for all kinds of windows.

    Raises:
        UserError: if the video cannot be read or holds no frame, or the extractor cannot be opened.
    """
    extractor = open_extractor(looks)
    film = look(path)
    windows = [extractor.window(seconds) for seconds in looks.windows]
    count = len(starts_of(film.seconds))
    found = [np.zeros((count, extractor.width), np.float32) for _ in windows]
    if extractor.modality == "audio":
        stream: Any = iter_sounds(film, windows)
    else:
        stream = iter_images(path, schedule(film.seconds, windows), extractor.height(film))
    waiting: list[list[tuple[int, Any]]] = [[] for _ in windows]

    def flush(kind: int) -> None:
        places, batch = zip(*waiting[kind], strict=True)
        rows = extractor.rows(batch, windows[kind].seconds)
        found[kind][list(places)] = rows
        waiting[kind].clear()

    for kind, row, seen in stream:
        waiting[kind].append((row, seen))
        if len(waiting[kind]) >= extractor.batch:
            flush(kind)
    for kind in range(len(windows)):
        if waiting[kind]:
            flush(kind)
    return Extracted(tuple(found), extractor.modality == "audio" and not film.sound, film.seconds)
