"""SIGKILL at seeded points: no stored call is made again, none is lost, and the end is the same to the byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lives import Lives, answered, end_many_lives, outcomes, settle

from proctor.llm.fence import FENCE_FILE
from proctor_rehearsal.players.player import Rehearsal
from proctor_rehearsal.standin import Standin
from proctor_rehearsal.standin.script import Latency, Script

FILES = ("documents.jsonl", "documents.attempts.jsonl", "documents.json")


@pytest.fixture(scope="module")
def lives() -> Iterator[Lives]:
    made = Lives("tests.ask.documents.killed:live")
    yield made
    made.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Standin]:
    script = Script(seed=1, latency=Latency(low=0.01, high=0.2))
    with Standin(script, answer=Rehearsal(tmp_path, quality=0.8)) as running:
        yield running
        assert running.errors == []


def workspace(folder: Path) -> Path:
    folder.mkdir()
    (folder / FENCE_FILE).write_text("0123456789abcdef" * 4)
    return folder


def written(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}


def test_killed_again_and_again_it_ends_as_if_nothing_had_happened(
    lives: Lives, server: Standin, tmp_path: Path
) -> None:
    calm, rough, printed = workspace(tmp_path / "calm"), workspace(tmp_path / "rough"), tmp_path / "printed"
    assert lives.ended(lives.start(printed, calm, server.url)) == 0, printed.read_text()
    once, expected = settle(server), written(calm)
    assert set(expected) == set(FILES)
    assert once == answered(outcomes(calm)), "every call was made once"
    assert once.total() >= 120
    server.reset()

    def check() -> None:
        assert written(rough).items() <= expected.items(), "a file is half-written"

    def start() -> int:
        return lives.start(printed, rough, server.url)

    end_many_lives(lives, start, rough, server, once, printed=printed, check=check)
    assert written(rough) == expected
