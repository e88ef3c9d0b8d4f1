"""Steps found in time, from files: ground truth and predictions as CSV, JSON Lines or ActivityNet JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.metrics.activitynet import (
    is_ground_truth,
    is_results,
    parse_ground_truth,
    parse_results,
    render_csv,
    render_ground_truth,
    render_results,
    subsets,
)
from proctor.metrics.bootstrap import Floats, bootstrap_interval, cluster_sums
from proctor.metrics.figure import Bars, Figure, IntervalPlot
from proctor.metrics.interval import Interval
from proctor.metrics.localization import (
    MULTIPLES,
    PROTOCOLS,
    TIOU,
    LocalizationScores,
    Prepared,
    Protocol,
    Segments,
    apply_protocol,
    localization_scores,
    score_intervals,
)
from proctor.metrics.localization.segments import Name, sorted_names
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.records import atomic_write, read_bytes, write_json
from proctor.stages.scoring.files import Table, explained, read_json_document, read_table

__all__ = [
    "parse_tiou",
    "read_ground_truth",
    "read_label_map",
    "read_predictions",
    "score_localization",
    "write_segments",
]

_VIDEO: Final = ("video-id", "video_id", "video", "recording_id")
_START: Final = ("t-start", "t_start", "start", "start_time")
_END: Final = ("t-end", "t_end", "end", "end_time")
_LABEL: Final = ("label", "label_id", "class", "step_id")
_SCORE: Final = ("score", "confidence")
_SUBSET: Final = ("subset",)
_WHOLE: Final = re.compile(r"([+-]?\d+)\.0+")
_LISTED: Final = 20


def score_localization(
    gt: Path,
    pred: Path,
    *,
    protocol: str = "corrected",
    label_map: Path | None = None,
    tiou: Sequence[float] = TIOU,
    subset: str | None = None,
    videos: Path | None = None,
    label_key: str | None = None,
    drop_duplicates: bool = False,
    drop_empty: bool = False,
    slice_column: str | None = None,
    matches: Path | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> ScoreTable:
    """Score predicted segments against the ground truth: mAP and R@k× at each tIoU, in per cent.

    Args:
        gt: ground truth.
        pred: predictions, under raw labels.
        protocol: ``published``, ``activitynet`` or ``corrected``; see ``metrics.localization.protocol``.
        label_map: JSON object raw to renumbered label.
        tiou: thresholds.
        subset: only the videos of this subset of the ground truth.
        videos: the evaluated videos, one a line; with ``corrected`` only.
        label_key: key or column that holds the class, where it is not the usual one.
        drop_duplicates: leave out repeated segments on both sides.
        drop_empty: leave out segments shorter than a millisecond on both sides.
        slice_column: column of the ground truth by whose values recall is given too.
        matches: CSV to write: one row a segment of the ground truth, and how it was found.
        resamples: of the bootstrap over videos; 0 for no intervals.
        confidence: level of the intervals.
        seed: of the bootstrap.

    Raises:
        UserError: if a file or an option cannot be used; the message says what was seen where.
    """
    columns = (slice_column,) if slice_column is not None else ()
    notes: list[str] = []
    truth = read_ground_truth(gt, subset=subset, label_key=label_key, columns=columns, notes=notes)
    predictions = read_predictions(pred, label_key=label_key)
    counts = {"ground truth segments read": len(truth), "predictions read": len(predictions)}
    truth = _cleaned(truth, "ground truth segments", drop_duplicates, drop_empty, counts, notes)
    predictions = _cleaned(predictions, "predictions", drop_duplicates, drop_empty, counts, notes)
    with explained(gt):
        prepared = apply_protocol(
            truth,
            predictions,
            _protocol(protocol),
            videos=None if videos is None else _read_videos(videos),
            label_map=None if label_map is None else read_label_map(label_map),
        )
    with explained("--tiou"):
        scores = localization_scores(prepared.truth, prepared.predictions, tiou=tiou, multiples=MULTIPLES)
    with explained("--resamples, --confidence"):
        intervals = (
            score_intervals(scores.matches, resamples=resamples, confidence=confidence, seed=seed)
            if resamples
            else ()
        )
        parts = (
            _parts(scores, prepared.truth, slice_column, resamples, confidence, seed)
            if slice_column is not None
            else []
        )
    if matches is not None:
        _write_matches(matches, scores, prepared)
    dropped = [name for name, drop in (("duplicates", drop_duplicates), ("empty", drop_empty)) if drop]
    choices = _Choices(
        {"protocol": prepared.protocol, "unit": "percent"}
        | ({"dropped": ",".join(dropped)} if dropped else {})
        | ({"subset": subset.replace("|", "/")} if subset else {})
        | ({"videos": "listed"} if videos else {})
        | ({"resamples": str(resamples)} if resamples else {})
    )
    return ScoreTable(
        family="localization",
        rows=(
            *_rows(scores, prepared, choices, intervals),
            *_slice_rows(parts, choices),
        ),
        headline=_headline(scores, prepared, len(predictions), intervals, parts),
        counts={**counts, **prepared.counts},
        notes=tuple(dict.fromkeys((*notes, *prepared.notes, *(i.note for i in intervals if i.note)))),
        figures=_figures(scores, parts, slice_column),
    )


def parse_tiou(text: str) -> tuple[float, ...]:
    """Read thresholds: ``0.1,0.3,0.5``, or a range with both ends ``0.5:0.95:0.05``, or both mixed; sorted.

    Raises:
        UserError: if a part is no number or no range.
    """
    values: set[float] = set()
    for part in text.replace(",", " ").split():
        numbers = part.split(":")
        try:
            low, *rest = map(float, numbers)
        except ValueError:
            raise _tiou_error(part) from None
        if not rest:
            values.add(low)
            continue
        if len(rest) != 2 or not rest[1] > 0 or not 0 <= rest[0] - low <= 1:
            raise _tiou_error(part)
        steps = int((rest[0] - low) / rest[1] + 1e-9)
        if steps > 1000:
            raise _tiou_error(part)
        # Sums of 0.05 drift: 0.15000000000000002 would be another threshold than 0.15.
        values.update(round(low + k * rest[1], 10) for k in range(steps + 1))
    if not all(0 < value <= 1 for value in values) or not values:
        raise _tiou_error(text)
    return tuple(sorted(values))


def _tiou_error(text: str) -> UserError:
    return UserError(
        f"{text!r} is no list of thresholds above 0 and up to 1.",
        where="--tiou",
        hint="write 0.1,0.3,0.5 or first:last:step such as 0.5:0.95:0.05",
    )


def read_ground_truth(
    path: Path,
    *,
    subset: str | None = None,
    label_key: str | None = None,
    columns: Sequence[str] = (),
    notes: list[str] | None = None,
) -> Segments:
    """Read ground truth: ActivityNet JSON, or a table with video, start, end and label.

    Args:
        path: the file.
        subset: only the videos of this subset.
        label_key: key or column of the class.
        columns: further columns to keep.
        notes: where to say what to beware of.

    Raises:
        UserError: if the file cannot be used.
    """
    document = _document(path)
    if document is None:
        return _table_truth(path, subset, label_key, columns)
    if is_results(document) and not is_ground_truth(document):
        raise UserError(
            "these are predictions ('results'), but ground truth ('database') was expected.",
            where=str(path),
            hint="were --gt and --pred exchanged?",
        )
    with explained(path):
        segments = parse_ground_truth(document, subset=subset, label_key=label_key or "label")
        found = subsets(document)
    if notes is not None and subset is None and len(found) > 1:
        seen = ", ".join(f"{name!r} ({count} videos)" for name, count in found.items())
        notes.append(
            f"The ground truth holds several subsets, all were read: {seen}. Choose one by --subset."
        )
    for name in columns:
        if name not in segments.columns:
            raise UserError(
                f"annotations have no {name!r}; they have {', '.join(map(repr, segments.columns)) or 'nothing more'}.",
                where=str(path),
                hint="name one of them, or leave --slice out",
            )
    kept = {name: segments.columns[name] for name in columns}
    return replace(segments, columns=kept)


def read_predictions(path: Path, *, label_key: str | None = None) -> Segments:
    """Read predictions: ActivityNet JSON, or a table with video, start, end, label and score.

    Raises:
        UserError: if the file cannot be used.
    """
    document = _document(path)
    if document is None:
        return _of_table(read_table(path), label_key, scored=True)
    if is_ground_truth(document) and not is_results(document):
        raise UserError(
            "this is ground truth ('database'), but predictions ('results') were expected.",
            where=str(path),
            hint="were --gt and --pred exchanged?",
        )
    with explained(path):
        key = label_key if label_key and _has_key(document, label_key) else "label"
        return parse_results(document, label_key=key)


def write_segments(path: Path, segments: Segments) -> None:
    """Write segments as ActivityNet JSON (``.json``) or CSV (``.csv``); those with scores are predictions.

    Raises:
        UserError: if the name has another ending or the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in (".json", ".csv"):
        raise UserError(
            "segments are written as .json (ActivityNet) or .csv.", where=str(path), hint="choose one of them"
        )
    with explained(path):
        if suffix == ".csv":
            with atomic_write(path) as stream:
                stream.write(render_csv(segments).encode("utf-8"))
        else:
            scored = segments.score is not None
            write_json(path, render_results(segments) if scored else render_ground_truth(segments))


