"""Splits of a data set: made by group, made again from the data set's own rules, and checked for what leaks.

A split file is a JSON object of subsets and their ids, as CaptainCook4D releases them. ``split_dataset`` writes one and
beside it ``<name>.about.json`` with how it was made. ``check_split`` reads any split file: subsets with ids, ids with
their subset, or a table (CSV, TSV) with an id and a subset column.
"""

from __future__ import annotations

import csv
import io
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from proctor.datasets.dataset import Dataset, Log, Split, SplitRule, corrections_mode, load_dataset
from proctor.datasets.splits import (
    DEFAULT_FRACTIONS,
    Fill,
    NearDuplicate,
    SplitDifference,
    category_keys,
    compare_splits,
    leakage_report,
    split_records,
)
from proctor.errors import UserError, did_you_mean
from proctor.records import decode_text, read_bytes, read_json, write_json
from proctor.report.plaintext import clip_line
from proctor.stages.naming import file_name

__all__ = [
    "check_split",
    "make_split",
    "parse_fractions",
    "read_split",
    "render_check",
    "render_made",
    "render_rules",
    "reproduce_splits",
    "split_dataset",
]

_LISTED: Final = 10
"""Leaking values that are shown of each attribute; the JSON has all."""
_ID_COLUMNS: Final = ("id", "recording_id", "video_id", "video", "recording", "name")
_SUBSET_COLUMNS: Final = ("split", "subset", "partition", "set")
_NAME: Final = 60


# -- results -----------------------------------------------------------------------------------------------------


class ByAttributes(msgspec.Struct, frozen=True, kw_only=True):
    """A split in which no value of the attributes occurs in two subsets.

    Attributes:
        wanted: shares by subset.
        reached: shares by subset.
        sizes: records by subset.
        groups: by subset.
        largest: group.
        without: by attribute, records that have no value and stand alone.
        files: that were written.
        split: ids by subset.
    """

    dataset: str
    version: str
    by: list[str]
    seed: int
    stratify: str | None
    fill: Fill
    wanted: dict[str, float]
    reached: dict[str, float]
    sizes: dict[str, int]
    groups: dict[str, int]
    largest: int
    notes: list[str]
    without: dict[str, int]
    files: list[str] | msgspec.UnsetType = msgspec.UNSET
    split: dict[str, list[str]] | msgspec.UnsetType = msgspec.UNSET


class ByRule(msgspec.Struct, frozen=True, kw_only=True):
    """A split by one of the data set's own rules."""

    dataset: str
    version: str
    rule: str
    what: str
    sizes: dict[str, int]
    notes: list[str] = []
    files: list[str] | msgspec.UnsetType = msgspec.UNSET
    split: dict[str, list[str]] | msgspec.UnsetType = msgspec.UNSET


class Reproduced(msgspec.Struct, frozen=True, kw_only=True):
    """A split that was made again.

    Attributes:
        released: the released file within the data set; None without one.
        differences: from it; None where it is not there.
        examples: the first that differ.
    """

    name: str
    what: str
    sizes: dict[str, int]
    released: str | None
    released_empty: bool = False
    differences: int | None = None
    examples: tuple[SplitDifference, ...] = ()


class Rules(msgspec.Struct, frozen=True):
    """All splits that a data set has a rule for, made again."""

    dataset: str
    rules: list[Reproduced]


class Leaking(msgspec.Struct, frozen=True):
    """A value in more than one subset, with its records by subset."""

    value: str
    counts: Mapping[str, int]


class Leaks(msgspec.Struct, frozen=True, kw_only=True):
    """What a split file lets through; see ``splits.LeakageReport``."""

    dataset: str
    file: str
    sizes: Mapping[str, int]
    disjoint: tuple[str, ...]
    values: Mapping[str, int]
    leaks: dict[str, list[Leaking]]
    twice: Mapping[str, tuple[str, ...]]
    unknown: tuple[str, ...]
    unused: tuple[str, ...]
    near: tuple[NearDuplicate, ...]
    compared_texts: bool


# -- making ------------------------------------------------------------------------------------------------------


