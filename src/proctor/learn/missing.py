"""Which steps were left out: what the task graph asks for and nobody did. Source: CaptainCook4D (Peddi et al. 2024), Section 3.

A step that was left out has no clip, so no score of steps tells it; it follows from what else was done. ``absent`` is known when
a recording is over; ``passed_over`` while it runs, but some of those steps are only late.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.learn.context import relations_of
from proctor.learn.evaluate import Figure
from proctor.learn.samples import StepData
from proctor.metrics.classification import Options, f1_score, precision, recall

__all__ = ["Missing", "Told", "find_missing"]

Flags = NDArray[np.bool_]


class Told(msgspec.Struct, frozen=True):
    """Which steps a rule calls left out, held against the annotation."""

    called: int
    precision: Figure
    recall: Figure
    f1: Figure


class Missing(msgspec.Struct, frozen=True):
    """Steps of the task graphs, once for each recording.

    Attributes:
        n: all of them.
        positives: those that the annotation marks as missing.
        absent: the rule "no execution of it".
        passed_over: the rule "at some moment a step that comes after it in the graph has begun, and it has not".
    """

    n: int
    positives: int
    absent: Told
    passed_over: Told


def find_missing(data: StepData, recordings: Iterable[str], resamples: int) -> Missing | None:
    """Find what was left out of these recordings; None where no graph is known of any, or nothing is marked as missing.

    Args:
        data: with performances and graphs.
        recordings: ids; each is looked at once.
        resamples: of the bootstrap over recordings; 0 leaves intervals out.
    """
    parts: list[Flags] = []
    clusters: list[str] = []
    for id_ in dict.fromkeys(recordings):
        if id_ in data.performances:
            parts.append(_flags(data, id_))
            clusters += [id_] * parts[-1].shape[1]
    if not clusters:
        return None
    marked, absent, passed = np.concatenate(parts, axis=1)
    if not marked.any():
        return None
    options: Options = {"clusters": clusters, "resamples": resamples}
    return Missing(
        marked.size, int(marked.sum()), _told(marked, absent, options), _told(marked, passed, options)
    )


def _flags(data: StepData, recording_id: str) -> Flags:
    """Return which steps of the graph are marked as missing, absent, and passed over; shape (3, steps)."""
    recording = data.performances[recording_id].recording
    graph = relations_of(data, recording.activity_id)
    begun = np.full(len(graph.action), np.inf)
    marked = np.zeros(len(graph.action), np.bool_)
    for segment in recording.segments:
        node = graph.index.get(segment.step_id)
        if node is not None:
            marked[node] |= any(m.kind == "missing" for m in segment.mistakes)
            begun[node] = min(begun[node], np.inf if segment.start is None else segment.start)
    first_after = np.where(graph.above, begun[None, :], np.inf).min(axis=1)
    found: Flags = np.stack([marked, np.isinf(begun), first_after < begun])[:, graph.action]
    return found


def _told(marked: Flags, called: Flags, options: Options) -> Told:
    figures = (Figure.of(figure(marked, called, **options)) for figure in (precision, recall, f1_score))
    return Told(int(called.sum()), *figures)
