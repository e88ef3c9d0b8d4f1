"""Plain features: colours, edges, motion, flow and sound, computed without any weights, so that the whole way runs anywhere.

All columns lie around 0 to 1 (shares and differences as square roots), so that a network takes them as they are. Every column
has a name: ``PLAIN_COLUMNS`` (136) for pictures, ``SOUND_COLUMNS`` (112) for sound; docs/features.md explains the groups.
Both numbers are multiples of eight, as the heads of a transformer want it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from proctor.learn.features.windows import AUDIO_RATE
from proctor.media.paint import Image

__all__ = [
    "FRAMES_A_SECOND",
    "HEIGHT",
    "PLAIN_COLUMNS",
    "SOUND_COLUMNS",
    "coarse_flow",
    "log_mel",
    "mel_filters",
    "picture_features",
    "sound_features",
]

Floats = NDArray[np.float32]

HEIGHT: Final = 96
"""Pixels of the frames that plain features look at."""
FRAMES_A_SECOND: Final = 8

_GRID: Final = 4
_SHADES: Final = 4
_DIRECTIONS: Final = 8
_COMPASS: Final = tuple(f"{360 // _DIRECTIONS * k}°" for k in range(_DIRECTIONS))
_CELLS: Final = tuple(f"row {y} column {x}" for y in range(_GRID) for x in range(_GRID))
_QUARTERS: Final = ("top left", "top right", "bottom left", "bottom right")

PLAIN_COLUMNS: Final[tuple[str, ...]] = (
    *(f"{what} of {c}" for what in ("mean", "spread") for c in ("red", "green", "blue")),
    "contrast",
    "colourfulness",
    *(f"colour {r}{g}{b}" for r in range(_SHADES) for g in range(_SHADES) for b in range(_SHADES)),
    *(f"brightness {cell}" for cell in _CELLS),
    "brightness change",
    "edges",
    *(f"edges across {d}" for d in _COMPASS),
    "motion",
    "motion peak",
    *(f"motion {cell}" for cell in _CELLS),
    "flow right",
    "flow down",
    "flow speed",
    "flow peak",
    *(f"flow towards {d}" for d in _COMPASS),
    *(f"flow {axis} {q}" for q in _QUARTERS for axis in ("right", "down")),
)
"""Angles turn from right (0°) over down (90°), as rows and columns of a picture count."""


def picture_features(images: Sequence[Image], seconds: float) -> Floats:
    """Return the columns ``PLAIN_COLUMNS`` of one window.

    Args:
        images: its frames in order, each height × width × 3; at least one.
        seconds: from one frame to the next.

    Returns:
        shape (len(PLAIN_COLUMNS),).
    """
    pixels = np.stack(images)
    planes: Floats = np.ascontiguousarray(pixels.reshape(-1, 3).T).astype(np.float32) / np.float32(255)
    luma: Floats = (np.array([0.299, 0.587, 0.114], np.float32) @ planes).reshape(pixels.shape[:3])
    steps = np.abs(np.diff(luma, axis=0)) if len(luma) > 1 else np.zeros_like(luma)
    row = np.concatenate(
        [
            planes.mean(axis=1),
            planes.std(axis=1),
            [luma.std(), (planes.max(axis=0) - planes.min(axis=0)).mean()],
            _colours(pixels),
            _cells(luma.mean(axis=0)),
            [luma.mean(axis=(1, 2)).std()],
            _edges(luma[len(luma) // 2]),
            [np.sqrt(steps.mean()), np.sqrt(steps.mean(axis=(1, 2)).max())],
            np.sqrt(_cells(steps.mean(axis=0))),
            _flow_columns(luma, seconds),
        ]
    )
    return row.astype(np.float32)


def _colours(pixels: NDArray[np.uint8]) -> Floats:
    """Return the root of the share of pixels in each of 4 × 4 × 4 boxes of colour."""
    bins = pixels // (256 // _SHADES)
    codes = (bins[..., 0] * _SHADES + bins[..., 1]) * _SHADES + bins[..., 2]
    shares = np.bincount(codes.ravel(), minlength=_SHADES**3) / codes.size
    return np.sqrt(shares).astype(np.float32)


def _cells(plane: Floats) -> Floats:
    """Return the means over a grid of 4 × 4 cells."""
    rows = np.array_split(plane, _GRID, axis=0)
    return np.array([cell.mean() for r in rows for cell in np.array_split(r, _GRID, axis=1)], np.float32)


def _directed(right: Floats, down: Floats) -> Floats:
    """Return the share of all lengths that points in each of eight directions, zeros where nothing is long."""
    lengths = np.hypot(right, down).ravel()
    total = lengths.sum()
    turned = np.arctan2(down, right).ravel() / (2 * np.pi) * _DIRECTIONS
    bins = np.round(turned).astype(np.int64) % _DIRECTIONS
    sums = np.bincount(bins, weights=lengths, minlength=_DIRECTIONS)
    return (sums / total if total > 1e-6 else sums * 0).astype(np.float32)


def _edges(luma: Floats) -> Floats:
    slopes: tuple[Floats, Floats] = tuple(np.gradient(luma))
    down, right = slopes
    return np.concatenate([[np.sqrt(np.hypot(right, down).mean())], _directed(right, down)])


# -- optical flow --------------------------------------------------------------------------------------------------

_BLOCK: Final = 32
_STEP: Final = 16
_REACH: Final = 10
"""Pixels that a block may move from one frame to the next; farther is not told from noise."""
_STILL: Final = 0.01
"""Mean difference of a block (of 1) below which nothing moved in it: coding noise."""
_FLAT: Final = 0.02
"""Spread of a block's brightness below which there is nothing in it that could be found again."""