def parse_fractions(text: str) -> dict[str, float]:
    """Parse ``train=0.8,val=0.1,test=0.1``.

    Raises:
        UserError: if it is no list of names and numbers.
    """
    fractions: dict[str, float] = {}
    for part in text.split(","):
        name, equals, number = part.partition("=")
        try:
            value = float(number)
        except ValueError:
            equals = ""
            value = 0.0
        if not equals or not name.strip():
            raise UserError(
                f"the fractions are {text[:80]!r}.", hint="write them as train=0.8,val=0.1,test=0.1"
            )
        if name.strip() in fractions:
            raise UserError(f"the subset {name.strip()[:40]!r} occurs twice in the fractions.")
        fractions[name.strip()] = value
    return fractions


def split_dataset(
    dataset: str,
    folder: Path,
    by: Sequence[str],
    *,
    fractions: Mapping[str, float] | None = None,
    seed: int = 0,
    stratify: str | None = None,
    fill: Fill = "balanced",
    corrections: str | None = None,
    out: Path | None = None,
) -> ByAttributes:
    """Split a data set so that no value of the named attributes occurs in two subsets.

    Args:
        dataset: its name.
        folder: where it is.
        by: attributes that must not be shared: ``person``, ``environment``, ``activity``, ``video``, ``document``, any
            attribute of the records, ``category:3`` (third-level category of manuals), ``mistakes``. ``id`` keeps
            nothing together.
        fractions: target shares by subset; 0.8, 0.1, 0.1 by default.
        seed: equal seeds give equal splits.
        stratify: an attribute whose mixture should be alike in all subsets.
        fill: see ``splits.split_records``.
        corrections: mode in which the data set is read.
        out: folder for ``<by>.json`` and ``<by>.about.json``; None writes nothing.

    Raises:
        UserError: if the data set cannot be read, an attribute is unknown, or nothing can be split.
    """
    if not by:
        raise UserError("there is nothing to split by.", hint="name an attribute, such as --by person")
    declared = load_dataset(dataset)
    records = _records(declared, folder, corrections)
    keys = _keys(records, by)
    joined = {id_: [f"{name}={v}" for name in by for v in keys[name][id_]] for id_ in (r.id for r in records)}
    strata = None
    if stratify:
        values = zip(records, _values(records, stratify), strict=True)
        strata = {r.id: " + ".join(sorted(own)) for r, own in values if own}
    made = split_records(
        joined,
        fractions or DEFAULT_FRACTIONS,
        rng=random.Random(seed),  # noqa: S311 - not a secret
        strata=strata,
        fill=fill,
    )
    result = ByAttributes(
        dataset=declared.name,
        version=declared.version,
        by=list(by),
        seed=seed,
        stratify=stratify,
        fill=fill,
        wanted=dict(made.wanted),
        reached=dict(made.reached),
        sizes={name: len(ids) for name, ids in made.split.items()},
        groups=dict(made.groups),
        largest=made.largest,
        notes=list(made.notes),
        without={name: n for name in by if name != "id" and (n := sum(not k for k in keys[name].values()))},
    )
    if out is not None:
        result = replace(result, files=_write(out, "-".join(by), made.split, result))
    return replace(result, split={name: list(ids) for name, ids in made.split.items()})


def make_split(dataset: str, folder: Path, rule: str, *, out: Path | None = None) -> ByRule:
    """Make a split from one of the data set's own rules.

    Raises:
        UserError: if there is no such rule.
    """
    declared = load_dataset(dataset)
    declared.require_files(folder)
    found = next((r for r in declared.splits if r.name == rule), None)
    if found is None:
        hint = did_you_mean(rule, (r.name for r in declared.splits))
        raise UserError(f"{declared.title} has no rule for a split '{rule[:80]}'.", hint=hint)
    split = found.make(folder)
    result = ByRule(
        dataset=declared.name,
        version=declared.version,
        rule=found.name,
        what=found.what,
        sizes={name: len(ids) for name, ids in split.items()},
    )
    if out is not None:
        result = replace(result, files=_write(out, found.name, split, result))
    return replace(result, split={name: list(ids) for name, ids in split.items()})


