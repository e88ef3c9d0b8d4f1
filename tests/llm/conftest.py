"""What the tests of the model port share: a stand-in for the providers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proctor_rehearsal.standin import Standin


@pytest.fixture
def standin() -> Iterator[Standin]:
    """A running server that plays the providers; a test fails when one of its own rules failed."""
    with Standin() as server:
        yield server
        assert server.errors == []
