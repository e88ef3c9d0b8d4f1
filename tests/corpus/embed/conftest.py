"""What the tests of embedders share: a server that plays ``/v1/embeddings``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proctor_rehearsal.standin import Standin


@pytest.fixture
def standin() -> Iterator[Standin]:
    """A running server; a test fails when one of its own rules failed."""
    with Standin() as server:
        yield server
        assert server.errors == []
