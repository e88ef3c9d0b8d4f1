"""ActivityNet's JSON read as segments, and segments written as a plain CSV: values in, values out, no files.

Ground truth: ``{"database": {video: {"subset": …, "annotations": [{"label": …, "segment": [start, end]}]}}}``.
Predictions: ``{"results": {video: [{"label": …, "score": …, "segment": [start, end]}]}}``. Times are seconds. Labels
become texts (``7`` and ``"7"`` are one label), whatever else an annotation says becomes a column of texts.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from proctor.metrics.errors import MetricInputError
from proctor.metrics.localization.segments import Segments

__all__ = [
    "is_ground_truth",
    "is_results",
    "parse_ground_truth",
    "parse_results",
    "render_csv",
    "subsets",
]

_OWN: Final = ("label", "segment", "score", "subset")
"""Keys that are not columns."""
_CSV: Final = ("video-id", "t-start", "t-end", "label")
_LABEL_TEXT: Final = "label_text"
"""Column that keeps the text of a label where the class is read from another key."""


def is_ground_truth(document: Any) -> bool:
    """Return whether a JSON document has the form of ActivityNet's ground truth."""
    return isinstance(document, dict) and "database" in document


def is_results(document: Any) -> bool:
    """Return whether a JSON document has the form of ActivityNet's predictions."""
    return isinstance(document, dict) and "results" in document


def subsets(document: Mapping[str, Any]) -> dict[str, int]:
    """Return the subsets of a ground truth and how many videos each has.

    Raises:
        MetricInputError: if the document is no ground truth.
    """
    found: dict[str, int] = {}
    for _, entry in _entries(document, "database"):
        name = str(entry.get("subset", "")) if isinstance(entry, dict) else ""
        found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items()))


def parse_ground_truth(
    document: Mapping[str, Any], *, subset: str | None = None, label_key: str = "label"
) -> Segments:
    """Read a ground truth.

    Args:
        document: with ``database``.
        subset: only the videos of this subset, in any letter case; all when None.
        label_key: which value of an annotation is its class (``label_id`` where texts are not unique).

    Returns:
        The segments; videos without any are listed in ``videos``. The column ``subset`` and one for every other
        plain value that annotations have, empty where an annotation lacks it; ``label_text`` has the label where
        the class was read from another key.

    Raises:
        MetricInputError: if the form is wrong (the video and annotation are named) or no video is of the subset;
            then the subsets that exist are named.
    """
    rows: list[tuple[str, float, float, str]] = []
    further: list[dict[str, str]] = []
    videos: list[str] = []
    for video, entry in _entries(document, "database"):
        if not isinstance(entry, dict):
            raise MetricInputError(f"video {video!r}: an object was expected, got {_kind(entry)}")
        name = str(entry.get("subset", ""))
        if subset is not None and name.casefold() != subset.casefold():
            continue
        videos.append(video)
        for annotation, where in _annotations(entry.get("annotations"), video):
            rows.append((video, *_times(annotation, where), _label(annotation, label_key, where)))
            further.append({"subset": name} | _further(annotation, label_key))
    if subset is not None and not videos:
        seen = ", ".join(f"{name!r} ({count} videos)" for name, count in subsets(document).items())
        raise MetricInputError(
            f"no video belongs to the subset {subset!r}; there are {seen or 'no videos'}", "name one of them"
        )
    names = dict.fromkeys(key for values in further for key in values)
    return Segments.of(
        [row[0] for row in rows],
        [row[1] for row in rows],
        [row[2] for row in rows],
        [row[3] for row in rows],
        videos=videos,
        columns={key: [values.get(key, "") for values in further] for key in names},
    )


