"""The pages of the data sets are those of their declarations, and their commands and Python run on the small files of the tests."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.test_datasets_get import DATA, TEA
from tests.docs.outsider import run_python, shown, type_all, types

from proctor.datasets.dataset import Dataset, Published, ReadResult, dataset_names, load_dataset
from proctor.samples import copy_sample

ROOT = Path(__file__).resolve().parents[2]

BY_HAND = ROOT / "tests" / "data" / "datasets"
PAGES = [f"datasets/{name}.md" for name in dataset_names() if name != "plain"]


def _render_page(dataset: Dataset) -> str:
    path = ROOT / "scripts" / "datasets_page.py"
    spec = importlib.util.spec_from_file_location("datasets_page", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text: str = module.render_page(dataset)
    return text


def test_the_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "write-datasets", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", dataset_names())
def test_a_page_says_what_is_read_and_on_what_the_reader_was_tried(name: str) -> None:
    page = (ROOT / "docs" / "datasets" / f"{name}.md").read_text(encoding="utf-8")
    declared = load_dataset(name)
    if name == "plain":  # written by hand, for people who bring their own
        return
    for file in declared.files:
        assert f"`{file.path}`" in page
    assert declared.licence.replace("|", "\\|") in page
    if declared.seen == "fields":
        assert "made by hand from the documented fields" in page


def test_text_of_a_declaration_stays_in_its_cell() -> None:
    declared = Dataset(
        name="x",
        title="A | B",
        version="1\n2",
        licence="MIT",
        citation="c",
        homepage="h",
        files=(),
        read=lambda root: ReadResult((), {}),
        check=lambda root: (),
        published=(Published("mean_step_seconds", 52.784, "Table 2", "a | b", digits=2),),
    )
    page = _render_page(declared)
    assert "# A \\| B" in page
    assert "| mean step seconds | 52.78 | Table 2 | a \\| b |" in page


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the tests' data sets in ``data``."""
    (tmp_path / "data").symlink_to(BY_HAND)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@types(*PAGES)
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_data_set(page: str, home: Path) -> None:
    type_all(shown(page)[0], home, FOLDER=f"data/{Path(page).stem}")
    assert Path("bench").is_dir() == (load_dataset(Path(page).stem).kind == "recordings")


@types("datasets.md")
def test_from_a_data_set_to_a_benchmark(home: Path) -> None:
    commands, (ours, theirs) = shown("datasets.md")
    type_all(commands, home)
    copy_sample(Path("my-recordings"))
    assert run_python(ours)["result"].recordings
    assert "log" in run_python(theirs, {"folder": home / "data" / "goalstep", "Path": Path})


@types("clips.md")
def test_clips_of_long_videos(home: Path) -> None:
    pytest.importorskip("av", reason="the extra 'video' is not installed")
    from tests.media.make_video import make_grey_video

    copy_sample(Path("bird-boxes"))
    (Path("bird-boxes") / "videos").mkdir()
    make_grey_video(Path("bird-boxes/videos/lamp_1.mp4"), 84)
    commands, (code,) = shown("clips.md")
    type_all(commands, home)
    run_python(code)
    assert any(Path("asked").glob("*.mp4"))
    assert Path("bench/prefixes.jsonl").read_text().count("\n") > 20


@types("datasets-get.md", commands="NAME")
def test_the_files_of_a_data_set_with_addresses(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.datasets.dataset.load_dataset", lambda _: TEA)
    monkeypatch.setattr("proctor.cli.data.get._ask", lambda: None)  # who reads it agrees
    (home / "copy" / "sub").mkdir(parents=True)
    (home / "copy" / "sub" / "a.bin").write_bytes(DATA)
    commands = [line for line in shown("datasets-get.md")[0] if "NAME" in line]
    commands.sort(key=lambda line: "COPY" not in line)  # nothing is left to be fetched from elsewhere
    type_all(commands, home, NAME="tea", FOLDER="new", COPY="copy")
    assert Path("new/sub/a.bin").read_bytes() == DATA


@pytest.mark.shared
@types("datasets-get.md", commands="captaincook4d")
def test_the_files_of_a_data_set_from_a_copy(
    home: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.cli.data.get._ask", lambda: None)
    Path("data").unlink()
    (home / "Downloads").mkdir()
    (home / "Downloads" / "annotations").symlink_to(shared_data / "captaincook4d")
    type_all(shown("datasets-get.md")[0][-1:], home)
    assert load_dataset("captaincook4d").changed_files(Path("data/captaincook4d")) == ()
