"""The studio as labs run it: nginx with TLS in front of two processes on PostgreSQL, by the configuration of docs/studio.md."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from tests.media.make_video import make_grey_videos
from tests.patience import PATIENCE, wait_until

from proctor.studio.local_ca import issue

pytestmark = pytest.mark.postgres
NGINX: Final = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
PAGE: Final = Path(__file__).parents[3] / "docs" / "studio.md"
NAME: Final = "studio.local"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def configuration(folder: Path, bench: Path, port: int, backends: list[int]) -> str:
    """What the page shows, with this machine's ports and paths; nothing else is added to the server."""
    issued = issue(folder / "tls", (NAME,))
    block = re.search(r"```nginx\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert block is not None
    server = block[1]
    for old, new in {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "studio.example.org": NAME,
        "/etc/ssl/studio.pem": str(issued.certificate),
        "/etc/ssl/studio.key": str(issued.key),
        "http://127.0.0.1:8642": "http://studios",
        "/srv/bench": str(bench),
    }.items():
        assert server.count(old) == 1, old
        server = server.replace(old, new)
    places = "".join(f"server 127.0.0.1:{backend}; " for backend in backends)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {folder}/{kind}; " for kind in kinds)
    user = "user root; " if os.getuid() == 0 else ""  # the tests' folders are readable for their owner alone
    return (
        f"daemon off; {user}pid {folder}/nginx.pid; error_log {folder}/error.log; events {{ }}\n"
        f"http {{ access_log off; {temporary}upstream studios {{ {places} }}\n{server} }}\n"
    )


class Front:
    """nginx and what stands behind it."""

    def __init__(self, folder: Path, bench: Path, database: str, videos: Path) -> None:
        assert NGINX is not None
        self.folder, self.port, self.backends = folder, free_port(), [free_port(), free_port()]
        self.url = f"https://127.0.0.1:{self.port}"
        self.origin = f"https://{NAME}:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        for backend in self.backends:
            self._start(
                *(sys.executable, "-c", "from proctor.cli.main import main; main()", "studio", bench),
                *("--port", backend, "--database", database, "--videos", videos, "--proxy", "127.0.0.1"),
                *("--origin", self.origin, "--accel", "X-Accel-Redirect"),
            )
            wait_until(lambda b=backend: self._listens(b), what="a studio")  # type: ignore[misc]
        (folder / "nginx.conf").write_text(configuration(folder, bench, self.port, self.backends))
        self._start(NGINX, "-p", folder, "-e", folder / "error.log", "-c", folder / "nginx.conf")
        wait_until(lambda: self._listens(self.port), what="nginx")

    def _start(self, *command: object) -> None:
        number = len(self.processes)
        with (self.folder / f"{number}.log").open("wb") as out:
            self.processes.append(subprocess.Popen([*map(str, command)], stdout=out, stderr=out))

    def _listens(self, port: int) -> bool:
        logs = "".join(path.read_text() for path in sorted(self.folder.glob("*.log")))
        assert all(process.poll() is None for process in self.processes), logs
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
            return True
        return False

    def visitor(self, **headers: str) -> httpx.Client:
        """A browser that trusts the authority and comes by the studio's name."""
        trust = ssl.create_default_context(cafile=str(self.folder / "tls" / "ca.pem"))
        transport = _Named(verify=trust)
        host = {
            "Host": f"{NAME}:{self.port}",
            "Origin": self.origin,
            "Sec-Fetch-Site": "same-origin",
            **headers,
        }
        return httpx.Client(transport=transport, base_url=self.url, headers=host, timeout=PATIENCE)

    def close(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(PATIENCE)


class _Named(httpx.HTTPTransport):
    """Asks for the certificate of the studio's name, and not of the address that it is at."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions = {**request.extensions, "sni_hostname": NAME}
        return super().handle_request(request)


@pytest.fixture
def front(tmp_path: Path, bench: Path, postgres_url: str) -> Iterator[Callable[[], Front]]:
    if NGINX is None:
        pytest.skip("needs nginx")
    fronts: list[Front] = []
    rows = (json.loads(line) for line in (bench / "examples.jsonl").read_text().splitlines())
    videos = tmp_path / "videos"
    videos.mkdir()
    make_grey_videos(videos, {f"{row['recording_id']}.mp4": 60 for row in rows})

    def start() -> Front:
        (tmp_path / "front").mkdir()
        fronts.append(Front(tmp_path / "front", bench, postgres_url, videos))
        return fronts[-1]

    yield start
    for one in fronts:
        one.close()


def test_a_lab_behind_nginx(front: Callable[[], Front], hire: Any, postgres_url: str) -> None:
    crew = hire(postgres_url)
    site = front()
    worker, other = crew.workers[:2]
    pid = worker.pids[0]
    with site.visitor() as visitor:
        page = visitor.get("/signin")
        assert (page.status_code, page.headers["strict-transport-security"]) == (200, "max-age=31536000")
        assert visitor.get("/", headers={"Accept": "text/html"}).headers["location"].startswith("/signin")
        visitor.cookies.set(f"__Host-proctor-{site.port}", worker.token)

        # One clip, cut by the studios, sent by nginx.
        def plays() -> bool:
            return all(visitor.get(f"/w/{pid}/clip.mp4").status_code == 200 for _ in range(4))

        wait_until(plays, what="the clip, in both processes")
        clip = visitor.get(f"/w/{pid}/clip.mp4")
        assert clip.headers["content-type"] == "video/mp4"
        assert b"ftyp" in clip.content[:16]
        assert "x-accel-redirect" not in clip.headers
        assert clip.headers["cache-control"].startswith("private")
        part = visitor.get(f"/w/{pid}/clip.mp4", headers={"Range": "bytes=4-7"})
        assert (part.status_code, part.content) == (206, b"ftyp")
        for path in (f"/internal-clips/{clip.headers['etag']}", f"/w/{other.pids[0]}/clip.mp4"):
            assert visitor.get(path).status_code == 404

        # A draft by one process is there in the other; each request goes to the next.
        def save(number: int) -> httpx.Response:
            sheet = {"client_id": "proxy", "seq": number, "base": number - 1, "sheet": {"note": f"n{number}"}}
            return visitor.put(f"/w/{pid}/draft", json=sheet)

        for number in range(1, 7):
            saved = save(number)
            assert (saved.status_code, saved.json()["version"]) == (200, number), saved.text
        for size in (1_100_000, 8_000_000):  # read and refused; closed while nginx sends it would be a 502
            too_large = visitor.put(f"/w/{pid}/draft", json={"note": "x" * size})
            assert (too_large.status_code, "proctor" in str(too_large.headers)) == (413, False)
            assert too_large.headers["content-type"] == "application/problem+json"

        # A process dies; nobody notices.
        site.processes[0].kill()
        site.processes[0].wait(PATIENCE)
        assert [save(number).status_code for number in range(7, 11)] == [200] * 4
    with site.visitor(Host="evil.example") as stranger:
        assert stranger.get("/signin").status_code in (400, 421)
    with site.visitor(Origin="https://evil.example", **{"Sec-Fetch-Site": "cross-site"}) as stranger:
        assert stranger.post("/signin", data={"handle": "w0", "password": "x"}).status_code == 403
    with (
        httpx.Client(verify=ssl.create_default_context()) as untrusting,
        pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        untrusting.get(site.url)
    (row,) = [r for r in _drafts(crew) if r["seq"] == 10]
    assert row["note"] == "n10"


def test_people_are_limited_by_their_own_address_and_not_by_one_they_make_up(
    front: Callable[[], Front], hire: Any, postgres_url: str
) -> None:
    """What a browser says of its address is replaced by nginx: who guesses passwords stays one stranger."""
    hire(postgres_url)
    site = front()
    statuses = []
    for n in range(14):  # five for each of two processes, and some more
        with site.visitor(**{"X-Forwarded-For": f"10.1.1.{n}"}) as stranger:
            answer = stranger.post("/signin", data={"handle": "w0", "password": "wrong wrong wrong"})
            statuses.append(answer.status_code)
    assert 429 in statuses, statuses


def _drafts(crew: Any) -> list[dict[str, Any]]:
    from proctor.stages.studio import open_desk
    from proctor.verify.schema import tables

    with open_desk(crew.bench, crew.database, create=False) as desk, desk.reading() as connection:
        found = connection.execute(tables().drafts.select()).all()
    return [{"seq": row.seq, **json.loads(row.sheet)} for row in found]
