"""The attacks themselves: they find a reader that loses, hangs, raises or returns nonsense, and pass an honest one."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.datasets import attacks
from tests.datasets.attacks import FAMILIES, cases, flipped, survive

from proctor.datasets.dataset import Corrections, DataFile, Dataset, Log, checker, reader
from proctor.datasets.json_files import read_json_document
from proctor.errors import UserError
from proctor.procedure.recording import Recording, Segment

Make = Callable[[Any, Log], Recording | None]


def dataset(make: Make) -> Dataset:
    """A reader of ``{"videos": [...]}`` that makes a recording of each entry in some way."""

    def iterate(root: Path, corrections: Corrections, log: Log, /, **options: str) -> Iterator[Recording]:
        document = read_json_document(root / "x.json")
        document.tell_repeated(log, "x.json")
        videos = document.value.get("videos") if isinstance(document.value, dict) else None
        if not isinstance(videos, list):
            raise UserError("no videos.", where=str(root / "x.json"))
        ids: set[str] = set()
        for number, video in enumerate(videos):
            recording = make(video, log)
            if recording is not None and recording.id in ids:
                log.drop(recording.id, "twice", str(number))
            elif recording is not None:
                ids.add(recording.id)
                yield recording

    declared = DataFile("x.json", "videos")
    return Dataset(
        "x", "X", "1", "MIT", "c", "h", (declared,), reader(iterate), checker(iterate), iterate=iterate
    )


def honest(video: Any, log: Log) -> Recording | None:
    try:
        start, end = float(video["start"]), float(video["end"])
        id_, text = video["id"], video["text"]
        fine = isinstance(id_, str) and isinstance(text, str) and 0 <= start <= end < float("inf")
        if fine and id_.strip() and len(id_) < 200:
            (id_ + text).encode()
            return Recording(id_, "a", "a", (Segment("1", text, start, end),))
    except (TypeError, ValueError, LookupError, OverflowError):
        pass
    log.drop("a video", "bad", ascii(video)[:50] if len(str(type(video))) < 50 else "")
    return None


def silent(video: Any, log: Log) -> Recording | None:
    return honest(video, Log())


def trusting(video: Any, log: Log) -> Recording | None:
    return Recording(video["id"], "a", "a", (Segment("1", video["text"], video["start"], video["end"]),))


def clipping(video: Any, log: Log) -> Recording | None:
    """Takes whatever times there are."""
    recording = honest(video | {"start": 0, "end": 1} if isinstance(video, dict) else video, log)
    if recording is None:
        return None
    return Recording(recording.id, "a", "a", (Segment("1", "t", video.get("start", 0), video.get("end", 1)),))


def test_one_thing_told_excuses_one_lost_record():
    records = tuple(Recording(name, "a", "a", ()) for name in "abc")
    sound = attacks.Outcome(records, Counter())
    broken = attacks.Outcome(records[:1], Counter({"told": 1}))
    assert attacks.lost_silently(sound, broken, single=True) == "2 record(s) for 1 told"
    assert attacks.lost_silently(sound, broken) == ""
    assert attacks.lost_silently(sound, attacks.Outcome(records[:2], Counter({"told": 1})), single=True) == ""
    assert attacks.lost_silently(sound, attacks.Outcome(records[:2], Counter())) == "1 record(s)"


def slow(video: Any, log: Log) -> Recording | None:
    while not isinstance(video, dict) or not isinstance(video.get("text"), str):
        pass
    return honest(video, log)


def waiting_for_nothing(video: Any, log: Log) -> Recording | None:
    try:
        return slow(video, log)
    except Exception:
        return None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    videos = [{"id": f"v{i}", "text": "do it", "start": i, "end": i + 2} for i in range(2)]
    (tmp_path / "sound").mkdir()
    (tmp_path / "sound" / "x.json").write_text(json.dumps({"videos": videos}))
    return tmp_path / "sound"


@pytest.mark.parametrize("family", FAMILIES)
def test_an_honest_reader_survives(family: str, folder: Path, tmp_path: Path):
    ended = survive(dataset(honest), folder, tmp_path, family)
    assert sum(ended.values()) >= 1
    assert set(ended) <= {"read", "refused"}


@pytest.mark.parametrize(
    ("make", "family", "message"),
    [
        (silent, "missing field", r"x\.json, without .*: 1 record\(s\) lost, and nothing is told"),
        (silent, "wrong type", "lost, and nothing is told"),
        (silent, "wrong number", "lost, and nothing is told"),
        (trusting, "missing field", "KeyError"),
        (trusting, "wrong type", "TypeError"),
        (clipping, "wrong number", "nan|-1"),
        (slow, "wrong type", "longer than"),
        (waiting_for_nothing, "wrong type", "longer than"),
    ],
)
def test_a_bad_reader_is_found(
    make: Make, family: str, message: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(attacks, "SECONDS", 0.2)
    with pytest.raises(AssertionError, match=message):
        survive(dataset(make), folder, tmp_path, family)


def test_the_folder_is_left_as_it_was(folder: Path, tmp_path: Path):
    before = (folder / "x.json").read_bytes()
    survive(dataset(honest), folder, tmp_path, "random bytes")
    assert (folder / "x.json").read_bytes() == before
    assert (tmp_path / "attacked" / "x.json").read_bytes() == before


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.jsonl.gz", "a.csv", "a.tsv", "a.txt", "a.xml"])
def test_every_case_is_damage_and_comes_again(name: str, family: str, tmp_path: Path):
    text = {
        "json": b'{"videos": [{"id": "a", "n": 1.5}, {"id": "b", "n": 2}], "x": null}',
        "jsonl": b'{"id": "a", "n": 1.5}\n{"id": "b", "n": [2]}\n',
        "csv": b"id,n\na,1.5\nb,2\n",
        "tsv": b"id\tn\na\t1.5\nb\t2\n",
        "txt": b"a\n1.5\nb\n",
        "xml": b"<a><b n='1'/></a>\n",
    }[name.split(".")[1]]
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    found = list(cases(path, family, cap=60))
    assert found == list(cases(path, family, cap=60))
    assert len({case.name for case in found}) == len(found)
    assert path.read_bytes() in (text, gzip.compress(text)) or name.endswith(".gz")
    if name == "a.json":
        assert found
        assert sum(case.data != text for case in found) >= len(found) / 2


def test_every_field_is_missing_once_and_has_wrong_types_in_turn(folder: Path):
    path = folder / "x.json"
    left_out = {case.name for case in cases(path, "missing field")}
    assert {
        f"without ('videos', {i}, '{key}')" for i in (0, 1) for key in ("id", "text", "start", "end")
    } <= left_out
    wrong = [case.name for case in cases(path, "wrong type")]
    for key in ("id", "text", "start", "end"):
        assert (
            sum(f"('videos', 0, '{key}') = " in name for name in wrong) == len(attacks.WRONG) / attacks.SHARE
        )
    assert {name.rpartition(" = ")[2] for name in wrong} == {f"{value!r:.40}" for value in attacks.WRONG}


def test_flips_change_something_and_stay_small():
    rng = random.Random(1)
    data = bytes(range(256)) * 4
    results = [flipped(data, rng) for _ in range(200)]
    assert sum(r != data for r in results) > 190
    assert all(abs(len(r) - len(data)) < 30 for r in results)
    assert flipped(b"", rng) == b""


# -- the script ----------------------------------------------------------------------------------------------------

BAD = """
from dataclasses import replace
from proctor.datasets import youcook2
from proctor.procedure.recording import Recording

