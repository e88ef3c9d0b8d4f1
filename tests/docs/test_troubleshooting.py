"""docs/troubleshooting.md quotes messages of the code, not of the past."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_message_is_one_of_the_code() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    quoted = [
        text
        for line in re.findall(r"^### (.*)$", page, re.MULTILINE)
        for text in re.findall(r"`([^`]+)`", line)
    ]
    assert len(quoted) > 15
    parts = [part.strip(" '") for text in quoted for part in text.split("…")]
    assert [part for part in parts if part not in code] == []