def _write(out: Path, name: str, split: Split, about: ByAttributes | ByRule) -> list[str]:
    """Write both files and return their paths."""
    safe = file_name(name)
    files = [out / f"{safe}.json", out / f"{safe}.about.json"]
    write_json(files[0], split)
    write_json(files[1], about)
    return list(map(str, files))


# -- the data set's own rules ------------------------------------------------------------------------------------


def reproduce_splits(dataset: str, folder: Path) -> Rules:
    """Make every split that the data set has a rule for, and compare it with the released file.

    Raises:
        UserError: if the folder cannot be read.
    """
    declared = load_dataset(dataset)
    declared.require_files(folder)
    return Rules(declared.name, [_reproduced(rule, folder) for rule in declared.splits])


def _reproduced(rule: SplitRule, folder: Path) -> Reproduced:
    split = rule.make(folder)
    sizes = {name: len(ids) for name, ids in split.items()}
    made = Reproduced(name=rule.name, what=rule.what, sizes=sizes, released=rule.released)
    if rule.read_released is None or not rule.released or not (folder / rule.released).exists():
        return made
    released = rule.read_released(folder)
    differences = compare_splits(split, released)
    return replace(
        made,
        released_empty=not any(released.values()),
        differences=len(differences),
        examples=tuple(differences[:_LISTED]),
    )


# -- checking ----------------------------------------------------------------------------------------------------


def check_split(
    dataset: str,
    folder: Path,
    file: Path,
    by: Sequence[str] = (),
    *,
    near: float | None = None,
    corrections: str | None = None,
) -> Leaks:
    """Say what a split file lets through: which values of which attributes occur in several subsets.

    Args:
        dataset: its name.
        folder: where it is.
        file: of the split.
        by: attributes to look at; all that the records have by default.
        near: compare the texts of the records across subsets, too, and tell those that share at least this part of
            their words. Exact; 10,000 texts of 70 words take 2 s, more where no word is rare.
        corrections: mode in which the data set is read.

    Raises:
        UserError: if the data set or the file cannot be read, or an attribute is unknown.
    """
    declared = load_dataset(dataset)
    records = _records(declared, folder, corrections)
    split = read_split(file)
    keys = _keys(records, by or _attributes(records))
    texts = {r.id: _text(r) for r in records} if near is not None else None
    report = leakage_report(split, keys, texts=texts, likeness=near if near is not None else 1.0)
    return Leaks(
        dataset=declared.name,
        file=str(file),
        sizes=report.sizes,
        disjoint=report.disjoint,
        values=report.values,
        leaks={
            name: [Leaking(leak.value, leak.counts) for leak in found] for name, found in report.leaks.items()
        },
        twice=report.twice,
        unknown=report.unknown,
        unused=report.unused,
        near=report.near,
        compared_texts=near is not None,
    )


def read_split(path: Path) -> Split:
    """Read a split file.

    Args:
        path: a JSON object of subsets with lists of ids, a JSON object of ids with their subset, or a table (``.csv``,
            ``.tsv``) with a column of ids and one of subsets.

    Raises:
        UserError: if it cannot be read or is none of these.
    """
    if path.suffix.lower() in (".csv", ".tsv"):
        return _read_table(path)
    value: Any = read_json(path)
    if isinstance(value, dict) and value:
        if all(isinstance(ids, list) and all(isinstance(i, str) for i in ids) for ids in value.values()):
            return {str(name): tuple(ids) for name, ids in value.items()}
        if all(isinstance(name, str) for name in value.values()):
            return _gathered(value.items())
    raise UserError(
        "this is no split.",
        where=str(path),
        hint='write {"train": ["id", …], "test": […]} or {"id": "train", …}, or a table with the columns id and split',
    )


def _gathered(rows: Iterable[tuple[str, str]]) -> Split:
    subsets: dict[str, list[str]] = defaultdict(list)
    for id_, name in rows:
        subsets[name].append(id_)
    return {name: tuple(ids) for name, ids in subsets.items()}


