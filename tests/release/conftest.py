"""What the tests of the benchmark share: the hand-made published file, read and imported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proctor.ask.moment.promqa import PromqaExample, read_promqa, read_promqa_graphs
from proctor.procedure.graph import TaskGraph
from proctor.release.promqa import PromqaRecords, import_promqa


@pytest.fixture
def tiny_path(tests_data: Path) -> Path:
    return tests_data / "promqa/tiny.json"


@pytest.fixture
def tiny(tiny_path: Path) -> list[PromqaExample]:
    return read_promqa(tiny_path)


@pytest.fixture
def graphs(tests_data: Path, tmp_path: Path) -> dict[str, TaskGraph]:
    tea = json.loads((tests_data / "promqa/tea.json").read_text(encoding="utf-8"))
    path = tmp_path / "given-graphs.json"
    path.write_text(json.dumps({"7": {"name": "Tea", **tea}}), encoding="utf-8")
    return read_promqa_graphs(path)


@pytest.fixture
def records(tiny: list[PromqaExample], graphs: dict[str, TaskGraph]) -> PromqaRecords:
    return import_promqa(tiny, graphs)


@pytest.fixture(scope="session")
def dev_path(shared_data: Path) -> Path:
    return shared_data / "promqa/examples_dev.json"


@pytest.fixture(scope="session")
def dev(dev_path: Path) -> list[PromqaExample]:
    """The 195 published examples."""
    return read_promqa(dev_path)


@pytest.fixture(scope="session")
def dev_graphs(
    shared_data: Path, tmp_path_factory: pytest.TempPathFactory, dev: list[PromqaExample]
) -> dict[str, TaskGraph]:
    """Their task graphs, gathered into the form of the published ``graphs.json``."""
    gathered = {}
    for one in dev:
        name = one.activity_name.lower().replace(" ", "")
        raw = json.loads((shared_data / f"captaincook4d/task_graphs/{name}.json").read_text(encoding="utf-8"))
        gathered[one.recording_id.partition("_")[0]] = {"name": one.activity_name, **raw}
    path = tmp_path_factory.mktemp("graphs") / "graphs.json"
    path.write_text(json.dumps(gathered), encoding="utf-8")
    return read_promqa_graphs(path)


@pytest.fixture(scope="session")
def dev_records(dev: list[PromqaExample], dev_graphs: dict[str, TaskGraph]) -> PromqaRecords:
    return import_promqa(dev, dev_graphs)
