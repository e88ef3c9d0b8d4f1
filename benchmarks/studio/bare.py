"""The least that a server can do for a save: read the request, commit one row to SQLite with a flush, answer.

It is no server for people: any session, any sheet. It shows what the load generator, the loopback and the disk take
by themselves, so that what the studio adds can be told from it.

Run: python benchmarks/studio/bare.py PORT DATABASE QUEUES (QUEUES: JSON, pid to the next pid).
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import time
from pathlib import Path

TABLE = "CREATE TABLE saved (pid TEXT, kind TEXT, key TEXT, body TEXT, UNIQUE (pid, kind, key))"


class Bare(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, store: sqlite3.Connection, following: dict[str, str]) -> None:
        self.store, self.following, self.buffer = store, following, bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        first, *lines = self.buffer[:end].decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        stop = end + 4 + int(headers.get("content-length", 0))
        if len(self.buffer) < stop:
            return
        body = self.buffer[end + 4 : stop].decode()
        del self.buffer[:stop]
        answer = json.dumps(self.answer(first.split(" ")[1], headers, body)).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(answer)}\r\n\r\n"
        self.transport.write(head.encode() + answer)  # type: ignore[attr-defined]

    def answer(self, path: str, headers: dict[str, str], body: str) -> object:
        _, _, pid, kind = (*path.split("/"), "", "", "")[:4]
        if kind not in ("draft", "submit"):
            return {"status": "ok"}
        self.store.execute(
            "INSERT OR REPLACE INTO saved VALUES (?, ?, ?, ?)",
            (pid, kind, headers.get("idempotency-key", ""), body),
        )
        self.store.commit()
        if kind == "draft":
            return {"version": 1, "saved_at": time.time()}
        return {"rev": 1, "next": f"/w/{self.following.get(pid, '')}", "undo_seconds": 10}


async def main() -> None:
    port, database, queues = int(sys.argv[1]), sys.argv[2], json.loads(Path(sys.argv[3]).read_text())
    store = sqlite3.connect(database)
    store.execute("PRAGMA journal_mode = WAL")
    store.execute("PRAGMA synchronous = FULL")
    store.execute(TABLE)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Bare(store, queues), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
