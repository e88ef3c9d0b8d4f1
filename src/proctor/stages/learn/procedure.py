"""``proctor learn procedure``: key steps found in videos without labels, beside chance and published rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.features.store import FeatureStore
from proctor.learn.procedures.evaluate import (
    PUBLISHED,
    Evaluated,
    Means,
    evaluate_procedure,
    matches,
    mean_of,
    overlaps_of,
)
from proctor.learn.procedures.heads import CLUSTERS, Clustered, choose_clusters, cluster
from proctor.learn.procedures.ordered import align_recordings
from proctor.learn.procedures.videos import RATE, Procedure, ProcedureVideo, procedures_of
from proctor.learn.samples import StepData, read_step_data
from proctor.learn.settings import TrainOptions
from proctor.metrics.clustering import Background
from proctor.procedure.graph import TaskGraph
from proctor.records import content_hash, is_there, read_json, write_json, write_jsonl
from proctor.stages.learn.procedure_settings import ProcedureSettings
from proctor.stages.show import Show

__all__ = ["LABELS", "RESULT", "LearnedProcedures", "learn_procedures"]

RESULT: Final = "procedure.json"
LABELS: Final = "labels.jsonl"
DROPPED: Final = "dropped.jsonl"
_MOST_CLUSTERS: Final = 1_000
_BEYOND: Final = 5.0
"""Seconds that a recording and its features may differ by, before a note says so."""

Rows = NDArray[np.float32]


class LabelledRecording(msgspec.Struct, frozen=True):
    """A line of ``labels.jsonl``: what was found in a recording.

    Attributes:
        recording: its id.
        activity: of it.
        seconds: from one label to the next.
        runs: first label, the label after the last, and the cluster, one after the other.
        steps: by cluster, the step that it was matched with; ``0`` is background. Clusters without one are in none.
    """

    recording: str
    activity: str
    seconds: float
    runs: tuple[tuple[int, int, int], ...]
    steps: dict[str, str]


class LearnedProcedures(msgspec.Struct, frozen=True, kw_only=True):
    """What was found.

    Attributes:
        method: how frames were embedded, and ``head`` how they became key steps.
        protocol: right or code; ``rate`` frames a second; ``seed``.
        activities: figures of each.
        means: over them.
        published: precision, recall and IoU of the paper, between 0 and 1.
        dropped: recordings that are left out, by reason.
        notes: what a reader of the figures has to know.
        run: folder of the run, where one was asked for.
    """

    method: str
    head: str
    protocol: str
    rate: float
    seed: int
    activities: tuple[Evaluated, ...]
    means: Means
    published: Mapping[str, tuple[float, float, float]]
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    run: str | None = None


class _Result(msgspec.Struct, frozen=True):
    """Of a run's folder; written last."""

    asked: str
    result: dict[str, object]


def learn_procedures(
    settings: ProcedureSettings,
    training: TrainOptions | None = None,
    *,
    show: Show = lambda *_: nullcontext(lambda: None),
) -> LearnedProcedures:
    """Embed the frames of each activity, cluster them, and evaluate.

    Args:
        settings: what is found in what.
        training: of the embedding, where it is to be other than usual.
        show: shows progress of training.

    Raises:
        UserError: if annotations, features or options cannot be used.
    """
    clusters = _clusters(settings)
    data, _ = read_step_data(settings.annotations)
    store = None if settings.features is None else FeatureStore.open(settings.features)
    return learn_from(data, store, settings, clusters, training, show)


