"""The whole styled experiment, killed at random points: nothing that was kept is asked again, and the end is the same bytes.

The models are played in this process; each run is a process of its own that is killed as a machine that loses its power.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lives import Lives

from proctor.llm.store import CallStore
from proctor_rehearsal.players.player import rehearse

KILLS = max(1, int(os.environ.get("PROCTOR_KILLS", "5")) // 5)
"""Each takes seconds; with the variable at 100 it is the whole proof."""
CONNECTIONS = 2


def documents(folder: Path) -> Path:
    from PIL import Image

    folder.mkdir()
    for n, name in enumerate(("Arlen", "Borga", "Calder", "Dunmore", "Esker")):
        facts = " ".join(
            f"In {1200 + 31 * n + k} the council of {name} built {n + k} mills." for k in range(6)
        )
        rows = "\n".join(
            f"| {name} {part} | {n * 7 + k} |" for k, part in enumerate(("east", "west", "port"))
        )
        (folder / f"{name}.md").write_text(f"# {name}\n\n{facts}\n\n| Ward | Houses |\n|---|---|\n{rows}\n")
        Image.new("RGB", (64, 48), (40 * n, 90, 200 - 30 * n)).save(folder / f"{name} at dusk.png")
    return folder


def results(workspace: Path) -> dict[str, bytes]:
    """All files but the stores that only grow (calls, vectors) and what a killed writer left behind.

    A kill between a vector's row and its place in the index leaves a row that nothing points to.
    """
    return {
        str(p.relative_to(workspace)): p.read_bytes()
        for p in sorted(workspace.rglob("*"))
        if p.is_file()
        and ".sqlite" not in p.name
        and not any(part == "vectors" or part.startswith(".") for part in p.relative_to(workspace).parts)
    }


def kept(workspace: Path) -> int:
    """How many calls the store of a workspace holds."""
    if not (workspace / "calls.sqlite").exists():
        return 0
    with CallStore.open(workspace / "calls.sqlite") as store:
        return len(store)


@pytest.fixture(scope="module")
def lives() -> Iterator[Lives]:
    made = Lives("tests.stages.documents.killed:live")
    yield made
    made.close()


@pytest.mark.skipif(os.name != "posix", reason="processes are killed")
def test_killed_again_and_again_it_ends_in_the_same_bytes(lives: Lives, tmp_path: Path) -> None:
    docs, w = documents(tmp_path / "docs"), tmp_path / "w"
    with rehearse(w, quality=0.8, seed=0) as server:
        model, key = f"compat/m@{server.url}/v1", server.environment["OPENAI_API_KEY"]

        def run(patience: float | None = None) -> int | None:
            process = lives.start(tmp_path / "printed", w, docs, model, key, CONNECTIONS)
            if patience is None:
                return lives.ended(process)
            time.sleep(patience)
            return lives.kill(process)

        begin = time.monotonic()
        assert run() == 0, (tmp_path / "printed").read_text()
        whole = time.monotonic() - begin
        expected, asked = results(w), server.count
        assert {
            "documents.jsonl",
            "report.html",
            "overlap.json",
            "retrieval/styled/table.json",
        } <= expected.keys()
        secret = (w / "prompt-secret").read_bytes()
        shutil.rmtree(w)
        w.mkdir()
        (w / "prompt-secret").write_bytes(secret)  # keys of requests depend on it
        (w / "prompt-secret").chmod(0o600)
        chance = random.Random(7)
        for _ in range(KILLS):
            run(whole * chance.uniform(0.15, 0.9))
        stored, sent = kept(w), server.count
        assert run() == 0
        again = server.count - sent
    assert results(w) == expected
    lacking = kept(w) - stored
    # A request of the killed life may reach the server after its death.
    assert lacking <= again <= lacking + CONNECTIONS, "only calls whose reply was lost are sent again"
    assert kept(w) <= asked
