"""Shared by the tests of ingestion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.corpus.ingest.folder import ingest_path
from proctor.corpus.ingest.reading import IngestOptions
from proctor.corpus.source import Source
from proctor.records import Dropped

Ingest = Callable[..., list[Source | Dropped]]


@pytest.fixture
def ingest(tmp_path: Path) -> Ingest:
    """Read a path in this process (quick), keeping images in ``tmp_path/kept/images``; options by name."""

    def read(path: Path, *, keep: bool = True, **options: object) -> list[Source | Dropped]:
        settings = IngestOptions(**{"isolate": False, **options})  # type: ignore[arg-type]
        kept = tmp_path / "kept" / "images" if keep else None
        return list(ingest_path(path, out_images=kept, options=settings))

    return read
