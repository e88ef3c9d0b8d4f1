"""The readers of manuals with every declared file broken in every way."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from tests.datasets.attacks import FAMILIES, cases, declared_files, survive, working_copy

from proctor.datasets import recipeqa, wikihow
from proctor.datasets.dataset import Dataset, Log
from proctor.errors import UserError

READERS = (recipeqa.DATASET, wikihow.DATASET)


@pytest.mark.parametrize("dataset", READERS, ids=lambda d: d.name)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_reader_survives(dataset: Dataset, family: str, tests_data: Path, tmp_path: Path):
    ended = survive(dataset, tests_data / "datasets" / dataset.name, tmp_path, family, cap=60)
    assert sum(ended.values()) or (family, dataset.name) == ("wrong number", "wikihow")  # it has no numbers


@pytest.mark.parametrize("dataset", READERS, ids=lambda d: d.name)
def test_whatever_is_told_of_a_broken_folder_is_explained(dataset: Dataset, tests_data: Path, tmp_path: Path):
    target = working_copy(tests_data / "datasets" / dataset.name, tmp_path)
    seen: set[str] = set()
    for path in declared_files(dataset, target):
        original = path.read_bytes()
        for family in ("missing field", "wrong type", "duplicated", "truncated"):
            for case in cases(path, family, cap=30):
                path.write_bytes(case.data)
                log = Log()
                with contextlib.suppress(UserError):
                    list(dataset.iter_records(target, "published", log))
                seen |= {d.reason for d in log.dropped} | {f.rule for f in log.findings}
        path.write_bytes(original)
    assert len(seen) > 5
    assert seen <= set(dataset.rules)
