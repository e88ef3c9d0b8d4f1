"""``proctor learn mistakes``: train a recogniser on one part of the data, choose on another, test on the third."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.evaluate import Decided, Figure, OfKind, Recognised, evaluate, threshold_of
from proctor.learn.recogniser import Recogniser, Task
from proctor.learn.runs import RunRecord, predicted_steps, require_free, write_run
from proctor.learn.samples import divide, read_step_data
from proctor.stages.learn.settings import MistakesSettings

__all__ = ["LearnedMistakes", "Part", "Trained", "learn_mistakes", "train"]

Interval = tuple[float, float] | None


class Part(msgspec.Struct, frozen=True):
    """How well one part of the split is recognised; see ``learn.evaluate.Recognised``. All figures are between 0 and 1."""

    n: int
    positives: int
    recordings: int
    auc: float | None
    auc_interval: Interval
    auc_within: float | None
    auc_within_interval: Interval
    auc_between: float | None
    auc_between_interval: Interval
    auc_mistaken: float | None
    auc_mistaken_interval: Interval
    average_precision: float | None
    average_precision_interval: Interval
    decided: tuple[Decided, ...]

    @classmethod
    def of(cls, found: Recognised) -> Part:
        """Flatten the figures, for machines that read JSON."""
        return cls(
            found.n,
            found.positives,
            found.recordings,
            found.auc.value,
            _interval(found.auc),
            found.auc_within.value,
            _interval(found.auc_within),
            found.auc_between.value,
            _interval(found.auc_between),
            found.auc_mistaken.value,
            _interval(found.auc_mistaken),
            found.average_precision.value,
            _interval(found.average_precision),
            found.decided,
        )


def _interval(figure: Figure) -> Interval:
    return None if figure.low is None or figure.high is None else (figure.low, figure.high)


class LearnedMistakes(msgspec.Struct, frozen=True):
    """What a model recognises on one split.

    Attributes:
        model: its name.
        split: R, P, E or S.
        seed: of training.
        observed: share of each step that was seen.
        protocol: of training and deciding.
        n: steps of the test part.
        positives: mistakes among them.
        chosen_on: the part that everything was chosen on.
        chosen: what was chosen there.
        test: how well the test part is recognised.
        val: the same of the validation part; optimistic, since the model was chosen on it.
        kinds: of the test part, by kind of mistake.
        dropped: steps that could not be used, by reason.
        run: folder of the run, where one was asked for.
    """

    model: str
    split: str
    seed: int
    observed: float
    protocol: str
    n: int
    positives: int
    chosen_on: str
    chosen: Mapping[str, object]
    test: Part
    val: Part
    kinds: Mapping[str, OfKind]
    dropped: Mapping[str, int]
    run: str | None = None


@dataclass(frozen=True)
class Trained:
    """A fitted recogniser, its task, what was chosen, and how the parts are recognised."""

    recogniser: Recogniser
    task: Task
    chosen: Mapping[str, object]
    test: Recognised
    val: Recognised


def recogniser_of(settings: MistakesSettings) -> Recogniser:
    """Return the model that is asked for, not yet fitted.

    Raises:
        UserError: if it needs features and has none, or takes none and has some.
    """
    if settings.model in ("v1", "v2", "v3"):
        raise UserError("not yet.")
    if settings.features:
        raise UserError(
            f"the model '{settings.model}' looks at no features.",
            where="--features",
            hint="use --model v1, v2 or v3",
        )
    from proctor.learn.tabular import ContextModel, Floor

    if settings.model == "floor":
        return Floor()
    if settings.model == "sequence":
        from proctor.learn.sequence import SequenceModel

        return SequenceModel(settings.context)
    return ContextModel("step" if settings.model == "step" else settings.context)


def task_of(settings: MistakesSettings) -> Task:
    """Read the annotations and divide them."""
    data, dataset = read_step_data(settings.annotations)
    division = divide(data, dataset, settings.annotations, settings.split)
    target = data.labels("last" if settings.protocol == "code" else "any")
    return Task(data, division, target, settings.seed, settings.observed, settings.protocol)


def train(recogniser: Recogniser, task: Task, *, resamples: int) -> Trained:
    """Fit, choose the threshold on the validation part, and evaluate both parts that were not trained on."""
    chosen = dict(recogniser.fit(task))
    val, test = task.division.val, task.division.test
    threshold = threshold_of(task.target[val], recogniser.scores(val))
    chosen["threshold"] = threshold
    parts = [_evaluated(recogniser, task, places, threshold, resamples) for places in (val, test)]
    return Trained(recogniser, task, chosen, parts[1], parts[0])


def _evaluated(
    recogniser: Recogniser, task: Task, places: NDArray[np.int64], threshold: float, resamples: int
) -> Recognised:
    kinds = {k: (task.data.of_kind(k)[places], s) for k, s in recogniser.kind_scores(places).items()}
    return evaluate(
        task.target[places],
        recogniser.scores(places),
        [task.data.samples[i].recording_id for i in places],
        thresholds={"validation": threshold, "fixed": 0.5},
        kinds=kinds,
        resamples=resamples,
    )


def learn_mistakes(settings: MistakesSettings) -> LearnedMistakes:
    """Train one model to recognise mistakes in steps, and test it.

    Raises:
        UserError: if annotations, split or features cannot be used, or a part of the split has one class only.
    """
    task, recogniser = task_of(settings), recogniser_of(settings)
    if settings.out is not None:
        require_free(settings.out, _record(settings, recogniser, task))
    trained = train(recogniser, task, resamples=settings.resamples)
    if settings.out is not None:
        _write(settings.out, _record(settings, recogniser, task), trained)
    dropped = Counter(d.reason for d in task.data.dropped)
    return LearnedMistakes(
        model=trained.recogniser.name,
        split=settings.split,
        seed=settings.seed,
        observed=settings.observed,
        protocol=settings.protocol,
        n=trained.test.n,
        positives=trained.test.positives,
        chosen_on="val",
        chosen=trained.chosen,
        test=Part.of(trained.test),
        val=Part.of(trained.val),
        kinds=trained.test.kinds,
        dropped=dict(dropped),
        run=None if settings.out is None else str(settings.out),
    )


def _record(settings: MistakesSettings, recogniser: Recogniser, task: Task) -> RunRecord:
    """What is asked, before anything is found."""
    asked = {name: getattr(settings, name) for name in ("model", "context")}
    return RunRecord(
        model=recogniser.name,
        split=settings.split,
        data=task.data.name,
        data_hash=task.data.hash,
        seed=settings.seed,
        protocol=settings.protocol,
        observed=settings.observed,
        settings=asked,
    )


def _write(folder: Path, record: RunRecord, trained: Trained) -> None:
    """Write what was recognised of every step that was not trained on, and why."""
    task, recogniser = trained.task, trained.recogniser
    test, val = (
        predicted_steps(
            task.data,
            places,
            recogniser.scores(places),
            reasons=recogniser.reasons(places),
            kind_scores=recogniser.kind_scores(places),
            observed=task.observed,
            target=task.target,
        )
        for places in (task.division.test, task.division.val)
    )
    results = {"test": msgspec.to_builtins(trained.test), "val": msgspec.to_builtins(trained.val)}
    write_run(
        folder, msgspec.structs.replace(record, chosen=dict(trained.chosen), results=results), test, val
    )