def _read_table(path: Path) -> Split:
    try:
        text = decode_text(read_bytes(path), str(path))
        dialect = "excel-tab" if path.suffix.lower() == ".tsv" else "excel"
        rows = list(csv.DictReader(io.StringIO(text, newline=""), dialect=dialect))
    except csv.Error as error:
        raise UserError(f"not a table: {error}.", where=str(path)) from None
    heads = [h for h in (rows[0] if rows else ()) if h is not None]
    ids, subsets = _column(heads, _ID_COLUMNS), _column(heads, _SUBSET_COLUMNS)
    if ids is None or subsets is None:
        seen = ", ".join(heads)[:200] or "nothing"
        raise UserError(
            f"the columns are {seen}.",
            where=str(path),
            hint="a table of a split has the columns id and split",
        )
    for number, row in enumerate(rows, 2):
        if not row[ids] or not row[subsets]:
            raise UserError(
                "an id or a subset is missing.", where=f"{path}: row {number}", hint="fill both columns"
            )
    return _gathered((row[ids], row[subsets]) for row in rows)


def _column(heads: Sequence[str], names: Sequence[str]) -> str | None:
    return next((h for name in names for h in heads if h.strip().lower() == name), None)


# -- records and their keys --------------------------------------------------------------------------------------


def _records(declared: Dataset, folder: Path, corrections: str | None) -> list[Any]:
    records = list(declared.iter_records(folder, corrections_mode(corrections), Log(sink=lambda _: None)))
    if not records:
        raise UserError(
            f"no record of {declared.title} could be read.",
            hint="see 'proctor datasets check' for the reasons",
        )
    return records


_KEYS: Final[Mapping[str, Callable[[Any], Collection[str]]]] = {
    "id": lambda _: (),
    "activity": lambda r: _some(getattr(r, "activity_id", "")),
    "video": lambda r: _some((r.video or r.id) if hasattr(r, "segments") else ""),
    "document": lambda r: _some(getattr(r, "doc_id", "")),
    "title": lambda r: _some(getattr(r, "title", "")),
    "mistakes": lambda r: ("with" if getattr(r, "has_mistakes", False) else "without",),
}
"""Keys that are no attributes of the record."""


def _some(value: object) -> tuple[str, ...]:
    return (str(value),) if value else ()


def _keys(records: Sequence[Any], names: Sequence[str]) -> dict[str, dict[str, Collection[str]]]:
    """Return the keys of every record, by attribute.

    Raises:
        UserError: if no record has an attribute of that name.
    """
    return {
        name: {r.id: own for r, own in zip(records, _values(records, name), strict=True)} for name in names
    }


def _values(records: Sequence[Any], name: str) -> list[Collection[str]]:
    if name.startswith("category"):
        level = name.removeprefix("category").removeprefix(":") or "3"
        if not level.isdecimal():
            raise UserError(f"'{name[:40]}' names no level.", hint="write category:3 for the third level")
        values: list[Collection[str]] = [
            category_keys(getattr(r, "category_paths", ()), int(level)) for r in records
        ]
    elif name in _KEYS:
        values = [_KEYS[name](r) for r in records]
        if name == "id":
            return values
    else:
        values = [_some(_attributes_of(r).get(name, "")) for r in records]
    if not any(values):
        known = ", ".join(_attributes(records))
        raise UserError(f"no record has a '{name[:80]}'.", hint=f"known here: {known[:400]}, id")
    return values


def _attributes_of(record: Any) -> Mapping[str, str]:
    attributes: Mapping[str, str] = getattr(record, "attributes", None) or getattr(record, "meta", None) or {}
    return attributes


def _attributes(records: Sequence[Any]) -> list[str]:
    """Return what records can share: the keys that have values, then their attributes, in order of appearance."""
    usual = ("activity", "video", "document")
    names = [name for name in usual if any(_KEYS[name](r) for r in records)]
    if any(getattr(r, "category_paths", ()) for r in records):
        names.append("category:3")
    return list(dict.fromkeys([*names, *(name for r in records for name in _attributes_of(r))]))


