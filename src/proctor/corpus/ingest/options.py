"""Settings of ingestion: how long passages and tables are, and what an untrusted file may cost."""

from __future__ import annotations

import msgspec

from proctor.corpus.source import MIN_TEXT_LENGTH
from proctor.errors import UserError

__all__ = ["IngestOptions"]

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
