"""Which keys came before, exactly and at flat memory: a million ids lie in a file that nobody has to clean up."""

from __future__ import annotations

import hashlib
import sqlite3
from types import TracebackType
from typing import Final

from proctor.errors import UserError

__all__ = ["FirstSeen"]

_IN_MEMORY: Final = 50_000
"""Keys that are kept in memory before they go to a private temporary file (SQLite)."""

_FILTER_BITS: Final = 27
_MASK: Final = (1 << _FILTER_BITS) - 1
"""Keys in the file are also marked in 2^27 bits (16 MB): what is not marked there needs no look into the file."""


class FirstSeen:
    """Remembers for every key who brought it first.

    Keys are compared by 128 bits of BLAKE2b.

    Args:
        in_memory: keys that are kept in memory before they go to the file.
    """

    def __init__(self, in_memory: int = _IN_MEMORY) -> None:
        self._recent: dict[bytes, str] = {}
        self._limit = in_memory
        self._filter = bytearray()
        self._file: sqlite3.Connection | None = None

    def add(self, key: str, owner: str = "") -> str | None:
        """Remember a key; return None when it is new, else who brought it first.

        Raises:
            UserError: if the temporary file cannot be written.
        """
        digest = _digest(key)
        first = self._first(digest)
        if first is None:
            self._recent[digest] = owner
            if len(self._recent) >= self._limit:
                self._spill()
        return first

    def get(self, key: str) -> str | None:
        """Return who brought the key first; None where nobody did."""
        return self._first(_digest(key))

    def __contains__(self, key: str) -> bool:
        """True when the key was added."""
        return self.get(key) is not None

    def _first(self, digest: bytes) -> str | None:
        first = self._recent.get(digest)
        if first is not None or self._file is None:
            return first
        mark = int.from_bytes(digest[:4], "little") & _MASK
        if not self._filter[mark >> 3] & (1 << (mark & 7)):
            return None
        try:
            found = self._file.execute("SELECT owner FROM seen WHERE key = ?", (digest,)).fetchone()
        except sqlite3.Error as error:
            raise _unusable(error) from None
        return None if found is None else str(found[0])

    def _spill(self) -> None:
        try:
            if self._file is None:
                self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
                self._file.execute("PRAGMA journal_mode = OFF")
                self._file.execute("PRAGMA cache_size = -16384")
                self._file.execute("CREATE TABLE seen (key BLOB PRIMARY KEY, owner TEXT) WITHOUT ROWID")
                self._file.execute("BEGIN")
                self._filter = bytearray(1 << (_FILTER_BITS - 3))
            self._file.executemany("INSERT INTO seen VALUES (?, ?)", sorted(self._recent.items()))
        except sqlite3.Error as error:
            raise _unusable(error) from None
        for digest in self._recent:
            mark = int.from_bytes(digest[:4], "little") & _MASK
            self._filter[mark >> 3] |= 1 << (mark & 7)
        self._recent.clear()

    def close(self) -> None:
        """Give memory and file back."""
        self._recent.clear()
        self._filter = bytearray()
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> FirstSeen:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


def _digest(key: str) -> bytes:
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _unusable(error: sqlite3.Error) -> UserError:
    return UserError(
        f"the temporary file of ids cannot be used: {error}.",
        hint="make room in the folder for temporary files, or set TMPDIR to another one",
    )