def _text(record: Any) -> str:
    """Return the words of a record: the steps of a recording or a manual, the text of a source."""
    if hasattr(record, "segments"):
        return "\n".join(s.description for s in record.segments)
    if hasattr(record, "sections"):
        steps = (step for section in record.sections for step in section.steps)
        return "\n".join(" ".join((step.headline, step.text, *step.bullets)) for step in steps)
    from proctor.corpus.source import render_source

    return render_source(record)


# -- for people --------------------------------------------------------------------------------------------------


def render_made(result: ByAttributes | ByRule) -> str:
    """Return what ``split_dataset`` or ``make_split`` gave, as text."""
    total = sum(result.sizes.values()) or 1
    grouped = result if isinstance(result, ByAttributes) else None
    title = (
        f"split by {', '.join(result.by)}"
        if isinstance(result, ByAttributes)
        else f"{result.rule}: {result.what}"
    )
    lines = [title]
    for name, n in result.sizes.items():
        line = f"  {clip_line(name, _NAME):12} {n:>9,}  {n / total:6.1%}"
        if grouped:
            line += f"  wanted {grouped.wanted[name]:.1%}, {grouped.groups[name]:,} groups"
        lines.append(line)
    lines += [f"  note: {clip_line(note, 400)}" for note in result.notes]
    lines += [
        f"  {n:,} records have no {clip_line(name, _NAME)} and stand alone"
        for name, n in (grouped.without if grouped else {}).items()
    ]
    lines += [f"  written: {clip_line(file, 400)}" for file in result.files or ()]
    return "\n".join(lines)


def render_rules(result: Rules) -> str:
    """Return what ``reproduce_splits`` gave, as text."""
    if not result.rules:
        return f"{result.dataset} has no rules for splits; make one with --by"
    lines = []
    for rule in result.rules:
        sizes = " / ".join(f"{n:,}" for n in rule.sizes.values())
        if rule.released is None:
            said = "not released"
        elif rule.differences is None:
            said = f"{rule.released} is not in the folder"
        elif rule.released_empty:
            said = f"{rule.released} is empty"
        else:
            said = f"{rule.differences:,} differences to {rule.released}"
        lines += [f"{rule.name:20} {sizes:>20}  {said}", f"    {rule.what}"]
    return "\n".join(lines)


def render_check(result: Leaks) -> str:
    """Return what ``check_split`` gave, as text."""
    lines = [", ".join(f"{clip_line(name, _NAME)} {n:,}" for name, n in result.sizes.items())]
    for name, found in result.leaks.items():
        shown = clip_line(name, _NAME)
        if not found:
            lines.append(f"{shown}: disjoint ({result.values[name]:,} values)")
            continue
        lines.append(f"{shown}: {len(found):,} of {result.values[name]:,} values are in several subsets")
        for leak in found[:_LISTED]:
            counts = ", ".join(f"{clip_line(s, _NAME)} {n:,}" for s, n in leak.counts.items())
            lines.append(f"    {clip_line(leak.value, _NAME)}: {counts}")
        if len(found) > _LISTED:
            lines.append(f"    and {len(found) - _LISTED:,} more")
    for ids, said in (
        (result.unknown, "ids that the data set does not have"),
        (result.unused, "records in no subset"),
    ):
        if ids:
            lines.append(f"{len(ids):,} {said}: {clip_line(', '.join(ids[:_LISTED]), 300)}")
    if twice := result.twice:
        shown = ", ".join(f"{i} ({' and '.join(names)})" for i, names in list(twice.items())[:_LISTED])
        lines.append(f"{len(twice):,} ids are named more than once: {clip_line(shown, 300)}")
    if result.compared_texts:
        lines.append(f"{len(result.near):,} pairs of nearly the same text in different subsets")
        lines += [
            f"    {clip_line(n.a, _NAME)} ({n.subsets[0]}) and {clip_line(n.b, _NAME)} ({n.subsets[1]}): "
            f"{n.likeness:.0%} of the words"
            for n in result.near[:_LISTED]
        ]
    return "\n".join(lines)
