"""Stores of verdicts with nothing in them, made once in a process and copied: making thirty tables takes longer than most tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from tests.patience import wait_until

from proctor.verify.desk.desk import Desk

__all__ = ["copy_database", "copy_store", "in_memory", "new_database"]


def in_memory() -> str | None:
    """Where a server keeps files that nobody wants to keep: making a database on a disk takes three times as long."""
    with suppress(OSError):
        if shutil.disk_usage("/dev/shm").free > 2 << 30:
            return "/dev/shm"
    return None


@cache
def _empty_store() -> bytes:
    with tempfile.TemporaryDirectory(prefix="proctor-empty-") as folder:
        path = Path(folder) / "store.sqlite"
        Desk.open(path, secret=b"s" * 32).close()
        return path.read_bytes()


def copy_store(path: Path) -> Path:
    """Put an empty store into a new SQLite file."""
    path.write_bytes(_empty_store())
    return path


def _execute(server: str, statement: str) -> int:
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        return connection.execute(statement).rowcount  # type: ignore[call-overload,unused-ignore,no-any-return]


@contextmanager
def new_database(server: str, template: str = "template1") -> Iterator[str]:
    """Yield the URL of a PostgreSQL database of its own; it is removed afterwards."""
    name = f"t{os.urandom(6).hex()}"
    _execute(server, f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    yield f"{server.rsplit('/', 1)[0]}/{name}"
    _execute(server, f'DROP DATABASE "{name}" WITH (FORCE)')


@cache
def _empty_database(server: str) -> str:
    name = f"t{os.urandom(6).hex()}"
    _execute(server, f'CREATE DATABASE "{name}"')
    Desk.open(f"{server.rsplit('/', 1)[0]}/{name}", secret=b"s" * 32).close()
    connected = f"SELECT FROM pg_stat_activity WHERE datname = '{name}'"
    wait_until(lambda: _execute(server, connected) == 0, what="the end of its last connection")
    return name


@contextmanager
def copy_database(server: str) -> Iterator[str]:
    """Yield the URL of a PostgreSQL database with an empty store; it is removed afterwards."""
    with new_database(server, _empty_database(server)) as url:
        yield url
