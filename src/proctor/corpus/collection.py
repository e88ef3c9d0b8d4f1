"""A corpus: its sources in their order, found by id, and the folder that holds them.

A corpus folder has ``sources.jsonl`` (one source a line), ``aliases.jsonl`` (ids of duplicates and which source stands for
them), ``dropped.jsonl`` (what was left out and why), ``manifest.json`` (format version, counts, fingerprint, licences, hashes
of the other files) and, where there are pixels, ``images/``. The manifest is written last, so that a folder of which only a
part was written is refused and not read by half.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.corpus.source import (
    MIN_TEXT_LENGTH,
    MODALITIES,
    Modality,
    Source,
    body_length,
    is_long_enough,
    render_source,
)
from proctor.errors import UserError
from proctor.records import (
    Dropped,
    file_sha256,
    is_there,
    iter_jsonl,
    read_json,
    write_json,
    write_jsonl,
)

if TYPE_CHECKING:
    from proctor.corpus.dedupe import NearDuplicates

__all__ = [
    "FORMAT",
    "Built",
    "Corpus",
    "Manifest",
    "NoImage",
    "build_corpus",
    "collapse",
    "find_image",
    "has_words",
    "is_address",
    "load_corpus",
    "read_manifest",
    "write_corpus",
]

FORMAT: Final = 1
"""Version of the folder's format."""

_SOURCES: Final = "sources.jsonl"
_ALIASES: Final = "aliases.jsonl"
_DROPPED: Final = "dropped.jsonl"
_MANIFEST: Final = "manifest.json"
_WORD = re.compile(r"\w")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|data:")
_CODES: Final[dict[str, int]] = {modality: code for code, modality in enumerate(MODALITIES)}
_SHOWN: Final = 5

Order = Literal["given", "id"]


# -- the corpus ------------------------------------------------------------------------------------------------


class Corpus:
    """Sources in a fixed order; positions in it are what vectors, indices and hits speak of.

    Args:
        sources: each with an id of its own and a content hash.
        root: folder that the paths of images are relative to; None where there are no pixels.
        aliases: id of a duplicate to the id of the source that stands for it.

    Attributes:
        sources: in their order.
        root: folder of the images.
        aliases: duplicates by id.
        modalities: 0 text, 1 table, 2 image for each source, int8.

    Raises:
        UserError: for an id that is empty or there twice, a missing content hash, an alias that leads nowhere, or an image whose
            path leads out of ``root``.
    """

    __slots__ = ("_fingerprint", "_places", "aliases", "modalities", "root", "sources")

    def __init__(
        self, sources: Iterable[Source], root: Path | None = None, aliases: Mapping[str, str] | None = None
    ) -> None:
        self.sources: tuple[Source, ...] = tuple(sources)
        self.root = root
        self.aliases: Mapping[str, str] = dict(aliases or {})
        self._places = {source.id: place for place, source in enumerate(self.sources)}
        self._fingerprint: str | None = None
        _check_sources(self.sources, self._places, root)
        _check_aliases(self.aliases, self._places)
        codes = (_CODES[source.modality] for source in self.sources)
        self.modalities: NDArray[np.int8] = np.fromiter(codes, np.int8, len(self.sources))
        self.modalities.setflags(write=False)

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self.sources)

    def __iter__(self) -> Iterator[Source]:
        """Yield the sources in their order."""
        return iter(self.sources)

    def __contains__(self, id: object) -> bool:
        """True for the id of a source, and for that of a duplicate for which one stands."""
        return id in self._places or id in self.aliases

    @property
    def fingerprint(self) -> str:
        """SHA-256 as hex digits over ids and content hashes in their order.

        Of images also over caption and verbalisation: the hash of their pixels does not know these, and indices are made of them.
        """
        if self._fingerprint is None:
            self._fingerprint = _fingerprint(self.sources)
        return self._fingerprint

    def get(self, id: str) -> Source | None:
        """Return the source of an id, or the one that stands for it; None where there is none."""
        place = self._place(id)
        return None if place is None else self.sources[place]

    def position(self, id: str) -> int:
        """Return where the source of an id (or the one that stands for it) is.

        Raises:
            UserError: if there is none.
        """
        place = self._place(id)
        if place is None:
            raise UserError(
                f"the corpus has no source '{id}'.",
                where=str(self.root) if self.root else None,
                hint="was it dropped (dropped.jsonl), or is this another corpus?",
            )
        return place

    def positions(self, modality: Modality) -> NDArray[np.int64]:
        """Return where the sources of a modality are, ascending."""
        return np.flatnonzero(self.modalities == _CODES[modality]).astype(np.int64, copy=False)

    def counts(self) -> dict[Modality, int]:
        """Return how many sources of each modality there are."""
        numbers = np.bincount(self.modalities, minlength=len(MODALITIES))
        return {modality: int(numbers[code]) for code, modality in enumerate(MODALITIES)}

    def texts(self) -> list[str]:
        """Return the rendering of every source, in their order."""
        return [render_source(source) for source in self.sources]

    def pixels(self, source: Source) -> Path | None:
        """Return the file of an image's pixels, if it is there and within the corpus folder; else None."""
        found = self._pixels(source)
        return found if isinstance(found, Path) else None

    def why_no_pixels(self, source: Source) -> str:
        """Return in words why ``pixels`` returns None; empty where it returns a path."""
        found = self._pixels(source)
        return "" if isinstance(found, Path) else found.detail

    def _place(self, id: str) -> int | None:
        place = self._places.get(id)
        return self._places.get(self.aliases.get(id, "")) if place is None else place

    def _pixels(self, source: Source) -> Path | NoImage:
        if source.modality != "image":
            return NoImage("none", f"it is a {source.modality}")
        if self.root is None:
            return NoImage("missing", "the corpus has no folder")
        return find_image(self.root, source.image)