def _write_matches(path: Path, scores: LocalizationScores, prepared: Prepared) -> None:
    """Write what happened to each segment: the score of the prediction that took it, and the best overlaps."""
    record, truth = scores.matches, prepared.truth
    columns: dict[str, NDArray[np.object_]] = dict(truth.columns)
    confidence = np.append(
        np.zeros(0) if prepared.predictions.score is None else prepared.predictions.score, 0.0
    )
    for t, threshold in enumerate(record.tiou):
        found = record.found_by[:, t]
        cells = [repr(s) if p >= 0 else "" for p, s in zip(found, confidence[found].tolist(), strict=True)]
        columns[f"score@{threshold:g}"] = np.array(cells, dtype=np.object_)
    for j, k in enumerate(record.multiples):
        columns[f"iou@{k}x"] = np.array([repr(v) for v in record.best_iou[:, j].tolist()], dtype=np.object_)
    order = np.lexsort((truth.label, truth.end, truth.start, truth.video))
    with explained(path), atomic_write(path) as stream:
        stream.write(render_csv(replace(truth, columns=columns).take(order)).encode("utf-8"))


def read_label_map(path: Path) -> dict[Name, Name]:
    """Read a JSON object from raw to renumbered label; both become texts.

    Raises:
        UserError: if it is something else.
    """
    document = read_json_document(path)
    if not isinstance(document, dict) or not document:
        raise UserError(
            "an object {raw label: renumbered label} was expected.",
            where=str(path),
            hint='such as {"77": 51}',
        )
    for raw, new in document.items():
        if isinstance(new, bool) or not isinstance(new, str | int):
            raise UserError(
                f"the label {raw!r} is mapped to {new!r}, which is neither a text nor a whole number.",
                where=str(path),
            )
    return {_label(raw): _label(str(new)) for raw, new in document.items()}