def coarse_flow(before: Floats, after: Floats) -> Floats:
    """Return how blocks of 32 × 32 pixels, 16 apart, moved between two frames, by phase correlation.

    Blocks that did not change, are empty before or after, or moved too far have no flow. Source: Kuglin and Hines (1975), with a parabola through the peak.

    Args:
        before: brightness from 0 to 1, shape (height, width), at least 32 × 32.
        after: the same a moment later.

    Returns:
        pixels to the right and down of each block; shape (rows, columns, 2).
    """
    old, new = _blocks(before), _blocks(after)
    moved = np.abs(new - old).mean(axis=(-2, -1)) > _STILL
    moved &= np.minimum(old.std(axis=(-2, -1)), new.std(axis=(-2, -1))) > _FLAT
    flow = np.zeros((*moved.shape, 2), np.float32)
    if moved.any():
        flow[moved] = _shifts(old[moved], new[moved])
    return flow


def _blocks(plane: Floats) -> Floats:
    return np.lib.stride_tricks.sliding_window_view(plane, (_BLOCK, _BLOCK))[::_STEP, ::_STEP]


@lru_cache(maxsize=1)
def _taper() -> Floats:
    edge = np.hanning(_BLOCK + 2)[1:-1]
    return np.outer(edge, edge).astype(np.float32)


