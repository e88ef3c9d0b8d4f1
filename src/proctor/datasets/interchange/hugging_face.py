"""A folder in the layout of Hugging Face data sets: ``README.md`` with front matter, and Parquet.

``data/recordings/<split>-00000-of-00001.parquet`` has one row for each recording: ``recording_id``,
``activity_id``, ``activity_name``, ``duration``, ``video``, ``attributes`` (list of ``name`` and ``value``) and
``segments`` (list of ``step_id``, ``text``, ``start``, ``end``, ``performed`` and ``mistakes``, a list of ``kind``
and ``text``). The attribute ``split`` says which file a recording goes to (``train`` without one; ``val`` is filed
as ``validation``) and stays among the attributes. ``datasets.load_dataset(folder)`` reads the folder. Task graphs are in
``task_graphs.json`` beside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.datasets.interchange.about import RAI_KEYS, TASK_GRAPHS, check_about, read_graphs, write_graphs
from proctor.datasets.interchange.checks import Collector, writable
from proctor.datasets.interchange.format import Format, Imported
from proctor.datasets.interchange.parquet_files import iter_rows, write_rows
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Recording, Segment
from proctor.records import Dropped, atomic_folder, atomic_write

__all__ = ["FORMATS", "read_hugging_face", "write_hugging_face"]

_CONFIG: Final = "recordings"
_COLUMNS: Final[dict[str, Any]] = {
    "recording_id": "string",
    "activity_id": "string",
    "activity_name": "string",
    "duration": "double",
    "video": "string",
    "attributes": [{"name": "string", "value": "string"}],
    "segments": [
        {
            "step_id": "string",
            "text": "string",
            "start": "double",
            "end": "double",
            "performed": "string",
            "mistakes": [{"kind": "string", "text": "string"}],
        }
    ],
}
_ROWS: Final = (
    "One row for each recording of a person who follows instructions: which step was done when "
    "(`start` and `end` in seconds, empty for a skipped step), what was done instead, and what went wrong."
)
_GRAPHS: Final = (
    f"`{TASK_GRAPHS}` holds the task graph of each activity: its steps, and pairs of steps of which the first must be "
    "done before the second."
)
_SIZES: Final = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_ENTITIES: Final = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


class _Attribute(msgspec.Struct):
    name: str
    value: str


class _Row(msgspec.Struct):
    recording_id: str
    activity_id: str
    activity_name: str
    duration: float | None
    video: str | None
    attributes: list[_Attribute]
    segments: list[Segment]


# -- reading ---------------------------------------------------------------------------------------------------


def read_hugging_face(path: Path) -> Imported[Recording]:
    """Read the folder; recordings come split by split, ``train`` first, then by name.

    Raises:
        UserError: if there is no Parquet file of recordings in the folder, or a file cannot be read.
        MissingExtraError: without pyarrow.
    """
    files = _files(path)
    collector = Collector()
    for file in files:
        split = re.sub(r"-\d+-of-\d+\Z", "", file.stem)
        for row in iter_rows(file, _COLUMNS, _Row):
            _add_row(collector, row, {"validation": "val"}.get(split, split))
    return replace(collector.result(), graphs=read_graphs(path / TASK_GRAPHS))


def _files(path: Path) -> list[Path]:
    folder = path / "data" / _CONFIG
    try:
        found = sorted(folder.glob("*.parquet"), key=lambda f: (not f.name.startswith("train"), f.name))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be listed: {error}.", where=str(folder)) from None
    if not found:
        raise UserError(
            f"there is no data/{_CONFIG}/*.parquet in it.",
            where=str(path),
            hint="give the folder of a data set whose README.md and data/ were written by Proctor",
        )
    return found


def _add_row(collector: Collector, row: _Row, split: str) -> None:
    id_ = row.recording_id
    if not id_:
        collector.drop(split, "no_recording", "recording_id is empty")
        return
    names = [a.name for a in row.attributes]
    if len(set(names)) < len(names):
        collector.drop(id_, "duplicate_id", "an attribute is there twice, the last counts")
    collector.add(
        Recording(
            id_,
            row.activity_id,
            row.activity_name,
            tuple(collector.possible(row.segments, id_)),
            collector.duration(id_, row.duration),
            row.video,
            {a.name: a.value for a in row.attributes},
        )
    )


# -- writing ---------------------------------------------------------------------------------------------------


def write_hugging_face(
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
        about: keys of ``about.ABOUT_KEYS``; ``rai:`` keys become a section of the card.
        graphs: task graphs by activity id.

    Raises:
        UserError: if there is no recording, ids are not unique, or the folder is not empty or cannot be written.
        MissingExtraError: without pyarrow.
    """
    told = check_about(about)
    dropped: list[Dropped] = []
    by_split: dict[str, list[Recording]] = {}
    for recording in writable(recordings, dropped):
        by_split.setdefault(_split_of(recording), []).append(recording)
    if not by_split:
        raise UserError("there is no recording to write.", where=str(path), hint="read something first")
    with ExitStack() as stack:
        folder = stack.enter_context(atomic_folder(path))
        sizes = {}
        for split, found in sorted(by_split.items()):
            file = folder / "data" / _CONFIG / f"{split}-00000-of-00001.parquet"
            sizes[split] = write_rows(file, _COLUMNS, map(_row, found))
        dropped += write_graphs(graphs or {}, folder)
        ordered = (folder / TASK_GRAPHS).exists()
        with atomic_write(folder / "README.md") as stream:
            stream.write(_card(told, sizes, ordered).encode("utf-8"))
    return tuple(dropped)


