"""Features of words: what is said or done in each second of a recording, as vectors of texts.

Rows are a second long; a row is the mean of the vectors of all lines that are on in it, and zeros where none is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.corpus.embed.embedder import Embedder
from proctor.datasets.interchange.subtitles import read_subrip, read_webvtt
from proctor.errors import UserError
from proctor.learn.samples import StepData
from proctor.records import Dropped, read_jsonl

__all__ = ["Line", "embed_lines", "read_lines", "step_lines"]


class Line(msgspec.Struct, frozen=True):
    """A text and the seconds in which it is on."""

    start: float
    end: float
    text: str


def read_lines(path: Path) -> tuple[tuple[Line, ...], tuple[Dropped, ...]]:
    """Read the narration of one recording: JSON Lines with ``start``, ``end`` and ``text``, SubRip or WebVTT.

    Returns:
        The lines, and what was left out: lines without words or without a length.

    Raises:
        UserError: if the file is of another kind, cannot be read, or holds no line.
    """
    ending = path.suffix.lower()
    lines: Iterable[Line]
    if ending == ".jsonl":
        lines, dropped = read_jsonl(path, Line), []
    elif ending in (".srt", ".vtt"):
        read = (read_subrip if ending == ".srt" else read_webvtt)(path)
        segments = [s for recording in read.objects for s in recording.segments]
        lines = [Line(s.start or 0.0, s.end or 0.0, s.text) for s in segments]
        dropped = list(read.dropped)
    else:
        raise UserError(
            f"narrations are .jsonl, .srt or .vtt files, not '{ending}'.",
            where=str(path),
            hint="give one file a recording, or the folder of a data set for the texts of its steps",
        )
    kept = []
    for number, line in enumerate(lines, start=1):
        if line.text.strip() and 0 <= line.start < line.end < math.inf:
            kept.append(line)
        else:
            dropped.append(Dropped(f"{path.name}:{number}", "no_line", f"{line.start} to {line.end} s"))
    if not kept:
        raise UserError("there is no line in it.", where=str(path), hint="a narration was expected")
    return tuple(kept), tuple(dropped)


def step_lines(data: StepData) -> Mapping[str, tuple[Line, ...]]:
    """Return the instructions of the steps of each recording as lines, at the times of their executions."""
    found: dict[str, list[Line]] = {}
    for sample in data.samples:
        found.setdefault(sample.recording_id, []).extend(
            Line(e.start, e.end, sample.text) for e in sample.executions
        )
    return {recording: tuple(lines) for recording, lines in found.items()}


def embed_lines(lines: Sequence[Line], embedder: Embedder) -> NDArray[np.float32]:
    """Return a row for each second up to the end of the last line; shape (T, dimension).

    Raises:
        UserError: if the embedder cannot be asked.
    """
    texts = list(dict.fromkeys(line.text for line in lines))
    vectors = dict(zip(texts, embedder.embed(texts, "passage"), strict=True))
    rows = np.zeros((math.ceil(max(line.end for line in lines)), embedder.dimension), np.float32)
    counts = np.zeros(len(rows), np.int64)
    for line in lines:
        seconds = slice(math.floor(line.start), math.ceil(line.end))
        rows[seconds] += vectors[line.text]
        counts[seconds] += 1
    means: NDArray[np.float32] = (rows / np.maximum(counts, 1)[:, None]).astype(np.float32)
    return means
