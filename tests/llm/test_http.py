"""One request over real sockets, against servers that do everything wrong."""

from __future__ import annotations

import asyncio
import gzip
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from proctor.llm import http
from proctor.llm.http import HttpReply, Lease, joined
from proctor.llm.keys import Key
from proctor.llm.outcome import Failure

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


async def read_request(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    size = next(
        (
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        ),
        0,
    )
    return head, await reader.readexactly(size)


def says(*pieces: bytes, pause: float = 0.0, close: bool = True) -> Handler:
    """A server that reads one request and answers with these bytes."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await read_request(reader)
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(pause)
            if not close:
                await asyncio.sleep(60)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    return handle


def ask(
    handler: Handler,
    *,
    body: list[bytes] | None = None,
    headers: dict[str, str] | None = None,
    timeout: float = 5.0,
) -> HttpReply | Failure:
    """Start the server, post once, and return what came."""

    async def run() -> HttpReply | Failure:
        server = await asyncio.start_server(handler, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        lease = Lease()
        try:
            return await lease.post(
                f"http://127.0.0.1:{port}/v1/x", headers or {}, body or [b"{}"], timeout=timeout
            )
        finally:
            await lease.close()
            server.close()

    return asyncio.run(run())


def lost(outcome: HttpReply | Failure) -> bool:
    """True when the request had gone out, and may be charged though nothing came back."""
    assert isinstance(outcome, Failure), outcome
    return outcome.lost


def kind(outcome: HttpReply | Failure) -> str:
    assert isinstance(outcome, Failure), outcome
    assert outcome.message.isprintable()
    return outcome.kind


def test_what_is_sent_and_what_comes_back() -> None:
    seen: list[tuple[bytes, bytes]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await read_request(reader))
        writer.write(b"HTTP/1.1 418 x\r\nRETRY-AFTER: 3\r\nContent-Length: 4\r\nSet-Cookie: a=b\r\n\r\nbody")
        await writer.drain()
        writer.close()

    key = Key("X_API_KEY", "sk-secret-1234")
    reply = ask(handle, body=[b'{"a":"', "ü".encode(), b'"}'], headers=key.header("Authorization", "Bearer "))
    assert isinstance(reply, HttpReply)
    assert (reply.status, reply.body, reply.headers["retry-after"]) == (418, b"body", "3")
    head, body = seen[0]
    assert body == '{"a":"ü"}'.encode()
    text = head.decode().lower()
    assert text.startswith("post /v1/x http/1.1\r\n")
    assert "authorization: bearer sk-secret-1234\r\n" in text
    assert "content-type: application/json\r\n" in text
    assert f"content-length: {len(body)}\r\n" in text
    assert "accept-encoding: identity\r\n" in text
    assert "user-agent: proctor/" in text
    assert "cookie" not in text


def test_large_pieces_arrive_whole_and_are_not_joined() -> None:
    pieces = [b'{"images":["', b"A" * 700_000, b'","', b"B" * 3_000_000, b'"]}']
    seen: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await read_request(reader))[1])
        writer.write(OK)
        await writer.drain()
        writer.close()

    assert isinstance(ask(handle, body=pieces), HttpReply)
    assert seen[0] == joined(pieces)


def test_one_large_piece_is_no_warning() -> None:
    assert isinstance(ask(says(OK), body=[b'"' + b"x" * 3_000_000 + b'"']), HttpReply)


# -- what goes wrong ---------------------------------------------------------------------------------------------


def test_nobody_listens() -> None:
    async def run() -> HttpReply | Failure:
        server = await asyncio.start_server(says(OK), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        lease = Lease()
        try:
            return await lease.post(f"http://127.0.0.1:{port}/", {}, [b"{}"], timeout=5)
        finally:
            await lease.close()

    outcome = asyncio.run(run())
    assert kind(outcome) == "connection"
    assert "refused" in outcome.message  # type: ignore[union-attr]
    assert not lost(outcome)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://no-such-host.invalid/v1", "connection"),
        ("http://a..b/v1", "bad_request"),
        (f"http://{'a' * 70}.example/v1", "bad_request"),
    ],
)
def test_no_such_host(url: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    real = socket.getaddrinfo

    def find(host: Any, *args: Any, **more: Any) -> Any:
        if str(host).endswith(".invalid"):  # without asking the network
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", find)

    async def run() -> HttpReply | Failure:
        lease = Lease()
        try:
            return await lease.post(url, {}, [b"{}"], timeout=20)
        finally:
            await lease.close()

    outcome = asyncio.run(run())
    assert kind(outcome) == expected
    assert "host" in outcome.message  # type: ignore[union-attr]
    assert not lost(outcome)


def test_a_closed_connection() -> None:
    outcome = ask(says())
    assert (kind(outcome), lost(outcome)) == ("connection", True)


def test_a_reset() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        import socket
        import struct

        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    outcome = ask(handle)
    assert (kind(outcome), lost(outcome)) == ("connection", True)


def test_a_reply_that_is_cut_off() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
    outcome = ask(says(head + b'{"a": 1'))
    assert (kind(outcome), lost(outcome)) == ("server", True)
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert kind(ask(says(chunked + b'20\r\n{"a": 1'))) == "server"


def test_a_wrong_length_is_never_a_reply_that_looks_whole() -> None:
    reply = ask(says(b'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{"a": 1}'))
    assert not isinstance(reply, HttpReply) or reply.body == b'{"a'


@pytest.mark.parametrize(
    "garbage",
    [
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"\x16\x03\x01\x02\x00",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: a\r\n" % i for i in range(40_000)) + b"\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nBad Header\r\n\r\n{}",
    ],
)
def test_a_server_that_does_not_speak_http(garbage: bytes) -> None:
    assert kind(ask(says(garbage))) in {"server", "connection"}


def test_silence_is_a_timeout() -> None:
    outcome = ask(says(close=False), timeout=0.2)
    assert kind(outcome) == "timeout"
    assert "0.2 seconds" in outcome.message  # type: ignore[union-attr]
    assert lost(outcome)


def test_one_byte_at_a_time_is_a_timeout() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    assert kind(ask(says(head, *([b"x"] * 1000), pause=0.02), timeout=0.3)) == "timeout"
    assert kind(ask(says(*[bytes([c]) for c in head], pause=0.02), timeout=0.3)) == "timeout"


def test_a_server_that_does_not_read_is_a_timeout() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            writer.close()

    assert kind(ask(handle, body=[b"x" * 50_000_000], timeout=0.5)) == "timeout"


def test_redirects_are_not_followed() -> None:
    reply = ask(says(b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"))
    assert isinstance(reply, HttpReply)
    assert reply.status == 302


def test_an_early_error_while_a_large_body_is_sent() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    outcome = ask(handle, body=[b"x" * 20_000_000])
    assert isinstance(outcome, HttpReply | Failure)
    assert outcome.status == 413 if isinstance(outcome, HttpReply) else outcome.kind == "connection"


# -- size --------------------------------------------------------------------------------------------------------


def test_a_huge_reply_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_REPLY_BYTES", 100_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n"
    outcome = ask(says(head, close=False))
    assert kind(outcome) == "server"
    assert "longer than" in outcome.message  # type: ignore[union-attr]
    chunk = b"2710\r\n" + b"x" * 10_000 + b"\r\n"
    endless = says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *([chunk] * 1000), close=False)
    assert kind(ask(endless)) == "server"
    fits = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100_000
    assert len(ask(says(fits)).body) == 100_000  # type: ignore[union-attr]


def packed(coding: str, data: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


def raw_deflate(data: bytes) -> bytes:
    pack = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return pack.compress(data) + pack.flush()


@pytest.mark.parametrize(
    ("coding", "data"),
    [
        ("gzip", gzip.compress(b'{"a":1}', mtime=0)),
        ("X-GZIP", gzip.compress(b'{"a":1}', mtime=0)),
        ("deflate", zlib.compress(b'{"a":1}')),
        ("deflate", raw_deflate(b'{"a":1}')),
        ("identity", b'{"a":1}'),
        (" ", b'{"a":1}'),
    ],
)
def test_a_compressed_reply_is_unpacked(coding: str, data: bytes) -> None:
    reply = ask(says(packed(coding, data)))
    assert isinstance(reply, HttpReply)
    assert reply.body == b'{"a":1}'


@pytest.mark.parametrize(
    ("coding", "data"),
    [
        ("gzip", lambda: gzip.compress(bytes(http.MAX_REPLY_BYTES + 1), mtime=0)),
        ("deflate", lambda: zlib.compress(bytes(http.MAX_REPLY_BYTES * 4))),
        ("gzip", lambda: gzip.compress(b'{"a":1}', mtime=0)[:-4]),
        ("gzip", lambda: b'{"a":1}'),
        ("br", lambda: b"whatever"),
        ("zstd", lambda: b"whatever"),
        ("gzip, gzip", lambda: gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0)),
    ],
    ids=["bomb", "deflate bomb", "cut", "not gzip", "br", "zstd", "twice"],
)
def test_a_bomb_or_an_unknown_packing_is_a_failure(coding: str, data: Callable[[], bytes]) -> None:
    assert kind(ask(says(packed(coding, data())))) == "server"


# -- sessions ----------------------------------------------------------------------------------------------------


def run(main: Callable[[str], Coroutine[Any, Any, Any]]) -> Any:
    async def whole() -> Any:
        count = 0

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal count
            count += 1
            try:
                while True:
                    await read_request(reader)
                    writer.write(OK)
                    await writer.drain()
            except (ConnectionError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        try:
            return await main(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"), count
        finally:
            server.close()

    return asyncio.run(whole())


def test_models_share_one_session_and_its_connections() -> None:
    async def main(url: str) -> None:
        first, second = Lease(), Lease()
        for _ in range(5):
            assert isinstance(await first.post(url, {}, [b"{}"], timeout=5), HttpReply)
            assert isinstance(await second.post(url, {}, [b"{}"], timeout=5), HttpReply)
        await first.close()
        await first.close()
        assert isinstance(await second.post(url, {}, [b"{}"], timeout=5), HttpReply)
        await second.close()
        assert isinstance(await first.post(url, {}, [b"{}"], timeout=5), HttpReply)  # opens again
        await first.close()

    _, connections = run(main)
    assert connections == 2


def test_a_lease_works_in_one_loop_after_another() -> None:
    lease = Lease()

    async def main(url: str) -> None:
        assert isinstance(await lease.post(url, {}, [b"{}"], timeout=5), HttpReply)
        await lease.close()

    run(main)
    run(main)


def test_many_at_once() -> None:
    async def main(url: str) -> int:
        lease = Lease()
        try:
            replies = await asyncio.gather(*(lease.post(url, {}, [b"{}"], timeout=20) for _ in range(300)))
        finally:
            await lease.close()
        return sum(isinstance(reply, HttpReply) for reply in replies)

    assert run(main)[0] == 300


def test_cancelling_is_cancelling() -> None:
    async def main() -> None:
        server = await asyncio.start_server(says(close=False), "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        lease = Lease()
        task = asyncio.create_task(lease.post(url, {}, [b"{}"], timeout=30))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await lease.close()
        server.close()

    asyncio.run(main())


def test_a_mistake_of_ours_is_not_hidden() -> None:
    async def main() -> None:
        lease = Lease()
        try:
            await lease.post("http://127.0.0.1:1/", 5, [b"{}"], timeout=5)  # type: ignore[arg-type]
        finally:
            await lease.close()

    with pytest.raises(TypeError):
        asyncio.run(main())


# -- proxies -----------------------------------------------------------------------------------------------------


def test_the_proxy_of_the_environment_is_used_but_not_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "_proxies", {})
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "internal.example")
    assert http._proxy("https://api.openai.com/v1") == "http://proxy.example:3128"
    assert http._proxy("http://api.openai.com/v1") is None
    assert http._proxy("https://a.internal.example/v1") is None
    assert http._proxy("https://127.0.0.1/v1") is None
    assert http._proxy("https://localhost/v1") is None


def test_a_request_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_proxies", {})
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    seen: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await read_request(reader))[0])
        writer.write(OK)
        await writer.drain()
        writer.close()

    async def main() -> HttpReply | Failure:
        server = await asyncio.start_server(proxy, "127.0.0.1", 0)
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        lease = Lease()
        try:
            return await lease.post("http://models.example/v1/x", {}, [b"{}"], timeout=5)
        finally:
            await lease.close()
            server.close()

    assert isinstance(asyncio.run(main()), HttpReply)
    assert seen[0].startswith(b"POST http://models.example/v1/x HTTP/1.1")


def test_importing_the_port_does_not_import_aiohttp() -> None:
    code = (
        "import sys, proctor.llm.http, proctor.llm.registry, proctor.llm.providers.openai;"
        "assert 'aiohttp' not in sys.modules and 'yarl' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- encryption --------------------------------------------------------------------------------------------------


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for localhost that nobody signed, with its key, in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    key, made = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-subj /CN=localhost -addext subjectAltName=DNS:localhost"
    )
    subprocess.run(
        [*command.split(), "-keyout", str(key), "-out", str(made)], check=True, capture_output=True
    )
    (tmp_path / "both.pem").write_bytes(key.read_bytes() + made.read_bytes())
    return tmp_path / "both.pem"


ENCRYPTED = """
import asyncio, ssl, sys
from proctor.llm.http import Lease

async def handle(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\n{}")
    await writer.drain()
    writer.close()

async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1])
    server = await asyncio.start_server(handle, "localhost", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    lease = Lease()
    print(await lease.post(f"{sys.argv[2]}://localhost:{port}/", {}, [b"{}"], timeout=10))
    await lease.close()
    server.close()

asyncio.run(main())
"""


def encrypted(certificate: Path, scheme: str, **env: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", ENCRYPTED, str(certificate), scheme],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return ran.stdout


def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: Path) -> None:
    told = encrypted(certificate, "https")
    assert "kind='connection'" in told
    assert "certificate" in told


def test_a_certificate_that_the_user_vouches_for_is_fine(certificate: Path) -> None:
    assert "HttpReply(status=200" in encrypted(certificate, "https", SSL_CERT_FILE=str(certificate))


def test_plain_http_at_an_encrypted_door(certificate: Path) -> None:
    assert "Failure(kind=" in encrypted(certificate, "http")


def test_encryption_at_a_plain_door() -> None:
    async def main() -> HttpReply | Failure:
        server = await asyncio.start_server(says(OK), "127.0.0.1", 0)
        lease = Lease()
        try:
            url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            return await lease.post(url, {}, [b"{}"], timeout=2)
        finally:
            await lease.close()
            server.close()

    assert kind(asyncio.run(main())) in {"connection", "timeout"}
