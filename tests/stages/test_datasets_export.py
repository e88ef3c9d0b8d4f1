"""Exports of data sets of any kind: everything goes over, here, in processes and on a Ray cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Outcome, proctor

from proctor.compute import HERE, on_ray, processes
from proctor.corpus.question import CorpusQuestion
from proctor.corpus.source import Source, text_source
from proctor.datasets import sources
from proctor.datasets.dataset import Dataset, Log, load_dataset
from proctor.datasets.shards import iter_shards, read_manifest
from proctor.errors import UserError
from proctor.procedure.recording import Recording
from proctor.stages.datasets_export import export_dataset

pytest.importorskip("pyarrow", reason="needs the extra 'parquet'")


@pytest.fixture
def corpus(tests_data: Path) -> Path:
    return tests_data / "datasets" / "sources"


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("format", ["parquet", "jsonl"])
def test_a_corpus_goes_over_with_its_questions(format: Any, corpus: Path, tmp_path: Path):
    out = tmp_path / "out"
    result = export_dataset(sources.DATASET, corpus, out, format=format, rows=4)
    assert (result.records, result.shards, result.questions) == (6, 2, 2)
    assert tuple(iter_shards(out / "data", Source)) == sources.DATASET.read(corpus).sources
    asked = list(sources.iter_questions(corpus, "corrected", Log()))
    assert list(iter_shards(out / "questions", CorpusQuestion)) == asked
    about = read_manifest(out / "data").about
    assert (about["dataset"], about["corrections"]) == ("sources", "corrected")
    assert about["counts"] == {
        "gold_named": 3,
        "images": 2,
        "questions": 2,
        "questions_with_complete_gold": 1,
        "tables": 1,
        "texts": 3,
    }


def test_recordings_go_over(tests_data: Path, tmp_path: Path):
    plain = load_dataset("plain")
    folder = tests_data / "plain_valid"
    result = export_dataset(plain, folder, tmp_path / "out", rows=1)
    read = plain.read(folder, "corrected").recordings
    assert (result.records, result.shards) == (len(read), len(read))
    assert tuple(iter_shards(tmp_path / "out", Recording)) == read


def test_short_texts_are_dropped_when_asked_for_and_listed(corpus: Path, tmp_path: Path):
    out = tmp_path / "out"
    result = export_dataset(sources.DATASET, corpus, out, min_text=200)
    assert result.dropped == {"short-text": 1}
    assert (tmp_path / "out.dropped.jsonl").read_bytes() == (
        b'{"id":"text:Tarn","reason":"short-text","detail":"under 200 characters"}\n'
    )
    assert "text:Tarn" not in {s.id for s in iter_shards(out / "data", Source)}


def test_what_makes_no_sense_is_refused(corpus: Path, tests_data: Path, tmp_path: Path):
    export: Any = export_dataset
    with pytest.raises(UserError, match="holds recordings"):
        export(load_dataset("plain"), tests_data / "plain_valid", tmp_path / "out", min_text=200)
    with pytest.raises(UserError, match="--corrections is 'both'"):
        export(sources.DATASET, corpus, tmp_path / "out", corrections="both")
    with pytest.raises(UserError, match="never changed"):
        export(sources.DATASET, corpus, corpus / "out")
    with pytest.raises(UserError, match="no option 'level'"):
        export(sources.DATASET, corpus, tmp_path / "out", options={"level": "leaf"})
    assert not list(tmp_path.glob("*.jsonl"))


# -- many records ------------------------------------------------------------------------------------------------------


def many(number: int) -> Dataset:
    """A data set of so many passages."""

    def iterate(root: Path, corrections: Any, log: Log, /, **options: str) -> Any:
        for i in range(number):
            log.counts["texts"] += 1
            if i % 100 == 99:
                log.drop(f"text:{i}", "no-content", "nothing is in the text")
            else:
                yield text_source(f"text:{i}", f"Page {i}", f"Words of page {i}. " * 20)

    told = sources.DATASET
    return Dataset(
        name="many",
        title="Many passages",
        version="1",
        licence="CC0-1.0",
        citation="none",
        homepage="none",
        files=told.files,
        read=told.read,
        check=told.check,
        kind="corpus",
        iterate=iterate,
    )


def test_processes_give_the_same_bytes(tmp_path: Path):
    folder = tmp_path / "data"
    folder.mkdir()
    for name, place in (("here", HERE), ("processes", processes(2))):
        result = export_dataset(many(1_000), folder, tmp_path / name, rows=150, place=place)
        assert (result.records, result.dropped) == (990, {"no-content": 10})
    assert bytes_of(tmp_path / "here") == bytes_of(tmp_path / "processes")
    told = [(tmp_path / f"{name}.dropped.jsonl").read_bytes() for name in ("here", "processes")]
    assert told[0] == told[1]
    assert told[0].count(b"\n") == 10


@pytest.mark.skipif(sys.platform != "linux", reason="clusters of several nodes on one machine are for Linux")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.timeout(280)
def test_a_ray_cluster_gives_the_same_bytes_when_a_node_goes_away(tmp_path: Path):
    pytest.importorskip("ray", reason="needs the extra 'ray'")
    from tests.ray_cluster import ray_cluster

    folder = tmp_path / "data"
    folder.mkdir()
    export_dataset(many(3_000), folder, tmp_path / "here", rows=150)
    with ray_cluster(2) as cluster:
        done = 0

        def seen() -> None:
            nonlocal done
            done += 1
            if done == 5:
                cluster.kill_last()

        place = on_ray(cluster.address)
        result = export_dataset(many(3_000), folder, tmp_path / "ray", rows=150, place=place, seen=seen)
    assert (result.shards, done) == (20, 20)
    assert bytes_of(tmp_path / "here") == bytes_of(tmp_path / "ray")


# -- a killed run ------------------------------------------------------------------------------------------------------

SCRIPT = """
import sys, time
from pathlib import Path
from proctor.stages.datasets_export import export_dataset
from tests.stages.test_datasets_export import many
out = Path(sys.argv[1])
def seen():
    (out.parent / "began").touch()
    time.sleep(0.05)
