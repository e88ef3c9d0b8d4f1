"""The pages of the data sets are those of their declarations."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.datasets.dataset import Dataset, Published, ReadResult, dataset_names, load_dataset

ROOT = Path(__file__).resolve().parents[2]


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
