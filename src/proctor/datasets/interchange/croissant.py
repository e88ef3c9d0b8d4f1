"""Croissant 1.1 with the fields for responsible AI: ``croissant.json`` and four Parquet tables that it describes.

Record sets: ``recordings``, ``segments`` (``position`` from 1 in the recording), ``mistakes`` (``segment`` is that
position, ``position`` from 1 in the segment) and ``attributes``; the last three refer to ``recordings`` by
``recording_id``. Task graphs are in ``task_graphs.json`` beside, a file object without a record set. Tables are Parquet, because readers of CSV and JSON guess types and would make ``1`` of ``001``.
The hash of every table is in the metadata and is checked when the folder is read; nothing is ever fetched.

The Hub's own Croissant endpoint leaves the responsible-AI fields away: ship this file beside the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec

from proctor.datasets.interchange.about import RAI_KEYS, TASK_GRAPHS, check_about, read_graphs, write_graphs
from proctor.datasets.interchange.checks import Collector, writable
from proctor.datasets.interchange.format import Format, Imported
from proctor.datasets.interchange.parquet_files import iter_rows, write_rows
from proctor.datasets.interchange.reading import load_json
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Mistake, Recording, Segment
from proctor.records import Dropped, atomic_folder, file_sha256, write_json

__all__ = ["FORMATS", "read_croissant", "render_metadata", "write_croissant"]

METADATA: Final = "croissant.json"
_SUFFIX: Final = ".parquet"
_CONTEXT: Final = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_CONFORMS: Final = (
    "http://mlcommons.org/croissant/1.0",
    "http://mlcommons.org/croissant/1.1",
)
_RAI: Final = "http://mlcommons.org/croissant/RAI/1.0"
_TYPES: Final = {"string": "sc:Text", "double": "sc:Float", "int64": "sc:Integer"}


@dataclass(frozen=True, slots=True)
class _Table:
    """One table: its key, its columns (type and meaning), and which column refers to which other table."""

    what: str
    key: tuple[str, ...]
    columns: Mapping[str, tuple[str, str]]
    references: str = ""

    @property
    def types(self) -> dict[str, Any]:
        return {name: type_ for name, (type_, _) in self.columns.items()}


_TABLES: Final = {
    "recordings": _Table(
        "one performance of an activity",
        ("recording_id",),
        {
            "recording_id": ("string", "id of the recording"),
            "activity_id": ("string", "which procedure was followed"),
            "activity_name": ("string", "its name"),
            "duration": ("double", "length of the video in seconds"),
            "video": ("string", "path of the video"),
        },
    ),
    "segments": _Table(
        "one step of a recording, done or skipped",
        ("recording_id", "position"),
        {
            "recording_id": ("string", "the recording"),
            "position": ("int64", "number of the step in the recording, from 1"),
            "step_id": ("string", "id of the step in the procedure"),
            "text": ("string", "the instruction"),
            "start": ("double", "seconds from the start of the video; empty when skipped"),
            "end": ("double", "seconds, exclusive; empty when skipped"),
            "performed": ("string", "what was done, where it differs from the instruction"),
        },
        "recordings",
    ),
    "mistakes": _Table(
        "one thing that went wrong in a step",
        ("recording_id", "segment", "position"),
        {
            "recording_id": ("string", "the recording"),
            "segment": ("int64", "position of the step in the recording"),
            "position": ("int64", "number of the mistake in the step, from 1"),
            "kind": ("string", "kind of the mistake"),
            "text": ("string", "what the annotator wrote"),
        },
        "recordings",
    ),
    "attributes": _Table(
        "whatever else is known of a recording",
        ("recording_id", "name"),
        {
            "recording_id": ("string", "the recording"),
            "name": ("string", "what is known"),
            "value": ("string", "its value"),
        },
        "recordings",
    ),
}


class _Recording(msgspec.Struct):
    recording_id: str
    activity_id: str
    activity_name: str
    duration: float | None
    video: str | None


class _Segment(msgspec.Struct):
    recording_id: str
    position: int
    step_id: str
    text: str
    start: float | None
    end: float | None
    performed: str | None


class _Mistake(msgspec.Struct):
    recording_id: str
    segment: int
    position: int
    kind: str
    text: str


class _Attribute(msgspec.Struct):
    recording_id: str
    name: str
    value: str


# -- reading ---------------------------------------------------------------------------------------------------


def read_croissant(path: Path) -> Imported[Recording]:
    """Read the folder, or its ``croissant.json``.

    Only record sets like ours are recordings; metadata of other data sets are refused, and nothing is fetched.

    Raises:
        UserError: if the metadata are no Croissant, describe something else, name a file outside the folder or
            one that is missing, changed or unreadable.
        MissingExtraError: without pyarrow.
    """
    file = path / METADATA if path.is_dir() else path
    tables, ordered = _described(load_json(file), file)
    collector = Collector()
    rows = {name: tables[name] for name in _TABLES}
    mistakes: dict[tuple[str, int], list[tuple[int, Mistake]]] = {}
    for m in iter_rows(rows["mistakes"], _TABLES["mistakes"].types, _Mistake):
        mistakes.setdefault((m.recording_id, m.segment), []).append((m.position, Mistake(m.kind, m.text)))
    attributes: dict[str, dict[str, str]] = {}
    for a in iter_rows(rows["attributes"], _TABLES["attributes"].types, _Attribute):
        known = attributes.setdefault(a.recording_id, {})
        if known.setdefault(a.name, a.value) != a.value:
            collector.drop(a.recording_id, "duplicate_id", f"attribute {a.name}: {a.value}")
    segments: dict[str, dict[int, Segment]] = {}
    for s in iter_rows(rows["segments"], _TABLES["segments"].types, _Segment):
        _add_segment(collector, segments, mistakes, s)
    for r in iter_rows(rows["recordings"], _TABLES["recordings"].types, _Recording):
        found = sorted(segments.pop(r.recording_id, {}).items())
        known = attributes.pop(r.recording_id, {})
        if not r.recording_id:
            collector.drop(METADATA, "no_recording", "recording_id is empty")
            continue
        collector.add(
            Recording(
                r.recording_id,
                r.activity_id,
                r.activity_name,
                tuple(segment for _, segment in found),
                collector.duration(r.recording_id, r.duration),
                r.video,
                known,
            )
        )
    _drop_orphans(collector, segments, mistakes, attributes)
    return replace(collector.result(), graphs={} if ordered is None else read_graphs(ordered))


def _add_segment(
    collector: Collector,
    segments: dict[str, dict[int, Segment]],
    mistakes: dict[tuple[str, int], list[tuple[int, Mistake]]],
    row: _Segment,
) -> None:
    where = f"{row.recording_id}/{row.position}"
    untimed = row.start is None and row.end is None
    if not untimed and collector.times(where, row.start, row.end) is None:
        mistakes.pop((row.recording_id, row.position), None)
        return
    wrong = sorted(mistakes.pop((row.recording_id, row.position), ()), key=lambda pair: pair[0])
    segment = Segment(row.step_id, row.text, row.start, row.end, row.performed, tuple(m for _, m in wrong))
    found = segments.setdefault(row.recording_id, {})
    if found.setdefault(row.position, segment) is not segment:
        collector.drop(where, "duplicate_id", row.text)


def _drop_orphans(
    collector: Collector,
    segments: Mapping[str, Mapping[int, Segment]],
    mistakes: Mapping[tuple[str, int], list[tuple[int, Mistake]]],
    attributes: Mapping[str, dict[str, str]],
) -> None:
    for id_, found in segments.items():
        for position, s in found.items():
            collector.drop(f"{id_}/{position}", "no_recording", s.text)
    for (id_, number), wrong in mistakes.items():
        for _, m in wrong:
            collector.drop(f"{id_}/{number}", "no_step", f"{m.kind}: {m.text}")
    for id_, known in attributes.items():
        for name in known:
            collector.drop(id_, "no_recording", f"attribute {name}")


def _described(document: Any, file: Path) -> tuple[dict[str, Path], Path | None]:
    """Return the tables that the metadata describe and the file of task graphs, if any, with their hashes checked."""
    conforms = document.get("conformsTo") if isinstance(document, dict) else None
    named = conforms if isinstance(conforms, list) else [conforms]
    if not isinstance(document, dict) or not any(one in _CONFORMS for one in named):
        raise UserError(
            "this is no Croissant 1.0 or 1.1 metadata.", where=str(file), hint="'conformsTo' says the version"
        )
    objects = document.get("distribution")
    found, ordered = {}, None
    for one in objects if isinstance(objects, list) else []:
        name = str(one.get("@id")).removesuffix(_SUFFIX) if isinstance(one, dict) else ""
        if name in _TABLES:
            found[name] = _checked(one, file)
        elif name == TASK_GRAPHS:
            ordered = _checked(one, file)
    missing = [name for name in _TABLES if name not in found]
    if missing:
        raise UserError(
            f"it does not describe recordings: the file object(s) {', '.join(missing)} are missing.",
            where=str(file),
            hint="only Croissant folders with Proctor's four tables hold recordings",
        )
    return found, ordered


def _checked(object_: Mapping[str, Any], file: Path) -> Path:
    url, expected = object_.get("contentUrl"), object_.get("sha256")
    inside = PurePosixPath(url) if isinstance(url, str) else PurePosixPath("/")
    if inside.is_absolute() or ".." in inside.parts or "\\" in str(inside) or ":" in str(inside):
        raise UserError(
            f"contentUrl {str(url)[:200]!r} is not a path inside the folder.",
            where=str(file),
            hint="nothing is fetched: place the tables next to the metadata",
        )
    table = file.parent / inside
    if not isinstance(expected, str) or file_sha256(table) != expected.lower():
        raise UserError(
            "the file's SHA-256 is not the one in the metadata.",
            where=str(table),
            hint="it was changed: take the original, or export it again",
        )
    return table


# -- writing ---------------------------------------------------------------------------------------------------


def write_croissant(
    recordings: Iterable[Recording],
    path: Path,
    *,
    about: Mapping[str, str] | None = None,
    graphs: Mapping[str, TaskGraph] | None = None,
) -> tuple[Dropped, ...]:
    """Write a new folder.

    Args:
        recordings: with unique ids.
        path: must not exist or be empty; appears whole or not at all.
        about: keys of ``about.ABOUT_KEYS`` and ``about.RAI_KEYS``. Croissant requires ``description``,
            ``license``, ``url``, ``creator`` and ``datePublished``; nothing is invented where they are not given.
        graphs: task graphs by activity id.

    Raises:
        UserError: if ids are not unique, ``about`` has unknown keys, or the folder is not empty.
        MissingExtraError: without pyarrow.
    """
    told = check_about(about)
    dropped: list[Dropped] = []
    kept = list(writable(recordings, dropped))
    rows: dict[str, Callable[[Recording], _Rows]] = {
        "recordings": _recordings,
        "segments": _segments,
        "mistakes": _mistakes,
        "attributes": lambda recording: (
            {"recording_id": recording.id, "name": name, "value": value}
            for name, value in recording.attributes.items()
        ),
    }
    with atomic_folder(path) as folder:
        hashes = {}
        for name, table in _TABLES.items():
            file = folder / _url(name)
            write_rows(file, table.types, (row for r in kept for row in rows[name](r)))
            hashes[name] = file_sha256(file)
        dropped += write_graphs(graphs or {}, folder)
        if (folder / TASK_GRAPHS).exists():
            hashes[TASK_GRAPHS] = file_sha256(folder / TASK_GRAPHS)
        write_json(folder / METADATA, render_metadata(told, hashes))
    return tuple(dropped)


def _url(table: str) -> str:
    return f"data/{table}{_SUFFIX}"


def render_metadata(about: Mapping[str, str], hashes: Mapping[str, str]) -> dict[str, Any]:
    """Return the JSON-LD document.

    Args:
        about: the description, with a name.
        hashes: SHA-256 of every table, and of ``task_graphs.json`` where there is one, as hex digits.
    """
    document: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [_CONFORMS[-1], _RAI] if any(key in about for key in RAI_KEYS) else _CONFORMS[-1],
        "name": about["name"],
    }
    for key in ("description", "url", "version", "datePublished", "citeAs"):
        if key in about:
            document[key] = about[key]
    if "license" in about:
        licence = about["license"]
        document["license"] = licence if "://" in licence else f"https://spdx.org/licenses/{licence}.html"
    if "creator" in about:
        document["creator"] = {"@type": "sc:Organization", "name": about["creator"]}
    if "language" in about:
        document["inLanguage"] = about["language"]
    document |= {key: about[key] for key in RAI_KEYS if key in about}
    document["distribution"] = [
        _file_object(name + _SUFFIX, _url(name), "application/x-parquet", hashes[name]) for name in _TABLES
    ]
    if TASK_GRAPHS in hashes:
        document["distribution"].append(
            _file_object(TASK_GRAPHS, TASK_GRAPHS, "application/json", hashes[TASK_GRAPHS])
        )
    document["recordSet"] = [
        (
            {
                "@type": "cr:RecordSet",
                "@id": f"{name}",
                "name": f"{name}",
                "description": table.what,
                "key": [{"@id": f"{name}/{column}"} for column in table.key],
                "field": [_field(name, column, table) for column in table.columns],
            }
        )
        for name, table in _TABLES.items()
    ]
    return document


def _file_object(name: str, url: str, encoding: str, sha256: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": url,
        "encodingFormat": encoding,
        "sha256": sha256,
    }


def _field(name: str, column: str, table: _Table) -> dict[str, Any]:
    type_, what = table.columns[column]
    field = {
        "@type": "cr:Field",
        "@id": f"{name}/{column}",
        "name": column,
        "description": what,
        "dataType": _TYPES[type_],
        "source": {"fileObject": {"@id": name + _SUFFIX}, "extract": {"column": column}},
    }
    if table.references and column == "recording_id":
        field["references"] = {"field": {"@id": f"{table.references}/{column}"}}
    return field


_Rows = Iterator[dict[str, Any]]


def _recordings(recording: Recording) -> _Rows:
    yield {
        "recording_id": recording.id,
        "activity_id": recording.activity_id,
        "activity_name": recording.activity_name,
        "duration": recording.duration,
        "video": recording.video,
    }


def _segments(recording: Recording) -> _Rows:
    for position, s in enumerate(recording.segments, start=1):
        yield {
            "recording_id": recording.id,
            "position": position,
            "step_id": s.step_id,
            "text": s.text,
            "start": s.start,
            "end": s.end,
            "performed": s.performed,
        }


def _mistakes(recording: Recording) -> _Rows:
    for number, s in enumerate(recording.segments, start=1):
        for position, m in enumerate(s.mistakes, start=1):
            yield {
                "recording_id": recording.id,
                "segment": number,
                "position": position,
                "kind": m.kind,
                "text": m.text,
            }


FORMATS = (
    Format(
        name="croissant",
        title="Croissant 1.1 with responsible-AI fields (metadata and Parquet)",
        suffixes=(),
        kind="recordings",
        lossless=True,
        loss=("fine-grained actions",),
        read=read_croissant,
        write=write_croissant,
        options=("about",),
        extra="parquet",
        carries_graphs=True,
    ),
)
