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
    subsets,
)
from proctor.metrics.bootstrap import Floats, bootstrap_interval, cluster_sums
from proctor.metrics.figure import Bars, Figure, IntervalPlot
from proctor.metrics.interval import Interval
from proctor.metrics.localization import (
    MULTIPLES,
    PREDICTED,
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
from proctor.records import atomic_write, read_bytes
from proctor.stages.scoring.files import Table, explained, read_json_document, read_table
from proctor.stages.scoring.options import LocalizationSettings
from proctor.stages.scoring.settings import ScoreSettings
from proctor.stages.scoring.tables import as_percent

__all__ = [
    "parse_tiou",
    "read_ground_truth",
    "read_label_map",
    "read_predictions",
    "read_videos",
    "score_localization",
    "write_matches",
]


# Files of steps in time: reference, predictions, lists of labels and videos, matches.

_VIDEO: Final = ("video-id", "video_id", "video", "recording_id")

_START: Final = ("t-start", "t_start", "start", "start_time")

_END: Final = ("t-end", "t_end", "end", "end_time")

_LABEL: Final = ("label", "label_id", "class", "step_id")

_SCORE: Final = ("score", "confidence")

_SUBSET: Final = ("subset",)

_WHOLE: Final = re.compile(r"([+-]?\d+)\.0+")

_LISTED: Final = 20


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


def write_matches(path: Path, scores: LocalizationScores, prepared: Prepared) -> None:
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


def read_videos(path: Path) -> list[str]:
    """Read names of videos, one a line."""
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
    return _of_table(table.at(rows), label_key, columns=columns)


def _of_table(
    table: Table, label_key: str | None, *, scored: bool = False, columns: Sequence[str] = ()
) -> Segments:
    own_key = label_key is not None and (not scored or label_key in table)
    label = (label_key,) if label_key is not None and own_key else _LABEL
    starts, ends = table.times(_START, _END)
    texts = table.texts(*label)
    known = {text: _label(text) for text in set(texts)}
    with explained(table.path):
        return Segments.of(
            table.texts(*_VIDEO),
            starts,
            ends,
            [known[text] for text in texts],
            table.numbers(*_SCORE) if scored else None,
            columns={name: table.texts(name) for name in columns},
        )


def _label(text: str) -> str:
    """Write a label in one way: programs that met a missing value turn 77 into 77.0."""
    text = text.strip()
    whole = _WHOLE.fullmatch(text)
    return str(int(whole[1])) if whole else text


@dataclass(frozen=True, slots=True)
class Part:
    """Recall of one slice, or the difference of two, at one threshold and k.

    ``n`` are its segments, ``unpredicted`` those of them in videos without any prediction, ``left_out`` further ones
    in videos that were not evaluated.
    """

    label: str
    tiou: float
    k: int
    value: float
    n: int
    unpredicted: int
    left_out: int
    interval: Interval | None
    difference: bool = False


def slice_parts(
    scores: LocalizationScores, prepared: Prepared, column: str, settings: ScoreSettings
) -> list[Part]:
    """Micro recall by the values of a column; with two values also by how much the second lies above the first."""
    matches, truth = scores.matches, prepared.truth
    values, left_out = truth.columns[column], prepared.left_out.columns[column]
    names = sorted_names({str(v) for v in values})
    videos = [str(matches.videos[code]) for code in matches.truth_video.tolist()]
    out: list[Part] = []
    among = {str(name): (values == name).astype(np.float64) for name in names}
    for k in matches.multiples:
        recalled = matches.recalled(k).astype(np.float64)
        for t, threshold in enumerate(matches.tiou):
            columns = [c for flags in among.values() for c in (flags * recalled[:, t], flags)]
            sums = cluster_sums(columns, videos)
            for j, (name, flags) in enumerate(among.items()):
                pair = sums[:, [2 * j, 2 * j + 1]]
                interval = _slice_interval(pair, _recall, settings)
                label = f"{column}={name or '(nothing)'}"
                value = float(_recall(pair.sum(axis=0, keepdims=True))[0])
                rows = flags > 0
                counts = (
                    int(rows.sum()),
                    int((rows & prepared.unpredicted).sum()),
                    int((left_out == name).sum()),
                )
                out.append(Part(label, threshold, k, value, *counts, interval))
            if len(among) == 2:
                interval = _slice_interval(sums, _difference, settings)
                first, second = among
                value = float(_difference(sums.sum(axis=0, keepdims=True))[0])
                label = f"{column}: {second or '(nothing)'} less {first or '(nothing)'}"
                counts = (len(truth), int(prepared.unpredicted.sum()), len(left_out))
                out.append(Part(label, threshold, k, value, *counts, interval, difference=True))
    return out


def _slice_interval(
    sums: Floats, statistic: Callable[[Floats], Floats], settings: ScoreSettings
) -> Interval | None:
    if not settings.resamples:
        return None
    return bootstrap_interval(sums, statistic, **settings.resampling)


def _recall(sums: Floats) -> Floats:
    """Nan for a resample in which the slice does not occur, which the bootstrap leaves out."""
    whole = sums[:, 1]
    result: Floats = np.divide(sums[:, 0], whole, out=np.full(len(sums), np.nan), where=whole > 0)
    return result


def _difference(sums: Floats) -> Floats:
    return _recall(sums[:, 2:]) - _recall(sums[:, :2])


def _score(
    value: float, signature: Signature, counts: tuple[int, int, int], interval: Interval | None
) -> Score:
    """``counts`` are segments: all that were scored, those without any prediction in their video, those left out."""
    scored, unpredicted, left_out = counts
    if interval is not None:
        signature = signature.having(cluster="video", interval=interval.method)
    return Score(
        value,
        signature,
        scored - unpredicted,
        None if interval is None else interval.low,
        None if interval is None else interval.high,
        unpredicted,
        left_out,
        "" if interval is None else interval.note,
    )


def threshold_rows(
    scores: LocalizationScores,
    prepared: Prepared,
    choices: Mapping[str, str],
    intervals: Sequence[Interval] = (),
    *,
    chance: bool = False,
) -> list[ScoreRow]:
    """One line a threshold; the intervals come in the order of ``weighted_scores``."""
    tiou, ks = scores.matches.tiou, scores.matches.multiples
    counts = (len(prepared.truth), int(prepared.unpredicted.sum()), len(prepared.left_out))
    rows: list[ScoreRow] = []

    def add(line: str, column: str, value: float, signature: Signature, place: int) -> None:
        interval = intervals[place] if intervals else None
        rows.append(
            ScoreRow(column, _score(value, signature, counts, interval), line, chance, 2, percent=True)
        )

    first = len(tiou) + 1
    for t, threshold in enumerate(tiou):
        line, at = f"tIoU {threshold:g}", {"tiou": f"{threshold:g}"}
        signature = Signature(
            "mean_average_precision", {**choices, "average": "macro", "matching": "greedy", **at}
        )
        add(line, "mAP", float(scores.mean_ap[t]), signature, t)
        for table, name, average, offset in (
            (scores.mean_recall, "recall_at_kx", "macro", first),
            (scores.micro_recall, "micro_recall_at_kx", "micro", first + len(ks) * len(tiou)),
        ):
            for j, k in enumerate(ks):
                signature = Signature(name, {**choices, "average": average, "k": str(k), **at})
                column = f"R@{k}x" if average == "macro" else f"micro R@{k}x"
                add(line, column, float(table[k][t]), signature, offset + j * len(tiou) + t)
    signature = Signature(
        "average_map",
        {**choices, "average": "macro", "matching": "greedy", "tiou": ",".join(f"{t:g}" for t in tiou)},
    )
    add("average", "mAP", scores.average_map, signature, len(tiou))
    return rows


def chance_rows(
    scores: LocalizationScores, prepared: Prepared, choices: Mapping[str, str], seed: int
) -> list[ScoreRow]:
    """What the same segments get when their labels are shuffled: times, scores and frequencies of labels are kept."""
    given, matches = prepared.predictions, scores.matches
    if given.score is None or not len(given):
        return []
    order = np.lexsort((given.score, given.label, given.end, given.start, given.video))
    label = np.empty_like(given.label)
    label[order] = np.random.default_rng(seed).permutation(given.label[order])
    shuffled = localization_scores(
        prepared.truth, replace(given, label=label), tiou=matches.tiou, multiples=matches.multiples
    )
    knowing = {**choices, "predictor": "shuffled-labels", "seed": str(seed)}
    return threshold_rows(shuffled, prepared, knowing, chance=True)


def slice_rows(parts: Sequence[Part], choices: Mapping[str, str]) -> list[ScoreRow]:
    """One line a slice and threshold; the difference comes last."""
    rows = []
    labels = list(dict.fromkeys(part.label for part in parts))
    for part in sorted(parts, key=lambda p: (labels.index(p.label), p.tiou, p.k)):
        name = "micro_recall_at_kx_difference" if part.difference else "micro_recall_at_kx"
        signature = Signature(
            name,
            {
                **choices,
                "average": "micro",
                "k": str(part.k),
                "slice": part.label.replace("|", "/"),
                "tiou": f"{part.tiou:g}",
            },
        )
        score = _score(part.value, signature, (part.n, part.unpredicted, part.left_out), part.interval)
        rows.append(
            ScoreRow(f"micro R@{part.k}x", score, f"{part.label}, tIoU {part.tiou:g}", digits=2, percent=True)
        )
    return rows


def localization_plots(
    scores: LocalizationScores, parts: Sequence[Part], column: str | None
) -> tuple[Figure, ...]:
    """Average precision of the classes, and recall of the slices at the middle threshold."""
    matches = scores.matches
    middle = matches.tiou[len(matches.tiou) // 2]
    t = matches.tiou.index(middle)
    segments = np.bincount(matches.truth_class, minlength=len(matches.classes))
    shown = np.argsort(-segments, kind="stable").tolist()
    bars = Bars(
        f"Average precision at tIoU {middle:g}, classes with most segments first",
        tuple(str(matches.classes[c]) for c in shown),
        tuple(as_percent(scores.ap[shown, t])),
        tuple(int(segments[c]) for c in shown),
        unit="%",
    )
    lines = [p for p in parts if p.tiou == middle and not p.difference]
    if not lines:
        return (bars,)
    plot = IntervalPlot(
        f"Micro recall by {column} at tIoU {middle:g}, per cent",
        tuple(f"{p.label}, R@{p.k}x" for p in lines),
        tuple(as_percent(p.value) for p in lines),
        tuple(as_percent(p.interval.low) if p.interval else None for p in lines),
        tuple(as_percent(p.interval.high) if p.interval else None for p in lines),
        scale=(0.0, 100.0),
    )
    return (bars, plot)


def score_localization(settings: LocalizationSettings) -> ScoreTable:
    """Score predicted segments against the ground truth: mAP and R@k× at each tIoU.

    Raises:
        UserError: if a file or an option cannot be used; the message says what was seen where.
    """
    gt, subset, slice_column = settings.gt, settings.subset, settings.slice_column
    videos = Path(settings.videos) if settings.videos not in (None, PREDICTED) else settings.videos
    tiou = parse_tiou(settings.tiou)
    columns = (slice_column,) if slice_column is not None else ()
    notes: list[str] = []
    truth = read_ground_truth(gt, subset=subset, label_key=settings.label_key, columns=columns, notes=notes)
    predictions = read_predictions(settings.pred, label_key=settings.label_key)
    counts = {"ground truth segments read": len(truth), "predictions read": len(predictions)}
    truth = _cleaned(truth, "ground truth segments", settings, counts, notes)
    predictions = _cleaned(predictions, "predictions", settings, counts, notes)
    with explained(gt):
        prepared = apply_protocol(
            truth,
            predictions,
            settings.protocol,
            videos=read_videos(videos) if isinstance(videos, Path) else videos,
            label_map=None if settings.label_map is None else read_label_map(settings.label_map),
        )
    with explained("--tiou"):
        scores = localization_scores(prepared.truth, prepared.predictions, tiou=tiou, multiples=MULTIPLES)
    with explained("--resamples, --confidence"):
        intervals = score_intervals(scores.matches, **settings.resampling) if settings.resamples else ()
        parts = [] if slice_column is None else slice_parts(scores, prepared, slice_column, settings)
    if settings.matches is not None:
        write_matches(settings.matches, scores, prepared)
    dropping = (("duplicates", settings.drop_duplicates), ("empty", settings.drop_empty))
    dropped = [name for name, drop in dropping if drop]
    choices = (
        {"failed": "not-found", "protocol": prepared.protocol}
        | ({"dropped": ",".join(dropped)} if dropped else {})
        | ({"subset": subset.replace("|", "/")} if subset else {})
        | _evaluated(prepared.protocol, videos)
        | ({"resamples": str(settings.resamples)} if settings.resamples else {})
    )
    return ScoreTable(
        family="localization",
        rows=(
            *threshold_rows(scores, prepared, choices, intervals),
            *slice_rows(parts, choices),
            *chance_rows(scores, prepared, choices, settings.seed),
        ),
        headline=_headline(scores, prepared, len(predictions), intervals, parts),
        counts={**counts, **prepared.counts},
        notes=tuple(dict.fromkeys((*notes, *prepared.notes, *(i.note for i in intervals if i.note)))),
        figures=localization_plots(scores, parts, slice_column),
    )


def _evaluated(protocol: Protocol, videos: Path | str | None) -> dict[str, str]:
    """What the signature says of the videos; the other protocols have no choice."""
    if protocol != "corrected":
        return {}
    return {"videos": "listed" if isinstance(videos, Path) else videos or "reference"}


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


def _cleaned(
    segments: Segments, what: str, settings: LocalizationSettings, counts: dict[str, int], notes: list[str]
) -> Segments:
    """Count repeated and empty segments, and leave them out where that was asked for."""
    for name, found, drop, option in (
        ("empty", Segments.empty, settings.drop_empty, "--drop-empty"),
        ("duplicate", Segments.duplicates, settings.drop_duplicates, "--drop-duplicates"),
    ):
        rows = found(segments)
        number = int(rows.sum())
        counts[f"{name} {what} {'dropped' if drop else 'kept'}"] = number
        if drop:
            segments = segments.take(~rows)
        elif number:
            notes.append(f"{number:,} {name} {what} were kept; {option} leaves them out.")
    return segments


def _headline(
    scores: LocalizationScores,
    prepared: Prepared,
    predictions: int,
    intervals: Sequence[Interval],
    parts: Sequence[Part],
) -> dict[str, object]:
    """The figures as papers print them: in per cent."""
    matches, tiou = scores.matches, scores.matches.tiou
    headline: dict[str, object] = {
        "protocol": prepared.protocol,
        "tiou": list(tiou),
        "mAP": as_percent(scores.mean_ap),
        **{f"R@{k}x": as_percent(values) for k, values in scores.mean_recall.items()},
        "classes": len(matches.classes),
        "average_mAP": as_percent(scores.average_map),
        **{f"micro_R@{k}x": as_percent(values) for k, values in scores.micro_recall.items()},
        "videos": len(prepared.truth.used_videos()),
        "segments": len(prepared.truth),
        "predictions": predictions,
    }
    if intervals:
        ends = [[as_percent(i.low), as_percent(i.high)] for i in intervals]
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
                "recall": as_percent(p.value),
                "low": None if p.interval is None else as_percent(p.interval.low),
                "high": None if p.interval is None else as_percent(p.interval.high),
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
            "AP": as_percent(scores.ap[c]),
            **{f"R@{k}x": as_percent(table[c]) for k, table in scores.recall.items()},
        }
        for c, name in enumerate(matches.classes)
    ]
    return headline
