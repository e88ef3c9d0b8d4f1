"""Names of ids that occur again and again in annotations: the second meaning of one id is told."""

from __future__ import annotations

from proctor.datasets.annotation_rows import shown
from proctor.datasets.dataset import Log

__all__ = ["FirstMeaning"]


class FirstMeaning:
    """Remembers what each id meant first, and tells once for each other meaning.

    Args:
        log: is told.
        rule: that findings carry.
    """

    def __init__(self, log: Log, rule: str) -> None:
        self._log = log
        self._rule = rule
        self._first: dict[str, str] = {}
        self._told: set[tuple[str, str]] = set()

    def tell(self, where: str, id_: str, name: str) -> None:
        """Compare a name with the first one of its id."""
        first = self._first.setdefault(id_, name)
        if name != first and (id_, name) not in self._told:
            self._told.add((id_, name))
            self._log.find(self._rule, where, f"{shown(id_)} is {shown(name)}, before it was {shown(first)}")
