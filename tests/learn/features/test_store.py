"""Stores of features: what is read is what was written, and a store is whole or not there."""

import json
import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.learn.features.store import FeatureStore, StoreWriter

WIDTH = 3


def writer(path: Path, *, resume: bool = False, backbone: str = "omnivore") -> StoreWriter:
    return StoreWriter(
        path, width=WIDTH, seconds=1.0, modality="video", backbone=backbone, source="test", resume=resume
    )


def rows_of(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, WIDTH)).astype(np.float32)


def fail_after(path: Path, recording_id: str) -> None:
    """Leave a writer that failed after its first recording."""
    go_on_and_fail(path, recording_id, rows_of(2), resume=False)


def go_on_and_fail(path: Path, recording_id: str, rows: np.ndarray, *, resume: bool = True) -> None:
    def write() -> None:
        with writer(path, resume=resume) as w:
            assert recording_id not in w
            w.add(recording_id, rows)
            raise KeyError

    with pytest.raises(KeyError):
        write()
    assert not path.exists()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with writer(tmp_path / "s") as w:
        w.add("1_7", rows_of(5))
        w.add("2_3", rows_of(4, 1))
    return tmp_path / "s"


def test_what_is_read_is_what_was_written(path: Path) -> None:
    store = FeatureStore.open(path)
    assert (store.width, store.seconds, store.modality, store.backbone) == (3, 1.0, "video", "omnivore")
    assert store.recordings == ("1_7", "2_3")
    assert "2_3" in store
    assert "3_1" not in store
    assert np.array_equal(store.rows("2_3"), rows_of(4, 1).astype(np.float16))
    assert not store.rows("2_3").flags.writeable
    assert sorted(p.name for p in path.iterdir()) == ["rows.f16", "store.json"]
    assert all(good for _, _, good in store.scan())
    with pytest.raises(UserError, match="no omnivore features of recording '3_1'"):
        store.rows("3_1")


def test_same_rows_give_the_same_bytes_and_another_row_another_hash(path: Path, tmp_path: Path) -> None:
    for name, last in (("again", rows_of(4, 1)), ("other", rows_of(4, 2))):
        with writer(tmp_path / name) as w:
            w.add("1_7", rows_of(5))
            w.add("2_3", last)
    for file in ("rows.f16", "store.json"):
        assert (tmp_path / "again" / file).read_bytes() == (path / file).read_bytes()
    assert FeatureStore.open(tmp_path / "other").hash != FeatureStore.open(path).hash


@given(
    rows=st.integers(0, 12),
    start=st.floats(0, 20),
    length=st.floats(0, 20),
    seconds=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_a_window_is_a_slice_of_the_rows_followed_by_zeros(
    rows: int, start: float, length: float, seconds: float
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        with StoreWriter(path, width=2, seconds=seconds, modality="video", backbone="b", source="t") as w:
            w.add("before", np.full((2, 2), 7.0))
            w.add("r", 1.0 + np.arange(2 * rows).reshape(rows, 2))
            w.add("after", np.full((2, 2), 9.0))
        found = FeatureStore.open(path).window("r", start, start + length)
        whole = np.concatenate([1.0 + np.arange(2 * rows).reshape(rows, 2), np.zeros((90, 2))])
        first, last = math.floor(start / seconds), math.ceil((start + length) / seconds)
        assert np.array_equal(found, whole[first : max(last, first + 1)])
        store = FeatureStore.open(path)
        places = store.places("r", start, start + length)
        assert np.array_equal(np.where(places[:, None] < 0, 0, store.matrix[places]), found)


def test_a_window_is_not_moved_by_rounding_and_never_empty(tmp_path: Path) -> None:
    def made(seconds: float) -> FeatureStore:
        path = tmp_path / f"{seconds:g}"
        with StoreWriter(path, width=1, seconds=seconds, modality="audio", backbone="b", source="t") as w:
            w.add("r", np.arange(12.0)[:, None])
        return FeatureStore.open(path)

    assert 0.3 / 0.1 < 3  # the traps
    assert 2.1 / 0.3 > 7
    assert made(0.3).window("r", 1.8, 2.1).ravel().tolist() == [6]
    store = made(0.1)
    assert store.window("r", 0.3, 0.6).ravel().tolist() == [3, 4, 5]
    assert store.window("r", 0.3, 0.3).ravel().tolist() == [3]
    for start, end in ((-1.0, 2.0), (3.0, 2.0), (0.0, math.inf), (math.nan, 2.0)):
        with pytest.raises(UserError, match="no stretch"):
            store.window("r", start, end)


def test_what_is_no_number_is_mended_and_counted(tmp_path: Path) -> None:
    with writer(tmp_path / "s") as w:
        held = w.add("r", np.array([[math.nan, math.inf, -math.inf], [1e6, -7e4, 2.0], [1, 2, 3]]))
        assert (held.nan, held.infinite, held.clipped, held.bad_rows) == (1, 2, 2, 2)
    rows = FeatureStore.open(tmp_path / "s").rows("r")
    assert rows.tolist() == [[0, 1, -1], [65504, -65504, 2], [1, 2, 3]]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (np.zeros((2, 4)), r"shape \(2, 4\); rows of 3"),
        (np.zeros(3), "shape"),
        (np.array([["a", "b", "c"]]), "not numbers"),
        (np.array([[None, 1, 2]], dtype=object), "not numbers"),
        (np.zeros((1, 3), complex), "not numbers"),
    ],
)
def test_other_rows_are_refused_and_leave_nothing(tmp_path: Path, rows: np.ndarray, said: str) -> None:
    with pytest.raises(UserError, match=said), writer(tmp_path / "s") as w:
        w.add("r", rows)
    assert list(tmp_path.iterdir()) == []