def learn_from(
    data: StepData,
    store: FeatureStore | None,
    settings: ProcedureSettings,
    clusters: int | None,
    training: TrainOptions | None = None,
    show: Show = lambda *_: nullcontext(lambda: None),
) -> LearnedProcedures:
    """Do the same with steps and features that were read; ``clusters`` of None are chosen by the data."""
    training = training or TrainOptions()
    if settings.anchors is not None and (settings.head != "ordered" or store is None):
        raise UserError(
            "texts of steps are used by --head ordered alone, with features.",
            where="--anchors",
            hint="add --head ordered and --features STORE, or leave --anchors out",
        )
    procedures, dropped = procedures_of(data, store, rate=settings.rate, which=settings.recordings)
    paths = ("annotations", "features", "anchors", "out")
    asked = content_hash(
        [
            {name: getattr(settings, name) for name in settings.__struct_fields__ if name not in paths},
            data.hash,
            store.hash if store else "",
            FeatureStore.open(settings.anchors).hash if settings.anchors else "",
            training,
        ]
    )
    if settings.out is not None:
        _require_free(settings.out, asked)
    background: Background = "dropped" if settings.protocol == "code" else "class"
    evaluated: list[Evaluated] = []
    labelled: list[LabelledRecording] = []
    for procedure in procedures:
        chosen: dict[str, object] = {}
        if store is None:
            labels, size = None, clusters or CLUSTERS
        else:
            found, chosen = _found(procedure, data, store, settings, clusters, training, show)
            labels, size = found.labels, found.clusters
            steps = matches(overlaps_of(procedure, labels, background))
            labelled += _labelled(procedure, labels, store.seconds, steps)
        evaluated.append(
            evaluate_procedure(
                procedure,
                labels,
                size,
                background=background,
                draws=settings.draws,
                resamples=settings.resamples,
                seed=settings.seed,
                chosen=chosen,
            )
        )
    result = LearnedProcedures(
        method=settings.method,
        head=settings.head,
        protocol=settings.protocol,
        rate=settings.rate,
        seed=settings.seed,
        activities=tuple(evaluated),
        means=mean_of(evaluated, resamples=settings.resamples, seed=settings.seed),
        published=PUBLISHED,
        dropped=dict(Counter(d.reason for d in dropped)),
        notes=tuple(_notes(settings, store, procedures)),
        run=None if settings.out is None else str(settings.out),
    )
    if settings.out is not None:
        write_jsonl(settings.out / LABELS, labelled)
        write_jsonl(settings.out / DROPPED, dropped)
        write_json(settings.out / RESULT, _Result(asked, msgspec.to_builtins(result)))
    return result


def _clusters(settings: ProcedureSettings) -> int | None:
    if settings.clusters == "auto":
        return None
    if not settings.clusters.isdecimal() or not 1 <= int(settings.clusters) <= _MOST_CLUSTERS:
        raise UserError(
            f"'{settings.clusters}' is no number of clusters.",
            where="--clusters",
            hint=f"give a number from 1 to {_MOST_CLUSTERS:,}, or auto",
        )
    return int(settings.clusters)


def _found(
    procedure: Procedure,
    data: StepData,
    store: FeatureStore,
    settings: ProcedureSettings,
    clusters: int | None,
    training: TrainOptions,
    show: Show,
) -> tuple[Clustered, dict[str, object]]:
    """Embed and cluster the recordings of one activity; also what was chosen for it."""
    rows, chosen = _embedded(procedure, store, settings, training, show)
    if settings.head == "ordered":
        return _in_order(procedure, data, rows, store, settings), chosen
    if clusters is None:
        clusters = choose_clusters(rows, settings.seed, frames=store.seconds * RATE)
        chosen["clusters"] = clusters
    try:
        found = cluster(
            rows,
            settings.head,
            clusters,
            seed=settings.seed,
            distance=settings.distance,
            frames=store.seconds * RATE,
            published=settings.protocol == "code",
        )
    except UserError as error:
        raise UserError(error.message, where=f"activity '{procedure.name}'", hint=error.hint) from None
    return found, chosen


def _in_order(
    procedure: Procedure,
    data: StepData,
    rows: Mapping[str, Rows],
    store: FeatureStore,
    settings: ProcedureSettings,
) -> Clustered:
    graph = data.graphs.get(procedure.id)
    if graph is None:
        raise UserError(
            "the activity has no task graph, so its steps have no order.",
            where=f"activity '{procedure.name}'",
            hint="use --head procut",
        )
    costs = None if settings.anchors is None else _anchored(procedure, data, graph, store, settings.anchors)
    labels, steps = align_recordings(rows, graph, first_costs=costs, seed=settings.seed)
    return Clustered(labels, 1 + len(steps))


def _anchored(
    procedure: Procedure, data: StepData, graph: TaskGraph, store: FeatureStore, path: Path
) -> dict[str, NDArray[np.float64]]:
    """Return how unlike each row is to the text of each step, one less their cosine."""
    texts = FeatureStore.open(path)
    if texts.width != store.width or store.shape:
        raise UserError(
            f"texts have {texts.width} numbers and frames {store.width}, so they were not embedded by one model.",
            where=str(path),
            hint="embed both with a model of pictures and texts, or leave --anchors out",
        )
    keys = {
        segment.step_id: key
        for performance in data.performances.values()
        if performance.recording.activity_id == procedure.id
        for key, segment in zip(performance.keys, performance.recording.segments, strict=True)
    }
    steps = [keys.get(step.id, step.id) for step in graph.actions]
    missing = [key for key in steps if key not in texts or not len(texts.rows(key))]
    if missing:
        raise UserError(
            f"it has no row of {len(missing)} of {len(steps)} steps, such as '{missing[0]}'.",
            where=str(path),
            hint="a row a step, with the id of the step in place of that of a recording",
        )
    anchors = _unit(np.stack([np.asarray(texts.rows(key), np.float64).mean(0) for key in steps]))
    return {v.id: 1 - _unit(np.asarray(store.rows(v.id), np.float64)) @ anchors.T for v in procedure.videos}


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return found


