"""A small HTTP server in a thread of its own that says what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from proctor.llm.media import MediaStore


@dataclass
class Seen:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    """One reply as it will be sent."""

    body: bytes | dict[str, Any] | list[Any]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False


class Server:
    """Answers with what ``say`` was given, in order; the last one stays."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self._answers: deque[Answer] = deque()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait(60)

    def say(self, body: Any, status: int = 200, **more: Any) -> None:
        self._answers.append(Answer(body, status, **more))

    def clear(self) -> None:
        self._answers.clear()
        self.seen.clear()

    @property
    def last(self) -> Seen:
        return self.seen[-1]

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._stop())
        self._loop.close()

    async def _start(self) -> None:
        app = web.Application(client_max_size=2**28)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        self.url = f"http://127.0.0.1:{self.port}"

    async def _stop(self) -> None:
        await self._runner.cleanup()
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.seen.append(Seen(request.method, request.path, dict(request.headers), body))
        answer = self._answers.popleft() if len(self._answers) > 1 else self._answers[0]
        if answer.delay:
            await asyncio.sleep(answer.delay)
        if answer.drop:
            assert request.transport is not None
            request.transport.abort()
        said = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        headers = {"Content-Type": "application/json", **answer.headers}
        return web.Response(status=answer.status, headers=headers, body=said)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def server(running: Server) -> Server:
    running.clear()
    return running


@pytest.fixture
def media() -> MediaStore:
    return MediaStore()


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI", "COMPAT"):
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai-0123456789abcdef")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-0123456789abcdef")
    monkeypatch.setenv("GOOGLE_API_KEY", "AIzaSy0123456789abcdefghijklmnopqrstuv")