def _read_videos(path: Path) -> list[str]:
    lines = read_bytes(path).decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
    names = [line.strip() for line in lines if line.strip()]
    if not names:
        raise UserError("the list of videos is empty.", where=str(path), hint="write one video a line")
    return names


def _document(path: Path) -> Any:
    """Return an ActivityNet document, None for what is a table."""
    if not path.name.lower().removesuffix(".gz").endswith(".json"):
        return None
    document = read_json_document(path)
    return None if isinstance(document, list) else document


def _has_key(document: Mapping[str, Any], key: str) -> bool:
    """Whether predictions carry a key; results often have labels only."""
    results = document.get("results")
    entries = results.values() if isinstance(results, dict) else ()
    return any(
        isinstance(entry, list) and any(isinstance(item, dict) and key in item for item in entry)
        for entry in entries
    )


def _table_truth(path: Path, subset: str | None, label_key: str | None, columns: Sequence[str]) -> Segments:
    table = read_table(path)
    if subset is None:
        return _of_table(table, label_key, columns=columns)
    if table.find(*_SUBSET) is None:
        raise UserError(
            f"--subset {subset} was given, but the table has no column 'subset'.",
            where=str(path),
            hint="leave --subset out, or give the ground truth as ActivityNet JSON",
        )
    names = table.texts(*_SUBSET)
    rows = [row for row, name in enumerate(names) if name.casefold() == subset.casefold()]
    if not rows:
        seen = ", ".join(map(repr, sorted(set(names))[:_LISTED]))
        raise UserError(
            f"no row belongs to the subset {subset!r}; there are {seen}.",
            where=str(path),
            hint="name one of them",
        )
    part = Table(
        path,
        {name: [values[row] for row in rows] for name, values in table.columns.items()},
        [table.lines[row] for row in rows],
        table.unit,
    )
    return _of_table(part, label_key, columns=columns)


