"""SIGKILL at 20 seeded points of the whole experiment: no stored call is made again, and the end is the same to the byte."""

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
from pathlib import Path

import pytest
from tests.stages.instructional.killed import Lives
from tests.stages.instructional.material import MADE, fingerprints, row, write_rows

from proctor.llm.fence import FENCE_FILE
from proctor.llm.standin import Standin
from proctor.llm.standin.script import Latency
from proctor.stages.rehearsal import rehearse

KILLS = 20
PATIENCE = 60.0


@pytest.fixture(scope="module")
def lives() -> Iterator[Lives]:
    made = Lives()
    yield made
    made.close()


def outcomes(workspace: Path) -> dict[str, str]:
    """Return the stored outcomes by the key of their call, as SQLite itself sees them."""
    path = workspace / "calls.sqlite"
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
    """Count stored calls by the first 20 digits of the server's own key."""
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


def begin(workspace: Path) -> Path:
    workspace.mkdir()
    (workspace / FENCE_FILE).write_text("0123456789abcdef" * 4)
    return workspace


def test_killed_20_times_it_ends_as_if_nothing_had_happened(lives: Lives, tmp_path: Path) -> None:
    data = write_rows(tmp_path / "data", [row(n) for n in range(6)])
    place = tmp_path / "bench"  # of both, since played models look into it
    with rehearse(place, quality=0.9, seed=3, latency=Latency(low=0.01, high=0.1)) as server:
        calm = begin(place)
        assert lives.ended(lives.start(calm, data, server.url)) == 0, (tmp_path / "printed").read_text()
        once, expected = settle(server), fingerprints(calm)
        assert expected.keys() >= set(MADE)
        assert len([n for n in expected if n.startswith("clip-runs/")]) >= 10
        assert once == answered(outcomes(calm)), "every call was made once"
        assert once.total() >= 80
        shutil.rmtree(calm)
        server.reset()

        rough, rng = begin(place), random.Random(7)
        kept: dict[str, str] = {}
        seen: Counter[str] = Counter()
        busy = 0
        for kill in range(KILLS):
            before, start = answered(kept), server.count
            pid = lives.start(rough, data, server.url)
            # a share of what is left, so that the last lives have something to do as well
            wanted = start + rng.randint(1, max(2, 2 * (once.total() - before.total()) // (KILLS - kill + 1)))
            limit = time.monotonic() + PATIENCE
            ended: int | None = None
            while server.count < wanted and time.monotonic() < limit and ended is None:
                time.sleep(0.002)
                ended = lives.ended(pid, patient=False)
            if ended is None:
                time.sleep(rng.random() * 0.05)
                busy += server.log.in_flight > 0
                os.kill(pid, signal.SIGKILL)
                ended = lives.ended(pid)
            said = (tmp_path / "printed").read_text()
            if ended == 0:  # everything had been asked, and the last life was quick
                assert kill >= KILLS // 2
                break
            assert ended == -signal.SIGKILL, f"life {kill} ended by itself: {said}"
            now = settle(server)
            assert now - seen <= once - before, f"life {kill} made calls again that were stored"
            seen, after = now, outcomes(rough)
            assert kept.items() <= after.items(), "something finished was lost or replaced"
            kept = after
        assert lives.ended(lives.start(rough, data, server.url)) == 0, (tmp_path / "printed").read_text()
        last = settle(server) - seen
        assert last <= once - answered(kept)
        assert fingerprints(rough) == expected
        assert answered(outcomes(rough)) == once, "nothing else was asked, and nothing is lacking"
        assert busy >= KILLS // 2, "most of them died while calls were on their way"
        assert server.errors == []
