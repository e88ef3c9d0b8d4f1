"""A release: one folder in the layout of Hugging Face data sets, written whole or not at all, read with its hashes.

::

    README.md        the card, with the front matter that the Hub and ``datasets`` read
    manifest.json    files with SHA-256, counts, licence, rules, seeds, provenance, signature
    data/test.jsonl  one flat row for each question (``rows.Row``)
    data/default/test-00000-of-00001.parquet   the same rows, when asked for
    graphs.json      task graphs by activity id
    data/<kind>.jsonl  questions of other kinds (``rows.KindRow``)
    sources.jsonl    the sources of a corpus that questions cite; those whose licence keeps their content back are named
    pictures/        files of pictures that questions are about, by the SHA-256 of their bytes

The same inputs give the same bytes, so Parquet is written only when asked for, not whenever pyarrow is installed.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import entry_points
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from proctor.corpus.source import Source as CorpusSource
from proctor.errors import MissingExtraError, UserError, did_you_mean
from proctor.exam.kinds.moment_question import MOMENT, moment_example
from proctor.exam.question import Item, Part, Picture, Procedure, Question, Source, item_cells
from proctor.procedure.graph import GraphError, TaskGraph
from proctor.records import (
    Dropped,
    atomic_folder,
    atomic_write,
    content_hash,
    decode,
    file_sha256,
    read_bytes,
    read_json,
    read_jsonl,
    write_json,
    write_jsonl,
)
from proctor.release.build import BuildRules
from proctor.release.card import HUB_LICENCES, render_card
from proctor.release.manifest import (
    FORMAT,
    FORMAT_VERSION,
    FileEntry,
    LibraryCounts,
    Manifest,
    ReleaseInfo,
    count_items,
    describe_generators,
    describe_verification,
    sign,
)
from proctor.release.rows import (
    COLUMNS,
    KIND_COLUMNS,
    KindRow,
    Row,
    from_kind_row,
    from_row,
    to_kind_row,
    to_row,
    without_local_paths,
)
from proctor.tables import Records
from proctor.verify.store import split_stale
from proctor.verify.verdict import Verdict
from proctor.version import __version__

if TYPE_CHECKING:  # it brings what decodes videos
    import pandas as pd
    import polars as pl

    from proctor.exam.library import Library

__all__ = [
    "Benchmark",
    "benchmark_names",
    "changed_files",
    "load_benchmark",
    "read_release",
    "write_release",
]

ROWS: Final = "data/test.jsonl"
PARQUET: Final = "data/default/test-00000-of-00001.parquet"
GRAPHS: Final = "graphs.json"
SOURCES: Final = "sources.jsonl"
MANIFEST: Final = "manifest.json"
CARD: Final = "README.md"

_KIND: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
_KIND_ROWS: Final = re.compile(r"data/[A-Za-z0-9][A-Za-z0-9_-]{0,79}\.jsonl")

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark as it is used: questions, task graphs, and what is known about it.

    Attributes:
        items: in the release's order.
        graphs: activity id to task graph.
        pictures: files that questions are about, by their paths in the release.
        sources: that questions cite, some of them only named, for their licence.
        name: of the release, or of the workspace's folder.
        version: of the release; ``workspace`` for one that is not released.
        signature: changes whenever the data do.
        manifest: None for a workspace.
    """

    items: tuple[Item, ...]
    graphs: Mapping[str, TaskGraph] = field(default_factory=dict)
    sources: tuple[CorpusSource, ...] = ()
    pictures: Mapping[str, Path] = field(default_factory=dict)
    name: str = "benchmark"
    version: str = "workspace"
    signature: str = ""
    manifest: Manifest | None = None

    @property
    def table(self) -> Records[Item]:
        """The items as a table, by place or id."""
        return Records(self.items, "questions", row=item_cells)

    def to_pandas(self) -> pd.DataFrame:
        """Return the items as a data frame, one row each."""
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the items as a data frame of polars, one row each."""
        return self.table.to_polars()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __getitem__(self, which: int | str) -> Item:
        """Return an item by its place or id.

        Raises:
            KeyError: if none has the id.
        """
        return self.table[which]

    def __repr__(self) -> str:
        return f"Benchmark({self.name!r}, version {self.version}: {len(self):,} questions, {len(self.graphs):,} task graphs)"

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.name)}</b> {escape(self.version)}</p>{self.table._repr_html_()}"


# -- writing -------------------------------------------------------------------------------------------------


def write_release(
    path: Path,
    items: Sequence[Item],
    graphs: Mapping[str, TaskGraph],
    info: ReleaseInfo,
    rules: BuildRules,
    *,
    candidates: Sequence[Question] = (),
    verdicts: Sequence[Verdict] = (),
    dropped: Sequence[Dropped] = (),
    seeds: Mapping[str, int] | None = None,
    parquet: bool = False,
    library: Library | None = None,
) -> Manifest:
    """Write a release folder; an older release at the same place survives any failure and is replaced otherwise.

    Args:
        path: the folder.
        items: what is released.
        graphs: task graphs by activity id; only those that the items need are written.
        info: what only people can say.
        rules: that let the items in.
        candidates: questions behind the items, with what was proposed, for provenance and statistics.
        verdicts: the latest of each annotator and role, for the statistics of the verification.
        dropped: what building left out.
        seeds: name to seed, for the manifest.
        parquet: also write Parquet, which viewers then read.
        library: where sources and pictures are that items name.

    Raises:
        UserError: if there is nothing to release, a task graph, a source or a picture is missing, the folder holds anything that is not
            an older release, or it cannot be written.
        MissingExtraError: for Parquet without pyarrow.
    """
    from proctor.verify.statistics import verification_statistics

    info.check()
    if not items:
        raise UserError("there is no item to release.", hint="see build.dropped.jsonl for the reasons")
    about_moments = [item for item in items if item.question.kind == MOMENT]
    used = {moment_example(item.question).activity_id for item in about_moments}
    lacking = sorted(used - graphs.keys())
    if lacking:
        raise UserError(f"the task graph of activity '{lacking[0][:80]}' is missing.", where=str(path))
    parts = [part for item in items for part in item.question.evidence]
    used |= {part.id for part in parts if isinstance(part, Procedure)} & graphs.keys()
    shown = [without_local_paths(item) for item in items]
    standing, _ = split_stale(verdicts, {c.id: c for c in candidates})
    with _replaced_folder(path) as folder:
        shown, pictures = _with_pictures(shown, library, folder)
        rows_of = _write_rows(folder, shown, parquet=parquet)
        names = [name for files in rows_of.values() for name in files]
        if about_moments or used:
            write_json(folder / GRAPHS, {name: graphs[name] for name in sorted(used)})
            names.insert(1, GRAPHS)
        shipped = _write_sources(folder, parts, library)
        data = {name: _entry(folder / name) for name in (*names, *([SOURCES] if shipped else []), *pictures)}
        held = LibraryCounts(sources={}, named={}, pictures=0) if shipped is None else shipped
        manifest = Manifest(
            format=FORMAT,
            format_version=FORMAT_VERSION,
            proctor=__version__,
            info=info,
            signature=sign(info, data),
            counts=count_items(shown, dropped),
            rules=rules,
            seeds=dict(sorted((seeds or {}).items())),
            generators=describe_generators(shown, candidates),
            verification=describe_verification(
                shown, standing, verification_statistics(candidates, standing)
            ),
            files=data,
            library=msgspec.structs.replace(held, pictures=len(pictures)) if shipped or pictures else None,
        )
        with atomic_write(folder / CARD) as stream:
            stream.write(
                render_card(manifest, shown, {kind: files[-1] for kind, files in rows_of.items()}).encode()
            )
        manifest = msgspec.structs.replace(manifest, files={**data, CARD: _entry(folder / CARD)})
        write_json(folder / MANIFEST, manifest)
    return manifest


def _entry(path: Path) -> FileEntry:
    return FileEntry(file_sha256(path), path.stat().st_size)


def _write_rows(folder: Path, items: Sequence[Item], *, parquet: bool) -> dict[str, list[str]]:
    """Write the rows of each kind; return the names of its files, those for viewers last."""
    by_kind: dict[str, list[Item]] = {}
    for item in items:
        by_kind.setdefault(item.question.kind, []).append(item)
    found = {}
    for kind in sorted(by_kind, key=lambda kind: (kind != MOMENT, kind)):
        if not _KIND.fullmatch(kind):
            raise UserError(
                f"{kind[:80]!r} cannot name a file.", hint="a kind's name has letters, digits, '-' and '_'"
            )
        moments = kind == MOMENT
        rows: list[Row] | list[KindRow] = (
            [to_row(i) for i in by_kind[kind]] if moments else [to_kind_row(i) for i in by_kind[kind]]
        )
        name, table = (
            (ROWS, PARQUET) if moments else (f"data/{kind}.jsonl", f"data/{kind}/test-00000-of-00001.parquet")
        )
        write_jsonl(folder / name, rows)
        found[kind] = [name]
        if parquet:
            _write_parquet(folder / table, rows, COLUMNS if moments else KIND_COLUMNS)
            found[kind].append(table)
    return found


def _write_sources(folder: Path, parts: Iterable[Part], library: Library | None) -> LibraryCounts | None:
    """Write the sources that questions cite; return how many, by licence, None where none is cited."""
    cited = dict.fromkeys(part.id for part in parts if isinstance(part, Source))
    if not cited:
        return None
    corpus = library.corpus if library is not None else None
    found = {name: corpus.get(name) if corpus is not None else None for name in cited}
    if lacking := [name for name, source in found.items() if source is None]:
        raise UserError(f"the source '{lacking[0][:80]}' that a question cites is not in the corpus.")
    sources = [source for _, source in sorted(found.items()) if source is not None]
    free = [s for s in sources if (s.licence or "").lower() in HUB_LICENCES]
    named = [s for s in sources if (s.licence or "").lower() not in HUB_LICENCES]
    content = {s.id: s for s in free} | {s.id: _only_named(s) for s in named}
    write_jsonl(folder / SOURCES, [content[s.id] for s in sources])
    licences = [dict(sorted(Counter(s.licence or "unknown" for s in some).items())) for some in (free, named)]
    return LibraryCounts(sources=licences[0], named=licences[1], pictures=0)


def _only_named(source: CorpusSource) -> CorpusSource:
    """Return what finds a source again, without its content."""
    return CorpusSource(
        id=source.id,
        modality=source.modality,
        doc_id=source.doc_id,
        locator=source.locator,
        url=source.url,
        content_hash=source.content_hash,
        licence=source.licence,
    )


def _with_pictures(
    items: Sequence[Item], library: Library | None, folder: Path
) -> tuple[list[Item], list[str]]:
    """Copy the pictures that questions are about; return the items with their paths in the release, and these."""
    root = library.root if library is not None else Path()
    names: dict[str, str] = {}
    found = []
    for item in items:
        evidence = list(item.question.evidence)
        for place, part in enumerate(evidence):
            if isinstance(part, Picture):
                content = read_bytes(root / part.path)
                digest = hashlib.sha256(content).hexdigest()
                name = names.setdefault(
                    part.path, f"pictures/{digest}{PurePosixPath(part.path).suffix.lower()}"
                )
                evidence[place] = msgspec.structs.replace(part, path=name, sha256=digest)
                with atomic_write(folder / name) as stream:
                    stream.write(content)
        question = msgspec.structs.replace(item.question, evidence=tuple(evidence))
        found.append(msgspec.structs.replace(item, question=question))
    return found, sorted(set(names.values()))


def _write_parquet(path: Path, rows: Sequence[Row] | Sequence[KindRow], columns: Mapping[str, str]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", "a release with Parquet files") from None
    text = pa.string()
    types = {
        "string": text,
        "float64": pa.float64(),
        "bool": pa.bool_(),
        "list": pa.list_(text),
        "lists": pa.list_(pa.list_(text)),
    }
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    table = pa.Table.from_pylist(msgspec.to_builtins(rows), schema=schema)
    with atomic_write(path) as stream:
        pq.write_table(table, stream, compression="zstd")


@contextmanager
def _replaced_folder(path: Path) -> Iterator[Path]:
    """Yield a folder to fill that then takes the place of the release at ``path``, if there is one."""
    _require_replaceable(path)
    if not path.exists() or not any(path.iterdir()):
        with atomic_folder(path) as folder:
            yield folder
        return
    tag = token_hex(4)
    new, old = path.with_name(f".{path.name[:40]}.{tag}.new"), path.with_name(f".{path.name[:40]}.{tag}.old")
    with atomic_folder(new) as folder:
        yield folder
    try:
        path.rename(old)
        try:
            new.rename(path)
        except OSError:
            old.rename(path)
            raise
    except OSError as error:
        raise UserError(
            f"cannot be replaced: {error.strerror or error}. The older release is untouched.", where=str(path)
        ) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def _require_replaceable(path: Path) -> None:
    """Never delete what is not ours: only an older release, and nothing but its own files, may be there."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise UserError(
            "there is a file or a link here, a folder was expected.",
            where=str(path),
            hint="name a new folder for the release",
        )
    if not path.is_dir():
        return
    there = {p.relative_to(path).as_posix() for p in path.rglob("*") if not p.is_dir() or p.is_symlink()}
    if not there:
        return
    if MANIFEST not in there:
        raise UserError(
            "there is something here that is not a release.",
            where=str(path),
            hint="name a new or an empty folder",
        )
    foreign = sorted(there - {MANIFEST, *_read_manifest(path).files})
    if foreign:
        raise UserError(
            f"the older release here has a file that is not part of it: {foreign[0][:120]}.",
            where=str(path),
            hint="move it away, or name a new folder",
        )