def _of_table(
    table: Table, label_key: str | None, *, scored: bool = False, columns: Sequence[str] = ()
) -> Segments:
    own_key = label_key is not None and (not scored or label_key in table)
    label = (label_key,) if label_key is not None and own_key else _LABEL
    with explained(table.path):
        return Segments.of(
            table.texts(*_VIDEO),
            table.numbers(*_START),
            table.numbers(*_END),
            _labels(table.texts(*label)),
            table.numbers(*_SCORE) if scored else None,
            columns={name: table.texts(name) for name in columns},
        )


def _labels(texts: Sequence[str]) -> list[str]:
    known = {text: _label(text) for text in set(texts)}
    return [known[text] for text in texts]


def _label(text: str) -> str:
    """Write a label in one way: programs that met a missing value turn 77 into 77.0."""
    text = text.strip()
    whole = _WHOLE.fullmatch(text)
    return str(int(whole[1])) if whole else text


def _protocol(name: str) -> Protocol:
    for known in PROTOCOLS:
        if name == known:
            return known
    raise UserError(f"there is no protocol {name!r}.", hint=f"choose one of {', '.join(PROTOCOLS)}")


def _cleaned(
    segments: Segments, what: str, duplicates: bool, empty: bool, counts: dict[str, int], notes: list[str]
) -> Segments:
    """Count repeated and empty segments, and leave them out where that was asked for."""
    for name, found, drop, option in (
        ("empty", Segments.empty, empty, "--drop-empty"),
        ("duplicate", Segments.duplicates, duplicates, "--drop-duplicates"),
    ):
        rows = found(segments)
        number = int(rows.sum())
        counts[f"{name} {what} {'dropped' if drop else 'kept'}"] = number
        if drop:
            segments = segments.take(~rows)
        elif number:
            notes.append(f"{number:,} {name} {what} were kept; {option} leaves them out.")
    return segments


@dataclass(frozen=True, slots=True)
class _Choices:
    """What every signature of one run shares."""

    parameters: Mapping[str, str]

    def signature(self, name: str, **further: str) -> Signature:
        return Signature(name, {**self.parameters, **further})


def _score(value: float, signature: Signature, n: int, interval: Interval | None) -> Score:
    if interval is None:
        return Score(value, signature, n)
    return Score(
        value,
        signature.having(interval=interval.method),
        n,
        interval.low,
        interval.high,
        note=interval.note,
    )


