"""``proctor learn anomaly``: learn what is normal from recordings without mistakes, and find frames that are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.learn.anomaly.baselines import Mahalanobis, NearestNeighbours
from proctor.learn.anomaly.figures import (
    POST,
    FrameFigures,
    PostName,
    frame_figures,
    frame_rows,
    post_process,
    step_scores,
)
from proctor.learn.anomaly.frames import BACKGROUND, Detector, Floats, FrameTask, frame_task
from proctor.learn.evaluate import Recognised, evaluate, threshold_of
from proctor.learn.features.store import FeatureStore
from proctor.learn.published import ANOMALY
from proctor.learn.runs import FeatureSource, RunRecord, predicted_steps, require_free, write_run
from proctor.learn.samples import divide, read_step_data
from proctor.learn.settings import TrainOptions
from proctor.records import write_jsonl
from proctor.stages.learn.mistakes import Part
from proctor.stages.learn.settings import AnomalySettings
from proctor.stages.show import Show

__all__ = ["FRAMES", "LearnedAnomaly", "learn_anomaly"]

FRAMES: Final = "frames.jsonl"
"""Of a run: each frame of the test part, as ``proctor metrics classification --pred`` reads it."""


class LearnedAnomaly(msgspec.Struct, frozen=True):
    """What a detector finds on one split.

    Attributes:
        block: its name.
        split: R, P or E.
        seed: of training.
        post: which scores are written, and scored by step.
        learned: how much was learned from, and what was chosen on validation data.
        frames: figures of frames of the test part, by post-processing.
        any_step: the same for a score that is 1 inside of any step and 0 outside, whoever does what there: it uses the
            annotated times, sees no pixel, and is above 0.5, since no frame outside of a step is anomalous.
        test: steps of the test part, each by the mean score of its frames.
        val: the same of the validation part, which the threshold is chosen on.
        fallen_back: frames of the test part that were not compared with their own step.
        published: frame AUC and equal error rate in the paper, between 0 and 1; empty where it has none.
        dropped: recordings and steps that could not be used, by reason.
        notes: on the split.
        run: folder of the run, where one was asked for.
    """

    block: str
    split: str
    seed: int
    post: str
    learned: Mapping[str, object]
    frames: Mapping[PostName, FrameFigures]
    any_step: FrameFigures
    test: Part
    val: Part
    fallen_back: int
    published: tuple[float, ...]
    dropped: Mapping[str, int]
    notes: tuple[str, ...] = ()
    run: str | None = None


def learn_anomaly(
    settings: AnomalySettings,
    training: TrainOptions | None = None,
    *,
    show: Show = lambda *_: nullcontext(lambda: None),
) -> LearnedAnomaly:
    """Learn the normal recordings of the training part, score the frames of the other parts, and evaluate them.

    Args:
        settings: what is learned from what.
        training: of a block, where it is to be other than usual.
        show: shows progress of training and scoring.

    Raises:
        UserError: if annotations, split or features cannot be used, or no recording of a part is normal.
    """
    data, dataset = read_step_data(settings.annotations)
    division = divide(data, dataset, settings.annotations, settings.split)
    task = frame_task(data, division, FeatureStore.open(settings.features), settings.seed)
    training = training or TrainOptions()
    record = _record(settings, training, task)
    if settings.out is not None:
        require_free(settings.out, record)
    detector = detector_of(settings, training, show)
    learned = dict(detector.fit(task))
    raw: dict[str, Floats] = {}
    with show("recordings scored", len(task.val) + len(task.test)) as seen:
        for id_ in (*task.val, *task.test):
            raw[id_] = detector.scores(id_)
            seen()
    processed = {
        post: {id_: post_process(raw[id_], task.store.seconds, settings.sigma, post) for id_ in raw}
        for post in POST
    }
    scores = processed[settings.post]
    places, values = step_scores(task, task.val, scores)
    learned["threshold"] = threshold = threshold_of(data.labels()[places], values)
    val, test = (_steps(task, ids, scores, threshold, settings) for ids in (task.val, task.test))
    frames = {post: frame_figures(task, task.test, processed[post], settings.resamples) for post in POST}
    inside = {id_: (task.frames[id_].step != BACKGROUND).astype(float) for id_ in task.test}
    any_step = frame_figures(task, task.test, inside, settings.resamples)
    if settings.out is not None:
        _write(
            settings,
            record,
            task,
            scores,
            learned,
            {"test": test, "val": val, "frames": frames, "any_step": any_step},
        )
    return LearnedAnomaly(
        block=detector.name,
        split=settings.split,
        seed=settings.seed,
        post=settings.post,
        learned=learned,
        frames=frames,
        any_step=any_step,
        test=Part.of(test),
        val=Part.of(val),
        fallen_back=sum(detector.fallen.get(id_, 0) for id_ in task.test),
        published=next(
            ((row.auc / 100, row.equal_error_rate / 100) for row in ANOMALY if row.block == detector.name), ()
        ),
        dropped=dict(Counter(d.reason for d in (*data.dropped, *task.dropped))),
        notes=division.notes,
        run=None if settings.out is None else str(settings.out),
    )


def detector_of(settings: AnomalySettings, training: TrainOptions, show: Show) -> Detector:
    """Return the detector that is asked for, not yet fitted.

    Raises:
        UserError: if a block is to be conditioned on steps, or trained as only other models are.
    """
    if settings.block in ("sspcab", "ssmctb"):
        if settings.per_step:
            raise UserError(
                f"the block '{settings.block}' knows no steps.",
                where="--per-step",
                hint="use --block knn or mahalanobis",
            )
        if training.pos_weight is not None or training.devices > 1:
            raise UserError(
                "a block learns from normal frames alone, in one process.",
                where="--pos-weight" if training.devices == 1 else "--devices",
                hint="leave it out",
            )
        from proctor.learn.anomaly.predictive import USUAL, BlockDetector

        return BlockDetector(
            settings.block,
            kernel=settings.kernel,
            dilation=settings.dilation,
            window=settings.window,
            training=training.over(USUAL),
            folder=settings.out,
            show=show,
        )
    if settings.block == "knn":
        return NearestNeighbours(settings.neighbours, per_step=settings.per_step, most=settings.most)
    return Mahalanobis(per_step=settings.per_step)


def _steps(
    task: FrameTask,
    ids: tuple[str, ...],
    scores: Mapping[str, Floats],
    threshold: float,
    settings: AnomalySettings,
) -> Recognised:
    places, values = step_scores(task, ids, scores)
    return evaluate(
        task.data.labels()[places],
        values,
        [task.data.samples[place].recording_id for place in places],
        thresholds={"validation": threshold},
        resamples=settings.resamples,
    )


def _record(settings: AnomalySettings, training: TrainOptions, task: FrameTask) -> RunRecord:
    """What is asked, before anything is found."""
    left_out = ("annotations", "features", "block", "split", "seed", "out")
    return RunRecord(
        model=settings.block,
        split=settings.split,
        data=task.data.name,
        data_hash=task.data.hash,
        seed=settings.seed,
        features=(FeatureSource.of(task.store),),
        settings={n: getattr(settings, n) for n in settings.__struct_fields__ if n not in left_out}
        | ({"training": msgspec.to_builtins(training)} if settings.block in ("sspcab", "ssmctb") else {}),
    )


def _write(
    settings: AnomalySettings,
    record: RunRecord,
    task: FrameTask,
    scores: Mapping[str, Floats],
    learned: Mapping[str, object],
    results: Mapping[str, object],
) -> None:
    """Write frames, steps and the record, which comes last."""
    assert settings.out is not None
    write_jsonl(settings.out / FRAMES, frame_rows(task, task.test, scores))
    parts = [predicted_steps(task.data, *step_scores(task, ids, scores)) for ids in (task.test, task.val)]
    found = msgspec.structs.replace(record, chosen=dict(learned), results=msgspec.to_builtins(results))
    write_run(settings.out, found, *parts)
