"""The example of docs/evaluate.md runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.typed import proctor

from proctor.samples import copy_sample

PAGE = Path(__file__).parents[2] / "docs" / "evaluate.md"


def test_the_function_of_the_page_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_sample(tmp_path / "sample")
    bench = tmp_path / "bench"
    for step in (
        ("read", "plain", tmp_path / "sample"),
        ("derive",),
        ("generate", "--limit", "9"),
        ("verify",),
        ("build",),
    ):
        assert proctor(*step, bench).status == 0
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    exec(compile(code, "page.py", "exec"), {"__name__": "page"})
    items = (bench / "items.jsonl").read_text().count("\n")
    assert capsys.readouterr().out == f"{items} 0\n"
    assert proctor("judge", bench, "--run", "mine").status == 0
