"""Every stage killed at random points, and on a disk that is full: old files survive, doing it again ends the same."""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.records import read_json, read_jsonl
from proctor.verify.store import VerdictStore

Stages = dict[str, Callable[[Path], Any]]
Contents = Callable[[Path], dict[str, bytes]]

NAMES = ("read", "derive", "generate", "verify", "build", "predict", "judge", "score", "report")
TOUCHES = ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree", "sqlite3.connect")
POINTS = 3


def count_touches(root: Path, at: Callable[[int], None]) -> None:
    """From now on call ``at`` with 1, 2, 3, ... before this process touches a file below ``root``."""
    number, place = 0, str(root)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal number
        if event in TOUCHES and arguments and place in str(arguments[0]):
            number += 1
            at(number)

    sys.addaudithook(hook)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("name", NAMES)
def test_killed_anywhere_and_done_again_is_as_if_nothing_had_happened(
    name: str, stages: Stages, fresh: Callable[[], Path], in_child: Callable[..., Any], contents: Contents
) -> None:
    stage = stages[name]
    home = fresh()
    before = contents(home / "bench")

    def count(tell: Callable[[dict[str, Any]], None]) -> None:
        last = [0]
        count_touches(home / "bench", lambda n: last.__setitem__(0, n))
        stage(home)
        tell({"touches": last[0]})

    report = in_child(count).report
    assert "touches" in report, report
    expected = contents(home / "bench")
    assert expected != before or name == "judge", (
        "the stage has to write something new, or this tests nothing"
    )

    rng = random.Random(name)
    total = report["touches"]
    for point in sorted(rng.sample(range(1, total + 1), min(POINTS, total))):
        home = fresh()

        def killed(tell: Callable[[dict[str, Any]], None], point: int = point, home: Path = home) -> None:
            def at(number: int) -> None:
                if number == point:
                    die()

            count_touches(home / "bench", at)
            stage(home)

        assert in_child(killed).signal == signal.SIGKILL
        half = contents(home / "bench")
        for file in half:
            assert half[file] in (before.get(file), expected.get(file)), f"{file} is half-written at {point}"
            parse(home / "bench" / file)
        stage(home)
        after = contents(home / "bench")
        assert [n for n in after.keys() | expected.keys() if after.get(n) != expected.get(n)] == []


def parse(path: Path) -> None:
    """Every file is whole: JSON decodes, a page ends."""
    if path.suffix == ".jsonl":
        read_jsonl(path)
    elif path.suffix == ".json":
        read_json(path)
    elif path.suffix == ".html":
        assert path.read_bytes().rstrip().endswith(b"</html>")


@pytest.mark.parametrize("judged", [1, 6, 7, 8, 20, 39])
def test_verdicts_that_were_acknowledged_are_kept_once(
    judged: int,
    stages: Stages,
    fresh: Callable[[], Path],
    in_child: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from proctor.stages import verify
    from proctor.verify.oracle.annotator import Oracle

    home = fresh()
    path = home / "bench/verification.sqlite"
    path.unlink()
    monkeypatch.setattr(verify, "_SAVE_EVERY", 7)

    def work(tell: Callable[[dict[str, Any]], None]) -> None:
        real_judge, real_append, seen, saved = Oracle.judge, VerdictStore.append_many, [0], [0]

        def judge(*arguments: Any) -> Any:
            seen[0] += 1
            if seen[0] == judged:
                die()
            return real_judge(*arguments)

        def append(self: VerdictStore, verdicts: Any) -> Any:
            kept = list(verdicts)
            result = real_append(self, kept)
            saved[0] += len(kept)
            tell({"saved": saved[0]})
            return result

        Oracle.judge, VerdictStore.append_many = judge, append  # type: ignore[method-assign,assignment]
        stages["verify"](home)

    ended = in_child(work)
    assert ended.signal == signal.SIGKILL
    acknowledged = ended.report.get("saved", 0)
    assert acknowledged == (judged - 1) // 7 * 7
    assert stored(path) == acknowledged
    result = stages["verify"](home)
    candidates = len(read_jsonl(home / "bench/candidates.jsonl"))
    assert stored(path) == candidates
    assert result.judged_now == candidates - acknowledged
    with VerdictStore.open(path, create=False) as store:
        assert set(Counter(v.candidate_id for v in store.latest()).values()) == {1}


def test_another_threshold_is_applied_to_every_candidate_once(
    stages: Stages, fresh: Callable[[], Path]
) -> None:
    from proctor.stages.verify import verify

    bench = fresh() / "bench"
    asked = [verify(bench, threshold=0.95, limit=25).judged_now for _ in range(3)]
    assert asked == [25, 15, 0]
    with VerdictStore.open(bench / "verification.sqlite", create=False) as store:
        notes = {v.note for v in store.latest()}
    assert len(notes) == 1
    assert "threshold 0.95" in notes.pop()


def stored(path: Path) -> int:
    """Count the rows as SQLite itself sees them; 0 if there is no store yet."""
    if not path.exists():
        return 0
    connection = sqlite3.connect(path)
    try:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
        if "proctor_verdicts" not in names:
            return 0
        return int(connection.execute("SELECT count(*) FROM proctor_verdicts").fetchone()[0])
    finally:
        connection.close()


@pytest.mark.parametrize("limit", [0, 5_000])
@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk(
    name: str,
    limit: int,
    stages: Stages,
    fresh: Callable[[], Path],
    in_child: Callable[..., Any],
    contents: Contents,
) -> None:
    """No file may grow beyond a limit, as on a full disk: the stage says so and every old file is whole."""
    home = fresh()
    before = contents(home / "bench")

    def work(tell: Callable[[dict[str, Any]], None]) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        stages[name](home)
        tell({"done": True})

    report = in_child(work).report
    assert "bug" not in report, report["bug"]
    message = report.get("user_error", "")
    assert message, "the limit is below what every stage writes"
    assert str(home / "bench") in message
    assert "→" in message
    after = contents(home / "bench")
    assert after.keys() >= before.keys()
    for file in after:
        parse(home / "bench" / file)
        # A file that still fits may be new; none is cut short.
        assert after[file] == before.get(file) or len(after[file]) <= limit
    assert list((home / "bench").rglob(".*.tmp")) == []
    stages[name](home)


def test_a_demo_that_was_killed_goes_on(
    tmp_path: Path, in_child: Callable[..., Any], contents: Contents
) -> None:
    from contextlib import nullcontext

    from proctor.stages.demo import demo

    def run(folder: Path) -> Any:
        return demo(folder, show=lambda title, total=None: nullcontext(lambda: None), video=False, seed=0)

    folder = tmp_path / "demo"
    run(folder)
    expected = contents(folder)
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()

    def killed(tell: Callable[[dict[str, Any]], None]) -> None:
        def hook(event: str, arguments: tuple[object, ...]) -> None:
            if event == "os.rename" and "items" in str(arguments[1]):
                die()

        sys.addaudithook(hook)
        run(folder)

    assert in_child(killed).signal == signal.SIGKILL
    run(folder)
    assert contents(folder) == expected
