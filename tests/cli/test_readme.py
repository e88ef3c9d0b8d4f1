"""What the README shows is what the demo prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_demo_in_the_readme_is_todays(tmp_path: Path, proctor: Any) -> None:
    outcome = proctor("demo", tmp_path / "demo", "--no-video")
    assert outcome.status == 0
    shown = README.read_text(encoding="utf-8")
    printed = [line for line in outcome.out.partition("done in")[0].splitlines() if line.strip()]
    assert len(printed) == 7
    assert [line for line in printed if line not in shown] == []
