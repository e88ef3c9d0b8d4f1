"""Runs that recognise mistakes, as a page takes them: test steps, and what each run says of every one of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from proctor.metrics.classification import above_threshold
from proctor.report.numbers import Estimate

__all__ = ["Decisions", "Learned", "Published", "TestedRun", "TestedStep", "Why"]

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Why(Protocol):
    """What one feature added to the log-odds of a mistake."""

    @property
    def feature(self) -> str:
        """Its name."""
        ...

    @property
    def value(self) -> float:
        """What it was in this step."""
        ...

    @property
    def contribution(self) -> float:
        """Above 0: it speaks for a mistake."""
        ...


@dataclass(frozen=True, slots=True)
class TestedStep:
    """A step of the test part.

    Attributes:
        recording: its id.
        step: id of the step.
        text: the instruction; empty where it is not known.
        recipe: name of the activity, or its id.
        times: start and end of each execution, in seconds.
        kinds: of mistakes that it carries.
    """

    recording: str
    step: str
    text: str = ""
    recipe: str = ""
    times: tuple[tuple[float, float], ...] = ()
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decisions:
    """Decisions at a threshold: where it comes from, and accuracy, precision, recall and F1 by name."""

    threshold: float
    chosen_on: str
    figures: Mapping[str, Estimate]

    @property
    def everything(self) -> bool:
        """Whether the threshold stands for calling everything a mistake; see ``learn.evaluate.threshold_of``."""
        return self.threshold == -1.0 or self.threshold <= -sys.float_info.max


@dataclass(frozen=True)
class TestedRun:
    """One run on the test steps.

    Attributes:
        name: as the page calls it, unique.
        sees: what the model looks at, in words.
        labels: whether each step is a mistake, by the run's protocol; shape (steps,).
        scores: higher is more suspicious; shape (steps,).
        figures: by the names of ``learn.evaluate.Recognised``.
        decisions: the first are those that the page calls right and wrong.
        reasons: of each score; empty where the model cannot say.
        kind_scores: by kind of mistake, the scores of its own detector; each of shape (steps,).
        chosen: pooled ROC-AUC on validation data; decides which run is looked at closely.
        family: name without seed and without share observed; runs of one family are summed up.
        seed: of the run.
        observed: share of each step that was seen.
        method: what has to be known to make it again.
    """

    name: str
    labels: Flags
    scores: Floats
    figures: Mapping[str, Estimate]
    decisions: tuple[Decisions, ...]
    sees: str = ""
    reasons: Sequence[Sequence[Why]] = ()
    kind_scores: Mapping[str, Floats] = field(default_factory=dict)
    chosen: float | None = None
    family: str = ""
    seed: int = 0
    observed: float = 1.0
    method: tuple[tuple[str, str], ...] = ()

    @property
    def called(self) -> Flags:
        """What is called a mistake at the first threshold; shape (steps,)."""
        result: Flags = above_threshold(self.scores, self.decisions[0].threshold)
        return result

    @property
    def probable(self) -> bool:
        """Whether the scores can be probabilities."""
        return bool(((self.scores >= 0) & (self.scores <= 1)).all())


@dataclass(frozen=True, slots=True)
class Published:
    """A figure of a paper, in per cent, on the same test steps; None where the paper has none."""

    name: str
    auc: float | None = None
    accuracy: float | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    source: str = ""


@dataclass(frozen=True)
class Learned:
    """All that the page shows.

    Attributes:
        title: heading.
        steps: of the test part, in the order of the runs' arrays.
        runs: at least one.
        published: to compare with.
        notes: what the reader has to know first.
        split: in words.
    """

    title: str
    steps: Sequence[TestedStep]
    runs: Sequence[TestedRun]
    published: Sequence[Published] = ()
    notes: Sequence[str] = ()
    split: str = ""

    @property
    def recordings(self) -> list[str]:
        """The recording of each step; what intervals are drawn over."""
        return [step.recording for step in self.steps]

    @property
    def closest(self) -> TestedRun:
        """The run that is looked at closely: the best on validation data, else the first."""
        return max(self.runs, key=lambda run: -1.0 if run.chosen is None else run.chosen)
