"""The notebooks of the quick starts run from an empty folder, and are kept without outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def _read(path: Path) -> Any:
    return pytest.importorskip("nbformat", reason="needs nbformat").read(path, as_version=4)


def test_there_is_one_for_each_quick_start() -> None:
    pages = (path.read_text(encoding="utf-8") for path in NOTEBOOKS[0].parents[1].glob("quickstart-*.md"))
    texts = "".join(pages)
    assert len(NOTEBOOKS) == 3
    assert all(f"(notebooks/{path.name})" in texts for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs_and_with_ids_by_number(path: Path) -> None:
    cells = _read(path).cells
    assert [cell.id for cell in cells] == [f"cell-{n}" for n in range(1, len(cells) + 1)]
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = pytest.importorskip("nbclient", reason="needs nbclient")
    pytest.importorskip("ipykernel", reason="needs ipykernel")
    if "documents" in path.stem:
        pytest.importorskip("pdfplumber", reason="needs the extra corpus")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / ".ipython"))
    monkeypatch.setenv("PYTHONPATH", _absolute_python_path())
    notebook = _read(path)
    client.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    last = next(o for o in reversed(outputs) if o.output_type == "execute_result")
    assert (tmp_path / "bench" / "report.html").is_file() or "<table" in last.data["text/html"]
    assert not [o for o in outputs if o.output_type == "stream" and o.name == "stderr" and "rror" in o.text]


def _absolute_python_path() -> str:
    import os

    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join(str(Path(one).resolve()) for one in given if one)
