"""The questions of a workspace of one kind, found by what prompts show of them; the file is read again when it changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from proctor.errors import UserError
from proctor.exam.question import Item
from proctor.records import read_jsonl

__all__ = ["ItemsKnown", "Key"]

Key = tuple[str, ...]


class ItemsKnown:
    """Questions by keys.

    Args:
        root: the workspace.
        kind: of the questions.
        keys: of a question; of several with the same key the first one is found.
    """

    def __init__(self, root: Path, kind: str, keys: Callable[[Item], Iterable[Key]]) -> None:
        self._path = root / "items.jsonl"
        self._kind, self._keys = kind, keys
        self._lock = threading.Lock()
        self._stamp: tuple[int, int] | None = None
        self._found: Mapping[Key, Item] = {}

    def find(self, key: Key) -> Item | None:
        """Return the question with this key; None where there is none."""
        with self._lock:
            try:
                status = self._path.stat()
                stamp = status.st_size, status.st_mtime_ns
                if stamp != self._stamp:
                    read: list[Item] = read_jsonl(self._path, Item)
                    mine = [item for item in read if item.question.kind == self._kind]
                    found: dict[Key, Item] = {}
                    for item in mine:
                        for each in self._keys(item):
                            found.setdefault(each, item)
                    self._stamp, self._found = stamp, found
            except (OSError, UserError):  # whoever uses the file is told
                return None
            return self._found.get(key)
