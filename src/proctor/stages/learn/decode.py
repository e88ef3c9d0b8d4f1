"""``proctor learn decode``: predictions in, sequences of steps and new scores out, and what that gains where truth is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.datasets.dataset import Dataset
from proctor.errors import UserError
from proctor.learn.localize.data import LocalizeData, localize_data
from proctor.learn.localize.decode import Decoded, decode, infer_activities, of_activity
from proctor.learn.localize.decode_choice import GRID, ChosenWeights, choose_weights
from proctor.learn.localize.order_figures import (
    FIGURES,
    Sequenced,
    f1_sums,
    performed,
    tagged_out_of_order,
)
from proctor.learn.localize.order_prior import OrderPrior, fit_order_prior
from proctor.learn.localize.readings import DecodeWeights
from proctor.learn.localize.splits import LOCALIZE_SPLITS
from proctor.learn.runs import RECORD
from proctor.learn.samples import StepData, read_step_data
from proctor.metrics.activitynet import render_csv
from proctor.metrics.localization import MULTIPLES, TIOU, Segments, match_segments, weighted_scores
from proctor.metrics.localization.scores import centred_intervals
from proctor.records import Dropped, atomic_write, is_there, write_json, write_jsonl
from proctor.report.numbers import count
from proctor.stages.learn.decode_settings import DecodeSettings
from proctor.stages.scoring.localization import read_ground_truth, read_predictions

__all__ = ["DecodeGain", "DecodeRow", "DecodedRun", "OrderLine", "learn_decode"]

Floats = NDArray[np.float64]
_LOW: Final = 1e-3
"""Factor of the scores of other activities where the activity is only inferred."""


class OrderLine(msgspec.Struct, frozen=True):
    """A recording in ``order.jsonl``: what is missing and out of order, by step id, with texts where these are known."""

    recording: str
    activity: str
    inferred: bool
    steps: tuple[str, ...]
    missing: tuple[str, ...]
    out_of_order: tuple[tuple[str, tuple[str, ...]], ...]
    late: dict[str, float]
    texts: dict[str, str]


class DecodeRow(msgspec.Struct, frozen=True):
    """One line of the table, in per cent: by tIoU .1 to .5 mAP and macro recall, and of sequences where there is one."""

    name: str
    mean_ap: tuple[float, ...]
    average_map: float
    recall: dict[str, tuple[float, ...]]
    sequence: dict[str, float]


class DecodeGain(msgspec.Struct, frozen=True):
    """By how many points one row lies above another, with its 95 % interval over recordings."""

    name: str
    above: str
    figure: str
    value: float
    low: float | None
    high: float | None


class DecodedRun(msgspec.Struct, frozen=True):
    """What was decoded.

    Attributes:
        run: folder.
        recordings: how many.
        inferred_right: of them had the activity inferred that the annotations say; None where they say none.
        fitted_on: recordings that habits were learned from.
        missing: missing steps in all.
        out_of_order: steps out of order in all.
        weights: for recordings to come.
        rows: of the table; empty without truth.
        gains: of rows over others.
        dropped: recordings and predictions that were left out.
        seconds: for the decoding alone.
        unknown: recordings that the annotations do not have: their activity is inferred, their length not known.
    """

    run: str
    recordings: int
    inferred_right: int | None
    fitted_on: int
    missing: int
    out_of_order: int
    weights: DecodeWeights
    rows: tuple[DecodeRow, ...]
    gains: tuple[DecodeGain, ...]
    dropped: tuple[Dropped, ...]
    seconds: float
    unknown: tuple[str, ...] = ()


def learn_decode(settings: DecodeSettings) -> DecodedRun:
    """Decode a file of predictions, write the run, and measure it where truth is given.

    Raises:
        UserError: if a file cannot be used, the predictions are of no recording, or nothing is left to learn habits from.
    """
    from time import perf_counter

    if is_there(settings.out / RECORD):
        raise UserError(
            "this folder holds another run, whose files would be written over.",
            where=str(settings.out),
            hint="name another folder with --out",
        )
    steps, dataset = read_step_data(settings.annotations)
    data = localize_data(steps)
    predictions, dropped = _known(read_predictions(settings.predictions).trimmed(), data)
    videos = [str(v) for v in predictions.videos]
    prior = fit_order_prior(data, _train(data, dataset, settings, set(videos)))
    seconds = {v: data.recordings[v].seconds for v in videos if v in data.recordings}
    stated = {v: data.recordings[v].activity_id for v in videos if v in data.recordings}
    given = stated if settings.activity == "given" else {}
    truth = None
    if settings.truth is not None:
        truth, left = _measurable(read_ground_truth(settings.truth).trimmed(), set(videos), settings.truth)
        dropped += left
    chosen: ChosenWeights | None = None
    if settings.weights == "chosen":
        if truth is None:
            raise UserError(
                "weights can only be chosen with truth.", hint="add --truth, or leave --weights out"
            )
        within = predictions.take(predictions.in_videos(set(truth.used_videos())))
        choose = _Choice(within, truth, stated, seconds, prior)
        chosen = choose.of(("order",), choose.of([n for n in GRID if n != "order"], DecodeWeights(order=0.0)))
    begun = perf_counter()
    weights: DecodeWeights | Mapping[str, DecodeWeights] = chosen.by_recording if chosen else DecodeWeights()
    found = decode(predictions, given, seconds, prior, weights, beam=settings.beam)
    spent = perf_counter() - begun
    lines = list(_lines(found, prior, data, given))
    _write(settings.out, predictions, truth, found, lines)
    rows: tuple[DecodeRow, ...] = ()
    gains: tuple[DecodeGain, ...] = ()
    if truth is not None:
        measured = _Measured(predictions, truth, steps, data, prior, seconds, stated, settings)
        rows, gains = measured.table(found, weights, given)
    result = DecodedRun(
        str(settings.out), len(videos),
        None if not stated else sum(found.activities[v] == a for v, a in stated.items()),
        len(prior.fitted_on), sum(len(line.missing) for line in lines), sum(len(line.out_of_order) for line in lines),
        chosen.all if chosen else DecodeWeights(), rows, gains, tuple(dropped), round(spent, 3),
        tuple(v for v in videos if v not in stated),
    )  # fmt: skip
    write_json(settings.out / "decode.json", msgspec.to_builtins(result))
    return result


@dataclass(frozen=True)
class _Choice:
    predictions: Segments
    truth: Segments
    activities: Mapping[str, str]
    seconds: Mapping[str, float]
    prior: OrderPrior

    def of(self, names: Sequence[str], start: ChosenWeights | DecodeWeights) -> ChosenWeights:
        return choose_weights(
            self.predictions, self.truth, self.activities, self.seconds, self.prior, over=names, start=start
        )


def _known(predictions: Segments, data: LocalizeData) -> tuple[Segments, list[Dropped]]:
    """Leave out predictions of no length, outside of the video, and of classes that no annotation has."""
    if not len(predictions):
        raise UserError("there is no prediction.", hint="give at least one scored segment")
    short = predictions.empty()
    strange = ~predictions.with_labels([n for n in predictions.labels if str(n) in set(data.classes)])
    known = [data.recordings.get(str(v)) for v in predictions.videos]
    last = np.array([np.inf if one is None else one.seconds for one in known])[predictions.video]
    outside = (predictions.end <= 0) | (predictions.start >= last)
    if bool(strange.all()):
        raise UserError(
            f"none of the {len(predictions):,} predictions is of a step of {data.name}: their labels are such as "
            f"{str(predictions.labels[0])!r}.",
            hint="labels must be the annotations' step ids",
        )
    dropped = []
    for why, code, rows in (
        ("no length", "no_length", short),
        ("unknown class", "unknown_class", strange & ~short),
        ("outside of the video", "outside", outside & ~short & ~strange),
    ):
        for v, n in zip(*np.unique(predictions.video[rows], return_counts=True), strict=True):
            dropped.append(Dropped(str(predictions.videos[v]), code, f"{count(int(n), 'prediction')}: {why}"))
    kept = ~(short | strange | outside)
    if not kept.any():
        raise UserError(
            f"none of the {len(predictions):,} predictions is within its video and longer than a millisecond.",
            hint="times are in seconds from the start of the video",
        )
    return predictions.take(kept), dropped


def _measurable(truth: Segments, videos: set[str], path: Path) -> tuple[Segments, list[Dropped]]:
    """Leave out the truth of recordings that nothing was predicted in: a file may hold predictions of some alone."""
    within = truth.take(truth.in_videos(videos))
    if not len(within):
        raise UserError(
            "the truth has no segment of a predicted recording.",
            where=str(path),
            hint="do the videos have the same names?",
        )
    left = sorted({str(v) for v in truth.used_videos()} - videos)
    return within, [
        Dropped(v, "not_predicted", "it has truth, and no prediction: not measured") for v in left
    ]


def _train(data: LocalizeData, dataset: Dataset, settings: DecodeSettings, tested: set[str]) -> list[str]:
    """Return what habits are learned from: the split's training and validation part, or all, without what is predicted."""
    rule = next((r for r in dataset.splits if r.name == LOCALIZE_SPLITS[settings.split]), None)
    ids = set(data.recordings)
    if rule is not None and rule.released is not None and (settings.annotations / rule.released).exists():
        assert rule.read_released is not None
        parts = rule.read_released(settings.annotations)
        ids &= {id_ for name in ("train", "val") for id_ in parts.get(name, ())}
    if not ids - tested:
        raise UserError(
            "no recording is left to learn from: all that the split trains on were predicted.",
            where=str(settings.annotations),
            hint="choose another --split",
        )
    return sorted(ids - tested)


