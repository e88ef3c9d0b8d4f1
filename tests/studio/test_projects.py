"""Several projects on one server: which host leads where, names that become hosts, and a real server with one broken store."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from tests.patience import PATIENCE, wait_until
from tests.studio import roundwork

from proctor.cli.studio_serving import Address, serve_projects
from proctor.errors import UserError
from proctor.stages.studio import open_desk
from proctor.studio.auth import hash_token, new_token
from proctor.studio.context import Settings
from proctor.studio.guard import guarded
from proctor.studio.projects import Project, Projects, host_label, labels_of, origin_of
from proctor.verify.desk import people

BASE, HERE = "http://localhost:8642", Path(__file__)


def a_project(name: str, lives: list[str], *, proxies: tuple[str, ...] = ()) -> Project:
    @asynccontextmanager
    async def live(_app: Any) -> Any:
        lives.append(f"{name} begins")
        yield
        lives.append(f"{name} ends")

    async def say(request: Any) -> PlainTextResponse:
        return PlainTextResponse(f"{name} {request.headers.get('x-forwarded-host')}")

    origin = origin_of(BASE, name)
    app = Starlette(routes=[Route("/", say, methods=["GET", "POST"])], lifespan=live)
    settings = Settings(project=name, origin=origin, hosts=(f"{name}.localhost",), proxies=proxies)
    return Project(name.title(), origin, guarded(app, settings))


def test_the_host_decides_and_nothing_else_does() -> None:
    lives: list[str] = []
    projects = [a_project("line2", lives), a_project("bench", lives, proxies=("10.0.0.2",))]
    app = Projects([*projects, Project("Gone", origin_of(BASE, "gone"), None)], BASE)
    with TestClient(app, base_url=BASE, client=("10.0.0.2", 9)) as client:
        client.headers["Sec-Fetch-Site"] = "same-origin"
        assert lives == ["bench begins", "line2 begins"]

        def ask(host: str, method: str = "GET", **headers: str) -> tuple[int, str]:
            answer = client.request(method, "/", headers={"Host": host, **headers})
            return answer.status_code, answer.text

        for host in ("bench.localhost:8642", "BENCH.localhost", "line2.localhost:9"):
            assert ask(host) == (200, f"{host.partition('.')[0].lower()} None")
        for host in ("bench.localhost.evil.example", "x.bench.localhost", "bench.localhost.", ""):
            status, text = ask(host)
            assert (status, "Unknown host" in text) == (400, True), host
        # Forwarded hosts are nobody's to choose a project by, a proxy that is believed or not.
        for forged in ("line2.localhost", "evil.example"):
            assert ask("bench.localhost", **{"X-Forwarded-Host": forged}) == (200, "bench None")
            assert ask("evil.example", **{"X-Forwarded-Host": "bench.localhost"})[0] == 400
        # A page of one project cannot write to another.
        other = {"Origin": origin_of(BASE, "line2"), "Sec-Fetch-Site": "same-site"}
        assert ask("bench.localhost:8642", "POST", **other)[0] == 403
        assert ask("bench.localhost:8642", "POST", Origin=origin_of(BASE, "bench"))[0] == 200
        for host in ("localhost", "127.0.0.1:8642"):
            status, listed = ask(host)
            assert status == 200
            assert re.findall(r'<a href="(http[^"]+)"><bdi>(\w+)', listed) == [
                ("http://bench.localhost:8642", "Bench"), ("http://line2.localhost:8642", "Line2"),
            ]  # fmt: skip
            assert "Gone</bdi> <span" in listed
        status, text = ask("gone.localhost:8642")
        assert (status, "Gone is not available" in text) == (503, True)
    assert lives[2:] == ["line2 ends", "bench ends"]


def test_names_become_labels_or_are_refused(tmp_path: Path) -> None:
    names = {
        "bench": "bench",
        "Line 2.b": "line-2-b",
        "Küche": "kuche",
        "--x__y": "x-y",
        "XN--a": "xn-a",
        "a" * 80: "a" * 63,
    }
    assert {name: host_label(name) for name in names} == names
    with pytest.raises(UserError, match="no name that can stand"):
        host_label("台所")
    for one, other in (("Line 2", "line.2"), ("bench", "x/../bench")):
        with pytest.raises(UserError, match="would both be at"):
            labels_of([tmp_path / one, tmp_path / other])


@pytest.mark.parametrize(
    ("address", "more", "said"),
    [
        ({"local": True}, {}, "certificate for one name"),
        ({"host": "0.0.0.0", "certificate": HERE, "key": HERE}, {}, "below which each"),
        ({"origin": "https://10.0.0.5"}, {}, "address of numbers"),
        ({}, {"project": "All"}, "as their folders are"),
        ({}, {"database": "postgresql://me@db/proctor"}, "cannot share one --database"),
    ],
)
def test_what_cannot_hold_for_several(tmp_path: Path, address: Any, more: Any, said: str) -> None:
    given: Any = {"host": "127.0.0.1", "port": 0, **address}
    none = {"database": None, "project": None, "videos": None}
    with pytest.raises(UserError, match=said):
        serve_projects([tmp_path / "a", tmp_path / "b"], Address(**given), **(none | more))


def test_a_real_server_of_two_projects_and_a_broken_one(demo_bench: Path, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("Bench", "Line 2", "broken", "shared")]
    for folder in folders:
        shutil.copytree(demo_bench, folder)
    for store in folders[2].glob("verification.sqlite*"):
        store.unlink()
    (folders[2] / "verification.sqlite").write_bytes(b"no store" * 999)
    with open_desk(folders[0]) as desk:
        roundwork.begin(desk, "rate", roundwork.make_tasks("rate", 2))
    store = folders[0] / "verification.sqlite"
    (folders[3] / "proctor.toml").write_text(f'[verify]\nstore = "{store}"\n')
    log = tmp_path / "log"
    command = [sys.executable, "-m", "proctor", "studio", *map(str, folders), "--port", "0"]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stderr=stream, env={**os.environ, "COLUMNS": "300"})
    try:
        wait_until(lambda: process.poll() is not None or "stop with" in log.read_text(), what="the server")
        printed = log.read_text()
        assert re.search("broken is not available: .*not a database", printed)
        assert "shared is not available: its store is that of Bench" in printed
        found = re.search(r"all projects: http://localhost:(\d+)", printed)
        assert found, printed
        port = found[1]

        def get(host: str, path: str, cookie: str = "") -> Any:
            headers = {"Host": f"{host}:{port}", "Accept": "text/html", "Cookie": cookie}
            return httpx.get(f"http://127.0.0.1:{port}{path}", headers=headers, timeout=PATIENCE)

        def ask(host: str, path: str, cookie: str = "") -> tuple[int, str]:
            answer = get(host, path, cookie)
            return answer.status_code, answer.text

        status, listed = ask("localhost", "/")
        assert (status, listed.count("not available")) == (200, 2)
        assert f"http://line-2.localhost:{port}" in listed
        assert ask("broken.localhost", "/signin")[0] == 503

        def sign_in(handle: str) -> str:
            with open_desk(folders[0]) as desk:
                token = new_token()
                person = desk.read(lambda c: people.by_handle(desk, c, handle))
                assert person is not None
                desk.write(lambda c: people.open_session(desk, c, hash_token(token), person)).result()
            return f"proctor-{port}={token}"

        cookie = sign_in("ana")
        status, home = ask("bench.localhost", "/", cookie)
        assert (status, "Ana" in home, "Bench" in home) == (200, True, True)
        assert ask("line-2.localhost", "/", cookie)[0] == 303  # to the sign-in: sessions are of one project
        assert ask("nobody.localhost", "/", cookie)[0] == 400

        def come(handle: str) -> tuple[str, str]:
            """Come to the list from a project by its link: what the list then keeps, and shows."""
            led = get("bench.localhost", "/projects", sign_in(handle)).headers["location"]
            passed = get("localhost", led.removeprefix(f"http://localhost:{port}"))
            kept = passed.headers["set-cookie"].partition(";")[0]
            return kept, ask("localhost", "/", kept)[1]

        kept, listed = come("ana")
        assert re.search(
            r"<bdi>Ana [^<]+</bdi>, annotator · [\d,]+ items wait for you, 2 tasks of rounds", listed
        )
        assert "dealt items are finished" not in listed + ask("localhost", "/")[1]
        assert re.search(
            r"owner · \d+ items? waits? for you, 2 tasks of rounds</span><p[^>]*>\d+ of \d+ dealt items are",
            come("farid")[1],
        )
        for forged in (
            kept[:-1] + ("0" if kept[-1] != "0" else "1"),
            kept.replace("-at-bench", "-at-line-2"),
        ):
            assert "wait for you" not in ask("localhost", "/", forged)[1]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