def parse_results(document: Mapping[str, Any], *, label_key: str = "label") -> Segments:
    """Read predictions.

    Args:
        document: with ``results``.
        label_key: which value of a prediction is its class.

    Raises:
        MetricInputError: if the form is wrong; the video and the prediction are named.
    """
    rows: list[tuple[str, float, float, str, float]] = []
    videos: list[str] = []
    for video, entry in _entries(document, "results"):
        videos.append(video)
        for prediction, where in _annotations(entry, video):
            times, label = _times(prediction, where), _label(prediction, label_key, where)
            rows.append((video, *times, label, _number(prediction.get("score"), f"{where}: the score")))
    return Segments.of(
        [row[0] for row in rows],
        [row[1] for row in rows],
        [row[2] for row in rows],
        [row[3] for row in rows],
        [row[4] for row in rows],
        videos=videos,
    )


def render_csv(segments: Segments) -> str:
    """Write segments as CSV with the columns ``video-id,t-start,t-end,label[,score]`` and further ones, in their order.

    Numbers are written so that they read back equal.

    Raises:
        MetricInputError: if a column is called like one of these.
    """
    _require_columns(segments)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    scored = segments.score is not None
    writer.writerow([*_CSV, *(["score"] if scored else []), *segments.columns])
    columns: list[Sequence[Any]] = [
        [segments.videos[code] for code in segments.video.tolist()],
        segments.start.tolist(),
        segments.end.tolist(),
        [segments.labels[code] for code in segments.label.tolist()],
    ]
    if segments.score is not None:
        columns.append(segments.score.tolist())
    columns += [values.tolist() for values in segments.columns.values()]
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue()


def _require_columns(segments: Segments) -> None:
    wrong = [name for name in segments.columns if name in ("label", "segment", "score", *_CSV)]
    if wrong:
        raise MetricInputError(f"a column is called {wrong[0]!r}, which is taken", "rename it")


def _entries(document: Any, key: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(document, dict) or not isinstance(document.get(key), dict):
        seen = ", ".join(map(repr, document)) if isinstance(document, dict) else _kind(document)
        raise MetricInputError(
            f"an object with an object {key!r} was expected, got {seen or 'an empty object'}",
            "ActivityNet's ground truth has 'database', its predictions have 'results'",
        )
    yield from document[key].items()


def _annotations(value: Any, video: str) -> Iterator[tuple[dict[str, Any], str]]:
    if value is None:
        return
    if not isinstance(value, list):
        raise MetricInputError(f"video {video!r}: an array of annotations was expected, got {_kind(value)}")
    for number, item in enumerate(value):
        where = f"video {video!r}, annotation {number}"
        if not isinstance(item, dict):
            raise MetricInputError(f"{where}: an object was expected, got {_kind(item)}")
        yield item, where


def _times(annotation: Mapping[str, Any], where: str) -> tuple[float, float]:
    segment = annotation.get("segment")
    if not isinstance(segment, list) or len(segment) != 2:
        raise MetricInputError(f"{where}: 'segment' must be [start, end] in seconds, got {segment!r}")
    start, end = _number(segment[0], f"{where}: the start"), _number(segment[1], f"{where}: the end")
    if end < start:
        raise MetricInputError(
            f"{where}: the segment ends at {end:g} s, before its start at {start:g} s",
            "exchange its times or remove the entry",
        )
    return start, end


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MetricInputError(f"{what} must be a number, got {value!r}")
    if not -1e300 < value < 1e300:
        raise MetricInputError(f"{what} is not finite ({value!r})", "remove the entry or repair it")
    return float(value)


def _label(annotation: Mapping[str, Any], key: str, where: str) -> str:
    value = annotation.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        further = f"; it has {', '.join(map(repr, annotation))}" if value is None else ""
        raise MetricInputError(f"{where}: {key!r} must be a text or a whole number, got {value!r}{further}")
    return str(value)


def _further(annotation: Mapping[str, Any], label_key: str) -> dict[str, str]:
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in annotation.items()
        if key not in _OWN and key != label_key and isinstance(value, str | int | float | bool)
    } | ({_LABEL_TEXT: str(annotation["label"])} if label_key != "label" and "label" in annotation else {})


def _kind(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
