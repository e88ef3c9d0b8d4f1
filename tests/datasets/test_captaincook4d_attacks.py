"""Every kind of damage to every file that the reader of CaptainCook4D opens."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.datasets.attacks import FAMILIES, survive

from proctor.datasets.captaincook4d import DATASET


@pytest.mark.parametrize("family", FAMILIES)
def test_it_survives(family: str, tmp_path: Path, tests_data: Path) -> None:
    assert survive(
        DATASET,
        tests_data / "datasets" / "captaincook4d",
        tmp_path,
        family,
        cap=25 if family == "wrong type" else 40,
    )
