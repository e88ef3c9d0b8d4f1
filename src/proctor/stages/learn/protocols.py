"""``proctor learn protocols``: where paper, released code and what is right differ, and how much each difference changes.

What needs no pixels is measured on the annotations: a model is trained once, and its scores are decided and counted in both
ways on the same steps. What networks do is measured on stores of features, or on planted ones (``learn.planted``). Source: CaptainCook4D
(Peddi et al. 2024), Section 4, and its released code.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import msgspec
import numpy as np
from msgspec.structs import replace as replace_settings
from numpy.typing import NDArray

from proctor.learn.evaluate import threshold_of
from proctor.learn.features.store import FeatureStore
from proctor.learn.recogniser import Recogniser, Task
from proctor.learn.settings import TrainOptions
from proctor.metrics.classification import (
    PUBLISHED_THRESHOLDS,
    Options,
    above_threshold,
    accuracy,
    average_precision,
    f1_score,
    paired_difference,
    rescale_min_max,
    roc_auc,
    within_roc_auc,
)
from proctor.metrics.score import Score
from proctor.stages.learn.mistakes import recogniser_of, task_of
from proctor.stages.learn.settings import MistakesSettings, ProtocolsSettings

__all__ = [
    "DIFFERENCES",
    "Difference",
    "Measured",
    "Protocols",
    "as_markdown",
    "compare_protocols",
    "trainings",
]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What a difference changes; all figures between 0 and 1.

    Attributes:
        figure: what was measured.
        model: whose scores.
        split: on which test part.
        published: in the way of the paper or its code.
        right: in the right way.
        low: of the 95 % interval of published less right, over recordings; None where there is none.
        high: its other end.
        note: what else there is to know.
    """

    figure: str
    model: str
    split: str
    published: float
    right: float
    low: float | None = None
    high: float | None = None
    note: str = ""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One place where three ways differ.

    Attributes:
        name: what about.
        paper: what it says; empty where it says nothing.
        code: what it does.
        right: what this package does.
        inflates: what the published way makes larger than it is.
        measured: by how much; empty where it cannot be measured with what was given.
    """

    name: str
    paper: str = ""
    code: str
    right: str
    inflates: str
    measured: tuple[Measured, ...] = ()


class Protocols(msgspec.Struct, frozen=True):
    """All differences, with what was measured."""

    differences: tuple[Difference, ...]
    n: int
    positives: int


LABEL, THRESHOLD, RUN, HARD, SPLIT, POOLED = "label", "threshold", "run", "hard", "split", "pooled"
VOTE, POSITIONS, EARLY = "vote", "positions", "early"

DIFFERENCES: Final[dict[str, Difference]] = {
    LABEL: Difference(
        name="label of a step that is executed twice",
        code="that of the last execution",
        right="a mistake in any execution",
        inflates="nothing measurable; mistakes that were put right vanish",
    ),
    VOTE: Difference(
        name="from seconds to the step",
        paper="majority of the seconds' decisions",
        code="mean of the seconds' probabilities",
        right="mean",
        inflates="a vote throws the ranking away: AUC falls",
    ),
    THRESHOLD: Difference(
        name="threshold",
        code="scores rescaled to 0…1 over the test set, then 0.4 (R) or 0.6 (S), typed in",
        right="the best F1 on validation, unscaled",
        inflates="F1 and accuracy, where the constant was found on the test set; every call depends on all others",
    ),
    RUN: Difference(
        name="which epoch, which run",
        paper="best on validation",
        code="a list of epochs typed in, chosen by test figures; the checkpoint called best is the last one",
        right="best ROC-AUC on validation",
        inflates="every figure",
    ),
    POSITIONS: Difference(
        name="order of seconds in V2",
        paper="positional encoding",
        code="none",
        right="none by default; an option",
        inflates="nothing; the printed figures are of the model without",
    ),
    EARLY: Difference(
        name="first half of a step",
        paper="half of the step is seen",
        code="the first ⌊N/2⌋ rows of all executions joined",
        right="the first half of each execution, at least one row",
        inflates="nothing measurable; of a step that is executed twice the whole first execution is seen",
    ),
    HARD: Difference(
        name="area under the precision-recall curve",
        code="of decisions",
        right="of scores",
        inflates="nothing: the figure has no meaning",
    ),
    SPLIT: Difference(
        name="split S",
        paper="steps at random",
        code="cut by time within each recording; the parts named test and val are swapped",
        right="R, P or E; S is reported as it is",
        inflates="everything that tells recordings apart, since all recordings of the test part are in training",
    ),
    POOLED: Difference(
        name="pairs that are counted",
        paper="all",
        code="all",
        right="all, within recordings and between",
        inflates="what tells recordings apart and no steps in them",
    ),
}
"""By a short name, in the order of the page; what follows has no figure of its own."""

UNMEASURED: Final = (
    Difference(
        name="loss and steps of training",
        paper="mistakes weigh 1.5; 512 seconds or one step a batch; 50 epochs",
        code="no weight at HEAD; one step a batch; 10 epochs; the rate of some backbones a tenth",
        right="as the paper, in batches of like length; chosen on validation",
        inflates="nothing known: rows of both ages of the code may stand in one table",
    ),
    Difference(
        name="dropout while evaluating",
        code="on, during training",
        right="off",
        inflates="nothing; the curves that epochs were chosen by are noisier",
    ),
    Difference(
        name="label of a kind",
        code="of the last entry of the step, also of one without times",
        right="of every execution with times",
        inflates="nothing; kinds are lost",
    ),
    Difference(
        name="modalities of unequal length",
        code="not looked at; depth frames in the order of the folder",
        right="cut to the shortest and counted; frames in order",
        inflates="nothing",
    ),
    Difference(
        name="roles of two splits by recordings",
        paper="one split",
        code="47 of the 48 test recordings of the error code are validation in the annotations' split",
        right="one split a comparison",
        inflates="everything, where models of both are mixed",
    ),
)


@dataclass(frozen=True)
class _Scored:
    """A fitted model and what it says of the parts that it was not trained on."""

    name: str
    task: Task
    val: Floats
    test: Floats

    @classmethod
    def of(cls, recogniser: Recogniser, task: Task) -> _Scored:
        recogniser.fit(task)
        val, test = (recogniser.scores(places) for places in (task.division.val, task.division.test))
        return cls(recogniser.name, task, val, test)

    @property
    def target(self) -> Flags:
        """Of the test part."""
        found: Flags = self.task.target[self.task.division.test]
        return found

    @property
    def target_val(self) -> Flags:
        found: Flags = self.task.target[self.task.division.val]
        return found

    def options(self, resamples: int) -> Options:
        samples = self.task.data.samples
        return {
            "clusters": [samples[i].recording_id for i in self.task.division.test],
            "resamples": resamples,
        }

    def measured(self, figure: str, published: Score, right: Score, between: Score | None = None) -> Measured:
        """Put two scores beside each other; ``between`` is their paired difference, published less right."""
        return Measured(
            figure=figure,
            model=self.name,
            split=self.task.division.split,
            published=published.value,
            right=right.value,
            low=None if between is None else between.low,
            high=None if between is None else between.high,
        )


def compare_protocols(settings: ProtocolsSettings, seen: Callable[[], None] = lambda: None) -> Protocols:
    """Measure every difference that can be measured with what is given.

    Args:
        settings: annotations, model, split.
        seen: called after each training (for progress bars); ``trainings`` says how often.

    Raises:
        UserError: if annotations cannot be used or the model cannot be trained.
    """
    one = MistakesSettings(
        annotations=settings.annotations, model=settings.model, context=settings.context, split="R"
    )
    task = task_of(one)
    clips = _of_clips(settings, task, seen)  # first: a store that does not fit is to be told at once
    runs = []
    for seed in range(settings.runs):
        model = recogniser_of(replace_settings(one, seed=seed))
        runs.append(_Scored.of(model, replace(task, seed=seed)))
        seen()
    by_steps = task_of(replace_settings(one, split="S"))
    steps = _Scored.of(recogniser_of(replace_settings(one, split="S")), by_steps)
    seen()
    first, n = runs[0], settings.resamples
    measured: dict[str, list[Measured]] = {
        **clips,
        LABEL: list(_label(first)),
        THRESHOLD: [*_threshold(first, n), *_threshold(steps, n)],
        HARD: list(_hard(first, n)),
        SPLIT: list(_split(first, steps)),
        POOLED: list(_pooled(first)),
    }
    measured[RUN] += _choice_of_run(runs, n)
    found = tuple(
        replace_settings(difference, measured=tuple(measured.get(name, ())))
        for name, difference in DIFFERENCES.items()
    )
    return Protocols((*found, *UNMEASURED), first.target.size, int(first.target.sum()))


def _label(one: _Scored) -> Iterator[Measured]:
    last = one.task.data.labels("last")[one.task.division.test]
    options = one.options(0)
    row = one.measured(
        "ROC-AUC", roc_auc(last, one.test, **options), roc_auc(one.target, one.test, **options)
    )
    changed = int((last != one.target).sum())
    yield replace_settings(row, note=f"{changed} of {last.size} test steps change their label")


def _threshold(one: _Scored, resamples: int) -> Iterator[Measured]:
    options = one.options(resamples)
    typed = PUBLISHED_THRESHOLDS[one.task.division.split]
    scaled = rescale_min_max(one.test)
    right = above_threshold(one.test, threshold_of(one.target_val, one.val))
    ways = {
        f"rescaled, {typed:g}": above_threshold(scaled, typed),
        "the best on test": above_threshold(scaled, threshold_of(one.target, scaled)),
    }
    for name, calls in ways.items():
        for label, metric in (("F1", f1_score), ("accuracy", accuracy)):
            printed, meant = metric(one.target, calls), metric(one.target, right)
            between = paired_difference(metric.__name__, one.target, right, calls, **options)
            yield replace_settings(one.measured(label, printed, meant, between), note=name)


def _choice_of_run(runs: Sequence[_Scored], resamples: int) -> Iterator[Measured]:
    """Choose one of several trainings by the test part, and by validation."""
    if len(runs) < 2:
        return
    plain: Options = {"resamples": 0}
    test = [roc_auc(run.target, run.test, **plain).value for run in runs]
    val = [roc_auc(run.target_val, run.val, **plain).value for run in runs]
    best, right = runs[int(np.argmax(test))], runs[int(np.argmax(val))]
    row = _paired(best, right, resamples)
    spread = float(np.std(test, ddof=1))
    yield replace_settings(
        row, note=f"one of {len(runs)} seeds chosen; their deviation is {100 * spread:.1f} points"
    )


def _paired(published: _Scored, right: _Scored, resamples: int) -> Measured:
    """Compare the ROC-AUC of two ways to score the same steps."""
    options = right.options(resamples)
    return right.measured(
        "ROC-AUC",
        roc_auc(published.target, published.test),
        roc_auc(right.target, right.test),
        paired_difference("roc_auc", right.target, right.test, published.test, **options),
    )


def _of_clips(settings: ProtocolsSettings, task: Task, seen: Callable[[], None]) -> dict[str, list[Measured]]:
    """Train networks on the features that were given, or on planted ones, in two ways that differ in one thing."""
    from proctor.learn.clips import with_features
    from proctor.learn.planted import plant

    if settings.features:
        stores = tuple(map(FeatureStore.open, settings.features))
        return _of_stores(settings, with_features(task, stores), stores, seen)
    with tempfile.TemporaryDirectory() as folder:
        planted = plant(Path(folder), "medium", recordings=settings.planted)
        return _of_stores(settings, planted.task, planted.stores, seen)


def _of_stores(
    settings: ProtocolsSettings, task: Task, stores: Sequence[FeatureStore], seen: Callable[[], None]
) -> dict[str, list[Measured]]:
    from proctor.learn.clips import ClipRecogniser, Way

    options = TrainOptions(epochs=settings.epochs, patience=settings.epochs)
    plain = Way("none", "mean", by_execution=True)

    def scored(way: Way, of: Task = task, variant: Literal["v1", "v2"] = "v1") -> _Scored:
        found = _Scored.of(ClipRecogniser(variant, stores, options, way=way), of)
        seen()
        return found

    chosen_by_test = replace(task, division=replace(task.division, val=task.division.test))
    half = replace(task, observed=0.5)
    n = settings.resamples
    right = scored(plain)
    pairs = {
        RUN: (scored(plain, chosen_by_test), right),
        VOTE: (scored(replace(plain, decision="vote")), right),
        POSITIONS: (
            scored(replace(plain, positions="sinusoidal"), variant="v2"),
            scored(plain, variant="v2"),
        ),
        EARLY: (scored(replace(plain, by_execution=False), half), scored(plain, half)),
    }
    notes = {RUN: "epoch", EARLY: "half of each step is seen"}
    return {
        name: [replace_settings(_paired(*both, n), note=notes.get(name, ""))] for name, both in pairs.items()
    }


def trainings(settings: ProtocolsSettings) -> int:
    """Return how many models are trained: of the recordings' context, of split S, and seven networks."""
    return settings.runs + 8


