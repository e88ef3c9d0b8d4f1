"""What the tests of verification share: small verdicts, and a real PostgreSQL where its binaries exist."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.generate.candidate import Answer, Candidate, Provenance
from proctor.verify.verdict import AnswerVerdict, Verdict

MakeCandidate = Callable[..., Candidate]
MakeVerdict = Callable[..., Verdict]


@pytest.fixture
def make_candidate() -> MakeCandidate:
    """``make_candidate("c1", "yes", "no")``: id, then the answers."""

    def make(
        name: str, *answers: str, type_: str = "missing", question: str = "Did I forget anything?"
    ) -> Candidate:
        return Candidate(
            id=name,
            example_id=f"example of {name}",
            recording_id="r1",
            type=type_,
            question=question,
            answers=tuple(Answer(text) for text in answers),
            provenance=Provenance(generator="hand", version="1"),
        )

    return make


@pytest.fixture
def make_verdict() -> MakeVerdict:
    """``make_verdict("c1", "ana", "+ +-?", "own")``: question, then one sign for each answer, then own answers."""
    signs: dict[str, Any] = {"+": "right", "-": "wrong", "?": "unsure"}

    def make(
        candidate: str, annotator: str, judged: str, *own: str, confidence: float | None = None, **more: Any
    ) -> Verdict:
        question, _, answers = judged.partition(" ")
        more.setdefault("annotator_kind", "human")
        more.setdefault("at", "2026-01-01T00:00:00Z")
        return Verdict(
            candidate_id=candidate,
            annotator=annotator,
            question=AnswerVerdict(signs[question], confidence),
            answers=tuple(AnswerVerdict(signs[sign], confidence) for sign in answers),
            own_answers=own,
            **more,
        )

    return make


# -- PostgreSQL ----------------------------------------------------------------------------------------------


def _binaries() -> Path | None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((f for f in folders if (f / "initdb").exists() and (f / "pg_ctl").exists()), None)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of a PostgreSQL server of our own, run by an unprivileged user in a folder of its own."""
    pytest.importorskip("psycopg", reason="needs the extra 'postgres'")
    binaries = _binaries()
    if binaries is None:
        pytest.skip("needs the PostgreSQL server binaries in /usr/lib/postgresql")
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        try:
            nobody = pwd.getpwnam("nobody")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root and there is no user 'nobody'")
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    folder = Path(tempfile.mkdtemp(prefix="proctor-pg-"))
    if user:
        os.chown(folder, user["user"], user["group"])
    data, port = folder / "data", _free_port()

    def call(*command: str) -> None:
        done = subprocess.run(
            command,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            capture_output=True,
            timeout=180,
            **user,
        )
        if done.returncode:
            pytest.fail(f"{command[0]} failed: {done.stderr.decode(errors='replace')[-800:]}")

    try:
        call(str(binaries / "initdb"), "-D", str(data), "-U", "proctor", "-A", "trust", "-E", "UTF8", "-N")
        options = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off"
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
def postgres_url(postgres_server: str) -> Iterator[str]:
    """URL of an empty database of its own."""
    import psycopg

    name = f"t{os.urandom(6).hex()}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')  # type: ignore[call-overload,unused-ignore]
    yield postgres_server.rsplit("/", 1)[0] + f"/{name}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')  # type: ignore[call-overload,unused-ignore]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be opened: a new SQLite file, then an empty PostgreSQL database."""
    if request.param == "sqlite":
        return str(tmp_path / "verification.sqlite")
    url: str = request.getfixturevalue("postgres_url")
    return url
