"""The example of docs/evaluate.md runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.outsider import run_python, shown, types
from tests.typed import proctor

from proctor.samples import copy_sample

PAGE = Path(__file__).parents[2] / "docs" / "evaluate.md"


@types("evaluate.md", commands="(?!)")
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
    answers, marks = shown("evaluate.md")[1]
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    run_python(answers)
    items = (bench / "items.jsonl").read_text().count("\n")
    assert capsys.readouterr().out == f"{items} 0\n"
    assert proctor("judge", bench, "--run", "mine").status == 0
    run_python(marks)
    assert sum(int(n) for n in re.findall(r": (\d+)", capsys.readouterr().out)) == items