def _embedded(
    procedure: Procedure, store: FeatureStore, settings: ProcedureSettings, training: TrainOptions, show: Show
) -> tuple[dict[str, Rows], dict[str, object]]:
    rows = {v.id: store.rows(v.id) for v in procedure.videos}
    if settings.method == "none":
        return _scaled({id_: _vectors(part, store.shape) for id_, part in rows.items()}), {}
    from proctor.learn.procedures.embedder import USUAL, ProcedureEmbedder

    embedder = ProcedureEmbedder(
        rows,
        store.seconds,
        store.shape,
        settings.method,
        settings.idm_weight,
        settings.far,
        training.over(USUAL),
        settings.protocol == "code",
        settings.seed,
    )
    folder = None if settings.out is None else settings.out / "training" / procedure.id
    trained = embedder.fit(folder, show)
    return embedder.embed(), dict(trained.chosen)


def _vectors(rows: NDArray[np.float16], shape: tuple[int, ...]) -> Rows:
    """Return rows as they are, of maps the mean over places."""
    found = np.asarray(rows, np.float32)
    return found.reshape(-1, *shape).mean((2, 3)) if shape else found


def _scaled(rows: Mapping[str, Rows]) -> dict[str, Rows]:
    """Return rows with mean 0 and deviation 1 in each number over all recordings."""
    every = np.concatenate(list(rows.values())).astype(np.float64)
    mean, deviation = every.mean(0), every.std(0)
    deviation[deviation < 1e-6 * np.maximum(1.0, np.abs(mean))] = 1.0
    return {id_: ((part - mean) / deviation).astype(np.float32) for id_, part in rows.items()}


def _labelled(
    procedure: Procedure, labels: Mapping[str, NDArray[np.int64]], seconds: float, steps: Mapping[int, str]
) -> Iterator[LabelledRecording]:
    for video in procedure.videos:
        found = labels[video.id]
        begins = np.flatnonzero(np.diff(found, prepend=-1))
        ends = [*begins[1:].tolist(), len(found)]
        runs = tuple(zip(begins.tolist(), ends, found[begins].tolist(), strict=True))
        named = {str(c): steps[c] for c in sorted(set(found.tolist())) if c in steps}
        yield LabelledRecording(video.id, procedure.id, seconds, runs, named)


def _notes(
    settings: ProcedureSettings, store: FeatureStore | None, procedures: Sequence[Procedure]
) -> Iterator[str]:
    if store is not None:
        short, long = (
            [v.id for p in procedures for v in p.videos if sign * _beyond(v, settings.rate, store) > _BEYOND]
            for sign in (1, -1)
        )
        if short:
            yield (
                f"features of {len(short)} recordings, such as '{short[0]}', end more than {_BEYOND:g} s before the recording: all "
                "frames after their end are counted with the label of the last row, and by time is too low"
            )
        if long:
            yield (
                f"features of {len(long)} recordings, such as '{long[0]}', go on more than {_BEYOND:g} s after the recording: "
                "these rows are clustered, no frame is counted there, and by time is too low"
            )
    if store is not None and settings.rate * store.seconds > 1:
        yield (
            f"features have a row every {store.seconds:g} s and {settings.rate:g} frames a second are counted: labels that last "
            "score more than labels of single frames whatever they are, so compare with random rows, not with random"
        )
    if settings.rate != 15:
        yield f"published rows are of about 15 frames a second, these of {settings.rate:g}: chance differs"
    if settings.recordings == "all":
        yield "published rows are of recordings without mistakes, these of all"


def _beyond(video: ProcedureVideo, rate: float, store: FeatureStore) -> float:
    """Return for how many seconds a recording goes on after its features; negative where the features do."""
    return len(video.rows) / rate - video.row_count * store.seconds


def _require_free(folder: Path, asked: str) -> None:
    if not folder.exists():
        return
    if is_there(folder / RESULT):
        old: _Result = read_json(folder / RESULT, _Result)
        if old.asked == asked:
            return
        problem = "there is a run of other settings, annotations or features."
    elif folder.is_dir() and {p.name for p in folder.iterdir()} <= {"training", LABELS, DROPPED}:
        return  # an unfinished run; of other settings the trainer refuses its checkpoints
    else:
        problem = f"there is something here already that is no run (it has no {RESULT})."
    raise UserError(problem, where=str(folder), hint="name another folder, or remove this one")
