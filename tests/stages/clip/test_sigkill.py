"""SIGKILL at seeded points of the whole experiment: no stored call is made again, and the end is the same to the byte."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lives import Lives, answered, end_many_lives, outcomes, settle
from tests.stages.clip.material import MADE, fingerprints, row, write_rows

from proctor.llm.fence import FENCE_FILE
from proctor_rehearsal.players import rehearse
from proctor_rehearsal.standin.script import Latency


@pytest.fixture(scope="module")
def lives() -> Iterator[Lives]:
    made = Lives("tests.stages.clip.killed:live")
    yield made
    made.close()


def begin(workspace: Path) -> Path:
    workspace.mkdir()
    (workspace / FENCE_FILE).write_text("0123456789abcdef" * 4)
    return workspace


def test_killed_again_and_again_it_ends_as_if_nothing_had_happened(lives: Lives, tmp_path: Path) -> None:
    data, printed = write_rows(tmp_path / "data", [row(n) for n in range(4)]), tmp_path / "printed"
    place = tmp_path / "bench"  # of both, since played models look into it
    with rehearse(place, quality=0.9, seed=3, latency=Latency(low=0.01, high=0.1)) as server:

        def start() -> int:
            return lives.start(printed, place, data, server.url)

        begin(place)
        assert lives.ended(start()) == 0, printed.read_text()
        once, expected = settle(server), fingerprints(place)
        assert expected.keys() >= set(MADE)
        assert len([n for n in expected if n.startswith("runs/")]) >= 10
        assert once == answered(outcomes(place)), "every call was made once"
        assert once.total() >= 45
        shutil.rmtree(place)
        server.reset()
        end_many_lives(lives, start, begin(place), server, once, printed=printed)
        assert fingerprints(place) == expected
        assert server.errors == []
