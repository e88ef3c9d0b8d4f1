"""Decoded sequences against what people did: edit score, mistakes of order, and missing steps; paired over recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proctor.learn.localize.order_prior import OrderPrior
from proctor.learn.localize.readings import late_steps
from proctor.learn.samples import StepData
from proctor.metrics.localization import Segments
from proctor.metrics.segmentation import edit_distance

__all__ = ["FIGURES", "Sequenced", "f1_sums", "performed", "tagged_out_of_order"]

Floats = NDArray[np.float64]
FIGURES = ("edit", "order", "order_tagged", "missing")


@dataclass(frozen=True)
class Sequenced:
    """A recording as a sequence of steps: what was begun, in order, what is late by the graph, and what never occurs."""

    begun: tuple[str, ...]
    late: frozenset[str]
    missing: frozenset[str]


def performed(segments: Segments, activities: Mapping[str, str], prior: OrderPrior) -> dict[str, Sequenced]:
    """Return the sequence of each recording by the starts of its segments; steps that its activity lacks are passed over."""
    found = {}
    for code, video in enumerate(map(str, segments.videos)):
        if video not in activities:
            continue
        of = prior.activities[activities[video]]
        place = {step: k for k, step in enumerate(of.steps)}
        rows = np.flatnonzero(segments.video == code)
        rows = rows[np.lexsort((segments.label[rows], segments.end[rows], segments.start[rows]))]
        begun = [step for row in rows if (step := str(segments.labels[segments.label[row]])) in place]
        late = late_steps(of, [place[step] for step in begun])
        found[video] = Sequenced(
            tuple(begun), frozenset(of.steps[k] for k, _ in late), frozenset(of.steps) - set(begun)
        )
    return found


def tagged_out_of_order(data: StepData, recordings: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return the executed steps that annotators tagged as mistakes of order, by recording."""
    tagged = {}
    for id_ in recordings:
        if id_ in data.performances:
            performance = data.performances[id_]
            pairs = zip(performance.keys, performance.recording.segments, strict=True)
            tagged[id_] = frozenset(
                key for key, s in pairs if s.start is not None and any(m.kind == "order" for m in s.mistakes)
            )
    return tagged


def f1_sums(
    given: Mapping[str, Sequenced], truth: Mapping[str, Sequenced], tagged: Mapping[str, frozenset[str]]
) -> Floats:
    """Return what the figures are made of, a row for each recording of ``truth``: shape (recordings, 4, 3).

    By figure of ``FIGURES``: true positives, what was called, what was there. For the edit score: 1 - edit distance / longer
    sequence, and two ones, so that the same formula (2 x first / (second + third)) gives every figure.
    """
    rows = np.zeros((len(truth), len(FIGURES), 3))
    for row, (video, right) in zip(rows, truth.items(), strict=True):
        own = given[video]
        codes = {step: n for n, step in enumerate(dict.fromkeys((*right.begun, *own.begun)))}
        longer = max(len(own.begun), len(right.begun), 1)
        distance = edit_distance([codes[s] for s in right.begun], [codes[s] for s in own.begun])
        row[0] = 1 - distance / longer, 1.0, 1.0
        pairs = (
            (own.late, right.late),
            (own.late, tagged.get(video, frozenset())),
            (own.missing, right.missing),
        )
        for n, (called, there) in enumerate(pairs, start=1):
            row[n] = len(called & there), len(called), len(there)
    return rows
