"""What streams of one room have in common: a clap heard, a flash seen, a shock felt, one room in two microphones."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from proctor.errors import MissingExtraError

__all__ = ["brightness", "flash", "loudness", "onset", "sound_offset", "spike"]

Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
SURE: Final = 10.0
"""Two sounds fit if the peak of their correlation is so many (robust) standard deviations of all places."""


def loudness(samples: np.ndarray[Any, np.dtype[Any]], rate: int) -> Floats:
    """Return the mean change from sample to sample in each whole millisecond of a sound (one channel); hum hardly counts."""
    edges = np.arange(len(samples) * 1000 // rate) * rate // 1000
    change = np.abs(np.diff(samples.astype(np.float64), prepend=samples[:1]))[: len(edges) * rate // 1000]
    found: Floats = np.add.reduceat(change, edges) if len(edges) else np.zeros(0)
    return found


def _rise(level: Floats, back: int, part: float) -> int:
    """Return the first place, at most ``back`` before that of the peak, which reaches such a part of it."""
    peak = int(np.argmax(level))
    near = max(0, peak - back)
    return near + int(np.argmax(level[near : peak + 1] >= level[peak] * part))


def onset(loud: Floats) -> float | None:
    """Return the second at which a clap begins: where it reaches a quarter of its peak; None if nothing stands out."""
    stands_out = len(loud) and loud.max() > 12 * float(np.median(loud))
    return _rise(loud, 50, 1 / 4) / 1000 if stands_out else None


def brightness(jpeg: bytes) -> float:
    """Return the mean grey level of a picture (0 to 255); NaN if it cannot be read."""
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("pillow", "capture", "Looking for a flash") from None
    try:
        with Image.open(io.BytesIO(jpeg), formats=("JPEG",)) as image:
            image.draft("L", (64, 36))
            return float(np.asarray(image.convert("L")).mean())
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return float("nan")


def flash(levels: Sequence[float]) -> int | None:
    """Return the first picture of a flash: a rise by 12 grey levels or more that other steps do not come near; None without."""
    steps = np.nan_to_num(np.diff(np.array(levels, dtype=np.float64)))
    at = int(np.argmax(steps)) if len(steps) else 0
    return at + 1 if len(steps) and steps[at] > max(12, 8 * float(np.median(np.abs(steps)))) else None


def spike(vectors: Floats) -> int | None:
    """Return the sample of a shock, the first half as far off the usual as the farthest; None without one."""
    far = np.linalg.norm(vectors - np.median(vectors, axis=0), axis=1) if len(vectors) else np.zeros(1)
    return _rise(far, 10, 1 / 2) if far.max() > 6 * np.median(far) else None


def sound_offset(ours: Floats, theirs: Floats) -> float | None:
    """Return the second of a sound at which another one of the same room begins, from their ``loudness``; None if they do not fit."""
    from scipy.signal import correlate  # (takes half a second)

    a, b = (np.maximum(np.diff(np.log(x + np.median(x) + 1e-9)), 0) for x in (ours, theirs))
    if min(len(a), len(b)) < 1_000:
        return None
    fit = correlate(a - a.mean(), b - b.mean(), method="fft")
    sure = fit.max() > SURE * 1.4826 * float(np.median(np.abs(fit)))
    return (int(np.argmax(fit)) - len(b) + 1) / 1000 if sure else None
