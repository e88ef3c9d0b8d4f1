"""``proctor learn localize``: learn which step happens when in whole recordings, test it, and write what is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from proctor.errors import UserError
from proctor.learn.evaluate import Figure
from proctor.learn.features.store import FeatureStore
from proctor.learn.localize.figures import LocalizeFigures, labelled, localized
from proctor.learn.localize.localizer import DenseLocalizer, Localizer, LocalizeTask
from proctor.learn.localize.prior import StepPrior
from proctor.learn.localize.published import published_localization
from proctor.learn.localize.reference import reference_document
from proctor.learn.localize.robust import (
    TRAININGS,
    Halves,
    RobustTraining,
    Training,
    is_normal_script,
    robust_tasks,
    robust_training,
    split_in_two,
)
from proctor.learn.localize.splits import classes_of, localize_task, with_stores
from proctor.learn.runs import FeatureSource, RunRecord, require_free, write_tables
from proctor.learn.samples import read_step_data
from proctor.learn.settings import TrainOptions
from proctor.metrics.activitynet import render_csv
from proctor.metrics.localization import Segments
from proctor.records import write_json, write_jsonl
from proctor.stages.learn.localize_settings import LocalizeSettings
from proctor.stages.show import Show

__all__ = [
    "PREDICTED_CSV",
    "TARGET",
    "TRUTH_CSV",
    "Localized",
    "PublishedFigures",
    "learn_localize",
    "localizer_of",
]

PREDICTED_CSV: Final = "predictions.csv"
TRUTH_CSV: Final = "truth.csv"
REFERENCE: Final = "annotations.json"
"""Of a run under ``code``: the annotations as the released code reads them."""
TARGET: Final = "steps in time"
"""What a run of this kind is about, in its record."""


class PublishedFigures(msgspec.Struct, frozen=True):
    """A published row, shares from 0 to 1 at the overlaps of our own figures."""

    backbone: str
    mean_ap: tuple[float, ...]
    recall_1: tuple[float, ...]
    recall_5: tuple[float, ...]


class Localized(msgspec.Struct, frozen=True, kw_only=True):
    """What a localizer finds on one split.

    Attributes:
        model: its name.
        split: E, P, R or Re.
        protocol: paper, code or right.
        seed: of everything that was drawn.
        trained_on: recordings.
        chosen: what was chosen, and on what.
        test: figures of the test part.
        seen: the same over the classes that were trained on alone; None where that is all of them.
        val: figures of the validation part; None where it was trained on.
        rows: how well every row of the test part is labelled, where the localizer labels rows.
        prior: figures of the baseline that sees no pixels, on the same recordings; None where it is the model.
        robust: by training, recordings without and with mistakes, where that was asked for.
        halves: the published split in two, shown on the same predictions; None where robustness was not asked for.
        published: rows of the released results on this split, where it has any.
        dropped: what could not be used, by reason.
        changed: what was changed so that it can be used, by reason.
        notes: what a reader of the figures has to know.
        run: folder of the run, where one was asked for.
    """

    model: str
    split: str
    protocol: str
    seed: int
    trained_on: int
    chosen: Mapping[str, object]
    test: LocalizeFigures
    seen: LocalizeFigures | None
    val: LocalizeFigures | None
    rows: Mapping[str, Figure]
    prior: LocalizeFigures | None
    robust: Mapping[Training, RobustTraining]
    halves: Halves | None
    published: tuple[PublishedFigures, ...]
    dropped: Mapping[str, int]
    changed: Mapping[str, int]
    notes: tuple[str, ...]
    run: str | None


def learn_localize(
    settings: LocalizeSettings, options: TrainOptions | None = None, show: Show | None = None
) -> Localized:
    """Train one localizer, predict the validation and the test part, and compare with the annotations.

    Args:
        settings: which localizer on which recordings.
        options: what is set of a network's training.
        show: shows the progress of training.

    Raises:
        UserError: if annotations, split or features cannot be used, or the folder holds another run.
    """
    task, notes = localize_task(
        settings.annotations, settings.split, settings.protocol, settings.seed, with_val=settings.with_val
    )
    stores = [FeatureStore.open(path) for path in settings.features]
    task = with_stores(task, stores, settings.annotations)
    tasks: dict[Training, LocalizeTask] = robust_tasks(task) if settings.robust else {"all": task}
    localizer = localizer_of(settings, stores, options, settings.out, show)
    record = _record(settings, stores, options, localizer, task)
    if settings.out is not None:
        require_free(settings.out, record, overwrite=settings.overwrite)
    chosen = dict(localizer.fit(task))
    data = task.data
    truth, predictions = data.truth(task.test), localizer.predict(task.test)
    found: dict[Training, Segments] = {"all": predictions}
    for name, fewer in tasks.items():
        if name != "all":
            found[name] = _trained_apart(settings, stores, options, show, fewer, name)
    resamples, seed = settings.resamples, settings.seed
    known = truth.with_labels(classes_of(data, task.train))
    result = Localized(
        model=localizer.name,
        split=settings.split,
        protocol=settings.protocol,
        seed=seed,
        trained_on=len(task.train),
        chosen=chosen,
        test=localized(truth, predictions, resamples=resamples, seed=seed),
        seen=None
        if known.all() or not known.any()
        else localized(truth.take(known), predictions, resamples=resamples, seed=seed),
        val=localized(data.truth(task.val), localizer.predict(task.val), resamples=resamples, seed=seed)
        if task.val
        else None,
        rows=labelled(*localizer.dense(task.test), resamples=resamples, seed=seed)
        if isinstance(localizer, DenseLocalizer)
        else {},
        prior=None if settings.model == "prior" else _of_prior(task, truth),
        robust={
            name: robust_training(tasks, name, found[name], resamples=resamples, seed=seed)
            for name in TRAININGS
            if settings.robust
        },
        halves=split_in_two(truth, predictions, _first_half(task)) if settings.robust else None,
        published=_published(settings.split) if data.name == "captaincook4d" else (),
        dropped=dict(Counter(d.reason for d in data.dropped)),
        changed=dict(Counter(d.reason for d in data.changed)),
        notes=(*notes, *_comparing(settings, data.name)),
        run=None if settings.out is None else str(settings.out),
    )
    if settings.out is not None:
        others = {f"predictions-{name}.csv": found[name] for name in sorted(found) if name != "all"}
        _write(settings, record, result, task, {TRUTH_CSV: truth, PREDICTED_CSV: predictions, **others})
    return result


def localizer_of(
    settings: LocalizeSettings,
    stores: Sequence[FeatureStore],
    options: TrainOptions | None = None,
    folder: Path | None = None,
    show: Show | None = None,
) -> Localizer:
    """Return the localizer that is asked for, not yet fitted.

    Args:
        settings: which one.
        stores: of features.
        options: what is set of a network's training.
        folder: for its checkpoints.
        show: shows the progress of training.

    Raises:
        UserError: if it needs features and has none, or takes none and has some.
    """
    if settings.model == "prior":
        if stores:
            raise UserError(
                "the model 'prior' looks at no features.",
                where="--features",
                hint="use --model actionformer or segmenter",
            )
        return StepPrior()
    if not stores:
        raise UserError(
            f"the model '{settings.model}' needs features, and none are given.",
            where="--features",
            hint="name a store (proctor features convert or extract), or use --model prior",
        )
    if settings.model == "segmenter":
        from proctor.learn.localize.segmenter import Segmenter

        return Segmenter(stores, options, folder, show, anew=settings.overwrite, hidden=settings.hidden or 64)
    from proctor.learn.localize.actionformer import ActionFormer

    return ActionFormer(
        stores, options, folder, show,
        anew=settings.overwrite, hidden=settings.hidden or 512, levels=settings.levels,
    )  # fmt: skip


def _trained_apart(
    settings: LocalizeSettings,
    stores: Sequence[FeatureStore],
    options: TrainOptions | None,
    show: Show | None,
    task: LocalizeTask,
    name: str,
) -> Segments:
    """Train on fewer recordings, with checkpoints in a folder of its own, and predict the same test recordings."""
    folder = None if settings.out is None else settings.out / name
    localizer = localizer_of(settings, stores, options, folder, show)
    localizer.fit(task)
    return localizer.predict(task.test)


def _of_prior(task: LocalizeTask, truth: Segments) -> LocalizeFigures:
    prior = StepPrior()
    prior.fit(task)
    return localized(truth, prior.predict(task.test))


def _first_half(task: LocalizeTask) -> list[str]:
    """Return the test recordings that are called normal: as published by their number, elsewhere by the annotations."""
    if task.data.name == "captaincook4d":
        return [i for i in task.test if is_normal_script(i)]
    return [i for i in task.test if not task.data.recordings[i].mistaken]


def _published(split: str) -> tuple[PublishedFigures, ...]:
    def shares(values: Sequence[float]) -> tuple[float, ...]:
        return tuple(v / 100 for v in values)

    return tuple(
        PublishedFigures(row.backbone, *map(shares, (row.mean_ap, row.recall_1, row.recall_5)))
        for row in published_localization(split)
    )


def _comparing(settings: LocalizeSettings, name: str) -> tuple[str, ...]:
    """Say what differs between our figures and the published ones beside them."""
    if name != "captaincook4d" or settings.split == "Re":
        return ()
    notes = []
    if settings.protocol == "right" and settings.split == "R":
        notes.append("published figures of R are of the split of 2023; --protocol paper tests on that one")
    if settings.protocol == "right" and not settings.with_val:
        notes.append(
            "published figures are of models that were trained on the validation part, too: --with-val"
        )
    return tuple(notes)


def _record(
    settings: LocalizeSettings,
    stores: Sequence[FeatureStore],
    options: TrainOptions | None,
    localizer: Localizer,
    task: LocalizeTask,
) -> RunRecord:
    asked: dict[str, object] = {"train": task.train, "val": task.val, "test": task.test}
    if stores:
        asked |= {"hidden": settings.hidden, "levels": settings.levels}
        asked |= {} if options is None else {"training": msgspec.to_builtins(options)}
    return RunRecord(
        model=localizer.name,
        split=settings.split,
        data=task.data.name,
        data_hash=task.data.hash,
        seed=settings.seed,
        protocol=settings.protocol,
        target=TARGET,
        features=tuple(map(FeatureSource.of, stores)),
        settings=asked | {"robust": settings.robust},
    )


def _write(
    settings: LocalizeSettings,
    record: RunRecord,
    result: Localized,
    task: LocalizeTask,
    segments: Mapping[str, Segments],
) -> None:
    assert settings.out is not None
    parts: dict[str, object] = {"test": result.test, "val": result.val, "seen": result.seen}
    parts |= {
        "rows": result.rows or None,
        "prior": result.prior,
        "robust": result.robust or None,
        "halves": result.halves,
    }
    results = {name: msgspec.to_builtins(part) for name, part in parts.items() if part is not None}
    record = msgspec.structs.replace(record, chosen=dict(result.chosen), results=results)
    write_tables(
        settings.out,
        record,
        {name: (len(s), render_csv(_ordered(s)).encode()) for name, s in segments.items()},
        overwrite=settings.overwrite,
    )
    if settings.protocol == "code":
        parts_of = (("train", task.train), ("test", task.test))
        homes = {id_: part for part, ids in parts_of for id_ in ids}
        steps, _ = read_step_data(settings.annotations)
        write_json(settings.out / REFERENCE, reference_document(steps, homes))
    write_jsonl(settings.out / "dropped.jsonl", (*task.data.dropped, *task.data.changed))


def _ordered(segments: Segments) -> Segments:
    """Return the rows by recording, the surest first, whatever order a localizer gives them in."""
    score = np.zeros(len(segments)) if segments.score is None else segments.score
    return segments.take(np.lexsort((segments.end, segments.label, segments.start, -score, segments.video)))
