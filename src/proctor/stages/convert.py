"""``proctor datasets convert``: recordings and task graphs from one tool's files to another's."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from proctor.datasets.dataset import corrections_mode, dataset_names, guess_dataset, load_dataset
from proctor.datasets.interchange import Format, find_format, formats, guess_format
from proctor.datasets.interchange.about import list_lost
from proctor.datasets.interchange.orderless import derive_orderless
from proctor.datasets.plain import write_plain
from proctor.errors import UserError, did_you_mean
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Recording
from proctor.records import Dropped, Json, read_json, write_jsonl

__all__ = ["convert", "list_formats"]

PLAIN: Final = "plain"
_SHOWN: Final = 20
_LONG: Final = 60
"""Characters of an id in a message."""


@dataclass(slots=True)
class _Read:
    """What the source holds; data sets and some formats have recordings and graphs, other formats one of both."""

    recordings: tuple[Recording, ...] = ()
    graphs: Mapping[str, TaskGraph] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a format."""

    name: str
    title: str
    files: str
    holds: str
    reads: bool
    writes: bool
    lossless: bool
    loss: list[str]
    precision: str
    options: list[str]


class Converted(msgspec.Struct, frozen=True, kw_only=True):
    """What went over, and what did not.

    Attributes:
        source: what was read.
        target: what was written.
        counts: recordings or graphs, segments, edges.
        warnings: of both formats.
        not_read: by reason.
        not_written: by reason.
        dropped_file: which lists both; None where there is nothing.
    """

    source: str
    target: str
    counts: dict[str, int]
    warnings: list[str]
    not_read: dict[str, int]
    not_written: dict[str, int]
    dropped_file: str | None


def list_formats() -> list[Listed]:
    """Return what is known of every format, for a table or JSON."""
    return [
        Listed(
            name=f.name,
            title=f.title,
            files=" ".join(f.suffixes) or "folder",
            holds=f.holds,
            reads=f.read is not None,
            writes=f.write is not None,
            lossless=f.lossless,
            loss=list(f.loss),
            precision=f.precision,
            options=list(f.options),
        )
        for f in formats()
    ]


def convert(
    source: Path,
    target: Path,
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    options: Mapping[str, str] | None = None,
    corrections: str = "corrected",
    overwrite: bool = False,
) -> Converted:
    """Read one file or folder, write another, and return the counts of the closing line.

    Args:
        source: file or folder.
        target: file or folder; must not exist unless ``overwrite``.
        source_format: a format, or the name of a data set; guessed from the ending when None.
        target_format: a format, or ``plain`` for a plain folder; guessed from the ending when None.
        options: of both formats, as texts; ``about`` is the path of a JSON file.
        corrections: for data sets, ``published`` or ``corrected``.
        overwrite: replace a file that is there.

    Everything that was not read or could not be written is in ``<target>.dropped.jsonl``.

    Raises:
        UserError: if a format is unknown, not clear or does not fit, an option is none of either format, the source
            cannot be read, holds nothing, or the target is there already or cannot be written.
    """
    writer = None if target_format == PLAIN else _target(target, target_format)
    given = dict(options or {})
    there = target.is_symlink() or target.exists()
    if not overwrite and there and (not target.is_dir() or any(target.iterdir())):
        raise UserError(
            "there is something here already.",
            where=str(target),
            hint="name another target, or say --overwrite",
        )
    kind = "recordings" if writer is None else writer.kind
    used: set[str] = set()
    found = _read(source, source_format, kind, given, used, corrections)
    wanted = _wanted(writer, given, used)
    unknown = sorted(given.keys() - used)
    if unknown:
        raise UserError(
            f"'{unknown[0][:60]}' is no option of either format.",
            hint=f"see docs/interchange.md; used here: {', '.join(sorted(used)) or 'none'}",
        )
    if writer is None:  # a plain recording has steps
        bare = [Dropped(r.id[:120], "no_segments", "no step") for r in found.recordings if not r.segments]
        kept = tuple(r for r in found.recordings if r.segments)
        found = replace(found, recordings=kept, dropped=(*found.dropped, *bare))
    objects: Sequence[Any] = found.recordings if kind == "recordings" else tuple(found.graphs.values())
    if not objects:
        counted = Counter(d.reason for d in found.dropped).most_common(5)
        reasons = ", ".join(f"{reason} {n:,}" for reason, n in counted)
        if first := next(iter(found.dropped), None):
            reasons += f"; the first is {first.id}: {first.detail}"
        raise UserError(
            f"no {'recording' if kind == 'recordings' else 'task graph'} could be read.",
            where=str(source),
            hint=f"dropped: {reasons}" if reasons else "is it the right file?",
        )
    if writer is None:
        told, warnings = _write_plain(found, source, target)
    else:
        assert writer.write is not None
        beside = {"graphs": found.graphs} if writer.carries_graphs else {}
        lost, warnings = _left_behind(found, writer)
        told = (*writer.write(objects, target, **wanted, **beside), *lost)
    counts: dict[str, int] = {kind: len(objects)}
    if kind == "recordings":
        counts["segments"] = sum(len(r.segments) for r in objects)
        counts |= {"actions": done} if (done := sum(len(r.actions) for r in objects)) else {}
    if found.graphs and (writer is None or writer.carries_graphs):
        counts["graphs"] = len(found.graphs)
        counts["edges"] = sum(len(g.edges) for g in found.graphs.values())
    return _closing(source, target, counts, found, told, warnings)


