"""A PostgreSQL server of our own for a benchmark, with its default settings: every commit is flushed to disk."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from process import free_port


class NoPostgresError(Exception):
    """There is no PostgreSQL to be started here; its text is why."""


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """Start a server in a folder of its own, as an unprivileged user; yield the URL of an empty database.

    Raises:
        NoPostgresError: if the binaries are missing, or it does not start.
    """
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    binaries = next((f for f in folders if (f / "initdb").exists() and (f / "pg_ctl").exists()), None)
    if binaries is None:
        raise NoPostgresError("there are no PostgreSQL server binaries in /usr/lib/postgresql")
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    folder = Path(tempfile.mkdtemp(prefix="proctor-bench-pg-"))
    if user:
        os.chown(folder, user["user"], user["group"])
    data, port = str(folder / "data"), free_port()

    def call(*command: str) -> None:
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, timeout=180, check=False, **user
        )
        if done.returncode:
            raise NoPostgresError(f"{Path(command[0]).name}: {done.stderr.decode(errors='replace')[-500:]}")

    control = str(binaries / "pg_ctl")
    try:
        call(str(binaries / "initdb"), "-D", data, "-U", "proctor", "-A", "trust", "-E", "UTF8")
        options = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder}"
        call(control, "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql://proctor@127.0.0.1:{port}/postgres"
        finally:
            call(control, "-D", data, "-w", "-m", "fast", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
