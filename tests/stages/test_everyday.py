"""The shipped sample is a benchmark that can be loaded by name, the same every time."""

from __future__ import annotations

from pathlib import Path

from proctor.exam.kinds.moment_question import moment_example
from proctor.release.folder import benchmark_names, load_benchmark
from proctor.stages.everyday import everyday
from proctor.stages.exchange import import_release


def test_it_loads_by_name_and_is_always_the_same() -> None:
    assert "everyday" in benchmark_names()
    loaded = load_benchmark("everyday")
    assert (loaded.name, loaded.version) == ("everyday", "1.0.0")
    assert loaded.items == everyday().items
    assert len({moment_example(i.question).activity_id for i in loaded.items}) == 3


def test_it_comes_into_a_workspace_by_name(tmp_path: Path) -> None:
    assert import_release("everyday", tmp_path / "w").items > 100