def test_a_recording_comes_once_and_a_store_is_not_written_over(path: Path, tmp_path: Path) -> None:
    with writer(tmp_path / "t") as w:
        w.add("r", rows_of(2))
        with pytest.raises(UserError, match="come twice"):
            w.add("r", rows_of(2))
    with pytest.raises(UserError, match="something here already"), writer(path):
        pass
    assert FeatureStore.open(path).recordings == ("1_7", "2_3")


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    with writer(tmp_path / "s") as w:
        w.add("r", rows_of(2))
        with pytest.raises(UserError, match="another process writes"), writer(tmp_path / "s", resume=True):
            pass
    assert FeatureStore.open(tmp_path / "s").recordings == ("r",)


# -- killed ----------------------------------------------------------------------------------------------------------

_KILLED = """
import sys, os, signal
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_store import rows_of, writer
with writer(Path(sys.argv[1])) as w:
    w.add("1_7", rows_of(5))
    w._rows.write(b"half of the next")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_writer_left_is_no_store_and_is_gone_on_from(path: Path, tmp_path: Path) -> None:
    there = tmp_path / "killed"
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(there), str(Path(__file__).parent)], check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert not there.exists()
    with (tmp_path / "killed.part" / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"id":"2_3","rows":4,')  # a line that was being written
    go_on_and_fail(there, "2_3", rows_of(4, 1))
    with writer(there, resume=True) as w:
        assert [held.id for held in w.held] == ["1_7", "2_3"]
    assert (there / "store.json").read_bytes() == (path / "store.json").read_bytes()
    assert (there / "rows.f16").read_bytes() == (path / "rows.f16").read_bytes()


def test_without_resume_it_begins_anew(tmp_path: Path) -> None:
    for name in ("old", "new"):
        fail_after(tmp_path / "s", name)
    with writer(tmp_path / "s", resume=True) as w:
        assert [h.id for h in w.held] == ["new"]


def test_what_was_begun_of_other_features_is_not_gone_on_from(tmp_path: Path) -> None:
    fail_after(tmp_path / "s", "r")
    with (
        pytest.raises(UserError, match="backbone 'omnivore', not 'x3d'"),
        writer(tmp_path / "s", resume=True, backbone="x3d"),
    ):
        pass
    with writer(tmp_path / "s", resume=True) as w:
        assert "r" in w


def test_a_full_disk_keeps_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    fail_after(tmp_path / "s", "a")
    with writer(tmp_path / "s", resume=True) as w:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(UserError, match="No space left"):
            w.add("b", rows_of(2))
        monkeypatch.undo()
        assert [h.id for h in w.held] == ["a"]
        w.add("b", rows_of(2, 1))
    assert np.array_equal(FeatureStore.open(tmp_path / "s").rows("b"), rows_of(2, 1).astype(np.float16))


# -- damaged ---------------------------------------------------------------------------------------------------------


def edited(path: Path, change: object) -> None:
    document = json.loads((path / "store.json").read_text())
    change(document)  # type: ignore[operator]
    (path / "store.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["about"].update(version=9), "version 9; this Proctor reads version 1"),
        (lambda d: d["about"].update(width=0), "not possible"),
        (lambda d: d["about"].update(seconds=-1), "not possible"),
        (lambda d: d["about"].update(modality="smell"), "smell"),
        (lambda d: d["recordings"].append(d["recordings"][0]), "not possible"),
        (lambda d: d["recordings"][0].update(rows=-5), "not possible"),
        (lambda d: d["recordings"].reverse(), "was changed after"),
        (lambda d: d.pop("about"), "about"),
    ],
)
def test_a_changed_description_is_refused(path: Path, change: object, said: str) -> None:
    edited(path, change)
    with pytest.raises(UserError, match=said):
        FeatureStore.open(path)


def test_rows_that_are_cut_off_or_gone_are_refused(path: Path) -> None:
    whole = (path / "rows.f16").read_bytes()
    (path / "rows.f16").write_bytes(whole[:-1])
    with pytest.raises(UserError, match=r"53 bytes, but store.json tells of 9 rows of 3 numbers, 54 bytes"):
        FeatureStore.open(path)
    (path / "rows.f16").write_bytes(whole + b"0")
    with pytest.raises(UserError, match="55 bytes"):
        FeatureStore.open(path)
    (path / "rows.f16").unlink()
    with pytest.raises(UserError, match="rows of the store cannot be read"):
        FeatureStore.open(path)


def test_what_is_no_store_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no store of features"):
        FeatureStore.open(tmp_path)
    with pytest.raises(UserError, match="no such folder"):
        FeatureStore.open(tmp_path / "none")


def test_changed_rows_are_found(path: Path) -> None:
    data = bytearray((path / "rows.f16").read_bytes())
    data[-1] ^= 1
    (path / "rows.f16").write_bytes(data)
    assert [held.id for held, _, good in FeatureStore.open(path).scan() if not good] == ["2_3"]


def test_a_store_of_nothing_opens(tmp_path: Path) -> None:
    with writer(tmp_path / "s") as w:
        w.add("r", np.zeros((0, WIDTH)))
    store = FeatureStore.open(tmp_path / "s")
    assert store.window("r", 0, 2).tolist() == [[0.0] * WIDTH] * 2
    assert all(good for _, _, good in store.scan())


def test_another_process_gets_the_place_not_the_rows(path: Path) -> None:
    sent = pickle.dumps(FeatureStore.open(path))
    assert len(sent) < 400
    assert np.array_equal(pickle.loads(sent).rows("1_7"), FeatureStore.open(path).rows("1_7"))


def test_rows_that_are_maps_keep_their_shape(path: Path, tmp_path: Path) -> None:
    assert FeatureStore.open(path).shape == ()
    maps = np.arange(2 * 12, dtype=np.float32).reshape(2, 3, 2, 2)
    keys = {"width": 12, "seconds": 1.0, "modality": "video", "backbone": "resnet50", "source": "test"}
    with StoreWriter(tmp_path / "m", **keys, shape=(3, 2, 2)) as w:  # type: ignore[arg-type]
        w.add("1_7", maps.reshape(2, 12))
    store = FeatureStore.open(tmp_path / "m")
    assert store.shape == (3, 2, 2)
    assert (store.rows("1_7").reshape(-1, *store.shape) == maps).all()
    with pytest.raises(ValueError, match="18 numbers, not 12"):
        StoreWriter(tmp_path / "n", **keys, shape=(2, 3, 3))  # type: ignore[arg-type]
    about = json.loads((tmp_path / "m" / "store.json").read_text())
    about["about"]["shape"] = [3, 4]
    (tmp_path / "m" / "store.json").write_text(json.dumps(about))
    with pytest.raises(UserError, match="not possible"):
        FeatureStore.open(tmp_path / "m")