# -- reading -------------------------------------------------------------------------------------------------


def benchmark_names() -> tuple[str, ...]:
    """Names of all registered benchmarks, ours and those of plugins."""
    return tuple(sorted(e.name for e in entry_points(group="proctor.benchmarks")))


def load_benchmark(name_or_path: str | Path) -> Benchmark:
    """Load a benchmark from a release folder, from a workspace folder, or by its registered name.

    A plugin registers, under the entry-point group ``proctor.benchmarks``, a path, a ``Benchmark``, or a function
    without arguments that returns either.

    Raises:
        UserError: if there is none, a file was changed or cut, or the format is newer than this Proctor.
    """
    path = Path(name_or_path)
    if _is_folder(path):
        return _load_folder(path)
    found = [e for e in entry_points(group="proctor.benchmarks") if e.name == str(name_or_path)]
    if not found:
        known = benchmark_names()
        raise UserError(
            "there is no such folder, and no benchmark of that name.",
            where=str(name_or_path),
            hint=did_you_mean(
                str(name_or_path),
                known,
                f"give the folder of a release or a workspace; registered names: {', '.join(known) or 'none'}",
            ),
        )
    try:
        value: Any = found[0].load()
    except (ImportError, AttributeError) as error:
        raise UserError(f"the plugin of benchmark '{name_or_path}' does not load: {error}.") from error
    return _from_plugin(value() if callable(value) else value, str(name_or_path))


