"""What every reader gets (settings and limits) and may raise."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.corpus.source import MIN_TEXT_LENGTH
from proctor.errors import MissingExtraError, UserError

__all__ = ["CannotReadError", "IngestOptions", "Reading", "package"]

_EXTRA: Final = "corpus"


class CannotReadError(Exception):
    """A document, or a part of it, that is left out: reason code, and what was seen and what to do."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass
class Reading:
    """One document that is being read.

    Attributes:
        path: of the document.
        folder: images beside a document are taken from below this folder only; paths are relative to it.
        out_images: where images are copied to; None where they are not kept.
        options: limits.
    """

    path: Path
    folder: Path
    out_images: Path | None
    options: IngestOptions
    _began: float = field(default_factory=time.monotonic)

    def check_time(self) -> None:
        """Stop a reading that takes too long.

        Raises:
            CannotReadError: after ``max_seconds``.
        """
        if time.monotonic() - self._began > self.options.max_seconds:
            raise too_slow(self.options)


def too_slow(options: IngestOptions) -> CannotReadError:
    """Return the one way to say that time is over."""
    return CannotReadError(
        "too-slow", f"not read after {options.max_seconds:g} s. Split the document, or raise max_seconds."
    )


def package(name: str) -> Any:
    """Import a package of the extra ``corpus``.

    Raises:
        MissingExtraError: if it is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(name.partition(".")[0], _EXTRA, "reading documents") from None


# -- settings of ingestion: how long passages and tables are, and what an untrusted file may cost ------------------

_HINT = "give a number above 0"


class IngestOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one ingestion; all limits are above 0.

    Attributes:
        licence: SPDX name that every source gets, unless the sidecar of an image says another; None where it is not known.
        passage_length: characters that a passage has at most, about.
        min_passage: a passage shorter than this takes in its neighbour of the same section; where a section has no more text
            it stays as it is, for the length rule to judge.
        table_rows: rows of a table that become one source; longer tables are split, each part with the header.
        table_length: characters of all cells of one part, about.
        max_cell: characters of one cell; a row with a longer one is told and left out.
        max_bytes: of one file.
        max_pages: of one PDF.
        max_pixels: of one image, width times height.
        max_cells: of one table after spans were expanded.
        max_images: of one document.
        min_image_side: pixels; smaller pictures inside documents (bullets, rules, icons) are counted and left out.
        max_seconds: for one document.
        max_memory: bytes of address space of the process that reads documents; only on POSIX.
        isolate: read documents in a process of its own, so that a hostile one can neither hang nor crash this one. Without it
            ``max_seconds`` is looked at between pages only and ``max_memory`` not at all.
    """

    licence: str | None = None
    passage_length: int = 1_000
    min_passage: int = MIN_TEXT_LENGTH
    table_rows: int = 50
    table_length: int = 20_000
    max_cell: int = 10_000
    max_bytes: int = 256 * 2**20
    max_pages: int = 2_000
    max_pixels: int = 64_000_000
    max_cells: int = 1_000_000
    max_images: int = 1_000
    min_image_side: int = 32
    max_seconds: float = 600.0
    max_memory: int = 6 * 2**30
    isolate: bool = True

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, int | float) and not isinstance(value, bool) and not value > 0:
                raise UserError(f"{name} is {value}.", where="options of ingestion", hint=_HINT)
        if self.min_passage > self.passage_length:
            raise UserError(
                f"min_passage {self.min_passage} is above passage_length {self.passage_length}.",
                where="options of ingestion",
                hint="make passages longer or the minimum smaller",
            )