class NoImage(NamedTuple):
    """Why there is no file of pixels that may be read: a reason that can be counted, and what was seen."""

    reason: Literal["none", "address", "outside", "missing", "unusable"]
    detail: str


def find_image(root: Path, image: str) -> Path | NoImage:
    """Return the file that an image's path names within a folder; links are followed within it only."""
    if not image:
        return NoImage("none", "no file is named")
    if is_address(image):
        return NoImage("address", "its pixels are elsewhere (an address); nothing is fetched")
    if _leads_out(image):
        return NoImage("outside", f"the path leads out of the folder: {image[:100]!r}")
    path = root / image
    try:
        real, home = path.resolve(), root.resolve()
        if not real.is_relative_to(home):
            return NoImage("outside", f"a link leads out of the folder: {image[:100]!r}")
        if not real.is_file():
            return NoImage("missing", f"there is no file {image[:100]!r}")
    except (OSError, ValueError, RuntimeError) as error:
        return NoImage("unusable", f"the path cannot be used: {error}")
    return path


def is_address(image: str) -> bool:
    """True for ``https://…`` and its like: pixels that are not in the folder."""
    return _ADDRESS.match(image) is not None


def has_words(source: Source) -> bool:
    """False where the rendering has not one letter or digit, so that nothing can be found by it."""
    return _WORD.search(render_source(source)) is not None


def _leads_out(image: str) -> bool:
    """True for paths that are absolute or climb, on whatever system they were written."""
    if (
        image[:1] not in "/\\" and ".." not in image and ":" not in image
    ):  # nearly all, and paths are slow to make
        return False
    return any(
        path.is_absolute() or bool(path.drive) or bool(path.root) or ".." in path.parts
        for path in (PurePosixPath(image), PureWindowsPath(image))
    )


def _fingerprint(sources: Iterable[Source]) -> str:
    digest = hashlib.sha256()
    encode = msgspec.json.Encoder().encode
    for s in sources:
        known = (s.id, s.content_hash)
        try:
            digest.update(encode((*known, s.title, s.verbalisation) if s.modality == "image" else known))
        except UnicodeEncodeError:
            raise UserError(
                f"the source {s.id[:80]!r} holds half a character (a lone surrogate).",
                hint="its file was read with a wrong encoding",
            ) from None
    return digest.hexdigest()


def _check_sources(sources: Sequence[Source], places: Mapping[str, int], root: Path | None) -> None:
    where = str(root) if root else "corpus"
    if len(places) != len(sources):
        twice = [id for id, n in Counter(source.id for source in sources).items() if n > 1]
        raise UserError(
            f"{len(twice)} ids are of more than one source: {_some(twice)}.",
            where=where,
            hint="give every source an id of its own",
        )
    if "" in places:
        raise UserError(f"source {places[''] + 1} has no id.", where=where, hint="give it one")
    for source in sources:
        if not source.content_hash:
            raise UserError(
                f"the source '{source.id}' has no content hash.",
                where=where,
                hint="make sources with text_source, table_source or image_source",
            )
        if source.image and root is not None and not is_address(source.image) and _leads_out(source.image):
            raise UserError(
                f"the image of '{source.id}' has a path that leads out of the folder: {source.image[:200]!r}.",
                where=where,
                hint="put the images into the corpus folder and name them relative to it",
            )