def _lines(
    found: Decoded, prior: OrderPrior, data: LocalizeData, given: Mapping[str, str]
) -> Iterator[OrderLine]:
    for code, (video, reading) in enumerate(found.readings.items()):
        of = prior.activities[found.activities[video]].steps
        rows = np.flatnonzero(found.chosen.video == code)
        order = np.lexsort((found.chosen.end[rows], found.chosen.start[rows]))
        yield OrderLine(
            video, found.activities[video], video not in given,
            tuple(str(found.chosen.labels[k]) for k in found.chosen.label[rows[order]]),
            tuple(of[k] for k in reading.missing),
            tuple((of[k], tuple(of[j] for j in early)) for k, early in reading.out_of_order),
            {of[k]: round(float(p), 4) for k, p in enumerate(reading.late) if p >= 0.01},
            {step: data.texts[step] for step in of if step in data.texts},
        )  # fmt: skip


def _write(
    folder: Path, predictions: Segments, truth: Segments | None, found: Decoded, lines: Sequence[OrderLine]
) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"the folder cannot be made: {error}.", where=str(folder), hint="choose another --out"
        ) from None
    files = {"predictions.csv": predictions, "rescored.csv": found.rescored, "decoded.csv": found.chosen}
    if truth is not None:
        files["truth.csv"] = truth
    for name, segments in files.items():
        with atomic_write(folder / name) as stream:
            stream.write(render_csv(segments).encode())
    write_jsonl(folder / "order.jsonl", lines)


