"""What a metric says to input that has no defined result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

__all__ = ["MetricInputError", "require_choice", "require_options", "require_texts"]


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


def require_choice(value: str, allowed: Sequence[str], name: str) -> None:
    """Make sure that an option has one of its values.

    Raises:
        MetricInputError: naming the values.
    """
    if value not in allowed:
        raise MetricInputError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def require_options(given: Iterable[str], known: Iterable[str]) -> None:
    """Make sure that every option is known: a misspelt one would be without effect.

    Raises:
        MetricInputError: naming the first unknown option and the one that was probably meant.
    """
    names = sorted(known)
    for name in sorted(set(given) - set(names)):
        near = get_close_matches(name, names, 1)
        raise MetricInputError(
            f"there is no option {name!r}",
            f"did you mean {near[0]!r}?" if near else f"the options are {', '.join(names)}",
        )


def require_texts(texts: object, what: str = "texts") -> list[str]:
    """Return several texts as a list.

    Raises:
        MetricInputError: if it is one text, of which every letter would count, or an entry is no text.
    """
    if isinstance(texts, str | bytes):
        raise MetricInputError(
            f"{what}: a list was expected, got the text {texts[:60]!r}", "put it into a list"
        )
    if not isinstance(texts, Iterable):
        raise MetricInputError(f"{what}: a list was expected, got {texts!r:.60}")
    found = list(texts)
    for row, text in enumerate(found):
        if not isinstance(text, str):
            raise MetricInputError(
                f"{what}: entry {row} is no text but {text!r:.60}", "leave it out, or write it out"
            )
    return found