def trusting(root, corrections, log, /, **options):
    for recording in youcook2.DATASET.iterate(root, corrections, log):
        if log.dropped or log.findings[5:]:
            raise KeyError("oh")
        yield recording

DATASET = replace(youcook2.DATASET, iterate=trusting)
"""


def mutate(*arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    script = Path(__file__).resolve().parents[2] / "scripts" / "mutate-datasets"
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(path)},
        check=False,
    )


def test_the_script_prints_a_row_a_reader(tmp_path: Path):
    names = [f"proctor.datasets.{name}:DATASET" for name in ("goalstep", "steps")]
    outcome = mutate(*names, "--flips", "60", path=tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    rows = [line.split(" | ") for line in outcome.stdout.splitlines()[2:]]
    assert [row[0].strip("| ") for row in rows] == ["goalstep", "steps"]
    for row in rows:
        read, refused, failed = (int(cell) for cell in row[3:6])
        assert (read + refused, failed) == (60, 0)
        assert read


def test_the_script_names_a_bad_reader_and_keeps_what_it_failed_on(tmp_path: Path):
    (tmp_path / "bad_reader.py").write_text(BAD)
    outcome = mutate("bad_reader:DATASET", "--flips", "80", "--keep", str(tmp_path / "kept"), path=tmp_path)
    assert outcome.returncode == 1, outcome.stderr
    assert "KeyError: 'oh'" in outcome.stderr
    failed = int(outcome.stdout.splitlines()[-1].split(" | ")[5])
    assert failed == len(list((tmp_path / "kept").iterdir())) > 0
