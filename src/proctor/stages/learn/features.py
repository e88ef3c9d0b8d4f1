"""Stores of features: what is in one, made of published files, and whether it fits the annotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
import numpy as np

from proctor.compute import HERE, Place, map_items
from proctor.datasets.dataset import guess_dataset
from proctor.errors import UserError, did_you_mean
from proctor.learn.features.layouts import LAYOUTS, Found, Layout, find_features, read_features
from proctor.learn.features.store import FeatureStore, Held, StoreWriter
from proctor.procedure.recording import Recording
from proctor.records import Dropped, write_jsonl
from proctor.stages.learn.settings import ConvertStoreSettings

__all__ = [
    "RULES",
    "CheckedStore",
    "Converted",
    "Described",
    "Unfit",
    "check_store",
    "convert_features",
    "describe_store",
]


class Described(msgspec.Struct, frozen=True):
    """What a store holds.

    Attributes:
        backbone: what looked.
        modality: at what.
        width: numbers a row.
        seconds: from one row to the next.
        recordings: how many.
        rows: of all of them.
        hours: that the rows span.
        lengths: seconds of the shortest, the median and the longest recording; None where there is none.
        mended: values that were NaN, infinite or too large for float16.
        bytes: of the rows.
        source: where they come from.
        hash: of everything.
    """

    backbone: str
    modality: str
    width: int
    seconds: float
    recordings: int
    rows: int
    hours: float
    lengths: tuple[float, float, float] | None
    mended: dict[str, int]
    bytes: int
    source: str
    hash: str


def describe_store(path: Path) -> Described:
    """Say what a store holds, without reading its rows.

    Raises:
        UserError: if it is none, or damaged.
    """
    store = FeatureStore.open(path)
    held = tuple(store.held.values())
    lengths = sorted(h.rows * store.seconds for h in held)
    rows = sum(h.rows for h in held)
    return Described(
        store.backbone, store.modality, store.width, store.seconds, len(held), rows, sum(lengths) / 3600,
        (lengths[0], median(lengths), lengths[-1]) if lengths else None,
        {name: n for name in _MENDED if (n := sum(getattr(h, name) for h in held))},
        rows * store.width * 2, store.about.source, store.hash,
    )  # fmt: skip


_MENDED: Final = ("nan", "infinite", "clipped")


# -- convert -------------------------------------------------------------------------------------------------------


class Unfit(msgspec.Struct, frozen=True):
    """Something that does not fit: by which rule, where, and what was seen."""

    rule: str
    where: str
    seen: str


class Converted(msgspec.Struct, frozen=True):
    """What became of published features.

    Attributes:
        store: what is in it now.
        resumed: recordings that an interrupted conversion had written already.
        dropped: what gave no rows, with the reason; also in ``dropped_file``.
        unfit: where the store and the annotations differ; empty without annotations.
        remark: what one has to know of these features.
        dropped_file: beside the store.
    """

    store: Described
    resumed: int
    dropped: tuple[Dropped, ...]
    unfit: tuple[Unfit, ...]
    remark: str
    dropped_file: str


def convert_features(
    settings: ConvertStoreSettings, *, place: Place = HERE, seen: Callable[[], None] | None = None
) -> Converted:
    """Make a store of published files, one recording at a time; what cannot be read is left out and listed.

    Args:
        settings: what is converted.
        place: where files are read.
        seen: called after each recording.

    Raises:
        UserError: if nothing can be read, or the store cannot be written.
    """
    layout = _layout(settings)
    recordings = None if settings.annotations is None else _annotated(settings.annotations)
    found, others = find_features(settings.folder, layout)
    dropped = list(others)
    source = "published features" if layout.backbone in LAYOUTS else "features from files"
    if layout.pool != 1:
        source += f", mean of {layout.pool} rows"
    writer = StoreWriter(
        settings.out, width=layout.width or _first_width(found, layout), seconds=layout.stride, modality=layout.modality,
        backbone=layout.backbone, source=source, resume=not settings.anew,
    )  # fmt: skip
    with writer:
        resumed = {held.id for held in writer.held}
        left = [one for one in found if one.recording_id not in resumed]
        read = partial(read_features, layout=layout)
        for outcome in map_items(read, left, place, name=lambda one: one.recording_id, seen=seen):
            if outcome.failure is not None and outcome.failure.kind == UserError.__name__:
                dropped.append(
                    Dropped(outcome.name, "unreadable", outcome.failure.message.partition("\n")[0])
                )
            else:
                writer.add(outcome.name, outcome.value)
        if not writer.held:
            raise UserError(
                f"none of the {len(found):,} recordings could be read. The first: {dropped[len(others)].detail}",
                where=str(settings.folder),
            )
    beside = settings.out.with_name(f"{settings.out.name}.dropped.jsonl")
    write_jsonl(beside, dropped)
    held = {h.id: h for h in writer.held}
    unfit = () if recordings is None else tuple(_compare(held, recordings, layout))
    return Converted(
        describe_store(settings.out), len(resumed), tuple(dropped), unfit, layout.remark, str(beside)
    )


def _layout(settings: ConvertStoreSettings) -> Layout:
    known = LAYOUTS.get(settings.backbone)
    if known is None and settings.seconds is None:
        raise UserError(
            f"--backbone is '{settings.backbone}', which is none of the published.",
            hint=f"one of {', '.join(LAYOUTS)}; or say with --seconds how far a row is from the next",
        )
    layout = known or Layout(settings.backbone, settings.modality or "video", 1.0)
    if settings.modality not in (None, layout.modality):
        raise UserError(f"--modality is {settings.modality}; {layout.backbone} looks at {layout.modality}.")
    keys = layout.keys if settings.key is None else (settings.key,)
    return replace(layout, keys=keys, seconds=settings.seconds or layout.seconds, pool=settings.pool)


def _first_width(found: Sequence[Found], layout: Layout) -> int:
    """Return the width of the first recording that can be read; the others are held to it."""
    for one in found:
        try:
            return int(read_features(one, layout).shape[1])
        except UserError as error:
            first = error
            if one is found[-1]:
                raise first from None
    raise AssertionError("features are never found without a file")


def _annotated(folder: Path) -> dict[str, Recording]:
    dataset = guess_dataset(folder)
    if dataset.kind != "recordings":
        raise UserError(f"{dataset.title} holds {dataset.kind}, not recordings.", where=str(folder))
    return {recording.id: recording for recording in dataset.iter_records(folder)}


# -- check ---------------------------------------------------------------------------------------------------------

RULES: Final[Mapping[str, str]] = {
    "damaged": "rows are not those that were written",
    "not_finite": "rows hold NaN or infinity",
    "empty": "a recording has no rows",
    "missing": "annotated, but has no features",
    "unknown": "has features, but is not annotated",
    "short": "features end before the last annotated step",
    "length": "other rows than the video's length gives, by more than one",
    "brief": "a step is shorter than a row",
    "mended": "values were NaN, infinite or too large for float16",
    "zeros": "rows are zero throughout",
}
"""What ``check`` looks for."""

_BROKEN: Final = frozenset({"damaged", "not_finite"})


class CheckedStore(msgspec.Struct, frozen=True):
    """What is odd in a store.

    Attributes:
        counts: findings by rule.
        findings: all, or those of one rule.
        broken: the rows cannot be used as they are.
    """

    counts: dict[str, int]
    findings: tuple[Unfit, ...]
    broken: bool


def check_store(
    path: Path,
    annotations: Path | None = None,
    rule: str | None = None,
    *,
    seen: Callable[[], None] | None = None,
) -> CheckedStore:
    """Read all rows of a store and say what is odd in them, and where they do not fit the annotations.

    Args:
        path: of the store.
        annotations: folder of a data set.
        rule: only its findings; one of ``RULES``.
        seen: called after each recording.

    Raises:
        UserError: if it is no store, the annotations cannot be read, or there is no such rule.
    """
    if rule is not None and rule not in RULES:
        raise UserError(f"there is no rule {rule!r}.", hint=did_you_mean(rule, RULES))
    store = FeatureStore.open(path)
    recordings = None if annotations is None else _annotated(annotations)
    findings: list[Unfit] = []
    for held, rows, good in store.scan():
        if not good:
            findings.append(Unfit("damaged", held.id, "the hash of its rows differs"))
        if bad := int((~np.isfinite(rows)).any(axis=1).sum()):
            findings.append(Unfit("not_finite", held.id, f"{bad:,} of {held.rows:,} rows"))
        if zeros := int((~rows.any(axis=1)).sum()):
            findings.append(Unfit("zeros", held.id, f"{zeros:,} of {held.rows:,} rows"))
        if held.bad_rows:
            counted = ", ".join(f"{n:,} {name}" for name in _MENDED if (n := getattr(held, name)))
            findings.append(Unfit("mended", held.id, f"{counted} in {held.bad_rows:,} of {held.rows:,} rows"))
        if not held.rows:
            findings.append(Unfit("empty", held.id, "no rows"))
        if seen is not None:
            seen()
    if recordings is not None:
        layout = LAYOUTS.get(store.backbone) or Layout(store.backbone, store.modality, store.seconds)
        findings += _compare(store.held, recordings, replace(layout, seconds=store.seconds, pool=1))
    counts = Counter(f.rule for f in findings)
    told = tuple(f for f in findings if rule is None or f.rule == rule)
    return CheckedStore({r: counts[r] for r in RULES if counts[r]}, told, bool(_BROKEN & counts.keys()))


def _compare(held: Mapping[str, Held], recordings: Mapping[str, Recording], layout: Layout) -> list[Unfit]:
    """Compare what a store holds with the annotations: recordings, lengths, and steps that are shorter than a row."""
    findings = [Unfit("unknown", id_, "not annotated") for id_ in held if id_ not in recordings]
    for id_, recording in recordings.items():
        if id_ not in held:
            findings.append(
                Unfit("missing", id_, "none published" if id_ in layout.without else "no features")
            )
            continue
        rows = held[id_].rows
        timed = [
            (s.step_id, s.start, s.end)
            for s in recording.segments
            if s.start is not None and s.end is not None
        ]
        end, last = rows * layout.stride, max((step_end for _, _, step_end in timed), default=0.0)
        if last > end + layout.stride:
            findings.append(
                Unfit("short", id_, f"features end at {end:,.1f} s, the last step at {last:,.1f} s")
            )
        if recording.duration is not None and abs(rows - layout.expected(recording.duration)) > 1:
            wanted = layout.expected(recording.duration)
            findings.append(
                Unfit("length", id_, f"{rows:,} rows, {wanted:,} expected of {recording.duration:,.1f} s")
            )
        brief = [(step, end - start) for step, start, end in timed if end - start < layout.stride]
        findings += (Unfit("brief", f"{id_}: {step}", f"{seconds:.2f} s") for step, seconds in brief)
    return findings
