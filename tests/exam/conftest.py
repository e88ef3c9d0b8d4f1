"""Fixtures that this room shares with ``evaluate``."""

from tests.evaluate.conftest import lake_questions, lakes  # noqa: F401
