"""What several rooms' tests share: the real annotations, where they exist, and a few small procedures."""

from __future__ import annotations

import gc
import json
import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.stores import in_memory, new_database
from tests.studio.chromium import CHROMIUM, Chromium, Driver

from proctor.procedure.graph import Step, TaskGraph

# A busy machine is not a failing test: neither examples nor their drawing are timed. Examples are the same in every run, so that what
# passed here passes there; PROCTOR_FUZZ draws new ones.
settings.register_profile(
    "proctor",
    deadline=None,
    derandomize=not os.environ.get("PROCTOR_FUZZ"),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("proctor")

REPOSITORY = Path(__file__).resolve().parents[1]

# Whom a client would trust on the network that no test uses: reading a hundred and forty authorities takes it 20 ms each time.
os.environ["SSL_CERT_FILE"] = str(REPOSITORY / "tests" / "data" / "nobody.pem")


gc.disable()  # until everything is collected


def pytest_collection_finish() -> None:
    """Keep what was collected out of the collector of garbage: it would look through twenty thousand tests again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _no_flushing() -> Iterator[None]:
    """Nothing is flushed to the disk in this process: no test switches the machine off, and a busy disk takes milliseconds each time."""
    from proctor import database

    really = database._sqlite_engine

    def relax(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA synchronous = OFF").close()

    def make_engine(*about: Any) -> Any:
        from sqlalchemy import event

        engine = really(*about)
        event.listen(engine, "connect", relax)
        return engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        patch.setattr(database, "_sqlite_engine", make_engine)
        yield


_FOLDERS = count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new folder. Pytest's own fixture reads the names of all earlier ones first, and there are thousands."""
    name = re.sub(r"\W", "_", request.node.name)[:24]  # a socket's path may have 107 bytes
    folder = tmp_path_factory.getbasetemp() / "t" / f"{name}{next(_FOLDERS)}"
    folder.mkdir(mode=0o700, parents=True)
    return folder


def find_shared_data() -> Path | None:
    """Return the folder of real data: PROCTOR_DATA, else ../shared/data beside the repository."""
    given = os.environ.get("PROCTOR_DATA")
    folder = Path(given) if given else REPOSITORY.parent / "shared" / "data"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets; tests that need it are skipped where it does not exist."""
    folder = find_shared_data()
    if folder is None:
        pytest.skip("needs the real annotations: set PROCTOR_DATA or place them in ../shared/data")
    return folder


@pytest.fixture(scope="session")
def shared_expected(shared_data: Path) -> Callable[[str], dict[str, Any]]:
    """Return a file of expected numbers by name (``recognition``); skips where the real data are not."""
    folder = shared_data.parent / "expected"
    if not folder.is_dir():
        pytest.skip("needs the expected numbers: place them in ../shared/expected")
    return lambda name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture
def tests_data() -> Path:
    """The hand-made, tiny files of the tests."""
    return REPOSITORY / "tests" / "data"


def build_graph(text: str, *, edges: str = "", start: str | None = None, end: str | None = None) -> TaskGraph:
    """Build a graph from one line: ``make_graph("a b c", edges="a>b b>c")``; step ``a`` says "do a"."""
    pairs = tuple((a, b) for a, b in (edge.split(">") for edge in edges.split()))
    return TaskGraph("g", "g", tuple(Step(i, f"do {i}") for i in text.split()), pairs, start, end)


@pytest.fixture(scope="session")
def make_graph() -> Callable[..., TaskGraph]:
    """The function ``build_graph``: tests cannot import from here."""
    return build_graph


@pytest.fixture
def diamond() -> TaskGraph:
    """Start, then ``a``; ``b`` and ``c`` in any order; ``d``; end."""
    return build_graph("S a b c d E", edges="S>a a>b a>c b>d c>d d>E", start="S", end="E")


@pytest.fixture
def branches() -> TaskGraph:
    """Two independent chains that meet in the last step; no start, no end."""
    return build_graph("a1 a2 b1 b2 z", edges="a1>a2 b1>b2 a2>z b2>z")


@pytest.fixture
def twins() -> TaskGraph:
    """A procedure in which two different steps have the same text."""
    steps = (
        Step("0", "START"),
        Step("1", "Stir the jar"),
        Step("2", "Add sugar"),
        Step("3", "Stir the jar"),
        Step("9", "END"),
    )
    return TaskGraph("twins", "Twins", steps, (("0", "1"), ("1", "2"), ("2", "3"), ("3", "9")), "0", "9")


# -- a browser -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def _driver() -> Iterator[Driver]:
    api = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
    driver = Driver(api)
    yield driver
    driver.close()


@pytest.fixture
def playwright(_driver: Driver) -> Iterator[Any]:
    """Playwright, for tests that start a Chromium of their own."""
    with _driver.in_use() as found:
        yield found


@pytest.fixture(scope="session")
def _chromium(_driver: Driver) -> Iterator[Chromium]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    found = Chromium(_driver.playwright)
    yield found
    with _driver.in_use():
        found.close()


@pytest.fixture
def browser(playwright: Any, _chromium: Chromium) -> Iterator[Chromium]:
    """The Chromium that all tests of a process share. What a test opens in it is closed at the end of the test."""
    yield _chromium
    _chromium.shut_all()


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
    folder = Path(tempfile.mkdtemp(prefix="proctor-pg-", dir=in_memory()))
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
        options = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off -c max_wal_size=96MB"
        call(
            str(binaries / "pg_ctl"), "-D", str(data), "-w", "-t", "150", "-l", str(folder / "log"),
            "-o", options, "start",
        )  # fmt: skip
        try:
            yield f"postgresql://proctor@127.0.0.1:{port}/postgres"
        finally:
            call(str(binaries / "pg_ctl"), "-D", str(data), "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """URL of an empty database of its own."""
    with new_database(postgres_server) as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be opened: a new SQLite file, then an empty PostgreSQL database."""
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite")
    url: str = request.getfixturevalue("postgres_url")
    return url
