"""The three quick starts and the cookbook run as they are typed, in a folder with nothing in it, without a network."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.docs.outsider import Outsider, shown, types

from proctor_rehearsal.standin import Standin

QUICK = [
    ("quickstart-model.md", 3, "mine"),
    ("quickstart-recordings.md", 6, "first"),
    ("quickstart-documents.md", 5, "manuals-bench"),
]
"""Each page with the number of its commands and its workspace."""


@types(*(page for page, *_ in QUICK))
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("page", "commands", "bench"), QUICK)
def test_a_quick_start_runs_as_typed(tmp_path: Path, page: str, commands: int, bench: str) -> None:
    if "documents" in page:
        pytest.importorskip("pdfplumber", reason="needs the extra corpus")
    me = Outsider(page, tmp_path)
    me.environment = {name: value for name, value in me.environment.items() if not name.endswith("_API_KEY")}
    assert me.follow() == commands
    assert (tmp_path / bench / "report.html").stat().st_size > 10_000


@types("cookbook.md")
@pytest.mark.timeout(600)
def test_the_cookbook_runs_as_typed(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="needs the extra hf")
    me = Outsider("cookbook.md", tmp_path)
    me.environment |= {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
    assert me.follow() == 19
    assert me.type(["python", "gate.py", "bench", "mine", "30"]).status == 1  # the interval begins below it
    with Standin(reply="It names the right step.\nVerdict: 2") as server:
        for line in shown("cookbook.md")[0]:
            if "localhost" in line:
                done = me.type(shlex.split(line.replace("http://localhost:8000", server.url)))
                assert done.status == 0, (line, done.err)