export_dataset(many(2_000), out.parent, out.parent.parent / "out", rows=100, seen=seen)
"""


def test_a_run_that_is_killed_goes_on_and_ends_in_the_same_bytes(tmp_path: Path):
    folder = tmp_path / "data"
    folder.mkdir()
    root = Path(__file__).resolve().parents[2]
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen([sys.executable, str(script), str(folder / "x")], env=environment) as process:
        end = time.monotonic() + 60
        while not (folder / "began").exists():
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    out = tmp_path / "out"
    before = {p.name: p.stat().st_mtime_ns for p in out.glob("data-*")}
    assert before
    assert not (out / "manifest.json").exists()
    export_dataset(many(2_000), folder, out, rows=100)
    after = {p.name: p.stat().st_mtime_ns for p in out.glob("data-*")}
    assert len(after) == 20
    assert all(after[name] == then for name, then in list(before.items())[:-1])
    export_dataset(many(2_000), folder, tmp_path / "at once", rows=100)
    assert bytes_of(out) == bytes_of(tmp_path / "at once")


# -- the command -------------------------------------------------------------------------------------------------------


def command(*words: object) -> Outcome:
    """Run ``proctor datasets export`` in this process, as the console script does."""
    return proctor("datasets", "export", *words)


def test_the_command_writes_and_says_what_it_wrote(corpus: Path, tmp_path: Path):
    out = tmp_path / "out"
    done = command("sources", str(corpus), "--out", str(out), "--rows", "4", "--workers", "2", "--json")
    if "there is no data set 'sources'" in done.err:
        pytest.skip("the reader is not registered in this installation")
    assert done.status == 0, done.err
    assert json.loads(done.out)["records"] == 6
    again = command("sources", str(corpus), "--out", str(out), "--rows", "4")
    assert again.status == 0, again.err
    assert "questions" in again.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--format", "csv"), "'csv' is not one of"),
        (("--workers", "many"), "--workers is 'many'"),
        (("--option", "level"), "NAME=VALUE"),
        (("--corrections", "both"), "'both' is not one of"),
    ],
)
def test_wrong_words_are_told(words: tuple[str, ...], told: str, tests_data: Path, tmp_path: Path):
    done = command("plain", str(tests_data / "plain_valid"), "--out", str(tmp_path / "out"), *words)
    assert done.status == 2
    assert told in done.err
    assert "Traceback" not in done.err
