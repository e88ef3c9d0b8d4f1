"""``proctor features`` as it is typed: info, convert and check, on files as published."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.datasets.dataset import guess_dataset
from proctor.errors import UserError
from proctor.learn.features.layouts import LAYOUTS
from proctor.learn.features.store import FeatureStore
from proctor.samples import copy_sample

Command = Callable[..., Any]


def save(folder: Path, recording_id: str, rows: int, width: int = 1024, **also: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    values = np.random.default_rng(rows).normal(size=(rows, width)).astype(np.float32)
    np.savez(folder / f"{recording_id}_360p.mp4_1s_1s.npz", **{"arr_0": values, **also})


@pytest.fixture
def annotations(tmp_path: Path) -> tuple[Path, dict[str, float]]:
    """The sample, and how long its recordings are."""
    copy_sample(tmp_path / "sample")
    recordings = guess_dataset(tmp_path / "sample").iter_records(tmp_path / "sample")
    return tmp_path / "sample", {r.id: r.duration for r in recordings}


def test_published_files_become_a_store(tmp_path: Path, proctor: Command) -> None:
    for n in (10, 9):
        save(tmp_path / "f", f"1_{n}", n)
    done = proctor(
        "features", "convert", tmp_path / "f", "--backbone", "omnivore", "--out", tmp_path / "s", "--json"
    )
    assert done.status == 0, done.err
    assert (done.json["store"]["recordings"], done.json["store"]["rows"]) == (2, 19)
    assert done.json["remark"] == LAYOUTS["omnivore"].remark
    assert FeatureStore.open(tmp_path / "s").recordings == ("1_9", "1_10")
    told = proctor("features", "info", tmp_path / "s")
    assert re.search(r"^lengths +9 s to 10 s, median 10 s$", told.out, re.MULTILINE)
    assert done.json["store"]["hash"] in told.out
    checked = proctor("features", "check", tmp_path / "s")
    assert (checked.status, checked.out) == (0, "nothing odd\n")


def test_what_cannot_be_read_is_left_out_and_listed(tmp_path: Path, proctor: Command) -> None:
    save(tmp_path / "f", "1_1", 5)
    save(tmp_path / "f", "1_2", 5, width=400)
    (tmp_path / "f" / "1_3.npz").write_bytes(b"PK")
    (tmp_path / "f" / "read.me").write_bytes(b"")
    convert = ("features", "convert", tmp_path / "f", "--backbone", "omnivore", "--out", tmp_path / "s")
    done = proctor(*convert)
    assert done.status == 0
    assert "left out: 1 no_features, 2 unreadable; listed in" in done.err
    listed = [json.loads(line) for line in (tmp_path / "s.dropped.jsonl").read_text().splitlines()]
    assert [(d["id"], d["reason"]) for d in listed] == [
        ("read.me", "no_features"), ("1_2", "unreadable"), ("1_3", "unreadable"),
    ]  # fmt: skip
    assert "shape (5, 400); omnivore has (rows, 1024)" in listed[1]["detail"]
    assert proctor(*convert).status == 2
    assert FeatureStore.open(tmp_path / "s").recordings == ("1_1",)


def test_nothing_readable_is_an_error_and_leaves_nothing(tmp_path: Path, proctor: Command) -> None:
    save(tmp_path / "f", "1_1", 5, arr_0=np.zeros((2, 3)))
    done = proctor("features", "convert", tmp_path / "f", "--backbone", "omnivore", "--out", tmp_path / "s")
    assert done.status == 2
    assert "none of the 1 recordings could be read" in done.err
    assert "shape (2, 3)" in done.err
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_an_interrupted_conversion_is_gone_on_with(
    tmp_path: Path, proctor: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from proctor.learn.features import store

    for n in (1, 2, 3):
        save(tmp_path / "f", f"1_{n}", n)
    convert = ("features", "convert", tmp_path / "f", "--backbone", "omnivore", "--out")
    add = store.StoreWriter.add

    def full(self: store.StoreWriter, recording_id: str, rows: Any) -> store.Held:
        if recording_id == "1_3":
            raise UserError("No space left")
        return add(self, recording_id, rows)

    with monkeypatch.context() as patch:
        patch.setattr(store.StoreWriter, "add", full)
        assert proctor(*convert, tmp_path / "s").status == 2
    assert not (tmp_path / "s").exists()
    done = proctor(*convert, tmp_path / "s", "--json")
    assert done.json["resumed"] == 2
    proctor(*convert, tmp_path / "whole")
    assert (tmp_path / "s" / "rows.f16").read_bytes() == (tmp_path / "whole" / "rows.f16").read_bytes()


def test_features_of_ones_own_need_a_stride(tmp_path: Path, proctor: Command) -> None:
    save(tmp_path / "f", "a", 7, width=5)
    (tmp_path / "f" / "a_360p.mp4_1s_1s.npz").rename(tmp_path / "f" / "a.npz")
    convert = ("features", "convert", tmp_path / "f", "--backbone", "mine", "--out", tmp_path / "s")
    refused = proctor(*convert)
    assert refused.status == 2
    assert "none of the published" in refused.err
    done = proctor(*convert, "--seconds", "0.5", "--pool", "2", "--modality", "audio")
    assert done.status == 0, done.err
    store = FeatureStore.open(tmp_path / "s")
    assert (store.width, store.seconds, store.modality, len(store.rows("a"))) == (5, 1.0, "audio", 3)


def test_a_store_is_held_against_the_annotations(
    tmp_path: Path, annotations: tuple[Path, dict[str, float]], proctor: Command
) -> None:
    folder, durations = annotations
    ids = list(durations)
    for id_, seconds in durations.items():
        save(tmp_path / "f", id_, {ids[0]: 5}.get(id_, -int(-seconds // 1)))
    save(tmp_path / "f", "stranger", 4)
    (tmp_path / "f" / f"{ids[1]}_360p.mp4_1s_1s.npz").unlink()
    done = proctor(
        "features", "convert", tmp_path / "f", "--backbone", "omnivore", "--out", tmp_path / "s",
        "--annotations", folder, "--json",
    )  # fmt: skip
    assert done.status == 0, done.err
    found = {(f["rule"], f["where"]) for f in done.json["unfit"]}
    assert found == {("missing", ids[1]), ("unknown", "stranger"), ("short", ids[0]), ("length", ids[0])}
    checked = proctor("features", "check", tmp_path / "s", "--annotations", folder, "--json")
    assert {(f["rule"], f["where"]) for f in checked.json["findings"]} == found
    assert checked.json["counts"] == {"missing": 1, "unknown": 1, "short": 1, "length": 1}
    one = proctor("features", "check", tmp_path / "s", "--annotations", folder, "--rule", "short")
    assert "features end at 5.0 s" in one.out
    assert "stranger" not in one.out
    assert proctor("features", "check", tmp_path / "s", "--rule", "nonsense").status == 2


def test_a_step_shorter_than_a_row_is_found(
    tmp_path: Path, annotations: tuple[Path, dict[str, float]], proctor: Command
) -> None:
    folder, durations = annotations
    for id_, seconds in durations.items():
        save(tmp_path / "f", id_, int(seconds // 60), width=3)
    for file in (tmp_path / "f").iterdir():
        file.rename(file.with_name(file.name.replace("_360p.mp4_1s_1s", "")))
    proctor(
        "features", "convert", tmp_path / "f", "--backbone", "m", "--out", tmp_path / "s", "--seconds", "60"
    )
    checked = proctor("features", "check", tmp_path / "s", "--annotations", folder, "--rule", "brief")
    assert checked.status == 0
    assert len(checked.out.splitlines()) > len(durations)


def test_odd_rows_are_found_and_damaged_ones_end_with_status_2(tmp_path: Path, proctor: Command) -> None:
    values = np.ones((4, 1024), np.float32)
    values[1], values[2, 5] = 0, np.inf
    save(tmp_path / "f", "1_1", 4, arr_0=values)
    proctor("features", "convert", tmp_path / "f", "--backbone", "omnivore", "--out", tmp_path / "s")
    checked = proctor("features", "check", tmp_path / "s", "--json")
    assert checked.status == 0
    assert {f["rule"]: f["seen"] for f in checked.json["findings"]} == {
        "zeros": "1 of 4 rows", "mended": "1 infinite in 1 of 4 rows",
    }  # fmt: skip
    rows = FeatureStore.open(tmp_path / "s").rows("1_1").copy()
    rows[3, 7] = np.nan
    rows.tofile(tmp_path / "s" / "rows.f16")
    checked = proctor("features", "check", tmp_path / "s", "--json")
    assert checked.status == 2
    assert checked.json["counts"].keys() == {"damaged", "not_finite", "mended", "zeros"}