def _from_plugin(value: object, name: str) -> Benchmark:
    if isinstance(value, Benchmark):
        return value
    if isinstance(value, str | Path):
        return _load_folder(Path(value))
    raise UserError(f"the plugin of benchmark '{name}' gives neither a folder nor a Benchmark.")


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _load_folder(path: Path) -> Benchmark:
    if (path / MANIFEST).is_file():
        return read_release(path)
    if (path / "items.jsonl").is_file():
        return _read_workspace(path)
    if (path / "release" / MANIFEST).is_file():
        return read_release(path / "release")
    raise UserError(
        f"this folder is neither a release ({MANIFEST}) nor a workspace with items (items.jsonl).",
        where=str(path),
        hint="build one: proctor build WORKSPACE",
    )


def _read_workspace(path: Path) -> Benchmark:
    items: tuple[Item, ...] = tuple(read_jsonl(path / "items.jsonl", Item))
    _require_unique(items, path / "items.jsonl")
    graphs = path / GRAPHS
    name = path.resolve().name or "workspace"
    return Benchmark(
        items=items,
        graphs=_parse_graphs(read_bytes(graphs), graphs) if graphs.is_file() else {},
        name=name,
        signature=f"{name}@workspace#{content_hash(items)}",
    )


def read_release(path: Path) -> Benchmark:
    """Read a release folder and check every data file against its hash; the card may have been edited.

    Raises:
        UserError: if a file is missing, was changed or cut, names a place outside the folder, or does not hold
            what the manifest says.
    """
    manifest = _read_manifest(path)
    data = {name: _read_checked(path, name, entry) for name, entry in manifest.files.items() if name != CARD}
    kinds = [name for name in data if name != ROWS and _KIND_ROWS.fullmatch(name)]
    for name in (ROWS, GRAPHS) if ROWS in data or not kinds else ():
        if name not in data:
            raise UserError(f"the manifest does not list {name}.", where=str(path / MANIFEST))
    if manifest.signature != sign(manifest.info, {n: e for n, e in manifest.files.items() if n != CARD}):
        raise UserError("the signature does not fit name, version and files.", where=str(path / MANIFEST))
    moments = _parse_rows(data[ROWS], path / ROWS, Row, from_row) if ROWS in data else ()
    others = (item for name in kinds for item in _parse_rows(data[name], path / name, KindRow, from_kind_row))
    items = (*moments, *others)
    _require_unique(items, path / ROWS)
    if len(items) != manifest.counts.items:
        raise UserError(
            f"it holds {len(items)} questions, the manifest says {manifest.counts.items}.",
            where=str(path / ROWS),
        )
    return Benchmark(
        items=items,
        graphs=_parse_graphs(data[GRAPHS], path / GRAPHS) if GRAPHS in data else {},
        pictures={name: path / name for name in data if name.startswith("pictures/")},
        sources=tuple(_lines(data.get(SOURCES, b""), path / SOURCES, CorpusSource)),
        name=manifest.info.name,
        version=manifest.info.version,
        signature=manifest.signature,
        manifest=manifest,
    )


