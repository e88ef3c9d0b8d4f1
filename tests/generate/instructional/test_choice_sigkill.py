"""SIGKILL at 20 seeded points: no stored call is made again, none is lost, and the end is the same to the byte."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.generate.instructional.choice_killed import Lives
from tests.generate.instructional.choice_player import answer_call

from proctor.llm.fence import FENCE_FILE
from proctor.llm.standin import Standin
from proctor.llm.standin.script import Latency, Script

KILLS = 20
PATIENCE = 60.0
FILES = ("choices.jsonl", "choices.attempts.jsonl", "choices.dropped.jsonl", "choices.json")


@pytest.fixture(scope="module")
def lives() -> Iterator[Lives]:
    made = Lives()
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[Standin]:
    script = Script(seed=1, latency=Latency(low=0.01, high=0.2))
    with Standin(script, answer=partial(answer_call, blind=0.5, seeing=0.85, faults=0.4)) as running:
        yield running
        assert running.errors == []


def workspace(folder: Path) -> Path:
    folder.mkdir()
    (folder / FENCE_FILE).write_text("0123456789abcdef" * 4)
    return folder


def written(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}


def outcomes(folder: Path) -> dict[str, str]:
    """Return the stored outcomes by the key of their call, as SQLite itself sees them."""
    path = folder / "calls.sqlite"
    if not path.exists():
        return {}
    connection = sqlite3.connect(path)
    try:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'proctor_calls'").fetchone():
            return {}
        return dict(connection.execute("SELECT key, outcome FROM proctor_calls WHERE outcome IS NOT NULL"))
    finally:
        connection.close()


def answered(stored: dict[str, str]) -> Counter[str]:
    """Count stored calls by the first 20 digits of the server's own key; draws of one request are the same to a server."""
    names = (json.loads(text)["provider_id"] for text in stored.values())
    return Counter(name.removeprefix("chatcmpl-").partition("-")[0] for name in names)


def settle(server: Standin) -> Counter[str]:
    """Wait until nothing is on its way and return how often each request came."""
    before, quiet = -1, 0
    while quiet < 5:
        now = server.count
        quiet = quiet + 1 if now == before and not server.log.in_flight else 0
        before = now
        time.sleep(0.02)
    return Counter({key[:20]: n for key, n in server.counts.items()})


def test_killed_20_times_it_ends_as_if_nothing_had_happened(lives: Lives, server: Standin, tmp_path: Path):
    calm = workspace(tmp_path / "calm")
    assert lives.ended(lives.start(calm, server.url)) == 0, (calm / "printed").read_text()
    once = settle(server)
    expected = written(calm)
    assert set(expected) == set(FILES)
    assert expected["choices.jsonl"], "some questions got options"
    found = json.loads(expected["choices.json"])["outcomes"]
    assert {"ok", "with_steps_fail", "without_steps_fail"} <= set(found), found
    assert once == answered(outcomes(calm)), "every call was made once"
    assert once.total() >= 120
    server.reset()

    rough = workspace(tmp_path / "rough")
    rng = random.Random(7)
    kept: dict[str, str] = {}
    seen: Counter[str] = Counter()
    busy = 0
    for kill in range(KILLS):
        before = answered(kept)
        start = server.count
        pid = lives.start(rough, server.url)
        # a share of what is left, so that the last lives have something to do as well
        wanted = start + rng.randint(1, max(2, 2 * (once.total() - before.total()) // (KILLS - kill + 1)))
        limit = time.monotonic() + PATIENCE
        while server.count < wanted and lives.ended(pid, patient=False) is None and time.monotonic() < limit:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.1)
        busy += server.log.in_flight > 0
        os.kill(pid, signal.SIGKILL)
        assert lives.ended(pid) == -signal.SIGKILL, f"life {kill} ended by itself"
        now = settle(server)
        assert now - seen <= once - before, f"life {kill} made calls again that were stored"
        seen = now
        after = outcomes(rough)
        assert kept.items() <= after.items(), "something finished was lost or replaced"
        kept = after
        assert written(rough) == {}, "files are written at the end"
    assert lives.ended(lives.start(rough, server.url)) == 0, (rough / "printed").read_text()
    last = settle(server) - seen
    assert last <= once - answered(kept)
    assert written(rough) == expected
    assert answered(outcomes(rough)) == once, "nothing else was asked, and nothing is lacking"
    assert busy >= KILLS // 2, "most of them died while calls were on their way"
    shutil.rmtree(rough)