def _rows(
    scores: LocalizationScores, prepared: Prepared, choices: _Choices, intervals: Sequence[Interval]
) -> list[ScoreRow]:
    """One line a threshold; the intervals come in the order of ``weighted_scores``."""
    tiou, ks, n = scores.matches.tiou, scores.matches.multiples, len(prepared.truth)
    rows: list[ScoreRow] = []

    def add(line: str, column: str, value: float, signature: Signature, place: int) -> None:
        interval = intervals[place] if intervals else None
        rows.append(ScoreRow(column, _score(value, signature, n, interval), line, digits=2))

    first = len(tiou) + 1
    for t, threshold in enumerate(tiou):
        line, at = f"tIoU {threshold:g}", {"tiou": f"{threshold:g}"}
        signature = choices.signature("mean_average_precision", average="macro", matching="greedy", **at)
        add(line, "mAP", float(scores.mean_ap[t]), signature, t)
        for table, name, average, offset in (
            (scores.mean_recall, "recall_at_kx", "macro", first),
            (scores.micro_recall, "micro_recall_at_kx", "micro", first + len(ks) * len(tiou)),
        ):
            for j, k in enumerate(ks):
                signature = choices.signature(name, average=average, k=str(k), **at)
                column = f"R@{k}x" if average == "macro" else f"micro R@{k}x"
                add(line, column, float(table[k][t]), signature, offset + j * len(tiou) + t)
    signature = choices.signature(
        "average_map", average="macro", matching="greedy", tiou=",".join(f"{t:g}" for t in tiou)
    )
    add("average", "mAP", scores.average_map, signature, len(tiou))
    return rows


@dataclass(frozen=True, slots=True)
class _Part:
    """Recall of one slice, or the difference of two, at one threshold and k."""

    label: str
    tiou: float
    k: int
    value: float
    n: int
    interval: Interval | None
    difference: bool = False


def _parts(
    scores: LocalizationScores, truth: Segments, column: str, resamples: int, confidence: float, seed: int
) -> list[_Part]:
    """Micro recall by the values of a column; with two values also by how much the second lies above the first."""
    matches = scores.matches
    values = truth.columns[column]
    names = sorted_names({str(v) for v in values})
    videos = [str(matches.videos[code]) for code in matches.truth_video.tolist()]
    out: list[_Part] = []
    among = {str(name): (values == name).astype(np.float64) for name in names}
    for k in matches.multiples:
        recalled = matches.recalled(k).astype(np.float64)
        for t, threshold in enumerate(matches.tiou):
            columns = [c for flags in among.values() for c in (flags * recalled[:, t], flags)]
            sums = cluster_sums(columns, videos)
            for j, (name, flags) in enumerate(among.items()):
                pair = sums[:, [2 * j, 2 * j + 1]]
                interval = _slice_interval(pair, _recall, resamples, confidence, seed)
                label = f"{column}={name or '(nothing)'}"
                value = float(_recall(pair.sum(axis=0, keepdims=True))[0])
                out.append(_Part(label, threshold, k, value, int(flags.sum()), interval))
            if len(among) == 2:
                interval = _slice_interval(sums, _difference, resamples, confidence, seed)
                first, second = among
                value = float(_difference(sums.sum(axis=0, keepdims=True))[0])
                label = f"{column}: {second or '(nothing)'} less {first or '(nothing)'}"
                out.append(_Part(label, threshold, k, value, len(truth), interval, difference=True))
    return out


def _slice_interval(
    sums: Floats, statistic: Callable[[Floats], Floats], resamples: int, confidence: float, seed: int
) -> Interval | None:
    if not resamples:
        return None
    return bootstrap_interval(sums, statistic, confidence=confidence, resamples=resamples, seed=seed)


def _recall(sums: Floats) -> Floats:
    """Per cent; nan for a resample in which the slice does not occur, which the bootstrap leaves out."""
    whole = sums[:, 1]
    result: Floats = np.divide(100.0 * sums[:, 0], whole, out=np.full(len(sums), np.nan), where=whole > 0)
    return result


def _difference(sums: Floats) -> Floats:
    return _recall(sums[:, 2:]) - _recall(sums[:, :2])


