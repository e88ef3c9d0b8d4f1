"""``proctor learn localize``: learn which step happens when in whole recordings, test it, and write what is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from proctor.learn.localize.figures import LocalizeFigures, localized
from proctor.learn.localize.localizer import Localizer, LocalizeTask
from proctor.learn.localize.prior import StepPrior
from proctor.learn.localize.published import published_localization
from proctor.learn.localize.splits import classes_of, localize_task
from proctor.learn.runs import RunRecord, require_free, write_tables
from proctor.metrics.activitynet import render_csv
from proctor.metrics.localization import Segments
from proctor.records import write_jsonl
from proctor.stages.learn.localize_settings import LocalizeSettings
from proctor.stages.show import Show

__all__ = ["PREDICTED_CSV", "TRUTH_CSV", "Localized", "PublishedFigures", "learn_localize"]

PREDICTED_CSV: Final = "predictions.csv"
TRUTH_CSV: Final = "truth.csv"
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
    published: tuple[PublishedFigures, ...]
    dropped: Mapping[str, int]
    changed: Mapping[str, int]
    notes: tuple[str, ...]
    run: str | None


def learn_localize(settings: LocalizeSettings, show: Show | None = None) -> Localized:
    """Train one localizer, predict the validation and the test part, and compare with the annotations.

    Args:
        settings: which localizer on which recordings.
        show: shows the progress of training.

    Raises:
        UserError: if annotations, split or features cannot be used, or the folder holds another run.
    """
    del show
    task, notes = localize_task(
        settings.annotations, settings.split, settings.protocol, settings.seed, with_val=settings.with_val
    )
    localizer: Localizer = StepPrior()
    record = _record(settings, localizer, task)
    if settings.out is not None:
        require_free(settings.out, record, overwrite=settings.overwrite)
    chosen = dict(localizer.fit(task))
    data = task.data
    truth, predictions = data.truth(task.test), localizer.predict(task.test)
    sampling = {"resamples": settings.resamples, "seed": settings.seed}
    test = localized(truth, predictions, **sampling)
    val = localized(data.truth(task.val), localizer.predict(task.val), **sampling) if task.val else None
    known = truth.with_labels(classes_of(data, task.train))
    seen = None if known.all() or not known.any() else localized(truth.take(known), predictions, **sampling)
    result = Localized(
        model=localizer.name,
        split=settings.split,
        protocol=settings.protocol,
        seed=settings.seed,
        trained_on=len(task.train),
        chosen=chosen,
        test=test,
        seen=seen,
        val=val,
        published=_published(settings.split) if data.name == "captaincook4d" else (),
        dropped=dict(Counter(d.reason for d in data.dropped)),
        changed=dict(Counter(d.reason for d in data.changed)),
        notes=(*notes, *_comparing(settings, data.name)),
        run=None if settings.out is None else str(settings.out),
    )
    if settings.out is not None:
        _write(settings, record, result, task, {TRUTH_CSV: truth, PREDICTED_CSV: predictions})
    return result


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


def _record(settings: LocalizeSettings, localizer: Localizer, task: LocalizeTask) -> RunRecord:
    return RunRecord(
        model=localizer.name,
        split=settings.split,
        data=task.data.name,
        data_hash=task.data.hash,
        seed=settings.seed,
        protocol=settings.protocol,
        target=TARGET,
        settings={"train": task.train, "val": task.val, "test": task.test},
    )


def _write(
    settings: LocalizeSettings,
    record: RunRecord,
    result: Localized,
    task: LocalizeTask,
    segments: Mapping[str, Segments],
) -> None:
    assert settings.out is not None
    parts = {"test": result.test, "val": result.val, "seen": result.seen}
    results = {name: msgspec.to_builtins(part) for name, part in parts.items() if part is not None}
    record = msgspec.structs.replace(record, chosen=dict(result.chosen), results=results)
    write_tables(
        settings.out,
        record,
        {name: (len(s), render_csv(_ordered(s)).encode()) for name, s in segments.items()},
        overwrite=settings.overwrite,
    )
    write_jsonl(settings.out / "dropped.jsonl", (*task.data.dropped, *task.data.changed))


def _ordered(segments: Segments) -> Segments:
    """Return the rows by recording, the surest first, whatever order a localizer gives them in."""
    score = np.zeros(len(segments)) if segments.score is None else segments.score
    return segments.take(np.lexsort((segments.end, segments.label, segments.start, -score, segments.video)))