def changed_files(path: Path) -> tuple[str, ...]:
    """Return the files of a release that are missing or differ from their hash, the card included."""

    def changed(name: str, entry: FileEntry) -> bool:
        file = _inside(path, name)
        return not file.is_file() or file_sha256(file) != entry.sha256

    return tuple(name for name, entry in _read_manifest(path).files.items() if changed(name, entry))


class _Head(msgspec.Struct):
    format: str
    format_version: int


def _read_manifest(path: Path) -> Manifest:
    place = path / MANIFEST
    head: _Head = read_json(place, _Head)
    if head.format != FORMAT:
        raise UserError(
            f"this is the manifest of something else: format {head.format[:40]!r}.", where=str(place)
        )
    if head.format_version > FORMAT_VERSION:
        raise UserError(
            f"the release was written by a newer Proctor (format {head.format_version}; this one knows "
            f"{FORMAT_VERSION}).",
            where=str(place),
            hint="pip install --upgrade proctor-bench",
        )
    manifest: Manifest = read_json(place, Manifest)
    for name in manifest.files:
        _inside(path, name)
    return manifest


def _inside(path: Path, name: str) -> Path:
    """Return the path of a listed file, which must lie in the folder."""
    pure = PurePosixPath(name)
    if not name or "\\" in name or "\0" in name or pure.is_absolute() or ".." in pure.parts:
        raise UserError(f"it lists a file outside the release: {name[:80]!r}.", where=str(path / MANIFEST))
    return path / pure