def _slice_rows(parts: Sequence[_Part], choices: _Choices) -> list[ScoreRow]:
    """One line a slice and threshold; the difference comes last."""
    rows = []
    labels = list(dict.fromkeys(part.label for part in parts))
    for part in sorted(parts, key=lambda p: (labels.index(p.label), p.tiou, p.k)):
        name = "micro_recall_at_kx_difference" if part.difference else "micro_recall_at_kx"
        signature = choices.signature(
            name, average="micro", k=str(part.k), slice=part.label.replace("|", "/"), tiou=f"{part.tiou:g}"
        )
        score = _score(part.value, signature, part.n, part.interval)
        rows.append(ScoreRow(f"micro R@{part.k}x", score, f"{part.label}, tIoU {part.tiou:g}", digits=2))
    return rows


def _headline(
    scores: LocalizationScores,
    prepared: Prepared,
    predictions: int,
    intervals: Sequence[Interval],
    parts: Sequence[_Part],
) -> dict[str, object]:
    matches, tiou = scores.matches, scores.matches.tiou
    headline: dict[str, object] = {
        "protocol": prepared.protocol,
        "tiou": list(tiou),
        "mAP": scores.mean_ap.tolist(),
        **{f"R@{k}x": values.tolist() for k, values in scores.mean_recall.items()},
        "classes": len(matches.classes),
        "average_mAP": scores.average_map,
        **{f"micro_R@{k}x": values.tolist() for k, values in scores.micro_recall.items()},
        "videos": len(prepared.truth.used_videos()),
        "segments": len(prepared.truth),
        "predictions": predictions,
    }
    if intervals:
        ends = [[i.low, i.high] for i in intervals]
        names = ["mAP", *(f"{m}R@{k}x" for m in ("", "micro_") for k in matches.multiples)]
        ends.insert(0, ends.pop(len(tiou)))  # the average: out of the row of thresholds
        headline["intervals"] = {"average_mAP": ends[0]} | {
            name: ends[1 + j * len(tiou) : 1 + (j + 1) * len(tiou)] for j, name in enumerate(names)
        }
    if parts:
        headline["slices"] = [
            {
                "slice": p.label,
                "tiou": p.tiou,
                "k": p.k,
                "recall": p.value,
                "low": None if p.interval is None else p.interval.low,
                "high": None if p.interval is None else p.interval.high,
                "segments": p.n,
            }
            for p in parts
        ]
    segments = np.bincount(matches.truth_class, minlength=len(matches.classes)).tolist()
    known = matches.prediction_class[matches.prediction_class >= 0]
    predicted = np.bincount(known, minlength=len(matches.classes)).tolist()
    headline["per_class"] = [
        {
            "label": name,
            "segments": segments[c],
            "predictions": predicted[c],
            "AP": scores.ap[c].tolist(),
            **{f"R@{k}x": table[c].tolist() for k, table in scores.recall.items()},
        }
        for c, name in enumerate(matches.classes)
    ]
    return headline


def _figures(scores: LocalizationScores, parts: Sequence[_Part], column: str | None) -> tuple[Figure, ...]:
    matches = scores.matches
    middle = matches.tiou[len(matches.tiou) // 2]
    t = matches.tiou.index(middle)
    segments = np.bincount(matches.truth_class, minlength=len(matches.classes))
    shown = np.argsort(-segments, kind="stable").tolist()
    bars = Bars(
        f"Average precision at tIoU {middle:g}, classes with most segments first",
        tuple(str(matches.classes[c]) for c in shown),
        tuple(float(scores.ap[c, t]) for c in shown),
        tuple(int(segments[c]) for c in shown),
        unit="%",
    )
    lines = [p for p in parts if p.tiou == middle and not p.difference]
    if not lines:
        return (bars,)
    plot = IntervalPlot(
        f"Micro recall by {column} at tIoU {middle:g}, per cent",
        tuple(f"{p.label}, R@{p.k}x" for p in lines),
        tuple(p.value for p in lines),
        tuple(p.interval.low if p.interval else None for p in lines),
        tuple(p.interval.high if p.interval else None for p in lines),
        scale=(0.0, 100.0),
    )
    return (bars, plot)
