"""Indices on disk: arrays that are mapped or read, and a manifest that says over which corpus they were built.

An index takes the name of its folder when all of it is written. One of another corpus, another embedder or another version of the
format is refused by name, and so is one whose files are not those that were written.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from proctor.corpus.index.approximate import ApproximateIndex, parse_method
from proctor.corpus.index.dense import DenseIndex
from proctor.corpus.index.exact import import_faiss
from proctor.corpus.index.hits import checked_modalities
from proctor.corpus.index.lexical import LexicalIndex, Postings
from proctor.corpus.source import MODALITIES, Modality
from proctor.errors import UserError
from proctor.records import atomic_folder, is_there, read_json, write_json

__all__ = ["FORMAT", "IndexManifest", "open_lexical", "open_vectors", "read_manifest", "write_index"]

FORMAT: Final = 1
"""Version of the folder's format."""

_MANIFEST: Final = "manifest.json"
_AGAIN: Final = "Build the index again."

Kind = Literal["lexical", "dense", "approximate"]
Index: TypeAlias = LexicalIndex | DenseIndex | ApproximateIndex


class _Version(msgspec.Struct, frozen=True):
    format: int


class IndexFile(msgspec.Struct, frozen=True):
    """Size and XXH3 (128 bits) of a file."""

    bytes: int
    xxh3: str


class IndexManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an index folder holds.

    Attributes:
        format: version of the folder's format.
        kind: ``lexical``, ``dense`` or ``approximate``.
        corpus: fingerprint of the corpus.
        sources: in the corpus.
        files: of the folder, by name.
        k1, b: of BM25.
        embedder: name of what made the vectors.
        dimension: numbers in a vector.
        method: of an approximate search.
        structures: modalities that have a graph or cells.
    """

    format: int
    kind: Kind
    corpus: str
    sources: int
    files: dict[str, IndexFile]
    k1: float = 0.0
    b: float = 0.0
    embedder: str = ""
    dimension: int = 0
    method: str = ""
    structures: tuple[Modality, ...] = ()


# -- writing ---------------------------------------------------------------------------------------------------


def write_index(folder: Path, index: Index, corpus: str) -> IndexManifest:
    """Write an index; one that is there already is replaced when the new one is complete.

    Args:
        folder: of the index alone.
        index: to be written.
        corpus: fingerprint of the corpus over whose sources it was built.

    Raises:
        UserError: if something else is in the folder, or it cannot be written.
    """
    with _replaced(folder) as work:
        fields = (
            _write_lexical(work, index) if isinstance(index, LexicalIndex) else _write_vectors(work, index)
        )
        files = {path.name: IndexFile(path.stat().st_size, _digest(path)) for path in sorted(work.iterdir())}
        manifest = IndexManifest(format=FORMAT, corpus=corpus, sources=len(index), files=files, **fields)
        write_json(work / _MANIFEST, manifest)
    return manifest


def _write_lexical(work: Path, index: LexicalIndex) -> dict[str, Any]:
    np.save(work / "modalities.npy", index.modalities)
    np.save(work / "scores.npy", index.postings.scores)
    np.save(work / "sources.npy", index.postings.sources)
    np.save(work / "starts.npy", index.postings.starts)
    (work / "words.json").write_bytes(msgspec.json.encode(list(index.vocabulary)))
    return {"kind": "lexical", "k1": index.k1, "b": index.b}


def _write_vectors(work: Path, index: DenseIndex | ApproximateIndex) -> dict[str, Any]:
    exact = index if isinstance(index, DenseIndex) else index.exact
    np.save(work / "modalities.npy", exact.modalities)
    for modality in MODALITIES:
        np.save(work / f"{modality}.npy", exact.parts[modality])
    fields: dict[str, Any] = {"kind": "dense", "embedder": exact.embedder, "dimension": exact.dimension}
    if isinstance(index, DenseIndex):
        return fields
    for modality, structure in index.structures.items():
        import_faiss().write_index(structure, str(work / f"{modality}.faiss"))
    more = {"kind": "approximate", "method": str(index.method), "structures": tuple(index.structures)}
    return fields | more


@contextmanager
def _replaced(folder: Path) -> Iterator[Path]:
    if is_there(folder) and any(folder.iterdir() if folder.is_dir() else [folder]):
        if not is_there(folder / _MANIFEST):
            raise UserError(
                "there is something here that is no index.",
                where=str(folder),
                hint="Name a new folder for the index.",
            )
        fresh, old = (folder.with_name(f".{folder.name}.{name}") for name in ("new", "old"))
        for leftover in (fresh, old):
            shutil.rmtree(leftover, ignore_errors=True)
        with atomic_folder(fresh) as work:
            yield work
        folder.replace(old)
        fresh.replace(folder)
        shutil.rmtree(old, ignore_errors=True)
    else:
        with atomic_folder(folder) as work:
            yield work


def _digest(path: Path) -> str:
    digest = xxhash.xxh3_128()
    with path.open("rb") as stream:
        while block := stream.read(2**22):
            digest.update(block)
    return digest.hexdigest()


# -- reading ---------------------------------------------------------------------------------------------------


def read_manifest(folder: Path, corpus: str | None = None) -> IndexManifest:
    """Return what an index folder holds.

    Args:
        folder: of the index.
        corpus: fingerprint of the corpus that is to be searched; None to read an index of any.

    Raises:
        UserError: if there is no index, one of another version or of another corpus, or a file is missing or of another size.
    """
    path = folder / _MANIFEST
    if not is_there(path):
        raise UserError("there is no index here.", where=str(folder), hint="Build the index first.")
    written: _Version = read_json(path, _Version)
    version = written.format
    if version != FORMAT:
        age = "a newer" if version > FORMAT else "an older"
        raise UserError(
            f"this index has the format {version} of {age} Proctor; this one reads {FORMAT}.",
            where=str(folder),
            hint=_AGAIN,
        )
    manifest: IndexManifest = read_json(path, IndexManifest)
    if corpus is not None and manifest.corpus != corpus:
        raise UserError(
            f"the index was built over another corpus ({manifest.corpus[:16]}, with {manifest.sources} sources) than the one "
            f"that is searched ({corpus[:16]}).",
            where=str(folder),
            hint=_AGAIN,
        )
    for name, file in manifest.files.items():
        there = folder / name
        if Path(name).name != name or not there.is_file() or there.stat().st_size != file.bytes:
            raise _damaged(folder, name)
    return manifest


def open_lexical(folder: Path, corpus: str) -> LexicalIndex:
    """Read an index of words.

    Args:
        folder: of the index.
        corpus: fingerprint of the corpus that is to be searched.

    Raises:
        UserError: if there is none, or it is damaged, of another kind, version or corpus.
    """
    manifest = _manifest_of(folder, corpus, "lexical")
    modalities = _modalities(folder, manifest)
    starts = _array(folder, manifest, "starts.npy", np.int64)
    postings = Postings(
        _array(folder, manifest, "scores.npy", np.float32),
        _array(folder, manifest, "sources.npy", np.int32),
        starts,
    )
    words: list[str] = read_json(_verified(folder, manifest, "words.json"), list[str])
    if len(starts) != len(words) + 1 or int(starts[-1]) != len(postings.scores):
        raise _damaged(folder, "starts.npy")
    return LexicalIndex(words, postings, modalities, manifest.k1, manifest.b)


def open_vectors(folder: Path, corpus: str, embedder: str | None = None) -> DenseIndex | ApproximateIndex:
    """Open an index of vectors, exact or approximate; vectors are mapped, not read.

    Args:
        folder: of the index.
        corpus: fingerprint of the corpus that is to be searched.
        embedder: name of what embeds the queries; None to ask with vectors of any.

    Raises:
        UserError: if there is none, or it is damaged, of another kind, version, corpus or embedder.
    """
    manifest = _manifest_of(folder, corpus, "dense", "approximate")
    if embedder is not None and manifest.embedder != embedder:
        raise UserError(
            f"the vectors of this index are by '{manifest.embedder}', those of the queries by '{embedder}'.",
            where=str(folder),
            hint="Embed queries and sources with the same model, or build the index again.",
        )
    parts = {m: _array(folder, manifest, f"{m}.npy", np.float32, mapped=True) for m in MODALITIES}
    exact = DenseIndex(parts, _modalities(folder, manifest), manifest.embedder)
    if manifest.kind == "dense":
        return exact
    structures = {m: _structure(folder, manifest, m, len(parts[m])) for m in manifest.structures}
    return ApproximateIndex(exact, parse_method(manifest.method), structures)


def _manifest_of(folder: Path, corpus: str, *kinds: Kind) -> IndexManifest:
    manifest = read_manifest(folder, corpus)
    if manifest.kind not in kinds:
        raise UserError(
            f"this is an index of the kind '{manifest.kind}', not '{kinds[0]}'.", where=str(folder)
        )
    return manifest


def _modalities(folder: Path, manifest: IndexManifest) -> NDArray[np.int8]:
    return checked_modalities(_array(folder, manifest, "modalities.npy", np.int8), manifest.sources)


def _structure(folder: Path, manifest: IndexManifest, modality: Modality, rows: int) -> Any:
    path = _verified(folder, manifest, f"{modality}.faiss")
    structure = import_faiss().read_index(str(path))
    if structure.ntotal != rows:
        raise _damaged(folder, path.name)
    return structure


def _array(
    folder: Path, manifest: IndexManifest, name: str, dtype: Any, *, mapped: bool = False
) -> NDArray[Any]:
    """Read an array and see that it is what was written; of one that is mapped only the size is looked at."""
    path = folder / name if mapped else _verified(folder, manifest, name)
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (ValueError, OSError, EOFError):
        raise _damaged(folder, name) from None
    if array.dtype != dtype:
        raise _damaged(folder, name)
    return array


def _verified(folder: Path, manifest: IndexManifest, name: str) -> Path:
    path = folder / name
    if name not in manifest.files or _digest(path) != manifest.files[name].xxh3:
        raise _damaged(folder, name)
    return path


def _damaged(folder: Path, name: str) -> UserError:
    return UserError(f"'{name}' is not the file that was written.", where=str(folder), hint=_AGAIN)
