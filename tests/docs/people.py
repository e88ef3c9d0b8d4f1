"""People of a page: they do the tasks of a round, in the studio's store, and open the studio."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest

from proctor.stages.studio import open_desk
from proctor.studio.slices import keep_slice
from proctor.verify.desk import documents, people, rounds, tasks, work
from proctor.verify.rounds.record import CHECKS

__all__ = ["Says", "opened_studios", "perform", "take_part"]

Says = Callable[[tasks.Asked, str], dict[str, Any]]
"""What a person hands in for a task; the second is the id under which the studio keeps sound and video of their work."""


def take_part(bench: Path, round_: str, *who: str, says: Says, outside: bool = False) -> int:
    """Let people take a batch of a round, one after the other, and hand in every task of it; return how many they were.

    Args:
        bench: the workspace.
        round_: by name.
        who: names, made the first time.
        says: what each hands in.
        outside: they come from a platform and have no account.
    """
    done = 0
    with open_desk(bench, None, create=False) as desk:

        def do(function: Any, *args: Any, **more: Any) -> Any:
            return desk.write(lambda c: function(desk, c, *args, **more)).result()

        found, protocol = desk.read(lambda c: rounds.round_named(c, round_)), desk.read(documents.protocol)
        for name in who:
            new = {"handle": name, "name": name, "role": "annotator", "actor": "test", "gate": "open"}
            person: Any = desk.read(lambda c, n=name: people.by_handle(desk, c, n))
            person = person or (do(rounds.worker, name) if outside else do(people.add, **new))
            batch = do(rounds.open_batch, found, person)
            assert batch is not None, f"{name} gets nothing in the round {round_}"
            while pid := desk.read(lambda c, b=batch: rounds.count_batch(c, b).following):
                mine = desk.read(lambda c, p=pid, w=person: work.own_assignment(c, p, w))
                asked = desk.read(lambda c, m=mine: tasks.asked_of(c, m))
                sheet = msgspec.Raw(msgspec.json.encode(says(asked, pid)))
                do(work.submit, pid, person, sheet=sheet, rev=0, key=f"key-{pid}", active_ms=60_000, protocol=protocol)  # fmt: skip
                done += 1
    return done


def perform(bench: Path, video: bytes) -> Says:
    """Return what participants hand in for recordings: all done as planned, with a slice of video."""

    def says(asked: tasks.Asked, pid: str) -> dict[str, Any]:
        kept = keep_slice(
            bench / "studio", pid, "tablet-1", 1, video, kind="video/webm", perf_ns=1,
            sha256=hashlib.sha256(video).hexdigest(),
        )  # fmt: skip
        assert kept == "new"
        script = asked.body.script
        about = {"clock": "tablet:1", "wall": "2026-12-01T10:00:00Z"}
        said = [("state", "recording", ""), *(("step_done", "", s.step) for s in script.steps), ("state", "stopped", "")]  # fmt: skip
        events = [
            {"n": n, "kind": kind, "text": text, "step": step, "device_ns": n * 10**9, **about}
            for n, (kind, text, step) in enumerate(said)
        ]
        review = [{"step": s.step} for s in script.steps]
        review += [{"step": step, "as_planned": True, "done": False} for step in script.left_out]
        return {
            "stage": "review", "ready": [*CHECKS], "events": events, "slices": {"tablet-1": 1}, "review": review,
        }  # fmt: skip

    return says


@contextmanager
def opened_studios() -> Iterator[list[str]]:
    """Let ``proctor studio`` end when somebody has opened its first page, where it would serve on; yield what the pages were."""
    pytest.importorskip("starlette", reason="the extra 'studio' is not installed")
    from starlette.testclient import TestClient

    from proctor.studio import server

    pages: list[str] = []
    bind = server.bind

    def serve(app: Any, listening: Any, *, ready: Callable[[], None], **_: Any) -> None:
        ready()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with TestClient(app, base_url=address, headers={"Accept": "text/html"}) as browser:
            pages.append(browser.get("/").text)

    with patch.object(server, "bind", lambda host, _: bind(host, 0)), patch.object(server, "serve", serve):
        yield pages
