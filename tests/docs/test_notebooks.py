"""The notebooks of the quick starts are kept without outputs, and run in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.outsider import DOCS, Outsider

nbformat = pytest.importorskip("nbformat", reason="needs nbformat")
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs_and_with_ids_by_number(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    assert [cell.id for cell in cells] == [f"cell-{n}" for n in range(1, len(cells) + 1)]
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]
    assert any(f"(notebooks/{path.name})" in page.read_text("utf-8") for page in DOCS.glob("quickstart-*.md"))


@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = pytest.importorskip("nbclient", reason="needs nbclient")
    pytest.importorskip("ipykernel", reason="needs ipykernel")
    pytest.importorskip("pdfplumber", reason="needs the extra corpus")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / ".ipython"))
    monkeypatch.setenv("PYTHONPATH", Outsider("index.md", tmp_path).environment["PYTHONPATH"])
    notebook = nbformat.read(path, as_version=4)
    client.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert (
        any("annotations" in o.data.get("text/html", "") for o in outputs if "data" in o)
        or (tmp_path / "bench" / "report.html").is_file()
    )
    begin = next(cell.source for cell in notebook.cells if cell.cell_type == "code")
    monkeypatch.chdir(tmp_path)
    exec(begin, {})  # and again: what it copied may stay
