"""A real HTTP server on loopback that misbehaves as told."""

from __future__ import annotations

import gzip
import hashlib
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Handler", bytes], None]


@dataclass
class Site:
    """What is served: bytes by path, and answers that come first, each once, before the file is served well."""

    files: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    always: dict[str, Answer] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    ranges: bool = True
    etags: bool = True
    address: str = ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def do_GET(self) -> None:
        site: Site = self.server.site
        site.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
        data = site.files.get(self.path.partition("?")[0].removeprefix("http://mirror.example"))
        waiting = site.answers.get(self.path)
        with suppress(ConnectionError):
            if waiting:
                waiting.pop(0)(self, data or b"")
            elif self.path in site.always:
                site.always[self.path](self, data or b"")
            elif data is None:
                self.say(404, b"no such file")
            else:
                self.serve(data)

    def serve(self, data: bytes, *, cut: int | None = None, pause: float = 0.0) -> None:
        """Send a file, or the rest that was asked for; ``cut``: hang up after so many bytes."""
        site: Site = self.server.site
        etag = '"' + hashlib.md5(data).hexdigest() + '"'
        start = 0
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if site.ranges and asked and self.headers.get("If-Range", etag) == etag:
            start = int(asked[1])
            if start >= len(data):
                self.say(416, b"", **{"Content-Range": f"bytes */{len(data)}"})
                return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(data) - start))
        if site.etags:
            self.send_header("ETag", etag)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        body = data[start:]
        if pause:
            for n in range(len(body)):
                self.wfile.write(body[n : n + 1])
                time.sleep(pause)
        self.wfile.write(body if cut is None else body[:cut])
        if cut is not None and cut < len(body):
            self.hang_up()

    def hang_up(self) -> None:
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))
        self.close_connection = True

    def say(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(**files: bytes) -> Iterator[Site]:
    """Serve until the block ends."""
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.site = site  # type: ignore[attr-defined]
    site.address = f"http://127.0.0.1:{server.server_port}"
    site.files.update({f"/{name}": data for name, data in files.items()})
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def status(code: int, **headers: str) -> Answer:
    return lambda handler, _: handler.say(
        code, b"sorry", **{k.replace("_", "-"): v for k, v in headers.items()}
    )


def cut(after: int) -> Answer:
    return lambda handler, data: handler.serve(data, cut=after)


def redirect(to: str) -> Answer:
    return lambda handler, _: handler.say(302, b"", Location=to)


def body(data: bytes) -> Answer:
    """Serve other bytes than the file's."""
    return lambda handler, _: handler.serve(data)


def length(claimed: int) -> Answer:
    """Claim a length that is not the body's."""

    def answer(handler: Handler, data: bytes) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(claimed))
        handler.end_headers()
        handler.wfile.write(data)
        handler.hang_up()

    return answer


def zipped(handler: Handler, data: bytes) -> None:
    handler.say(200, gzip.compress(data), **{"Content-Encoding": "gzip"})


def trickle(pause: float) -> Answer:
    return lambda handler, data: handler.serve(data, pause=pause)