def _read_checked(path: Path, name: str, entry: FileEntry) -> bytes:
    file = _inside(path, name)
    content = read_bytes(file)
    if hashlib.sha256(content).hexdigest() == entry.sha256:
        return content
    size = (
        f"{len(content):,} bytes instead of {entry.bytes:,}" if len(content) != entry.bytes else "same size"
    )
    raise UserError(
        f"the file is not the one that was released ({size}; its SHA-256 differs).",
        where=str(file),
        hint="get the release again; a benchmark that was edited must get a new version",
    )


def _parse_rows(
    content: bytes, place: Path, type_: type[_T], item: Callable[[_T, str], Item]
) -> Iterator[Item]:
    for number, row in enumerate(_lines(content, place, type_), 1):
        yield item(row, f"{place}:{number}")


def _lines(content: bytes, place: Path, type_: type[_T]) -> Iterator[_T]:
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            yield decode(line, type_, f"{place}:{number}")


def _parse_graphs(content: bytes, place: Path) -> dict[str, TaskGraph]:
    try:
        graphs: dict[str, TaskGraph] = decode(content, dict[str, TaskGraph], str(place))
    except GraphError as error:
        raise UserError(f"{error}.", where=str(place)) from None
    return graphs


def _require_unique(items: Iterable[Item], place: Path) -> None:
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise UserError(f"the id '{item.id[:120]}' occurs more than once.", where=str(place))
        seen.add(item.id)
