"""A PostgreSQL server with pgvector of our own, from the binaries that the package pgserver brings."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.stores import in_memory


def _binaries() -> Path | None:
    spec = find_spec("pgserver")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))) / "pginstall" / "bin"
    return folder if (folder / "initdb").exists() else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def pgvector_server() -> Iterator[str]:
    """URL of a server that knows pgvector, run by an unprivileged user in a folder of its own."""
    pytest.importorskip("psycopg", reason="needs the extra 'pgvector'")
    pytest.importorskip("pgvector", reason="needs the extra 'pgvector'")
    binaries = _binaries()
    if binaries is None:
        pytest.skip("needs PostgreSQL with pgvector: pip install pgserver")
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        try:
            nobody = pwd.getpwnam("nobody")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root and there is no user 'nobody'")
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    folder = Path(tempfile.mkdtemp(prefix="proctor-pgvector-", dir=in_memory()))
    if user:
        os.chown(folder, user["user"], user["group"])
    data, port = folder / "data", _free_port()
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}

    def call(*command: str) -> None:
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, timeout=180, **user
            )
        except PermissionError:
            pytest.skip("the user 'nobody' may not read the binaries of pgserver")
        if done.returncode:
            pytest.fail(f"{command[0]} failed: {done.stderr.decode(errors='replace')[-800:]}")

    try:
        call(str(binaries / "initdb"), "-D", str(data), "-U", "proctor", "-A", "trust", "-E", "UTF8", "-N")
        options = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off -c max_wal_size=96MB"
        call(
            str(binaries / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start"
        )
        try:
            yield f"postgresql://proctor@127.0.0.1:{port}/postgres"
        finally:
            call(str(binaries / "pg_ctl"), "-D", str(data), "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def pgvector_url(pgvector_server: str) -> str:
    """URL of an empty database of its own."""
    import psycopg

    name = f"t{os.urandom(6).hex()}"
    with psycopg.connect(pgvector_server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')  # type: ignore[call-overload,unused-ignore]
    return pgvector_server.rsplit("/", 1)[0] + f"/{name}"