def _split_of(recording: Recording) -> str:
    split = recording.attributes.get("split", "train")
    name = re.sub(r"\W+", "_", split, flags=re.ASCII).strip("_")[:60] or "train"
    return {"val": "validation", "valid": "validation"}.get(name, name)


def _row(recording: Recording) -> dict[str, Any]:
    return {
        "recording_id": recording.id,
        "activity_id": recording.activity_id,
        "activity_name": recording.activity_name,
        "duration": recording.duration,
        "video": recording.video,
        "attributes": [{"name": k, "value": v} for k, v in recording.attributes.items()],
        "segments": [
            (
                {
                    "step_id": s.step_id,
                    "text": s.text,
                    "start": s.start,
                    "end": s.end,
                    "performed": s.performed,
                    "mistakes": [{"kind": m.kind, "text": m.text} for m in s.mistakes],
                }
            )
            for s in recording.segments
        ],
    }


# -- card ------------------------------------------------------------------------------------------------------


def _card(about: Mapping[str, str], sizes: Mapping[str, tuple[int, int]], ordered: bool) -> str:
    rows = sum(count for count, _ in sizes.values())
    lines = ["---", *_front_matter(about, sizes, rows), "---", "", f"# {_plain(about['name'])}", ""]
    if "description" in about:
        lines += [_plain(about["description"]), ""]
    lines += [
        _ROWS,
        "",
        "| split | recordings |",
        "|---|---|",
        *(f"| {split} | {count:,} |" for split, (count, _) in sizes.items()),
        "",
    ]
    if ordered:
        lines += [_GRAPHS, ""]
    told = [(key.removeprefix("rai:"), about[key]) for key in RAI_KEYS if key in about]
    if told:
        lines += ["## Responsible use", "", *(f"- **{key}**: {_plain(text)}" for key, text in told), ""]
    if "citeAs" in about:
        lines += ["## Citation", "", *(f"    {line}" for line in about["citeAs"].splitlines()), ""]
    return "\n".join(lines)


def _front_matter(about: Mapping[str, str], sizes: Mapping[str, tuple[int, int]], rows: int) -> Iterator[str]:
    """Yield YAML; texts are JSON strings, which YAML reads as they are."""
    licence = about.get("license", "")
    if re.fullmatch(r"[A-Za-z0-9.-]{2,40}", licence):
        yield f"license: {_quoted(licence.lower())}"
    elif licence:  # the Hub knows identifiers only
        yield "license: other"
        yield f"{'license_link' if '://' in licence else 'license_name'}: {_quoted(licence)}"
    if "language" in about:
        yield f"language: [{_quoted(about['language'])}]"
    yield f"pretty_name: {_quoted(about['name'])}"
    yield f"size_categories: [{_quoted(next((name for limit, name in _SIZES if rows < limit), '1M<n<10M'))}]"
    yield "task_categories: [video-classification]"
    yield "tags: [procedural-video, step-annotations, mistakes]"
    yield "configs:"
    yield f"- config_name: {_CONFIG}"
    yield "  default: true"
    yield "  data_files:"
    for split in sizes:
        yield f"  - split: {split}"
        yield f"    path: data/{_CONFIG}/{split}-*.parquet"
    yield "dataset_info:"
    yield f"- config_name: {_CONFIG}"
    yield "  features:"
    yield from _features(_COLUMNS, "  ")
    yield "  splits:"
    for split, (count, size) in sizes.items():
        yield f"  - name: {split}"
        yield f"    num_bytes: {size}"
        yield f"    num_examples: {count}"


def _quoted(text: str) -> str:
    """Return a JSON string that YAML reads as the same text: no halves of pairs, nothing that does not print."""
    return re.sub(
        r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]",
        lambda m: f"\\u{ord(m[0]):04x}",
        json.dumps(text, ensure_ascii=False),
    )


def _features(columns: Mapping[str, Any], indent: str) -> Iterator[str]:
    names = {"double": "float64"}
    for name, of in columns.items():
        yield f"{indent}- name: {name}"
        if isinstance(of, list):
            yield f"{indent}  list:"
            yield from _features(of[0], f"{indent}  ")
        else:
            yield f"{indent}  dtype: {names.get(of, of)}"


def _plain(text: str) -> str:
    """Return text in which nothing is markup or a heading."""
    flat = " ".join(text.split())
    return re.sub(r"([\\`*_{}\[\]#|~])", r"\\\1", re.sub("[<>&]", lambda m: _ENTITIES[m[0]], flat))


FORMATS = (
    Format(
        name="hugging-face",
        title="Hugging Face data set folder (README.md and Parquet)",
        suffixes=(),
        kind="recordings",
        lossless=True,
        loss=("fine-grained actions", "the order of recordings of different splits"),
        read=read_hugging_face,
        write=write_hugging_face,
        options=("about",),
        extra="parquet",
        carries_graphs=True,
    ),
)
