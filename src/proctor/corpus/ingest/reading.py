"""What every reader gets and may raise."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from proctor.corpus.ingest.options import IngestOptions
from proctor.errors import MissingExtraError

__all__ = ["CannotReadError", "Reading", "package"]

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
