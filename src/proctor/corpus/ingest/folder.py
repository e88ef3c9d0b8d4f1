"""A folder of documents, or one document, to sources.

Documents are read in the order of their paths, then the image files that no document shows. Everything that gives no source
is told as ``Dropped``, with the reason and what to do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from proctor.corpus.ingest.assemble import assemble
from proctor.corpus.ingest.blocks import Picture, document_id, safe_name
from proctor.corpus.ingest.documents import KINDS, Kind, kind_of, require_packages
from proctor.corpus.ingest.images import ImageFile, find_sidecar
from proctor.corpus.ingest.isolation import Answer, Job, ReaderProcess, read_here
from proctor.corpus.ingest.reading import CannotReadError, IngestOptions
from proctor.corpus.source import Source, image_source
from proctor.errors import UserError
from proctor.records import Dropped

__all__ = ["ingest_file", "ingest_folder", "ingest_path"]


def ingest_path(
    path: Path, *, out_images: Path | None, options: IngestOptions | None = None
) -> Iterator[Source | Dropped]:
    """Yield the sources of a folder or of one document, whichever it is; see ``ingest_folder``.

    Raises:
        UserError: see ``ingest_folder``.
    """
    read = ingest_folder if path.is_dir() else ingest_file
    return read(path, out_images=out_images, options=options)


def ingest_folder(
    folder: Path, *, out_images: Path | None, options: IngestOptions | None = None
) -> Iterator[Source | Dropped]:
    """Yield the sources of all documents below a folder, and what was left out.

    Hidden files and folders are passed over; links that lead out of the folder, links to folders and special files are told
    and not followed.

    Args:
        folder: to go through.
        out_images: where images are copied to, named by their hash; ``Source.image`` is then relative to its parent. With None
            images out of documents are counted and left out, and image files keep their path in the folder.
        options: lengths and limits.

    Raises:
        UserError: if there is no such folder, or images cannot be written; ``MissingExtraError`` without the extra ``corpus``.
    """
    if not folder.is_dir():
        raise UserError(
            "there is no such folder.",
            where=str(folder),
            hint="check the path; for one document name the file",
        )
    ingestion = _Ingestion(folder, out_images, options or IngestOptions())
    with ingestion.process:
        yield from ingestion.everything()


def ingest_file(
    path: Path, *, out_images: Path | None, options: IngestOptions | None = None, folder: Path | None = None
) -> Iterator[Source | Dropped]:
    """Yield the sources of one document; see ``ingest_folder``.

    Args:
        path: of the document.
        out_images: where images are copied to.
        options: lengths and limits.
        folder: what the names of sources are relative to and images are taken from; the folder of the document when None.

    Raises:
        UserError: if there is no such file, or it is not in ``folder``; ``MissingExtraError`` without the extra ``corpus``.
    """
    folder = path.parent if folder is None else folder
    if not path.is_file():
        raise UserError("there is no such file.", where=str(path), hint="check the path and its spelling")
    if not path.is_relative_to(folder):
        raise UserError(
            f"it is not in the folder {folder}.", where=str(path), hint="name the folder it is in"
        )
    ingestion = _Ingestion(folder, out_images, options or IngestOptions())
    with ingestion.process:
        yield from ingestion.one(path)


class _Ingestion:
    def __init__(self, folder: Path, out_images: Path | None, options: IngestOptions) -> None:
        self._folder = folder
        self._out_images = out_images
        self._options = options
        self._shown: set[str] = set()  # image files that a document shows
        self.process = ReaderProcess(options)

    def everything(self) -> Iterator[Source | Dropped]:
        files: list[Path] = []
        for found in _files(self._folder, self._out_images):
            if isinstance(found, Path):
                files.append(found)
            else:
                yield found
        images = [path for path in files if kind_of(path) == "image"]
        sidecars = {sidecar for image in images if (sidecar := find_sidecar(image, self._folder))}
        for path in files:
            if kind_of(path) != "image" and path not in sidecars:
                yield from self.one(path)
        for path in images:
            if str(path.resolve()) not in self._shown:
                yield from self.one(path)

    def one(self, path: Path) -> Iterator[Source | Dropped]:
        doc = document_id(path, self._folder)
        try:
            kind = self._kind(path)
        except CannotReadError as problem:
            yield Dropped(doc, problem.reason, problem.detail)
            return
        require_packages(kind)
        answer = self._read(kind, path)
        if answer.error is not None:
            message, where, hint = answer.error
            raise UserError(message, where=where, hint=hint)
        if answer.failed is not None:
            yield Dropped(doc, *answer.failed)
        elif answer.image is not None:
            yield _image_file(doc, answer.image, self._options)
        else:
            yield from self._document(doc, answer)

    def _kind(self, path: Path) -> Kind:
        kind = kind_of(path)
        if kind is None:
            raise CannotReadError(
                "unknown-kind",
                f"no reader for it; known are {' '.join(sorted(KINDS))}. Convert it, or take it away.",
            )
        try:
            with path.open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
        except OSError as error:
            raise CannotReadError(
                "unreadable", f"{error.strerror or error}. Check its permissions."
            ) from None
        if size > self._options.max_bytes:
            raise CannotReadError(
                "file-too-large",
                f"{size} bytes, {self._options.max_bytes} are allowed. Split it, or raise max_bytes.",
            )
        if not size:
            raise CannotReadError("empty-document", "the file has 0 bytes. Restore a copy, or take it away.")
        return kind

    def _read(self, kind: Kind, path: Path) -> Answer:
        job = Job(
            kind,
            os.fsencode(path.absolute()),
            os.fsencode(self._folder.absolute()),
            None if self._out_images is None else os.fsencode(self._out_images.absolute()),
            self._options,
        )
        return self.process.read(job) if self._options.isolate else read_here(job)

    def _document(self, doc: str, answer: Answer) -> Iterator[Source | Dropped]:
        blocks = answer.blocks
        self._shown |= {b.original for b in blocks if isinstance(b, Picture) and b.original}
        empty = True
        for entry in assemble(doc, blocks, self._options):
            empty = False
            yield entry
        if empty:
            yield Dropped(
                doc, "empty-document", "no text, table or image was found in it. Take it away, or look at it."
            )


def _image_file(doc: str, image: ImageFile, options: IngestOptions) -> Source:
    picture = image.picture
    return image_source(
        f"image:{safe_name(doc)}",
        picture.caption,
        picture.file,
        pixels_sha256=picture.sha256,
        verbalisation=image.verbalisation,
        doc_id=doc,
        url=image.url,
        licence=image.licence or options.licence,
        meta={"caption_from": image.said_by, "width": str(picture.width), "height": str(picture.height)},
    )


# -- the folder ------------------------------------------------------------------------------------------------


def _files(folder: Path, without: Path | None) -> Iterator[Path | Dropped]:
    """Yield files in the order of their paths; what is not followed is told."""
    inside = folder.resolve()
    skipped = without.resolve() if without is not None else None
    stack = [folder]
    while stack:
        path = stack.pop()
        if path != folder:
            told = _not_followed(path, folder, inside)
            if told is not None:
                yield told
                continue
            if path.is_file():
                yield path
                continue
        if path.resolve() == skipped:
            continue
        try:
            names = sorted((x.name for x in path.iterdir() if not x.name.startswith(".")), reverse=True)
        except OSError as error:
            yield Dropped(
                document_id(path, folder), "unreadable", f"{error.strerror or error}. Check its permissions."
            )
            continue
        stack += (path / name for name in names)


def _not_followed(path: Path, folder: Path, inside: Path) -> Dropped | None:
    doc = document_id(path, folder)
    try:
        if path.is_symlink():
            target = path.resolve(strict=True)
            if not target.is_relative_to(inside):
                return Dropped(
                    doc, "link-outside", "a link that leads out of the folder. Copy the file into the folder."
                )
            if target.is_dir():
                return Dropped(doc, "link-to-folder", "a link to a folder is not followed. Copy the folder.")
        if not path.is_file() and not path.is_dir():
            return Dropped(doc, "not-a-file", "a pipe, device or socket. Take it away.")
    except (OSError, RuntimeError):
        return Dropped(doc, "broken-link", "a link that leads nowhere. Restore its file, or take it away.")
    return None
