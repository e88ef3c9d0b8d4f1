"""The command line in this process, and a small workspace in which every stage has been done."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.typed import Outcome, proctor

from proctor.samples import copy_sample


@pytest.fixture(scope="session", name="proctor")
def proctor_fixture() -> Callable[..., Outcome]:
    """The function ``proctor``: tests cannot import from here."""
    return proctor


JOB = (
    ("derive",),
    ("generate", "--sample", "all", "--limit", "40"),
    ("verify",),
    ("build",),
    ("predict", "-p", "constant", "-p", "annotations"),
    ("judge",),
    ("score", "--resamples", "200"),
    ("report",),
)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``sample`` (the data) and ``bench`` (all stages done); not to be changed."""
    home = tmp_path_factory.mktemp("job")
    copy_sample(home / "sample")
    bench = home / "bench"
    steps = [("read", "plain", home / "sample", bench), *((c, bench, *flags) for c, *flags in JOB)]
    for step in steps:
        outcome = proctor(*step)
        assert outcome.status == 0, outcome.err
    return home


@pytest.fixture(scope="session")
def workshop(finished: Path) -> tuple[Path, dict[str, bytes | None]]:
    """A copy of ``finished`` to be broken and mended again, and what belongs in it (None for folders).

    Mending is several times faster than a copy for each of a thousand tests: files are slow to delete.
    """
    home = Path(shutil.copytree(finished, finished.with_name(f"{finished.name}-broken")))
    files = {str(p.relative_to(home)): p.read_bytes() if p.is_file() else None for p in home.rglob("*")}
    return home, files


@pytest.fixture
def home(workshop: tuple[Path, dict[str, bytes | None]]) -> Iterator[Path]:
    """A folder like ``finished`` to be broken."""
    place, files = workshop
    yield place
    mend(place, files)


def mend(place: Path, files: dict[str, bytes | None]) -> None:
    """Remove what does not belong, then write what is missing or different."""
    for path in sorted(place.rglob("*"), reverse=True):
        wanted = files.get(str(path.relative_to(place)), b"")
        known = str(path.relative_to(place)) in files
        if path.is_symlink() or not path.is_dir():
            if not known or wanted is None or path.is_symlink() or not path.is_file():
                path.unlink()
        elif not known or wanted is not None:
            shutil.rmtree(path)
    for name, data in sorted(files.items()):
        path = place / name
        if data is None:
            path.mkdir(exist_ok=True)
        elif not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)


@pytest.fixture
def bench(home: Path) -> Path:
    """A workspace to be broken."""
    return home / "bench"


def contents(root: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes; links, hidden files and SQLite's own files included."""
    return {
        str(p.relative_to(root)): b"->" if p.is_symlink() else p.read_bytes()
        for p in sorted(root.rglob("*"))
        if p.is_symlink() or p.is_file()
    }


@pytest.fixture(scope="session", name="contents")
def contents_fixture() -> Callable[[Path], dict[str, bytes]]:
    """The function ``contents``: tests cannot import from here."""
    return contents