def _check_aliases(aliases: Mapping[str, str], places: Mapping[str, int]) -> None:
    if lost := [id for id, kept in aliases.items() if kept not in places]:
        raise UserError(
            f"{len(lost)} aliases lead to sources that are not there: {_some(lost)}.",
            hint="an alias names a source that was kept",
        )
    if both := [id for id in aliases if id in places]:
        raise UserError(
            f"{len(both)} ids are sources and aliases at once: {_some(both)}.",
            hint="a source that was kept is no alias",
        )


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    return ", ".join(f"'{id[:80]}'" for id in ids[:_SHOWN]) + more


# -- building --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Built:
    """A corpus and what was left out of it, in order (duplicates are the corpus's aliases)."""

    corpus: Corpus
    dropped: tuple[Dropped, ...]


def build_corpus(
    found: Iterable[Source | Dropped],
    *,
    root: Path | None = None,
    minimum: int = MIN_TEXT_LENGTH,
    near: NearDuplicates | None = None,
    order: Order = "given",
    uncaptioned: bool = False,
    exempt: Callable[[Source], bool] | None = None,
) -> Built:
    """Make a corpus of what readers found (SMMQG).

    Texts that are too short and sources without any word are listed; of equal contents the first stays and the others become
    its aliases.

    Args:
        found: sources, and what readers dropped themselves.
        root: folder that the paths of images are relative to.
        minimum: characters of a text's body; 0 for no rule.
        near: how near duplicates are found; None keeps them.
        order: as given, or sorted by id.
        uncaptioned: keep images that nobody has described in words, since a model is going to.
        exempt: texts to which the rule on length does not apply (``proctor.corpus.procedural.is_procedural``).

    Raises:
        UserError: if one id stands for different contents, or a source could not be in a corpus (see ``Corpus``).
    """
    dropped: list[Dropped] = []
    sources: dict[str, Source] = {}
    for entry in found:
        if isinstance(entry, Dropped):
            dropped.append(entry)
        elif (
            reason := _why_dropped(entry, 0 if exempt and exempt(entry) else minimum, uncaptioned)
        ) is not None:
            dropped.append(reason)
        elif entry.id not in sources:
            sources[entry.id] = entry
        elif entry == sources[entry.id]:
            dropped.append(Dropped(entry.id, "repeated", "the same source was found before"))
        else:
            raise UserError(
                f"the id '{entry.id}' is the id of two different sources.",
                where=f"{entry.doc_id or 'corpus'} {entry.locator}".strip(),
                hint="give every source an id of its own",
            )
    kept = list(sources.values()) if order == "given" else sorted(sources.values(), key=lambda s: s.id)
    from proctor.corpus.dedupe import exact_duplicates, near_duplicates

    aliases = exact_duplicates(kept)
    if near is not None:
        left = [source for source in kept if source.id not in aliases]
        aliases = _joined(aliases, near_duplicates(left, near))
    corpus = Corpus((source for source in kept if source.id not in aliases), root, aliases)
    return Built(corpus, tuple(dropped))


def collapse(corpus: Corpus, near: Mapping[str, str]) -> Corpus:
    """Return the corpus without sources for which others stand (see ``proctor.corpus.dedupe``); their positions change."""
    left = (source for source in corpus if source.id not in near)
    return Corpus(left, corpus.root, _joined(corpus.aliases, near))


def _why_dropped(source: Source, minimum: int, uncaptioned: bool) -> Dropped | None:
    if not is_long_enough(source, minimum):
        return Dropped(source.id, "too_short", f"{body_length(source)} of {minimum} characters")
    if not has_words(source) and not (uncaptioned and source.modality == "image" and source.image):
        return Dropped(source.id, "empty", f"the {source.modality} has no word")
    return None


def _joined(exact: Mapping[str, str], near: Mapping[str, str]) -> dict[str, str]:
    """Lead aliases of what became an alias itself on to what stands for both."""
    return {id: near.get(kept, kept) for id, kept in exact.items()} | dict(near)