def _shifts(old: Floats, new: Floats) -> Floats:
    """Return the shift (right, down) of each pair of blocks; shape (blocks, 2)."""
    spectra = [
        scipy.fft.rfft2((b - b.mean(axis=(-2, -1), keepdims=True)) * _taper(), axes=(-2, -1))
        for b in (old, new)
    ]
    cross = spectra[1] * np.conj(spectra[0])
    size = np.abs(cross)
    # half whitened: full whitening gives frequencies without any energy the same say as the picture's own
    cross /= np.sqrt(size) + 1e-3 * size.max(axis=(-2, -1), keepdims=True) ** 0.5 + 1e-12
    surface = scipy.fft.irfft2(cross, s=(_BLOCK, _BLOCK), axes=(-2, -1))
    middle = np.roll(surface, (_BLOCK // 2, _BLOCK // 2), axis=(-2, -1))
    low, high = _BLOCK // 2 - _REACH, _BLOCK // 2 + _REACH + 1
    near = middle[:, low:high, low:high]
    span = high - low
    best = near.reshape(len(near), -1).argmax(axis=1)
    y, x = best // span, best % span
    every = np.arange(len(near))
    down = y + _between(*(near[every, np.clip(y + d, 0, span - 1), x] for d in (-1, 0, 1)))
    right = x + _between(*(near[every, y, np.clip(x + d, 0, span - 1)] for d in (-1, 0, 1)))
    found = (x > 0) & (x < span - 1) & (y > 0) & (y < span - 1)
    return np.where(found, [right - _REACH, down - _REACH], 0).T.astype(np.float32)


def _between(left: Floats, peak: Floats, right: Floats) -> Floats:
    """Return where between -0.5 and 0.5 a parabola through three values has its top."""
    bend = left - 2 * peak + right
    safe = np.where(np.abs(bend) < 1e-12, 1.0, bend)
    top: Floats = np.where(np.abs(bend) < 1e-12, 0.0, 0.5 * (left - right) / safe)
    return np.clip(top, -0.5, 0.5)


def _flow_columns(luma: Floats, seconds: float) -> Floats:
    """Return the 20 columns of flow; speeds are in heights of the picture a second."""
    small = len(luma) < 2 or min(luma.shape[1:]) < _BLOCK
    if small:
        return np.zeros(4 + _DIRECTIONS + 2 * len(_QUARTERS), np.float32)
    flows = np.stack([coarse_flow(a, b) for a, b in pairwise(luma)])
    flows /= luma.shape[1] * seconds
    right, down = flows[..., 0], flows[..., 1]
    speeds = np.hypot(right, down)
    mean = flows.mean(axis=0)
    halves = [half for part in np.array_split(mean, 2, axis=0) for half in np.array_split(part, 2, axis=1)]
    quarters = [value for half in halves for value in half.reshape(-1, 2).mean(axis=0)]
    return np.concatenate(
        [
            [right.mean(), down.mean(), speeds.mean(), speeds.max()],
            _directed(right, down),
            quarters,
        ]
    )


# -- sound ---------------------------------------------------------------------------------------------------------

_MELS: Final = 40
_CEPSTRA: Final = 15
_HERTZ: Final = (20.0, 8_000.0)
_FRAME: Final = AUDIO_RATE // 40
_HOP: Final = AUDIO_RATE // 100
_QUIET: Final = 1e-10

SOUND_COLUMNS: Final[tuple[str, ...]] = (
    *(f"mel {k} {what}" for what in ("mean", "spread") for k in range(_MELS)),
    *(f"cepstrum {k} {what}" for what in ("mean", "spread") for k in range(_CEPSTRA)),
    "loudness",
    "loudest",
)


@lru_cache(maxsize=1)
def mel_filters() -> Floats:
    """Return 40 triangles, evenly spaced in mel (2595 log10(1 + f/700)) from 20 Hz to 8 kHz; shape (40, frequencies)."""
    low, high = (2595 * np.log10(1 + f / 700) for f in _HERTZ)
    corners = 700 * (10 ** (np.linspace(low, high, _MELS + 2) / 2595) - 1)
    hertz = np.fft.rfftfreq(_FRAME, 1 / AUDIO_RATE)
    rise = (hertz - corners[:-2, None]) / (corners[1:-1] - corners[:-2])[:, None]
    fall = (corners[2:, None] - hertz) / (corners[2:] - corners[1:-1])[:, None]
    return np.maximum(0, np.minimum(rise, fall)).astype(np.float32)


def log_mel(samples: Floats) -> Floats:
    """Return log10 of the power in 40 mel bands, 25 ms every 10 ms, silence at -1 and a full sine near 1.5.

    Args:
        samples: one channel at 48 kHz; what is shorter than 25 ms is filled with silence.

    Returns:
        shape (moments, 40).
    """
    filled = np.pad(samples, (0, max(0, _FRAME - len(samples))))
    frames = np.lib.stride_tricks.sliding_window_view(filled, _FRAME)[::_HOP]
    window = np.hanning(_FRAME).astype(np.float32)
    power = np.abs(scipy.fft.rfft(frames * window, axis=1)) ** 2 / float((window**2).sum())
    levels: Floats = np.log10(power @ mel_filters().T + _QUIET)
    return (levels / 5 + 1).astype(np.float32)


def sound_features(samples: Floats) -> Floats:
    """Return the columns ``SOUND_COLUMNS`` of one window: mel bands, cepstra (their cosine transform) and loudness.

    Args:
        samples: one channel at 48 kHz.

    Returns:
        shape (len(SOUND_COLUMNS),).
    """
    levels = log_mel(samples)
    cepstra = scipy.fft.dct(levels, norm="ortho", axis=1)[:, :_CEPSTRA] / np.sqrt(_MELS)
    power = np.square(samples) if len(samples) else np.zeros(1)
    loud = [np.log10(float(value) + _QUIET) / 5 + 1 for value in (power.mean(), power.max())]
    row = [levels.mean(axis=0), levels.std(axis=0), cepstra.mean(axis=0), cepstra.std(axis=0), loud]
    return np.concatenate(row).astype(np.float32)
