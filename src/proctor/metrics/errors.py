"""What a metric says to input that has no defined result."""

from __future__ import annotations

__all__ = ["MetricInputError"]


class MetricInputError(ValueError):
    """The input has no defined result; the message says what was seen and ``hint`` what to do about it.

    It is a ``ValueError``, so that callers need not know this class; the command line prints it without a
    traceback.

    Args:
        message: what was seen, with its place (row, item, class) where one is known.
        hint: what the caller can do next.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """Keep both parts when the error comes from another process."""
        return type(self), (self.message, self.hint)
