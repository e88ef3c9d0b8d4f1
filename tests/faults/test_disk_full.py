"""No space: for the call store, for the files of a stage. A clear error, what was there is whole, and it goes on later.

Twice over: files that may not grow beyond a limit (the system's own limit on the size of files, everywhere), and a small
file system of our own that is really full (where this user may mount one).
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import proctor

from proctor.records import read_json, read_jsonl

STAGES = ("generate", "predict", "judge")
Contents = Callable[[Path], dict[str, bytes]]
Check = Callable[[str], bool]


def cases(*sizes: int) -> list[tuple[str, int]]:
    """Give one stage all sizes and the others every second one: the store and the writer of files are the same for all."""
    return [(stage, size) for stage in STAGES for size in (sizes if stage == "predict" else sizes[::2])]


def arguments(stage: str, bench: Path, models: Any) -> list[object]:
    match stage:
        case "generate":
            return ["generate", bench, "--generator", models.name("asker"), "--sample", "all", "--limit", 48]
        case "predict":
            return ["predict", bench, "-p", models.name("answerer"), "--run", "toy"]
        case _:
            return ["judge", bench, "--judge", models.name("marker"), "--run", "toy"]


@pytest.fixture(scope="module")
def calm(built: Path, tmp_path_factory: pytest.TempPathFactory, calmed: Callable[[], Any]) -> dict[str, Path]:
    """The benchmark before each stage, and after the last; not to be changed."""
    server = calmed()
    home = tmp_path_factory.mktemp("calm")
    last = built
    found = {}
    for stage in ("predict", "judge"):
        found[stage] = Path(shutil.copytree(last, home / stage))
        last = Path(shutil.copytree(last, home / f"after-{stage}"))
        names = type("Names", (), {"name": staticmethod(lambda role: f"compat/{role}@{server.url}/v1")})
        assert proctor(*arguments(stage, last, names)).status == 0
        (last / "calls.sqlite").unlink()
    return {**found, "generate": built, "done": last}


def whole(root: Path, contents: Contents) -> dict[str, bytes]:
    """Return the files of a workspace, each of which can be read."""
    found = contents(root)
    for name in found:
        if name.endswith(".jsonl"):
            read_jsonl(root / name)
        elif name.endswith(".json"):
            read_json(root / name)
    assert not list(root.rglob(".*.tmp"))
    return found


def is_told(ended: Any, root: Path, is_clean: Check) -> None:
    """The command says which file it could not write, and how it goes on."""
    assert ended.status == 2, ended.err
    assert str(root) in ended.err, ended.err
    assert "→" in ended.err
    assert is_clean(ended.err), ended.err


@pytest.mark.parametrize(("stage", "limit"), cases(0, 3_000, 70_000, 200_000))
def test_a_limit_on_the_size_of_files(
    stage: str,
    limit: int,
    calm: dict[str, Path],
    tmp_path: Path,
    models: Any,
    launcher: Any,
    contents: Contents,
    is_clean: Check,
    stored: Callable[[Path], int],
) -> None:
    root = Path(shutil.copytree(calm[stage], tmp_path / "bench"))
    before = contents(root)
    line = arguments(stage, root, models)
    is_told(launcher.run(*line, fsize=limit), root, is_clean)
    after = whole(root, contents)
    assert after.keys() >= before.keys()
    # Only a file that fits may be new.
    assert all(data == before.get(name) or len(data) <= limit for name, data in after.items())
    paid = models.settle()
    kept = stored(root / "calls.sqlite")
    assert proctor(*line).status == 0
    assert len(models.settle()) == models.server.count - (sum(paid.values()) - kept)
    if stage != "generate":
        done = contents(calm["done"])
        name = "runs/toy/predictions.jsonl" if stage == "predict" else "runs/toy/judgements.jsonl"
        assert contents(root)[name] == done[name]


# -- a file system that is full ------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("needs to mount a file system of its own")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path, *, leave: int) -> Path:
    """Take all room but so many bytes."""
    ballast = place / "ballast"
    free = shutil.disk_usage(place).free
    ballast.write_bytes(b"\0" * max(0, free - leave))
    return ballast


@pytest.mark.parametrize(("stage", "leave"), cases(0, 30_000, 400_000))
def test_a_file_system_that_is_full(
    stage: str,
    leave: int,
    calm: dict[str, Path],
    small: Path,
    models: Any,
    launcher: Any,
    contents: Contents,
    is_clean: Check,
) -> None:
    root = Path(shutil.copytree(calm[stage], small / "bench"))
    before = contents(root)
    line = arguments(stage, root, models)
    ballast = fill(small, leave=leave)
    ended = launcher.run(*line)
    if ended.status:
        is_told(ended, root, is_clean)
        after = whole(root, contents)
        assert after.keys() >= before.keys()
    else:
        assert leave == 400_000, "so little room cannot be enough"
    paid = Counter(models.settle())
    ballast.unlink()
    again = proctor(*line)
    assert again.status == 0, again.err
    if stage != "generate":
        name = "runs/toy/predictions.jsonl" if stage == "predict" else "runs/toy/judgements.jsonl"
        assert contents(root)[name] == contents(calm["done"])[name]
    counts = models.settle()
    assert max(counts.values()) <= 2
    assert sum(n == 2 for n in counts.values()) <= sum(paid.values())


@pytest.mark.parametrize("stage", STAGES)
def test_paid_for_but_no_room_for_the_results(
    stage: str,
    calm: dict[str, Path],
    small: Path,
    tmp_path: Path,
    models: Any,
    launcher: Any,
    contents: Contents,
    is_clean: Check,
) -> None:
    """The store is elsewhere and has room; the results have none. Nothing is paid for again."""
    root = Path(shutil.copytree(calm[stage], tmp_path / "bench"))
    before = contents(root)
    assert proctor(*arguments(stage, root, models)).status == 0
    expected = contents(root)
    models.server.reset()
    rough = Path(shutil.copytree(calm[stage], small / "bench"))
    line = [*arguments(stage, rough, models), "--calls", tmp_path / "elsewhere.sqlite"]
    for leave in (0, 5_000, 9_000):
        ballast = fill(small, leave=leave)
        is_told(launcher.run(*line), rough, is_clean)
        ballast.unlink()
        after = whole(rough, contents)
        after.pop("ballast", None)
        assert all(data in (before.get(name), expected.get(name)) for name, data in after.items())
    needed = models.settle()
    assert len(needed) > 40
    assert proctor(*line).status == 0
    assert contents(rough) == expected
    assert models.settle() == needed
    assert set(needed.values()) == {1}