def _hard(one: _Scored, resamples: int) -> Iterator[Measured]:
    options = one.options(resamples)
    calls = above_threshold(one.test, threshold_of(one.target_val, one.val)).astype(np.float64)
    yield one.measured(
        "PR-AUC",
        average_precision(one.target, calls, **options),
        average_precision(one.target, one.test, **options),
        paired_difference("average_precision", one.target, one.test, calls, **options),
    )


def _split(one: _Scored, steps: _Scored) -> Iterator[Measured]:
    for label, metric in (("ROC-AUC", roc_auc), ("ROC-AUC within recordings", within_roc_auc)):
        values = [metric(s.target, s.test, **s.options(0)) for s in (steps, one)]
        yield replace_settings(
            one.measured(label, *values), split="S and R", note="two test sets: no interval"
        )


def _pooled(one: _Scored) -> Iterator[Measured]:
    options = one.options(0)
    yield one.measured(
        "ROC-AUC", roc_auc(one.target, one.test, **options), within_roc_auc(one.target, one.test, **options)
    )


def as_markdown(found: Protocols) -> str:
    """Return the table of ``docs/learn.md``; per cent."""
    lines = [
        "| what | the paper | its code | right | what it inflates | measured: published, right |",
        "|---|---|---|---|---|---|",
    ]
    for one in found.differences:
        figures = "<br>".join(map(_sentence, one.measured)) or "–"
        cells = (one.name, one.paper or "–", one.code, one.right, one.inflates, figures)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _sentence(row: Measured) -> str:
    ends = "" if row.low is None or row.high is None else f" [{100 * row.low:+.1f}, {100 * row.high:+.1f}]"
    told = f"{row.figure} {100 * row.published:.1f}, {100 * row.right:.1f}: {100 * (row.published - row.right):+.1f}{ends}"
    return f"{told} ({row.model}, {row.split}{'; ' if row.note else ''}{row.note})"