# -- reading ---------------------------------------------------------------------------------------------------


def _read(
    source: Path,
    name: str | None,
    kind: str,
    given: Mapping[str, str],
    used: set[str],
    corrections: str,
) -> _Read:
    if name is None and source.is_dir():
        name = _guessed(source)
    if name in dataset_names():
        assert name is not None
        result = load_dataset(name).read(source, corrections_mode(corrections))
        changed = len(result.corrections)
        warnings = (f"{changed} correction(s) of the data set were applied.",) if changed else ()
        return _Read(result.recordings, result.graphs, warnings, result.dropped)
    reader = _format(source, name, kind, to_read=True)
    if reader.read is None:
        raise UserError(f"'{reader.name}' is only written, not read.", hint="choose another source")
    if reader.kind != kind and not (kind == "graph" and reader.carries_graphs):
        raise UserError(
            f"'{reader.name}' holds {reader.holds}, the target holds {kind}.",
            where=str(source),
            hint="convert recordings to recordings and graphs to graphs",
        )
    imported = reader.read(source, **_chosen(reader, reader.read, given, used))
    objects = cast("tuple[Any, ...]", imported.objects)
    if reader.kind == "recordings":
        return _Read(objects, imported.graphs, imported.warnings, imported.dropped)
    return _Read((), {str(n): graph for n, graph in enumerate(objects)}, imported.warnings, imported.dropped)


def _format(path: Path, name: str | None, kind: str | None, *, to_read: bool = False) -> Format:
    if name is None:
        fitting = cast("Any", kind)
        return guess_format(path, fitting, to_read=to_read)
    try:
        return find_format(name)
    except UserError as error:
        known = (*(f.name for f in formats()), *dataset_names())
        raise UserError(error.message, where=error.where, hint=did_you_mean(name, known)) from None


def _guessed(folder: Path) -> str:
    """Return the data set that a folder's files tell; folders of other formats have to be named."""
    try:
        return guess_dataset(folder).name
    except UserError as error:
        folders = ", ".join(f.name for f in formats() if f.read is not None and f.kind == "recordings")
        raise UserError(
            error.message,
            where=error.where,
            hint=f"say --from with a data set ({', '.join(dataset_names())}) or a format ({folders})",
        ) from None


def _target(path: Path, name: str | None) -> Format:
    if name is not None or path.suffix:
        return _format(path, name, None)
    names = ", ".join([PLAIN, *(f.name for f in formats() if f.write is not None)])
    raise UserError(
        "the format is not clear from the name of the target.",
        where=str(path),
        hint=f"say --to plain for a plain folder, or end the name in .csv, .eaf, .srt …; known: {names}",
    )


def _chosen(
    format_: Format, function: Callable[..., Any], given: Mapping[str, str], used: set[str]
) -> dict[str, Json]:
    """Return the options of the format that its reader or writer takes, and note them as used."""
    takes = inspect.signature(function).parameters
    names = [n for n in format_.options if n in takes and n in given]
    used.update(names)
    return {n: _value(n, given[n]) for n in names}


def _wanted(writer: Format | None, given: Mapping[str, str], used: set[str]) -> dict[str, Json]:
    if writer is None:
        return {}
    if writer.write is None:
        raise UserError(f"'{writer.name}' is only read, not written.", hint="choose another target")
    return _chosen(writer, writer.write, given, used)


def _value(name: str, text: str) -> Json:
    if name in ("fps", "base"):
        try:
            return int(text) if name == "base" else float(Fraction(text) if "/" in text else text)
        except (ValueError, ZeroDivisionError, OverflowError):
            raise UserError(
                f"'{text[:40]}' is no number.", where=name, hint="for example fps=30000/1001, base=0"
            ) from None
    if name == "about":
        about: Json = read_json(Path(text))
        if not isinstance(about, dict):
            raise UserError(
                "an object of texts was expected.", where=text, hint='{"name": "...", "license": "..."}'
            )
        return about
    return text


