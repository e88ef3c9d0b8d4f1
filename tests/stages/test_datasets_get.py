"""Fetching a data set: what is shown, and what is then done."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from proctor.cli.data.get import _plain as describe_plan
from proctor.datasets.dataset import DataFile, Dataset, Download, ReadResult, dataset_names, load_dataset
from proctor.errors import UserError
from proctor.stages.datasets_get import get_files, plan_get, render_plan, show_bytes

TEXT = b'{"steps": []}'


@pytest.fixture
def dataset() -> Dataset:
    return Dataset(
        name="tea",
        title="Tea ceremonies",
        version="1",
        licence="CC-BY-4.0",
        citation="us",
        homepage="https://tea.example",
        files=(),
        read=lambda *_, **__: ReadResult((), {}),
        check=lambda _: (),
        access="Open; the videos need a signature.",
        downloads=(
            Download("https://tea.example/a.json", "a.json", len(TEXT), hashlib.sha256(TEXT).hexdigest()),
            Download("https://tea.example/b.json?key=hush", "sub/b.json"),
        ),
    )


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    folder = tmp_path / "mirror"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.json").write_bytes(TEXT)
    (folder / "sub/b.json").write_bytes(b"2")
    return folder


def test_everything_that_matters_is_shown(dataset: Dataset, tmp_path: Path) -> None:
    text = render_plan(plan_get(dataset, tmp_path / "new"))
    for part in (
        "Tea ceremonies",
        "CC-BY-4.0",
        "Open; the videos need a signature.",
        "https://tea.example/a.json",
        "13 bytes",
        "size unknown",
        "no checksum is declared",
        "2 files, 13 bytes and 1 of unknown size",
    ):
        assert part in text
    assert "hush" not in text
    assert "hush" not in str(describe_plan(plan_get(dataset, tmp_path / "new")))
    assert not (tmp_path / "new").exists()


def test_without_downloads_the_way_to_get_it_is_told(dataset: Dataset, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        plan_get(replace(dataset, downloads=()), tmp_path)
    assert "the videos need a signature" in str(caught.value)
    assert "https://tea.example" in str(caught.value)


def test_without_downloads_the_files_of_the_reader_are_taken_from_a_copy(
    dataset: Dataset, mirror: Path, tmp_path: Path
) -> None:
    right = hashlib.sha256(TEXT).hexdigest()
    files = (
        DataFile("a.json", "a", right),
        DataFile("sub/*.json", "b"),
        DataFile("no.csv", "n", required=False),
    )
    plain = replace(dataset, downloads=(), files=files)
    (mirror / "other.json").write_bytes(b"3")
    plan = plan_get(plain, tmp_path / "new", source=str(mirror))
    told = {f.path: f.checked for f in get_files(plan).fetched}
    assert told == {"a.json": True, "sub/b.json": False}
    assert (tmp_path / "new/a.json").read_bytes() == TEXT
    with pytest.raises(UserError, match=r"Needed: a\.json, sub/\*\.json"):
        plan_get(plain, tmp_path / "x")
    with pytest.raises(UserError, match=r"not known beforehand: sub/\*\.json"):
        plan_get(plain, tmp_path / "x", source="https://tea.example/mirror")
    one = replace(plain, files=files[:1])
    (planned,) = plan_get(one, tmp_path / "x", source="https://tea.example/mirror").files
    assert (planned.wanted.url, planned.wanted.sha256) == ("https://tea.example/mirror/a.json", right)
    (mirror / "a.json").unlink()
    with pytest.raises(UserError, match=r"Tea ceremonies needs a\.json\."):
        plan_get(plain, tmp_path / "x", source=str(mirror))
    with pytest.raises(UserError, match=r"needs no\.csv"):
        plan_get(replace(plain, files=files[2:]), tmp_path / "x", source=str(mirror))
    with pytest.raises(UserError, match="no such folder"):
        plan_get(plain, tmp_path / "x", source=str(tmp_path / "nowhere"))


@pytest.mark.parametrize("name", dataset_names())
def test_every_shipped_data_set_says_what_it_needs(name: str, tmp_path: Path) -> None:
    known = load_dataset(name)
    with pytest.raises(UserError, match="--from") as raised:
        plan_get(known, tmp_path / "x")
    assert all(f.path in str(raised.value) for f in known.files if f.required)


def test_from_a_folder_and_again(dataset: Dataset, mirror: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    seen: list[Any] = []
    done = get_files(plan_get(dataset, folder, source=str(mirror)), seen=lambda *a: seen.append(a))
    assert [(f.path, f.checked) for f in done.fetched] == [("a.json", True), ("sub/b.json", False)]
    assert (folder / "a.json").read_bytes() == TEXT
    assert seen[0] == ("a.json", len(TEXT), len(TEXT))
    again = plan_get(dataset, folder, source=str(mirror))
    assert again.work == ()
    assert msgspec.to_builtins(get_files(again)) == {
        "dataset": "tea",
        "folder": str(folder),
        "fetched": [],
        "there": ["a.json", "sub/b.json"],
    }


def test_only_some(dataset: Dataset, mirror: Path, tmp_path: Path) -> None:
    done = get_files(plan_get(dataset, tmp_path / "new", only="sub/*", source=str(mirror)))
    assert [f.path for f in done.fetched] == ["sub/b.json"]
    assert not (tmp_path / "new/a.json").exists()


def test_what_is_in_the_way_is_told_before_anything_is_shown(
    dataset: Dataset, mirror: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_bytes(b"mine")
    with pytest.raises(UserError, match="--overwrite"):
        plan_get(dataset, tmp_path, source=str(mirror))
    plan = plan_get(dataset, tmp_path, source=str(mirror), overwrite=True)
    assert "will be REPLACED" in render_plan(plan)
    get_files(plan)
    assert (tmp_path / "a.json").read_bytes() == TEXT


def test_what_nobody_can_check_is_kept_or_fetched_anew(
    dataset: Dataset, mirror: Path, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/b.json").write_bytes(b"mine")
    plan = plan_get(dataset, tmp_path, only="b.json", source=str(mirror))
    assert plan.work == ()
    assert "no checksum" in render_plan(plan)
    get_files(plan_get(dataset, tmp_path, only="b.json", source=str(mirror), overwrite=True))
    assert (tmp_path / "sub/b.json").read_bytes() == b"2"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: replace(d, url="file:///etc/passwd"),
        lambda d: replace(d, url="http://tea.example/a"),
        lambda d: replace(d, url="https://127.0.0.1/a"),
        lambda d: replace(d, path="../a"),
        lambda d: replace(d, path="/etc/a"),
    ],
)
def test_a_declaration_that_may_not_be_used(
    spoil: Callable[[Download], Download], dataset: Dataset, tmp_path: Path
) -> None:
    with pytest.raises(UserError):
        plan_get(replace(dataset, downloads=(spoil(dataset.downloads[0]),)), tmp_path)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_500, "1.5 kB"),
        (999_960, "1.0 MB"),
        (10**9, "1.0 GB"),
        (5 * 10**15, "5,000.0 TB"),
    ],
)
def test_bytes_for_people(count: int, text: str) -> None:
    assert show_bytes(count) == text
