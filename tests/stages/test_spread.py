"""Work that is spread over workers gives the same files to the byte, whatever a journey does to a record."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.taking import judge, predict

from proctor.compute import HERE, Outcome, Place, map_items, on_ray, place_of, processes
from proctor.errors import UserError
from proctor.samples import copy_sample
from proctor.stages.build import build
from proctor.stages.datasets_stats import dataset_statistics
from proctor.stages.derive import derive
from proctor.stages.exam_settings import ScoreSettings
from proctor.stages.generate import generate
from proctor.stages.read import read
from proctor.stages.score import score
from proctor.stages.settings import GenerateSettings
from proctor.stages.verify import open_store, verify
from proctor.verify.verdict import Verdict
from proctor.workspace import Workspace

SPREAD = ("proctor.stages.derive", "proctor.stages.verify", "proctor.stages.judge", "proctor.stages.score")


def travelling(
    function: Callable[[Any], Any], items: Iterable[Any], place: Place, **options: Any
) -> Iterator[Outcome[Any, Any]]:
    """Do what processes and clusters do to functions, items and values, without starting any."""
    assert place == processes(2)
    for outcome in map_items(pickle.loads(pickle.dumps(function)), items, HERE, **options):
        item = pickle.loads(pickle.dumps(outcome.item))
        value = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(function))(item)))
        yield Outcome(outcome.index, outcome.item, outcome.name, value)


def job(data: Path, bench: Path, place: Place) -> list[Verdict]:
    """Do the job and return the verdicts without their times."""
    read("plain", data, bench, place=place)
    derive(bench, place=place)
    generate(bench, GenerateSettings(examples=60))
    verify(bench, place=place)
    with open_store(Workspace(bench)) as store:
        verdicts = [msgspec.structs.replace(v, at="") for v in store.latest()]
    build(bench)
    for name in ("constant", "random-step"):
        predict(bench, name)
    judge(bench, place=place)
    score(bench, ScoreSettings(resamples=200), place=place)
    return verdicts


def test_a_journey_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents: Callable[[Path], dict[str, bytes]]
) -> None:
    copy_sample(tmp_path / "sample")
    here = job(tmp_path / "sample", tmp_path / "here" / "bench", HERE)
    measured = dataset_statistics("plain", tmp_path / "sample")
    for module in (*SPREAD, "proctor.datasets.plain.read"):
        monkeypatch.setattr(f"{module}.map_items", travelling)
    there = job(tmp_path / "sample", tmp_path / "there" / "bench", processes(2))
    assert there == here
    assert dataset_statistics("plain", tmp_path / "sample", place=processes(2)) == measured
    one, other = contents(tmp_path / "here"), contents(tmp_path / "there")
    timed = {name for name in one if "verification.sqlite" in name}
    assert {n: d for n, d in one.items() if n not in timed} == {
        n: d for n, d in other.items() if n not in timed
    }


@pytest.mark.parametrize(
    ("said", "place"),
    [
        (None, HERE),
        ("1", HERE),
        ("3", processes(3)),
        ("ray://a:6379", on_ray("a:6379")),
        ("ray://auto", on_ray()),
    ],
)
def test_where_workers_are(said: str | None, place: Place) -> None:
    assert place_of(said) == place


@pytest.mark.parametrize("said", ["", "0", "-1", "two", "1.5", "ray://", "a:6379", "²"])
def test_workers_that_make_no_sense_are_refused(said: str) -> None:
    with pytest.raises(UserError):
        place_of(said)