# -- writing ---------------------------------------------------------------------------------------------------


def _write_plain(found: _Read, source: Path, target: Path) -> tuple[tuple[Dropped, ...], tuple[str, ...]]:
    """Write a plain folder; recordings that came without graphs get graphs without any order."""
    without = [r for r in found.recordings if r.activity_id not in found.graphs]
    derived, graphs, lost = derive_orderless(without)
    named = {r.id: r for r in derived}
    recordings, every = [named.get(r.id, r) for r in found.recordings], {**found.graphs, **graphs}
    try:
        write_plain(target, recordings, every)
    except UserError as error:
        raise _of_source(error, source, target, recordings, list(every.values())) from None
    if not graphs:
        return lost, ()
    steps = sum(len(g.steps) for g in graphs.values())
    whose = f"{len(graphs)} activities of the source have" if found.graphs else "the source has"
    sentence = (
        f"{whose} no task graphs: "
        f"{len(graphs)} were made of the {steps} steps that were seen, with nothing "
        "that must come before anything else. Add 'edges' to activities/*.json."
    )
    return lost, (sentence,)


_WRITTEN: Final = re.compile(r"(?:recordings\.jsonl:(?P<line>\d+)|activities/(?P<number>\d+)-[^/\s]*\.json)")
"""A place in a plain folder, as errors name it."""


def _of_source(
    error: UserError, source: Path, target: Path, recordings: Sequence[Recording], graphs: Sequence[TaskGraph]
) -> UserError:
    """Return what a plain folder cannot hold as an error of the file that was read: the folder was not written."""

    def meant(place: re.Match[str]) -> str:
        of_recording = place["line"] is not None
        n = int(place["line"] or place["number"])
        objects: Sequence[Recording | TaskGraph] = recordings if of_recording else graphs
        ids = [found.id[:_LONG] for found in objects[n - 1 : n]]  # an id may look like a place
        return f"{'recording' if of_recording else 'activity'} {ids[0]!r}" if ids else place[0]

    where = (error.where or "").removeprefix(str(target)).removeprefix("/")
    if not _WRITTEN.search(f"{where}{error.message}"):
        return error
    places = [str(source), *([_WRITTEN.sub(meant, where)] if where else [])]
    return UserError(_WRITTEN.sub(meant, error.message), where=": ".join(places), hint=error.hint)


def _left_behind(found: _Read, writer: Format) -> tuple[list[Dropped], tuple[str, ...]]:
    """Return what the source holds and the target has no place for: task graphs, or recordings."""
    if writer.kind == "graph":
        lost = [
            Dropped(
                r.id[:120], "recording_lost", f"{len(r.segments)} segments: '{writer.name}' holds graphs only"
            )
            for r in found.recordings
        ]
        what = f"{len(lost)} recording(s)"
        way = "convert them to a format that holds recordings, too"
    elif not writer.carries_graphs:
        orderless = derive_orderless(found.recordings)[1]
        graphs = [
            g for g in found.graphs.values() if g != orderless.get(g.id)
        ]  # nothing is lost of the others
        lost = list_lost(graphs, f"'{writer.name}' holds recordings only")
        what = f"{len(lost)} task graph(s) with {sum(len(g.edges) for g in graphs)} edges"
        carriers = ", ".join(f.name for f in formats() if f.carries_graphs)
        way = f"convert them to graph-json, too, or everything to {PLAIN}, {carriers}"
    else:
        lost = []
    if not lost:
        return [], ()
    return lost, (f"{what} did not go over, because '{writer.name}' has no place for them: {way}.",)


def _closing(
    source: Path,
    target: Path,
    counts: dict[str, int],
    found: _Read,
    told: tuple[Dropped, ...],
    warnings: tuple[str, ...],
) -> Converted:
    report = target.with_name(f"{target.name}.dropped.jsonl")
    if found.dropped or told:
        write_jsonl(report, [*found.dropped, *told])
    else:
        report.unlink(missing_ok=True)  # of an earlier run
    return Converted(
        source=str(source),
        target=str(target),
        counts=counts,
        warnings=[*found.warnings, *warnings][:_SHOWN],
        not_read=dict(Counter(d.reason for d in found.dropped)),
        not_written=dict(Counter(d.reason for d in told)),
        dropped_file=str(report) if found.dropped or told else None,
    )
