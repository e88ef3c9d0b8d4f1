"""The page of a moment that a question is written about: its card and its fields, and nothing else."""

__all__ = ["view"]


def view(*_: object) -> None:
    """Return nothing."""
