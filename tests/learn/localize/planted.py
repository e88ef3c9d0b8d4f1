"""Recordings with planted steps whose best possible localization is known: what a localizer is proven on.

Rows are Gaussian noise. While a step goes on they are shifted in the direction of its class; between steps, for as long as
steps take, they are not. Some executions are hidden: nothing of them shows, and only a guess at a long pause can find them. A
mistaken step is hidden more often, by a planted difference, which is what a robust protocol has to find again. Which steps a
recording has, and their order, is drawn anew for each, so that what shows says little of what is hidden.

The best localizer knows the directions, the noise and the usual lengths, and takes the likeliest course of each recording
(Viterbi). Its figures on these very recordings are the ceiling: of what shows it finds all, and it does not guess at what does
not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from proctor.learn.features.store import FeatureStore, StoreWriter
from proctor.learn.localize.data import LocalizeData, StepSpan, TimedRecording
from proctor.learn.localize.localizer import LocalizeTask
from proctor.metrics.localization import Segments, localization_scores
from proctor.metrics.localization.segments import sorted_names
from proctor.records import content_hash

__all__ = ["PlantedSteps", "plant_steps", "shuffled_steps"]

Floats = NDArray[np.float64]

_PARTS: Final = ("train", "train", "train", "val", "test", "test")
_EXECUTED: Final = 0.8
"""Chance of a step to be in a recording."""
_MISTAKEN: Final = 0.5
"""Chance of a step to be mistaken, in every other recording."""


@dataclass(frozen=True)
class PlantedSteps:
    """What was planted.

    Attributes:
        task: half of the recordings train, a sixth chooses, a third tests.
        store: of the features, one row a second.
        best: what the best localizer finds in the test recordings.
        hidden: of each execution of the test recordings, whether it is; in the order of ``task.data.truth(task.test)``.
        lost: by how much more often a mistaken step is hidden than a normal one.
    """

    task: LocalizeTask
    store: FeatureStore
    best: Segments
    hidden: NDArray[np.bool_]
    lost: float

    def ceiling(self, tiou: float = 0.5) -> float:
        """Return the mAP of the best localizer: nobody does better, but by a few right guesses at what is hidden."""
        truth = self.task.data.truth(self.task.test)
        return float(localization_scores(truth, self.best, tiou=(tiou,)).mean_ap[0])

    def chance(self, tiou: float = 0.5) -> float:
        """Return the mAP of who knows when all steps are that show, and nothing of which: every class is said of each."""
        classes, best = self.task.data.classes, self.best
        assert best.score is not None
        n = len(classes)
        blind = Segments.of(
            [best.videos[v] for v in np.repeat(best.video, n).tolist()],
            np.repeat(best.start, n),
            np.repeat(best.end, n),
            list(classes) * len(best),
            np.repeat(best.score, n),
            videos=best.videos,
        )
        truth = self.task.data.truth(self.task.test)
        return float(localization_scores(truth, blind, tiou=(tiou,)).mean_ap[0])


def plant_steps(
    folder: Path,
    *,
    recordings: int = 120,
    activities: int = 4,
    steps: int = 5,
    width: int = 32,
    shift: float = 3.0,
    lengths: tuple[int, int] = (8, 40),
    hidden: float = 0.1,
    lost: float = 0.3,
    seed: int = 0,
) -> PlantedSteps:
    """Plant steps, and write the features into a store in a folder.

    Args:
        folder: for the store.
        recordings: at least six; every other one of an activity has mistakes.
        activities: each with steps of its own.
        steps: of an activity.
        width: of a row.
        shift: of the rows of a step, in standard deviations of the noise.
        lengths: rows of a step and of what is between two, at least and at most.
        hidden: share of the normal steps of which nothing shows.
        lost: how much larger that share is among mistaken steps.
        seed: of everything.
    """
    directions = np.random.default_rng([seed, 0]).normal(size=(activities * steps, width))
    directions *= shift / np.linalg.norm(directions, axis=1, keepdims=True)
    found: dict[str, TimedRecording] = {}
    rows: dict[str, Floats] = {}
    hides: dict[str, list[bool]] = {}
    for n in range(recordings):
        activity = n % activities
        id_ = f"{activity + 1}_{n}"
        generator = np.random.default_rng([seed, 1, n])
        classes = range(activity * steps, (activity + 1) * steps)
        wrong = _MISTAKEN if (n // activities) % 2 else 0.0
        spans = _spans(generator, classes, lengths, wrong)
        hides[id_] = [bool(generator.random() < hidden + lost * s.mistaken) for s in spans]
        seconds = int(spans[-1].end) + int(generator.integers(lengths[0], lengths[1] + 1))
        rows[id_] = generator.normal(size=(seconds, width))
        for span, hides_it in zip(spans, hides[id_], strict=True):
            rows[id_][int(span.start) : int(span.end)] += 0 if hides_it else directions[int(span.step)]
        mistaken = any(s.mistaken for s in spans)
        found[id_] = TimedRecording(id_, str(activity + 1), float(seconds), spans, mistaken)
    with StoreWriter(
        folder / "planted", width=width, seconds=1.0, modality="video", backbone="planted", source="planted"
    ) as writer:
        for id_, one in rows.items():
            writer.add(id_, one)
    store = FeatureStore.open(folder / "planted")
    names = sorted_names({s.step for r in found.values() for s in r.spans})
    labels = tuple(map(str, names))
    data = LocalizeData(
        found,
        labels,
        {c: f"Step {c}" for c in labels},
        {},
        {},
        (),
        "planted",
        content_hash([seed, store.hash]),
    )
    parts = {
        p: tuple(i for n, i in enumerate(found) if _PARTS[n // activities % 6] == p)
        for p in ("train", "val", "test")
    }
    task = LocalizeTask(data, parts["train"], parts["val"], parts["test"], seed)
    best = _best(store, parts["test"], directions, float(np.mean(lengths)))
    return PlantedSteps(task, store, best, np.array([h for i in parts["test"] for h in hides[i]]), lost)


def shuffled_steps(planted: PlantedSteps, seed: int = 0) -> PlantedSteps:
    """Return the same with classes dealt out anew among the steps of each part: times can be found, classes cannot."""
    task, recordings = planted.task, dict(planted.task.data.recordings)
    for part, ids in enumerate((task.train, task.val, task.test)):
        steps = [s.step for i in ids for s in recordings[i].spans]
        dealt = iter(np.random.default_rng([seed, part]).permutation(steps).tolist())
        for id_ in ids:
            spans = tuple(replace(s, step=next(dealt)) for s in recordings[id_].spans)
            recordings[id_] = replace(recordings[id_], spans=spans)
    data = replace(task.data, recordings=recordings, hash=content_hash([task.data.hash, seed]))
    return replace(planted, task=replace(task, data=data))


def _spans(
    generator: np.random.Generator, classes: Sequence[int], lengths: tuple[int, int], wrong: float
) -> tuple[StepSpan, ...]:
    """Draw which steps there are, in which order, when, and which of them are mistaken."""
    order = generator.permutation(classes)
    there = generator.random(len(order)) < _EXECUTED
    there[0] = True
    mistaken = generator.random(len(order)) < wrong
    mistaken[0] |= wrong > 0
    spans, now = [], 0
    for step, is_wrong in zip(order[there].tolist(), mistaken[there].tolist(), strict=True):
        gap, long = generator.integers(lengths[0], lengths[1] + 1, size=2).tolist()
        spans.append(StepSpan(str(step), "", float(now + gap), float(now + gap + long), is_wrong))
        now += gap + long
    return tuple(spans)


def _best(store: FeatureStore, ids: Sequence[str], directions: Floats, usual: float) -> Segments:
    """Return what the best localizer finds: the likeliest course of each recording, by the log likelihood it gains."""
    video: list[str] = []
    segments: list[tuple[float, float, int, float]] = []
    for id_ in ids:
        gain = store.rows(id_).astype(np.float64) @ directions.T - (directions**2).sum(axis=1) / 2
        course = _likeliest(gain, usual)
        edges = np.flatnonzero(np.diff(course, prepend=-1, append=-1))
        for begin, end in pairwise(edges.tolist()):
            if (step := int(course[begin])) >= 0:
                segments.append((begin, end, step, float(gain[begin:end, step].sum())))
        video += [id_] * (len(segments) - len(video))
    table = np.array(segments).reshape(-1, 4)
    labels = [str(int(step)) for step in table[:, 2].tolist()]
    return Segments.of(video, table[:, 0], table[:, 1], labels, table[:, 3], videos=ids)


def _likeliest(gain: Floats, usual: float) -> NDArray[np.int64]:
    """Return the class of each row, -1 between steps, of the likeliest course.

    Args:
        gain: log likelihood of each class less that of nothing; shape (rows, classes).
        usual: rows of a step, and of what is between two.
    """
    rows, classes = gain.shape
    stay, leave = np.log(1 - 1 / usual), np.log(1 / usual)
    enter = leave - np.log(classes)
    nothing, steps = 0.0, np.full(classes, -np.inf)
    began = np.zeros((rows, classes), np.bool_)
    left = np.full(rows, -1, np.int64)
    for t in range(rows):
        best = int(np.argmax(steps))
        entered, ended, waited = nothing + enter, steps[best] + leave, nothing + stay
        began[t] = entered > steps + stay
        steps = np.maximum(entered, steps + stay) + gain[t]
        left[t] = best if ended > waited else -1
        nothing = max(ended, waited)
    course = np.full(rows, -1, np.int64)
    now = int(np.argmax(steps)) if steps.max() > nothing else -1
    for t in range(rows - 1, -1, -1):
        course[t] = now
        if now < 0:
            now = int(left[t])
        elif began[t, now]:
            now = -1
    return course
