"""``proctor learn mistakes``: train a recogniser on one part of the data, choose on another, test on the third."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.evaluate import Decided, Figure, OfKind, Recognised, evaluate, threshold_of
from proctor.learn.missing import Missing, find_missing
from proctor.learn.recogniser import Recogniser, Task
from proctor.learn.runs import FeatureSource, RunRecord, predicted_steps, require_free, write_run
from proctor.learn.samples import divide, read_step_data
from proctor.learn.settings import TrainOptions
from proctor.records import write_jsonl
from proctor.stages.learn.settings import MistakesSettings, PageSettings
from proctor.stages.show import Show

if TYPE_CHECKING:
    from proctor.learn.features.store import FeatureStore

__all__ = ["LearnedMistakes", "Part", "Trained", "is_first", "learn_mistakes", "train"]

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
    without_order: OfKind | None

    @classmethod
    def of(cls, found: Recognised) -> Part:
        """Flatten the figures, for machines that read JSON."""
        flat: dict[str, Any] = {}
        for name in found.__struct_fields__:
            value = getattr(found, name)
            if isinstance(value, Figure):
                flat[name], flat[f"{name}_interval"] = value.value, value.interval
            elif name in cls.__struct_fields__:
                flat[name] = value
        return cls(**flat)


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
        missing: steps that were left out of the recordings of the test part, by the task graph, whatever the model.
        dropped: steps that could not be used, by reason.
        notes: what a reader of the figures has to know, such as that the released split is not there.
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
    missing: Missing | None
    dropped: Mapping[str, int]
    notes: tuple[str, ...] = ()
    run: str | None = None


@dataclass(frozen=True)
class Trained:
    """A fitted recogniser, its task, what was chosen, and how the parts are recognised."""

    recogniser: Recogniser
    task: Task
    chosen: Mapping[str, object]
    test: Recognised
    val: Recognised


def recogniser_of(
    settings: MistakesSettings, options: TrainOptions | None = None, show: Show | None = None
) -> Recogniser:
    """Return the model that is asked for, not yet fitted.

    Args:
        settings: which model.
        options: what is set of training.
        show: shows the progress of training.

    Raises:
        UserError: if it needs features and has none, or takes none and has some.
    """
    if settings.model in ("v1", "v2", "v3"):
        from proctor.learn.clips import ClipRecogniser

        return ClipRecogniser(
            settings.model, _stores(settings), options, settings.out, show, anew=settings.overwrite
        )
    if settings.model in ("sequence", "both"):
        from proctor.learn.sequence import SequenceModel

        sequence = SequenceModel(
            settings.context, _stores(settings), options, settings.out, show, anew=settings.overwrite
        )
        if settings.model == "sequence":
            return sequence
        from proctor.learn.averaged import Averaged
        from proctor.learn.tabular import ContextModel

        return Averaged(f"both-{settings.context}", ContextModel(settings.context), sequence)
    if settings.features:
        raise UserError(
            f"the model '{settings.model}' looks at no features.",
            where="--features",
            hint="use --model sequence, both, v1, v2 or v3",
        )
    from proctor.learn.tabular import ContextModel, Floor

    if settings.model == "floor":
        return Floor()
    if settings.model in ("local", "step"):
        return ContextModel(settings.model)
    return ContextModel(settings.context)


def _stores(settings: MistakesSettings) -> list[FeatureStore]:
    from proctor.learn.features.store import FeatureStore

    return [FeatureStore.open(path) for path in settings.features]


def task_of(settings: MistakesSettings) -> Task:
    """Read the annotations and divide them; steps without features are left out, where a model needs these."""
    data, dataset = read_step_data(settings.annotations)
    division = divide(data, dataset, settings.annotations, settings.split)
    target = data.labels("last" if settings.protocol == "code" else "any")
    task = Task(data, division, target, settings.seed, settings.observed, settings.protocol)
    if not settings.features:
        return task
    from proctor.learn.clips import with_features

    return with_features(task, _stores(settings))


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
    scores = recogniser.scores(places)
    thresholds = {"validation": threshold, "fixed": 0.5}
    if task.protocol == "code":
        thresholds["published"] = published_threshold(scores, task.division.split)
    return evaluate(
        task.target[places],
        scores,
        [task.data.samples[i].recording_id for i in places],
        thresholds=thresholds,
        kinds=kinds,
        order=task.data.of_kind("order")[places],
        resamples=resamples,
    )


def missing_of(task: Task, resamples: int) -> Missing | None:
    """Find what was left out of the recordings of the test part."""
    tested = (task.data.samples[i].recording_id for i in task.division.test)
    return find_missing(task.data, tested, resamples)


def published_threshold(scores: NDArray[np.float64], split: str) -> float:
    """Return the threshold that decides as the released code does: 0.6 (S) or 0.4, of scores rescaled over the whole test set."""
    low, high = float(scores.min()), float(scores.max())
    return low + (0.6 if split == "S" else 0.4) * (high - low)


def is_first() -> bool:
    """Say whether this process is, of those that train together (``--devices`` or torchrun), the one that prints and writes."""
    return os.environ.get("RANK", "0") == "0"


def learn_mistakes(
    settings: MistakesSettings, options: TrainOptions | None = None, show: Show | None = None
) -> LearnedMistakes:
    """Train one model to recognise mistakes in steps, and test it.

    Args:
        settings: which model on which data.
        options: what is set of training.
        show: shows the progress of training.

    Raises:
        UserError: if annotations, split or features cannot be used, or a part of the split has one class only.
    """
    task, recogniser = task_of(settings), recogniser_of(settings, options, show)
    if settings.out is not None:
        record = _record(settings, options, recogniser, task)
        require_free(settings.out, record, overwrite=settings.overwrite)
    elif settings.page is not None:
        raise UserError("a page is drawn of a run.", where="--page", hint="name a folder for the run: --out")
    elif options is not None and options.tensorboard:
        raise UserError(
            "events are written into a run.", where="--tensorboard", hint="name its folder: --out"
        )
    trained = train(recogniser, task, resamples=settings.resamples)
    if settings.out is not None and is_first():
        _write(settings.out, record, trained, overwrite=settings.overwrite)
        _draw(settings)
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
        missing=missing_of(task, settings.resamples),
        dropped=dict(dropped),
        notes=(*task.division.notes, *feature_notes(trained.chosen)),
        run=None if settings.out is None else str(settings.out),
    )


def feature_notes(chosen: Mapping[str, object]) -> Iterator[str]:
    """Yield what has to be known of the rows that a model was given, from what it says was chosen."""
    if past := chosen.get("rows_past_the_end"):
        yield f"{past:,} rows of steps lie past the end of their features and are zeros: see 'proctor features check'"
    if cut := chosen.get("rows_cut"):
        yield f"{cut:,} rows of steps are left out because another modality ends before them"


def _record(
    settings: MistakesSettings, options: TrainOptions | None, recogniser: Recogniser, task: Task
) -> RunRecord:
    """What is asked, before anything is found."""
    asked = {name: getattr(settings, name) for name in ("model", "context")}
    asked["division"] = task.division.hash
    asked |= {} if options is None else {"training": msgspec.to_builtins(options)}
    return RunRecord(
        model=recogniser.name,
        split=settings.split,
        data=task.data.name,
        data_hash=task.data.hash,
        seed=settings.seed,
        protocol=settings.protocol,
        observed=settings.observed,
        settings=asked,
        features=tuple(map(FeatureSource.of, _stores(settings))),
    )


def _draw(settings: MistakesSettings) -> None:
    if settings.page is None or settings.out is None:
        return
    from proctor.stages.learn.page import draw_runs

    draw_runs(PageSettings(runs=(settings.out,), out=settings.page, resamples=settings.resamples))


def _write(folder: Path, record: RunRecord, trained: Trained, *, overwrite: bool = False) -> None:
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
    found = msgspec.structs.replace(record, chosen=dict(trained.chosen), results=results)
    write_run(folder, found, test, val, overwrite=overwrite)
    write_jsonl(folder / "dropped.jsonl", task.data.dropped)
