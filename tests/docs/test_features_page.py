"""docs/features.md: its commands run on files laid out as its table says, and its rules are those of the command."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
from tests.typed import proctor

from proctor.learn.features.layouts import LAYOUTS
from proctor.learn.features.store import FeatureStore
from proctor.stages.learn.features import RULES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "features.md").read_text(encoding="utf-8")
ROW = re.compile(r"\| `(\S+)` \| `(segments\S+)` \| `(\w+)`.*?\| ([\d,]+) \| (\S+) s \|")


def test_files_as_the_table_says_are_converted_as_the_page_says(tmp_path: Path) -> None:
    rows = ROW.findall(PAGE)
    assert [name for name, *_ in rows] == ["omnivore", *(n for n in LAYOUTS if n.startswith("imagebind"))]
    command = next(c for c in re.findall(r"^\$ (.*)$", PAGE, re.MULTILINE) if "features convert ~" in c)
    for name, place, key, width, seconds in rows:
        file = tmp_path / place.replace("ID", "1_7")
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, **{key: np.ones((3, int(width.replace(",", ""))))})
        words = shlex.split(
            command.replace("~/captaincook4d/features", str(tmp_path)).replace("omnivore", name)
        )
        done = proctor(*words[1:-1], tmp_path / name)
        assert done.status == 0, done.err
        store = FeatureStore.open(tmp_path / name)
        assert (store.recordings, f"{store.seconds:.4g}") == (("1_7",), seconds)


def test_the_rules_are_those_of_the_command() -> None:
    table = re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE.partition("## What check finds")[2], re.MULTILINE)
    assert [(rule, what.partition(" (")[0].partition(";")[0]) for rule, what in table] == list(RULES.items())