# -- the folder ------------------------------------------------------------------------------------------------


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a corpus folder says of itself.

    Attributes:
        format: version of the folder's format.
        sources: how many there are.
        modalities: how many of each.
        aliases: how many duplicates.
        fingerprint: of the corpus.
        licences: how many sources of each licence; ``unknown`` where none is known.
        dropped: how many of each reason were left out.
        files: SHA-256 of the folder's files.
        about: whatever the maker wants to say, plain texts.
    """

    format: int
    sources: int
    modalities: dict[str, int]
    aliases: int
    fingerprint: str
    licences: dict[str, int]
    dropped: dict[str, int]
    files: dict[str, str]
    about: dict[str, str] = {}


class _Alias(msgspec.Struct, frozen=True):
    id: str
    kept: str


def write_corpus(
    folder: Path,
    sources: Corpus | Iterable[Source],
    aliases: Mapping[str, str] | None = None,
    *,
    dropped: Sequence[Dropped] = (),
    about: Mapping[str, str] | None = None,
) -> Corpus:
    """Write a corpus folder and return the corpus that ``load_corpus`` reads from it.

    Pixels are not copied: the paths of images are relative to ``folder``. A corpus that is there already is replaced.

    Args:
        folder: made where it is not there.
        sources: a corpus (with its aliases), or sources.
        aliases: of the sources; those of the corpus where None.
        dropped: what was left out.
        about: for the manifest, plain texts.

    Raises:
        UserError: if the sources could be in no corpus (see ``Corpus``), one has no word in its rendering, or the folder cannot
            be written.
    """
    if aliases is None:
        aliases = sources.aliases if isinstance(sources, Corpus) else {}
    corpus = Corpus(sources, folder, aliases)
    if wordless := [source.id for source in corpus if not has_words(source)]:
        raise UserError(
            f"{len(wordless)} sources have not one word in their text: {_some(wordless)}.",
            where=str(folder),
            hint="describe the images, or build the corpus with build_corpus, which lists such sources",
        )
    # A manifest of before would vouch for files that are about to change.
    _remove(folder / _MANIFEST)
    write_jsonl(folder / _SOURCES, corpus)
    write_jsonl(folder / _ALIASES, (_Alias(id, kept) for id, kept in corpus.aliases.items()))
    write_jsonl(folder / _DROPPED, dropped)
    manifest = Manifest(
        format=FORMAT,
        sources=len(corpus),
        modalities={str(modality): count for modality, count in corpus.counts().items()},
        aliases=len(corpus.aliases),
        fingerprint=corpus.fingerprint,
        licences=dict(sorted(Counter(source.licence or "unknown" for source in corpus).items())),
        dropped=dict(sorted(Counter(entry.reason for entry in dropped).items())),
        files={name: file_sha256(folder / name) for name in (_SOURCES, _ALIASES, _DROPPED)},
        about=dict(about or {}),
    )
    write_json(folder / _MANIFEST, manifest)
    return corpus


def load_corpus(folder: Path) -> Corpus:
    """Read a corpus folder.

    Raises:
        UserError: if it is none, its format is of another version, or its files are not those that were written.
    """
    manifest = read_manifest(folder)
    for name in (_SOURCES, _ALIASES):
        _check_file(folder / name, manifest.files.get(name, ""))
    sources: Iterator[Source] = iter_jsonl(folder / _SOURCES, Source)
    pairs: Iterator[_Alias] = iter_jsonl(folder / _ALIASES, _Alias)
    corpus = Corpus(sources, folder, {pair.id: pair.kept for pair in pairs})
    if corpus.fingerprint != manifest.fingerprint:
        raise UserError(
            f"the sources have the fingerprint {corpus.fingerprint[:16]}…, the manifest says {manifest.fingerprint[:16]}….",
            where=str(folder / _MANIFEST),
            hint="build the corpus again",
        )
    return corpus


def read_manifest(folder: Path) -> Manifest:
    """Read what a corpus folder says of itself.

    Raises:
        UserError: if there is no manifest, or its format is older or newer than this Proctor's.
    """
    path = folder / _MANIFEST
    if not is_there(path):
        raise UserError(
            f"this is no corpus folder: it has no {_MANIFEST}.",
            where=str(folder),
            hint="name a folder that a corpus was written to; if writing it was interrupted, build it again",
        )
    head: _Head = read_json(path, _Head)
    if head.format != FORMAT:
        age = "newer" if head.format > FORMAT else "older"
        raise UserError(
            f"the corpus has format {head.format}, which is {age} than format {FORMAT} of this Proctor.",
            where=str(path),
            hint="update Proctor" if head.format > FORMAT else "build the corpus again",
        )
    return read_json(path, Manifest)


class _Head(msgspec.Struct):
    format: int


def _check_file(path: Path, expected: str) -> None:
    seen = file_sha256(path)
    if seen != expected:
        raise UserError(
            f"the file is not the one that was written with the corpus (SHA-256 {seen[:16]}…, not {expected[:16] or 'known'}…):"
            " it was cut off or changed.",
            where=str(path),
            hint="build the corpus again; to change sources, build it from changed sources",
        )


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot be replaced: {error.strerror or error}.", where=str(path), hint="check its permissions"
        ) from None