@dataclass(frozen=True)
class _Measured:
    """All rows on the same recordings, and their differences over the same draws."""

    predictions: Segments
    truth: Segments
    steps: StepData
    data: LocalizeData
    prior: OrderPrior
    seconds: Mapping[str, float]
    stated: Mapping[str, str]
    settings: DecodeSettings

    def table(
        self, found: Decoded, weights: DecodeWeights | Mapping[str, DecodeWeights], given: Mapping[str, str]
    ) -> tuple[tuple[DecodeRow, ...], tuple[DecodeGain, ...]]:
        predictions, beam = self.predictions, self.settings.beam
        ranked: dict[str, Segments] = {"raw": predictions}
        sequences: dict[str, Segments] = {}
        videos = [str(v) for v in predictions.videos]
        inferred = infer_activities(predictions, videos, self.seconds, self.prior)
        demoted = np.where(of_activity(predictions, inferred, self.prior), 1.0, _LOW)
        assert predictions.score is not None
        ranked["activity inferred"] = replace(predictions, score=predictions.score * demoted)
        if len(self.stated) == len(videos):
            ranked["activity given"] = predictions.take(of_activity(predictions, self.stated, self.prior))
            alone = DecodeWeights(score=1.0, length=0.0, place=0.0, gap=0.0, order=0.0)
            sequences["activity given"] = decode(
                predictions, self.stated, self.seconds, self.prior, alone, beam=beam
            ).chosen
        for name, change in _LADDER.items():
            some = _changed(weights, change)
            one = (
                found if not change else decode(predictions, given, self.seconds, self.prior, some, beam=beam)
            )
            ranked[name], sequences[name] = one.rescored, one.chosen
        if given:
            one = decode(predictions, {}, self.seconds, self.prior, weights, beam=beam)
            ranked["graph, activity inferred"], sequences["graph, activity inferred"] = (
                one.rescored,
                one.chosen,
            )
        return self._figures(ranked, sequences)

    def _figures(
        self, ranked: Mapping[str, Segments], sequences: Mapping[str, Segments]
    ) -> tuple[tuple[DecodeRow, ...], tuple[DecodeGain, ...]]:
        names = [str(v) for v in self.truth.used_videos()]
        rng = np.random.default_rng(self.settings.seed)
        drawn = rng.multinomial(
            len(names), np.full(len(names), 1 / len(names)), size=max(self.settings.resamples, 1)
        )
        use = np.concatenate([np.ones((1, len(names))), drawn.astype(np.float64)])
        columns, own = {}, self.truth.in_videos(set(names))
        right = performed(
            self.truth.take(own), {v: self.stated[v] for v in names if v in self.stated}, self.prior
        )
        tagged = tagged_out_of_order(self.steps, list(right))
        at = [names.index(v) for v in right]
        for name, segments in ranked.items():
            matches = match_segments(
                self.truth, segments.take(segments.in_videos(set(names))), TIOU, MULTIPLES
            )
            use_all = np.zeros((len(use), len(matches.videos)))
            use_all[:, [list(map(str, matches.videos)).index(n) for n in names]] = use
            values = weighted_scores(matches, use_all)
            if name in sequences and right:
                given = _completed(performed(sequences[name], self.stated, self.prior), right)
                sums = np.tensordot(use[:, at], f1_sums(given, right, tagged), 1)
                ratio = np.divide(
                    2 * sums[..., 0],
                    sums[..., 1] + sums[..., 2],
                    out=np.full(sums.shape[:2], np.nan),
                    where=sums[..., 1] + sums[..., 2] > 0,
                )
                values = np.concatenate([values, ratio], axis=1)
            columns[name] = 100 * values
        rows = tuple(_row(name, values[0]) for name, values in columns.items())
        return rows, tuple(self._gains(columns, len(names)))

    def _gains(self, columns: Mapping[str, Floats], videos: int) -> Iterator[DecodeGain]:
        recalls = [f"{kind}R@{k}x@{t:g}" for kind in ("", "micro ") for k in MULTIPLES for t in TIOU]
        figures = [*(f"mAP@{t:g}" for t in TIOU), "average mAP", *recalls, *FIGURES]
        for name, above in _COMPARED:
            if name not in columns or above not in columns or not self.settings.resamples:
                continue
            width = min(columns[name].shape[1], columns[above].shape[1])
            difference = columns[name][:, :width] - columns[above][:, :width]
            intervals = centred_intervals(
                difference[0], difference[1:], clusters=videos, low=-100.0, high=100.0
            )
            for figure, value, interval in zip(figures, difference[0].tolist(), intervals, strict=False):
                if figure in _SHOWN and np.isfinite(value):
                    yield DecodeGain(name, above, figure, value, interval.low, interval.high)


