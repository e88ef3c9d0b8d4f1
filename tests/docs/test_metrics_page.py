"""docs/metrics.md: its table is generated, its Python runs, its commands exist."""

import subprocess
import sys
from pathlib import Path

from tests.docs.outsider import run_python, shown, types

from proctor.metrics.catalogue import catalogue
from proctor.stages.scoring import FAMILIES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")


def test_the_table_of_all_metrics_is_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "write-metrics", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@types("metrics.md", commands="(?!)")
def test_the_example_runs(capsys):
    (code,) = shown("metrics.md")[1]
    run_python(code)
    said = capsys.readouterr().out
    assert "krippendorff_alpha" in said
    assert "roc_auc" in said


def test_every_family_has_its_command_on_the_page():
    assert {line.split()[2] for line in PAGE.splitlines() if line.startswith("proctor metrics ")} >= set(
        FAMILIES
    )


def test_every_entry_of_the_catalogue_is_complete():
    names = [m.name for m in catalogue()]
    assert len(names) == len(set(names))
    for m in catalogue():
        assert all((m.label, m.signature, m.range, m.definition, m.citation)), m.name
        assert len(m.definition) > 20, m.name
