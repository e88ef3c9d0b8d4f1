"""docs/features.md: its commands run on files laid out as its table says, and its rules are those of the command."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
from tests.typed import proctor

from proctor.learn.features.extract import SPECS
from proctor.learn.features.layouts import LAYOUTS
from proctor.learn.features.plain import PLAIN_COLUMNS, SOUND_COLUMNS
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
    section = PAGE.partition("## What check finds")[2].partition("\n## ")[0]
    table = re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE)
    assert [(rule, what.partition(" (")[0].partition(";")[0]) for rule, what in table] == list(RULES.items())


def test_the_page_names_what_can_be_extracted_and_how_wide_it_is() -> None:
    section = PAGE.partition("### Which features")[2].partition("\n### ")[0]
    rows = dict(re.findall(r"^\| (`.+?) \| .*? \| (.*?) \| .* \|$", section, re.MULTILINE))
    assert (rows["`plain`"], rows["`plain-sound`"]) == (str(len(PLAIN_COLUMNS)), str(len(SOUND_COLUMNS)))
    named = {name.partition("[")[0].partition(":")[0] for name, _ in SPECS} | {"text"}
    assert {re.findall(r"`([\w-]+)", name)[0] for name in rows} - {"--features"} == named
    columns = PAGE.partition("### Plain features")[2].partition("\n### ")[0]
    counts = [
        sum(map(int, re.findall(r"\d+", row)))
        for row in re.findall(r"^\| ([\d +]+) \|", columns, re.MULTILINE)
    ]
    assert (sum(counts[:-1]), counts[-1]) == (len(PLAIN_COLUMNS), len(SOUND_COLUMNS))
