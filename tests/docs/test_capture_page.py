"""docs/capture.md: what stands outside of its walk (tests/stages/capture) and needs neither sensors nor people is typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.outsider import DOCS, shown, type_all, types
from tests.typed import proctor

PLANS = r"capture (plan.* --(?:people 8|people 10)|status)"
AFTER = (
    r"capture sync kitchen(?! *$)|capture consent|capture release kitchen out|capture withdraw kitchen p01"
)


@types("capture.md", commands=f"{PLANS}|{AFTER}")
def test_the_commands_beside_the_walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av", reason="the extra 'capture' is not installed")
    pytest.importorskip("pyarrow", reason="the extra 'capture' is not installed")
    monkeypatch.chdir(tmp_path)
    (activity,) = re.findall(r"```json\n(.*?)```", (DOCS / "capture.md").read_text("utf-8"), re.DOTALL)[:1]
    Path("activities").mkdir()
    Path("activities/tea.json").write_text(activity, "utf-8")
    Path("consent.txt").write_text("I agree.")
    commands = shown("capture.md")[0]
    plans = [line for line in commands if re.search(PLANS, line)]
    after = [line for line in commands if re.search(AFTER, line)]
    assert (len(plans), len(after)) == (4, 7)
    type_all(plans[1:], tmp_path)
    recorded = ["--recording", "tea-001", "--seconds", 10, "--stream", "pv", "--stream", "audio"]
    assert proctor("capture", "simulate", "kitchen", *recorded).status == 0
    type_all(after[:3], tmp_path)
    assert proctor("capture", "sync", "kitchen").status == 0
    assert proctor("capture", "ingest", "kitchen").status == 0
    type_all(after[3:], tmp_path)
