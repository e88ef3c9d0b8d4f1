"""SIGKILL at seeded points of a zero-shot run: no stored call is made again, and the files are the same to the byte."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lives import Lives, answered, end_many_lives, outcomes, settle

from proctor.llm.fence import FENCE_FILE
from proctor_rehearsal.players import rehearse
from proctor_rehearsal.standin.script import Latency

KEPT = ("predictions.jsonl", "validation.jsonl", "templates.json", "figures.json", "run.json", "page.html")


@pytest.fixture
def lives() -> Iterator[Lives]:
    made = Lives("tests.stages.learn.killed:live")
    yield made
    made.close()


def begin(out: Path) -> Path:
    out.mkdir()
    (out / FENCE_FILE).write_text("0123456789abcdef" * 4)
    return out


@pytest.mark.shared
def test_killed_again_and_again_it_ends_as_if_nothing_had_happened(
    lives: Lives, shared_data: Path, tmp_path: Path
) -> None:
    out, printed = tmp_path / "run", tmp_path / "printed"
    with rehearse(out, quality=0.7, latency=Latency(low=0.01, high=0.1)) as server:

        def start() -> int:
            return lives.start(printed, out, shared_data / "captaincook4d", server.url)

        begin(out)
        assert lives.ended(start()) == 0, printed.read_text()
        once, expected = settle(server), {name: (out / name).read_bytes() for name in KEPT}
        assert once == answered(outcomes(out)), "every call was made once"
        assert once.total() >= 60
        shutil.rmtree(out)
        server.reset()
        end_many_lives(lives, start, begin(out), server, once, printed=printed)
        assert {name: (out / name).read_bytes() for name in KEPT} == expected
        assert server.errors == []
