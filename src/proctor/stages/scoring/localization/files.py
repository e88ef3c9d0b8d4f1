"""Files of steps in time: reference, predictions, lists of labels and videos, matches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from proctor.metrics.localization import LocalizationScores, Prepared, Segments
from proctor.metrics.localization.segments import Name
from proctor.records import atomic_write, read_bytes, write_json
from proctor.stages.scoring.files import Table, explained, read_json_document, read_table

__all__ = [
    "read_ground_truth",
    "read_label_map",
    "read_predictions",
    "read_videos",
    "write_matches",
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