_LADDER: Final[Mapping[str, Mapping[str, float]]] = {
    "place and length": {"gap": 0.0, "order": 0.0},
    "sequence": {"order": 0.0},
    "graph": {},
}
_COMPARED: Final = (
    ("activity inferred", "raw"),
    ("activity given", "raw"),
    ("place and length", "activity given"),
    ("sequence", "place and length"),
    ("graph", "sequence"),
    ("graph", "activity given"),
    ("graph, activity inferred", "activity inferred"),
    ("graph, activity inferred", "raw"),
)
_SHOWN: Final = ("mAP@0.1", "mAP@0.5", "average mAP", "R@1x@0.1", "R@1x@0.5", "R@5x@0.5", *FIGURES)


def _row(name: str, values: Floats) -> DecodeRow:
    t = len(TIOU)
    recall = {
        f"{k}x": tuple(values[t + 1 + n * t : t + 1 + (n + 1) * t].tolist()) for n, k in enumerate(MULTIPLES)
    }
    rest = values[t + 1 + 2 * len(MULTIPLES) * t :].tolist()
    return DecodeRow(
        name, tuple(values[:t].tolist()), float(values[t]), recall, dict(zip(FIGURES, rest, strict=False))
    )


def _changed(
    weights: DecodeWeights | Mapping[str, DecodeWeights], change: Mapping[str, float]
) -> DecodeWeights | Mapping[str, DecodeWeights]:
    if isinstance(weights, DecodeWeights):
        return msgspec.structs.replace(weights, **change)
    return {video: msgspec.structs.replace(own, **change) for video, own in weights.items()}


def _completed(found: Mapping[str, Sequenced], right: Mapping[str, Sequenced]) -> dict[str, Sequenced]:
    """Give recordings without any prediction an empty sequence: everything is missing there."""
    return {
        video: found.get(video, Sequenced((), frozenset(), frozenset(one.begun) | one.missing))
        for video, one in right.items()
    }
