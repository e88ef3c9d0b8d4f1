"""``replay/FILE``: answers from calls that were made before, without a key, a network or a price.

FILE is an exported file (``proctor calls export``) or a store (SQLite; a name with a database's password in it would end up
in records). A replayed request is found by everything but its model: the
same messages, media, parameters and draw. When FILE holds more than one model, name one: ``replay/FILE#openai/gpt-4o``.
What is not there is a failure of the kind ``replay_miss``, never another model's or another question's answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from proctor.errors import UserError
from proctor.llm.outcome import Failure, Outcome
from proctor.llm.store import CallStore, decode_outcome
from proctor.records import canonical_json

if TYPE_CHECKING:
    from proctor.llm.media import MediaStore
    from proctor.llm.message import Request
    from proctor.llm.model import ModelName

__all__ = ["Replay", "provider"]

_SQLITE: bytes = b"SQLite format 3\x00"


class _Source(Protocol):
    """Where calls are found by their keys."""

    def models(self) -> list[str]: ...

    def outcome(self, key: str) -> str | None: ...

    def close(self) -> None: ...


class _File:
    """An exported file, its outcomes in memory."""

    def __init__(self, path: Path) -> None:
        from proctor.llm.export import iter_exported

        self._outcomes: dict[str, str] = {}
        models: set[str] = set()
        for call in iter_exported(path):
            if call.outcome is not None:
                self._outcomes[call.key] = canonical_json(call.outcome).decode()
                models.add(call.model)
        self._models = sorted(models)

    def models(self) -> list[str]:
        return self._models

    def outcome(self, key: str) -> str | None:
        return self._outcomes.get(key)

    def close(self) -> None:
        """Keep what was read for the next model of this file."""


class _Store:
    """A store, read as it is asked."""

    def __init__(self, target: str) -> None:
        self._store = CallStore.open(target, create=False)
        self._models = self._store.models()

    def models(self) -> list[str]:
        return self._models

    def outcome(self, key: str) -> str | None:
        call = self._store.get(key)
        return None if call is None else call.outcome

    def close(self) -> None:
        """Give connections back; the next question opens new ones."""
        self._store.close()


class Replay:
    """A model whose replies were given before.

    Args:
        name: full name, ``replay/FILE`` or ``replay/FILE#MODEL``.
        source: where the calls are.
        model: whose calls; the only one of the source when empty.
    """

    endpoint = ""

    def __init__(self, name: str, source: _Source, model: str = "") -> None:
        self.name = name
        self._source = source
        known = source.models()
        if model and model not in known:
            raise UserError(
                f"it has no call of {model!r}; its models are {', '.join(known) or 'none'}.", where=name
            )
        if not model and len(known) > 1:
            raise UserError(
                f"it has calls of {len(known)} models.",
                where=name,
                hint=f"name one, such as {name}#{known[0]}; there are {', '.join(known)}",
            )
        self._model = model or (known[0] if known else "")

    async def attempt(self, request: Request, media: MediaStore, *, timeout: float) -> Outcome:  # noqa: ARG002
        """Return what became of the request when it was made."""
        original = msgspec.structs.replace(request, model=self._model)
        key = hashlib.sha256(canonical_json(original)).hexdigest()
        found = await asyncio.to_thread(self._source.outcome, key)
        if found is None:
            return Failure(
                kind="replay_miss", message=f"no such call of {self._model or 'any model'} was recorded"
            )
        return decode_outcome(found, f"{self.name}: call {key[:12]}")

    async def close(self) -> None:
        """Give back what is open."""
        self._source.close()


def provider(name: ModelName) -> Replay:
    """Return the model ``replay/FILE``.

    Raises:
        UserError: if the file is missing or broken, or holds several models and none is named.
    """
    text = name.model + (f"@{name.base_url}" if name.base_url else "")
    place, _, model = text.partition("#")
    if "://" in place:
        raise UserError(
            "a database cannot be replayed by its URL.",
            hint="export it: proctor calls export URL FILE.jsonl.gz",
        )
    with _opening:
        return Replay(str(name), _source(place, _stamp(place)), model)


_opening = threading.Lock()


def _stamp(place: str) -> tuple[int, int]:
    """Return what changes when a file does, so that a new one is read again."""
    try:
        status = Path(place).stat()
    except (OSError, ValueError):
        return 0, 0
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=4)
def _source(place: str, _stamp: tuple[int, int]) -> _Source:
    return _Store(place) if _is_store(Path(place)) else _File(Path(place))


def _is_store(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(len(_SQLITE)) == _SQLITE
    except (OSError, ValueError):
        return False
